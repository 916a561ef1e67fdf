"""Kernels of pricing equal their slow twins; of conditions with the same sum, any will do.

Values are multiples of 1/4, so that sums are exact and the same in any order: equal means equal.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ruleglm import kernels
from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE
from ruleglm.kernels.gains import TIE
from ruleglm.kernels.search import MAX_DEPTH, fill_reach, settle_reach
from ruleglm.pricing import ConditionTable
from ruleglm.pricing.deep import MANY, condition_kinds, group_rows
from tests.pricing_cases import (
    KINDS,
    axis_case,
    branch_case,
    gain_axis_case,
    gain_lines_case,
    gain_pairs_case,
    gain_spans_case,
    gain_triples_case,
    make_bins,
    pairs_case,
    triples_case,
)
from tests.reference import gains as slow_gains
from tests.reference import pricing as slow_pricing
from tests.reference import search as slow_search
from tests.reference.pricing import first_degree, listed, second_degree

relaxed = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 2**32 - 1)
kinds_of_feature = st.sampled_from(KINDS)
sizes = st.integers(2, 8)
ways = st.sampled_from([-1, 0, 1])


def run_both(kernel, twin, inputs, *outputs):
    """Run both on copies; return the outputs of the kernel and those of the twin."""
    ours, theirs = ([np.copy(out) for out in outputs] for _ in range(2))
    before = [np.copy(value) for value in inputs]
    kernel(*inputs, *ours)
    for value, old in zip(inputs, before, strict=True):
        assert_array_equal(value, old)
    twin(*inputs, *theirs)
    return ours, theirs


# --- one axis


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", range(2, 9))
def test_the_table_reads_codes_and_bins_as_the_twins_do(kind, size):
    table = ConditionTable((make_bins(kind, size, (1 << size) - 1),))
    top = int(table.top[0])
    assert top == {"number": size - 2, "ordered": size - 3, "level": 1 - size}[kind]
    codes = {code: sum(1 << b for b in bins) for code, bins in first_degree(size, top).items()}
    assert {code: table.coded_mask(0, code) for code in codes} == codes
    for (a, b), bins in second_degree(size, top).items():
        mask = table.second_degree_mask(0, a, b)
        assert mask == sum(1 << k for k in bins)
        if size > 4:  # of two levels, all but both is no condition of its own
            assert table.degree([(0, mask)]) == 2
    for position, mask in enumerate(table.masks):
        assert mask in codes.values()
        ends = table.lo[position], table.hi[position], table.negate[position]
        assert mask == sum(1 << b for b in listed(size, *ends))


@relaxed
@given(seeds, kinds_of_feature, sizes, ways)
def test_scan_axis_and_locate(seed, kind, size, way):
    (vector, size, top), *_ = axis_case(seed, kind, size)
    way = way if top >= 0 else 0
    found = kernels.scan_axis(vector, size, top, way)
    assert found == slow_pricing.scan_axis(vector, size, top, way)
    sums = slow_pricing.plain_sums(vector, size, top)
    for sign in range(2):
        code = kernels.locate(vector, size, top, way, sign)
        allowed = slow_pricing.counting(first_degree(size, top), sign, top, way)
        assert sums[allowed[code]].sum() == found[sign]


@relaxed
@given(seeds, kinds_of_feature, sizes, st.booleans())
def test_scan_second_degree(seed, kind, size, raised):
    inputs, best, where = axis_case(seed, kind, size)
    old = np.array([6.0, -6.0]) if raised else best
    (best, where), (expected, _) = run_both(
        kernels.scan_second_degree, slow_pricing.scan_second_degree, inputs, old, where
    )
    assert_array_equal(best, expected)
    bins, sums = second_degree(*inputs[1:]), slow_pricing.plain_sums(*inputs)
    for sign in range(2):
        if best[sign] == old[sign]:
            assert where[sign].tolist() == [-9, -9]
        else:
            assert sums[bins[tuple(where[sign].tolist())]].sum() == best[sign]


# --- tuples of features


def sum_over(cube, *bins):
    return cube[np.ix_(*bins)].sum()


@relaxed
@given(seeds, st.integers(0, 3), st.booleans())
def test_score_pairs(seed, n_tuples, deep):
    inputs, *outputs = pairs_case(seed, n_tuples, deep)
    (best, where), (expected, _) = run_both(
        kernels.score_pairs, slow_pricing.score_pairs, inputs, *outputs
    )
    assert_array_equal(best, expected)
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, *_ = inputs
    for t, kind, sign in np.argwhere(np.isfinite(best)):
        f, g = tuples[t]
        cube = histograms[starts[t] : starts[t + 1]].reshape(n_bins[f], n_bins[g])
        if kind == 2:
            f, g, cube = g, f, cube.T
        c, a, b = where[t, kind, sign].tolist()
        assert first[f] <= c < first[f + 1]
        assert kind > 0 or b == -1
        others = first_degree(n_bins[g], top[g]) if kind == 0 else second_degree(n_bins[g], top[g])
        other = others[a] if kind == 0 else others[a, b]
        mine = listed(n_bins[f], lo[c], hi[c], negate[c])
        assert sum_over(cube, mine, other) == best[t, kind, sign]
    assert (where[~np.isfinite(best)] == -9).all()


@relaxed
@given(seeds, st.integers(0, 3))
def test_score_triples(seed, n_tuples):
    inputs, *outputs = triples_case(seed, n_tuples)
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, _, least = inputs
    (best, where), (expected, _) = run_both(
        kernels.score_triples, slow_pricing.score_triples, inputs, *outputs
    )
    assert_array_equal(best, expected)
    located = np.isfinite(best) & (np.abs(best) > least)
    for t, sign in np.argwhere(located):
        f, g, h = tuples[t]
        cube = histograms[starts[t] : starts[t + 1]].reshape(n_bins[tuples[t]])
        c, row, column = where[t, sign].tolist()
        assert first[f] <= c < first[f + 1]
        mine = listed(n_bins[f], lo[c], hi[c], negate[c])
        rows = first_degree(n_bins[g], top[g])[row]
        columns = first_degree(n_bins[h], top[h])[column]
        assert sum_over(cube, mine, rows, columns) == best[t, sign]
    assert (where[~located][:, 1:] == -9).all()


# --- gains: ratios, equal but for rounding


def assert_gain(sums, bins, share, ridge, expected, rtol=1e-12):
    """The gain of the cells of some bins, one list an axis, of both sums."""
    g, h = (sum_over(cube, *bins) for cube in sums)
    assert_allclose(slow_gains.gain_of(g, h, share, ridge), expected, rtol=rtol)


SAME = 2 * (TIE - 1.0)  # gains as near as this are a tie, of which the first condition is located


@relaxed
@given(seeds, kinds_of_feature, sizes, ways)
def test_scan_gains_and_locate_gain(seed, kind, size, way):
    *axis, want = slopes, curves, size, top, share, ridge, _ = gain_axis_case(seed, kind, size)
    way = way if top >= 0 else 0
    best = kernels.scan_signed_gains(*axis, want, way)
    assert_allclose(best, slow_gains.scan_signed_gains(*axis, want, way), rtol=1e-12)
    free = kernels.scan_gains(*axis)
    assert_allclose(free, slow_gains.scan_gains(*axis), rtol=1e-12)
    code = kernels.locate_gain(*axis, want, way)
    sums = [slow_pricing.plain_sums(vector, size, top) for vector in (slopes, curves)]
    if best > 0.0:
        bins = first_degree(size, top)[code]
        assert_gain(sums, [bins], share, ridge, best, SAME)
        own = slow_pricing.sign_of_bins(bins, top, way)
        assert min(want * own, want * sums[0][bins].sum(), own * sums[0][bins].sum()) >= 0


@relaxed
@given(seeds, kinds_of_feature, st.integers(3, 8), st.floats(-1e-9, 1e-9))
def test_rounding_does_not_choose_between_a_condition_and_its_complement(seed, kind, size, error):
    """Where the slopes add up to nothing, both have the same gain; the first is located."""
    slopes, curves, size, top, share, ridge, _ = gain_axis_case(seed, kind, size)
    lines = [slow_pricing.plain_sums(vector, size, top).copy() for vector in (slopes, curves)]
    lines[0][0] -= lines[0].sum() - error
    lines[0][size - 1] = lines[1][size - 1] = 0.0
    if kind == "ordered":  # nor of unseen levels
        lines[0][0] += lines[0][size - 2]
        lines[0][size - 2] = lines[1][size - 2] = 0.0
    lines[0][0] -= lines[0].sum() - error
    share = 1.0 / lines[1].sum() if lines[1].any() else 1.0
    slopes, curves = (np.cumsum(line) if top >= 0 else line for line in lines)
    if np.abs(slopes).max() > 0.1:
        assert kernels.locate_gain(slopes, curves, size, top, share, ridge, 0, 0) % 2 == 0


@relaxed
@given(seeds, kinds_of_feature, sizes, st.booleans())
def test_scan_second_gains(seed, kind, size, raised):
    axis = slopes, curves, size, top, share, ridge, _ = gain_axis_case(seed, kind, size)
    old = 0.5 * kernels.scan_gains(*axis[:-1]) if raised else 0.0
    bins = np.full(2, -9, INDEX_DTYPE)
    best = kernels.scan_second_gains(*axis, old, bins)
    expected = slow_gains.scan_second_gains(*axis, old, np.empty(2, INDEX_DTYPE))
    assert_allclose(best, expected, rtol=1e-12)
    if best == old:
        assert bins.tolist() == [-9, -9]
    else:
        sums = [slow_pricing.plain_sums(vector, size, top) for vector in (slopes, curves)]
        assert_gain(sums, [second_degree(size, top)[tuple(bins.tolist())]], share, ridge, best)


@relaxed
@given(seeds, st.integers(0, 3), st.integers(1, 4), st.booleans())
def test_gain_lines(seed, n_rules, n_features, every):
    inputs, *outputs = gain_lines_case(seed, n_rules, n_features, every)
    (best, where), (expected, _) = run_both(
        kernels.gain_lines, slow_gains.gain_lines, inputs, *outputs
    )
    assert_allclose(best, expected, rtol=1e-9, atol=1e-12)  # differences of sums
    plain = ~inputs[2].any(axis=1)
    assert_allclose(best[plain], expected[plain], rtol=1e-12)
    histograms, at, gone, tried, starts, n_bins, top, _, _, total, ridge, _ = inputs
    assert not best[~tried].any()
    for a, f in np.argwhere(best > 0.0):
        if every or f == np.argmax(best[a]):
            sums = histograms[at[a, 0], :, starts[f] : starts[f + 1]].copy()
            shared = histograms[at[a, 1], 1, starts[f] : starts[f + 1]]
            sums[0] += gone[a, 1] * sums[1] - gone[a, 0] * shared
            bins = first_degree(n_bins[f], top[f])[where[a, f]]
            assert_gain(sums, [bins], 1 / total, ridge, best[a, f], SAME)


@relaxed
@given(seeds, st.integers(1, 4))
def test_gain_spans(seed, n_features):
    inputs, *outputs = gain_spans_case(seed, n_features)
    (best, bins), (expected, _) = run_both(
        kernels.gain_spans, slow_gains.gain_spans, inputs, *outputs
    )
    assert_allclose(best, expected, rtol=1e-12)
    histograms, starts, n_bins, top, _, total, ridge = inputs
    for f in np.flatnonzero(best > 0.0):
        sums = histograms[:, starts[f] : starts[f + 1]]
        chosen = second_degree(n_bins[f], top[f])[tuple(bins[f].tolist())]
        assert_gain(sums, [chosen], 1 / total, ridge, best[f], SAME)


@relaxed
@given(seeds, st.integers(0, 3), st.booleans())
def test_gain_pairs(seed, n_tuples, deep):
    inputs, *outputs = gain_pairs_case(seed, n_tuples, deep)
    (best, where), (expected, _) = run_both(
        kernels.gain_pairs, slow_gains.gain_pairs, inputs, *outputs
    )
    assert_allclose(best, expected, rtol=1e-12)
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, _, total, ridge, *_ = inputs
    for t, kind in np.argwhere(best > 0.0):
        f, g = tuples[t]
        cubes = histograms[:, starts[t] : starts[t + 1]].reshape(2, n_bins[f], n_bins[g])
        if kind == 2:
            f, g, cubes = g, f, cubes.transpose(0, 2, 1)
        c, a, b = where[t, kind].tolist()
        assert first[f] <= c < first[f + 1]
        assert kind > 0 or b == -1
        others = first_degree(n_bins[g], top[g]) if kind == 0 else second_degree(n_bins[g], top[g])
        bins = listed(n_bins[f], lo[c], hi[c], negate[c]), others[a] if kind == 0 else others[a, b]
        assert_gain(cubes, bins, 1 / total, ridge, best[t, kind], SAME)
    assert (where[best == 0.0] == -9).all()


@relaxed
@given(seeds, st.integers(0, 12), st.integers(1, 5))
def test_gain_pairs_of_which_the_best_are_kept(seed, n_tuples, n_kept):
    inputs, *outputs = gain_pairs_case(seed, n_tuples, deep=False, n_kept=n_kept)
    (best, where), (expected, places) = run_both(
        kernels.gain_pairs, slow_gains.gain_pairs, inputs, *outputs
    )
    best, expected = best[:, 0], expected[:, 0]
    assert_allclose(best[best > 0.0], expected[best > 0.0], rtol=1e-12)
    assert_allclose(np.sort(best)[-n_kept:], np.sort(expected)[-n_kept:], rtol=1e-12)
    assert (where[:, 0][best == 0.0] == -9).all()
    assert ((places[:, 0] == -9).all(axis=1) == (expected == 0.0)).all()


@relaxed
@given(seeds, st.integers(0, 3))
def test_gain_triples(seed, n_tuples):
    inputs, *outputs = gain_triples_case(seed, n_tuples, widest=6)
    (best, where), (expected, _) = run_both(
        kernels.gain_triples, slow_gains.gain_triples, inputs, *outputs
    )
    assert_allclose(best, expected, rtol=1e-12)
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, _, total, ridge = inputs
    for t in np.flatnonzero(best > 0.0):
        cubes = histograms[:, starts[t] : starts[t + 1]].reshape(2, *n_bins[tuples[t]])
        f, g, h = tuples[t]
        c, d, code = where[t].tolist()
        assert first[f] <= c < first[f + 1]
        assert first[g] <= d < first[g + 1]
        bins = [listed(n_bins[each], lo[k], hi[k], negate[k]) for each, k in ((f, c), (g, d))]
        bins.append(first_degree(n_bins[h], top[h])[code])
        assert_gain(cubes, bins, 1 / total, ridge, best[t], SAME)
    assert (where[best == 0.0] == -9).all()


# --- branch and bound


def path_value(inputs, path):
    """What a path is worth; it has to be one that the twin visits too."""
    codes, gain, _, n_bins, lo, hi, kind, feature, *limits, start, price, step = inputs[:-4]
    assert slow_search.may_share(feature[[start, *path]].tolist(), *limits)
    rows = slow_search.held_rows(codes, n_bins, lo, hi, kind, feature, start)
    for last, c in zip([start, *path], path, strict=False):
        assert slow_search.may_follow(lo, hi, kind, feature, last, c)
        rows &= slow_search.held_rows(codes, n_bins, lo, hi, kind, feature, c)
    return gain[rows].sum() - price - step * len(path)


def replace_tail(inputs, **changes):
    """The arguments with some of the last four changed."""
    names = ("known", "depth", "best", "limit")
    tail = dict(zip(names, inputs[-4:], strict=True)) | changes
    return *inputs[:-4], *tail.values()


def run_branch(inputs, path):
    """Search; return the value, whether that was all, and the further conditions found."""
    before = [np.copy(value) for value in inputs]
    value, length, finished = kernels.search_branch(*inputs, path)
    for one, old in zip(inputs, before, strict=True):
        assert_array_equal(one, old)
    best = inputs[-2]
    if length < 0:
        assert length == -1
        assert value == best
        assert (path == -9).all()
        return value, finished, []
    found = path[:length].tolist()
    assert 0 < length <= inputs[-3]
    assert value == path_value(inputs, found) > best
    return value, finished, found


@relaxed
@given(seeds, st.integers(1, 4), st.integers(0, 4), st.integers(0, 2))
@example(878, 3, 3, 2)
@example(2893, 2, 3, 1)
@example(3338, 3, 3, 2)
def test_search_branch(seed, n_features, depth, known):
    inputs, path = branch_case(seed, n_features, depth, widest=6 if n_features < 4 else 4)
    best, _, _ = slow_search.search_branch(*replace_tail(inputs, depth=known), path.copy())
    inputs = replace_tail(inputs, known=known, best=best)
    expected, length, _ = slow_search.search_branch(*inputs, path.copy())
    value, finished, found = run_branch(inputs, path)
    assert finished
    assert value == expected
    assert bool(found) == (length > 0)


@relaxed
@given(seeds, st.integers(2, 4), st.integers(0, 12))
def test_search_branch_with_a_limit(seed, n_features, limit):
    inputs, path = branch_case(seed, n_features, 3, widest=5)
    expected, _, _ = slow_search.search_branch(*inputs, path.copy())
    value, finished, _ = run_branch(replace_tail(inputs, limit=limit), path)
    assert inputs[-2] <= value <= expected
    assert not finished or value == expected


@relaxed
@given(seeds, st.integers(1, 5), st.integers(1, 255))
def test_group_rows(seed, n_features, top):
    rng = np.random.default_rng(seed)
    codes = rng.choice([0, top // 2, top], (n_features, 12)).astype(CODE_DTYPE)
    groups = group_rows(codes)
    first = n_features + 1 - len(groups)
    sizes = [len(np.unique(codes[f:], axis=1).T) for f in range(n_features)]
    assert first == next((f for f in range(n_features)[::-1] if sizes[f] >= MANY * 12), 0)
    totals, reach = np.zeros(12), np.empty(258)
    gain, rows = rng.normal(size=12), rng.permutation(12)[:8].astype(np.int32)
    for f, numbers in enumerate(groups[:-1], first):
        alike = (codes[f:, :, None] == codes[f:, None]).all(axis=0)
        assert_array_equal(alike, numbers[:, None] == numbers)
        assert_array_equal(np.unique(numbers), np.arange(sizes[f]))
        later = groups[f - first + 1]
        settled = int(rng.choice([0, top // 2, top]))
        fill_reach(codes[f], gain, rows, numbers, totals, 256, reach)
        if settled:
            settle_reach(codes[f], gain, rows, later, settled, totals, 256, reach)
        open_rows, fixed = rows[codes[f, rows] >= settled], rows[codes[f, rows] < settled]
        sums = np.maximum(np.bincount(numbers[open_rows], gain[open_rows], 12), 0.0)
        bins = np.array([codes[f, numbers == k].max(initial=0) for k in range(12)])
        expected = np.concatenate([[0.0], np.cumsum(np.bincount(bins, sums, 256))])
        expected[1:] += np.maximum(np.bincount(later[fixed], gain[fixed], 12), 0.0).sum()
        assert_allclose(reach[:257], expected, atol=1e-12)
        assert not totals.any()


def search_small(table, codes, gain, depth):
    """Search from the first condition, price 1 and step 1/4; return the value and the truth."""
    conditions = table.n_bins, table.lo, table.hi, condition_kinds(table), table.feature
    conditions = *conditions, *table.constraints.matrices(len(table.features))
    codes, gain = np.array(codes, CODE_DTYPE), np.array(gain)
    inputs = codes, gain, group_rows(codes), *conditions, 0, 1.0, 0.25, 0, depth, 0.0, 1000
    path = np.full(MAX_DEPTH, -9, INDEX_DTYPE)
    expected, _, _ = slow_search.search_branch(*inputs, path.copy())
    return run_branch(inputs, path)[0], expected


def test_a_bin_without_rows_does_not_hide_a_prefix():
    """With no row in bin 1, ``> bin 0`` stands for ``> bin 1``, which is then not listed."""
    start, gap = make_bins("number", 3, 0b011), make_bins("number", 5, 0b01101)
    table = ConditionTable((start, gap, start))
    codes = [[0, 0, 0, 0, 0], [2, 3, 0, 2, 3], [0, 0, 0, 1, 1]]
    found, expected = search_small(table, codes, [4.0, 4.0, -8.0, -8.0, -8.0], 2)
    assert found == expected == 8.0 - 1.5


def test_a_level_without_rows_still_rules_out_missing_values():
    """With no row of level 0, ``!= 0`` stands for all that are not missing."""
    table = ConditionTable((make_bins("number", 3, 0b011), make_bins("level", 3, 0b110)))
    found, expected = search_small(table, [[0, 0], [1, 2]], [4.0, -8.0], 1)
    assert found == expected == 4.0 - 1.25


# --- compilation (last: what the tests above compiled counts too)


@pytest.mark.parametrize("kernel", kernels.KERNELS, ids=lambda kernel: kernel.__name__)
def test_no_second_specialisation(kernel):
    assert len(getattr(kernel, "signatures", ())) <= 1, kernel.signatures
