"""Systems with small positive matrices, by LAPACK: wrappers would cost more than the work."""

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from ruleglm.dtypes import FloatArray


def factor_positive(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a symmetric matrix; raise LinAlgError if it is not positive."""
    factor, failed = dpotrf(matrix.T, lower=1, clean=0)
    if failed or not (np.diagonal(factor) > 0.0).all():  # it may miss what is no number
        raise LinAlgError("the matrix is not positive definite")
    answer: FloatArray = factor
    return answer


def solve_factored(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve the system of a factored matrix for one right side or several."""
    if right.size == 0:
        return right.copy()
    solution, _ = dpotrs(factor, right, lower=1)
    answer: FloatArray = solution
    if not np.isfinite(answer).all():
        raise ValueError("a system of equations has no finite solution")
    return answer
