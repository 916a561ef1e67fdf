"""Calibration of our models, and scikit-learn's wrappers around them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from ruleglm import RuleClassifier, RuleClassifierCV, RuleRegressor
from ruleglm.assess.calibration import calibrate, cut_equally
from ruleglm.assess.rows import PredictedRows
from ruleglm.families import FAMILIES, get_family
from ruleglm.multinomial import Multinomial
from tests.data import mixed_frame, mixed_signal, target_of

N = 300
FRAME = mixed_frame(N)
TARGET = target_of("binomial", FRAME).astype(int)
LABELS = np.array(["no", "yes"])[TARGET]
WEIGHTS = np.random.default_rng(0).integers(0, 3, N).astype(float)
MODEL = RuleClassifier(lambda_0=0.02).fit(FRAME, LABELS)


def test_bins_are_those_of_scikit_learn_where_predictions_differ():
    rng = np.random.default_rng(5)
    eta, ones = rng.normal(size=N), np.ones(N)
    y = (rng.random(N) < 0.4).astype(float)
    rows = PredictedRows(get_family("binomial"), y, eta, ones, np.zeros(N), ones)
    ours = calibrate(rows, ("no", "yes"), 6).bins
    shares = get_family("binomial").mean(eta)
    observed, predicted = calibration_curve(y, shares, n_bins=6, strategy="quantile")
    np.testing.assert_allclose(ours["predicted"], predicted)
    np.testing.assert_allclose(ours["observed"], observed)
    assert ours["weight"].tolist() == [N / 6] * 6


@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_bins_add_up(n_bins):
    found = MODEL.calibration(FRAME, LABELS, WEIGHTS, n_bins=n_bins)
    bins = found.bins
    assert 1 <= len(bins) <= n_bins
    assert bins["predicted"].is_monotonic_increasing
    assert bins["weight"].sum() == WEIGHTS.sum()
    shares = MODEL.predict_proba(FRAME)[:, 1]
    for name, values in (("predicted", shares), ("observed", TARGET)):
        mean = np.average(bins[name], weights=bins["weight"])
        assert mean == pytest.approx(np.average(values, weights=WEIGHTS))
    gaps = (bins["observed"] - bins["predicted"]).abs()
    assert found.error == pytest.approx(np.average(gaps, weights=bins["weight"]))
    share = bins["observed"]
    np.testing.assert_allclose(
        bins["standard_error"], np.sqrt(share * (1 - share) / bins["weight"]), atol=1e-12
    )


def test_the_error_of_the_predicted_class():
    found = MODEL.calibration(FRAME, LABELS, n_bins=1)
    confidence = MODEL.predict_proba(FRAME).max(axis=1).mean()
    accuracy = MODEL.score(FRAME, LABELS)
    assert found.top_label_error == pytest.approx(abs(confidence - accuracy))


@pytest.mark.parametrize(
    ("family", "exposed"),
    [(name, False) for name in FAMILIES]
    + [(name, True) for name in FAMILIES if get_family(name).link == "log"],
)
def test_weights_count_rows(family, exposed):
    y = target_of(family, FRAME)
    model = RuleRegressor(family=family, penalty="l0", max_complexity=8).fit(FRAME, y)
    more = {"exposure": np.random.default_rng(1).integers(1, 4, N).astype(float)} if exposed else {}
    rows = np.repeat(np.arange(N), WEIGHTS.astype(int))
    weighted = model.calibration(FRAME, y, WEIGHTS, **more)
    repeated = model.calibration(
        FRAME.iloc[rows], y[rows], **{key: values[rows] for key, values in more.items()}
    )
    pd.testing.assert_frame_equal(weighted.bins, repeated.bins)
    assert weighted.error == pytest.approx(repeated.error)
    assert np.isnan(weighted.top_label_error)
    assert ("exposure" in weighted.bins) == exposed


def test_an_exposure_of_three_is_three_rows_of_one():
    exposure = np.random.default_rng(1).integers(1, 4, N)
    mean = np.exp(0.5 * mixed_signal(FRAME))
    rows = np.repeat(np.arange(N), exposure)
    single = np.random.default_rng(2).poisson(mean[rows]).astype(float)
    totals = np.bincount(rows, single)
    model = RuleRegressor(family="poisson").fit(FRAME, totals, exposure=exposure)
    whole = model.calibration(FRAME, totals, exposure=exposure).bins
    apart = model.calibration(FRAME.iloc[rows], single).bins
    for name in ("predicted", "observed"):
        np.testing.assert_allclose(whole[name], apart[name])
    np.testing.assert_allclose(whole["exposure"], apart["weight"])


def test_equal_rates_share_a_bin_whatever_their_exposures():
    exposure = np.random.default_rng(6).uniform(0.1, 1.0, N)
    rates = np.repeat([0.2, 0.5], N // 2)
    family = get_family("poisson")
    offset = np.log(exposure)
    rows = PredictedRows(family, rates, np.log(rates) + offset, np.ones(N), offset, exposure)
    bins = calibrate(rows, (), 10).bins
    np.testing.assert_allclose(bins["predicted"], [0.2, 0.5])
    assert bins["weight"].tolist() == [N / 2, N / 2]


def test_three_classes_one_against_the_rest():
    rng = np.random.default_rng(3)
    eta = rng.normal(size=(400, 3))
    family = Multinomial(3)
    shares = family.mean(eta)
    codes = (rng.random((400, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    ones, flat = np.ones(400), np.zeros((400, 3))
    rows = PredictedRows(family, np.eye(3)[codes], eta, ones, flat, ones)
    found = calibrate(rows, ("a", "b", "c"), 5)
    assert found.bins["class"].tolist() == [label for label in "abc" for _ in range(5)]
    for k, label in enumerate("abc"):
        expected = calibration_curve(codes == k, shares[:, k], n_bins=5, strategy="quantile")
        mine = found.bins[found.bins["class"] == label]
        np.testing.assert_allclose(mine[["observed", "predicted"]].to_numpy().T, expected)
    gaps = (found.bins["observed"] - found.bins["predicted"]).abs()
    assert found.error == pytest.approx(gaps.mean())
    hit = codes == shares.argmax(axis=1)
    observed, predicted = calibration_curve(hit, shares.max(axis=1), n_bins=5, strategy="quantile")
    assert found.top_label_error == pytest.approx(np.abs(observed - predicted).mean())


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1), st.integers(1, 8))
def test_cuts_keep_equal_values_together(rows, n_bins):
    values, masses = np.array(rows, float).T
    bins = cut_equally(values, masses, n_bins)
    assert sorted(set(bins.tolist())) == list(range(bins.max() + 1))
    order = np.argsort(values, kind="stable")
    assert (np.diff(bins[order]) >= 0).all()
    for value in np.unique(values):
        assert len(set(bins[values == value].tolist())) == 1
    repeated = cut_equally(
        np.repeat(values, masses.astype(int)), np.ones(int(masses.sum())), n_bins
    )
    np.testing.assert_array_equal(repeated, np.repeat(bins, masses.astype(int)))


@pytest.mark.parametrize("n_bins", [0, 2.5, "ten"])
def test_odd_numbers_of_bins_are_refused(n_bins):
    with pytest.raises(ValueError, match="`n_bins`"):
        MODEL.calibration(FRAME, LABELS, n_bins=n_bins)


# ------------------------------------------------------------------- scikit-learn's wrappers

SMALL = {"max_complexity": 3, "bins": 8, "cv": 2}
EACH = pytest.mark.parametrize(
    "model",
    [
        RuleClassifier(lambda_0=0.02),
        RuleClassifier(penalty="l0", max_complexity=4, bins=8),
        RuleClassifierCV(**SMALL),
    ],
    ids=["l1", "l0", "chosen"],
)


@EACH
def test_calibrated_classifiers(model):
    fit, rest = FRAME[:200], FRAME[200:]
    wrapped = CalibratedClassifierCV(model, method="isotonic", cv=2).fit(fit, LABELS[:200])
    shares = wrapped.predict_proba(rest)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert wrapped.score(rest, LABELS[200:]) > 0.6
    assert wrapped.feature_names_in_.tolist() == FRAME.columns.tolist()


@EACH
def test_frozen_models_are_calibrated_without_a_fit(model):
    fitted = model.fit(FRAME[:200], LABELS[:200])
    before = fitted.ensemble_
    frozen = FrozenEstimator(fitted)
    wrapped = CalibratedClassifierCV(frozen, cv=2).fit(FRAME[200:], LABELS[200:])
    assert fitted.ensemble_ is before
    log_odds = fitted.decision_function(FRAME)
    shares = wrapped.predict_proba(FRAME)[:, 1]
    order = np.argsort(log_odds)
    assert (np.diff(shares[order]) >= -1e-12).all()
    np.testing.assert_array_equal(frozen.predict(FRAME), fitted.predict(FRAME))


@EACH
def test_tuned_thresholds(model):
    tuned = TunedThresholdClassifierCV(model, scoring="balanced_accuracy", thresholds=9, cv=2)
    tuned.fit(FRAME, LABELS)
    fixed = FixedThresholdClassifier(model, threshold=tuned.best_threshold_).fit(FRAME, LABELS)
    np.testing.assert_array_equal(tuned.predict(FRAME), fixed.predict(FRAME))
    shares = tuned.estimator_.predict_proba(FRAME)[:, 1]
    expected = np.where(shares >= tuned.best_threshold_, "yes", "no")
    np.testing.assert_array_equal(tuned.predict(FRAME), expected)
