"""The elementary conditions of all features as arrays for kernels, and the way back to rules."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain, combinations

import numpy as np

from ruleglm.binning import BinRule, FeatureBins
from ruleglm.bins import span_mask
from ruleglm.constraints import FREE, Constraints
from ruleglm.dtypes import (
    CODE_DTYPE,
    INDEX_DTYPE,
    AnyArray,
    BoolArray,
    CodeArray,
    FloatArray,
    IntArray,
)
from ruleglm.engines.base import JointHistograms
from ruleglm.kernels.extend import ABOVE, BELOW, OTHER


class ConditionTable:
    """First-degree conditions, one feature after the other; see :mod:`ruleglm.kernels.pricing`.

    Attributes
    ----------
    first : (n_features + 1,) int64, where each feature's conditions start
    lo, hi : (n_conditions,) int64
    negate : (n_conditions,) bool
    feature : (n_conditions,) int64
    n_bins : (n_features,) int64
    top, way : (n_features,) int64
    masks : list of int
    sign : (n_conditions,) int64, that of the sums of gradients for which each counts, 0 for both
    constraints : Constraints
    degree_of : callable, gives the number of elementary conditions of a feature's mask
    plain : callable, gives the canonical mask of a feature's mask and its degree, 0 if it holds on
        all training rows; None if it holds on none
    """

    def __init__(self, features: tuple[FeatureBins, ...], constraints: Constraints = FREE) -> None:
        self.features = features
        self.constraints = constraints
        words = [bins.vocabulary for bins in features]
        sizes = [len(vocabulary) for vocabulary in words]
        self.first = np.concatenate([[0], np.cumsum(sizes)]).astype(INDEX_DTYPE)
        self.lo = np.concatenate([vocabulary.lo for vocabulary in words])
        self.hi = np.concatenate([vocabulary.hi for vocabulary in words])
        self.negate = np.concatenate([vocabulary.negate for vocabulary in words])
        self.feature = np.repeat(np.arange(len(features), dtype=INDEX_DTYPE), sizes)
        self.n_bins = np.array([bins.n_bins for bins in features], INDEX_DTYPE)
        self.top = np.array([_top(bins) for bins in features], INDEX_DTYPE)
        self.way = np.array(constraints.ways or [0] * len(features), INDEX_DTYPE)
        self.masks = list(chain.from_iterable(vocabulary.masks for vocabulary in words))
        self.sign = np.zeros(len(self.masks), INDEX_DTYPE)
        self._canonical = [vocabulary.by_observed for vocabulary in words]
        for feature in np.flatnonzero(self.way).tolist():
            self._sign_conditions(feature)
        self.degree_of = cache(lambda feature, mask: features[feature].degree(mask))
        self.plain = cache(self._say_plainly)
        self.coded_mask = cache(self._decode_mask)
        self._side = cache(self._name_side)

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """The conditions as kernels want them: n_bins, first, lo, hi, negate, top, way."""
        return self.n_bins, self.first, self.lo, self.hi, self.negate, self.top, self.way

    @cached_property
    def splitting(self) -> IntArray:
        """Features with a condition, as tuples of one for histograms."""
        features = [f for f in range(len(self.features)) if self.first[f] < self.first[f + 1]]
        return np.array(features, INDEX_DTYPE).reshape(-1, 1)

    @cached_property
    def readable(self) -> BoolArray:
        """Which features have a condition."""
        return np.isin(np.arange(len(self.features)), self.splitting[:, 0])

    def values(self, histograms: JointHistograms, vector: int = 0) -> FloatArray:
        """Return the row sums of all conditions from the histograms of the splitting features."""
        running = np.concatenate([[0.0], np.cumsum(histograms.values[vector])])
        starts = np.zeros(len(self.features), INDEX_DTYPE)
        starts[self.splitting[:, 0]] = histograms.starts[:-1]
        start = starts[self.feature]
        inside = running[start + self.hi + 1] - running[start + self.lo]
        regular = running[start + self.n_bins[self.feature] - 1] - running[start]
        values: FloatArray = np.where(self.negate, regular - inside, inside)
        return values

    def _sign_conditions(self, feature: int) -> None:
        """Give the conditions of a monotone feature their signs.

        One that holds on all rows but the missing ones is said in that way, which is free.
        """
        bins = self.features[feature]
        for c in range(*self.mine(feature).indices(len(self.masks))):
            if self.masks[c] & bins.observed == bins.present_mask & bins.observed:
                self.lo[c], self.hi[c] = 0, bins.missing_bin - 1
                self.masks[c] = bins.present_mask
            self.sign[c] = -self.constraints.sign(((feature, self.masks[c]),), self.features)
        masks = reversed(self.masks[self.mine(feature)])
        self._canonical[feature] = {mask & bins.observed: mask for mask in masks}

    def allowed(self, values: FloatArray) -> FloatArray:
        """Return the sizes of sums of gradients over all conditions, 0 where the sign is wrong."""
        sizes: FloatArray = np.where(self.sign * values < 0.0, 0.0, np.abs(values))
        return sizes

    def rule_sign(self, rule: BinRule) -> int:
        """Return the sign of the sums of gradients for which a rule counts, 0 for both."""
        return -self.constraints.sign(rule, self.features)

    def rule_signs(self, rules: Sequence[BinRule]) -> IntArray:
        """Return `rule_sign` of each rule."""
        if not self.way.any():
            return np.zeros(len(rules), INDEX_DTYPE)
        return np.array([self.rule_sign(rule) for rule in rules], INDEX_DTYPE)

    def admits(self, rule: BinRule) -> bool:
        """Tell whether the constraints allow a rule, with some sign."""
        try:
            self.rule_sign(rule)
        except ValueError:
            return False
        return self.constraints.allows([feature for feature, _ in rule])

    def partners(self, rule: BinRule) -> BoolArray:
        """Return the features that a rule may have a condition on, its own among them."""
        if not self.constraints.limits_interactions:
            return self.readable
        return self.readable & self.constraints.partners(rule, len(self.features))

    def partners_of(self, rules: Sequence[BinRule]) -> BoolArray:
        """Return the `partners` of each rule, shape (n_rules, n_features)."""
        if not self.constraints.limits_interactions:
            return np.repeat(self.readable[None], len(rules), axis=0)
        return np.array([self.partners(rule) for rule in rules])

    def features_of(self, rules: Sequence[BinRule]) -> BoolArray:
        """Return the features that each rule has conditions on, shape (n_rules, n_features)."""
        size = len(self.features)
        marks = np.zeros(len(rules) * size, np.bool_)
        marks[[k * size + feature for k, rule in enumerate(rules) for feature, _ in rule]] = True
        return marks.reshape(len(rules), size)

    def sides_of(self, rules: Sequence[BinRule]) -> CodeArray:
        """Return what each rule says of each feature, see `kernels.extend_rules`."""
        size = len(self.features)
        sides = np.zeros(len(rules) * size, CODE_DTYPE)
        places = [k * size + feature for k, rule in enumerate(rules) for feature, _ in rule]
        sides[places] = [self._side(*condition) for rule in rules for condition in rule]
        return sides.reshape(len(rules), size)

    def _name_side(self, feature: int, mask: int) -> int:
        """Return which bounds a condition has, or that it says something else."""
        top, low, high = int(self.top[feature]), (mask & -mask).bit_length() - 1, mask.bit_length()
        bounds = ABOVE * (high <= top) + BELOW * (low > 0)
        return bounds if high - 1 <= top and mask == span_mask(low, high - 1) and bounds else OTHER

    def tuples(self, features: Iterable[int], order: int) -> Iterator[tuple[int, ...]]:
        """Yield the sets of features that may share a rule."""
        every = combinations(features, order)
        if not self.constraints.limits_interactions:
            return every
        return (each for each in every if self.constraints.allows(each))

    def mine(self, feature: int) -> slice:
        """Return where a feature's conditions lie."""
        return slice(int(self.first[feature]), int(self.first[feature + 1]))

    def _decode_mask(self, feature: int, code: int) -> int:
        """Return the bins of a condition that a kernel found by scanning an axis."""
        bins = self.features[feature]
        place, complement = divmod(code, 2)
        if place == bins.missing_bin:
            return bins.present_mask if complement else 1 << place
        if self.top[feature] >= 0:
            top = int(self.top[feature])
            return span_mask(place + 1, top) if complement else span_mask(0, place)
        return bins.present_mask & ~(1 << place) if complement else 1 << place

    def second_degree_mask(self, feature: int, a: int, b: int) -> int:
        """Return the bins of a second-degree condition that a kernel found."""
        if self.top[feature] >= 0:
            return span_mask(a, b)
        return self.features[feature].present_mask & ~(1 << a | 1 << b)

    def make_rule(self, conditions: Iterable[tuple[int, int]]) -> tuple[BinRule, int] | None:
        """Return the canonical rule of (feature, mask) pairs and its degree.

        Conditions of one feature are joined, those that hold on all training rows are left out;
        None if the rule can hold on no row or on all.
        """
        joined: dict[int, int] = {}
        for feature, mask in conditions:
            joined[feature] = joined[feature] & mask if feature in joined else mask
        rule, degree, plain = [], 0, self.plain
        for feature in sorted(joined):
            said = plain(feature, joined[feature])
            if said is None:
                return None
            if said[1]:
                rule.append((feature, said[0]))
                degree += said[1]
        return (tuple(rule), degree) if rule else None

    def extend_rule(
        self, rule: BinRule, degree: int, feature: int, mask: int
    ) -> tuple[BinRule, int] | None:
        """Return what `make_rule` makes of a canonical rule, of this degree, and a condition."""
        place, after = 0, 0
        for mine, old in rule:
            if mine == feature:
                degree, mask, after = degree - self.degree_of(feature, old), mask & old, 1
            place += mine < feature
        plain = self.plain(feature, mask)
        if plain is None:
            return None
        said = ((feature, plain[0]),) if plain[1] else ()
        longer = (*rule[:place], *said, *rule[place + after :])
        return (longer, degree + plain[1]) if longer else None

    def _say_plainly(self, feature: int, mask: int) -> tuple[int, int] | None:
        """Return the canonical mask of a condition and its degree.

        The degree is 0 if it holds on all training rows; None if it holds on none.
        """
        observed = self.features[feature].observed
        seen = mask & observed
        if seen == 0:
            return None
        if seen == observed:
            return mask, 0
        plain = self._canonical[feature].get(seen)
        return (mask, self.degree_of(feature, mask)) if plain is None else (plain, 1)

    def degree(self, rule: Iterable[tuple[int, int]]) -> int:
        """Return the number of elementary conditions of a rule."""
        return sum(self.degree_of(feature, mask) for feature, mask in rule)


def _top(bins: FeatureBins) -> int:
    """Return the last bin of an ordered feature, or -1 - n_levels."""
    if bins.kind == "number":
        return bins.n_bins - 2
    return bins.n_bins - 3 if bins.kind == "ordered" else 1 - bins.n_bins
