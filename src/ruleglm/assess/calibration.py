"""Whether predictions mean what they say: bins of equal weight, predicted beside observed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruleglm.assess.rows import PredictedRows
from ruleglm.dtypes import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 12
"""Decimals of a prediction, as a share of the largest, that count; the rest is rounding."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Predictions beside what happened.

    Attributes
    ----------
    bins : DataFrame
        One line a bin of rows with similar predictions, all of about the same weight:
        ``predicted`` and ``observed`` means, the ``standard_error`` of the latter, the ``weight``
        of the rows (their number, without weights) and, if it was given, their ``exposure``, over
        which the means are then rates. With more than two classes, the bins of each ``class``.
    error : float
        Expected calibration error: the mean over bins of ``|observed - predicted|``, by weight (by
        exposure, where given); with more than two classes its mean over them.
    top_label_error : float
        The same for the probability of the class that is predicted; nan for numbers.
    """

    bins: "pd.DataFrame"
    error: float
    top_label_error: float


def calibrate(rows: PredictedRows, classes: tuple[Any, ...], n_bins: int) -> Calibration:
    """Compare predictions with what happened.

    Parameters
    ----------
    rows : PredictedRows
    classes : tuple of labels, empty for numbers
    n_bins : int
        The most bins; equal predictions are never separated.
    """
    mean = rows.family.mean(rows.eta)
    if rows.y.ndim == 2:
        return _calibrate_classes(rows, mean, classes, n_bins)
    bins, error = tabulate(mean, rows.y, rows.weights, rows.exposure, n_bins)
    if (rows.exposure == 1.0).all():
        bins = bins.drop(columns="exposure")
    if not classes:
        return Calibration(bins, error, np.nan)
    shares, truth = (np.column_stack([1.0 - values, values]) for values in (mean, rows.y))
    return Calibration(bins, error, _top_label_error(shares, truth, rows.weights, n_bins))


def _calibrate_classes(
    rows: PredictedRows, shares: FloatArray, classes: tuple[Any, ...], n_bins: int
) -> Calibration:
    """Compare the probability of each class with its share, one against the rest."""
    import pandas as pd

    tables, errors = [], []
    for k, label in enumerate(classes):
        table, error = tabulate(shares[:, k], rows.y[:, k], rows.weights, rows.exposure, n_bins)
        table.insert(0, "class", label)
        tables.append(table.drop(columns="exposure"))
        errors.append(error)
    top = _top_label_error(shares, rows.y, rows.weights, n_bins)
    return Calibration(pd.concat(tables, ignore_index=True), float(np.mean(errors)), top)


def _top_label_error(
    shares: FloatArray, truth: FloatArray, weights: FloatArray, n_bins: int
) -> float:
    """Return the calibration error of the largest probability of each row."""
    top = np.argmax(shares, axis=1)[:, None]
    predicted, hit = (np.take_along_axis(values, top, axis=1)[:, 0] for values in (shares, truth))
    return tabulate(predicted, hit, weights, np.ones(len(top)), n_bins)[1]


def tabulate(
    predicted: FloatArray,
    observed: FloatArray,
    weights: FloatArray,
    exposure: FloatArray,
    n_bins: int,
) -> tuple["pd.DataFrame", float]:
    """Return the table of bins, and the expected calibration error.

    Parameters
    ----------
    predicted, observed : (n_rows,) float64, totals over the exposure of a row
    weights, exposure : (n_rows,) float64
    n_bins : int
    """
    import pandas as pd

    mass = weights * exposure
    place = cut_equally(predicted / exposure, mass, n_bins)
    masses = np.bincount(place, mass)
    rates = [np.bincount(place, weights * total) / masses for total in (predicted, observed)]
    spread = np.bincount(place, weights * (observed - rates[1][place] * exposure) ** 2)
    table = pd.DataFrame(
        {
            "predicted": rates[0],
            "observed": rates[1],
            "standard_error": np.sqrt(spread) / masses,
            "weight": np.bincount(place, weights),
            "exposure": masses,
        }
    )
    return table, float(np.average(np.abs(rates[1] - rates[0]), weights=masses))


def cut_equally(values: FloatArray, masses: FloatArray, n_bins: int) -> IntArray:
    """Return the bin of each row, numbered by value from 0 without a gap.

    Every bin has about the same mass. Equal values share a bin, so that a row twice and a row of
    twice the mass are the same; values that differ by rounding only are equal.
    """
    scale = np.abs(values).max(initial=0.0) or 1.0
    _, inverse = np.unique(np.round(values / scale, DIGITS), return_inverse=True)
    by_value = np.bincount(inverse, masses)
    middles = (np.cumsum(by_value) - 0.5 * by_value) / by_value.sum()
    bins = np.minimum((n_bins * middles).astype(np.int64), n_bins - 1)
    return np.asarray(np.unique(bins, return_inverse=True)[1][inverse])
