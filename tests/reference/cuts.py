"""Twins of ``ruleglm.kernels.cuts``: sets, lists and arrays of all digits at once."""

from bisect import bisect_left, bisect_right
from decimal import Decimal

import numpy as np

from ruleglm.kernels.cuts import REACH, SHARE, SINGLE


def choose_cuts(cumulative, bins, tie, cuts):
    weights = np.diff(cumulative, prepend=0.0)
    heavy = weights >= cumulative[-1] / bins * (1.0 - tie)
    while np.count_nonzero(heavy) + len(light_runs(heavy)) > bins:
        least = weights[heavy].min() * (1.0 + tie)
        heavy[np.argmax(heavy & (weights <= least))] = False
    runs = light_runs(heavy)
    shares = [cumulative[stop - 1] - upto(cumulative, start) for start, stop in runs]
    parts = share_bins(shares, runs, bins - np.count_nonzero(heavy), tie)
    chosen = set(np.flatnonzero(heavy).tolist())
    for (start, stop), n_parts in zip(runs, parts, strict=True):
        chosen |= {start - 1, stop - 1, *split_evenly(cumulative, start, stop, n_parts, tie)}
    cuts[:] = False
    cuts[sorted(chosen - {-1, len(heavy) - 1})] = True


def light_runs(heavy):
    edges = np.flatnonzero(np.diff(np.concatenate([[True], heavy, [True]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def share_bins(shares, runs, n_parts, tie):
    parts = [1] * len(runs)
    for _ in range(n_parts - len(runs)):
        load = [
            share / part if part < stop - start else 0.0
            for share, part, (start, stop) in zip(shares, parts, runs, strict=True)
        ]
        most = max(load) * (1.0 - tie)
        if most == 0.0:
            break
        parts[next(k for k, one in enumerate(load) if one >= most)] += 1
    return parts


def split_evenly(cumulative, start, stop, n_parts, tie):
    cuts, first, before = [], start, upto(cumulative, start)
    for left in range(n_parts, 1, -1):
        target = before + (cumulative[stop - 1] - before) / left
        cut = bisect_left(cumulative, target * (1.0 - tie), first, stop)
        below, above = target - upto(cumulative, cut), cumulative[cut] - target
        if cut > first and below <= above + tie * target:
            cut -= 1
        cut = min(cut, stop - left)
        cuts.append(cut)
        first, before = cut + 1, cumulative[cut]
    return cuts


def upto(cumulative, place):
    return cumulative[place - 1] if place else 0.0


def round_cuts(values, cumulative, places, near, up, down, thresholds):
    ends, most = [-1, *places.tolist(), len(values) - 1], len(up) // 2
    for k, (before, here, after) in enumerate(zip(ends, ends[1:], ends[2:], strict=False)):
        low, high = values[here], values[here + 1]
        middle = 0.5 * low + 0.5 * high
        if here - before > 1 and after - here > 1:
            below = cumulative[here] - upto(cumulative, before + 1)
            lighter = min(below, cumulative[after] - cumulative[here])
            slack = min(SHARE * lighter, near * cumulative[-1])
            low = values[bisect_left(cumulative, cumulative[here] - slack)]
            high = values[bisect_right(cumulative, cumulative[here] + slack)]
        thresholds[k] = round_inside(values, low, high, middle, most)


def round_inside(values, low, high, middle, most):
    if low < 0.0 < high and not holds(values, 0.0):
        return 0.0
    if middle == 0.0 or not np.isfinite(middle):
        return np.nan
    exponent = int(np.floor(np.log10(abs(middle))))
    for power in range(exponent, exponent - 9, -1) if 8 - most <= exponent <= most else ():
        unit = Decimal(10) ** power
        nearest = int(np.rint(float(Decimal(middle) / unit)))
        decimals = [float((nearest + step) * unit) for step in range(-REACH, REACH + 1)]
        free = [one for one in decimals if low < one < high and not holds(values, one)]
        if free:
            return min(free, key=lambda one: abs(one - middle))
    return np.nan


def holds(values, number):
    margin = SINGLE * abs(number)
    return bool(np.any((number - margin <= values) & (values <= number + margin)))
