from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from ruleglm import RuleClassifier
from ruleglm.explain import measure_interactions, measure_terms, pair_importances
from ruleglm.families import get_family
from tests.data import mixed_frame, target_of
from tests.explain_cases import build, example, frame

TABLE = frame(24)
TABLE = TABLE[np.isfinite(TABLE["<script>x</script>"])].reset_index(drop=True)


def brute_dependence(ensemble, table, features):
    """The mean prediction with some features as in each row, the others as in all rows."""
    values = []
    for k in range(len(table)):
        mixed = table.copy()
        for name in features:
            mixed[name] = pd.Series([table[name].iloc[k]] * len(table), dtype=table[name].dtype)
        values.append(ensemble.decision_function(mixed).mean(axis=0))
    if np.ndim(values) > 1:  # what is added to all classes changes nothing
        values = np.array(values) - np.mean(values, axis=1, keepdims=True)
    return np.array(values) - np.mean(values, axis=0)


@pytest.mark.parametrize("family", ["gaussian", "multinomial"])
def test_h_is_that_of_partial_dependence_by_brute_force(family):
    ensemble = example(family)
    found = measure_interactions(ensemble, TABLE)
    assert len(found) == 5
    for row in found.itertuples():
        one, other = row.feature_1, row.feature_2
        whole = brute_dependence(ensemble, TABLE, [one, other])
        single = [brute_dependence(ensemble, TABLE, [name]) for name in (one, other)]
        beyond = whole - sum(single)
        assert_allclose(row.strength, np.sqrt(np.sum(beyond**2) / len(TABLE)), rtol=1e-9)
        assert_allclose(row.h, np.sqrt(np.sum(beyond**2) / np.sum(whole**2)), rtol=1e-9)
    assert found["strength"].is_monotonic_decreasing


def test_one_class_and_weights():
    ensemble = example("multinomial")
    weights = np.arange(len(TABLE)) % 3
    repeated = TABLE.loc[np.repeat(np.arange(len(TABLE)), weights)]
    whole = measure_interactions(ensemble, TABLE, weights)
    pd.testing.assert_frame_equal(whole, measure_interactions(ensemble, repeated))
    one = measure_interactions(ensemble, TABLE, weights, "b")
    alone = replace(
        ensemble,
        intercept=0.0,
        coefficients=ensemble.coefficients[:, 1],
        linear_coefficients=ensemble.linear_coefficients[:, 1],
        family=get_family("gaussian"),
        classes=(),
    )
    pd.testing.assert_frame_equal(one, measure_interactions(alone, repeated))


def test_features_without_common_rules_do_not_interact():
    additive = build(["age > 50", "sex = 'F'"], [1.0, 2.0])
    assert measure_interactions(additive, TABLE).empty
    assert pair_importances(additive, measure_terms(additive, TABLE)).empty


def test_a_pure_interaction_has_an_h_near_one():
    rng = np.random.default_rng(0)
    table = frame(4000)
    table["age"], table["<script>x</script>"] = rng.random(4000), rng.random(4000)
    low, high = "<= 0.5", "> 0.5"
    xor = build(
        [
            f"age {low} and `<script>x</script>` {low}",
            f"age {high} and `<script>x</script>` {high}",
        ],
        [1.0, 1.0],
    )
    (row,) = measure_interactions(xor, table).itertuples()
    assert row.h > 0.99
    assert row.strength == pytest.approx(0.5, abs=0.02)
    assert row.n_rules == 2


def test_importance_of_a_pair_adds_up_its_rules():
    ensemble = example()
    spread = measure_terms(ensemble, TABLE)
    pairs = pair_importances(ensemble, spread).set_index(["feature_1", "feature_2"])
    sizes = np.abs(ensemble.coefficients) * spread.sds[2:]
    assert pairs.loc[("age", "sex"), "importance"] == pytest.approx(sizes[6])
    assert pairs.loc[("age", "flag"), "importance"] == pytest.approx(sizes[8])
    assert (pairs["n_rules"] == 1).all()


def test_an_estimator_tells_its_pairs_with_and_without_rows():
    table = mixed_frame(300)
    model = RuleClassifier(lambda_0=0.005).fit(table, target_of("binomial", table))
    plain, measured = model.interactions(), model.interactions(table)
    assert len(plain) > 1
    assert set(measured) - set(plain) == {"strength", "h"}
    keys = ["feature_1", "feature_2", "importance"]
    merged = plain.merge(measured, on=keys[:2])
    assert len(merged) == len(plain)
    assert_allclose(merged["importance_x"], merged["importance_y"])
