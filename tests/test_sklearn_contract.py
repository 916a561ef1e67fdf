"""scikit-learn's own checks, none skipped and none expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from ruleglm import RuleClassifier, RuleRegressor


@parametrize_with_checks([RuleClassifier(), RuleRegressor(), RuleRegressor(linear_terms=True)])
def test_estimator_check(estimator, check):
    check(estimator)
