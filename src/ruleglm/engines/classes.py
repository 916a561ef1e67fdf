"""Rows of more than two classes: one engine a class, over the same codes.

Seen by one class, the others held, the multinomial loss is the binomial loss of "this class or
another", with minus the log-sum-exp of the other linear predictors as an offset. So each class has
an engine like any other, and `ClassEngines` tells it where the other classes stand.
"""

from collections.abc import Sequence

import numpy as np

from ruleglm.dtypes import FloatArray, IntArray
from ruleglm.engines.local import LocalEngine
from ruleglm.multinomial import Multinomial, log_rest, log_total

SURE = 1e-6
"""Probability of all other classes together below which their sum is not had by difference."""

MAX_ABOVE = 50.0
"""Linear predictor above the largest one at which powers were last computed, at which they are
computed anew."""


class ClassEngines:
    """The engines of the classes, and the linear predictors that they share.

    Parameters
    ----------
    engines : sequence of LocalEngine, binomial, with "is of class k" as the target
    labels : (n_rows,) int64, the class of each row
    weights : (n_rows,) float64, summing to 1, or None for equal weights
    """

    def __init__(
        self, engines: Sequence[LocalEngine], labels: IntArray, weights: FloatArray | None
    ) -> None:
        self.engines = list(engines)
        self._labels = labels
        self._weights = weights
        self._rest = np.zeros(len(labels))
        self._refreshed_at = np.inf
        self.eta = np.zeros((len(labels), len(self.engines)), order="F")
        self._powers: FloatArray | None = None
        self._top = np.zeros(len(labels))

    def __len__(self) -> int:
        return len(self.engines)

    @property
    def family(self) -> Multinomial:
        """The family of the classes together."""
        return Multinomial(len(self))

    def turn_to(self, k: int) -> LocalEngine:
        """Return the engine of a class, told where the other classes stand."""
        self._rest = self._log_rest(k)
        engine = self.engines[k]
        engine.stand_at(self.eta[:, k] - self._rest, -self._rest)
        return engine

    def _log_rest(self, k: int) -> FloatArray:
        """Return the log-sum-exp of the other classes, from powers that are kept.

        Rows that are almost surely of this class are computed anew.
        """
        if self._powers is None:
            self._top = self.eta.max(axis=1)
            self._powers = np.exp(self.eta - self._top[:, None])
        total = self._powers.sum(axis=1)
        rest = total - self._powers[:, k]
        lost = rest <= SURE * total
        out = np.log(np.where(lost, 1.0, rest)) + self._top
        if lost.any():
            out[lost] = log_rest(self.eta[lost], k)
        return out

    def store(self, k: int) -> None:
        """Take over where the engine of the class turned to stands."""
        self.eta[:, k] = self.engines[k].linear_predictor + self._rest
        above = self.eta[:, k] - self._top
        if self._powers is None or above.max() > MAX_ABOVE:
            self._powers = None
        else:
            self._powers[:, k] = np.exp(above)

    def set_coefficients(self, coefs: Sequence[FloatArray]) -> float:
        """Make ``coefs``, one vector a class, the model; return the mean loss."""
        for k, (engine, coef) in enumerate(zip(self.engines, coefs, strict=True)):
            self.eta[:, k] = engine.combine(coef)
        self._powers = None
        return self.loss()

    def null_intercepts(self) -> FloatArray:
        """Return the intercepts of the model without columns; they add up to 0."""
        return self.family.null_eta(self.label_shares()[None])

    def label_shares(self) -> FloatArray:
        """Return the share of each class in the rows."""
        counts = np.bincount(self._labels, self._weights, len(self))
        return np.asarray(counts / counts.sum())

    # --- sums over rows

    def loss(self, direction: FloatArray | float = 0.0) -> float:
        """Return the mean loss, here or at a change of the linear predictors."""
        eta = self.eta + direction
        surprise = log_total(eta) - np.take_along_axis(eta, self._labels[:, None], axis=1)[:, 0]
        return float(np.average(np.maximum(surprise, 0.0), weights=self._weights))

    def gradient(self) -> FloatArray:
        """Return the weighted derivative of the loss of each row by its linear predictors."""
        residual = self.family.mean(self.eta)
        residual[np.arange(len(residual)), self._labels] -= 1.0
        return self._weigh(residual)

    def curve(self, direction: FloatArray, share: FloatArray) -> FloatArray:
        """Return the change of `gradient` along a direction; ``share`` are the probabilities."""
        parts = share * direction
        return self._weigh(parts - share * parts.sum(axis=1, keepdims=True))

    def _weigh(self, values: FloatArray) -> FloatArray:
        weights = 1.0 / len(values) if self._weights is None else self._weights[:, None]
        return np.asarray(weights * values)

    def dispersion(self) -> float:
        """Return the mean over classes of their engines' dispersion."""
        share = self.family.mean(self.eta)
        curves = self._weigh(share * (1.0 - share)).sum(axis=0)
        share[np.arange(len(share)), self._labels] -= 1.0
        squares = self._weigh(share**2).sum(axis=0)
        return float(np.mean(squares / np.maximum(curves, 1e-300)))

    def balance(self) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the mean loss by the intercepts, first and second."""
        share = self.family.mean(self.eta)
        weighted = self._weigh(share)
        first = weighted.sum(axis=0) - self.label_shares()
        return first, np.diag(weighted.sum(axis=0)) - weighted.T @ share

    def move(self, change: FloatArray) -> None:
        """Add to the linear predictors, of all rows or of each."""
        self.eta += change
        self._powers = None

    def refresh(self, share: float) -> None:
        """Move the second derivatives of every class here, if the loss has fallen to ``share``.

        That is the share of the loss where they were last moved.
        """
        loss = self.loss()
        if loss < share * self._refreshed_at:
            self._refreshed_at = loss
            for k in range(len(self)):
                self.turn_to(k).refresh()

    def dual_value(self, shrink: float, towards: FloatArray, pull: float) -> float:
        """Return the dual objective at the gradient, made feasible.

        The gradient ``p - y`` is replaced by ``shrink * ((1 - pull) * p + pull * towards - y)``,
        where ``towards`` are shares of the classes.
        """
        label = np.arange(len(self)) == self._labels[:, None]
        share = (1.0 - pull) * self.family.mean(self.eta) + pull * towards
        values = -self.family.conjugate(label.astype(np.float64), shrink * (share - label))
        return float(np.average(values, weights=self._weights))
