"""The loop: solve the restricted problem, price the rules outside it, add the best, certify.

Read this file first. The paper's LRR (section 3.2) and, with first-degree rules only, its LR1
(section 3.1) are this loop; the pricer decides which class of rules is searched.
"""

import time
from collections.abc import Sequence
from dataclasses import astuple

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.engines.base import Engine
from ruleglm.pricing.problem import Limits, Penalty, Pricer
from ruleglm.solvers.certificate import column_ratio, lower_bound, relative_gap
from ruleglm.solvers.columns import (
    column_penalties,
    drop_idle,
    model_size,
    null_coefficients,
    restore,
)
from ruleglm.solvers.master import solve_master
from ruleglm.solvers.solution import Ending, Round, Solution

MASTER_SHARE = 0.02
"""While rules are found, the restricted problem is solved to this share of a round's decrease."""

SMALLEST_TOL = 1e-15
"""Below it rounding rules, and the loop ends with the gap that it has."""

LEAST_DECREASE = 1e-6
"""Share of the objective to gain before idle rules are dropped once more: no cycles."""


def run_column_generation(
    engine: Engine,
    pricer: Pricer,
    penalty: Penalty,
    limits: Limits,
    *,
    tol: float,
    max_rounds: int,
    start: FloatArray | None = None,
    free: Sequence[int] = (),
) -> Solution:
    """Minimise mean loss plus penalty over every rule that ``pricer`` can find.

    Parameters
    ----------
    engine : Engine, without rules or with rules to start from
    pricer : Pricer
    penalty : Penalty
    limits : Limits, at which the best model so far is returned, as at a keyboard interrupt
    tol : float, relative gap at which to stop
    max_rounds : int, at least 1
    start : (1 + n_columns,) float64, coefficients near the solution, or None for the empty model
    free : positions of the coefficients without a penalty, the intercept's not among them; of rules
        they are the engine's first, which are never dropped
    """
    coef = null_coefficients(engine) if start is None else start
    share = MASTER_SHARE if start is None else MASTER_SHARE**2
    master_tol = share * engine.set_coefficients(coef)
    bound, dropped_at = 0.0, np.inf
    trace: list[Round] = []
    best = list(engine.rules), list(engine.degrees), coef
    ending: Ending | None = None
    try:
        while ending is None:
            began, before = time.perf_counter(), engine.traffic
            penalties = column_penalties(engine, penalty, free)
            state = solve_master(engine, penalties, coef, master_tol, limits)
            coef = state.coef
            best = list(engine.rules), list(engine.degrees), coef
            if limits.over() and trace:
                ending = "time"
                break
            solved = time.perf_counter()
            priced = pricer.price(engine, penalty, set(engine.rules), limits)
            if priced.complete or bound <= 0.0:
                ratio = column_ratio(engine.score(), penalties, engine.column_signs())
                ratio = max(priced.ratio_bound, ratio)
                bound = max(bound, lower_bound(engine, ratio, penalty, unpriced(penalties)))
            gap = relative_gap(state.objective, bound)
            if state.objective < (1 - LEAST_DECREASE) * dropped_at:
                coef, dropped = drop_idle(engine, coef, free)
                dropped_at = state.objective if dropped else dropped_at
            n_new = engine.add_rules(priced.rules, priced.degrees)
            coef = np.concatenate([coef, np.zeros(n_new)])
            seconds = solved - began, time.perf_counter() - solved
            moved = astuple(engine.traffic - before)
            trace.append(
                Round(state.objective, bound, gap, len(penalties), n_new, *seconds, *moved)
            )
            if priced.complete and gap <= tol:
                ending = "certified"
            elif n_new == 0 and master_tol <= last_tol(priced.complete, state.objective, tol):
                ending = "exhausted"
            elif len(trace) >= max_rounds:
                ending = "rounds"
            if limits.report(*model_size(engine, coef, free), state.objective, gap):
                ending = ending or "stopped"
            master_tol = next_master_tol(trace, master_tol, tol)
    except KeyboardInterrupt:
        coef, ending = restore(engine, *best), "interrupted"
    prices = column_penalties(engine, penalty, free) * np.abs(coef[1:])
    objective = float(engine.losses((0.0,))[0] + prices.sum())
    gap = relative_gap(objective, bound)
    return Solution(coef, objective, bound, gap, ending, tuple(trace))


def unpriced(penalties: FloatArray) -> list[int]:
    """Return the positions of the coefficients without a penalty, but for the intercept's."""
    return (1 + np.flatnonzero(penalties == 0.0)).tolist()


def last_tol(complete: bool, objective: float, tol: float) -> float:
    """Return how exactly the restricted problem has to be solved before the loop gives up.

    After a search that proves nothing, no exactness would close the gap.
    """
    return SMALLEST_TOL if complete else max(SMALLEST_TOL, 0.1 * tol**2 * objective)


def next_master_tol(trace: Sequence[Round], master_tol: float, tol: float) -> float:
    """Return how exactly to solve the next restricted problem.

    Loosely while rules come in. When none does, only the restricted problem's own error keeps the
    gap open; the gap is of first order in the gradient and so of the square root of that error.
    """
    objective = trace[-1].objective
    if trace[-1].n_new == 0:
        return max(SMALLEST_TOL, min(0.01 * master_tol, 0.1 * tol**2 * objective))
    if len(trace) == 1:
        return master_tol
    decrease = abs(trace[-2].objective - objective)
    return max(SMALLEST_TOL, MASTER_SHARE * decrease, tol**2 * objective)
