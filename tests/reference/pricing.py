"""Twins of ``ruleglm.kernels.pricing``: every condition is a list of bins, and summed."""

import numpy as np


def listed(size, lo, hi, negate):
    """The bins of a condition, by its range."""
    return [b for b in range(size - 1 if negate else size) if (lo <= b <= hi) != negate]


def first_degree(size, top):
    """The bins of all first-degree conditions of an axis, by their codes."""
    found = {2 * (size - 1): [size - 1], 2 * (size - 1) + 1: list(range(size - 1))}
    for k in range(top if top >= 0 else -1 - top):
        if top >= 0:
            found[2 * k], found[2 * k + 1] = list(range(k + 1)), list(range(k + 1, top + 1))
        else:
            found[2 * k], found[2 * k + 1] = [k], [b for b in range(size - 1) if b != k]
    return found


def sign_of_bins(bins, top, way):
    """The sign of the sums that a condition counts for, 0 for both."""
    if way == 0 or bins[-1] > top or {0, top} <= set(bins):
        return 0
    return way if 0 in bins else -way


def second_degree(size, top, way=0):
    """The bins of all second-degree conditions of an axis, by ``a, b``."""
    if way != 0:
        return {}
    if top >= 0:
        return {(a, b): list(range(a, b + 1)) for b in range(top) for a in range(1, b + 1)}
    n_levels = -1 - top
    return {
        (a, b): [k for k in range(size - 1) if k not in (a, b)]
        for b in range(n_levels)
        for a in range(b)
    }


def plain_sums(vector, size, top):
    """The sum of each bin."""
    return np.diff(vector[:size], prepend=0.0) if top >= 0 else vector[:size]


def sums_of(conditions, sums):
    """The sum of each of a dictionary of conditions."""
    return {key: float(sums[bins].sum()) for key, bins in conditions.items()}


def counting(conditions, sign, top, way):
    """Those of a dictionary of conditions that count for the largest (0) or smallest (1) sums."""
    return {
        key: bins
        for key, bins in conditions.items()
        if (1 - 2 * sign) * sign_of_bins(bins, top, way) >= 0
    }


def choose(values, sign):
    """The largest (0) or smallest (1) of a dictionary of values, and its key."""
    key = (max, min)[sign](values, key=values.get)
    return values[key], key


def improve(values, sign, best, where, *before):
    """Write the best of a dictionary of values and its place, if it is better."""
    if values:
        value, key = choose(values, sign)
        if (value > best[sign]) if sign == 0 else (value < best[sign]):
            best[sign] = value
            where[sign] = *before, *key


def scan_axis(vector, size, top, way):
    sums, every = plain_sums(vector, size, top), first_degree(size, top)
    found = [sums_of(counting(every, sign, top, way), sums).values() for sign in range(2)]
    return max(found[0]), min(found[1])


def locate(vector, size, top, way, sign):
    conditions = counting(first_degree(size, top), sign, top, way)
    return choose(sums_of(conditions, plain_sums(vector, size, top)), sign)[1]


def scan_second_degree(vector, size, top, best, where):
    values = sums_of(second_degree(size, top), plain_sums(vector, size, top))
    for sign in range(2):
        improve(values, sign, best, where)


def score_pairs(
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, way, deep, best, where
):
    best[:] = -np.inf, np.inf
    for t, (f, g) in enumerate(tuples):
        cube = histograms[starts[t] : starts[t + 1]].reshape(n_bins[f], n_bins[g])
        codes = {(code, -1): bins for code, bins in first_degree(n_bins[g], top[g]).items()}
        kinds = [(f, g, cube, codes)]
        if deep:
            kinds.append((f, g, cube, second_degree(n_bins[g], top[g], way[g])))
            kinds.append((g, f, cube.T, second_degree(n_bins[f], top[f], way[f])))
        for kind, (feature, other, matrix, others) in enumerate(kinds):
            for c in range(first[feature], first[feature + 1]):
                mine = listed(len(matrix), lo[c], hi[c], negate[c])
                held = matrix[mine].sum(axis=0)
                own = sign_of_bins(mine, top[feature], way[feature])
                for sign in range(2):
                    if own * (1 - 2 * sign) >= 0:
                        values = sums_of(counting(others, sign, top[other], way[other]), held)
                        improve(values, sign, best[t, kind], where[t, kind], c)


def score_triples(
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, way, least, best, where
):
    best[:] = -np.inf, np.inf
    for t, (f, g, h) in enumerate(tuples):
        cube = histograms[starts[t] : starts[t + 1]].reshape(n_bins[[f, g, h]])
        columns = {(code,): bins for code, bins in first_degree(n_bins[h], top[h]).items()}
        for c in range(first[f], first[f + 1]):
            mine = listed(n_bins[f], lo[c], hi[c], negate[c])
            plane = cube[mine].sum(axis=0)
            for sign in range(2):
                if (1 - 2 * sign) * sign_of_bins(mine, top[f], way[f]) < 0:
                    continue
                rows = counting(first_degree(n_bins[g], top[g]), sign, top[g], way[g])
                for d, bins in rows.items():
                    allowed = counting(columns, sign, top[h], way[h])
                    values = sums_of(allowed, plane[list(bins)].sum(axis=0))
                    improve(values, sign, best[t], where[t], c, d)
