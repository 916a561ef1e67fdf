"""What a family is: what a row loses when its linear predictor is eta.

One scale for all of them: ``loss`` is half the unit deviance, that is the negative log-likelihood
up to a term without eta. It is convex in eta, never negative, and zero at the saturated fit.
Everything is elementwise: y and eta (or v) have one shape, whichever it is.

``conjugate`` is the convex conjugate of the loss in eta. For row values v with
``sum_i s_i v_i = 0`` and ``|sum_i s_i v_i a_ik| <= lambda_k`` for every rule k, no model has an
objective below ``sum_i s_i (v_i offset_i - conjugate(y_i, v_i))``. The domain of the conjugate is
an interval around 0 that holds every gradient, so v pulled towards 0 never leaves it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from ruleglm.dtypes import BoolArray, FloatArray

Link: TypeAlias = Literal["identity", "logit", "log", "softmax"]
Rows: TypeAlias = FloatArray | float
"""One value a row, or one for all rows."""

NULL_ETA_LIMIT = 30.0
"""Intercept, up to sign, of a null model without an optimum: all targets 0, or one class."""

LARGEST_TARGET = 1e100
"""Products of three of them are still doubles."""

MAX_NEWTON_STEPS = 100


@dataclass(frozen=True)
class Family(ABC):
    """A distribution of the target and the link from its mean to eta."""

    name: ClassVar[str]
    link: ClassVar[Link]
    constant_hessian: ClassVar[bool] = False
    y_range: ClassVar[str]
    remedy: ClassVar[str]

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the linear predictor of one row."""
        return ()

    @abstractmethod
    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Half the unit deviance of each row."""

    @abstractmethod
    def gradient_and_hessian(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of the loss in eta; the second is never negative."""

    def loss_along(
        self,
        y: FloatArray,
        eta: FloatArray,
        direction: FloatArray,
        step: float,
        weights: FloatArray,
    ) -> float:
        """Sum of the weighted losses at ``eta + step * direction``; see `fill_derivatives`."""
        losses = self.loss(y, eta + step * direction if step else eta)
        return float(losses @ weights if len(weights) != 1 else losses.sum() * weights[0])

    def fill_derivatives(
        self,
        y: FloatArray,
        eta: FloatArray,
        weights: FloatArray,
        first: FloatArray,
        second: FloatArray,
    ) -> None:
        """Write both derivatives times the weights, one a row or one for all, of many rows."""
        for values, out in zip(self.gradient_and_hessian(y, eta), (first, second), strict=True):
            np.multiply(values, weights, out=out)

    def gradient(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """First derivative of the loss in eta."""
        return self.gradient_and_hessian(y, eta)[0]

    def hessian(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Second derivative of the loss in eta."""
        return self.gradient_and_hessian(y, eta)[1]

    @abstractmethod
    def mean(self, eta: FloatArray) -> FloatArray:
        """Mean of the target: the inverse of the link."""

    @abstractmethod
    def conjugate(self, y: FloatArray, v: FloatArray) -> FloatArray:
        """Supremum over eta of ``v * eta - loss(y, eta)``; inf outside the domain."""

    @abstractmethod
    def null_eta(self, y: FloatArray, weights: Rows = 1.0, offset: Rows = 0.0) -> float:
        """Return the b that minimises ``sum(weights * loss(y, offset + b))``.

        Where the infimum is not attained the result is ``NULL_ETA_LIMIT`` or its negative.
        """

    def _shift_null_eta(
        self, centre: float, y: FloatArray, weights: FloatArray, offset: FloatArray
    ) -> float:
        """Return the intercept, given the one that there would be without an offset."""
        present = offset[weights > 0.0]

        def slopes(b: float) -> tuple[float, float]:
            gradient, hessian = self.gradient_and_hessian(y, offset + b)
            return float(np.sum(weights * gradient)), float(np.sum(weights * hessian))

        return shift_intercept(centre, float(present.min()), float(present.max()), slopes)

    @abstractmethod
    def _is_valid(self, y: FloatArray) -> BoolArray:
        """Tell which finite targets the family allows."""

    def check_target(self, y: FloatArray) -> None:
        """Raise ValueError on the first target that the family cannot have produced."""
        y = np.asarray(y, dtype=np.float64)
        finite = np.isfinite(y)
        small = np.abs(y) <= LARGEST_TARGET
        good = finite & small & self._is_valid(np.where(finite, y, 0.5))
        if good.all():
            return
        place = tuple(np.argwhere(~good)[0])
        remedy = self.remedy if small[place] else f"beyond {LARGEST_TARGET:g}, so rescale it"
        remedy = remedy if finite[place] else "drop the rows whose target is not known"
        raise ValueError(
            f"The {self.name} family needs {self.y_range} in every row, "
            f"but row {place[0]} of the target is {float(y[place])!r}: {remedy}."
        )


def shift_intercept(
    centre: float, least: float, most: float, slopes: Callable[[float], tuple[float, float]]
) -> float:
    """Return the intercept of a model with an offset, given the one that it has without.

    The derivative in eta grows with eta, so that the intercept is the given one less some value
    of the offset: Newton's method, halving that bracket where it would leave it.

    Parameters
    ----------
    centre : float
    least, most : float, of the offset
    slopes : callable, gives both derivatives of the loss at an intercept
    """
    low, high = centre - most, centre - least
    if low == high:
        return low
    b = 0.5 * (low + high)
    for _ in range(MAX_NEWTON_STEPS):
        slope, curvature = slopes(b)
        low, high = (low, b) if slope > 0.0 else (b, high)
        newton = b - slope / curvature if curvature > 0.0 else low
        previous, b = b, newton if low < newton < high else 0.5 * (low + high)
        if abs(b - previous) <= 1e-15 * max(1.0, abs(b)):
            break
    return b
