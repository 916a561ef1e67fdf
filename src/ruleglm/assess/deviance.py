"""How far predictions are from the target, on the scale that fits minimise."""

import numpy as np

from ruleglm.assess.rows import PredictedRows


def mean_deviance(rows: PredictedRows) -> float:
    """Return the weighted mean of the unit deviance."""
    with np.errstate(over="ignore"):
        return 2.0 * float(np.average(rows.family.loss(rows.y, rows.eta), weights=rows.weights))


def explained_deviance(rows: PredictedRows) -> float:
    """Return the share of the deviance of the best constant that the model takes away.

    As with R2, if there is nothing to explain it is 1 for perfect predictions and 0 for others.
    """
    null = rows.offset + rows.family.null_eta(rows.y, rows.weights, rows.offset)
    left = mean_deviance(rows)
    with np.errstate(over="ignore"):
        losses = rows.family.loss(rows.y, null)
    total = 2.0 * float(np.average(losses, weights=rows.weights))
    rounding = 1e-24 * float(np.mean(rows.y**2)) if rows.family.constant_hessian else 1e-12
    if total <= rounding:
        return 1.0 if left <= rounding else 0.0
    return 1.0 - left / total
