"""The negative binomial family in fits, and the estimate of its dispersion."""

import numpy as np
import pytest
import statsmodels.api as sm

from ruleglm import RuleRegressor, RuleRegressorCV, estimate_alpha
from tests.data import mixed_frame, mixed_signal

N = 600
FRAME = mixed_frame(N)
MEAN = np.exp(0.5 * mixed_signal(FRAME))


def draw_counts(alpha, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(MEAN * rng.gamma(1 / alpha, alpha, N)).astype(float)


@pytest.mark.parametrize("alpha", [0.3, 1.5])
def test_the_estimate_is_that_of_statsmodels(alpha):
    y = draw_counts(alpha)
    columns = sm.add_constant(np.column_stack([FRAME["smoker"], FRAME["sex"] == "F"]).astype(float))
    joint = sm.NegativeBinomial(y, columns).fit(disp=0, gtol=1e-8)
    assert estimate_alpha(y, joint.predict()) == pytest.approx(joint.params[-1], rel=1e-4)
    assert estimate_alpha(y, MEAN) == pytest.approx(alpha, rel=0.35)


def test_weights_count_rows_in_the_estimate():
    y = draw_counts(0.8)
    weights = np.random.default_rng(1).integers(0, 3, N)
    rows = np.repeat(np.arange(N), weights)
    expected = estimate_alpha(y[rows], MEAN[rows])
    assert estimate_alpha(y, MEAN, weights) == pytest.approx(expected, rel=1e-6)


def test_counts_that_vary_less_than_poisson_ones():
    assert estimate_alpha(np.full(50, 3.0), np.full(50, 3.0)) == pytest.approx(1e-6, rel=0.01)


@pytest.mark.parametrize(
    ("y", "mean", "message"),
    [
        ([1.0, -1.0], [1.0, 1.0], "row 1 of the target is -1.0"),
        ([1.0, 0.0], [1.0, 0.0], "`mean` is 0.0 in row 1"),
        ([1.0, 0.0], [1.0], r"`mean` has shape \(1,\)"),
    ],
)
def test_counts_and_means_are_checked(y, mean, message):
    with pytest.raises(ValueError, match=message):
        estimate_alpha(y, mean)


@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_fits_of_the_family(penalty):
    y = draw_counts(0.8)
    exposure = np.random.default_rng(2).uniform(0.5, 2.0, N)
    model = RuleRegressor(family="negative_binomial", alpha=0.8, penalty=penalty, lambda_0=0.03)
    model.fit(FRAME, y, exposure=exposure)
    assert len(model.rules_) > 2
    if penalty == "l1":
        assert model.certified_
        assert 0 <= model.gap_ <= 1e-4
    gradient = model.ensemble_.family.gradient(
        y, model.ensemble_.decision_function(FRAME, np.log(exposure))
    )
    assert abs(gradient.mean()) < 1e-4
    assert model.predict(FRAME, exposure=exposure).min() > 0.0
    nearly = RuleRegressor(family="negative_binomial", alpha=1e-7, penalty=penalty, lambda_0=0.1)
    poisson = RuleRegressor(family="poisson", penalty=penalty, lambda_0=0.1).fit(FRAME, y)
    assert nearly.fit(FRAME, y).ensemble_.rules == poisson.ensemble_.rules
    np.testing.assert_allclose(nearly.predict(FRAME), poisson.predict(FRAME), rtol=1e-3)


def test_the_family_in_folds():
    y = draw_counts(0.8)
    settings = {"bins": 8, "max_complexity": 8, "cv": 2}
    model = RuleRegressorCV(family="negative_binomial", alpha=0.8, **settings).fit(FRAME, y)
    assert model.at(0).alpha == 0.8
    null, best = model.path_.table()["cv_mean"][[0, model.best_index_]]
    assert best < null
