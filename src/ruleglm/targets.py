"""Checks of targets: numbers for a regression, labels for a classifier."""

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ruleglm.columns import is_number
from ruleglm.dtypes import AnyArray, FloatArray


def check_target(y: Any) -> FloatArray:
    """Return a numeric target, or say what is wrong with it."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    values = column_or_1d(y, warn=True)
    if values.dtype.kind in "biuf":
        return np.asarray(values, dtype=np.float64)
    odd = [value for value in values if not (is_number(value) or _is_missing(value))]
    if odd:
        raise ValueError(
            f"y holds values such as {str(odd[0])!r}, but a regression needs numbers; convert "
            "them, or use RuleClassifier for labels"
        )
    return np.array([np.nan if _is_missing(value) else value for value in values], np.float64)


def check_labels(y: Any) -> Any:
    """Return labels without missing ones."""
    import pandas as pd

    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    values = np.ravel(np.asarray(y))
    unknown = ~np.isfinite(values) if values.dtype.kind == "f" else pd.isna(values)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ValueError(f"y is {values[row]} in row {row}; drop the rows whose class is not known")
    return y


def check_length(y: AnyArray, n_rows: int) -> None:
    """Refuse a target that is longer or shorter than the rows."""
    if len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(y)}")


def check_classes(labels: AnyArray, classes: AnyArray, weights: FloatArray | None) -> None:
    """Refuse targets of one class, rows of weight 0 left out."""
    present = classes if weights is None else np.unique(labels[weights > 0])
    if len(present) < 2:
        where = "" if weights is None else " in the rows of positive weight"
        raise ValueError(
            f"y holds only one class{where}, {present.tolist()[0]!r}; "
            "a classifier needs rows of two classes"
        )


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NA or NaT."""
    import pandas as pd

    return pd.isna(value) is True
