"""One fold of one method: candidates, the choice among them by nested CV, and their test scores.

A method is a function ``(rows) -> list of Candidate``: it fits to the training rows of
:class:`Rows` and predicts its test rows, once for each setting of its grid or model of its path.
Candidates of different folds belong together by their position. A list of one needs no inner folds.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

BINARY, REGRESSION = "binary", "regression"
METRICS = {BINARY: ("brier", "accuracy"), REGRESSION: ("r2",)}


@dataclass(frozen=True)
class Rows:
    """Rows to train on and rows to predict; the target is 0/1 or a number."""

    task: str
    X_train: object
    y_train: np.ndarray
    X_test: object
    y_test: np.ndarray
    seed: int = 0
    metric: str | None = None
    """What a method that chooses by itself should be best at; None for all at once."""


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


Method = Callable[[Rows], list[Candidate]]


@dataclass
class Outcome:
    """What a method did on a fold: the model chosen for each metric, and all of its curve."""

    chosen: list[dict] = field(default_factory=list)
    curve: list[dict] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def score(metric: str, y: np.ndarray, candidate: Candidate) -> float:
    """Return the Brier score, accuracy or R2 of predictions, as fractions."""
    if metric == "brier":
        return float(np.mean((y - candidate.predictions) ** 2))
    if metric == "accuracy":
        labels = candidate.labels if candidate.labels is not None else candidate.predictions > 0.5
        return float(np.mean(y == labels))
    return float(1.0 - np.mean((y - candidate.predictions) ** 2) / np.var(y))
