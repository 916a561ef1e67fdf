"""Where the values of a column are cut into bins, and the decimals between them."""

import numpy as np

from ruleglm.kernels.compile import ordered_kernel

SHARE = 0.1 * (1.0 + 1e-6)
"""Of the lighter bin beside a cut: the most weight that rounding moves, but for rounding errors."""

REACH = 4
"""Decimals of as many digits that are tried on each side of a cut."""

SINGLE = 1e-7
"""Relative distance of numbers that are one in single precision, or but for rounding of sums."""


@ordered_kernel
def choose_cuts(cumulative, bins, tie, cuts):
    """Mark the values after which a bin ends.

    A value that would fill a bin by itself has one; the bins that are left are shared among the
    runs of values between such ones, and each run is cut into parts of about equal weight.

    Parameters
    ----------
    cumulative : (n_values,) float64, weight up to and including each distinct value, ascending
    bins : int, the most bins, at least 2 and fewer than there are values
    tie : float, relative distance up to which weights are equal
    cuts : (n_values,) bool, OUT
    """
    n = cumulative.shape[0]
    n_heavy = mark_heavy(cumulative, cumulative[n - 1] / bins * (1.0 - tie), cuts)
    starts, stops = np.empty(n_heavy + 1, np.int64), np.empty(n_heavy + 1, np.int64)
    n_runs = find_runs(cuts, starts, stops)
    while n_heavy + n_runs > bins:
        drop_lightest(cumulative, tie, cuts)
        n_heavy -= 1
        n_runs = find_runs(cuts, starts, stops)
    parts = np.ones(n_runs, np.int64)
    share_parts(cumulative, starts, stops, bins - n_heavy - n_runs, tie, parts)
    for k in range(n_runs):
        if starts[k] > 0:
            cuts[starts[k] - 1] = True
        split_evenly(cumulative, starts[k], stops[k], parts[k], tie, cuts)
        cuts[stops[k] - 1] = True
    cuts[n - 1] = False


@ordered_kernel
def weight_before(cumulative, place):
    """Return the weight of the values before a place."""
    return cumulative[place - 1] if place > 0 else 0.0


@ordered_kernel
def mark_heavy(cumulative, least, heavy):
    """Mark the values of at least some weight; return their number."""
    n_heavy = 0
    for k in range(cumulative.shape[0]):
        heavy[k] = cumulative[k] - weight_before(cumulative, k) >= least
        n_heavy += heavy[k]
    return n_heavy


@ordered_kernel
def find_runs(heavy, starts, stops):
    """Find where the runs of values that are not heavy start and stop; return their number."""
    n_runs = 0
    for k in range(heavy.shape[0]):
        if not heavy[k]:
            if k == 0 or heavy[k - 1]:
                starts[n_runs] = k
                n_runs += 1
            stops[n_runs - 1] = k + 1
    return n_runs


@ordered_kernel
def drop_lightest(cumulative, tie, heavy):
    """Take the mark off the lightest heavy value, the first of those as light."""
    least = np.inf
    for k in range(cumulative.shape[0]):
        if heavy[k]:
            least = min(least, cumulative[k] - weight_before(cumulative, k))
    for k in range(cumulative.shape[0]):
        weight = cumulative[k] - weight_before(cumulative, k)
        if heavy[k] and weight <= least * (1.0 + tie):
            heavy[k] = False
            return


@ordered_kernel
def share_parts(cumulative, starts, stops, n_more, tie, parts):
    """Give further parts, one after the other, to the run with most weight a part; parts OUT."""
    for _ in range(n_more):
        most = 0.0
        for k in range(parts.shape[0]):
            most = max(most, load_of(cumulative, starts[k], stops[k], parts[k]))
        if most == 0.0:
            return
        for k in range(parts.shape[0]):
            if load_of(cumulative, starts[k], stops[k], parts[k]) >= most * (1.0 - tie):
                parts[k] += 1
                break


@ordered_kernel
def load_of(cumulative, start, stop, n_parts):
    """Return the weight of a part of a run, 0 if it has as many parts as values."""
    if n_parts >= stop - start:
        return 0.0
    return (cumulative[stop - 1] - weight_before(cumulative, start)) / n_parts


@ordered_kernel
def split_evenly(cumulative, start, stop, n_parts, tie, cuts):
    """Cut a run into parts of about equal weight, none of them empty; cuts OUT."""
    end, first = cumulative[stop - 1], start
    before = weight_before(cumulative, start)
    for left in range(n_parts, 1, -1):
        target = before + (end - before) / left
        low, high = first, stop
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] < target * (1.0 - tie):
                low = middle + 1
            else:
                high = middle
        cut = low
        below = target - weight_before(cumulative, cut)
        if cut > first and below <= cumulative[cut] - target + tie * target:
            cut -= 1
        cut = min(cut, stop - left)  # leave a value for each of the other parts
        cuts[cut] = True
        first, before = cut + 1, cumulative[cut]


@ordered_kernel
def round_cuts(values, cumulative, places, near, up, down, thresholds):
    """Find the shortest decimal at each cut, between its values or between others nearby.

    Only between its own, where there is a bin of one value on either side. Of decimals of as many
    digits it is the one nearest the middle of the cut's values, and it is none of the values, nor
    one but for rounding.

    Parameters
    ----------
    values, cumulative : (n_values,) float64, distinct values, ascending, and weight up to each
    places : (n_cuts,) int64, those of the values after which a bin ends, ascending
    near : float, the share of the whole weight that a threshold may be off
    up, down : (2 most + 1,) float64, ten to the powers from minus to plus ``most``, those below one
        as one; and the same turned round
    thresholds : (n_cuts,) float64, OUT, NaN where none of up to nine digits is found
    """
    last = values.shape[0] - 1
    for k in range(places.shape[0]):
        before = places[k - 1] if k > 0 else -1
        here, after = places[k], places[k + 1] if k + 1 < places.shape[0] else last
        low, high = values[here], values[here + 1]
        middle = 0.5 * low + 0.5 * high
        if here - before > 1 and after - here > 1:
            upto = cumulative[here]
            below = upto - weight_before(cumulative, before + 1)
            lighter = min(below, cumulative[after] - upto)
            slack = min(SHARE * lighter, near * cumulative[last])
            low = values[np.searchsorted(cumulative, upto - slack)]
            high = values[np.searchsorted(cumulative, upto + slack, side="right")]
        thresholds[k] = round_inside(values, low, high, middle, up, down)


@ordered_kernel
def round_inside(values, low, high, middle, up, down):
    """Return the shortest decimal between two numbers that is none of the values, NaN for none.

    Of some as short the one nearest ``middle``, which lies between them.
    """
    most = up.shape[0] // 2
    if low < 0.0 < high and not holds(values, 0.0):
        return 0.0
    if not 0.0 < abs(middle) < np.inf:
        return np.nan
    exponent = np.floor(np.log10(abs(middle)))
    if exponent > most or exponent < 8 - most:
        return np.nan
    first = most - np.int64(exponent)
    for place in range(first, first + 9):
        nearest = np.rint(middle * up[place] / down[place])
        found, least = np.nan, np.inf
        for step in range(-REACH, REACH + 1):
            decimal = (nearest + step) * down[place] / up[place]
            distance = abs(decimal - middle)
            if low < decimal < high and distance < least and not holds(values, decimal):
                found, least = decimal, distance
        if least < np.inf:
            return found
    return np.nan


@ordered_kernel
def holds(values, number):
    """Tell whether a number is one of some values in order, but for rounding."""
    margin = SINGLE * abs(number)
    at = np.searchsorted(values, number - margin)
    return at < values.shape[0] and values[at] <= number + margin
