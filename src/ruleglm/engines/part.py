"""A part of the rows, and how the answers of parts become one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import FloatArray, IntArray, WordArray
from ruleglm.engines.base import RowVector
from ruleglm.engines.local import LocalEngine

AT_A_POINT = "_eta", "_gradient", "_both", "_both_sums", "_loss", "_sampled"
"""What a local engine has at a point, and computes anew at another."""


class Part(LocalEngine):
    """A local engine that also answers what engines over several parts ask."""

    _trial: tuple[float, dict[str, Any]] | None = None

    def standing(self) -> tuple[Any, ...]:
        """Return what is asked at every point: loss, score, and sums of the derivatives.

        These are the sums of ``s dloss/deta``, its size, its square over ``s`` and of the second
        derivative.
        """
        _, hessian = self._both_rows()
        sums = *self._gradient_sums(), self._square_sum(), float(hessian.sum())
        return float(self.losses((0.0,))[0]), self.score(), *sums

    def standing_after(self, step: float) -> tuple[Any, ...]:
        """Return what `standing` would after a step, which is then taken without more work."""
        before = {name: getattr(self, name) for name in AT_A_POINT}
        self._eta = self._eta + step * self._direction
        self._forget()
        answer = self.standing()
        self._trial = step, {name: getattr(self, name) for name in AT_A_POINT}
        self._forget()  # the scores too, which are of the trial
        vars(self).update(before)
        return answer

    def propose(self, delta: FloatArray) -> None:
        """Prepare to move the coefficients along ``delta``."""
        self._trial = None
        super().propose(delta)

    def accept(self, step: float) -> None:
        """Move by ``step`` along the proposed direction."""
        trial, self._trial = self._trial, None
        if trial is not None and trial[0] == step:
            self._forget()
            vars(self).update(trial[1])
        else:
            super().accept(step)

    def move_to(self, coef: FloatArray) -> None:
        """Make ``coef`` the model."""
        self._trial = None
        super().move_to(coef)

    def look_at(self, rules: Sequence[BinRule]) -> tuple[WordArray, FloatArray]:
        """Return sums that name the rows that each rule covers, and their weight."""
        hashes = self.hash_coverages(rules)
        columns = np.array([self._looked_at[rule] for rule in rules])
        return hashes, self._sums.of_columns(columns, self._row_weights())

    def gram_and_score(self, n_known: int) -> tuple[FloatArray, FloatArray]:
        """Return the rows of the Gram matrix from ``n_known`` on, and the score."""
        return self.gram_rows(n_known), self.score()

    def target_sum(self) -> float:
        """Return the weighted sum of the target."""
        return float(self._y @ self._row_weights())

    def offset_range(self) -> tuple[float, float]:
        """Return the least and the largest offset, 0 without any."""
        if self._offset is None:
            return 0.0, 0.0
        return float(self._offset.min()), float(self._offset.max())

    def slopes_at(self, intercept: float) -> tuple[float, float]:
        """Return both derivatives of the loss of the model without columns by its intercept."""
        eta = np.full(self.n_rows, intercept)
        if self._offset is not None:
            eta += self._offset
        both, weights = self.family.gradient_and_hessian(self._y, eta), self._row_weights()
        return float(both[0] @ weights), float(both[1] @ weights)

    def histogram_values(
        self, tuples: IntArray, vectors: Sequence[RowVector], within: BinRule, coarse: bool
    ) -> FloatArray:
        """Return the numbers of joint histograms."""
        return self.joint_histograms(tuples, vectors, within, coarse=coarse).values


def combine(method: str, answers: Sequence[Any]) -> Any:
    """Put the answers of parts together, in their order."""
    together: Callable[[Any, Any], Any] = _COMBINED_BY.get(method, _add)
    whole = answers[0]
    for other in answers[1:]:
        whole = together(whole, other)
    return whole


def _add(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(a + b for a, b in zip(one, other, strict=True))
    return one + other


def _join(one: tuple[Any, FloatArray], other: tuple[Any, FloatArray]) -> tuple[Any, FloatArray]:
    return np.concatenate([one[0], other[0]], axis=1), np.concatenate([one[1], other[1]])


def _span(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[float, ...]:
    """Return the least and the largest of both, and the sum of what follows."""
    least, most = min(one[0], other[0]), max(one[1], other[1])
    return least, most, *(a + b for a, b in zip(one[2:], other[2:], strict=True))


_COMBINED_BY: dict[str, Callable[[Any, Any], Any]] = {
    "gather": _join,
    "linear_bound": max,
    "offset_range": _span,
    "tilt_range": _span,
}
