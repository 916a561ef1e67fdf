"""Three pricers, one truth: brute force over all conjunctions."""

import threading
import time
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleglm.binning import build_binning
from ruleglm.engines import LocalEngine
from ruleglm.families import get_family
from ruleglm.frames import read_table
from ruleglm.pricing import (
    BeamOptions,
    BeamPricer,
    ConditionTable,
    HistogramPricer,
    Limits,
    MipOptions,
    MipPricer,
    Penalty,
)
from ruleglm.pricing.found import Found
from ruleglm.solvers.master import center
from tests.reference.binarise import all_rules, rule_column

seeds = st.integers(0, 2**32 - 1)


def random_rows(seed, n=60, n_features=4):
    """Rows of mixed features, some with missing values, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    columns = {}
    for j in range(n_features):
        if rng.random() < 0.6:
            values = rng.integers(0, rng.integers(2, 6), n).astype(float)
            values[rng.random(n) < rng.choice([0.0, 0.15])] = np.nan
        else:
            values = rng.choice(list("abcd")[: rng.integers(2, 5)], n).astype(object)
            values[rng.random(n) < rng.choice([0.0, 0.15])] = None
        columns[f"c{j}"] = pd.Series(values)
    table = read_table(pd.DataFrame(columns))
    binning = build_binning(table, bins=8)
    codes = binning.encode(table)
    signal = (codes[0] > 1) & (codes[1] < 2) & (codes[-1] != 1)
    y = signal + 0.7 * rng.standard_normal(n)
    return codes, binning, y


def random_engine(seed, family="gaussian", **shape):
    codes, binning, y = random_rows(seed, **shape)
    target = (y > np.median(y)).astype(float) if family == "binomial" else y
    engine = LocalEngine(codes, binning.n_bins, target, get_family(family))
    engine.set_coefficients(np.array([engine.null_intercept()]))
    return engine, binning


def brute_force(engine, binning, penalty, max_degree):
    """Return the largest reduced cost and the largest ratio over all rules up to a degree."""
    codes, gradient = engine.gather()
    masks = [list(bins.vocabulary.masks) for bins in binning.features]
    costs, ratios = [-np.inf], [0.0]
    for rule, degree in all_rules(codes, masks, max_degree, per_feature=max_degree):
        value = abs(gradient @ rule_column(codes, rule))
        costs.append(value - penalty.of(degree))
        ratios.append(value / penalty.of(degree))
    return max(costs), max(ratios)


def random_penalty(seed):
    rng = np.random.default_rng(seed + 1)
    return Penalty(float(rng.choice([0.0, 0.003, 0.02])), float(rng.choice([0.0005, 0.004, 0.02])))


@settings(max_examples=40)
@given(seeds, st.integers(1, 3), st.booleans())
def test_histograms_find_the_best_rule(seed, max_degree, staged):
    engine, binning = random_engine(seed)
    penalty = random_penalty(seed)
    table = ConditionTable(binning.features)
    pricer = HistogramPricer(table, max_degree, staged=staged, n_rules=1000)
    priced = pricer.price(engine, penalty, set(), Limits())
    best, ratio = brute_force(engine, binning, penalty, max_degree)
    assert priced.ratio_bound >= ratio - 1e-9
    if not staged:
        assert priced.complete
        assert priced.best == pytest.approx(best, abs=1e-12)
        assert priced.ratio_bound == pytest.approx(max(ratio, 1.0), rel=1e-6) or ratio < 1
    check_rules(priced, engine, binning, penalty, best)


def check_rules(priced, engine, binning, penalty, best, tol=1e-12):
    codes, gradient = engine.gather()
    values = []
    for rule, degree in zip(priced.rules, priced.degrees, strict=True):
        assert degree == binning.degree(rule)
        values.append(abs(gradient @ rule_column(codes, rule)) - penalty.of(degree))
        assert values[-1] > 0
    assert len(set(priced.rules)) == len(priced.rules)
    if priced.complete and best > 1e-9:
        assert max(values) == pytest.approx(best, abs=tol)


@settings(max_examples=25)
@given(seeds, st.sampled_from([4, 5, None]))
def test_deep_search_finds_the_best_rule(seed, max_degree):
    engine, binning = random_engine(seed, n=40, n_features=3)
    penalty = Penalty(0.001, 0.0005)
    table = ConditionTable(binning.features)
    pricer = HistogramPricer(table, max_degree, staged=False, n_rules=1000)
    priced = pricer.price(engine, penalty, set(), Limits())
    best, ratio = brute_force(engine, binning, penalty, 6 if max_degree is None else max_degree)
    assert priced.complete
    assert priced.ratio_bound >= ratio - 1e-9
    assert priced.best >= best - 1e-12
    if max_degree is not None:
        assert priced.best == pytest.approx(best, abs=1e-12)


def best_of_levels(engine, codes, n_levels, penalty):
    """The best reduced cost of intervals of feature 1 with any levels of feature 0, or one alone.

    Once the interval is given, the levels with the most negative sums are the ones to leave out.
    """
    _, gradient = engine.gather()
    best = -np.inf
    for low, high in combinations_with_replacement(range(codes[1].max() + 1), 2):
        rows = (low <= codes[1]) & (codes[1] <= high)
        n_ends = (low > 0) + (high < codes[1].max())
        for sign in (1, -1):
            sums = np.sort(np.bincount(codes[0][rows], sign * gradient[rows], n_levels))
            left = sums.sum() - np.concatenate([[0.0], np.cumsum(sums)])
            prices = [penalty.of(n_ends + n_out) for n_out in range(n_levels + 1)]
            best = max(best, (left - prices)[1 - min(n_ends, 1) :].max())
            best = max(best, sums[-1] - penalty.of(n_ends + 1))
    return best


@settings(max_examples=12)
@given(seeds, st.sampled_from([5, 30, 150]), st.sampled_from([0.0, 1e-4]), st.booleans())
def test_a_category_of_many_levels_is_searched_in_no_time(seed, n_levels, lambda_1, first):
    """There are 2 ** 150 sets of levels; but the best one for each interval of numbers is known."""
    rng = np.random.default_rng(seed)
    levels, number = np.arange(4 * n_levels) % n_levels, rng.integers(0, 6, 4 * n_levels)
    columns = {"level": levels.astype(str), "number": number.astype(float)}
    table = read_table(pd.DataFrame(columns)[sorted(columns, reverse=not first)])
    binning = build_binning(table, bins=8)
    codes = binning.encode(table)
    y = rng.standard_normal(n_levels)[levels] + (number > 2) + rng.standard_normal(len(levels))
    engine = LocalEngine(codes, binning.n_bins, y, get_family("gaussian"))
    engine.set_coefficients(np.array([engine.null_intercept()]))
    penalty = Penalty(0.01, lambda_1)
    pricer = HistogramPricer(ConditionTable(binning.features), None, staged=False, n_rules=10)
    priced = pricer.price(engine, penalty, set(), Limits())
    best = best_of_levels(engine, codes if first else codes[::-1], n_levels, penalty)
    assert priced.complete
    assert priced.best == pytest.approx(best, abs=1e-11)


@settings(max_examples=15)
@given(seeds, st.integers(1, 3))
def test_the_integer_program_agrees(seed, max_degree):
    engine, binning = random_engine(seed, n=30, n_features=3)
    penalty = Penalty(0.004, 0.002)
    table = ConditionTable(binning.features)
    program = MipPricer(table, max_degree, MipOptions(seconds=60))
    exact = HistogramPricer(table, max_degree, staged=False, n_rules=50)
    for _ in range(2):  # the program is built once and used again
        by_program = program.price(engine, penalty, set(), Limits())
        by_histograms = exact.price(engine, penalty, set(), Limits())
        assert by_program.complete
        if by_histograms.best > 1e-6:
            assert by_program.best == pytest.approx(by_histograms.best, abs=1e-7)
            check_rules(by_program, engine, binning, penalty, by_histograms.best, 1e-7)
        assert by_program.ratio_bound >= by_histograms.ratio_bound - 1e-6
        engine.add_rules(by_histograms.rules[:1], by_histograms.degrees[:1])
        coef = np.array([engine.null_intercept(), *([0.3] * len(engine.rules))])
        engine.set_coefficients(coef)
        center(
            engine, coef
        )  # away from it, complementary rules differ and only one is in the class


@settings(max_examples=40)
@given(
    seeds,
    st.integers(1, 3),
    st.builds(
        BeamOptions,
        n_best=st.integers(1, 4),
        beam_width=st.integers(1, 4),
        early_stop=st.sampled_from(["no", "at_once", "degree"]),
        value_weight=st.sampled_from([0.0, 0.5, 1.0]),
    ),
)
def test_the_beam_never_beats_the_exact_search(seed, max_degree, options):
    engine, binning = random_engine(seed)
    penalty = random_penalty(seed)
    table = ConditionTable(binning.features)
    priced = BeamPricer(table, max_degree, options).price(engine, penalty, set(), Limits())
    best, ratio = brute_force(engine, binning, penalty, max_degree)
    assert not priced.complete
    assert priced.best <= best + 1e-12
    assert priced.ratio_bound >= ratio - 1e-9
    check_rules(priced, engine, binning, penalty, best)
    assert len(priced.rules) <= 2 * options.n_best
    assert all(degree <= max_degree for degree in priced.degrees)


@settings(max_examples=20)
@given(seeds)
def test_a_full_beam_is_exact_to_degree_two(seed):
    engine, binning = random_engine(seed, n_features=3)
    penalty = Penalty(0.002, 0.001)
    table = ConditionTable(binning.features)
    wide = BeamOptions(beam_width=1000, n_best=5)
    priced = BeamPricer(table, 2, wide).price(engine, penalty, set(), Limits())
    best, _ = brute_force(engine, binning, penalty, 2)
    assert priced.best == pytest.approx(best, abs=1e-12)


@settings(max_examples=15)
@given(seeds, st.sampled_from([2, 3, None]), st.integers(0, 4))
def test_a_search_that_is_cut_short_still_has_a_valid_bound(seed, max_degree, patience):
    engine, binning = random_engine(seed, n=40, n_features=3)
    penalty = Penalty(0.001, 0.0005)
    table = ConditionTable(binning.features)

    class Impatient(Limits):
        asked = 0

        def over(self):
            Impatient.asked += 1
            return Impatient.asked > patience

    pricer = HistogramPricer(table, max_degree, staged=False, n_rules=10)
    priced = pricer.price(engine, penalty, set(), Impatient())
    _, ratio = brute_force(engine, binning, penalty, 6 if max_degree is None else max_degree)
    assert priced.ratio_bound >= ratio - 1e-9


def test_rules_of_the_model_are_not_returned_again():
    engine, binning = random_engine(5)
    penalty = Penalty(0.001, 0.0005)
    table = ConditionTable(binning.features)
    pricer = HistogramPricer(table, 3, staged=False, n_rules=20)
    first = pricer.price(engine, penalty, set(), Limits())
    second = pricer.price(engine, penalty, set(first.rules), Limits())
    assert not set(first.rules) & set(second.rules)
    assert second.best == first.best


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_do_not_change_the_result(n_threads, monkeypatch):
    monkeypatch.setattr("ruleglm.parallel.SHORT_PART", 10)
    codes, binning, y = random_rows(3, n=500, n_features=6)
    results = []
    for threads in (1, n_threads):
        engine = LocalEngine(codes, binning.n_bins, y, get_family("gaussian"), n_threads=threads)
        engine.set_coefficients(np.array([engine.null_intercept()]))
        pricer = HistogramPricer(ConditionTable(binning.features), 5, staged=False, n_rules=30)
        results.append(pricer.price(engine, Penalty(0.001, 0.001), set(), Limits()))
    assert results[0] == results[1]


def test_threads_only_search_and_one_writes_down(monkeypatch):
    monkeypatch.setattr("ruleglm.parallel.SHORT_PART", 10)
    codes, binning, y = random_rows(8, n=400, n_features=6)
    engine = LocalEngine(codes, binning.n_bins, y, get_family("gaussian"), n_threads=3)
    engine.set_coefficients(np.array([engine.null_intercept()]))
    writers = set()
    offer = Found.offer

    def watched(self, *arguments):
        writers.add(threading.get_ident())
        return offer(self, *arguments)

    monkeypatch.setattr(Found, "offer", watched)
    pricer = HistogramPricer(ConditionTable(binning.features), None, staged=False, n_rules=30)
    pricer.price(engine, Penalty(0.0005, 0.0005), set(), Limits())
    assert writers == {threading.get_ident()}


def test_a_program_too_large_is_refused():
    engine, binning = random_engine(1)
    pricer = MipPricer(ConditionTable(binning.features), 3, MipOptions(max_entries=100))
    with pytest.raises(ValueError, match="max_entries=1e\\+02; use pricing='auto'"):
        pricer.price(engine, Penalty(0.01, 0.01), set(), Limits())


def test_highs_keeps_its_time_limit():
    engine, binning = random_engine(2, n=300, n_features=8)
    pricer = MipPricer(ConditionTable(binning.features), None, MipOptions(seconds=0.5))
    began = time.monotonic()
    priced = pricer.price(engine, Penalty(0.0001, 0.0001), set(), Limits())
    assert time.monotonic() - began < 20
    exact = HistogramPricer(ConditionTable(binning.features), 3, staged=False, n_rules=5)
    assert priced.ratio_bound >= exact.price(engine, Penalty(0.0001, 0.0001), set(), Limits()).best


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_width": 0}, "beam_width"),
        ({"early_stop": "soon"}, "'no', 'at_once' or 'degree'"),
        ({"value_weight": 2.0}, "from 0 to 1"),
    ],
)
def test_beam_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        BeamOptions(**options)
