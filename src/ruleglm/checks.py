"""Checks of the vectors that come with the rows, each with a message that says what to do."""

import warnings
from numbers import Integral
from typing import Any

import numpy as np

from ruleglm.dtypes import FloatArray, IntArray
from ruleglm.family import Family

LIGHT = 0.1
"""Mean weight below which weights hardly count rows."""

LARGEST_OFFSET = 1e50

LEAST_TOTAL = 1e-200
"""Of all weights; below it, and above its inverse, products of weights would leave the doubles."""


def check_row_vector(values: Any, name: str, n_rows: int) -> FloatArray:
    """Return one finite number a row, or say which row has none."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` has to hold numbers, one a row ({n_rows},): {error}") from error
    if array.ndim == 0:
        array = np.full(n_rows, float(array))
    if array.shape != (n_rows,):
        raise ValueError(f"`{name}` has shape {array.shape}; give one number a row, ({n_rows},)")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"`{name}` is {array[bad[0]]} in row {bad[0]}; it has to be finite")
    return array


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return the weights, or None where all rows count alike."""
    if sample_weight is None:
        return None
    weights = check_row_vector(sample_weight, "sample_weight", n_rows)
    negative = np.flatnonzero(weights < 0)
    if len(negative):
        raise ValueError(
            f"`sample_weight` is {weights[negative[0]]} in row {negative[0]}; "
            "negative weights have no meaning here, leave the row out or give it the weight 0"
        )
    if not weights.any():
        raise ValueError("`sample_weight` is zero in every row; at least one row has to count")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not LEAST_TOTAL < total < 1.0 / LEAST_TOTAL:
        raise ValueError(
            f"`sample_weight` adds up to {total:.3g}; scale the weights to a mean of 1"
        )
    return weights


def warn_of_light_weights(total: float, n_rows: int) -> None:
    """Say so if weights do not count rows, as a fit with a ridge in rows needs.

    Parameters
    ----------
    total : float, sum of the weights
    n_rows : int, rows of positive weight
    """
    if total < LIGHT * n_rows:
        warnings.warn(
            f"`sample_weight` adds up to {total:.3g} over {n_rows} rows; with "
            "penalty='l0' a weight of 2 is a row twice, so that these look like few rows and give "
            "a small model: scale the weights to a mean of 1",
            UserWarning,
            stacklevel=5,
        )


def check_groups(groups: Any, n_rows: int) -> IntArray:
    """Return the number of each row's group."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"`groups` has shape {labels.shape}; give one label a row, ({n_rows},)")
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def check_count(value: Any, name: str) -> int:
    """Return a whole number that is at least 1."""
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"`{name}` is {value!r}; give a whole number, at least 1")
    return int(value)


def check_offset(offset: Any, exposure: Any, family: Family, n_rows: int) -> FloatArray | None:
    """Return the offset of the linear predictor, the logarithm of the exposure included."""
    if offset is not None and family.output_shape:
        raise ValueError("`offset` is for two classes; with more there is no single log-odds")
    total = None if offset is None else check_row_vector(offset, "offset", n_rows)
    if total is not None and np.abs(total).max() > LARGEST_OFFSET:
        raise ValueError(f"`offset` goes beyond {LARGEST_OFFSET:g}; check its unit")
    if exposure is None:
        return total
    if family.link != "log":
        raise ValueError(
            f"`exposure` multiplies the mean and needs a log link, but the {family.name} family "
            f"has the {family.link} link; use family='poisson', or give an `offset`"
        )
    amounts = check_row_vector(exposure, "exposure", n_rows)
    bad = np.flatnonzero(amounts <= 0)
    if len(bad):
        raise ValueError(
            f"`exposure` is {amounts[bad[0]]} in row {bad[0]}; it has to be positive, "
            "leave out rows that were not exposed"
        )
    return np.log(amounts) if total is None else total + np.log(amounts)
