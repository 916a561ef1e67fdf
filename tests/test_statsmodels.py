"""Given columns, our coefficients are those of statsmodels: every family, offset and weights."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.genmod import families as theirs

from ruleglm import RuleClassifier, RuleRegressor, refit
from ruleglm.families import FAMILIES, get_family

N = 400
RNG = np.random.default_rng(11)
FRAME = pd.DataFrame(RNG.integers(0, 2, (N, 3)), columns=["a", "b", "c"])
WEIGHTS = RNG.integers(0, 4, N).astype(float)
OFFSET = RNG.normal(scale=0.4, size=N)
ETA = 0.4 + FRAME @ [0.8, -0.6, 0.3]
LINKS = theirs.links
THEIRS = {
    "gaussian": theirs.Gaussian(),
    "binomial": theirs.Binomial(),
    "poisson": theirs.Poisson(),
    "negative_binomial": theirs.NegativeBinomial(alpha=0.7),
    "gamma": theirs.Gamma(link=LINKS.Log()),
    "tweedie": theirs.Tweedie(link=LINKS.Log(), var_power=1.4),
}
OURS = {"family": None, "alpha": 0.7, "power": 1.4}
EACH = pytest.mark.parametrize("family", FAMILIES)


def draw_target(family):
    rng, eta = np.random.default_rng(3), (ETA + OFFSET).to_numpy()
    mean = get_family(family).mean(eta)
    if family == "gaussian":
        return eta + rng.normal(size=N)
    if family == "binomial":
        return (rng.random(N) < mean).astype(float)
    if family in ("poisson", "negative_binomial"):
        return rng.poisson(mean * (rng.gamma(2.0, 0.5, N) if "_" in family else 1.0)).astype(float)
    amounts = mean * rng.gamma(2.0, 0.5, N)
    return np.where(rng.random(N) < 0.3, 0.0, amounts) if family == "tweedie" else amounts


def fit_theirs(family, y, columns=FRAME, weights=WEIGHTS):
    model = sm.GLM(y, sm.add_constant(columns), THEIRS[family], offset=OFFSET, freq_weights=weights)
    return model.fit(tol=1e-12, maxiter=200)


def ours(family, **parameters):
    return RuleRegressor(**{**OURS, "family": family, "max_degree": 1, **parameters})


def direction(rule):
    """1 for a rule that asks for a 1, -1 for one that asks for a 0."""
    return 1.0 if rule.holds(read_one(rule, 1))[0] else -1.0


def read_one(rule, value):
    from ruleglm.frames import read_table

    return read_table(pd.DataFrame({feature: [value] for feature in rule.features}))


def by_column(ensemble):
    rules = zip(ensemble.rules, ensemble.coefficients, strict=True)
    return {rule.features[0]: direction(rule) * coefficient for rule, coefficient in rules}


@EACH
@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_almost_without_a_penalty(family, penalty):
    y = draw_target(family)
    settings = {
        "l1": {"lambda_0": 1e-7, "debias": False, "tol": 1e-9},
        "l0": {"penalty": "l0", "max_rules": 3, "ridge": 1e-6},
    }[penalty]
    model = ours(family, **settings).fit(FRAME, y, WEIGHTS, offset=OFFSET)
    expected = fit_theirs(family, y)
    found = by_column(model.ensemble_)
    assert set(found) == {"a", "b", "c"}
    for column in "abc":
        assert found[column] == pytest.approx(expected.params[column], rel=2e-4, abs=2e-5)
    mean = np.asarray(expected.predict(sm.add_constant(FRAME), offset=OFFSET))
    np.testing.assert_allclose(model.predict(FRAME, offset=OFFSET), mean, rtol=1e-4)


@EACH
def test_refits_of_given_rules(family):
    y = draw_target(family)
    start = ours(family, lambda_0=100.0).fit(FRAME, y, offset=OFFSET).ensemble_
    rules = ["a > 0", "b > 0", "a > 0 and c > 0"]
    fitted = refit(start.add(*rules), FRAME, y, WEIGHTS, offset=OFFSET, ridge=0.0)
    columns = FRAME[["a", "b"]].assign(both=FRAME["a"] * FRAME["c"])
    expected = fit_theirs(family, y, columns)
    np.testing.assert_allclose(fitted.all_coefficients(), expected.params, rtol=1e-6, atol=1e-8)


@EACH
def test_deviances(family):
    y = draw_target(family)
    start = ours(family, lambda_0=100.0).fit(FRAME, y, offset=OFFSET)
    model = start.refit(FRAME, y, WEIGHTS, offset=OFFSET, add=["a > 0", "b > 0", "c > 0"])
    expected = fit_theirs(family, y)
    deviance = model.deviance(FRAME, y, WEIGHTS, offset=OFFSET) * WEIGHTS.sum()
    assert deviance == pytest.approx(expected.deviance, rel=1e-4)
    share = model.d2_score(FRAME, y, WEIGHTS, offset=OFFSET)
    assert share == pytest.approx(1 - expected.deviance / expected.null_deviance, abs=1e-4)


def test_an_exposure_is_that_of_statsmodels():
    y, exposure = draw_target("poisson"), np.exp(OFFSET)
    settings = {"lambda_0": 1e-7, "debias": False, "tol": 1e-9}
    model = ours("poisson", **settings).fit(FRAME, y, exposure=exposure)
    expected = sm.GLM(y, sm.add_constant(FRAME), theirs.Poisson(), exposure=exposure).fit(tol=1e-12)
    found = by_column(model.ensemble_)
    for column in "abc":
        assert found[column] == pytest.approx(expected.params[column], rel=2e-4, abs=2e-5)


def test_class_weights_are_weights():
    y = draw_target("binomial")
    settings = {"lambda_0": 1e-7, "debias": False, "tol": 1e-9, "max_degree": 1}
    model = RuleClassifier(class_weight={0: 1.0, 1: 3.0}, **settings)
    model.fit(FRAME, y, WEIGHTS, offset=OFFSET)
    expected = fit_theirs("binomial", y, weights=WEIGHTS * np.where(y == 1, 3.0, 1.0))
    found = by_column(model.ensemble_)
    for column in "abc":
        assert found[column] == pytest.approx(expected.params[column], rel=2e-4, abs=2e-5)
