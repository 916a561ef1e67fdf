"""Rows in this process: nogil kernels on threads.

Rows are worked on in blocks whose limits do not depend on the number of threads, and sums of blocks
are added in order, so the answers are the same to the last bit for any number of them.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ruleglm import kernels
from ruleglm.binning import BinRule
from ruleglm.dtypes import (
    WORD_DTYPE,
    BoolArray,
    CodeArray,
    FloatArray,
    IntArray,
    WordArray,
)
from ruleglm.engines.base import (
    BOTH,
    Bases,
    JointHistograms,
    RowVector,
    Traffic,
    Yardstick,
    histogram_starts,
)
from ruleglm.engines.coverage import hash_columns
from ruleglm.engines.filling import (
    FeatureSums,
    Room,
    Sample,
    codes_by_rows,
    extend_rules,
    fill_joint,
    fill_rules,
)
from ruleglm.engines.gram import ColumnSums, RowSums, gram_rows
from ruleglm.engines.held import HeldColumns, split_masses
from ruleglm.engines.losses import RowLosses
from ruleglm.engines.packed import Evaluator, unpack_column, unpack_columns
from ruleglm.families import Binomial
from ruleglm.family import Family
from ruleglm.parallel import Workers
from ruleglm.storage import rows_beside

FEW_ROWS = 1 << 18
"""Rows up to which both derivatives are kept where one is asked for: the other will be, soon.

Up to as many, refits are by one kernel, whatever the number of threads: more are left to these.
"""


class LocalEngine(HeldColumns):
    """Rows in memory: all of a fit, or a part of them.

    Parameters
    ----------
    codes : (n_features, n_rows) uint8
    n_bins : (n_features,) int64
    y : (n_rows,) float64
    family : Family
    weights : (n_rows,) float64, summing to 1 over all parts, or None for equal weights
    offset : (n_rows,) float64 or None
    linear : (n_linear, n_rows) float64 or None, the linear terms as they enter the model
    n_threads : int
    sign_of : callable or None, gives the sign that a rule's coefficient has to have, 0 for any
    linear_signs : sequence of int, the same for the linear terms; empty for any
    number : int, of the part that these rows are, 0 for the first or only one
    n_total : int, rows of all parts together, by default these
    first : int, rows of the parts before this one
    """

    traffic = Traffic()

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
        number: int = 0,
        n_total: int | None = None,
        first: int = 0,
    ) -> None:
        self.codes = codes
        self.n_bins = n_bins
        self.n_rows = len(y)
        self.linear = np.empty((0, self.n_rows)) if linear is None else linear
        super().__init__(family, len(self.linear), sign_of, linear_signs)
        self.exact_gram = family.constant_hessian and weights is None
        self._number = number
        self._n_total = self.n_rows if n_total is None else n_total
        self._y = y
        self._weights = weights
        self._offset = offset
        self.workers = Workers(n_threads)
        self._sums = RowSums(self.n_rows, self._n_total, self.workers)
        self._losses = RowLosses(y, family, weights, self._n_total, self.workers)
        self._columns = np.empty((0, (self.n_rows + 63) // 64), WORD_DTYPE)
        self._evaluator = Evaluator(codes)
        self._lines: CodeArray | None = None
        self._looked_at: dict[BinRule, WordArray] = {}
        self._eta = np.zeros(self.n_rows) if offset is None else offset.copy()
        self._direction = np.zeros(self.n_rows)
        self._loss: float | None = None
        self._ahead: dict[float, float] = {}
        self._gradient: FloatArray | None = None
        self._both: FloatArray | None = None
        self._both_sums: FeatureSums | None = None
        self._gradient_sum: float | None = None
        self._dispersion: float | None = None
        self._hessian_sum: float | None = None
        self._scores, self._shares = ColumnSums(), ColumnSums()
        self._score: FloatArray | None = None
        self._line_scores = np.full(self.n_linear, np.nan)
        """Of linear terms by the model, NaN where they are not known."""
        self._sample = Sample(self._n_total, len(codes), first)
        self.sampled = self._sample.every > 1
        self._sampled: FloatArray | None = None
        self._coarse = self._sample.take(codes), n_bins
        self._coarse_room, self._within_room = Room(), Room()
        self._frozen = np.empty(0)

    # --- the columns of the model

    def hash_coverages(self, rules: Sequence[BinRule]) -> WordArray:
        """Return sums over rows that name the rows that each rule covers."""
        columns = self._evaluator.evaluate(rules)
        self._looked_at = dict(zip(rules, columns, strict=True))
        alone = self.n_rows == self._n_total
        return hash_columns(columns, self.n_rows, self._number, alone=alone)

    def hold(self, rules: Sequence[BinRule]) -> None:
        """Make these rules the columns after the linear terms."""
        order = None
        if list(rules[: len(self.rules)]) == self.rules:
            new = rules[len(self.rules) :]
        else:
            place = {rule: k for k, rule in enumerate(self.rules)}
            new = [rule for rule in rules if rule not in place]
            place |= {rule: len(self.rules) + k for k, rule in enumerate(new)}
            order = [place[rule] for rule in rules]
        if len(new):
            self._columns = np.concatenate([self._columns, self._look_up(new)])
        for sums in (self._scores, self._shares):
            sums.extend(len(new))
            if order is not None:
                sums.take(order)
        if order is not None:
            self._columns = self._columns[order]
        self.rules = list(rules)
        self._score = None
        self._looked_at = {}

    def _look_up(self, rules: Sequence[BinRule]) -> WordArray:
        """Return the columns of rules, most of which were looked at just now."""
        unseen = [rule for rule in rules if rule not in self._looked_at]
        if unseen:
            self._looked_at.update(zip(unseen, self._evaluator.evaluate(unseen), strict=True))
        return np.array([self._looked_at[rule] for rule in rules])

    def supports(self) -> FloatArray:
        """Return the weighted share of rows that each rule covers."""

        def total(columns: WordArray) -> FloatArray:
            if self._weights is not None:
                return self._sums.of_columns(columns, self._weights)
            counts: FloatArray = np.bitwise_count(columns).sum(axis=1, dtype=np.float64)
            return counts / self._n_total

        return self._shares.of(self._columns, total).copy()

    def _row_weights(self) -> FloatArray:
        if self._weights is None:
            return np.full(self.n_rows, 1.0 / self._n_total)
        return self._weights

    # --- the point the model stands at

    def set_coefficients(self, coef: FloatArray) -> float:
        """Make ``coef`` (intercept, linear terms, rules) the model; return the mean loss."""
        self.move_to(coef)
        return float(self.losses((0.0,))[0])

    def move_to(self, coef: FloatArray) -> None:
        """Make ``coef`` the model."""
        self._eta = np.zeros(self.n_rows) if self._offset is None else self._offset.copy()
        self._add_model(coef, self._eta)
        self._forget()

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
        self._ahead = {}
        self._direction[:] = 0.0
        self._add_model(delta, self._direction)

    def losses(self, steps: Sequence[float]) -> FloatArray:
        """Return the mean loss after each step length along the proposed direction.

        That of a step is known after it is taken.
        """
        if tuple(steps) != (0.0,):
            found = self._losses.along(self._eta, self._direction, steps)
            self._ahead = dict(zip(steps, found.tolist(), strict=True))
            return found
        if self._loss is None:
            self._loss = float(self._losses.along(self._eta, self._direction, steps)[0])
        return np.array([self._loss])

    def accept(self, step: float) -> None:
        """Move by ``step`` along the proposed direction."""
        for rows in self._losses.blocks:
            ahead = self._direction[rows]
            self._eta[rows] += ahead if step == 1.0 else step * ahead
        known = self._ahead.get(step)
        self._forget()
        self._loss = known

    def null_intercept(self) -> float:
        """Return the intercept of the model without columns."""
        weights = 1.0 if self._weights is None else self._weights
        return self.family.null_eta(self._y, weights, 0.0 if self._offset is None else self._offset)

    # --- sums over rows

    def score(self, lines: BoolArray | None = None) -> FloatArray:
        """Return the derivative of the mean loss by each coefficient; not to be changed.

        Those of columns that were there when it was last asked for are known until the model moves.
        Those of linear terms that are not known and not among ``lines`` are 0.
        """
        if self._score is not None:
            return self._score
        gradient = self._gradient_rows()

        def total(columns: WordArray) -> FloatArray:
            return self._sums.of_columns(columns, gradient)

        rules = self._scores.of(self._columns, total)
        found = np.concatenate([[self._slope()], self._score_lines(lines), rules])
        self._score = found if lines is None else None
        return found

    def _score_lines(self, wanted: BoolArray | None) -> FloatArray:
        """Return the derivatives by the linear terms, 0 where they are neither known nor wanted."""
        gradient, known = self._gradient_rows(), ~np.isnan(self._line_scores)
        new = ~known if wanted is None else wanted & ~known
        if new.all():
            self._line_scores = self._sums.of_lines_alone(self.linear, gradient)
            return self._line_scores
        for j in np.flatnonzero(new).tolist():
            self._line_scores[j] = self.linear[j] @ gradient
        return np.where(known | new, self._line_scores, 0.0)

    def _slope(self) -> float:
        """Return the sum of ``s dloss/deta``."""
        if self._gradient_sum is None:
            self._gradient_sum = float(self._gradient_rows().sum())
        return self._gradient_sum

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

    def freeze(self) -> None:
        """Keep the second derivatives of the rows where the model stands."""
        self._frozen = np.empty(0)  # make room
        if self._both is not None:
            self._frozen = self._both[1].copy()
            return
        self._gradient = None  # it comes back
        self._frozen = self._losses.derivative(self._eta, 1)

    def gram_rows(self, n_known: int) -> FloatArray:
        """Return the rows of the Gram matrix from ``n_known`` on."""
        weights = None if self.exact_gram else self._frozen
        return gram_rows(n_known, self.linear, self._columns, self._frozen, weights, self._sums)

    def hessian_sum(self) -> float:
        """Return the second derivative of the mean loss by the intercept."""
        if self._hessian_sum is None:
            if not self.family.constant_hessian:
                self._hessian_sum = float(self._both_rows()[1].sum())
            elif self._weights is None:
                self._hessian_sum = self.n_rows / self._n_total
            else:
                self._hessian_sum = float(self._weights.sum())
        return self._hessian_sum

    def dispersion(self) -> float:
        """Return the mean squared derivative of the loss over the mean second derivative."""
        if self._dispersion is None:
            self._dispersion = self._square_sum() / max(self.hessian_sum(), 1e-300)
        return self._dispersion

    def _square_sum(self) -> float:
        gradient = self._gradient_rows()
        if self._weights is None:
            return self._n_total * float(gradient @ gradient)
        return float(gradient @ (gradient / self._weights))

    def gradient_masses(self) -> tuple[float, float]:
        """Return the sums of the positive and of the negative ``s dloss/deta``, both >= 0."""
        return split_masses(*self._gradient_sums())

    def _gradient_sums(self) -> tuple[float, float]:
        """Return the sums of ``s dloss/deta`` and of its size."""
        gradient = self._gradient_rows()
        size = float(sum(np.abs(gradient[rows]).sum() for rows in self._losses.blocks))
        return self._slope(), size

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

        return float(sum(self.workers.map(block_value, self._losses.blocks, 10 * self.n_rows)))

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
        return float(max(self.linear.max(), -self.linear.min())) if self.n_linear else 0.0

    def joint_histograms(
        self,
        tuples: IntArray,
        vectors: Sequence[RowVector] = ("gradient",),
        within: BinRule = (),
        *,
        coarse: bool = False,
    ) -> JointHistograms:
        """Fill the joint histograms of feature tuples over the rows that ``within`` covers."""
        n_bins = self._coarse[1] if coarse else self.n_bins
        starts = histogram_starts(tuples, n_bins)
        if tuples.shape[1] == 1 and not (coarse or within):
            out = self._feature_sums(vectors).take(tuples[:, 0])
        else:
            room = None
            if coarse:
                codes, values = self._coarse[0], self._sampled_vectors(vectors)
                room = self._coarse_room
            else:
                codes, values = self._within(within, self._row_vectors(vectors))
            out = fill_joint(codes, tuples, n_bins, values, starts, self.workers, room)
        return JointHistograms(tuples, n_bins, starts, out)

    def set_coarse(self, lookup: CodeArray, n_bins: IntArray) -> None:
        """Keep coarser codes of the sample beside the codes."""
        sampled = self._sample.take(self.codes)
        codes = rows_beside(self.codes, sampled.shape[1])
        for table, fine in zip(lookup, sampled, strict=True):
            codes.append(np.take(table, fine))
        self._coarse = codes.array(), n_bins

    def histograms_within(
        self, rules: Sequence[BinRule], vectors: Sequence[RowVector], wanted: BoolArray
    ) -> FloatArray:
        """Fill histograms of single features over the rows that each of ``rules`` covers."""
        values, whole = self._row_vectors(vectors), self._feature_sums(vectors)
        columns = self._evaluator.evaluate(rules)
        given = self._codes_by_rows(), columns, wanted, self.n_bins, values, whole
        return fill_rules(*given, self.workers, self._within_room)

    def extend(
        self, bases: Bases, yardstick: Yardstick
    ) -> tuple[IntArray, BoolArray, IntArray, FloatArray]:
        """Extend rules by one condition after the other while that pays."""
        values, whole = self._row_vectors(BOTH), self._feature_sums(BOTH)
        whole.fill(np.flatnonzero(yardstick.tried))
        columns = self._evaluator.evaluate(bases.rules)
        given = self._codes_by_rows(), self.codes, columns, self.n_bins, values, whole
        return extend_rules(*given, bases, yardstick, self.workers)

    def _codes_by_rows(self) -> CodeArray:
        if self._lines is None:
            self._lines = codes_by_rows(self.codes)
        return self._lines

    def refit(
        self, coef: FloatArray, ridges: FloatArray, tol: float, loose: bool
    ) -> tuple[FloatArray, FloatArray] | None:
        """Refit the model at several ridges in one kernel, on one thread."""
        if not isinstance(self.family, Binomial) or self.n_rows > FEW_ROWS:
            return None
        rows = self._losses.y, self._losses.weights(slice(None)), self.linear, self._columns
        coefs, losses, known = np.empty(ridges.shape), np.empty(len(ridges)), np.empty(2)
        here = coef.copy(), self._eta.copy(), *self._both_rows().copy()
        kernels.sum_logistic(self._losses.y, self._eta, self._eta, 0.0, rows[1], known)
        state = np.array([known[0], np.inf, 0.0, 0.0])
        for k, ridge in enumerate(ridges):
            state[1:3] = np.inf, 0.0
            while answer := kernels.refit_logistic(
                *rows, self.gram(), ridge, tol, loose, state, *here
            ):
                if answer == kernels.FAILED:
                    return None
                self._frozen, self._gram, self._fresh = here[-1].copy(), None, False
                self._gram = self.gram_rows(0)
                state[3] = 1.0
            coefs[k], losses[k] = here[0], state[0]
        return coefs, losses + (self.losses((0.0,))[0] - known[0])

    def gather(self) -> tuple[CodeArray, FloatArray]:
        """Return the codes and the weighted gradient of all rows."""
        return self.codes, self._gradient_rows()

    # --- inside

    def _within(self, rule: BinRule, values: FloatArray) -> tuple[CodeArray, FloatArray]:
        """Return the codes and row values of the rows that a rule covers."""
        if not rule:
            return self.codes, values
        rows = unpack_column(self._evaluator.evaluate([rule])[0], self.n_rows)
        return np.ascontiguousarray(self.codes[:, rows]), np.ascontiguousarray(values[:, rows])

    def _feature_sums(self, vectors: Sequence[RowVector]) -> FeatureSums:
        """Return the histograms of single features; of both derivatives they are kept."""
        if tuple(vectors) == BOTH and self._both_sums is not None:
            return self._both_sums
        sums = FeatureSums(self.codes, self.n_bins, self._row_vectors(vectors), self.workers)
        if tuple(vectors) == BOTH:
            self._both_sums = sums
        return sums

    def _forget(self) -> None:
        self._gradient = self._both = self._sampled = self._loss = self._gradient_sum = None
        self._score = None
        self._both_sums = self._dispersion = self._hessian_sum = None
        self._scores.forget()
        self._line_scores = np.full(self.n_linear, np.nan)
        self._ahead = {}
        self._fresh = False

    def _mean_part(self, values: FloatArray, rows: slice) -> float:
        if self._weights is None:
            return float(values.sum()) / self._n_total
        return float(values @ self._weights[rows])

    def _both_rows(self) -> FloatArray:
        """Return both derivatives of every row, kept until the model moves."""
        if self._both is None:
            self._both = self._losses.derivatives(self._eta)
            self._gradient = self._both[0]
        return self._both

    def _gradient_rows(self) -> FloatArray:
        if self._gradient is None:
            if not self.family.constant_hessian and self.n_rows <= FEW_ROWS:
                self._gradient = self._both_rows()[0]
            else:
                self._gradient = self._losses.derivative(self._eta, 0)
        return self._gradient

    def _row_vectors(self, vectors: Sequence[RowVector]) -> FloatArray:
        if tuple(vectors) == ("gradient",):
            return self._gradient_rows()[None]
        if tuple(vectors) == BOTH:
            return self._both_rows()
        out = np.empty((len(vectors), self.n_rows))
        for row, name in zip(out, vectors, strict=True):
            if name == "hessian":
                row[:] = self._losses.derivative(self._eta, 1)
            elif name == "gradient":
                row[:] = self._gradient_rows()
            else:
                np.maximum(self._gradient_rows(), 0.0, out=row)
        return out

    def _sampled_vectors(self, vectors: Sequence[RowVector]) -> FloatArray:
        """Return the row vectors of the sample; both derivatives are kept until the model moves."""
        if tuple(vectors) != BOTH:
            return self._sample.scale(self._row_vectors(vectors))
        if self._sampled is None:
            self._sampled = self._sample.scale(self._both_rows())
        return self._sampled

    def _add_model(self, coef: FloatArray, out: FloatArray) -> None:
        slopes, rules = coef[1 : 1 + self.n_linear], coef[1 + self.n_linear :]
        terms = float(coef[0]), self.linear, slopes, self._columns, rules
        work = self.n_rows * (2 + int(np.count_nonzero(coef))) // 8

        def add(rows: slice) -> None:
            kernels.add_terms(*terms, rows.start, rows.stop, out)

        self.workers.map(add, self._sums.parts(work), work)
