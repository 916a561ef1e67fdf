"""Our methods: the paper's four, its integer program, and two that go beyond the paper.

A path is fitted once for the training rows. For the convex problems the candidates are the models
of a grid of ``lambda_0`` that is the same for all data sets, which losses of mean rows and scaled
targets allow; for a pursuit they are the best models within budgets of complexity, each with
several ridges. A path that ends early, because it is as complex as allowed or its time is up, has
its last model stand for the rest.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from experiments.protocol import BINARY, Candidate, Rows

LAMBDAS = tuple(float(value) for value in np.geomspace(0.1, 1e-4, 13))
LAMBDA_RATIO = 0.2
BUDGETS = (*range(0, 20, 2), *range(20, 60, 4), *range(60, 120, 8), *range(120, 241, 20))

DECILES: dict[str, Any] = {"penalty": "l1", "bins": 10}
HEURISTIC = {**DECILES, "pricing": "beam", "max_degree": None}


FEW_ROWS, SMALL, LARGE = 2000, 100.0, 240.0
"""Paths end at the complexity ``SMALL`` with fewer rows than that, and at ``LARGE`` with more."""


@dataclass(frozen=True)
class Recipe:
    """Settings of an estimator and where its path ends."""

    settings: dict[str, Any]
    seconds: float = 1500.0
    """Of a path, at which it ends."""
    blends: tuple[float, ...] = (0.0,)
    """Shares of the penalised coefficients; 0 means de-biased, as in the paper."""
    lambdas: tuple[float, ...] = LAMBDAS


def largest_complexity(rows: Rows) -> float:
    """Return the complexity at which the paths of a data set end, in inner folds as well."""
    return SMALL if len(rows.y_train) + len(rows.y_test) < FEW_ROWS else LARGE


@dataclass(frozen=True)
class Fitted:
    """The models of a path and their predictions for the test rows, a list for each model."""

    models: list[Any]
    predictions: list[list[np.ndarray]]


def fit_path(rows: Rows, recipe: Recipe) -> Fitted:
    """Fit a path to the training rows and predict the test rows with all of its models."""
    import pandas as pd

    from ruleglm import RuleClassifierCV, RuleRegressorCV
    from ruleglm.adaptive import prepare_auto
    from ruleglm.parallel import one_blas_thread
    from ruleglm.pricing import Limits, Penalty
    from ruleglm.selection import held_out_predictors

    kind = RuleClassifierCV if rows.task == BINARY else RuleRegressorCV
    model, largest = kind(**recipe.settings), largest_complexity(rows)
    X = pd.concat([rows.X_train, rows.X_test], ignore_index=True)
    y = np.concatenate([rows.y_train, rows.y_test])
    raw = model._check_rows(X, y, None, None)
    settings = model._make_settings(Penalty(1.0, LAMBDA_RATIO), largest, path=True)
    limits = Limits.after(recipe.seconds)
    train = np.arange(len(X)) < len(rows.X_train)
    with one_blas_thread():
        training = prepare_auto(raw.take(train), model._make_family(), settings, limits)
        models = list(_walk(training, settings, recipe, limits))
        units = training.units
        test = raw.take(~train)
        predictions = [
            [units.family.mean(eta) * units.unit + units.shift for eta in etas]
            for etas in held_out_predictors(test, units, models)
        ]
    return Fitted(models, predictions)


def _walk(training: Any, settings: Any, recipe: Recipe, limits: Any) -> Iterator[Any]:
    """Yield the models of a path up to the complexity allowed."""
    from ruleglm.fitting import fit_path, walk_penalties
    from ruleglm.pricing import Penalty

    if settings.kind == "l0":
        yield from fit_path(training, settings, 0, limits)
        return
    grid = [Penalty(value, LAMBDA_RATIO * value) for value in recipe.lambdas]
    for model in walk_penalties(training, settings, grid, recipe.blends, limits):
        yield model
        if model.complexity > settings.max_complexity:
            return


def describe(model: Any, predictions: np.ndarray, point: float, **parameters: float) -> Candidate:
    """Return a model of a path as a candidate."""
    n_terms = len(model.rules) + len(model.linear)
    return Candidate(parameters, predictions, model.complexity, n_terms, point=point)


def candidates_by_lambda(rows: Rows, recipe: Recipe) -> list[Candidate]:
    """Return a candidate for each ``lambda_0`` and blend."""
    fitted = fit_path(rows, recipe)
    places = [min(k, len(fitted.models) - 1) for k in range(len(recipe.lambdas))]
    return [
        describe(
            fitted.models[place],
            fitted.predictions[place][variant],
            point=recipe.lambdas[k],
            lambda_0=recipe.lambdas[k],
            blend=blend,
        )
        for variant, blend in enumerate(recipe.blends)
        for k, place in enumerate(places)
    ]


def candidates_by_budget(rows: Rows, recipe: Recipe) -> list[Candidate]:
    """Return a candidate for each budget of complexity and each ridge."""
    from ruleglm.fitting import RIDGES

    fitted = fit_path(rows, recipe)
    sizes = np.array([model.complexity for model in fitted.models])
    losses = np.array([model.losses.min() for model in fitted.models])
    budgets = [budget for budget in BUDGETS if budget <= LARGE]
    places = [int(np.where(sizes <= budget + 1e-9, losses, np.inf).argmin()) for budget in budgets]
    return [
        describe(
            fitted.models[place],
            fitted.predictions[place][variant],
            point=budget,
            budget=budget,
            ridge=ridge,
        )
        for variant, ridge in enumerate(RIDGES)
        for budget, place in zip(budgets, places, strict=True)
    ]


OURS: dict[str, Callable[[Rows], list[Candidate]]] = {
    "LR1": partial(
        candidates_by_lambda,
        recipe=Recipe({**DECILES, "max_degree": 1, "linear_terms": False}),
    ),
    "LRR": partial(candidates_by_lambda, recipe=Recipe({**HEURISTIC, "linear_terms": False})),
    "LR1N": partial(
        candidates_by_lambda,
        recipe=Recipe({**DECILES, "max_degree": 1, "linear_terms": True}),
    ),
    "LRRN": partial(candidates_by_lambda, recipe=Recipe({**HEURISTIC, "linear_terms": True})),
    "LRRN+": partial(
        candidates_by_lambda,
        recipe=Recipe(
            {"penalty": "l1", "bins": 32, "max_degree": 2, "linear_terms": True},
            blends=(0.0, 0.25, 0.5, 0.75, 1.0),
        ),
    ),
    "LRRI": partial(
        candidates_by_lambda,
        recipe=Recipe(
            {
                **DECILES,
                "pricing": "mip",
                "pricing_options": {"seconds": 5.0},
                "max_degree": None,
                "linear_terms": False,
            },
            seconds=60.0,
            lambdas=LAMBDAS[1:8:2],
        ),
    ),
    "Pursuit": partial(candidates_by_budget, recipe=Recipe({"penalty": "l0"})),
}
