"""Linear terms of number columns: the "N" variants of the paper.

As Friedman and Popescu do, a column is winsorised at its 2.5 % and 97.5 % quantiles and scaled to
the standard deviation 0.4 of a typical rule, so that the penalty treats both alike. The model that
comes out is in the column's own unit.
"""

import math
from collections.abc import Container
from dataclasses import dataclass

import numpy as np

from ruleglm.dtypes import SUM_DTYPE, FloatArray
from ruleglm.frames import Column, Table
from ruleglm.rules import LinearTerm
from ruleglm.sketches import NumberSketch, Sketch
from ruleglm.storage import GrowingRows
from ruleglm.thresholds import TIE

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
        values = self.term.values(table)
        values -= self.center
        values *= self.scale
        return values


class LinearColumns:
    """Makes the terms of columns that come one after the other.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    names : collection of str, the columns that may be terms
    asked : collection of str, those of them that have to be
    workdir : str or None, folder for a temporary file of their values; None for memory

    Attributes
    ----------
    terms : list of ScaledTerm
    """

    def __init__(
        self,
        n_rows: int,
        names: Container[str],
        asked: Container[str],
        workdir: str | None = None,
    ) -> None:
        self.terms: list[ScaledTerm] = []
        self._values = GrowingRows(n_rows, SUM_DTYPE, workdir)
        self._names, self._asked = names, asked

    def add(self, column: Column, sketch: Sketch) -> None:
        """Make a term of a number column that varies; leave out any other column."""
        if not isinstance(sketch, NumberSketch) or sketch.name not in self._names:
            return
        term = build_term(sketch, through_two=sketch.name in self._asked)
        if term is None:
            return
        self.terms.append(term)
        self._values.append(term.column(Table((column,))))

    def values(self) -> FloatArray:
        """Return the terms as they enter the fit, shape (n_terms, n_rows)."""
        return self._values.array()


def build_term(sketch: NumberSketch, *, through_two: bool) -> ScaledTerm | None:
    """Make the term of a column by its summary; None if it does not vary.

    A line through two values says what a rule says. It is made only if ``through_two``.
    """
    every, reached = sketch.distinct.values, sketch.distinct.cumulative
    start, stop = np.searchsorted(every, (-np.inf, np.inf), side="right").tolist()
    stop -= int(len(every) > 0 and every[-1] == np.inf)
    values, weights = every[start:stop], sketch.distinct.weights
    if len(values) == 0:
        return None
    before = float(reached[start - 1]) if start else 0.0
    shares = np.array([WINSOR_SHARE, 1 - WINSOR_SHARE]) * (1.0 - TIE)
    limits = before + shares * (reached[stop - 1] - before)
    low, high = values[np.searchsorted(reached[start:stop], limits)].tolist()
    n_between = np.searchsorted(values, high) - np.searchsorted(values, low, side="right")
    if not low < high or (n_between == 0 and not through_two):
        return None
    center, sd = moments(np.clip(values, low, high), weights[start:stop])
    if not sd:
        return None
    spread = sd
    if sketch.missing or len(values) < len(every):
        shown = np.append(np.clip(every, low, high), center)
        spread = moments(shown, np.append(weights, sketch.missing))[1]
    return ScaledTerm(LinearTerm(sketch.name, low, high, center), center, sd, spread)


def scale_term(term: LinearTerm, table: Table, weights: FloatArray | None) -> ScaledTerm | None:
    """Scale a term of a model to other rows; None if it does not vary on them."""
    known = np.isfinite(term.numbers(table))
    values = term.values(table)[known]
    if len(values) == 0:
        return None
    center, sd = moments(values, None if weights is None else weights[known])
    spread = moments(term.values(table), weights)[1]
    return ScaledTerm(term, center, sd, spread) if sd else None


def moments(values: FloatArray, shares: FloatArray | None) -> tuple[float, float]:
    """Return the mean and the standard deviation, 0 where values cannot be scaled by it.

    That is where it is nothing but rounding, less than 1e-100 or more than 1e100.
    """
    exponent = math.frexp(max(values.max(), -values.min()))[1]
    scaled = np.ldexp(values, -exponent)  # at most 1, so that squares are not too large or small
    mean = average(scaled, shares)
    scaled -= mean
    spread = math.sqrt(average(np.square(scaled, out=scaled), shares))
    center, sd = np.ldexp([mean, spread], exponent).tolist()
    known = spread > 1e-12 and 1.0 / MOST_SPREAD <= sd <= MOST_SPREAD
    return center, sd if known else 0.0


def average(values: FloatArray, shares: FloatArray | None) -> float:
    """Return the mean, weighted by shares of any sum."""
    if shares is None:
        return float(values.mean())
    return float((values * shares).sum() / shares.sum())
