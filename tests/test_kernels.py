"""Every kernel equals its slow twin, and is compiled once.

Values are multiples of 1/4, so that sums are exact and the same in any order: equal means equal.
"""

import threading
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ruleglm import kernels
from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE, MAX_BINS, WORD_DTYPE
from ruleglm.kernels.columns import PANEL
from ruleglm.kernels.histograms import SMALL, TILE
from ruleglm.thresholds import _DOWN, _UP
from tests import pricing_cases, test_ridges
from tests.pricing_cases import quarters
from tests.reference import columns as slow_columns
from tests.reference import cuts as slow_cuts
from tests.reference import descent as slow_descent
from tests.reference import extend as slow_extend
from tests.reference import gains as slow_gains
from tests.reference import histograms as slow_histograms
from tests.reference import logistic as slow_logistic
from tests.reference import numbers as slow_numbers
from tests.reference import pricing as slow_pricing
from tests.reference import refit as slow_refit
from tests.reference import search as slow_search
from tests.reference import sweeps as slow_sweeps
from tests.reference import waiting as slow_waiting

TWINS = (
    *(slow_histograms, slow_columns, slow_descent, slow_pricing, slow_search, slow_gains),
    slow_extend,
    slow_refit,
    slow_logistic,
    slow_sweeps,
    slow_cuts,
    slow_waiting,
    slow_numbers,
)

relaxed = settings(deadline=None, max_examples=40)

WORDS = [0, 1, 63, 64, 65, 128]
PANELS = [PANEL - 1, PANEL, PANEL + 1, 2 * PANEL + 65]
TILES = [TILE - 1, TILE, TILE + 1, 2 * TILE + 2, 2 * TILE + 3]

seeds = st.integers(0, 2**32 - 1)
row_counts = st.sampled_from(WORDS + PANELS)
column_counts = st.integers(0, 9)


def draw_columns(rng, n_columns, n_rows):
    """Packed columns, some nearly empty and some nearly full."""
    share = rng.choice([0.02, 0.5, 0.98], size=(n_columns, 1))
    return slow_columns.pack_rows(rng.random((n_columns, n_rows)) < share)


def draw_range(rng, n_rows):
    """Rows from a multiple of 64 on, often all of them."""
    begin = 64 * int(rng.integers(0, n_rows // 64 + 1))
    end = int(rng.integers(begin, n_rows + 1))
    return (0, n_rows) if rng.random() < 0.4 else (begin, end)


def uncompiled():
    """Counting bits overflows on purpose, which only uncompiled kernels complain about."""
    return np.errstate(over="ignore")


def compare(kernel, twin, inputs, *outputs):
    """Run both on copies and ask for equal outputs, and for inputs left alone."""
    ours = [out.copy() for out in outputs]
    theirs = [out.copy() for out in outputs]
    before = [np.copy(value) for value in inputs]
    with uncompiled():
        kernel(*inputs, *ours)
    twin(*inputs, *theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert_array_equal(mine, other, strict=True)
    for value, old in zip(inputs, before, strict=True):
        assert_array_equal(value, old)


# --- histograms


def histogram_case(seed, n_rows, order, n_vectors, n_tuples, widths):
    rng = np.random.default_rng(seed)
    n_bins = rng.choice(widths, size=5).astype(INDEX_DTYPE)
    skew = rng.choice([1.0, 4.0], size=(5, 1))
    codes = (rng.random((5, n_rows)) ** skew * n_bins[:, None]).astype(CODE_DTYPE)
    tuples = rng.integers(0, 5, size=(n_tuples, order)).astype(INDEX_DTYPE)
    sizes = np.prod(n_bins[tuples], axis=1)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(INDEX_DTYPE)
    values = quarters(rng, n_vectors, n_rows)
    return (codes, tuples, n_bins, values, starts), quarters(rng, n_vectors, starts[-1])


WIDTHS = {1: [1, 2, 10, 256], 2: [1, 10, 32, 64, 46, 256], 3: [1, 2, 10, 13, 20]}


@relaxed
@given(
    seeds,
    st.sampled_from(WORDS + TILES),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 4),
)
def test_fill_histograms(seed, n_rows, order, n_vectors, n_tuples):
    inputs, out = histogram_case(seed, n_rows, order, n_vectors, n_tuples, WIDTHS[order])
    compare(kernels.fill_histograms, slow_histograms.fill_histograms, inputs, out)


def covered_case(seed, n_rows, order, n_vectors, n_sets):
    """Sets of features; some of what comes of leaving one out is not wanted."""
    rng = np.random.default_rng(seed)
    n_bins = rng.choice([1, 2, 5, 11], size=6).astype(INDEX_DTYPE)
    codes = (rng.random((6, n_rows)) ** 2 * n_bins[:, None]).astype(CODE_DTYPE)
    shape = (n_sets, order + 1)
    sets = rng.permuted(np.tile(np.arange(6), (n_sets, 1)), axis=1)[:, : order + 1]
    sizes = np.prod(n_bins[sets], axis=1)[:, None] // n_bins[sets]
    places = (np.cumsum(sizes) - sizes.ravel()).reshape(shape)
    places = np.where(rng.random(shape) < 0.3, -1, places).astype(INDEX_DTYPE)
    inputs = codes, sets.astype(INDEX_DTYPE), n_bins, quarters(rng, n_vectors, n_rows), places
    return inputs, quarters(rng, n_vectors, int(sizes.sum()))


@relaxed
@given(
    seeds,
    st.sampled_from([*WORDS, *TILES, 8 * SMALL + 100]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 4),
)
def test_fill_covered(seed, n_rows, order, n_vectors, n_sets):
    inputs, out = covered_case(seed, n_rows, order, n_vectors, n_sets)
    compare(kernels.fill_covered, slow_histograms.fill_covered, inputs, out)


@pytest.mark.parametrize("widths", [(23, 89), (32, 64), (41, 50)])
def test_fill_histograms_around_the_small_size(widths):
    rng = np.random.default_rng(1)
    n_bins, size = np.array(widths, INDEX_DTYPE), widths[0] * widths[1]
    assert abs(size - SMALL) <= 2
    codes = (rng.random((2, TILE + 1)) * n_bins[:, None]).astype(CODE_DTYPE)
    starts = np.array([0, size], INDEX_DTYPE)
    inputs = codes, np.array([[0, 1]], INDEX_DTYPE), n_bins, quarters(rng, 2, TILE + 1), starts
    out = quarters(rng, 2, size)
    compare(kernels.fill_histograms, slow_histograms.fill_histograms, inputs, out)


def test_large_and_small_histograms_in_one_call():
    rng = np.random.default_rng(0)
    n_bins = np.array([64, 33, 2], INDEX_DTYPE)
    codes = (rng.random((3, 5000)) * n_bins[:, None]).astype(CODE_DTYPE)
    tuples = np.array([[0, 1], [1, 2], [0, 0], [2, 2], [2, 0]], INDEX_DTYPE)
    starts = np.cumsum([0, 64 * 33, 66, 64 * 64, 4, 128]).astype(INDEX_DTYPE)
    inputs = codes, tuples, n_bins, quarters(rng, 2, 5000), starts
    out = np.zeros((2, starts[-1]))
    compare(kernels.fill_histograms, slow_histograms.fill_histograms, inputs, out)


def within_case(seed, n_rows, n_columns, n_vectors, n_features=3):
    """Rows of each column; each feature's bins lie after those of the one before."""
    rng = np.random.default_rng(seed)
    n_bins = rng.choice((1, 2, 10, 256), size=n_features).astype(INDEX_DTYPE)
    lines = (rng.random((n_rows, n_features)) * n_bins).astype(CODE_DTYPE)
    starts = np.concatenate([[0], np.cumsum(n_bins)]).astype(INDEX_DTYPE)
    wanted = rng.random((n_columns, n_features)) < rng.choice([0.5, 1.0])
    turned = rng.random(n_columns) < 0.5
    columns, values = draw_columns(rng, n_columns, n_rows), quarters(rng, n_vectors, n_rows)
    whole = quarters(rng, n_vectors, starts[-1])
    inputs = lines, columns, wanted, turned, n_bins, values, whole, starts
    return inputs, quarters(rng, n_columns, n_vectors, starts[-1])


@relaxed
@given(
    seeds,
    row_counts,
    st.integers(0, 4),
    st.integers(1, 3),
    st.sampled_from([1, 3, 17]),
)
def test_fill_within(seed, n_rows, n_columns, n_vectors, n_features):
    inputs, out = within_case(seed, n_rows, n_columns, n_vectors, n_features)
    compare(kernels.fill_within, slow_histograms.fill_within, inputs, out)


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 128])
def test_fill_within_of_all_rows_and_of_none(n_rows):
    inputs, out = within_case(n_rows, n_rows, 2, 2)
    _, columns, wanted, turned, _, values, whole, starts = inputs
    columns[:] = slow_columns.pack_rows(np.array([[True], [False]]).repeat(n_rows, axis=1))
    wanted[:] = True
    for way in False, True:
        turned[:] = way
        compare(kernels.fill_within, slow_histograms.fill_within, inputs, out)
        sums = np.zeros_like(out)
        with uncompiled():
            kernels.fill_within(*inputs, sums)
        sums = whole - sums if way else sums
        for first, last in pairwise(starts):
            assert_array_equal(sums[int(way), :, first:last].sum(axis=1), values.sum(axis=1))
        assert not sums[1 - int(way)].any()


# --- columns


def rule_case(seed, n_rows, n_rules):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 4, size=n_rules)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(INDEX_DTYPE)
    features = rng.integers(0, 3, size=starts[-1]).astype(INDEX_DTYPE)
    tables = (rng.random((starts[-1], MAX_BINS)) < 0.7).astype(np.uint8)
    for k in np.flatnonzero(rng.random(len(tables)) < 0.7):
        first, last = rng.integers(0, MAX_BINS + 1, size=2)  # of one run, or of none
        tables[k] = (np.arange(MAX_BINS) >= first) & (np.arange(MAX_BINS) < last)
    codes = rng.integers(0, MAX_BINS, size=(3, n_rows)).astype(CODE_DTYPE)
    out = rng.integers(0, 2**63, size=(n_rules, (n_rows + 63) // 64)).astype(WORD_DTYPE)
    masks = np.packbits(tables, axis=1, bitorder="little").view(WORD_DTYPE)
    return (codes, features, masks, starts), out


@relaxed
@given(seeds, row_counts, st.integers(0, 6))
def test_count_rows(seed, n_rows, n_rules):
    columns = draw_columns(np.random.default_rng(seed), n_rules, n_rows)
    compare(kernels.count_rows, slow_columns.count_rows, (columns,), np.empty(n_rules, INDEX_DTYPE))


@relaxed
@given(seeds, row_counts, column_counts)
def test_evaluate_rules(seed, n_rows, n_rules):
    inputs, out = rule_case(seed, n_rows, n_rules)
    compare(kernels.evaluate_rules, slow_columns.evaluate_rules, inputs, out)


def join_case(seed, n_rows, n_columns, n_lists):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 4, size=n_lists)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(INDEX_DTYPE)
    places = rng.integers(0, n_columns, size=starts[-1]).astype(INDEX_DTYPE)
    out = rng.integers(0, 2**63, size=(n_lists, (n_rows + 63) // 64)).astype(WORD_DTYPE)
    return (draw_columns(rng, n_columns, n_rows), places, starts, n_rows), out


@relaxed
@given(seeds, row_counts, st.integers(1, 5), st.integers(0, 6))
def test_join_columns(seed, n_rows, n_columns, n_lists):
    inputs, out = join_case(seed, n_rows, n_columns, n_lists)
    compare(kernels.join_columns, slow_columns.join_columns, inputs, out)


def hash_case(seed, n_rows, n_columns, number=0, alone=True):
    inputs = draw_columns(np.random.default_rng(seed), n_columns, n_rows), n_rows, number, alone
    return inputs, np.zeros((n_columns, 5), WORD_DTYPE)


@relaxed
@given(seeds, row_counts.filter(bool), column_counts, st.sampled_from([0, 1, 2**40]), st.booleans())
def test_hash_columns(seed, n_rows, n_columns, number, alone):
    inputs, out = hash_case(seed, n_rows, n_columns, number, alone)
    compare(kernels.hash_columns, slow_columns.hash_columns, inputs, out)


def test_columns_that_differ_in_a_few_rows_have_different_hashes():
    rows = [0, 1, 31, 32, 62, 63, 64, 95, 96, 126, 127, 128, 159, 191]
    dense = np.array(list(product([False, True], repeat=len(rows))))
    every = np.zeros((len(dense), 192), np.bool_)
    every[:, rows] = dense
    out = np.zeros((len(dense), 5), WORD_DTYPE)
    with uncompiled():
        kernels.hash_columns(slow_columns.pack_rows(every), 192, 0, False, out)
    for hashes in out[:, :4].T:
        assert len(np.unique(hashes)) == len(dense)


def count_case(seed, n_rows, n_left, n_right):
    rng = np.random.default_rng(seed)
    pair = draw_columns(rng, n_left, n_rows), draw_columns(rng, n_right, n_rows)
    return pair, np.full((n_left, n_right), np.nan)


@relaxed
@given(seeds, row_counts, column_counts, column_counts)
def test_count_gram(seed, n_rows, n_left, n_right):
    inputs, out = count_case(seed, n_rows, n_left, n_right)
    compare(kernels.count_gram, slow_columns.count_gram, inputs, out)


def test_count_gram_counts_full_words():
    full = np.full((1, 3), ~np.uint64(0), WORD_DTYPE)
    out = np.empty((1, 1))
    with uncompiled():
        kernels.count_gram(full, full, out)
    assert out[0, 0] == 192.0


def panel_case(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    begin = 64 * int(rng.integers(0, n_rows // 64 + 1))
    end = min(n_rows, begin + 64 * int(rng.integers(0, PANEL // 64 + 1)))
    n_old = int(rng.integers(0, n_columns + 1))
    weights = quarters(rng, n_rows).astype(np.float32)
    inputs = draw_columns(rng, n_columns, n_rows), weights, n_old, begin, end
    plain, weighted = (
        quarters(rng, n_columns + 2 - k, PANEL).astype(np.float32) for k in (0, n_old)
    )
    return inputs, plain, weighted


@relaxed
@given(seeds, row_counts, column_counts)
def test_unpack_words(seed, n_rows, n_columns):
    inputs, plain, weighted = panel_case(seed, n_rows, n_columns)
    compare(kernels.unpack_words, slow_columns.unpack_words, inputs, plain, weighted)


def gram_case(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    n_old = int(rng.integers(0, n_columns + 1))
    columns = draw_columns(rng, n_columns, n_rows)
    weights = quarters(rng, n_rows).astype(np.float32)
    inputs = columns, weights, n_old, *draw_range(rng, n_rows)
    return inputs, np.full((n_columns - n_old, n_columns), np.nan)


@relaxed
@given(seeds, row_counts, column_counts)
@example(0, 3 * PANEL, 25)
def test_weighted_gram(seed, n_rows, n_columns):
    inputs, out = gram_case(seed, n_rows, n_columns)
    compare(kernels.weighted_gram, slow_columns.weighted_gram, inputs, out)


def sum_case(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    inputs = draw_columns(rng, n_columns, n_rows), quarters(rng, n_rows), *draw_range(rng, n_rows)
    return inputs, np.full(n_columns, np.nan)


@relaxed
@given(seeds, row_counts, column_counts)
def test_sum_columns(seed, n_rows, n_columns):
    inputs, out = sum_case(seed, n_rows, n_columns)
    compare(kernels.sum_columns, slow_columns.sum_columns, inputs, out)


def lines_case(seed, n_rows, n_columns, n_lines):
    rng = np.random.default_rng(seed)
    rows = quarters(rng, n_lines, n_rows), quarters(rng, n_rows)
    inputs = draw_columns(rng, n_columns, n_rows), *rows, *draw_range(rng, n_rows)
    return inputs, np.full((n_columns, n_lines), np.nan)


@relaxed
@given(seeds, row_counts, column_counts, st.integers(0, 3))
def test_sum_lines(seed, n_rows, n_columns, n_lines):
    inputs, out = lines_case(seed, n_rows, n_columns, n_lines)
    compare(kernels.sum_lines, slow_columns.sum_lines, inputs, out)


def line_gram_case(seed, n_rows, n_lines):
    rng = np.random.default_rng(seed)
    rows = quarters(rng, n_lines, n_rows), quarters(rng, n_rows)
    return (*rows, *draw_range(rng, n_rows)), np.full((1 + n_lines, 1 + n_lines), np.nan)


@relaxed
@given(seeds, row_counts, st.integers(0, 4))
@example(0, 3 * PANEL + 1, 2)
def test_gram_lines(seed, n_rows, n_lines):
    inputs, out = line_gram_case(seed, n_rows, n_lines)
    compare(kernels.gram_lines, slow_columns.gram_lines, inputs, out)


@pytest.mark.parametrize("n_rows", [50, 64, 100])
def test_sum_columns_ignores_what_uncovered_rows_hold(n_rows):
    values = np.ones(n_rows)
    values[[3, n_rows - 1]] = np.nan, np.inf
    dense = np.isfinite(values)[None, :]
    out = np.empty(1)
    kernels.sum_columns(slow_columns.pack_rows(dense), values, 0, n_rows, out)
    assert out[0] == n_rows - 2


def addition_case(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    coefficients = quarters(rng, n_columns) * (rng.random(n_columns) < 0.7)
    columns = draw_columns(rng, n_columns, n_rows), coefficients
    lines = quarters(rng, 2, n_rows), quarters(rng, 2) * (rng.random(2) < 0.7)
    return (0.25, *lines, *columns, *draw_range(rng, n_rows)), quarters(rng, n_rows)


@relaxed
@given(seeds, row_counts, column_counts)
def test_add_terms(seed, n_rows, n_columns):
    inputs, out = addition_case(seed, n_rows, n_columns)
    compare(kernels.add_terms, slow_columns.add_terms, inputs, out)


# --- descent


def descent_case(seed, n, n_samples):
    """A quadratic model; singular where the samples are few, and one column is empty."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n_samples, n)) * (np.arange(n) != n // 2)
    gram = design.T @ design / n_samples
    coef = rng.normal(size=n) * (rng.random(n) < 0.5)
    gradient = gram @ (coef - rng.normal(size=n))  # in the range of gram: bounded below
    penalties = rng.choice([0.0, 0.05, 0.5], size=n)
    signs = rng.integers(-1, 2, size=n) * rng.integers(2)
    coef[coef * signs < 0.0] = 0.0
    return SimpleNamespace(
        gram=gram, gradient=gradient, penalties=penalties, signs=signs, coef=coef
    )


def run_descent(function, case, tol, max_sweeps):
    gradient, coef = case.gradient.copy(), case.coef.copy()
    sweeps = function(case.gram, gradient, case.penalties, case.signs, tol, max_sweeps, coef)
    return sweeps, gradient, coef


def model_value(case, coef):
    move = coef - case.coef
    smooth = case.gradient @ move + 0.5 * move @ case.gram @ move
    return smooth + case.penalties @ np.abs(coef)


@relaxed
@given(seeds, st.integers(0, 12), st.sampled_from([6, 50]))
def test_descend_reaches_the_twin_and_the_optimality_conditions(seed, n, n_samples):
    case = descent_case(seed, n, n_samples)
    sweeps, gradient, coef = run_descent(kernels.descend, case, 1e-16, 20_000)
    _, _, expected = run_descent(slow_descent.descend, case, 1e-12, 5_000)
    assert sweeps <= 20_000
    assert_allclose(gradient, case.gradient + case.gram @ (coef - case.coef), atol=1e-9)
    free = np.diag(case.gram) > 0.0
    assert_array_equal(coef[~free], case.coef[~free])
    assert model_value(case, coef) <= model_value(case, expected) + 1e-9
    pull = np.abs(np.where(coef != 0.0, gradient + case.penalties * np.sign(coef), 0.0))
    assert np.all(pull[free] <= 1e-6)
    assert np.all(coef * case.signs >= 0.0)
    pull = np.where(case.signs * gradient > 0.0, 0.0, np.abs(gradient))
    assert np.all(pull[free] <= case.penalties[free] + 1e-6)
    if n_samples > n and sweeps < 20_000:
        assert_allclose(coef, expected, atol=1e-4)


@relaxed
@given(seeds, st.integers(0, 12))
def test_the_first_sweep_is_full(seed, n):
    case = descent_case(seed, n, 20)
    one, twin = (run_descent(f, case, 0.0, 1) for f in (kernels.descend, slow_descent.descend))
    assert one[0] == twin[0] == 1
    assert_allclose(one[1], twin[1], atol=1e-12)
    assert_allclose(one[2], twin[2], atol=1e-12)


def test_no_sweep_changes_nothing():
    case = descent_case(1, 6, 20)
    sweeps, gradient, coef = run_descent(kernels.descend, case, 0.0, 0)
    assert sweeps == 0
    assert_array_equal(gradient, case.gradient)
    assert_array_equal(coef, case.coef)


# --- sweeps


def sweep_case(seed, n):
    """The table of a quadratic model with some columns inside, one of the others empty."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(20, n)) * (np.arange(n) > 0)
    table = np.column_stack([design.T @ design + 0.1 * np.eye(n), design.T @ rng.normal(size=20)])
    member = np.zeros(n, np.bool_)
    for column in rng.choice(n, n // 2, replace=False).tolist():
        slow_sweeps.sweep_column(column, table)
        member[column] = True
    least = rng.choice([0.0, 1e-6, 0.5], n) * np.abs(np.diagonal(table))
    return table, member, least, rng.integers(-1, 2, n)


def additions_case(seed, n):
    return (*sweep_case(seed, n), float(seed % 3)), np.empty(n)


def swaps_case(seed, n):
    table, member, least, signs = sweep_case(seed, n)
    inside, outside = np.flatnonzero(member), np.flatnonzero(~member)
    return (table, inside, outside, least, signs), np.empty((len(inside), len(outside)))


@relaxed
@given(seeds, st.integers(1, 9))
def test_sweeps_equal_the_twin(seed, n):
    table = sweep_case(seed, n)[0]
    for column in range(n):
        ours, theirs = table.copy(), table.copy()
        kernels.sweep_column(column, ours)
        slow_sweeps.sweep_column(column, theirs)
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


@relaxed
@given(seeds, st.integers(1, 9))
def test_ratings_of_moves_equal_the_twin(seed, n):
    for name, case in (("rate_additions", additions_case), ("rate_swaps", swaps_case)):
        inputs, ours = case(seed, n)
        theirs = ours.copy()
        getattr(kernels, name)(*inputs, ours)
        getattr(slow_sweeps, name)(*inputs, theirs)
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


# --- the logistic loss


def logistic_case(seed, n_rows, scale):
    rng = np.random.default_rng(seed)
    y = rng.choice([0.0, 1.0, 0.25], size=n_rows, p=[0.45, 0.45, 0.1])
    return (y, scale * rng.standard_normal(n_rows)), np.full(n_rows, np.nan)


@relaxed
@given(seeds, st.integers(0, 40), st.sampled_from([1e-9, 1.0, 10.0, 100.0, 1e4]))
def test_logistic_loss(seed, n_rows, scale):
    (y, eta), ours = logistic_case(seed, n_rows, scale)
    theirs = ours.copy()
    between = kernels.logistic_loss(y, eta, ours)
    assert between == slow_logistic.logistic_loss(y, eta, theirs) == np.sum(y == 0.25)
    assert_allclose(ours, theirs, rtol=4e-16, atol=1e-15 * max(1.0, np.abs(eta).max(initial=0.0)))
    both = np.empty((2, n_rows)), np.empty((2, n_rows))
    kernels.logistic_derivatives(y, eta, np.ones(1), *both[0])
    slow_logistic.logistic_derivatives(y, eta, np.ones(1), *both[1])
    assert_allclose(*both, rtol=4e-15, atol=4e-16)
    sure = np.abs(eta) > 40.0  # second derivatives are as exact far out
    assert_allclose(both[0][1, sure], both[1][1, sure], rtol=4e-15, atol=1e-300)


def logistic_sum_case(seed, n_rows, scale, n_weights):
    rng = np.random.default_rng(seed)
    (y, eta), direction = logistic_case(seed, n_rows, scale)[0], rng.standard_normal(n_rows)
    return (y, eta, direction, rng.choice([0.0, 0.5]), rng.random(n_weights)), np.empty(2)


@relaxed
@given(seeds, st.integers(0, 300), st.sampled_from([1e-9, 1.0, 100.0]), st.booleans())
def test_logistic_sums_and_weights(seed, n_rows, scale, alike):
    inputs, ours = logistic_sum_case(seed, n_rows, scale, 1 if alike else n_rows)
    theirs = ours.copy()
    kernels.sum_logistic(*inputs, ours)
    slow_logistic.sum_logistic(*inputs, theirs)
    assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)
    y, eta, _, _, weights = inputs
    both = np.empty((2, n_rows)), np.empty((2, n_rows))
    kernels.logistic_derivatives(y, eta, weights, *both[0])
    slow_logistic.logistic_derivatives(y, eta, weights, *both[1])
    assert_allclose(*both, rtol=4e-15, atol=4e-16)


def test_a_step_of_nothing_does_not_see_the_direction():
    (y, eta), out = logistic_case(0, 9, 1.0)[0], np.empty(2)
    kernels.sum_logistic(y, eta, np.full(9, np.inf), 0.0, np.ones(1), out)
    theirs = np.empty(2)
    slow_logistic.sum_logistic(y, eta, np.zeros(9), 0.0, np.ones(1), theirs)
    assert_allclose(out, theirs, rtol=1e-13)


def test_logistic_loss_of_rows_that_are_no_numbers():
    eta = np.array([np.nan, 800.0, -800.0, 1e300, -1e300, 0.0])
    out, both = np.empty(6), np.empty((2, 6))
    kernels.logistic_loss(np.zeros(6), eta, out)
    assert_array_equal(out[[0, 1, 3]], [np.nan, 800.0, 1e300])
    assert_allclose(out[[2, 4, 5]], [0.0, 0.0, np.log(2.0)], atol=1e-300)
    kernels.logistic_derivatives(np.zeros(6), eta, np.ones(1), *both)
    assert np.isnan(both[:, 0]).all()
    assert_allclose(both[0, 1:], [1.0, 0.0, 1.0, 0.0, 0.5], atol=1e-300)
    assert_allclose(both[1, 1:], [0.0, 0.0, 0.0, 0.0, 0.25], atol=1e-300)


# --- bins


def cuts_case(seed, n_values, bins):
    rng = np.random.default_rng(seed)
    weights = rng.choice([rng.random(n_values), rng.integers(1, 4, n_values)])
    weights = weights * np.where(rng.random(n_values) < 0.1, 20.0, 1.0)  # some are heavy
    return (np.cumsum(weights), bins, 1e-9), np.empty(n_values, np.bool_)


@relaxed
@given(seeds, st.integers(1, 80), st.integers(2, 30))
def test_choose_cuts(seed, n_more, bins):
    inputs, cuts = cuts_case(seed, bins + n_more, bins)
    compare(kernels.choose_cuts, slow_cuts.choose_cuts, inputs, cuts)


def rounding_case(values, weights, bins, near=0.02):
    values = np.unique(np.array(values, np.float64))
    cumulative = np.cumsum(np.resize(np.array(weights, np.float64), len(values)))
    places = np.arange(0, len(values) - 1, max(1, len(values) // bins))
    return (values, cumulative, places, near, _UP, _DOWN), np.empty(len(places))


@relaxed
@given(
    st.lists(st.floats(allow_nan=False), min_size=2, max_size=60)
    | st.lists(st.integers(-999, 9999).map(lambda k: k / 100), min_size=2, max_size=300),
    st.lists(st.sampled_from([1.0, 2.0, 0.3]), min_size=1, max_size=4),
    st.integers(1, 9),
)
def test_round_cuts(values, weights, bins):
    inputs, thresholds = rounding_case(values, weights, bins)
    compare(kernels.round_cuts, slow_cuts.round_cuts, inputs, thresholds)


# --- columns of numbers

numbers = st.one_of(
    st.floats(width=64),
    st.integers(-9, 9).map(float),
    st.sampled_from([-0.0, 0.0, np.nan, -np.nan]),
)


def sort_case(values):
    given = np.array(values, np.float64)
    keys, spare = np.empty((2, len(given)), np.uint64)
    return (given, keys, spare), np.full(len(given), np.nan)


@relaxed
@given(st.lists(numbers, max_size=60))
def test_sort_numbers(values):
    inputs, ours = sort_case(values)
    theirs = ours.copy()
    assert kernels.sort_numbers(*inputs, ours) == slow_numbers.sort_numbers(*inputs, theirs)
    assert_array_equal(ours, theirs)
    assert not np.signbit(ours[ours == 0.0]).any()


def encode_case(values, thresholds):
    thresholds = np.unique([x for x in thresholds if np.isfinite(x)]).astype(np.float64)
    given = np.array([*values, *thresholds], np.float64)
    return (given, thresholds, 255), np.full(len(given), 99, CODE_DTYPE)


@relaxed
@given(st.lists(numbers, max_size=600), st.lists(numbers, max_size=200))
def test_encode_numbers(values, thresholds):
    inputs, out = encode_case(values, thresholds)
    compare(kernels.encode_numbers, slow_numbers.encode_numbers, inputs, out)


# --- threads that wait


@relaxed
@given(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3), st.integers(-3, 3))
def test_await_change(there, seen, n_looks, value):
    flag, told, theirs = np.full(1, there, INDEX_DTYPE), *np.full((2, 1), 9, INDEX_DTYPE)
    found = kernels.await_change(flag, seen, n_looks, 2, value, told)
    assert found == slow_waiting.await_change(flag, seen, n_looks, 2, value, theirs)
    assert_array_equal(told, theirs)
    assert flag[0] == there


def test_await_change_sees_what_another_thread_does():
    flag, told, answers = *np.zeros((2, 1), INDEX_DTYPE), []
    waiting = threading.Thread(
        target=lambda: answers.append(kernels.await_change(flag, 0, 1 << 40, 0, 1, told))
    )
    waiting.start()
    assert kernels.await_change(told, 0, 1 << 40, 0, 1, flag)  # tells the other one, hears it
    waiting.join(10.0)
    assert answers == [True]


# --- compilation (last: what the tests above compiled counts too)

CALLS = {
    "fill_histograms": lambda: histogram_case(0, 10, 2, 1, 2, [3]),
    "fill_covered": lambda: covered_case(0, 10, 2, 1, 2),
    "evaluate_rules": lambda: rule_case(0, 10, 2),
    "join_columns": lambda: join_case(0, 10, 3, 2),
    "hash_columns": lambda: hash_case(0, 10, 2),
    "count_rows": lambda: (
        (draw_columns(np.random.default_rng(0), 2, 10),),
        np.empty(2, INDEX_DTYPE),
    ),
    "count_gram": lambda: count_case(0, 10, 1, 2),
    "unpack_words": lambda: panel_case(0, 10, 2),
    "weighted_gram": lambda: gram_case(0, 10, 2),
    "sum_columns": lambda: sum_case(0, 10, 2),
    "sum_lines": lambda: lines_case(0, 10, 2, 2),
    "gram_lines": lambda: line_gram_case(0, 10, 2),
    "add_terms": lambda: addition_case(0, 10, 2),
    "sort_numbers": lambda: sort_case([0.5, 0.1]),
    "encode_numbers": lambda: encode_case([0.5, 0.1], [0.2]),
    "choose_cuts": lambda: cuts_case(0, 10, 4),
    "round_cuts": lambda: rounding_case(np.arange(40) / 7, [1.0], 3),
    "descend": lambda: (
        (np.eye(2), np.ones(2), np.ones(2), np.zeros(2, INDEX_DTYPE), 1e-9, 10),
        np.zeros(2),
    ),
    "logistic_loss": lambda: logistic_case(0, 3, 1.0),
    "sum_logistic": lambda: logistic_sum_case(0, 3, 1.0, 3),
    "logistic_derivatives": lambda: (
        (*logistic_case(0, 3, 1.0)[0], np.ones(1)),
        np.empty(3),
        np.empty(3),
    ),
    "await_change": lambda: ((np.ones(1, INDEX_DTYPE), 0, 9, 9, 0), np.zeros(1, INDEX_DTYPE)),
    "scan_axis": lambda: ((*pricing_cases.axis_case(0, "level", 5)[0], 0),),
    "locate": lambda: ((*pricing_cases.axis_case(0, "level", 5)[0], 0, 1),),
    "scan_second_degree": lambda: pricing_cases.axis_case(0, "number", 5),
    "score_pairs": lambda: pricing_cases.pairs_case(0, 1, True),
    "score_triples": lambda: pricing_cases.triples_case(0, 1),
    "search_branch": lambda: pricing_cases.branch_case(0, 2, 2),
    "fill_within": lambda: within_case(0, 10, 2, 2),
    "gain_spans": lambda: pricing_cases.gain_spans_case(0, 2),
    "scan_gains": lambda: (pricing_cases.gain_axis_case(0, "level", 5)[:-1],),
    "scan_signed_gains": lambda: ((*pricing_cases.gain_axis_case(0, "level", 5), 0),),
    "locate_gain": lambda: ((*pricing_cases.gain_axis_case(0, "level", 5), 0),),
    "scan_second_gains": lambda: (
        (*pricing_cases.gain_axis_case(0, "number", 5), 0.0),
        np.zeros(2, INDEX_DTYPE),
    ),
    "gain_lines": lambda: pricing_cases.gain_lines_case(0, 2, 2),
    "gain_pairs": lambda: pricing_cases.gain_pairs_case(0, 1, True),
    "gain_triples": lambda: pricing_cases.gain_triples_case(0, 1),
    "refit_logistic": lambda: test_ridges.refit_case(0, 70, 1, 2),
    "extend_rules": lambda: pricing_cases.extend_case(0, 2),
    "sweep_column": lambda: ((0,), sweep_case(0, 3)[0]),
    "rate_additions": lambda: additions_case(0, 3),
    "rate_swaps": lambda: swaps_case(0, 4),
}


def test_every_kernel_has_a_call_and_a_twin():
    names = {kernel.__name__ for kernel in kernels.KERNELS}
    assert names == set(CALLS)
    for name in names:
        assert sum(hasattr(module, name) for module in TWINS) == 1, name


@pytest.mark.parametrize("kernel", kernels.KERNELS, ids=lambda kernel: kernel.__name__)
def test_one_specialisation(kernel):
    inputs, *outputs = CALLS[kernel.__name__]()
    with uncompiled():
        kernel(*inputs, *outputs)
    assert len(getattr(kernel, "signatures", [None])) == 1  # one too where compilation is off
