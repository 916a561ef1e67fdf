"""Candidates for pursuit: the rules with the largest gain for their complexity (design, section 6).

All rules of degree 1 and 2 are searched from joint histograms of both derivatives of the loss, on
request all of degree 3 too; deeper ones extend the best of these by one condition after the other.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ruleglm import kernels
from ruleglm.binning import BinRule
from ruleglm.bins import FeatureBins, NumberBins
from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE, MAX_BINS, CodeArray, FloatArray, IntArray
from ruleglm.engines.base import Engine, JointHistograms, RowVector
from ruleglm.ensemble import DEGREE_WEIGHT
from ruleglm.pricing.bans import Bans
from ruleglm.pricing.histogram import share
from ruleglm.pricing.problem import Limits
from ruleglm.pricing.vocabulary import ConditionTable

VECTORS: tuple[RowVector, ...] = ("gradient", "hessian")

N_EXTENDED = 12
"""Rules that are tried with one more condition in each round of extension."""

N_HOT = 24
"""Pairs of features searched on all their bins: those with the largest gains on coarse bins."""

N_COARSE = 16
"""Coarse bins of a number, to choose pairs of features by."""

DIGITS = 6
"""Digits of what a rule is worth that count; the rest is rounding, and must decide nothing."""

LUCK = 0.5
"""Share of the luck of the longer search that is taken off."""

MAX_CELLS = 1 << 22
"""Cells of the histograms that are held at one time: 32 MB."""


@dataclass(frozen=True)
class Candidate:
    """A rule and what it would give: twice the decrease of the mean loss, the others held."""

    rule: BinRule
    degree: int
    gain: float


def round_off(value: float) -> float:
    """Leave out the digits that are rounding."""
    return float(f"{value:.{DIGITS}g}")


def rule_cost(degree: int) -> float:
    """Return what a rule adds to the complexity."""
    return 1.0 + DEGREE_WEIGHT * degree


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
    """

    def __init__(
        self,
        table: ConditionTable,
        max_degree: int,
        ridge: float,
        *,
        exhaustive: bool = False,
        bans: Bans | None = None,
    ) -> None:
        self.table = table
        self._bans = bans
        self._passed_over: dict[BinRule, None] = {}
        self._max_degree = max_degree
        self.ridge = self._first_ridge = ridge
        self._exhaustive = exhaustive
        self._pairs = _tuples(table, 2)[: None if max_degree > 1 else 0]
        self._hot = self._pairs
        features_coarse, self.lookup = coarsen(table.features)
        self._coarse = ConditionTable(features_coarse, table.constraints)
        self._luck = _luck_by_degree(len(table.lo) // 2, max_degree)

    def prepare(self, engine: Engine) -> None:
        """Get to know an engine that stands at the empty model.

        It is given the coarse bins, if there are more pairs than are searched on all bins.
        """
        if len(self._pairs) > N_HOT:
            engine.set_coarse(self.lookup, self._coarse.n_bins)

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
        return (gain - self._luck[degree] * noise) / rule_cost(degree)

    def luck(self, degree: int) -> float:
        """Return what is taken off the gain of a rule, in units of noise."""
        return self._luck[min(degree, len(self._luck) - 1)]

    # --- rules outside the model

    def price(
        self, engine: Engine, noise: float, n_rules: int, limits: Limits, *, full: bool
    ) -> list[Candidate]:
        """Return candidates for addition, best first.

        Parameters
        ----------
        engine : Engine, standing at the model
        noise : float, see `worth`
        n_rules : int, the most to return
        limits : Limits
        full : bool, whether all pairs of features are searched, or those that were best last time
        """
        total = engine.hessian_sum()
        found: dict[BinRule, Candidate] = {}
        self._passed_over = {}
        _offer(found, self._price_features(engine, total))
        if len(self._pairs):
            _offer(found, self._price_pairs(engine, total, full))
        if self._exhaustive and self._max_degree > 2 and full:
            _offer(found, self._price_triples(engine, total, n_rules, limits))
        if self._passed_over:
            _offer(found, list(self._replace_banned(engine, noise, total)))

        def rank(candidate: Candidate) -> tuple[float, BinRule]:
            worth = self.worth(candidate.gain, candidate.degree, noise)
            return -round_off(worth), candidate.rule

        best = sorted(found.values(), key=rank)[:N_EXTENDED]
        while best and not limits.over():
            longer = self._extend(engine, best, noise, total)
            _offer(found, longer)
            best = longer
        return sorted(found.values(), key=rank)[:n_rules]

    def _price_features(self, engine: Engine, total: float) -> Iterator[Candidate]:
        """Return the best condition of degree 1 and of degree 2 of each feature."""
        table = self.table
        if len(table.splitting) == 0:
            return
        histograms = engine.joint_histograms(table.splitting, VECTORS)
        for position, feature in enumerate(table.splitting[:, 0].tolist()):
            lines = [histograms.cube(position, v) for v in range(2)]
            size, top = int(table.n_bins[feature]), int(table.top[feature])
            slopes, curves = (np.cumsum(line) if top >= 0 else line for line in lines)
            axis = slopes, curves, size, top, 1.0 / total, self.ridge
            way = int(table.way[feature])
            code = kernels.locate_gain(*axis, 0, way)
            gain = kernels.scan_signed_gains(*axis, 0, way) if way else kernels.scan_gains(*axis)
            yield from self._make([(feature, table.coded_mask(feature, code))], gain)
            bins = np.zeros(2, INDEX_DTYPE)
            gain = kernels.scan_second_gains(*axis, 0, 0.0, bins)
            if self._max_degree > 1 and gain > 0.0 and way == 0:
                mask = table.second_degree_mask(feature, *bins.tolist())
                yield from self._make([(feature, mask)], gain)

    def _make(self, conditions: Sequence[tuple[int, int]], gain: float) -> Iterator[Candidate]:
        """Give a candidate, if the conditions gain and make a rule of an allowed degree."""
        made = self.table.make_rule(conditions) if gain > 0.0 else None
        if made is None or made[1] > self._max_degree:
            return
        if self._bans is not None and self._bans.forbid(made[0]):
            self._passed_over[made[0]] = None
            return
        yield Candidate(*made, float(gain))

    def _replace_banned(self, engine: Engine, noise: float, total: float) -> Iterator[Candidate]:
        """Return the best allowed rule on the features of each banned one that was met."""
        if self._bans is None:
            return
        for rule in {tuple(f for f, _ in rule): rule for rule in self._passed_over}.values():
            others = self._bans.replace(engine, rule, VECTORS, self._max_degree)
            if others is None or len(others.degrees) == 0:
                continue
            slopes, curves = others.sums
            gains = slopes**2 / (curves - curves**2 / total + self.ridge)
            luck = np.array([self.luck(degree) for degree in others.degrees.tolist()])
            worth = (gains - luck * noise) / (1.0 + DEGREE_WEIGHT * others.degrees)
            k = int(np.argmax(np.round(worth / max(np.abs(worth).max(), 1e-300), DIGITS)))
            yield from self._make(others.conditions(k), gains[k])

    def _price_pairs(self, engine: Engine, total: float, full: bool) -> Iterator[Candidate]:
        """Return the best rule of each of the pairs of features that look best on coarse bins."""
        if full and len(self._pairs) > N_HOT and not self._exhaustive:
            scores = [best[:, 0] for _, best, _ in self._score_pairs(engine, total, coarse=True)]
            order = np.argsort(-np.concatenate(scores), kind="stable")[:N_HOT]
            self._hot = self._pairs[np.sort(order)]
        for part, best, where in self._score_pairs(engine, total, coarse=False):
            for t, kind in np.argwhere(best > 0.0).tolist():
                conditions = self._pair_conditions(part[t].tolist(), kind, where[t, kind])
                yield from self._make(conditions, best[t, kind])

    def _score_pairs(
        self, engine: Engine, total: float, *, coarse: bool
    ) -> Iterator[tuple[IntArray, FloatArray, IntArray]]:
        """Score all pairs on coarse bins, or the chosen ones on fine bins."""
        table = self._coarse if coarse else self.table
        deep = self._exhaustive and self._max_degree > 2 and not coarse
        for part in _batches(self._pairs if coarse else self._hot, table.n_bins):
            histograms = engine.joint_histograms(part, VECTORS, coarse=coarse)
            best = np.zeros((len(part), 3))
            where = np.zeros((len(part), 3, 3), INDEX_DTYPE)
            score_tuples(
                engine,
                kernels.gain_pairs,
                histograms,
                table,
                (total, self.ridge, deep),
                best,
                where,
            )
            yield part, best, where

    def _pair_conditions(
        self, pair: list[int], kind: int, where: IntArray
    ) -> list[tuple[int, int]]:
        f, g = pair if kind < 2 else pair[::-1]
        c, a, b = where.tolist()
        if kind == 0:
            return [(f, self.table.masks[c]), (g, self.table.coded_mask(g, a))]
        return [(f, self.table.masks[c]), (g, self.table.second_degree_mask(g, a, b))]

    def _price_triples(
        self, engine: Engine, total: float, n_rules: int, limits: Limits
    ) -> Iterator[Candidate]:
        table = self.table
        for part in _batches(_tuples(table, 3), table.n_bins):
            if limits.over():
                return
            histograms = engine.joint_histograms(part, VECTORS)
            best, where = np.empty(len(part)), np.zeros((len(part), 3), INDEX_DTYPE)
            score_tuples(
                engine, kernels.gain_triples, histograms, table, (total, self.ridge), best, where
            )
            for t in np.argsort(-best, kind="stable")[:n_rules].tolist():
                f, g, h = part[t].tolist()
                c, d, code = where[t].tolist()
                masks = table.masks[c], table.masks[d], table.coded_mask(h, code)
                yield from self._make(list(zip((f, g, h), masks, strict=True)), best[t])

    def _extend(
        self, engine: Engine, candidates: list[Candidate], noise: float, total: float
    ) -> list[Candidate]:
        """Return the best extensions of candidates that are worth more than what they extend."""
        bases = [one for one in candidates if one.degree < self._max_degree]
        if not bases:
            return []
        wanted = np.array([self.table.partners(one.rule) for one in bases])
        histograms = engine.histograms_within([one.rule for one in bases], VECTORS, wanted)
        longer = self.best_within([one.rule for one in bases], histograms, total)
        return [
            new
            for old, new in zip(bases, longer, strict=True)
            if new is not None
            and self.worth(new.gain, new.degree, noise) > self.worth(old.gain, old.degree, noise)
        ]

    def best_within(
        self, bases: Sequence[BinRule], histograms: FloatArray, total: float
    ) -> list[Candidate | None]:
        """Return the best rule that adds one condition to each base."""
        table = self.table
        starts = np.concatenate([[0], np.cumsum(table.n_bins)])
        best = np.empty((len(bases), len(table.n_bins)))
        where = np.zeros(best.shape, INDEX_DTYPE)
        wants = np.array([table.rule_sign(base) for base in bases], INDEX_DTYPE)
        kernels.gain_lines(
            *(histograms, starts, table.n_bins, table.top, table.way, wants),
            *(total, self.ridge, best, where),
        )
        return [
            self._best_allowed(base, gains, codes)
            for base, gains, codes in zip(bases, best, where, strict=True)
        ]

    def _best_allowed(self, base: BinRule, gains: FloatArray, codes: IntArray) -> Candidate | None:
        """Return the best of the extensions of a base, one a feature, that is not banned."""
        order = [int(np.argmax(gains))]
        if self._bans is not None:
            order = np.argsort(-gains, kind="stable").tolist()
        for feature in order:
            conditions = [*base, (feature, self.table.coded_mask(feature, int(codes[feature])))]
            made = None if self._bans is None else self.table.make_rule(conditions)
            if self._bans is None or made is None or not self._bans.forbid(made[0]):
                return next(self._make(conditions, gains[feature]), None)
        return None


def _luck_by_degree(n_conditions: int, max_degree: int) -> list[float]:
    """Return how much more, in units of noise, the best of all rules of a degree has by chance."""
    log_one = math.log(max(2, n_conditions))
    luck = [2 * (d * log_one - math.lgamma(d + 1)) for d in range(max_degree + 2)]
    return [LUCK * max(0.0, value - luck[1]) for value in luck]


def _tuples(table: ConditionTable, order: int) -> IntArray:
    sets = list(table.tuples(table.splitting[:, 0].tolist(), order))
    return np.array(sets, INDEX_DTYPE).reshape(-1, order)


def _batches(tuples: IntArray, n_bins: IntArray) -> Iterator[IntArray]:
    """Cut tuples so that the histograms of two vectors have about `MAX_CELLS` cells at a time."""
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

    share(engine, score, len(best), 16 * histograms.values.size)


def coarsen(features: Sequence[FeatureBins]) -> tuple[tuple[FeatureBins, ...], CodeArray]:
    """Join neighbouring bins of numbers until there are about `N_COARSE`; levels stay as they are.

    Returns
    -------
    features : tuple of FeatureBins
    lookup : (n_features, MAX_BINS) uint8, the coarse bin of each bin
    """
    lookup = np.tile(np.arange(MAX_BINS, dtype=CODE_DTYPE), (len(features), 1))
    coarse: list[FeatureBins] = []
    for bins, table in zip(features, lookup, strict=True):
        if not isinstance(bins, NumberBins) or len(bins.thresholds) < N_COARSE:
            coarse.append(bins)
            continue
        kept = np.linspace(0, len(bins.thresholds), N_COARSE + 1)[1:-1].astype(INDEX_DTYPE) - 1
        table[: bins.missing_bin] = np.searchsorted(kept, np.arange(bins.missing_bin))
        table[bins.missing_bin :] = len(kept) + 1
        seen = {int(table[b]) for b in range(bins.n_bins) if bins.observed >> b & 1}
        thresholds = tuple(bins.thresholds[k] for k in kept)
        coarse.append(NumberBins(bins.name, thresholds, sum(1 << b for b in seen)))
    return tuple(coarse), lookup


def _offer(found: dict[BinRule, Candidate], candidates: Iterable[Candidate]) -> None:
    """Keep the candidate with the largest gain of each rule."""
    for one in candidates:
        if one.rule not in found or one.gain > found[one.rule].gain:
            found[one.rule] = one
