"""Twin of ``ruleglm.kernels.descent``: full sweeps only, the gradient spelled out each time."""

import numpy as np


def descend(gram, gradient, penalties, signs, tol, max_sweeps, coef):
    start, slope = coef.copy(), gradient.copy()
    sweeps = 0
    while sweeps < max_sweeps:
        sweeps += 1
        decrease = 0.0
        for j in np.flatnonzero(np.diag(gram) > 0.0):
            old, curvature = coef[j], gram[j, j]
            target = curvature * old - (slope + gram @ (coef - start))[j]
            coef[j] = np.sign(target) * max(abs(target) - penalties[j], 0.0) / curvature
            coef[j] = 0.0 if coef[j] * signs[j] < 0.0 else coef[j]
            decrease += 0.5 * curvature * (coef[j] - old) ** 2
        if decrease < tol:
            break
    gradient[:] = slope + gram @ (coef - start)
    return sweeps
