"""Fits of one linear predictor, or of one for each of several classes.

The front doors `walk_penalties`, `fit_path` and `fit_model` are those of :mod:`ruleglm.fitting` for
families with one linear predictor. For the multinomial family, "l1" penalises each coefficient of a
class by itself, which keeps pricing exact and the certificate valid; in a pursuit a rule enters
with one coefficient for each class.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ruleglm import fitting
from ruleglm.binning import BinRule
from ruleglm.dtypes import FloatArray
from ruleglm.engines import LocalEngine
from ruleglm.engines.classes import ClassEngines
from ruleglm.ensemble import RuleEnsemble
from ruleglm.fitting import (
    NO_SOLUTION,
    PURSUED,
    RIDGES,
    VARIANTS,
    PathModel,
    certificate_words,
    gain_pricer,
    pursuit_limits,
    resume,
    walk_ridge,
)
from ruleglm.grid import WALK_ROUNDS, WALK_TOL, choose_grid, first_lambda_here
from ruleglm.pricing import Limits, Penalty, Pricer, build_pricer
from ruleglm.pricing.bans import Bans
from ruleglm.solvers import Solution
from ruleglm.solvers.class_pursuit import ClassWalk
from ruleglm.solvers.class_refit import Curvature, refit_classes
from ruleglm.solvers.classes import (
    ClassSolution,
    Coefs,
    class_model_size,
    null_class_coefs,
    run_class_generation,
)
from ruleglm.solvers.columns import KEEP_ABOVE, shrink_ridges
from ruleglm.solvers.master import debias_ridge
from ruleglm.solvers.pursuit import follow
from ruleglm.solvers.standing import PursuitModel
from ruleglm.training import FitRows, FitSettings

FELL = 0.7
"""Share of the loss below which second derivatives tell too little of those here."""


def walk_penalties(
    rows: FitRows,
    settings: FitSettings,
    penalties: Sequence[Penalty] | int,
    blends: Sequence[float],
    limits: Limits,
) -> Iterator[PathModel]:
    """Yield the model of each penalty; see :func:`ruleglm.fitting.walk_penalties`."""
    walk = walk_class_penalties if rows.units.family.output_shape else fitting.walk_penalties
    return walk(rows, settings, penalties, blends, limits)


def fit_path(
    rows: FitRows,
    settings: FitSettings,
    penalties: Sequence[Penalty] | int,
    limits: Limits,
) -> Iterator[PathModel]:
    """Yield the models of a path; ``penalties``, a grid or its size, are for "l1" only."""
    if settings.kind == "l1":
        return walk_penalties(rows, settings, penalties, VARIANTS["l1"], limits)
    if not rows.units.family.output_shape:
        return fitting.fit_path(rows, settings, penalties, limits)
    found = pursue_classes(rows, settings, limits)
    refit = ClassRefitter(rows, settings.n_threads)
    return (refit.shrink(model, RIDGES, settings.shrink_tol) for model in found)


def fit_model(
    rows: FitRows,
    settings: FitSettings,
    variant: float,
    limits: Limits,
    previous: RuleEnsemble | None = None,
) -> PathModel:
    """Learn one model; see :func:`ruleglm.fitting.fit_model`."""
    if not rows.units.family.output_shape:
        return fitting.fit_model(rows, settings, variant, limits, previous)
    if settings.kind == "l0":
        largest = pursue_classes(rows, settings, limits, previous)[-1]
        refit = ClassRefitter(rows, settings.n_threads)
        return refit.shrink(largest, (variant,), settings.shrink_tol)
    models = walk_class_penalties(rows, settings, (settings.penalty,), (variant,), limits, previous)
    return next(models)


# ---------------------------------------------------------------------------------------- l1


def walk_class_penalties(
    rows: FitRows,
    settings: FitSettings,
    penalties: Sequence[Penalty] | int,
    blends: Sequence[float],
    limits: Limits,
    previous: RuleEnsemble | None = None,
) -> Iterator[PathModel]:
    """Yield the model of each penalty, each solved from the one before."""
    if rows.wishes.forced or rows.wishes.lines:
        raise ValueError(
            "`include` with more than two classes is for penalty='l0'; with 'l1' a rule would need "
            "a coefficient without a price in each of them"
        )
    classes = rows.build_class_engines(settings.n_threads)
    for engine in classes.engines:
        rows.wishes.enter(engine)
    refitter = ClassRefitter(rows, settings.n_threads)
    pricers = build_class_pricers(rows, settings)
    largest = np.inf
    if isinstance(penalties, int):
        largest = np.inf if settings.max_complexity is None else settings.max_complexity
        first = find_first_lambda(classes, pricers, rows, settings, limits)
        sizes = loose_class_sizes(classes, pricers, limits)
        penalties = choose_grid(first, settings, penalties, limits, sizes)
    coefs = None if previous is None else resume_classes(classes, rows, settings, previous)
    for number, penalty in enumerate(penalties):
        coefs, solution = found = run_class_generation(
            classes,
            pricers,
            penalty,
            limits.unwatched() if settings.path else limits,
            tol=settings.tol,
            max_rounds=settings.max_rounds,
            start=coefs,
        )
        if number and solution.ending == "time":
            return
        words = certificate_words(solution, pricers[0].describe())
        model = refitter.relax(classes, penalty, found, blends, words)
        if model.complexity > largest:
            return
        yield model
        if solution.ending == "interrupted" or limits.over():
            return


def resume_classes(
    classes: ClassEngines, rows: FitRows, settings: FitSettings, previous: RuleEnsemble
) -> Coefs:
    """Give the engines the rules of an earlier model that are allowed; return coefficients."""
    bans = Bans(rows.condition_table(), rows.wishes.banned)
    return [
        resume(engine, rows, bans, settings, previous.of_class(k))
        for k, engine in enumerate(classes.engines)
    ]


def build_class_pricers(rows: FitRows, settings: FitSettings) -> list[Pricer]:
    """Return a pricer for each class; they remember where their last search ended."""
    table, options = rows.condition_table(), settings.pricing_options
    bans = Bans(table, rows.wishes.banned)
    return [
        build_pricer(settings.pricing, table, settings.max_degree, options, bans)
        for _ in range(*rows.units.family.output_shape)
    ]


def find_first_lambda(
    classes: ClassEngines,
    pricers: Sequence[Pricer],
    rows: FitRows,
    settings: FitSettings,
    limits: Limits,
) -> float:
    """Return the smallest ``lambda_0`` that leaves the model of every class empty."""
    classes.set_coefficients(null_class_coefs(classes))
    table = rows.condition_table()
    ratio = settings.penalty.lambda_1 / settings.penalty.lambda_0
    return max(
        first_lambda_here(classes.turn_to(k), pricer, table, ratio, limits)
        for k, pricer in enumerate(pricers)
    )


def loose_class_sizes(
    classes: ClassEngines, pricers: Sequence[Pricer], limits: Limits
) -> Callable[[Penalty], float]:
    """Return what solves for a penalty loosely, from the last solution, and gives the size."""
    coefs: Coefs | None = None

    def size_at(penalty: Penalty) -> float:
        nonlocal coefs
        coefs, _ = run_class_generation(
            *(classes, pricers, penalty, limits.unwatched()),
            tol=WALK_TOL,
            max_rounds=WALK_ROUNDS,
            start=coefs,
        )
        return class_model_size(classes, coefs)[1]

    return size_at


def shared_terms(classes: ClassEngines, coefs: Coefs) -> tuple[dict[BinRule, int], tuple[int, ...]]:
    """Return the rules, with their degrees, and the linear terms that some class uses."""
    rules: dict[BinRule, int] = {}
    linear: set[int] = set()
    for engine, coef in zip(classes.engines, coefs, strict=True):
        kept = np.flatnonzero(np.abs(coef[1:]) > KEEP_ABOVE)
        linear.update(kept[kept < engine.n_linear].tolist())
        places = kept[kept >= engine.n_linear] - engine.n_linear
        rules.update({engine.rules[k]: engine.degrees[k] for k in places})
    return rules, tuple(sorted(linear))


# ---------------------------------------------------------------------------------- pursuit


def pursue_classes(
    rows: FitRows,
    settings: FitSettings,
    limits: Limits,
    previous: RuleEnsemble | None = None,
) -> list[PursuitModel]:
    """Return the models of a pursuit inside the budgets, the simplest first: it is empty."""
    _, max_terms, largest = pursuit_limits(settings)
    table = rows.condition_table()
    classes = rows.build_class_engines(settings.n_threads)
    entered = [rows.wishes.enter(engine) for engine in classes.engines]
    first, start = classes.engines[0], None
    if previous is not None:
        coefs = resume_classes(classes, rows, settings, previous)
        start = list(first.rules), list(first.degrees), np.column_stack(coefs)
        for engine in classes.engines:
            engine.keep_rules(range(len(rows.wishes.forced)))
    bans = Bans(table, rows.wishes.banned)
    pricers = [gain_pricer(rows, settings, table, bans) for _ in classes.engines]
    found = follow(
        ClassWalk(classes, pricers, walk_ridge(rows.size), rows.size, entered[0]),
        limits,
        max_complexity=largest,
        price=0.0 if settings.price is None else settings.price,
        keep_on_interrupt=not settings.path,
        start=start,
    )
    return [model for model in found if len(model.rules) + len(model.linear) <= max_terms]


# ----------------------------------------------------------------------------------- refits


class ClassRefitter:
    """Refits models one after the other; every class has all their columns."""

    def __init__(self, rows: FitRows, n_threads: int) -> None:
        self._rows = rows
        self._classes = rows.build_class_engines(n_threads)

    def hold(self, rules: dict[BinRule, int]) -> list[BinRule]:
        """Give every engine the rules; return them in the order of the columns."""
        for engine in self._classes.engines:
            engine.keep_rules([k for k, rule in enumerate(engine.rules) if rule in rules])
            held = set(engine.rules)
            new = {rule: degree for rule, degree in rules.items() if rule not in held}
            engine.add_rules(list(new), list(new.values()))
            if len(engine.rules) < len(rules):  # of equal coverage, and the lower degree came first
                engine.keep_rules([])
                engine.add_rules(list(rules), list(rules.values()))
        return self._classes.engines[0].rules

    def relax(
        self,
        classes: ClassEngines,
        penalty: Penalty,
        found: ClassSolution,
        blends: Sequence[float],
        certificate: str,
    ) -> PathModel:
        """Refit the coefficients that are not about zero, each class those of its own."""
        rules, linear = shared_terms(classes, found.coefs)
        kept, stands_for = merge_equal(rules, classes.engines[0])
        order = self.hold(kept)
        shrunk = [
            spread(engine.rules, engine.n_linear, coef, order, stands_for)
            for engine, coef in zip(classes.engines, found.coefs, strict=True)
        ]
        free = penalised = np.column_stack(shrunk)
        if min(blends) < 1.0:
            members = penalised != 0.0
            members[0] = True
            self._classes.set_coefficients(shrunk)
            ridges = shrink_ridges(self._classes.engines[0], debias_ridge(penalty))
            free = refit_classes(self._classes, penalised, members, ridges)
        coefs = [(1.0 - blend) * free + blend * penalised for blend in blends]
        return self._make(
            penalty.lambda_0, penalty.lambda_1, linear, coefs, found.solution, certificate
        )

    def shrink(self, model: PursuitModel, ridges: Sequence[float], tol: float) -> PathModel:
        """Refit a model of a pursuit at several ridges (in rows), each from the next larger."""
        order = self.hold(dict(zip(model.rules, model.degrees, strict=True)))
        engine = self._classes.engines[0]
        columns = [0, *(1 + j for j in model.linear)]
        columns += [1 + engine.n_linear + order.index(rule) for rule in model.rules]
        start = np.zeros((1 + engine.n_linear + len(order), len(self._classes)))
        start[columns] = model.coef
        members = np.zeros(start.shape, np.bool_)
        members[columns] = True
        self._classes.set_coefficients(list(np.ascontiguousarray(start.T)))
        refitted, curvature = [], None
        small = len(ridges) > 1 and Curvature.pays(self._classes, members)
        for ridge in sorted(ridges, reverse=True):
            if small and (curvature is None or self._classes.loss() < FELL * curvature.loss):
                curvature = Curvature(self._classes, members)
            shares = shrink_ridges(engine, ridge / self._rows.size)
            start = refit_classes(self._classes, start, members, shares, tol, curvature)
            refitted.append(start)
        return self._make(model.price, np.nan, model.linear, refitted[::-1], NO_SOLUTION, PURSUED)

    def _make(
        self,
        strength: float,
        lambda_1: float,
        linear: tuple[int, ...],
        coefs: Sequence[FloatArray],
        solution: Solution,
        certificate: str,
    ) -> PathModel:
        engine = self._classes.engines[0]
        losses = [
            self._classes.set_coefficients(list(np.ascontiguousarray(coef.T))) for coef in coefs
        ]
        unused = [1 + j for j in range(engine.n_linear) if j not in linear]
        for coef in coefs:
            coef[0] -= coef[0].mean()  # no probability knows their sum
        return PathModel(
            strength,
            lambda_1,
            tuple(engine.rules),
            tuple(engine.degrees),
            linear,
            engine.supports(),
            np.array([np.delete(coef, unused, axis=0) for coef in coefs]),
            np.array(losses),
            solution,
            certificate,
        )


def merge_equal(
    rules: dict[BinRule, int], engine: LocalEngine
) -> tuple[dict[BinRule, int], dict[BinRule, tuple[BinRule, bool]]]:
    """Choose one of the rules that cover the same rows, or just the others.

    Returns
    -------
    kept : dict, rules and degrees, of each kind the simplest
    stands_for : dict, from each rule to the one kept, and whether that covers just the others
    """
    simplest = sorted(rules, key=lambda rule: (rules[rule], rule))
    chosen: dict[bytes, tuple[BinRule, bool]] = {}
    stands_for = {}
    for rule, (key, flipped) in zip(simplest, engine.coverages(simplest), strict=True):
        one, as_kept = chosen.setdefault(key, (rule, flipped))
        stands_for[rule] = one, flipped != as_kept
    return {rule: rules[rule] for rule, _ in chosen.values()}, stands_for


def spread(
    rules: Sequence[BinRule],
    n_linear: int,
    coef: FloatArray,
    order: Sequence[BinRule],
    stands_for: dict[BinRule, tuple[BinRule, bool]],
) -> FloatArray:
    """Place the coefficients of a class among the columns of all classes."""
    first = 1 + n_linear
    place = {rule: first + k for k, rule in enumerate(order)}
    out = np.zeros(first + len(order))
    kept = np.where(np.abs(coef) > KEEP_ABOVE, coef, 0.0)
    out[1:first] = kept[1:first]
    out[0] = coef[0]
    for rule, value in zip(rules, kept[first:], strict=True):
        if value == 0.0:
            continue
        one, others = stands_for[rule]
        out[place[one]] += -value if others else value
        out[0] += value if others else 0.0
    return out
