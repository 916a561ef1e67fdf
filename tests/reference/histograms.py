"""Twins of ``ruleglm.kernels.histograms``: one ``np.add.at`` a histogram, one mask a condition."""

import numpy as np

from tests.reference.columns import unpack_rows


def fill_histograms(codes, tuples, n_bins, values, starts, out):
    for features, first, last in zip(tuples, starts[:-1], starts[1:], strict=True):
        cells = tuple(codes[feature].astype(np.int64) for feature in features)
        for vector, row in zip(values, out, strict=True):
            cube = row[first:last].reshape(n_bins[features])  # a view: adds to out
            np.add.at(cube, cells, vector)


def fill_covered(codes, sets, n_bins, values, places, out):
    for features, firsts in zip(sets, places, strict=True):
        for axis, first in enumerate(firsts):
            rest = np.delete(features, axis)
            if first >= 0:
                limits = np.array([first, first + np.prod(n_bins[rest])])
                fill_histograms(codes, rest[None], n_bins, values, limits, out)


def fill_within(lines, columns, wanted, turned, n_bins, values, whole, starts, out):
    dense = unpack_rows(columns)[:, : len(lines)].astype(bool)
    for a, f in np.argwhere(wanted):
        rows = dense[a] != turned[a]
        for vector, every, row in zip(values, whole, out[a], strict=True):
            sums = np.bincount(lines[rows, f], vector[rows], n_bins[f])
            cells = slice(starts[f], starts[f] + n_bins[f])
            row[cells] += every[cells] - sums if turned[a] else sums
