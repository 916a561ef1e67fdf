"""Joint histograms of bin codes.

One pass over the rows fills ``H[b1, .., bm] += value`` for a tuple of features; running sums along
each axis then give the value of every conjunction of conditions on those features (design, section
3).
"""

import numpy as np

from ruleglm.kernels.compile import kernel

TILE = 2048
"""Rows whose cell numbers are computed together; they stay in the first-level cache."""

SMALL = 2048
"""Up to this many cells a histogram is filled in four interleaved copies.

Rows that hit the same cell one after the other (skewed features) would wait for each other's
addition; with copies they do not.
"""


@kernel
def fill_histograms(codes, tuples, n_bins, values, starts, out):
    """Fill the joint histogram of each tuple of features for each row vector.

    Parameters
    ----------
    codes : (n_features, n_rows) uint8
    tuples : (n_tuples, order) int64, feature numbers
    n_bins : (n_features,) int64
    values : (n_vectors, n_rows) float64
    starts : (n_tuples + 1,) int64, where each histogram lies in ``out``
    out : (n_vectors, starts[-1]) float64, OUT, added to
    """
    n_rows = codes.shape[1]
    n_vectors = values.shape[0]
    order = tuples.shape[1]
    cells = np.empty(TILE, np.int32)
    largest = 0
    for t in range(tuples.shape[0]):
        largest = max(largest, starts[t + 1] - starts[t])
    copies = np.empty((n_vectors, 4, min(largest, SMALL)))
    for t in range(tuples.shape[0]):
        size = starts[t + 1] - starts[t]
        small = size <= SMALL
        if small:
            for v in range(n_vectors):
                for c in range(size):
                    copies[v, 0, c] = 0.0
                    copies[v, 1, c] = 0.0
                    copies[v, 2, c] = 0.0
                    copies[v, 3, c] = 0.0
        for first in range(0, n_rows, TILE):
            count = min(TILE, n_rows - first)
            axis_codes = codes[tuples[t, 0], first : first + count]
            for r in range(count):
                cells[r] = axis_codes[r]
            for axis in range(1, order):
                width = np.int32(n_bins[tuples[t, axis]])
                axis_codes = codes[tuples[t, axis], first : first + count]
                for r in range(count):
                    cells[r] = cells[r] * width + axis_codes[r]
            for v in range(n_vectors):
                row_values = values[v, first : first + count]
                if small:
                    copy_0, copy_1 = copies[v, 0], copies[v, 1]
                    copy_2, copy_3 = copies[v, 2], copies[v, 3]
                    quads = count // 4
                    for q in range(quads):
                        r = 4 * q
                        copy_0[cells[r]] += row_values[r]
                        copy_1[cells[r + 1]] += row_values[r + 1]
                        copy_2[cells[r + 2]] += row_values[r + 2]
                        copy_3[cells[r + 3]] += row_values[r + 3]
                    for r in range(4 * quads, count):
                        copy_0[cells[r]] += row_values[r]
                else:
                    whole = out[v, starts[t] : starts[t + 1]]
                    for r in range(count):
                        whole[cells[r]] += row_values[r]
        if small:
            for v in range(n_vectors):
                whole = out[v, starts[t] : starts[t + 1]]
                for c in range(size):
                    whole[c] += (copies[v, 0, c] + copies[v, 1, c]) + (
                        copies[v, 2, c] + copies[v, 3, c]
                    )


@kernel
def fill_within(codes, columns, wanted, n_bins, values, starts, out):
    """Fill the histograms of features over the rows of each column, for each row vector.

    Parameters
    ----------
    codes : (n_features, n_rows) uint8
    columns : (n_columns, n_words) uint64
    wanted : (n_columns, n_features) bool, the histograms to fill
    n_bins : (n_features,) int64
    values : (n_vectors, n_rows) float64
    starts : (n_features + 1,) int64, where each feature's bins lie
    out : (n_columns, n_vectors, starts[-1]) float64, OUT, added to
    """
    n_features, n_rows = codes.shape
    rows = np.empty(n_rows, np.int32)
    held = np.empty((values.shape[0], n_rows))
    one = np.int64(1)
    for a in range(columns.shape[0]):
        count = 0
        for first in range(0, n_rows, 64):
            word = np.int64(columns[a, first >> 6])
            if word == 0:
                continue
            for r in range(min(64, n_rows - first)):
                rows[count] = first + r
                count += (word >> np.int64(r)) & one
        for v in range(values.shape[0]):
            for i in range(count):
                held[v, i] = values[v, rows[i]]
        for f in range(n_features):
            if not wanted[a, f]:
                continue
            feature_codes = codes[f]
            for v in range(values.shape[0]):
                cells = out[a, v, starts[f] : starts[f] + n_bins[f]]
                for i in range(count):
                    cells[feature_codes[rows[i]]] += held[v, i]
