"""scikit-learn's own checks, none skipped and none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ruleglm import RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV

SMALL = {"penalty": "l1", "n_lambdas": 4, "cv": 2, "bins": 8}


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@parametrize_with_checks(
    [
        RuleClassifier(),
        RuleRegressor(),
        RuleRegressor(linear_terms=True),
        RuleClassifier(penalty="l0", max_complexity=6),
        RuleClassifierCV(**SMALL),
        RuleRegressorCV(**SMALL, select="1se"),
        RuleRegressorCV(penalty="l0", max_complexity=6, cv=2, bins=8),
    ]
)
def test_estimator_check(estimator, check):
    check(estimator)
