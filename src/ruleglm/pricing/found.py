"""What a search has found so far: rules worth adding, the best sums, and bounds on the rest."""

from collections import defaultdict
from collections.abc import Container

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.pricing.problem import Penalty, PricingResult

DIGITS = 9
"""Decimals of ``|sum g a| / lambda`` that count; the rest is rounding, and must decide nothing."""


class Found:
    """Collects improving rules, and by degree the largest ``|sum g a|`` and what may be left.

    Parameters
    ----------
    penalty : Penalty
    held : rules of the model, which are not returned again
    """

    def __init__(self, penalty: Penalty, held: Container[BinRule]) -> None:
        self.penalty = penalty
        self._held = held
        self._best: dict[int, float] = defaultdict(float)
        self._bound: dict[int, float] = defaultdict(float)
        self._rules: dict[BinRule, tuple[float, int]] = {}

    def see(self, degree: int, value: float) -> None:
        """Record that some rule of ``degree`` reaches ``|sum g a| = value``."""
        self._best[degree] = max(self._best[degree], value)

    def leave(self, degree: int, bound: float) -> None:
        """Record that rules of ``degree`` were not searched, and that none exceeds ``bound``."""
        self._bound[degree] = max(self._bound[degree], bound)

    def offer(self, rule: BinRule, degree: int, value: float) -> None:
        """Take a rule if it improves the model and is not in it."""
        self.see(degree, value)
        ratio = round(value / self.penalty.of(degree), DIGITS)
        if ratio > 1.0 and rule not in self._held:
            known, _ = self._rules.get(rule, (-np.inf, 0))
            self._rules[rule] = max(ratio, known), degree

    def worth_offering(self, degree: int, n_rules: int) -> float:
        """Return the ``|sum g a|`` of a rule of ``degree`` below which ``n_rules`` are better."""
        ratios = sorted((ratio for ratio, _ in self._rules.values()), reverse=True)
        least = ratios[n_rules - 1] - 10.0**-DIGITS if len(ratios) >= n_rules else 0.0
        return max(self.threshold(degree), least * self.penalty.of(degree))

    def threshold(self, degree: int) -> float:
        """Return the ``|sum g a|`` that a rule of ``degree`` has to exceed to improve the model."""
        return self.penalty.of(degree) * (1.0 + 10.0**-DIGITS)

    @property
    def improves(self) -> bool:
        """Whether a rule that is worth adding was found."""
        return bool(self._rules)

    @property
    def n_rules(self) -> int:
        """How many rules that are worth adding were found."""
        return len(self._rules)

    @property
    def ratio(self) -> float:
        """The largest ``|sum g a| / lambda`` of a rule that is worth adding, 1 if there is none."""
        return max((ratio for ratio, _ in self._rules.values()), default=1.0)

    @property
    def best(self) -> float:
        """The largest reduced cost seen."""
        costs = [value - self.penalty.of(degree) for degree, value in self._best.items()]
        return max(costs, default=-np.inf)

    def ranked(self) -> list[tuple[float, BinRule, int]]:
        """Return minus the ratio, the rule and its degree of all that were found, best first."""
        return sorted((-ratio, rule, degree) for rule, (ratio, degree) in self._rules.items())

    def result(self, n_rules: int, complete: bool) -> PricingResult:
        """Return the ``n_rules`` best rules and what is known of the class."""
        ranked = self.ranked()[:n_rules]
        ratios = [
            max(self._best[degree], self._bound[degree]) / self.penalty.of(degree)
            for degree in {*self._best, *self._bound}
        ]
        return PricingResult(
            [rule for _, rule, _ in ranked],
            [degree for _, _, degree in ranked],
            self.best,
            max(ratios, default=0.0),
            complete,
        )
