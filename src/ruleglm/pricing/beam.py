"""The paper's heuristic (its section 4), with the variations of its appendix A.

Degree by degree, the children of a few chosen parents are evaluated: the best one seen becomes the
incumbent, and those with the best average of their value and a bound on their descendants become
the next parents. Rows that a parent does not cover are gone, conditions that it makes redundant
too.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import BoolArray, FloatArray, IntArray
from ruleglm.engines.base import Engine, JointHistograms, RowVector, histogram_starts
from ruleglm.pricing.found import Found
from ruleglm.pricing.problem import Limits, Penalty, PricingResult
from ruleglm.pricing.vocabulary import ConditionTable

EarlyStop = Literal["no", "at_once", "degree"]


@dataclass(frozen=True)
class BeamOptions:
    """Variations of the heuristic.

    Attributes
    ----------
    n_best : rules to return for each sign (the appendix's K)
    beam_width : parents of each degree (its B)
    early_stop : go on, or stop at the first improving rule, or after the degree that has one
    value_weight : weight of a child's value against its bound when parents are chosen
    max_depth : the last degree to try, where the class of rules has no limit
    """

    n_best: int = 1
    beam_width: int = 1
    early_stop: EarlyStop = "no"
    value_weight: float = 0.5
    max_depth: int = 10

    def __post_init__(self) -> None:
        for name in ("n_best", "beam_width", "max_depth"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` is {getattr(self, name)}; it has to be at least 1")
        if self.early_stop not in ("no", "at_once", "degree"):
            raise ValueError(
                f"`early_stop` is {self.early_stop!r}; choose 'no', 'at_once' or 'degree'"
            )
        if not 0.0 <= self.value_weight <= 1.0:
            raise ValueError(f"`value_weight` is {self.value_weight}; it has to be from 0 to 1")


@dataclass(frozen=True)
class Children:
    """The children of a parent, one entry a condition that is not redundant.

    Attributes
    ----------
    conditions : (n,) int64, positions in the table
    values, masses : (n,) float64, sum of the gradient, and of its positive part, over their rows
    """

    conditions: IntArray
    values: FloatArray
    masses: FloatArray


class BeamPricer:
    """Searches greedily, for each sign by itself; proves nothing.

    Parameters
    ----------
    table : ConditionTable
    max_degree : int or None
    options : BeamOptions
    """

    def __init__(self, table: ConditionTable, max_degree: int | None, options: BeamOptions) -> None:
        self._table = table
        self._options = options
        self._depth = options.max_depth if max_degree is None else max_degree
        self._longer: dict[tuple[int, int], BoolArray] = {}

    def describe(self) -> str:
        """Return the class of rules searched, in words."""
        within = self._table.constraints.words
        return f"rules of degree <= {self._depth}{within}, of which a beam search tried a few"

    def price(
        self, engine: Engine, penalty: Penalty, held: Container[BinRule], limits: Limits
    ) -> PricingResult:
        """Return the best rules of each sign that a beam search meets."""
        found = Found(penalty, held)
        positive, negative = engine.gradient_masses()
        found.leave(1, max(positive, negative))
        if len(self._table.splitting):
            for sign in (1, -1):
                best = self._search(engine, found, sign, limits)
                for cost, rule, degree in best[: self._options.n_best]:
                    found.offer(rule, degree, cost + penalty.of(degree))
        return found.result(2 * self._options.n_best, complete=False)

    def _search(
        self, engine: Engine, found: Found, sign: int, limits: Limits
    ) -> list[tuple[float, BinRule, int]]:
        """Return (reduced cost, rule, degree) of the best rules met, best first."""
        options, penalty = self._options, found.penalty
        met: dict[BinRule, tuple[float, int]] = {}
        parents: list[BinRule] = [()]
        for degree in range(1, self._depth + 1):
            ranked: list[tuple[float, BinRule]] = []
            for parent in parents:
                children = self._children(engine, parent, sign)
                costs = children.values - penalty.of(degree)
                bounds = children.masses - penalty.of(degree + 1)
                self._meet(met, parent, children, costs, degree)
                incumbent = max((cost for cost, _ in met.values()), default=-np.inf)
                if incumbent > 0 and options.early_stop == "at_once":
                    return rank(met)
                scores = options.value_weight * costs + (1 - options.value_weight) * bounds
                scores[bounds <= incumbent] = -np.inf
                for k in np.argsort(-scores, kind="stable")[: options.beam_width]:
                    if np.isfinite(scores[k]):
                        rule, _ = self._child(parent, int(children.conditions[k]))
                        ranked.append((-float(scores[k]), rule))
            improves = any(cost > 0 for cost, _ in met.values())
            if not ranked or limits.over() or (improves and options.early_stop == "degree"):
                break
            parents = [rule for _, rule in sorted(set(ranked))[: options.beam_width]]
        return rank(met)

    def _meet(
        self,
        met: dict[BinRule, tuple[float, int]],
        parent: BinRule,
        children: Children,
        costs: FloatArray,
        degree: int,
    ) -> None:
        """Remember the best children; with early_stop='at_once' only the first improving one."""
        order = np.argsort(-costs, kind="stable")[: self._options.n_best]
        if self._options.early_stop == "at_once" and (costs > 0).any():
            order = np.flatnonzero(costs > 0)[:1]
        for k in order:
            rule, _ = self._child(parent, int(children.conditions[k]))
            met[rule] = float(costs[k]), degree

    def _child(self, parent: BinRule, condition: int) -> tuple[BinRule, int]:
        added = int(self._table.feature[condition]), self._table.masks[condition]
        made = self._table.make_rule([*parent, added])
        assert made is not None  # only conditions that leave rows are children
        return made

    def _children(self, engine: Engine, parent: BinRule, sign: int) -> Children:
        """Evaluate the conditions that can be added to a parent."""
        table = self._table
        histograms = self._histograms(engine, parent)
        values, masses = sign * table.values(histograms), table.values(histograms, 1)
        if sign == -1:
            masses = masses + values
        whole = float(histograms.cube(0).sum()), float(histograms.cube(0, 1).sum())
        total = sign * whole[0], whole[1] if sign == 1 else whole[1] - whole[0]
        kept = ~(nearly(values, total[0]) & nearly(masses, total[1]))
        kept &= masses > 1e-14 * total[1]
        kept &= sign * table.sign >= 0
        if parent:
            kept &= table.partners(parent)[table.feature]
        for feature, mask in parent:
            kept[table.mine(feature)] &= self._lengthening(feature, mask)
        chosen = np.flatnonzero(kept)
        return Children(chosen, values[chosen], masses[chosen])

    def _histograms(self, engine: Engine, parent: BinRule) -> JointHistograms:
        """Fill the histograms of the features with conditions over the parent's rows."""
        vectors: tuple[RowVector, ...] = "gradient", "positive"
        tuples = self._table.splitting
        if not parent:
            return engine.joint_histograms(tuples, vectors)
        wanted = self._table.readable
        values = engine.histograms_within([parent], vectors, wanted[None])[0]
        filled = values[:, np.repeat(wanted, engine.n_bins)]
        return JointHistograms(
            tuples, engine.n_bins, histogram_starts(tuples, engine.n_bins), filled
        )

    def _lengthening(self, feature: int, mask: int) -> BoolArray:
        """Tell which conditions of a feature make a condition on it one degree longer."""
        known = self._longer.get((feature, mask))
        if known is None:
            others = self._table.masks[self._table.mine(feature)]
            made = [self._table.make_rule([(feature, mask), (feature, each)]) for each in others]
            degree = self._table.degree_of(feature, mask) + 1
            known = np.array([rule is not None and rule[1] == degree for rule in made])
            self._longer[feature, mask] = known
        return known


def nearly(values: FloatArray, total: float) -> BoolArray:
    """Tell which sums are a total but for rounding."""
    near: BoolArray = np.abs(values - total) <= 1e-8 + 1e-12 * abs(total)
    return near


def rank(met: dict[BinRule, tuple[float, int]]) -> list[tuple[float, BinRule, int]]:
    """Sort the rules met by their reduced cost, ties by the rule."""
    rows = [(cost, rule, degree) for rule, (cost, degree) in met.items()]
    return sorted(rows, key=lambda row: (-round(row[0], 12), row[1]))
