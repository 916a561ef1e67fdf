"""Linear terms of number columns: the "N" variants of the paper.

As Friedman and Popescu do, a column is winsorised at its 2.5 % and 97.5 % quantiles and scaled to
the standard deviation 0.4 of a typical rule, so that the penalty treats both alike. The model that
comes out is in the column's own unit.
"""

from dataclasses import dataclass

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.frames import NumberColumn, Table
from ruleglm.rules import LinearTerm

WINSOR_SHARE = 0.025
TYPICAL_RULE_SD = 0.4


@dataclass(frozen=True)
class ScaledTerm:
    """A linear term and how it enters the fit: ``(value - center) * scale``.

    ``sd`` is the standard deviation of its values.
    """

    term: LinearTerm
    center: float
    sd: float

    @property
    def scale(self) -> float:
        """Factor that gives the term the standard deviation of a typical rule."""
        return TYPICAL_RULE_SD / self.sd

    def column(self, table: Table) -> FloatArray:
        """Return the term's values as they enter the fit."""
        return (self.term.values(table) - self.center) * self.scale


def build_linear_terms(table: Table, weights: FloatArray | None) -> list[ScaledTerm]:
    """Return a term for each number column that varies."""
    numbers = [column for column in table.columns if isinstance(column, NumberColumn)]
    terms = (_build_term(column, weights) for column in numbers)
    return [term for term in terms if term is not None]


def _build_term(column: NumberColumn, weights: FloatArray | None) -> ScaledTerm | None:
    known = np.isfinite(column.values)
    values = column.values[known]
    if len(values) == 0:
        return None
    shares = np.ones(len(values)) if weights is None else weights[known]
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(shares[order])
    limits = np.array([WINSOR_SHARE, 1 - WINSOR_SHARE]) * reached[-1]
    places = np.minimum(np.searchsorted(reached, limits), len(values) - 1)
    low, high = (float(value) for value in values[order[places]])
    if not low < high:
        return None
    clipped = np.clip(values, low, high)
    center = float(np.average(clipped, weights=shares))
    sd = float(np.sqrt(np.average((clipped - center) ** 2, weights=shares)))
    if not np.isfinite(sd) or sd <= 1e-12 * max(abs(low), abs(high)):
        return None
    return ScaledTerm(LinearTerm(column.name, low, high, center), center, sd)
