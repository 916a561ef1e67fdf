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


def fill_within(codes, columns, wanted, n_bins, values, starts, out):
    dense = unpack_rows(columns)[:, : codes.shape[1]].astype(bool)
    for a, f in np.argwhere(wanted):
        for vector, row in zip(values, out[a], strict=True):
            cells = row[starts[f] : starts[f] + n_bins[f]]  # a view: adds to out
            np.add.at(cells, codes[f, dense[a]], vector[dense[a]])
