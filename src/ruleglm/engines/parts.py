"""Rows in several parts: one engine that asks them all and puts their answers together.

The parts may be pieces of a file, or live on other machines; a transport reaches them. What needs
no rows is kept here: which rules are held, the Gram matrix, the coefficients. Answers at a point
are asked for together and kept until the model moves, because a message may cost more than they do.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import BoolArray, CodeArray, FloatArray, IntArray, WordArray
from ruleglm.engines.base import (
    Bases,
    JointHistograms,
    RowVector,
    Traffic,
    Yardstick,
    histogram_starts,
)
from ruleglm.engines.filling import Sample
from ruleglm.engines.held import HeldColumns, split_masses
from ruleglm.engines.part import Part, combine
from ruleglm.family import NULL_ETA_LIMIT, Family, shift_intercept
from ruleglm.parallel import Workers

MAX_GATHERED = 1 << 28
"""Bytes of rows that are brought together at one time."""


class Transport(Protocol):
    """Reaches all parts."""

    @property
    def traffic(self) -> Traffic:
        """What was moved so far."""

    def tell(self, method: str, *arguments: Any) -> None:
        """Let every part do something, now or before its next answer."""

    def ask(self, method: str, *arguments: Any) -> Any:
        """Return the answers of all parts, put together in their order."""


class InProcess:
    """Parts in this process, asked one after the other.

    Parameters
    ----------
    parts : sequence of Part, none of them empty, numbered in their order
    """

    traffic = Traffic()

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = list(parts)

    def tell(self, method: str, *arguments: Any) -> None:
        """Let every part do something."""
        for part in self._parts:
            getattr(part, method)(*arguments)

    def ask(self, method: str, *arguments: Any) -> Any:
        """Return the answers of all parts, put together in their order."""
        return combine(method, [getattr(part, method)(*arguments) for part in self._parts])


class PartsEngine(HeldColumns):
    """An engine over several parts.

    Parameters
    ----------
    transport : Transport
    n_rows : int, of all parts
    n_bins : (n_features,) int64
    family : Family
    n_linear : int
    n_threads : int, for what is done here
    sign_of, linear_signs : see LocalEngine
    """

    def __init__(
        self,
        transport: Transport,
        n_rows: int,
        n_bins: IntArray,
        family: Family,
        *,
        n_linear: int = 0,
        n_threads: int = 1,
        sign_of: Callable[[BinRule], int] | None = None,
        linear_signs: Sequence[int] = (),
    ) -> None:
        super().__init__(family, n_linear, sign_of, linear_signs)
        self._transport = transport
        self.n_rows = n_rows
        self.n_bins = n_bins
        self.workers = Workers(n_threads)
        self.coef = np.zeros(self.n_columns)
        self._delta = np.zeros(self.n_columns)
        self._coarse_bins = n_bins
        self.sampled = Sample(n_rows, len(n_bins)).every > 1
        self._score: FloatArray | None = None
        self._ahead: tuple[float, tuple[float, ...], FloatArray] | None = None
        self._sums: tuple[float, ...] | None = None
        self._shares: dict[BinRule, float] = {}
        self._linear_bound: float | None = None

    @property
    def traffic(self) -> Traffic:
        """What was moved so far."""
        return self._transport.traffic

    # --- the columns of the model

    def hash_coverages(self, rules: Sequence[BinRule]) -> WordArray:
        """Return sums over rows that name the rows that each rule covers."""
        sums, shares = self._transport.ask("look_at", list(rules))
        self._shares = dict(zip(self.rules, self.supports().tolist(), strict=True))
        self._shares.update(zip(rules, shares.tolist(), strict=True))
        return np.asarray(sums)

    def hold(self, rules: Sequence[BinRule]) -> None:
        """Make these rules the columns after the linear terms."""
        self._transport.tell("hold", list(rules))
        place = {rule: 1 + self.n_linear + k for k, rule in enumerate(self.rules)}
        kept = np.array([*range(1 + self.n_linear), *(place.get(rule, -1) for rule in rules)])
        self.coef = np.where(kept < 0, 0.0, self.coef[kept])
        if self._score is not None:
            self._score = None if (kept < 0).any() else self._score[kept]
        self.rules = list(rules)
        self._ahead = None

    def supports(self) -> FloatArray:
        """Return the weighted share of rows that each rule covers; it was told with their names."""
        return np.array([self._shares[rule] for rule in self.rules])

    # --- the point the model stands at

    def set_coefficients(self, coef: FloatArray) -> float:
        """Make ``coef`` (intercept, linear terms, rules) the model; return the mean loss."""
        self._transport.tell("move_to", coef.copy())
        self.coef = coef.copy()
        self._ahead = None
        self._forget()
        return self._standing()[0]

    def propose(self, delta: FloatArray) -> None:
        """Prepare to move the coefficients along ``delta``."""
        self._ahead = None
        self._delta = delta.copy()
        self._transport.tell("propose", self._delta)

    def losses(self, steps: Sequence[float]) -> FloatArray:
        """Return the mean loss after each step length along the proposed direction.

        A single step is about to be taken, so that all that is asked after it is asked for as well.
        """
        if tuple(steps) == (0.0,):
            return np.array([self._standing()[0]])
        if len(steps) == 1:
            loss, score, *sums = self._transport.ask("standing_after", steps[0])
            self._ahead = steps[0], (loss, *sums), score
            return np.array([loss])
        found: FloatArray = self._transport.ask("losses", tuple(steps))
        return found

    def accept(self, step: float) -> None:
        """Move by ``step`` along the proposed direction."""
        self._transport.tell("accept", step)
        self.coef = self.coef + step * self._delta
        ahead, self._ahead = self._ahead, None
        self._forget()
        if ahead is not None and ahead[0] == step:
            _, self._sums, self._score = ahead

    def null_intercept(self) -> float:
        """Return the intercept of the model without columns."""
        mean = self._transport.ask("target_sum")
        centre = self.family.null_eta(np.array([mean]))
        if abs(centre) >= NULL_ETA_LIMIT and not self.family.constant_hessian:
            return centre
        least, most = self._transport.ask("offset_range")

        def slopes(intercept: float) -> tuple[float, float]:
            slope, curvature = self._transport.ask("slopes_at", intercept)
            return slope, curvature

        return shift_intercept(centre, least, most, slopes)

    # --- sums over rows

    def score(self, lines: BoolArray | None = None) -> FloatArray:  # noqa: ARG002 - all in one go
        """Return the derivative of the mean loss by each coefficient."""
        if self._sums is None:
            self._standing()
        if self._score is None and self._gram is not None:
            self.gram()  # new columns lack it as well, and one question will do
        if self._score is None:
            self._score = self._transport.ask("score")
        return self._score.copy()

    def freeze(self) -> None:
        """Keep the second derivatives of the rows where the model stands."""
        self._transport.tell("freeze")

    def gram_rows(self, n_known: int) -> FloatArray:
        """Return the rows of the Gram matrix from ``n_known`` on."""
        rows, self._score = self._transport.ask("gram_and_score", n_known)
        return np.asarray(rows)

    def hessian_sum(self) -> float:
        """Return the second derivative of the mean loss by the intercept."""
        return self._standing()[4]

    def dispersion(self) -> float:
        """Return the mean squared derivative of the loss over the mean second derivative."""
        *_, squares, hessian = self._standing()
        return squares / max(hessian, 1e-300)

    def gradient_masses(self) -> tuple[float, float]:
        """Return the sums of the positive and of the negative ``s dloss/deta``, both >= 0."""
        return split_masses(*self._standing()[1:3])

    def mass_gram(self, columns: Sequence[int]) -> FloatArray:
        """Return the sums of products of columns by ``s |dloss/deta|``."""
        gram: FloatArray = self._transport.ask("mass_gram", list(columns))
        return gram

    def dual_value(
        self, positive_scale: float, negative_scale: float, tilt: FloatArray | None = None
    ) -> float:
        """Return the dual objective at the scaled gradient; see the protocol."""
        return float(self._transport.ask("dual_value", positive_scale, negative_scale, tilt))

    def tilt_range(self, tilt: FloatArray) -> tuple[float, float, float]:
        """Return the least and the largest factor of a tilt, and the mass that it moves."""
        least, most, moved = self._transport.ask("tilt_range", tilt)
        return least, most, moved

    def linear_bound(self) -> float:
        """Return the largest absolute value in the linear columns, 0 without any."""
        if self._linear_bound is None:
            self._linear_bound = self._transport.ask("linear_bound") if self.n_linear else 0.0
        return self._linear_bound

    def joint_histograms(
        self,
        tuples: IntArray,
        vectors: Sequence[RowVector] = ("gradient",),
        within: BinRule = (),
        *,
        coarse: bool = False,
    ) -> JointHistograms:
        """Fill the joint histograms of feature tuples over the rows that ``within`` covers."""
        n_bins = self._coarse_bins if coarse else self.n_bins
        values = self._transport.ask("histogram_values", tuples, tuple(vectors), within, coarse)
        return JointHistograms(tuples, n_bins, histogram_starts(tuples, n_bins), values)

    def set_coarse(self, lookup: CodeArray, n_bins: IntArray) -> None:
        """Keep coarser codes beside the codes."""
        self._coarse_bins = n_bins
        self._transport.tell("set_coarse", lookup, n_bins)

    def histograms_within(
        self, rules: Sequence[BinRule], vectors: Sequence[RowVector], wanted: BoolArray
    ) -> FloatArray:
        """Fill histograms of single features over the rows that each of ``rules`` covers."""
        found: FloatArray = self._transport.ask(
            "histograms_within", list(rules), tuple(vectors), wanted
        )
        return found

    def extend(self, bases: Bases, yardstick: Yardstick) -> None:
        """Say that rules are extended from histograms: rows are in several places."""

    def refit(self, coef: FloatArray, ridges: FloatArray, tol: float, loose: bool) -> None:
        """Say that refits are led from here: rows are in several places."""

    def gather(self) -> tuple[CodeArray, FloatArray]:
        """Return the codes and the weighted gradient of all rows."""
        if self.n_rows * (len(self.n_bins) + 8) > MAX_GATHERED:
            raise ValueError(
                f"This search would bring {self.n_rows} rows together in one place, and the rows "
                "of this fit stay where they are: use max_degree <= 3 for penalty='l1', and "
                "pricing='auto', 'histogram' or 'beam', or fit a sample of the rows"
            )
        codes, gradient = self._transport.ask("gather")
        return codes, gradient

    # --- inside

    def _forget(self) -> None:
        self._score = self._sums = None
        self._fresh = False

    def _standing(self) -> tuple[float, ...]:
        """Return the sums at this point, with the score kept beside them."""
        if self._sums is None:
            loss, self._score, *sums = self._transport.ask("standing")
            self._sums = (loss, *sums)
        return self._sums
