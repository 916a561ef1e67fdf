import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from ruleglm import RuleClassifier
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain import LevelShape, NumberShape, build_shapes, mean_shapes, measure_terms
from ruleglm.families import get_family
from ruleglm.parser import parse_rule
from ruleglm.rules import Levels, LinearTerm, Rule
from tests.data import mixed_frame, target_of
from tests.explain_cases import build, ensembles, example, frame, rows

FAMILIES = ("gaussian", "binomial", "poisson", "multinomial")
X = frame()


def assert_same_sum(shapes, table):
    whole = shapes.ensemble.decision_function(table)
    if shapes.class_ is not None:
        whole = whole[:, shapes.ensemble.classes.index(shapes.class_)]
    assert_allclose(shapes.decision_function(table), whole, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_shapes_and_rules_of_several_features_add_up_to_the_model(family):
    shapes = build_shapes(example(family))
    assert_same_sum(shapes, X)
    assert list(shapes.shapes) == ["age", "<script>x</script>", "sex", "size"]
    assert [len(rule.features) for rule in shapes.rules] == [2, 2, 3]
    centred = shapes.centred(shapes.means(X))
    assert_same_sum(centred, X)
    for shape in centred:
        assert_allclose(
            shape.values(shapes.ensemble.read(X).column(shape.feature)).mean(0), 0, atol=1e-12
        )


@given(ensembles())
@settings(deadline=None, max_examples=40)
def test_random_models_add_up_at_their_thresholds(ensemble):
    table = rows(ensemble)
    shapes = build_shapes(ensemble)
    assert_same_sum(shapes, table)
    assert_same_sum(shapes.centred(dict.fromkeys(shapes.shapes, 0.25)), table)


def test_the_function_of_a_number_by_hand():
    line = LinearTerm("age", 20, 80, 45)
    shapes = build_shapes(
        build(["age > 50", "30 < age <= 50", "age is missing"], [2.0, 0.5, -1.0], [line], [0.1])
    )
    age = shapes["age"]
    assert age.breaks.tolist() == [20, 30, 50, 80]
    assert_allclose(age.starts, [2, 2, 3.5, 7, 10])
    assert_allclose(age.ends, [2, 3, 5.5, 10, 10])
    assert_allclose(age.slopes, [0, 0.1, 0.1, 0.1, 0])
    assert age.missing == pytest.approx(4.5 - 1)
    table = shapes.table()
    assert table["where"].tolist()[:3] == ["age <= 20", "20 < age <= 30", "30 < age <= 50"]
    assert table["where"].tolist()[-1] == "age is missing"
    assert table[["start", "end"]].iloc[2].tolist() == pytest.approx([3.5, 5.5])


def test_the_function_of_levels_by_hand():
    shapes = build_shapes(
        build(["sex = 'F'", "sex not in {'F', 'X'}", "size > 'S'", "size is missing"], [1, 2, 4, 8])
    )
    sex, size = shapes["sex"], shapes["size"]
    assert sex.levels == ("F", "X")
    assert sex.level_values.tolist() == [1, 0]
    assert (sex.other, sex.missing, sex.ordered) == (2, 0, False)
    assert size.levels == ("S", "M", "L")
    assert size.level_values.tolist() == [0, 4, 4]
    assert (size.other, size.missing, size.ordered) == (0, 8, True)
    where = shapes.table()["where"].tolist()
    assert where[:4] == ["sex = 'F'", "sex = 'X'", "sex not in {'F', 'X'}", "sex is missing"]


def test_single_numbers_of_a_number_column_are_pieces_of_their_own():
    rule = Rule((Levels("age", (3, 7.5, 10**400), negated=True),))
    shapes = build_shapes(build([rule], [1.0]))
    assert isinstance(shapes["age"], NumberShape)
    near = [math.nextafter(x, d) for x in (3, 7.5) for d in (-math.inf, math.inf)]
    table = frame(8)
    table["age"] = [3, 7.5, *near, np.nan, 5]
    assert_same_sum(shapes, table)
    assert shapes["age"].values(shapes.ensemble.read(table).column("age"))[:2].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["free = 1", "free != 2"], LevelShape),
        (["free = 1", "free > 2"], NumberShape),
        (["free is missing"], LevelShape),
        (["free = 'x'"], LevelShape),
    ],
)
def test_a_column_without_a_kind_is_read_as_its_conditions_say(texts, kind):
    shapes = build_shapes(build(texts, np.arange(1.0, len(texts) + 1)))
    assert type(shapes["free"]) is kind
    table = frame(5)
    table["free"] = [1, 2, 3, np.nan, 1.5]
    assert_same_sum(shapes, table)


def test_one_class_of_several():
    ensemble = example("multinomial")
    whole = build_shapes(ensemble)
    for label in ensemble.classes:
        one = build_shapes(ensemble, label)
        assert_same_sum(one, X)
        assert_same_sum(one.centred(one.means(X)), X)
        assert one.table().shape == (len(whole.table()), 6)
    assert "start of b" in whole.table()
    with pytest.raises(ValueError, match="no class 'd'; the classes are 'a', 'b', 'c'"):
        whole.of_class("d")
    with pytest.raises(ValueError, match="three classes"):
        build_shapes(example(), "yes")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_means_of_the_terms_give_the_means_of_the_shapes(family, weighted):
    table = X[np.isfinite(X["<script>x</script>"])]
    weights = np.arange(len(table)) % 3 if weighted else None
    shapes = build_shapes(example(family))
    spread = measure_terms(shapes.ensemble, table, weights)
    found, wanted = mean_shapes(shapes, spread), shapes.means(table, weights)
    assert list(found) == list(wanted)
    for name, mean in wanted.items():
        assert_allclose(found[name], mean, atol=1e-12)


def test_a_model_without_terms_has_no_shapes():
    shapes = build_shapes(build(["true"], [1.0]))
    assert (len(shapes), shapes.intercept, shapes.rules) == (0, 1.25, ())
    assert shapes.table().empty
    assert_same_sum(shapes, X)


def test_a_fitted_model_has_shapes_centred_on_its_training_rows():
    table = mixed_frame(400)
    y = target_of("binomial", table)
    model = RuleClassifier(lambda_0=0.01, max_degree=1, linear_terms=True).fit(table, y)
    shapes = model.shapes(centred=True)
    assert len(shapes) > 3
    assert_same_sum(shapes, table)
    for shape in shapes:
        values = shape.values(model.ensemble_.read(table).column(shape.feature))
        assert values.mean() == pytest.approx(0, abs=1e-9)
    assert model.shapes().intercept == model.intercept_
    again = model.shapes(table, centred=True)
    assert_allclose(again.intercept, shapes.intercept)


def test_a_column_of_another_kind_at_prediction_is_read_as_in_training():
    ensemble = RuleEnsemble(
        intercept=0.0,
        rules=(parse_rule("zip = 3"), parse_rule("zip != 5")),
        coefficients=np.array([1.0, 2.0]),
        linear_terms=(),
        linear_coefficients=np.empty(0),
        family=get_family("gaussian"),
        names=("zip",),
        kinds={"zip": "level"},
    )
    assert_same_sum(build_shapes(ensemble), pd.DataFrame({"zip": [3.0, 4.0, 5.0, np.nan]}))
