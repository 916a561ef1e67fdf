"""Rules that grow by one condition after the other, each on the rows that the last one left.

The histograms of a rule within which a condition is searched are those of the shorter rule less the
rows that went, or are added up anew from the rows that stayed, whichever are fewer.
"""

import numpy as np

from ruleglm.kernels.bits import count_bits
from ruleglm.kernels.columns import meet_condition
from ruleglm.kernels.compile import finite_kernel, kernel
from ruleglm.kernels.gains import TIE, locate_gain, scan_gains, scan_signed_gains, take_cells
from ruleglm.kernels.histograms import begin_cells, fill_cells

ABOVE, BELOW, OTHER = 1, 2, 4
"""What a rule says of a feature: a bound above it, one below it, or something else."""


@kernel
def extend_rules(
    lines,
    codes,
    columns,
    degrees,
    least,
    sides,
    wants,
    features,
    n_bins,
    starts,
    top,
    way,
    values,
    whole,
    total,
    ridge,
    prices,
    n_steps,
    left,
    steps,
    gains,
):
    """Extend each of several rules by the best condition, again and again while that pays.

    A rule that got a further condition on a feature of its own is left there, unless both are
    bounds: of what degree it is, it takes more than codes to say. Bounds may also take the place of
    others, so that a rule is left too where there is no room for more conditions.

    Parameters
    ----------
    lines : (n_rows, n_features) uint8, the codes of a row side by side
    codes : (n_features, n_rows) uint8
    columns : (n_rules, n_words) uint64, the rows of each rule
    degrees : (n_rules,) int64
    least : (n_rules,) float64, what each has to be worth more than, with a condition more
    sides : (n_rules, n_features) uint8, what each says of each feature, 0 for nothing, else
        `ABOVE`, `BELOW`, both, or `OTHER`; overwritten
    wants : (n_rules,) int64, see gain_lines
    features : (n_tried,) int64, that conditions may be on
    n_bins, top, way, total, ridge : see gain_lines
    starts : (n_features + 1,) int64, where each feature's bins lie
    values : (2, n_rows) float64, first and second derivatives
    whole : (2, starts[-1]) float64, their histograms over all rows
    prices : (most + 1, 2) float64, for each degree up to the largest what is taken off the gain,
        and what the rest is divided by
    n_steps : (n_rules,) int64, OUT
    left : (n_rules,) bool, OUT, which were left where more might pay
    steps : (n_rules, most, 2) int64, OUT, features and codes of the conditions
    gains : (n_rules, most) float64, OUT, with each of these
    """
    most = prices.shape[0] - 1
    words, gone = np.empty(columns.shape[1], np.uint64), np.empty(columns.shape[1], np.uint64)
    cells = np.empty(2 * starts[-1])
    slopes, curves = np.empty(256), np.empty(256)
    runs = np.empty((2, 2), np.uint8)
    for a in range(columns.shape[0]):
        for w in range(words.shape[0]):
            words[w] = columns[a, w]
        fill_rule(lines, words, features, starts, values, whole, cells)
        degree, bar, want, n_steps[a], left[a] = degrees[a], least[a], wants[a], 0, False
        while degree < most:
            gain, f, code = best_condition(
                *(cells, features, starts, n_bins, top, way, want, total, ridge, slopes, curves)
            )
            before, side = sides[a, f], bound_of(code, n_bins[f], top[f])
            unknown = before != 0 and (before | side) & OTHER != 0
            longer = degree if unknown or before & side != 0 else degree + 1
            worth = (gain - prices[longer, 0]) / prices[longer, 1]
            if gain <= 0.0 or worth <= bar:
                break
            k = n_steps[a]
            steps[a, k, 0], steps[a, k, 1], gains[a, k] = f, code, gain
            n_steps[a] = k + 1
            left[a] = unknown or n_steps[a] == most
            if left[a]:
                break
            sides[a, f] = before | side
            degree, bar = longer, worth + (TIE - 1.0) * abs(worth)
            if way[f] != 0 and code // 2 < n_bins[f] - 1:
                want = -way[f] if code % 2 else way[f]
            if degree < most:
                n_runs = allow_code(code, n_bins[f], top[f], runs)
                narrow(codes[f], runs, n_runs, words, gone)
                refill_rule(lines, words, gone, features, starts, values, cells)


@kernel
def bound_of(code, size, top):
    """Return which bound a condition is that was found by scanning an axis, or `OTHER`."""
    if top < 0 or code // 2 == size - 1:
        return np.uint8(OTHER)
    return np.uint8(BELOW) if code % 2 else np.uint8(ABOVE)


@kernel
def count_words(words):
    """Return the number of rows of a column."""
    total = np.uint64(0)
    for w in range(words.shape[0]):
        total += count_bits(words[w])
    return total


@kernel
def fill_rule(lines, words, features, starts, values, whole, cells):
    """Fill both histograms of features within a rule, from the smaller side; the last OUT."""
    turned = np.uint64(2) * count_words(words) > np.uint64(lines.shape[0])
    begin_cells(turned, whole[0], whole[1], cells)
    sign = -1.0 if turned else 1.0
    fill_cells(lines, words, turned, features, starts, values[0], values[1], sign, cells)


@kernel
def refill_rule(lines, words, gone, features, starts, values, cells):
    """Bring both histograms of a rule to the rows that stayed, where others have gone; last OUT."""
    inside = np.bool_(False)  # as a word in the call it would be a type of its own
    if count_words(gone) < count_words(words):
        fill_cells(lines, gone, inside, features, starts, values[0], values[1], -1.0, cells)
        return
    for c in range(cells.shape[0]):
        cells[c] = 0.0
    fill_cells(lines, words, inside, features, starts, values[0], values[1], 1.0, cells)


@kernel
def narrow(codes, runs, n_runs, words, gone):
    """Take the rows whose codes are not allowed out of a column, and keep them.

    Parameters
    ----------
    codes : (n_rows,) uint8
    runs, n_runs : see meet_condition
    words : (n_words,) uint64, OUT
    gone : (n_words,) uint64, OUT
    """
    for w in range(words.shape[0]):
        gone[w] = words[w]
    meet_condition(codes, runs, n_runs, words)
    for w in range(words.shape[0]):
        gone[w] ^= words[w]


@kernel
def allow_code(code, size, top, runs):
    """List the runs of bins that a condition allows which was found by scanning an axis.

    Returns how many there are; see scan_axis and list_runs.

    Parameters
    ----------
    code, size, top : int
    runs : (2, 2) uint8, OUT
    """
    place, complement, none = code // 2, code % 2, np.int64(0)
    if place == size - 1:
        first, final = (none, size - 2) if complement else (place, place)
    elif top >= 0:
        first, final = (place + 1, top) if complement else (none, place)
    elif complement:
        return add_run(place + 1, size - 2, runs, add_run(none, place - 1, runs, none))
    else:
        first, final = place, place
    return add_run(first, final, runs, none)


@kernel
def add_run(first, final, runs, n_runs):
    """Add a run of bins to others, unless it is empty; return how many there are then."""
    if first > final:
        return n_runs
    runs[n_runs, 0], runs[n_runs, 1] = first, final - first
    return n_runs + 1


@finite_kernel
def best_condition(cells, features, starts, n_bins, top, way, want, total, ridge, slopes, curves):
    """Return the largest gain of a first-degree condition, its feature and its code.

    Parameters
    ----------
    cells : (2 * starts[-1],) float64, sums of ``g`` and ``h`` side by side
    features : (n_tried,) int64
    starts, n_bins, top, way, total, ridge : see gain_lines
    want : int
    slopes, curves : (at least n_bins.max(),) float64, scratch
    """
    best, where = 0.0, features[0] if features.shape[0] > 0 else 0
    for f in features:
        take_cells(cells, starts[f], n_bins[f], top[f] >= 0, slopes, curves)
        axis = slopes, curves, n_bins[f], top[f], 1.0 / total, ridge
        if want == 0 and way[f] == 0:
            gain = scan_gains(*axis)
        else:
            gain = scan_signed_gains(*axis, want, way[f])
        if gain > best:
            best, where = gain, f
    if best <= 0.0:
        return 0.0, where, 0
    take_cells(cells, starts[where], n_bins[where], top[where] >= 0, slopes, curves)
    axis = slopes, curves, n_bins[where], top[where], 1.0 / total, ridge
    return best, where, locate_gain(*axis, want, way[where])
