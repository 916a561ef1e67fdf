"""What rows held out say of a model: scores, and whether its means are to be believed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from ruleglm.assess.calibration import tabulate
from ruleglm.assess.deviance import explained_deviance, mean_deviance
from ruleglm.assess.rows import PredictedRows
from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.refitting import Rows

GROUPS = 10
"""Groups of rows of about equal size, by their predicted mean, whose observed mean is shown."""


SHOWN = ["predicted", "observed", "standard_error", "weight"]


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


def predict_rows(ensemble: RuleEnsemble, rows: Rows) -> PredictedRows:
    """Return what a model says of rows."""
    eta = ensemble.decision_function(rows.table, rows.offset)
    ones = np.ones(len(eta))
    return PredictedRows(
        ensemble.family,
        rows.y,
        eta,
        ones if rows.weights is None else rows.weights,
        np.zeros_like(eta) if rows.offset is None else rows.offset,
        ones,
    )


def score_model(
    ensemble: RuleEnsemble, rows: PredictedRows
) -> tuple[dict[str, float], list[list[Any]]]:
    """Return the scores of a model by key, and its calibration.

    Returns
    -------
    scores : dict of str to float
    groups : list of lists of (predicted mean, observed mean, standard error, weight)
        One list, or one for each class.
    """
    mean = ensemble.family.mean(rows.eta)
    scores = {each.key: _score(each, rows, mean) for each in choose_metrics(ensemble)}
    groups = []
    for predicted, observed in zip(_columns(mean), _columns(rows.y), strict=True):
        table, _ = tabulate(predicted, observed, rows.weights, rows.exposure, GROUPS)
        groups.append(table[SHOWN].to_numpy().tolist())
    return scores, groups


def _columns(values: FloatArray) -> FloatArray:
    return values.reshape(len(values), -1).T


def _score(metric: Metric, rows: PredictedRows, mean: FloatArray) -> float:
    y, eta, weights = rows.y, rows.eta, rows.weights
    match metric.key:
        case LOSS.key:
            return 0.5 * mean_deviance(rows)
        case DEVIANCE.key:
            return mean_deviance(rows)
        case D2.key | R2.key:
            return explained_deviance(rows)
        case BRIER.key:
            return _average((_columns(mean - y) ** 2).sum(axis=0), weights)
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


def _average(values: FloatArray, weights: FloatArray) -> float:
    return float(np.average(values, weights=weights))
