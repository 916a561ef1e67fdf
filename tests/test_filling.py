"""Joint histograms from few passes over the rows, and columns from kept conditions."""

from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE
from ruleglm.engines import packed
from ruleglm.engines.base import histogram_starts
from ruleglm.engines.covers import choose_sets, cover_tuples
from ruleglm.engines.filling import TURNED_ROWS, codes_by_rows, fill_joint
from ruleglm.engines.packed import Evaluator, evaluate
from ruleglm.parallel import Workers
from ruleglm.storage import GrowingRows, home
from tests.pricing_cases import quarters
from tests.reference import histograms as slow_histograms

relaxed = settings(deadline=None, max_examples=30)
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("n_rows", [1, TURNED_ROWS - 1, TURNED_ROWS, 2 * TURNED_ROWS + 5])
def test_codes_by_rows_live_where_the_codes_do(n_rows, tmp_path):
    codes = np.random.default_rng(n_rows).integers(0, 256, (3, n_rows)).astype(CODE_DTYPE)
    kept = GrowingRows(n_rows, CODE_DTYPE, str(tmp_path))
    for line in codes:
        kept.append(line)
    for each, folder in ((codes, None), (kept.array(), str(tmp_path))):
        lines = codes_by_rows(each)
        assert_array_equal(lines, codes.T)
        assert lines.flags.c_contiguous
        assert home(lines) == folder


def all_tuples(features, order):
    return np.array(list(combinations(features, order)), INDEX_DTYPE).reshape(-1, order)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("n_features", [4, 5, 8, 10, 13, 16])
def test_sets_have_every_tuple_once(n_features, order):
    every, sets, without = choose_sets(n_features, order)
    assert_array_equal(every, all_tuples(range(n_features), order))
    wanted = without[without >= 0]
    assert_array_equal(np.sort(wanted), np.arange(len(every)))
    for s, axis in np.argwhere(without >= 0):
        assert_array_equal(np.delete(sets[s], axis), every[without[s, axis]])
    assert len(sets) <= 0.5 * len(every)


@relaxed
@given(
    seeds,
    st.sampled_from([0, 50, 700, 5000]),
    st.integers(2, 3),
    st.integers(1, 2),
    st.integers(1, 3),
    st.booleans(),
)
def test_histograms_are_those_of_a_pass_for_each(seed, n_rows, order, n_vectors, n_threads, whole):
    rng = np.random.default_rng(seed)
    n_bins = rng.choice([2, 3, 7, 12], size=8).astype(INDEX_DTYPE)
    codes = (rng.random((8, n_rows)) * n_bins[:, None]).astype(CODE_DTYPE)
    tuples = all_tuples(np.sort(rng.permutation(8)[: rng.integers(3, 9)]), order)
    if not whole:
        tuples = tuples[rng.random(len(tuples)) < 0.8]
    values = quarters(rng, n_vectors, n_rows)
    starts = histogram_starts(tuples, n_bins)
    expected = np.zeros((n_vectors, starts[-1]))
    slow_histograms.fill_histograms(codes, tuples, n_bins, values, starts, expected)
    with patch("ruleglm.parallel.SHORT_PART", 2000):
        ours = fill_joint(codes, tuples, n_bins, values, starts, Workers(n_threads))
    assert_array_equal(ours, expected)


def test_large_histograms_are_filled_one_by_one():
    n_bins = np.array([4, 4, 4, 4, 200], INDEX_DTYPE)
    tuples = all_tuples(range(5), 2)
    cover = cover_tuples(tuples, n_bins, 1000)
    assert 4 not in cover.sets
    assert {(f, 4) for f in range(4)} <= set(map(tuple, tuples[cover.rest].tolist()))
    assert_array_equal(
        np.sort(np.concatenate([cover.rest, cover.without[cover.without >= 0]])), np.arange(10)
    )
    assert cover_tuples(tuples, n_bins, 100) is None
    assert cover_tuples(tuples[1:], n_bins, 1000) is None


def draw_rules(rng, n_bins, n_rules):
    rules = []
    for _ in range(n_rules):
        features = np.sort(rng.permutation(len(n_bins))[: rng.integers(0, 4)]).tolist()
        rules.append(tuple((f, int(rng.integers(1, 2 ** int(n_bins[f])))) for f in features))
    return rules


@relaxed
@given(seeds, st.sampled_from([0, 1, 64, 100, 700]), st.sampled_from([0, 40, 1 << 22]))
def test_kept_conditions_give_the_same_columns(seed, n_rows, room):
    rng = np.random.default_rng(seed)
    n_bins = np.array([2, 3, 5, 9])
    codes = (rng.random((4, n_rows)) * n_bins[:, None]).astype(CODE_DTYPE)
    evaluator = Evaluator(codes)
    with patch.object(packed, "MAX_KEPT", room):
        for _ in range(4):
            rules = draw_rules(rng, n_bins, int(rng.integers(0, 8)))
            assert_array_equal(evaluator.evaluate(rules), evaluate(codes, rules))
