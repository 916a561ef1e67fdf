"""What the rows of an engine lose, and its derivatives: work on each row by itself.

Rows are worked on in blocks whose limits depend on their number only, and sums of blocks are added
in order, so the answers are the same to the last bit for any number of threads.
"""

from collections.abc import Sequence

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.family import Family
from ruleglm.parallel import Workers, cut, n_parts

BLOCK = 16384
"""The most rows of one step of the work, few enough for the cache."""

ROW_WORK = 2
"""Nanoseconds, about, that a row takes."""


class RowLosses:
    """The losses of rows at a linear predictor.

    Parameters
    ----------
    y : (n_rows,) float64
    family : Family
    weights : (n_rows,) float64, or None for ``1 / n_total`` each
    n_total : int
    workers : Workers

    Attributes
    ----------
    y : (n_rows,) float64
    blocks : list of slice, all rows
    """

    def __init__(
        self,
        y: FloatArray,
        family: Family,
        weights: FloatArray | None,
        n_total: int,
        workers: Workers,
    ) -> None:
        self.y = np.require(y, np.float64, ["C", "W"])
        self._family = family
        self._weights = np.require(
            np.array([1.0 / n_total]) if weights is None else weights, np.float64, ["C", "W"]
        )
        self._alike = weights is None
        self._workers = workers
        self._work = ROW_WORK * len(y)
        parts = n_parts(self._work)
        self.blocks = cut(len(y), parts * max(1, -(-len(y) // (parts * BLOCK))), 64)

    def weights(self, rows: slice) -> FloatArray:
        """Return the weights of some rows, or the one of all."""
        return self._weights if self._alike else self._weights[rows]

    def along(self, eta: FloatArray, direction: FloatArray, steps: Sequence[float]) -> FloatArray:
        """Return the mean loss after each step length along a direction."""

        def total(rows: slice) -> FloatArray:
            given = self.y[rows], eta[rows], direction[rows]
            weights = self.weights(rows)
            return np.array([self._family.loss_along(*given, step, weights) for step in steps])

        with np.errstate(over="ignore", invalid="ignore"):
            sums = self._workers.map(total, self.blocks, self._work * len(steps))
        return np.asarray(sum(sums, np.zeros(len(steps))))

    def derivatives(self, eta: FloatArray) -> FloatArray:
        """Return both derivatives of each row's weighted loss, shape (2, n_rows)."""
        both = np.empty((2, len(eta)))

        def fill(rows: slice) -> None:
            first, second = both[0, rows], both[1, rows]
            given = self.y[rows], eta[rows], self.weights(rows)
            self._family.fill_derivatives(*given, first, second)

        self._workers.map(fill, self.blocks, self._work)
        return both

    def derivative(self, eta: FloatArray, which: int) -> FloatArray:
        """Return the first (0) or the second (1) derivative; the other needs no memory."""
        out = np.empty(len(eta))

        def fill(rows: slice) -> None:
            values = self._family.gradient_and_hessian(self.y[rows], eta[rows])[which]
            np.multiply(values, self.weights(rows), out=out[rows])

        self._workers.map(fill, self.blocks, self._work)
        return out
