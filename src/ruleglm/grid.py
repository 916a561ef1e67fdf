"""The penalties of a path for ``"l1"``: from the empty model to the largest that is asked for."""

from collections.abc import Callable, Sequence

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.engines import Engine
from ruleglm.pricing import ConditionTable, Limits, Penalty, Pricer
from ruleglm.solvers import run_column_generation
from ruleglm.solvers.columns import fit_free, model_size
from ruleglm.training import FitSettings

PATH_RATIO = 1e-3
"""The last ``lambda_0`` of a path over the first, if its largest model comes no sooner."""

HEURISTIC = ("beam", "mip")
"""Searches whose first ``lambda_0`` may not leave the model empty."""

SURELY = 1e6
"""Times the first ``lambda_0``, at which nothing is in the model but what is asked for."""

WALK_STEP, WALK_TOL, WALK_ROUNDS = 0.6, 1e-2, 10
"""How the end of a path is found: factor from one ``lambda_0`` to the next, gap and rounds."""

LEAST_LAMBDA = 1e-10
"""No path starts below, where gradients are nothing but rounding."""


def choose_grid(
    first: float,
    settings: FitSettings,
    n_lambdas: int,
    limits: Limits,
    size_at: Callable[[Penalty], float],
) -> list[Penalty]:
    """Return penalties from the empty model to about the largest that is asked for.

    The last is found by a walk in large steps.

    Parameters
    ----------
    first : float, the smallest ``lambda_0`` that leaves the model empty
    settings : FitSettings
    n_lambdas : int
    limits : Limits
    size_at : callable, solves loosely and returns the complexity, each call from the one before
    """
    ratio = settings.penalty.lambda_1 / settings.penalty.lambda_0
    if settings.pricing in HEURISTIC:
        least = size_at(Penalty(SURELY * first, ratio * SURELY * first))
        while size_at(Penalty(first, ratio * first)) > least and not limits.over():
            first /= WALK_STEP
    last, size = first, 0.0
    largest = np.inf if settings.max_complexity is None else settings.max_complexity
    while size <= largest and last > PATH_RATIO * first and not limits.over():
        last *= WALK_STEP
        size = size_at(Penalty(last, ratio * last))
    grid = np.geomspace(first, last, n_lambdas).tolist()
    return [Penalty(value, ratio * value) for value in grid]


def loose_sizes(
    engine: Engine, pricer: Pricer, limits: Limits, free: Sequence[int]
) -> Callable[[Penalty], float]:
    """Return what solves for a penalty loosely, from the last solution, and gives the size."""
    coef: FloatArray | None = None

    def size_at(penalty: Penalty) -> float:
        nonlocal coef
        solution = run_column_generation(
            *(engine, pricer, penalty, limits.unwatched()),
            tol=WALK_TOL,
            max_rounds=WALK_ROUNDS,
            start=coef,
            free=free,
        )
        coef = solution.coef
        return model_size(engine, coef, free)[1]

    return size_at


def find_first_lambda(
    engine: Engine,
    pricer: Pricer,
    table: ConditionTable,
    ratio: float,
    limits: Limits,
    free: Sequence[int] = (),
) -> float:
    """Return the smallest ``lambda_0`` that leaves the model empty.

    A rule improves the empty model if its ``|sum g a|`` exceeds its price. With prices that the
    best single condition just meets, the search gives the largest ratio of the two among all
    rules; the best that it found is taken if it was cut short.

    Parameters
    ----------
    engine : Engine without priced rules; left standing at the model of what is free
    pricer : Pricer
    table : ConditionTable
    ratio : float, ``lambda_1 / lambda_0``
    limits : Limits
    free : positions of the coefficients without a price
    """
    fit_free(engine, free)
    return first_lambda_here(engine, pricer, table, ratio, limits)


def first_lambda_here(
    engine: Engine, pricer: Pricer, table: ConditionTable, ratio: float, limits: Limits
) -> float:
    """Return the smallest ``lambda_0`` at which no rule improves the model as it stands."""
    score = engine.score()
    lines = np.abs(score)[engine.column_signs() * score <= 0.0][1:].max(initial=LEAST_LAMBDA)
    sums = table.values(engine.joint_histograms(table.splitting))
    steps = table.allowed(sums).max(initial=0.0)
    least = max(float(lines), float(steps) / (1.0 + ratio))
    priced = pricer.price(engine, Penalty(least, ratio * least), set(), limits)
    if priced.complete:
        return least * max(1.0, priced.ratio_bound)
    if limits.over():
        return max(least, *engine.gradient_masses())  # no rule has a larger sum
    return least + max(0.0, priced.best) / (1.0 + ratio)
