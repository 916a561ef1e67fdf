"""Bins agree with conditions on the raw values, missing values and unseen levels included."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ruleglm.binning import (
    Binning,
    LevelBins,
    NumberBins,
    OrderedBins,
    bin_rows,
    build_binning,
)
from ruleglm.frames import LevelColumn, NumberColumn, Table, read_table
from ruleglm.rules import Levels, Missing, Range, Rule

SIZES = ("XS", "S", "M", "L", "XL")
NUMBERS = st.one_of(
    st.integers(-4, 4).map(float),
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf]),
)
LEVELS = st.sampled_from(["a", "b", "c", "d e", "", None])
FLAGS = st.sampled_from([True, False, None])
RANKS = st.sampled_from([*SIZES, None])


def make_table(numbers, levels, flags, sizes):
    size = pd.Categorical(sizes, categories=SIZES, ordered=True)
    level, flag = pd.Series(levels, dtype="str"), pd.Series(flags, dtype="boolean")
    return read_table(pd.DataFrame({"x": numbers, "c": level, "f": flag, "size": size}))


@st.composite
def tables(draw, max_size=30):
    n_rows = draw(st.integers(1, max_size))
    kinds = (NUMBERS, LEVELS, FLAGS, RANKS)
    return make_table(*(draw(st.lists(k, min_size=n_rows, max_size=n_rows)) for k in kinds))


@st.composite
def binnings(draw):
    table = draw(tables())
    share = draw(st.sampled_from([0.0, 0.1, 0.3]))
    return table, build_binning(table, bins=draw(st.integers(2, 9)), min_level_share=share)


def other_rows():
    """Rows with missing values and levels that training has not seen."""
    table = read_table(
        pd.DataFrame(
            {
                "x": [math.nan, math.inf, -math.inf, 0.0, 0.5, -1e300],
                "c": ["new", None, "a", "b", "c", "d e"],
                "f": pd.Series([1, 0, None, 2, 1, 0], dtype="Int64"),
                "size": ["XXL", None, "XS", "S", "M", "L"],
            }
        ),
        kinds={"x": "number", "c": "level", "f": "level", "size": "ordered"},
        levels={"size": SIZES},
    )
    assert table.column("size").levels[-1] == "XXL"
    return table


def in_mask(codes, mask):
    return np.array([mask >> int(code) & 1 for code in codes], dtype=bool)


def all_masks(bins):
    """Return every mask that is a condition, of any degree."""
    found = []
    for mask in range(1, min(1 << bins.n_bins, 1 << 11)):
        try:
            bins.condition(mask)
        except ValueError:
            continue
        found.append(mask)
    return found


# ------------------------------------------------------------------------ agreement with conditions


@given(binnings())
def test_codes_agree_with_conditions_on_raw_values(case):
    trained, binning = case
    for table in (trained, other_rows()):
        codes = binning.encode(table)
        for bins, code in zip(binning.features, codes, strict=True):
            assert code.max() < bins.n_bins
            for mask in {*bins.vocabulary.masks, *all_masks(bins)}:
                holds = bins.condition(mask).holds(table.column(bins.name))
                np.testing.assert_array_equal(in_mask(code, mask), holds)


@given(binnings())
def test_observed_bins_are_those_with_rows(case):
    table, binning = case
    for bins, code in zip(binning.features, binning.encode(table), strict=True):
        assert bins.observed == sum(1 << int(value) for value in np.unique(code))


@given(binnings())
def test_masks_and_conditions_are_inverse(case):
    _, binning = case
    for bins in binning.features:
        for mask in all_masks(bins):
            condition = bins.condition(mask)
            assert bins.mask(condition) == mask
            assert bins.degree(mask) == condition.degree


@given(binnings())
def test_what_is_no_condition_has_no_degree(case):
    _, binning = case
    for bins in binning.features:
        for mask in set(range(-1, 1 << min(bins.n_bins + 1, 11))).difference(all_masks(bins)):
            with pytest.raises(ValueError, match="are not one condition"):
                bins.degree(mask)


@given(binnings(), st.data())
def test_rules_over_bins_come_back(case, data):
    table, binning = case
    bin_rule = ()
    for feature, bins in enumerate(binning.features):
        mask = data.draw(st.sampled_from([None, *all_masks(bins)]))
        bin_rule += () if mask is None else ((feature, mask),)
    rule = binning.to_rule(bin_rule)
    assert binning.from_rule(rule) == bin_rule
    assert binning.degree(bin_rule) == rule.degree
    codes = binning.encode(table)
    rows = np.ones(table.n_rows, dtype=bool)
    for feature, mask in bin_rule:
        rows &= in_mask(codes[feature], mask)
    np.testing.assert_array_equal(rule.holds(table), rows)


# -------------------------------------------------------------------------------- the vocabulary


@given(binnings())
def test_vocabulary_splits_the_rows_in_different_ways(case):
    _, binning = case
    for bins in binning.features:
        words = bins.vocabulary
        seen = [mask & bins.observed for mask in words.masks]
        assert len(set(seen)) == len(seen) == len(words)
        assert all(mask not in (0, bins.observed) for mask in seen)
        assert all(bins.degree(mask) == 1 for mask in words.masks)
        kept = [seen[place] for place in bins.first_degree]
        assert all(bins.observed & ~mask not in kept for mask in kept)
        assert all(mask in kept or bins.observed & ~mask in kept for mask in seen)


@given(binnings())
def test_vocabulary_misses_no_split_of_degree_one(case):
    _, binning = case
    for bins in binning.features:
        seen = {mask & bins.observed for mask in bins.vocabulary.masks}
        first = (mask for mask in all_masks(bins) if bins.degree(mask) == 1)
        assert {mask & bins.observed for mask in first} - seen <= {0, bins.observed}


@given(binnings())
def test_vocabulary_arrays_say_what_the_masks_say(case):
    _, binning = case
    for bins in binning.features:
        words = bins.vocabulary
        for lo, hi, negate, mask in zip(words.lo, words.hi, words.negate, words.masks, strict=True):
            span = {bin_ for bin_ in range(bins.n_bins) if lo <= bin_ <= hi}
            expected = set(range(bins.n_bins - 1)) - span if negate else span
            assert {bin_ for bin_ in range(bins.n_bins) if mask >> bin_ & 1} == expected


def test_vocabulary_of_numbers_in_words():
    table = Table((NumberColumn("x", np.array([1.0, 2.0, 3.0, math.nan])),))
    (bins,) = build_binning(table).features
    said = [str(bins.condition(mask)) for mask in bins.vocabulary.masks]
    assert said == [
        "x <= 1.5",
        "x <= 2.5",
        "x > 1.5",
        "x > 2.5",
        "x is missing",
        "x is not missing",
    ]
    assert bins.first_degree.tolist() == [0, 1, 2, 3, 4]


def test_vocabulary_of_levels_in_words():
    three = read_table(pd.DataFrame({"c": ["a", "b", "c"]}))
    (bins,) = build_binning(three).features
    said = [str(bins.condition(mask)) for mask in bins.vocabulary.masks]
    assert said == ["c = 'a'", "c = 'b'", "c = 'c'", "c != 'a'", "c != 'b'", "c != 'c'"]
    assert bins.first_degree.tolist() == [0, 1, 2]
    (flag,) = build_binning(read_table(pd.DataFrame({"f": [True, False]}))).features
    assert [str(flag.condition(mask)) for mask in flag.vocabulary.masks] == [
        "f = false",
        "f = true",
    ]


def test_vocabulary_of_ordered_levels_in_words():
    size = pd.Categorical(["S", "M", "L"], categories=["S", "M", "L"], ordered=True)
    binning = build_binning(read_table(pd.DataFrame({"size": size})))
    (bins,) = binning.features
    said = [str(bins.condition(mask)) for mask in bins.vocabulary.masks]
    assert said == ["size <= 'S'", "size <= 'M'", "size > 'S'", "size > 'M'"]
    assert binning.kinds == {"size": "ordered"}
    assert binning.orders == {"size": ("S", "M", "L")}


@pytest.mark.parametrize("values", [[1.0, 1.0], [math.nan, math.nan], ["a", "a"], [True, True]])
def test_constant_columns_are_kept_without_vocabulary(values):
    (bins,) = build_binning(read_table(pd.DataFrame({"x": values}))).features
    assert len(bins.vocabulary) == 0
    assert len(bins.first_degree) == 0


# ------------------------------------------------------------------------------ building the bins


@given(tables(), st.data())
def test_a_weight_is_as_many_rows(table, data):
    size = {"min_size": table.n_rows, "max_size": table.n_rows}
    weights = data.draw(st.lists(st.integers(0, 3), **size))
    assume(sum(weights))
    options = {"bins": data.draw(st.integers(2, 6)), "min_level_share": 0.2}
    repeated = table.take(np.repeat(np.arange(table.n_rows), weights))
    weighted = build_binning(table, sample_weight=np.array(weights, dtype=float), **options)
    assert weighted == build_binning(repeated, **options)


def test_codes_are_rows_of_bytes():
    table = read_table(np.random.default_rng(0).normal(size=(50, 3)))
    binning = build_binning(table, bins=254)
    codes = binning.encode(table)
    assert codes.shape == (3, 50)
    assert codes.dtype == np.uint8
    assert codes.flags.c_contiguous
    assert binning.n_features == 3
    assert binning.n_bins.tolist() == [51, 51, 51]
    assert binning.names == ("x0", "x1", "x2")


@pytest.mark.parametrize("n_thresholds", [0, 1, 127, 128, 254])
def test_number_codes_are_what_searchsorted_finds(n_thresholds):
    rng = np.random.default_rng(n_thresholds)
    thresholds = np.unique(rng.integers(-900, 900, 4000) / 4)[:n_thresholds]
    values = rng.integers(-900, 900, 40000) / 4
    bins = NumberBins("x", tuple(thresholds.tolist()), observed=0)
    expected = np.searchsorted(thresholds, values, side="left")
    np.testing.assert_array_equal(bins.encode(NumberColumn("x", values)), expected)


def test_given_thresholds_replace_chosen_ones():
    table = read_table(pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": ["a", "b", "a"]}))
    bins = build_binning(table, thresholds={"x": [2, 10]}).features[0]
    assert bins == NumberBins("x", (2.0, 10.0), observed=0b0011)
    assert [str(bins.condition(mask)) for mask in bins.vocabulary.masks] == ["x <= 2", "x > 2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 1}, "`bins` must be from 2 to 254, got 1"),
        ({"bins": 255}, "`bins` must be from 2 to 254"),
        ({"min_level_share": -0.1}, "`min_level_share` must be from 0 to 1"),
        ({"thresholds": {"x": [2, 1]}}, "'x' must ascend"),
        ({"thresholds": {"x": [1, 1]}}, "'x' must ascend"),
        ({"thresholds": {"x": [1, math.nan]}}, "'x' has the threshold nan"),
        ({"thresholds": {"x": range(300)}}, "'x' has 300 thresholds"),
        ({"thresholds": {"y": [1]}}, "no column 'y'"),
        ({"thresholds": {"c": [1]}}, "'c', which holds levels"),
        ({"sample_weight": np.ones(2)}, r"has shape \(2,\), not \(3,\)"),
    ],
)
def test_bad_options_are_refused(options, message):
    table = read_table(pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": ["a", "b", "a"]}))
    with pytest.raises(ValueError, match=message):
        build_binning(table, **options)


def test_rare_levels_share_a_bin():
    table = read_table(pd.DataFrame({"c": ["a"] * 6 + ["b"] * 3 + ["rare"]}))
    (bins,) = build_binning(table, min_level_share=0.2).features
    assert bins == LevelBins("c", ("a", "b"), observed=0b0111)
    assert bins.condition(0b0100) == Levels("c", ("a", "b"), negated=True)


def test_the_most_frequent_levels_have_a_bin():
    codes = np.repeat(np.arange(400), np.where(np.arange(400) % 2, 1, 2))
    table = Table((LevelColumn("c", codes, tuple(range(400))),))
    (bins,) = build_binning(table).features
    assert bins.n_bins == 255
    assert bins.levels == tuple(sorted([*range(0, 400, 2), *range(1, 106, 2)]))


def test_too_many_ordered_levels_are_refused():
    table = Table((LevelColumn("c", np.arange(255), tuple(range(255)), ordered=True),))
    with pytest.raises(ValueError, match="'c' has 255 levels"):
        build_binning(table)


def test_unused_categories_get_no_bin_and_infinite_levels_none_of_their_own():
    unused = pd.Categorical(["a", "b"], categories=["z", "b", "a"])
    assert build_binning(read_table(pd.DataFrame({"c": unused}))).features[0].levels == ("b", "a")
    table = read_table(np.array([[1.0], [math.inf]]), categorical=[0])
    assert build_binning(table).features[0] == LevelBins("x0", (1,), observed=0b011)


# -------------------------------------------------------------------------- what cannot be said


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (Range("x", high=7.0), "7.0 is not one of its thresholds"),
        (Levels("x", (1,)), "it holds numbers"),
        (Levels("c", ("z",)), "the level 'z' has no bin of its own"),
        (Range("c", high=1.0), "its levels have no order"),
        (Levels("s", ("S",)), "it holds ordered levels"),
        (Range("s", high=0, order=("M", "S")), "its order is"),
        (Missing("y", missing=True), "'y', not a feature"),
    ],
)
def test_conditions_off_the_bins_are_refused(condition, message):
    binning = Binning(
        (
            NumberBins("x", (1.5,), observed=0b011),
            LevelBins("c", ("a", "b"), observed=0b0011),
            OrderedBins("s", ("S", "M"), observed=0b0011),
        )
    )
    with pytest.raises(ValueError, match=message):
        binning.from_rule(Rule((condition,)))


@pytest.mark.parametrize("mask", [0, 0b101, 0b1001, 0b1111, -1])
def test_masks_that_are_no_condition_are_refused(mask):
    bins = NumberBins("x", (1.5, 2.5), observed=0b0111)
    with pytest.raises(ValueError, match="of column 'x' are not one condition"):
        bins.condition(mask)


def test_binning_survives_pickling():
    table = make_table([1.0, 2.0], ["a", "b"], [True, None], ["S", "M"])
    binning = build_binning(table)
    again = pickle.loads(pickle.dumps(binning))
    assert again == binning
    np.testing.assert_array_equal(again.encode(table), binning.encode(table))


@given(tables(), st.data())
def test_one_pass_chooses_and_codes_like_two(table, data):
    weights = st.sampled_from([0.0, 1.0, 2.5])
    n_rows = table.n_rows
    weight = np.array(data.draw(st.lists(weights, min_size=n_rows, max_size=n_rows)))
    seen = []
    binning, codes = bin_rows(
        table, bins=5, sample_weight=weight, visit=lambda column, _: seen.append(column.name)
    )
    assert binning == build_binning(table, bins=5, sample_weight=weight)
    assert codes.dtype == np.uint8
    assert codes.tolist() == binning.encode(table).tolist()
    assert seen == list(table.names)
