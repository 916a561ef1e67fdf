"""Columns of numbers by NumPy's functions: the twins of ruleglm.kernels.numbers."""

import numpy as np


def sort_numbers(values, keys, spare, out):
    known = np.sort(values[~np.isnan(values)]) + 0.0
    out[: len(known)] = known
    return len(known)


def encode_numbers(values, thresholds, missing, out):
    out[:] = np.searchsorted(thresholds, values)
    out[np.isnan(values)] = missing
