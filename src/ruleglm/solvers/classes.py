"""Column generation for more than two classes.

Every class has rules and coefficients of its own, each penalised by itself, and the loss ties them
together. The restricted problem is solved class after class (block coordinate descent, which for a
smooth loss and separate penalties finds the optimum); pricing and the certificate see all classes
at one point.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import FloatArray
from ruleglm.engines.classes import ClassEngines
from ruleglm.pricing.problem import Limits, Penalty, Pricer, PricingResult
from ruleglm.pricing.worth import rule_cost
from ruleglm.solvers.certificate import column_ratio, relative_gap
from ruleglm.solvers.column_generation import (
    LEAST_DECREASE,
    MASTER_SHARE,
    last_tol,
    next_master_tol,
)
from ruleglm.solvers.columns import KEEP_ABOVE, column_penalties, drop_idle, restore
from ruleglm.solvers.master import solve_master
from ruleglm.solvers.solution import Ending, Round, Solution

MAX_SWEEPS = 100
"""Of the classes, in one restricted problem."""

MANY_SWEEPS = 10
"""Sweeps after which the coefficients go on in the direction of each."""

STEPS_ON = (1.0, 3.0, 7.0, 15.0, 31.0, 63.0)
"""How far to go on after a round, in units of what it moved."""

BALANCED = 1e-13
"""Derivative of the mean loss by an intercept at which the intercepts are optimal."""

Coefs = list[FloatArray]
"""One vector of coefficients a class."""


class ClassSolution(NamedTuple):
    """The end of column generation: its coefficients by class, and what is known of them."""

    coefs: Coefs
    solution: Solution


def run_class_generation(
    classes: ClassEngines,
    pricers: Sequence[Pricer],
    penalty: Penalty,
    limits: Limits,
    *,
    tol: float,
    max_rounds: int,
    start: Coefs | None = None,
) -> ClassSolution:
    """Minimise mean loss plus penalty over every rule that the pricers find, for every class.

    Parameters
    ----------
    classes : ClassEngines, without rules or with rules to start from
    pricers : sequence of Pricer, one a class
    penalty : Penalty
    limits : Limits, at which the best model so far is returned, as at a keyboard interrupt
    tol : float, relative gap at which to stop
    max_rounds : int, at least 1
    start : coefficients near the solution, or None for the empty model
    """
    coefs = null_class_coefs(classes) if start is None else start
    share = MASTER_SHARE if start is None else MASTER_SHARE**2
    master_tol = share * classes.set_coefficients(coefs)
    bound, dropped_at = 0.0, np.inf
    trace: list[Round] = []
    best = held_by(classes), coefs
    ending: Ending | None = None
    try:
        while ending is None:
            began = time.perf_counter()
            objective = solve_classes(classes, penalty, coefs, master_tol, limits)
            best = held_by(classes), list(coefs)
            if limits.over() and trace:
                ending = "time"
                break
            solved = time.perf_counter()
            n_columns = sum(len(coef) - 1 for coef in coefs)
            found, ratio = price_classes(classes, pricers, penalty, limits)
            bound = max(bound, class_bound(classes, ratio, penalty))
            gap = relative_gap(objective, bound)
            if objective < (1 - LEAST_DECREASE) * dropped_at:
                dropped_at = objective if drop_all_idle(classes, coefs) else dropped_at
            n_new = add_found(classes, coefs, found)
            seconds = solved - began, time.perf_counter() - solved
            trace.append(Round(objective, bound, gap, n_columns, n_new, *seconds))
            if all_complete(found) and gap <= tol:
                ending = "certified"
            elif n_new == 0 and master_tol <= last_tol(all_complete(found), objective, tol):
                ending = "exhausted"
            elif len(trace) >= max_rounds:
                ending = "rounds"
            if limits.report(*class_model_size(classes, coefs), objective, gap):
                ending = ending or "stopped"
            master_tol = next_master_tol(trace, master_tol, tol)
    except KeyboardInterrupt:
        held, coefs = best
        for engine, (rules, degrees), coef in zip(classes.engines, held, coefs, strict=True):
            restore(engine, rules, degrees, coef)
        ending = "interrupted"
    objective = classes.set_coefficients(coefs) + class_prices(classes, penalty, coefs)
    gap = relative_gap(objective, bound)
    return ClassSolution(coefs, Solution(np.empty(0), objective, bound, gap, ending, tuple(trace)))


def all_complete(found: Sequence[PricingResult]) -> bool:
    """Tell whether the searches of all classes came to their ends."""
    return all(priced.complete for priced in found)


def null_class_coefs(classes: ClassEngines) -> Coefs:
    """Return the best coefficients whose linear terms and rules are all at zero."""
    coefs = []
    for engine, intercept in zip(classes.engines, classes.null_intercepts(), strict=True):
        coefs.append(np.zeros(1 + engine.n_linear + len(engine.rules)))
        coefs[-1][0] = intercept
    return coefs


def held_by(classes: ClassEngines) -> list[tuple[list[BinRule], list[int]]]:
    """Return the rules of each class and their degrees."""
    return [(list(engine.rules), list(engine.degrees)) for engine in classes.engines]


def class_model_size(classes: ClassEngines, coefs: Coefs) -> tuple[int, float]:
    """Return the number of terms that some class uses, and their complexity."""
    costs: dict[object, float] = {}
    for engine, coef in zip(classes.engines, coefs, strict=True):
        columns = [*range(engine.n_linear), *engine.rules]
        prices = [1.0] * engine.n_linear + [rule_cost(degree) for degree in engine.degrees]
        used = np.flatnonzero(np.abs(coef[1:]) > KEEP_ABOVE)
        costs.update({columns[k]: prices[k] for k in used})
    return len(costs), sum(costs.values())


def class_prices(classes: ClassEngines, penalty: Penalty, coefs: Coefs) -> float:
    """Return the penalty of all coefficients."""
    return sum(
        float(column_penalties(engine, penalty) @ np.abs(coef[1:]))
        for engine, coef in zip(classes.engines, coefs, strict=True)
    )


def solve_classes(
    classes: ClassEngines, penalty: Penalty, coefs: Coefs, tol: float, limits: Limits
) -> float:
    """Solve the restricted problem in place, class after class; return its objective.

    Rounds of the classes go the same way again and again where classes are far apart, so that the
    coefficients also go on that way.
    """

    def objective() -> float:
        return classes.loss() + class_prices(classes, penalty, coefs)

    before, share = objective(), tol / len(classes)
    for sweep in range(MAX_SWEEPS):
        start = list(coefs)
        for k in range(len(classes)):
            engine = classes.turn_to(k)
            prices = column_penalties(engine, penalty)
            coefs[k] = solve_master(engine, prices, coefs[k], share, limits, balance=False).coef
            classes.store(k)
        after = objective()
        if before - after <= tol or limits.over():
            break
        slow = sweep >= MANY_SWEEPS
        before = go_on(classes, penalty, start, coefs, after, tol) if slow else after
    for coef, change in zip(coefs, center_classes(classes), strict=True):
        coef[0] += change
    return objective()


def go_on(
    classes: ClassEngines,
    penalty: Penalty,
    start: Coefs,
    coefs: Coefs,
    objective: float,
    tol: float,
) -> float:
    """Move on in the direction of a round of classes for as long as it pays, in place.

    A gain of at most ``tol`` may be rounding, and does not count. Returns the objective.
    """
    ways = [end - begin for begin, end in zip(start, coefs, strict=True)]
    best = list(coefs)
    for step in STEPS_ON:
        trial = [end + step * way for end, way in zip(coefs, ways, strict=True)]
        value = classes.set_coefficients(trial) + class_prices(classes, penalty, trial)
        if not value < objective - tol:
            break
        best, objective = trial, value
    coefs[:] = best
    classes.set_coefficients(best)
    return objective


def center_classes(classes: ClassEngines) -> FloatArray:
    """Make the intercepts optimal, the rest held, by Newton's method; return their changes."""
    total = np.zeros(len(classes))
    for _ in range(20):
        first, second = classes.balance()
        if np.abs(first).max() <= BALANCED:
            break
        change = -np.linalg.pinv(second, rcond=1e-12, hermitian=True) @ first
        change *= min(1.0, 5.0 / max(np.abs(change).max(), 1e-300))
        classes.move(change)
        total += change
    return total


def price_classes(
    classes: ClassEngines, pricers: Sequence[Pricer], penalty: Penalty, limits: Limits
) -> tuple[list[PricingResult], float]:
    """Search improving rules for every class.

    Returns
    -------
    found : list of PricingResult, one a class
    ratio : float, no column of any class has ``|sum_i s_i theta_i a_ik| / lambda_k`` above it
    """
    found, ratio = [], 0.0
    for k, pricer in enumerate(pricers):
        engine = classes.turn_to(k)
        found.append(pricer.price(engine, penalty, set(engine.rules), limits))
        prices = column_penalties(engine, penalty)
        held = column_ratio(engine.score(), prices, engine.column_signs())
        ratio = max(ratio, found[-1].ratio_bound, held)
    return found, ratio


def drop_all_idle(classes: ClassEngines, coefs: Coefs) -> bool:
    """Drop rules at zero in the classes that have many; tell whether there were any."""
    dropped = False
    for k, engine in enumerate(classes.engines):
        coefs[k], some = drop_idle(engine, coefs[k])
        dropped |= some
    return dropped


def add_found(classes: ClassEngines, coefs: Coefs, found: Sequence[PricingResult]) -> int:
    """Add the rules found to the classes that they improve; return their number."""
    n_new = 0
    for k, (engine, priced) in enumerate(zip(classes.engines, found, strict=True)):
        added = engine.add_rules(priced.rules, priced.degrees)
        coefs[k] = np.concatenate([coefs[k], np.zeros(added)])
        n_new += added
    return n_new


def class_bound(classes: ClassEngines, ratio: float, penalty: Penalty) -> float:
    """Return a lower bound on the optimum, given the largest dual violation of any column.

    The dual point is the gradient ``p - y`` of all classes, shrunk. Its sums over the rows must be
    zero for every class: what is left of them after rounding is removed by mixing a little of a
    fixed distribution ``q`` into ``p``.
    """
    first, _ = classes.balance()
    shares = classes.label_shares()
    if not np.isfinite(ratio):
        return 0.0
    pull = min(0.5, 2.0 * float((np.abs(first) / np.maximum(shares, 1e-300)).max()))
    towards = shares - (1.0 - pull) / max(pull, 1e-300) * first if pull else shares
    reach = max(
        1.0 / max(penalty.of(1), 1e-300),
        classes.engines[0].linear_bound() / max(penalty.lambda_0, 1e-300),
    )
    shrink = 1.0 / max(1.0, (1.0 - pull) * ratio + pull * reach)
    if (towards < 0.0).any():
        return 0.0
    return max(0.0, classes.dual_value(shrink, towards, pull))
