"""The trade-off curve: models from simple to complex, and how one of them is chosen."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruleglm.dtypes import BoolArray, FloatArray, IntArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain.figures import draw_tradeoff
from ruleglm.fitting import DEFAULT_RIDGE, VARIANTS, PathModel
from ruleglm.training import Units

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 10
"""Digits of a score that count; models that differ in the rest tie, and the simpler one wins."""

NEGLIGIBLE = 1e-3
"""Share of what the best model explains that simpler ones may leave unexplained."""

PLAIN = {"l1": 0.0, "l0": DEFAULT_RIDGE}
"""Variants of models that were not compared on held-out rows."""


@dataclass(frozen=True, eq=False)
class TradeoffPath:
    """Models from simple to complex with their scores.

    Attributes
    ----------
    models : tuple of PathModel
    kind : {"l1", "l0"}
    units : Units
    scores : (n_folds, n_models, n_variants) float64
        Of held-out rows, nan for models that a fold did not reach; no folds if there was no
        cross-validation.
    greater_is_better : bool, False for losses
    chosen : int, position of the model chosen, -1 for none
    """

    models: tuple[PathModel, ...]
    kind: str
    units: Units
    scores: FloatArray
    greater_is_better: bool = False
    chosen: int = -1

    def __len__(self) -> int:
        return len(self.models)

    def __iter__(self) -> Iterator[RuleEnsemble]:
        return (self.ensemble(index) for index in range(len(self)))

    # ----------------------------------------------------------------------------- the models

    @property
    def variants(self) -> tuple[float, ...]:
        """Shares of the penalised coefficients for "l1", ridges in rows for "l0"."""
        return VARIANTS[self.kind]

    def ensemble(self, index: int, variant: float | None = None) -> RuleEnsemble:
        """Return a model, without fitting anything again.

        Parameters
        ----------
        index : int
            Row of the table.
        variant : float, optional
            One of `variants`; by default the best on held-out rows.
        """
        model = self.models[index]
        place = self.best_variants()[index] if variant is None else self._place(variant)
        coef = model.coefs[place]
        return self.units.translate(model.rules, model.linear, coef, model.supports).ensemble

    def _place(self, variant: float) -> int:
        if variant not in self.variants:
            known = ", ".join(f"{value:g}" for value in self.variants)
            raise ValueError(f"There is no variant {variant!r}; the path has {known}.")
        return self.variants.index(variant)

    # ----------------------------------------------------------------------------- the scores

    def means(self) -> FloatArray:
        """Return the mean score over folds, shape (n_models, n_variants)."""
        if len(self.scores) == 0:
            return np.full((len(self), len(self.variants)), np.nan)
        means: FloatArray = self.scores.mean(axis=0)
        return means

    def errors(self) -> FloatArray:
        """Return the standard errors of the means over folds, 0 for a single fold."""
        n_folds = len(self.scores)
        if n_folds < 2:
            return 0.0 * self.means()
        with np.errstate(invalid="ignore", over="ignore"):  # huge losses have no standard error
            errors: FloatArray = self.scores.std(axis=0, ddof=1) / np.sqrt(n_folds)
        return errors

    def best_variants(self) -> IntArray:
        """Return the place of each model's best variant on held-out rows."""
        costs = self._costs(self.means())
        plain = self.variants.index(PLAIN[self.kind])
        return np.where(np.isfinite(costs).any(axis=1), np.argmin(costs, axis=1), plain)

    def _costs(self, scores: FloatArray) -> FloatArray:
        """Turn scores so that smaller is better, infinite if unknown, and round off the rest."""
        costs = -scores if self.greater_is_better else scores
        scale = np.abs(costs[np.isfinite(costs)]).max(initial=0.0) or 1.0
        return np.where(np.isnan(costs), np.inf, np.round(costs / scale, DIGITS))

    def _of_best(self, values: FloatArray) -> FloatArray:
        """Return the value of each model's best variant."""
        return values[np.arange(len(self)), self.best_variants()]

    def _train_losses(self) -> FloatArray:
        return self._of_best(np.array([model.losses for model in self.models]))

    def costs(self) -> FloatArray:
        """Return what is to be small: the cross-validated score, or else the training loss.

        Infinite for models that some fold did not reach.
        """
        if len(self.scores) == 0:
            return self._train_losses()
        return self._costs(self._of_best(self.means()))

    # ----------------------------------------------------------------------------- the choice

    def complexities(self) -> FloatArray:
        """Return the complexity of each model."""
        return np.array([model.complexity for model in self.models])

    def best(self) -> int:
        """Return the position of the best model, the simplest of about equally good ones."""
        costs = self.costs()
        complexities = self.complexities()
        simplest = costs[np.argmin(complexities)]
        lowest = costs.min()
        room = NEGLIGIBLE * (simplest - lowest) if lowest < simplest < np.inf else 0.0
        near = np.where(costs <= lowest + room, complexities, np.inf)
        return int(np.lexsort((costs, near))[0])

    def simplest_near_best(self) -> int:
        """Return the position of the simplest model within one standard error of the best."""
        best = self.best()
        sign = -1.0 if self.greater_is_better else 1.0
        means = sign * self._of_best(self.means())
        near = means <= means[best] + self._of_best(self.errors())[best]
        complexities = np.where(near, self.complexities(), np.inf)
        return int(np.lexsort((self.costs(), complexities))[0])

    def within(
        self,
        *,
        max_complexity: float | None = None,
        max_rules: int | None = None,
        max_conditions: int | None = None,
    ) -> int:
        """Return the position of the best model inside budgets, the simplest of equals.

        A budget says how complex a model may be, so that nothing is saved of it: of models that
        are about equally good the best is returned, not the simplest.

        Parameters
        ----------
        max_complexity : float, optional
            Largest complexity.
        max_rules : int, optional
            The most rules and linear terms.
        max_conditions : int, optional
            The most conditions of all rules together.
        """
        allowed = np.array(
            [
                (max_complexity is None or model.complexity <= max_complexity + 1e-9)
                and (max_rules is None or len(model.rules) + len(model.linear) <= max_rules)
                and (max_conditions is None or model.n_conditions <= max_conditions)
                for model in self.models
            ]
        )
        if not allowed.any():
            raise ValueError("No model of the path is inside these budgets.")
        return int(np.lexsort((self.complexities(), np.where(allowed, self.costs(), np.inf)))[0])

    def efficient(self) -> BoolArray:
        """Tell which models are better than every other one that is at most as complex."""
        costs = self.costs()
        lowest, efficient = np.inf, np.zeros(len(self), np.bool_)
        for k in np.lexsort((costs, self.complexities())):
            efficient[k] = costs[k] < lowest
            lowest = min(lowest, costs[k])
        return efficient

    # ----------------------------------------------------------------------------- to look at

    def table(self) -> "pd.DataFrame":
        """Return one row a model.

        The columns: ``strength`` (``lambda_0``; for "l0" the decrease of the mean loss by unit of
        complexity of the last step) and ``lambda_1``, sizes, ``train_loss``, mean and standard
        error over folds of the score of the best variant, that ``variant`` (share of the penalised
        coefficients, or ridge in rows), the optimality gap, whether the model is better than every
        other one at most as complex, and whether it is the one chosen.
        """
        import pandas as pd

        models = self.models
        return pd.DataFrame(
            {
                "strength": [model.strength for model in models],
                "lambda_1": [model.lambda_1 for model in models],
                "n_rules": [len(model.rules) for model in models],
                "n_linear": [len(model.linear) for model in models],
                "n_conditions": [model.n_conditions for model in models],
                "complexity": self.complexities(),
                "degrees": [_count_degrees(model.degrees) for model in models],
                "train_loss": self._train_losses(),
                "cv_mean": self._of_best(self.means()),
                "cv_se": self._of_best(self.errors()),
                "variant": [self.variants[place] for place in self.best_variants()],
                "gap": [model.solution.gap for model in models],
                "efficient": self.efficient(),
                "chosen": np.arange(len(self)) == self.chosen,
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the score against the complexity; return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        """
        scored = len(self.scores) > 0
        held_out = "score" if self.greater_is_better else "loss"
        label = f"cross-validated {held_out}" if scored else "training loss"
        return draw_tradeoff(self.table(), scored, label, ax)


def _count_degrees(degrees: Sequence[int]) -> str:
    """Say how many rules there are of each degree: "12x1 5x2"."""
    return " ".join(f"{count}x{degree}" for degree, count in sorted(Counter(degrees).items()))
