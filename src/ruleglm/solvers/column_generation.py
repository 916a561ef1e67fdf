"""The loop: solve the restricted problem, price the rules outside it, add the best, certify.

Read this file first. The paper's LRR (section 3.2) and, with first-degree rules only, its LR1
(section 3.1) are this loop; the pricer decides which class of rules is searched.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.engines.base import Engine
from ruleglm.pricing.problem import Limits, Penalty, Pricer
from ruleglm.solvers.certificate import column_ratio, lower_bound, relative_gap
from ruleglm.solvers.master import solve_master

MASTER_SHARE = 0.02
"""While rules are found, the restricted problem is solved to this share of a round's decrease."""

SMALLEST_TOL = 1e-15
"""Below it rounding rules, and the loop ends with the gap that it has."""

MANY_IDLE = 50


@dataclass(frozen=True)
class Round:
    """One line of the trace."""

    objective: float
    lower_bound: float
    gap: float
    n_columns: int
    n_new: int
    master_seconds: float
    pricing_seconds: float


@dataclass(frozen=True)
class Solution:
    """The end of column generation; the engine stands at it.

    Attributes
    ----------
    coef : (1 + n_columns,) float64, in the engine's column order
    objective, lower_bound, gap : float, ``gap`` relative to the objective
    certified : bool, whether the gap is within the tolerance over the whole class of rules
    trace : the rounds
    """

    coef: FloatArray
    objective: float
    lower_bound: float
    gap: float
    certified: bool
    trace: tuple[Round, ...]


def run_column_generation(
    engine: Engine,
    pricer: Pricer,
    penalty: Penalty,
    limits: Limits,
    *,
    tol: float,
    max_rounds: int,
) -> Solution:
    """Minimise mean loss plus penalty over every rule that ``pricer`` can find.

    Parameters
    ----------
    engine : Engine, without rules or with rules to start from
    pricer : Pricer
    penalty : Penalty
    limits : Limits
    tol : float, relative gap at which to stop
    max_rounds : int, at least 1
    """
    coef = np.zeros(1 + engine.n_linear + len(engine.rules))
    coef[0] = engine.null_intercept()
    trace: list[Round] = []
    loss = engine.set_coefficients(coef)
    bound, master_tol = 0.0, MASTER_SHARE * loss
    while True:
        began = time.perf_counter()
        penalties = column_penalties(engine, penalty)
        state = solve_master(engine, penalties, coef, master_tol)
        solved = time.perf_counter()
        priced = pricer.price(engine, penalty, set(engine.rules), limits)
        ratio = max(priced.ratio_bound, column_ratio(engine.score(), penalties))
        bound = max(bound, lower_bound(engine, ratio, penalty))
        gap = relative_gap(state.objective, bound)
        seconds = solved - began, time.perf_counter() - solved
        coef = drop_idle(engine, state.coef)
        n_new = engine.add_rules(priced.rules, priced.degrees)
        coef = np.concatenate([coef, np.zeros(n_new)])
        trace.append(Round(state.objective, bound, gap, len(penalties), n_new, *seconds))
        certified = priced.complete and gap <= tol
        stalled = n_new == 0 and master_tol <= SMALLEST_TOL
        if certified or stalled or len(trace) >= max_rounds:
            return Solution(coef, state.objective, bound, gap, certified, tuple(trace))
        master_tol = next_master_tol(trace, master_tol, tol)


def next_master_tol(trace: Sequence[Round], master_tol: float, tol: float) -> float:
    """Return how exactly to solve the next restricted problem.

    Loosely while rules come in. When none does, only the restricted problem's own error keeps the
    gap open; the gap is of first order in the gradient and so of the square root of that error.
    """
    objective = trace[-1].objective
    if trace[-1].n_new == 0:
        return max(SMALLEST_TOL, min(0.01 * master_tol, 0.1 * tol**2 * objective))
    previous = trace[-2].objective if len(trace) > 1 else 2 * objective
    return max(SMALLEST_TOL, MASTER_SHARE * abs(previous - objective), tol**2 * objective)


def column_penalties(engine: Engine, penalty: Penalty) -> FloatArray:
    """Return the penalty of each linear term and rule that the engine holds."""
    rules = [penalty.of(degree) for degree in engine.degrees]
    return np.array([penalty.lambda_0] * engine.n_linear + rules)


def drop_idle(engine: Engine, coef: FloatArray) -> FloatArray:
    """Drop rules at zero when they are many; pricing brings back those that matter."""
    first = 1 + engine.n_linear
    active = np.flatnonzero(coef[first:])
    if len(coef) - first < MANY_IDLE + 2 * len(active):
        return coef
    engine.keep_rules(active.tolist())
    return np.concatenate([coef[:first], coef[first:][active]])
