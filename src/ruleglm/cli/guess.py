"""The family of a target, guessed from its values: always said, never binding."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruleglm.cli.errors import UserError, shown
from ruleglm.dtypes import FloatArray

if TYPE_CHECKING:
    import pandas as pd

CLASSES = ("binomial", "multinomial")

MOST_CLASSES = 50
"""Different texts beyond which a column is hardly a target of classes."""


@dataclass(frozen=True)
class Guess:
    """A family and why.

    Attributes
    ----------
    family : str
    reason : str, what the values are
    other : str, what else they might be; empty if nothing suggests itself
    classifier : bool, whether the target holds classes, not numbers
    """

    family: str
    reason: str
    other: str = ""
    classifier: bool = False

    def line(self, target: str) -> str:
        """Say the guess in one line."""
        return f"target {target!r} has {self.reason}: {self.family}{self.other}"


def guess_family(y: "pd.Series[Any]", exposure: FloatArray | None) -> Guess:
    """Guess the family of a target.

    Parameters
    ----------
    y : Series, nothing missing
    exposure : (n,) float64 or None
        An exposure stands for counts or amounts, whose mean it multiplies.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    n_values = int(y.nunique())
    if n_values < 2:
        raise UserError(f"target {y.name!r} is {shown(y.iloc[0])} in every row; nothing to learn.")
    if is_bool_dtype(y.dtype) or not is_numeric_dtype(y.dtype):
        return _guess_classes(y, n_values)
    values = y.to_numpy(np.float64)
    if exposure is not None:
        return _guess_amounts(values)
    if n_values == 2:
        return Guess("binomial", "2 values", classifier=True)
    whole = bool((values == np.round(values)).all())
    if whole and (values.min() == 0 or (values.min() > 0 and n_values <= MOST_CLASSES)):
        other = " (if they count something: --family poisson"
        other += ", if they are classes: --family multinomial)" if n_values <= 10 else ")"
        return Guess("gaussian", f"{n_values} whole numbers", other)
    return Guess("gaussian", f"{n_values} different numbers")


def _guess_classes(y: "pd.Series[Any]", n_values: int) -> Guess:
    if n_values > MOST_CLASSES:
        raise UserError(
            f"target {y.name!r} has {n_values} different texts such as {str(y.iloc[0])!r}; a "
            f"target holds numbers, or at most {MOST_CLASSES} classes."
        )
    family = CLASSES[n_values > 2]
    return Guess(family, f"{n_values} values", classifier=True)


def _guess_amounts(values: FloatArray) -> Guess:
    if values.min() < 0:
        raise UserError(
            f"The target goes down to {values.min():g}, but an exposure is for counts and amounts, "
            "0 or more."
        )
    if bool((values == np.round(values)).all()):
        return Guess("poisson", "whole numbers and an exposure")
    if values.min() > 0:
        return Guess("gamma", "positive amounts and an exposure")
    return Guess("tweedie", "amounts, some of them 0, and an exposure")


def told_family(family: str, y: "pd.Series[Any]") -> Guess:
    """Return the family that the user names, and whether the target holds classes."""
    n_values = int(y.nunique())
    if family == "binomial" and n_values > 2:
        return Guess(family, "shares")
    if family == "multinomial" and n_values < 3:
        raise UserError(f"target {y.name!r} has {n_values} classes; --family binomial is for two.")
    return Guess(family, f"{n_values} values", classifier=family in CLASSES)
