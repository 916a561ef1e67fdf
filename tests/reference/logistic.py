"""The logistic loss by NumPy's functions: the twins of ruleglm.kernels.logistic."""

import numpy as np


def logistic_loss(y, eta, out):
    out[:] = np.log1p(np.exp(-np.abs(eta))) + np.maximum(eta, 0.0) - y * eta
    return np.count_nonzero((y > 0.0) & (y < 1.0))


def sum_logistic(y, eta, direction, step, weights, out):
    losses = np.empty(len(y))
    out[1] = logistic_loss(y, eta + step * direction, losses)
    out[0] = np.sum(losses * weights)


def logistic_derivatives(y, eta, weights, first, second):
    tail = np.exp(-np.abs(eta))
    first[:] = weights * (np.where(eta >= 0.0, 1.0, tail) / (1.0 + tail) - y)
    second[:] = weights * tail / (1.0 + tail) ** 2
