"""Fits: column generation or pursuit, then the coefficients of each model found.

A plain fit is a path of one penalty; a path carries rules and coefficients from one penalty to the
next. Each model is one set of terms with several vectors of coefficients, its variants: from
refitted to penalised for ``"l1"``, more or less ridge for ``"l0"``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import FloatArray, IntArray
from ruleglm.engines import Engine
from ruleglm.ensemble import DEGREE_WEIGHT, RuleEnsemble
from ruleglm.grid import SURELY, choose_grid, find_first_lambda, loose_sizes
from ruleglm.pricing import ConditionTable, Limits, Penalty, build_pricer
from ruleglm.pricing.bans import Bans
from ruleglm.pricing.gains import N_EXTENDED, GainPricer
from ruleglm.solvers import Solution, refit, run_column_generation
from ruleglm.solvers.columns import KEEP_ABOVE, shrink_ridges
from ruleglm.solvers.master import debias_ridge
from ruleglm.solvers.pursuit import run_pursuit
from ruleglm.solvers.ridges import refit_along
from ruleglm.solvers.signed import check_signs
from ruleglm.solvers.standing import PursuitModel
from ruleglm.training import SHRINK_TOL, FitRows, FitSettings

BLENDS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the penalised coefficients beside the refitted ones (the relaxed lasso)."""

RIDGES = (0.001, 0.5, 3.0, 10.0, 40.0, 160.0)
"""Ridges of refits after a pursuit, in rows, see `shrink_ridges`.

The smallest is for rules that separate the classes: with a larger one, more rules like them would
seem to help, since each adds to what the coefficients may sum up to.
"""

DEFAULT_RIDGE = 10.0
"""Ridge of a refit where none is chosen, in rows."""

MANY_ROWS = 10_000
"""From so many rows on, twice as many rules are tried with a further condition.

Of fewer, a wider search finds more that is there by chance.
"""

SEARCH_RIDGE = 30.0
"""Ridge on a rule that a pursuit looks at, in rows: few rows must not look good by chance.

It is that of the empty model, and falls with the second derivative of the loss.
"""

WALK_RIDGE, WALK_SHARE = 320.0, 0.13
"""Ridge on the coefficients of a pursuit's model, in rows, and at most as a share of all rows.

Rows count as much as they curve the loss of the empty model, and the ridge of a rule is in
proportion to its variance. Common rules then leave a part unexplained, which others like them, with
other thresholds, share; rare ones are judged by the ridge of the search.
"""

MAX_DEGREE = 8
"""The most conditions of a rule in a pursuit without a limit."""

VARIANTS = {"l1": BLENDS, "l0": RIDGES}

PURSUED = "found by pursuit, which proves nothing about it"
"""Stands for the certificate of the models of a pursuit."""

NO_SOLUTION = Solution(np.empty(0), np.nan, np.nan, np.nan, "exhausted", ())
"""Stands for the certificate of models that have none."""


@dataclass(frozen=True, eq=False)
class PathModel:
    """The terms of a model, with one vector of coefficients for each variant.

    Attributes
    ----------
    strength : float
        ``lambda_0``; for "l0" the decrease of the mean loss by unit of complexity of the last step.
    lambda_1 : float, nan for "l0"
    rules : tuple of BinRule
    degrees : tuple of int
    linear : tuple of int, positions of the linear terms
    supports : (n_rules,) float64, share of the rows that each rule covers
    coefs : (n_variants, 1 + n_linear + n_rules) float64, on the scale of the fit
    losses : (n_variants,) float64, mean loss of the training rows
    solution : Solution of the penalised problem, NO_SOLUTION for "l0"
    certificate : str, what is proved, in words
    """

    strength: float
    lambda_1: float
    rules: tuple[BinRule, ...]
    degrees: tuple[int, ...]
    linear: tuple[int, ...]
    supports: FloatArray
    coefs: FloatArray
    losses: FloatArray
    solution: Solution
    certificate: str

    @property
    def n_conditions(self) -> int:
        """Conditions of all rules together."""
        return sum(self.degrees)

    @property
    def complexity(self) -> float:
        """1 for each rule and linear term, and 0.2 for each condition of a rule."""
        return len(self.rules) + len(self.linear) + DEGREE_WEIGHT * self.n_conditions


class Refitter:
    """Refits models one after the other in one engine, which keeps the columns they share."""

    def __init__(self, rows: FitRows, n_threads: int) -> None:
        self._rows = rows
        self._n_threads = n_threads
        self._linear: tuple[int, ...] | None = None
        self._engine: Engine

    def hold(
        self, rules: Sequence[BinRule], degrees: Sequence[int], linear: tuple[int, ...]
    ) -> tuple[Engine, IntArray]:
        """Give the engine the columns of a model; return it and the order that rules have in it."""
        if linear != self._linear:
            self._linear = linear
            self._engine = self._rows.build_engine(self._n_threads, linear)
        engine = self._engine
        place = {rule: k for k, rule in enumerate(rules)}
        engine.keep_rules([k for k, rule in enumerate(engine.rules) if rule in place])
        held = set(engine.rules)
        new = [k for k, rule in enumerate(rules) if rule not in held]
        engine.add_rules([rules[k] for k in new], [degrees[k] for k in new])
        if len(engine.rules) < len(rules):  # of equal coverage, and the lower degree came first
            engine.keep_rules([])
            engine.add_rules(rules, degrees)
        return engine, np.array([place[rule] for rule in engine.rules], np.int64)


def walk_penalties(
    rows: FitRows,
    settings: FitSettings,
    penalties: Sequence[Penalty] | int,
    blends: Sequence[float],
    limits: Limits,
    previous: RuleEnsemble | None = None,
) -> Iterator[PathModel]:
    """Yield the model of each penalty, each solved from the one before.

    Parameters
    ----------
    rows : FitRows
    settings : FitSettings
    penalties : sequence of Penalty, or the number of them
        Given a number, the path starts at the empty model and ends before the first model that is
        larger than ``max_complexity``.
    blends : sequence of float, shares of the penalised coefficients in the variants
    limits : Limits, at which the path ends; the first model is yielded in any case
    previous : RuleEnsemble, optional, a model to start from
    """
    engine, refitter = rows.build_engine(settings.n_threads), Refitter(rows, settings.n_threads)
    free = rows.wishes.enter(engine)
    table = rows.condition_table()
    bans = Bans(table, rows.wishes.banned)
    pricer = build_pricer(
        settings.pricing, table, settings.max_degree, settings.pricing_options, bans
    )
    largest = np.inf
    if isinstance(penalties, int):
        largest = np.inf if settings.max_complexity is None else settings.max_complexity
        ratio = settings.penalty.lambda_1 / settings.penalty.lambda_0
        first = find_first_lambda(engine, pricer, table, ratio, limits, free)
        sizes = loose_sizes(engine, pricer, limits, free)
        penalties = choose_grid(first, settings, penalties, limits, sizes)
    coef = None if previous is None else resume(engine, rows, bans, settings, previous)
    number, left = 0, list(penalties)
    while left:
        penalty = left.pop(0)
        solution = run_column_generation(
            engine,
            pricer,
            penalty,
            limits.unwatched() if settings.path else limits,
            tol=settings.tol,
            max_rounds=settings.max_rounds,
            start=coef,
            free=free,
        )
        if number and solution.ending == "time":
            return
        coef = solution.coef
        words = certificate_words(solution, pricer.describe())
        model = relax(engine, refitter, penalty, solution, blends, words, free)
        if number == 0 and model.complexity > largest and penalty.lambda_0 < SURELY:
            left.insert(0, Penalty(SURELY * penalty.lambda_0, SURELY * penalty.lambda_1))
            continue  # the loss is flat, and its gradient says little of where the path begins
        if model.complexity > largest:
            return
        number += 1
        if settings.path:
            n_terms = len(model.rules) + len(model.linear)
            limits.report(n_terms, model.complexity, solution.objective, np.nan)
        yield model
        if solution.ending == "interrupted" or limits.over():
            return


def resume(
    engine: Engine,
    rows: FitRows,
    bans: Bans,
    settings: FitSettings,
    previous: RuleEnsemble,
) -> FloatArray:
    """Give an engine the rules of an earlier model that are still allowed; return coefficients."""
    known = rows.units.recall(previous)
    most = np.inf if settings.max_degree is None else settings.max_degree
    made = [bans.table.make_rule(rule) for rule in known.steps]
    known_rules = [one for one in made if one and one[1] <= most and bans.table.admits(one[0])]
    kept = [one for one in known_rules if not bans.forbid(one[0])]
    engine.add_rules([rule for rule, _ in kept], [degree for _, degree in kept])
    supports = engine.supports()
    engine.keep_rules(np.flatnonzero((supports > 0.0) & (supports < 1.0)).tolist())
    steps = [known.steps.get(rule, 0.0) for rule in engine.rules]
    coef = np.concatenate([[known.intercept], known.slopes, steps])
    return np.where(engine.column_signs() * coef < 0.0, 0.0, coef)


def relax(
    engine: Engine,
    refitter: Refitter,
    penalty: Penalty,
    solution: Solution,
    blends: Sequence[float],
    certificate: str,
    free: Sequence[int],
) -> PathModel:
    """Keep the terms of a solution whose coefficients are not about zero, and refit these."""
    kept = kept_terms(solution.coef, free)
    linear = tuple(kept[kept < engine.n_linear].tolist())
    places = kept[len(linear) :] - engine.n_linear
    rules, degrees = [engine.rules[k] for k in places], [engine.degrees[k] for k in places]
    held, order = refitter.hold(rules, degrees, linear)
    shrunk = solution.coef[[0, *(1 + kept[: len(linear)]), *(1 + kept[len(linear) :][order])]]
    held.set_coefficients(shrunk)
    ridges = shrink_ridges(held, debias_ridge(penalty))
    fitted = refit(held, shrunk, ridges).coef if len(kept) and min(blends) < 1.0 else shrunk
    coefs = np.array([(1.0 - blend) * fitted + blend * shrunk for blend in blends])
    check_signs(coefs, held.column_signs())
    return PathModel(
        penalty.lambda_0,
        penalty.lambda_1,
        tuple(held.rules),
        tuple(held.degrees),
        linear,
        held.supports(),
        coefs,
        np.array([held.set_coefficients(coef) for coef in coefs]),
        solution,
        certificate,
    )


def kept_terms(coef: FloatArray, free: Sequence[int]) -> IntArray:
    """Return the positions of a model's terms: those free, and those not about zero."""
    used = np.abs(coef) > KEEP_ABOVE
    used[list(free)] = True
    return np.flatnonzero(used[1:])


def certificate_words(solution: Solution, searched: str) -> str:
    """Say what the certificate proves."""
    if solution.lower_bound <= 0.0 < solution.objective:
        return f"no lower bound above 0 is known among {searched}"
    return f"optimal to {max(100 * solution.gap, 1e-4):.2g} % among {searched}"


def pursue(
    rows: FitRows,
    settings: FitSettings,
    limits: Limits,
    previous: RuleEnsemble | None = None,
) -> list[PursuitModel]:
    """Return the models of a pursuit inside the budgets, the simplest first: it is empty.

    An interrupt ends the pursuit of a single model, and everything if there are folds to come.
    """
    _, max_terms, largest = pursuit_limits(settings)
    engine, table = rows.build_engine(settings.n_threads), rows.condition_table()
    forced, bans = rows.wishes.enter(engine), Bans(table, rows.wishes.banned)
    start = None if previous is None else resume(engine, rows, bans, settings, previous)
    found = run_pursuit(
        engine,
        gain_pricer(rows, settings, table, bans),
        limits,
        max_complexity=largest,
        price=0.0 if settings.price is None else settings.price,
        ridge=walk_ridge(rows.size),
        mass=rows.size,
        keep_on_interrupt=not settings.path,
        forced=forced,
        start=start,
    )
    return [model for model in found if len(model.rules) + len(model.linear) <= max_terms]


def gain_pricer(
    rows: FitRows, settings: FitSettings, table: ConditionTable, bans: Bans
) -> GainPricer:
    """Return what searches rules for a pursuit; of many rows, it extends more of them."""
    return GainPricer(
        table,
        pursuit_limits(settings)[0],
        SEARCH_RIDGE / rows.size,
        exhaustive=settings.pricing == "histogram",
        bans=bans or None,
        n_extended=N_EXTENDED if rows.size < MANY_ROWS else 2 * N_EXTENDED,
    )


def walk_ridge(size: float) -> float:
    """Return the ridge of a pursuit of so many rows, as a share of their curvature."""
    return min(WALK_RIDGE / size, WALK_SHARE)


def pursuit_limits(settings: FitSettings) -> tuple[int, float, float]:
    """Return the largest degree of a rule, number of terms and complexity of a pursuit."""
    max_degree = MAX_DEGREE if settings.max_degree is None else settings.max_degree
    max_terms = np.inf if settings.max_rules is None else settings.max_rules
    largest = np.inf if settings.max_complexity is None else settings.max_complexity
    return max_degree, max_terms, min(largest, max_terms * (1.0 + DEGREE_WEIGHT * max_degree))


def shrink(
    rows: FitRows, refitter: Refitter, model: PursuitModel, ridges: Sequence[float], tol: float
) -> PathModel:
    """Refit a model of a pursuit at several ridges (in rows), each from the next larger."""
    held, order = refitter.hold(model.rules, model.degrees, model.linear)
    first = 1 + len(model.linear)
    coef = np.concatenate([model.coef[:first], model.coef[first:][order]])
    held.set_coefficients(coef)
    wanted = np.array([shrink_ridges(held, ridge / rows.size) for ridge in sorted(ridges)[::-1]])
    coefs, losses = refit_along(held, coef, wanted, tol, loose=tol > SHRINK_TOL)
    check_signs(coefs, held.column_signs())
    return PathModel(
        model.price,
        np.nan,
        tuple(held.rules),
        tuple(held.degrees),
        model.linear,
        held.supports(),
        coefs[::-1],
        losses[::-1],
        NO_SOLUTION,
        PURSUED,
    )


def fit_path(
    rows: FitRows,
    settings: FitSettings,
    penalties: Sequence[Penalty] | int,
    limits: Limits,
) -> Iterator[PathModel]:
    """Yield the models of a path; ``penalties``, a grid or its size, are for "l1" only."""
    if settings.kind == "l0":
        found, refitter = pursue(rows, settings, limits), Refitter(rows, settings.n_threads)
        return (shrink(rows, refitter, model, RIDGES, settings.shrink_tol) for model in found)
    return walk_penalties(rows, settings, penalties, BLENDS, limits)


def fit_model(
    rows: FitRows,
    settings: FitSettings,
    variant: float,
    limits: Limits,
    previous: RuleEnsemble | None = None,
) -> PathModel:
    """Learn one model: of the penalty given, or the largest of a pursuit within its budgets.

    Parameters
    ----------
    rows : FitRows
    settings : FitSettings
    variant : float, the blend or the ridge (in rows) of its coefficients
    limits : Limits
    previous : RuleEnsemble, optional, a model to start from
    """
    if settings.kind == "l0":
        largest = pursue(rows, settings, limits, previous)[-1]
        refitter = Refitter(rows, settings.n_threads)
        return shrink(rows, refitter, largest, (variant,), settings.shrink_tol)
    models = walk_penalties(rows, settings, (settings.penalty,), (variant,), limits, previous)
    return next(models)
