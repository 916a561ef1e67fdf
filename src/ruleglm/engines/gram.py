"""Sums over rows on threads: of columns, and of products of columns, the Gram matrix.

Rows are cut into parts that depend on the size of the work only, and the sums of the parts are
added in order, so that no answer depends on the number of threads.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ruleglm import kernels
from ruleglm.dtypes import BoolArray, FloatArray, WordArray
from ruleglm.parallel import Workers, cut, n_parts

LEAST_UNIT = 1e-300
"""Of weights that are all zero, or nearly."""


class RowSums:
    """Adds up over the rows of an engine, which are ``n_rows`` of ``n_total`` in all."""

    def __init__(self, n_rows: int, n_total: int, workers: Workers) -> None:
        self._n_rows = n_rows
        self._n_total = n_total
        self._workers = workers

    def parts(self, work: int) -> list[slice]:
        """Return the parts of the rows for some work."""
        return cut(self._n_rows, n_parts(work), 64)

    def add(self, total: Callable[[slice], FloatArray], work: int) -> FloatArray:
        """Add up a sum over rows from its parts, in their order."""
        every = self.parts(work)
        if len(every) == 1:
            return total(every[0])
        whole, *others = self._workers.map(total, every, work)
        for part in others:
            whole += part
        return whole

    def of_columns(self, columns: WordArray, values: FloatArray) -> FloatArray:
        """Return the sum of row values over each column."""

        def total(rows: slice) -> FloatArray:
            out = np.empty(len(columns))
            kernels.sum_columns(columns, values, rows.start, rows.stop, out)
            return out

        return self.add(total, self._n_rows * len(columns) // 10)

    def of_lines(self, columns: WordArray, lines: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the sum of each weighted line over each column, shape (n_columns, n_lines)."""

        def total(rows: slice) -> FloatArray:
            out = np.empty((len(columns), len(lines)))
            kernels.sum_lines(columns, lines, weights, rows.start, rows.stop, out)
            return out

        return self.add(total, self._n_rows * len(columns) * len(lines) // 8)

    def of_lines_alone(self, lines: FloatArray, values: FloatArray) -> FloatArray:
        """Return the sum of row values times each line."""

        def total(rows: slice) -> FloatArray:
            found: FloatArray = lines[:, rows] @ values[rows]
            return found

        return self.add(total, lines.size // 3)

    def of_two_lines(self, lines: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the sums of products of two lines each, of which the first is one everywhere."""

        def total(rows: slice) -> FloatArray:
            out = np.empty((1 + len(lines), 1 + len(lines)))
            kernels.gram_lines(lines, weights, rows.start, rows.stop, out)
            return out

        return self.add(total, self._n_rows * (1 + len(lines)) ** 2 // 16)

    def of_products(self, columns: WordArray, n_old: int, weights: FloatArray | None) -> FloatArray:
        """Return the shared weights of the columns from ``n_old`` on with all.

        Without weights all rows have the same, ``1 / n_total``.
        """
        shape = len(columns) - n_old, len(columns)
        if weights is None:
            block = np.empty(shape)
            kernels.count_gram(np.ascontiguousarray(columns[n_old:]), columns, block)
            return block / self._n_total
        unit = max(float(weights.max(initial=0.0)), LEAST_UNIT)
        with np.errstate(invalid="ignore"):  # where the loss overflows
            scaled = (weights / unit).astype(np.float32)

        def total(rows: slice) -> FloatArray:
            out = np.empty(shape)
            kernels.weighted_gram(columns, scaled, n_old, rows.start, rows.stop, out)
            return out

        return unit * self.add(total, self._n_rows * shape[0] * shape[1] // 40)


class ColumnSums:
    """A sum over the rows of each column held, which is added up once."""

    def __init__(self) -> None:
        self._values = np.empty(0)
        self._known: BoolArray = np.empty(0, np.bool_)

    def extend(self, n_new: int) -> None:
        """Make room for columns behind those there are."""
        self._values = np.concatenate([self._values, np.zeros(n_new)])
        self._known = np.concatenate([self._known, np.zeros(n_new, np.bool_)])

    def take(self, order: Sequence[int]) -> None:
        """Keep the columns at these positions, in this order."""
        self._values, self._known = self._values[order], self._known[order]

    def forget(self) -> None:
        """Forget the sums, not the columns."""
        self._known[:] = False

    def of(self, columns: WordArray, total: Callable[[WordArray], FloatArray]) -> FloatArray:
        """Return the sums of all columns; ``total`` adds up those that are not known."""
        if not self._known.any():
            self._values = total(columns)
        elif not self._known.all():
            self._values[~self._known] = total(columns[~self._known])
        self._known[:] = True
        return self._values


def gram_rows(
    n_known: int,
    linear: FloatArray,
    columns: WordArray,
    frozen: FloatArray,
    weights: FloatArray | None,
    sums: RowSums,
) -> FloatArray:
    """Return the rows of a Gram matrix from ``n_known`` on.

    Parameters
    ----------
    n_known : int, 0 or at least the intercept and the linear terms
    linear : (n_linear, n_rows) float64
    columns : (n_rules, n_words) uint64
    frozen : (n_rows,) float64, the weights
    weights : the same, or None where all rows weigh alike
    sums : RowSums
    """
    first, size = 1 + len(linear), 1 + len(linear) + len(columns)
    n_old = max(0, n_known - first)
    whole = np.zeros((size - n_known, size))
    block = sums.of_products(columns, n_old, weights)
    rules = whole[first + n_old - n_known :]
    rules[:, 0] = np.diagonal(block, n_old)
    if len(linear):
        rules[:, 1:first] = sums.of_lines(columns[n_old:], linear, frozen)
    rules[:, first:] = block
    if n_known == 0:
        whole[:first, :first] = sums.of_two_lines(linear, frozen)
        whole[:first, first:] = rules[:, :first].T
    return whole
