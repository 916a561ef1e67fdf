"""Twin of ``ruleglm.kernels.extend``: rows are a mask, and every histogram is added up anew."""

import numpy as np

from ruleglm.kernels.extend import ABOVE, BELOW, OTHER
from ruleglm.kernels.gains import TIE
from tests.reference.columns import unpack_rows
from tests.reference.gains import gains_of
from tests.reference.pricing import first_degree, sign_of_bins


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
    every = unpack_rows(columns)[:, : len(lines)].astype(bool)
    left[:] = False
    for a, (rows, degree, bar, want) in enumerate(zip(every, degrees, least, wants, strict=True)):
        said, k = dict(enumerate(sides[a])), 0
        while degree < len(prices) - 1:
            found = {}
            for f in features:
                sums = np.array([np.bincount(codes[f, rows], v[rows], n_bins[f]) for v in values])
                conditions = first_degree(n_bins[f], top[f])
                each = gains_of(conditions, sums, 1.0 / total, ridge, want, top[f], way[f])
                found |= {(f, code): (gain, conditions[code]) for code, gain in each.items()}
            best = max(gain for gain, _ in found.values())
            near = ((where, *one) for where, one in found.items() if one[0] >= best * (1 - 1e-12))
            (f, code), gain, bins = next(near)
            known = top[f] >= 0 and code // 2 < n_bins[f] - 1
            side = (BELOW if code % 2 else ABOVE) if known else OTHER
            unknown = bool(said[f]) and OTHER in (said[f], side)
            longer = degree + (not unknown and not said[f] & side)
            worth = (gain - prices[longer, 0]) / prices[longer, 1]
            if gain <= 0.0 or worth <= bar:
                break
            steps[a, k], gains[a, k] = (f, code), gain
            k += 1
            left[a] = unknown or k == steps.shape[1]
            if left[a]:
                break
            said[f] |= side
            want = sign_of_bins(bins, top[f], way[f]) or want
            rows, degree = rows & np.isin(codes[f], bins), longer
            bar = worth + (TIE - 1.0) * abs(worth)
        n_steps[a] = k
