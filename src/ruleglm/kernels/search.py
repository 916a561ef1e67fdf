"""Branch and bound over conjunctions, for degrees that histograms do not reach."""

import numpy as np

from ruleglm.kernels.compile import finite_kernel

UPTO, ABOVE, DIFFERS, ALONE = 0, 1, 2, 3
"""How a condition joins others of its feature: ``<=`` with ``>``, ``!=`` with ``!=``, or not."""

N_PARTS = 32
"""Amounts of positive gains that conditions take, in steps, see `may_pay`."""

MAX_DEPTH = 256
"""Conditions behind the first at which a search is given up."""

ROUNDING = 1e-12
"""Share of all positive gains that is of no interest: the order of terms may change a sum by it."""


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
def is_dominated(c, plus, lo, hi, kind, feature):
    """Tell whether the next tighter condition, if it is listed, keeps the same positive gains."""
    near = c - 1 if kind[c] == UPTO else c + 1
    if kind[c] > ABOVE or not 0 <= near < lo.shape[0]:
        return False
    if kind[near] != kind[c] or feature[near] != feature[c]:
        return False
    return plus[hi[near] + 1] - plus[lo[near]] >= plus[hi[c] + 1] - plus[lo[c]]


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
def settle_reach(codes, gain, rows, later, settled, totals, n_bins, reach):
    """Correct `fill_reach` for bins below ``settled``, which only later features divide.

    What their rows gain by the groups of these features is put down to the first bin.
    """
    for r in rows:
        if codes[r] < settled:
            totals[later[r]] += gain[r]
    most = 0.0
    for r in rows:
        most += max(totals[later[r]], 0.0)
        totals[later[r]] = 0.0
    reach[1 : n_bins + 1] += most - reach[settled]
    reach[1:settled] = most


@finite_kernel
def fill_sums(codes, gain, rows, n_won, n_bins, plus, minus):
    """Fill in the running sums over bins of positive and of negative gains.

    The first ``n_won`` of the rows are those that gain.
    """
    for b in range(n_bins + 1):
        plus[b], minus[b] = 0.0, 0.0
    for i in range(n_won):
        plus[codes[rows[i]] + 1] += gain[rows[i]]
    for i in range(n_won, rows.shape[0]):
        minus[codes[rows[i]] + 1] -= gain[rows[i]]
    for b in range(n_bins):
        plus[b + 1] += plus[b]
        minus[b + 1] += minus[b]


@finite_kernel
def list_tops(n_bins, hi, kind, feature):
    """Return the last bin that thresholds of a feature divide, -1 for a feature without any."""
    tops = np.full(n_bins.shape[0], -1)
    for c in range(hi.shape[0]):
        if kind[c] == ABOVE or kind[c] == UPTO:
            tops[feature[c]] = max(tops[feature[c]], hi[c] + (kind[c] == UPTO))
    return tops


@finite_kernel
def next_feature(c, kind, feature):
    """Return the first feature that a condition after another one may be on."""
    return feature[c] if kind[c] == UPTO or kind[c] == DIFFERS else feature[c] + 1


@finite_kernel
def price_bins(plus, n_bins, top):
    """Write over running sums of positive gains what taking away each bin takes of these at least.

    A bin that thresholds divide goes with all before it or with all after it, up to ``top``.
    """
    whole, before = plus[top + 1], 0.0
    for b in range(n_bins):
        upto = plus[b + 1]
        plus[b] = min(upto, whole - before) if b <= top else upto - before
        before = upto


@finite_kernel
def may_pay(codes, gain, rows, n_won, n_bins, tops, first, won, needed, plus, costs):
    """Tell whether conditions on the features from ``first`` on might leave rows that pay.

    A row of negative gain goes only with what the cheapest condition against it takes of the
    positive gains, and all conditions together take at least what the dearest of them takes: so
    for each amount that is taken, the rows that cost more are there to stay.

    Parameters
    ----------
    codes, gain, n_bins : see search_branch
    rows, n_won : see fill_sums
    tops : see list_tops
    won : float, the positive gains of the rows
    needed : float, what they have to be worth in the end
    plus : (at least N_PARTS and n_bins + 1,) float64, scratch
    costs : (n_rows,) float64, scratch

    Returns
    -------
    answer : bool
    n_visits : int, rows visited, counted for each feature looked at
    """
    most = won - needed
    n_lost = rows.shape[0] - n_won
    for i in range(n_lost):
        costs[i] = most
    for f in range(first, codes.shape[0]):
        line = codes[f]
        for b in range(n_bins[f] + 1):
            plus[b] = 0.0
        for i in range(n_won):
            plus[line[rows[i]] + 1] += gain[rows[i]]
        for b in range(n_bins[f]):
            plus[b + 1] += plus[b]
        price_bins(plus, n_bins[f], tops[f])
        for i in range(n_lost):
            costs[i] = min(costs[i], plus[line[rows[n_won + i]]])
    parts = plus[:N_PARTS]
    for k in range(N_PARTS):
        parts[k] = 0.0
    left = 0.0
    for i in range(n_lost):
        size = -gain[rows[n_won + i]]
        left += size
        if costs[i] < most:
            parts[min(N_PARTS - 1, int(N_PARTS * (costs[i] / most)))] += size
    hopeful = False
    for k in range(N_PARTS):
        left -= parts[k]
        hopeful = hopeful or won - k * (most / N_PARTS) - left > needed
    return hopeful, rows.shape[0] * (codes.shape[0] - first)


@finite_kernel
def leave_out(plus, minus, missing, first, lo, kind, feature, step, most, out):
    """Choose the best ``!=`` of a feature, from a first condition on, if nothing comes after it.

    Parameters
    ----------
    plus, minus : running sums over bins, see fill_sums
    missing, first, step : see search_branch
    lo, kind, feature : conditions
    most : int, the most to choose
    out : OUT, the conditions, ascending

    Returns
    -------
    value : float, the gain of the rows that are left, less ``step`` for each condition
    n_out : int, the number of conditions, at least one if there is one
    """
    value, n_out = plus[missing] - minus[missing], 0
    before, chosen = -np.inf, -1
    while n_out < most:
        least, last, chosen = np.inf, chosen, -1
        for c in range(first, lo.shape[0]):
            if feature[c] != feature[first]:
                break
            b = lo[c]
            gain = plus[b + 1] - plus[b] - (minus[b + 1] - minus[b])
            new = gain > before or (gain == before and c > last)
            if kind[c] == DIFFERS and new and gain < least:
                least, chosen = gain, c
        if chosen < 0 or (n_out > 0 and least >= -step):
            break
        value -= least + step
        place = n_out
        while place > 0 and out[place - 1] > chosen:
            out[place] = out[place - 1]
            place -= 1
        out[place] = chosen
        before = least
        n_out += 1
    return value, n_out


@finite_kernel
def keep_rows(codes, rows, n_won, missing, lo, hi, kind, out):
    """Write down the rows on which a condition holds; return how many of the first, and of all."""
    kept, kept_won = 0, 0
    differs = kind == DIFFERS
    end = missing if differs else 256
    for i in range(rows.shape[0]):
        if i == n_won:
            kept_won = kept
        code = codes[rows[i]]
        inside = (lo <= code) & (code <= hi)
        out[kept] = rows[i]  # to be written over unless the condition holds
        kept += (inside != differs) & (code < end)
    return kept_won if n_won < rows.shape[0] else kept, kept


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
    groups : (n_grouped + 1, n_rows) int64, for each of the last features the groups of rows,
        numbered from 0 on, that it and those after it cannot tell apart; behind the last there is
        one group
    n_bins : (n_features,) int64
    lo, hi : (n_conditions,) int64, see ruleglm.kernels.pricing
    kind, feature : (n_conditions,) int64, see above
    together : (n_groups, n_features) bool, a rule on several features lies inside one group; with
        no groups there is no limit, neither of groups nor of pairs
    apart : (n_features, n_features) bool, pairs of features that share no rule
    start : int, the first condition
    price, step : float, penalties of the first condition alone and of each further condition
    known : int, further conditions, from none on, up to which nothing is better than ``best``
    depth : int, the most further conditions; above `MAX_DEPTH` that many end the search
    best : float, not negative, only better reduced costs are of interest
    limit : int, the most rows to visit, counted for each feature looked at
    path : (MAX_DEPTH,) int64, OUT, the further conditions of the best conjunction

    Returns
    -------
    best : float, the reduced cost of the best conjunction, or ``best`` if none is better; another
        one may be better by `ROUNDING` of all positive gains
    length : int, its further conditions, -1 if none is better
    finished : bool, whether the search came to its end
    """
    n_rows = codes.shape[1]
    endless, depth = depth > MAX_DEPTH, min(depth, MAX_DEPTH)
    rows = np.empty((depth + 1, n_rows), np.int32)
    counts = np.empty(depth + 1, np.int64)
    wins = np.empty(depth + 1, np.int64)  # the rows with positive gains, which come first
    taken = np.empty(depth + 1, np.int64)  # the condition that leads to a level
    here = np.empty(depth + 1, np.int64)  # the condition being looked at
    filled = np.empty(depth + 1, np.int64)  # the feature whose sums a level holds
    width = n_bins.max() + 2
    plus = np.empty((depth + 1, width))
    minus = np.empty((depth + 1, width))
    reach = np.empty((depth + 1, width))
    grouped = codes.shape[0] + 1 - groups.shape[0]
    closed = codes.shape[0] - 1  # the feature whose ``!=`` are chosen together, if it has any
    if not (kind[feature == closed] == DIFFERS).any():
        closed = -1
    limited = together.shape[0] > 0
    slack = ROUNDING * np.maximum(gain, 0.0).sum()
    totals = np.zeros(n_rows)
    differing = np.empty(MAX_DEPTH, np.int64)
    tops = list_tops(n_bins, hi, kind, feature)
    sums = np.empty(max(width, N_PARTS))
    costs = np.empty(n_rows)
    f = feature[start]
    every = np.concatenate((np.flatnonzero(gain > 0.0), np.flatnonzero(gain <= 0.0)))
    n_won = np.count_nonzero(gain > 0.0)
    wins[0], counts[0] = keep_rows(
        *(codes[f], every.astype(np.int32), n_won, n_bins[f] - 1),
        *(lo[start], hi[start], kind[start], rows[0]),
    )
    taken[0], here[0], filled[0] = start, start + 1, -1
    length = -1
    won = gain[rows[0, : wins[0]]].sum()
    needed = best + slack + price + step * max(1, known + 1)
    hopeful, visited = may_pay(
        *(codes, gain, rows[0, : counts[0]], wins[0], n_bins, tops),
        *(next_feature(start, kind, feature), won, needed, sums, costs),
    )
    level = 0 if hopeful else -1
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
        missing = n_bins[f] - 1
        if filled[level] != f:
            mine = rows[level, : counts[level]]
            if f >= grouped:
                same, later = groups[f - grouped], groups[f - grouped + 1]
                fill_reach(codes[f], gain, mine, same, totals, n_bins[f], reach[level])
                if f == feature[last] and lo[last] > 0:  # levels before the last are there to stay
                    settle_reach(
                        codes[f], gain, mine, later, lo[last], totals, n_bins[f], reach[level]
                    )
                most = reach[level, n_bins[f]]
                if most - price - step * max(level + 1, known + 1) <= best + slack:
                    here[level] = n_conditions
                    continue
            filled[level] = f
            visited += counts[level]
            fill_sums(codes[f], gain, mine, wins[level], n_bins[f], plus[level], minus[level])
            if f == closed:
                value, n_out = leave_out(
                    *(plus[level], minus[level], missing, c, lo, kind, feature),
                    *(step, depth - level, differing),
                )
                value -= price + step * level
                if n_out > 0 and value > best:
                    best, length = value, level + n_out
                    path[:level], path[level:length] = taken[1 : level + 1], differing[:n_out]
                if n_out == depth - level and endless:
                    return best, length, False
        if f == closed and kind[c] == DIFFERS:
            continue
        below, above = lo[c], hi[c] + 1
        won = plus[level, above] - plus[level, below]
        lost = minus[level, above] - minus[level, below]
        most = reach[level, above] - reach[level, below] if f >= grouped else won
        if kind[c] == DIFFERS:
            won, lost = plus[level, missing] - won, minus[level, missing] - lost
            most = reach[level, missing] - most if f >= grouped else won
        if lost >= minus[level, missing + 1]:
            continue
        cost = price + step * (level + 1)
        if won - lost - cost > best:
            best, length = won - lost - cost, level + 1
            path[:level], path[level] = taken[1:length], c
        if lost <= 0.0 or (level + 1 >= depth and not endless):
            continue
        if most - price - step * max(level + 2, known + 1) <= best + slack:
            continue
        if is_dominated(c, plus[level], lo, hi, kind, feature):
            continue
        if visited > limit or level + 1 >= depth:
            return best, length, False
        mine = rows[level, : counts[level]]
        kept_won, kept = keep_rows(
            codes[f], mine, wins[level], missing, lo[c], hi[c], kind[c], rows[level + 1]
        )
        needed = best + slack + price + step * max(level + 2, known + 1)
        hopeful, n_visits = may_pay(
            *(codes, gain, rows[level + 1, :kept], kept_won, n_bins, tops),
            *(next_feature(c, kind, feature), won, needed, sums, costs),
        )
        visited += counts[level] + n_visits
        if not hopeful:
            continue
        level += 1
        wins[level], counts[level], taken[level], filled[level] = kept_won, kept, c, -1
        here[level] = c + 1
        if kind[c] == UPTO:  # its sums are those of the level above, as far as they go
            filled[level] = f
            for held in (plus, minus, reach):
                held[level, : above + 1] = held[level - 1, : above + 1]
                held[level, above + 1 : missing + 2] = held[level - 1, above]
        elif kind[c] != DIFFERS:  # nothing of the feature joins it
            while here[level] < n_conditions and feature[here[level]] == f:
                here[level] += 1
    return best, length, True
