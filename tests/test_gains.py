"""Gains of rules: what the search finds, against brute force and sums over rows."""

import math
from functools import cache
from itertools import combinations, pairwise
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ruleglm import kernels
from ruleglm.binning import build_binning
from ruleglm.bins import NumberBins
from ruleglm.columns import NumberColumn
from ruleglm.conditions import Levels, Range
from ruleglm.dtypes import CODE_DTYPE
from ruleglm.engines import LocalEngine
from ruleglm.engines.base import BOTH
from ruleglm.families import FAMILIES, get_family
from ruleglm.frames import read_table
from ruleglm.kernels.gains import TIE
from ruleglm.pricing import ConditionTable, Limits, gains
from ruleglm.pricing import neighbours as neighbouring
from ruleglm.pricing.coarse import N_COARSE, coarsen
from ruleglm.pricing.gains import N_HOT, GainPricer
from ruleglm.pricing.neighbours import find_replacements, shorten
from ruleglm.pricing.worth import DIGITS, rule_cost
from ruleglm.solvers.master import refit
from tests.pricing_cases import KINDS, make_bins
from tests.reference.binarise import all_rules, mask_column, rule_column
from tests.reference.gains import gain_of
from tests.test_pricing import random_rows
from tests.test_reference import draw_target

seeds = st.integers(0, 2**32 - 1)
families = st.sampled_from(sorted(FAMILIES))
flags = st.booleans()
ALL = 10**6
NO_LIMITS = Limits()
SAME = 2 * (TIE - 1.0)  # gains as near as this are a tie


def random_engine(seed, name="gaussian", weighted=False, bins=None, **shape):
    """Rows of mixed features, standing at the null model, and the table of their conditions."""
    codes, binning, signal = random_rows(seed, **shape) if bins is None else bins
    rng, family = np.random.default_rng(seed), get_family(name)
    y = draw_target(family, signal, rng)
    weights = rng.exponential(size=len(y)) + 0.01
    engine = LocalEngine(
        codes,
        binning.n_bins,
        y,
        family,
        weights=weights / weights.sum() if weighted else None,
        offset=0.2 * rng.standard_normal(len(y)) if weighted else None,
    )
    engine.set_coefficients(np.array([engine.null_intercept()]))
    return engine, ConditionTable(binning.features)


def number_rows(seed, n_features, n=300, bins=40):
    """Rows of numbers with many bins each."""
    rng = np.random.default_rng(seed)
    columns = {f"c{j}": rng.normal(size=n) for j in range(n_features)}
    columns["c0"][:9] = np.nan
    table = read_table(pd.DataFrame(columns))
    binning = build_binning(table, bins=bins)
    codes = binning.encode(table)
    return codes, binning, 2.0 * ((codes[0] > 9) & (codes[1] < 25))


def draw_ridge(seed, engine):
    return float(np.random.default_rng(seed).choice([0.1, 1.0, 10.0])) / engine.n_rows


def statistic(engine, rule, ridge, rows=None):
    """The gain of a rule, summed row by row."""
    g, h = engine._both_rows() if rows is None else rows
    column = rule_column(engine.codes, rule)
    return gain_of(g @ column, h @ column, 1.0 / h.sum(), ridge)


def brute_force(engine, table, max_degree, ridge):
    """The largest gain of all rules of at most each degree."""
    masks = [list(bins.vocabulary.masks) for bins in table.features]
    column = cache(lambda feature, mask: mask_column(engine.codes[feature], mask))
    g, h = engine._both_rows()
    best = [0.0] * (max_degree + 1)
    for rule, degree in all_rules(engine.codes, masks, max_degree):
        held = math.prod(column(*condition) for condition in rule)
        gain = gain_of(g @ held, h @ held, 1.0 / h.sum(), ridge)
        best[degree] = max(best[degree], float(gain))
    return [max(best[: degree + 1]) for degree in range(1, max_degree + 1)]


def best_by_degree(found, max_degree):
    """The largest gain of candidates of at most each degree."""
    return [
        max((one.gain for one in found if one.degree <= degree), default=0.0)
        for degree in range(1, max_degree + 1)
    ]


def check_candidates(found, engine, table, pricer, noise, max_degree, ridge):
    """Rules are valid and single, their gains are true, and the best come first."""
    assert len({one.rule for one in found}) == len(found)
    for one in found:
        assert 1 <= one.degree <= max_degree
        assert one.degree == table.degree(one.rule)
        assert table.make_rule(one.rule) == (one.rule, one.degree)
        assert_allclose(one.gain, statistic(engine, one.rule, ridge), rtol=SAME, atol=1e-13)
    worths = np.array([pricer.worth(one.gain, one.degree, noise) for one in found])
    assert (np.diff(worths) <= 10.0**-DIGITS * np.abs(worths[1:]) * 10).all()


# --- rules outside the model


@settings(max_examples=60)
@given(seeds, families, flags, st.integers(1, 3))
def test_the_best_rules_of_degree_one_and_two_are_found(seed, name, weighted, max_degree):
    engine, table = random_engine(seed, name, weighted)
    ridge, noise = draw_ridge(seed, engine), engine.dispersion() / engine.n_rows
    pricer = GainPricer(table, max_degree, ridge, n_extended=0)
    searched = min(max_degree, 2)
    found = pricer.price(engine, noise, ALL, NO_LIMITS, full=True)
    expected = brute_force(engine, table, searched, ridge)
    assert_allclose(best_by_degree(found, searched), expected, rtol=1e-9, atol=1e-14)
    check_candidates(found, engine, table, pricer, noise, max_degree, ridge)
    pricer = GainPricer(table, max_degree, ridge)
    longer = pricer.price(engine, noise, ALL, NO_LIMITS, full=True)
    check_candidates(longer, engine, table, pricer, noise, max_degree, ridge)
    best = [
        max(pricer.worth(one.gain, one.degree, noise) for one in each) for each in (found, longer)
    ]
    assert best[1] >= best[0]


@given(seeds, families, st.sampled_from([0.1, 1.0, 3.0]))
def test_a_share_of_the_ridge_counts(seed, name, share):
    engine, table = random_engine(seed, name, weighted=False)
    pricer = GainPricer(table, 2, draw_ridge(seed, engine))
    pricer.scale_ridge(share)
    found = pricer.price(engine, 0.0, ALL, NO_LIMITS, full=True)
    left = min(1.0, share) * draw_ridge(seed, engine)
    assert pricer.ridge == left
    check_candidates(found, engine, table, pricer, 0.0, 2, left)


@settings(max_examples=15)
@given(seeds, families, flags)
def test_the_exhaustive_search_finds_the_best_rule_of_degree_three(seed, name, weighted):
    engine, table = random_engine(seed, name, weighted, n=50)
    ridge, noise = draw_ridge(seed, engine), engine.dispersion() / engine.n_rows
    pricer = GainPricer(table, 3, ridge, exhaustive=True, n_extended=0)
    found = pricer.price(engine, noise, ALL, NO_LIMITS, full=True)
    expected = brute_force(engine, table, 3, ridge)
    assert_allclose(best_by_degree(found, 3), expected, rtol=1e-9, atol=1e-14)
    check_candidates(found, engine, table, pricer, noise, 3, ridge)


@settings(max_examples=10)
@given(seeds, st.integers(1, 30), flags)
def test_a_short_list_is_the_beginning_of_the_long_one(seed, n_rules, exhaustive):
    engine, table = random_engine(seed)
    lists = [
        GainPricer(table, 3, 0.02, exhaustive=exhaustive).price(
            engine, 0.01, most, NO_LIMITS, full=True
        )
        for most in (ALL, n_rules)
    ]
    if not exhaustive:  # extensions of the same rules meet now and then
        assert lists[1] == lists[0][:n_rules]
    assert len(lists[1]) == min(n_rules, len(lists[0]))
    assert lists[1][0] == lists[0][0]


@settings(max_examples=20)
@given(seeds, families, st.integers(2, 6))
def test_of_many_features_the_best_are_paired(seed, name, n_paired):
    engine, table = random_engine(seed, name, bins=number_rows(seed, 7))
    ridge, noise = draw_ridge(seed, engine), engine.dispersion() / engine.n_rows

    def price():
        pricer = GainPricer(table, 2, ridge, n_extended=0)
        pricer.prepare(engine)
        return pricer.price(engine, noise, ALL, NO_LIMITS, full=True)

    everything = price()
    with patch.object(gains, "MOST_PAIRED", n_paired):
        found = price()
    best = {
        feature: max(one.gain for one in found if one.degree == 1 and one.rule[0][0] == feature)
        for feature in range(7)
    }
    paired = set(sorted(best, key=best.get)[-n_paired:])
    assert [one for one in found if len(one.rule) == 2] == [
        one for one in everything if len(one.rule) == 2 and {f for f, _ in one.rule} <= paired
    ]
    assert any(len(one.rule) == 2 for one in found)


@settings(max_examples=10)
@given(seeds, families)
def test_a_long_rule_is_worth_more_than_one_that_it_extends(seed, name):
    engine, table = random_engine(seed, name)
    noise = 0.1 * engine.dispersion() / engine.n_rows
    pricer = GainPricer(table, 5, 0.02)
    found = pricer.price(engine, noise, ALL, NO_LIMITS, full=True)
    check_candidates(found, engine, table, pricer, noise, 5, 0.02)

    def worth(rule):
        return pricer.worth(statistic(engine, rule, 0.02), table.degree(rule), noise)

    for one in found:
        if one.degree > 2:
            assert any(worth(base) < worth(one.rule) for base in looser(table, one.rule))


@pytest.mark.parametrize("n_rules", [1, 3])
def test_conditions_that_hold_everywhere_do_not_crowd_out_rules(n_rules):
    engine, table = random_engine(1, bins=number_rows(1, 8))
    engine.set_coefficients(np.array([engine.null_intercept() + 0.5]))  # so they seem to gain
    found = GainPricer(table, 3, 1e-9).price(engine, 1e-6, n_rules, NO_LIMITS, full=True)
    assert len(found) == n_rules


@settings(max_examples=20)
@given(seeds, families)
def test_extensions_never_shorten_the_list(seed, name):
    engine, table = random_engine(seed, name)
    noise = 0.1 * engine.dispersion() / engine.n_rows
    sizes = [
        len(
            GainPricer(table, 5, 0.02, n_extended=n).price(engine, noise, ALL, NO_LIMITS, full=True)
        )
        for n in (0, 6, 1000)
    ]
    assert sizes[0] <= sizes[1]
    assert sizes[0] <= sizes[2]


def looser(table, rule):
    """The rules that one more condition would make this one of."""
    for j, (feature, _) in enumerate(rule):
        rest = rule[:j] + rule[j + 1 :]
        mine = [table.masks[c] for c in np.flatnonzero(table.feature == feature)]
        for wider in [-1, *mine, *(a & b for a in mine for b in mine)]:
            made = table.make_rule([*rest, (feature, wider)])
            if made is not None and made[0] != rule:
                for other in mine:
                    if table.make_rule([*made[0], (feature, other)]) == (rule, table.degree(rule)):
                        yield made[0]


def test_a_search_without_time_still_has_the_short_rules():
    engine, table = random_engine(4)
    found = GainPricer(table, 4, 0.02).price(engine, 0.01, ALL, Limits(0.0), full=True)
    assert {one.degree for one in found} == {1, 2}


@settings(max_examples=10)
@given(seeds, families, st.integers(1, 5))
def test_pairs_chosen_on_coarse_bins_have_true_gains(seed, name, n_hot):
    engine, table = random_engine(seed, name, n_features=5)
    noise = engine.dispersion() / engine.n_rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gains, "N_HOT", n_hot)
        pricer = GainPricer(table, 2, 0.02, n_extended=0)
        every = pricer.price(engine, noise, ALL, NO_LIMITS, full=True)
        again = pricer.price(engine, noise, ALL, NO_LIMITS, full=False)
    check_candidates(every, engine, table, pricer, noise, 2, 0.02)
    assert again == every
    pairs = {tuple(f for f, _ in one.rule) for one in every if len(one.rule) == 2}
    assert len(pairs) <= n_hot
    exact = brute_force(engine, table, 2, 0.02)
    assert best_by_degree(every, 1)[0] == pytest.approx(exact[0], rel=1e-9)
    assert best_by_degree(every, 2)[1] <= exact[1] * (1 + 1e-9)
    if len(table.splitting) == 5 and n_hot == 5:  # few bins: the coarse ones are the fine ones
        assert best_by_degree(every, 2)[1] == pytest.approx(exact[1], rel=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "poisson"])
def test_many_pairs_of_many_bins_are_ranked_on_coarse_ones(name):
    engine, table = random_engine(1, name, bins=number_rows(1, 8))
    assert len(table.splitting) * 7 // 2 > N_HOT
    pricer = GainPricer(table, 3, 0.02)
    pricer.prepare(engine)
    noise = engine.dispersion() / engine.n_rows
    found = pricer.price(engine, noise, ALL, NO_LIMITS, full=True)
    check_candidates(found, engine, table, pricer, noise, 3, 0.02)
    best = max((one for one in found if len(one.rule) == 2), key=lambda one: one.gain)
    assert [feature for feature, _ in best.rule] == [0, 1]  # the pair that the target depends on
    coarse, lookup = coarsen(table.features)
    tuples = np.array([[0, 1], [3, 7]])
    joint = engine.joint_histograms(tuples, BOTH, coarse=True)
    for position, (f, g) in enumerate(tuples):
        for v, values in enumerate(engine._both_rows()):
            expected = np.zeros((coarse[f].n_bins, coarse[g].n_bins))
            np.add.at(expected, (lookup[f, engine.codes[f]], lookup[g, engine.codes[g]]), values)
            assert_allclose(joint.cube(position, v), expected, atol=1e-14)


@pytest.mark.parametrize("exhaustive", [False, True])
def test_batches_and_threads_do_not_change_the_candidates(exhaustive, monkeypatch):
    monkeypatch.setattr("ruleglm.parallel.SHORT_PART", 10)
    monkeypatch.setattr(gains, "N_HOT", 7)
    lists = []
    for n_threads, cells in ((1, gains.MAX_CELLS), (1, 1), (3, gains.MAX_CELLS), (2, 3000)):
        monkeypatch.setattr(gains, "MAX_CELLS", cells)
        codes, binning, y = number_rows(2, 6, bins=20)
        engine = LocalEngine(codes, binning.n_bins, y, get_family("gaussian"), n_threads=n_threads)
        engine.set_coefficients(np.array([engine.null_intercept()]))
        pricer = GainPricer(ConditionTable(binning.features), 3, 0.02, exhaustive=exhaustive)
        lists.append(pricer.price(engine, 0.01, ALL, NO_LIMITS, full=True))
    assert all(found == lists[0] for found in lists)


def test_features_without_conditions_give_no_candidates():
    bins = make_bins("number", 4, 0b0010)
    codes = np.ones((2, 5), CODE_DTYPE)
    engine = LocalEngine(codes, np.array([4, 4]), np.arange(5.0), get_family("gaussian"))
    engine.set_coefficients(np.array([engine.null_intercept()]))
    pricer = GainPricer(ConditionTable((bins, bins)), 3, 0.1, exhaustive=True)
    assert pricer.price(engine, 0.1, ALL, NO_LIMITS, full=True) == []


@given(st.integers(1, 8), st.floats(0.0, 1.0), st.floats(0.0, 0.1))
def test_worth_falls_with_the_degree(max_degree, gain, noise):
    table = ConditionTable((make_bins("number", 10, 1023), make_bins("level", 8, 255)))
    pricer = GainPricer(table, max_degree, 0.1)
    worths = [pricer.worth(gain, degree, noise) for degree in range(1, max_degree + 1)]
    assert worths == sorted(worths, reverse=True)
    assert worths[0] == gain / rule_cost(1)  # nothing is taken off a single condition


# --- rules of the model


def elementary(bins, mask):
    """The masks of the elementary conditions that one condition stands for."""
    condition = bins.condition(mask)
    if condition.degree == 1:
        return [mask]
    if isinstance(condition, Range):
        bounds = ((condition.low, np.inf), (-np.inf, condition.high))
        return [bins.mask(Range(bins.name, *both, condition.order)) for both in bounds]
    assert condition.negated
    return [bins.mask(Levels(bins.name, (level,), True)) for level in condition.levels]


def one_less(table, rule):
    """The rules that have one elementary condition less."""
    parts = [(f, part) for f, mask in rule for part in elementary(table.features[f], mask)]
    made = [table.make_rule(parts[:k] + parts[k + 1 :]) for k in range(len(parts))]
    return [() if one is None else one[0] for one in made]


def draw_rule(rng, table, max_degree):
    """A conjunction of conditions of the table, or None if it holds nowhere or everywhere."""
    chosen = rng.integers(len(table.masks), size=rng.integers(1, max_degree + 1))
    made = table.make_rule([(int(table.feature[c]), table.masks[c]) for c in chosen])
    return None if made is None else made[0]


@given(seeds, st.lists(st.sampled_from(KINDS), min_size=1, max_size=3), st.integers(4, 9))
def test_shorter_leaves_out_each_elementary_condition(seed, kinds, size):
    rng = np.random.default_rng(seed)
    table = ConditionTable(tuple(make_bins(kind, size, (1 << size) - 1) for kind in kinds))
    for _ in range(5):
        rule = draw_rule(rng, table, 6)
        if rule is not None:
            shorter = shorten(table, rule)
            assert sorted(base for base, _ in shorter) == sorted(one_less(table, rule))
            assert len(shorter) == table.degree(rule)
            for base, degree in shorter:
                assert degree == table.degree(base) < table.degree(rule)
                assert all(dict(base).get(f, -1) & mask == mask for f, mask in rule)


def stand_at_rules(engine, table, rng, n_rules, max_degree):
    """Fit a model of random rules; return its coefficients."""
    while len(engine.rules) < n_rules:
        rule = draw_rule(rng, table, max_degree)
        if rule is not None and table.degree(rule) <= max_degree:
            engine.add_rules([rule], [table.degree(rule)])
    coef = np.zeros(1 + len(engine.rules))
    coef[0] = engine.null_intercept()
    engine.set_coefficients(coef)
    return refit(engine, coef, 0.02).coef


def neighbours(table, rule, max_degree):
    """All rules with an elementary condition more, less, or changed, on the rule's own features."""
    conditions = list(zip(table.feature.tolist(), table.masks, strict=True))
    found = set()
    for base in [rule, *one_less(table, rule)]:
        found.add(base)
        for feature, mask in conditions:
            made = table.make_rule([*base, (feature, mask)])
            if feature in dict(rule) and made is not None and made[1] <= max_degree:
                found.add(made[0])
    return found - {(), rule}


def without(engine, rule, beta):
    """Both derivatives of each row at the model without a rule, by its quadratic model."""
    g, h = engine._both_rows()
    column = rule_column(engine.codes, rule)
    return g - beta * h * (column - h @ column / h.sum()), h


@settings(max_examples=40)
@given(seeds, families, flags, st.integers(1, 4), st.integers(1, 3))
def test_replacements_are_better_neighbours(seed, name, weighted, n_rules, max_degree):
    engine, table = random_engine(seed, name, weighted)
    if len(table.masks) < 8:
        return
    rng = np.random.default_rng(seed)
    coef = stand_at_rules(engine, table, rng, n_rules, max_degree)[1:]
    noise, price = engine.dispersion() / engine.n_rows, float(rng.choice([0.0, 1e-3, 0.05]))
    pricer = GainPricer(table, max_degree, 0.02)
    found = find_replacements(pricer, engine, coef, noise, price)
    assert len({one.rule for one in found}) == len(found) <= n_rules

    def value(rule, rows):
        degree = table.degree(rule)
        gain = statistic(engine, rule, 0.02, rows)
        return gain - pricer.luck(degree) * noise - price * rule_cost(degree)

    for new in found:
        assert new.rule not in engine.rules
        assert new.degree == table.degree(new.rule) <= max_degree
        fits = []
        for rule, beta in zip(engine.rules, coef, strict=True):
            rows = without(engine, rule, beta)
            if new.rule in neighbours(table, rule, max_degree):
                known = [value(one, rows) for one in {rule, *one_less(table, rule)} - {()}]
                true = math.isclose(statistic(engine, new.rule, 0.02, rows), new.gain, rel_tol=SAME)
                fits.append(true and value(new.rule, rows) >= max(known) - 1e-7)
        assert any(fits)


@settings(max_examples=10)
@given(seeds)
def test_replacements_in_parts_are_the_same(seed):
    engine, table = random_engine(seed)
    if len(table.masks) < 8:
        return
    coef = stand_at_rules(engine, table, np.random.default_rng(seed), 4, 3)[1:]
    lists = []
    with pytest.MonkeyPatch.context() as patch:
        for cells in (gains.MAX_CELLS, 1):
            patch.setattr(neighbouring, "MAX_CELLS", cells)
            lists.append(find_replacements(GainPricer(table, 3, 0.02), engine, coef, 0.01, 0.001))
    assert [one.rule for one in lists[0]] == [one.rule for one in lists[1]]
    assert_allclose(*([one.gain for one in found] for found in lists), rtol=1e-9)


def test_a_model_without_rules_has_no_replacements():
    engine, table = random_engine(3)
    assert find_replacements(GainPricer(table, 3, 0.02), engine, np.empty(0), 0.01, 0.001) == []


# --- bins


@given(seeds, st.integers(0, 254), st.integers(1, 50))
def test_coarse_codes_are_what_coarse_bins_encode(seed, n_thresholds, n_rows):
    rng = np.random.default_rng(seed)
    thresholds = np.sort(rng.choice(10**6, n_thresholds, replace=False)) / 7.0
    values = rng.uniform(-100.0, 150_000.0, n_rows)
    if n_thresholds:
        values[: n_rows // 3] = rng.choice(thresholds, n_rows // 3)  # just on a threshold
    values[rng.random(n_rows) < 0.2] = np.nan
    column = NumberColumn("x", values)
    codes = NumberBins("x", tuple(thresholds.tolist()), 0).encode(column)
    observed = sum(1 << int(code) for code in set(codes.tolist()))
    fine = NumberBins("x", tuple(thresholds.tolist()), observed)
    other = make_bins("level", 20, 3)
    (coarse, same), lookup = coarsen((fine, other))
    assert same is other
    assert_array_equal(lookup[1], np.arange(256))
    found = lookup[0, codes]
    assert_array_equal(found, coarse.encode(column))
    assert coarse.observed == sum(1 << int(code) for code in set(found.tolist()))
    if n_thresholds < N_COARSE:
        assert coarse is fine
    else:
        assert coarse.n_bins == N_COARSE + 1
        sizes = np.bincount(lookup[0, : fine.missing_bin], minlength=N_COARSE)
        assert sizes.max() - sizes.min() <= 2
    assert lookup[0, fine.missing_bin] == coarse.missing_bin
    assert lookup.dtype == CODE_DTYPE


@pytest.mark.parametrize("size", [20, 63, 64, 65, 66, 130, 256])
@pytest.mark.parametrize("kind", KINDS)
def test_masks_of_more_than_64_bins_are_plain_integers(kind, size):
    """Arithmetic of NumPy integers overflowed here."""
    table = ConditionTable((make_bins(kind, size, (1 << size) - 1),))
    top = int(table.top[0])
    for place in range(top if top >= 0 else -1 - top):
        upto, above = (table.coded_mask(0, 2 * place + side) for side in range(2))
        assert type(upto) is type(above) is int
        low = range(place + 1) if top >= 0 else [place]
        whole = range(top + 1) if top >= 0 else range(size - 1)
        assert upto == sum(1 << b for b in low)
        assert above == sum(1 << b for b in whole if b not in low)
    for missing in range(2):
        mask = table.coded_mask(0, 2 * (size - 1) + 1 - missing)
        assert type(mask) is int
        assert mask == (1 << size - 1 if missing else (1 << size - 1) - 1)


def test_rules_on_128_bins_are_searched():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2))
    table = read_table(pd.DataFrame(x, columns=["a", "b"]))
    binning = build_binning(table, bins=128)
    assert binning.n_bins.min() > 100
    y = 1.0 * (x[:, 0] > 1.0) + 0.1 * rng.normal(size=2000)
    engine = LocalEngine(binning.encode(table), binning.n_bins, y, get_family("gaussian"))
    engine.set_coefficients(np.array([engine.null_intercept()]))
    pricer = GainPricer(ConditionTable(binning.features), 3, 0.001)
    found = pricer.price(engine, 1e-3, ALL, NO_LIMITS, full=True)
    check_candidates(found, engine, pricer.table, pricer, 1e-3, 3, 0.001)
    (condition,) = binning.to_rule(found[0].rule).conditions
    bounds = [bound for bound in (condition.low, condition.high) if np.isfinite(bound)]
    assert bounds == [pytest.approx(1.0, abs=0.05)]


# --- compilation (last: what the tests above compiled counts too)


@pytest.mark.parametrize("kernel", kernels.KERNELS, ids=lambda kernel: kernel.__name__)
def test_the_search_adds_no_specialisation(kernel):
    assert len(getattr(kernel, "signatures", ())) <= 1, kernel.signatures


@given(st.lists(st.integers(2, 255), min_size=3, max_size=12), st.integers(2, 3))
def test_batches_hold_all_tuples_in_order_and_not_too_many_cells(sizes, order):
    n_bins = np.array(sizes)
    tuples = np.array(list(combinations(range(len(sizes)), order)))
    with patch.object(gains, "MAX_CELLS", 50_000):
        batches = list(gains._batches(tuples, n_bins))
    assert_array_equal(np.concatenate(batches), tuples)
    cells = [np.prod(n_bins[part], axis=1) for part in batches]
    assert all(part.sum() <= 25_000 + part.max() for part in cells)
    for before, after in pairwise(cells):
        assert before.sum() + after.sum() >= 25_000  # no batch without need
