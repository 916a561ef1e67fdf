"""Rules of more than three conditions: branch and bound from each first condition.

A first condition is followed only while the positive (or negative) gradients that it covers could
pay for a rule of the next degree. Branches are taken in the order of that bound, in batches whose
members do not hear of each other, so the result does not depend on threads; what is left at a time
limit has a bound.
"""

import math
from typing import TypeAlias

import numpy as np

from ruleglm import kernels
from ruleglm.dtypes import INDEX_DTYPE, MAX_BINS, CodeArray, FloatArray, IntArray
from ruleglm.engines.base import Engine
from ruleglm.kernels.search import ABOVE, ALONE, DIFFERS, MAX_DEPTH, ROUNDING, UPTO
from ruleglm.parallel import ANY_THREADS
from ruleglm.pricing.found import Found
from ruleglm.pricing.problem import Limits, Penalty
from ruleglm.pricing.vocabulary import ConditionTable

Branch: TypeAlias = tuple[float, int, int]
"""Bound, sign and first condition of a search."""

KNOWN = 3
"""Rules up to this degree have been searched before."""

BATCH = 16
MAX_VISITS = 5_000_000_000
"""Rows that the search of one branch may visit, about a minute; then it is left with its bound."""

MANY = 0.9
"""Groups, as a share of the rows, from which on hardly any row shares its group."""

STRENGTH_DIGITS = 9
"""Decimals of sums that order the features; the rest is rounding, and must decide nothing."""

VISITS_PER_SECOND = 40_000_000
"""A cautious speed, that turns what is left of a time limit into visits."""


def search_deep(
    engine: Engine,
    found: Found,
    table: ConditionTable,
    max_degree: int | None,
    limits: Limits,
) -> bool:
    """Search all rules of degree 4 and more; return whether the search was complete."""
    branches, strengths = open_branches(engine, found, table)
    largest = branches[0][0] if branches else 0.0
    if branches:
        codes, gradient = engine.gather()
        order = search_order(table, strengths)
        codes = np.ascontiguousarray(codes[order])
        groups = group_rows(codes)
        sides = {sign: Side(codes, sign * gradient, groups, table, order, sign) for sign in (1, -1)}
    deepest = MAX_DEPTH + 1 if max_degree is None else max_degree - 1
    complete = True
    size = BATCH if limits.deadline == math.inf else engine.workers.n_threads
    while branches:
        batch, branches = branches[:size], branches[size:]
        best = max(found.best, 0.0)
        if batch[0][0] - found.penalty.of(KNOWN + 1) <= best:
            break
        if limits.over():
            found.leave(KNOWN + 1, batch[0][0])
            return False

        visits = int(min(MAX_VISITS, VISITS_PER_SECOND * limits.seconds_left()))

        def search(
            branch: Branch, best: float = best, visits: int = visits
        ) -> tuple[float, list[int], bool]:
            return sides[branch[1]].follow(found.penalty, branch[2], deepest, best, visits)

        # threads only search: what they found is written down here, by one of them, in order
        for branch, answer in zip(
            batch, engine.workers.map(search, batch, ANY_THREADS), strict=True
        ):
            complete &= record(found, table, branch, *answer)
    rounding = 2 * ROUNDING * largest
    found.leave(KNOWN + 1, found.penalty.of(KNOWN + 1) + max(found.best, 0.0) + rounding)
    return complete


class Side:
    """The search of one sign: the rows, what they gain, and the conditions that count.

    Parameters
    ----------
    codes, gain, groups : arrays, see :mod:`ruleglm.kernels.search`
    table : ConditionTable
    order : (n_features,) int64, in which the features are searched, and ``codes`` has them
    sign : int, 1 or -1
    """

    def __init__(
        self,
        codes: CodeArray,
        gain: FloatArray,
        groups: IntArray,
        table: ConditionTable,
        order: IntArray,
        sign: int,
    ) -> None:
        ranks = np.argsort(order)[table.feature]
        places = np.argsort(ranks, kind="stable")
        self._places = places[sign * table.sign[places] >= 0]
        self._starts = {c: k for k, c in enumerate(self._places.tolist())}
        listed = table.lo, table.hi, condition_kinds(table), ranks
        conditions = (array[self._places] for array in listed)
        together, apart = table.constraints.matrices(len(order))
        limits = np.ascontiguousarray(together[:, order]), apart[np.ix_(order, order)]
        self._arrays = codes, gain, groups, table.n_bins[order], *conditions, *limits

    def follow(
        self, penalty: Penalty, condition: int, deepest: int, best: float, visits: int
    ) -> tuple[float, list[int], bool]:
        """Search the rules that begin with one condition.

        Returns the best reduced cost, the conditions that follow (none if nothing better than
        ``best`` was found), and whether the search came to its end.
        """
        path = np.zeros(MAX_DEPTH, np.int64)
        value, length, finished = kernels.search_branch(
            *(*self._arrays, self._starts[condition], penalty.of(1), penalty.lambda_1),
            *(KNOWN - 1, deepest, best, visits, path),
        )
        return float(value), self._places[path[: max(length, 0)]].tolist(), bool(finished)


def search_order(table: ConditionTable, strengths: FloatArray) -> IntArray:
    """Return the order of features in a search: unordered levels last, the most of them at the end.

    There are as many conditions ``!=`` together as subsets of levels. Only the bound of rows that
    the features to come cannot tell apart cuts them down, and it is exact for the last feature.
    Of the others, those whose conditions alone say the least come first.
    """
    n_levels = np.where(table.top < 0, -1 - table.top, 0)
    return np.lexsort((strengths, n_levels)).astype(INDEX_DTYPE)


def group_rows(codes: CodeArray) -> IntArray:
    """Return the groups of rows that a feature and all after it cannot tell apart, numbered.

    There is one line for each of the last features, from the first on where not nearly
    every row is alone, and one for what comes after the last: all rows in one group.
    """
    numbers, n_groups = np.zeros(codes.shape[1], INDEX_DTYPE), 1
    groups = [numbers]
    for line in codes[::-1]:
        if n_groups >= MANY * len(numbers):
            break
        different, numbers = np.unique(numbers * MAX_BINS + line, return_inverse=True)
        n_groups = len(different)
        groups.append(numbers)
    return np.array(groups[::-1], INDEX_DTYPE)


def condition_kinds(table: ConditionTable) -> IntArray:
    """Return how each condition joins others of its feature."""
    tops = table.top[table.feature]
    kinds = np.full(len(table.lo), ALONE, INDEX_DTYPE)
    kinds[(tops >= 0) & (table.lo == 0) & (table.hi < tops)] = UPTO
    kinds[(tops >= 0) & (table.lo > 0) & (table.hi == tops)] = ABOVE
    kinds[table.negate] = DIFFERS
    return kinds


def open_branches(
    engine: Engine, found: Found, table: ConditionTable
) -> tuple[list[Branch], FloatArray]:
    """Return (bound, sign, condition) of the first conditions, largest bound first.

    And for each feature the largest sum of gradients over a condition.
    """
    strengths = np.zeros(len(table.features))
    if len(table.splitting) == 0:
        return [], strengths
    histograms = engine.joint_histograms(table.splitting, ("gradient", "positive"))
    positive, values = table.values(histograms, 1), table.values(histograms)
    np.maximum.at(strengths, table.feature, np.round(np.abs(values), STRENGTH_DIGITS))
    negative = positive - values
    signs = table.sign.tolist()
    branches = [(float(bound), 1, c) for c, bound in enumerate(positive) if signs[c] >= 0]
    branches += [(float(bound), -1, c) for c, bound in enumerate(negative) if signs[c] <= 0]
    least = found.penalty.of(KNOWN + 1) + max(found.best, 0.0)
    open_ones = [branch for branch in branches if branch[0] > least]
    return sorted(open_ones, key=lambda branch: (-round(branch[0], 12), branch[1:])), strengths


def record(
    found: Found,
    table: ConditionTable,
    branch: Branch,
    value: float,
    path: list[int],
    finished: bool,
) -> bool:
    """Write down what a branch gave; return whether it was searched to its end."""
    bound, _, condition = branch
    if path:
        made = table.make_rule(condition_of(table, c) for c in [condition, *path])
        if made is not None:
            found.offer(*made, value + found.penalty.of(len(path) + 1))
    if not finished:
        found.leave(KNOWN + 1, bound)
    return finished


def condition_of(table: ConditionTable, condition: int) -> tuple[int, int]:
    """Return a condition of the table as feature and mask."""
    return int(table.feature[condition]), table.masks[condition]
