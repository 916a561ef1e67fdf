"""The logistic loss and its derivatives, row by row.

Exponentials and logarithms are polynomials here, so that a loop over rows becomes vector
instructions; calls of a library's functions take several times as long. Both are exact to a few
units of the last place.
"""

import numpy as np

from ruleglm.kernels.compile import kernel, ordered_kernel

LEAST = -708.0
"""Below, an exponential is no normal number."""

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The base-2 logarithm of e, and that of 2 in two parts, of which the first is short."""

SHIFT = 6755399441055744.0
"""1.5 * 2**52: a number that it is added to is rounded to a whole one, in the last bits."""


@ordered_kernel
def exp_below(x):
    """Return the exponential of a number up to 0; NaN stays NaN."""
    x = LEAST if x < LEAST else x
    shifted = x * LOG2_E + SHIFT
    whole = shifted - SHIFT
    r = (x - whole * LN2_HIGH) - whole * LN2_LOW
    # the series of exp, |r| <= 0.3466
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    return p * np.int64(power).view(np.float64)


@ordered_kernel
def log1p_unit(t):
    """Return ``log(1 + t)`` for t from 0 to 1, by the series of the area tangent."""
    s = t / (2.0 + t)
    q = s * s
    p = 1.0 / 33.0
    p = p * q + 1.0 / 31.0
    p = p * q + 1.0 / 29.0
    p = p * q + 1.0 / 27.0
    p = p * q + 1.0 / 25.0
    p = p * q + 1.0 / 23.0
    p = p * q + 1.0 / 21.0
    p = p * q + 1.0 / 19.0
    p = p * q + 1.0 / 17.0
    p = p * q + 1.0 / 15.0
    p = p * q + 1.0 / 13.0
    p = p * q + 1.0 / 11.0
    p = p * q + 1.0 / 9.0
    p = p * q + 1.0 / 7.0
    p = p * q + 1.0 / 5.0
    p = p * q + 1.0 / 3.0
    p = p * q + 1.0
    return 2.0 * s * p


@ordered_kernel
def loss_at(y, x):
    """Return ``log(1 + exp(x)) - y x``."""
    size = abs(x)
    return log1p_unit(exp_below(-size)) + (0.5 * (size + x) - y * x)


@ordered_kernel
def logistic_loss(y, eta, out):
    """Compute ``log(1 + exp(eta)) - y eta`` of each row.

    Parameters
    ----------
    y, eta : (n_rows,) float64
    out : (n_rows,) float64, OUT

    Returns
    -------
    int, how many targets are neither 0 nor 1
    """
    n_between = 0
    for i in range(eta.shape[0]):
        n_between += y[i] > 0.0 and y[i] < 1.0
        out[i] = loss_at(y[i], eta[i])
    return n_between


@kernel
def sum_logistic(y, eta, direction, step, weights, out):
    """Add up the weighted losses of all rows, a step along a direction away.

    Parameters
    ----------
    y, eta, direction : (n_rows,) float64
    step : float
    weights : (n_rows,) float64, or (1,), the same for all rows
    out : (2,) float64, OUT: the sum, and how many targets are neither 0 nor 1
    """
    total, n_between = 0.0, 0
    each = weights.shape[0] != 1
    for i in range(eta.shape[0]):
        n_between += y[i] > 0.0 and y[i] < 1.0
        x = eta[i] + step * direction[i] if step != 0.0 else eta[i]
        loss = loss_at(y[i], x)
        total += loss * weights[i] if each else loss
    out[0] = total if each else total * weights[0]
    out[1] = n_between


@ordered_kernel
def logistic_derivatives(y, eta, weights, first, second):
    """Compute the first and the second derivative of each row's weighted logistic loss.

    Parameters
    ----------
    y, eta : (n_rows,) float64
    weights : (n_rows,) float64, or (1,), the same for all rows
    first, second : (n_rows,) float64, OUT
    """
    each = weights.shape[0] != 1
    for i in range(eta.shape[0]):
        x = eta[i]
        tail = exp_below(-abs(x))
        larger = 1.0 / (1.0 + tail)
        smaller = tail * larger
        weight = weights[i] if each else weights[0]
        first[i] = ((larger if x >= 0.0 else smaller) - y[i]) * weight
        second[i] = larger * smaller * weight
