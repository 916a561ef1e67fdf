import sys
from dataclasses import replace

import numpy as np
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ruleglm import RuleClassifier
from ruleglm.export import to_sql
from ruleglm.export.sql import DIALECTS
from tests import sql_engines
from tests.export_cases import (
    adult_ensemble,
    fit_bike,
    plain_ensembles,
    plain_frame,
    plain_rows,
    small_ensemble,
)


@pytest.fixture(params=["duckdb", "sqlite"])
def engine(request):
    engine = getattr(sql_engines, f"open_{request.param}")()
    yield engine
    engine.connection.close()


@settings(max_examples=25)
@given(plain_ensembles(), st.lists(plain_rows, min_size=1, max_size=12))
def test_any_model_on_any_rows(ensemble, records):
    expected = ensemble.predict(plain_frame(records))
    numbered = [{"row": k, **record} for k, record in enumerate(records)]
    for engine in (sql_engines.open_duckdb(), sql_engines.open_sqlite()):
        query = to_sql(ensemble, dialect=engine.dialect, keys=["row"])
        result = engine.run(numbered, query).sort_values("row")
        engine.connection.close()
        assert_allclose(result["mean"].to_numpy(float), expected, rtol=1e-9, atol=1e-9)


def test_truth_values_among_numbers(engine):
    ensemble = replace(small_ensemble("a in {true, 3}", "a = false"), kinds={"a": "number"})
    records = [{"a": value} for value in (0.0, 1.0, 2.0, 3.0)]
    result = engine.run(records, to_sql(ensemble, dialect=engine.dialect))
    assert result["mean"].tolist() == [2.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize("rows", [(0, 1, 2), (0.0, 1.0, -1e300)])
def test_levels_beyond_all_integers_of_databases(engine, rows):
    ensemble = small_ensemble(f"a = {int(-1e300)}", "a = 0", kinds={"a": "level"})
    result = engine.run([{"a": a} for a in rows], to_sql(ensemble, dialect=engine.dialect))
    assert result["mean"].tolist() == [float(a == -1e300) + 2.0 * (a == 0) for a in rows]


def test_offset_and_keys(engine):
    ensemble = small_ensemble("a > 1", "b = 'x'", family="poisson")
    records = [
        {"a": 2.0, "b": "x", "key": "k1", "o": 1.5},
        {"a": 0.0, "b": None, "key": "k2", "o": -0.5},
    ]
    query = to_sql(ensemble, dialect=engine.dialect, keys=("key", "a"), offset="o")
    result = engine.run(records, query)
    assert list(result.columns) == ["key", "a", "linear_predictor", "mean"]
    assert result["key"].tolist() == ["k1", "k2"]
    assert result["a"].tolist() == [2.0, 0.0]
    assert_allclose(result["linear_predictor"], [4.5, -0.5])
    assert_allclose(result["mean"], np.exp([4.5, -0.5]))


@pytest.mark.parametrize("table", ["inputs", "Summed", "order", 'a"b', "a.b", "é😀\n"])
def test_names_of_tables(engine, table):
    query = to_sql(small_ensemble("a > 1"), table, engine.dialect)
    result = engine.run([{"a": 2}, {"a": 0}], query, table)
    assert result["mean"].tolist() == [1.0, 0.0]


def test_a_table_in_a_schema():
    assert 'FROM "main"."t"' in to_sql(small_ensemble("a > 1"), ("main", "t"))
    engine = sql_engines.open_duckdb()
    result = engine.run([{"a": 2}], to_sql(small_ensemble("a > 1"), ("memory", "main", "t")), "t")
    engine.connection.close()
    assert result["mean"].tolist() == [1.0]


def test_a_sum_of_many_rules(engine):
    rules = [f"a > {k}" for k in range(1100)]
    ensemble = small_ensemble(*rules, coefficients=np.ones(1100))
    result = engine.run([{"a": 750.5}, {"a": -3.0}], to_sql(ensemble, dialect=engine.dialect))
    assert result["mean"].tolist() == [751.0, 0.0]


def test_doubles_keep_their_digits(engine):
    third = 1 / 3
    ensemble = small_ensemble(f"a > {third!r}", intercept=0.1 + 0.2)
    rows = [{"a": third}, {"a": np.nextafter(third, 1)}, {"a": np.nextafter(third, 0)}]
    result = engine.run(rows, to_sql(ensemble, dialect=engine.dialect))
    assert result["mean"].tolist() == [0.1 + 0.2, 0.1 + 0.2 + 1, 0.1 + 0.2]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_its_query(dialect):
    for ensemble in (adult_ensemble(), adult_ensemble("multinomial", ("a", "b", "c"))):
        query = to_sql(ensemble, dialect=dialect, keys=["id"])
        (statement,) = sqlglot.parse(query, dialect=dialect)
        assert len(list(statement.find_all(sqlglot.exp.CTE))) == (4 if ensemble.classes else 2)
        columns = {column.name for column in statement.find_all(sqlglot.exp.Column)}
        assert columns >= {"id", *ensemble.names}
        texts = {value.name for value in statement.find_all(sqlglot.exp.Literal) if value.is_string}
        assert texts >= {"it's `own`", 'the "state"', "", "true", "a\\b%s{x}\n", "doctor's"}


def test_line_breaks_in_names_and_levels_stay():
    query = to_sql(small_ensemble("`a\nb` = 'x\n  y'"), table="t\nu")
    assert all(part in query for part in ('"a\nb"', "'x\n  y'", '"t\nu"'))
    assert "\n  SELECT" in to_sql(small_ensemble("a = 'x'"))


def test_labels_that_look_alike_are_numbered():
    query = to_sql(adult_ensemble("multinomial", ("a", "A", 1)))
    assert '"probability_0"' in query
    assert '"probability_a"' not in query


def test_estimators_have_the_method():
    model = fit_bike()
    assert model.to_sql("t", keys=["id"]) == to_sql(model.ensemble_, "t", keys=["id"])
    assert to_sql(model) == to_sql(model.ensemble_)
    with pytest.raises(ValueError, match="not fitted"):
        RuleClassifier().to_sql()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dialect": "excel"}, "dialect='excel' is not known; choose one of duckdb"),
        ({"keys": ["Mean"]}, "The key 'Mean' is named like a column of the result"),
        ({"table": "a\x00b"}, "character of code 0"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        to_sql(small_ensemble("a > 1"), **arguments)


def test_models_that_sql_cannot_say():
    with pytest.raises(TypeError, match=r"write \['id'\]"):
        to_sql(small_ensemble("a > 1"), keys="id")
    with pytest.raises(ValueError, match="Column 'a' mixes the text 'x' with numbers"):
        to_sql(small_ensemble("a in {'x', 1}"))
    with pytest.raises(ValueError, match="character of code 0"):
        to_sql(small_ensemble("a = 'x\x00'"))
    text = replace(small_ensemble("a in {'x', 1}"), kinds={"a": "number"})
    assert '"a" = 1' in to_sql(text)


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    monkeypatch.delitem(sys.modules, "ruleglm.export.sql_query", raising=False)
    with pytest.raises(ImportError, match=r'pip install "ruleglm\[sql\]"'):
        to_sql(small_ensemble("a > 1"))
