import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import softmax

from ruleglm import ensemble as ensemble_module
from ruleglm.ensemble import RuleEnsemble
from ruleglm.families import FAMILIES, get_family
from ruleglm.frames import read_table
from ruleglm.multinomial import Multinomial
from ruleglm.parser import parse_rule
from ruleglm.rules import Levels, LinearTerm, Range, Rule
from tests.rule_strategies import value_satisfies

relaxed = settings(deadline=None)
SIZES = ("S", "M", "L")
NAMES = ("age", "bmi", "sex", "size")
ORDERS = {"size": SIZES}
RULE_TEXTS = (
    "age > 50",
    "age > 50 and sex = 'F'",
    "30 < age <= 50 and sex != 'F'",
    "bmi is missing",
    "age > 50 and bmi is not missing and size <= 'M'",
    "sex not in {'F', 'X'}",
    "size > 'S'",
    "true",
)
RULES = tuple(parse_rule(text, ORDERS) for text in RULE_TEXTS)
LINES = (LinearTerm("age", 20, 80, 45), LinearTerm("bmi", 15, 40, 25))

coefficients = st.floats(-100, 100)
rows = st.fixed_dictionaries(
    {
        "age": st.none() | st.floats(0, 100) | st.sampled_from([30.0, 50.0, -np.inf, np.inf]),
        "bmi": st.none() | st.floats(10, 50),
        "sex": st.sampled_from([None, "F", "M", "X", "unseen"]),
        "size": st.sampled_from([None, *SIZES, "unseen"]),
    }
)
tables = st.lists(rows, min_size=1, max_size=20)


def build(rules=RULES, values=None, lines=LINES, slopes=None, family="gaussian"):
    values = np.arange(1.0, len(rules) + 1) if values is None else values
    slopes = np.linspace(0.5, 1.0, len(lines)) if slopes is None else slopes
    return RuleEnsemble(
        intercept=-1.25,
        rules=tuple(rules),
        coefficients=np.asarray(values),
        linear_terms=tuple(lines),
        linear_coefficients=np.asarray(slopes),
        family=get_family(family),
        names=NAMES,
        kinds={"age": "number", "bmi": "number", "sex": "level", "size": "ordered"},
        orders=ORDERS,
    )


def frame(records):
    data = pd.DataFrame(records, columns=list(NAMES))
    numbers = data[["age", "bmi"]].astype(float)
    return data.assign(**numbers, sex=data["sex"].astype(object), size=data["size"].astype(object))


EXAMPLE = frame(
    [
        {"age": 61.0, "bmi": 22.0, "sex": "F", "size": "S"},
        {"age": 45.0, "bmi": None, "sex": "M", "size": "L"},
        {"age": None, "bmi": 99.0, "sex": None, "size": "unseen"},
    ]
)


def predict_row(model, row):
    """Add one row up in plain Python: the slow twin of `decision_function`."""
    total = model.intercept
    for term, slope in zip(model.linear_terms, model.linear_coefficients, strict=True):
        value = row[term.feature]
        total += slope * (term.fill if value is None else min(max(value, term.low), term.high))
    for rule, coefficient in zip(model.rules, model.coefficients, strict=True):
        if all(value_satisfies(c, row[c.feature]) for c in rule.conditions):
            total += coefficient
    return total


# ------------------------------------------------------------------------------------ predictions


@relaxed
@given(tables, st.data())
def test_contributions_add_up_to_the_linear_predictor(records, data):
    chosen = data.draw(st.lists(st.sampled_from(RULES), max_size=6))
    lines = data.draw(st.lists(st.sampled_from(LINES), max_size=2))

    def draw(count):
        return data.draw(st.lists(coefficients, min_size=count, max_size=count))

    model = build(chosen, draw(len(chosen)), lines, draw(len(lines)))
    offset = np.array(draw(len(records)))
    X = read_table(frame(records), names=NAMES, kinds=model.kinds, levels=ORDERS)
    parts = model.contributions(X)
    eta = model.decision_function(X, offset)
    scale = 1 + np.abs(parts).sum(axis=1) + np.abs(offset)
    assert parts.shape == (len(records), len(model.terms))
    assert np.all(np.abs(parts.sum(axis=1) + offset - eta) <= 1e-12 * scale)
    expected = [predict_row(model, row) for row in records] + offset
    assert np.all(np.abs(eta - expected) <= 1e-12 * scale)


def test_contributions_of_known_rows():
    parts = build().contributions(EXAMPLE)
    assert parts[:, 0].tolist() == [-1.25] * 3
    assert parts[:, 1].tolist() == [30.5, 22.5, 22.5]
    assert parts[:, 2].tolist() == [22.0, 25.0, 40.0]
    assert parts[:, 3:].tolist() == [
        [1, 2, 0, 0, 5, 0, 0, 8],
        [0, 0, 3, 4, 0, 6, 7, 8],
        [0, 0, 0, 0, 0, 0, 0, 8],
    ]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_predict_is_the_mean_of_the_linear_predictor(family):
    model = build(values=np.full(len(RULES), 0.125), slopes=[0.01, -0.01], family=family)
    eta = model.decision_function(EXAMPLE, offset=0.5)
    assert_allclose(eta, model.decision_function(EXAMPLE) + 0.5, rtol=1e-14)
    assert_allclose(model.predict(EXAMPLE, offset=0.5), model.family.mean(eta), rtol=1e-14)


def test_frames_arrays_and_tables_agree():
    model = build()
    expected = model.decision_function(EXAMPLE)
    shuffled = EXAMPLE[["size", "bmi", "age", "sex"]].assign(extra=1)
    polars = pl.DataFrame(EXAMPLE.astype(object).where(EXAMPLE.notna(), None).to_dict("list"))
    table = read_table(EXAMPLE, names=NAMES, kinds=model.kinds, levels=ORDERS)
    for X in (shuffled, polars, EXAMPLE.to_numpy(dtype=object), table):
        assert model.decision_function(X).tolist() == expected.tolist()


def test_blocks_of_rows_do_not_change_a_prediction(monkeypatch):
    model = build()
    X = pd.concat([EXAMPLE] * 5, ignore_index=True)
    eta, parts = model.decision_function(X), model.contributions(X)
    monkeypatch.setattr(ensemble_module, "_BLOCK_ROWS", 4)
    assert model.decision_function(X).tolist() == eta.tolist()
    assert model.contributions(X).tolist() == parts.tolist()


def test_each_distinct_condition_is_evaluated_once(monkeypatch):
    calls = []
    original = Levels.holds

    def counting(self, column):
        calls.append(str(self))
        return original(self, column)

    monkeypatch.setattr(Levels, "holds", counting)
    texts = ("sex = 'F'", "sex = 'F' and age > 30", "sex = 'F' and bmi > 3", "sex != 'F'")
    build([parse_rule(text) for text in texts]).predict(EXAMPLE)
    assert calls == ["sex = 'F'", "sex != 'F'"]


def test_the_empty_model_is_its_intercept():
    model = build((), (), (), ())
    assert model.decision_function(EXAMPLE).tolist() == [-1.25] * 3
    assert model.contributions(EXAMPLE).tolist() == [[-1.25]] * 3
    assert model.complexity == 0


# ----------------------------------------------------------------------------------- descriptions


def test_complexity_counts_rules_conditions_and_lines():
    assert build().complexity == pytest.approx(len(RULES) + 2 + 0.2 * (1 + 2 + 3 + 1 + 3 + 2 + 1))


def test_table_has_a_row_per_contribution():
    model = build()
    table = model.table()
    assert list(table.columns) == ["rule", "coefficient", "degree"]
    assert tuple(table["rule"]) == model.terms == ("(intercept)", "age", "bmi", *RULE_TEXTS)
    assert table["coefficient"].tolist() == [-1.25, 0.5, 1.0, *range(1, 9)]
    assert (1 + 0.2 * table["degree"][1:]).sum() == pytest.approx(model.complexity)


def test_text_is_readable():
    text = str(build(RULES[:2], [0.8, -12.5], LINES[:1], [0.021], family="binomial"))
    assert text.split("\n") == [
        "binomial model with logit link: 2 rules and 1 linear term, complexity 3.6",
        "   -1.25  (intercept)",
        "  +0.021  age (line from 20 to 80)",
        "    +0.8  age > 50",
        "   -12.5  age > 50 and sex = 'F'",
    ]


# -------------------------------------------------------------------------------------- the value


def test_models_are_values():
    model = build()
    assert pickle.loads(pickle.dumps(model)) == model
    assert dataclasses.replace(model, intercept=0.0) != model
    assert build(values=np.zeros(len(RULES))) != model
    assert model != "model"


def test_arrays_are_copied_and_read_only():
    values = np.zeros(len(RULES))
    model = build(values=values)
    values[0] = 1.0
    assert model.coefficients[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        model.coefficients[0] = 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coefficients": np.zeros(3)}, r"`coefficients` has shape \(3,\), but \(8,\)"),
        ({"linear_coefficients": np.zeros((2, 1))}, r"`linear_coefficients` has shape \(2, 1\)"),
        ({"linear_coefficients": np.array([0, np.nan])}, "`linear_coefficients` holds nan"),
        ({"intercept": np.inf}, "`intercept` holds inf"),
        ({"names": ("age", "bmi", "sex")}, "reads the column 'size', which is not among"),
        ({"names": ("age",) * 2}, "have to differ"),
        ({"kinds": {"weight": "number"}}, "`kinds` mentions the column 'weight'"),
        ({"orders": {"weight": (1, 2)}}, "`orders` mentions the column 'weight'"),
        (
            {"rules": (Rule((Levels("hue", ("a",)),)),) * 8},
            "rule `hue = 'a'` reads the column 'hue'",
        ),
    ],
)
def test_inconsistent_parts_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(build(), **changes)


@pytest.mark.parametrize(
    ("offset", "message"),
    [([1.0, 2.0], r"offset has shape \(2,\)"), ([0.0, np.nan, 0.0], "offset of row 1 is nan")],
)
def test_bad_offsets_are_refused(offset, message):
    with pytest.raises(ValueError, match=message):
        build().decision_function(EXAMPLE, offset)


def test_every_class_has_its_own_sum():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.normal(size=50), "b": rng.choice(["x", "y"], 50)})
    model = RuleEnsemble(
        intercept=[0.5, -0.25, 0.0],
        rules=(Rule([Range("a", low=0.0)]), Rule([Levels("b", ("x",)), Range("a", high=1.0)])),
        coefficients=[[1.0, -1.0, 0.0], [0.0, 2.0, -0.5]],
        linear_terms=(LinearTerm("a", -1.0, 1.0, 0.0),),
        linear_coefficients=[[0.1, 0.2, 0.3]],
        family=Multinomial(3),
        names=("a", "b"),
        classes=("red", "green", "blue"),
    )
    assert model != build()
    assert build() != model
    parts = model.contributions(X)
    assert parts.shape == (50, 4, 3)
    eta = model.decision_function(X)
    np.testing.assert_allclose(parts.sum(axis=1), eta, atol=1e-12)
    for k in range(3):
        one = RuleEnsemble(
            model.intercept[k],
            model.rules,
            model.coefficients[:, k],
            model.linear_terms,
            model.linear_coefficients[:, k],
            get_family("gaussian"),
            model.names,
        )
        np.testing.assert_allclose(eta[:, k], one.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(model.predict(X), softmax(eta, axis=1))
    table = model.table()
    assert list(table.columns[1:4]) == [f"coefficient of {c}" for c in ("red", "green", "blue")]
    np.testing.assert_array_equal(table["coefficient of green"], [-0.25, 0.2, -1.0, 2.0])
    assert "+2 green" in str(model)
    with pytest.raises(ValueError, match="2 classes"):
        dataclasses.replace(model, classes=("red", "green"))
