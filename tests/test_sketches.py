"""Summaries of columns: merged from parts they give the bins of all rows."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleglm.binning import Binning, build_binning, choose_binning
from ruleglm.columns import LevelColumn, NumberColumn, merge_levels
from ruleglm.frames import read_table
from ruleglm.linear import build_term
from ruleglm.sketches import (
    LevelSketch,
    NumberSketch,
    merge_sketches,
    shorten,
    sketch_column,
)

SIZES = pd.CategoricalDtype(["S", "M", "L"], ordered=True)
COLORS = pd.CategoricalDtype(["red", "blue", "green"])

NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan, np.inf, -np.inf, 1e300, 5e-324]),
    st.integers(-20, 20).map(float),
    st.floats(allow_nan=True, width=32),
)

COLUMNS = {
    "number": (NUMBERS, "float64"),
    "count": (st.integers(0, 9), "int64"),
    "text": (st.sampled_from(["a", "b", "cc", "d", None]), "object"),
    "flag": (st.booleans(), "bool"),
    "size": (st.sampled_from(["S", "M", None]), SIZES),
    "color": (st.sampled_from(["green", "red", None]), COLORS),
}


@st.composite
def frames(draw):
    """A frame, weights some of which are zero, and the part that each row is in."""
    n_rows = draw(st.integers(1, 40))
    columns = {
        name: pd.Series(draw(st.lists(values, min_size=n_rows, max_size=n_rows)), dtype=dtype)
        for name, (values, dtype) in COLUMNS.items()
    }
    kinds = draw(st.sampled_from([[1.0], [0.0, 1.0, 2.0], [0.3, 0.7, 1e-3]]))
    weights = st.lists(st.sampled_from(kinds), min_size=n_rows, max_size=n_rows)
    parts = st.lists(st.integers(0, 4), min_size=n_rows, max_size=n_rows)
    return pd.DataFrame(columns), np.array(draw(weights)), np.array(draw(parts))


def sketch_parts(frame, weights, parts):
    """The summaries of each column in each part, some of which have no rows."""
    table = read_table(frame)
    found = [[] for _ in table.columns]
    for part in range(5):
        mine = (parts == part) & (weights > 0)
        rows = read_table(frame[mine]) if mine.any() else table.take(mine)
        for place, column in enumerate(rows.columns):
            found[place].append(sketch_column(column, weights[mine], f"partition {part}"))
    return found


@settings(max_examples=30)
@given(frames(), st.integers(2, 12), st.sampled_from([0.0, 0.2]))
def test_merged_parts_give_the_bins_of_all_rows(case, bins, share):
    frame, weights, parts = case
    table = read_table(frame)
    options = {"bins": bins, "min_level_share": share}
    merged = [shorten(merge_sketches(one)) for one in sketch_parts(frame, weights, parts)]
    found = choose_binning(merged, table.names, **options)
    assert found == build_binning(table, sample_weight=weights, **options)
    by_two = [
        merge_sketches([merge_sketches(one[:2]), merge_sketches(one[2:])])
        for one in sketch_parts(frame, weights, parts)
    ]
    assert choose_binning(by_two, table.names, **options) == found


@settings(max_examples=30)
@given(frames())
def test_merged_parts_give_the_linear_terms_of_all_rows(case):
    frame, weights, parts = case
    kept = weights > 0
    for column, one in zip(
        read_table(frame).take(kept).columns, sketch_parts(frame, weights, parts), strict=True
    ):
        if not isinstance(column, NumberColumn):
            continue
        whole = build_term(sketch_column(column, weights[kept]), through_two=True)
        term = build_term(merge_sketches(one), through_two=True)
        assert (term is None) == (whole is None)
        if term is not None:
            assert (term.term.low, term.term.high) == (whole.term.low, whole.term.high)
            found = term.center, term.sd, term.spread
            np.testing.assert_allclose(found, (whole.center, whole.sd, whole.spread), rtol=1e-9)


def test_a_linear_term_is_winsorised_and_scaled_as_rows_say():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=400), rng.integers(1, 4, 400).astype(float)
    values[::7] = np.nan
    term = build_term(sketch_column(NumberColumn("x", values), weights), through_two=True)
    rows = np.repeat(values, weights.astype(int))
    known = np.sort(rows[~np.isnan(rows)])
    low, high = (known[int(np.ceil(share * len(known))) - 1] for share in (0.025, 0.975))
    assert (term.term.low, term.term.high) == (low, high)
    clipped = np.clip(known, low, high)
    assert term.center == pytest.approx(clipped.mean())
    assert term.sd == pytest.approx(clipped.std())
    filled = np.where(np.isnan(rows), clipped.mean(), np.clip(rows, low, high))
    assert term.spread == pytest.approx(filled.std())


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(4, 60),
    st.booleans(),
)
def test_shortened_summaries_keep_their_bound(seed, n_parts, kept, heavy):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=1500).round(3)
    if heavy:
        values[rng.random(1500) < 0.3] = 0.5
    weights = rng.choice([1.0, 2.0, 0.25], 1500)
    parts = np.array_split(np.arange(1500), np.sort(rng.integers(0, 1500, n_parts)))
    sketches = [
        shorten(sketch_column(NumberColumn("x", values[rows]), weights[rows]), 30, kept)
        for rows in parts
    ]
    merged = shorten(merge_sketches(sketches), 30, kept)
    assert merged.known == pytest.approx(weights.sum())
    assert merged.distinct.values[[0, -1]].tolist() == [values.min(), values.max()]
    for at in (*np.unique(values)[::11], *choose_binning([merged], ["x"]).features[0].thresholds):
        place = np.searchsorted(merged.distinct.values, at, side="right")
        found = merged.distinct.cumulative[place - 1] if place else 0.0
        true = weights[values <= at].sum()
        assert -1e-9 <= true - found <= merged.error + 1e-9
    assert merged.error <= 2.0 * weights.sum() / (kept - 1) + 1e-9
    assert len(merged.distinct.values) <= max(30, kept)


def test_heavy_values_keep_their_bins_in_shortened_summaries():
    rng = np.random.default_rng(1)
    values = np.where(rng.random(50_000) < 0.4, 0.0, rng.normal(size=50_000))
    whole = sketch_column(NumberColumn("x", values))
    short = shorten(whole, 1000, 1000)
    assert short.error <= 50
    exact, found = (choose_binning([one], ["x"], bins=20).features[0] for one in (whole, short))
    assert len(exact.thresholds) == len(found.thresholds)
    shares = [np.searchsorted(np.sort(values), one.thresholds) for one in (exact, found)]
    np.testing.assert_allclose(*shares, atol=2 * short.error)
    assert any(low < 0.0 <= high for low, high in pairwise(found.thresholds))


def test_frequent_levels_stay_in_shortened_summaries():
    weights = np.array([5.0, 1.0, 7.0, 2.0, 7.0])
    sketch = shorten(LevelSketch("c", tuple("abcde"), weights, 3.0), 4, 2)
    assert (sketch.levels, sketch.weights.tolist()) == (("c", "e"), [7.0, 7.0])
    assert (sketch.others, sketch.error, sketch.known) == (8.0, 5.0, 22.0)
    (bins,) = choose_binning([sketch], ["c"]).features
    assert bins.levels == ("c", "e")
    assert bins.observed == 0b1111
    (common,) = choose_binning([sketch], ["c"], min_level_share=0.4).features
    assert common.levels == ()
    ordered = LevelSketch("c", tuple("abcde"), weights, 0.0, ordered=True)
    assert shorten(ordered, 4, 2) is ordered


def sketch_of(values, part, **options):
    (column,) = read_table(pd.DataFrame({"x": pd.Series(values, **options)})).columns
    return sketch_column(column, part=part)


def test_numbers_and_texts_are_refused_by_name():
    parts = [sketch_of([1.0, 2.0], "partition 0"), sketch_of(["low", "high"], "partition 3")]
    message = r"Column 'x' holds numbers in partition 0 and the text 'high' as a level in part.* 3"
    with pytest.raises(TypeError, match=message):
        merge_sketches(parts)
    with pytest.raises(TypeError, match=message):
        merge_sketches([merge_sketches(parts[:1] * 2), merge_sketches(parts[1:] * 2)])


def test_orders_of_levels_have_to_agree():
    first = sketch_of(["S"], "partition 0", dtype=SIZES)
    other = sketch_of(["S"], "partition 1", dtype=pd.CategoricalDtype(["S", "M"], ordered=True))
    with pytest.raises(TypeError, match=r"'x' has the ordered levels .*'L'\] in partition 0 and"):
        merge_sketches([first, other])
    with pytest.raises(TypeError, match="not ordered, in partition 1; give it the same categories"):
        merge_sketches([first, sketch_of(["S"], "partition 1")])


def test_a_part_without_values_is_of_any_kind():
    empty = sketch_of([None, None], "partition 0", dtype=object)
    assert isinstance(empty, NumberSketch)
    texts = merge_sketches([empty, sketch_of(["b", "a"], "partition 1")])
    assert (texts.levels, texts.missing, texts.part) == (("a", "b"), 2.0, "partition 1")
    flags = sketch_column(LevelColumn("x", np.array([-1]), (False, True)))
    numbers = merge_sketches([flags, sketch_of([1.5], "partition 1")])
    assert (numbers.distinct.values.tolist(), numbers.missing) == ([1.5], 1.0)
    neither = merge_sketches([empty, flags])
    assert (neither.levels, neither.missing) == ((False, True), 3.0)
    assert merge_sketches([empty, empty]).missing == 4.0


def test_booleans_are_numbers_where_there_are_numbers():
    merged = merge_sketches([sketch_of([True, True], "a"), sketch_of([0, 3], "b")])
    assert merged.distinct.values.tolist() == [0.0, 1.0, 3.0]
    assert merged.distinct.cumulative.tolist() == [1.0, 3.0, 4.0]
    bins = Binning(choose_binning([merged], ["x"]).features)
    table = read_table(pd.DataFrame({"x": [True, False]}))
    assert bins.encode(table).tolist() == [[1, 0]]


def test_levels_are_sorted_if_those_of_all_parts_are():
    assert merge_levels([("b", "d"), ("a", "c")]) == ("a", "b", "c", "d")
    assert merge_levels([(2, 10), (3, "x")]) == (2, 3, 10, "x")
    assert merge_levels([("d", "b"), ("a", "d")]) == ("d", "b", "a")
    assert merge_levels([("d", "b"), ("d", "b")]) == ("d", "b")
