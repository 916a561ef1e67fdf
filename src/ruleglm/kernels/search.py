"""Branch and bound over conjunctions, for degrees that histograms do not reach."""

import numpy as np

from ruleglm.kernels.compile import finite_kernel

UPTO, ABOVE, DIFFERS, ALONE = 0, 1, 2, 3
"""How a condition joins others of its feature: ``<=`` with ``>``, ``!=`` with ``!=``, or not."""

MAX_DEPTH = 64

MAX_GROUPS = 1 << 12
"""Joint bins of the last features up to which rows are grouped by them."""

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
def group_rows(codes, n_bins):
    """Return the first feature from which on rows are grouped, and their groups from each on.

    Rows of one group have the same bins on a feature and all later ones. The groups lie in one row
    for each feature from the first on.
    """
    first, n_groups = codes.shape[0], 1
    while first > 0 and n_groups * n_bins[first - 1] <= MAX_GROUPS:
        first -= 1
        n_groups *= n_bins[first]
    groups = np.zeros((codes.shape[0] - first + 1, codes.shape[1]), np.int32)
    for f in range(codes.shape[0] - 1, first - 1, -1):
        for r in range(codes.shape[1]):
            groups[f - first, r] = groups[f - first + 1, r] * n_bins[f] + codes[f, r]
    return first, groups


@finite_kernel
def sum_positive(gain, rows, groups, totals):
    """Return the sum of the gains of the groups of rows that gain; ``totals`` is and stays zero."""
    for r in rows:
        totals[groups[r]] += gain[r]
    out = 0.0
    for r in rows:
        out += max(totals[groups[r]], 0.0)
        totals[groups[r]] = 0.0
    return out


@finite_kernel
def fill_sums(codes, gain, rows, n_bins, plus, minus):
    """Fill in the running sums over bins of the positive and of the negative gains of rows."""
    plus[: n_bins + 1], minus[: n_bins + 1] = 0.0, 0.0
    for r in rows:
        b = codes[r] + 1
        if gain[r] > 0.0:
            plus[b] += gain[r]
        else:
            minus[b] -= gain[r]
    for b in range(n_bins):
        plus[b + 1] += plus[b]
        minus[b + 1] += minus[b]


@finite_kernel
def search_branch(
    codes,
    gain,
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
    codes : (n_features, n_rows) uint8, rows that the first condition covers
    gain : (n_rows,) float64, what a covered row adds to the value
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
    grouped, groups = group_rows(codes, n_bins)
    totals = np.zeros(MAX_GROUPS)
    for r in range(n_rows):
        rows[0, r] = r
    counts[0], taken[0], here[0], filled[0] = n_rows, start, start + 1, -1
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
                most = sum_positive(gain, mine, groups[f - grouped], totals)
                if most * (1.0 + ROUNDING) - price - step * max(level + 1, known + 1) <= best:
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
        if won - price - step * max(level + 2, known + 1) <= best:
            continue
        near = c - 1 if kind[c] == UPTO else c + 1  # the next tighter one, if it is listed
        listed = 0 <= near < n_conditions and kind[near] == kind[c] and feature[near] == f
        if listed and kind[c] <= ABOVE:
            still_won = plus[level, hi[near] + 1] - plus[level, lo[near]]
            if still_won >= won:
                continue
        if visited > limit:
            return best, length, False
        kept = 0
        for i in range(counts[level]):
            r = rows[level, i]
            inside = lo[c] <= codes[f, r] <= hi[c]
            if kind[c] == DIFFERS:
                inside = not inside and codes[f, r] < missing
            if inside:
                rows[level + 1, kept] = r
                kept += 1
        level += 1
        counts[level], taken[level], here[level], filled[level] = kept, c, c + 1, -1
    return best, length, True
