import ast
import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ruleglm import parse_rule
from ruleglm.export import to_python
from tests.export_cases import (
    adult_ensemble,
    adult_frame,
    ensembles,
    fit_bike,
    plain_ensembles,
    plain_frame,
    plain_rows,
    to_records,
)


def run(text):
    """The names of a module, from its source."""
    names = {}
    exec(compile(text, "exported", "exec"), names)
    return names


@settings(max_examples=40)
@given(plain_ensembles(), st.lists(plain_rows, min_size=1, max_size=12))
def test_any_model_on_any_rows(ensemble, records):
    predict = run(to_python(ensemble))["predict"]
    expected = ensemble.predict(plain_frame(records))
    assert_allclose([predict(record) for record in records], expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=40)
@given(ensembles())
def test_any_model_becomes_a_module_that_imports_only_math(ensemble):
    text = to_python(ensemble)
    imports = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Import, ast.ImportFrom))]
    assert [alias.name for node in imports for alias in node.names] == ["math"]
    assert callable(run(text)["predict"])


def test_the_terms_that_hold_are_listed():
    module = run(to_python(adult_ensemble()))
    ensemble, frame = adult_ensemble(), adult_frame(20)
    for record, parts in zip(to_records(frame), ensemble.contributions(frame), strict=True):
        terms = module["explain"](record)
        expected = [
            (text, part)
            for k, (text, part) in enumerate(zip(ensemble.terms, parts, strict=True))
            if k < 5 or part
        ]
        assert terms == expected


def test_offset_and_overflow():
    module = run(to_python(adult_ensemble("poisson").drop(*range(1, 26)), name="rate"))
    eta = module["linear_predictor"]({})
    assert module["rate"]({}, offset=1.0) == math.exp(eta + 1.0)
    assert module["rate"]({}, offset=1000.0) == math.inf
    assert module["rate"]({}, offset=-1000.0) == 0.0


def test_a_lacking_column_or_a_text_is_an_error():
    predict = run(to_python(adult_ensemble()))["predict"]
    record = to_records(adult_frame(5))[2]
    with pytest.raises(KeyError, match="age"):
        predict({})
    with pytest.raises(ValueError, match="Column 'age' holds the text '12' where a number"):
        predict({**record, "age": "12"})


def test_values_of_numpy_are_welcome():
    module = run(to_python(adult_ensemble()))
    record = to_records(adult_frame(5))[2]
    own = {**record, "hours": np.int64(record["hours"]), "married": np.bool_(True)}
    assert module["predict"](own) == module["predict"]({**record, "married": True})


@pytest.mark.parametrize("name", ["", "a b", "class", "math", "explain", "x;y"])
def test_names_that_no_function_can_have(name):
    with pytest.raises(ValueError, match="cannot be the name of the function"):
        to_python(adult_ensemble(), name=name)


def test_nothing_of_a_rule_is_run():
    rule = parse_rule('`\'\'\'"""\\n); import os` = \'{name}"""\n    import os\'')
    odd = dataclasses.replace(
        adult_ensemble().drop(*range(1, 26)),
        rules=(rule,),
        coefficients=[1.0],
        names=rule.features,
        kinds={},
        orders={},
    )
    module = run(to_python(odd))
    assert "os" not in module
    (name,), (level,) = rule.features, rule.conditions[0].levels
    base = module["linear_predictor"]({name: "else"})
    assert module["linear_predictor"]({name: level}) == base + 1.0


def test_estimators_have_the_method():
    model = fit_bike()
    assert model.to_python("f") == to_python(model.ensemble_, "f")
