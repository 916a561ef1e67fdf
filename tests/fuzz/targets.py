"""Random targets of every family, with weights, offsets and exposures."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tests.fuzz.frames import pick

FAMILIES = ("gaussian", "binomial", "poisson", "negative_binomial", "gamma", "tweedie")
LABELS = (
    ["no", "yes", "it's", "", "😀", "<b>"],
    [0, 1, 2, 3, 4, 5],
    [-3, 7, 2**40, 11, 12, 13],
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    [False, True],
)
WEIGHTS = {
    "counts": 0.3, "zeros": 0.3, "tiny": 0.1, "huge": 0.1, "uneven": 0.11, "none": 0.03,
    "negative": 0.03, "beyond": 0.03,
}  # fmt: skip
GAUSSIAN = (
    (0.0, 1.0), (0.0, 1.0), (1e9, 1e-3), (0.0, 1e-200), (0.0, 1e95), (5.0, 0.0), (-1e307, 1e300),
)  # fmt: skip
"""Shift and size of a target."""


@dataclass
class Target:
    """A target and what comes with it, as arguments of `fit`."""

    family: str
    y: object
    given: dict
    flaws: set = field(default_factory=set)
    classes: int = 0


def signal(rng, frame):
    """A number a row that depends on the first columns."""
    eta = np.zeros(frame.n_rows)
    for column in frame.columns[:3]:
        pool = list(dict.fromkeys(map(repr, column.values)))
        effect = dict(zip(pool, rng.normal(size=len(pool)), strict=True))
        eta += [effect[repr(value)] for value in column.values]
    return eta + 0.3 * rng.normal(size=frame.n_rows)


def draw_target(rng, frame, family):
    eta = signal(rng, frame)
    draw = draw_labels if family == "classes" else draw_numbers
    target = draw(rng, eta, family)
    spoil(rng, target, frame.n_rows)
    add_weights(rng, target, frame.n_rows)
    if rng.random() < 0.15 and target.classes < 3:
        size = pick(rng, (0.1, 1.0, 5.0, 5.0, 1e60))
        target.flaws |= {"huge offset"} if size == 1e60 else set()
        target.given["offset"] = size * rng.normal(size=frame.n_rows)
    log_link = family in ("poisson", "negative_binomial", "gamma", "tweedie")
    if rng.random() < 0.15 and family != "classes":
        target.given["exposure"] = np.exp(rng.normal(size=frame.n_rows))
        target.flaws |= set() if log_link else {"exposure"}
    return target


def draw_numbers(rng, eta, family):
    mean = np.exp(np.clip(eta, -3, 3))
    if family == "gaussian":
        shift, size = pick(rng, GAUSSIAN)
        y = shift + size * eta
    elif family == "binomial":
        y = 1 / (1 + 1 / mean)
        y = y if rng.random() < 0.3 else (rng.random(len(y)) < y).astype(float)
    elif family == "gamma":
        y = mean * rng.gamma(1.0, size=len(mean)) * pick(rng, (1.0, 1.0, 1e-9, 1e9)) + 1e-300
    elif family == "tweedie":
        y = rng.poisson(mean) * rng.gamma(1.0, size=len(mean)) * pick(rng, (1.0, 1.0, 1e-6, 10.0))
    else:
        y = rng.poisson(mean).astype(float)
    if rng.random() < 0.05 and family != "gamma":
        y = np.zeros_like(y)
    return Target(family, y, {}, {"huge target"} if np.abs(y).max(initial=0.0) > 1e100 else set())


def draw_labels(rng, eta, family):
    pool = pick(rng, LABELS)
    k = 2 if rng.random() < 0.5 else int(rng.integers(2, len(pool) + 1))
    ranks = np.argsort(np.argsort(eta)) * k // max(1, len(eta))
    noisy = np.where(rng.random(len(eta)) < 0.1, rng.integers(0, k, len(eta)), ranks)
    labels = [pool[j] for j in noisy]
    n_classes = len(set(labels))
    y = np.array(labels, dtype=object if isinstance(pool[0], str) else None)
    if rng.random() < 0.3:
        y = pd.Series(y).astype("category" if rng.random() < 0.5 else y.dtype)
    return Target("classes", y, {}, {"one class"} if n_classes < 2 else set(), n_classes)


def spoil(rng, target, n):
    """A mistake, now and then."""
    if n == 0 or rng.random() > 0.04:
        return
    if rng.random() < 0.5:
        target.y = np.asarray(target.y)[:-1]
        target.flaws.add("length")
    elif target.family != "classes":
        target.y = target.y.copy()
        target.y[-1] = pick(rng, (np.nan, np.inf))
        target.flaws.add("unknown target")


def add_weights(rng, target, n):
    if rng.random() > 0.3:
        return
    name = pick(rng, list(WEIGHTS), list(WEIGHTS.values()))
    weights = rng.integers(1, 4, n).astype(float)
    if name == "zeros":
        weights[rng.random(n) < 0.5] = 0.0
    weights *= {"tiny": 1e-150, "huge": 1e150, "beyond": 1e300}.get(name, 1.0)
    if name == "uneven":
        weights = np.exp(8 * rng.normal(size=n))
    if name == "none":
        weights[:] = 0.0
    if name == "negative" and n:
        weights[-1] = -1.0
        target.flaws.add("negative weight")
    if not weights.any():
        target.flaws.add("no weight")
    if name == "beyond":
        target.flaws.add("huge weights")
    target.given["sample_weight"] = weights
    if target.family == "classes" and len(target.y) == n:
        kept = {label for label, w in zip(list(target.y), weights, strict=True) if w > 0}
        target.flaws |= {"one class"} if len(kept) < 2 else set()
        target.flaws |= {"class without weight"} if len(kept) < target.classes else set()
