"""Branch and bound over conjunctions, for degrees that histograms do not reach."""

import numpy as np

from ruleglm.kernels.compile import finite_kernel

UPTO, ABOVE, DIFFERS, ALONE = 0, 1, 2, 3
"""How a condition joins others of its feature: ``<=`` with ``>``, ``!=`` with ``!=``, or not."""

MAX_DEPTH = 64

ROUNDING = 1e-12
"""Share of a sum by which the order of its terms may change it."""


@finite_kernel
def may_join(new, feature, taken, together, apart):
    """Tell whether a rule with some conditions may have one on a new feature, see search_branch."""
    for c in taken:
        if apart[new, feature[c]]:
            return False
    for group in together:
        inside = group[new]
        for c in taken:
            inside = inside and group[feature[c]]
        if inside:
            return True
    return False


@finite_kernel
def fill_reach(codes, gain, rows, groups, totals, n_bins, reach):
    """Fill in the running sums over bins of what the groups of rows gain, if they gain.

    Groups lie inside bins; ``totals`` is and stays zero.
    """
    reach[: n_bins + 1] = 0.0
    for r in rows:
        totals[groups[r]] += gain[r]
    for r in rows:
        reach[codes[r] + 1] += max(totals[groups[r]], 0.0)
        totals[groups[r]] = 0.0
    for b in range(n_bins):
        reach[b + 1] += reach[b]


@finite_kernel
def fill_sums(codes, gain, rows, n_bins, plus, minus):
    """Fill in the running sums over bins of the positive and of the negative gains of rows."""
    plus[: n_bins + 1], minus[: n_bins + 1] = 0.0, 0.0
    for r in rows:
        b = codes[r] + 1
        plus[b] += max(gain[r], 0.0)
        minus[b] += max(-gain[r], 0.0)
    for b in range(n_bins):
        plus[b + 1] += plus[b]
        minus[b + 1] += minus[b]


@finite_kernel
def keep_rows(codes, rows, missing, lo, hi, kind, out):
    """Write down the rows on which a condition holds, and return their number."""
    kept = 0
    differs = kind == DIFFERS
    end = missing if differs else 256
    for r in rows:
        code = codes[r]
        inside = (lo <= code) & (code <= hi)
        out[kept] = r  # to be written over unless the condition holds
        kept += (inside != differs) & (code < end)
    return kept


@finite_kernel
def search_branch(
    codes,
    gain,
    groups,
    n_bins,
    lo,
    hi,
    kind,
    feature,
    together,
    apart,
    start,
    price,
    step,
    known,
    depth,
    best,
    limit,
    path,
):
    """Search the conjunctions that continue one condition, depth first.

    Conditions are added in ascending order, so that each conjunction is met once. With all
    negative gains gone a conjunction would be worth the sum of its positive ones: if that does
    not pay, no descendant does (paper, section 4). Nor does one if the rows that only later
    features could tell apart, taken together, do not pay. A condition is no prefix if it leaves all
    negative gains, or if the next tighter one listed keeps the same positive gains.

    Parameters
    ----------
    codes : (n_features, n_rows) uint8
    gain : (n_rows,) float64, what a covered row adds to the value
    groups : (n_grouped, n_rows) int64, for each of the last features the groups of rows, numbered
        from 0 on, that it and those after it cannot tell apart
    n_bins : (n_features,) int64
    lo, hi : (n_conditions,) int64, see ruleglm.kernels.pricing
    kind, feature : (n_conditions,) int64, see above
    together : (n_groups, n_features) bool, a rule on several features lies inside one group; with
        no groups there is no limit, neither of groups nor of pairs
    apart : (n_features, n_features) bool, pairs of features that share no rule
    start : int, the first condition
    price, step : float, penalties of the first condition alone and of each further condition
    known : int, further conditions, from none on, up to which nothing is better than ``best``
    depth : int, the most further conditions
    best : float, not negative, only better reduced costs are of interest
    limit : int, the most rows to visit, counted for each feature looked at
    path : (MAX_DEPTH,) int64, OUT, the further conditions of the best conjunction

    Returns
    -------
    best : float, the reduced cost of the best conjunction, or ``best`` if none is better
    length : int, its further conditions, -1 if none is better
    finished : bool, whether the search ended before ``limit``
    """
    n_rows = codes.shape[1]
    depth = min(depth, MAX_DEPTH)
    rows = np.empty((depth + 1, n_rows), np.int32)
    counts = np.empty(depth + 1, np.int64)
    taken = np.empty(depth + 1, np.int64)  # the condition that leads to a level
    here = np.empty(depth + 1, np.int64)  # the condition being looked at
    filled = np.empty(depth + 1, np.int64)  # the feature whose sums a level holds
    limited = together.shape[0] > 0
    plus = np.empty((depth + 1, 258))
    minus = np.empty((depth + 1, 258))
    reach = np.empty((depth + 1, 258))
    grouped = codes.shape[0] - groups.shape[0]
    totals = np.zeros(n_rows)
    f = feature[start]
    every = np.arange(n_rows).astype(np.int32)
    counts[0] = keep_rows(
        codes[f], every, n_bins[f] - 1, lo[start], hi[start], kind[start], rows[0]
    )
    taken[0], here[0], filled[0] = start, start + 1, -1
    length = -1
    level, visited = 0, 0
    n_conditions = lo.shape[0]
    while level >= 0:
        c = here[level]
        if level >= depth or c >= n_conditions:
            level -= 1
            continue
        here[level] = c + 1
        f = feature[c]
        last = taken[level]
        if f == feature[last]:
            joins = (kind[last] == UPTO and kind[c] == ABOVE and lo[c] <= hi[last]) or (
                kind[last] == DIFFERS and kind[c] == DIFFERS
            )
            if not joins:
                continue
        elif limited and not may_join(f, feature, taken[: level + 1], together, apart):
            continue
        if filled[level] != f:
            if f >= grouped:
                mine = rows[level, : counts[level]]
                same = groups[f - grouped]
                fill_reach(codes[f], gain, mine, same, totals, n_bins[f], reach[level])
                most = reach[level, n_bins[f]] * (1.0 + ROUNDING)
                if most - price - step * max(level + 1, known + 1) <= best:
                    here[level] = n_conditions
                    continue
            filled[level] = f
            visited += counts[level]
            mine = rows[level, : counts[level]]
            fill_sums(codes[f], gain, mine, n_bins[f], plus[level], minus[level])
        above, below = hi[c] + 1, lo[c]
        won = plus[level, above] - plus[level, below]
        lost = minus[level, above] - minus[level, below]
        missing = n_bins[f] - 1
        if kind[c] == DIFFERS:
            won = plus[level, missing] - won
            lost = minus[level, missing] - lost
        if lost >= minus[level, missing + 1]:
            continue
        cost = price + step * (level + 1)
        if won - lost - cost > best:
            best = won - lost - cost
            length = level + 1
            for k in range(level):
                path[k] = taken[k + 1]
            path[level] = c
        if level + 1 >= depth or lost <= 0.0:
            continue
        most = won
        if f >= grouped:
            most = reach[level, above] - reach[level, below]
            if kind[c] == DIFFERS:
                most = reach[level, missing] - most
            most += ROUNDING * reach[level, n_bins[f]]
        if most - price - step * max(level + 2, known + 1) <= best:
            continue
        near = c - 1 if kind[c] == UPTO else c + 1  # the next tighter one, if it is listed
        listed = 0 <= near < n_conditions and kind[near] == kind[c] and feature[near] == f
        if listed and kind[c] <= ABOVE:
            still_won = plus[level, hi[near] + 1] - plus[level, lo[near]]
            if still_won >= won:
                continue
        if visited > limit:
            return best, length, False
        mine = rows[level, : counts[level]]
        kept = keep_rows(codes[f], mine, missing, lo[c], hi[c], kind[c], rows[level + 1])
        level += 1
        counts[level], taken[level], filled[level] = kept, c, -1
        here[level] = c + 1
        if kind[c] == UPTO:  # its sums are those of the level above, as far as they go
            filled[level] = f
            for sums in (plus, minus, reach):
                sums[level, : above + 1] = sums[level - 1, : above + 1]
                sums[level, above + 1 : missing + 2] = sums[level - 1, above]
        elif kind[c] != DIFFERS:  # nothing of the feature joins it
            while here[level] < n_conditions and feature[here[level]] == f:
                here[level] += 1
    return best, length, True
