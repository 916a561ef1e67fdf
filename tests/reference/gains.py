"""Twins of ``ruleglm.kernels.gains``: every condition is a list of bins, and summed."""

from tests.reference.pricing import first_degree, listed, plain_sums, second_degree


def gain_of(g, h, share, ridge):
    """The score statistic of a column with the sums ``g`` and ``h``."""
    return g**2 / (h - h**2 * share + ridge)


def gains_of(conditions, sums, share, ridge):
    """The gain of each of a dictionary of conditions, from the two sums of each bin."""
    return {
        key: float(gain_of(*(line[bins].sum() for line in sums), share, ridge))
        for key, bins in conditions.items()
    }


def improve(gains, best, *before):
    """The largest of a dictionary of gains and its place, if it exceeds ``best``, else None."""
    key = max(gains, key=gains.get, default=None)
    return None if key is None or gains[key] <= best else (gains[key], [*before, *key])


def axis_gains(conditions, slopes, curves, size, top, share, ridge):
    sums = [plain_sums(vector, size, top) for vector in (slopes, curves)]
    return gains_of(conditions(size, top), sums, share, ridge)


def scan_gains(slopes, curves, size, top, share, ridge):
    return max(axis_gains(first_degree, slopes, curves, size, top, share, ridge).values())


def locate_gain(slopes, curves, size, top, share, ridge):
    gains = axis_gains(first_degree, slopes, curves, size, top, share, ridge)
    return max(gains, key=gains.get)


def scan_second_gains(slopes, curves, size, top, share, ridge, best, bins):
    gains = axis_gains(second_degree, slopes, curves, size, top, share, ridge)
    found = improve(gains, best)
    if found is not None:
        best, bins[:] = found
    return best


def gain_lines(histograms, starts, n_bins, top, total, ridge, best, where):
    for a, lines in enumerate(histograms):
        for f, size in enumerate(n_bins):
            sums = lines[:, starts[f] : starts[f] + size]
            gains = gains_of(first_degree(size, top[f]), sums, 1.0 / total, ridge)
            where[a, f] = max(gains, key=gains.get)
            best[a, f] = gains[where[a, f]]


def gain_pairs(
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, total, ridge, deep, best, where
):
    best[:] = 0.0
    for t, (f, g) in enumerate(tuples):
        cubes = histograms[:, starts[t] : starts[t + 1]].reshape(2, n_bins[f], n_bins[g])
        codes = {(code, -1): bins for code, bins in first_degree(n_bins[g], top[g]).items()}
        kinds = [(f, cubes, codes)]
        if deep:
            kinds.append((f, cubes, second_degree(n_bins[g], top[g])))
            kinds.append((g, cubes.transpose(0, 2, 1), second_degree(n_bins[f], top[f])))
        for kind, (feature, planes, others) in enumerate(kinds):
            for c in range(first[feature], first[feature + 1]):
                mine = listed(n_bins[feature], lo[c], hi[c], negate[c])
                gains = gains_of(others, planes[:, mine].sum(axis=1), 1.0 / total, ridge)
                found = improve(gains, best[t, kind], c)
                if found is not None:
                    best[t, kind], where[t, kind] = found


def gain_triples(
    histograms, starts, tuples, n_bins, first, lo, hi, negate, top, total, ridge, best, where
):
    best[:] = 0.0
    for t, (f, g, h) in enumerate(tuples):
        cubes = histograms[:, starts[t] : starts[t + 1]].reshape(2, *n_bins[[f, g, h]])
        codes = {(code,): bins for code, bins in first_degree(n_bins[h], top[h]).items()}
        for c in range(first[f], first[f + 1]):
            planes = cubes[:, listed(n_bins[f], lo[c], hi[c], negate[c])].sum(axis=1)
            for d in range(first[g], first[g + 1]):
                lines = planes[:, listed(n_bins[g], lo[d], hi[d], negate[d])].sum(axis=1)
                found = improve(gains_of(codes, lines, 1.0 / total, ridge), best[t], c, d)
                if found is not None:
                    best[t], where[t] = found
