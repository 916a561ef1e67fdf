"""Score statistics of all conjunctions of conditions, from two joint histograms (design, part 6).

A rule ``a`` that joins a model lowers the mean loss by about half of its gain
``(sum g a)^2 / (sum h a - (sum h a)^2 / sum h + ridge)``, with ``g`` and ``h`` the first and second
derivatives of the loss in each row: the intercept moves along, the other coefficients stay.
Conditions, codes and ways are those of :mod:`ruleglm.kernels.pricing`; ``want`` is the sign that
``sum g a`` has to have because of what else is in a rule, 0 for any.
"""

import numpy as np

from ruleglm.kernels.compile import finite_kernel
from ruleglm.kernels.pricing import sign_of

TIE = 1.0 + 1e-7
"""Factor by which a gain has to be larger to count as larger; rounding must decide nothing.

A condition and its complement have the same gain as far as the intercept fits.
"""


@finite_kernel
def fits(g, want, own):
    """Tell whether a sum has the sign that a condition and the rest of its rule need."""
    return want * own >= 0 and g * want >= 0.0 and g * own >= 0.0


@finite_kernel
def scan_gains(slopes, curves, size, top, share, ridge):
    """Return the largest gain of a first-degree condition on one axis.

    Parameters
    ----------
    slopes, curves : (at least size,) float64, sums of ``g`` and of ``h``, running if ``top >= 0``
    size, top : see scan_axis
    share : float, one over ``sum h``
    ridge : float, positive
    """
    best, other = 0.0, 0.0  # two chains of comparisons, so that both vectorise
    total, curve = whole_axis(slopes, curves, size, top)
    for k in range(top if top >= 0 else -1 - top):
        g, h = slopes[k], curves[k]
        gain = g * g / (h - h * h * share + ridge)
        best = gain if gain > best else best
        g, h = total - g, curve - h
        gain = g * g / (h - h * h * share + ridge)
        other = gain if gain > other else other
    best = other if other > best else best
    for missing in range(2):
        g, h = reserved_bins(slopes, curves, size, top, missing)
        gain = g * g / (h - h * h * share + ridge)
        best = gain if gain > best else best
    return best


@finite_kernel
def scan_signed_gains(slopes, curves, size, top, share, ridge, want, way):
    """Do what :func:`scan_gains` does where not every sign is allowed; 0 if there is none.

    It is a function of its own so that the other one stays short enough to vectorise in its caller.
    """
    best = 0.0
    total, curve = whole_axis(slopes, curves, size, top)
    for k in range(top if top >= 0 else -1 - top):
        for complement in range(2):
            g = total - slopes[k] if complement else slopes[k]
            h = curve - curves[k] if complement else curves[k]
            gain = g * g / (h - h * h * share + ridge)
            if gain > best and fits(g, want, -way if complement else way):
                best = gain
    free = np.int64(0)  # as a number in the call it would be a type of its own
    for missing in range(2):
        g, h = reserved_bins(slopes, curves, size, top, missing)
        gain = g * g / (h - h * h * share + ridge)
        if gain > best and fits(g, want, free):
            best = gain
    return best


@finite_kernel
def locate_gain(slopes, curves, size, top, share, ridge, want, way):
    """Return the code of the first first-degree condition with the largest gain; see scan_gains."""
    best, code = -1.0, 0
    total, curve = whole_axis(slopes, curves, size, top)
    for k in range(top if top >= 0 else -1 - top):
        for complement in range(2):
            g = total - slopes[k] if complement else slopes[k]
            h = curve - curves[k] if complement else curves[k]
            gain = g * g / (h - h * h * share + ridge)
            if gain > TIE * best and fits(g, want, -way if complement else way):
                best, code = gain, 2 * k + complement
    free = np.int64(0)  # see above
    for missing in range(2):
        g, h = reserved_bins(slopes, curves, size, top, missing)
        gain = g * g / (h - h * h * share + ridge)
        if gain > TIE * best and fits(g, want, free):
            best, code = gain, 2 * (size - 1) + 1 - missing
    return code


@finite_kernel
def whole_axis(slopes, curves, size, top):
    """Return the two sums that a complement is taken from."""
    if top >= 0:
        return slopes[top], curves[top]
    g, h = 0.0, 0.0
    for k in range(size - 1):
        g += slopes[k]
        h += curves[k]
    return g, h


@finite_kernel
def reserved_bins(slopes, curves, size, top, missing):
    """Return the two sums over the bin of missing values, or over all others."""
    if top >= 0:
        g, h = slopes[size - 2], curves[size - 2]
        if missing:
            return slopes[size - 1] - g, curves[size - 1] - h
        return g, h
    if missing:
        return slopes[size - 1], curves[size - 1]
    return whole_axis(slopes, curves, size, top)


@finite_kernel
def scan_second_gains(slopes, curves, size, top, share, ridge, want, best, bins):
    """Find the second-degree condition of one axis with the largest gain.

    Parameters
    ----------
    slopes, curves, size, top, share, ridge, want : see scan_gains
    best : float, what it has to exceed
    bins : (2,) int64, OUT, the bins ``a, b`` if it does

    Returns
    -------
    float, the larger of ``best`` and the largest gain
    """
    total, curve = whole_axis(slopes, curves, size, top)
    n_listed = top if top >= 0 else -1 - top
    for b in range(1, n_listed):
        for a in range(1 if top >= 0 else 0, b + 1 if top >= 0 else b):
            if top >= 0:
                g, h = slopes[b] - slopes[a - 1], curves[b] - curves[a - 1]
            else:
                g, h = total - slopes[a] - slopes[b], curve - curves[a] - curves[b]
            gain = g * g / (h - h * h * share + ridge)
            if gain > best and g * want >= 0.0:
                best = gain
                bins[0], bins[1] = a, b
    return best


@finite_kernel
def gain_lines(
    histograms, at, gone, tried, starts, n_bins, top, way, wants, total, ridge, every, best, where
):
    """Find the best first-degree condition of each feature within each of several rules.

    A rule may be looked at as if another one had left the model: at the quadratic approximation of
    the loss, first derivatives change by its coefficient times second derivatives on its rows, and
    by the balance that the intercept then makes times second derivatives everywhere.

    Parameters
    ----------
    histograms : (n, 2, n_cells) float64, of ``g`` and ``h``, all features one after the other
    at : (n_rules, 2) int64, the histograms of each rule, and of the rows that it shares with the
        one that has left; the second does not count where nothing has left
    gone : (n_rules, 2) float64, coefficient of the one that has left, and balance
    tried : (n_rules, n_features) bool, features that a condition may be on
    starts : (n_features + 1,) int64
    n_bins, top, way : (n_features,) int64
    wants : (n_rules,) int64, see above
    total : float, ``sum h`` over all rows
    ridge : float, positive
    every : bool, whether to say where the best of each feature is, or of the best feature only
    best : (n_rules, n_features) float64, OUT; 0 for features not tried
    where : (n_rules, n_features) int64, OUT, codes
    """
    widest = 0
    for f in range(n_bins.shape[0]):
        widest = max(widest, n_bins[f])
    slopes, curves = np.empty(widest), np.empty(widest)
    for a in range(at.shape[0]):
        largest = 0.0
        mine, shared = histograms[at[a, 0]], histograms[at[a, 1], 1]
        for f in range(n_bins.shape[0]):
            best[a, f] = 0.0
            if not tried[a, f]:
                continue
            take_axis(mine, shared, gone[a], starts[f], n_bins[f], top[f] >= 0, slopes, curves)
            axis = slopes, curves, n_bins[f], top[f], 1.0 / total, ridge
            if wants[a] == 0 and way[f] == 0:
                best[a, f] = scan_gains(*axis)
            else:
                best[a, f] = scan_signed_gains(*axis, wants[a], way[f])
            if every or best[a, f] > largest:
                where[a, f] = locate_gain(*axis, wants[a], way[f])
                largest = best[a, f]


@finite_kernel
def take_axis(mine, shared, gone, start, size, ordered, slopes, curves):
    """Take one feature's sums out of histograms, running ones if it is ordered; the last two OUT.

    Parameters
    ----------
    mine : (2, n_cells) float64
    shared : (n_cells,) float64
    gone : (2,) float64, see gain_lines
    start, size : int
    ordered : bool
    slopes, curves : (at least size,) float64
    """
    beta, balance = gone[0], gone[1]
    g, h = 0.0, 0.0
    for b in range(size):
        slope, curve = mine[0, start + b], mine[1, start + b]
        if beta != 0.0:
            slope += balance * curve - beta * shared[start + b]
        g = slope + (g if ordered else 0.0)
        h = curve + (h if ordered else 0.0)
        slopes[b], curves[b] = g, h


@finite_kernel
def take_cells(cells, start, size, ordered, slopes, curves):
    """Take one feature's sums out of cells that have both side by side; see take_axis."""
    g, h = 0.0, 0.0
    for b in range(start, start + size):
        g = cells[2 * b] + (g if ordered else 0.0)
        h = cells[2 * b + 1] + (h if ordered else 0.0)
        slopes[b - start], curves[b - start] = g, h


@finite_kernel
def gain_spans(histograms, starts, n_bins, top, way, total, ridge, best, bins):
    """Find the best second-degree condition of each feature.

    Parameters
    ----------
    histograms : (2, n_cells) float64, of ``g`` and ``h``, all features one after the other
    starts, n_bins, top, way, total, ridge : see gain_lines
    best : (n_features,) float64, OUT; 0 for features with a way
    bins : (n_features, 2) int64, OUT, see scan_second_gains
    """
    widest = 0
    for f in range(n_bins.shape[0]):
        widest = max(widest, n_bins[f])
    slopes, curves, none = np.empty(widest), np.empty(widest), np.zeros(2)
    for f in range(n_bins.shape[0]):
        best[f] = 0.0
        if way[f] == 0:
            ordered = top[f] >= 0
            take_axis(
                *(histograms, histograms[1], none, starts[f], n_bins[f], ordered, slopes, curves)
            )
            axis = slopes, curves, n_bins[f], top[f], 1.0 / total, ridge
            best[f] = scan_second_gains(*axis, 0, 0.0, bins[f])


@finite_kernel
def gain_pairs(
    histograms,
    starts,
    tuples,
    n_bins,
    first,
    lo,
    hi,
    negate,
    top,
    way,
    total,
    ridge,
    deep,
    n_kept,
    best,
    where,
):
    """Find the best conjunctions on each pair of features, by their degrees on the two.

    With ``n_kept``, a pair that ``n_kept`` others exceed may be said to have no gain: most pairs
    are passed over soon.

    Parameters
    ----------
    histograms : (2, n_cells) float64, of ``g`` and ``h``
    starts, tuples, n_bins, first, lo, hi, negate, top, way, deep : see score_pairs
    total, ridge : see gain_lines
    n_kept : int, how many pairs matter, 0 for all; it does not go with ``deep``
    best : (n_pairs, 3) float64, OUT; kinds: 1 + 1, 1 + 2 and 2 + 1 conditions, 0 if there is none
    where : (n_pairs, 3, 3) int64, OUT; see score_pairs
    """
    widest = 0
    for f in range(n_bins.shape[0]):
        widest = max(widest, n_bins[f])
    running = np.empty((2, widest + 1, widest))
    slopes, curves = np.empty(widest), np.empty(widest)
    bins = np.empty(2, np.int64)
    leaders = np.zeros(max(1, n_kept))  # the largest gains so far
    least = 0.0
    share = 1.0 / total
    for t in range(tuples.shape[0]):
        for kind in range(3):
            best[t, kind] = 0.0
        for turn in range(2 if deep else 1):
            f, g = tuples[t, turn], tuples[t, 1 - turn]
            size, width = n_bins[f], n_bins[g]
            stride, step = (width, 1) if turn == 0 else (1, size)
            for v in range(2):
                run_sums(
                    histograms[v], starts[t], size, width, stride, step, top[g] >= 0, running[v]
                )
            for c in range(first[f], first[f + 1]):
                bar = max(best[t, 0], least)
                if not deep and not may_exceed(
                    running, lo[c], hi[c], negate[c], size, width, top[g], share, ridge, bar
                ):
                    continue
                take_line(running[0], lo[c], hi[c], negate[c], size, width, slopes)
                take_line(running[1], lo[c], hi[c], negate[c], size, width, curves)
                own = sign_of(lo[c], hi[c], top[f], way[f])
                axis = slopes, curves, width, top[g], share, ridge
                if turn == 0:
                    if own == 0 and way[g] == 0:
                        gain = scan_gains(*axis)
                    else:
                        gain = scan_signed_gains(*axis, own, way[g])
                    if gain > bar:
                        best[t, 0] = gain
                        where[t, 0, 0] = c
                        where[t, 0, 1] = locate_gain(*axis, own, way[g])
                        where[t, 0, 2] = -1
                if deep and way[g] == 0:
                    kind = 1 + turn
                    gain = scan_second_gains(*axis, own, best[t, kind], bins)
                    if gain > best[t, kind]:
                        best[t, kind] = gain
                        where[t, kind, 0] = c
                        where[t, kind, 1], where[t, kind, 2] = bins[0], bins[1]
        if n_kept > 0 and best[t, 0] > least:
            least = replace_least(leaders, best[t, 0])


@finite_kernel
def replace_least(values, new):
    """Put a number in the place of the least of some, OUT; return the least then."""
    place, least = 0, new
    for k in range(values.shape[0]):
        if values[k] < values[place]:
            place = k
    values[place] = new
    for k in range(values.shape[0]):
        least = min(least, values[k])
    return least


@finite_kernel
def run_sums(cells, start, size, width, stride, step, ordered, out):
    """Add up a pair's histogram along the first axis, and along the second if it is ordered.

    Parameters
    ----------
    cells : (n_cells,) float64
    start, size, width, stride, step : int, where the histogram lies and how
    ordered : bool
    out : (at least size + 1, at least width) float64, OUT
    """
    for k in range(width):
        out[0, k] = 0.0
    for b in range(size):
        total = 0.0
        for k in range(width):
            value = cells[start + b * stride + k * step]
            total += value
            out[b + 1, k] = out[b, k] + (total if ordered else value)


@finite_kernel
def take_line(running, lo, hi, negate, size, width, out):
    """Take the line of one condition on the first axis out of its running sums, see run_sums."""
    for k in range(width):
        out[k] = running[hi + 1, k] - running[lo, k]
    if negate:
        for k in range(width):
            out[k] = running[size - 1, k] - out[k]


@finite_kernel
def may_exceed(running, lo, hi, negate, size, width, top, share, ridge, least):
    """Tell whether a condition on the first axis may, with one on the second, gain over ``least``.

    Most do not, and this takes neither the line of the condition nor divisions, for which
    :func:`scan_gains` waits.

    Parameters
    ----------
    running : (2, at least size + 1, at least width) float64, of ``g`` and ``h``, see run_sums
    lo, hi, negate, size, width : see take_line
    top, share, ridge : see scan_gains
    least : float
    """
    bar = least * (1.0 - 1e-9)  # rounding must decide nothing
    way = -1.0 if negate else 1.0
    start = size - 1 if negate else 0
    slopes, slopes_lo, slopes_hi = running[0, start], running[0, lo], running[0, hi + 1]
    curves, curves_lo, curves_hi = running[1, start], running[1, lo], running[1, hi + 1]
    total, curve = 0.0, 0.0
    for k in range(top if top >= 0 else 0, top + 1 if top >= 0 else width - 1):
        total += slopes[k] + way * (slopes_hi[k] - slopes_lo[k])
        curve += curves[k] + way * (curves_hi[k] - curves_lo[k])
    found = False
    for k in range(top if top >= 0 else -1 - top):
        g = slopes[k] + way * (slopes_hi[k] - slopes_lo[k])
        h = curves[k] + way * (curves_hi[k] - curves_lo[k])
        found |= g * g > bar * (h - h * h * share + ridge)
        g, h = total - g, curve - h
        found |= g * g > bar * (h - h * h * share + ridge)
    k = width - 2
    if top >= 0:
        total = slopes[k] + way * (slopes_hi[k] - slopes_lo[k])
        curve = curves[k] + way * (curves_hi[k] - curves_lo[k])
    found |= total * total > bar * (curve - curve * curve * share + ridge)
    k = width - 1
    g = slopes[k] + way * (slopes_hi[k] - slopes_lo[k]) - (total if top >= 0 else 0.0)
    h = curves[k] + way * (curves_hi[k] - curves_lo[k]) - (curve if top >= 0 else 0.0)
    return found | (g * g > bar * (h - h * h * share + ridge))


@finite_kernel
def gain_triples(
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, way, total, ridge, best, where
):
    """Find the best conjunction of one first-degree condition on each of three features.

    Parameters
    ----------
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, way : see gain_pairs
    total, ridge : see gain_lines
    best : (n_triples,) float64, OUT
    where : (n_triples, 3) int64, OUT, conditions of the first two features, code of the third
    """
    widest = 0
    for f in range(n_bins.shape[0]):
        widest = max(widest, n_bins[f])
    plane = np.empty((2, widest * widest))
    running = np.empty((2, widest + 1, widest))
    slopes, curves = np.empty(widest), np.empty(widest)
    share = 1.0 / total
    for t in range(tuples.shape[0]):
        f, g, h = tuples[t, 0], tuples[t, 1], tuples[t, 2]
        size, height, width = n_bins[f], n_bins[g], n_bins[h]
        area = height * width
        best[t] = 0.0
        for c in range(first[f], first[f + 1]):
            for v in range(2):
                for cell in range(area):
                    plane[v, cell] = 0.0
                for b in range(size - 1 if negate[c] else size):
                    if (lo[c] <= b and b <= hi[c]) != negate[c]:
                        begin = starts[t] + b * area
                        for cell in range(area):
                            plane[v, cell] += histograms[v, begin + cell]
                run_sums(plane[v], 0, height, width, width, 1, top[h] >= 0, running[v])
            own = sign_of(lo[c], hi[c], top[f], way[f])
            for d in range(first[g], first[g + 1]):
                other = sign_of(lo[d], hi[d], top[g], way[g])
                if own * other < 0:
                    continue
                take_line(running[0], lo[d], hi[d], negate[d], height, width, slopes)
                take_line(running[1], lo[d], hi[d], negate[d], height, width, curves)
                want = own if own != 0 else other
                axis = slopes, curves, width, top[h], share, ridge
                if want == 0 and way[h] == 0:
                    gain = scan_gains(*axis)
                else:
                    gain = scan_signed_gains(*axis, want, way[h])
                if gain > best[t]:
                    best[t] = gain
                    where[t, 0], where[t, 1] = c, d
                    where[t, 2] = locate_gain(*axis, want, way[h])
