"""Linear terms of number columns: the "N" variants of the paper.

As Friedman and Popescu do, a column is winsorised at its 2.5 % and 97.5 % quantiles and scaled to
the standard deviation 0.4 of a typical rule, so that the penalty treats both alike. The model that
comes out is in the column's own unit.
"""

from collections.abc import Container
from dataclasses import dataclass

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.frames import Column, NumberColumn, Table
from ruleglm.rules import LinearTerm

WINSOR_SHARE = 0.025
TYPICAL_RULE_SD = 0.4
MOST_SPREAD = 1e100


@dataclass(frozen=True)
class ScaledTerm:
    """A linear term and how it enters the fit: ``(value - center) * scale``.

    ``sd`` is the standard deviation of its known values, ``spread`` that over all rows, the missing
    ones filled.
    """

    term: LinearTerm
    center: float
    sd: float
    spread: float

    @property
    def scale(self) -> float:
        """Factor that gives the term the standard deviation of a typical rule."""
        return TYPICAL_RULE_SD / self.sd

    def column(self, table: Table) -> FloatArray:
        """Return the term's values as they enter the fit."""
        return (self.term.values(table) - self.center) * self.scale


class LinearColumns:
    """Makes the terms of columns that come one after the other.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    weights : (n_rows,) float64, or None for equal weights
    names : collection of str, the columns that may be terms

    Attributes
    ----------
    terms : list of ScaledTerm
    values : (n_terms, n_rows) float64, the terms as they enter the fit
    """

    def __init__(self, n_rows: int, weights: FloatArray | None, names: Container[str]) -> None:
        self.terms: list[ScaledTerm] = []
        self.values = np.empty((0, n_rows))
        self._weights = weights
        self._names = names

    def add(self, column: Column) -> None:
        """Make a term of a number column that varies; leave out any other column."""
        if not isinstance(column, NumberColumn) or column.name not in self._names:
            return
        term = _build_term(column, self._weights)
        if term is None:
            return
        self.terms.append(term)
        shape = len(self.terms), self.values.shape[1]
        self.values.resize(shape, refcheck=False)  # in place, so that there are never two of it
        self.values[-1] = term.column(Table((column,)))


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
    center, sd = moments(np.clip(values, low, high), shares)
    term = LinearTerm(column.name, low, high, center)
    return _scale(term, center, sd, Table((column,)), weights) if sd else None


def scale_term(term: LinearTerm, table: Table, weights: FloatArray | None) -> ScaledTerm | None:
    """Scale a term of a model to other rows; None if it does not vary on them."""
    known = np.isfinite(term.numbers(table))
    values = term.values(table)[known]
    if len(values) == 0:
        return None
    center, sd = moments(values, np.ones(len(values)) if weights is None else weights[known])
    return _scale(term, center, sd, table, weights) if sd else None


def _scale(
    term: LinearTerm, center: float, sd: float, table: Table, weights: FloatArray | None
) -> ScaledTerm:
    values = term.values(table)
    spread = moments(values, np.ones(len(values)) if weights is None else weights)[1]
    return ScaledTerm(term, center, sd, spread)


def moments(values: FloatArray, shares: FloatArray | None) -> tuple[float, float]:
    """Return the mean and the standard deviation, 0 where values cannot be scaled by it.

    That is where it is nothing but rounding, less than 1e-100 or more than 1e100.
    """
    exponent = int(np.frexp(np.abs(values).max())[1])
    scaled = np.ldexp(values, -exponent)  # at most 1, so that squares are not too large or small
    mean = np.average(scaled, weights=shares)
    spread = np.sqrt(np.average((scaled - mean) ** 2, weights=shares))
    center, sd = (float(np.ldexp(moment, exponent)) for moment in (mean, spread))
    known = spread > 1e-12 and 1.0 / MOST_SPREAD <= sd <= MOST_SPREAD
    return center, sd if known else 0.0
