"""Choice of thresholds: weights, heavy values and the shortest decimal between two values."""

import math
import sys
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ruleglm.kernels.cuts import SINGLE
from ruleglm.thresholds import (
    NEAR,
    choose_thresholds,
    collect_distinct,
    shortest_between,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
ANY = st.floats(allow_nan=False)
SMALL = st.integers(-6, 6).map(float)
COLUMNS = st.lists(st.one_of(SMALL, ANY, st.just(math.nan)), min_size=1, max_size=60)
BINS = st.integers(2, 12)


def n_digits(value: float) -> int:
    """Count the significant digits of the shortest text of a double; zero has none."""
    digits = Decimal(repr(value)).normalize().as_tuple().digits
    return 0 if value == 0 else len(digits)


def choose(values, bins, sample_weight=None):
    values = np.asarray(values, dtype=np.float64)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return choose_thresholds(collect_distinct(values, weight), bins)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (37, 38, 37.5),
        (0.301, 0.3171, 0.31),
        (0.9999, 1.0001, 1.0),
        (5, 123, 60.0),
        (-3, 5, 0.0),
        (-38, -37, -37.5),
        (1.0, math.nextafter(1.0, 2.0), 1.0),
        (-0.0, 5e-324, 0.0),
        (0.0, 10.0, 5.0),
        (-math.inf, math.inf, 0.0),
        (sys.float_info.max, math.inf, sys.float_info.max),
        (-math.inf, -sys.float_info.max, None),
    ],
)
def test_shortest_between_known_pairs(low, high, expected):
    assert shortest_between(low, high) == expected


@given(ANY, ANY)
def test_threshold_lies_between_its_neighbours(one, other):
    assume(one != other)
    low, high = min(one, other), max(one, other)
    threshold = shortest_between(low, high)
    if threshold is None:
        assert high == -sys.float_info.max
    else:
        assert low <= threshold < high
        assert math.isfinite(threshold)


@given(FINITE, FINITE)
def test_no_shorter_decimal_lies_between(one, other):
    assume(one != other)
    low, high = min(one, other), max(one, other)
    threshold = shortest_between(low, high)
    assume(threshold != low)
    for end in (low, high):  # any shorter decimal would be found by rounding near an end or between
        for digits in range(1, n_digits(threshold)):
            rounded = float(f"{end:.{digits - 1}e}")
            step = 10.0 ** (math.floor(math.log10(abs(end))) - digits + 1) if end else 0.0
            for candidate in (rounded - step, rounded, rounded + step):
                inside = low < candidate < high
                assert not inside or n_digits(candidate) >= n_digits(threshold)


@given(st.integers(-3000, 3000), st.integers(1, 3000), st.sampled_from([1, 10, 100, 1000]))
def test_no_shorter_decimal_among_all_of_a_grid(start, width, scale):
    low, high = start / scale, (start + width) / scale
    threshold = shortest_between(low, high)
    inside = range(10 * start + 1, 10 * (start + width))
    assert n_digits(threshold) == min(n_digits(step / (10 * scale)) for step in inside)


def assert_each_is_as_short(values):
    """Thresholds of a few values are as short as each pair's, and as near the middle."""
    ends = sorted({value + 0.0 for value in values if not math.isnan(value)})
    assume(len(ends) <= 254)
    pairs = [(low, high, shortest_between(low, high)) for low, high in pairwise(ends)]
    pairs = [pair for pair in pairs if pair[2] is not None]
    for (low, high, alone), found in zip(pairs, choose(values, 254), strict=True):
        middle = 0.5 * low + 0.5 * high
        assert low <= found < high
        if any(abs(end - alone) <= 2.0 * SINGLE * abs(alone) for end in (low, high)):
            continue  # it is a value but for rounding
        assert n_digits(found) <= n_digits(alone)
        if math.isfinite(middle):
            ulp = math.ulp(max(abs(low), abs(high)))
            assert abs(found - middle) <= abs(alone - middle) + ulp or found == 0.0


@given(COLUMNS)
def test_thresholds_of_few_values_are_the_shortest(values):
    assert_each_is_as_short(values)


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=60),
    st.integers(0, 9),
    st.sampled_from([0.0, 1.0, 9.999, 1000.0, 123456.0]),
)
def test_thresholds_of_few_short_decimals_are_the_shortest(numerators, places, shift):
    assert_each_is_as_short([shift + number / 10**places for number in numerators])


@given(COLUMNS, BINS, st.data())
def test_a_weight_is_as_many_rows(values, bins, data):
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(values), max_size=len(values)))
    repeated = np.repeat(values, weights)
    assert choose(values, bins, weights) == choose(repeated, bins)


@given(COLUMNS, BINS, st.data())
def test_neither_order_of_rows_nor_scale_of_weights_matters(values, bins, data):
    order = data.draw(st.permutations(range(len(values))))
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(values), max_size=len(values)))
    shuffled = [values[row] for row in order]
    scaled = [weights[row] / 3.7 for row in order]
    assert choose(shuffled, bins, scaled) == choose(values, bins, weights)


@given(COLUMNS, BINS)
def test_thresholds_ascend_are_few_and_leave_no_bin_empty(values, bins):
    thresholds = choose(values, bins)
    assert len(thresholds) < bins
    assert all(math.isfinite(threshold) for threshold in thresholds)
    assert list(thresholds) == sorted(set(thresholds))
    present = np.array([value for value in values if not math.isnan(value)])
    codes = np.searchsorted(thresholds, present)
    if len(present):
        assert set(codes.tolist()) == set(range(len(thresholds) + 1))


@given(COLUMNS, BINS)
def test_few_distinct_values_have_a_bin_each(values, bins):
    present = {value for value in values if not math.isnan(value)}
    assume(not {-math.inf, -sys.float_info.max} <= present)
    thresholds = choose(values, bins)
    if len(present) <= bins:
        assert len(thresholds) == max(len(present) - 1, 0)
    else:
        assert thresholds


@given(st.lists(SMALL, min_size=1, max_size=80), st.integers(4, 12))
def test_heavy_values_are_alone_in_their_bin(values, bins):
    distinct, counts = np.unique(values, return_counts=True)
    heavy = counts * bins >= len(values)
    light_runs = np.count_nonzero(np.diff(np.append(heavy, True).astype(int)) == 1)
    assume(np.count_nonzero(heavy) + light_runs <= bins)
    codes = np.searchsorted(choose(values, bins), distinct)
    for value, code in zip(distinct[heavy], codes[heavy], strict=True):
        assert distinct[codes == code].tolist() == [value]


def test_zero_inflated_column_spends_its_bins_on_the_rest():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(5000) < 0.9, 0.0, rng.integers(1, 10**6, 5000))
    thresholds = choose(values, 16)
    assert len(thresholds) == 15
    counts = np.bincount(np.searchsorted(thresholds, values))
    rest = (values > 0).sum() / 15
    moved = 0.1 * rest + 1
    assert counts[0] == (values == 0).sum()
    assert counts[1:].min() >= rest - 2 * moved
    assert counts[1:].max() <= rest + 2 * moved
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ruleglm.thresholds.NEAR", 0.0)
        counts = np.bincount(np.searchsorted(choose(values, 16), values))
    assert counts[1:].min() > 0.9 * rest
    assert counts[1:].max() < 1.1 * rest


@pytest.mark.parametrize("n_rows", [3200, 64000])
@pytest.mark.parametrize("near", [0.0, NEAR])
def test_smooth_column_has_bins_of_equal_weight(n_rows, near, monkeypatch):
    monkeypatch.setattr("ruleglm.thresholds.NEAR", near)
    values = np.random.default_rng(0).normal(size=n_rows)
    counts = np.bincount(np.searchsorted(choose(values, 32), values))
    assert counts.min() >= n_rows / 32 - 1 - 2 * near * n_rows
    assert counts.max() <= n_rows / 32 + 1 + 2 * near * n_rows


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["normal", "lognormal", "cents", "ties"]),
    st.integers(2, 64),
)
@settings(deadline=None)
def test_thresholds_are_rounded_where_hardly_a_row_notices(seed, kind, bins):
    rng = np.random.default_rng(seed)
    draw = {
        "normal": lambda: rng.normal(size=4000),
        "lognormal": lambda: rng.lognormal(8.0, 1.5, 4000),
        "cents": lambda: rng.lognormal(4.0, 1.0, 4000).round(2),
        "ties": lambda: rng.choice(rng.normal(size=300), 4000),
    }
    values = draw[kind]()
    distinct = collect_distinct(values)
    rounded = np.array(choose_thresholds(distinct, bins))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ruleglm.thresholds.NEAR", 0.0)
        exact = np.array(choose_thresholds(distinct, bins))
    ranks = [np.searchsorted(np.sort(values), cuts) for cuts in (rounded, exact)]
    assert np.abs(ranks[0] - ranks[1]).max() <= NEAR * len(values) * (1.0 + 1e-6)
    assert not set(rounded.tolist()) & set(values.tolist())
    pairs = zip(rounded.tolist(), exact.tolist(), strict=True)
    assert all(n_digits(one) <= n_digits(other) for one, other in pairs)
    if kind == "normal" and bins == 64:
        assert np.mean([n_digits(one) for one in rounded]) < 3.0


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.3, 1e-3, 1.1]), st.integers(2, 64))
@settings(deadline=None)
def test_no_threshold_is_a_value_but_for_rounding(seed, unit, bins):
    """What was computed, 3 * 0.1, written in short or turned to single precision stays there."""
    values = np.random.default_rng(seed).integers(1, 3000, 4000) * unit
    chosen = choose(values, bins)
    assert chosen
    for other in (values.round(6), values.astype(np.float32)):
        assert_array_equal(np.searchsorted(chosen, other), np.searchsorted(chosen, values))


def test_a_round_number_between_the_rows_is_the_threshold():
    values = (np.arange(2000) + 0.5) / 7.0
    assert choose(values, 3) == (95.0, 190.4)
    assert choose(values * 1e6, 3) == (95e6, 190.4e6)
    assert choose(values - 95.3, 3)[0] == 0.0
    assert 95.0 not in choose([*values, 95.0], 3)


def test_missing_values_alone_give_no_threshold():
    assert choose([math.nan, math.nan], 8) == ()
    assert choose([], 8) == ()
    assert choose([math.nan], 8, [2.0]) == ()


def test_heavy_values_give_way_when_bins_are_too_few():
    values = [0.0] * 10 + [1.0] * 40 + [2.0] * 10 + [3.0] * 40
    assert len(choose(values, 2)) == 1
    assert len(choose(values, 3)) == 2
