"""LRR, LRRN and LRRI: the optimum over all rules, the certificate, limits and interrupts."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from ruleglm import RuleClassifier, RuleRegressor
from ruleglm.binning import build_binning
from ruleglm.families import FAMILIES, get_family
from ruleglm.frames import read_table
from ruleglm.pricing import HistogramPricer, histogram
from tests.data import mixed_frame, target_of
from tests.reference.binarise import all_rules, rule_column
from tests.reference.glm import solve_l1_glm
from tests.test_first_degree import LAMBDA_0


def small_frame(seed, n=80):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 4, n).astype(float),
            "b": rng.integers(0, 3, n),
            "c": rng.choice(["x", "y", "z"], n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    eta = 1.5 * ((frame["a"] > 1) & (frame["c"] == "x")) - 1.0 * (frame["b"] == 2)
    return frame, eta.to_numpy() + 0.6 * rng.standard_normal(n)


def target_from(family, eta, seed):
    rng = np.random.default_rng(seed)
    if family == "gaussian":
        return (eta - eta.mean()) / eta.std()
    if family == "binomial":
        return (eta > 0.2).astype(float)
    mean = np.exp(0.7 * eta)
    if family == "poisson":
        return rng.poisson(mean).astype(float)
    amounts = mean * rng.gamma(2.0, 0.5, len(eta)) + 1e-3
    return amounts if family == "gamma" else np.where(rng.random(len(eta)) < 0.3, 0.0, amounts)


def explicit_optimum(frame, y, family, max_degree, lambda_0, weights=None, offset=None):
    """Solve the problem with every rule up to a degree as a column."""
    table = read_table(frame)
    binning = build_binning(table, bins=10, sample_weight=weights)
    codes = binning.encode(table)
    masks = [list(bins.vocabulary.masks) for bins in binning.features]
    columns, prices = {}, {}
    for rule, degree in all_rules(codes, masks, max_degree, per_feature=max_degree):
        column = rule_column(codes, rule)
        key = column.tobytes()
        if key not in prices or degree < prices[key]:
            columns[key], prices[key] = column, degree
    penalties = lambda_0 * (1 + 0.2 * np.array(list(prices.values())))
    matrix = np.column_stack(list(columns.values()))
    return solve_l1_glm(matrix, y, get_family(family), penalties, weights, offset)[0]


def model_for(family, **parameters):
    if family == "binomial":
        return RuleClassifier(**parameters)
    return RuleRegressor(family=family, **parameters)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("max_degree", [2, 3])
@pytest.mark.parametrize("pricing", ["auto", "histogram"])
def test_the_objective_is_the_optimum_over_all_rules(family, max_degree, pricing):
    frame, eta = small_frame(1)
    y = target_from(family, eta, 1)
    model = model_for(
        family, max_degree=max_degree, pricing=pricing, lambda_0=0.01, bins=10, tol=1e-6
    ).fit(frame, y)
    best = explicit_optimum(frame, y, family, max_degree, 0.01)
    assert model.objective_ == pytest.approx(best, abs=1e-6)
    assert model.lower_bound_ <= best + 1e-9
    assert model.certified_
    assert f"degree <= {max_degree}" in model.certificate_


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_searching_the_best_triples_first_changes_no_optimum(family, monkeypatch):
    """In most rounds a few triples do; all of them are searched before the end."""
    monkeypatch.setattr(histogram, "LEAST_HOT", 4)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 7))
    eta = 2.0 * ((X[:, 0] > 0) & (X[:, 1] > 0) & (X[:, 2] > -0.5)) - (X[:, 3] > X[:, 4])
    y = target_from(family, eta, 3)
    settings = {"max_degree": 3, "bins": 5, "lambda_0": 0.003, "tol": 1e-7, "debias": False}
    counted = []
    score = histogram.HistogramPricer._score_triples

    def count(self, engine, found, histograms):
        counted.append(len(histograms.tuples))
        return score(self, engine, found, histograms)

    monkeypatch.setattr(histogram.HistogramPricer, "_score_triples", count)
    some = model_for(family, pricing="auto", **settings).fit(X, y)
    assert {4, 35} == set(counted)
    every = model_for(family, pricing="histogram", **settings).fit(X, y)
    assert some.certified_
    assert_allclose(some.objective_, every.objective_, rtol=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_any_degree_is_certified_on_small_data(family):
    frame, eta = small_frame(2, n=50)
    y = target_from(family, eta, 2)
    model = model_for(family, max_degree=None, lambda_0=0.01, bins=10, tol=1e-6).fit(frame, y)
    best = explicit_optimum(frame, y, family, 5, 0.01)
    assert model.objective_ <= best + 1e-6
    assert model.certified_
    assert "any degree" in model.certificate_


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_weights_and_offsets_are_in_the_problem(family):
    frame, eta = small_frame(3)
    y = target_from(family, eta, 3)
    rng = np.random.default_rng(3)
    weights, offset = rng.random(len(y)) + 0.2, 0.3 * rng.standard_normal(len(y))
    if family == "gaussian":
        rest = y - offset - np.average(y - offset, weights=weights)
        y = offset + rest / np.sqrt(np.average(rest**2, weights=weights))
    model = model_for(family, max_degree=2, lambda_0=0.01, bins=10, tol=1e-6)
    model.fit(frame, y, weights, offset=offset)
    best = explicit_optimum(frame, y, family, 2, 0.01, weights, offset)
    assert model.objective_ == pytest.approx(best, abs=1e-6)


def test_the_integer_program_gives_the_same_model():
    frame, eta = small_frame(4, n=60)
    y = target_from("binomial", eta, 4)
    parameters = {"max_degree": 3, "lambda_0": 0.02, "bins": 10, "tol": 1e-5}
    exact = RuleClassifier(**parameters).fit(frame, y)
    program = RuleClassifier(pricing="mip", **parameters).fit(frame, y)
    assert exact.certified_
    assert program.certified_
    assert program.objective_ == pytest.approx(exact.objective_, abs=1e-5)


def test_the_beam_comes_close_and_claims_nothing():
    frame, eta = small_frame(5)
    y = target_from("gaussian", eta, 5)
    parameters = {"max_degree": 3, "lambda_0": 0.01, "bins": 10, "tol": 1e-4}
    exact = RuleRegressor(**parameters).fit(frame, y)
    beam = RuleRegressor(pricing="beam", pricing_options={"beam_width": 5}, **parameters)
    beam.fit(frame, y)
    assert not beam.certified_
    assert exact.objective_ - 1e-4 <= beam.objective_ <= 1.05 * exact.objective_
    assert beam.lower_bound_ <= exact.objective_


def test_linear_terms_join_the_rules():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"u": rng.uniform(0, 1, 400), "v": rng.uniform(0, 1, 400)})
    y = 3 * frame["u"] + 1.0 * ((frame["u"] > 0.5) & (frame["v"] > 0.5))
    y = y + 0.05 * rng.standard_normal(400)
    with_lines = RuleRegressor(max_degree=3, lambda_0=0.01, linear_terms=True).fit(frame, y)
    without = RuleRegressor(max_degree=3, lambda_0=0.01).fit(frame, y)
    assert with_lines.objective_ < without.objective_
    assert len(with_lines.ensemble_.linear_terms) >= 1
    assert with_lines.rules_["degree"].max() >= 2
    assert with_lines.certified_


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_count_rows_at_every_degree(family):
    frame = mixed_frame(120, 10)
    y = target_of(family, frame)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    parameters = {"lambda_0": 0.02, "bins": 6, "max_degree": 3, "tol": 1e-6}
    weighted = model_for(family, **parameters).fit(frame, y, weights)
    repeated = model_for(family, **parameters).fit(frame.iloc[rows], y[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-5)


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner(board):
    for line in LINES:
        if board[line[0]] != "b" and len({board[k] for k in line}) == 1:
            return board[line[0]]
    return None


def end_positions():
    """Play all games of tic-tac-toe; return the distinct boards at which they end."""
    ends, seen = {}, set()
    stack = [("b" * 9, "x")]
    while stack:
        board, player = stack.pop()
        if board in seen:
            continue
        seen.add(board)
        won = winner(board)
        if won or "b" not in board:
            ends[board] = won == "x"
            continue
        for k in range(9):
            if board[k] == "b":
                other = "o" if player == "x" else "x"
                stack.append((board[:k] + player + board[k + 1 :], other))
    boards = sorted(ends)
    frame = pd.DataFrame([list(board) for board in boards], columns=[f"s{k}" for k in range(9)])
    return frame, np.array([ends[board] for board in boards])


def test_tic_tac_toe_is_solved_by_its_eight_lines():
    frame, x_wins = end_positions()
    assert len(frame) == 958
    held_out = np.random.default_rng(0).random(len(frame)) < 0.3
    model = RuleClassifier(lambda_0=0.007, max_degree=3)
    model.fit(frame[~held_out], x_wins[~held_out])
    assert model.certified_
    assert model.score(frame[held_out], x_wins[held_out]) == 1.0
    ensemble = model.ensemble_
    found = {
        tuple(int(feature[1:]) for feature in rule.features)
        for rule, coefficient in zip(ensemble.rules, ensemble.coefficients, strict=True)
        if rule.degree == 3 and coefficient > 0 and fires_on_a_full_line(rule)
    }
    assert set(LINES) <= found


def fires_on_a_full_line(rule):
    """Tell whether a rule on three squares means that x has them, or that o has none of them."""
    conditions = {str(condition).split(" ", 1)[1] for condition in rule.conditions}
    return conditions in ({"= 'x'"}, {"!= 'o'"})


def test_a_time_limit_gives_the_best_model_so_far():
    frame = mixed_frame(2000, 3)
    y = target_of("gaussian", frame)
    model = RuleRegressor(lambda_0=1e-4, max_degree=None, time_limit=0.5)
    with pytest.warns(ConvergenceWarning, match="raise `time_limit`"):
        model.fit(frame, y)
    assert not model.certified_
    assert model.lower_bound_ <= model.objective_
    assert len(model.rules_) > 0
    assert model.score(frame, y) > 0.3


def test_a_round_limit_gives_a_warning():
    frame = mixed_frame(300, 3)
    with pytest.warns(ConvergenceWarning, match="raise `max_rounds`"):
        RuleRegressor(lambda_0=1e-3, max_rounds=2).fit(frame, target_of("gaussian", frame))


@pytest.mark.parametrize("round_", [1, 2, 5])
def test_an_interrupt_keeps_the_best_model_so_far(round_, monkeypatch):
    frame = mixed_frame(500, 3)
    y = target_of("binomial", frame)
    calls = itertools.count(1)
    price = HistogramPricer.price

    def interrupted(self, *arguments):
        if next(calls) == round_:
            raise KeyboardInterrupt
        return price(self, *arguments)

    monkeypatch.setattr(HistogramPricer, "price", interrupted)
    model = RuleClassifier(lambda_0=LAMBDA_0)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(frame, y)
    assert model.n_iter_ == round_ - 1
    assert (len(model.rules_) > 0) == (round_ > 1)
    assert model.objective_ >= RuleClassifier(lambda_0=LAMBDA_0).fit(frame, y).lower_bound_
    assert model.predict_proba(frame).shape == (500, 2)


def test_the_trace_tells_every_round():
    frame = mixed_frame(300, 4)
    model = RuleRegressor(lambda_0=0.005).fit(frame, target_of("gaussian", frame))
    trace = model.trace_
    assert len(trace) == model.n_iter_
    assert trace["objective"].is_monotonic_decreasing
    assert trace["lower_bound"].is_monotonic_increasing
    assert trace["gap"].iloc[-1] == pytest.approx(model.gap_, abs=1e-9)
    assert (trace[["master_seconds", "pricing_seconds"]] >= 0).all(axis=None)


def test_options_belong_to_their_pricer():
    frame = mixed_frame(50, 1)
    y = target_of("gaussian", frame)
    with pytest.raises(ValueError, match="'beam_width', but pricing='auto': it has none"):
        RuleRegressor(pricing_options={"beam_width": 2}).fit(frame, y)
    with pytest.raises(ValueError, match="it knows n_best, beam_width"):
        RuleRegressor(pricing="beam", pricing_options={"width": 2}).fit(frame, y)
