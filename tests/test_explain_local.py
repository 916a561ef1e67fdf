import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from ruleglm import RuleClassifier
from ruleglm.explain import explain_row
from tests.data import mixed_frame, target_of
from tests.explain_cases import ensembles, example, frame, rows

TABLE = frame(40)
FAMILIES = ("gaussian", "binomial", "poisson", "multinomial")


def check(ensemble, row, offset=0.0):
    found = explain_row(ensemble, row, offset=offset)
    eta = ensemble.decision_function(row)[0] + offset
    assert_allclose(found.eta, eta, rtol=1e-9, atol=1e-9)
    assert_allclose(found.mean, ensemble.family.mean(np.asarray(eta)), rtol=1e-9, atol=1e-12)
    for table in (found.terms, found.features):
        parts = table.filter(like="contribution").to_numpy()
        assert_allclose(parts.sum(axis=0), np.atleast_1d(eta), rtol=1e-9, atol=1e-9)
        last = table.filter(like="mean").to_numpy()[-1]
        assert_allclose(last, np.atleast_1d(found.mean), rtol=1e-9, atol=1e-12)
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_the_terms_at_work_add_up_to_the_prediction(family):
    ensemble = example(family)
    for k in range(0, len(TABLE), 3):
        row = TABLE.iloc[[k]]
        if np.isfinite(ensemble.decision_function(row)).all():
            check(ensemble, row)
            check(ensemble, row, offset=0.7)


@given(ensembles(families=("gaussian", "binomial", "multinomial")))
@settings(deadline=None, max_examples=15)
def test_random_models_add_up(ensemble):
    table = rows(ensemble)
    for k in range(0, len(table), 9):
        check(ensemble, table.iloc[[k]])


def test_only_rules_that_hold_are_shown_and_grouped_by_feature():
    row = {
        "age": 55,
        "<script>x</script>": None,
        "sex": "F",
        "size": "unseen",
        "free": 0,
        "flag": True,
    }
    ensemble = example()
    found = explain_row(ensemble, row, offset=0.5)
    rules = {"age > 50", "sex = 'F'", "age > 40 and sex = 'F'", "true"}
    lines = {"age", "`<script>x</script>`"}
    assert set(found.terms["term"]) == {"(intercept)", "(offset)", *rules, *lines}
    by_name = found.features.set_index("feature")
    assert set(by_name.index) == {
        "(intercept)", "(offset)", "true", "age", "sex", "<script>x</script>", "age and sex",
    }  # fmt: skip
    terms = found.terms.set_index("term")["contribution"]
    assert by_name.loc["age", "contribution"] == pytest.approx(terms["age"] + terms["age > 50"])
    assert by_name.loc["age and sex", "value"] == "55, F"
    assert by_name.loc["<script>x</script>", "value"] == "missing"
    assert found.values == {"age": 55, "<script>x</script>": None, "sex": "F"}
    sizes = found.terms["contribution"][3:].abs()
    assert sizes.is_monotonic_decreasing
    assert "probability of yes" in str(found)


def test_rows_of_every_kind_are_read():
    ensemble = example()
    row = TABLE.iloc[[3]]
    wanted = explain_row(ensemble, row)
    values = row.iloc[0]
    for given_ in (values, values.to_dict(), values.tolist(), row.to_numpy(), values.to_numpy()):
        found = explain_row(ensemble, given_)
        assert found.eta == wanted.eta
        assert found.terms.equals(wanted.terms)
    with pytest.raises(ValueError, match="one row, got 2"):
        explain_row(ensemble, TABLE.iloc[:2])
    with pytest.raises(ValueError, match="lacks the columns"):
        explain_row(ensemble, {"age": 3})


def test_one_class_of_several():
    ensemble = example("multinomial")
    row = TABLE.iloc[[5]]
    whole = check(ensemble, row)
    for place, label in enumerate(ensemble.classes):
        one = explain_row(ensemble, row, class_=label)
        assert one.eta == whole.eta[place]
        assert one.mean == whole.mean[place]
        assert one.terms["contribution"].sum() == pytest.approx(one.eta)
        assert one.terms["mean"].iloc[-1] == pytest.approx(one.mean)
        assert one.what == f"probability of {label}"
    assert "probabilities of a, b, c" in str(whole)


def test_an_estimator_explains_its_own_prediction():
    table = mixed_frame(300)
    model = RuleClassifier(lambda_0=0.01).fit(table, target_of("binomial", table))
    for k in range(5):
        found = model.explain(table.iloc[[k]], offset=0.2)
        wanted = model.predict_proba(table.iloc[[k]], offset=[0.2])[0, 1]
        assert found.mean == pytest.approx(wanted, abs=1e-12)
