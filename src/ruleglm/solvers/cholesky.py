"""Systems with small positive matrices, by LAPACK: wrappers would cost more than the work."""

import numpy as np
from scipy.linalg import LinAlgError, pinvh
from scipy.linalg.lapack import dpotrf, dpotrs

from ruleglm.dtypes import FloatArray

COLLINEAR = 1e-6
"""Share of a column's curvature below which the others explain it; Gram matrices have errors."""


def factor_positive(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a symmetric matrix; raise LinAlgError if it is not positive."""
    factor, failed = dpotrf(matrix.T, lower=1, clean=0)
    if failed or not (np.diagonal(factor) > 0.0).all():  # it may miss what is no number
        raise LinAlgError("the matrix is not positive definite")
    answer: FloatArray = factor
    return answer


def factor_nearly(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a matrix that may lack what rounding took from it."""
    try:
        return factor_positive(matrix)
    except LinAlgError:
        diagonal = np.diagonal(matrix)
        return factor_positive(matrix + np.diag(COLLINEAR * (diagonal + diagonal.max())))


def solve_factored(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve the system of a factored matrix for one right side or several."""
    if right.size == 0:
        return right.copy()
    solution, _ = dpotrs(factor, right, lower=1)
    answer: FloatArray = solution
    if not np.isfinite(answer).all():
        raise ValueError("a system of equations has no finite solution")
    return answer


def nearly_collinear(matrix: FloatArray, factor: FloatArray) -> bool:
    """Tell whether only rounding gives a matrix an inverse."""
    left = np.diagonal(factor) ** 2
    return bool((left <= COLLINEAR * np.diagonal(matrix)).any())


def solve_positive(matrix: FloatArray, right: FloatArray, strict: bool = False) -> FloatArray:
    """Solve a system with a positive matrix; without an inverse, take the shortest solution.

    ``strict`` raises LinAlgError instead, also where only rounding gives the matrix an inverse.
    """
    try:
        factor = factor_positive(matrix)
    except LinAlgError:
        factor = None
    if factor is not None and not (strict and nearly_collinear(matrix, factor)):
        return solve_factored(factor, right)
    if strict:
        raise LinAlgError("columns are collinear")
    with np.errstate(over="ignore", invalid="ignore"):
        shortest: FloatArray = pinvh(matrix) @ right
    return shortest
