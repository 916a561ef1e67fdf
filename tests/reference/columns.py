"""Twins of ``ruleglm.kernels.columns``: columns are unpacked into dense rows of 0 and 1."""

import itertools

import numpy as np


def pack_rows(dense):
    """Pack (n_columns, n_rows) zeros and ones into words, the first row in the lowest bit."""
    n_columns, n_rows = dense.shape
    n_words = (n_rows + 63) // 64
    padded = np.zeros((n_columns, 64 * n_words), np.uint8)
    padded[:, :n_rows] = dense
    octets = np.packbits(padded, axis=1, bitorder="little")
    return np.frombuffer(octets.tobytes(), "<u8").astype(np.uint64).reshape(n_columns, n_words)


def unpack_rows(columns):
    """Unpack words into (n_columns, 64 * n_words) zeros and ones."""
    shifts = np.arange(64, dtype=np.uint64)
    bits = columns[:, :, None] >> shifts & np.uint64(1)
    return bits.reshape(len(columns), 64 * columns.shape[1]).astype(np.float64)


def evaluate_rules(codes, features, masks, starts, out):
    tables = np.unpackbits(masks.view(np.uint8), axis=1, bitorder="little")
    dense = np.ones((len(starts) - 1, codes.shape[1]), np.uint8)
    for k, row in enumerate(dense):
        for c in range(starts[k], starts[k + 1]):
            row &= tables[c][codes[features[c]]]
    out[:] = pack_rows(dense)


def count_rows(columns, out):
    out[:] = unpack_rows(columns).sum(axis=1)


def join_columns(columns, places, starts, n_rows, out):
    dense = unpack_rows(columns)[:, :n_rows].astype(bool)
    lists = [places[first:last] for first, last in itertools.pairwise(starts)]
    joined = np.array([dense[each].all(axis=0) for each in lists]).reshape(len(lists), n_rows)
    out[:] = pack_rows(joined)


def hash_columns(columns, n_rows, number, alone, out):
    whole = sum(1 << row for row in range(n_rows))
    for column, hashes in zip(columns.tolist(), out, strict=True):
        rows = sum(word << 64 * w for w, word in enumerate(column))
        hashes[4] = first = number == 0 and rows & 1
        for side, places in ((rows, slice(0, 2)), (whole - rows, slice(2, 4))):
            if not alone or bool(first) == (places.start == 2):
                hashes[places] = hash_words(side, len(column), number)


def hash_words(rows, n_words, number):
    one = two = number + 0x9E3779B97F4A7C15
    for w in range(n_words):
        word = (rows >> 64 * w) % 2**64
        word = (word ^ word >> 32) * 0xD6E8FEB86659FD93 % 2**64
        one = (one ^ word) * 0xFF51AFD7ED558CCD % 2**64
        two = (two ^ word) * 0xC4CEB9FE1A85EC53 % 2**64
        one, two = one ^ one >> 32, two ^ two >> 29
    return one, two


def count_gram(left, right, out):
    out[:] = unpack_rows(left) @ unpack_rows(right).T


def unpack_words(columns, row_weights, n_old, begin, end, plain, weighted):
    dense = unpack_rows(columns)[:, begin:end]
    for panel, rows in ((plain, dense), (weighted, dense[n_old:] * row_weights[begin:end])):
        panel[: len(rows)] = 0.0
        panel[: len(rows), : end - begin] = rows


def weighted_gram(columns, row_weights, n_old, begin, end, out):
    dense = unpack_rows(columns)[:, begin:end]
    out[:] = (dense[n_old:] * row_weights[begin:end]) @ dense.T


def sum_columns(columns, values, begin, end, out):
    out[:] = unpack_rows(columns)[:, begin:end] @ values[begin:end]


def sum_lines(columns, lines, weights, begin, end, out):
    out[:] = unpack_rows(columns)[:, begin:end] @ (lines * weights).T[begin:end]


def gram_lines(lines, weights, begin, end, out):
    every = np.concatenate([np.ones((1, lines.shape[1])), lines])[:, begin:end]
    out[:] = (every * weights[begin:end]) @ every.T


def add_terms(intercept, lines, slopes, columns, coefficients, begin, end, out):
    out[begin:end] += intercept + slopes @ lines[:, begin:end]
    out[begin:end] += coefficients @ unpack_rows(columns)[:, begin:end]
