"""Values at the edges of what doubles hold, and models without terms."""

import numpy as np
import pandas as pd
import pytest

from ruleglm import RuleClassifier, RuleRegressor, refit
from ruleglm.export import to_sql
from tests.export_cases import small_ensemble
from tests.sql_engines import open_sqlite

N = 40
STEPS = np.repeat([0.0, 1.0], N // 2)


def frame(low, high):
    return pd.DataFrame({"x": np.where(STEPS > 0, high, low)})


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.7e308, 1.7e308), (0.0, 1e300), (0.0, 5e-324), (1e-300, 2e-300), (-np.inf, np.inf)],
)
def test_a_column_too_large_or_small_for_a_line_has_rules(low, high):
    X = frame(low, high)
    model = RuleRegressor(linear_terms=True, lambda_0=0.01).fit(X, STEPS)
    assert model.ensemble_.linear_terms == ()
    np.testing.assert_allclose(model.predict(X), STEPS, atol=0.01)


@pytest.mark.parametrize("unit", [1e-90, 1e90])
def test_lines_and_targets_have_any_unit_between(unit):
    x = np.linspace(0.0, 1.0, N)
    plain = RuleRegressor(linear_terms=True, lambda_0=0.05).fit(x[:, None], x)
    scaled = RuleRegressor(linear_terms=True, lambda_0=0.05).fit(unit * x[:, None], unit * x)
    assert len(plain.ensemble_.linear_terms) == len(scaled.ensemble_.linear_terms) == 1
    found = scaled.predict(unit * x[:, None]) / unit
    np.testing.assert_allclose(found, plain.predict(x[:, None]), rtol=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma"])
def test_a_huge_target_is_refused(family):
    y = 1.0 + STEPS
    y[3] = 1e101
    with pytest.raises(ValueError, match=r"row 3.*rescale"):
        RuleRegressor(family=family).fit(frame(0, 1), y)


def test_a_tiny_target_is_a_constant():
    model = RuleRegressor(penalty="l0").fit(frame(0, 1), 1e-200 * STEPS)
    assert model.ensemble_.rules == ()


@pytest.mark.parametrize("penalty", ["l0", "l1"])
def test_an_offset_larger_than_the_target_is_taken_off_it(penalty):
    x = np.linspace(0.0, 1.0, N)[:, None]
    y, offset = 1e-3 * STEPS, 5.0 * np.cos(np.arange(N))
    given = RuleRegressor(penalty=penalty).fit(x, y, offset=offset)
    less = RuleRegressor(penalty=penalty).fit(x, y - offset)
    assert given.ensemble_.terms == less.ensemble_.terms
    np.testing.assert_allclose(given.predict(x), less.predict(x), rtol=1e-6)


def test_a_huge_offset_is_refused():
    with pytest.raises(ValueError, match=r"`offset` goes beyond 1e\+50"):
        RuleRegressor().fit(frame(0, 1), STEPS, offset=np.full(N, 1e51))


def test_an_unknown_target_of_weight_0_is_refused_by_its_row():
    y, weights = STEPS.copy(), np.ones(N)
    y[3], weights[3] = np.inf, 0.0
    with pytest.raises(ValueError, match="row 3"):
        RuleRegressor().fit(frame(0, 1), y, weights)


@pytest.mark.filterwarnings("ignore:`sample_weight` adds up")
@pytest.mark.parametrize("weight", [1e-150, 1e150])
def test_weights_of_any_scale_are_fitted(weight):
    X, y = frame(0, 1), STEPS
    for penalty in ("l0", "l1"):
        model = RuleRegressor(penalty=penalty).fit(X, y, np.full(N, weight))
        again = model.refit(X, y, np.full(N, weight))
        assert np.isfinite(again.predict(X)).all()


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_weights_beyond_doubles_are_refused(weight):
    with pytest.raises(ValueError, match=r"`sample_weight` adds up to .*mean of 1"):
        RuleRegressor().fit(frame(0, 1), STEPS, np.full(N, weight))


@pytest.mark.parametrize("y", [STEPS, np.arange(N) % 3], ids=["two", "three"])
def test_a_model_without_terms_is_refitted(y):
    X = frame(0, 1)
    model = RuleClassifier(penalty="l0", max_complexity=0).fit(X, y)
    again = model.refit(X, y)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))
    assert refit(model.ensemble_, X, y).rules == ()


@pytest.mark.parametrize("name", ["TRUE", "false"])
def test_columns_named_like_truth_in_sqlite(name):
    ensemble = small_ensemble(f"`{name}` > 1.5", f"{name}_ > 0.5")
    rows = [{name: value, f"{name}_": 0.0} for value in (1.0, 2.0)]
    result = open_sqlite().run(rows, to_sql(ensemble, "t", "sqlite"))
    assert sorted(result["mean"]) == [0.0, 1.0]


@pytest.mark.parametrize("pricing", ["auto", "histogram", "beam", "mip"])
def test_columns_that_do_not_vary_leave_the_intercept(pricing):
    pytest.importorskip("highspy")
    model = RuleRegressor(pricing=pricing).fit(frame(7, 7), STEPS)
    assert model.certified_ or pricing == "beam"
    assert str(model.ensemble_).endswith("+0.5  (intercept)")
