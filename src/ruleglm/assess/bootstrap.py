"""Bootstrap: what a fit makes of rows drawn anew, again and again."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ruleglm.assess.redundancy import common_mass, cover_rows, jaccard
from ruleglm.checks import check_offset
from ruleglm.dtypes import BoolArray, FloatArray, IntArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.refitting import Rows

MOST_DRAWS = 100
"""Draws of a resample that is to hold every class, before giving up."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Resample:
    """What came out of one resample.

    Attributes
    ----------
    ensemble : RuleEnsemble, fitted to it
    same, similar : (n_terms,) bool, which terms of the whole model it found again
    coefficients : (n_terms,) or (n_terms, n_classes) float64, those of the whole model's terms, nan
        where unknown
    """

    ensemble: RuleEnsemble
    same: BoolArray
    similar: BoolArray
    coefficients: FloatArray


class Bootstrap:
    """Fits models to resamples and compares them with the model of all rows.

    Parameters
    ----------
    plain : estimator without a fit, of the model's parameters
    ensemble : RuleEnsemble, the model
    given : tuple of X, y, weights, offset and exposure, checked already
    target : (n_rows,) float64, the numbers or the numbers of the classes
    groups : (n_rows,) int64, the group of each row, or None if rows are drawn one by one
    similarity : float, least Jaccard index of a rule that is found again
    """

    def __init__(
        self,
        plain: Any,
        ensemble: RuleEnsemble,
        given: tuple[Any, ...],
        target: FloatArray,
        groups: IntArray | None,
        similarity: float,
    ) -> None:
        self.plain, self.ensemble, self.similarity = plain, ensemble, similarity
        self.X, self.y, weights, self.offset, self.exposure = given
        self.table = ensemble.read(self.X)
        self.weights = np.ones(self.table.n_rows) if weights is None else weights
        self.target, self.groups = target, groups
        self.shift = check_offset(self.offset, self.exposure, ensemble.family, self.table.n_rows)
        self.counted = self.weights > 0
        self.cover = cover_rows(ensemble.rules, self.table)
        self.lines = np.array([term.values(self.table) for term in ensemble.linear_terms])
        self.lines = self.lines.reshape(-1, self.table.n_rows)

    def run(self, seed: np.random.SeedSequence) -> Resample:
        """Draw a resample, fit the model to it, and its own terms too."""
        weights = self.draw(np.random.default_rng(seed))
        more = {} if self.exposure is None else {"exposure": self.exposure}
        fitted = clone(self.plain).fit(self.X, self.y, weights, offset=self.offset, **more)
        same, similar = self.compare(fitted.ensemble_)
        return Resample(fitted.ensemble_, same, similar, self.refit(fitted, weights))

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Return the weights of a resample in which every class has rows."""
        if not self.ensemble.classes:
            return draw_weights(self.weights, self.groups, rng)
        n_classes = len(np.unique(self.target[self.counted]))
        for _ in range(MOST_DRAWS):
            weights = draw_weights(self.weights, self.groups, rng)
            if len(np.unique(self.target[weights > 0])) == n_classes:
                return weights
        raise ValueError(
            f"None of {MOST_DRAWS} resamples holds rows of every class; there are too few rows"
        )

    def compare(self, other: RuleEnsemble) -> tuple[BoolArray, BoolArray]:
        """Tell which terms another model has too, exactly and about.

        A rule and its complement are the same term, the intercept aside.
        """
        features = {term.feature for term in other.linear_terms}
        lines = [term.feature in features for term in self.ensemble.linear_terms]
        mine = self.cover[:, self.counted]
        theirs = cover_rows(other.rules, self.table)[:, self.counted]
        same = best_jaccard(mine, theirs, None) == 1.0
        similar = best_jaccard(mine, theirs, self.weights[self.counted]) >= self.similarity
        return np.array([*lines, *same], np.bool_), np.array([*lines, *(same | similar)], np.bool_)

    def refit(self, fitted: Any, weights: FloatArray) -> FloatArray:
        """Fit the coefficients of the model's terms to a resample, nan for those without effect."""
        ensemble = self.ensemble
        coef = np.full((len(ensemble.terms) - 1, *ensemble.family.output_shape), np.nan)
        kept = weights > 0
        cover = self.cover[:, kept]
        at_work = np.concatenate(
            [np.ptp(self.lines[:, kept], axis=1) > 0, cover.any(axis=1) & ~cover.all(axis=1)]
        )
        offset = None if self.shift is None else self.shift[kept]
        target = self.target[kept]
        if ensemble.family.output_shape:
            target = np.eye(len(ensemble.classes))[target.astype(np.int64)]
        rows = Rows(self.table.take(kept), target, weights[kept], offset)
        part = ensemble.drop(*(1 + np.flatnonzero(~at_work)).tolist())
        coef[at_work] = fitted._fit_coefficients(part, rows).ensemble.all_coefficients()[1:]
        return coef


def draw_weights(
    weights: FloatArray, groups: IntArray | None, rng: np.random.Generator
) -> FloatArray:
    """Return the weights of a resample with replacement; rows of weight 0 stay out.

    Whole weights count rows: as many are drawn as they add up to. Others stay with their rows,
    which are drawn with equal chances. With groups (their numbers), these are drawn.
    """
    counted = weights > 0
    present = weights[counted]
    if groups is not None:
        known, numbers = np.unique(groups[counted], return_inverse=True)
        times = rng.multinomial(len(known), np.full(len(known), 1.0 / len(known)))
        resampled = np.zeros(len(weights))
        resampled[counted] = times[numbers] * present
        return resampled
    whole = bool((present == np.round(present)).all())
    chances = present if whole else np.ones(len(present))
    drawn = rng.multinomial(round(chances.sum()), chances / chances.sum())
    resampled = np.zeros(len(weights))
    resampled[counted] = drawn if whole else drawn * present
    return resampled


def best_jaccard(first: BoolArray, second: BoolArray, weights: FloatArray | None) -> FloatArray:
    """Return for each rule of ``first`` its best Jaccard index with those of ``second``.

    These count as what they cover or as what they do not, whichever fits better.

    Parameters
    ----------
    first, second : (n_rules, n_rows) bool, where rules hold
    weights : (n_rows,) float64, or None for equal weights
    """
    if len(second) == 0:
        return np.zeros(len(first))
    total = float(first.shape[1] if weights is None else weights.sum())
    every = np.ones((1, first.shape[1]), np.bool_)
    both = common_mass(first, second, weights)
    mine, theirs = common_mass(first, every, weights), common_mass(every, second, weights)
    straight = jaccard(both, mine, theirs, total)
    turned = jaccard(mine - both, mine, total - theirs, total)
    return np.asarray(np.maximum(straight, turned).max(axis=1))


def spawn_seeds(random_state: Any, n_seeds: int) -> list[np.random.SeedSequence]:
    """Return seeds that do not depend on the order of their use."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.SeedSequence(seed).spawn(n_seeds)


@contextmanager
def interruptible_threads(
    n_threads: int,
) -> Iterator[Callable[[Callable[[Item], Answer], Iterable[Item]], Iterator[Answer]]]:
    """Give a ``map`` over threads that an interrupt or an error leaves at once.

    Work goes on in threads even if there is one of them, because a fit in the main thread would
    take an interrupt for itself and end with the best model so far.
    """
    pool = ThreadPoolExecutor(n_threads)
    try:
        yield pool.map
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
