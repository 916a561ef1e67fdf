"""The logistic loss by NumPy's functions: the twins of ruleglm.kernels.logistic."""

import numpy as np


def logistic_loss(y, eta, out):
    out[:] = np.log1p(np.exp(-np.abs(eta))) + np.maximum(eta, 0.0) - y * eta
    return np.count_nonzero((y > 0.0) & (y < 1.0))


def logistic_derivatives(y, eta, out):
    tail = np.exp(-np.abs(eta))
    out[0] = np.where(eta >= 0.0, 1.0, tail) / (1.0 + tail) - y
    out[1] = tail / (1.0 + tail) ** 2
