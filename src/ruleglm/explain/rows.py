"""What the explanations need of data: one row of any kind, a class, the spread of the terms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.frames import Level, Table


def read_row(ensemble: RuleEnsemble, row: Any) -> Table:
    """Read one row.

    Parameters
    ----------
    ensemble : RuleEnsemble
    row : mapping, pandas.Series, list, one-dimensional array, or data of one row
        Values by column name, or in the order of the training columns.

    Returns
    -------
    Table of one row
    """
    import pandas as pd

    if isinstance(row, pd.Series):
        row = row.to_dict() if isinstance(row.index[0], str) else row.tolist()
    if isinstance(row, Mapping):
        row = pd.DataFrame({str(name): [value] for name, value in row.items()})
    elif isinstance(row, (list, tuple, np.ndarray)) and np.ndim(row) == 1:
        row = [list(row)]
    table = ensemble.read(row)
    if table.n_rows != 1:
        raise ValueError(f"An explanation is of one row, got {table.n_rows}; give X.iloc[[i]].")
    return table


def find_class(ensemble: RuleEnsemble, class_: Level) -> int:
    """Return the place of a class on the last axis of a model's arrays, or say what it has."""
    if not ensemble.family.output_shape:
        raise ValueError(
            f"class_={class_!r} is for models of three classes and more; this one has one linear "
            f"predictor, of the {ensemble.family.name} family."
        )
    if class_ not in ensemble.classes:
        known = ", ".join(map(repr, ensemble.classes))
        raise ValueError(f"There is no class {class_!r}; the classes are {known}.")
    return ensemble.classes.index(class_)


@dataclass(frozen=True, eq=False)
class TermSpread:
    """How the terms vary over rows: the linear terms, then the rules, as in `contributions`.

    Attributes
    ----------
    means : (n_linear_terms + n_rules,) float64
        Of a rule the share of the rows on which it holds, of a line its mean value.
    sds : (n_linear_terms + n_rules,) float64
        Standard deviations.
    """

    means: FloatArray
    sds: FloatArray

    @property
    def n_terms(self) -> int:
        """Number of linear terms and rules."""
        return len(self.means)


def measure_terms(
    ensemble: RuleEnsemble, X: Any, sample_weight: ArrayLike | None = None
) -> TermSpread:
    """Return mean and standard deviation of each term over rows.

    Parameters
    ----------
    ensemble : RuleEnsemble
    X : data frame, array or Table with n_rows rows
    sample_weight : array-like of shape (n_rows,), optional
    """
    table = ensemble.read(X)
    weights = row_shares(sample_weight, table.n_rows)
    moments = []
    for term in ensemble.linear_terms:
        values = term.values(table)
        mean = float(weights @ values)
        moments.append((mean, float(np.sqrt(weights @ (values - mean) ** 2))))
    for rule in ensemble.rules:
        support = float(weights @ rule.holds(table))
        moments.append((support, rule_sd(support)))
    means, sds = np.array(moments, dtype=np.float64).reshape(-1, 2).T
    return TermSpread(means, sds)


def recall_terms(
    ensemble: RuleEnsemble, supports: FloatArray, importances: FloatArray
) -> TermSpread:
    """Return mean and standard deviation of each term over the training rows.

    Parameters
    ----------
    ensemble : RuleEnsemble
    supports, importances : (n_linear_terms + n_rules,) float64
        As the fit left them. A line's mean is its fill, by construction.
    """
    n_lines = len(ensemble.linear_terms)
    slopes = effect_sizes(ensemble.linear_coefficients)
    sds = np.divide(importances[:n_lines], slopes, out=np.zeros(n_lines), where=slopes > 0)
    fills = [term.fill for term in ensemble.linear_terms]
    return TermSpread(
        np.concatenate([fills, supports[n_lines:]]),
        np.concatenate([sds, rule_sd(supports[n_lines:])]),
    )


def rule_sd(support: Any) -> Any:
    """Return the standard deviation of a rule from the share of the rows on which it holds."""
    return np.sqrt(np.maximum(support * (1.0 - support), 0.0))


def effect_sizes(coefficients: FloatArray) -> FloatArray:
    """Return the size of each term's effect: its coefficient's, or that of its classes together.

    The latter is the Euclidean norm of their differences from the mean, because adding a number to
    all classes changes no probability.
    """
    if coefficients.ndim == 1:
        return np.abs(coefficients)
    return np.asarray(np.linalg.norm(less_mean(coefficients), axis=-1))


def less_mean(values: FloatArray) -> FloatArray:
    """Return what classes have beyond their mean; one linear predictor stays as it is."""
    return values if values.ndim == 1 else values - values.mean(axis=-1, keepdims=True)


def row_shares(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return weights that sum to 1."""
    if sample_weight is None:
        return np.full(n_rows, 1.0 / n_rows)
    weights: FloatArray = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not (weights >= 0).all() or not weights.sum() > 0:
        raise ValueError(
            f"`sample_weight` needs {n_rows} numbers, none negative and not all 0; its shape is "
            f"{weights.shape}."
        )
    return np.asarray(weights / weights.sum())
