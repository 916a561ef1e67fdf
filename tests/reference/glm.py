"""The l1-penalised GLM on a dense matrix, solved by general-purpose optimisation.

Minimises ``sum_i s_i loss(y_i, offset_i + intercept + A_i coef) + sum_k penalties_k |coef_k|`` with
weights s normalised to sum 1. The coefficients are split into positive and negative parts, so that
the objective is smooth under bounds: L-BFGS-B first, then projected Newton steps, and at the end a
duality gap that must be closed. Nothing here is shared with the library but the family.
"""

import numpy as np
from scipy.optimize import minimize

TOLERANCE = 1e-9


class SplitProblem:
    """The smooth objective in z = (intercept, positive parts, negative parts)."""

    def __init__(self, A, y, family, penalties, weights=None, offset=None, signs=None):
        A = np.asarray(A, dtype=np.float64)
        n, self.k = A.shape
        self.y = np.asarray(y, dtype=np.float64)
        self.family = family
        self.weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        self.weights = self.weights / self.weights.sum()
        self.offset = np.zeros(n) if offset is None else np.asarray(offset, dtype=np.float64)
        signs = np.zeros(self.k) if signs is None else signs
        self.design = np.hstack([np.ones((n, 1)), A * (signs >= 0), -A * (signs <= 0)])
        self.penalties = np.broadcast_to(np.asarray(penalties, dtype=np.float64), (self.k,))
        self.costs = np.concatenate([[0.0], self.penalties, self.penalties])

    def eta(self, z):
        return self.offset + self.design @ z

    def value(self, z):
        return self.weights @ self.family.loss(self.y, self.eta(z)) + self.costs @ z

    def gradient(self, z):
        rows = self.weights * self.family.gradient(self.y, self.eta(z))
        return self.design.T @ rows + self.costs

    def violation(self, z):
        """Largest gradient along a direction that is open (0 exactly at the optimum)."""
        gradient = self.gradient(z)
        inward = np.minimum(gradient[1:], 0.0)
        return max(
            abs(gradient[0]), np.abs(np.where(z[1:] > 0.0, gradient[1:], inward)).max(initial=0.0)
        )

    def hessian(self, z, free):
        columns = self.design[:, free]
        rows = self.weights * self.family.hessian(self.y, self.eta(z))
        return columns.T @ (rows[:, None] * columns)

    def start(self):
        z = np.zeros(2 * self.k + 1)
        z[0] = self.family.null_eta(self.y, self.weights, self.offset)
        return z

    def split(self, z):
        return float(z[0]), z[1 : self.k + 1] - z[self.k + 1 :]

    def join(self, intercept, coef):
        return np.concatenate([[intercept], np.maximum(coef, 0.0), np.maximum(-coef, 0.0)])


def solve_l1_glm(A, y, family, penalties, weights=None, offset=None, signs=None):
    """Return (objective, intercept, coef) at the minimum, the objective to about 1e-9.

    A coefficient has the sign given for it, or any if that is 0: the part of the other sign belongs
    to a column of zeros. Raises AssertionError if the duality gap stays open (it is not checked
    where a penalty is zero).
    """
    problem = SplitProblem(A, y, family, penalties, weights, offset, signs)
    with np.errstate(all="ignore"):
        z = problem.start()
        for _ in range(5):
            z = polish(problem, descend(problem, z))
            gap = duality_gap(problem, z)
            if not gap > 0.1 * TOLERANCE * max(1.0, problem.value(z)):
                break
    assert not gap > TOLERANCE * max(1.0, problem.value(z)), f"duality gap {gap}"
    return float(problem.value(z)), *problem.split(z)


def descend(problem, z):
    """L-BFGS-B from z, cleaned of positive and negative parts that cancel."""
    bounds = [(None, None)] + [(0.0, None)] * (2 * problem.k)
    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 0.0, "gtol": 1e-12, "maxcor": 30}
    found = minimize(
        problem.value, z, jac=problem.gradient, method="L-BFGS-B", bounds=bounds, options=options
    ).x
    clean = problem.join(*problem.split(found))
    return clean if problem.value(clean) <= problem.value(z) else z


def polish(problem, z, max_steps=60):
    """Projected Newton: full steps on the coordinates that are free to move, backtracking."""
    for _ in range(max_steps):
        gradient = problem.gradient(z)
        at_bound = (z <= 1e-9) & (gradient > 0.0)
        at_bound[0] = False
        z, free = np.where(at_bound, 0.0, z), ~at_bound & ((z != 0.0) | (gradient < 0.0))
        free[0] = True
        hessian = problem.hessian(z, free)
        ridge = 1e-13 * np.trace(hessian) * np.eye(len(hessian))
        direction = np.zeros_like(z)
        direction[free] = -np.linalg.lstsq(hessian + ridge, problem.gradient(z)[free])[0]
        moved = backtrack(problem, z, direction)
        if moved is None:
            break
        z = problem.join(*problem.split(moved))
    return z


def backtrack(problem, z, direction):
    """Return the first projected step that gets nearer to the optimum, or None.

    Nearer means a lower objective or, once that is lost in rounding, a smaller violation.
    """
    value, violation = problem.value(z), problem.violation(z)
    rounding = 1e-15 * max(1.0, value)
    for step in 0.5 ** np.arange(40):
        trial = z + step * direction
        trial[1:] = np.maximum(trial[1:], 0.0)
        change = problem.value(trial) - value
        if change < -rounding or (
            change <= rounding and problem.violation(trial) < 0.9 * violation
        ):
            return trial
    return None


def duality_gap(problem, z):
    """Objective minus the dual bound of the pulled-back gradient; nan with a zero penalty.

    The dual point must have ``sum s v = 0``: the heavier of its two signs is scaled down.
    """
    if problem.k and problem.penalties.min() <= 0.0:
        return np.nan
    v = problem.family.gradient(problem.y, problem.eta(z))
    up = problem.weights @ np.maximum(v, 0.0)
    down = problem.weights @ np.maximum(-v, 0.0)
    v = np.where(v > 0.0, v * min(1.0, down / up), v) if up > 0.0 else 0.0 * v
    v = np.where(v < 0.0, v * min(1.0, up / down), v) if down > 0.0 else 0.0 * v
    scores = -(problem.design[:, 1:].T @ (problem.weights * v)) / problem.costs[1:]
    v = v / max(1.0, scores.max(initial=0.0))
    bound = problem.weights @ (v * problem.offset - problem.family.conjugate(problem.y, v))
    return problem.value(z) - bound
