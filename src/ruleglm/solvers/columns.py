"""The columns of the restricted problem: their prices, dropping the idle, going back."""

from collections.abc import Sequence

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import FloatArray
from ruleglm.engines.base import Engine
from ruleglm.ensemble import DEGREE_WEIGHT
from ruleglm.pricing.problem import Penalty
from ruleglm.solvers.master import solve_master

MANY_IDLE = 50
"""Rules at zero that are carried along, beside twice as many as there are others."""


KEEP_ABOVE = 1e-5
"""Smaller coefficients of the scaled problem are no part of the model (paper, section 3.2)."""

NEVER = 1e100
"""A penalty that keeps a column out."""

NULL_TOL = 1e-10
"""Share of the loss to which the model of the included columns is solved."""


LINE_VARIANCE = 0.16
"""Of the columns of lines, and of a rule that covers a fifth of the rows."""

LEAST_SHARE = 0.03
"""Of a ridge, that columns have which hardly vary."""


def spread_ridge(engine: Engine, ridge: float, power: float) -> FloatArray:
    """Return a ridge for each column, in proportion to a power of its variance.

    It is ``ridge`` for lines and for rules that cover a fifth of the rows, or all but a fifth.
    """
    shares = engine.supports()
    spreads = np.maximum(shares * (1.0 - shares) / LINE_VARIANCE, LEAST_SHARE) ** power
    return ridge * np.concatenate([[0.0], np.ones(engine.n_linear), spreads])


def shrink_ridges(engine: Engine, ridge: float) -> FloatArray:
    """Return the ridge of each column in a refit: in proportion to its standard deviation."""
    return spread_ridge(engine, ridge, power=0.5)


def null_coefficients(engine: Engine) -> FloatArray:
    """Return the best coefficients whose linear terms and rules are all at zero."""
    coef = np.zeros(1 + engine.n_linear + len(engine.rules))
    coef[0] = engine.null_intercept()
    return coef


def fit_free(engine: Engine, free: Sequence[int]) -> FloatArray:
    """Return the best coefficients of a model without a price; the engine stands there."""
    coef = null_coefficients(engine)
    loss = engine.set_coefficients(coef)
    if not len(free):
        return coef
    penalties = np.full(len(coef) - 1, NEVER)
    penalties[np.asarray(free) - 1] = 0.0
    return solve_master(engine, penalties, coef, NULL_TOL * loss).coef


def column_penalties(engine: Engine, penalty: Penalty, free: Sequence[int] = ()) -> FloatArray:
    """Return the penalty of each linear term and rule that the engine holds.

    ``free`` are the positions of the coefficients that have none.
    """
    rules = [penalty.of(degree) for degree in engine.degrees]
    penalties = np.array([penalty.lambda_0] * engine.n_linear + rules)
    penalties[[k - 1 for k in free]] = 0.0
    return penalties


def model_size(engine: Engine, coef: FloatArray, free: Sequence[int] = ()) -> tuple[int, float]:
    """Return the number of terms of the model, and its complexity."""
    used = np.abs(coef) > KEEP_ABOVE
    used[list(free)] = True
    costs = [1.0] * engine.n_linear + [1.0 + DEGREE_WEIGHT * d for d in engine.degrees]
    return int(used[1:].sum()), float(np.array(costs)[used[1:]].sum())


def drop_idle(
    engine: Engine, coef: FloatArray, free: Sequence[int] = ()
) -> tuple[FloatArray, bool]:
    """Drop rules at zero when they are many; pricing brings back those that matter."""
    first = 1 + engine.n_linear
    used = coef != 0.0
    used[list(free)] = True
    active = np.flatnonzero(used[first:])
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
