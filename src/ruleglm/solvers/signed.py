"""Quadratic models whose coefficients have signs: an active-set method (Lawson and Hanson)."""

import numpy as np

from ruleglm.dtypes import BoolArray, FloatArray, IntArray
from ruleglm.solvers.cholesky import solve_positive

ACCURACY = 1e-12
"""Share of the largest slope below which a coefficient at 0 stays there."""


def solve_signed(
    matrix: FloatArray, slope: FloatArray, coef: FloatArray, signs: IntArray
) -> FloatArray:
    """Minimise ``slope . (x - coef) + (x - coef)' matrix (x - coef) / 2`` over ``x`` of some signs.

    Parameters
    ----------
    matrix : (n, n) float64, positive definite
    slope : (n,) float64, the gradient at ``coef``
    coef : (n,) float64, start, with the right signs
    signs : (n,) int64, the sign that each coefficient has to have, 0 for any
    """
    right = matrix @ coef - slope
    least = ACCURACY * max(float(np.abs(right).max(initial=0.0)), 1e-300)
    x = np.where(signs * coef < 0.0, 0.0, coef)
    free = (signs == 0) | (x != 0.0)
    still = np.zeros(len(x), np.bool_)
    settle(matrix, right, signs, x, free)
    for _ in range(3 * len(x)):
        pull = np.where(free | still, 0.0, signs * (right - matrix @ x))
        best = int(np.argmax(pull))
        if pull[best] <= least:
            break
        free[best] = True
        settle(matrix, right, signs, x, free)
        still[best] = x[best] == 0.0  # nothing but rounding pulled
    return x


def settle(
    matrix: FloatArray, right: FloatArray, signs: IntArray, x: FloatArray, free: BoolArray
) -> None:
    """Move ``x`` to the minimum over the free coefficients; those that would turn become 0, held.

    ``x`` and ``free`` are changed.
    """
    while free.any():
        inside = np.flatnonzero(free)
        target = solve_positive(matrix[np.ix_(inside, inside)], right[inside])
        wrong = signs[inside] * target < 0.0
        if not wrong.any():
            x[inside] = target
            return
        here = x[inside]
        steps = np.where(wrong, here / np.where(wrong, here - target, 1.0), np.inf)
        step = float(steps.min())
        x[inside] = here + step * (target - here)
        held = inside[wrong & (steps <= step)]
        x[held], free[held] = 0.0, False


def check_signs(coefs: FloatArray, signs: IntArray) -> None:
    """Refuse vectors of coefficients of which one has the wrong sign: a guard against mistakes."""
    if np.any(signs * coefs < 0.0):
        raise RuntimeError("A coefficient broke a monotone constraint; please report this")
