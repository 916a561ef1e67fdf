"""Constraints on the rules of a model: monotone features, and features that may interact.

A prediction rises with a feature, whatever the others are, if every rule that says it exceeds a
threshold has a positive coefficient, and every rule that says it does not exceed one a negative
coefficient. So a rule on monotone features has a sign, and holds no two conditions that call for
different ones. Missing values have no place in the order: conditions on them are free.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np

from ruleglm.binning import Binning, BinRule
from ruleglm.bins import FeatureBins, span_mask
from ruleglm.dtypes import BoolArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.frames import find_column
from ruleglm.rules import Condition, Levels, Missing, Rule


@dataclass(frozen=True)
class Asked:
    """Constraints as a user gives them; the estimators document each."""

    monotone: Mapping[Any, Any] | None = None
    allowed: Sequence[Any] | Literal[False] | None = None
    forbidden: Sequence[Any] | None = None


@dataclass(frozen=True)
class Constraints:
    """Constraints by the numbers of features.

    Attributes
    ----------
    ways : tuple of int
        For each feature +1 if predictions must not fall with it, -1 if they must not rise, else 0;
        empty if there is none.
    groups : tuple of frozenset of int, or None
        A rule on several features lies inside one of them; None for no limit.
    apart : frozenset of (int, int)
        Features that share no rule, the smaller number first.
    """

    ways: tuple[int, ...] = ()
    groups: tuple[frozenset[int], ...] | None = None
    apart: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def of(cls, asked: Asked, names: Sequence[str]) -> Self:
        """Find the columns that a user names; errors say which is not there."""
        ways = [0] * len(names)
        for column, way in (asked.monotone or {}).items():
            place = find_column(column, names, "monotone")
            if isinstance(way, (bool, np.bool_)) or way not in (1, -1):
                raise ValueError(
                    f"`monotone` of column {names[place]!r} is {way!r}; give 1 for predictions "
                    "that do not fall with it, or -1 for predictions that do not rise"
                )
            ways[place] = int(way)
        groups: tuple[frozenset[int], ...] | None = None
        if asked.allowed is not None:
            sets = [_columns(each, names, "allowed_interactions") for each in asked.allowed or ()]
            groups = tuple(map(frozenset, sets))
        apart = set()
        for pair in asked.forbidden or ():
            places = sorted(set(_columns(pair, names, "forbidden_interactions")))
            if len(places) != 2:
                raise ValueError(
                    f"`forbidden_interactions` holds {pair!r}; give pairs of two columns"
                )
            apart.add((places[0], places[1]))
        return cls(tuple(ways) if any(ways) else (), groups, frozenset(apart))

    def check_kinds(self, binning: Binning) -> None:
        """Refuse a monotone column whose values have no order."""
        for way, bins in zip(self.ways, binning.features, strict=False):
            if way and bins.kind == "level":
                raise ValueError(
                    f"`monotone` names column {bins.name!r}, whose levels have no order; make it "
                    "an ordered category or numbers, or leave it out"
                )

    def check_rules(self, rules: Iterable[Rule], names: Sequence[str]) -> None:
        """Refuse rules that no coefficient makes monotone."""
        for rule in rules:
            rule_sign(rule, dict(zip(names, self.ways, strict=False)))

    @property
    def limits_interactions(self) -> bool:
        """Whether some features may not share a rule."""
        return self.groups is not None or bool(self.apart)

    @property
    def words(self) -> str:
        """What follows "all rules" in a certificate."""
        parts = ["the monotone constraints"] if self.ways else []
        parts += ["the interactions allowed"] if self.limits_interactions else []
        return f" within {' and '.join(parts)}" if parts else ""

    def allows(self, features: Collection[int]) -> bool:
        """Tell whether one rule may have conditions on all of these features."""
        if len(features) < 2 or not self.limits_interactions:
            return True
        if self.groups is not None and not any(g.issuperset(features) for g in self.groups):
            return False
        return self.apart.isdisjoint(combinations(sorted(features), 2))

    def partners(self, rule: BinRule, n_features: int) -> BoolArray:
        """Return the features that a rule may have a condition on, its own among them."""
        if not (rule and self.limits_interactions):
            return np.ones(n_features, np.bool_)
        own = {feature for feature, _ in rule}
        return np.array([self.allows(own | {feature}) for feature in range(n_features)])

    def matrices(self, n_features: int) -> tuple[BoolArray, BoolArray]:
        """Return groups and pairs as arrays, see `ruleglm.kernels.search`."""
        apart = np.zeros((n_features, n_features), np.bool_)
        for f, g in self.apart:
            apart[f, g] = apart[g, f] = True
        if not self.limits_interactions:
            return np.zeros((0, n_features), np.bool_), apart
        groups = (frozenset(range(n_features)),) if self.groups is None else self.groups
        together = [[f in group for f in range(n_features)] for group in groups or (frozenset(),)]
        return np.array(together), apart

    def sign(self, rule: BinRule, features: Sequence[FeatureBins]) -> int:
        """Return the sign that the coefficient of a rule has to have, 0 for any.

        Raises
        ------
        ValueError
            If no sign is right.
        """
        if not self.ways:
            return 0
        signs = {_sign(mask, features[f], self.ways[f]) for f, mask in rule} - {0}
        if len(signs) > 1 or not signs <= {-1, 1}:
            names = ", ".join(repr(features[f].name) for f, _ in rule if self.ways[f])
            raise ValueError(
                f"A rule on {names} has the right sign with no coefficient, see `monotone`"
            )
        return signs.pop() if signs else 0


FREE = Constraints()
"""No constraints."""

NEITHER = 2
"""Stands for the sign of conditions that are neither "above" nor "up to"."""


def _sign(mask: int, bins: FeatureBins, way: int) -> int:
    """Return the sign that a condition on one feature calls for, 0 for any."""
    if way == 0 or mask in (bins.present_mask, 1 << bins.missing_bin):
        return 0
    last = bins.n_bins - (2 if bins.kind == "number" else 3)
    lowest, highest = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    if mask != span_mask(lowest, highest) or (lowest > 0) == (highest < last):
        return NEITHER
    return way if lowest else -way


def term_signs(ensemble: RuleEnsemble, monotone: Mapping[Any, Any] | None) -> list[int]:
    """Return the sign that the coefficient of each line and rule has to have, 0 for any.

    Parameters
    ----------
    ensemble : RuleEnsemble
    monotone : mapping of columns to 1 or -1, or None
    """
    ways = Constraints.of(Asked(monotone), ensemble.names).ways
    way_of = dict(zip(ensemble.names, ways, strict=False))
    lines = [way_of.get(term.feature, 0) for term in ensemble.linear_terms]
    return lines + [rule_sign(rule, way_of) for rule in ensemble.rules]


def rule_sign(rule: Rule, way_of: Mapping[str, int]) -> int:
    """Return the sign that the coefficient of a rule has to have, 0 for any; see `Constraints`."""
    found = {_condition_sign(each, way_of.get(each.feature, 0)) for each in rule.conditions} - {0}
    if len(found) > 1 or NEITHER in found:
        raise ValueError(f"`{rule}` has the right sign with no coefficient, see `monotone`")
    return found.pop() if found else 0


def _condition_sign(condition: Condition, way: int) -> int:
    if way == 0 or isinstance(condition, Missing):
        return 0
    if isinstance(condition, Levels):
        return NEITHER
    above, upto = condition.low > -math.inf, condition.high < math.inf
    if not above and condition.order is not None and condition.high == len(condition.order) - 1:
        return 0  # any known level
    return NEITHER if above and upto else way if above else -way


def _columns(group: Any, names: Sequence[str], parameter: str) -> list[int]:
    """Return the numbers of the columns of a group."""
    if isinstance(group, str) or not isinstance(group, Iterable):
        raise TypeError(f"`{parameter}` holds {group!r}; give a list of groups of columns")
    return [find_column(column, names, parameter) for column in group]
