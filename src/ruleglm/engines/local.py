"""Rows in this process: nogil kernels on a thread pool.

Rows are worked on in blocks whose limits depend on their number only, and sums of blocks are added
in order, so the answers are the same to the last bit for any number of threads.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ruleglm import kernels, parallel
from ruleglm.binning import BinRule
from ruleglm.dtypes import (
    INDEX_DTYPE,
    SUM_DTYPE,
    WORD_DTYPE,
    BoolArray,
    CodeArray,
    FloatArray,
    IntArray,
)
from ruleglm.engines.base import JointHistograms, RowVector, histogram_starts
from ruleglm.engines.coverage import Coverages
from ruleglm.engines.gram import MAX_PARTS, RowSums, extend_gram
from ruleglm.engines.packed import evaluate, unpack_column, unpack_columns
from ruleglm.families import Family
from ruleglm.parallel import Workers, cut

BLOCK = 8192
"""Rows of one step of elementwise work; a multiple of 64, small enough for the cache."""


class LocalEngine:
    """All rows in memory.

    Parameters
    ----------
    codes : (n_features, n_rows) uint8
    n_bins : (n_features,) int64
    y : (n_rows,) float64
    family : Family
    weights : (n_rows,) float64, summing to 1, or None for equal weights
    offset : (n_rows,) float64 or None
    linear : (n_linear, n_rows) float64 or None, the linear terms as they enter the model
    n_threads : int
    sign_of : callable or None, gives the sign that a rule's coefficient has to have, 0 for any
    linear_signs : sequence of int, the same for the linear terms; empty for any
    """

    def __init__(
        self,
        codes: CodeArray,
        n_bins: IntArray,
        y: FloatArray,
        family: Family,
        *,
        weights: FloatArray | None = None,
        offset: FloatArray | None = None,
        linear: FloatArray | None = None,
        n_threads: int = 1,
        sign_of: Callable[[BinRule], int] | None = None,
        linear_signs: Sequence[int] = (),
    ) -> None:
        self.codes = codes
        self.n_bins = n_bins
        self.family = family
        self.n_rows = len(y)
        self.linear = np.empty((0, self.n_rows)) if linear is None else linear
        self.n_linear = len(self.linear)
        self.rules: list[BinRule] = []
        self.degrees: list[int] = []
        self._sign_of = sign_of
        self._linear_signs = list(linear_signs) or [0] * self.n_linear
        self._signs: list[int] = []
        self._coverages = Coverages(self.n_rows)
        self._y = y
        self._weights = weights
        self._offset = offset
        self.workers = Workers(n_threads)
        self._sums = RowSums(self.n_rows, self.workers)
        self._columns = np.empty((0, self._n_words), WORD_DTYPE)
        self._gram: FloatArray | None = None
        self._eta = np.zeros(self.n_rows) if offset is None else offset.copy()
        self._direction = np.zeros(self.n_rows)
        self._gradient: FloatArray | None = None
        self._both: FloatArray | None = None
        self._coarse = codes, n_bins
        self._frozen = np.empty(0)
        self._fresh = False

    @property
    def _n_words(self) -> int:
        return (self.n_rows + 63) // 64

    # --- the columns of the model

    def add_rules(self, rules: Sequence[BinRule], degrees: Sequence[int]) -> int:
        """Append columns for the rules that cover rows as none held does; return their number."""
        columns = evaluate(self.codes, rules)
        signs = [0 if self._sign_of is None else self._sign_of(rule) for rule in rules]
        given = enumerate(zip(columns, degrees, signs, strict=True))
        chosen = [k for k, column in given if self._coverages.note(*column)]
        self._columns = np.concatenate([self._columns, columns[chosen]])
        self.rules.extend(rules[k] for k in chosen)
        self.degrees.extend(degrees[k] for k in chosen)
        self._signs.extend(signs[k] for k in chosen)
        return len(chosen)

    def forbid(self, rules: Sequence[BinRule]) -> None:
        """From now on leave out rules that split the rows as one of ``rules`` does."""
        self._coverages.forbid(evaluate(self.codes, rules))

    def column_signs(self) -> IntArray:
        """Return the sign that each coefficient has to have, 0 for any."""
        return np.array([0, *self._linear_signs, *self._signs], INDEX_DTYPE)

    def keep_rules(self, positions: Sequence[int]) -> None:
        """Drop all rules but those at ``positions``, whose order is kept."""
        self._columns = np.ascontiguousarray(self._columns[list(positions)])
        self.rules = [self.rules[k] for k in positions]
        self.degrees = [self.degrees[k] for k in positions]
        self._signs = [self._signs[k] for k in positions]
        self._coverages.forget()
        for column in zip(self._columns, self.degrees, self._signs, strict=True):
            self._coverages.note(*column)
        if self._gram is not None:
            first = 1 + self.n_linear
            kept = np.concatenate([np.arange(first), first + np.asarray(positions, np.int64)])
            kept = kept[kept < len(self._gram)]
            self._gram = np.ascontiguousarray(self._gram[np.ix_(kept, kept)])

    def supports(self) -> FloatArray:
        """Return the weighted share of rows that each rule covers."""
        weights = (
            np.full(self.n_rows, 1.0 / self.n_rows) if self._weights is None else self._weights
        )
        return self._sums.of_columns(self._columns, weights)

    # --- the point the model stands at

    def set_coefficients(self, coef: FloatArray) -> float:
        """Make ``coef`` (intercept, linear terms, rules) the model; return the mean loss."""
        self._eta = np.zeros(self.n_rows) if self._offset is None else self._offset.copy()
        self._add_model(coef, self._eta)
        self._forget()
        return float(self._losses_along((0.0,))[0])

    @property
    def linear_predictor(self) -> FloatArray:
        """The linear predictor of each row, the offset included."""
        return self._eta

    def stand_at(self, eta: FloatArray, offset: FloatArray) -> None:
        """Take another offset, and the linear predictor that the model then has."""
        self._eta, self._offset = eta, offset
        self._forget()

    def propose(self, delta: FloatArray) -> None:
        """Prepare to move the coefficients along ``delta``."""
        self._direction[:] = 0.0
        self._add_model(delta, self._direction)

    def losses(self, steps: Sequence[float]) -> FloatArray:
        """Return the mean loss after each step length along the proposed direction."""
        return self._losses_along(steps)

    def accept(self, step: float) -> None:
        """Move by ``step`` along the proposed direction."""
        for rows in self._blocks():
            self._eta[rows] += step * self._direction[rows]
        self._forget()

    def null_intercept(self) -> float:
        """Return the intercept of the model without columns."""
        weights = 1.0 if self._weights is None else self._weights
        return self.family.null_eta(self._y, weights, 0.0 if self._offset is None else self._offset)

    # --- sums over rows

    def score(self) -> FloatArray:
        """Return the derivative of the mean loss by each coefficient."""
        return self.project(self._gradient_rows())

    def project(self, values: FloatArray) -> FloatArray:
        """Return the sum of row values times each column."""
        sums = [[values.sum()], self.linear @ values]
        return np.concatenate([*sums, self._sums.of_columns(self._columns, values)])

    def dense_columns(self) -> FloatArray:
        """Return all columns as numbers, shape (n_columns, n_rows)."""
        rules = unpack_columns(self._columns, self.n_rows)
        return np.concatenate([np.ones((1, self.n_rows)), self.linear, rules])

    def combine(self, coef: FloatArray) -> FloatArray:
        """Return the sum of columns times coefficients in each row."""
        out = np.zeros(self.n_rows)
        self._add_model(coef, out)
        return out

    def gram(self) -> FloatArray:
        """Return the second derivatives of the mean loss at the point of the last refresh."""
        if self._gram is None:
            self._gradient = self._both = None
            self._frozen = np.empty(0)  # make room; the gradient comes back
            self._frozen = self._derive(1)
            self._fresh = True
            self._gram = np.empty((0, 0))
        self._gram = self._extended_gram(self._gram)
        return self._gram

    def refresh(self) -> bool:
        """Move the second derivatives to where the model stands; False if that changes nothing."""
        if self.family.constant_hessian or self._fresh:
            return False
        self._gram = None
        return True

    def hessian_sum(self) -> float:
        """Return the second derivative of the mean loss by the intercept."""

        def block_sum(rows: slice) -> float:
            _, hessian = self.family.gradient_and_hessian(self._y[rows], self._eta[rows])
            return self._mean_part(hessian, rows)

        return float(sum(self.workers.map(block_sum, self._blocks(), 20 * self.n_rows)))

    def dispersion(self) -> float:
        """Return the mean squared derivative of the loss over the mean second derivative."""
        gradient, hessian = self._both_rows()
        if self._weights is None:
            squares = self.n_rows * float(gradient @ gradient)
        else:
            squares = float(gradient @ (gradient / self._weights))
        return squares / max(float(hessian.sum()), 1e-300)

    def gradient_masses(self) -> tuple[float, float]:
        """Return the sums of the positive and of the negative ``s dloss/deta``, both >= 0."""
        gradient = self._gradient_rows()
        total, size = (
            float(gradient.sum()),
            float(sum(np.abs(gradient[r]).sum() for r in self._blocks())),
        )
        return max(0.0, size + total) / 2, max(0.0, size - total) / 2

    def mass_gram(self, columns: Sequence[int]) -> FloatArray:
        """Return the sums of products of columns by ``s |dloss/deta|``."""
        values = np.empty((len(columns), self.n_rows))
        for column, out in zip(columns, values, strict=True):
            unit = np.zeros(1 + self.n_linear + len(self.rules))
            unit[column] = 1.0
            out[:] = 0.0
            self._add_model(unit, out)
        gram: FloatArray = (values * np.abs(self._gradient_rows())) @ values.T
        return gram

    def dual_value(
        self, positive_scale: float, negative_scale: float, tilt: FloatArray | None = None
    ) -> float:
        """Return the dual objective at the scaled gradient; see the protocol."""
        factors = None if tilt is None else np.maximum(self._tilt_factors(tilt), 0.0)

        def block_value(rows: slice) -> float:
            theta = self.family.gradient(self._y[rows], self._eta[rows])
            theta *= np.where(theta > 0.0, positive_scale, negative_scale)
            if factors is not None:
                theta *= factors[rows]
            values = -self.family.conjugate(self._y[rows], theta)
            if self._offset is not None:
                values += theta * self._offset[rows]
            return self._mean_part(values, rows)

        return float(sum(self.workers.map(block_value, self._blocks(), 20 * self.n_rows)))

    def tilt_range(self, tilt: FloatArray) -> tuple[float, float, float]:
        """Return the least and the largest factor of a tilt, and the mass that it moves."""
        factors = self._tilt_factors(tilt)
        moved = np.abs(self._gradient_rows()) @ np.abs(factors - 1.0)
        return float(factors.min()), float(factors.max()), float(moved)

    def _tilt_factors(self, tilt: FloatArray) -> FloatArray:
        slopes = np.zeros(self.n_rows)
        self._add_model(tilt, slopes)
        return 1.0 - np.sign(self._gradient_rows()) * slopes

    def linear_bound(self) -> float:
        """Return the largest absolute value in the linear columns, 0 without any."""
        return float(np.abs(self.linear).max()) if self.n_linear else 0.0

    def joint_histograms(
        self,
        tuples: IntArray,
        vectors: Sequence[RowVector] = ("gradient",),
        within: BinRule = (),
        *,
        coarse: bool = False,
    ) -> JointHistograms:
        """Fill the joint histograms of feature tuples over the rows that ``within`` covers."""
        codes, values = self._within(within, self._row_vectors(vectors))
        n_bins = self.n_bins
        if coarse:
            codes, n_bins = self._coarse
        starts = histogram_starts(tuples, n_bins)
        out = np.zeros((len(values), starts[-1]), SUM_DTYPE)

        def fill(part: slice) -> None:
            limits = starts[part.start : part.stop + 1]
            target = np.zeros((len(values), limits[-1] - limits[0]), SUM_DTYPE)
            kernels.fill_histograms(codes, tuples[part], n_bins, values, limits - limits[0], target)
            out[:, limits[0] : limits[-1]] = target

        work = len(tuples) * codes.shape[1] * len(values)
        if self.workers.n_threads == 1 or work < parallel.THREAD_WORK:
            kernels.fill_histograms(codes, tuples, n_bins, values, starts, out)
        else:
            self.workers.map(fill, cut(len(tuples), MAX_PARTS), work)
        return JointHistograms(tuples, n_bins, starts, out)

    def set_coarse(self, lookup: CodeArray, n_bins: IntArray) -> None:
        """Keep coarser codes beside the codes."""
        codes = np.empty_like(self.codes)
        for table, fine, out in zip(lookup, self.codes, codes, strict=True):
            np.take(table, fine, out=out)
        self._coarse = codes, n_bins

    def histograms_within(
        self, rules: Sequence[BinRule], vectors: Sequence[RowVector], wanted: BoolArray
    ) -> FloatArray:
        """Fill histograms of single features over the rows that each of ``rules`` covers."""
        values = self._row_vectors(vectors)
        columns = evaluate(self.codes, rules)
        starts = np.concatenate([[0], np.cumsum(self.n_bins)])
        out = np.zeros((len(rules), len(values), starts[-1]), SUM_DTYPE)

        def fill(part: slice) -> None:
            kernels.fill_within(
                self.codes, columns[part], wanted[part], self.n_bins, values, starts, out[part]
            )

        n_parts = MAX_PARTS if self.workers.n_threads > 1 else 1
        work = int(np.count_nonzero(wanted)) * self.n_rows
        self.workers.map(fill, cut(len(rules), n_parts), work)
        return out

    def gather(self, within: BinRule = ()) -> tuple[CodeArray, FloatArray]:
        """Return the codes and the weighted gradient of the rows that ``within`` covers."""
        codes, values = self._within(within, self._gradient_rows()[None])
        return codes, values[0]

    # --- inside

    def _within(self, rule: BinRule, values: FloatArray) -> tuple[CodeArray, FloatArray]:
        """Return the codes and row values of the rows that a rule covers."""
        if not rule:
            return self.codes, values
        rows = unpack_column(evaluate(self.codes, [rule])[0], self.n_rows)
        return np.ascontiguousarray(self.codes[:, rows]), np.ascontiguousarray(values[:, rows])

    def coverages(self, rules: Sequence[BinRule]) -> list[tuple[bytes, bool]]:
        """Return a name for the rows that each rule covers, and whether it means the others."""
        return [self._coverages.name(words) for words in evaluate(self.codes, rules)]

    def _forget(self) -> None:
        self._gradient = self._both = None
        self._fresh = False

    def _blocks(self) -> Iterable[slice]:
        return (slice(b, min(b + BLOCK, self.n_rows)) for b in range(0, self.n_rows, BLOCK))

    def _mean_part(self, values: FloatArray, rows: slice) -> float:
        if self._weights is None:
            return float(values.sum()) / self.n_rows
        return float(values @ self._weights[rows])

    def _losses_along(self, steps: Sequence[float]) -> FloatArray:
        def block_losses(rows: slice) -> FloatArray:
            y, eta, direction = self._y[rows], self._eta[rows], self._direction[rows]
            parts = [self._mean_part(self.family.loss(y, eta + t * direction), rows) for t in steps]
            return np.array(parts)

        with np.errstate(over="ignore", invalid="ignore"):
            total = sum(
                self.workers.map(block_losses, self._blocks(), 20 * self.n_rows * len(steps))
            )
        return np.asarray(total)

    def _derive(self, which: int) -> FloatArray:
        """Return the weighted first (0) or second (1) derivative of every row's loss."""
        out = np.empty(self.n_rows)

        def fill(rows: slice) -> None:
            values = self.family.gradient_and_hessian(self._y[rows], self._eta[rows])[which]
            weights = 1.0 / self.n_rows if self._weights is None else self._weights[rows]
            np.multiply(values, weights, out=out[rows])

        self.workers.map(fill, self._blocks(), 20 * self.n_rows)
        return out

    def _both_rows(self) -> FloatArray:
        """Return both derivatives of every row, kept until the model moves."""
        if self._both is None:
            both = np.empty((2, self.n_rows))

            def fill(rows: slice) -> None:
                both[:, rows] = self.family.gradient_and_hessian(self._y[rows], self._eta[rows])
                both[:, rows] *= 1.0 / self.n_rows if self._weights is None else self._weights[rows]

            self.workers.map(fill, self._blocks(), 20 * self.n_rows)
            self._both = both
            self._gradient = both[0]
        return self._both

    def _gradient_rows(self) -> FloatArray:
        if self._gradient is None:
            self._gradient = self._derive(0)
        return self._gradient

    def _row_vectors(self, vectors: Sequence[RowVector]) -> FloatArray:
        if tuple(vectors) == ("gradient",):
            return self._gradient_rows()[None]
        if tuple(vectors) == ("gradient", "hessian"):
            return self._both_rows()
        out = np.empty((len(vectors), self.n_rows))
        for row, name in zip(out, vectors, strict=True):
            if name == "hessian":
                row[:] = self._derive(1)
            elif name == "gradient":
                row[:] = self._gradient_rows()
            else:
                np.maximum(self._gradient_rows(), 0.0, out=row)
        return out

    def _add_model(self, coef: FloatArray, out: FloatArray) -> None:
        linear, rules = coef[1 : 1 + self.n_linear], coef[1 + self.n_linear :]
        work = self.n_rows * (1 + int(np.count_nonzero(coef)))

        def add(rows: slice) -> None:
            out[rows] += coef[0]
            if self.n_linear:
                out[rows] += linear @ self.linear[:, rows]
            kernels.add_columns(self._columns, rules, rows.start, rows.stop, out)

        self.workers.map(add, self._sums.parts(work), work)

    def _extended_gram(self, gram: FloatArray) -> FloatArray:
        """Add the columns that ``gram`` lacks, weighted as the columns that it has."""
        counted = self.family.constant_hessian and self._weights is None
        weights = None if counted else self._frozen
        return extend_gram(gram, self.linear, self._columns, self._frozen, weights, self._sums)
