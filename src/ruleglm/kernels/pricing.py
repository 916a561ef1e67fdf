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

``way[f]`` is 0 but for an ordered feature that must be monotone: with +1 the bins up to a threshold
count for the largest sums only and those after it for the smallest, with -1 the other way round;
such a feature has no second-degree conditions.
"""

import numpy as np

from ruleglm.kernels.compile import finite_kernel


@finite_kernel
def sign_of(lo, hi, top, way):
    """Return the sign of the sums that a condition may count for, 0 for both; see above."""
    if way == 0 or (lo == 0 and hi >= top) or hi > top:
        return 0
    return way if lo == 0 else -way


@finite_kernel
def scan_axis(vector, size, top, way):
    """Return the largest and smallest sum of a first-degree condition, see above.

    Parameters
    ----------
    vector : (at least size,) float64, running sums if ``top >= 0``, else plain sums
    size : int, bins of the feature, the last one that of missing values
    top, way : int, see above
    """
    high, low = -np.inf, np.inf  # plain comparisons: max() and min() do not vectorise
    n_listed = top if top >= 0 else -1 - top
    for k in range(n_listed):
        value = vector[k]
        high = value if value > high else high
        low = value if value < low else low
    if top >= 0:
        regular = vector[size - 2]
        missing = vector[size - 1] - regular
        total = vector[top]
    else:
        total = 0.0
        for k in range(size - 1):
            total += vector[k]
        regular = total
        missing = vector[size - 1]
    others_high, others_low = total - low, total - high
    high = others_high if way < 0 or (way == 0 and others_high > high) else high
    low = others_low if way > 0 or (way == 0 and others_low < low) else low
    high = missing if missing > high else high
    low = missing if missing < low else low
    high = regular if regular > high else high
    low = regular if regular < low else low
    return high, low


@finite_kernel
def locate(vector, size, top, way, sign):
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
        if factor * vector[k] >= best and factor * way >= 0.0:
            best, code = factor * vector[k], 2 * k
        if factor * (total - vector[k]) > best and factor * way <= 0.0:
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
def score_pairs(
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, way, deep, best, where
):
    """Find the best conjunctions on each pair of features, by their degrees on the two.

    Parameters
    ----------
    histograms : (n_cells,) float64
    starts : (n_pairs + 1,) int64
    tuples : (n_pairs, 2) int64
    n_bins : (n_features,) int64
    first, lo, hi, negate, top, way : the conditions, see above
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
                own = sign_of(lo[c], hi[c], top[f], way[f])
                if negate[c]:
                    for k in range(width):
                        inside = running[hi[c] + 1, k] - running[lo[c], k]
                        vector[k] = running[size - 1, k] - inside
                else:
                    for k in range(width):
                        vector[k] = running[hi[c] + 1, k] - running[lo[c], k]
                if turn == 0:
                    found = scan_axis(vector, width, top[g], way[g])
                    for sign in range(2):  # a literal sign would compile locate once for each
                        value = found[sign]
                        if own * (1 - 2 * sign) < 0:
                            continue
                        if value > best[t, 0, 0] if sign == 0 else value < best[t, 0, 1]:
                            best[t, 0, sign] = value
                            where[t, 0, sign, 0] = c
                            where[t, 0, sign, 1] = locate(vector, width, top[g], way[g], sign)
                            where[t, 0, sign, 2] = -1
                if deep and way[g] == 0:
                    kind = 1 + turn
                    second[0], second[1] = best[t, kind, 0], best[t, kind, 1]
                    scan_second_degree(vector, width, top[g], second, bins)
                    for sign in range(2):
                        if second[sign] != best[t, kind, sign] and own * (1 - 2 * sign) >= 0:
                            best[t, kind, sign] = second[sign]
                            where[t, kind, sign, 0] = c
                            where[t, kind, sign, 1] = bins[sign, 0]
                            where[t, kind, sign, 2] = bins[sign, 1]


@finite_kernel
def widen_line(line, top, out):
    """Do for one line what :func:`widen_lines` does for many side by side."""
    n_bins = line.shape[0]
    n_listed = top if top >= 0 else -1 - top
    running, total = 0.0, 0.0
    for b in range(n_bins - 1):
        running += line[b]
        if b < n_listed:
            out[b] = running if top >= 0 else line[b]
        if b == top:
            total = running
    out[n_listed] = line[n_bins - 1]
    out[n_listed + 1] = running
    out[n_listed + 2] = total if top >= 0 else running


@finite_kernel
def widen_lines(lines, top, out):
    """Give the first axis the lines that conditions are made of.

    They are the listed bins (running sums if ordered), the bin of missing values, all regular bins,
    and what a complement is taken from: everything up to ``top``, or all regular bins.

    Parameters
    ----------
    lines : (n_bins, n_columns) float64
    top : int, see above
    out : (n_listed + 3, n_columns) float64, OUT
    """
    n_bins, n_columns = lines.shape
    n_listed = top if top >= 0 else -1 - top
    regular, total = n_listed + 1, n_listed + 2
    for k in range(n_columns):
        out[regular, k] = 0.0
        out[n_listed, k] = lines[n_bins - 1, k]
    for b in range(n_bins - 1):
        for k in range(n_columns):
            out[regular, k] += lines[b, k]
        if b < n_listed:
            for k in range(n_columns):
                out[b, k] = out[regular, k] if top >= 0 else lines[b, k]
        if b == top:
            for k in range(n_columns):
                out[total, k] = out[regular, k]
    if top < 0:
        for k in range(n_columns):
            out[total, k] = out[regular, k]


@finite_kernel
def locate_in_plane(
    plane, n_rows, n_columns, row_way, column_way, missing_row, missing_column, sign
):
    """Return the largest (0) or smallest (1) sum, and the codes of its row and column conditions.

    ``plane`` is wide, see widen_lines; the ways and the missing bins are those of the two features.
    """
    factor = 1.0 if sign == 0 else -1.0
    total_row, total_column = n_rows + 2, n_columns + 2
    best, row_code, column_code = -np.inf, 0, 0
    for r in range(n_rows + 2):
        for k in range(n_columns + 2):
            for row_turn in range(2 if r < n_rows else 1):
                if r < n_rows and row_way * factor * (1 - 2 * row_turn) < 0.0:
                    continue
                for column_turn in range(2 if k < n_columns else 1):
                    if k < n_columns and column_way * factor * (1 - 2 * column_turn) < 0.0:
                        continue
                    value = plane[r, k]
                    whole = plane[total_row, k]
                    if column_turn:
                        value = plane[r, total_column] - value
                        whole = plane[total_row, total_column] - whole
                    if row_turn:
                        value = whole - value
                    if factor * value > best:
                        best = factor * value
                        row_code = 2 * r + row_turn
                        if r >= n_rows:
                            row_code = 2 * missing_row + r - n_rows
                        column_code = 2 * k + column_turn
                        if k >= n_columns:
                            column_code = 2 * missing_column + k - n_columns
    return factor * best, row_code, column_code


@finite_kernel
def fill_plane(cubes, lo, hi, negate, plane):
    """Take the plane of one condition on the first axis out of its running sums."""
    n_rows, n_columns = plane.shape
    regular = cubes.shape[0] - 2
    for r in range(n_rows):
        for k in range(n_columns):
            plane[r, k] = cubes[hi + 1, r, k] - cubes[lo, r, k]
        if negate:
            for k in range(n_columns):
                plane[r, k] = cubes[regular, r, k] - plane[r, k]


@finite_kernel
def scan_plane(plane, n_rows, n_columns, extremes):
    """Return the largest and smallest sum of two conditions in a wide plane.

    Parameters
    ----------
    plane : (n_rows + 3, n_columns + 3) float64, see widen_lines
    n_rows, n_columns : int, listed bins
    extremes : (4, n_columns + 3) float64, scratch: of each column the largest and smallest sum
        over the listed rows, and the same for what the column leaves
    """
    total_row, total_column = n_rows + 2, n_columns + 2
    for k in range(n_columns + 2):
        extremes[0, k], extremes[1, k] = -np.inf, np.inf
        extremes[2, k], extremes[3, k] = -np.inf, np.inf
    for r in range(n_rows):
        whole = plane[r, total_column]
        for k in range(n_columns + 2):
            value = plane[r, k]
            other = whole - value
            extremes[0, k] = value if value > extremes[0, k] else extremes[0, k]
            extremes[1, k] = value if value < extremes[1, k] else extremes[1, k]
            extremes[2, k] = other if other > extremes[2, k] else extremes[2, k]
            extremes[3, k] = other if other < extremes[3, k] else extremes[3, k]
    high, low = -np.inf, np.inf
    corner = plane[total_row, total_column]
    for k in range(n_columns + 2):
        whole = plane[total_row, k]
        high = max(high, max(extremes[0, k], whole - extremes[1, k]))
        low = min(low, min(extremes[1, k], whole - extremes[0, k]))
        if k < n_columns:
            whole = corner - whole
            high = max(high, max(extremes[2, k], whole - extremes[3, k]))
            low = min(low, min(extremes[3, k], whole - extremes[2, k]))
        for r in range(n_rows, n_rows + 2):
            value = plane[r, k]
            high, low = max(high, value), min(low, value)
            if k < n_columns:
                value = plane[r, total_column] - value
                high, low = max(high, value), min(low, value)
    return high, low


@finite_kernel
def score_triples(
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, way, least, best, where
):
    """Find the best conjunctions of one first-degree condition on each of three features.

    Under each condition of the first feature, the others span a plane of sums. Its columns are
    compared side by side, so that maxima over its rows are vector instructions.

    Parameters
    ----------
    histograms : (n_cells,) float64
    starts : (n_triples + 1,) int64
    tuples : (n_triples, 3) int64
    n_bins : (n_features,) int64
    first, lo, hi, negate, top, way : the conditions, see above
    least : float, only sums beyond it, in size, are located
    best : (n_triples, 2) float64, OUT
    where : (n_triples, 2, 3) int64, OUT, a condition of the first feature, codes of the others
    """
    for t in range(tuples.shape[0]):
        f, g, h = tuples[t, 0], tuples[t, 1], tuples[t, 2]
        size, height, width = n_bins[f], n_bins[g], n_bins[h]
        n_rows = top[g] if top[g] >= 0 else -1 - top[g]
        n_columns = top[h] if top[h] >= 0 else -1 - top[h]
        cubes = np.zeros((size + 1, n_rows + 3, n_columns + 3))
        lines = np.empty((height, n_columns + 3))
        for b in range(size):
            for r in range(height):
                start = starts[t] + (b * height + r) * width
                widen_line(histograms[start : start + width], top[h], lines[r])
            widen_lines(lines, top[g], cubes[b + 1])
            for r in range(n_rows + 3):
                for k in range(n_columns + 3):
                    cubes[b + 1, r, k] += cubes[b, r, k]
        best[t, 0], best[t, 1] = -np.inf, np.inf
        plane = np.empty((n_rows + 3, n_columns + 3))
        extremes = np.empty((4, n_columns + 3))
        shape = n_rows, n_columns, way[g], way[h], height - 1, width - 1
        found = np.empty(2)
        for c in range(first[f], first[f + 1]):
            own = sign_of(lo[c], hi[c], top[f], way[f])
            fill_plane(cubes, lo[c], hi[c], negate[c], plane)
            if way[g] == 0 and way[h] == 0:
                found[0], found[1] = scan_plane(plane, n_rows, n_columns, extremes)
            else:
                for sign in range(2):
                    found[sign] = locate_in_plane(plane, *shape, sign)[0]
            if found[0] > best[t, 0] and own >= 0:
                best[t, 0], where[t, 0, 0] = found[0], c
            if found[1] < best[t, 1] and own <= 0:
                best[t, 1], where[t, 1, 0] = found[1], c
        for sign in range(2):
            if least < abs(best[t, sign]) < np.inf:
                c = where[t, sign, 0]
                fill_plane(cubes, lo[c], hi[c], negate[c], plane)
                _, row, column = locate_in_plane(plane, *shape, sign)
                where[t, sign, 1], where[t, sign, 2] = row, column
