"""Columns of rules as packed bits, and the sums over rows that the master problem needs.

A column is ``ceil(n / 64)`` words, the first row in the least significant bit; bits past the last row
are zero.
"""

import numpy as np

from ruleglm.kernels.compile import kernel

PANEL = 256
"""Rows of every column unpacked together for the weighted Gram matrix."""


@kernel
def evaluate_rules(codes, features, tables, starts, out):
    """Evaluate conjunctions on bin codes into packed columns.

    Parameters
    ----------
    codes : (n_features, n_rows) uint8
    features : (n_conditions,) int64, the conditions of all rules one after the other
    tables : (n_conditions, 256) uint8, whether a code satisfies the condition
    starts : (n_rules + 1,) int64, where each rule's conditions lie
    out : (n_rules, n_words) uint64, OUT
    """
    n_rows = codes.shape[1]
    for k in range(starts.shape[0] - 1):
        for w in range(out.shape[1]):
            first = 64 * w
            count = min(64, n_rows - first)
            word = ~np.uint64(0)
            if count < 64:
                word = (np.uint64(1) << np.uint64(count)) - np.uint64(1)
            for c in range(starts[k], starts[k + 1]):
                table = tables[c]
                row_codes = codes[features[c], first : first + count]
                bits = np.uint64(0)
                for r in range(count):
                    bits |= np.uint64(table[row_codes[r]]) << np.uint64(r)
                word &= bits
            out[k, w] = word


@kernel
def count_gram(left, right, out):
    """Count the rows that each pair of columns shares.

    Parameters
    ----------
    left : (n_left, n_words) uint64
    right : (n_right, n_words) uint64
    out : (n_left, n_right) float64, OUT
    """
    ones = np.uint64(0x5555555555555555)
    twos = np.uint64(0x3333333333333333)
    fours = np.uint64(0x0F0F0F0F0F0F0F0F)
    bytes_ = np.uint64(0x0101010101010101)
    for a in range(left.shape[0]):
        for b in range(right.shape[0]):
            total = np.uint64(0)
            for w in range(left.shape[1]):
                x = left[a, w] & right[b, w]
                x = x - ((x >> np.uint64(1)) & ones)
                x = (x & twos) + ((x >> np.uint64(2)) & twos)
                x = (x + (x >> np.uint64(4))) & fours
                total += (x * bytes_) >> np.uint64(56)
            out[a, b] = np.float64(total)


@kernel
def weighted_gram(columns, row_weights, begin, end, out):
    """Add up the row weights that each pair of columns shares, over some of the rows.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    row_weights : (n_rows,) float64
    begin, end : int, the rows to add up
    out : (n_columns, n_columns) float64, OUT, symmetric
    """
    n_columns = columns.shape[0]
    plain = np.empty((n_columns, PANEL))
    weighted = np.empty((n_columns, PANEL))
    out[:, :] = 0.0
    for first in range(begin, end, PANEL):
        count = min(PANEL, end - first)
        plain[:, count:] = 0.0
        weighted[:, count:] = 0.0
        for a in range(n_columns):
            for r in range(count):
                word = columns[a, (first + r) >> 6]
                bit = (word >> np.uint64((first + r) & 63)) & np.uint64(1)
                plain[a, r] = np.float64(bit)
                weighted[a, r] = np.float64(bit) * row_weights[first + r]
        for a in range(n_columns):
            mine = weighted[a]
            quads = (a + 1) // 4
            for q in range(quads):
                b = 4 * q
                sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
                for r in range(PANEL):
                    x = mine[r]
                    sum_0 += x * plain[b, r]
                    sum_1 += x * plain[b + 1, r]
                    sum_2 += x * plain[b + 2, r]
                    sum_3 += x * plain[b + 3, r]
                out[a, b] += sum_0
                out[a, b + 1] += sum_1
                out[a, b + 2] += sum_2
                out[a, b + 3] += sum_3
            for b in range(4 * quads, a + 1):
                sum_0 = 0.0
                for r in range(PANEL):
                    sum_0 += mine[r] * plain[b, r]
                out[a, b] += sum_0
    for a in range(n_columns):
        for b in range(a):
            out[b, a] = out[a, b]


@kernel
def sum_columns(columns, values, begin, end, out):
    """Add up row values over the rows of each column.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    values : (n_rows,) float64
    begin, end : int, the rows to add up; ``begin`` is a multiple of 64
    out : (n_columns,) float64, OUT
    """
    for a in range(columns.shape[0]):
        total = 0.0
        for w in range(begin >> 6, (end + 63) >> 6):
            word = columns[a, w]
            if word == np.uint64(0):
                continue
            first = 64 * w
            for r in range(min(64, end - first)):
                bit = (word >> np.uint64(r)) & np.uint64(1)
                total += np.float64(bit) * values[first + r]
        out[a] = total


@kernel
def add_columns(columns, coefficients, begin, end, out):
    """Add each column times its coefficient to some of the rows.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    coefficients : (n_columns,) float64
    begin, end : int, the rows to change; ``begin`` is a multiple of 64
    out : (n_rows,) float64, OUT, added to
    """
    for w in range(begin >> 6, (end + 63) >> 6):
        first = 64 * w
        count = min(64, end - first)
        for a in range(columns.shape[0]):
            word = columns[a, w]
            coefficient = coefficients[a]
            if word == np.uint64(0) or coefficient == 0.0:
                continue
            for r in range(count):
                bit = (word >> np.uint64(r)) & np.uint64(1)
                out[first + r] += np.float64(bit) * coefficient
