"""Refits of one model of two classes at several ridges, from the first row to the last coefficient.

Between two sums over a few thousand rows Python would take longer than the sums do.
"""

import numpy as np

from ruleglm.kernels.columns import add_terms, gram_lines, sum_columns, sum_lines, weighted_gram
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


@kernel
def refit_logistic(y, eta, weights, lines, columns, start, ridges, tol, loose, coefs, losses):
    """Minimise the mean logistic loss plus half the ridges times squares, ridge after ridge.

    Each refit begins where the last one ended. Steps are Newton's, with second derivatives that are
    kept while they serve; one too long is halved. The order is intercept, lines, rules.

    Parameters
    ----------
    y : (n_rows,) float64
    eta : (n_rows,) float64, the linear predictor at ``start``; overwritten
    weights : (n_rows,) float64, or (1,), the same for all rows
    lines : (n_lines, n_rows) float64
    columns : (n_rules, n_words) uint64
    start : (n_columns,) float64
    ridges : (n_ridges, n_columns) float64
    tol : float, a step that promises less than this decrease is the last one
    loose : bool, whether it is left out if it is not the first one
    coefs : (n_ridges, n_columns) float64, OUT
    losses : (n_ridges,) float64, OUT, without what targets that are no classes have in themselves

    Returns
    -------
    bool, whether all of them were found
    """
    n_rows, size = eta.shape[0], start.shape[0]
    first, second, move = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    gram, factor = np.empty((size, size)), np.empty((size, size))
    slope, delta, coef = np.empty(size), np.empty(size), start.copy()
    loss = pass_rows(y, eta, weights, first, second)
    known = False
    for j in range(ridges.shape[0]):
        ridge, last, done = ridges[j], np.inf, False
        for step in range(MAX_STEPS):
            fill_slope(first, lines, columns, coef, ridge, slope)
            fresh = not known
            if fresh:
                fill_gram(second, lines, columns, gram)
                known = True
            promise = solve_step(gram, ridge, slope, factor, delta)
            slow = promise > tol and np.log(promise / tol) > PATIENCE * np.log(last / promise)
            if (slow or not promise >= 0.0) and not fresh:
                fill_gram(second, lines, columns, gram)
                fresh = True
                promise = solve_step(gram, ridge, slope, factor, delta)
            if not (0.0 <= promise < np.inf):
                return False
            final = promise <= tol
            if final and loose and step > 0:
                done = True
                break
            move[:] = 0.0
            slopes, steps = delta[1 : 1 + lines.shape[0]], delta[1 + lines.shape[0] :]
            add_terms(delta[0], lines, slopes, columns, steps, 0, n_rows, move)
            before, length = loss + price_at(coef, delta, 0.0, ridge), 1.0
            for i in range(n_rows):
                eta[i] += move[i]
            while length >= LEAST_STEP:
                loss = pass_rows(y, eta, weights, first, second)
                after = loss + price_at(coef, delta, length, ridge)
                if after <= before - ARMIJO * length * promise or (final and after <= before + tol):
                    break
                length *= 0.5
                for i in range(n_rows):
                    eta[i] -= length * move[i]
            if length < LEAST_STEP:
                return False
            for a in range(size):
                coef[a] += length * delta[a]
            last = promise if length == 1.0 else np.inf
            if final:
                done = True
                break
        if not done:
            return False
        coefs[j], losses[j] = coef, loss
    return True


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
    sum_columns(columns, first, 0, first.shape[0], slope[1 + n_lines :])
    for a in range(slope.shape[0]):
        slope[a] += ridge[a] * coef[a]


@kernel
def fill_gram(second, lines, columns, gram):
    """Compute the second derivatives of the loss by all pairs of coefficients, the last OUT."""
    n_rows, n_lines, n_rules = second.shape[0], lines.shape[0], columns.shape[0]
    ahead = 1 + n_lines
    outer = np.empty((ahead, ahead))
    gram_lines(lines, second, 0, n_rows, outer)
    gram[:ahead, :ahead] = outer
    if n_rules == 0:
        return
    unit = LEAST_UNIT
    for i in range(n_rows):
        unit = max(unit, second[i])
    scaled = np.empty(n_rows, np.float32)
    for i in range(n_rows):
        scaled[i] = np.float32(second[i] / unit)
    block, across = np.empty((n_rules, n_rules)), np.empty((n_rules, n_lines))
    weighted_gram(columns, scaled, 0, 0, n_rows, block)
    sum_lines(columns, lines, second, 0, n_rows, across)
    for a in range(n_rules):
        gram[ahead + a, 0] = gram[0, ahead + a] = unit * block[a, a]
        for j in range(n_lines):
            gram[ahead + a, 1 + j] = gram[1 + j, ahead + a] = across[a, j]
        for b in range(n_rules):
            gram[ahead + a, ahead + b] = unit * block[a, b]


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
