"""Weights of classes, which multiply those of the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from ruleglm.dtypes import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class ClassWeights:
    """What ``class_weight`` asks for.

    Attributes
    ----------
    given : tuple of float, one for each class
    balanced : bool, whether each class is to weigh as much as every other one
    """

    given: tuple[float, ...]
    balanced: bool

    def factors(self, y: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Return the factor of each class for training rows of class numbers ``y``.

        Balanced factors leave the sum of the weights as it is. A class that these rows lack, or
        that has weight 0 in all of them, gets 1.
        """
        given = np.array(self.given)
        if not self.balanced:
            return given
        masses = np.bincount(class_numbers(y), weights, minlength=len(given))
        present = masses > 0.0
        fair = masses.sum() / (present.sum() * np.where(present, masses, 1.0))
        return np.where(present, fair, 1.0)


def class_numbers(y: FloatArray) -> IntArray:
    """Return the number of each row's class, from such numbers or from columns of 0 and 1."""
    return y.astype(np.int64) if y.ndim == 1 else np.argmax(y, axis=1)


def scale_weights(factors: FloatArray, y: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the weights of rows of class numbers ``y``, times the factors of their classes."""
    scaled = factors[class_numbers(y)]
    return scaled if weights is None else scaled * weights


def read_class_weight(
    class_weight: Mapping[Any, float] | str | None, classes: AnyArray
) -> ClassWeights | None:
    """Check the parameter ``class_weight`` of an estimator; None where all classes count alike."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        return ClassWeights((1.0,) * len(classes), balanced=True)
    given = compute_class_weight(dict(class_weight), classes=classes, y=classes)
    for label, weight in zip(classes.tolist(), given, strict=True):
        if not (np.isfinite(weight) and weight >= 0.0):
            raise ValueError(
                f"`class_weight` of {label!r} is {weight}; give a finite number, 0 to leave the "
                "class out"
            )
    return ClassWeights(tuple(map(float, given)), balanced=False)
