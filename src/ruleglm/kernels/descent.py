"""Coordinate descent on a Gram matrix."""

import numpy as np

from ruleglm.kernels.compile import kernel


@kernel
def descend(gram, gradient, penalties, signs, tol, max_sweeps, coef):
    """Minimise a quadratic model plus the weighted l1 norm, coordinate by coordinate.

    The model is ``gradient . (x - coef) + (x - coef)' gram (x - coef) / 2 + sum penalties |x|``;
    it is minimised from ``x = coef``. After a sweep over all coefficients, those that are not 0 are
    swept in a copy of their part of the matrix until they settle.

    Parameters
    ----------
    gram : (n, n) float64, symmetric, positive semidefinite
    gradient : (n,) float64, overwritten with the model's gradient at the end
    penalties : (n,) float64
    signs : (n,) int64, the sign that each coefficient has to have, 0 for any
    tol : float, stop when a full sweep lowers the model by less
    max_sweeps : int
    coef : (n,) float64, OUT, start and result

    Returns
    -------
    int, sweeps done
    """
    n_sweeps = 0
    while n_sweeps < max_sweeps:
        n_sweeps += 1
        if sweep(gram, gradient, penalties, signs, coef) < tol:
            return n_sweeps
        members = np.flatnonzero(coef)
        k = members.shape[0]
        part, slopes, values = np.empty((k, k)), np.empty(k), np.empty(k)
        for a in range(k):
            slopes[a], values[a] = gradient[members[a]], coef[members[a]]
            row = gram[members[a]]
            for b in range(k):
                part[a, b] = row[members[b]]
        prices, ways = penalties[members], signs[members]
        while n_sweeps < max_sweeps:
            n_sweeps += 1
            if sweep(part, slopes, prices, ways, values) < tol:
                break
        for a in range(k):
            move(gram, members[a], values[a], gradient, coef)
    return max_sweeps


@kernel
def sweep(gram, gradient, penalties, signs, coef):
    """Minimise over one coefficient after the other; return the decrease. See `descend`."""
    decrease = 0.0
    for j in range(coef.shape[0]):
        curvature = gram[j, j]
        if curvature <= 0.0:
            continue
        target = curvature * coef[j] - gradient[j]
        new = 0.0
        if target > penalties[j] and signs[j] >= 0:
            new = (target - penalties[j]) / curvature
        elif target < -penalties[j] and signs[j] <= 0:
            new = (target + penalties[j]) / curvature
        change = new - coef[j]
        decrease += 0.5 * curvature * change * change
        move(gram, j, new, gradient, coef)
    return decrease


@kernel
def move(gram, j, value, gradient, coef):
    """Give a coefficient another value, and the gradient what follows from it."""
    change = value - coef[j]
    if change != 0.0:
        coef[j] = value
        row = gram[j]
        for i in range(coef.shape[0]):
            gradient[i] += change * row[i]
