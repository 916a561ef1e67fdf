# ruff: noqa: D102 - the methods are documented once, on Family
"""The families by name: distributions of the target with their links."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from ruleglm.dtypes import BoolArray, FloatArray
from ruleglm.family import MAX_NEWTON_STEPS, NULL_ETA_LIMIT, Family, Rows


@dataclass(frozen=True)
class Gaussian(Family):
    """Normal target, identity link: half the squared error."""

    name = "gaussian"
    link = "identity"
    constant_hessian = True
    y_range = "a finite number"
    remedy = "check the target"

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        residual = eta - y
        return 0.5 * residual * residual

    def gradient_and_hessian(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return eta - y, np.ones_like(eta)

    def mean(self, eta: FloatArray) -> FloatArray:
        return np.array(eta, dtype=np.float64)

    def conjugate(self, y: FloatArray, v: FloatArray) -> FloatArray:
        return v * (y + 0.5 * v)

    def null_eta(self, y: FloatArray, weights: Rows = 1.0, offset: Rows = 0.0) -> float:
        rows, weights, _ = np.broadcast_arrays(y - offset, weights, y)
        return float(np.average(rows, weights=weights))

    def _is_valid(self, y: FloatArray) -> BoolArray:
        return np.ones(y.shape, dtype=np.bool_)


@dataclass(frozen=True)
class Binomial(Family):
    """Bernoulli target, or a fraction of successes, with the logit link."""

    name = "binomial"
    link = "logit"
    y_range = "a number from 0 to 1"
    remedy = "encode the two classes as 0 and 1, or use family='gaussian' for other numbers"

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        from ruleglm import kernels  # a model that is loaded predicts without them

        y, eta = _as_rows(y, eta)
        surprise = np.empty(eta.shape)
        if kernels.logistic_loss(y.ravel(), eta.ravel(), surprise.ravel()):
            surprise += _label_entropy(y)
        return np.maximum(surprise, 0.0, out=surprise)

    def gradient_and_hessian(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        from ruleglm import kernels

        y, eta = _as_rows(y, eta)
        first, second = np.empty((2, *eta.shape))
        rows = y.ravel(), eta.ravel(), np.ones(1), first.ravel(), second.ravel()
        kernels.logistic_derivatives(*rows)
        return first, second

    def loss_along(
        self,
        y: FloatArray,
        eta: FloatArray,
        direction: FloatArray,
        step: float,
        weights: FloatArray,
    ) -> float:
        from ruleglm import kernels

        found = np.empty(2)
        kernels.sum_logistic(y, eta, direction, step, weights, found)
        if found[1]:
            return super().loss_along(y, eta, direction, step, weights)
        return float(found[0])

    def fill_derivatives(
        self,
        y: FloatArray,
        eta: FloatArray,
        weights: FloatArray,
        first: FloatArray,
        second: FloatArray,
    ) -> None:
        from ruleglm import kernels

        kernels.logistic_derivatives(y, eta, weights, first, second)

    def mean(self, eta: FloatArray) -> FloatArray:
        return np.asarray(expit(eta))

    def conjugate(self, y: FloatArray, v: FloatArray) -> FloatArray:
        success = y + v
        failure = (1.0 - y) - v
        inside = (success >= 0.0) & (failure >= 0.0)
        value = _negative_entropy(np.where(inside, success, 0.0), np.where(inside, failure, 0.0))
        return np.where(inside, value - _label_entropy(y), np.inf)

    def null_eta(self, y: FloatArray, weights: Rows = 1.0, offset: Rows = 0.0) -> float:
        y, weights, offset = np.broadcast_arrays(y, weights, offset)
        successes, failures = np.sum(weights * y), np.sum(weights * (1.0 - y))
        if successes <= 0.0 or failures <= 0.0:
            return -NULL_ETA_LIMIT if successes <= 0.0 else NULL_ETA_LIMIT
        centre = float(np.log(successes) - np.log(failures))
        return self._shift_null_eta(centre, y, weights, offset)

    def _is_valid(self, y: FloatArray) -> BoolArray:
        return (y >= 0.0) & (y <= 1.0)


class LogLink(Family):
    """Targets that are not negative, with the log link."""

    link = "log"
    y_range = "a finite number >= 0"
    remedy = "use family='gaussian' for a target that can be negative"

    @np.errstate(over="ignore")
    def mean(self, eta: FloatArray) -> FloatArray:
        return np.asarray(np.exp(eta))

    def _is_valid(self, y: FloatArray) -> BoolArray:
        return y >= 0.0


class LogFamily(LogLink):
    """Variance ``mean ** power`` and the log link: what poisson, tweedie and gamma share.

    The derivative of the loss is ``exp((2 - power) eta) - y exp((1 - power) eta)``, so that the
    intercept has a closed form for each of them.
    """

    power: float

    def null_eta(self, y: FloatArray, weights: Rows = 1.0, offset: Rows = 0.0) -> float:
        y, weights, offset = np.broadcast_arrays(y, weights, offset)
        observed = _log_sum_exp((1.0 - self.power) * offset, weights * y)
        expected = _log_sum_exp((2.0 - self.power) * offset, weights)
        return observed - expected if np.isfinite(observed) else -NULL_ETA_LIMIT


@dataclass(frozen=True)
class Poisson(LogFamily):
    """Counts, or any target whose variance grows like its mean, with the log link."""

    name = "poisson"
    power = 1.0

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        return np.maximum(self.mean(eta) - y * eta + _integrated_log(y), 0.0)

    def gradient_and_hessian(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean = self.mean(eta)
        return mean - y, mean

    def conjugate(self, y: FloatArray, v: FloatArray) -> FloatArray:
        mean = y + v
        inside = mean >= 0.0
        mean = np.where(inside, mean, 0.0)
        return np.where(inside, _integrated_log(mean) - _integrated_log(y), np.inf)


@dataclass(frozen=True)
class Gamma(LogFamily):
    """Positive target whose standard deviation grows like its mean, with the log link."""

    name = "gamma"
    y_range = "a finite number > 0"
    remedy = "use family='tweedie' if y can be 0, family='gaussian' if it can be negative"
    power = 2.0

    @np.errstate(over="ignore")
    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        excess = np.log(y) - eta
        return np.maximum(np.expm1(excess) - excess, 0.0)

    def gradient_and_hessian(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        ratio = y * self.mean(-eta)
        return 1.0 - ratio, ratio

    def conjugate(self, y: FloatArray, v: FloatArray) -> FloatArray:
        ratio = 1.0 - v
        inside = ratio >= 0.0
        ratio = np.where(inside, ratio, 0.0)
        log_y = np.log(y)
        value = ratio * (np.log(np.where(ratio > 0.0, ratio, 1.0)) - 1.0 - log_y) + 1.0 + log_y
        return np.where(inside, value, np.inf)

    def _is_valid(self, y: FloatArray) -> BoolArray:
        return y > 0.0


@dataclass(frozen=True)
class Tweedie(LogFamily):
    """Zero or positive target (compound Poisson-gamma) with the log link.

    Parameters
    ----------
    power : float
        The variance grows like ``mean ** power``; strictly between 1 (poisson) and 2 (gamma).
    """

    name = "tweedie"
    power: float = 1.5

    def __post_init__(self) -> None:
        if not 1.0 < self.power < 2.0:
            raise ValueError(
                f"power={self.power!r} is not strictly between 1 and 2: use family='gaussian' for "
                "power 0, 'poisson' for 1 and 'gamma' for 2; no other power is supported."
            )

    @np.errstate(over="ignore")
    def _parts(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the two terms of the gradient, ``exp((2-p) eta)`` and ``y exp((1-p) eta)``."""
        rising = np.exp((2.0 - self.power) * eta)
        falling = np.exp((1.0 - self.power) * eta)
        return rising, y * np.where(y > 0.0, falling, 0.0)

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        a, b = self.power - 1.0, 2.0 - self.power
        rising, falling = self._parts(y, eta)
        return np.maximum(falling / a + rising / b - y**b / (a * b), 0.0)

    def gradient_and_hessian(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        rising, falling = self._parts(y, eta)
        return rising - falling, (2.0 - self.power) * rising + (self.power - 1.0) * falling

    def conjugate(self, y: FloatArray, v: FloatArray) -> FloatArray:
        """Supremum over eta of ``v * eta - loss(y, eta)``; inf outside the domain.

        With a = power - 1, b = 2 - power and eta = log(y) + t, the maximiser solves
        ``exp(b t) - exp(-a t) = v / y**b``. For y = 0 it is log(v) / b.
        """
        inside = np.isfinite(v) & ((y > 0.0) | (v >= 0.0))
        v = np.where(inside, v, 0.0)
        at_zero = _integrated_log(np.maximum(v, 0.0)) / (2.0 - self.power)
        elsewhere = self._conjugate_positive(np.where(y > 0.0, y, 1.0), v)
        value = np.where(y > 0.0, elsewhere, at_zero)
        return np.where(inside, value, np.inf)

    def _conjugate_positive(self, y: FloatArray, v: FloatArray) -> FloatArray:
        a, b = self.power - 1.0, 2.0 - self.power
        scale = y**b
        slope = v / scale
        t = np.copysign(_solve_stationary(np.abs(slope), np.where(slope >= 0.0, b, a)), slope)
        loss = np.expm1(-a * t) / a + np.expm1(b * t) / b
        return v * np.log(y) + scale * (slope * t - loss)


@dataclass(frozen=True)
class NegativeBinomial(LogLink):
    """Counts whose variance is ``mean + alpha * mean ** 2``, with the log link.

    With ``r = 1 / alpha`` and ``p = alpha mean / (1 + alpha mean)``, which is the inverse logit of
    ``eta + log(alpha)``, the loss is that of ``y`` successes and ``r`` failures: convex in eta.

    Parameters
    ----------
    alpha : float
        Positive; the closer to 0, the closer to poisson.
    """

    name = "negative_binomial"
    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < np.inf:
            raise ValueError(
                f"alpha={self.alpha!r} is not a positive number; use family='poisson' for alpha 0."
            )

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        size, shifted = 1.0 / self.alpha, eta + np.log(self.alpha)
        failures = np.log1p(np.exp(-np.abs(shifted))) + np.maximum(shifted, 0.0)
        counts = xlogy(y, y) - y * eta
        excess = counts + (y + size) * (failures - np.log1p(self.alpha * y))
        return np.asarray(np.maximum(excess, 0.0))

    def gradient_and_hessian(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        size, shifted = 1.0 / self.alpha, eta + np.log(self.alpha)
        success, failure = expit(shifted), expit(-shifted)
        return size * success - y * failure, (size + y) * success * failure

    def conjugate(self, y: FloatArray, v: FloatArray) -> FloatArray:
        """Supremum over eta of ``v * eta - loss(y, eta)``; inf outside the domain.

        The maximiser has ``p = (y + v) / (y + r)``, which has to lie between 0 and 1.
        """
        success, failure = y + v, 1.0 / self.alpha - v
        inside = (success >= 0.0) & (failure >= 0.0)
        success, failure = np.where(inside, success, 0.0), np.where(inside, failure, 0.0)
        share = np.where(inside, np.minimum(self.alpha * v, 1.0), 0.0)
        value = xlogy(success, success) - xlogy(y, y) + xlog1py(failure, -share)
        return np.where(inside, value, np.inf)

    def null_eta(self, y: FloatArray, weights: Rows = 1.0, offset: Rows = 0.0) -> float:
        y, weights, offset = np.broadcast_arrays(y, weights, offset)
        total = np.sum(weights * y)
        if total <= 0.0:
            return -NULL_ETA_LIMIT
        return self._shift_null_eta(float(np.log(total / np.sum(weights))), y, weights, offset)


def _as_rows(*values: FloatArray) -> tuple[FloatArray, ...]:
    """Return arrays as kernels want them: their numbers one after the other."""
    return tuple(
        value if _is_ready(value) else np.require(value, np.float64, ["C", "W"]) for value in values
    )


def _is_ready(value: FloatArray) -> bool:
    flags = np.asarray(value).flags
    return value.dtype == np.float64 and flags.c_contiguous and flags.writeable


def _negative_entropy(success: FloatArray, failure: FloatArray) -> FloatArray:
    """``p log p + q log q``, where 0 log 0 is 0."""
    return np.asarray(xlogy(success, success) + xlogy(failure, failure))


def _label_entropy(y: FloatArray) -> FloatArray | float:
    """``y log y + (1 - y) log (1 - y)``, without a logarithm where all labels are 0 or 1."""
    certain = (y == 0.0) | (y == 1.0)
    return 0.0 if certain.all() else _negative_entropy(y, 1.0 - y)


def _integrated_log(x: FloatArray) -> FloatArray:
    """``x log x - x``, zero at 0 and inf at inf."""
    return x * (np.log(np.where(x > 0.0, x, 1.0)) - 1.0)


def _log_sum_exp(exponents: FloatArray, weights: FloatArray) -> float:
    """Logarithm of ``sum(weights * exp(exponents))``; -inf if every weight is zero."""
    present = weights > 0.0
    if not present.any():
        return -np.inf
    top = float(exponents[present].max())
    return top + float(np.log(np.sum(weights[present] * np.exp(exponents[present] - top))))


def _solve_stationary(slope: FloatArray, rate: FloatArray) -> FloatArray:
    """Solve ``exp(rate t) = slope + exp((rate - 1) t)`` for t >= 0, with slope >= 0.

    The function ``rate t - log(slope + exp((rate - 1) t))`` is increasing and concave, so Newton's
    method climbs to its root from any point on its left, and needs no safeguard.
    """
    t = np.log(np.maximum(slope, 1.0)) / rate
    for _ in range(MAX_NEWTON_STEPS):
        falling = np.exp((rate - 1.0) * t)
        total = slope + falling
        step = (np.log(total) - rate * t) / (rate + (1.0 - rate) * falling / total)
        t = t + step
        if np.all(np.abs(step) <= 1e-8 * (1.0 + t)):
            break
    return t


FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (Gaussian, Binomial, Poisson, NegativeBinomial, Gamma, Tweedie)
}
"""Every family by name; each can be built without arguments."""


def get_family(family: str | Family, power: float = 1.5, alpha: float = 1.0) -> Family:
    """Return the family of that name (a family is returned as it is).

    Parameters
    ----------
    family : str or Family
        One of the names in ``FAMILIES``, or a family.
    power : float
        The variance power of the tweedie family, which alone uses it.
    alpha : float
        The dispersion of the negative binomial family, which alone uses it.
    """
    if isinstance(family, Family):
        return family
    if family not in FAMILIES:
        raise ValueError(f"family={family!r} is not known; choose one of {', '.join(FAMILIES)}.")
    if family == Tweedie.name:
        return Tweedie(power)
    return NegativeBinomial(alpha) if family == NegativeBinomial.name else FAMILIES[family]()
