"""Deviance and its explained share beside scikit-learn's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import (
    d2_log_loss_score,
    d2_tweedie_score,
    log_loss,
    mean_tweedie_deviance,
    r2_score,
)

from ruleglm import RuleClassifier, RuleRegressor, RuleRegressorCV
from ruleglm.families import FAMILIES
from tests.data import mixed_frame, target_of

N = 240
FRAME = mixed_frame(N)
WEIGHTS = np.random.default_rng(0).integers(0, 3, N).astype(float)
POWERS = {"gaussian": 0, "poisson": 1, "tweedie": 1.5, "gamma": 2}
LABELS = np.array(["no", "yes"])[target_of("binomial", FRAME).astype(int)]


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("family", POWERS)
def test_regressors_agree_with_scikit_learn(family, weights):
    y = target_of(family, FRAME)
    model = RuleRegressor(family=family).fit(FRAME, y)
    options = {"power": POWERS[family], "sample_weight": weights}
    deviance = mean_tweedie_deviance(y, model.predict(FRAME), **options)
    assert_allclose(model.deviance(FRAME, y, weights), deviance, rtol=1e-10)
    assert_allclose(
        model.d2_score(FRAME, y, weights), d2_tweedie_score(y, model.predict(FRAME), **options)
    )
    if family == "gaussian":
        assert model.d2_score(FRAME, y) == pytest.approx(r2_score(y, model.predict(FRAME)))
        assert model.score(FRAME, y) == pytest.approx(model.d2_score(FRAME, y))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_classifiers_agree_with_scikit_learn(weights):
    model = RuleClassifier(lambda_0=0.01).fit(FRAME, LABELS)
    shares, options = model.predict_proba(FRAME), {"sample_weight": weights}
    expected = 2.0 * log_loss(LABELS, shares, **options)
    assert_allclose(model.deviance(FRAME, LABELS, weights), expected, rtol=1e-9)
    assert_allclose(
        model.d2_score(FRAME, LABELS, weights), d2_log_loss_score(LABELS, shares, **options)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_count_rows(family):
    y = target_of(family, FRAME)
    offset = np.random.default_rng(1).normal(scale=0.3, size=N)
    model = RuleRegressor(family=family, penalty="l0", max_complexity=8).fit(
        FRAME, y, WEIGHTS, offset=offset
    )
    rows = np.repeat(np.arange(N), WEIGHTS.astype(int))
    for method in (model.deviance, model.d2_score):
        repeated = method(FRAME.iloc[rows], y[rows], offset=offset[rows])
        assert_allclose(method(FRAME, y, WEIGHTS, offset=offset), repeated, rtol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_intercept_explains_more_than_the_null_model(family):
    y = target_of(family, FRAME)
    offset = np.random.default_rng(1).normal(scale=0.3, size=N)
    empty = RuleRegressor(family=family, lambda_0=10.0).fit(FRAME, y, offset=offset)
    assert len(empty.rules_) == 0
    assert empty.d2_score(FRAME, y, offset=offset) == pytest.approx(0.0, abs=1e-9)
    assert empty.d2_score(FRAME[:99], y[:99], offset=offset[:99]) < 0.0


def test_an_exposure_is_an_offset():
    y = target_of("poisson", FRAME)
    exposure = np.random.default_rng(5).uniform(0.5, 2.0, N)
    model = RuleRegressorCV(family="poisson", max_complexity=6, cv=2).fit(
        FRAME, y, exposure=exposure
    )
    for method in (model.deviance, model.d2_score):
        expected = method(FRAME, y, offset=np.log(exposure))
        assert method(FRAME, y, exposure=exposure) == pytest.approx(expected)


def test_nothing_to_explain():
    y = target_of("gaussian", FRAME)
    model = RuleRegressor().fit(FRAME, y)
    assert model.d2_score(FRAME, np.full(N, 7.0)) == 0.0
    tiny = RuleRegressor().fit(FRAME, 1e-9 * y)
    assert tiny.d2_score(FRAME, 1e-9 * y) == pytest.approx(model.d2_score(FRAME, y))
    constant = RuleRegressor().fit(FRAME, np.full(N, 7.0))
    assert constant.d2_score(FRAME, np.full(N, 7.0)) == 1.0


def test_rows_are_checked():
    model = RuleClassifier(lambda_0=0.05).fit(FRAME, LABELS)
    with pytest.raises(ValueError, match="y holds 'maybe'"):
        model.deviance(FRAME, np.where(LABELS == "no", "maybe", LABELS))
    with pytest.raises(ValueError, match=r"exposure.*needs a log link"):
        model.deviance(FRAME, LABELS, exposure=np.ones(N))
    with pytest.raises(ValueError, match=f"X has {N} rows, but y has 3"):
        model.d2_score(FRAME, LABELS[:3])
    regressor = RuleRegressor(family="gamma").fit(FRAME, target_of("gamma", FRAME))
    with pytest.raises(ValueError, match="gamma family needs"):
        regressor.d2_score(FRAME, np.zeros(N))
