"""How good predictions are on rows whose target is known."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ruleglm.cli.errors import UserError, shown
from ruleglm.cli.roles import Rows
from ruleglm.dtypes import IntArray

if TYPE_CHECKING:
    import pandas as pd

    from ruleglm.assess.rows import PredictedRows
    from ruleglm.ensemble import RuleEnsemble

CALIBRATION_BINS = 10

LABELS = {
    "log_loss": "log-loss",
    "brier": "Brier score",
    "auc": "AUC",
    "accuracy": "accuracy",
    "calibration_error": "calibration error",
    "r2": "R2",
    "rmse": "RMSE",
    "mae": "mean absolute error",
    "deviance": "mean deviance",
    "deviance_explained": "deviance explained",
}


def score_rows(ensemble: "RuleEnsemble", rows: Rows) -> dict[str, float]:
    """Score a model on rows.

    Parameters
    ----------
    ensemble : "RuleEnsemble"
    rows : Rows
        With a target; weights, exposure and offset count if they are there.

    Returns
    -------
    dict of str to float
        For classes: log-loss, Brier score, AUC, accuracy and calibration error (mean distance of
        predicted and observed share over ten groups of rows). For numbers: R2, RMSE, mean absolute
        error, mean deviance and the share of the deviance explained. nan where undefined.
    """
    predicted = predict_known(ensemble, rows)
    if ensemble.classes:
        return _score_classes(predicted, ensemble.classes)
    return _score_numbers(predicted)


def predict_known(ensemble: "RuleEnsemble", rows: Rows) -> "PredictedRows":
    """Predict rows whose target is known; rows of weight 0 are left out."""
    from ruleglm.assess.rows import PredictedRows
    from ruleglm.checks import check_offset

    n_rows, family = len(rows), ensemble.family
    offset = check_offset(rows.offset, rows.exposure, family, n_rows)
    eta = ensemble.decision_function(rows.X, offset)
    weights = np.ones(n_rows) if rows.weights is None else rows.weights
    if not weights.any():
        raise UserError("--weights: all weights are 0; at least one row has to count.")
    if ensemble.classes:
        places = find_classes(rows.y, ensemble.classes)
        y = np.eye(len(ensemble.classes))[places] if eta.ndim == 2 else places.astype(np.float64)
    else:
        y = np.asarray(number_target(rows.y), dtype=np.float64)
        family.check_target(y)
    shift = np.zeros(eta.shape) if offset is None else offset
    exposure = np.ones(n_rows) if rows.exposure is None else rows.exposure
    kept = weights > 0
    vectors = (values[kept] for values in (y, eta, weights, shift, exposure))
    return PredictedRows(family, *vectors)


def find_classes(y: "pd.Series[Any]", classes: tuple[Any, ...]) -> IntArray:
    """Return the place of each row's class among the model's, or say which it does not know."""
    places = {label: place for place, label in enumerate(classes)}
    found = np.array([places.get(label, -1) for label in y.tolist()], dtype=np.int64)
    if (found < 0).any():
        row = int(np.flatnonzero(found < 0)[0])
        known = ", ".join(map(repr, classes))
        raise UserError(
            f"target {y.name!r} is {shown(y.iloc[row])} in row {row}; the model knows {known}."
        )
    return found


def number_target(y: "pd.Series[Any]") -> "pd.Series[float]":
    """Return a target of numbers, or say which row holds none."""
    import pandas as pd

    values = pd.to_numeric(y, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        raise UserError(
            f"target {y.name!r} is {shown(y.iloc[row])} in row {row}; the model predicts numbers."
        )
    return pd.Series(values, y.index, name=y.name)


def _score_classes(rows: "PredictedRows", classes: tuple[Any, ...]) -> dict[str, float]:
    from sklearn.metrics import roc_auc_score

    from ruleglm.assess.calibration import calibrate
    from ruleglm.assess.deviance import mean_deviance

    mean, weights = rows.family.mean(rows.eta), rows.weights
    two = mean.ndim == 1
    shares, truth = (np.column_stack([1.0 - one, one]) if two else one for one in (mean, rows.y))
    places = truth.argmax(axis=1)
    squares = ((shares - truth) ** 2).sum(axis=1) / (2.0 if two else 1.0)
    auc = np.nan
    if len(np.unique(places)) == len(classes):
        auc = roc_auc_score(places, mean, sample_weight=weights, multi_class="ovr")
    return {
        "log_loss": 0.5 * mean_deviance(rows),
        "brier": float(np.average(squares, weights=weights)),
        "auc": float(auc),
        "accuracy": float(np.average(shares.argmax(axis=1) == places, weights=weights)),
        "calibration_error": calibrate(rows, classes, CALIBRATION_BINS).error,
    }


def _score_numbers(rows: "PredictedRows") -> dict[str, float]:
    from ruleglm.assess.deviance import explained_deviance, mean_deviance

    y, weights = rows.y, rows.weights
    residual = y - rows.family.mean(rows.eta)
    spread = float(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
    squares = float(np.average(residual**2, weights=weights))
    return {
        "r2": 1.0 - squares / spread if spread > 0 else np.nan,
        "rmse": float(np.sqrt(squares)),
        "mae": float(np.average(np.abs(residual), weights=weights)),
        "deviance": mean_deviance(rows),
        "deviance_explained": explained_deviance(rows),
    }
