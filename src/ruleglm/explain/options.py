"""What a feature could be instead: one value for each way in which it can answer the model.

Between two thresholds that the model uses nothing changes, so that the value nearest to the
present one stands for all; where a line runs through, the option is the stretch from the nearest to
the farthest value.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from ruleglm.bins import FeatureBins, LevelBins, NumberBins, OrderedBins
from ruleglm.conditions import Condition
from ruleglm.dtypes import BoolArray, FloatArray, IntArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain.local import read_value
from ruleglm.explain.shapes import find_breaks, name_levels, one_of_each, reads_numbers
from ruleglm.frames import Level, LevelColumn, NumberColumn, Table
from ruleglm.rules import LinearTerm
from ruleglm.thresholds import shortest_between

SPAN_SDS = 4.0
"""Standard deviations between the outermost of a column's thresholds, where no rows are at hand."""

NICETY = 0.01
"""Standard deviations that a value may be off the nearest one for the sake of fewer digits."""

FARTHEST = 10.0
"""Standard deviations that a value may move along a line without an end."""


@dataclass(frozen=True)
class ColumnFacts:
    """What is known of a column: how far a step is, and which values it can take.

    Parameters
    ----------
    scale : float
        Standard deviation of a number, or of the ranks of ordered levels.
    whole : bool
        Whether only whole numbers occur.
    levels : tuple of levels
        Those that occur, the most frequent first.
    middle : float
        A typical number.
    low, high : float
        Where most numbers are.
    """

    scale: float = 1.0
    whole: bool = False
    levels: tuple[Level, ...] = ()
    middle: float = 0.0
    low: float = math.nan
    high: float = math.nan


Facts: TypeAlias = Mapping[str, ColumnFacts]


def learn_facts(table: Table) -> dict[str, ColumnFacts]:
    """Return the facts of the columns of a table."""
    facts = {}
    for column in table.columns:
        if isinstance(column, NumberColumn):
            known = column.values[np.isfinite(column.values)]
            whole = len(known) > 0 and bool((known == np.round(known)).all())
            low, middle, high = (float(x) for x in find_quantiles(known, (0.01, 0.5, 0.99)))
            facts[column.name] = ColumnFacts(_sd(known), whole, (), middle, low, high)
            continue
        codes = column.codes[column.codes >= 0]
        counts = np.bincount(codes, minlength=len(column.levels))
        order = [int(k) for k in np.argsort(-counts, kind="stable") if counts[k] > 0]
        levels = tuple(column.levels[k] for k in order)
        facts[column.name] = ColumnFacts(_sd(codes.astype(np.float64)), False, levels)
    return facts


def recall_facts(features: Iterable[FeatureBins]) -> dict[str, ColumnFacts]:
    """Return what the bins of a fit tell of its columns.

    The standard deviation of a number is a fourth of the way between its outermost thresholds.
    Thresholds lie between neighbouring values, so those of whole numbers are multiples of 1/2.
    """
    facts = {}
    for bins in features:
        if isinstance(bins, NumberBins):
            cuts = bins.thresholds
            halves = all(float(2 * cut).is_integer() for cut in cuts)
            middle = cuts[len(cuts) // 2] if cuts else 0.0
            middle = float(math.floor(middle)) if halves else middle
            ends = (cuts[0], cuts[-1]) if cuts else (math.nan, math.nan)
            facts[bins.name] = ColumnFacts(_span_scale(cuts), halves, (), middle, *ends)
        elif isinstance(bins, LevelBins):
            facts[bins.name] = ColumnFacts(1.0, False, bins.levels)
        elif isinstance(bins, OrderedBins):
            scale = _span_scale(tuple(range(len(bins.order))))
            facts[bins.name] = ColumnFacts(scale, False, bins.order)
    return facts


def find_quantiles(values: FloatArray, shares: Sequence[float]) -> FloatArray:
    """Return values below which the shares lie, each one that occurs; 0 if there are none."""
    ordered = np.sort(values) if len(values) else np.zeros(1)
    places = np.array(shares) * (len(ordered) - 1)
    return np.asarray(ordered[np.round(places).astype(np.int64)])


def _sd(values: FloatArray) -> float:
    sd = float(values.std()) if len(values) else 0.0
    return sd if sd > 0.0 else 1.0


def _span_scale(values: Sequence[float]) -> float:
    span = max(values, default=0.0) - min(values, default=0.0)
    return span / SPAN_SDS if span > 0.0 else max(1.0, abs(max(values, default=0.0)) / SPAN_SDS)


# --------------------------------------------------------------------------------------- options


@dataclass(frozen=True, eq=False)
class Options:
    """The values that one feature could change to.

    Attributes
    ----------
    feature : str
    rules : (n_rules,) int64, the rules with a condition on it
    now : (n_rules,) bool, whether their conditions hold as it is
    truths : (n_options, n_rules) bool, whether they would hold
    nears, fars : list of values, the ends of each option; the same without a line
    distances : (n_options,) float64, of the near ends, in standard deviations
    scale : float, of numbers
    near_lines, far_lines : (n_options, n_outputs) float64
        What the lines would add at the ends, less what they add now.
    whole : bool
    """

    feature: str
    rules: IntArray
    now: BoolArray
    truths: BoolArray
    nears: list[Any]
    fars: list[Any]
    distances: FloatArray
    scale: float
    near_lines: FloatArray
    far_lines: FloatArray
    whole: bool

    def __len__(self) -> int:
        return len(self.nears)


@dataclass(frozen=True, eq=False)
class _Feature:
    """A feature of a row and all that the model asks of it."""

    name: str
    value: Level | None
    rules: IntArray
    conditions: list[Condition]
    lines: list[tuple[LinearTerm, FloatArray]]
    facts: ColumnFacts
    n_outputs: int


def list_options(ensemble: RuleEnsemble, row: Table, facts: Facts) -> list[Options]:
    """Return the options of every feature that the model reads; some have none."""
    found = []
    for name in ensemble.names:
        rules = [k for k, rule in enumerate(ensemble.rules) if name in rule.features]
        conditions = [c for k in rules for c in ensemble.rules[k].conditions if c.feature == name]
        slopes = zip(ensemble.linear_terms, ensemble.linear_coefficients, strict=True)
        lines = [(term, np.atleast_1d(slope)) for term, slope in slopes if term.feature == name]
        if not conditions and not lines:
            continue
        terms = [term for term, _ in lines]
        as_numbers = reads_numbers(ensemble, name, conditions, terms)
        known = facts.get(name)
        if known is None:
            known = ColumnFacts(_span_scale(find_breaks(conditions, terms)) if as_numbers else 1.0)
        value = read_value(row, name)
        places = np.array(rules, dtype=np.int64)
        n_outputs = math.prod(ensemble.family.output_shape)
        feature = _Feature(name, value, places, conditions, lines, known, n_outputs)
        options = _list_numbers(feature) if as_numbers else _list_levels(feature, ensemble)
        found.append(_drop_idle(options))
    return found


def _list_levels(feature: _Feature, ensemble: RuleEnsemble) -> Options:
    mentioned = name_levels(ensemble, feature.name, feature.conditions)
    levels = dict.fromkeys([*feature.facts.levels, *mentioned])
    values = [level for level in levels if level != feature.value]
    ranks = {level: rank for rank, level in enumerate(ensemble.orders.get(feature.name, ()))}
    here = None if feature.value is None else ranks.get(feature.value)
    ways = [
        1.0 if here is None or level not in ranks else abs(ranks[level] - here) for level in values
    ]
    scale = 1.0 if here is None else feature.facts.scale
    column = one_of_each(feature.name, tuple(values))
    nothing = np.zeros((len(values), feature.n_outputs))
    return Options(
        feature.name,
        feature.rules,
        _answer(feature.conditions, _column_of(feature))[0],
        _answer(feature.conditions, column)[: len(values)],
        values,
        values,
        np.array(ways, dtype=np.float64) / scale,
        scale,
        nothing,
        nothing,
        False,
    )


def _list_numbers(feature: _Feature) -> Options:
    number = math.nan if feature.value is None else float(feature.value)
    breaks = find_breaks(feature.conditions, [term for term, _ in feature.lines])
    ends = [
        pair
        for low, high in pairwise([-math.inf, *breaks, math.inf])
        for pair in _find_ends(low, high, number, feature)
    ]
    nears, fars = (np.array([pair[side] for pair in ends], dtype=np.float64) for side in (0, 1))
    scale = feature.facts.scale
    far_off = not math.isfinite(number)
    now = NumberColumn(feature.name, np.array([number]))
    start = _line_values(feature, now)
    return Options(
        feature.name,
        feature.rules,
        _answer(feature.conditions, now)[0],
        _answer(feature.conditions, NumberColumn(feature.name, nears)),
        nears.tolist(),
        fars.tolist(),
        np.ones(len(ends)) if far_off else np.abs(nears - number) / scale,
        scale,
        _line_values(feature, NumberColumn(feature.name, nears)) - start,
        _line_values(feature, NumberColumn(feature.name, fars)) - start,
        feature.facts.whole,
    )


def _find_ends(
    low: float, high: float, number: float, feature: _Feature
) -> list[tuple[float, float]]:
    """Return the stretches of ``low < x <= high``, from near to far; there may be none."""
    facts = feature.facts
    sloped = any(
        slope.any() and term.low < high and low < term.high for term, slope in feature.lines
    )
    bottom, top = _just_above(low, high, facts), _at_most(low, high, facts)
    if bottom is None or top is None:
        return []
    if math.isnan(number):  # as far from a gap as any other number
        typical = min(max(facts.middle, bottom), top)
        return [(end, end) for end in ((bottom, top) if sloped else (typical,))]
    if low < number <= high:
        return [(number, end) for end in (bottom, top) if end != number] if sloped else []
    near, far = (bottom, top) if number <= low else (top, bottom)
    return [(near, far if sloped else near)]


def _just_above(low: float, high: float, facts: ColumnFacts) -> float | None:
    """Return the least number above `low`, with few digits; None if no whole one is there."""
    if low == -math.inf:
        start = facts.middle if high == math.inf else high
        return _at_most(low, start - FARTHEST * facts.scale, facts)
    if facts.whole:
        number = math.floor(low) + 1.0
        return number if number <= high else None
    next_one = math.nextafter(low, math.inf)
    limit = max(min(high, low + NICETY * facts.scale), next_one)
    found = shortest_between(low, limit)
    return next_one if found is None or found <= low else found


def _at_most(low: float, high: float, facts: ColumnFacts) -> float | None:
    """Return the largest number up to `high`; None if no whole one is above `low`."""
    if high == math.inf:
        start = facts.middle if low == -math.inf else low
        return _at_most(low, start + FARTHEST * facts.scale, facts)
    number = float(math.floor(high)) if facts.whole else high
    return number if number > low else None


def _line_values(feature: _Feature, column: NumberColumn) -> FloatArray:
    """Return what the lines add for each number, shape (n, n_outputs)."""
    table = Table((column,))
    parts = [np.multiply.outer(term.values(table), slope) for term, slope in feature.lines]
    return np.sum(parts, axis=0) if parts else np.zeros((len(column.values), feature.n_outputs))


def _answer(conditions: list[Condition], column: NumberColumn | LevelColumn) -> BoolArray:
    """Return the truth of each condition for each row, shape (n_rows, n_conditions)."""
    n_rows = len(column.values if isinstance(column, NumberColumn) else column.codes)
    answers = np.zeros((n_rows, len(conditions)), dtype=np.bool_)
    for k, condition in enumerate(conditions):
        answers[:, k] = condition.holds(column)
    return answers


def _column_of(feature: _Feature) -> LevelColumn:
    if feature.value is None:
        return LevelColumn(feature.name, np.array([-1]), ())
    return LevelColumn(feature.name, np.array([0]), (feature.value,))


def _drop_idle(options: Options) -> Options:
    """Keep the nearest of the options that the model answers alike, and none that change nothing.

    What is left is sorted by distance.
    """
    order = np.argsort(options.distances, kind="stable")
    seen = {(options.now.tobytes(), np.zeros_like(options.near_lines[:1]).tobytes())}
    kept = []
    for k in order.tolist():
        flat = options.nears[k] == options.fars[k]
        key = options.truths[k].tobytes(), options.near_lines[k].tobytes()
        if flat and key in seen:
            continue
        if flat:
            seen.add(key)
        kept.append(k)
    return Options(
        options.feature,
        options.rules,
        options.now,
        options.truths[kept],
        [options.nears[k] for k in kept],
        [options.fars[k] for k in kept],
        options.distances[kept],
        options.scale,
        options.near_lines[kept],
        options.far_lines[kept],
        options.whole,
    )
