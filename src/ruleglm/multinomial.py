# ruff: noqa: D102 - the methods are documented on Family
"""More than two classes: one linear predictor a class, and probabilities by softmax.

Seen by one class alone, the others held, the multinomial loss is a binomial one: with ``rest`` the
log-sum-exp of the other linear predictors, the probability of class ``k`` is ``expit(eta_k -
rest)``. That is how the solvers treat it, class after class, with ``-rest`` as an offset.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from ruleglm.dtypes import BoolArray, FloatArray
from ruleglm.family import NULL_ETA_LIMIT, Family, Rows

_MAX_SWEEPS = 500


@dataclass(frozen=True)
class Multinomial(Family):
    """One of several classes; targets and linear predictors have shape (n_rows, n_classes).

    Parameters
    ----------
    n_classes : int
        At least 2. A target holds a 1 in the column of its class.
    """

    name = "multinomial"
    link = "softmax"
    y_range = "probabilities that add up to 1"
    remedy = "give labels to a classifier"
    n_classes: int = 3

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.n_classes,)

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        surprise = log_total(eta) - np.sum(y * eta, axis=-1)
        return np.asarray(np.maximum(surprise + xlogy(y, y).sum(axis=-1), 0.0))

    def gradient_and_hessian(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First derivatives by each class, and the diagonal of the second ones."""
        share = self.mean(eta)
        return share - y, share * (1.0 - share)

    def mean(self, eta: FloatArray) -> FloatArray:
        share = np.exp(eta - eta.max(axis=-1, keepdims=True))
        return np.asarray(share / share.sum(axis=-1, keepdims=True))

    def conjugate(self, y: FloatArray, v: FloatArray) -> FloatArray:
        """Supremum over eta of ``v eta - loss(y, eta)``; v has to add up to 0 over the classes."""
        share = y + v
        inside = (share >= -1e-15).all(axis=-1)
        share = np.maximum(share, 0.0)
        return np.where(inside, xlogy(share, share).sum(axis=-1) - xlogy(y, y).sum(axis=-1), np.inf)

    def null_eta(self, y: FloatArray, weights: Rows = 1.0, offset: Rows = 0.0) -> FloatArray:  # type: ignore[override]
        """Return the intercepts of the model without terms; they add up to 0.

        With an offset, each is multiplied in turn until the expected number of every class is the
        observed one (iterative scaling).
        """
        weights = np.broadcast_to(weights, len(y)) / np.sum(np.broadcast_to(weights, len(y)))
        observed = np.maximum(weights @ y, np.exp(-NULL_ETA_LIMIT))
        eta = np.log(observed)
        offset = np.broadcast_to(offset, y.shape)
        for _ in range(_MAX_SWEEPS if offset.any() else 0):
            change = np.log(observed / (weights @ self.mean(offset + eta)))
            eta = eta + change
            if np.abs(change - change.mean()).max() <= 1e-14:
                break
        return np.asarray(eta - eta.mean())

    def _is_valid(self, y: FloatArray) -> BoolArray:
        complete = np.abs(y.sum(axis=-1, keepdims=True) - 1.0) < 1e-9
        return np.asarray((y >= 0.0) & (y <= 1.0) & complete)


def log_total(eta: FloatArray) -> FloatArray:
    """Return the log-sum-exp of the linear predictors of each row, shape (n_rows,)."""
    top = eta.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(eta - top).sum(axis=1)) + top[:, 0])


def log_rest(eta: FloatArray, k: int) -> FloatArray:
    """Return the log-sum-exp of all linear predictors but the ``k``-th, shape (n_rows,)."""
    return log_total(np.delete(eta, k, axis=1))
