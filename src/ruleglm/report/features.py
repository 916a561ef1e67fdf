"""The columns of the page: what can be entered for each, and conditions on it.

Levels are numbered, so that the page never has to tell ``true`` from 1 or from ``'1'``: a condition
on levels lists their numbers, and -1 is any other level.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ruleglm.bins import FeatureBins, LevelBins, NumberBins, OrderedBins
from ruleglm.conditions import Condition, Levels, Missing, Range, exact_doubles, format_level
from ruleglm.dtypes import FloatArray
from ruleglm.frames import Column, Level, NumberColumn, Table
from ruleglm.rules import LinearTerm, Rule

Term: TypeAlias = Rule | LinearTerm
Value: TypeAlias = dict[str, Any]

LARGEST = 1e300
"""No range goes beyond, so that its length is a number."""

MARGIN = 0.08
"""How far beyond the outermost thresholds a number may be set, as a share of their distance."""


@dataclass(frozen=True)
class PageFeature:
    """A column that some term reads.

    Attributes
    ----------
    bins : FeatureBins
    levels : tuple of levels, empty for numbers
    bounds : tuple of float, all thresholds and ends of lines of the terms, ascending
    """

    bins: FeatureBins
    levels: tuple[Level, ...]
    bounds: tuple[float, ...]

    def describe(self, column: Column | None) -> Value:
        """Return what the page has to know; a column of data gives ranges and typical values."""
        missing = bool(self.bins.observed >> self.bins.missing_bin & 1)
        common = {"name": self.bins.name, "kind": self.bins.kind, "missing": missing}
        if self.bins.kind == "number":
            return {**common, **self._describe_numbers(column)}
        texts = [_show_level(level) for level in self.levels]
        return {**common, "levels": texts, "start": self._common_level(column)}

    def _describe_numbers(self, column: Column | None) -> Value:
        """Return the range of the input, the range to draw and a typical value."""
        known = self.bins.thresholds if isinstance(self.bins, NumberBins) else ()
        seen = np.sort([*known, *self.bounds]) if known or self.bounds else np.array([0.0, 1.0])
        seen = np.clip(seen, -LARGEST, LARGEST)
        margin = MARGIN * (seen[-1] - seen[0]) or MARGIN * max(1.0, abs(seen[0]))
        low, high, start = seen[0] - margin, seen[-1] + margin, seen[len(seen) // 2]
        usual = [0.0 if seen[0] >= 0 > low else low, high]
        values = _finite_values(column)
        if len(values):
            low, high = min(values.min(), seen[0]), max(values.max(), seen[-1])
            usual = [max(usual[0], low), min(usual[1], high)]
            start = np.sort(values)[len(values) // 2]
        start = _round_within(float(start), float(high - low))
        return {"low": float(low), "high": float(high), "usual": usual, "start": start}

    def _common_level(self, column: Column | None) -> int:
        """Return the number of the most frequent level of the data, or of the first."""
        if column is None or isinstance(column, NumberColumn) or not self.levels:
            return 0
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
        known = [level in self.levels for level in column.levels]
        if not any(known):
            return 0
        return self.levels.index(column.levels[int(np.where(known, counts, -1).argmax())])

    def describe_condition(self, condition: Condition) -> Value:
        """Return a condition as ``assets/model.js`` reads it."""
        text = {"text": condition.text()}
        if isinstance(condition, Missing):
            return {**text, "missing": condition.missing}
        if isinstance(condition, Levels):
            return {**text, "among": self._numbers(condition.levels), "not": condition.negated}
        if condition.order is not None or self.bins.kind != "number":
            inside = _levels_inside(condition, self.levels)
            return {**text, "among": self._numbers(inside), "not": False}
        return {**text, "low": finite(condition.low), "high": finite(condition.high)}

    def _numbers(self, levels: Iterable[Level]) -> list[Any]:
        """Return the numbers of levels; levels of a column of numbers are values of it."""
        if self.bins.kind == "number":
            return list(map(float, exact_doubles(levels)))
        return [self.levels.index(level) for level in levels]


def collect_features(bins: Sequence[FeatureBins], terms: Iterable[Term]) -> dict[str, PageFeature]:
    """Return the columns that some term reads, in the order of the data, by name."""
    bounds: dict[str, set[float]] = {}
    levels: dict[str, list[Level]] = {}
    for name, numbers, named in _list_mentions(terms):
        bounds.setdefault(name, set()).update(x for x in numbers if math.isfinite(x))
        levels.setdefault(name, []).extend(named)
    return {
        each.name: PageFeature(
            each,
            _all_levels(each, levels[each.name]),
            tuple(sorted(bounds[each.name])),
        )
        for each in bins
        if each.name in bounds
    }


def _list_mentions(terms: Iterable[Term]) -> Iterator[tuple[str, Sequence[float], Sequence[Level]]]:
    """Yield (feature, numbers, levels) of every line and every condition."""
    for term in terms:
        if isinstance(term, LinearTerm):
            yield term.feature, (term.low, term.high), ()
            continue
        for condition in term.conditions:
            match condition:
                case Range(order=None):
                    yield condition.feature, (condition.low, condition.high), ()
                case Range(order=order):
                    yield condition.feature, (), order or ()
                case Levels(levels=named):
                    yield condition.feature, (), named
                case _:
                    yield condition.feature, (), ()


def _all_levels(bins: FeatureBins, mentioned: Iterable[Level]) -> tuple[Level, ...]:
    """Return the levels with a bin of their own, then others that conditions name."""
    match bins:
        case LevelBins(levels=known) | OrderedBins(order=known):
            return tuple(dict.fromkeys([*known, *mentioned]))
        case _:
            return ()


def _levels_inside(condition: Range, levels: Iterable[Level]) -> list[Level]:
    """Return the levels in a range, by their rank or as numbers."""
    ranked: Iterable[tuple[float, Level]]
    if condition.order is not None:
        ranked = enumerate(condition.order)
    else:
        ranked = ((level, level) for level in levels if not isinstance(level, str))
    return [level for rank, level in ranked if condition.low < rank <= condition.high]


def _finite_values(column: Column | None) -> FloatArray:
    if not isinstance(column, NumberColumn):
        return np.empty(0)
    return np.clip(column.values[np.isfinite(column.values)], -LARGEST, LARGEST)


def find_column(table: Table | None, name: str) -> Column | None:
    """Return a column of the data, if there are any."""
    return None if table is None else table.column(name)


def _round_within(value: float, span: float) -> float:
    """Round a number to about a thousandth of a range."""
    return round(value, 3 - math.ceil(math.log10(span))) if span > 0 else value


def finite(value: float) -> float | None:
    """Return a number as JSON has it: no infinities, no nan."""
    return float(value) if math.isfinite(value) else None


def _show_level(level: Level) -> str:
    """Return a level without quotes."""
    return level if isinstance(level, str) else format_level(level)
