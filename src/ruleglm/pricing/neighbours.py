"""Neighbours of a model's rules: what would serve better in the place of each (design, section 6).

A neighbour has one condition more, one less, or one at another threshold or level. It is judged at
the model without the one rule, by the quadratic approximation of the loss: both derivatives of the
loss over the rows of the rule, and over those of the rule less a condition, are all that it takes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.bins import span_mask
from ruleglm.dtypes import BoolArray, FloatArray
from ruleglm.engines.base import Engine
from ruleglm.pricing.gains import MAX_CELLS, VECTORS, Candidate, GainPricer, rule_cost
from ruleglm.pricing.vocabulary import ConditionTable


@dataclass(frozen=True)
class Base:
    """A rule of the model, or what is left of it without a condition, to be extended by one.

    Attributes
    ----------
    owner : int, position of the rule
    rule : BinRule
    tried : (n_features,) bool, the features that the new condition may be on
    """

    owner: int
    rule: BinRule
    tried: BoolArray


def find_replacements(
    pricer: GainPricer,
    engine: Engine,
    coefficients: FloatArray,
    noise: float,
    price: float,
    n_fixed: int = 0,
    positions: Sequence[int] | None = None,
) -> list[Candidate]:
    """Return for each rule of the model the neighbour that would serve best, if better than it.

    Parameters
    ----------
    pricer : GainPricer
    engine : Engine, standing at the model
    coefficients : (n_rules,) float64
    noise : float, see `GainPricer.worth`
    price : float, of a unit of complexity, in the unit of gains
    n_fixed : int, rules of the model, its first, that nothing replaces
    positions : sequence of int, the rules to look at, by default all
    """
    size = max(1, MAX_CELLS // (16 * int(pricer.table.n_bins.sum())))
    total = engine.hessian_sum()
    held = set(engine.rules)
    chosen: dict[BinRule, Candidate] = {}
    every = list(range(n_fixed, len(engine.rules)) if positions is None else positions)
    for first in range(0, len(every), size):
        part = every[first : first + size]
        rules = [engine.rules[k] for k in part]
        bases = list(
            chain.from_iterable(list_bases(pricer.table, k, r) for k, r in enumerate(rules))
        )
        found = judge(pricer, engine, rules, coefficients[part], bases, total)
        best: dict[int, tuple[float, Candidate]] = {}
        for owner, one in found:
            value = one.gain - pricer.luck(one.degree) * noise - price * rule_cost(one.degree)
            if owner not in best or value > best[owner][0]:
                best[owner] = value, one
        for _, one in best.values():
            chosen.setdefault(one.rule, one)
    return [one for rule, one in chosen.items() if rule not in held]


def list_bases(table: ConditionTable, owner: int, rule: BinRule) -> Iterator[Base]:
    """Yield what a rule's neighbours extend.

    The rule itself by a condition on any feature that it may be on; without one of its conditions,
    by one on its own features.
    """
    yield Base(owner, rule, table.partners(rule))
    own = np.zeros(len(table.n_bins), np.bool_)
    own[[feature for feature, _ in rule]] = True
    for less in shorten(table, rule):
        yield Base(owner, less, own)


def judge(
    pricer: GainPricer,
    engine: Engine,
    rules: Sequence[BinRule],
    coefficients: FloatArray,
    bases: Sequence[Base],
    total: float,
) -> Iterator[tuple[int, Candidate]]:
    """Yield each base and its best extension, with the position of the rule they would replace."""
    table = pricer.table
    places = {base: k for k, base in enumerate(dict.fromkeys(base.rule for base in bases))}
    wanted = np.zeros((len(places), len(table.n_bins)), np.bool_)
    wanted[:, 0] = True  # the bins of one feature hold all rows
    for base in bases:
        wanted[places[base.rule]] |= base.tried
    histograms = engine.histograms_within(list(places), VECTORS, wanted)
    sums = histograms[:, :, : int(table.n_bins[0])].sum(axis=2)
    at = np.array([places[base.rule] for base in bases])
    mine = np.array([places[rules[base.owner]] for base in bases])
    beta = np.array([coefficients[base.owner] for base in bases])
    balance = beta * sums[mine, 1] / total  # the intercept moves when the rule is gone
    moved = histograms[at]
    moved[:, 0] += balance[:, None] * moved[:, 1] - beta[:, None] * histograms[mine, 1]
    tried = np.array([base.tried for base in bases])
    moved[:, 0][np.repeat(~tried, table.n_bins, axis=1)] = 0.0
    slope = sums[at, 0] + balance * sums[at, 1] - beta * sums[mine, 1]
    curve = sums[at, 1]
    gains = slope**2 / (curve - curve**2 / total + pricer.ridge)
    gains[slope * [table.rule_sign(base.rule) for base in bases] < 0.0] = 0.0
    longer = pricer.best_within([base.rule for base in bases], moved, total)
    for base, gain, new in zip(bases, gains.tolist(), longer, strict=True):
        if base.rule and gain > 0.0:
            yield base.owner, Candidate(base.rule, table.degree(base.rule), gain)
        if new is not None:
            yield base.owner, new


def shorten(table: ConditionTable, rule: BinRule) -> list[BinRule]:
    """Return the rules that come of leaving out one elementary condition."""
    out = []
    for j, (feature, mask) in enumerate(rule):
        rest = rule[:j] + rule[j + 1 :]
        for wider in _widen(table, feature, mask):
            made = table.make_rule([*rest, (feature, wider)])
            out.append(() if made is None else made[0])
    return out


def _widen(table: ConditionTable, feature: int, mask: int) -> list[int]:
    """Return the conditions on one feature with an elementary condition less; -1 for none."""
    if table.degree([(feature, mask)]) == 1:
        return [-1]
    top = int(table.top[feature])
    if top >= 0:
        low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
        return [span_mask(0, high), span_mask(low, top)]
    return [mask | 1 << b for b in range(-1 - top) if not mask >> b & 1]
