"""The restricted problem against an independent optimiser, and its edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ruleglm.engines import LocalEngine
from ruleglm.families import FAMILIES, get_family
from ruleglm.solvers import master, refit, solve_master
from ruleglm.solvers.master import REFIT_RIDGE, invert, minimise_model, solve_positive
from tests.reference.binarise import rule_column
from tests.reference.glm import solve_l1_glm

N_BINS = 5


def random_problem(seed, family_name, n=80, p=4, k=12):
    """Codes, target and rules of a random problem; some rules are collinear on purpose."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, N_BINS, (p, n)).astype(np.uint8)
    signal = 0.6 * (codes[0] < 2) - 0.8 * ((codes[1] > 2) & (codes[2] < 3))
    noise = rng.standard_normal(n)
    y = {
        "gaussian": signal + noise,
        "binomial": (signal + noise > 0).astype(float),
        "poisson": rng.poisson(np.exp(signal)).astype(float),
        "gamma": np.exp(signal) * rng.gamma(2.0, 0.5, n) + 1e-3,
        "tweedie": np.where(rng.random(n) < 0.3, 0.0, np.exp(signal) * rng.gamma(2.0, 0.5, n)),
        "negative_binomial": np.random.default_rng(seed)
        .poisson(np.exp(signal) * np.random.default_rng(seed + 1).gamma(1.0, 1.0, n))
        .astype(float),
    }[family_name]
    masks = rng.integers(1, 2**N_BINS - 1, (k, 2))
    features = np.array([rng.choice(p, 2, replace=False) for _ in range(k)])
    rules = [
        tuple(sorted((int(f), int(m)) for f, m in zip(fs, ms, strict=True)))
        for fs, ms in zip(features, masks, strict=True)
    ]
    return rng, codes, y, rules


def build_engine(codes, y, family, rules, **options):
    engine = LocalEngine(codes, np.full(len(codes), N_BINS, np.int64), y, family, **options)
    engine.add_rules(rules, [2] * len(rules))
    return engine


def solve(engine, penalties, tol=1e-12):
    coef = np.zeros(1 + engine.n_linear + len(engine.rules))
    coef[0] = engine.null_intercept()
    engine.set_coefficients(coef)
    return solve_master(engine, penalties, coef, tol)


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), weighted=st.booleans(), lambda_=st.sampled_from([0.002, 0.03]))
def test_reaches_the_optimum_of_every_family(name, seed, weighted, lambda_):
    rng, codes, y, rules = random_problem(seed, name)
    weights = rng.random(len(y)) + 0.1 if weighted else None
    offset = 0.3 * rng.standard_normal(len(y)) if weighted else None
    family = get_family(name)
    shares = None if weights is None else weights / weights.sum()
    engine = build_engine(codes, y, family, rules, weights=shares, offset=offset)
    penalties = lambda_ * (1 + rng.random(len(engine.rules)))
    state = solve(engine, penalties)
    columns = np.column_stack([rule_column(codes, rule) for rule in engine.rules])
    best, _, _ = solve_l1_glm(columns, y, family, penalties, weights, offset)
    assert state.objective == pytest.approx(best, abs=1e-8, rel=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
def test_linear_columns_enter_like_rules(name):
    rng, codes, y, rules = random_problem(3, name)
    linear = 0.4 * rng.standard_normal((2, len(y)))
    engine = build_engine(codes, y, get_family(name), rules[:5], linear=linear)
    penalties = np.full(7, 0.01)
    columns = np.column_stack([*linear, *(rule_column(codes, rule) for rule in engine.rules)])
    best, _, _ = solve_l1_glm(columns, y, get_family(name), penalties)
    assert solve(engine, penalties).objective == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
def test_equal_targets_need_no_rule(name):
    _, codes, y, rules = random_problem(0, name)
    engine = build_engine(codes, np.ones_like(y), get_family(name), rules)
    state = solve(engine, np.full(len(engine.rules), 0.01))
    assert state.objective == pytest.approx(0.0, abs=1e-9)
    assert not state.coef[1:].any()


def test_separable_classes_have_a_finite_solution():
    codes = np.repeat(np.arange(2, dtype=np.uint8), 20)[None]
    y = codes[0].astype(float)
    engine = LocalEngine(codes, np.array([2]), y, get_family("binomial"))
    engine.add_rules([((0, 1),)], [1])
    state = solve(engine, np.array([1e-6]))
    assert np.isfinite(state.coef).all()
    assert state.objective < 1e-3
    again = refit(engine, state.coef)
    assert np.isfinite(again.coef).all()
    assert np.abs(again.coef).max() < 40


def test_refit_is_the_maximum_likelihood_with_a_small_ridge():
    _, codes, y, rules = random_problem(1, "gaussian", n=200, k=4)
    engine = build_engine(codes, y, get_family("gaussian"), rules)
    start = solve(engine, np.full(len(engine.rules), 0.01)).coef
    state = refit(engine, start)
    columns = np.column_stack(
        [np.ones(len(y)), *(rule_column(codes, rule) for rule in engine.rules)]
    )
    ridge = REFIT_RIDGE * np.eye(columns.shape[1])
    ridge[0, 0] = 0.0
    exact = np.linalg.solve(columns.T @ columns / len(y) + ridge, columns.T @ y / len(y))
    np.testing.assert_allclose(state.coef, exact, atol=1e-8)


def test_duplicate_columns_enter_once():
    _, codes, y, rules = random_problem(1, "gaussian")
    engine = build_engine(codes, y, get_family("gaussian"), [rules[0], rules[0], rules[1]])
    complement = ((0, 0b00001),), ((0, 0b11110),)
    assert len(engine.rules) == 2
    assert engine.add_rules([*complement[0:1], *complement[1:2]], [2, 2]) == 1
    assert engine.add_rules([complement[0]], [1]) == 1  # the same rows for a smaller price


def test_warm_start_stays_at_the_solution():
    _, codes, y, rules = random_problem(2, "binomial")
    engine = build_engine(codes, y, get_family("binomial"), rules)
    penalties = np.full(len(engine.rules), 0.01)
    state = solve(engine, penalties)
    again = solve_master(engine, penalties, state.coef, 1e-10)
    assert again.n_iter == 1
    assert again.objective == pytest.approx(state.objective, abs=1e-10)
    np.testing.assert_allclose(again.coef, state.coef, atol=1e-3)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_loose_refit_does_not_rise_by_more_than_its_tolerance(name):
    """Far from the minimum, where the loss is flat, second derivatives promise nothing."""
    for seed in range(100):
        rng, codes, y, rules = random_problem(seed, name)
        weights = np.exp(4 * rng.standard_normal(len(y)))
        engine = build_engine(
            codes, y, get_family(name), rules[:4], weights=weights / weights.sum()
        )
        null = np.zeros(1 + len(engine.rules))
        null[0] = engine.null_intercept()
        engine.set_coefficients(null)
        ridge = 1e-6
        start = refit(engine, null, ridge).coef + 3.0 * rng.standard_normal(len(null))
        before = engine.set_coefficients(start) + 0.5 * ridge * (start[1:] ** 2).sum()
        state = refit(engine, start, ridge, 0.1 * before)
        assert state.objective <= 1.1 * before
        after = engine.set_coefficients(state.coef) + 0.5 * ridge * (state.coef[1:] ** 2).sum()
        assert state.objective == pytest.approx(after, rel=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_refits_from_afar_find_the_same_minimum(name, monkeypatch):
    """Whole Newton steps from there are often far too long, and have to be taken back."""
    outcomes = []

    def leap(*given):
        outcomes.append(ahead := true_leap(*given))
        return ahead

    true_leap = master.leap
    monkeypatch.setattr(master, "leap", leap)
    for seed in range(20):
        rng, codes, y, rules = random_problem(seed, name)
        engine = build_engine(codes, y, get_family(name), rules[:4])
        null = np.zeros(1 + len(engine.rules))
        null[0] = engine.null_intercept()
        engine.set_coefficients(null)
        near = refit(engine, null, 1e-2, 1e-12)
        start = near.coef + 5.0 * rng.standard_normal(len(null))
        engine.set_coefficients(start)
        far = refit(engine, start, 1e-2, 1e-12)
        assert far.objective == pytest.approx(near.objective, rel=1e-9)
        np.testing.assert_allclose(far.coef, near.coef, atol=1e-4)
    taken = [ahead is not None for ahead in outcomes]
    assert any(taken)
    assert not all(taken) or name == "tweedie"  # whose long steps promise too much to be tried


def test_ill_conditioned_systems_are_solved_without_a_warning():
    matrix = np.diag([1e-300, 1.0])
    solution = solve_positive(matrix, np.array([1e-300, 2.0]))
    np.testing.assert_allclose(solution, [1.0, 2.0])


def test_systems_without_an_inverse_have_the_shortest_solution():
    solution = solve_positive(np.ones((2, 2)), np.array([2.0, 2.0]))
    np.testing.assert_allclose(solution, [1.0, 1.0])


@given(st.integers(0, 10_000), st.floats(-9.0, 0.0))
@settings(max_examples=200, deadline=None)
def test_columns_that_are_sums_of_free_columns_gain_nothing(seed, exponent):
    """What the free columns leave of their curvature is a rounding error of any size and sign."""
    rng = np.random.default_rng(seed)
    free = np.column_stack([np.ones(12), rng.random((12, 2)) < 0.5])
    sums = free @ rng.integers(-2, 3, (3, 4))
    columns = np.column_stack([free, sums, rng.standard_normal((12, 20))])
    weights = np.exp(rng.uniform(np.log(10.0) * exponent, 0.0, 12))
    gram = columns.T @ (weights[:, None] * columns)
    penalties = np.concatenate([[0.0, 0.0], np.full(24, 1e-3)])
    coef = np.concatenate([np.zeros(3), np.full(4, 0.5), np.zeros(20)])
    score = columns.T @ (np.sqrt(weights) * rng.standard_normal(12))

    def rise(target):
        change = target - coef
        prices = penalties @ (np.abs(target[1:]) - np.abs(coef[1:]))
        return score @ change + 0.5 * change @ gram @ change + prices

    target = minimise_model(gram, score, penalties, np.zeros(26, np.int64), coef, 1e-12)
    assert rise(target) <= 1e-9
    assert (np.abs(target[3:7]) <= 0.5).all()


def test_an_intercept_comes_back_from_where_the_loss_has_no_curvature():
    _, codes, y, rules = random_problem(0, "binomial")
    engine = build_engine(codes, y, get_family("binomial"), rules[:1])
    far = np.array([800.0, 0.0])
    engine.set_coefficients(far)
    state = refit(engine, far)
    null = np.array([engine.null_intercept(), 0.0])
    engine.set_coefficients(null)
    np.testing.assert_allclose(state.coef, refit(engine, null).coef, atol=1e-4)


def test_nothing_to_gain_ends_at_once_whatever_the_tolerance():
    _, codes, y, rules = random_problem(0, "gaussian")
    engine = build_engine(codes, np.zeros(len(y)), get_family("gaussian"), rules)
    null = np.zeros(1 + len(engine.rules))
    engine.set_coefficients(null)
    assert solve_master(engine, np.full(len(engine.rules), 0.1), null, 0.0).n_iter == 1


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e-310])
def test_curvatures_of_any_size_have_an_inverse(unit):
    """The last is below what numbers hold in full, as where rows are sure of their class."""
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    found = invert(unit * matrix)
    assert (np.sign(found) == np.sign(np.linalg.inv(matrix))).all()
    if unit > 1e-300:
        assert_allclose(unit * found, np.linalg.inv(matrix), rtol=1e-12)
