"""One fold of one method: candidates, the choice among them by nested CV, and their test scores.

A method is a function ``(rows) -> list of Candidate``: it fits to the training rows of
:class:`Rows` and predicts its test rows, once for each setting of its grid or model of its path.
Candidates of different folds belong together by their position. A list of one needs no inner folds.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

BINARY, REGRESSION = "binary", "regression"
Split = tuple[np.ndarray, np.ndarray]
METRICS = {BINARY: ("brier", "accuracy"), REGRESSION: ("r2",)}


@dataclass(frozen=True)
class Rows:
    """Rows to train on and rows to predict; the target is 0/1 or a number."""

    task: str
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray
    seed: int = 0


@dataclass(frozen=True)
class Candidate:
    """A fitted model: what it is, what it predicts for the test rows, how complex it is."""

    parameters: dict
    predictions: np.ndarray
    """Probabilities of class 1, or means."""
    complexity: float | None = None
    rules: float | None = None
    labels: np.ndarray | None = None
    """Classes, where a method decides otherwise than by a probability above one half."""
    point: float | None = None
    """Where on the trade-off curve it stands; of several at one point, nested CV chooses."""


Method = Callable[[Rows], list[Candidate]]


@dataclass(frozen=True)
class Outcome:
    """What a method did on a fold.

    Attributes
    ----------
    chosen : the model chosen for each metric, with its test score
    curve : the models along the trade-off curve, with their test scores
    seconds, cpu_seconds : of all fits, those of the inner folds included
    inner_folds : int, 0 where there was nothing to choose
    """

    chosen: list[dict[str, Any]]
    curve: list[dict[str, Any]]
    seconds: float
    cpu_seconds: float
    inner_folds: int


def score(metric: str, y: np.ndarray, candidate: Candidate) -> float:
    """Return the Brier score, accuracy or R2 of predictions, as fractions."""
    if metric == "brier":
        return float(np.mean((y - candidate.predictions) ** 2))
    if metric == "accuracy":
        labels = candidate.labels if candidate.labels is not None else candidate.predictions > 0.5
        return float(np.mean(y == labels))
    return float(1.0 - np.mean((y - candidate.predictions) ** 2) / np.var(y))


def split(task: str, X: Any, y: np.ndarray, n_folds: int, seed: int) -> list[Split]:
    """Return folds of shuffled rows; classes keep their shares."""
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if task == BINARY else KFold
    return list(kind(n_folds, shuffle=True, random_state=seed).split(X, y))


def inner_splits(rows: Rows) -> list[Split]:
    """Return the folds within the training rows by which candidates are compared.

    There are five; three from 1,000 rows on; from 5,000 rows on the first fifth alone is held out,
    which is as many rows as all folds of smaller sets have.
    """
    n_rows = len(rows.y_train)
    n_folds = 3 if 1000 <= n_rows < 5000 else 5
    splits = split(rows.task, rows.X_train, rows.y_train, n_folds, rows.seed)
    return splits if n_rows < 5000 else splits[:1]


def take(rows: Rows, train: np.ndarray, test: np.ndarray) -> Rows:
    """Return rows to train on and to predict from among the training rows."""
    X, y = rows.X_train, rows.y_train
    return replace(
        rows, X_train=X.iloc[train], y_train=y[train], X_test=X.iloc[test], y_test=y[test]
    )


def run_fold(method: Method, rows: Rows, most_splits: int | None = None) -> Outcome:
    """Fit a method to a fold and choose among its candidates, for each metric by itself."""
    began, cpu_began = time.perf_counter(), time.process_time()
    metrics = METRICS[rows.task]
    candidates = method(rows)
    splits = inner_splits(rows)[:most_splits] if len(candidates) > 1 else []
    inner = np.zeros((len(metrics), len(candidates)))
    for train, test in splits:
        held_out = take(rows, train, test)
        found = method(held_out)
        inner += [[score(metric, held_out.y_test, one) for one in found] for metric in metrics]
    ranks = np.array([rank(metric, line) for metric, line in zip(metrics, inner, strict=True)])
    return Outcome(
        [
            {"metric": metric, **describe(candidates[line.argmin()], (metric,), rows.y_test)}
            for metric, line in zip(metrics, ranks, strict=True)
        ],
        [describe(candidates[k], metrics, rows.y_test) for k in along_curve(candidates, ranks[0])],
        time.perf_counter() - began,
        time.process_time() - cpu_began,
        len(splits),
    )


def rank(metric: str, scores: np.ndarray) -> np.ndarray:
    """Return scores so that less is better; those equal to 9 digits tie, and the first wins."""
    return np.round(scores if metric == "brier" else -scores, 9)


def along_curve(candidates: list[Candidate], ranks: np.ndarray) -> list[int]:
    """Return the positions of the candidates on the curve, the best one at each point."""
    best: dict[float, int] = {}
    for k, candidate in enumerate(candidates):
        point = float(k) if candidate.point is None else candidate.point
        if point not in best or ranks[k] < ranks[best[point]]:
            best[point] = k
    return list(best.values())


def describe(candidate: Candidate, metrics: Sequence[str], y: np.ndarray) -> dict[str, Any]:
    """Return what a record says of a model: settings, size and test scores."""
    return {
        "parameters": candidate.parameters,
        "complexity": candidate.complexity,
        "rules": candidate.rules,
        **{metric: score(metric, y, candidate) for metric in metrics},
    }
