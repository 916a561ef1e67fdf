"""Summaries of a column that can be merged: all that its bins and its linear term are made from.

Rows that lie apart, in partitions of a table, are summarised where they are, and the summaries are
merged. As long as they hold every value, bins of merged summaries are those of all rows. Summaries
of many values are shortened, and then say by how much ranks may be off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ruleglm.columns import Column, Level, NumberColumn, is_number, merge_levels
from ruleglm.dtypes import FloatArray
from ruleglm.thresholds import DistinctValues, collect_distinct

MOST_VALUES = 100_000
"""Values or levels of a column up to which a summary holds all of them."""

KEPT_VALUES = 16_384
"""Values or levels that a longer summary is shortened to."""


@dataclass(frozen=True, eq=False)
class NumberSketch:
    """Summary of a column of numbers.

    Parameters
    ----------
    name : str
        Name of the column.
    distinct : DistinctValues
        Its values with the weight of the rows up to each. If values were left out, each stands for
        those between it and the one before.
    missing : float
        Weight of the rows without a value.
    error : float
        The weight of the rows up to any number is that of `distinct`, or larger by at most this; 0
        if it holds all values.
    part : str
        Where the rows are, for messages.
    """

    name: str
    distinct: DistinctValues
    missing: float
    error: float = 0.0
    part: str = ""

    @property
    def known(self) -> float:
        """Weight of the rows that have a value."""
        return float(self.distinct.cumulative[-1]) if len(self.distinct.values) else 0.0


@dataclass(frozen=True, eq=False)
class LevelSketch:
    """Summary of a column of levels.

    Parameters
    ----------
    name : str
        Name of the column.
    levels : tuple of str, int, float or bool
        The levels; some may have no rows.
    weights : ndarray of shape (n_levels,), float64
        Weight of the rows of each.
    missing : float
        Weight of the rows without a level.
    ordered : bool
        Whether the order of `levels` means something.
    others : float
        Weight of the rows of levels that were left out.
    error : float
        The weight of a level is that of `weights`, or larger by at most this.
    part : str
        Where the rows are, for messages.
    """

    name: str
    levels: tuple[Level, ...]
    weights: FloatArray
    missing: float
    ordered: bool = False
    others: float = 0.0
    error: float = 0.0
    part: str = ""

    @property
    def known(self) -> float:
        """Weight of the rows that have a level."""
        return float(self.weights.sum()) + self.others


Sketch: TypeAlias = NumberSketch | LevelSketch


def sketch_column(
    column: Column, sample_weight: FloatArray | None = None, part: str = ""
) -> Sketch:
    """Summarise a column; no value is left out.

    Parameters
    ----------
    column : NumberColumn or LevelColumn
    sample_weight : ndarray of shape (n_rows,), optional
        Positive weights; 1 each if not given.
    part : str
        Where the rows are, for messages.
    """
    if isinstance(column, NumberColumn):
        sketch = NumberSketch(column.name, collect_distinct(column.values, sample_weight), 0.0)
        if sample_weight is None:
            missing = len(column.values) - sketch.known
        else:
            missing = float(sample_weight[np.isnan(column.values)].sum())
        return replace(sketch, missing=missing, part=part)
    n_levels = len(column.levels)
    counts = np.bincount(column.codes + 1, weights=sample_weight, minlength=n_levels + 1)
    weights = counts.astype(np.float64)
    return LevelSketch(
        column.name, column.levels, weights[1:], float(weights[0]), column.ordered, part=part
    )


def shorten(sketch: Sketch, limit: int = MOST_VALUES, kept: int = KEPT_VALUES) -> Sketch:
    """Return a summary of bounded length: the same, or of more than ``limit`` values ``kept``.

    Of numbers those at evenly spaced ranks stay, with the smallest and the largest, so that any
    value that holds ``1 / kept`` of the weight does; of levels the most frequent. Levels in order
    all stay.
    """
    if isinstance(sketch, NumberSketch):
        return sketch if len(sketch.distinct.values) <= limit else _thin_out(sketch, kept)
    if len(sketch.levels) <= limit or sketch.ordered:
        return sketch
    order = np.argsort(-sketch.weights, kind="stable")
    stay, go = np.sort(order[:kept]), order[kept:]
    return replace(
        sketch,
        levels=tuple(sketch.levels[k] for k in stay.tolist()),
        weights=sketch.weights[stay],
        others=sketch.others + float(sketch.weights[go].sum()),
        error=sketch.error + float(sketch.weights[go].max()),
    )


def _thin_out(sketch: NumberSketch, kept: int) -> NumberSketch:
    values, cumulative = sketch.distinct.values, sketch.distinct.cumulative
    ranks = np.linspace(0.0, cumulative[-1], max(kept, 2))
    places = np.unique(np.minimum(np.searchsorted(cumulative, ranks), len(values) - 1))
    before = cumulative[places] - sketch.distinct.weights[places]
    left_out = before[1:] - cumulative[places[:-1]]
    return replace(
        sketch,
        distinct=DistinctValues(values[places], cumulative[places]),
        error=sketch.error + float(left_out.max(initial=0.0)),
    )


def merge_sketches(sketches: Sequence[Sketch]) -> Sketch:
    """Return the summary of the rows of all of them.

    Parameters
    ----------
    sketches : sequence of NumberSketch or LevelSketch
        At least one, of the same column in different parts of the rows. A part in which all values
        are missing may be of either kind; booleans are numbers where another part has numbers.

    Raises
    ------
    TypeError
        If one part has numbers and another levels, or levels in different orders; the message
        names the column and the parts.
    """
    kept = _same_kind(sketches)
    missing = sum(sketch.missing for sketch in sketches)
    error = sum(sketch.error for sketch in kept)
    numbers = [sketch for sketch in kept if isinstance(sketch, NumberSketch)]
    if numbers:
        values = np.concatenate([sketch.distinct.values for sketch in numbers])
        weights = np.concatenate([sketch.distinct.weights for sketch in numbers])
        distinct = collect_distinct(values, weights)
        return replace(numbers[0], distinct=distinct, missing=missing, error=error)
    levels = [sketch for sketch in kept if isinstance(sketch, LevelSketch)]
    order = merge_levels([sketch.levels for sketch in levels])
    place = {level: k for k, level in enumerate(order)}
    total = np.zeros(len(order))
    for sketch in levels:
        total[[place[level] for level in sketch.levels]] += sketch.weights
    others = sum(sketch.others for sketch in levels)
    return replace(
        levels[0], levels=order, weights=total, missing=missing, others=others, error=error
    )


def _same_kind(sketches: Sequence[Sketch]) -> list[Sketch]:
    """Return the summaries that decide what the column is, all of one kind."""
    telling = [sketch for sketch in sketches if sketch.known > 0.0]
    if not telling:
        of_levels = [sketch for sketch in sketches if isinstance(sketch, LevelSketch)]
        return _same_order(of_levels) if of_levels else list(sketches)
    numbers = [sketch for sketch in telling if isinstance(sketch, NumberSketch)]
    if numbers:
        return [_to_numbers(sketch, numbers[0]) for sketch in telling]
    return _same_order([sketch for sketch in sketches if isinstance(sketch, LevelSketch)])


def _to_numbers(sketch: Sketch, other: NumberSketch) -> NumberSketch:
    """Read booleans as numbers; ``other`` has numbers."""
    if isinstance(sketch, NumberSketch):
        return sketch
    used = [k for k, weight in enumerate(sketch.weights) if weight > 0.0]
    odd = next((sketch.levels[k] for k in used if not isinstance(sketch.levels[k], bool)), None)
    if odd is not None or sketch.others:
        text = "the number" if is_number(odd) else "the text"
        raise TypeError(
            f"Column {sketch.name!r} holds numbers{_where(other)} and {text} {odd!r} as a "
            f"level{_where(sketch)}; give it one type throughout: numbers, or texts everywhere."
        )
    values = np.array([float(sketch.levels[k]) for k in used])
    distinct = collect_distinct(values, sketch.weights[used])
    return NumberSketch(sketch.name, distinct, sketch.missing, part=sketch.part)


def _same_order(sketches: list[LevelSketch]) -> list[Sketch]:
    """Refuse levels that have an order in one part, and none or another one in a second."""
    first = next((sketch for sketch in sketches if sketch.ordered), None)
    if first is None:
        return list(sketches)
    for sketch in sketches:
        if (sketch.levels, sketch.ordered) != (first.levels, True):
            raise TypeError(
                f"Column {sketch.name!r} has the ordered levels {list(first.levels)}"
                f"{_where(first)} and {list(sketch.levels)}, {'' if sketch.ordered else 'not '}"
                f"ordered,{_where(sketch)}; give it the same categories everywhere."
            )
    return list(sketches)


def _where(sketch: Sketch) -> str:
    return f" in {sketch.part}" if sketch.part else ""
