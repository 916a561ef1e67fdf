"""Twins of ``ruleglm.kernels.gains``: every condition is a list of bins, and summed."""

import numpy as np

from tests.reference.pricing import (
    first_degree,
    listed,
    plain_sums,
    second_degree,
    sign_of_bins,
)


def gain_of(g, h, share, ridge):
    """The score statistic of a column with the sums ``g`` and ``h``."""
    return g**2 / (h - h**2 * share + ridge)


def gains_of(conditions, sums, share, ridge, want=0, top=0, way=0):
    """The gain of each of a dictionary of conditions, from the two sums of each bin.

    It is 0 where the first sum has not the sign that the condition, or ``want``, calls for.
    """
    gains = {}
    for key, bins in conditions.items():
        g, h = (float(line[bins].sum()) for line in sums)
        own = sign_of_bins(bins, top, way)
        right = own * want >= 0 and g * own >= 0 and g * want >= 0
        gains[key] = gain_of(g, h, share, ridge) if right else 0.0
    return gains


def improve(gains, best, *before):
    """The largest of a dictionary of gains and its place, if it exceeds ``best``, else None."""
    key = max(gains, key=gains.get, default=None)
    return None if key is None or gains[key] <= best else (gains[key], [*before, *key])


def axis_gains(conditions, slopes, curves, size, top, share, ridge, want, way=0):
    sums = [plain_sums(vector, size, top) for vector in (slopes, curves)]
    return gains_of(conditions(size, top), sums, share, ridge, want, top, way)


def scan_gains(slopes, curves, size, top, share, ridge):
    return scan_signed_gains(slopes, curves, size, top, share, ridge, 0, 0)


def scan_signed_gains(slopes, curves, size, top, share, ridge, want, way):
    gains = axis_gains(first_degree, slopes, curves, size, top, share, ridge, want, way)
    return max(gains.values())


def locate_gain(slopes, curves, size, top, share, ridge, want, way):
    gains = axis_gains(first_degree, slopes, curves, size, top, share, ridge, want, way)
    return max(gains, key=gains.get)


def scan_second_gains(slopes, curves, size, top, share, ridge, want, best, bins):
    gains = axis_gains(second_degree, slopes, curves, size, top, share, ridge, want)
    found = improve(gains, best)
    if found is not None:
        best, bins[:] = found
    return best


def gain_lines(
    histograms, at, gone, tried, starts, n_bins, top, way, wants, total, ridge, every, best, where
):
    best[:] = 0.0
    for a, (mine, shared) in enumerate(at):
        lines = histograms[mine].copy()
        lines[0] += gone[a, 1] * lines[1] - gone[a, 0] * histograms[shared, 1]
        for f in np.flatnonzero(tried[a]):
            sums = lines[:, starts[f] : starts[f] + n_bins[f]]
            conditions = first_degree(n_bins[f], top[f])
            gains = gains_of(conditions, sums, 1.0 / total, ridge, wants[a], top[f], way[f])
            where[a, f] = max(gains, key=gains.get)
            best[a, f] = gains[where[a, f]]


def gain_spans(histograms, starts, n_bins, top, way, total, ridge, best, bins):
    best[:] = 0.0
    for f, size in enumerate(n_bins):
        sums = histograms[:, starts[f] : starts[f] + size]
        gains = gains_of(second_degree(size, top[f], way[f]), sums, 1.0 / total, ridge)
        found = improve(gains, 0.0)
        if found is not None:
            best[f], bins[f] = found


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
    best[:] = 0.0
    for t, (f, g) in enumerate(tuples):
        cubes = histograms[:, starts[t] : starts[t + 1]].reshape(2, n_bins[f], n_bins[g])
        codes = {(code, -1): bins for code, bins in first_degree(n_bins[g], top[g]).items()}
        kinds = [(f, g, cubes, codes)]
        if deep:
            turned = cubes.transpose(0, 2, 1)
            kinds.append((f, g, cubes, second_degree(n_bins[g], top[g], way[g])))
            kinds.append((g, f, turned, second_degree(n_bins[f], top[f], way[f])))
        for kind, (feature, other, planes, others) in enumerate(kinds):
            for c in range(first[feature], first[feature + 1]):
                mine = listed(n_bins[feature], lo[c], hi[c], negate[c])
                want = sign_of_bins(mine, top[feature], way[feature])
                sums, signs = planes[:, mine].sum(axis=1), (want, top[other], way[other])
                gains = gains_of(others, sums, 1.0 / total, ridge, *signs)
                found = improve(gains, best[t, kind], c)
                if found is not None:
                    best[t, kind], where[t, kind] = found


def gain_triples(
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, way, total, ridge, best, where
):
    best[:] = 0.0
    for t, (f, g, h) in enumerate(tuples):
        cubes = histograms[:, starts[t] : starts[t + 1]].reshape(2, *n_bins[[f, g, h]])
        codes = {(code,): bins for code, bins in first_degree(n_bins[h], top[h]).items()}
        for c in range(first[f], first[f + 1]):
            mine = listed(n_bins[f], lo[c], hi[c], negate[c])
            own = sign_of_bins(mine, top[f], way[f])
            planes = cubes[:, mine].sum(axis=1)
            for d in range(first[g], first[g + 1]):
                its = listed(n_bins[g], lo[d], hi[d], negate[d])
                other = sign_of_bins(its, top[g], way[g])
                if own * other < 0:
                    continue
                lines, signs = planes[:, its].sum(axis=1), (own or other, top[h], way[h])
                gains = gains_of(codes, lines, 1.0 / total, ridge, *signs)
                found = improve(gains, best[t], c, d)
                if found is not None:
                    best[t], where[t] = found
