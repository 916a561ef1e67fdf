"""Lower bounds on the optimum over a whole class of rules (design, section 5).

The dual of the problem maximises ``sum_i s_i (theta_i offset_i - conjugate(y_i, theta_i))`` over
``theta`` with ``sum_i s_i theta_i = 0`` (the intercept) and ``|sum_i s_i theta_i a_ik| <=
lambda_k`` for every column; where a coefficient has a sign, the sum is limited on one side only,
``-sum_i s_i theta_i a_ik <= lambda_k`` for a positive one. The loss gradient of any point, balanced
and then shrunk until no column violates its limit, is feasible, and its value is a lower bound.
Columns without a penalty are balanced as the intercept is, but for those with a sign whose sum is
on the side without a limit.
"""

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from ruleglm.dtypes import FloatArray, IntArray
from ruleglm.engines.base import Engine
from ruleglm.pricing.problem import Penalty

EXACT = 1e-12
"""Share of the gradient's mass that counts as nothing."""


CLEAR = 1e-6
"""Share of the gradient's mass above which the side of a sum is not in doubt."""

ROUNDING = 1e-6
"""How far below zero a factor may be that is zero but for rounding."""


def column_ratio(score: FloatArray, penalties: FloatArray, signs: IntArray) -> float:
    """Return the largest ``|score| / penalty`` over the columns that have a penalty.

    A score that calls for a coefficient of the wrong sign counts as 0.
    """
    priced = penalties > 0.0
    sizes = np.where(signs * score > 0.0, 0.0, np.abs(score))[1:]
    return float((sizes[priced] / penalties[priced]).max(initial=0.0))


def lower_bound(engine: Engine, ratio: float, penalty: Penalty, free: Sequence[int] = ()) -> float:
    """Return a lower bound on the optimum, given the largest dual violation of any column.

    Parameters
    ----------
    engine : Engine, standing at a point whose intercept is about optimal
    ratio : float, no column has ``|sum_i s_i theta_i a_ik| / lambda_k`` above it
    penalty : Penalty
    free : positions of the coefficients without a penalty, the intercept's not among them
    """
    positive, negative = engine.gradient_masses()
    room = CLEAR * (positive + negative)
    pulls = engine.column_signs() * engine.score() if len(free) else np.zeros(0)
    bound = [k for k in free if pulls[k] <= room]
    most = room / max(1.0, engine.linear_bound()) if len(bound) < len(free) else np.inf
    if bound:
        return tilted_bound(engine, ratio, penalty, bound, most)
    balanced = min(positive, negative)
    removed = max(positive, negative) - balanced
    if not np.isfinite(ratio) or balanced == 0.0 or removed > most:
        return 0.0
    shrink = 1.0 / max(1.0, ratio + removed * reach(engine, penalty))
    value = engine.dual_value(shrink * balanced / positive, shrink * balanced / negative)
    return max(0.0, value)


def reach(engine: Engine, penalty: Penalty) -> float:
    """Return how much the ratio of a column can change by a unit of the gradient's mass."""
    rules = 1.0 / max(penalty.of(1), 1e-300)
    if penalty.lambda_0 == 0.0:  # then lines have no penalty
        return rules
    return max(rules, engine.linear_bound() / penalty.lambda_0)


def tilted_bound(
    engine: Engine, ratio: float, penalty: Penalty, free: Sequence[int], most: float
) -> float:
    """Return a lower bound where several columns have no penalty.

    Their products with the gradient have to be zero. Multiplied by ``1 - v`` where it is positive
    and by ``1 + v`` where it is negative, ``v`` a combination of these columns, the gradient has
    products that a linear system makes zero; near the optimum ``v`` is tiny. It may move no more
    than ``most`` of the gradient's mass.
    """
    columns = [0, *free]
    residual = engine.score()[columns]
    matrix = engine.mass_gram(columns)
    unit = max(float(np.abs(matrix).max()), np.finfo(np.float64).tiny)
    weights = linalg.pinvh(matrix / unit) @ (residual / unit)
    tilt = np.zeros(1 + engine.n_linear + len(engine.rules))
    tilt[columns] = weights
    least, largest, moved = engine.tilt_range(tilt)
    left = float(np.abs(residual - matrix @ weights).max())
    exact = left <= EXACT * sum(engine.gradient_masses())
    if not (np.isfinite(ratio) and exact and least >= -ROUNDING and moved <= most):
        return 0.0
    shrink = 1.0 / max(1.0, ratio + moved * reach(engine, penalty)) / max(1.0, largest)
    return max(0.0, engine.dual_value(shrink, shrink, tilt))


def relative_gap(objective: float, bound: float) -> float:
    """Return ``(objective - bound) / objective``, 0 when both are nothing but rounding."""
    difference = objective - bound
    return 0.0 if difference <= 1e-14 else difference / objective
