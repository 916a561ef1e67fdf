"""Columns of numbers: sorted by the digits of their bits, and coded by thresholds."""

import numpy as np

from ruleglm.kernels.compile import kernel, ordered_kernel

DIGIT = 8
"""Bits that are sorted by at a time."""

BLOCK = 256
"""Numbers that are coded together: each comparison is of a vector of them."""


@ordered_kernel
def sort_numbers(values, keys, spare, out):
    """Sort numbers, without those that are missing.

    Bits of doubles that are not negative ascend as the numbers do; those of the others are turned.
    A digit that all numbers share is passed over, and short decimals share many.

    Parameters
    ----------
    values : (n_rows,) float64, NaN for missing
    keys, spare : (n_rows,) uint64, which are written to
    out : (n_rows,) float64, OUT: as many as are not missing, ascending

    Returns
    -------
    int, how many are not missing
    """
    n_digits, mask = 64 // DIGIT, np.uint64((1 << DIGIT) - 1)
    counts = np.zeros((n_digits, 1 << DIGIT), np.int64)
    size = 0
    for i in range(values.shape[0]):
        x = values[i] + 0.0  # there is one zero
        if x != x:
            continue
        bits = np.float64(x).view(np.int64)
        key = np.uint64(bits ^ ((bits >> np.int64(63)) | np.int64(-0x8000000000000000)))
        keys[size] = key
        size += 1
        for d in range(n_digits):
            counts[d, (key >> np.uint64(DIGIT * d)) & mask] += 1
    for d in range(n_digits):
        shift = np.uint64(DIGIT * d)
        if size == 0 or counts[d, (keys[0] >> shift) & mask] == size:
            continue
        place = 0
        for b in range(1 << DIGIT):
            place, counts[d, b] = place + counts[d, b], place
        places = counts[d]
        for i in range(size):
            digit = (keys[i] >> shift) & mask
            spare[places[digit]] = keys[i]
            places[digit] += 1
        keys, spare = spare, keys
    for i in range(size):
        turned = np.int64(keys[i])
        bits = turned ^ (~(turned >> np.int64(63)) | np.int64(-0x8000000000000000))
        out[i] = np.int64(bits).view(np.float64)
    return size


@kernel
def encode_numbers(values, thresholds, missing, out):
    """Count the thresholds below each number.

    All are compared, since a search would look up numbers by their places, for which not every
    processor has a fast vector instruction; without one it takes five times as long.

    Parameters
    ----------
    values : (n_rows,) float64, NaN for missing
    thresholds : (n_thresholds,) float64, ascending
    missing : int, the code of missing numbers
    out : (n_rows,) uint8, OUT
    """
    n_fours = thresholds.shape[0] // 4 * 4
    places = np.empty(BLOCK, np.int64)
    for first in range(0, values.shape[0], BLOCK):
        rows = values[first : first + BLOCK]
        for r in range(rows.shape[0]):
            places[r] = 0
        for k in range(0, n_fours, 4):
            a, b, c, d = thresholds[k], thresholds[k + 1], thresholds[k + 2], thresholds[k + 3]
            for r in range(rows.shape[0]):
                x = rows[r]
                below = np.int64(a < x) + np.int64(b < x) + np.int64(c < x) + np.int64(d < x)
                places[r] += below
        for k in range(n_fours, thresholds.shape[0]):
            for r in range(rows.shape[0]):
                places[r] += np.int64(thresholds[k] < rows[r])
        for r in range(rows.shape[0]):
            out[first + r] = places[r] if rows[r] == rows[r] else missing
