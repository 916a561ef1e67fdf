"""Every export predicts what the model predicts, on rows of every kind."""

import importlib.util
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ruleglm.export import from_json, to_json, to_onnx, to_python, to_sql
from ruleglm.export.source import name_outputs
from tests import sql_engines
from tests.export_cases import CASES, adult_ensemble, adult_frame, to_records
from tests.onnx_runs import GONE, run_onnx

numbered = itertools.count()


@pytest.fixture(scope="module")
def server():
    server = sql_engines.Server()
    try:
        server.start()
        yield server
    finally:
        server.stop()


def import_text(text, folder):
    """Import a module from its source."""
    path = folder / f"exported_{next(numbered)}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_sql(engine, ensemble, frame):
    table = 'my "table" 😀'
    records = [{"row id": k, **record} for k, record in enumerate(to_records(frame))]
    query = to_sql(ensemble, table, engine.dialect, keys=["row id"])
    result = engine.run(records, query, table).sort_values("row id")
    engine.connection.close()
    outputs = name_outputs(ensemble)
    names = ["row id", *(eta for eta, _ in outputs), *(mean for _, mean in outputs)]
    assert list(result.columns) == names
    numbers = result.drop(columns="row id").to_numpy(float)
    return numbers[:, : len(outputs)], numbers[:, len(outputs) :]


def by_duckdb(ensemble, frame, request):
    return run_sql(sql_engines.open_duckdb(), ensemble, frame)


def by_sqlite(ensemble, frame, request):
    return run_sql(sql_engines.open_sqlite(), ensemble, frame)


def by_postgres(ensemble, frame, request):
    engine = sql_engines.open_postgres(request.getfixturevalue("server"))
    return run_sql(engine, ensemble, frame)


def by_python(ensemble, frame, request):
    module = import_text(to_python(ensemble), request.getfixturevalue("tmp_path"))
    records = to_records(frame)
    eta = [module.linear_predictor(record) for record in records]
    mean = [module.predict(record) for record in records]
    if ensemble.family.output_shape:
        assert list(mean[0]) == list(ensemble.classes)
        mean = [list(each.values()) for each in mean]
    if ensemble.classes:
        labels = [module.predict_class(record) for record in records]
        assert labels == ensemble.predict_class(frame).tolist()
    return eta, mean


def by_json(ensemble, frame, request):
    loaded = from_json(to_json(ensemble))
    return loaded.decision_function(frame), loaded.predict(frame)


def by_onnx(ensemble, frame, request):
    eta, mean, *label = run_onnx(to_onnx(ensemble, missing=GONE), frame)
    if label:
        assert label[0].tolist() == ensemble.predict_class(frame).tolist()
    assert bool(label) == bool(ensemble.classes)
    return eta, mean


EXPORTS = [by_json, by_python, by_onnx, by_duckdb, by_sqlite, by_postgres]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("export", EXPORTS)
def test_export_equals_the_model(export, case, request):
    ensemble, frame = CASES[case]()
    eta, mean = export(ensemble, frame, request)
    shape = len(frame), *(ensemble.family.output_shape or (1,))
    for found, expected in (
        (eta, ensemble.decision_function(frame)),
        (mean, ensemble.predict(frame)),
    ):
        found = np.asarray(found, dtype=float).reshape(shape)
        assert_allclose(found, expected.reshape(shape), rtol=1e-9, atol=1e-9)


def test_the_cases_are_hard_enough():
    ensemble, rows = adult_ensemble(), adult_frame()
    parts = ensemble.contributions(rows)[:, 5:]
    always = [str(rule) for rule, p in zip(ensemble.rules, parts.T, strict=True) if p.all()]
    never = [str(rule) for rule, p in zip(ensemble.rules, parts.T, strict=True) if not p.any()]
    assert always == ["hours != 'forty'", "true"]
    assert never == []
    assert np.isinf(rows["select"]).any()
    mean = adult_ensemble("binomial", scale=1000.0).predict(rows)
    assert mean.min() == 0.0
    assert mean.max() == 1.0
