import sys

import numpy as np
import onnx
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ruleglm.export import to_onnx
from tests.export_cases import (
    adult_ensemble,
    adult_frame,
    fit_bike,
    plain_ensembles,
    plain_frame,
    plain_rows,
    small_ensemble,
)
from tests.onnx_runs import GONE, run_onnx


@settings(max_examples=40)
@given(plain_ensembles(most=5), st.lists(plain_rows, min_size=1, max_size=12))
def test_any_model_on_any_rows(ensemble, records):
    frame = plain_frame(records)
    eta, mean = run_onnx(to_onnx(ensemble, missing=GONE), frame)
    assert eta.shape == (len(records), 1)
    assert_allclose(mean[:, 0], ensemble.predict(frame), rtol=1e-9, atol=1e-9)


def test_only_standard_operators_in_double_precision():
    model = to_onnx(adult_ensemble("multinomial", ("a", "b", "c")), missing=GONE)
    assert {node.domain for node in model.graph.node} == {""}
    kinds = {tensor.data_type for tensor in model.graph.initializer}
    assert onnx.TensorProto.FLOAT not in kinds
    inputs = {given.name: given.type.tensor_type.elem_type for given in model.graph.input}
    assert inputs["age"] == onnx.TensorProto.DOUBLE
    assert inputs["married"] == onnx.TensorProto.DOUBLE
    assert inputs["work"] == onnx.TensorProto.STRING
    assert "age > 30.5" in model.graph.doc_string


def test_an_empty_text_is_missing_unless_told_otherwise():
    ensemble = small_ensemble("a is missing", "a = 'x'", "a != 'x'")
    model = to_onnx(ensemble)
    frame = pd.DataFrame({"a": ["", "x", "y"]})
    assert run_onnx(model, frame)[1].ravel().tolist() == [1.0, 2.0, 3.0]


def test_offset():
    ensemble = small_ensemble("a > 1", family="poisson")
    model = to_onnx(ensemble, offset="log time")
    eta, mean = run_onnx(model, pd.DataFrame({"a": [2.0, 0.0]}), **{"log time": [0.5, -0.5]})
    assert eta.ravel().tolist() == [1.5, -0.5]
    assert_allclose(mean.ravel(), np.exp([1.5, -0.5]), rtol=1e-12)


def test_columns_that_are_called_like_outputs_or_nodes():
    ensemble = small_ensemble("mean > 1", "node_0 > 1", "linear_predictor <= 1", "label > 1")
    model = to_onnx(ensemble)
    assert [output.name for output in model.graph.output] == ["linear_predictor_", "mean_"]
    frame = pd.DataFrame({name: [0.0, 2.0] for name in ensemble.names})
    assert run_onnx(model, frame)[1].ravel().tolist() == [3.0, 7.0]


@pytest.mark.parametrize("labels", [("a", "b"), (3, 7), (False, True), (0.5, 1.5)])
def test_labels_keep_their_type(labels):
    ensemble = small_ensemble("a > 1", intercept=-0.5, family="binomial", classes=labels)
    label = run_onnx(to_onnx(ensemble), pd.DataFrame({"a": [0.0, 2.0]}))[2].tolist()
    assert label == list(labels)
    assert [type(each) for each in label] == [type(each) for each in labels]


def test_labels_of_several_types_are_left_out():
    ensemble = small_ensemble("a > 1", family="binomial", classes=("a", 1))
    assert [output.name for output in to_onnx(ensemble).graph.output][1:] == ["probability"]


def test_numbers_of_single_precision_would_not_do():
    """Why the inputs are doubles: a threshold between two floats of single precision."""
    ensemble = small_ensemble("a > 16777216.5")
    frame = pd.DataFrame({"a": [16777216.0, 16777217.0]})
    assert run_onnx(to_onnx(ensemble), frame)[1].ravel().tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("rule", "arguments", "message"),
    [
        ("a = ''", {}, "The text '' is a level of column 'a'; let `missing` be another"),
        ("a = 'x'", {"missing": "x"}, "The text 'x' is a level"),
        ("`` > 1", {}, "empty name"),
        ("a > 1", {"offset": "a"}, "cannot be called 'a'"),
        ("a in {'x', 1}", {}, "Column 'a' mixes the text 'x'"),
        (f"a = {2**60 + 1}", {}, "is no double"),
    ],
)
def test_what_is_refused(rule, arguments, message):
    with pytest.raises(ValueError, match=message):
        to_onnx(small_ensemble(rule), **arguments)


def test_estimators_have_the_method():
    model = fit_bike()
    assert model.to_onnx() == to_onnx(model.ensemble_)


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "ruleglm.export.onnx_graph", raising=False)
    with pytest.raises(ImportError, match=r'pip install "ruleglm\[onnx\]"'):
        to_onnx(adult_ensemble())


def test_rows_of_the_census_have_no_missing_token():
    assert not adult_frame().isin([GONE]).any().any()
