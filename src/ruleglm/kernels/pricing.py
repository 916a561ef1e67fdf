"""Scores of every conjunction of conditions from joint histograms (design, section 3).

The first-degree conditions of all features lie one after the other: those of feature ``f`` are
``first[f]`` to ``first[f + 1]``, each a range ``lo .. hi`` of bins or, negated, all regular bins
but these. Along the last axis of a histogram they are not listed but scanned, from a vector that
holds running sums for an ordered feature and plain sums for a feature of levels. What is found
there is given as a code ``2 * bin + complement``: the bins up to ``bin`` or those after it, for
levels the one bin or all others; the bin of missing values is a level of its own.

``top[f]`` is the last bin of an ordered feature, whose second-degree conditions are the intervals
``a .. b`` with ``1 <= a <= b < top``; for a feature of levels it is ``-1 - n_levels``, and a
second-degree condition is all regular bins but two levels ``a < b``.

Both signs are searched at once: slot 0 is the largest sum, slot 1 the smallest.
"""

import numpy as np

from ruleglm.kernels.compile import finite_kernel


@finite_kernel
def scan_axis(vector, size, top):
    """Return the largest and smallest sum of a first-degree condition, see above.

    Parameters
    ----------
    vector : (at least size,) float64, running sums if ``top >= 0``, else plain sums
    size : int, bins of the feature, the last one that of missing values
    top : int, see above
    """
    high, low = -np.inf, np.inf
    if top >= 0:
        for k in range(top):
            high = max(high, vector[k])
            low = min(low, vector[k])
        regular = vector[size - 2]
        missing = vector[size - 1] - regular
        total = vector[top]
    else:
        total = 0.0
        for k in range(size - 1):
            total += vector[k]
        for k in range(-1 - top):
            high = max(high, vector[k])
            low = min(low, vector[k])
        regular = total
        missing = vector[size - 1]
    return (
        max(max(high, total - low), max(missing, regular)),
        min(min(low, total - high), min(missing, regular)),
    )


@finite_kernel
def locate(vector, size, top, sign):
    """Return the code of the first-degree condition with the largest (0) or smallest (1) sum."""
    factor = 1.0 if sign == 0 else -1.0
    plain = 0.0
    if top < 0:
        for k in range(size - 1):
            plain += vector[k]
    total = vector[top] if top >= 0 else plain
    regular = vector[size - 2] if top >= 0 else plain
    missing = vector[size - 1] - (regular if top >= 0 else 0.0)
    best, code = factor * missing, 2 * (size - 1)
    if factor * regular > best:
        best, code = factor * regular, 2 * (size - 1) + 1
    for k in range(top if top >= 0 else -1 - top):
        if factor * vector[k] >= best:
            best, code = factor * vector[k], 2 * k
        if factor * (total - vector[k]) > best:
            best, code = factor * (total - vector[k]), 2 * k + 1
    return code


@finite_kernel
def scan_second_degree(vector, size, top, best, where):
    """Find the second-degree conditions of one feature with the largest and smallest sums.

    Parameters
    ----------
    vector, size, top : see scan_axis
    best : (2,) float64, OUT, raised or lowered only
    where : (2, 2) int64, OUT, the bins ``a, b`` of a slot that changed
    """
    if top >= 0:
        low, high = np.inf, -np.inf  # smallest and largest running sum so far, and its bin
        low_at, high_at = 0, 0
        for b in range(1, top):
            if vector[b - 1] < low:
                low, low_at = vector[b - 1], b
            if vector[b - 1] > high:
                high, high_at = vector[b - 1], b
            if vector[b] - low > best[0]:
                best[0], where[0, 0], where[0, 1] = vector[b] - low, low_at, b
            if vector[b] - high < best[1]:
                best[1], where[1, 0], where[1, 1] = vector[b] - high, high_at, b
        return
    n_levels = -1 - top
    if n_levels < 2:
        return
    total = 0.0
    for b in range(size - 1):
        total += vector[b]
    small, smaller, large, larger = 0, -1, 0, -1  # positions of the two smallest and two largest
    for b in range(1, n_levels):
        if vector[b] < vector[small]:
            small, smaller = b, small
        elif smaller < 0 or vector[b] < vector[smaller]:
            smaller = b
        if vector[b] > vector[large]:
            large, larger = b, large
        elif larger < 0 or vector[b] > vector[larger]:
            larger = b
    if total - vector[small] - vector[smaller] > best[0]:
        best[0] = total - vector[small] - vector[smaller]
        where[0, 0], where[0, 1] = min(small, smaller), max(small, smaller)
    if total - vector[large] - vector[larger] < best[1]:
        best[1] = total - vector[large] - vector[larger]
        where[1, 0], where[1, 1] = min(large, larger), max(large, larger)


@finite_kernel
def score_pairs(histograms, starts, tuples, n_bins, first, lo, hi, negate, top, deep, best, where):
    """Find the best conjunctions on each pair of features, by their degrees on the two.

    Parameters
    ----------
    histograms : (n_cells,) float64
    starts : (n_pairs + 1,) int64
    tuples : (n_pairs, 2) int64
    n_bins : (n_features,) int64
    first, lo, hi, negate, top : the conditions, see above
    deep : bool, whether second-degree conditions of one of the features are wanted
    best : (n_pairs, 3, 2) float64, OUT; kinds: 1 + 1, 1 + 2 and 2 + 1 conditions
    where : (n_pairs, 3, 2, 3) int64, OUT; the first-degree condition of one feature, and of the
        other the code of a first-degree condition (and -1) or the bins of a second-degree one
    """
    widest = 0
    for f in range(n_bins.shape[0]):
        widest = max(widest, n_bins[f])
    running = np.empty((widest + 1, widest))
    vector = np.empty(widest)
    bins = np.empty((2, 2), np.int64)
    second = np.empty(2)
    for t in range(tuples.shape[0]):
        for kind in range(3):
            best[t, kind, 0], best[t, kind, 1] = -np.inf, np.inf
        for turn in range(2 if deep else 1):
            f, g = tuples[t, turn], tuples[t, 1 - turn]
            size, width = n_bins[f], n_bins[g]
            stride, step = (width, 1) if turn == 0 else (1, size)
            ordered = top[g] >= 0
            for k in range(width):
                running[0, k] = 0.0
            for b in range(size):
                total = 0.0
                for k in range(width):
                    value = histograms[starts[t] + b * stride + k * step]
                    total += value
                    running[b + 1, k] = running[b, k] + (total if ordered else value)
            for c in range(first[f], first[f + 1]):
                if negate[c]:
                    for k in range(width):
                        inside = running[hi[c] + 1, k] - running[lo[c], k]
                        vector[k] = running[size - 1, k] - inside
                else:
                    for k in range(width):
                        vector[k] = running[hi[c] + 1, k] - running[lo[c], k]
                if turn == 0:
                    found = scan_axis(vector, width, top[g])
                    for sign in range(2):  # a literal sign would compile locate once for each
                        value = found[sign]
                        if value > best[t, 0, 0] if sign == 0 else value < best[t, 0, 1]:
                            best[t, 0, sign] = value
                            where[t, 0, sign, 0] = c
                            where[t, 0, sign, 1] = locate(vector, width, top[g], sign)
                            where[t, 0, sign, 2] = -1
                if deep:
                    kind = 1 + turn
                    second[0], second[1] = best[t, kind, 0], best[t, kind, 1]
                    scan_second_degree(vector, width, top[g], second, bins)
                    for sign in range(2):
                        if second[sign] != best[t, kind, sign]:
                            best[t, kind, sign] = second[sign]
                            where[t, kind, sign, 0] = c
                            where[t, kind, sign, 1] = bins[sign, 0]
                            where[t, kind, sign, 2] = bins[sign, 1]


@finite_kernel
def score_triples(histograms, starts, tuples, n_bins, first, lo, hi, negate, top, best, where):
    """Find the best conjunctions of one first-degree condition on each of three features.

    Parameters
    ----------
    histograms : (n_cells,) float64, overwritten by running sums
    starts : (n_triples + 1,) int64
    tuples : (n_triples, 3) int64
    n_bins : (n_features,) int64
    first, lo, hi, negate, top : the conditions, see above
    best : (n_triples, 2) float64, OUT
    where : (n_triples, 2, 3) int64, OUT, a condition of the first two features, a code of the third
    """
    widest = 0
    for f in range(n_bins.shape[0]):
        widest = max(widest, n_bins[f])
    plane = np.empty((widest + 1, widest))
    vector = np.empty(widest)
    for t in range(tuples.shape[0]):
        f, g, h = tuples[t, 0], tuples[t, 1], tuples[t, 2]
        size, rows, width = n_bins[f], n_bins[g], n_bins[h]
        area = rows * width
        cube = histograms[starts[t] : starts[t + 1]]
        if top[h] >= 0:
            for line in range(0, size * area, width):
                for k in range(1, width):
                    cube[line + k] += cube[line + k - 1]
        for cell in range(area, size * area):
            cube[cell] += cube[cell - area]
        best[t, 0], best[t, 1] = -np.inf, np.inf
        for c in range(first[f], first[f + 1]):
            upper, lower = hi[c] * area, (lo[c] - 1) * area
            regular = (size - 2) * area
            for k in range(width):
                plane[0, k] = 0.0
            for b in range(rows):
                for k in range(width):
                    cell = b * width + k
                    value = cube[upper + cell]
                    if lower >= 0:
                        value -= cube[lower + cell]
                    if negate[c]:
                        value = cube[regular + cell] - value
                    plane[b + 1, k] = plane[b, k] + value
            for d in range(first[g], first[g + 1]):
                if negate[d]:
                    for k in range(width):
                        inside = plane[hi[d] + 1, k] - plane[lo[d], k]
                        vector[k] = plane[rows - 1, k] - inside
                else:
                    for k in range(width):
                        vector[k] = plane[hi[d] + 1, k] - plane[lo[d], k]
                found = scan_axis(vector, width, top[h])
                for sign in range(2):
                    value = found[sign]
                    if value > best[t, 0] if sign == 0 else value < best[t, 1]:
                        best[t, sign] = value
                        where[t, sign, 0] = c
                        where[t, sign, 1] = d
                        where[t, sign, 2] = locate(vector, width, top[h], sign)
