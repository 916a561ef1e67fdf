"""Coefficients of several classes together, without an l1 penalty.

Newton's method with conjugate gradients: the second derivatives between classes are multiplied
with, row by row. What preconditions is the Gram matrices of the classes, each by itself, or for
several refits of one small model all second derivatives at a point nearby (`Curvature`).
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ruleglm.dtypes import BoolArray, FloatArray
from ruleglm.engines.classes import ClassEngines
from ruleglm.solvers.cholesky import COLLINEAR, factor_positive, solve_factored
from ruleglm.solvers.master import ARMIJO, HALVINGS, MAX_NEWTON, REFIT_RIDGE

INTERCEPT_RIDGE = 1e-10
"""Ridge on intercepts: that of a class without rows stays finite."""

MAX_PRODUCTS = 200
"""Products with the second derivatives in one Newton step."""

FORCING = 0.1
"""Share of the gradient that a Newton step may leave unsolved."""

MAX_DENSE = 1 << 22
"""Entries of columns that are written out to multiply with: 32 MB."""

STALE = 0.95
"""Share of the mean loss below which the Gram matrices of the classes are computed anew."""

MAX_UNKNOWN = 1000
"""Coefficients of a model whose second derivatives may be written down."""

MOST_PRODUCTS = 1e9
"""Products up to which all second derivatives of a model are computed."""

Linear: TypeAlias = Callable[[FloatArray], FloatArray]


def refit_classes(
    classes: ClassEngines,
    coef: FloatArray,
    members: BoolArray,
    ridge: float | FloatArray = REFIT_RIDGE,
    tol: float = 1e-10,
    curvature: "Curvature | None" = None,
) -> FloatArray:
    """Minimise mean loss plus ``ridge / 2`` times the squares; return the coefficients.

    Parameters
    ----------
    classes : ClassEngines, all with the same columns, standing at ``coef``; left at the solution
    coef : (n_columns, n_classes) float64
    members : (n_columns, n_classes) bool, the coefficients that may move
    ridge : float or (n_columns,) float64, on all coefficients but the intercepts, which have next
        to none
    tol : float, stop when a step promises less than this decrease of the objective
    curvature : Curvature of these columns and members at a point nearby, or None
    """
    ridges = (np.zeros(len(coef)) + ridge)[:, None]
    ridges[0] = INTERCEPT_RIDGE
    if curvature is None:
        classes.refresh(STALE)
        precondition = build_preconditioner(classes, members, ridges)
    else:
        precondition = curvature.factorize(ridges)
    columns = Columns(classes)
    loss = classes.loss()
    for _ in range(MAX_NEWTON):
        share = classes.family.mean(classes.eta)
        gradient = columns.project(classes.gradient()) + ridges * coef
        gradient[~members] = 0.0

        def curve(step: FloatArray, share: FloatArray = share) -> FloatArray:
            product = columns.project(classes.curve(columns.combine(step), share))
            product += ridges * step
            product[~members] = 0.0
            return product

        step = solve_by_conjugate_gradients(curve, -gradient, precondition)
        promise = float(np.sum(gradient * step))
        direction = columns.combine(step)
        objective = loss + 0.5 * float(np.sum(ridges * coef**2))
        for length in (1.0, *HALVINGS):
            new = coef + length * step
            new_loss = classes.loss(length * direction)
            value = new_loss + 0.5 * float(np.sum(ridges * new**2))
            allowed = tol if promise > -tol else ARMIJO * length * promise
            if value <= objective + allowed:
                break
        else:
            break
        coef, loss = new, new_loss
        classes.move(length * direction)
        if promise > -tol:
            break
    return coef


class Columns:
    """The columns of the classes, to multiply with: dense if they are small, else as bits."""

    def __init__(self, classes: ClassEngines) -> None:
        self._engine = engine = classes.engines[0]
        n_columns = 1 + engine.n_linear + len(engine.rules)
        small = n_columns * engine.n_rows <= MAX_DENSE
        self._dense = engine.dense_columns() if small else None

    def combine(self, coef: FloatArray) -> FloatArray:
        """Return the sums of columns times coefficients, shape (n_rows, n_classes)."""
        if self._dense is not None:
            return np.asarray(coef.T @ self._dense).T
        coefs = np.ascontiguousarray(coef.T)
        return np.column_stack([self._engine.combine(one) for one in coefs])

    def project(self, values: FloatArray) -> FloatArray:
        """Return the sums of row values times columns, shape (n_columns, n_classes)."""
        if self._dense is not None:
            return np.asarray(self._dense @ values)
        rows = np.ascontiguousarray(values.T)
        return np.column_stack([self._engine.project(one) for one in rows])


class Curvature:
    """All second derivatives of the mean loss where the classes stand, and the loss there."""

    def __init__(self, classes: ClassEngines, members: BoolArray) -> None:
        self.loss = classes.loss()
        self._used = np.flatnonzero(members.any(axis=1))
        self._inside = members[self._used].T
        columns = classes.engines[0].dense_columns()[self._used]
        share = classes.family.mean(classes.eta)
        n_classes, n_columns = self._inside.shape
        matrix = np.empty((n_classes, n_columns, n_classes, n_columns))
        for k in range(n_classes):
            weights = classes.curve(np.eye(n_classes)[[k]], share)
            for j in range(k + 1):
                matrix[k, :, j] = matrix[j, :, k] = (columns * weights[:, j]) @ columns.T
        places = np.flatnonzero(self._inside)
        self._matrix = matrix.reshape(2 * (self._inside.size,))[np.ix_(places, places)]

    @staticmethod
    def pays(classes: ClassEngines, members: BoolArray) -> bool:
        """Tell whether a model is small enough."""
        n_columns, n_classes = int(members.any(axis=1).sum()), members.shape[1]
        n_rows, n_unknown = len(classes.eta), n_columns * n_classes
        small = len(members) * n_rows <= MAX_DENSE and n_unknown <= MAX_UNKNOWN
        return small and n_rows * n_unknown**2 <= MOST_PRODUCTS

    def factorize(self, ridges: FloatArray) -> Linear:
        """Return what solves with these derivatives and ridges on the columns."""
        matrix = self._matrix.copy()
        diagonal = np.broadcast_to(ridges[self._used, 0], self._inside.shape)[self._inside]
        matrix[np.diag_indices(len(matrix))] += diagonal + 1e-12 * max(np.trace(matrix), 1e-300)
        factor = factor_positive(matrix)

        def solve(values: FloatArray) -> FloatArray:
            step = np.zeros(self._inside.shape)
            step[self._inside] = solve_factored(factor, values[self._used].T[self._inside])
            out = np.zeros_like(values)
            out[self._used] = step.T
            return center_intercepts(out)

        return solve


def build_preconditioner(classes: ClassEngines, members: BoolArray, ridges: FloatArray) -> Linear:
    """Return what solves with the second derivatives of each class by itself."""
    inverses = np.zeros((len(classes), len(members), len(members)))
    for k, engine in enumerate(classes.engines):
        mine = np.flatnonzero(members[:, k])
        matrix = engine.gram()[np.ix_(mine, mine)]
        matrix[np.diag_indices(len(mine))] *= 1.0 + COLLINEAR
        least = 1e-12 * max(np.trace(matrix), 1e-300)
        matrix[np.diag_indices(len(mine))] += ridges[mine, 0] + least
        factor = factor_positive(matrix)
        inverses[k][np.ix_(mine, mine)] = solve_factored(factor, np.eye(len(mine)))

    def solve(values: FloatArray) -> FloatArray:
        return center_intercepts(np.asarray((inverses @ values.T[:, :, None])[:, :, 0].T))

    return solve


def center_intercepts(step: FloatArray) -> FloatArray:
    """Take out of a step, in place, what is the same for all intercepts and changes nothing."""
    step[0] -= step[0].mean()
    return step


def solve_by_conjugate_gradients(
    product: Linear,
    right: FloatArray,
    precondition: Linear,
) -> FloatArray:
    """Solve until the residual, in the norm of the preconditioner, is a share of the first."""
    solution = np.zeros_like(right)
    residual = right.copy()
    ready = precondition(residual)
    direction = ready.copy()
    size = first = float(np.sum(residual * ready))
    for _ in range(MAX_PRODUCTS):
        if size <= FORCING**2 * first or size <= 0.0:
            break
        curved = product(direction)
        curvature = float(np.sum(direction * curved))
        if curvature <= 0.0:
            break
        length = size / curvature
        solution += length * direction
        residual -= length * curved
        ready = precondition(residual)
        size, before = float(np.sum(residual * ready)), size
        direction = ready + size / before * direction
    return solution
