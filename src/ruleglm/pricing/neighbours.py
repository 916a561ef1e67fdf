"""Neighbours of a model's rules: what would serve better in the place of each (design, section 6).

A neighbour has one condition more, one less, or one at another threshold or level. It is judged at
the model without the one rule, by the quadratic approximation of the loss: both derivatives of the
loss over the rows of the rule, and over those of the rule less a condition, are all that it takes.
"""

from collections.abc import Sequence
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.bins import span_mask
from ruleglm.dtypes import INDEX_DTYPE, FloatArray, IntArray
from ruleglm.engines.base import BOTH, Engine
from ruleglm.ensemble import DEGREE_WEIGHT
from ruleglm.pricing.gains import MAX_CELLS, GainPricer
from ruleglm.pricing.vocabulary import ConditionTable
from ruleglm.pricing.worth import Candidate, rule_cost

Base: TypeAlias = tuple[BinRule, int]
"""A rule of the model, or what is left of it without a condition, and its degree."""

_KNOWN: WeakKeyDictionary[ConditionTable, dict[BinRule, list[Base]]] = WeakKeyDictionary()


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
        for one in replace_each(pricer, engine, rules, coefficients[part], total, noise, price):
            chosen.setdefault(one.rule, one)
    return [one for rule, one in chosen.items() if rule not in held]


def replace_each(
    pricer: GainPricer,
    engine: Engine,
    rules: Sequence[BinRule],
    coefficients: FloatArray,
    total: float,
    noise: float,
    price: float,
) -> list[Candidate]:
    """Return the best neighbour of each rule that has one that is better."""
    lists = bases_of(pricer.table, rules)
    bases = [base for one in lists for base, _ in one]
    owners = np.repeat(np.arange(len(rules)), [len(one) for one in lists])
    kept, longer, codes = judge(pricer, engine, rules, coefficients, bases, owners, total)

    def value(gain: FloatArray, degree: IntArray) -> FloatArray:
        return (pricer.worths(gain, degree, noise) - price) * (1.0 + DEGREE_WEIGHT * degree)

    degrees = np.array([degree for one in lists for _, degree in one], INDEX_DTYPE)
    itself = np.searchsorted(owners, np.arange(len(rules)))  # the first base of each is the rule
    stays = value(kept, degrees)
    features = np.argmax(longer, axis=1)
    every = np.arange(len(bases))
    gains = longer[every, features]
    inside = pricer.table.features_of(bases)[every, features]
    hopes = value(gains, degrees + ~inside)  # a condition on a feature of its own may cost nothing
    best = stays[itself].tolist()
    found: dict[int, Candidate] = {}
    shorter = (stays > stays[itself][owners]) & (kept > 0.0) & (degrees > 0)
    for k in np.flatnonzero(shorter).tolist():
        owner = int(owners[k])
        if stays[k] > best[owner]:
            best[owner] = float(stays[k])
            found[owner] = Candidate(bases[k], int(degrees[k]), float(kept[k]))
    promising = np.flatnonzero((hopes > np.array(best)[owners]) & (gains > 0.0))
    order = promising[np.argsort(-hopes[promising], kind="stable")]
    facts = (order, owners[order], hopes[order], degrees[order], features[order])
    for k, owner, hope, degree, feature in zip(*(fact.tolist() for fact in facts), strict=True):
        if hope <= best[owner]:
            continue
        new = pricer.best_allowed(bases[k], degree, feature, longer[k], codes[k])
        if new is None:
            continue
        worth = (pricer.worth(new.gain, new.degree, noise) - price) * rule_cost(new.degree)
        if worth > best[owner]:
            best[owner], found[owner] = worth, new
    return [found[owner] for owner in sorted(found)]


def bases_of(table: ConditionTable, rules: Sequence[BinRule]) -> list[list[Base]]:
    """Return the bases of each rule, which are listed once."""
    known = _KNOWN.setdefault(table, {})
    for rule in rules:
        if rule not in known:
            known[rule] = list_bases(table, rule)
    return [known[rule] for rule in rules]


def list_bases(table: ConditionTable, rule: BinRule) -> list[Base]:
    """Return what a rule's neighbours extend: the rule itself, and without one of its conditions.

    Conditions on other features are not tried: they are what searches extend rules by.
    """
    return [(rule, table.degree(rule)), *shorten(table, rule)]


def judge(
    pricer: GainPricer,
    engine: Engine,
    rules: Sequence[BinRule],
    coefficients: FloatArray,
    bases: Sequence[BinRule],
    owners: IntArray,
    total: float,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return what each base would gain in the place of its owner, and with a condition more.

    Returns
    -------
    kept : (n_bases,) float64, gains of the bases as they are
    longer : (n_bases, n_features) float64, gains with the best condition on a feature
    codes : (n_bases, n_features) int64, of these conditions, see `GainPricer.scan_within`
    """
    table = pricer.table
    places = {base: k for k, base in enumerate(dict.fromkeys(bases))}
    at = np.array([places[base] for base in bases], INDEX_DTYPE)
    tried = table.features_of(rules)[owners]
    wanted = np.zeros((len(places), len(table.n_bins)), np.bool_)
    wanted[:, 0] = True  # the bins of one feature hold all rows
    np.logical_or.at(wanted, at, tried)
    histograms = engine.histograms_within(list(places), BOTH, wanted)
    sums = histograms[:, :, : int(table.n_bins[0])].sum(axis=2)
    mine = np.array([places[rule] for rule in rules], INDEX_DTYPE)[owners]
    beta = coefficients[owners]
    balance = beta * sums[mine, 1] / total  # the intercept moves when the rule is gone
    slope = sums[at, 0] + balance * sums[at, 1] - beta * sums[mine, 1]
    curve = sums[at, 1]
    kept = slope**2 / (curve - curve**2 / total + pricer.ridge)
    kept[slope * table.rule_signs(bases) < 0.0] = 0.0
    both, gone = np.column_stack([at, mine]), np.column_stack([beta, balance])
    return kept, *pricer.scan_within(bases, histograms, tried, total, both, gone)


def shorten(table: ConditionTable, rule: BinRule) -> list[Base]:
    """Return the rules that come of leaving out one elementary condition, and their degrees."""
    out: list[Base] = []
    degree = table.degree(rule)
    for j, (feature, mask) in enumerate(rule):
        before, after = rule[:j], rule[j + 1 :]
        rest = degree - table.degree_of(feature, mask)
        for wider in _widen(table, feature, mask):
            plain = table.plain(feature, wider)
            if plain is None or plain[1] == 0:
                out.append((before + after, rest))
            else:
                out.append(((*before, (feature, plain[0]), *after), rest + plain[1]))
    return out


def _widen(table: ConditionTable, feature: int, mask: int) -> list[int]:
    """Return the conditions on one feature with an elementary condition less; -1 for none."""
    if table.degree_of(feature, mask) == 1:
        return [-1]
    top = int(table.top[feature])
    if top >= 0:
        low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
        return [span_mask(0, high), span_mask(low, top)]
    return [mask | 1 << b for b in range(-1 - top) if not mask >> b & 1]
