"""The columns of the restricted problem: their prices, dropping the idle, going back."""

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import FloatArray
from ruleglm.engines.base import Engine
from ruleglm.pricing.problem import Penalty

MANY_IDLE = 50
"""Rules at zero that are carried along, beside twice as many as there are others."""


def null_coefficients(engine: Engine) -> FloatArray:
    """Return the best coefficients whose linear terms and rules are all at zero."""
    coef = np.zeros(1 + engine.n_linear + len(engine.rules))
    coef[0] = engine.null_intercept()
    return coef


def column_penalties(engine: Engine, penalty: Penalty) -> FloatArray:
    """Return the penalty of each linear term and rule that the engine holds."""
    rules = [penalty.of(degree) for degree in engine.degrees]
    return np.array([penalty.lambda_0] * engine.n_linear + rules)


def drop_idle(engine: Engine, coef: FloatArray) -> tuple[FloatArray, bool]:
    """Drop rules at zero when they are many; pricing brings back those that matter."""
    first = 1 + engine.n_linear
    active = np.flatnonzero(coef[first:])
    if len(coef) - first < MANY_IDLE + 2 * len(active):
        return coef, False
    engine.keep_rules(active.tolist())
    return np.concatenate([coef[:first], coef[first:][active]]), True


def restore(
    engine: Engine, rules: list[BinRule], degrees: list[int], coef: FloatArray
) -> FloatArray:
    """Bring the engine back to a model after an interrupt."""
    engine.keep_rules([])
    engine.add_rules(rules, degrees)
    engine.set_coefficients(coef)
    return coef
