"""Pairs of rules that say about the same: by their words, or on the rows at hand."""

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ruleglm.conditions import Condition, Levels, Missing, Range
from ruleglm.dtypes import BoolArray, FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.frames import Level, Table
from ruleglm.rules import Rule

if TYPE_CHECKING:
    import pandas as pd

RELATIONS = ("equal", "complement", "similar", "inside")
"""What a pair of rules can be to each other, the most redundant first."""

_BLOCK_ROWS = 65_536


def find_redundancy(
    ensemble: RuleEnsemble, table: Table | None, weights: FloatArray | None, threshold: float
) -> "pd.DataFrame":
    """Return the pairs of rules of a model that overlap.

    Parameters
    ----------
    ensemble : RuleEnsemble
    table : Table, or None to compare the words of the rules only
    weights : (n_rows,) float64, or None for equal weights
    threshold : float, least Jaccard index of similar rules
    """
    import pandas as pd

    rules = ensemble.rules
    overlap = None if table is None else Overlap.measure(rules, table, weights)
    lines = []
    for i, j in combinations(range(len(rules)), 2):
        forward, backward = rule_implies(rules[i], rules[j]), rule_implies(rules[j], rules[i])
        relation, swap = relate_words(forward, backward)
        if overlap is not None:
            relation, swap = overlap.relate(i, j, threshold, relation, swap)
        if relation is None:
            continue
        one, other = (j, i) if swap else (i, j)
        shares = [np.nan] * 3 if overlap is None else overlap.shares(one, other)
        lines.append(
            [rules[one].text(), rules[other].text(), relation, forward or backward, *shares]
        )
    columns = ["rule", "other", "relation", "logical", "jaccard", "support", "other_support"]
    frame = pd.DataFrame(lines, columns=columns)
    frame["relation"] = pd.Categorical(frame["relation"], RELATIONS, ordered=True)
    return frame.sort_values(
        ["relation", "jaccard"], ascending=[True, False], kind="stable", ignore_index=True
    )


# ------------------------------------------------------------------------------- on the rows


class Overlap:
    """Which share of the rows pairs of rules have in common.

    Parameters
    ----------
    counts : (n_rules, n_rules) float64, rows that both rules of a pair cover
    masses : (n_rules, n_rules) float64, the same by weight
    n_rows : int
    mass : float, the weight of all rows
    """

    def __init__(self, counts: FloatArray, masses: FloatArray, n_rows: int, mass: float) -> None:
        self.counts, self.masses = counts, masses
        self.n_rows, self.mass = n_rows, mass

    @classmethod
    def measure(
        cls, rules: tuple[Rule, ...], table: Table, weights: FloatArray | None
    ) -> "Overlap":
        """Evaluate rules on the rows of positive weight."""
        cover = cover_rows(rules, table)
        if weights is not None:
            cover, weights = cover[:, weights > 0], weights[weights > 0]
        n_rows, counts = cover.shape[1], common_mass(cover, cover, None)
        if weights is None:
            return cls(counts, counts, n_rows, float(n_rows))
        return cls(counts, common_mass(cover, cover, weights), n_rows, float(weights.sum()))

    def relate(
        self, i: int, j: int, threshold: float, relation: str | None, swap: bool
    ) -> tuple[str | None, bool]:
        """Say what a pair is on the rows, given what it is by its words.

        The second answer tells whether the pair has to be turned round to read "one inside the
        other". Rules that hold nowhere, or everywhere, are only compared by their words.
        """
        both, one, other = self.counts[i, j], self.counts[i, i], self.counts[j, j]
        if min(one, other) == 0 or max(one, other) == self.n_rows:
            return relation, swap
        if both == one == other:
            return "equal", False
        if both == 0 and one + other == self.n_rows:
            return "complement", False
        if self.shares(i, j)[0] >= threshold:
            return "similar", bool(other < one)
        if both == min(one, other):
            return "inside", bool(other < one)
        return relation, swap

    def shares(self, i: int, j: int) -> list[float]:
        """Return the Jaccard index of a pair, and the share of the rows that each covers."""
        both, one, other = self.masses[i, j], self.masses[i, i], self.masses[j, j]
        index = float(jaccard(both, one, other, self.mass))
        return [index, float(one) / self.mass, float(other) / self.mass]


def jaccard(both: ArrayLike, one: ArrayLike, other: ArrayLike, total: float) -> FloatArray:
    """Return the Jaccard index of what two rules cover, or of what they leave out if it is smaller.

    By what they cover alone, any two rules that hold nearly everywhere would be alike.

    Parameters
    ----------
    both, one, other : array-like of float, the mass that both rules cover, and that each does
    total : float, the mass of all rows
    """
    both, one, other = np.asarray(both), np.asarray(one), np.asarray(other)
    covered, left = one + other - both, total - both
    inside = np.divide(both, covered, out=np.ones(covered.shape), where=covered > 0)
    outside = np.divide(total - covered, left, out=np.ones(covered.shape), where=left > 0)
    return np.asarray(np.minimum(inside, outside))


def common_mass(first: BoolArray, second: BoolArray, weights: FloatArray | None) -> FloatArray:
    """Return the number of rows, or their weight, that pairs of rules both cover.

    Parameters
    ----------
    first, second : (n_rules, n_rows) bool
    weights : (n_rows,) float64, or None to count
    """
    total = np.zeros((len(first), len(second)))
    for start in range(0, first.shape[1], _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        block = first[:, rows].astype(np.float64)
        if weights is not None:
            block *= weights[rows]
        total += block @ second[:, rows].T
    return total


def cover_rows(rules: tuple[Rule, ...], table: Table) -> BoolArray:
    """Return where each rule holds, shape (n_rules, n_rows)."""
    cover = np.array([rule.holds(table) for rule in rules], dtype=np.bool_)
    return cover.reshape(len(rules), table.n_rows)


# ------------------------------------------------------------------------------ by their words


def relate_words(forward: bool, backward: bool) -> tuple[str | None, bool]:
    """Say what a pair is, given which of the two implies the other, and whether to turn it."""
    if forward and backward:
        return "equal", False
    return ("inside" if forward or backward else None), backward


def rule_implies(first: Rule, second: Rule) -> bool:
    """Tell whether every row that satisfies the first rule satisfies the second, by their words."""
    mine = {condition.feature: condition for condition in first.conditions}
    return all(
        condition.feature in mine and implies(mine[condition.feature], condition)
        for condition in second.conditions
    )


def implies(first: Condition, second: Condition) -> bool:
    """Tell whether a value that satisfies the first condition satisfies the second.

    Both are on the same column.
    """
    if isinstance(second, Missing):
        return first == second if isinstance(first, Missing) else not second.missing
    if isinstance(first, Missing):
        return False
    if isinstance(first, Range) and isinstance(second, Range) and not (first.order or second.order):
        return second.low <= first.low and first.high <= second.high
    mine, theirs = _named_levels(first), _named_levels(second)
    if mine is None or theirs is None:
        return False
    (levels, negated), (others, outside) = mine, theirs
    if negated:
        return outside and others <= levels
    return levels.isdisjoint(others) if outside else levels <= others


def _named_levels(condition: Range | Levels) -> tuple[frozenset[Level], bool] | None:
    """Return the levels of a condition, and whether it asks for others; None for numbers."""
    if isinstance(condition, Levels):
        return frozenset(condition.levels), condition.negated
    if condition.order is None:
        return None
    ranks = enumerate(condition.order)
    inside = (level for rank, level in ranks if condition.low < rank <= condition.high)
    return frozenset(inside), False
