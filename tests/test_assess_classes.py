"""More than two classes: weights of classes, deviance, calibration, stability."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.metrics import d2_log_loss_score, log_loss
from sklearn.utils.class_weight import compute_sample_weight

from ruleglm import RuleClassifier, RuleClassifierCV
from tests.data import mixed_frame, target_of

N = 120
FRAME = mixed_frame(N)
LABELS = np.array(["high", "low", "middle"])[
    np.digitize(target_of("gaussian", FRAME), [30.0, 34.0])
]
WEIGHTS = np.random.default_rng(0).integers(0, 3, N).astype(float)
ROWS = np.repeat(np.arange(N), WEIGHTS.astype(int))
MODELS = {
    "l1": RuleClassifier(lambda_0=0.05, bins=8),
    "l0": RuleClassifier(penalty="l0", max_complexity=5, bins=8),
    "chosen": RuleClassifierCV(max_complexity=3, bins=8, cv=2),
}
EACH = pytest.mark.parametrize("name", MODELS)


@EACH
def test_deviance_is_that_of_scikit_learn(name):
    model = clone(MODELS[name]).fit(FRAME, LABELS, WEIGHTS)
    shares, options = model.predict_proba(FRAME), {"sample_weight": WEIGHTS}
    deviance = model.deviance(FRAME, LABELS, WEIGHTS)
    assert deviance == pytest.approx(2 * log_loss(LABELS, shares, **options))
    explained = model.d2_score(FRAME, LABELS, WEIGHTS)
    assert explained == pytest.approx(d2_log_loss_score(LABELS, shares, **options))
    repeated = model.deviance(FRAME.iloc[ROWS], LABELS[ROWS])
    assert deviance == pytest.approx(repeated)


@EACH
def test_calibration_of_each_class(name):
    model = clone(MODELS[name]).fit(FRAME, LABELS)
    found = model.calibration(FRAME, LABELS, WEIGHTS, n_bins=3)
    again = model.calibration(FRAME.iloc[ROWS], LABELS[ROWS], n_bins=3)
    pd.testing.assert_frame_equal(found.bins, again.bins)
    assert found.top_label_error == pytest.approx(again.top_label_error)
    assert set(found.bins["class"]) == {"high", "low", "middle"}
    sums = found.bins.groupby("class")["weight"].sum()
    assert (sums == WEIGHTS.sum()).all()
    whole = model.calibration(FRAME, LABELS, n_bins=1)
    for k, label in enumerate(model.classes_):
        shares = model.predict_proba(FRAME)[:, k]
        observed, predicted = calibration_curve(label == LABELS, shares, n_bins=1)
        line = whole.bins[whole.bins["class"] == label].iloc[0]
        assert (line["observed"], line["predicted"]) == pytest.approx((observed[0], predicted[0]))


@EACH
@pytest.mark.parametrize("class_weight", ["balanced", {"low": 3.0, "middle": 0.5}])
def test_class_weights_multiply_sample_weights(name, class_weight):
    if name == "chosen" and class_weight == "balanced":
        class_weight = {"high": 2.0}  # folds balance their own rows
    model = clone(MODELS[name]).set_params(class_weight=class_weight).fit(FRAME, LABELS, WEIGHTS)
    factors = compute_sample_weight(class_weight, LABELS)
    if class_weight == "balanced":
        masses = pd.Series(WEIGHTS).groupby(LABELS).sum()
        factors = (WEIGHTS.sum() / (3 * masses))[LABELS].to_numpy()
    by_hand = clone(MODELS[name]).fit(FRAME, LABELS, WEIGHTS * factors)
    assert model.ensemble_.rules == by_hand.ensemble_.rules
    np.testing.assert_allclose(
        model.predict_proba(FRAME), by_hand.predict_proba(FRAME), rtol=1e-5, atol=1e-7
    )


@EACH
def test_weights_count_rows(name):
    if name == "chosen":
        folds = [(np.arange(0, N, 2), np.arange(1, N, 2))]
        again = [tuple(np.flatnonzero(np.isin(ROWS, side)) for side in folds[0])]
        models = (clone(MODELS[name]).set_params(cv=cv) for cv in (folds, again))
    else:
        models = (clone(MODELS[name]) for _ in range(2))
    one, two = models
    one.fit(FRAME, LABELS, WEIGHTS)
    two.fit(FRAME.iloc[ROWS], LABELS[ROWS])
    kept = WEIGHTS > 0
    np.testing.assert_allclose(
        one.predict_proba(FRAME)[kept], two.predict_proba(FRAME)[kept], rtol=2e-2, atol=2e-3
    )


@EACH
def test_stability_of_several_classes(name):
    model = clone(MODELS[name]).fit(FRAME, LABELS)
    one = model.stability(FRAME, LABELS, n_bootstrap=2)
    two = model.stability(FRAME, LABELS, n_bootstrap=2, n_jobs=2)
    pd.testing.assert_frame_equal(one.terms(), two.terms())
    terms = one.terms()
    for label in model.classes_:
        assert (terms[f"low of {label}"] <= terms[f"high of {label}"]).all()
    frame = one.interval(FRAME)
    shares = model.predict_proba(FRAME)
    for k, label in enumerate(model.classes_):
        np.testing.assert_allclose(frame[label, "prediction"], shares[:, k])
        assert (frame[label, "low"] <= frame[label, "high"]).all()
    assert not model.redundancy(FRAME)["relation"].isin(["equal", "complement"]).any()


def test_calibrated_classifiers_of_several_classes():
    wrapped = CalibratedClassifierCV(clone(MODELS["l0"]), cv=2).fit(FRAME, LABELS)
    shares = wrapped.predict_proba(FRAME)
    assert shares.shape == (N, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert wrapped.score(FRAME, LABELS) > 0.5
