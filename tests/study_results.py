"""Made-up results of the study: near the paper's numbers, in the form that the run stage writes."""

import numpy as np
import pandas as pd
from experiments.records import METHODS, read_paper
from experiments.units import CURVE_COLUMNS, SCORE_COLUMNS

TABLES = {"brier": "binary", "accuracy": "binary", "r2": "regression"}
STAND_INS = {"LRRI": "LRR", "LRRN+": "LRRN", "Pursuit": "LRRN", "EBM": "RuleFitN"}


def make_results(folder, datasets=None, methods=METHODS, folds=10, seed=0, points=8):
    """Write scores.csv, curves.csv and versions.csv of some data sets into a folder."""
    rng = np.random.default_rng(seed)
    paper = read_paper().set_index(["table", "dataset", "method"])["mean"]
    scores, curves = [], []
    for metric, task in TABLES.items():
        names = [
            name for name in paper[metric].index.unique(0) if name not in ("mean rank", "friedman")
        ]
        for name in names if datasets is None else [name for name in names if name in datasets]:
            for method in methods:
                like = method if method in METHODS[:8] else STAND_INS.get(method, "GBT")
                mean = paper[metric, name, like]
                size = paper.get((f"{metric}_complexity", name, like))
                scores += make_scores(rng, (name, task, method, metric), mean, size, folds)
                if size is not None:
                    curves += make_curve(
                        rng, (name, task, method), metric, mean, size, folds, points
                    )
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(scores, columns=SCORE_COLUMNS).to_csv(folder / "scores.csv", index=False)
    lines = pd.DataFrame(curves, columns=CURVE_COLUMNS)
    lines = lines.groupby(["dataset", "task", "method", "position"], as_index=False).first()
    lines.to_csv(folder / "curves.csv", index=False)
    versions = pd.DataFrame({"package": ["ruleglm", "numpy"], "version": ["0.1.0", "2.0"]})
    versions.to_csv(folder / "versions.csv", index=False)
    return folder


def make_scores(rng, names, mean, size, folds):
    """Return a line for each fold, of which the mean is near the one given."""
    lines = []
    for fold in range(folds):
        score = mean * float(np.exp(0.05 * rng.normal()))
        sizes = (None, None) if size is None else (size * float(rng.uniform(0.8, 1.2)), size // 1.4)
        seconds = float(rng.gamma(2.0))
        lines.append(
            (*names, fold, score, *sizes, "{}", seconds, 2 * seconds, 900, 5, 0, None)  # no note
        )
    return lines


def make_curve(rng, names, metric, mean, size, folds, points):
    """Return points that fall towards the mean as complexity rises."""
    lines = []
    worst = {"brier": max(0.2, 1.2 * mean), "accuracy": 0.6 * mean, "r2": 0.0}[metric]
    for position, share in enumerate(np.geomspace(0.03, 1.0, points)):
        score = mean + (worst - mean) * np.exp(-5 * share) * float(rng.uniform(0.7, 1.1))
        lines.append(
            dict(zip(("dataset", "task", "method"), names, strict=True))
            | {"position": position, "parameters": "{}", "folds": folds}
            | {"complexity": (size + 1) * share, "complexity_se": 0.1 * size * share}
            | {metric: score, f"{metric}_se": 0.03 * mean}
        )
    return lines
