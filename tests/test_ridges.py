"""Refits at several ridges: at once where a kernel or the Gram matrix can, else one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ruleglm import kernels
from ruleglm.families import FAMILIES
from ruleglm.kernels.refit import GRAM_WANTED, MAX_STEPS
from ruleglm.solvers.columns import null_coefficients, shrink_ridges
from ruleglm.solvers.master import refit
from ruleglm.solvers.ridges import refit_along
from tests.reference import logistic as slow_logistic
from tests.reference import refit as slow_refit
from tests.reference.columns import pack_rows, unpack_rows
from tests.test_master import build_engine, random_problem

RIDGES = (0.1, 0.01, 1e-3, 1e-5)
seeds = st.integers(0, 10_000)


def refit_case(seed, n_rows, n_lines, n_rules, *, weighted=False, offset=False):
    """Rows of two classes that depend on the columns, at a model somewhere."""
    rng = np.random.default_rng(seed)
    lines = rng.normal(size=(n_lines, n_rows))
    dense = rng.random((n_rules, n_rows)) < rng.choice([0.05, 0.5, 0.95], (n_rules, 1))
    every = np.vstack([np.ones(n_rows), lines, dense])
    y = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-rng.normal(size=len(every)) @ every))) * 1.0
    weights = rng.exponential(size=n_rows) if weighted else np.ones(1)
    weights = weights / (weights.sum() if weighted else n_rows)
    coef = 0.3 * rng.normal(size=len(every))
    eta = coef @ every + (rng.normal(size=n_rows) if offset else 0.0)
    ridge = rng.choice(RIDGES) * np.r_[0.0, rng.uniform(0.1, 1.0, len(every) - 1)]
    first, second, loss = np.empty(n_rows), np.empty(n_rows), np.empty(2)
    slow_logistic.logistic_derivatives(y, eta, np.broadcast_to(weights, n_rows), first, second)
    slow_logistic.sum_logistic(y, eta, 0.0, 0.0, np.broadcast_to(weights, n_rows), loss)
    state = np.array([loss[0], np.inf, 0.0, 1.0])
    inputs = y, weights, lines, pack_rows(dense), every * second @ every.T, ridge, 1e-13, False
    return inputs, state, coef, eta, first, second


@settings(max_examples=60)
@given(
    seeds,
    st.sampled_from([40, 64, 200, 700]),
    st.integers(0, 3),
    st.integers(0, 9),
    st.booleans(),
    st.booleans(),
)
def test_the_kernel_equals_its_twin(seed, n_rows, n_lines, n_rules, weighted, offset):
    inputs, *ours = refit_case(seed, n_rows, n_lines, n_rules, weighted=weighted, offset=offset)
    _, _, lines, columns, gram, ridge, tol, loose = inputs
    every = np.vstack([np.ones(n_rows), lines, unpack_rows(columns)[:, :n_rows]])
    theirs = [out.copy() for out in ours]
    with np.errstate(over="ignore"):  # bits of words, where kernels are not compiled
        while kernels.refit_logistic(*inputs[:4], gram, ridge, tol, loose, *ours) == GRAM_WANTED:
            gram = every * ours[-1] @ every.T
            ours[0][3] = 1.0
    slow_refit.refit_logistic(*inputs, *theirs)
    assert ours[0][2] < MAX_STEPS
    assert_allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-4)
    assert_allclose(ours[2], theirs[2], rtol=1e-3, atol=1e-3)
    objectives = [out[0][0] + 0.5 * ridge @ out[1] ** 2 for out in (ours, theirs)]
    assert objectives[0] == pytest.approx(objectives[1], abs=1e-11)


def one_by_one(engine, coef, ridges, tol):
    coefs, losses = [], []
    for ridge in ridges:
        coef = refit(engine, coef, ridge, tol).coef
        coefs.append(coef)
        losses.append(float(engine.losses((0.0,))[0]))
    return np.array(coefs), np.array(losses)


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=15)
@given(seeds, st.booleans(), st.booleans())
def test_all_ridges_at_once_are_the_same_as_one_by_one(name, seed, weighted, fractions):
    rng, codes, y, rules = random_problem(seed, name)
    if fractions and name == "binomial":
        y = rng.random(len(y))
    weights = rng.exponential(size=len(y)) if weighted else None
    options = {
        "weights": None if weights is None else weights / weights.sum(),
        "offset": 0.3 * rng.normal(size=len(y)) if weighted else None,
        "linear": rng.normal(size=(2, len(y))),
    }
    engines = [build_engine(codes, y, FAMILIES[name](), rules, **options) for _ in range(2)]
    coef = null_coefficients(engines[0])
    for engine in engines:
        engine.set_coefficients(coef)
    ridges = np.array([shrink_ridges(engines[0], ridge) for ridge in RIDGES])
    ours = refit_along(engines[0], coef, ridges, 1e-12, loose=False)
    theirs = one_by_one(engines[1], coef, ridges, 1e-12)
    assert_allclose(ours[0], theirs[0], rtol=1e-3, atol=1e-3)
    for k, ridge in enumerate(ridges):
        objectives = [loss[k] + 0.5 * ridge @ coefs[k] ** 2 for coefs, loss in (ours, theirs)]
        assert objectives[0] == pytest.approx(objectives[1], rel=1e-9, abs=1e-10)
        assert ours[1][k] == pytest.approx(engines[1].set_coefficients(ours[0][k]), rel=1e-12)


def test_what_the_kernel_cannot_do_is_done_one_by_one():
    """Columns that are collinear, without a ridge."""
    _, codes, y, rules = random_problem(3, "binomial")
    engine = build_engine(codes, y, FAMILIES["binomial"](), rules, linear=np.ones((2, len(y))))
    coef = null_coefficients(engine)
    engine.set_coefficients(coef)
    ridges = np.zeros((1, len(coef)))
    ridges[0, 3:] = 0.01
    assert engine.refit(coef, ridges, 1e-9, False) is None
    coefs, losses = refit_along(engine, coef, ridges, 1e-9, loose=False)
    assert np.isfinite(coefs).all()
    assert losses[0] == pytest.approx(engine.set_coefficients(coefs[0]), rel=1e-12)


def test_the_model_stays_where_it_is():
    _, codes, y, rules = random_problem(5, "binomial")
    engine = build_engine(codes, y, FAMILIES["binomial"](), rules)
    coef = null_coefficients(engine)
    before = engine.set_coefficients(coef)
    eta = engine.linear_predictor.copy()
    assert engine.refit(coef, np.full((2, len(coef)), 0.01), 1e-9, True) is not None
    assert (engine.linear_predictor == eta).all()
    assert engine.losses((0.0,))[0] == before


@pytest.mark.parametrize("n_threads", [1, 2])
def test_very_many_rows_are_left_to_threads(n_threads, monkeypatch):
    _, codes, y, rules = random_problem(5, "binomial")
    engine = build_engine(codes, y, FAMILIES["binomial"](), rules, n_threads=n_threads)
    coef = null_coefficients(engine)
    engine.set_coefficients(coef)
    for most, known in ((len(y), True), (len(y) - 1, False)):
        monkeypatch.setattr("ruleglm.engines.local.FEW_ROWS", most)
        found = engine.refit(coef, np.full((1, len(coef)), 0.01), 1e-9, False)
        assert (found is not None) == known
