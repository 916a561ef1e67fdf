"""Coefficients of given columns for several classes at once: Newton's method on all of them.

Columns come in blocks of rows, so that they need not be in memory together.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from ruleglm.dtypes import FloatArray
from ruleglm.families import Family

BLOCK_ROWS = 16384
MAX_NEWTON = 100
HALVINGS = tuple(0.5**k for k in range(30))


def solve_softmax(
    columns: Callable[[slice], FloatArray],
    y: FloatArray,
    family: Family,
    weights: FloatArray,
    offset: FloatArray,
    ridge: float,
    tol: float,
) -> FloatArray:
    """Minimise mean loss plus ``ridge / 2`` times the sum of squares, the intercepts' left out.

    Parameters
    ----------
    columns : callable that gives the columns of some rows, shape (n, n_columns), the first all ones
    y : (n_rows, n_classes) float64, a 1 for the class of each row
    family : Family, with a linear predictor for each class
    weights : (n_rows,) float64, summing to 1
    offset : (n_rows, n_classes) float64
    ridge : float
    tol : float, stop when a step promises less than this decrease

    Returns
    -------
    (n_columns, n_classes) float64; of all solutions the one whose coefficients of a column add up
    to 0 over the classes
    """
    n_columns, n_classes = columns(slice(0, 1)).shape[1], y.shape[1]
    ridges = np.full((n_columns, n_classes), ridge)
    ridges[0] = 0.0
    blocks = [slice(k, k + BLOCK_ROWS) for k in range(0, len(y), BLOCK_ROWS)]

    def objective(coef: FloatArray) -> float:
        losses = (
            weights[rows] @ family.loss(y[rows], offset[rows] + columns(rows) @ coef)
            for rows in blocks
        )
        return float(sum(losses)) + 0.5 * float((ridges * coef**2).sum())

    def derive(coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        slope = ridges * coef
        curve = np.zeros((n_classes, n_columns, n_classes, n_columns))
        for rows in blocks:
            held, weight = columns(rows), weights[rows, None]
            share = family.mean(offset[rows] + held @ coef)
            slope += held.T @ (weight * (share - y[rows]))
            for k in range(n_classes):
                for j in range(k + 1):
                    product = weight[:, 0] * share[:, k] * (float(j == k) - share[:, j])
                    curve[k, :, j] += held.T @ (product[:, None] * held)
        for k in range(n_classes):
            for j in range(k):
                curve[j, :, k] = curve[k, :, j].T
        matrix = curve.reshape(2 * (n_classes * n_columns,))
        matrix[np.diag_indices(len(matrix))] += ridges.T.ravel()
        return slope, matrix

    coef = np.zeros((n_columns, n_classes))
    coef[0] = family.null_eta(y, weights, offset)
    value = objective(coef)
    for _ in range(MAX_NEWTON):
        slope, matrix = derive(coef)
        step = -(linalg.pinvh(matrix) @ slope.T.ravel()).reshape(n_classes, n_columns).T
        promise = -float((slope * step).sum())
        for length in HALVINGS:
            new = objective(coef + length * step)
            if new <= value - 1e-4 * length * promise:
                break
        else:
            break
        coef, value = coef + length * step, new
        if 0.5 * promise < tol:
            break
    return np.asarray(coef - coef.mean(axis=1, keepdims=True))
