"""Stepwise moves over columns whose Gram matrix is known: additions, deletions and swaps.

At a point, loss and ridge are about ``beta' S beta / 2 - c' beta``. The sweep operator keeps the
minimum over the columns of the model, and what each other column would add to it, up to date from
move to move, without a look at the rows.
"""

import numpy as np

from ruleglm import kernels
from ruleglm.dtypes import INDEX_DTYPE, BoolArray, FloatArray, IntArray
from ruleglm.solvers.cholesky import COLLINEAR, factor_nearly, solve_factored


class Stepwise:
    """The quadratic model over all columns, of which some are in the model.

    Parameters
    ----------
    gram : (n, n) float64, second derivatives of the mean loss
    score : (n,) float64, first derivatives at ``coef``
    coef : (n,) float64
    ridge : (n,) float64
    member : (n,) bool, the columns of the model
    signs : (n,) int64, the sign that each coefficient has to have, 0 for any, or None for any; a
        column comes in only with the right one

    Attributes
    ----------
    member : (n,) bool
    """

    def __init__(
        self,
        gram: FloatArray,
        score: FloatArray,
        coef: FloatArray,
        ridge: FloatArray,
        member: BoolArray,
        signs: IntArray | None = None,
    ) -> None:
        n = len(coef)
        self._signs = np.zeros(n, INDEX_DTYPE) if signs is None else signs
        self.member = member.copy()
        order = np.argsort(~member, kind="stable")  # those inside first
        k = int(np.count_nonzero(member))
        matrix = gram.copy()
        matrix.flat[:: n + 1] += ridge
        right = (gram @ coef - score)[order]
        self._least = COLLINEAR * np.diagonal(matrix)
        matrix = matrix.take(order, axis=0).take(order, axis=1)
        inverse = solve_factored(factor_nearly(matrix[:k, :k]), np.eye(k))
        across = matrix[:k, k:]
        explained = inverse @ across
        swept = np.empty((n, n + 1))
        swept[:k, :k] = -inverse
        swept[:k, k:n] = explained
        swept[k:, :k] = explained.T
        swept[k:, k:n] = matrix[k:, k:] - across.T @ explained
        swept[:k, n] = inverse @ right[:k]
        swept[k:, n] = right[k:] - across.T @ swept[:k, n]
        back = np.empty(n + 1, INDEX_DTYPE)
        back[order], back[n] = np.arange(n), n
        self._table = swept.take(back[:n], axis=0).take(back, axis=1)

    @property
    def coef(self) -> FloatArray:
        """The coefficients at the minimum, 0 outside the model."""
        return np.where(self.member, self._table[:, -1], 0.0)

    def toggle(self, column: int) -> None:
        """Take a column into the model, or out of it."""
        kernels.sweep_column(column, self._table)
        self.member[column] = not self.member[column]

    def additions(self, doubt: float = 0.0) -> FloatArray:
        """Return twice the decrease that each column outside would bring, 0 inside.

        ``doubt`` is a further ridge on the column that is added, and on it alone.
        """
        gains = np.empty(len(self.member))
        kernels.rate_additions(self._table, self.member, self._least, self._signs, doubt, gains)
        return gains

    def deletions(self) -> FloatArray:
        """Return twice the increase that the loss of each column would bring, infinity outside."""
        size = -np.diagonal(self._table)
        inside = self.member & (size > 0.0)
        return np.where(inside, self._table[:, -1] ** 2 / np.where(inside, size, 1.0), np.inf)

    def swaps(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Return twice the decrease of each swap, by columns inside (rows) and outside."""
        inside, outside = np.flatnonzero(self.member), np.flatnonzero(~self.member)
        gains = np.empty((len(inside), len(outside)))
        kernels.rate_swaps(self._table, inside, outside, self._least, self._signs, gains)
        return gains, inside, outside
