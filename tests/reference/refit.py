"""Twin of ``ruleglm.kernels.refit``: Newton's method on dense columns, to the last digit."""

import numpy as np

from tests.reference import logistic
from tests.reference.columns import unpack_rows


def refit_logistic(y, eta, weights, lines, columns, start, ridges, tol, loose, coefs, losses):
    n = len(y)
    every = np.vstack([np.ones(n), lines, unpack_rows(columns)[:, :n]])
    weights, fixed, coef = np.broadcast_to(weights, n), eta - start @ every, start.copy()

    def objective(coef, ridge):
        found = np.empty(2)
        logistic.sum_logistic(y, fixed + coef @ every, 0.0, 0.0, weights, found)
        return found[0] + 0.5 * ridge @ coef**2

    for k, ridge in enumerate(ridges):
        for _ in range(200):
            first, second = np.empty((2, n))
            logistic.logistic_derivatives(y, fixed + coef @ every, weights, first, second)
            step = np.linalg.solve(
                every * second @ every.T + np.diag(ridge), every @ first + ridge * coef
            )
            while objective(coef - step, ridge) > objective(coef, ridge) + 1e-15:
                step *= 0.5
            coef = coef - step
        coefs[k], losses[k] = coef, objective(coef, 0.0 * ridge)
    return True
