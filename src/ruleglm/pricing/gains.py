"""Candidates for pursuit: the rules with the largest gain for their complexity (design, section 6).

All rules of degree 1 are searched from histograms of both derivatives of the loss, all of degree 2
from joint ones, on coarse bins where there are many pairs and of the most promising features where
there are very many, and on request all of degree 3; deeper ones extend the best of these by one
condition after the other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from ruleglm import kernels
from ruleglm.binning import BinRule
from ruleglm.dtypes import (
    INDEX_DTYPE,
    BoolArray,
    FloatArray,
    IntArray,
)
from ruleglm.engines.base import BOTH, Engine, JointHistograms
from ruleglm.engines.filling import MOST_PAIRED
from ruleglm.pricing.bans import Bans
from ruleglm.pricing.coarse import CoarseBins
from ruleglm.pricing.extension import extend_all
from ruleglm.pricing.problem import Limits
from ruleglm.pricing.vocabulary import ConditionTable
from ruleglm.pricing.worth import Candidate, luck_by_degree, relative, rule_cost, rule_costs

Conditions: TypeAlias = list[tuple[int, int]]
"""Features and their bins."""

N_EXTENDED = 12
"""Rules, by default, that are tried with one more condition in each round of extension."""

N_HOT = 24
"""Pairs that are searched between two searches of all, which up to so many are on all bins."""

MAX_CELLS = 1 << 22
"""Cells of the histograms that are held at one time: 32 MB."""


@dataclass(frozen=True)
class Scored:
    """Rules by their gains, which are made of conditions only if they are chosen.

    Attributes
    ----------
    gains : (n,) float64
    degrees : (n,) int64
    conditions : callable, gives the conditions of the k-th
    """

    gains: FloatArray
    degrees: IntArray
    conditions: Callable[[int], Conditions]


class GainPricer:
    """Searches rules by their score statistic.

    Parameters
    ----------
    table : ConditionTable
    max_degree : int
    ridge : float, on the mean loss; it keeps rules of few rows from looking good by chance
    exhaustive : bool, whether all pairs are searched on all bins, and all rules of degree 3 with at
        most two conditions on a feature, or only the best pairs and extensions of the best rules
    bans : Bans, optional
    n_extended : int, how many rules are tried with one more condition
    """

    def __init__(
        self,
        table: ConditionTable,
        max_degree: int,
        ridge: float,
        *,
        exhaustive: bool = False,
        bans: Bans | None = None,
        n_extended: int = N_EXTENDED,
    ) -> None:
        self.table = table
        self._make_rule = cache(table.make_rule)  # the same ones are found round after round
        self._n_extended = n_extended
        self.bans = bans
        self._passed_over: dict[BinRule, None] = {}
        self.max_degree = max_degree
        self.ridge = self._first_ridge = ridge
        self._exhaustive = exhaustive
        self._n_paired = len(table.splitting) if exhaustive else MOST_PAIRED
        self._pairs = self._hot = self._pair_features(np.zeros(len(table.splitting)))
        self._coarse = CoarseBins(table)
        self._starts = np.concatenate([[0], np.cumsum(table.n_bins)])
        self._luck = luck_by_degree(len(table.lo) // 2, max_degree)
        self._lucks = np.array(self._luck)

    def prepare(self, engine: Engine) -> None:
        """Get to know an engine that stands at the empty model.

        It is given the coarse bins, if there are more pairs than are searched on all bins.
        """
        if len(self._pairs) > N_HOT:
            engine.set_coarse(self._coarse.lookup, self._coarse.table.n_bins)

    def scale_ridge(self, share: float) -> None:
        """Set the ridge to a share, at most all, of what it was at first."""
        self.ridge = self._first_ridge * min(1.0, share)

    # --- what a rule is worth

    def worth(self, gain: float, degree: int, noise: float) -> float:
        """Return the gain per unit of complexity, less what the longer search gives by chance.

        The best of many rules without effect has a gain of about ``2 log(their number)`` times
        ``noise``, the gain expected of one; rules of degree ``d`` are as many as the ``d``-th
        power of the conditions.
        """
        return (gain - self.luck(degree) * noise) / rule_cost(degree)

    def luck(self, degree: int) -> float:
        """Return what is taken off the gain of a rule, in units of noise."""
        return self._luck[min(degree, len(self._luck) - 1)]

    def lucks(self, degrees: Sequence[int] | IntArray) -> FloatArray:
        """Return what is taken off the gain of each of some rules, in units of noise."""
        return self._lucks[np.minimum(np.asarray(degrees, INDEX_DTYPE), len(self._lucks) - 1)]

    def worths(self, gains: FloatArray, degrees: IntArray, noise: float) -> FloatArray:
        """Return what many rules are worth, see `worth`."""
        values: FloatArray = (gains - self.lucks(degrees) * noise) / rule_costs(degrees)
        return values

    # --- rules outside the model

    def price(
        self,
        engine: Engine,
        noise: float,
        n_rules: int,
        limits: Limits,
        *,
        full: bool,
        n_extended: int | None = None,
    ) -> list[Candidate]:
        """Return candidates for addition, best first.

        Parameters
        ----------
        engine : Engine, standing at the model
        noise : float, see `worth`
        n_rules : int, the most to return
        limits : Limits
        full : bool, whether all pairs of features are searched, or those that were best last time
        n_extended : int, optional, how many rules are tried with one more condition, if that is
            less than by default
        """
        total = engine.hessian_sum()
        self._passed_over = {}
        scored = list(self._score_all(engine, total, limits, full=full))
        found: dict[BinRule, Candidate] = {}
        n_extended = min(self._n_extended, n_extended or self._n_extended)
        _offer(found, self._choose(scored, noise, max(n_rules, n_extended)))
        best = list(found.values())
        if self._passed_over:
            _offer(found, list(self._replace_banned(engine, noise, total)))
            best = self._rank(found.values(), noise)
        extend_all(self, engine, found, best[:n_extended], noise, limits)
        return self._rank(found.values(), noise)[:n_rules]

    def _rank(self, candidates: Iterable[Candidate], noise: float) -> list[Candidate]:
        """Return candidates by what they are worth, those worth the same by their rules."""
        every = list(candidates)
        gains = np.array([one.gain for one in every], np.float64)
        degrees = np.array([one.degree for one in every], INDEX_DTYPE)
        worth = relative(self.worths(gains, degrees, noise)).tolist()
        ranked = sorted(zip(worth, every, strict=True), key=lambda one: (-one[0], one[1].rule))
        return [one for _, one in ranked]

    def _score_all(
        self, engine: Engine, total: float, limits: Limits, *, full: bool
    ) -> Iterator[Scored]:
        """Score all rules that are searched."""
        n_features = len(self.table.splitting)
        if n_features:
            alone = list(self._score_features(engine, total))
            yield from alone
            if full and n_features > self._n_paired:
                self._pairs = self._pair_features(alone[0].gains)
        if self._exhaustive or len(self._pairs) <= N_HOT:
            yield from self._score_pairs(engine, total, self._pairs)
        else:
            yield from self._score_hot_pairs(engine, total, full=full)
        if self._exhaustive and self.max_degree > 2 and full:
            yield from self._score_triples(engine, total, limits)

    def _pair_features(self, gains: FloatArray) -> IntArray:
        """Return all pairs of features, of too many the pairs of those with the largest gains."""
        features = self.table.splitting[:, 0]
        if len(features) > self._n_paired:
            best = np.argsort(-relative(gains), kind="stable")[: self._n_paired]
            features = np.sort(features[best])
        return _tuples(self.table, 2, features)[: None if self.max_degree > 1 else 0]

    def _choose(self, scored: Sequence[Scored], noise: float, n_rules: int) -> Iterator[Candidate]:
        """Give the rules that are worth most, best first."""
        if not scored:
            return
        gains = np.concatenate([one.gains for one in scored])
        degrees = np.concatenate([one.degrees for one in scored])
        worth = relative(self.worths(gains, degrees, noise))
        order = np.argsort(-worth, kind="stable")
        order = order[gains[order] > 0.0]
        starts = np.cumsum([0, *(len(one.gains) for one in scored)])
        which = np.searchsorted(starts, order, "right") - 1
        n_made = 0
        for source, k in zip(which.tolist(), order.tolist(), strict=True):
            if n_made == n_rules:
                return
            conditions = scored[source].conditions(k - int(starts[source]))
            made = self._make(conditions, float(gains[k]))
            if made is not None:  # conditions that hold everywhere make no rule
                n_made += 1
                yield made

    def _score_features(self, engine: Engine, total: float) -> Iterator[Scored]:
        """Score the best condition of degree 1 and of degree 2 of each feature."""
        table, features = self.table, self.table.splitting[:, 0]
        histograms = engine.joint_histograms(table.splitting, BOTH)
        axes = histograms.starts, table.n_bins[features], table.top[features], table.way[features]
        best, where = np.empty((1, len(features))), np.zeros((1, len(features)), INDEX_DTYPE)
        kernels.gain_lines(
            *(histograms.values[None], np.zeros((1, 2), INDEX_DTYPE), np.zeros((1, 2))),
            *(np.ones((1, len(features)), np.bool_), *axes, np.zeros(1, INDEX_DTYPE)),
            *(total, self.ridge, True, best, where),
        )

        def of_one(k: int) -> Conditions:
            feature = int(features[k])
            return [(feature, table.coded_mask(feature, int(where[0, k])))]

        yield Scored(best[0], np.ones(len(features), INDEX_DTYPE), of_one)
        if self.max_degree == 1:
            return
        gains, bins = np.empty(len(features)), np.zeros((len(features), 2), INDEX_DTYPE)
        kernels.gain_spans(histograms.values, *axes, total, self.ridge, gains, bins)

        def of_two(k: int) -> Conditions:
            feature = int(features[k])
            return [(feature, table.second_degree_mask(feature, *bins[k].tolist()))]

        yield Scored(gains, np.full(len(features), 2, INDEX_DTYPE), of_two)

    def _make(self, conditions: Sequence[tuple[int, int]], gain: float) -> Candidate | None:
        """Return a candidate, if the conditions gain and make a rule of an allowed degree."""
        return self.allow(self._make_rule(tuple(conditions)), gain) if gain > 0.0 else None

    def allow(self, made: tuple[BinRule, int] | None, gain: float) -> Candidate | None:
        """Return a rule with its degree as a candidate, if there is one and it is allowed."""
        if made is None or made[1] > self.max_degree:
            return None
        if self.bans is not None and self.bans.forbid(made[0]):
            self._passed_over[made[0]] = None
            return None
        return Candidate(*made, gain)

    def _replace_banned(self, engine: Engine, noise: float, total: float) -> Iterator[Candidate]:
        """Return the best allowed rule on the features of each banned one that was met."""
        if self.bans is None:
            return
        for rule in {tuple(f for f, _ in rule): rule for rule in self._passed_over}.values():
            others = self.bans.replace(engine, rule, BOTH, self.max_degree)
            if others is None or len(others.degrees) == 0:
                continue
            slopes, curves = others.sums
            gains = slopes**2 / (curves - curves**2 / total + self.ridge)
            worth = self.worths(gains, others.degrees, noise)
            k = int(np.argmax(relative(worth)))
            made = self._make(others.conditions(k), float(gains[k]))
            if made is not None:
                yield made

    def _score_pairs(self, engine: Engine, total: float, pairs: IntArray) -> Iterator[Scored]:
        """Score the best rules of each pair of features on all bins and rows."""
        degrees = np.array([2, 3, 3], INDEX_DTYPE)
        deep = self._exhaustive and self.max_degree > 2
        for part in _batches(pairs, self.table.n_bins):
            best, where = self._score_tuples(engine, total, part, deep=deep)

            def conditions(k: int, part: IntArray = part, where: IntArray = where) -> Conditions:
                t, kind = divmod(k, 3)
                return self._pair_conditions(part[t].tolist(), kind, where[t, kind])

            yield Scored(best.ravel(), np.tile(degrees, len(part)), conditions)

    def _score_hot_pairs(self, engine: Engine, total: float, *, full: bool) -> Iterator[Scored]:
        """Score the best rules of the pairs of features that are best on coarse bins.

        Where the coarse bins are of a sample, it only says which pairs are worth a look: the best
        of many gains on a sample are best by luck, and on all rows there may be nothing in them.
        """
        if full or not engine.sampled:
            scored = self._score_coarse_pairs(engine, total, self._pairs if full else self._hot)
            if not engine.sampled:
                yield scored
                return
        yield from self._score_pairs(engine, total, self._hot)

    def _score_coarse_pairs(self, engine: Engine, total: float, pairs: IntArray) -> Scored:
        """Score the best rule of each pair of features on coarse bins, and keep the best pairs.

        Polishing refines the rules.
        """
        found = [
            self._score_tuples(engine, total, part, coarse=True, n_kept=N_HOT)
            for part in _batches(pairs, self._coarse.table.n_bins)
        ]
        bests, wheres = (np.concatenate(parts) for parts in zip(*found, strict=True))
        kept = np.sort(np.argsort(-bests[:, 0], kind="stable")[:N_HOT])
        self._hot = pairs[kept]
        features, places = self._hot.tolist(), wheres[kept, 0].tolist()
        coarse = self._coarse

        def conditions(k: int) -> Conditions:
            (f, g), (c, code, _) = features[k], places[k]
            return [
                (f, coarse.fine_mask(f, coarse.table.masks[c])),
                (g, coarse.coded_mask(g, code)),
            ]

        return Scored(bests[kept, 0], np.full(len(kept), 2, INDEX_DTYPE), conditions)

    def _score_tuples(
        self,
        engine: Engine,
        total: float,
        pairs: IntArray,
        *,
        deep: bool = False,
        coarse: bool = False,
        n_kept: int = 0,
    ) -> tuple[FloatArray, IntArray]:
        """Return the gains of the best rules of each pair, and where these are.

        With ``n_kept``, those of pairs that so many others exceed may be 0.
        """
        table = self._coarse.table if coarse else self.table
        histograms = engine.joint_histograms(pairs, BOTH, coarse=coarse)
        best = np.zeros((len(pairs), 3))
        where = np.zeros((len(pairs), 3, 3), INDEX_DTYPE)
        score_tuples(
            *(engine, kernels.gain_pairs, histograms, table, (total, self.ridge, deep, n_kept)),
            *(best, where),
        )
        return best, where

    def _pair_conditions(self, pair: list[int], kind: int, where: IntArray) -> Conditions:
        f, g = pair if kind < 2 else pair[::-1]
        c, a, b = where.tolist()
        if kind == 0:
            return [(f, self.table.masks[c]), (g, self.table.coded_mask(g, a))]
        return [(f, self.table.masks[c]), (g, self.table.second_degree_mask(g, a, b))]

    def _score_triples(self, engine: Engine, total: float, limits: Limits) -> Iterator[Scored]:
        table = self.table
        for part in _batches(_tuples(table, 3, table.splitting[:, 0]), table.n_bins):
            if limits.over():
                return
            histograms = engine.joint_histograms(part, BOTH)
            best, where = np.empty(len(part)), np.zeros((len(part), 3), INDEX_DTYPE)
            score_tuples(
                engine, kernels.gain_triples, histograms, table, (total, self.ridge), best, where
            )

            def conditions(t: int, part: IntArray = part, where: IntArray = where) -> Conditions:
                f, g, h = part[t].tolist()
                c, d, code = where[t].tolist()
                return [(f, table.masks[c]), (g, table.masks[d]), (h, table.coded_mask(h, code))]

            yield Scored(best, np.full(len(part), 3, INDEX_DTYPE), conditions)

    def scan_within(
        self,
        bases: Sequence[BinRule],
        histograms: FloatArray,
        tried: BoolArray,
        total: float,
        at: IntArray | None = None,
        gone: FloatArray | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """Return the best gain of adding a condition on each feature to each base, and its code.

        Without bans, only the code of a base's best feature is there. See `kernels.gain_lines`;
        by default each base has a histogram, and no rule has left the model.
        """
        table, n = self.table, len(bases)
        best, where = np.empty(tried.shape), np.zeros(tried.shape, INDEX_DTYPE)
        if at is None or gone is None:
            at, gone = np.repeat(np.arange(n), 2).reshape(n, 2), np.zeros((n, 2))
        kernels.gain_lines(
            *(histograms, at, gone, tried, self._starts, table.n_bins, table.top, table.way),
            *(table.rule_signs(bases), total, self.ridge, self.bans is not None, best, where),
        )
        return best, where

    def best_allowed(
        self, base: BinRule, degree: int, best: int, gains: FloatArray, codes: IntArray
    ) -> Candidate | None:
        """Return the best of the extensions of a base, one a feature, that is not banned.

        ``degree`` is that of the base, ``best`` the feature of the best one.
        """
        every = [best] if self.bans is None else np.argsort(-gains, kind="stable").tolist()
        for feature in every:
            mask = self.table.coded_mask(feature, int(codes[feature]))
            made = self.table.extend_rule(base, degree, feature, mask)
            if self.bans is None or made is None or not self.bans.forbid(made[0]):
                gain = float(gains[feature])
                return self.allow(made, gain) if gain > 0.0 else None
        return None


def _tuples(table: ConditionTable, order: int, features: IntArray) -> IntArray:
    sets = list(table.tuples(features.tolist(), order))
    return np.array(sets, INDEX_DTYPE).reshape(-1, order)


def _batches(tuples: IntArray, n_bins: IntArray) -> Iterator[IntArray]:
    """Cut tuples so that the histograms of two vectors have about `MAX_CELLS` cells at a time."""
    if 2 * len(tuples) * int(n_bins.max(initial=1)) ** tuples.shape[1] <= MAX_CELLS:
        yield from (tuples,) if len(tuples) else ()
        return
    ends = np.cumsum(np.prod(n_bins[tuples], axis=1))
    limits = np.flatnonzero(np.diff(2 * ends // MAX_CELLS)) + 1
    yield from (part for part in np.split(tuples, limits) if len(part))


def score_tuples(
    engine: Engine,
    kernel: Callable[..., None],
    histograms: JointHistograms,
    table: ConditionTable,
    extra: tuple[float, ...],
    best: FloatArray,
    where: IntArray,
) -> None:
    """Run a kernel over tuples of features, in parts for the engine's threads."""

    def score(part: slice) -> None:
        starts = histograms.starts[part.start : part.stop + 1]
        kernel(
            histograms.values,
            starts,
            histograms.tuples[part],
            *table.arrays,
            *extra,
            best[part],
            where[part],
        )

    engine.workers.share(score, len(best), 3 * histograms.values.size)


def _offer(found: dict[BinRule, Candidate], candidates: Iterable[Candidate]) -> None:
    """Keep the candidate with the largest gain of each rule."""
    for one in candidates:
        if one.rule not in found or one.gain > found[one.rule].gain:
            found[one.rule] = one
