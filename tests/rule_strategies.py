"""Hypothesis strategies for conditions, rules and the columns they are tried on."""

import math

import numpy as np
from hypothesis import strategies as st

from ruleglm.frames import Column, Level, LevelColumn, NumberColumn
from ruleglm.rules import Condition, Levels, Missing, Range

ODD_TEXTS = (
    "", " ", "`", "``", "'", "''", '"', "a`b", "it's", "\n", "a\nb", "\t", "\\", "😀", "日本", "é",
    "and", "IN", "Is", "not", "Missing", "TRUE", "false", "true", "inf", "nan", "-", "x-1", "x.",
    "1x", "x y", "{}", "a, b", "<=", "\u0661", "²", "ﬁ", "\x00", "e\u0301",
)  # fmt: skip

texts = (
    st.sampled_from(ODD_TEXTS) | st.text(max_size=8) | st.from_regex(r"[a-z]{1,3}", fullmatch=True)
)
whole_floats = st.integers(-60, 60).map(float)
tidy_floats = whole_floats | st.decimals(-60, 60, places=2).map(float)
neighbours = st.tuples(tidy_floats, st.sampled_from([-math.inf, math.inf])).map(
    lambda pair: math.nextafter(*pair)
)
floats = tidy_floats | neighbours | st.floats(allow_nan=False, allow_infinity=False)
levels = texts | st.booleans() | st.integers() | floats
orders = st.lists(levels, min_size=2, max_size=6, unique=True).map(tuple)


@st.composite
def ranges(
    draw: st.DrawFn,
    names: st.SearchStrategy[str] = texts,
    floats: st.SearchStrategy[float] = floats,
) -> Range:
    low, high = sorted(draw(st.lists(floats, min_size=2, max_size=2, unique=True)))
    low, high = draw(st.sampled_from([(low, high), (-math.inf, high), (low, math.inf)]))
    return Range(draw(names), low, high)


@st.composite
def ordered_ranges(
    draw: st.DrawFn,
    names: st.SearchStrategy[str] = texts,
    orders: st.SearchStrategy[tuple[Level, ...]] = orders,
) -> Range:
    order = draw(orders)
    last = len(order) - 1
    low = draw(st.sampled_from([-math.inf, *map(float, range(last))]))
    first = 0 if math.isinf(low) else int(low) + 1
    highs = [*map(float, range(first, last + 1)), *([] if math.isinf(low) else [math.inf])]
    return Range(draw(names), low, draw(st.sampled_from(highs)), order)


def level_sets(
    names: st.SearchStrategy[str] = texts, levels: st.SearchStrategy[Level] = levels
) -> st.SearchStrategy[Levels]:
    several = st.lists(levels, min_size=1, max_size=4).map(tuple)
    return st.builds(Levels, names, several, st.booleans())


def missings(names: st.SearchStrategy[str] = texts) -> st.SearchStrategy[Missing]:
    return st.builds(Missing, names, st.booleans())


conditions = ranges() | ordered_ranges() | level_sets() | missings()
rule_conditions = st.lists(conditions, max_size=5, unique_by=lambda condition: condition.feature)


# ------------------------------------------------------------------- one row at a time, as a twin


def value_satisfies(condition: Condition, value: Level | None) -> bool:
    """Decide one condition for one value, None being missing: the slow twin of `holds`."""
    if isinstance(condition, Missing):
        return (value is None) == condition.missing
    if value is None:
        return False
    if isinstance(condition, Levels):
        return (value in condition.levels) != condition.negated
    if condition.order is not None:
        known = value in condition.order
        value = condition.order.index(value) if known else math.nan
    assert not isinstance(value, str)
    if math.isnan(value):
        return False
    above = math.isinf(condition.low) or value > condition.low
    return above and (math.isinf(condition.high) or value <= condition.high)


def number_column(name: str, values: list[float | None]) -> Column:
    return NumberColumn(name, np.array([math.nan if v is None else v for v in values], dtype=float))


def level_column(name: str, values: list[Level | None]) -> Column:
    found = tuple(dict.fromkeys(v for v in values if v is not None))
    codes = [-1 if v is None else found.index(v) for v in values]
    return LevelColumn(name, np.array(codes, dtype=np.int64), found)
