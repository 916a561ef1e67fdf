"""The engine's sums over rows, against dense arrays, derivatives and the slow reference."""

from dataclasses import dataclass, replace
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ruleglm import kernels, parallel
from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE, MAX_BINS
from ruleglm.engines import LocalEngine, losses
from ruleglm.families import FAMILIES, get_family
from tests.reference.binarise import rule_column
from tests.reference.glm import solve_l1_glm
from tests.test_reference import draw_target

relaxed = settings(deadline=None, max_examples=15)
few = settings(deadline=None, max_examples=8)

seeds = st.integers(0, 2**32 - 1)
flags = st.booleans()
each_family = pytest.mark.parametrize("name", FAMILIES)
N_BINS = np.array([3, 7, 12, 2, 70], INDEX_DTYPE)


@dataclass(frozen=True)
class Case:
    """Rows, the rules on them, and a point."""

    codes: np.ndarray
    y: np.ndarray
    family: object
    weights: np.ndarray | None
    offset: np.ndarray | None
    linear: np.ndarray | None
    rules: list
    coef: np.ndarray

    def engine(self, n_rules=None, n_threads=1):
        """Build an engine with the first rules, standing at the point with only these."""
        engine = LocalEngine(
            self.codes,
            N_BINS,
            self.y,
            self.family,
            weights=self.weights,
            offset=self.offset,
            linear=self.linear,
            n_threads=n_threads,
        )
        n_rules = len(self.rules) if n_rules is None else n_rules
        assert add_rules(engine, self.rules[:n_rules]) == n_rules
        engine.set_coefficients(self.coef[: 1 + engine.n_linear + n_rules])
        return engine

    def design(self):
        """Return the dense columns: intercept, linear terms, rules."""
        ones = np.ones((1, len(self.y)))
        linear = np.empty((0, len(self.y))) if self.linear is None else self.linear
        rules = np.reshape(
            [rule_column(self.codes, rule) for rule in self.rules], (-1, len(self.y))
        )
        return np.concatenate([ones, linear, rules])

    def shares(self):
        return np.full(len(self.y), 1.0 / len(self.y)) if self.weights is None else self.weights

    def row_vectors(self):
        """Return the row values that histograms add up, from dense arrays."""
        eta = self.coef @ self.design() + (0.0 if self.offset is None else self.offset)
        gradient = self.shares() * self.family.gradient(self.y, eta)
        hessian = self.shares() * self.family.hessian(self.y, eta)
        return {"gradient": gradient, "hessian": hessian, "positive": np.maximum(gradient, 0.0)}


def add_rules(engine, rules):
    return engine.add_rules(rules, [len(rule) for rule in rules])


def draw_rules(rng, codes, n_rules):
    """Rules of which no two cover the same rows, or just each other's other rows."""
    rules = {}
    while len(rules) < n_rules:
        rule = draw_rule(rng)
        column = rule_column(codes, rule)
        rules.setdefault(tuple(column == column[0]), rule)
    return list(rules.values())


def draw_rule(rng, max_degree=3):
    features = sorted(rng.choice(len(N_BINS), size=rng.integers(1, max_degree + 1), replace=False))
    return tuple((int(f), draw_mask(rng, int(N_BINS[f]))) for f in features)


def draw_mask(rng, n_bins):
    """Neither empty nor full, also beyond 64 bins."""
    held = rng.permutation(n_bins) < rng.integers(1, n_bins)
    return sum(1 << b for b in range(n_bins) if held[b])


def draw_case(seed, name, *, n_rows=130, n_rules=6, weighted=True, offset=True, n_linear=2):
    rng = np.random.default_rng(seed)
    codes = (rng.random((len(N_BINS), n_rows)) * N_BINS[:, None]).astype(CODE_DTYPE)
    weights = rng.exponential(size=n_rows) + 0.01
    shift = rng.normal(size=n_rows)
    family = get_family(name)
    case = Case(
        codes=codes,
        y=np.empty(n_rows),
        family=family,
        weights=weights / weights.sum() if weighted else None,
        offset=shift if offset else None,
        linear=rng.uniform(-1.0, 1.0, size=(n_linear, n_rows)) if n_linear else None,
        rules=draw_rules(rng, codes, n_rules),
        coef=0.5 * rng.normal(size=1 + n_linear + n_rules),
    )
    eta = case.coef @ case.design() + (shift if offset else 0.0) + 0.5 * rng.normal(size=n_rows)
    return replace(case, y=draw_target(family, eta, rng))


SINGLE = {"rtol": 1e-6, "atol": 1e-9}
"""Second derivatives are added up in single precision."""


def assert_same_answers(one, other, rtol=1e-11):
    """Two engines at the same point with the same columns agree in every sum."""
    tuples = np.array([[0, 1], [2, 4], [3, 1]], INDEX_DTYPE)
    vectors = ("gradient", "hessian", "positive")
    for a, b in zip(answers(one, tuples, vectors), answers(other, tuples, vectors), strict=True):
        assert_allclose(a, b, rtol=rtol, atol=1e-13)
    assert_allclose(one.gram(), other.gram(), **SINGLE)


def answers(engine, tuples, vectors):
    """Return what an engine says about the point it stands at, but for the Gram matrix."""
    return [
        engine.losses((0.0,)),
        engine.score(),
        engine.supports(),
        engine.hessian_sum(),
        engine.dispersion(),
        engine.null_intercept(),
        np.array(engine.gradient_masses()),
        engine.dual_value(0.6, 0.7),
        engine.joint_histograms(tuples, vectors).values,
    ]


# --- derivatives


@each_family
@few
@given(seeds, flags, flags, st.integers(0, 2))
def test_score_is_the_derivative_of_the_loss(name, seed, weighted, offset, n_linear):
    case = draw_case(seed, name, weighted=weighted, offset=offset, n_linear=n_linear)
    engine, step = case.engine(), 1e-5
    score = engine.score()
    for j, unit in enumerate(step * np.eye(len(case.coef))):
        up, down = (engine.set_coefficients(case.coef + move) for move in (unit, -unit))
        assert_allclose(score[j], (up - down) / (2 * step), rtol=1e-6, atol=1e-8)


@each_family
@few
@given(seeds, flags, flags, st.integers(0, 2))
def test_gram_is_the_second_derivative_of_the_loss(name, seed, weighted, offset, n_linear):
    case = draw_case(seed, name, weighted=weighted, offset=offset, n_linear=n_linear)
    engine, step = case.engine(), 1e-3
    engine.set_coefficients(np.zeros_like(case.coef))
    engine.gram()
    engine.set_coefficients(case.coef)
    assert engine.refresh() is not case.family.constant_hessian
    gram = engine.gram()
    assert_allclose(gram, gram.T, rtol=1e-12, atol=1e-15)
    units = step * np.eye(len(case.coef))
    for i in range(len(case.coef)):
        for j in range(i + 1):
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            moves = [(a * b, a * units[i] + b * units[j]) for a, b in signs]
            second = sum(sign * engine.set_coefficients(case.coef + move) for sign, move in moves)
            assert_allclose(gram[i, j], second / (4 * step**2), rtol=1e-4, atol=1e-6)


@each_family
@relaxed
@given(seeds, flags, flags)
def test_sums_equal_dense_ones(name, seed, weighted, offset):
    case = draw_case(seed, name, weighted=weighted, offset=offset)
    engine, design, rows = case.engine(), case.design(), case.row_vectors()
    eta = case.coef @ design + (0.0 if case.offset is None else case.offset)
    assert_allclose(engine.losses((0.0,)), case.shares() @ case.family.loss(case.y, eta))
    assert_allclose(engine.score(), design @ rows["gradient"], rtol=1e-10, atol=1e-13)
    assert_allclose(engine.gram(), (design * rows["hessian"]) @ design.T, **SINGLE)
    assert_allclose(engine.supports(), design[1 + engine.n_linear :] @ case.shares())
    assert_allclose(engine.hessian_sum(), rows["hessian"].sum())
    residuals = case.family.gradient(case.y, eta)
    expected = np.average(residuals**2, weights=case.weights) / rows["hessian"].sum()
    assert_allclose(engine.dispersion(), expected, rtol=1e-10)
    positive, negative = engine.gradient_masses()
    assert_allclose(positive, rows["positive"].sum(), atol=1e-13)
    assert_allclose(positive - negative, rows["gradient"].sum(), atol=1e-13)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_gradient_masses_are_never_negative(seed, sign):
    rng = np.random.default_rng(seed)
    y = sign * (1.0 + rng.random(3 * losses.BLOCK + 5))
    codes = np.zeros((len(N_BINS), len(y)), CODE_DTYPE)
    engine = LocalEngine(codes, N_BINS, y, get_family("gaussian"))
    engine.set_coefficients(np.zeros(1))
    masses = engine.gradient_masses()
    assert min(masses) >= 0.0
    assert_allclose(sorted(masses), [0.0, np.abs(y).mean()], atol=1e-14)


# --- rules come and go


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 130])
def test_rules_of_equal_coverage_enter_once(n_rows):
    case = draw_case(1, "gaussian", n_rows=n_rows, n_rules=0, n_linear=0)
    engine = case.engine()
    case.codes[0] = case.codes[1] > 2  # the same split of the rows twice
    low, high, twin = ((0, 0b01),), ((0, 0b10),), ((1, 0b111),)
    long = ((1, 0b111), (2, (1 << 12) - 1))
    assert engine.add_rules([long, long], [2, 2]) == 1
    assert engine.add_rules([low], [1]) == 1
    assert engine.add_rules([low, high, twin], [1, 1, 1]) == 0
    assert engine.add_rules([twin, long], [2, 2]) == 0
    assert engine.rules == [long, low]
    assert engine.degrees == [2, 1]
    engine.keep_rules([0])
    assert engine.add_rules([high, low], [1, 1]) == 1
    assert engine.rules == [long, high]
    engine.keep_rules([])
    assert engine.add_rules([long, ()], [2, 0]) == 2


@each_family
@relaxed
@given(seeds, flags, st.integers(0, 2), st.data())
def test_incremental_gram_equals_gram_from_scratch(name, seed, weighted, n_linear, data):
    case = draw_case(seed, name, n_rules=9, weighted=weighted, n_linear=n_linear)
    first = 1 + n_linear
    case.coef[first:] = 0.0  # the point does not depend on which rules are held
    engine, held, last = case.engine(0), [], 0
    for size in data.draw(st.lists(st.integers(0, 3), max_size=3)):
        add_rules(engine, case.rules[last : last + size])
        held += range(last, last + size)
        last += size
        if data.draw(flags):
            engine.gram()
        if data.draw(flags):
            kept = [k for k in range(len(held)) if data.draw(flags)]
            engine.keep_rules(kept)
            held = [held[k] for k in kept]
    fresh = replace(case, rules=[case.rules[k] for k in held]).engine()
    assert engine.rules == fresh.rules
    assert_allclose(engine.gram(), fresh.gram(), **SINGLE)
    assert_allclose(engine.score(), fresh.score(), rtol=1e-11, atol=1e-14)


@each_family
def test_gram_stays_at_the_point_of_the_last_refresh(name):
    case = draw_case(7, name)
    padded = np.where(np.arange(len(case.coef)) < 7, case.coef, 0.0)
    engine = case.engine(4)
    engine.gram()
    add_rules(engine, case.rules[4:])
    engine.set_coefficients(-case.coef)
    assert_allclose(engine.gram(), replace(case, coef=padded).engine().gram(), **SINGLE)
    assert engine.refresh() is not case.family.constant_hessian
    assert_allclose(engine.gram(), replace(case, coef=-case.coef).engine().gram(), **SINGLE)
    assert not engine.refresh()


# --- moves


@each_family
@relaxed
@given(seeds, flags)
def test_accepted_steps_equal_new_coefficients(name, seed, offset):
    case = draw_case(seed, name, offset=offset)
    delta = 0.3 * np.random.default_rng(seed).normal(size=len(case.coef))
    engine, other = case.engine(), case.engine()
    steps = (0.0, 0.25, 1.0)
    engine.propose(delta)
    expected = [other.set_coefficients(case.coef + step * delta) for step in steps]
    assert_allclose(engine.losses(steps), expected, rtol=1e-12)
    engine.accept(0.25)
    assert_same_answers(engine, replace(case, coef=case.coef + 0.25 * delta).engine())
    engine.accept(0.75)
    engine.refresh()
    assert_same_answers(engine, replace(case, coef=case.coef + delta).engine())


def test_a_rejected_step_leaves_the_loss_alone():
    case = draw_case(0, "poisson")
    engine = case.engine()
    before = engine.losses((0.0,))
    engine.propose(np.full(len(case.coef), 1e4))
    assert not np.isfinite(engine.losses((1.0,))[0])
    assert_array_equal(engine.losses((0.0,)), before)
    assert engine.set_coefficients(case.coef) == before[0]


# --- weights


@each_family
@relaxed
@given(seeds, flags, st.integers(0, 2))
def test_weight_two_is_the_row_twice(name, seed, offset, n_linear):
    case = draw_case(seed, name, weighted=False, offset=offset, n_linear=n_linear)
    times = np.random.default_rng(seed).integers(1, 4, size=len(case.y))
    weighted = replace(case, weights=times / times.sum())
    repeated = replace(
        case,
        codes=np.repeat(case.codes, times, axis=1),
        y=np.repeat(case.y, times),
        offset=None if case.offset is None else np.repeat(case.offset, times),
        linear=None if case.linear is None else np.repeat(case.linear, times, axis=1),
    )
    assert_same_answers(weighted.engine(), repeated.engine(), rtol=1e-9)


@each_family
def test_equal_weights_are_no_weights(name):
    case = draw_case(11, name, weighted=False)
    equal = replace(case, weights=np.full(len(case.y), 1.0 / len(case.y)))
    assert_same_answers(case.engine(), equal.engine())


# --- histograms


@pytest.mark.parametrize("order", [1, 2, 3])
@relaxed
@given(seeds, st.sampled_from(sorted(FAMILIES)), flags)
def test_joint_histograms_equal_dense_sums(order, seed, name, restricted):
    case = draw_case(seed, name)
    rng = np.random.default_rng(seed)
    within = draw_rule(rng) if restricted else ()
    tuples = np.array(list(combinations(range(len(N_BINS)), order)), INDEX_DTYPE)
    vectors = ["hessian", "gradient", "positive"][: rng.integers(1, 4)]
    found = case.engine().joint_histograms(tuples, vectors, within)
    covered, rows = rule_column(case.codes, within), case.row_vectors()
    for position, features in enumerate(tuples):
        for v, vector in enumerate(vectors):
            expected = np.zeros(N_BINS[features])
            cells = tuple(case.codes[feature] for feature in features)
            np.add.at(expected, cells, rows[vector] * covered)
            assert_allclose(found.cube(position, v), expected, rtol=1e-11, atol=1e-14)
    assert [cube.shape for cube in found] == [tuple(N_BINS[features]) for features in tuples]


def test_histograms_within_a_rule_without_rows_are_zero():
    case = draw_case(0, "gaussian")
    case.codes[0] = np.minimum(case.codes[0], 1)
    found = case.engine().joint_histograms(np.array([[1], [2]], INDEX_DTYPE), within=((0, 4),))
    assert found.values.shape == (1, 19)
    assert not found.values.any()


@relaxed
@given(seeds, st.sampled_from(sorted(FAMILIES)), flags, st.integers(0, 5))
def test_histograms_within_rules_equal_joint_ones(seed, name, weighted, n_rules):
    case = draw_case(seed, name, weighted=weighted)
    rng = np.random.default_rng(seed)
    engine = case.engine()
    rules = [(), *(draw_rule(rng) for _ in range(n_rules))]
    wanted = rng.random((len(rules), len(N_BINS))) < rng.choice([0.5, 1.0])
    vectors = [("gradient", "hessian"), ("gradient",), ("hessian",)][rng.integers(3)]
    found = engine.histograms_within(rules, vectors, wanted)
    singles = np.arange(len(N_BINS))[:, None]
    for rule, each, asked in zip(rules, found, wanted, strict=True):
        expected = engine.joint_histograms(singles, vectors, within=rule).values
        filled = np.repeat(asked, N_BINS)
        assert_allclose(each[:, filled], expected[:, filled], rtol=1e-11, atol=1e-14)
        assert not each[:, ~filled].any()


@relaxed
@given(seeds, flags)
def test_coarse_histograms_join_bins(seed, restricted):
    case, rng = draw_case(seed, "poisson"), np.random.default_rng(seed)
    coarse = np.array([2, 3, 5, 2, 9], INDEX_DTYPE) if restricted else N_BINS
    lookup = rng.integers(0, coarse[:, None], (len(N_BINS), MAX_BINS)).astype(CODE_DTYPE)
    engine = case.engine()
    engine.set_coarse(lookup, coarse)
    tuples = np.array(list(combinations(range(len(N_BINS)), 2)), INDEX_DTYPE)
    found = engine.joint_histograms(tuples, ("gradient", "hessian"), coarse=True)
    rows = case.row_vectors()
    for position, (f, g) in enumerate(tuples):
        for v, vector in enumerate(("gradient", "hessian")):
            expected = np.zeros((coarse[f], coarse[g]))
            cells = lookup[f, case.codes[f]], lookup[g, case.codes[g]]
            np.add.at(expected, cells, rows[vector])
            assert_allclose(found.cube(position, v), expected, rtol=1e-11, atol=1e-14)
    fine = engine.joint_histograms(tuples).values  # the fine bins are as they were
    assert_array_equal(fine, case.engine().joint_histograms(tuples).values)


@relaxed
@given(seeds, st.integers(1, 60))
def test_coarse_histograms_of_many_rows_are_estimated_from_some_at_even_distances(seed, n_sampled):
    case = draw_case(seed, "binomial")
    every = max(1, len(case.y) // n_sampled)
    with patch("ruleglm.engines.filling.SAMPLE_ROWS", n_sampled):
        engine = case.engine()
        engine.set_coarse(np.tile(np.arange(MAX_BINS, dtype=CODE_DTYPE), (5, 1)), N_BINS)
        found = engine.joint_histograms(np.array([[0, 1]]), ("gradient", "hessian"), coarse=True)
    rows = case.row_vectors()
    for v, vector in enumerate(("gradient", "hessian")):
        expected = np.zeros((N_BINS[0], N_BINS[1]))
        cells = case.codes[0, ::every], case.codes[1, ::every]
        np.add.at(expected, cells, every * rows[vector][::every])
        assert_allclose(found.cube(0, v), expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("share", [0.5, 0.95, 1.0])
def test_histograms_within_dense_rules_are_taken_from_those_of_all_rows(share):
    case = draw_case(3, "binomial", n_rows=200)
    case.codes[:3] = np.where(np.random.default_rng(3).random(200) < share, 0, case.codes[:3])
    engine = case.engine(0)
    rules = [((f, 1),) for f in range(3)]
    wanted = np.ones((3, len(N_BINS)), np.bool_)
    wanted[1, 2] = False
    found = engine.histograms_within(rules, ("gradient", "hessian"), wanted)
    rows = dict(zip(("gradient", "hessian"), engine._both_rows(), strict=True))
    starts = np.concatenate([[0], np.cumsum(N_BINS)])
    for k, f in np.ndindex(*wanted.shape):
        inside = case.codes[k] == 0
        for v, vector in enumerate(("gradient", "hessian")):
            expected = np.bincount(case.codes[f, inside], rows[vector][inside], N_BINS[f])
            cells = found[k, v, starts[f] : starts[f + 1]]
            assert_allclose(cells, expected * wanted[k, f], rtol=1e-11, atol=1e-14)


@each_family
def test_the_loss_of_a_step_taken_is_known(name):
    case = draw_case(1, name)
    engine, again = case.engine(), case.engine()
    delta = 0.1 * np.random.default_rng(1).normal(size=len(case.coef))
    for step in (1.0, 0.25, -0.5):
        engine.propose(delta)
        ahead = engine.losses((1.0, 0.25))
        engine.accept(step)
        again.propose(delta)
        again.accept(step)
        assert_array_equal(engine.losses((0.0,)), again.losses((0.0,)))
        if step > 0.0:
            assert engine.losses((0.0,))[0] == ahead[(1.0, 0.25).index(step)]


def test_no_tuples_give_no_histograms():
    found = draw_case(0, "gaussian").engine().joint_histograms(np.empty((0, 2), INDEX_DTYPE))
    assert list(found) == []


# --- the dual


@each_family
@few
@given(seeds, flags, flags, st.sampled_from([0.3, 0.02]), st.floats(0.0, 1.0))
def test_dual_value_is_a_lower_bound(name, seed, weighted, offset, penalty, pull):
    case = draw_case(seed, name, n_rows=60, n_rules=5, weighted=weighted, offset=offset, n_linear=1)
    design = case.design()
    penalties = penalty * np.random.default_rng(seed).uniform(0.5, 1.5, size=len(case.coef) - 1)
    optimum, intercept, coef = solve_l1_glm(
        design[1:].T, case.y, case.family, penalties, case.weights, case.offset
    )
    solution = np.array([intercept, *coef])
    for point in (case.coef, solution + pull * (case.coef - solution), solution):
        bound = dual_bound(replace(case, coef=point), design, penalties)
        assert bound <= optimum + 1e-9
    assert bound >= optimum - 1e-4  # at the solution the bound is tight


def dual_bound(case, design, penalties):
    """Ask the engine for the dual value of its gradient, balanced and shrunk to feasibility."""
    engine, rows = case.engine(), case.row_vectors()["gradient"]
    masses = np.array(engine.gradient_masses())
    scales = min(masses) / np.where(masses > 0.0, masses, 1.0)
    scores = design[1:] @ (rows * np.where(rows > 0.0, *scales))
    scales /= max(1.0, np.max(np.abs(scores) / penalties))
    return engine.dual_value(*scales)


# --- threads


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_any_number_of_threads_gives_the_same_bits(name, weighted, monkeypatch):
    monkeypatch.setattr(parallel, "SHORT_PART", 1)
    n_rows = 2 * losses.BLOCK + 1077
    case = draw_case(5, name, n_rows=n_rows, n_rules=8, weighted=weighted)
    tuples = np.array(list(combinations(range(len(N_BINS)), 2)), INDEX_DTYPE)
    expected = None
    for n_threads in (1, 2, 3):
        engine = case.engine(n_threads=n_threads)
        engine.propose(case.coef[::-1].copy())
        engine.accept(0.1)
        found = [engine.gram(), *answers(engine, tuples, ("gradient", "positive"))]
        found.append(engine.joint_histograms(tuples, within=case.rules[0]).values)
        wanted = np.ones((len(case.rules), len(N_BINS)), bool)
        found.append(engine.histograms_within(case.rules, ("gradient", "hessian"), wanted))
        assert len(engine.workers._helpers) == n_threads - 1
        expected = found if expected is None else expected
        for mine, other in zip(found, expected, strict=True):
            assert_array_equal(mine, other, strict=True)


def test_cut_covers_every_row_once():
    for length in (0, 1, 63, 64, 65, 1000):
        for n_parts in (1, 3, 16):
            parts = parallel.cut(length, n_parts, 64)
            assert len(parts) <= n_parts
            assert all(part.start % 64 == 0 for part in parts)
            rows = [row for part in parts for row in range(part.start, part.stop)]
            assert rows == list(range(length))


# --- compilation (last: what the tests above compiled counts too)


def test_the_engine_adds_no_specialisation():
    answers(draw_case(0, "gamma").engine(), np.array([[0, 1]], INDEX_DTYPE), ("gradient",))
    for kernel in kernels.KERNELS:
        assert len(getattr(kernel, "signatures", ())) <= 1, kernel
