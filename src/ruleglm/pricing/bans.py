"""Rules that must not be learned: they are passed over, and others of their features are tried.

A ban is a rule that a person excludes. It holds for every rule that implies it, that is has its
conditions, as strict or stricter, and perhaps more; and for the opposite of a single condition,
which splits the rows in the same way.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import combinations

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.bins import span_mask
from ruleglm.dtypes import INDEX_DTYPE, BoolArray, FloatArray, IntArray
from ruleglm.engines.base import Engine, RowVector
from ruleglm.engines.packed import mask_table
from ruleglm.pricing.found import Found
from ruleglm.pricing.problem import Limits, Penalty, Pricer, PricingResult
from ruleglm.pricing.vocabulary import ConditionTable

MOST_FEATURES = 3
"""Features of a rule up to which others in its place are searched."""


@dataclass(frozen=True, eq=False)
class Alternatives:
    """All rules with one condition on each of some features, those not banned.

    Attributes
    ----------
    features : list of int
    masks : list of list of int, the conditions on each feature
    places : (n_rules,) int64, positions among all combinations of ``masks``
    degrees : (n_rules,) int64
    sums : (n_vectors, n_rules) float64
    """

    features: list[int]
    masks: list[list[int]]
    places: IntArray
    degrees: IntArray
    sums: FloatArray

    def conditions(self, k: int) -> list[tuple[int, int]]:
        """Return the conditions of one of the rules."""
        places = np.unravel_index(self.places[k], [len(one) for one in self.masks])
        chosen = zip(self.features, self.masks, places, strict=True)
        return [(feature, masks[int(place)]) for feature, masks, place in chosen]


class Bans:
    """Knows which rules are banned.

    Parameters
    ----------
    table : ConditionTable
    rules : sequence of BinRule
    """

    def __init__(self, table: ConditionTable, rules: Sequence[BinRule]) -> None:
        self.table = table
        self._observed = [bins.observed for bins in table.features]
        self._rules = [{f: mask & self._observed[f] for f, mask in rule} for rule in rules]
        self._second = cache(self._list_second)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def forbid(self, rule: BinRule) -> bool:
        """Tell whether a rule is banned."""
        seen = {f: mask & self._observed[f] for f, mask in rule}
        for ban in self._rules:
            if all(f in seen and seen[f] & ~mask == 0 for f, mask in ban.items()):
                return True
            if len(ban) == 1 and len(seen) == 1:
                ((feature, mask),) = ban.items()
                if seen.get(feature) == self._observed[feature] & ~mask:
                    return True
        return False

    def forbid_split(self, feature: int, mask: int) -> bool:
        """Tell whether both a condition and its opposite are banned."""
        rest = self._observed[feature] & ~mask
        return self.forbid(((feature, mask),)) and self.forbid(((feature, rest),))

    def replace(
        self, engine: Engine, rule: BinRule, vectors: Sequence[RowVector], max_degree: int | None
    ) -> Alternatives | None:
        """Evaluate the rules on the features of one, but for those banned; None if too many.

        The first sums, those of the gradient, are 0 where they have the wrong sign.
        """
        features = [feature for feature, _ in rule]
        if len(features) > MOST_FEATURES:
            return None
        table = self.table
        masks = [table.masks[table.mine(feature)] for feature in features]
        degrees = [np.ones(len(one), INDEX_DTYPE) for one in masks]
        if len(features) == 1 and (max_degree is None or max_degree > 1):
            second = self._second(features[0])
            masks = [masks[0] + second]
            degrees = [np.r_[degrees[0], np.full(len(second), 2, INDEX_DTYPE)]]
        histograms = engine.joint_histograms(np.array([features], INDEX_DTYPE), vectors)
        signs = [
            np.r_[table.sign[table.mine(f)], np.zeros(len(one), INDEX_DTYPE)][: len(one)]
            for f, one in zip(features, masks, strict=True)
        ]
        high, low = reduce(np.maximum.outer, signs), reduce(np.minimum.outer, signs)
        allowed = self._allowed(features, masks) & (high - low < 2)
        places = np.flatnonzero(allowed)
        totals = reduce(np.add.outer, degrees)
        sums = [contract(histograms.cube(0, v), masks)[allowed] for v in range(len(vectors))]
        sums[0][(high + low)[allowed] * sums[0] < 0.0] = 0.0
        return Alternatives(features, masks, places, totals[allowed], np.array(sums))

    def best_allowed(
        self, engine: Engine, features: Sequence[int], degree: int, sign: int
    ) -> float:
        """Return the largest sum (or, for sign 1, minus the smallest) of the rules not banned.

        Of those on all of the features, with a condition of degree 1 on each of several. Infinity
        if that is too much to search.
        """
        rule = tuple((feature, -1) for feature in features)
        others = self.replace(engine, rule, ("gradient",), None)
        if others is None:
            return np.inf
        sums = others.sums[0][others.degrees == degree]
        return float((sums if sign == 0 else -sums).max(initial=0.0))

    def _allowed(self, features: list[int], masks: list[list[int]]) -> BoolArray:
        """Tell which combinations of conditions are not banned."""
        allowed = np.ones([len(one) for one in masks], np.bool_)
        for ban in self._rules:
            if not ban.keys() <= set(features):
                continue
            inside = [
                np.array([self._seen(f, m) & ~ban.get(f, -1) == 0 for m in one])
                for f, one in zip(features, masks, strict=True)
            ]
            allowed &= ~reduce(np.multiply.outer, inside)
            if len(features) == 1:
                rest = self._observed[features[0]] & ~ban[features[0]]
                allowed &= np.array([self._seen(features[0], m) != rest for m in masks[0]])
        return allowed

    def _seen(self, feature: int, mask: int) -> int:
        return mask & self._observed[feature]

    def _list_second(self, feature: int) -> list[int]:
        """Return the conditions of degree 2 on a feature."""
        top = int(self.table.top[feature])
        if self.table.way[feature]:
            return []
        if top >= 0:
            return [span_mask(a, b) for a in range(1, top) for b in range(a, top)]
        present = self.table.features[feature].present_mask
        pairs = combinations(range(-1 - top), 2)
        return [present & ~(1 << a | 1 << b) for a, b in pairs]


def contract(cube: FloatArray, masks: list[list[int]]) -> FloatArray:
    """Sum a histogram over the bins of all combinations of conditions, one for each axis."""
    for axis, one in enumerate(masks):
        tables = np.array([mask_table(mask) for mask in one], np.float64)
        held = tables.reshape(len(one), -1)[:, : cube.shape[axis]]
        cube = np.moveaxis(np.tensordot(held, cube, axes=(1, axis)), 0, axis)
    return cube


class Watched(Container[BinRule]):
    """Rules that a pricer must not return: those of the model and banned ones, which it notes."""

    def __init__(self, held: Container[BinRule], bans: Bans) -> None:
        self._held = held
        self._bans = bans
        self.hits: dict[BinRule, None] = {}

    def __contains__(self, rule: object) -> bool:
        if rule in self._held:
            return True
        if not self._bans.forbid(rule):  # type: ignore[arg-type]
            return False
        self.hits[rule] = None  # type: ignore[index]
        return True


class ExcludingPricer:
    """Passes over the banned rules that another pricer finds.

    The bound may be one over all rules, the banned ones included: it holds for those allowed too.

    Parameters
    ----------
    pricer : Pricer
    bans : Bans
    max_degree : int or None
    """

    def __init__(self, pricer: Pricer, bans: Bans, max_degree: int | None) -> None:
        self._pricer = pricer
        self._bans = bans
        self._max_degree = max_degree

    def describe(self) -> str:
        """Return the class of rules searched, in words."""
        aside = getattr(self._pricer, "knows_bans", False)
        return f"{self._pricer.describe()}, the excluded ones {'aside' if aside else 'too'}"

    def price(
        self, engine: Engine, penalty: Penalty, held: Container[BinRule], limits: Limits
    ) -> PricingResult:
        """Search as the other pricer does, and in the place of banned rules."""
        watched = Watched(held, self._bans)
        result = self._pricer.price(engine, penalty, watched, limits)
        found = Found(penalty, watched)
        for rule in list(watched.hits):
            self._search(engine, found, rule)
        more = found.result(len(watched.hits), result.complete)
        new = [k for k, rule in enumerate(more.rules) if rule not in result.rules]
        return PricingResult(
            result.rules + [more.rules[k] for k in new],
            result.degrees + [more.degrees[k] for k in new],
            result.best,
            result.ratio_bound,
            result.complete,
        )

    def _search(self, engine: Engine, found: Found, rule: BinRule) -> None:
        """Offer the best rules of each sign on the features of a banned one."""
        others = self._bans.replace(engine, rule, ("gradient",), self._max_degree)
        if others is None or len(others.degrees) == 0:
            return
        prices = found.penalty.lambda_0 + found.penalty.lambda_1 * others.degrees
        ratios = others.sums[0] / prices
        for k in {int(np.argmax(ratios)), int(np.argmin(ratios))}:
            made = self._bans.table.make_rule(others.conditions(k))
            if made is not None:
                found.offer(*made, abs(float(others.sums[0, k])))
