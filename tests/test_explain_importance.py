import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_selection import SelectFromModel

from ruleglm import RuleClassifier, RuleRegressor
from ruleglm.explain import (
    feature_importances,
    measure_terms,
    rule_importances,
    term_importances,
)
from tests.data import mixed_frame, target_of
from tests.explain_cases import example, frame

TABLE = frame(150)
TABLE = TABLE[np.isfinite(TABLE["<script>x</script>"])]


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "multinomial"])
def test_importance_is_the_standard_deviation_of_what_a_term_adds(family):
    ensemble = example(family)
    weights = 1.0 + np.arange(len(TABLE)) % 4
    parts = ensemble.contributions(TABLE)[:, 1:]
    repeated = np.repeat(parts, weights.astype(int), axis=0)
    spread = measure_terms(ensemble, TABLE, weights)
    wanted = repeated.std(axis=0)
    assert spread.n_terms == len(wanted)
    if family == "multinomial":
        for place, label in enumerate(ensemble.classes):
            assert_allclose(term_importances(ensemble, spread, label), wanted[:, place], atol=1e-12)
        beyond = repeated - repeated.mean(axis=2, keepdims=True)
        wanted = np.sqrt((beyond.std(axis=0) ** 2).sum(axis=1))
    assert_allclose(term_importances(ensemble, spread), wanted, atol=1e-12)
    frame = feature_importances(ensemble, spread)
    assert frame["importance"].sum() == pytest.approx(wanted.sum())
    assert frame["share"].sum() == pytest.approx(1)
    assert_allclose(frame["alone"] + frame["together"], frame["importance"])
    assert frame["importance"].is_monotonic_decreasing


def test_a_rule_is_shared_equally_among_its_features():
    ensemble = example()
    spread = measure_terms(ensemble, TABLE)
    parts = term_importances(ensemble, spread)
    by_name = feature_importances(ensemble, spread).set_index("feature")
    flag = parts[2 + 8] / 3  # only in a rule of three features
    assert by_name.loc["flag", "together"] == pytest.approx(flag)
    assert by_name.loc["flag", "alone"] == 0
    sex = parts[2 + 3] + parts[2 + 4]
    assert by_name.loc["sex", "alone"] == pytest.approx(sex)
    assert by_name.loc["sex", "together"] == pytest.approx(parts[2 + 6] / 2)
    assert by_name.loc["free"].tolist() == [0, 0, 0, 0, 0]
    assert by_name.loc["age", "n_terms"] == 6


def test_the_table_of_rules_says_what_a_coefficient_multiplies():
    spread = measure_terms(example(), TABLE)
    columns = {"binomial": "odds_ratio", "poisson": "ratio"}
    for family, column in columns.items():
        table = rule_importances(example(family), spread)
        assert_allclose(table[column], np.exp(table["coefficient"]))
    assert set(columns.values()).isdisjoint(rule_importances(example("gaussian"), spread))
    several = rule_importances(example("multinomial"), spread)
    assert {"coefficient of a", "coefficient of b", "coefficient of c"} <= set(several)


@pytest.mark.parametrize("kind", ["l1", "l0"])
def test_a_fitted_model_needs_no_rows_for_its_importances(kind):
    table = mixed_frame(400)
    weights = 1.0 + np.arange(400) % 3
    more = {"max_complexity": 12} if kind == "l0" else {"lambda_0": 0.01}
    model = RuleClassifier(penalty=kind, linear_terms=True, **more)
    model.fit(table, target_of("binomial", table), sample_weight=weights)
    pd.testing.assert_frame_equal(model.importances(), model.importances(table, weights))
    spread = measure_terms(model.ensemble_, table, weights)
    pd.testing.assert_frame_equal(model.rules_, rule_importances(model.ensemble_, spread))
    assert_allclose(model.rules_["odds_ratio"], np.exp(model.rules_["coefficient"]))


def test_a_model_without_terms_has_importances_of_zero():
    table = mixed_frame(100)
    model = RuleRegressor(lambda_0=1e3).fit(table, target_of("gaussian", table))
    assert (model.importances()["importance"] == 0).all()
    assert (model.importances()["share"] == 0).all()
    assert len(model.rules_) == 0


def test_shares_in_the_order_of_the_columns_select_features():
    table = mixed_frame(300)
    y = target_of("gaussian", table)
    model = RuleRegressor(lambda_0=0.1).fit(table, y)
    shares = dict(zip(table.columns, model.feature_importances_, strict=True))
    wanted = model.importances().set_index("feature")["share"].to_dict()
    assert shares == pytest.approx(wanted)
    selector = SelectFromModel(model, prefit=True, max_features=2, threshold=-np.inf)
    selector.fit(table, y)
    chosen = selector.get_feature_names_out()
    assert set(chosen) == set(model.importances()["feature"][:2])
    assert not hasattr(RuleRegressor(), "feature_importances_")


def test_weights_are_checked():
    with pytest.raises(ValueError, match="sample_weight"):
        measure_terms(example(), TABLE, [1.0, -1.0])
