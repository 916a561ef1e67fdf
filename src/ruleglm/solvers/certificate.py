"""Lower bounds on the optimum over a whole class of rules (design, section 5).

The dual of the problem maximises ``sum_i s_i (theta_i offset_i - conjugate(y_i, theta_i))`` over
``theta`` with ``sum_i s_i theta_i = 0`` (the intercept) and ``|sum_i s_i theta_i a_ik| <=
lambda_k`` for every column. The loss gradient of any point, balanced and then shrunk until no
column violates its limit, is feasible, and its value is a lower bound.
"""

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.engines.base import Engine
from ruleglm.pricing.problem import Penalty


def column_ratio(score: FloatArray, penalties: FloatArray) -> float:
    """Return the largest ``|score| / penalty`` over columns, without the intercept."""
    if len(penalties) == 0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.abs(score[1:]) / penalties
    return float(np.nan_to_num(ratios, nan=0.0, posinf=np.inf).max())


def lower_bound(engine: Engine, ratio: float, penalty: Penalty) -> float:
    """Return a lower bound on the optimum, given the largest dual violation of any column.

    Parameters
    ----------
    engine : Engine, standing at a point whose intercept is about optimal
    ratio : float, no column has ``|sum_i s_i theta_i a_ik| / lambda_k`` above it
    penalty : Penalty
    """
    positive, negative = engine.gradient_masses()
    balanced = min(positive, negative)
    if not np.isfinite(ratio) or balanced == 0.0:
        return 0.0
    removed = max(positive, negative) - balanced
    reach = max(
        1.0 / max(penalty.of(1), 1e-300), engine.linear_bound() / max(penalty.lambda_0, 1e-300)
    )
    shrink = 1.0 / max(1.0, ratio + removed * reach)
    value = engine.dual_value(shrink * balanced / positive, shrink * balanced / negative)
    return max(0.0, value)


def relative_gap(objective: float, bound: float) -> float:
    """Return ``(objective - bound) / objective``, 0 when both are nothing but rounding."""
    difference = objective - bound
    return 0.0 if difference <= 1e-14 else difference / objective
