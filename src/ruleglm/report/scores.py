"""What rows held out say of a model: scores, and whether its means are to be believed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from ruleglm.dtypes import FloatArray, IntArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.families import Family
from ruleglm.refitting import Rows

GROUPS = 10
"""Groups of rows of about equal size, by their predicted mean, whose observed mean is shown."""


@dataclass(frozen=True)
class Metric:
    """A score that a page can show: its key, what it is called, and which way is better."""

    key: str
    label: str
    greater_is_better: bool


LOSS = Metric("test_loss", "log loss", False)
BRIER = Metric("test_brier", "Brier score", False)
AUC = Metric("test_auc", "AUC", True)
ACCURACY = Metric("test_accuracy", "accuracy", True)
R2 = Metric("test_r2", "R²", True)
RMSE = Metric("test_rmse", "RMSE", False)
MAE = Metric("test_mae", "mean absolute error", False)
D2 = Metric("test_d2", "share of deviance explained", True)
DEVIANCE = Metric("test_deviance", "mean deviance", False)


def choose_metrics(ensemble: RuleEnsemble) -> tuple[Metric, ...]:
    """Return the scores that suit a model, the most telling first."""
    if ensemble.family.output_shape:
        return LOSS, BRIER, ACCURACY
    if ensemble.classes:
        return LOSS, AUC, BRIER, ACCURACY
    if ensemble.family.constant_hessian:
        return R2, RMSE, MAE
    return D2, DEVIANCE, RMSE, MAE


def score_model(ensemble: RuleEnsemble, rows: Rows) -> tuple[dict[str, float], list[Any]]:
    """Return the scores of a model by key, and its calibration: groups for each mean it gives."""
    eta = ensemble.decision_function(rows.table, rows.offset)
    mean = ensemble.family.mean(eta)
    scores = {
        metric.key: _score(metric, ensemble, rows, eta, mean) for metric in choose_metrics(ensemble)
    }
    means, targets = mean.reshape(len(mean), -1), rows.y.reshape(len(mean), -1)
    groups = [calibrate(means[:, k], targets[:, k], rows.weights) for k in range(means.shape[1])]
    return scores, groups


def _score(
    metric: Metric,
    ensemble: RuleEnsemble,
    rows: Rows,
    eta: FloatArray,
    mean: FloatArray,
) -> float:
    y, weights, family = rows.y, rows.weights, ensemble.family
    with np.errstate(over="ignore"):
        match metric.key:
            case LOSS.key:
                return _average(family.loss(y, eta), weights)
            case DEVIANCE.key:
                return _average(2.0 * family.loss(y, eta), weights)
            case D2.key | R2.key:
                return _explained(family, rows, eta)
            case BRIER.key:
                return _average(((mean - y) ** 2).reshape(len(y), -1).sum(axis=1), weights)
            case RMSE.key:
                return float(np.sqrt(_average((mean - y) ** 2, weights)))
            case MAE.key:
                return _average(np.abs(mean - y), weights)
            case ACCURACY.key:
                right = y.argmax(axis=1) == eta.argmax(axis=1) if y.ndim > 1 else (eta > 0) == y
                return _average(right.astype(np.float64), weights)
            case _:
                known = 0.0 < _average(y, weights) < 1.0
                return float(roc_auc_score(y, eta, sample_weight=weights)) if known else np.nan


def _average(values: FloatArray, weights: FloatArray | None) -> float:
    return float(np.average(values, weights=weights))


def _explained(family: Family, rows: Rows, eta: FloatArray) -> float:
    """Return the share of the deviance of the test rows' own mean that a model explains."""
    offset = 0.0 if rows.offset is None else rows.offset
    weights = 1.0 if rows.weights is None else rows.weights
    null = np.broadcast_to(family.null_eta(rows.y, weights, offset) + offset, eta.shape)
    total = _average(family.loss(rows.y, null), rows.weights)
    return 1.0 - _average(family.loss(rows.y, eta), rows.weights) / total if total > 0 else np.nan


def calibrate(
    mean: FloatArray, y: FloatArray, weights: FloatArray | None, groups: int = GROUPS
) -> list[tuple[float, float, float, float]]:
    """Compare predicted and observed means of rows with similar predictions.

    Returns
    -------
    list of (predicted mean, observed mean, its standard error, weight)
        Rows of equal predictions are never in two groups.
    """
    shares = np.ones(len(mean)) if weights is None else weights
    return [
        _compare(mean[rows], y[rows], shares[rows])
        for rows in _group_rows(mean, shares, groups)
        if shares[rows].sum() > 0
    ]


def _group_rows(mean: FloatArray, shares: FloatArray, groups: int) -> Sequence[IntArray]:
    values, place = np.unique(mean, return_inverse=True)
    per_value = np.bincount(place, weights=shares, minlength=len(values))
    middle = np.cumsum(per_value) - 0.5 * per_value
    group = np.minimum((groups * middle / max(shares.sum(), 1e-300)).astype(np.int64), groups - 1)
    of_row = group[place]
    return [np.flatnonzero(of_row == number) for number in np.unique(of_row)]


def _compare(
    mean: FloatArray, y: FloatArray, shares: FloatArray
) -> tuple[float, float, float, float]:
    observed = float(np.average(y, weights=shares))
    variance = float(np.average((y - observed) ** 2, weights=shares))
    effective = float(shares.sum() ** 2 / (shares**2).sum())
    error = float(np.sqrt(variance / max(effective - 1.0, 1.0)))
    return float(np.average(mean, weights=shares)), observed, error, float(shares.sum())
