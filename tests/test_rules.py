import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleglm.conditions import format_number, quote_name
from ruleglm.frames import LevelColumn, NumberColumn, Table
from ruleglm.rules import Levels, LinearTerm, Missing, Range, Rule
from tests.rule_strategies import (
    conditions,
    floats,
    level_column,
    level_sets,
    missings,
    number_column,
    ordered_ranges,
    ranges,
    rule_conditions,
    value_satisfies,
)

relaxed = settings(deadline=None)
SIZES = ("S", "M", "L", "XL")
NAN, INF = math.nan, math.inf

few_numbers = st.sampled_from([-1.0, 0.0, 1.0, 1.5, 2.0, 3.0])
few_levels = st.sampled_from(["a", "b", "c", "unseen", 0, 1, 2.5, True])
one_name = st.just("f")
number_conditions = (
    st.builds(Range, one_name, low=few_numbers)
    | st.builds(Range, one_name, high=few_numbers)
    | missings(one_name)
)
level_conditions = level_sets(one_name, few_levels) | missings(one_name)
rank_conditions = ordered_ranges(one_name, st.just(SIZES)) | missings(one_name)
number_values = st.lists(st.none() | few_numbers | st.sampled_from([-INF, INF]), min_size=1)
level_values = st.lists(st.none() | few_levels, min_size=1)
rank_values = st.lists(st.sampled_from([None, *SIZES, "unseen"]), min_size=1)


# ------------------------------------------------------------------------------------------ text


@pytest.mark.parametrize(
    ("condition", "text", "degree"),
    [
        (Range("age", low=50), "age > 50", 1),
        (Range("age", high=37.5), "age <= 37.5", 1),
        (Range("age", 30, 50), "30 < age <= 50", 2),
        (Range("age", low=math.nextafter(50, -INF)), "age >= 50", 1),
        (Range("age", high=math.nextafter(50, -INF)), "age < 50", 1),
        (Range("age", math.nextafter(3, 0), math.nextafter(5, 0)), "3 <= age < 5", 2),
        (Range("x", high=math.nextafter(0, -INF)), "x < 0", 1),
        (Range("x", high=-0.0), "x <= 0", 1),
        (Range("x", low=-1e20), "x > -1e+20", 1),
        (Range("size", high=1, order=SIZES), "size <= 'M'", 1),
        (Range("size", low=1, order=SIZES), "size > 'M'", 1),
        (Range("size", 0, 2, SIZES), "'S' < size <= 'L'", 2),
        (Range("size", 0, 3, SIZES), "size > 'S'", 1),
        (Levels("sex", ("F",)), "sex = 'F'", 1),
        (Levels("sex", ("F",), negated=True), "sex != 'F'", 1),
        (Levels("c", ("b", "a", "b")), "c in {'a', 'b'}", 2),
        (Levels("c", ("a", 2, 1.0), negated=True), "c not in {1, 2, 'a'}", 3),
        (Levels("flag", (True,)), "flag = true", 1),
        (Levels("quote", ("it's",)), "quote = 'it''s'", 1),
        (Missing("bmi", missing=True), "bmi is missing", 1),
        (Missing("body mass", missing=False), "`body mass` is not missing", 1),
    ],
)
def test_text_and_degree(condition, text, degree):
    assert (str(condition), condition.text(), condition.degree) == (text, text, degree)


def test_rule_reads_pleasantly():
    rule = Rule((Missing("bmi", missing=False), Levels("sex", ("F",)), Range("age", low=50)))
    assert str(rule) == "age > 50 and bmi is not missing and sex = 'F'"
    assert rule.features == ("age", "bmi", "sex")
    assert rule.degree == 3
    assert (str(Rule(())), Rule(()).degree) == ("true", 0)


@pytest.mark.parametrize("name", ["age", "capital-gain", "x.1", "é", "日本", "_", "or"])
def test_simple_names_stay_bare(name):
    assert quote_name(name) == name


@pytest.mark.parametrize(
    ("name", "quoted"),
    [("a b", "`a b`"), ("AND", "`AND`"), ("a`b", "`a``b`"), ("", "``"), ("1x", "`1x`")],
)
def test_other_names_are_quoted(name, quoted):
    assert quote_name(name) == quoted


@given(floats)
def test_numbers_are_written_exactly(value):
    text = format_number(value)
    assert float(text) == value
    assert not text.endswith(".0")


# ------------------------------------------------------------------------- canonical conjunctions

OVER_3, UPTO_5 = Range("x", low=3), Range("x", high=5)
IN_AB, NOT_A, NOT_B = Levels("x", ("a", "b")), Levels("x", ("a",), True), Levels("x", ("b",), True)
PRESENT, ABSENT = Missing("x", missing=False), Missing("x", missing=True)


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ((OVER_3, Range("x", low=5)), "x > 5"),
        ((OVER_3, UPTO_5), "3 < x <= 5"),
        ((PRESENT, OVER_3), "x > 3"),
        ((PRESENT, PRESENT), "x is not missing"),
        ((ABSENT, ABSENT), "x is missing"),
        ((NOT_A, NOT_B), "x not in {'a', 'b'}"),
        ((IN_AB, NOT_A), "x = 'b'"),
        ((NOT_A, PRESENT), "x != 'a'"),
        ((IN_AB, Levels("x", ("b", "c"))), "x = 'b'"),
        ((Range("x", low=0, order=SIZES), Range("x", high=2, order=SIZES)), "'S' < x <= 'L'"),
    ],
)
def test_conditions_on_one_feature_merge(conditions, text):
    assert str(Rule(conditions)) == str(Rule(conditions[::-1])) == text


@pytest.mark.parametrize(
    "conditions",
    [
        (OVER_3, Range("x", high=3)),
        (OVER_3, ABSENT),
        (PRESENT, ABSENT),
        (IN_AB, NOT_A, NOT_B),
        (IN_AB, Levels("x", ("c",))),
        (IN_AB, ABSENT),
        (Range("x", low=1, order=SIZES), Range("x", high=0, order=SIZES)),
    ],
)
def test_contradictions_raise(conditions):
    with pytest.raises(ValueError, match="No row can satisfy"):
        Rule(conditions)


def test_ranges_and_levels_do_not_mix():
    with pytest.raises(ValueError, match="mix a range and levels on column 'x'"):
        Rule((OVER_3, IN_AB))
    with pytest.raises(ValueError, match="different orders of column 'x'"):
        Rule((Range("x", low=0, order=SIZES), Range("x", low=0, order=SIZES[::-1])))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Range("x"), "needs a bound"),
        (lambda: Range("x", low=NAN), "NaN"),
        (lambda: Range("x", 5, 3), "No row can satisfy `5 < x <= 3`"),
        (lambda: Range("x", low=INF), "No row can satisfy the bounds inf"),
        (lambda: Range("x", high=-INF), "No row can satisfy the bounds -inf"),
        (lambda: Range("x", low=3, order=SIZES), "No row can satisfy `x > 'XL'`"),
        (
            lambda: Range("x", low=4, order=SIZES),
            "bound 4.0 on column 'x' is no position in the order",
        ),
        (
            lambda: Range("x", high=0.5, order=SIZES),
            "bound 0.5 on column 'x' is no position in the order",
        ),
        (lambda: Range("x", high=0, order=("a", "a")), "repeats a level"),
        (lambda: Levels("x", ()), "No row can satisfy `x in {}`"),
        (lambda: Levels("x", (), negated=True), "say `x is not missing`"),
        (lambda: Levels("x", (NAN,)), "nan cannot be a level of column 'x'"),
        (lambda: Levels("x", (None,)), "None cannot be a level of column 'x'"),
        (lambda: LinearTerm("x", 3, 1, 0), "column 'x' needs low <= high"),
        (lambda: LinearTerm("x", 0, 1, NAN), "finite fill"),
    ],
)
def test_impossible_values_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_string_is_not_a_tuple_of_levels():
    with pytest.raises(TypeError, match=r"\('Male',\)"):
        Levels("sex", "Male")


def join(conditions):
    """Return the rule, or None if the conditions contradict each other."""
    try:
        return Rule(tuple(conditions))
    except ValueError as error:
        if "No row can satisfy" in str(error):
            return None
        raise


def check_truth_is_kept(conditions, values, column):
    expected = [all(value_satisfies(c, value) for c in conditions) for value in values]
    rule = join(conditions)
    if rule is None:
        assert not any(expected)
        return
    assert len(rule.conditions) <= 1
    assert rule.degree <= sum(condition.degree for condition in conditions)
    assert rule.holds(Table((column,))).tolist() == expected


@relaxed
@given(st.lists(number_conditions, max_size=4), number_values)
def test_merging_keeps_the_truth_of_numbers(conditions, values):
    check_truth_is_kept(conditions, values, number_column("f", values))


@relaxed
@given(st.lists(level_conditions, max_size=4), level_values)
def test_merging_keeps_the_truth_of_levels(conditions, values):
    check_truth_is_kept(conditions, values, level_column("f", values))


@relaxed
@given(st.lists(rank_conditions, max_size=4), rank_values)
def test_merging_keeps_the_truth_of_ranks(conditions, values):
    check_truth_is_kept(conditions, values, level_column("f", values))


@given(rule_conditions, st.randoms())
def test_order_of_conditions_does_not_matter(conditions, random):
    rule = Rule(tuple(conditions))
    random.shuffle(conditions)
    again = Rule(tuple(conditions))
    assert (again, hash(again), str(again)) == (rule, hash(rule), str(rule))
    assert Rule(rule.conditions) == rule
    assert rule.degree == sum(condition.degree for condition in conditions)
    assert pickle.loads(pickle.dumps(rule)) == rule


@given(conditions, conditions, conditions)
def test_conditions_are_totally_ordered(a, b, c):
    assert (a < b) + (a == b) + (a > b) == 1
    low, mid, high = sorted([a, b, c])
    assert low <= mid <= high
    assert low <= high
    assert sorted([Rule((a,)), Rule((b,)), Rule(())])[0] == Rule(())
    assert (Rule((a,)) < Rule((b,))) == (a < b)


# ------------------------------------------------------------------------------- truth on columns


@relaxed
@given(ranges(one_name), st.lists(st.none() | floats | st.sampled_from([-INF, INF]), min_size=1))
def test_range_holds_on_numbers_and_on_numeric_levels(condition, values):
    expected = [value_satisfies(condition, value) for value in values]
    assert condition.holds(number_column("f", values)).tolist() == expected
    assert condition.holds(level_column("f", values)).tolist() == expected


@relaxed
@given(level_sets(one_name, few_levels), number_values)
def test_levels_hold_on_numbers_by_equality(condition, values):
    expected = [value_satisfies(condition, value) for value in values]
    assert condition.holds(number_column("f", values)).tolist() == expected


def test_levels_that_no_double_holds_equal_no_number():
    column = NumberColumn("x", np.array([2.0**53, 1e308, NAN]))
    huge = Levels("x", (2**53 + 1, 10**400))
    assert huge.holds(column).tolist() == [False, False, False]
    assert Levels("x", huge.levels, negated=True).holds(column).tolist() == [True, True, False]
    assert Levels("x", (1e308,)).holds(column).tolist() == [False, True, False]


def test_truth_values_and_numbers_interchange():
    flags = LevelColumn("f", np.array([0, 1, -1]), (False, True))
    assert Levels("f", (1,)).holds(flags).tolist() == [False, True, False]
    assert Levels("f", (np.bool_(True),)) == Levels("f", (np.int64(1),)) == Levels("f", (1.0,))
    assert Range("f", high=0.5).holds(flags).tolist() == [True, False, False]


def test_missing_and_unseen():
    column = LevelColumn("size", np.array([0, 1, 2, -1]), ("M", "S", "unseen"))
    truths = {
        "<=": Range("size", high=1, order=SIZES),
        ">": Range("size", low=0, order=SIZES),
        "=": Levels("size", ("M",)),
        "!=": Levels("size", ("M",), negated=True),
        "missing": Missing("size", missing=True),
        "present": Missing("size", missing=False),
    }
    assert {sign: condition.holds(column).tolist() for sign, condition in truths.items()} == {
        "<=": [True, True, False, False],
        ">": [True, False, False, False],
        "=": [True, False, False, False],
        "!=": [False, True, True, False],
        "missing": [False, False, False, True],
        "present": [True, True, True, False],
    }


def test_ordered_numeric_levels_are_found_in_a_number_column():
    column = NumberColumn("grade", np.array([1.0, 3.0, 5.0, 4.0, NAN]))
    condition = Range("grade", high=1, order=(5, 3, 1))
    assert condition.holds(column).tolist() == [False, True, True, False, False]


def test_text_levels_have_no_range_without_an_order():
    column = LevelColumn("size", np.array([0]), ("S",))
    with pytest.raises(ValueError, match="Column 'size' holds the text 'S'"):
        Range("size", low=3).holds(column)


def test_the_empty_rule_always_holds():
    assert Rule(()).holds(Table((NumberColumn("x", np.array([1.0, NAN])),))).tolist() == [True] * 2


def test_evaluation_leaves_the_column_alone():
    codes = np.array([0, -1, 1])
    column = LevelColumn("c", codes, ("a", "b"))
    Rule((Levels("c", ("a",), negated=True),)).holds(Table((column,)))
    assert codes.tolist() == [0, -1, 1]


# ----------------------------------------------------------------------------------- linear terms


def test_linear_term_clips_and_fills():
    table = Table(
        (
            NumberColumn("x", np.array([-INF, 0.5, NAN, 9.0, INF])),
            LevelColumn("flag", np.array([0, 1, -1, 0, 0]), (False, True)),
        )
    )
    term = LinearTerm("x", 0, 2, 1.25)
    assert term.values(table).tolist() == [0.0, 0.5, 1.25, 2.0, 2.0]
    assert LinearTerm("flag", 0, 1, 0.5).values(table).tolist() == [0.0, 1.0, 0.5, 0.0, 0.0]
    assert (str(term), LinearTerm("a b", 0, 1, 0).text()) == ("x", "`a b`")
