"""Refits of models of two classes: Newton's method, from the first row to the last coefficient.

Between two sums over a few thousand rows Python would take longer than the sums do.
"""

import numpy as np

from ruleglm.kernels.columns import add_terms, sum_columns
from ruleglm.kernels.compile import kernel
from ruleglm.kernels.logistic import exp_below, log1p_unit

MAX_STEPS = 100
"""Newton steps at one ridge."""

PATIENCE = 4.0
"""Steps that the second derivatives of all pairs cost, about: as many more are taken without."""

ARMIJO = 1e-4
LEAST_STEP = 2.0**-24
LONGEST_STEP = 1e6
"""Of the intercept, where the loss has no curvature left."""

LEAST_UNIT = 1e-300
"""Of second derivatives that are all zero, or nearly."""

DONE, GRAM_WANTED, FAILED = 0, 1, 2


@kernel
def refit_logistic(
    y, weights, lines, columns, gram, ridge, tol, loose, state, coef, eta, first, second
):
    """Minimise the mean logistic loss plus half a ridge times squares, from where the model stands.

    Steps are Newton's, with second derivatives that are kept while they serve; one too long is
    halved. The order of coefficients is intercept, lines, rules.

    Parameters
    ----------
    y : (n_rows,) float64
    weights : (n_rows,) float64, or (1,), the same for all rows
    lines : (n_lines, n_rows) float64
    columns : (n_rules, n_words) uint64
    gram : (n_columns, n_columns) float64, second derivatives, here or not far from here
    ridge : (n_columns,) float64
    tol : float, a step that promises less than this decrease is the last one
    loose : bool, whether it is left out if it is not the first one
    state : (4,) float64, OUT: the mean loss, what the last step promised, how many were taken, and
        whether the second derivatives are those here
    coef : (n_columns,) float64, OUT
    eta : (n_rows,) float64, OUT, the linear predictor
    first, second : (n_rows,) float64, OUT, derivatives of each row's weighted loss

    Returns
    -------
    int, `DONE`; or `GRAM_WANTED` where the call should be repeated with second derivatives of where
    it has got to; or `FAILED`
    """
    n_rows, size, n_lines = eta.shape[0], coef.shape[0], lines.shape[0]
    begin = np.int64(0)  # as a number in the call it would be a type of its own
    move, factor = np.empty(n_rows), np.empty((size, size))
    slope, delta = np.empty(size), np.empty(size)
    while state[2] < MAX_STEPS:
        fill_slope(first, lines, columns, coef, ridge, slope)
        promise = solve_step(gram, ridge, slope, factor, delta)
        slow = promise > tol and np.log(promise / tol) > PATIENCE * np.log(state[1] / promise)
        if (slow or not promise >= 0.0) and state[3] == 0.0:
            return GRAM_WANTED
        if not (0.0 <= promise < np.inf):
            return FAILED
        final = promise <= tol
        if final and loose and state[2] > 0:
            return DONE
        for i in range(n_rows):
            move[i] = 0.0
        slopes, steps = delta[1 : 1 + n_lines], delta[1 + n_lines :]
        add_terms(delta[0], lines, slopes, columns, steps, begin, n_rows, move)
        before, length = state[0] + price_at(coef, delta, 0.0, ridge), 1.0
        for i in range(n_rows):
            eta[i] += move[i]
        while length >= LEAST_STEP:
            state[0] = pass_rows(y, eta, weights, first, second)
            after = state[0] + price_at(coef, delta, length, ridge)
            if after <= before - ARMIJO * length * promise or (final and after <= before + tol):
                break
            length *= 0.5
            for i in range(n_rows):
                eta[i] -= length * move[i]
        if length < LEAST_STEP:
            return FAILED
        for a in range(size):
            coef[a] += length * delta[a]
        state[1], state[3] = promise if length == 1.0 else np.inf, 0.0
        state[2] += 1.0
        if final:
            return DONE
    return FAILED


@kernel
def pass_rows(y, eta, weights, first, second):
    """Return the mean loss, and compute both derivatives of each row's, the last two OUT."""
    total, each = 0.0, weights.shape[0] != 1
    for i in range(eta.shape[0]):
        x = eta[i]
        size = abs(x)
        tail = exp_below(-size)
        larger = 1.0 / (1.0 + tail)
        smaller = tail * larger
        weight = weights[i] if each else weights[0]
        first[i] = ((larger if x >= 0.0 else smaller) - y[i]) * weight
        second[i] = larger * smaller * weight
        total += (log1p_unit(tail) + (0.5 * (size + x) - y[i] * x)) * weight
    return total


@kernel
def fill_slope(first, lines, columns, coef, ridge, slope):
    """Compute the derivative of the objective by each coefficient, the last OUT."""
    n_lines, total = lines.shape[0], 0.0
    for i in range(first.shape[0]):
        total += first[i]
    slope[0] = total
    for j in range(n_lines):
        line, total = lines[j], 0.0
        for i in range(first.shape[0]):
            total += line[i] * first[i]
        slope[1 + j] = total
    begin = np.int64(0)
    sum_columns(columns, first, begin, first.shape[0], slope[1 + n_lines :])
    for a in range(slope.shape[0]):
        slope[a] += ridge[a] * coef[a]


@kernel
def solve_step(gram, ridge, slope, factor, delta):
    """Find the Newton step, the last OUT; return what it promises, -1 if there is none.

    Parameters
    ----------
    gram : (n, n) float64
    ridge, slope : (n,) float64
    factor : (n, n) float64, OUT, the lower Cholesky factor
    delta : (n,) float64, OUT
    """
    n = slope.shape[0]
    for a in range(n):
        for b in range(a + 1):
            total = gram[a, b]
            if a == b:
                total += ridge[a]
                if a == 0:
                    total = max(total, abs(slope[0]) / LONGEST_STEP, LEAST_UNIT)
            whole, row, other = total, factor[a], factor[b]
            for k in range(b):
                total -= row[k] * other[k]
            if a != b:
                row[b] = total / other[b]
            elif total > 1e-12 * whole:
                row[a] = np.sqrt(total)
            else:
                return -1.0
    for a in range(n):
        total = -slope[a]
        for k in range(a):
            total -= factor[a, k] * delta[k]
        delta[a] = total / factor[a, a]
    for a in range(n - 1, -1, -1):
        total = delta[a]
        for k in range(a + 1, n):
            total -= factor[k, a] * delta[k]
        delta[a] = total / factor[a, a]
    promise = 0.0
    for a in range(n):
        promise -= slope[a] * delta[a]
    return promise


@kernel
def price_at(coef, delta, length, ridge):
    """Return half the ridges times squares a step away."""
    total = 0.0
    for a in range(coef.shape[0]):
        value = coef[a] + length * delta[a]
        total += ridge[a] * value * value
    return 0.5 * total
