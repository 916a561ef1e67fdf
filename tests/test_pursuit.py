"""Pursuit: its paths, its moves, and the rules that it finds again."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from ruleglm import RuleRegressor, kernels, parallel
from ruleglm.binning import Binning, build_binning
from ruleglm.engines import LocalEngine
from ruleglm.families import FAMILIES, get_family
from ruleglm.frames import read_table
from ruleglm.pricing import ConditionTable, Limits
from ruleglm.pricing.gains import GainPricer
from ruleglm.pricing.worth import Candidate, rule_cost
from ruleglm.solvers import pursuit
from ruleglm.solvers import walk as walking
from ruleglm.solvers.columns import spread_ridge
from ruleglm.solvers.master import refit
from ruleglm.solvers.pursuit import efficient, run_pursuit
from ruleglm.solvers.standing import RARE_RIDGE, PursuitModel
from ruleglm.solvers.walk import Walk
from tests.reference.binarise import rule_column
from tests.test_gains import draw_rule
from tests.test_reference import draw_target

seeds = st.integers(0, 2**32 - 1)
flags = st.booleans()
some_families = st.sampled_from(["gaussian", "binomial"])
each_family = pytest.mark.parametrize("name", FAMILIES)
RIDGE_ROWS = 5.0


@dataclass(frozen=True)
class Case:
    """Rows for a pursuit; weights are as they were given, not normalised."""

    codes: np.ndarray
    binning: Binning
    y: np.ndarray
    family: object
    linear: np.ndarray | None = None
    weights: np.ndarray | None = None
    signed: bool = False
    """Whether coefficients have signs: lines +1, rules by the first of their features."""

    @property
    def mass(self):
        return float(len(self.y) if self.weights is None else self.weights.sum())

    @property
    def ridge(self):
        return RIDGE_ROWS / self.mass

    def engine(self, n_threads=1):
        return LocalEngine(
            self.codes,
            self.binning.n_bins,
            self.y,
            self.family,
            weights=None if self.weights is None else self.weights / self.weights.sum(),
            linear=self.linear,
            n_threads=n_threads,
            sign_of=(lambda rule: rule[0][0] % 3 - 1) if self.signed else None,
            linear_signs=[1] * len(self.linear) if self.signed and self.linear is not None else (),
        )

    def pricer(self, max_degree=3):
        return GainPricer(ConditionTable(self.binning.features), max_degree, self.ridge)

    def walk(self, max_degree=3):
        return Walk(self.engine(), self.pricer(max_degree), self.ridge, self.mass)

    def follow(self, max_complexity, *, n_threads=1, limits=None, max_degree=3, **options):
        return run_pursuit(
            self.engine(n_threads),
            self.pricer(max_degree),
            Limits() if limits is None else limits,
            max_complexity=max_complexity,
            ridge=self.ridge,
            mass=self.mass,
            **options,
        )


def draw_case(seed, name="gaussian", *, n=200, n_linear=2, weighted=False, bins=8):
    """Numbers, ordered and other levels, missing values, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    sizes = pd.Categorical(rng.choice(list("smlx"), n), list("smlx"), ordered=True)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 6, n)),
            "c": rng.choice(["u", "v", "w", None], n),
            "d": sizes,
            "e": rng.exponential(size=n),
        }
    )
    eta = 1.5 * ((frame["a"] > 0.2) & (frame["b"] < 3)) - 1.0 * (frame["c"] == "u")
    linear = rng.uniform(-1.0, 1.0, size=(n_linear, n))
    eta = (eta + 0.7 * (frame["e"] > 0.5)).to_numpy(float) + 0.6 * linear[:1].sum(axis=0)
    table = read_table(frame)
    binning = build_binning(table, bins=bins)
    family = get_family(name)
    return Case(
        binning.encode(table),
        binning,
        draw_target(family, eta - 0.5, rng),
        family,
        linear if n_linear else None,
        rng.integers(1, 4, n).astype(float) if weighted else None,
    )


def assert_same_path(one, other):
    """Two paths hold the same models, to the last bit."""
    assert len(one) == len(other)
    for mine, theirs in zip(one, other, strict=True):
        for field in ("rules", "degrees", "linear", "loss", "ridge", "price"):
            assert getattr(mine, field) == getattr(theirs, field)
        assert_array_equal(mine.coef, theirs.coef)


def dense_loss(case, model):
    """The mean loss of a model, row by row."""
    rows = [np.ones(len(case.y)), *(case.linear[k] for k in model.linear)]
    rows += [rule_column(case.codes, rule) for rule in model.rules]
    eta = model.coef @ np.array(rows)
    return np.average(case.family.loss(case.y, eta), weights=case.weights)


# --- paths


@settings(max_examples=15)
@given(seeds, st.sampled_from(sorted(FAMILIES)), flags, st.floats(0.0, 15.0), st.integers(1, 4))
def test_a_path_ascends_in_complexity_and_its_loss_falls(
    seed, name, weighted, max_complexity, max_degree
):
    case = draw_case(seed, name, weighted=weighted)
    path = case.follow(max_complexity, max_degree=max_degree)
    sizes = [model.complexity for model in path]
    assert path[0].rules == path[0].linear == ()
    assert all(np.diff(sizes) > 0)
    assert sizes[-1] <= max_complexity + 1e-9
    for one, other in pairwise(path):
        assert other.loss < one.loss or other.ridge > one.ridge
    table = ConditionTable(case.binning.features)
    for model in path:
        assert len(model.coef) == 1 + len(model.linear) + len(model.rules)
        assert model.degrees == tuple(map(table.degree, model.rules))
        assert max(model.degrees, default=1) <= max_degree
        assert len(set(model.rules)) == len(model.rules)
        assert model.complexity == pytest.approx(
            len(model.linear) + len(model.rules) + 0.2 * sum(model.degrees)
        )
        assert_allclose(model.loss, dense_loss(case, model), rtol=1e-9)
        assert model.ridge >= 0.0


@settings(max_examples=8)
@given(seeds, st.sampled_from(sorted(FAMILIES)), st.floats(0.0, 12.0))
def test_a_shorter_path_is_the_beginning_of_a_longer_one(seed, name, shorter):
    case = draw_case(seed, name)
    long, short = case.follow(14.0), case.follow(shorter)
    assert_same_path(short, [model for model in long if model.complexity <= shorter + 1e-9])
    assert_same_path(short, long[: len(short)])


def excess(case, walk, model):
    """How far the objective of a model of a walk is from the best of its columns."""
    engine = case.engine()
    engine.add_rules(model.rules, model.degrees)
    engine.set_coefficients(model.coef)
    ridges = spread_ridge(engine, model.ridge, power=1.0)
    ridges[1:] = np.maximum(ridges[1:], walk.least_ridge())
    objective = model.loss + 0.5 * ridges @ model.coef**2
    best = refit(engine, model.coef, ridges, 1e-12).objective
    assert best <= objective + 1e-9
    return objective - best


@each_family
def test_coefficients_are_nearly_the_best_of_their_columns(name):
    case = draw_case(5, name, n_linear=0)
    walk, n_passed = case.walk(), 0
    while walk.complexity() < 12.0:
        price = 0.5 * walk.grow(Limits(), 0.0)
        assert excess(case, walk, walk.record(price)) <= 0.05 * price
        for model in walk.passed:  # a Newton step, no more
            assert excess(case, walk, model) <= (1e-9 if name == "gaussian" else model.price)
        n_passed += len(walk.passed)
    assert n_passed > 0


def test_coefficients_are_nearly_the_best_where_gains_promise_more_than_there_is():
    rng = np.random.default_rng(0)
    for seed in range(4):
        case = draw_case(seed, "binomial", n_linear=0)
        case = replace(case, weights=np.exp(8 * rng.normal(size=len(case.y))))
        walk, first = case.walk(), case.walk().loss
        while walk.complexity() < 4.0:
            walk.grow(Limits(), 0.0)
            assert excess(case, walk, walk.record(0.0)) <= 0.07 * first


@given(st.floats(0.0, 1e6), st.floats(0.0, 1e6))
def test_rules_come_in_together_where_noise_does_not_tell_them_apart(best, noise):
    class Standing:
        def noise(self):
            return noise

    lowest, highest = (share * best for share in walking.GOOD)
    least = Walk.good_enough(Standing(), best)
    assert lowest <= least <= highest
    if noise == 0.0:
        assert least == highest
    if lowest < least < highest:
        assert least == pytest.approx(best - walking.DOUBT * noise)


@each_family
def test_what_the_intercept_leaves_looks_like_no_gain(name):
    case = draw_case(3, name, n=400)
    walk = case.walk()
    walk.pricer.scale_ridge(1e-6)  # as of very many rows
    table = walk.offer([])
    walk.coef[0] += 0.01
    walk.stand()
    walk.balance(1e-6)
    assert walk.engine.score()[0] ** 2 <= 1e-6 * walk.pricer.ridge
    assert_allclose(walk.engine.set_coefficients(walk.coef), walk.loss, rtol=1e-12)
    assert len(table.member) == len(walk.coef)


def test_a_row_far_off_the_others_is_shrunk():
    rng = np.random.default_rng(0)
    case = draw_case(0, n=300, n_linear=0)
    codes = case.codes.copy()
    codes[0] = np.minimum(codes[0], 5)
    codes[0, 7] = 6  # a bin of its own
    y = rng.normal(size=300)
    y[7] = 60.0
    walk = replace(case, codes=codes, y=y).walk()
    table = walk.offer([Candidate(((0, 1 << 6),), 1, 0.0)])
    table.toggle(1)
    walk.settle(table, 1e-12)
    assert 0.0 < walk.coef[1] < 60.0 / (1.0 + RARE_RIDGE) + 3.0


@each_family
def test_every_family_lowers_its_loss(name):
    case = draw_case(1, name, n=400)
    path = case.follow(8.0)
    assert path[-1].complexity > 5.0
    assert path[-1].loss < 0.95 * path[0].loss


def test_a_price_ends_the_path_early():
    case = draw_case(2)
    long = case.follow(20.0)
    for price in (0.5, 0.05, 0.01):
        short = case.follow(20.0, price=price)
        assert all(model.price >= price for model in short[1:])
        assert_same_path(short, long[: len(short)])
    assert len(case.follow(20.0, price=10.0)) == 1


def test_without_time_there_is_the_empty_model_only():
    (model,) = draw_case(0).follow(10.0, limits=Limits(0.0))
    assert model.rules == model.linear == ()
    assert model.complexity == 0.0


def test_an_interrupt_returns_the_path_so_far(monkeypatch):
    case = draw_case(0)
    whole, grow, calls = case.follow(10.0), Walk.grow, []

    def interrupted(walk, limits, least, most):
        calls.append(walk.complexity())
        if len(calls) == 4:
            raise KeyboardInterrupt
        return grow(walk, limits, least, most)

    monkeypatch.setattr(Walk, "grow", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted; this is the best model so far"):
        cut = case.follow(10.0)
    assert 4 <= len(cut) < len(whole)
    assert_same_path(cut, whole[: len(cut)])
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        case.follow(10.0, keep_on_interrupt=False)


def test_a_target_without_variation_gives_the_empty_model():
    case = draw_case(0)
    (model,) = replace(case, y=np.full(len(case.y), 3.0)).follow(10.0)
    assert_allclose(model.coef, [3.0])
    assert_allclose(model.loss, 0.0, atol=1e-20)


def test_features_without_conditions_leave_the_linear_terms():
    case = draw_case(3)
    codes = np.zeros_like(case.codes)
    features = tuple(replace(bins, observed=1) for bins in case.binning.features)
    path = replace(case, codes=codes, binning=Binning(features)).follow(10.0)
    assert {model.linear for model in path} >= {(), (0,)}
    assert not any(model.rules for model in path)


@each_family
def test_the_ridge_of_the_search_falls_as_the_model_becomes_sure(name):
    case = draw_case(8, name)
    walk = case.walk()
    before = walk.engine.hessian_sum()
    step = np.zeros(len(walk.coef))
    step[0] = 2.0 if name == "binomial" else -0.5
    walk.move(walk.coef + step)
    walk.search(Limits())
    left = min(1.0, walk.engine.hessian_sum() / before)
    assert walk.pricer.ridge == pytest.approx(left * case.ridge, rel=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "poisson"])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_number_of_threads_gives_the_same_path(name, weighted, monkeypatch):
    monkeypatch.setattr(parallel, "SHORT_PART", 100)
    case = draw_case(4, name, n=500, weighted=weighted)
    paths = [case.follow(9.0, n_threads=n_threads) for n_threads in (1, 2, 3)]
    assert len(paths[0]) > 4
    for path in paths[1:]:
        assert_same_path(path, paths[0])


@settings(max_examples=10)
@given(seeds, st.sampled_from(sorted(FAMILIES)), st.integers(0, 2))
def test_a_row_of_weight_two_is_the_row_twice(seed, name, n_linear):
    case = draw_case(seed, name, weighted=True, n_linear=n_linear)
    times = case.weights.astype(int)
    repeated = replace(
        case,
        codes=np.repeat(case.codes, times, axis=1),
        y=np.repeat(case.y, times),
        linear=None if case.linear is None else np.repeat(case.linear, times, axis=1),
        weights=None,
    )
    assert repeated.mass == case.mass
    ours, theirs = case.follow(7.0), repeated.follow(7.0)
    assert [(one.rules, one.linear) for one in ours] == [(one.rules, one.linear) for one in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert_allclose(one.coef, other.coef, rtol=1e-6, atol=1e-8)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8))
def test_efficient_models_are_those_that_no_other_beats(points):
    empty = PursuitModel((), (), (), np.zeros(1), 1.0, 1.0, 0.0)
    models = [
        replace(empty, linear=tuple(range(size)), loss=float(objective))
        for size, objective in points
    ]
    kept = {(one.complexity, one.loss) for one in efficient(models)}
    expected = {
        (size, objective)
        for size, objective in points
        if not any(
            (s <= size and o <= objective) and (s, o) != (size, objective) for s, o in points
        )
    }
    assert kept == expected
    assert len(efficient(models)) == len(expected)


class ScriptedWalk:
    """A walk through given models: linear terms after swaps and additions, those dropped, loss."""

    def __init__(self, points):
        self.points, self.k = [(0, 0, 0, 99), *points], 0

    passed = ()

    def grow(self, limits, least, most):
        self.k += 1
        if self.k == len(self.points):
            return None
        swapped, grown, _, objective = self.points[self.k]
        self.grown = float(grown)
        self.passed = [scripted_model(swapped, objective + 1)]
        return 1.0

    def record(self, price):
        _, grown, dropped, objective = self.points[self.k]
        return scripted_model(max(0, grown - dropped), objective)


def scripted_model(size, objective):
    return PursuitModel((), (), tuple(range(size)), np.zeros(1), float(objective), 0.0, 1.0)


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 60), st.integers(0, 9), st.integers(0, 98)),
        max_size=40,
    ),
    st.integers(0, 40),
    st.integers(0, 20),
)
@example([(7, 10, 2, 50)], 8, 12)  # what was dropped in the end counts as reached
def test_models_that_shrink_later_do_not_change_a_shorter_path(points, shorter, further):
    paths = []
    for most in (shorter, shorter + further):
        walk = ScriptedWalk(points)
        limits = {"max_complexity": float(most), "price": 0.0, "keep_on_interrupt": True}
        paths.append(pursuit.follow(walk, Limits(), **limits))
    assert all(model.complexity <= shorter for model in paths[0])
    assert_same_path(paths[0], [model for model in paths[1] if model.complexity <= shorter])


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_walk_in_circles_ends(length):
    circle = [(k, k, 0, 50) for k in range(1, 1 + length)]
    walk = ScriptedWalk([*circle * 1000, (60, 60, 0, 1)])
    path = pursuit.follow(walk, Limits(), max_complexity=100.0, price=0.0, keep_on_interrupt=True)
    assert walk.k < 100
    assert [(model.complexity, model.loss) for model in path] == [(0, 99), (1, 50)]


# --- moves


def draw_walk(case, rng, max_degree=3):
    """Stand at a model of some random rules and linear terms."""
    walk = case.walk(max_degree)
    table = walk.pricer.table
    rules = [draw_rule(rng, table, max_degree) for _ in range(rng.integers(0, 8))]
    rules = [rule for rule in rules if rule is not None and table.degree(rule) <= max_degree]
    moves = walk.offer([Candidate(rule, table.degree(rule), 0.0) for rule in rules])
    for column in range(1, len(moves.member)):
        if rng.random() < 0.7:
            moves.toggle(column)
    walk.settle(moves, 1e-10)
    return walk


def polish(walk, price):
    """Swap rules for their neighbours; return whether any came or went."""
    walk.passed = []
    before = walk.record(price)
    walk.polish(price)
    after = walk.record(price)
    moved = (set(after.rules), after.linear) != (set(before.rules), before.linear)
    assert moved == bool(walk.passed)
    return moved


def check_walk(walk):
    """What a walk says of itself is true."""
    model = walk.record(0.0)
    assert len(walk.coef) == 1 + len(walk.lines) + len(walk.engine.rules)
    assert not walk.coef[~walk.members()].any()
    assert model.complexity == pytest.approx(walk.complexity())
    before = float(walk.engine.losses((0.0,))[0])
    assert_allclose(before, walk.loss, rtol=1e-9, atol=1e-12)
    assert_allclose(walk.engine.set_coefficients(walk.coef), walk.loss, rtol=1e-9, atol=1e-12)


@settings(max_examples=60)
@given(seeds, some_families, flags, flags, st.sampled_from([0.0, 1e-4, 1e-3, 1e-2, 0.1]))
@example(6341044, "binomial", True, True, 0.0)
def test_a_polish_never_worsens_the_objective_with_its_price(seed, name, weighted, signed, price):
    case = replace(draw_case(seed, name, n=120, weighted=weighted), signed=signed)
    walk = draw_walk(case, np.random.default_rng(seed))
    check_walk(walk)
    for _ in range(3):
        before = walk.objective() + 0.5 * price * walk.complexity()
        polish(walk, price)
        for model in walk.passed:
            assert model.loss + 0.5 * price * model.complexity <= before + 1e-12
        after = walk.objective() + 0.5 * price * walk.complexity()
        assert after <= before + 1e-9
        assert max(walk.engine.degrees, default=1) <= 3
        check_walk(walk)


def test_a_polish_that_fails_is_taken_back():
    """Without a price, terms that luck explains are deleted, and the objective rises."""
    case, taken_back = draw_case(0, n=120), 0
    for seed in range(20):
        walk = draw_walk(case, np.random.default_rng(seed))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(walking, "find_replacements", lambda *_: [])
            patch.setattr(walk, "luck", lambda walk=walk: np.full(len(walk.coef), 1e3))
            before, objective = walk.record(0.0), walk.objective()
            assert not polish(walk, 0.0)
        assert walk.objective() <= objective + 1e-12
        assert walk.record(0.0).rules == before.rules
        check_walk(walk)
        taken_back += len(before.coef) > 1
    assert taken_back > 10


@settings(max_examples=10)
@given(seeds, some_families)
def test_a_restored_model_is_the_one_recorded(seed, name):
    case = draw_case(seed, name, n=120)
    walk = draw_walk(case, np.random.default_rng(seed))
    model = walk.record(0.25)
    score, loss = walk.engine.score(), walk.loss
    for _ in range(2):
        walk.grow(Limits(), 0.0)
    walk.restore(model)
    check_walk(walk)
    assert_allclose(walk.engine.score(), score, atol=1e-10)
    assert_allclose(walk.loss, loss, rtol=1e-10)
    again = walk.record(0.25)
    assert (again.rules, again.degrees, again.linear) == (model.rules, model.degrees, model.linear)
    assert_array_equal(again.coef, model.coef)


@settings(max_examples=10)
@given(seeds, st.sampled_from(sorted(FAMILIES)))
def test_growth_adds_a_term_and_lowers_the_objective(seed, name):
    case = draw_case(seed, name, n=150)
    walk = case.walk()
    for _ in range(6):
        objective, n_terms = walk.objective(), int(walk.members().sum())
        gain = walk.grow(Limits(), 0.0)
        check_walk(walk)
        if gain is None:
            break
        assert gain > 0.0
        assert int(walk.members().sum()) > n_terms
        assert walk.objective() < objective


def test_a_polish_moves_a_threshold_to_its_place():
    case = planted_case(0, noise=0.2)
    walk = case.walk()
    table = walk.pricer.table
    near = table.make_rule([(0, _above(case, 0, 0.55)), (1, _upto(case, 1, 0.8))])
    moves = walk.offer([Candidate(*near, 0.0)])
    moves.toggle(len(moves.member) - 1)
    walk.settle(moves, 1e-10)
    for _ in range(6):
        polish(walk, 1e-3)
    (rule,) = walk.engine.rules
    assert [feature for feature, _ in rule] == [0, 1]
    low, high = bounds_of(case, rule)
    assert low == pytest.approx(0.3, abs=0.08)
    assert high == pytest.approx(0.5, abs=0.08)


def _upto(case, feature, value):
    thresholds = np.array(case.binning.features[feature].thresholds)
    return (1 << int(np.searchsorted(thresholds, value)) + 1) - 1


def _above(case, feature, value):
    return case.binning.features[feature].present_mask & ~_upto(case, feature, value)


# --- planted rules


def planted_case(seed, noise, slope=0.0, name="gaussian"):
    """``2 [x0 > 0.3 and x1 <= 0.5] - [x2 > 0] + slope x3``, between five numbers of no effect."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, size=(1500, 8))
    eta = 2.0 * ((x[:, 0] > 0.3) & (x[:, 1] <= 0.5)) - 1.0 * (x[:, 2] > 0.0) + slope * x[:, 3]
    table = read_table(pd.DataFrame(x, columns=[f"x{j}" for j in range(8)]))
    binning = build_binning(table, bins=40)
    family = get_family(name)
    y = eta + noise * rng.normal(size=len(x)) if name == "gaussian" else None
    y = draw_target(family, 1.5 * eta, rng) if y is None else y
    linear = np.ascontiguousarray(x.T) if slope else None
    return Case(binning.encode(table), binning, y, family, linear)


def bounds_of(case, rule):
    """The finite bounds of a rule's conditions, in their order."""
    conditions = case.binning.to_rule(rule).conditions
    bounds = [bound for one in conditions for bound in (one.low, one.high)]
    return [bound for bound in bounds if np.isfinite(bound)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("slope", [0.0, 1.5])
def test_planted_rules_and_a_linear_term_are_found(seed, slope):
    case = planted_case(seed, 0.3, slope)
    model = case.follow(rule_cost(2) + rule_cost(1) + (1.0 if slope else 0.0))[-1]
    assert model.linear == ((3,) if slope else ())
    by_features = {tuple(feature for feature, _ in rule): rule for rule in model.rules}
    assert set(by_features) == {(0, 1), (2,)}
    assert_allclose(bounds_of(case, by_features[0, 1]), [0.3, 0.5], atol=0.06)
    assert_allclose(bounds_of(case, by_features[2,]), [0.0], atol=0.06)
    steps = dict(zip(model.rules, model.coef[1 + len(model.linear) :], strict=True))
    assert steps[by_features[0, 1]] == pytest.approx(2.0, abs=0.15)
    assert abs(steps[by_features[2,]]) == pytest.approx(1.0, abs=0.15)
    if slope:
        assert model.coef[1] == pytest.approx(slope, abs=0.1)


@pytest.mark.parametrize("name", ["binomial", "poisson"])
def test_planted_rules_are_found_in_other_families(name):
    case = planted_case(1, 0.0, name=name)
    model = case.follow(rule_cost(2) + rule_cost(1))[-1]
    assert {tuple(feature for feature, _ in rule) for rule in model.rules} == {(0, 1), (2,)}


# --- compilation (last: what the tests above compiled counts too)


@pytest.mark.parametrize("kernel", kernels.KERNELS, ids=lambda kernel: kernel.__name__)
def test_pursuit_adds_no_specialisation(kernel):
    assert len(getattr(kernel, "signatures", ())) <= 1, kernel.signatures


def test_a_pursuit_on_a_sample_of_the_rows_does_not_end_early(monkeypatch):
    """On the sample, the best of many pairs are best by luck; on all rows nothing is in them."""
    monkeypatch.setattr("ruleglm.engines.filling.SAMPLE_ROWS", 100)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 12))
    both = (X[:, 0] > 0.0) & (X[:, 1] > 0.0)
    y = both + np.sin(2.0 * X[:, 2]) + 0.5 * X[:, 3] * X[:, 4] + rng.standard_normal(4000)
    model = RuleRegressor(penalty="l0", bins="auto", max_complexity=40).fit(X, y)
    assert model.complexity_ > 35


def test_a_pursuit_without_room_for_a_term_does_not_search(monkeypatch):
    def search(*args, **more):
        raise AssertionError("searched")

    monkeypatch.setattr(GainPricer, "price", search)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    for room in ({"max_rules": 0}, {"max_complexity": 0}):
        model = RuleRegressor(penalty="l0", **room).fit(X, y)
        assert model.complexity_ == 0.0
    with pytest.raises(AssertionError, match="searched"):
        RuleRegressor(penalty="l0", max_rules=1).fit(X, y)


def test_many_copies_of_a_column_do_not_end_a_pursuit():
    """Their rules cover the same rows, and may be all that a short list of candidates holds."""
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 3000))
    both = 0.8 * ((c > 0.0) & (b < 0.0))
    y = 3.0 * (a > 0.0) + 2.0 * (a > 1.0) + (b > 0.3) + both + 0.3 * rng.standard_normal(3000)
    X = pd.DataFrame({**{f"a{k}": (k + 1) * a + k for k in range(40)}, "b": b, "c": c})
    model = RuleRegressor(penalty="l0", max_complexity=40, linear_terms=False).fit(X, y)
    assert model.complexity_ > 35
