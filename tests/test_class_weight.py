"""Weights of classes: scikit-learn's meaning, in plain fits and in folds."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from ruleglm import RuleClassifier, RuleClassifierCV
from ruleglm.class_weights import read_class_weight
from ruleglm.families import get_family
from tests.data import mixed_frame, mixed_signal

N = 240
FRAME = mixed_frame(N)
LABELS = np.where(mixed_signal(FRAME) > 1.4, "rare", "usual")
FOLDS = list(KFold(3, shuffle=True, random_state=1).split(FRAME))
PLAIN = {
    "l1": RuleClassifier(lambda_0=0.02, bins=8),
    "l0": RuleClassifier(penalty="l0", max_complexity=8, bins=8),
}
CHOSEN = {
    "l1": RuleClassifierCV(penalty="l1", n_lambdas=5, bins=8, max_complexity=20, cv=FOLDS),
    "l0": RuleClassifierCV(max_complexity=6, bins=8, cv=FOLDS),
}
BOTH = pytest.mark.parametrize("penalty", ["l1", "l0"])


def draw_weights(seed=0):
    return np.random.default_rng(seed).integers(0, 3, N).astype(float)


@BOTH
@pytest.mark.parametrize("weights", [None, draw_weights()], ids=["equal", "weighted"])
@pytest.mark.parametrize("class_weight", ["balanced", {"rare": 3.0}, {"rare": 2, "usual": 0.5}])
def test_class_weights_multiply_sample_weights(penalty, weights, class_weight):
    model = clone(PLAIN[penalty]).set_params(class_weight=class_weight)
    once = np.ones(N) if weights is None else weights
    if class_weight == "balanced":
        rows = np.repeat(np.arange(N), once.astype(int))
        factors = dict(
            zip(
                ["rare", "usual"],
                compute_class_weight("balanced", classes=np.unique(LABELS), y=LABELS[rows]),
                strict=True,
            )
        )
    else:
        factors = class_weight
    by_hand = clone(PLAIN[penalty]).fit(
        FRAME, LABELS, once * compute_sample_weight(factors, LABELS)
    )
    model.fit(FRAME, LABELS, weights)
    assert model.ensemble_ == by_hand.ensemble_
    assert model.ensemble_ != clone(PLAIN[penalty]).fit(FRAME, LABELS, weights).ensemble_


@BOTH
def test_balanced_classes_raise_the_rare_one(penalty):
    plain = clone(PLAIN[penalty]).fit(FRAME, LABELS)
    balanced = clone(PLAIN[penalty]).set_params(class_weight="balanced").fit(FRAME, LABELS)
    assert np.mean(LABELS == "rare") < 0.3
    raised = balanced.predict_proba(FRAME)[:, 0].mean() - plain.predict_proba(FRAME)[:, 0].mean()
    assert raised > 0.05
    shares = compute_sample_weight("balanced", LABELS)
    mean = np.average(balanced.predict_proba(FRAME)[:, 0], weights=shares)
    assert mean == pytest.approx(0.5, abs=1e-4)  # a free intercept


@BOTH
def test_a_row_of_weight_two_is_the_row_twice_under_class_weights(penalty):
    weights = draw_weights()
    rows = np.repeat(np.arange(N), weights.astype(int))
    for class_weight in ("balanced", {"rare": 3}):
        model = clone(PLAIN[penalty]).set_params(class_weight=class_weight)
        weighted = clone(model).fit(FRAME, LABELS, weights)
        repeated = clone(model).fit(FRAME.iloc[rows], LABELS[rows])
        assert weighted.ensemble_.rules == repeated.ensemble_.rules
        np.testing.assert_allclose(
            weighted.predict_proba(FRAME), repeated.predict_proba(FRAME), atol=1e-6
        )


def test_a_class_of_weight_zero_is_absent():
    with pytest.raises(ValueError, match="only one class in the rows of positive weight, 'usual'"):
        RuleClassifier(class_weight={"rare": 0}).fit(FRAME, LABELS)
    with pytest.raises(ValueError, match="only one class in the rows of positive weight"):
        RuleClassifierCV(class_weight={"rare": 0.0, "usual": 2}).fit(FRAME, LABELS)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"rare": -1.0}, "`class_weight` of 'rare' is -1.0; give a finite number"),
        ({"rare": np.nan}, "`class_weight` of 'rare' is nan"),
        ({"rare": np.inf}, "`class_weight` of 'rare' is inf"),
        ({"common": 2.0}, "'rare'.*not in class_weight"),
        ("even", "'class_weight' parameter"),
    ],
)
def test_odd_class_weights_are_refused(class_weight, message):
    with pytest.raises(ValueError, match=message):
        RuleClassifier(class_weight=class_weight).fit(FRAME, LABELS)


@BOTH
def test_folds_balance_their_own_training_rows(penalty):
    model = clone(CHOSEN[penalty]).set_params(class_weight="balanced").fit(FRAME, LABELS)
    y = (LABELS == "usual").astype(float)
    family, place = (
        get_family("binomial"),
        model.path_.variants.index(0.0 if penalty == "l1" else 10.0),
    )
    for index in (1, len(model.path_) - 1):
        each = model.path_.models[index]
        plain = clone(model.at(index))
        where = {"debias": 1.0} if penalty == "l1" else {"ridge": 10.0}
        assert plain.class_weight == "balanced"
        for fold, (train, valid) in enumerate(FOLDS):
            fitted = plain.set_params(**where, tol=1e-7).fit(FRAME.iloc[train], LABELS[train])
            factors = compute_class_weight("balanced", classes=np.array([0.0, 1.0]), y=y[train])[
                y[valid].astype(int)
            ]
            losses = family.loss(y[valid], fitted.decision_function(FRAME.iloc[valid]))
            expected = np.average(losses, weights=factors)
            assert model.path_.scores[fold, index, place] == pytest.approx(expected, rel=2e-3)
        assert each.complexity > 0


def test_scorers_see_sample_weights_only():
    seen = []

    def remember(fitted, X, y):
        seen.append(fitted.ensemble_)
        return get_scorer("neg_log_loss")(fitted, X, y)

    model = clone(CHOSEN["l1"]).set_params(class_weight="balanced", scoring=remember)
    model.set_params(n_lambdas=3, cv=FOLDS[:1], max_degree=1)
    model.fit(FRAME, LABELS)
    named = clone(model).set_params(scoring="neg_log_loss").fit(FRAME, LABELS)
    np.testing.assert_allclose(named.path_.scores, model.path_.scores, rtol=1e-12)
    n_each = len(model.path_) * len(model.path_.variants)
    (_, valid), last = FOLDS[0], seen[n_each - 1]
    y = (LABELS[valid] == "usual").astype(float)
    loss = get_family("binomial").loss(y, last.decision_function(FRAME.iloc[valid])).mean()
    assert model.path_.scores[0, -1, -1] == pytest.approx(-loss, rel=1e-9)


def test_a_class_that_a_fold_lacks_counts_once():
    balanced = read_class_weight("balanced", np.array(["a", "b", "c"]))
    y = np.array([0.0, 0.0, 0.0, 2.0])
    np.testing.assert_allclose(balanced.factors(y, None), [2 / 3, 1.0, 2.0])
    np.testing.assert_allclose(balanced.factors(y, np.array([1.0, 1.0, 0.0, 2.0])), [1, 1, 1])
    given = read_class_weight({"b": 0, "c": 5}, np.array(["a", "b", "c"]))
    np.testing.assert_array_equal(given.factors(y, None), [1.0, 0.0, 5.0])


def test_light_class_weights_are_warned_of():
    model = clone(PLAIN["l0"]).set_params(class_weight={"rare": 0.01, "usual": 0.01})
    with pytest.warns(UserWarning, match="few rows"):
        model.fit(FRAME, LABELS)
