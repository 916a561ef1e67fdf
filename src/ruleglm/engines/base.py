"""What the solvers and pricers may ask of the rows: the engine protocol.

An engine holds the bin codes, target, weights, offset and linear predictor ``eta`` of its rows,
and the columns of the model: the intercept (column 0), the linear terms, then the rules. All its
answers are sums over rows, so that engines over parts of the data add up to one over the whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import INDEX_DTYPE, BoolArray, CodeArray, FloatArray, IntArray
from ruleglm.family import Family
from ruleglm.parallel import Workers

RowVector = Literal["gradient", "hessian", "positive"]

BOTH: tuple[RowVector, ...] = ("gradient", "hessian")
"""The first and the second derivative."""
"""Row values to add up: ``s dloss/deta``, ``s d2loss/deta2``, or ``max(gradient, 0)``."""


@dataclass(frozen=True)
class JointHistograms:
    """Histograms of several row vectors over several tuples of features.

    Attributes
    ----------
    tuples : (n_tuples, order) int64, feature numbers
    n_bins : (n_features,) int64
    starts : (n_tuples + 1,) int64
    values : (n_vectors, starts[-1]) float64
    """

    tuples: IntArray
    n_bins: IntArray
    starts: IntArray
    values: FloatArray

    def cube(self, position: int, vector: int = 0) -> FloatArray:
        """Return one histogram in the shape of its bins."""
        shape = self.n_bins[self.tuples[position]]
        flat = self.values[vector, self.starts[position] : self.starts[position + 1]]
        return flat.reshape(shape)

    def __iter__(self) -> Iterator[FloatArray]:
        return (self.cube(t) for t in range(len(self.tuples)))


@dataclass(frozen=True)
class Traffic:
    """What went to and from rows in other places: messages and bytes."""

    messages: int = 0
    bytes: int = 0

    def __sub__(self, other: "Traffic") -> "Traffic":
        return Traffic(self.messages - other.messages, self.bytes - other.bytes)


@dataclass(frozen=True, eq=False)
class Yardstick:
    """By what gain a rule is judged, and what it is worth.

    Attributes
    ----------
    tried : (n_features,) bool, features that conditions may be on
    top, way : (n_features,) int64, see :mod:`ruleglm.kernels.pricing`
    total : float, the sum of the second derivatives
    ridge : float
    prices : (most + 1, 2) float64, for each degree up to the largest what is taken off a gain, and
        what the rest is divided by
    """

    tried: BoolArray
    top: IntArray
    way: IntArray
    total: float
    ridge: float
    prices: FloatArray


@dataclass(frozen=True, eq=False)
class Bases:
    """Rules to be extended by conditions.

    Attributes
    ----------
    rules : list of BinRule
    degrees : (n_rules,) int64
    least : (n_rules,) float64, what each has to be worth more than, with a condition more
    sides : (n_rules, n_features) uint8, what each says of each feature, see `kernels.extend_rules`
    wants : (n_rules,) int64, the sign of the sums of gradients for which each counts, 0 for both
    """

    rules: list[BinRule]
    degrees: IntArray
    least: FloatArray
    sides: CodeArray
    wants: IntArray


def histogram_starts(tuples: IntArray, n_bins: IntArray) -> IntArray:
    """Return where each tuple's histogram starts in one flat array."""
    sizes = np.ones(len(tuples), INDEX_DTYPE)
    for axis in tuples.T:
        sizes *= n_bins[axis]
    starts = np.zeros(len(tuples) + 1, INDEX_DTYPE)
    np.cumsum(sizes, out=starts[1:])
    return starts


class Engine(Protocol):
    """The rows of a fit, wherever they are."""

    n_rows: int
    n_bins: IntArray
    n_linear: int
    family: Family
    rules: list[BinRule]
    degrees: list[int]
    sampled: bool
    """Whether coarse histograms are over a sample of the rows."""
    workers: Workers
    exact_gram: bool
    """Whether the Gram matrix says all about the loss, to the last digits, wherever it is asked."""

    @property
    def traffic(self) -> Traffic:
        """What was moved so far; nothing where the rows are here."""

    def add_rules(self, rules: Sequence[BinRule], degrees: Sequence[int]) -> int:
        """Append columns for ``rules``, with coefficients of zero; return how many were added.

        A rule that covers the same rows as one held, or just the others, is left out unless its
        degree is smaller: with the intercept the two columns are collinear. If coefficients have
        signs, the one held has to be able to do what the new one can.
        """

    def forbid(self, rules: Sequence[BinRule]) -> None:
        """From now on leave out rules that split the rows as one of ``rules`` does.

        Those held stay, and may come back.
        """

    def column_signs(self) -> IntArray:
        """Return the sign that each coefficient has to have, 0 for any."""

    def keep_rules(self, positions: Sequence[int]) -> None:
        """Drop all rules but those at ``positions``, whose order is kept."""

    def set_coefficients(self, coef: FloatArray) -> float:
        """Make ``coef`` (intercept, linear terms, rules) the model; return the mean loss."""

    def propose(self, delta: FloatArray) -> None:
        """Prepare to move the coefficients along ``delta``."""

    def losses(self, steps: Sequence[float]) -> FloatArray:
        """Return the mean loss after each step length along the proposed direction."""

    def accept(self, step: float) -> None:
        """Move by ``step`` along the proposed direction."""

    def null_intercept(self) -> float:
        """Return the intercept of the model without columns."""

    def score(self, lines: BoolArray | None = None) -> FloatArray:
        """Return the derivative of the mean loss by each coefficient.

        Those of linear terms that are not among ``lines``, of shape (n_linear,), may be left at 0.
        """

    def gram(self) -> FloatArray:
        """Return the second derivatives of the mean loss at the point of the last refresh.

        Columns added since are filled in with the same row weights, so the matrix belongs to one
        point.
        """

    def refresh(self) -> bool:
        """Move the second derivatives to where the model stands; False if that changes nothing."""

    def hessian_sum(self) -> float:
        """Return the second derivative of the mean loss by the intercept."""

    def dispersion(self) -> float:
        """Return the mean squared derivative of the loss over the mean second derivative.

        It is the residual variance for the gaussian family, and 1 for a model that is true.
        """

    def gradient_masses(self) -> tuple[float, float]:
        """Return the sums of the positive and of the negative ``s dloss/deta``, both >= 0."""

    def mass_gram(self, columns: Sequence[int]) -> FloatArray:
        """Return the sums of products of columns (0 is the intercept) by ``s |dloss/deta|``."""

    def dual_value(
        self, positive_scale: float, negative_scale: float, tilt: FloatArray | None = None
    ) -> float:
        """Return the dual objective at the scaled gradient.

        With ``theta = dloss/deta`` times the scale of its sign, it is
        ``sum_i s_i (theta_i offset_i - conjugate(y_i, theta_i))``. With ``tilt``, coefficients of
        all columns whose sum in a row is ``v``, positive ones are also multiplied by ``1 - v`` and
        negative ones by ``1 + v``, or by 0 if that is negative.
        """

    def tilt_range(self, tilt: FloatArray) -> tuple[float, float, float]:
        """Return what a tilt does: its least and its largest factor, and the mass that it moves.

        The mass is the sum of ``s |dloss/deta|`` times ``|v|``; see `dual_value`.
        """

    def linear_bound(self) -> float:
        """Return the largest absolute value in the linear columns, 0 without any."""

    def joint_histograms(
        self,
        tuples: IntArray,
        vectors: Sequence[RowVector] = ("gradient",),
        within: BinRule = (),
        *,
        coarse: bool = False,
    ) -> JointHistograms:
        """Fill the joint histograms of feature tuples over the rows that ``within`` covers.

        With ``coarse`` they are over the bins of `set_coarse`, over all rows, and where there are
        very many estimated from some of them at even distances; they last until the next such call.
        """

    def set_coarse(self, lookup: CodeArray, n_bins: IntArray) -> None:
        """Keep coarser codes beside the codes: ``lookup[feature, bin]`` of ``n_bins[feature]``."""

    def histograms_within(
        self, rules: Sequence[BinRule], vectors: Sequence[RowVector], wanted: BoolArray
    ) -> FloatArray:
        """Fill histograms of single features over the rows that each of ``rules`` covers.

        Those of ``wanted``, of shape (n_rules, n_features), are filled, the others left at zero.
        Returns an array of shape (n_rules, n_vectors, n_bins.sum()), features one after the other,
        which lasts until the next call.
        """

    def extend(
        self, bases: Bases, yardstick: Yardstick
    ) -> tuple[IntArray, BoolArray, IntArray, FloatArray] | None:
        """Extend rules by one condition after the other while that pays; None if rows are apart.

        Returns the number of conditions that each rule got, whether more might pay, features and
        codes of these, and the gains with them; see `kernels.extend_rules`.
        """

    def refit(
        self, coef: FloatArray, ridges: FloatArray, tol: float, loose: bool
    ) -> tuple[FloatArray, FloatArray] | None:
        """Refit the model, which stands at ``coef``, at several ridges; None if that is not known.

        Returns coefficients and mean losses, see `kernels.refit_logistic`. The model stays.
        """

    def gather(self) -> tuple[CodeArray, FloatArray]:
        """Return the codes and the weighted gradient of all rows.

        The one request that brings rows together; deep searches and the integer program need it.
        """

    def supports(self) -> FloatArray:
        """Return the weighted share of rows that each rule covers."""
