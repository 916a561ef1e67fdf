"""Candidates extended by one condition after the other while that pays (design, section 6)."""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import INDEX_DTYPE, FloatArray, IntArray
from ruleglm.engines.base import BOTH, Bases, Engine, Yardstick
from ruleglm.kernels.gains import TIE
from ruleglm.pricing.problem import Limits
from ruleglm.pricing.worth import Candidate, rule_costs

if TYPE_CHECKING:
    from ruleglm.pricing.gains import GainPricer

Worth = TypeVar("Worth", float, FloatArray)

Extensions: TypeAlias = tuple[list[dict[BinRule, Candidate]], list[Candidate]]
"""What rules became by each condition, and those that further conditions may be added to."""


def extend_all(
    pricer: "GainPricer",
    engine: Engine,
    found: dict[BinRule, Candidate],
    best: Sequence[Candidate],
    noise: float,
    limits: Limits,
) -> None:
    """Extend candidates while that pays; of each chain of them the end is ``found``."""
    table, total = pricer.table, engine.hessian_sum()
    free = pricer.bans is None and not table.constraints.limits_interactions
    while best and not limits.over():
        bases = [one for one in best if one.degree < pricer.max_degree]
        answer = extend_at_once(pricer, engine, bases, noise, total) if free and bases else None
        chains, best = answer or extend_once(pricer, engine, bases, noise, total)
        for old, new in chain.from_iterable(longer.items() for longer in chains):
            if new.rule not in found:  # else both stay, or lists of the same end would dwindle
                found.pop(old, None)
            if new.rule not in found or new.gain > found[new.rule].gain:
                found[new.rule] = new


def extend_once(
    pricer: "GainPricer", engine: Engine, bases: Sequence[Candidate], noise: float, total: float
) -> Extensions:
    """Extend each candidate by the condition that pays best, if any does."""
    table = pricer.table
    if not bases:
        return [], []
    rules = [one.rule for one in bases]
    wanted = table.partners_of(rules)
    histograms = engine.histograms_within(rules, BOTH, wanted)
    gains, codes = pricer.scan_within(rules, histograms, wanted, total)
    features = np.argmax(gains, axis=1)
    degrees, least = measure(pricer, bases, noise)
    own = table.features_of(rules)[np.arange(len(bases)), features]
    largest = gains[np.arange(len(bases)), features]
    hopes = pricer.worths(largest, degrees + ~own, noise)  # the degree may be larger
    longer = {}
    for k in np.flatnonzero(hopes > least).tolist():
        new = pricer.best_allowed(rules[k], bases[k].degree, int(features[k]), gains[k], codes[k])
        if new is not None and pricer.worth(new.gain, new.degree, noise) > least[k]:
            longer[rules[k]] = new
    return [longer], list(longer.values())


def extend_at_once(
    pricer: "GainPricer", engine: Engine, bases: Sequence[Candidate], noise: float, total: float
) -> Extensions | None:
    """Extend candidates for as long as that pays, or until one has to be looked at for its degree.

    None if the rows are in several places.
    """
    table = pricer.table
    rules = [one.rule for one in bases]
    degrees, least = measure(pricer, bases, noise)
    every = np.arange(pricer.max_degree + 1)
    prices = np.column_stack([pricer.lucks(every) * noise, rule_costs(every)])
    answer = engine.extend(
        Bases(rules, degrees, least, table.sides_of(rules), table.rule_signs(rules)),
        Yardstick(table.readable, table.top, table.way, total, pricer.ridge, prices),
    )
    if answer is None:
        return None
    counts, left, steps, gains = answer
    chains: list[dict[BinRule, Candidate]] = [{} for _ in range(counts.max(initial=0))]
    further = []
    for k in np.flatnonzero(counts).tolist():
        new, bar = bases[k], least[k]
        for depth, (feature, code) in enumerate(steps[k, : counts[k]].tolist()):
            made = table.extend_rule(new.rule, new.degree, feature, table.coded_mask(feature, code))
            longer = pricer.allow(made, float(gains[k, depth]))
            worth = -np.inf if longer is None else pricer.worth(longer.gain, longer.degree, noise)
            if longer is None or worth <= bar:
                break  # two conditions on a feature may be more than one
            chains[depth][new.rule] = longer
            new, bar = longer, exceed(worth)
        else:
            if left[k]:
                further.append(new)
    return chains, further


def measure(
    pricer: "GainPricer", candidates: Sequence[Candidate], noise: float
) -> tuple[IntArray, FloatArray]:
    """Return the degrees of candidates, and what they have to be worth more than if extended."""
    degrees = np.array([one.degree for one in candidates], INDEX_DTYPE)
    worths = pricer.worths(np.array([one.gain for one in candidates]), degrees, noise)
    return degrees, exceed(worths)


def exceed(worth: Worth) -> Worth:
    """Return from where on a worth is larger for more reasons than rounding."""
    return worth + (TIE - 1.0) * abs(worth)
