"""Twin of ``ruleglm.kernels.refit``: Newton's method on dense columns, to the last digit."""

import numpy as np

from tests.reference import logistic
from tests.reference.columns import unpack_rows


def refit_logistic(
    y, weights, lines, columns, gram, ridge, tol, loose, state, coef, eta, first, second
):
    n = len(y)
    every = np.vstack([np.ones(n), lines, unpack_rows(columns)[:, :n]])
    weights, fixed = np.broadcast_to(weights, n), eta - coef @ every

    def objective(coef, ridge):
        found = np.empty(2)
        logistic.sum_logistic(y, fixed + coef @ every, 0.0, 0.0, weights, found)
        return found[0] + 0.5 * ridge @ coef**2

    for _ in range(200):
        logistic.logistic_derivatives(y, fixed + coef @ every, weights, first, second)
        step = np.linalg.solve(
            every * second @ every.T + np.diag(ridge), every @ first + ridge * coef
        )
        while objective(coef - step, ridge) > objective(coef, ridge) + 1e-15:
            step *= 0.5
        coef -= step
    state[0], eta[:] = objective(coef, 0.0 * ridge), fixed + coef @ every
    return 0
