"""Exact pricing from joint histograms (design, section 3).

All rules of degree 1 come from one histogram a feature, those of degree 2 from one a pair of
features, those of degree 3 from one a triple; deeper rules from a branch and bound search that
starts where these end.
"""

import math
from collections.abc import Callable, Container, Iterable, Iterator

import numpy as np

from ruleglm import kernels
from ruleglm.binning import BinRule
from ruleglm.dtypes import INDEX_DTYPE, FloatArray, IntArray
from ruleglm.engines.base import Engine, JointHistograms, RowVector
from ruleglm.pricing.bans import Bans
from ruleglm.pricing.deep import search_deep
from ruleglm.pricing.found import DIGITS, Found
from ruleglm.pricing.problem import Limits, Penalty, PricingResult, describe_class
from ruleglm.pricing.vocabulary import ConditionTable

MAX_CELLS = 1 << 22
"""Cells of the histograms that are held at one time: 32 MB."""

MAX_TUPLES = 4096
"""Tuples of features in one batch."""

HEAVY = 2_000_000_000
"""Additions for one search of a degree, above which the first one waits until it is needed."""

WORTH = 0.5
"""Share of the violation that the last search of pairs found, above which single features will do.
"""

SHARE = 0.1
"""Share of the violation that the last search of all triples found, above which some will do."""

HOT = 8
"""One in so many triples, those with the best rules in the last full search, goes first."""

LEAST_HOT = 120
"""The fewest triples that go first; twice as many or fewer are all searched each time."""

FEW, N_KIN = 3, 15
"""One in so many of the rules to return is few, and so many more of each set of features follow."""

MAX_KIN = 1 << 18
"""Rules that are looked at then."""

SIGNS = np.array([1.0, -1.0])
"""Of the largest and the smallest sums; those of the other sign, or infinite, are of no use."""


class HistogramPricer:
    """Searches every rule up to a degree.

    Parameters
    ----------
    table : ConditionTable
    max_degree : int or None, None for rules of any degree
    staged : bool, whether to stop at the order of histograms, or at the triples that were best last
        time, that still find rules worth a round
    n_rules : int, the most rules to return, at most one of each sign and set of features
    bans : Bans, optional, rules that do not count in the bound, if they are of degree 1 or 2, or of
        degree 3 on three features
    """

    def __init__(
        self,
        table: ConditionTable,
        max_degree: int | None,
        *,
        staged: bool,
        n_rules: int,
        bans: Bans | None = None,
    ) -> None:
        self._table = table
        self._bans = bans
        self._kin = Bans(table, ()) if bans is None else bans
        self._max_degree = max_degree
        self._staged = staged
        self._n_rules = n_rules
        self._first = True
        self._last: dict[int, float] = {}
        self._hot = np.empty((0, 3), INDEX_DTYPE)

    @property
    def knows_bans(self) -> bool:
        """Whether no banned rule counts in the bound."""
        return self._max_degree is not None and self._max_degree <= 2

    def describe(self) -> str:
        """Return the class of rules searched, in words."""
        return describe_class(self._max_degree, self._table.constraints)

    def price(
        self, engine: Engine, penalty: Penalty, held: Container[BinRule], limits: Limits
    ) -> PricingResult:
        """Return the best rules of each set of features, and the best value of all."""
        found = Found(penalty, held)
        masses = self._price_features(engine, found)
        complete = True
        for degree in (2, 3):
            if complete and self._reaches(degree) and self._needs(engine, found, degree):
                complete = self._price_tuples(engine, found, masses, degree, limits)
                self._last[degree] = found.ratio
            elif self._reaches(degree):
                found.leave(degree, float(masses.max(initial=0.0)))
                complete = False
        if self._reaches(4):
            deep = complete and self._needs(engine, found, 4)
            complete = deep and search_deep(engine, found, self._table, self._max_degree, limits)
            if not deep:
                found.leave(4, float(masses.max(initial=0.0)))
        self._first = False
        if 0 < found.n_rules <= self._n_rules // FEW:
            self._offer_kin(engine, found)
        return found.result(self._n_rules, complete)

    def _reaches(self, degree: int) -> bool:
        return self._max_degree is None or self._max_degree >= degree

    def _needs(self, engine: Engine, found: Found, degree: int) -> bool:
        """Tell whether rules of this degree have to be searched.

        They need not if lower degrees, or the triples that were best last time, give rules that
        are worth a round.
        """
        if not self._staged:
            return True
        if self._suffices(engine, found, degree):
            return False
        if degree != 3 or not len(self._hot):
            return True
        for tuples in self._batches(map(tuple, self._hot.tolist())):
            self._score_triples(engine, found, engine.joint_histograms(tuples))
        return not (found.improves and found.ratio - 1.0 > SHARE * (self._last[3] - 1.0))

    def _suffices(self, engine: Engine, found: Found, degree: int) -> bool:
        """Tell whether what was found is worth a round before this degree is searched."""
        if not found.improves:
            return False
        if degree > 3 or (degree == 3 and self._first and found.n_rules >= self._n_rules):
            return True
        if degree not in self._last:
            n_tuples = math.comb(len(self._table.splitting), degree)
            return n_tuples * engine.n_rows > HEAVY
        return degree == 2 and found.ratio - 1.0 > WORTH * (self._last[2] - 1.0)

    def _price_features(self, engine: Engine, found: Found) -> FloatArray:
        """Price the rules on one feature; return a bound on any rule with each of the features."""
        table = self._table
        masses = np.zeros(len(table.features))
        if len(table.splitting) == 0:
            return masses
        vectors: tuple[RowVector, ...] = ("gradient", "positive")
        histograms = engine.joint_histograms(
            table.splitting, vectors if self._reaches(2) else vectors[:1]
        )
        values = table.values(histograms)
        if self._reaches(2):
            positive = table.values(histograms, 1)
            sizes = np.maximum(positive, positive - values)
            masses[table.splitting[:, 0]] = np.maximum.reduceat(
                sizes, table.first[table.splitting[:, 0]]
            )
        allowed = table.allowed(values)
        for position, feature in enumerate(table.splitting[:, 0].tolist()):
            self._offer_first_degree(found, feature, allowed[table.mine(feature)])
            sums = histograms.cube(position)
            if self._reaches(2) and table.way[feature] == 0:
                self._offer_second_degree(engine, found, feature, sums)
            if self._reaches(3) and table.top[feature] < 0:
                self._offer_three_levels(found, feature, sums)
        return masses

    def _offer_first_degree(self, found: Found, feature: int, values: FloatArray) -> None:
        """Offer the peaks of one of each complementary pair of conditions."""
        kept = self._table.features[feature].first_degree
        masks = self._table.masks[self._table.mine(feature)]
        values = values[kept]
        if self._bans:
            banned = [self._bans.forbid_split(feature, masks[k]) for k in kept]
            values[banned] = 0.0
        found.see(1, float(values.max()))
        for k in peaks(values / found.penalty.of(1)):
            found.offer(((feature, masks[kept[k]]),), 1, float(values[k]))

    def _offer_second_degree(
        self, engine: Engine, found: Found, feature: int, sums: FloatArray
    ) -> None:
        top = int(self._table.top[feature])
        best, where = np.array([-np.inf, np.inf]), np.zeros((2, 2), np.int64)
        vector = np.cumsum(sums) if top >= 0 else sums
        kernels.scan_second_degree(np.ascontiguousarray(vector), len(sums), top, best, where)
        values = np.where(np.isfinite(best), np.abs(best), 0.0)[None]

        def conditions(t: int, sign: int) -> list[tuple[int, int]]:  # noqa: ARG001
            a, b = where[sign].tolist()
            return [(feature, self._table.second_degree_mask(feature, a, b))]

        self._leave_out_banned(engine, found, np.array([[feature]]), 2, values, conditions)
        for sign in np.flatnonzero(np.isfinite(best)).tolist():
            self._offer(found, conditions(0, sign), 2, float(values[0, sign]))

    def _offer_three_levels(self, found: Found, feature: int, sums: FloatArray) -> None:
        n_levels = -1 - int(self._table.top[feature])
        if n_levels < 3:
            return
        present = self._table.features[feature].present_mask
        order = np.argsort(sums[:n_levels], kind="stable").tolist()
        for left_out in (order[:3], order[-3:]):
            mask = present & ~sum(1 << b for b in left_out)
            value = abs(float(sums[:-1].sum() - sums[left_out].sum()))
            self._offer(found, [(feature, mask)], 3, value)

    def _leave_out_banned(
        self,
        engine: Engine,
        found: Found,
        tuples: IntArray,
        degree: int,
        values: FloatArray,
        conditions: Callable[[int, int], list[tuple[int, int]]],
    ) -> None:
        """Replace the values of banned rules by those of the best allowed on their features.

        ``values`` has one row a tuple and one column a sign; ``conditions`` gives the rule of each.
        """
        if not self._bans:
            return
        for t, sign in np.argwhere(values > found.threshold(degree)).tolist():
            made = self._table.make_rule(conditions(t, sign))
            if made is not None and self._bans.forbid(made[0]):
                most = self._bans.best_allowed(engine, tuples[t].tolist(), degree, sign)
                values[t, sign] = min(values[t, sign], most)

    def _offer(
        self, found: Found, conditions: list[tuple[int, int]], degree: int, value: float
    ) -> None:
        found.see(degree, value)
        made = self._table.make_rule(conditions)
        if made is not None:
            found.offer(*made, value)

    def _offer_kin(self, engine: Engine, found: Found) -> None:
        """Offer more rules on the features of those found.

        In the last rounds few sets of features improve the model, but each with many rules.
        """
        sizes = np.diff(self._table.first).tolist()
        room = MAX_KIN
        sets = dict.fromkeys(tuple(f for f, _ in rule) for _, rule, _ in found.ranked())
        for features in sets:
            room -= math.prod(sizes[f] for f in features)
            if len(features) == 1 or room < 0:
                continue
            rule = tuple((feature, -1) for feature in features)
            others = self._kin.replace(engine, rule, ("gradient",), self._max_degree)
            if others is None:
                continue
            degree, values = len(features), np.abs(others.sums[0])
            ratios = np.round(values / found.penalty.of(degree), DIGITS)
            better = np.flatnonzero(ratios > 1.0)
            for k in better[np.argsort(-ratios[better], kind="stable")[:N_KIN]].tolist():
                self._offer(found, others.conditions(k), degree, float(values[k]))

    def _price_tuples(
        self, engine: Engine, found: Found, masses: FloatArray, degree: int, limits: Limits
    ) -> bool:
        """Price the rules of ``degree`` on as many features, and of one more on pairs.

        Pairs also give the rules of degree 3 with two conditions on one feature. Tuples in which a
        feature's mass is too small for any rule to improve the model are not filled.
        """
        least = found.threshold(degree)
        wide = [f for f in self._table.splitting[:, 0].tolist() if masses[f] > least]
        found.leave(degree, min(least, float(masses.max(initial=0.0))))
        sizes: list[FloatArray] = []
        triples: list[IntArray] = []
        for tuples in self._batches(self._table.tuples(wide, degree)):
            if limits.over():
                found.leave(degree, float(masses.max(initial=0.0)))
                return False
            histograms = engine.joint_histograms(tuples)
            if degree == 2:
                self._score_pairs(engine, found, histograms)
            else:
                sizes.append(self._score_triples(engine, found, histograms))
                triples.append(tuples)
        n_hot = max(sum(map(len, triples)) // HOT, LEAST_HOT)
        if sum(map(len, triples)) > 2 * n_hot:
            order = np.argsort(-np.concatenate(sizes), kind="stable")
            self._hot = np.concatenate(triples)[np.sort(order[:n_hot])]
        return True

    def _batches(self, every: Iterable[tuple[int, ...]]) -> Iterator[IntArray]:
        """Cut tuples of features into as few batches as their histograms allow."""
        batch: list[tuple[int, ...]] = []
        n_bins, n_cells = self._table.n_bins.tolist(), 0
        for each in every:
            cells = math.prod(n_bins[feature] for feature in each)
            if batch and (n_cells + cells > MAX_CELLS or len(batch) == MAX_TUPLES):
                yield np.array(batch, INDEX_DTYPE)
                batch, n_cells = [], 0
            batch.append(each)
            n_cells += cells
        if batch:
            yield np.array(batch, INDEX_DTYPE)

    def _score_pairs(self, engine: Engine, found: Found, histograms: JointHistograms) -> None:
        table, n_tuples = self._table, len(histograms.tuples)
        deep = self._reaches(3)
        best = np.empty((n_tuples, 3, 2))
        where = np.zeros((n_tuples, 3, 2, 3), np.int64)

        def score(part: slice) -> None:
            kernels.score_pairs(
                histograms.values[0],
                histograms.starts[part.start : part.stop + 1],
                histograms.tuples[part],
                *table.arrays,
                deep,
                best[part],
                where[part],
            )

        engine.workers.share(score, n_tuples, 4 * histograms.values.shape[1])
        values = np.maximum(best * SIGNS, 0.0)

        def conditions(t: int, sign: int, kind: int = 0) -> list[tuple[int, int]]:
            f, g = histograms.tuples[t].tolist()
            if kind == 2:
                f, g = g, f
            c, a, b = where[t, kind, sign].tolist()
            other = table.coded_mask(g, a) if kind == 0 else table.second_degree_mask(g, a, b)
            return [(f, table.masks[c]), (g, other)]

        self._leave_out_banned(engine, found, histograms.tuples, 2, values[:, 0], conditions)
        for kind, degree in enumerate((2, 3, 3) if deep else (2,)):
            found.see(degree, float(values[:, kind].max(initial=0.0)))
            for t, sign in self._worth(found, degree, values[:, kind]):
                value = float(values[t, kind, sign])
                self._offer(found, conditions(t, sign, kind), degree, value)

    def _score_triples(
        self, engine: Engine, found: Found, histograms: JointHistograms
    ) -> FloatArray:
        """Offer the best rules on triples of features; return the largest sum of each triple."""
        table, n_tuples = self._table, len(histograms.tuples)
        best = np.empty((n_tuples, 2))
        where = np.zeros((n_tuples, 2, 3), np.int64)

        def score(part: slice) -> None:
            kernels.score_triples(
                histograms.values[0],
                histograms.starts[part.start : part.stop + 1],
                histograms.tuples[part],
                *table.arrays,
                found.threshold(3),
                best[part],
                where[part],
            )

        engine.workers.share(score, n_tuples, 10 * histograms.values.shape[1])
        values = np.maximum(best * SIGNS, 0.0)

        def conditions(t: int, sign: int) -> list[tuple[int, int]]:
            f, g, h = histograms.tuples[t].tolist()
            c, row, column = where[t, sign].tolist()
            masks = table.masks[c], table.coded_mask(g, row), table.coded_mask(h, column)
            return list(zip((f, g, h), masks, strict=True))

        self._leave_out_banned(engine, found, histograms.tuples, 3, values, conditions)
        found.see(3, float(values.max()))
        for t, sign in self._worth(found, 3, values):
            self._offer(found, conditions(t, sign), 3, float(values[t, sign]))
        largest: FloatArray = values.max(axis=1)
        return largest

    def _worth(self, found: Found, degree: int, values: FloatArray) -> list[tuple[int, int]]:
        """Return (tuple, sign) of rules that improve the model, one a tuple, best first."""
        signs = np.argmax(values, axis=1)
        largest = values[np.arange(len(values)), signs]
        worth = np.flatnonzero(largest > found.worth_offering(degree, self._n_rules))
        order = np.argsort(-largest[worth], kind="stable")[: self._n_rules]
        return [(int(t), int(signs[t])) for t in worth[order]]


def peaks(ratios: FloatArray) -> list[int]:
    """Return the positions above 1 whose neighbours are not larger.

    Neighbouring thresholds give nearly the same column; one of each hill is enough for a round.
    """
    rounded = np.round(ratios, DIGITS)
    padded = np.concatenate([[-np.inf], rounded, [-np.inf]])
    higher = (rounded >= padded[:-2]) & (rounded > padded[2:]) & (rounded > 1.0)
    return [int(k) for k in np.flatnonzero(higher)]
