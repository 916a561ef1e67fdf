"""Cross-validation of a path: every fold bins, searches and fits its training rows by itself."""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from ruleglm import kernels
from ruleglm.adaptive import prepare_auto
from ruleglm.dtypes import CODE_DTYPE, SUM_DTYPE, CodeArray, FloatArray, IntArray
from ruleglm.engines.packed import evaluate
from ruleglm.family import Family
from ruleglm.files import RowFiles
from ruleglm.fitting import PathModel
from ruleglm.frames import Table, TableScan
from ruleglm.multiclass import fit_path
from ruleglm.parallel import ANY_THREADS, Workers
from ruleglm.path import TradeoffPath
from ruleglm.pricing import Limits, Penalty
from ruleglm.progress import Advance, Callback, FitProgress, Monitor, progress
from ruleglm.storage import GrowingRows
from ruleglm.training import FitRows, FitSettings, RawRows, RowSource, Units

Split = tuple[IntArray, IntArray]
"""Numbers of the training and of the validation rows."""

BUDGETS = ("max_complexity", "max_rules", "max_conditions")

HeldOutScore = Callable[[PathModel, int, Units, IntArray], float]
"""Scores a variant of a fold's model on the validation rows."""

HeldOutLosses = Callable[[Any, Units, Sequence[PathModel]], FloatArray]


WORTH_THREADS = 300_000
"""Rows times the square of the columns from which on folds are fitted at the same time."""

FOLD_TOL = 1e-5
"""As `FitSettings.shrink_tol`, in folds: far below the standard errors of what they compare."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be fitted and compared.

    Attributes
    ----------
    raw : RowSource
    family : Family
    settings : tuple of FitSettings, one for each ratio of the lambdas
    n_lambdas : int, penalties of a path
    splits : tuple of Split
    score : HeldOutScore, or None for the mean loss
    losses : callable, gives the mean loss of every variant of models on rows
    """

    raw: RowSource
    family: Family
    settings: tuple[FitSettings, ...]
    n_lambdas: int
    splits: tuple[Split, ...]
    score: HeldOutScore | None
    losses: HeldOutLosses = field(default_factory=lambda: held_out_losses)


def validate_path(
    plan: Plan, limits: Limits, verbose: bool, callback: Callback | None = None
) -> tuple[TradeoffPath, bool]:
    """Fit the path of all rows and the same path in every fold.

    A callback that returns True ends the path where it is; in a fold, it ends the comparison, for
    which the folds done by then count.

    Returns
    -------
    path : TradeoffPath, nothing chosen
    ended : bool, whether the time was up before all was done
    """
    n_folds = len(plan.splits)
    began = time.monotonic()
    with progress(verbose) as begin:
        rows = prepare_auto(plan.raw, plan.family, plan.settings[0], limits)
        n_threads, n_inner = share_threads(plan.settings[0].n_threads, rows)
        n_waves = math.ceil(n_folds / n_threads)
        monitor = Monitor("path", callback, watch(begin, plan), began)
        share = Limits.after(limits.seconds_left() / (1 + n_waves), monitor)
        paths, ended = fit_all(rows, plan, [plan.n_lambdas] * len(plan.settings), share)
        if monitor.stopped:
            plan, ended = end_at(plan, paths), False
        advance = begin("folds", n_folds)
        monitor = Monitor("folds", callback, None, began)

        def run(fold: int) -> tuple[FloatArray, bool]:
            left = math.ceil((n_folds - fold) / n_threads)
            share = Limits.after(limits.seconds_left() / left, monitor)
            answer = score_fold(plan, plan.splits[fold], paths, rows.units, share, n_inner)
            advance()
            return answer

        answers = Workers(n_threads).map(run, range(n_folds), ANY_THREADS)
    models = tuple(chain.from_iterable(paths))
    late = any(each for _, each in answers)
    if monitor.stopped:
        answers = [answer for answer in answers if not answer[1]]
    shape = len(answers), len(models), len(models[0].coefs)
    scores = np.array([scores for scores, _ in answers]).reshape(shape)
    kind, scored = plan.settings[0].kind, plan.score is not None
    path = TradeoffPath(models, kind, rows.units, scores, greater_is_better=scored)
    return path, ended or (late and not monitor.stopped)


def share_threads(n_threads: int, rows: FitRows) -> tuple[int, int]:
    """Return how many folds are fitted at a time, and on how many threads each.

    Fits to few rows and columns are Python for the most part, of which one thread runs at a time:
    several would only wait for each other.
    """
    work = rows.n_rows * len(rows.units.binning.features) ** 2
    return (n_threads, 1) if work >= WORTH_THREADS else (1, n_threads)


def end_at(plan: Plan, paths: Sequence[Sequence[PathModel]]) -> Plan:
    """Return the plan of a path that ends where this one does."""
    largest = max(model.complexity for path in paths for model in path)
    settings = tuple(replace(each, max_complexity=largest) for each in plan.settings)
    return replace(plan, settings=settings)


def watch(
    begin: Callable[[str, float | None], Advance], plan: Plan
) -> Callable[[FitProgress], None]:
    """Return what shows the progress of a path."""
    settings = plan.settings[0]
    if settings.kind == "l0":
        advance = begin("path", settings.max_complexity)
        return lambda told: advance(to=told.complexity, note=told.note())
    advance = begin("path", plan.n_lambdas * len(plan.settings))
    return lambda told: advance(note=told.note())


def fit_all(
    rows: FitRows,
    plan: Plan,
    penalties: Sequence[Sequence[Penalty] | int],
    limits: Limits,
) -> tuple[list[list[PathModel]], bool]:
    """Return the path of each ratio of the lambdas, and whether the time was up.

    Parameters
    ----------
    rows : FitRows
    plan : Plan
    penalties : for each ratio of the lambdas its penalties, or their number
    limits : Limits, of which each path has an equal share
    """
    paths: list[list[PathModel]] = []
    ended = False
    for place, (settings, grid) in enumerate(zip(plan.settings, penalties, strict=True)):
        share = Limits.after(limits.seconds_left() / (len(penalties) - place), limits.monitor)
        paths.append([])
        for model in fit_path(rows, settings, grid, share):
            paths[-1].append(model)
            if model.solution.ending == "interrupted":
                raise KeyboardInterrupt
        ended |= share.over()
    return paths, ended


def score_fold(
    plan: Plan,
    split: Split,
    paths: Sequence[Sequence[PathModel]],
    units: Units,
    limits: Limits,
    n_threads: int,
) -> tuple[FloatArray, bool]:
    """Fit a path to a fold's training rows and score it on the others.

    Parameters
    ----------
    plan : Plan
    split : Split
    paths : for each ratio of the lambdas the models of all rows
    units : Units, of all rows; losses are in their unit
    limits : Limits
    n_threads : int

    Returns
    -------
    scores : (n_models, n_variants) float64, nan for models that were not reached
    ended : bool, whether the time was up
    """
    train, valid = split
    settings = (replace(each, n_threads=n_threads, shrink_tol=FOLD_TOL) for each in plan.settings)
    fold = replace(plan, settings=tuple(settings))
    training = plan.raw.take(train)
    rows = prepare_auto(training, plan.family, fold.settings[0], limits)
    grids = [[Penalty(model.strength, model.lambda_1) for model in path] for path in paths]
    fitted, ended = fit_all(rows, fold, grids, limits)
    found = list(chain.from_iterable(fitted))
    if plan.score is None:
        scale = (rows.units.unit / units.unit) ** 2 if plan.family.constant_hessian else 1.0
        held_out = plan.raw.take(valid).weigh(plan.settings[0].class_weights, training)
        values = scale * plan.losses(held_out, rows.units, found)
    else:
        n_variants = len(found[0].coefs)
        values = np.array(
            [
                [plan.score(model, variant, rows.units, valid) for variant in range(n_variants)]
                for model in found
            ]
        )
    places = align(list(chain.from_iterable(paths)), found, plan.settings[0].kind, ended)
    return np.where(places[:, None] < 0, np.nan, values[places]), ended


def align(
    models: Sequence[PathModel], found: Sequence[PathModel], kind: str, ended: bool
) -> IntArray:
    """Return for each model of the path the place of the fold's model that stands for it.

    For "l1" that is the one of the same penalty; for "l0" the best that is not more complex. -1
    where the fold did not get that far.
    """
    if kind == "l1":
        known = {(model.strength, model.lambda_1): place for place, model in enumerate(found)}
        return np.array([known.get((model.strength, model.lambda_1), -1) for model in models])
    sizes = np.array([model.complexity for model in found])
    losses = np.array([model.losses.min() for model in found])
    best = [
        int(np.where(sizes <= model.complexity + 1e-9, losses, np.inf).argmin()) for model in models
    ]
    reached = [not ended or model.complexity <= sizes.max() + 1e-9 for model in models]
    return np.where(reached, best, -1)


def held_out_losses(raw: RawRows, units: Units, models: Sequence[PathModel]) -> FloatArray:
    """Return the mean loss of every variant of every model, shape (n_models, n_variants)."""
    shape = units.family.output_shape
    y = np.eye(shape[0])[raw.y.astype(np.int64)] if shape else (raw.y - units.shift) / units.unit
    out = np.empty((len(models), len(models[0].coefs)))
    for losses, etas in zip(out, held_out_predictors(raw, units, models), strict=True):
        for variant, eta in enumerate(etas):
            with np.errstate(over="ignore"):
                losses[variant] = np.average(units.family.loss(y, eta), weights=raw.weights)
    return out


def held_out_predictors(
    raw: RawRows, units: Units, models: Sequence[PathModel]
) -> Iterator[list[FloatArray]]:
    """Yield for each model the linear predictors of its variants, on the scale of the fit.

    All rules of the models are evaluated once, on the codes of the rows.
    """
    rules = sorted({rule for model in models for rule in model.rules})
    codes, lines = code_rows(raw.scan, units)
    columns = evaluate(codes, rules)
    place = {rule: k for k, rule in enumerate(rules)}
    offset = np.zeros(raw.scan.n_rows) if raw.offset is None else raw.offset / units.unit
    for model in models:
        mine = columns[[place[rule] for rule in model.rules]]
        drawn, first = lines[list(model.linear)], 1 + len(model.linear)
        predictors = []
        for coefs in model.coefs:
            etas = []
            for coef in np.atleast_2d(coefs.T):
                coef, eta = np.ascontiguousarray(coef), offset.copy()
                terms = float(coef[0]), drawn, coef[1:first], mine, coef[first:]
                kernels.add_terms(*terms, 0, len(eta), eta)
                etas.append(eta)
            predictors.append(np.column_stack(etas) if units.family.output_shape else etas[0])
        yield predictors


def code_rows(scan: TableScan, units: Units) -> tuple[CodeArray, FloatArray]:
    """Return the codes of other rows and the values of the linear terms, reading columns once."""
    codes = GrowingRows(scan.n_rows, CODE_DTYPE, scan.workdir)
    lines = GrowingRows(scan.n_rows, SUM_DTYPE, scan.workdir)
    terms = {term.term.feature: term for term in units.terms}
    for bins, column in zip(units.binning.features, scan.columns, strict=True):
        codes.append(bins.encode(column))
        if bins.name in terms:
            lines.append(terms[bins.name].column(Table((column,))))
    return codes.array(), lines.array()


def split_rows(
    folds: Any, X: Any, y: FloatArray, groups: Any, stratified: bool, random_state: Any
) -> list[Split]:
    """Return the folds that a number, a splitter or pairs stand for; of a number, shuffled."""
    if isinstance(folds, Integral):
        kinds = (StratifiedKFold, StratifiedGroupKFold) if stratified else (KFold, GroupKFold)
        kind = kinds[groups is not None]
        folds = kind(int(folds), shuffle=True, random_state=random_state)
    if isinstance(X, RowFiles):
        X = np.arange(len(y))
    splitter = check_cv(folds)
    return [(np.asarray(train), np.asarray(valid)) for train, valid in splitter.split(X, y, groups)]


def keep_counted(splits: Sequence[Split], weights: FloatArray | None) -> tuple[Split, ...]:
    """Leave out the rows of weight 0, and folds in which none is left to score."""
    if weights is not None:
        splits = [(train[weights[train] > 0], valid[weights[valid] > 0]) for train, valid in splits]
    kept = tuple((train, valid) for train, valid in splits if len(valid))
    if not kept or not all(len(train) for train, _ in kept):
        raise ValueError(
            "`cv` gives no fold with rows of positive weight on both sides; use other folds"
        )
    return kept


def warn_of_ending(path: TradeoffPath, ended: bool) -> None:
    """Say what was cut short, and what to do about it."""
    if len(path.scores) == 0:
        warnings.warn(
            "The callback stopped the fit before a fold was complete, so that the model is chosen "
            "by the training rows; stop later, or choose one by `at`",
            UserWarning,
            stacklevel=4,
        )
    if ended:
        warnings.warn(
            "The time limit was reached, so that the path is shorter than it could be; raise "
            "`time_limit`, or make the search shorter: a smaller `max_degree`, "
            "`max_complexity` or `cv`, a larger `n_jobs`",
            ConvergenceWarning,
            stacklevel=4,
        )


def read_ratios(given: Any) -> list[float]:
    """Return the ratios of the lambdas that a user gives, one or several."""
    try:
        ratios = [float(ratio) for ratio in np.atleast_1d(given)]
    except (TypeError, ValueError) as error:
        raise ValueError(f"`lambda_ratio` is {given!r}; give numbers") from error
    if not ratios or not all(0.0 <= ratio < np.inf for ratio in ratios):
        raise ValueError(f"`lambda_ratio` is {ratios}; give at least one, none negative")
    return ratios


def check_select(select: str | dict[str, Any]) -> None:
    """Refuse budgets that there are not."""
    for key in select if isinstance(select, dict) else ():
        if key not in BUDGETS:
            raise ValueError(f"`select` has {key!r}; budgets are {', '.join(BUDGETS)}")


def choose(path: TradeoffPath, select: str | dict[str, Any]) -> int:
    """Return the position of the model that ``select`` asks for."""
    if isinstance(select, dict):
        return path.within(**select)
    return path.best() if select == "min" else path.simplest_near_best()
