"""The pricing problem: the rule outside the model that would lower the objective most.

With ``g_i = -s_i dloss/deta_i``, a rule ``a`` of degree ``d`` improves the model exactly if its
reduced cost ``|sum_i g_i a_i| - (lambda_0 + lambda_1 d)`` is positive (paper, equation 7, with the
sign turned). Under monotone constraints a rule may count for one sign of ``sum_i g_i a_i`` only.
"""

import math
import time
from collections.abc import Container
from dataclasses import dataclass
from typing import Protocol

from ruleglm.binning import BinRule
from ruleglm.constraints import Constraints
from ruleglm.engines.base import Engine
from ruleglm.progress import Monitor


@dataclass(frozen=True)
class Penalty:
    """The price of a rule: ``lambda_0 + lambda_1 * degree``; a linear term costs ``lambda_0``."""

    lambda_0: float
    lambda_1: float

    def of(self, degree: int) -> float:
        """Return the penalty on the coefficient of a rule with ``degree`` conditions."""
        return self.lambda_0 + self.lambda_1 * degree


@dataclass(frozen=True)
class PricingResult:
    """What a pricer found.

    Attributes
    ----------
    rules : improving rules outside the model, best first
    degrees : their degrees
    best : the largest reduced cost found, also over rules of the model
    ratio_bound : no rule of the class has ``|sum g a| / lambda`` above this, infinity if unknown;
        sums of a sign that the rule's coefficient may not answer do not count
    complete : whether the whole class was searched
    """

    rules: list[BinRule]
    degrees: list[int]
    best: float
    ratio_bound: float
    complete: bool


@dataclass(frozen=True)
class Limits:
    """When to stop searching, and whom to tell how far the search is."""

    deadline: float = math.inf
    monitor: Monitor | None = None

    @classmethod
    def after(cls, seconds: float | None, monitor: Monitor | None = None) -> "Limits":
        """Return the limits of a search that begins now and has ``seconds``, None for no limit."""
        return cls(math.inf if seconds is None else time.monotonic() + seconds, monitor)

    def over(self) -> bool:
        """Tell whether the time is up, or the search was stopped."""
        return self.stopped or time.monotonic() >= self.deadline

    @property
    def stopped(self) -> bool:
        """Whether a callback has ended the search."""
        return self.monitor is not None and self.monitor.stopped

    def report(self, n_terms: int, complexity: float, objective: float, gap: float) -> bool:
        """Tell how far the search is; return whether it is to end."""
        if self.monitor is not None:
            self.monitor.report(n_terms, complexity, objective, gap)
        return self.stopped

    def unwatched(self) -> "Limits":
        """Return the same time for a part of a search of which nothing is told."""
        return Limits(self.deadline)

    def seconds_left(self) -> float:
        """Return the seconds until the deadline, at least 0."""
        return max(0.0, self.deadline - time.monotonic())


class Pricer(Protocol):
    """Finds rules with a positive reduced cost."""

    def describe(self) -> str:
        """Return the class of rules searched, in words."""

    def price(
        self, engine: Engine, penalty: Penalty, held: Container[BinRule], limits: Limits
    ) -> PricingResult:
        """Search at the engine's current point; rules in ``held`` are not returned."""


def describe_class(max_degree: int | None, constraints: Constraints) -> str:
    """Return the class of rules up to a degree, in words."""
    degree = "any degree" if max_degree is None else f"degree <= {max_degree}"
    rules = f"all rules of {'degree 1' if max_degree == 1 else degree}"
    return f"{rules} over these bins{constraints.words}"
