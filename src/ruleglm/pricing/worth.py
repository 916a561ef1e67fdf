"""What a candidate of a pursuit is worth: its cost, the luck of a long search, and rounding."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import FloatArray, IntArray
from ruleglm.ensemble import DEGREE_WEIGHT

DIGITS = 6
"""Digits of what a rule is worth that count; the rest is rounding, and must decide nothing."""

LUCK = 0.5
"""Share of the luck of the longer search that is taken off."""


class Candidate(NamedTuple):
    """A rule and what it would give: twice the decrease of the mean loss, the others held."""

    rule: BinRule
    degree: int
    gain: float


def round_off(value: float) -> float:
    """Leave out the digits that are rounding."""
    return float(f"{value:.{DIGITS}g}")


def relative(values: FloatArray) -> FloatArray:
    """Return values as shares of the largest, without the digits that are rounding."""
    shares: FloatArray = values / max(np.abs(values).max(initial=0.0), 1e-300)
    return shares.round(DIGITS)


def rule_cost(degree: int) -> float:
    """Return what a rule adds to the complexity."""
    return 1.0 + DEGREE_WEIGHT * degree


def rule_costs(degrees: Sequence[int] | IntArray) -> FloatArray:
    """Return what each of some rules adds to the complexity."""
    return 1.0 + DEGREE_WEIGHT * np.asarray(degrees, np.float64)


def luck_by_degree(n_conditions: int, max_degree: int) -> list[float]:
    """Return how much more, in units of noise, the best of all rules of a degree has by chance."""
    log_one = math.log(max(2, n_conditions))
    luck = [2 * (d * log_one - math.lgamma(d + 1)) for d in range(max_degree + 2)]
    return [LUCK * max(0.0, value - luck[1]) for value in luck]
