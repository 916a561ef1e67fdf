"""Trade-off curves: which points are efficient, and how simple a model of a given score can be."""

import numpy as np
import pandas as pd

from experiments.records import Metric, Study


def curve_of(study: Study, metric: Metric, dataset: str, method: str) -> pd.DataFrame:
    """Return the points of a curve: ``complexity``, ``score``, their standard errors, folds."""
    names = {metric.name: "score", f"{metric.name}_se": "score_se"}
    columns = ["complexity", "complexity_se", "score", "score_se", "folds"]
    lines = study.curve(dataset, method)
    if metric.name not in lines.columns:
        return pd.DataFrame(columns=columns, dtype=float)
    points = lines.rename(columns=names)[columns].dropna(subset=["complexity", "score"])
    return points.drop_duplicates(ignore_index=True)


def is_efficient(points: pd.DataFrame, metric: Metric) -> np.ndarray:
    """Return which points no other beats: at most as complex with a better score.

    Of points that agree in both, the first counts.
    """
    gains = metric.sign * points.score.to_numpy(float)
    order = np.lexsort((-gains, points.complexity.to_numpy(float)))
    best = np.maximum.accumulate(np.concatenate([[-np.inf], gains[order]]))[:-1]
    efficient = np.empty(len(points), dtype=bool)
    efficient[order] = gains[order] > best
    return efficient


def front(points: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """Return the efficient points, the simplest first."""
    return points[is_efficient(points, metric)].sort_values("complexity", kind="stable")


def simplest_reaching(points: pd.DataFrame, metric: Metric, score: float) -> float | None:
    """Return the least mean complexity with a mean as good as a score, None if there is none."""
    enough = points[metric.sign * points.score >= metric.sign * score]
    return float(enough.complexity.min()) if len(enough) else None
