"""Chooses the thresholds of a column of numbers: few, round, and where the rows are.

Quantiles alone collapse on columns in which one value is most of the rows, so a value that would
fill a bin by itself gets a bin to itself, and only the values between are cut into equal shares.
"""

import math
import sys
from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np

from ruleglm.dtypes import BoolArray, FloatArray

TIE = 1e-9
"""Shares of the weight closer than this are equal, so that the scale of weights does not matter."""

NEAR = 0.001
"""Share of the weight by which a cut may be off its place for a rounder threshold."""

MOST_THRESHOLDS = 254
"""Thresholds of a column, so that a code is one byte."""

_EXACT = Context(prec=1600)  # holds the mean of any two doubles
_HALF = Decimal("0.5")
_ROUNDED = tuple(Context(prec=digits) for digits in range(1, 18))

_MOST_POWER = 22
"""Powers of ten up to this one are doubles."""

_UP = np.array([float(f"1e{max(0, power)}") for power in range(-_MOST_POWER, _MOST_POWER + 1)])
_DOWN = _UP[::-1].copy()


@dataclass(frozen=True)
class DistinctValues:
    """The distinct values of a column and their weights.

    Parameters
    ----------
    values : ndarray of shape (n_distinct,), float64
        The values, ascending; infinities are values, missing is none.
    cumulative : ndarray of shape (n_distinct,), float64
        Total weight of the rows up to and including each value.
    """

    values: FloatArray
    cumulative: FloatArray

    @property
    def weights(self) -> FloatArray:
        """Weight of the rows of each value."""
        weights = self.cumulative.copy()
        weights[1:] -= self.cumulative[:-1]
        return weights


def collect_distinct(values: FloatArray, sample_weight: FloatArray | None = None) -> DistinctValues:
    """Sort a column and add up the weight of each distinct value.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), float64
        The column; NaN says missing and is left out.
    sample_weight : ndarray of shape (n_rows,), optional
        Positive weights; 1 each if not given.

    Returns
    -------
    DistinctValues
        The same, bit for bit, for a row of weight 2 and for two rows.
    """
    if sample_weight is None:
        ordered = sort_known(values)
        places = _last_of_runs(ordered).nonzero()[0]
        return DistinctValues(ordered[places], np.add(places, 1.0, dtype=np.float64))
    order = np.argsort(values)
    order = order[: len(order) - np.count_nonzero(np.isnan(values))]
    ordered = values[order]
    last = _last_of_runs(ordered)
    return DistinctValues(ordered[last], np.cumsum(sample_weight[order])[last])


def sort_known(values: FloatArray) -> FloatArray:
    """Return the values that are not missing, ascending."""
    from ruleglm import kernels  # not at the top: a model that only predicts has no use of them

    given, ordered = np.require(values, np.float64, ["C", "W"]), np.empty(len(values))
    keys, spare = np.empty((2, len(values)), np.uint64)
    return ordered[: kernels.sort_numbers(given, keys, spare, ordered)]


def _last_of_runs(ordered: FloatArray) -> BoolArray:
    """Mark the last of each run of equal values."""
    last = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=last[:-1])
    return last


def choose_thresholds(distinct: DistinctValues, bins: int) -> tuple[float, ...]:
    """Choose at most ``bins - 1`` thresholds.

    Parameters
    ----------
    distinct : DistinctValues
        The values of a column.
    bins : int
        The most bins that the thresholds may make, at least 2.

    Returns
    -------
    tuple of float
        Thresholds, ascending and finite. Every bin ``low < x <= high`` between them holds values.
    """
    from ruleglm import kernels  # see above

    values, cumulative = distinct.values, distinct.cumulative
    places = np.arange(len(values) - 1)
    if len(values) > bins:
        cuts = np.empty(len(values), np.bool_)
        kernels.choose_cuts(cumulative, bins, TIE, cuts)
        places = cuts.nonzero()[0]
    thresholds = np.empty(len(places))
    kernels.round_cuts(values, cumulative, places, NEAR, _UP, _DOWN, thresholds)
    chosen: list[float | None] = list(thresholds.tolist())
    for k in np.flatnonzero(np.isnan(thresholds)).tolist():
        chosen[k] = shortest_between(float(values[places[k]]), float(values[places[k] + 1]))
    return tuple(threshold for threshold in chosen if threshold is not None)


def merge_thresholds(
    distinct: DistinctValues, chosen: tuple[float, ...], wanted: tuple[float, ...]
) -> tuple[float, ...]:
    """Return the thresholds wanted, and of those chosen the ones that cut elsewhere.

    Of more than `MOST_THRESHOLDS` in all, chosen ones are left out at even distances.
    """
    taken = set(np.searchsorted(distinct.values, wanted, side="right").tolist())
    places = np.searchsorted(distinct.values, chosen, side="right").tolist()
    others = [t for t, place in zip(chosen, places, strict=True) if place not in taken]
    most = max(0, MOST_THRESHOLDS - len(set(wanted)))
    if len(others) > most:
        others = [others[k] for k in np.linspace(0, len(others) - 1, most).astype(int)]
    return tuple(sorted({*others, *wanted}))


def shortest_between(low: float, high: float) -> float | None:
    """Return the shortest decimal strictly between two numbers.

    Parameters
    ----------
    low, high : float
        Neighbouring values of a column, ``low < high``; either may be infinite.

    Returns
    -------
    float or None
        A finite threshold with ``low <= threshold < high``: zero if it lies between, else the
        decimal of fewest digits, of these the one nearest the middle, and `low` if no double lies
        between.
        None if `low` is minus infinity and no finite double is below `high`.

    Examples
    --------
    >>> shortest_between(37, 38)
    37.5
    >>> shortest_between(0.301, 0.3171)
    0.31
    """
    if low < 0.0 < high:
        return 0.0
    low, high = _make_finite(low, high)
    if low == high:
        return None if low < 0.0 else low
    if math.nextafter(low, high) == high:
        return low + 0.0  # never minus zero
    middle = _EXACT.multiply(_EXACT.add(Decimal(low), Decimal(high)), _HALF)
    for context in _ROUNDED:
        candidate = float(context.plus(middle))
        if low < candidate < high:
            return candidate
    return float(middle)


def _make_finite(low: float, high: float) -> tuple[float, float]:
    """Replace an infinite neighbour by a number not far beyond the finite one."""
    most = sys.float_info.max
    if low == -math.inf:
        return max(high - max(1.0, abs(high)), -most), high
    if high == math.inf:
        return low, min(low + max(1.0, abs(low)), most)
    return low, high
