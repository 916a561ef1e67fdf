"""Columns of numbers: sorted by the digits of their bits, and coded by thresholds."""

import numpy as np

from ruleglm.kernels.compile import kernel, ordered_kernel

DIGIT = 8
"""Bits that are sorted by at a time."""

BLOCK = 512
"""Numbers that are coded together: each step of a search is a vector instruction."""


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

    Parameters
    ----------
    values : (n_rows,) float64, NaN for missing
    thresholds : (n_thresholds,) float64, ascending
    missing : int, the code of missing numbers
    out : (n_rows,) uint8, OUT
    """
    half = 1
    while half <= thresholds.shape[0]:
        half *= 2
    table = np.full(half, np.inf)
    for k in range(thresholds.shape[0]):
        table[k] = thresholds[k]
    places = np.empty(BLOCK, np.int64)
    for first in range(0, values.shape[0], BLOCK):
        rows = values[first : first + BLOCK]
        for r in range(rows.shape[0]):
            places[r] = 0
        step = half // 2
        while step > 0:
            for r in range(rows.shape[0]):
                below = table[places[r] + step - 1] < rows[r]
                places[r] += step if below else 0
            step //= 2
        for r in range(rows.shape[0]):
            out[first + r] = places[r] if rows[r] == rows[r] else missing
