"""Fits on a cluster of processes give the models of fits in one place."""

import os
import pickle
import signal
import time
import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ruleglm import RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV
from ruleglm.engines import Part
from tests.test_local_engine import N_BINS, draw_case

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster

from ruleglm.dask import (
    ClusterLostError,
    DaskRuleClassifier,
    DaskRuleClassifierCV,
    DaskRuleRegressor,
    DaskRuleRegressorCV,
    session,
)
from ruleglm.dask.blocks import Fold, deal_out, hash_groups
from ruleglm.dask.journal import Journal
from ruleglm.dask.rows import balance

N_ROWS = 400
LOCAL = {"processes": True, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),
        LocalCluster(**LOCAL) as cluster,
        Client(cluster) as client,
    ):
        yield client


def draw_frame(n_rows=N_ROWS, seed=0):
    """Mixed columns with missing values, a target of each kind, weights and an exposure."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows).astype(float),
            "income": rng.exponential(size=n_rows).round(2),
            "region": rng.choice(["north", "south", "east", "west"], n_rows),
            "visits": rng.poisson(1.0, n_rows),
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    eta = 1.5 * (frame["age"] > 50) * (frame["region"] == "north") - (frame["visits"] > 1)
    eta = eta.to_numpy() + 0.5 * (frame["income"] < 0.3).to_numpy()
    frame["number"] = (eta + rng.normal(size=n_rows)).round(3)
    frame["label"] = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-eta)), "yes", "no")
    frame["exposure"] = rng.uniform(0.5, 2.0, n_rows).round(3)
    frame["count"] = rng.poisson(np.exp(eta - 0.5) * frame["exposure"])
    frame["weight"] = rng.integers(0, 4, n_rows).astype(float)
    frame["offset"] = rng.normal(size=n_rows).round(3)
    return frame


FEATURES = ["age", "income", "region", "visits"]
FRAME = draw_frame()


def split(frame, *limits):
    """A dask frame with partitions that end at the rows given; equal ones make an empty one."""
    ends = [0, *limits, len(frame)]
    parts = [frame.iloc[first:end] for first, end in pairwise(ends)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=frame.iloc[:0])


def assert_same_model(one, other):
    """Same rules, lines and coefficients."""
    assert one.ensemble_.rules == other.ensemble_.rules
    lines = [[term.feature for term in each.ensemble_.linear_terms] for each in (one, other)]
    assert lines[0] == lines[1]
    for values in ("coefficients", "linear_coefficients", "intercept"):
        found = [getattr(each.ensemble_, values) for each in (one, other)]
        assert_allclose(*found, rtol=1e-8, atol=1e-8)


CASES = {
    "classes": (RuleClassifier, DaskRuleClassifier, "label", {"lambda_0": 0.02}, {}, (150, 150)),
    "classes, l0": (
        RuleClassifier,
        DaskRuleClassifier,
        "label",
        {"penalty": "l0", "max_complexity": 6, "class_weight": "balanced"},
        {"sample_weight": "weight"},
        (3, 10, 10, 200, 250, 390),
    ),
    "numbers": (
        RuleRegressor,
        DaskRuleRegressor,
        "number",
        {"lambda_0": 0.03, "linear_terms": True},
        {"sample_weight": "weight", "offset": "offset"},
        (100, 101),
    ),
    "counts": (
        RuleRegressor,
        DaskRuleRegressor,
        "count",
        {"family": "poisson", "penalty": "l0", "max_complexity": 5},
        {"sample_weight": "weight", "exposure": "exposure"},
        (),
    ),
    "asked for": (
        RuleRegressor,
        DaskRuleRegressor,
        "number",
        {
            "lambda_0": 0.04,
            "include": ["income > 0.77"],
            "exclude": ["visits"],
            "monotone": {"age": 1},
        },
        {},
        (200,),
    ),
}


def assert_all_released(client):
    """The client forgets futures in a thread of its own, a moment after the last name is gone."""
    deadline = time.monotonic() + 10.0
    while client.futures and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not client.futures


@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_one_engine(client, case):
    local, spread, target, parameters, roles, limits = CASES[case]
    vectors = {role: FRAME[name] for role, name in roles.items()}
    expected = local(**parameters).fit(FRAME[FEATURES], FRAME[target], **vectors)
    rows = split(FRAME[[*FEATURES, target, *roles.values()]], *limits)
    model = spread(**parameters).fit(rows, target, **roles)
    assert len(expected.ensemble_.rules) > 1
    assert_same_model(model, expected)
    assert model.certificate_ == expected.certificate_
    assert_allclose(model.gap_, expected.gap_, rtol=1e-3, atol=1e-9)
    assert_allclose(model.rules_["support"], expected.rules_["support"])
    assert list(model.feature_names_in_) == FEATURES
    assert f"{N_ROWS} training rows" in " ".join(model.summary().split())
    assert model.traffic_["bytes_received"].sum() > 0
    if len(model.trace_):
        assert (model.trace_[["messages", "bytes"]] > 0).all(axis=None)
        assert "bytes" not in expected.trace_
    assert_all_released(client)


def test_collections_are_predicted_partition_by_partition(client):
    rows = split(FRAME, 100, 100)
    model = DaskRuleClassifier(lambda_0=0.05).fit(
        rows[FEATURES], rows["label"], offset=rows["offset"]
    )
    local = pickle.loads(pickle.dumps(model))
    assert local.client is None
    X, offset = FRAME[FEATURES], FRAME["offset"]
    expected = local.predict_proba(X, offset=offset)
    found = model.predict_proba(rows[FEATURES], offset=rows["offset"]).compute()
    assert_allclose(found, expected)
    assert found.index.equals(FRAME.index)
    assert_array_equal(model.predict(rows[FEATURES]).compute(), local.predict(X))
    log_odds = model.decision_function(rows[FEATURES]).compute()
    assert_allclose(log_odds, local.decision_function(X))
    with pytest.raises(TypeError, match="`offset` has to be a dask"):
        model.predict(rows[FEATURES], offset=offset)


def test_arrays(client):
    values = FRAME[["age", "income", "visits"]].to_numpy(float)
    X = da.from_array(values, chunks=((150, 250), (2, 1)))
    y = da.from_array(FRAME["number"].to_numpy(), chunks=((150, 250),))
    expected = RuleRegressor(lambda_0=0.05).fit(values, FRAME["number"])
    model = DaskRuleRegressor(lambda_0=0.05, client=client).fit(X, y)
    assert_same_model(model, expected)
    assert_allclose(model.predict(X).compute(), expected.predict(values))


def test_files_with_levels_that_only_some_have(client, tmp_path):
    frame = FRAME[[*FEATURES, "number"]].copy()
    frame.loc[:199, "region"] = np.where(frame.loc[:199, "region"] == "north", "north", "south")
    frame.loc[200:, "age"] = np.nan
    frame.iloc[:200].to_parquet(tmp_path / "a.parquet")
    frame.iloc[200:].to_parquet(tmp_path / "b.parquet")
    expected = RuleRegressor(lambda_0=0.03).fit(frame[FEATURES], frame["number"])
    model = DaskRuleRegressor(lambda_0=0.03).fit(tmp_path, "number")
    assert_same_model(model, expected)


@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_folds_choose_as_the_same_folds_do_in_one_place(client, penalty):
    parameters = {"penalty": penalty, "n_lambdas": 3, "max_complexity": 3, "max_degree": 1}
    parameters |= {"bins": 8, "linear_terms": penalty == "l0"}
    limits = (150, 150, 280)
    rows = split(FRAME[[*FEATURES, "number"]], *limits)
    model = DaskRuleRegressorCV(**parameters, cv=2).fit(rows, "number")
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    fold = Fold(0, 2, seed, stratified=False, held_out=True)
    ends = [0, *limits, N_ROWS]
    sizes = np.diff(ends).tolist()
    dealt = [deal_out(np.zeros(size), fold, number) for number, size in enumerate(sizes)]
    numbers = np.concatenate(dealt)
    splits = [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in range(2)]
    expected = RuleRegressorCV(**parameters, cv=splits).fit(FRAME[FEATURES], FRAME["number"])
    assert_same_model(model, expected)
    assert_allclose(model.path_.scores, expected.path_.scores, rtol=1e-8)
    assert type(model.at(0)) is RuleRegressor
    assert "complexity" in model.path_.table()
    assert_all_released(client)


def test_folds_of_classes_and_groups(client):
    rows = split(FRAME.assign(group=np.arange(N_ROWS) // 20), 170)
    rows = rows[[*FEATURES, "label", "group"]]
    model = DaskRuleClassifierCV(cv=2, max_complexity=2, max_degree=1, linear_terms=False)
    model.fit(rows, "label", groups="group")
    assert model.path_.scores.shape[0] == 2
    with pytest.raises(TypeError, match="number of folds"):
        clone(model).set_params(cv=[([0], [1])]).fit(rows, "label")
    with pytest.raises(ValueError, match="give at least 2 folds"):
        clone(model).set_params(cv=1).fit(rows, "label")
    with pytest.raises(ValueError, match="fold without rows"):
        clone(model).fit(rows.assign(group=1), "label", groups="group")
    with pytest.raises(ValueError, match="`scoring` has to be None"):
        clone(model).set_params(scoring="roc_auc").fit(rows, "label")


# ------------------------------------------------------------------------------------- faults


def test_an_interrupt_leaves_a_model_and_no_futures(client):
    def interrupt(told):
        if told.number == 2:
            raise KeyboardInterrupt

    rows = split(FRAME[[*FEATURES, "label"]], 200)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = DaskRuleClassifier(lambda_0=0.02, callback=interrupt).fit(rows, "label")
    assert model.ensemble_.rules
    assert_all_released(client)


def test_a_lost_scheduler_leaves_the_last_model(client, monkeypatch):
    monkeypatch.setattr(session, "RECONNECT", 0.5)
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 8}
    rows = split(FRAME[[*FEATURES, "label"]], *range(50, N_ROWS, 50))
    expected = RuleClassifier(lambda_0=0.02).fit(FRAME[FEATURES], FRAME["label"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(**options, dashboard_address=":0") as cluster, Client(cluster) as mine:
            model = DaskRuleClassifier(lambda_0=0.02, client=mine)
            assert_same_model(model.fit(rows, "label"), expected)  # eight groups, a tree

            def lose(told):
                if told.number == 3:
                    cluster.close()

            with pytest.raises(ClusterLostError, match="the last model is kept"):
                model.set_params(callback=lose).fit(rows, "label")
    assert len(model.ensemble_.rules) > 0
    assert not model.certified_
    assert "lost" in model.certificate_
    assert len(model.predict(FRAME[FEATURES])) == N_ROWS
    model.set_params(client=client, callback=None, warm_start=True).fit(rows, "label")
    assert model.certified_
    assert_allclose(model.objective_, expected.objective_, rtol=1e-5)


# ------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"label": "abc"}, ValueError, "3 classes"),
        ({"label": "a"}, ValueError, "only one class"),
        ({"weight": -1.0}, ValueError, "Partition [01]: `sample_weight` is -1.0"),
        ({"offset": np.nan}, ValueError, "Partition [01]: `offset` is nan in row 0"),
    ],
    ids=["classes", "class", "weight", "offset"],
)
def test_what_is_wrong_is_said_with_its_partition(client, change, error, message):
    frame = FRAME.copy()
    for name, value in change.items():
        frame[name] = np.resize(list(value) if isinstance(value, str) else [value], len(frame))
    rows = split(frame, 200)
    rows = rows[[*FEATURES, "label", "weight", "offset"]]
    with pytest.raises(error, match=message):
        DaskRuleClassifier().fit(rows, "label", sample_weight="weight", offset="offset")
    assert_all_released(client)


def test_what_does_not_fit_is_refused(client):
    rows = split(FRAME, 200)
    with pytest.raises(TypeError, match="X is a DataFrame; give a dask"):
        DaskRuleClassifier().fit(FRAME[FEATURES], FRAME["label"])
    with pytest.raises(ValueError, match="no column 'lable'"):
        DaskRuleClassifier().fit(rows, "lable")
    with pytest.raises(TypeError, match="`y` is a Series; give a dask"):
        DaskRuleClassifier().fit(rows[FEATURES], FRAME["label"])
    with pytest.raises(ValueError, match="X has 2 partitions, but `y` has 3"):
        DaskRuleClassifier().fit(rows[FEATURES], split(FRAME, 100, 200)["label"])
    with pytest.raises(ValueError, match=r"has 200 rows, but that of `y` has [13]00"):
        DaskRuleClassifier().fit(rows[FEATURES], split(FRAME, 100)["label"])


def test_rows_are_not_brought_together(client, monkeypatch):
    monkeypatch.setattr("ruleglm.engines.parts.MAX_GATHERED", 1000)
    rows = split(FRAME[[*FEATURES, "number"]], 200)
    with pytest.raises(ValueError, match="bring 400 rows together"):
        DaskRuleRegressor(pricing="mip").fit(rows, "number")


def test_parameters_are_those_of_the_local_estimator():
    model = DaskRuleRegressor(family="poisson", lambda_0=0.1)
    assert set(model.get_params()) == {*RuleRegressor().get_params(), "client"}
    assert clone(model).get_params() == model.get_params()
    assert set(DaskRuleClassifierCV().get_params()) == {*RuleClassifierCV().get_params(), "client"}
    with pytest.raises(TypeError, match="lambda_7"):
        DaskRuleClassifier(lambda_7=1)


def kill_a_worker(client, told, at=2):
    if told.number == at:
        pids = client.run(os.getpid)
        os.kill(sorted(pids.items())[0][1], signal.SIGKILL)


def test_a_killed_worker_does_not_change_the_model(client):
    rows = split(FRAME[[*FEATURES, "label"]], 130, 260)
    expected = RuleClassifier(lambda_0=0.02).fit(FRAME[FEATURES], FRAME["label"])
    assert expected.n_iter_ > 3
    killer = partial(kill_a_worker, client)
    model = DaskRuleClassifier(lambda_0=0.02, callback=killer).fit(rows, "label")
    assert_same_model(model, expected)
    assert model.certified_
    assert_all_released(client)


# ------------------------------------------------------------------------ without a cluster


STEPS = st.lists(st.sampled_from(["hold", "move", "step", "freeze", "coarse"]), max_size=12)
LOOKUP = np.tile(np.arange(256, dtype=np.uint8), (len(N_BINS), 1))


@given(steps=STEPS, seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=20)
def test_a_part_told_the_journal_is_where_it_was(steps, seed):
    rng, case = np.random.default_rng(seed), draw_case(seed, "binomial", n_rows=70, n_linear=1)
    one, journal = build_part(case), Journal()
    for step in steps:
        coef = rng.normal(size=1 + one.n_linear + len(one.rules))
        told = {
            "hold": [("hold", list(case.rules[: rng.integers(0, 5)]))],
            "move": [("move_to", coef)],
            "step": [("propose", coef), ("accept", float(rng.choice([1.0, -1.0, 0.5])))],
            "freeze": [("freeze",)],
            "coarse": [("set_coarse", LOOKUP, N_BINS)],
        }
        for method, *arguments in told[step]:
            getattr(one, method)(*arguments)
            journal.write(method, *arguments)
    other = build_part(case)
    for step in journal.steps:
        getattr(other, step.method)(*step.arguments)
    assert one.rules == other.rules
    for state in ("_eta", "_frozen", "_columns"):
        assert_array_equal(getattr(one, state), getattr(other, state))


def build_part(case):
    return Part(case.codes, N_BINS, case.y, case.family, linear=case.linear)


def test_a_journal_forgets_what_is_void():
    journal = Journal()
    for _ in range(5):
        journal.write("hold", [()])
        journal.write("move_to", np.zeros(2))
        journal.write("freeze")
        for _ in range(3):
            journal.write("propose", np.zeros(2))
            journal.write("accept", 1.0)
        journal.write("move_to", np.ones(2))
    methods = [step.method for step in journal.steps]
    assert methods == ["hold", "move_to", "freeze", "hold", "move_to"]
    assert [step.method for step in journal.since(journal.last - 1)] == ["move_to"]


@given(
    counts=st.lists(st.integers(1, 1000), min_size=1, max_size=30),
    n_groups=st.integers(1, 8),
)
def test_groups_are_of_neighbours_and_no_larger_than_they_have_to_be(counts, n_groups):
    groups = balance(np.array(counts), n_groups)
    assert groups == sorted(groups)
    assert set(groups) == set(range(groups[-1] + 1))
    assert groups[-1] < n_groups
    sizes = np.bincount(groups, counts)
    assert sizes.max() <= sum(counts) / min(n_groups, len(counts)) + max(counts)


def test_folds_are_of_equal_size_and_groups_stay_together():
    fold = Fold(0, 3, 7, stratified=True, held_out=True)
    labels = np.repeat([0.0, 1.0], [30, 6])
    dealt = deal_out(labels, fold, 4)
    assert np.bincount(dealt[labels == 0.0]).tolist() == [10, 10, 10]
    assert np.bincount(dealt[labels == 1.0]).tolist() == [2, 2, 2]
    assert_array_equal(dealt, deal_out(labels, fold, 4))
    groups = np.array(["a", "b", "c", "a", "b", "d"] * 5)
    hashed = hash_groups(groups, fold)
    assert all(len(np.unique(hashed[groups == g])) == 1 for g in "abcd")
    assert_array_equal(hash_groups(np.array([3]), fold), hash_groups(np.array(["3"]), fold))
