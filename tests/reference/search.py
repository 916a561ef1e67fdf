"""Twin of ``ruleglm.kernels.search``: every conjunction is visited, none is ruled out."""

import numpy as np

from ruleglm.kernels.search import ABOVE, DIFFERS, UPTO


def held_rows(codes, n_bins, lo, hi, kind, feature, c):
    """The rows on which a condition holds."""
    mine = codes[feature[c]]
    inside = (lo[c] <= mine) & (mine <= hi[c])
    return ~inside & (mine < n_bins[feature[c]] - 1) if kind[c] == DIFFERS else inside


def may_share(features, together, apart):
    """Whether one rule may be on all of these features."""
    features = sorted(set(features))
    if len(together) == 0 or len(features) == 1:
        return True
    return together[:, features].all(axis=1).any() and not apart[np.ix_(features, features)].any()


def may_follow(lo, hi, kind, feature, last, c):
    """Whether a condition may come right after another one."""
    if c <= last or feature[c] != feature[last]:
        return c > last
    if kind[last] == UPTO and kind[c] == ABOVE:
        return lo[c] <= hi[last]
    return kind[last] == kind[c] == DIFFERS


def continuations(codes, n_bins, lo, hi, kind, feature, last, depth, rows):
    """All ascending tuples of up to ``depth`` conditions after ``last``, and the rows they keep."""
    if depth > 0:
        for c in range(last + 1, len(lo)):
            if may_follow(lo, hi, kind, feature, last, c):
                kept = rows & held_rows(codes, n_bins, lo, hi, kind, feature, c)
                yield (c,), kept
                deeper = continuations(codes, n_bins, lo, hi, kind, feature, c, depth - 1, kept)
                yield from (((c, *further), less) for further, less in deeper)


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
    length = -1
    rows = held_rows(codes, n_bins, lo, hi, kind, feature, start)
    for further, kept in continuations(codes, n_bins, lo, hi, kind, feature, start, depth, rows):
        if not may_share(feature[[start, *further]].tolist(), together, apart):
            continue
        value = float(gain[kept].sum()) - price - step * len(further)
        if value > best:
            best, length = value, len(further)
            path[:length] = further
    return best, length, True
