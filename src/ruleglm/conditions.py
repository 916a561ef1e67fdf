"""Conditions on one column: their text, their truth on data, and how two of them merge.

Every comparison with a missing value is false, as in SQL, also ``!=``. A level that was not seen in
training equals nothing, differs from everything, and has no place in an order.
"""

import math
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any, TypeAlias

import numpy as np

from ruleglm.dtypes import BoolArray, FloatArray
from ruleglm.frames import Column, Level, LevelColumn, NumberColumn

KEYWORDS = frozenset({"and", "in", "is", "not", "missing", "true", "false"})
"""Words of the rule language, in any case; a column of that name is written in backquotes."""

BARE_NAME = re.compile(r"[^\W\d][\w.\-]*")
"""Column names that need no backquotes, unless they are keywords."""


# ---------------------------------------------------------------- text of names, numbers and levels


def quote_name(name: str) -> str:
    """Write a column name as the rule language reads it: bare if it can be, else in backquotes."""
    if BARE_NAME.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def format_number(value: float) -> str:
    """Write the shortest decimal that reads back as the same double, without a trailing ``.0``."""
    return repr(float(value) + 0.0).removesuffix(".0")


def format_level(level: Level) -> str:
    """Write a level: text in single quotes, truth values as words, numbers as numbers."""
    if isinstance(level, str):
        return "'" + level.replace("'", "''") + "'"
    if isinstance(level, bool):
        return "true" if level else "false"
    return str(level) if isinstance(level, int) else format_number(level)


def _canonical_level(level: Level, feature: str) -> Level:
    """Return a plain Python level; whole floats become integers, which they equal anyway."""
    if isinstance(level, np.generic):
        level = level.item()
    if isinstance(level, bool):
        return level
    if isinstance(level, str):
        return str(level)
    if isinstance(level, int) or (isinstance(level, float) and level.is_integer()):
        return int(level)
    if isinstance(level, float) and math.isfinite(level):
        return level
    raise ValueError(
        f"{level!r} cannot be a level of column {feature!r}: levels are text, truth values or "
        "finite numbers (for missing values there is `is missing`)."
    )


def _level_key(level: Level) -> tuple[bool, Level]:
    """Sort numbers and truth values before text."""
    return isinstance(level, str), level


def _distinct_levels(levels: Iterable[Level], feature: str) -> tuple[Level, ...]:
    """Return the levels sorted, each once; of ``true`` and 1, which are equal, ``true`` stays."""
    if isinstance(levels, str):
        raise TypeError(f"Give the levels of column {feature!r} as a tuple: ({levels!r},).")
    canonical = [_canonical_level(level, feature) for level in levels]
    canonical.sort(key=lambda level: (*_level_key(level), not isinstance(level, bool)))
    return tuple(dict.fromkeys(canonical))


# ------------------------------------------------------------------------- evaluation on one column


def _take_by_level(column: LevelColumn, accepted: Iterable[bool]) -> BoolArray:
    """Look the answer of each row up among the answers of the levels; missing rows get False."""
    by_level = np.array([*accepted, False], dtype=np.bool_)  # code -1 reads the last entry
    return by_level.take(column.codes)


def _among_levels(column: Column, levels: frozenset[Level]) -> BoolArray:
    """Return the rows whose value equals one of the levels."""
    if isinstance(column, LevelColumn):
        return _take_by_level(column, [level in levels for level in column.levels])
    return np.isin(column.values, exact_doubles(levels))


def exact_doubles(levels: Iterable[Level]) -> FloatArray:
    """Return the levels that a column of doubles can hold."""
    numbers = [level for level in levels if not isinstance(level, str)]
    inside = [number for number in numbers if abs(number) <= sys.float_info.max]
    return np.array([float(number) for number in inside if float(number) == number])


def level_numbers(column: LevelColumn) -> FloatArray:
    """Return the numbers that the levels are, and a last NaN for missing rows to read."""
    texts = [level for level in column.levels if isinstance(level, str)]
    if texts:
        raise ValueError(
            f"Column {column.name!r} holds the text {texts[0]!r} where a number is needed. Convert "
            "the column to numbers, or give the order of its levels to compare them."
        )
    return np.array([*column.levels, math.nan], dtype=np.float64)


def _is_missing(column: Column) -> BoolArray:
    if isinstance(column, NumberColumn):
        return np.isnan(column.values)
    return column.codes < 0


# --------------------------------------------------------------------------------------- conditions


@total_ordering
@dataclass(frozen=True)
class _Condition(ABC):
    """What the three kinds of conditions share: a feature, a text, an order among themselves."""

    feature: str

    @property
    @abstractmethod
    def degree(self) -> int:
        """Number of elementary conditions that this one stands for."""

    @abstractmethod
    def text(self) -> str:
        """Write the condition as `ruleglm.parser.parse_rule` reads it."""

    @abstractmethod
    def holds(self, column: Column) -> BoolArray:
        """Return the rows of the feature's column that satisfy the condition."""

    @abstractmethod
    def _key(self) -> tuple[Any, ...]:
        """Sort by feature, then ranges before levels before missing, then by value."""

    def __str__(self) -> str:
        return self.text()

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, _Condition) else NotImplemented


@dataclass(frozen=True)
class Range(_Condition):
    """``low < feature <= high``, on numbers or on the ranks of ordered levels.

    Parameters
    ----------
    feature : str
        Name of the column.
    low, high : float
        Bounds; an infinite one is no bound, and infinite values satisfy the side without one.
    order : tuple of levels, optional
        For an ordered category: its levels, lowest first. The bounds are then positions in it.
        A level outside the order satisfies no range, so ``feature <= last`` is "any known level",
        and beside a lower bound the last level is dropped as an upper one.
    """

    low: float = -math.inf
    high: float = math.inf
    order: tuple[Level, ...] | None = None

    def __post_init__(self) -> None:
        low, high = float(self.low) + 0.0, float(self.high) + 0.0
        if self.order is not None:
            order = tuple(_canonical_level(level, self.feature) for level in self.order)
            object.__setattr__(self, "order", order)
            self._check_ranks(low, high, order)
            if low > -math.inf and high == len(order) - 1:
                high = math.inf
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        self._check_bounds()

    def _check_ranks(self, low: float, high: float, order: tuple[Level, ...]) -> None:
        if len(set(order)) < len(order):
            raise ValueError(f"The order of column {self.feature!r} repeats a level: {order}.")
        for bound in (low, high):
            if not math.isinf(bound) and bound not in range(len(order)):
                raise ValueError(
                    f"The bound {bound} on column {self.feature!r} is no position in the order of "
                    f"its {len(order)} levels; positions run from 0 to {len(order) - 1}."
                )

    def _check_bounds(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high):
            raise ValueError(f"A bound on column {self.feature!r} is NaN; bounds are numbers.")
        if self.low == math.inf or self.high == -math.inf:
            raise ValueError(
                f"No row can satisfy the bounds {self.low} < {self.feature!r} <= {self.high}."
            )
        if self.degree == 0:
            raise ValueError(
                f"A range of column {self.feature!r} needs a bound; to ask only for a value, use "
                f"`{Missing(self.feature, missing=False)}`."
            )
        beyond_last = self.order is not None and self.low == len(self.order) - 1
        if self.low >= self.high or beyond_last:
            raise ValueError(f"No row can satisfy `{self.text()}`.")

    @property
    def degree(self) -> int:
        """Number of bounds: 1 or 2."""
        return int(self.low > -math.inf) + int(self.high < math.inf)

    def text(self) -> str:
        """Write the range, with ``<`` and ``>=`` where that makes the number shorter."""
        name = quote_name(self.feature)
        above, low = self._write_bound(self.low, ">", ">=")
        upto, high = self._write_bound(self.high, "<=", "<")
        if self.high == math.inf:
            return f"{name} {above} {low}"
        if self.low == -math.inf:
            return f"{name} {upto} {high}"
        return f"{low} {above.replace('>', '<')} {name} {upto} {high}"

    def _write_bound(self, bound: float, plain: str, other: str) -> tuple[str, str]:
        """Return sign and value; `other` compares with the next double up, to the same effect."""
        if math.isinf(bound):
            return plain, ""
        if self.order is not None:
            return plain, format_level(self.order[int(bound)])
        exact, successor = format_number(bound), math.nextafter(bound, math.inf)
        following = format_number(successor)
        if math.isfinite(successor) and len(following) < len(exact):
            return other, following
        return plain, exact

    def holds(self, column: Column) -> BoolArray:
        """Return the rows of the feature's column that lie in the range."""
        if self.order is not None:
            ranks = enumerate(self.order)
            inside = (level for rank, level in ranks if self.low < rank <= self.high)
            return _among_levels(column, frozenset(inside))
        if isinstance(column, NumberColumn):
            return self._contains(column.values)
        return self._contains(level_numbers(column)).take(column.codes)

    def _contains(self, values: FloatArray) -> BoolArray:
        if self.low == -math.inf:
            return values <= self.high
        if self.high == math.inf:
            return values > self.low
        return (values > self.low) & (values <= self.high)

    def _key(self) -> tuple[Any, ...]:
        order = tuple(_level_key(level) for level in self.order or ())
        return self.feature, 0, self.low, self.high, order


@dataclass(frozen=True)
class Levels(_Condition):
    """``feature in {levels}`` or, negated, ``feature not in {levels}``.

    Parameters
    ----------
    feature : str
        Name of the column.
    levels : iterable of levels
        At least one; kept sorted, each once.
    negated : bool
        Whether the value has to differ from all of them. A missing value does not.
    """

    levels: tuple[Level, ...]
    negated: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _distinct_levels(self.levels, self.feature))
        if not self.levels and self.negated:
            present = Missing(self.feature, missing=False)
            raise ValueError(f"Column {self.feature!r} differs from no level; say `{present}`.")
        if not self.levels:
            raise ValueError(f"No row can satisfy `{quote_name(self.feature)} in {{}}`.")

    @property
    def degree(self) -> int:
        """Number of levels."""
        return len(self.levels)

    def text(self) -> str:
        """Write ``=`` or ``!=`` for one level, ``in`` or ``not in`` for several."""
        name, values = quote_name(self.feature), ", ".join(map(format_level, self.levels))
        if len(self.levels) == 1:
            return f"{name} {'!=' if self.negated else '='} {values}"
        return f"{name} {'not in' if self.negated else 'in'} {{{values}}}"

    def holds(self, column: Column) -> BoolArray:
        """Return the rows of the feature's column whose value is one, or none, of the levels."""
        among = _among_levels(column, frozenset(self.levels))
        return ~(among | _is_missing(column)) if self.negated else among

    def _key(self) -> tuple[Any, ...]:
        return self.feature, 1, self.negated, tuple(_level_key(level) for level in self.levels)


@dataclass(frozen=True)
class Missing(_Condition):
    """``feature is missing`` or ``feature is not missing``."""

    missing: bool

    @property
    def degree(self) -> int:
        """Always 1."""
        return 1

    def text(self) -> str:
        """Write the condition as `ruleglm.parser.parse_rule` reads it."""
        return f"{quote_name(self.feature)} is {'' if self.missing else 'not '}missing"

    def holds(self, column: Column) -> BoolArray:
        """Return the rows of the feature's column that have no value, or that have one."""
        missing = _is_missing(column)
        return missing if self.missing else ~missing

    def _key(self) -> tuple[Any, ...]:
        return self.feature, 2, self.missing


Condition: TypeAlias = Range | Levels | Missing


# ---------------------------------------------------------------------- conjunctions on one feature


def merge_conditions(first: Condition, second: Condition) -> Condition:
    """Return the one condition that says both, for two on the same column in sorted order.

    Raises
    ------
    ValueError
        If no row can satisfy both, or if a range meets levels.
    """
    merged: Condition | None
    match first, second:
        case _, Missing(missing=missing):
            merged = first if not missing or first == second else None
        case Range() as one, Range() as other:
            merged = _merge_ranges(one, other)
        case Levels() as one, Levels() as other:
            merged = _merge_levels(one, other)
        case _:
            raise ValueError(
                f"`{first}` and `{second}` mix a range and levels on column {first.feature!r}; use "
                "one or the other."
            )
    if merged is None:
        raise ValueError(f"No row can satisfy `{first} and {second}`.")
    return merged


def _merge_ranges(first: Range, second: Range) -> Range:
    if first.order != second.order:
        raise ValueError(
            f"`{first}` and `{second}` follow different orders of column {first.feature!r}; give "
            "both the same."
        )
    low, high = max(first.low, second.low), min(first.high, second.high)
    return Range(first.feature, low, high, first.order)


def _merge_levels(first: Levels, second: Levels) -> Levels | None:
    if first.negated and second.negated:
        return Levels(first.feature, first.levels + second.levels, negated=True)
    if first.negated:
        first, second = second, first
    kept = tuple(v for v in first.levels if (v in second.levels) is not second.negated)
    return Levels(first.feature, kept) if kept else None
