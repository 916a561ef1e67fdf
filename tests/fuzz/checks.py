"""What has to hold for every fitted model."""

import json
import math
import pickle
from dataclasses import replace
from decimal import Decimal

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from ruleglm import parse_rule
from ruleglm.columns import NumberColumn
from ruleglm.export import from_json, to_json, to_python, to_sql
from ruleglm.export.source import name_outputs
from tests import sql_engines

MOST_EXACT = 2**53


def check_model(case, model, X, rng):
    rows = case.frame.new_rows(rng)
    for Z in (X, rows):
        check_sums(model, Z)
        check_predictions(case, model, Z)
    check_table(model)
    check_budgets(case, model)
    check_wishes(case, model, rows)
    check_copies(model, rows)
    check_texts(model)
    if model.penalty == "l1":
        assert not model.lower_bound_ > model.objective_ * (1 + 1e-9) + 1e-12, (
            "bound above objective"
        )
    if rng.random() < 0.3:
        check_threads(case, model, X)
    if rng.random() < 0.3:
        check_refit(case, model, X)
    if rng.random() < 0.2:
        check_words(case, model, X, rows)
    records = to_records(model.ensemble_, rows)
    if rng.random() < 0.4:
        check_python(model.ensemble_, rows, records)
    if rng.random() < 0.3:
        check_sql(model.ensemble_, rows, records, rng)


def scale_of(ensemble, X):
    return np.abs(ensemble.contributions(X)).sum(axis=1)


def check_sums(model, X):
    """Contributions add up to the linear predictor."""
    ensemble = model.ensemble_
    eta, parts = ensemble.decision_function(X), ensemble.contributions(X)
    assert np.isfinite(eta).all(), "linear predictor is not finite"
    assert np.all(np.abs(parts.sum(axis=1) - eta) <= 1e-9 * np.abs(parts).sum(axis=1))


def check_predictions(case, model, X):
    eta = model.ensemble_.decision_function(X)
    if case.target.classes:
        p = model.predict_proba(X)
        assert p.shape == (len(eta), len(model.classes_))
        assert np.all((p >= 0.0) & (p <= 1.0)), "a probability outside [0, 1]"
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert_array_equal(model.decision_function(X), eta)
        places = np.searchsorted(model.classes_, model.predict(X))
        assert np.all(p[np.arange(len(p)), places] >= p.max(axis=1) - 1e-12), "not the likeliest"
    else:
        mean = model.predict(X)
        assert np.isfinite(mean[np.abs(eta) < 700]).all(), "a prediction is not finite"
        if case.target.family == "gaussian":
            assert_array_equal(mean, eta)


def check_table(model):
    ensemble = model.ensemble_
    table = ensemble.table()
    numbers = table.drop(columns=["rule", "degree"]).to_numpy()
    assert_array_equal(
        numbers.reshape(ensemble.all_coefficients().shape), ensemble.all_coefficients()
    )
    assert table["rule"].tolist() == list(ensemble.terms)
    assert math.isclose((1 + 0.2 * table["degree"][1:]).sum(), ensemble.complexity, abs_tol=1e-9)
    assert model.complexity_ == ensemble.complexity
    shown = [*(term.label() for term in ensemble.linear_terms), *map(str, ensemble.rules)]
    assert sorted(model.rules_["rule"]) == sorted(shown)
    importances = model.feature_importances_
    assert np.isfinite(importances).all()
    assert (importances >= 0).all()


def check_budgets(case, model):
    ensemble = model.ensemble_
    n_terms = len(ensemble.rules) + len(ensemble.linear_terms)
    cv = hasattr(model, "path_")
    if (cv or model.penalty == "l0") and model.max_complexity is not None:
        assert model.complexity_ <= model.max_complexity + 1e-9, "max_complexity exceeded"
    if not cv and model.penalty == "l0" and model.max_rules is not None:
        assert n_terms <= model.max_rules, "max_rules exceeded"
    degrees = [rule.degree for rule in ensemble.rules if rule.text() not in (model.include or ())]
    most = {"auto": 2 if model.penalty == "l1" else 6, None: math.inf}
    most = most.get(model.max_degree, model.max_degree)
    if not model.include:
        assert max(degrees, default=0) <= most, "max_degree exceeded"
    if cv:
        if isinstance(model.select, dict):
            assert n_terms <= model.select["max_rules"] or model.include
        table = model.path_.table()
        assert len(table) == len(model.path_)
        held = model.at(model.best_index_)
        assert held.ensemble_ == model.ensemble_, "at(best_index_) is another model"


def check_wishes(case, model, rows):
    ensemble = model.ensemble_
    barred = [name for name in model.exclude or () if name in ensemble.names]
    used = {name for rule in ensemble.rules for name in rule.features}
    used |= {term.feature for term in ensemble.linear_terms}
    if not model.include:
        assert used.isdisjoint(barred), "an excluded column is used"
        for pair in model.forbidden_interactions or ():
            assert not any(set(pair) <= set(rule.features) for rule in ensemble.rules)
        if model.allowed_interactions is not None:
            groups = [set(group) for group in model.allowed_interactions or ()]
            several = [set(rule.features) for rule in ensemble.rules if len(rule.features) > 1]
            assert all(any(own <= group for group in groups) for own in several)
    for name, way in (model.monotone or {}).items():
        check_monotone(ensemble, name, way, rows)


def check_monotone(ensemble, name, way, rows):
    """The linear predictor goes one way with a column, whatever the others are."""
    table = ensemble.read(rows)
    place = table.names.index(name)
    column = table.columns[place]
    values = column.values if isinstance(column, NumberColumn) else column.codes
    if isinstance(column, NumberColumn):
        present = np.unique(values[~np.isnan(values)])
    else:
        present = np.arange(len(ensemble.orders[name]))  # an unseen level has no place in the order
    last = None
    for value in present:
        part = np.full(table.n_rows, value)
        own = "values" if isinstance(column, NumberColumn) else "codes"
        moved = replace(column, **{own: part})
        columns = (*table.columns[:place], moved, *table.columns[place + 1 :])
        there = type(table)(columns)
        eta, slack = ensemble.decision_function(there), 1e-9 * scale_of(ensemble, there)
        if last is not None:
            assert np.all(way * (eta - last) >= -slack), f"not monotone in {name!r}"
        last = eta


def check_copies(model, rows):
    """What is saved and loaded, and what is pickled, is the same model."""
    loaded = from_json(to_json(model))
    assert loaded == model.ensemble_, "JSON changes the model"
    assert_array_equal(loaded.predict(rows), model.ensemble_.predict(rows))
    assert pickle.loads(pickle.dumps(model)).ensemble_ == model.ensemble_
    json.loads(model.to_json())


def check_texts(model):
    ensemble = model.ensemble_
    for rule in ensemble.rules:
        assert parse_rule(rule.text(), ensemble.orders) == rule, (
            f"the text {rule.text()!r} is another rule"
        )
    assert str(ensemble)
    assert "<script>alert" not in ensemble._repr_html_()
    assert model.summary()


def check_threads(case, model, X):
    if model.time_limit is not None or model.pricing == "mip":  # which has a limit of its own
        return
    other = clone(model).set_params(n_jobs=1 if model.n_jobs == 2 else 2)
    other.fit(X, case.target.y, **case.target.given)
    assert other.ensemble_ == model.ensemble_, "the model depends on the number of threads"


def check_refit(case, model, X):
    again = model.refit(X, case.target.y, **case.target.given)
    assert again.ensemble_.terms == model.ensemble_.terms
    assert np.isfinite(again.ensemble_.all_coefficients()).all()


def check_words(case, model, X, rows):
    """What explains a model works, and adds up."""
    assert np.isfinite(model.importances()["importance"]).all()
    model.interactions()
    model.shapes()
    if hasattr(rows, "iloc"):
        model.explain(rows.iloc[[0]])
    if "length" not in case.flaws:
        assert not np.isnan(model.deviance(X, case.target.y, **case.target.given))


# ------------------------------------------------------------------------------------ exports


def to_records(ensemble, rows):
    """Rows as the model reads them: dictionaries of Python values, None for missing."""
    table = ensemble.read(rows)
    columns = {}
    for column in table.columns:
        if isinstance(column, NumberColumn):
            columns[column.name] = [None if math.isnan(v) else v for v in column.values.tolist()]
        else:
            columns[column.name] = [None if c < 0 else column.levels[c] for c in column.codes]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def check_equal(ensemble, rows, eta, mean):
    expected, scale = ensemble.decision_function(rows), scale_of(ensemble, rows)
    eta = np.asarray(eta, dtype=float).reshape(expected.shape)
    assert np.all(np.abs(eta - expected) <= 1e-9 * scale + 1e-300), "the export differs"
    mean = np.asarray(mean, dtype=float).reshape(expected.shape)
    steady = (
        np.broadcast_to(scale < 600, expected.shape)
        if ensemble.family.link != "identity"
        else slice(None)
    )
    assert_allclose(
        mean[steady],
        ensemble.predict(rows)[steady],
        rtol=1e-6,
        atol=1e-12 if ensemble.classes else 0,
    )


def check_python(ensemble, rows, records):
    module = {}
    exec(compile(to_python(ensemble), "exported", "exec"), module)
    eta = [module["linear_predictor"](record) for record in records]
    mean = [module["predict"](record) for record in records]
    mean = [list(each.values()) if isinstance(each, dict) else each for each in mean]
    check_equal(ensemble, rows, eta, mean)


def check_sql(ensemble, rows, records, rng):
    """SQL predicts the same, for names and values that the database has."""
    open_engine = sql_engines.open_sqlite if rng.random() < 0.5 else sql_engines.open_duckdb
    names = [name.lower() for name in ensemble.names]
    if "" in names or len(set(names)) < len(names) or not all(map(fits_sql, columns_of(records))):
        return
    engine = open_engine()
    try:
        keyed = [{"row id": k, **record} for k, record in enumerate(records)]
        query = to_sql(ensemble, "t", engine.dialect, keys=["row id"])
        result = engine.run(keyed, query, "t").sort_values("row id")
    finally:
        engine.connection.close()
    n_outputs = len(name_outputs(ensemble))
    numbers = result.drop(columns="row id").to_numpy(float)
    check_equal(ensemble, rows, numbers[:, :n_outputs], numbers[:, n_outputs:])


def columns_of(records):
    return zip(*(record.values() for record in records), strict=True)


def fits_sql(values):
    """Whether a column has one type, and numbers that a database keeps."""
    types = {type(value) for value in values if value is not None}
    if len(types) > 1 or types & {Decimal}:
        return False
    if types == {int} and max(abs(v) for v in values if v is not None) > MOST_EXACT:
        return False
    return types != {str} or not any("\0" in value for value in values if value)
