"""Chooses the thresholds of a column of numbers: few, round, and where the rows are.

Quantiles alone collapse on columns in which one value is most of the rows, so a value that would
fill a bin by itself gets a bin to itself, and only the values between are cut into equal shares.
"""

import math
import sys
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TypeAlias

import numpy as np

from ruleglm.dtypes import INDEX_DTYPE, BoolArray, FloatArray

TIE = 1e-9
"""Shares of the weight closer than this are equal, so that the scale of weights does not matter."""

SHORT = 4096
"""Values of a column up to which their weights are a list: one is read faster than of an array."""

Cumulative: TypeAlias = FloatArray | list[float]

MOST_THRESHOLDS = 254
"""Thresholds of a column, so that a code is one byte."""

_EXACT = Context(prec=1600)  # holds the mean of any two doubles
_HALF = Decimal("0.5")
_ROUNDED = tuple(Context(prec=digits) for digits in range(1, 18))

_DIGITS = np.arange(9)[:, None]
"""Digits after the first of decimals that are looked at in doubles."""

_MOST_POWER = 22
"""Powers of ten up to this one are doubles."""

_UP = np.array([float(f"1e{max(0, power)}") for power in range(-_MOST_POWER, _MOST_POWER + 1)])
_DOWN = _UP[::-1].copy()

_DOUBT = 1e-5
"""More than the error of a number of nine digits that was computed in doubles."""


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
        ordered = np.sort(values)  # missing values come last
        ordered = ordered[: int(ordered.searchsorted(np.nan))]
        places = _last_of_runs(ordered).nonzero()[0]
        return DistinctValues(ordered[places], np.add(places, 1.0, dtype=np.float64))
    order = np.argsort(values)
    order = order[: len(order) - np.count_nonzero(np.isnan(values))]
    ordered = values[order]
    last = _last_of_runs(ordered)
    return DistinctValues(ordered[last], np.cumsum(sample_weight[order])[last])


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
    if len(distinct.values) <= bins:
        cuts = list(range(len(distinct.values) - 1))
    else:
        cuts = _choose_cuts(distinct, bins)
    places = np.array(cuts, dtype=INDEX_DTYPE)
    between = shortest_between_each(distinct.values[places], distinct.values[places + 1])
    return tuple(threshold for threshold in between if threshold is not None)


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


def _choose_cuts(distinct: DistinctValues, bins: int) -> list[int]:
    """Return positions of values after which a bin ends, ascending."""
    cumulative: Cumulative = distinct.cumulative
    if len(distinct.cumulative) <= SHORT:
        cumulative = distinct.cumulative.tolist()
    heavy = _find_heavy(distinct.weights, float(cumulative[-1]) / bins, bins)
    starts, stops = _light_runs(heavy)
    parts = _share_bins(cumulative, starts, stops, bins - int(np.count_nonzero(heavy)))
    cuts = set(np.flatnonzero(heavy).tolist())
    for start, stop, n_parts in zip(starts, stops, parts, strict=True):
        cuts.update((start - 1, stop - 1))
        cuts.update(_split_evenly(cumulative, start, stop, n_parts))
    return sorted(cuts - {-1, len(heavy) - 1})


def _find_heavy(weights: FloatArray, fair: float, bins: int) -> BoolArray:
    """Mark the values with a bin of their own; the lightest give theirs up if bins run short."""
    heavy = weights >= fair * (1.0 - TIE)
    while np.count_nonzero(heavy) + len(_light_runs(heavy)[0]) > bins:
        least = weights[heavy].min() * (1.0 + TIE)
        heavy[np.argmax(heavy & (weights <= least))] = False
    return heavy


def _light_runs(heavy: BoolArray) -> tuple[list[int], list[int]]:
    """Return where the runs of values that are not heavy start and stop."""
    light = np.zeros(len(heavy) + 2, dtype=np.bool_)
    np.logical_not(heavy, out=light[1:-1])
    edges = (light[1:] != light[:-1]).nonzero()[0].tolist()
    return edges[::2], edges[1::2]


def _share_bins(
    cumulative: Cumulative, starts: list[int], stops: list[int], n_parts: int
) -> list[int]:
    """Give each run one part, then every further part to the run with most weight a part."""
    sizes = [stop - start for start, stop in zip(starts, stops, strict=True)]
    if len(sizes) == 1:
        return [min(n_parts, sizes[0])]
    shares = [
        _upto(cumulative, b) - _upto(cumulative, a) for a, b in zip(starts, stops, strict=True)
    ]
    parts = [1] * len(sizes)
    load = [share if size > 1 else 0.0 for share, size in zip(shares, sizes, strict=True)]
    for _ in range(n_parts - len(sizes)):
        most = max(load) * (1.0 - TIE)
        if most == 0.0:
            break
        k = next(k for k, one in enumerate(load) if one >= most)
        parts[k] += 1
        load[k] = shares[k] / parts[k] if parts[k] < sizes[k] else 0.0
    return parts


def _split_evenly(cumulative: Cumulative, start: int, stop: int, n_parts: int) -> list[int]:
    """Cut the values ``start..stop-1`` into parts of about equal weight, none of them empty."""
    if n_parts == stop - start:
        return list(range(start, stop - 1))
    cuts = []
    end, first = float(cumulative[stop - 1]), start
    before = _upto(cumulative, start)
    for left in range(n_parts, 1, -1):
        target = before + (end - before) / left
        cut = bisect_left(cumulative, target * (1.0 - TIE), first, stop)
        below, above = _upto(cumulative, cut), float(cumulative[cut])
        if cut > first and target - below <= above - target + TIE * target:
            cut -= 1
        cut = min(cut, stop - left)  # leave a value for each of the other parts
        cuts.append(cut)
        first, before = cut + 1, float(cumulative[cut])
    return cuts


def _upto(cumulative: Cumulative, position: int) -> float:
    """Return the weight of the values before a position."""
    return float(cumulative[position - 1]) if position else 0.0


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


def shortest_between_each(low: FloatArray, high: FloatArray) -> list[float | None]:
    """Return `shortest_between` of many pairs of numbers.

    The decimals of one to nine digits nearest each middle are computed in doubles, all at once.
    Pairs with none of them between, or for which rounding decides, are left to exact arithmetic.
    """
    with np.errstate(all="ignore"):
        middle = 0.5 * low + 0.5 * high
        exponents = np.floor(np.log10(np.abs(middle)))
    sure = (exponents <= _MOST_POWER) & (exponents >= len(_DIGITS) - 1 - _MOST_POWER)
    places = _DIGITS + _MOST_POWER - np.where(sure, exponents, 0.0).astype(INDEX_DTYPE)
    up, down = _UP[places], _DOWN[places]
    scaled = np.where(sure, middle, 0.0) * up / down
    lower, upper = np.rint(scaled - _DOUBT), np.rint(scaled + _DOUBT)
    below, above = lower * down / up, upper * down / up
    inside = (low < below) & (below < high) | (low < above) & (above < high)
    fewest = np.argmax(inside, axis=0), np.arange(len(low))
    sure &= inside[fewest] & (lower[fewest] == upper[fewest])
    sure &= (low >= 0.0) | (high <= 0.0)
    pairs = zip(low.tolist(), high.tolist(), below[fewest].tolist(), sure.tolist(), strict=True)
    return [one if known else shortest_between(left, right) for left, right, one, known in pairs]


def _make_finite(low: float, high: float) -> tuple[float, float]:
    """Replace an infinite neighbour by a number not far beyond the finite one."""
    most = sys.float_info.max
    if low == -math.inf:
        return max(high - max(1.0, abs(high)), -most), high
    if high == math.inf:
        return low, min(low + max(1.0, abs(low)), most)
    return low, high
