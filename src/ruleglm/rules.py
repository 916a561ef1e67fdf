"""Rules and linear terms: the sentences a model is made of.

They are values: immutable, comparable, hashable, free of data, and written in the data's own names
and units. `Rule` keeps itself canonical, so two rules that list the same conditions in a different
order are equal and have the same text; `ruleglm.parser.parse_rule` reads that text back.
"""

import math
from dataclasses import dataclass
from functools import reduce, total_ordering

import numpy as np

from ruleglm.conditions import (
    Condition,
    Levels,
    Missing,
    Range,
    level_numbers,
    merge_conditions,
    quote_name,
)
from ruleglm.dtypes import BoolArray, FloatArray
from ruleglm.frames import NumberColumn, Table

__all__ = ["Condition", "Levels", "LinearTerm", "Missing", "Range", "Rule"]


@total_ordering
@dataclass(frozen=True)
class Rule:
    """A conjunction of conditions, at most one per feature, sorted by feature.

    Parameters
    ----------
    conditions : iterable of conditions
        In any order; those on the same feature are merged. None at all is the rule that always
        holds. A conjunction that no row can satisfy raises ValueError.

    Examples
    --------
    >>> print(Rule([Levels("sex", ("F",)), Range("age", low=50), Range("age", low=30)]))
    age > 50 and sex = 'F'
    """

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        by_feature: dict[str, list[Condition]] = {}
        for condition in sorted(self.conditions):
            by_feature.setdefault(condition.feature, []).append(condition)
        merged = tuple(reduce(merge_conditions, same) for same in by_feature.values())
        object.__setattr__(self, "conditions", merged)

    @property
    def degree(self) -> int:
        """Number of elementary conditions."""
        return sum(condition.degree for condition in self.conditions)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns that the rule reads, sorted."""
        return tuple(condition.feature for condition in self.conditions)

    def text(self) -> str:
        """Write the rule as `ruleglm.parser.parse_rule` reads it."""
        return " and ".join(condition.text() for condition in self.conditions) or "true"

    def holds(self, table: Table) -> BoolArray:
        """Return the rows of the table that satisfy every condition."""
        rows = np.ones(table.n_rows, dtype=np.bool_)
        for condition in self.conditions:
            rows &= condition.holds(table.column(condition.feature))
        return rows

    def __str__(self) -> str:
        return self.text()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Rule):
            return NotImplemented
        return self.conditions < other.conditions


@dataclass(frozen=True)
class LinearTerm:
    """A numeric feature that enters the model as a line: clipped, with missing values filled.

    Parameters
    ----------
    feature : str
        Name of the column.
    low, high : float
        Values are clipped to this range, so that the line ends where the training data ended.
    fill : float
        What a missing value counts as.
    """

    feature: str
    low: float
    high: float
    fill: float

    def __post_init__(self) -> None:
        for field in ("low", "high", "fill"):
            object.__setattr__(self, field, float(getattr(self, field)))
        reached = self.low < math.inf and self.high > -math.inf
        if not (reached and self.low <= self.high and math.isfinite(self.fill)):
            raise ValueError(
                f"The linear term of column {self.feature!r} needs low <= high and a finite fill, "
                f"got low={self.low}, high={self.high}, fill={self.fill}."
            )

    def text(self) -> str:
        """Write the feature's name, in backquotes if it needs them."""
        return quote_name(self.feature)

    def label(self) -> str:
        """Write the name and the range of the line, as tables show it."""
        return f"{self.text()} (line from {self.low:.6g} to {self.high:.6g})"

    def values(self, table: Table) -> FloatArray:
        """Return the feature's value in each row, clipped and filled."""
        values = np.clip(self.numbers(table), self.low, self.high)
        values[np.isnan(values)] = self.fill
        return values

    def numbers(self, table: Table) -> FloatArray:
        """Return the feature's value in each row as it is, NaN where it is missing."""
        column = table.column(self.feature)
        if isinstance(column, NumberColumn):
            return column.values
        return level_numbers(column).take(column.codes)

    def __str__(self) -> str:
        return self.text()
