"""Rows with a known target, and what a model says of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ruleglm.checks import check_offset, check_row_vector, check_weights
from ruleglm.dtypes import FloatArray
from ruleglm.family import Family
from ruleglm.refitting import read_target


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """Rows of positive weight.

    Attributes
    ----------
    family : Family
    y : (n_rows,) float64; for more than two classes (n_rows, n_classes), 1 in the column of each
    eta : float64, the linear predictors, of the shape of ``y``
    weights : (n_rows,) float64
    offset : float64, of the shape of ``y``, the logarithm of the exposure included
    exposure : (n_rows,) float64, 1 where none is given
    """

    family: Family
    y: FloatArray
    eta: FloatArray
    weights: FloatArray
    offset: FloatArray
    exposure: FloatArray


def read_rows(
    model: Any, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any
) -> PredictedRows:
    """Check rows as `fit` does, and predict them.

    Parameters
    ----------
    model : fitted estimator
    X, y, sample_weight, offset, exposure
        As for its ``fit``.
    """
    eta = model._linear_predictor(X, offset, exposure)
    ensemble, n_rows = model.ensemble_, len(eta)
    target = read_target(ensemble, y, n_rows)
    weights = check_weights(sample_weight, n_rows)
    shift = check_offset(offset, exposure, ensemble.family, n_rows)
    exposed = 1.0 if exposure is None else exposure
    kept = slice(None) if weights is None else weights > 0
    return PredictedRows(
        ensemble.family,
        target[kept],
        eta[kept],
        np.ones(n_rows) if weights is None else weights[kept],
        (np.zeros(eta.shape) if shift is None else shift)[kept],
        check_row_vector(exposed, "exposure", n_rows)[kept],
    )
