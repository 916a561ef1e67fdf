"""What the trade-off benchmark should reach, and whether it did."""

from dataclasses import dataclass
from statistics import fmean, median

from benchmarks.column_generation import print_target
from benchmarks.datasets import BINARY, SETS, is_better

METHOD = "pursuit"
"""Ours, in all targets."""
REFERENCE = "LRRN"
SHARE = 0.25
"""Of the complexity of the paper's LRRN, at its score, on the median over data sets."""


@dataclass(frozen=True)
class Goal:
    """A score to reach at a complexity."""

    name: str
    complexity: float
    score: float

    def __str__(self):
        kind = "Brier <=" if SETS[self.name] == BINARY else "R2 >="
        return f"{self.name}, {kind} {self.score:g} at complexity <= {self.complexity:g}"


GOALS = (
    Goal("bike", 70, 0.91),
    Goal("bike", 250, 0.94),
    Goal("california", 60, 0.79),
    Goal("california", 250, 0.825),
    Goal("magic", 60, 0.100),
    Goal("magic", 200, 0.092),
    Goal("adult", 40, 0.092),
    Goal("adult", 120, 0.0885),
    Goal("pima", 60, 0.160),
    Goal("fico", 60, 0.180),
    Goal("fico-filled", 60, 0.180),
)


def mean_curve(outcomes):
    """Return {budget: (mean complexity, mean score)} over the folds of a method."""
    curves = [outcome.curve for outcome in outcomes if outcome.curve]
    return {
        budget: tuple(map(fmean, zip(*(curve[budget] for curve in curves), strict=True)))
        for budget in (curves[0] if curves else ())
    }


def print_targets(outcomes, published):
    """Print each target that the run can decide; ``outcomes`` is by data set and method."""
    ours = {name: methods.get(METHOD, []) for name, methods in outcomes.items()}
    if not any(ours.values()):
        print(f"\nNo targets without {METHOD}")
        return
    print("\nTargets, means over folds")
    for name, seen in ours.items():
        if failed := sum(one.score is None for one in seen):
            print(f"  {name}: {METHOD} failed on {failed} of {len(seen)} folds, which are left out")
    curves = {name: curve for name, seen in ours.items() if (curve := mean_curve(seen))}
    for goal in GOALS:
        if goal.name in curves:
            print_goal(goal, curves[goal.name])
    if published is not None and curves:
        print_shares(curves, published)
    print_path_times(outcomes)
    print_choice_times(outcomes)


def print_goal(goal, curve):
    """Print whether the model for the budget reaches the score; a better, smaller one is named."""
    task = SETS[goal.name]
    complexity, score = curve[goal.complexity]
    smaller = [point for budget, point in curve.items() if budget <= goal.complexity]
    best = min(smaller, key=lambda point: point[1] if task == BINARY else -point[1])
    seen = f"{score:.4f} at {complexity:.1f}"
    if best[1] != score:
        seen += f"; best below: {best[1]:.4f} at {best[0]:.1f}"
    print_target(str(goal), is_better(task, score, goal.score), seen)


def print_shares(curves, published):
    """Print the smallest complexity that reaches the paper's LRRN over LRRN's own, by data set."""
    shares = {}
    for name, curve in curves.items():
        score, complexity = published.get(name, REFERENCE)
        if score is None or complexity is None:
            continue
        points = [point for point in curve.values() if is_better(SETS[name], point[1], score)]
        smallest = min(point[0] for point in points) if points else float("inf")
        shares[name] = smallest / complexity
        reached = f"{smallest:.1f}" if points else "not reached"
        line = f"  {name}: {REFERENCE}'s {score:.4g} at {reached} against {complexity:g}"
        print(line + (f", {shares[name]:.2f}" if points else ""))
    if shares:
        middle = median(shares.values())
        what = (
            f"{REFERENCE}'s score at <= {SHARE:g} of its complexity, median of {len(shares)} sets"
        )
        seen = "not reached on most" if middle == float("inf") else f"{middle:.2f}"
        print_target(what, middle <= SHARE, seen)


def pair_folds(outcomes, peer):
    """Return, by data set, the pairs of outcomes (ours, peer's) of the same folds."""
    pairs = {}
    for name, methods in outcomes.items():
        others = {one.fold: one for one in methods.get(peer, []) if one.seconds is not None}
        ours = [one for one in methods.get(METHOD, []) if one.seconds is not None]
        pairs[name] = [(one, others[one.fold]) for one in ours if one.fold in others]
    return {name: both for name, both in pairs.items() if both}


def print_path_times(outcomes):
    """Compare a path without CV with LightGBM's fit of the same fold."""
    ratios = {
        name: median(ours.path_seconds / peer.seconds for ours, peer in both)
        for name, both in pair_folds(outcomes, "lightgbm").items()
    }
    if ratios:
        print("  " + ", ".join(f"{name} {ratio:.2f}x" for name, ratio in ratios.items()))
        middle = median(ratios.values())
        what = f"path to complexity 100 no slower than LightGBM, median of {len(ratios)} sets"
        print_target(what, middle <= 1, f"{middle:.2f}x its time")


def print_choice_times(outcomes):
    """Compare the whole selection by CV with one EBM fit of the same fold."""
    ratios, stopped = {}, set()
    for name, both in pair_folds(outcomes, "ebm").items():
        ratios[name] = median(ours.seconds / peer.seconds for ours, peer in both)
        if not all(peer.finished for _, peer in both):
            stopped.add(name)
    if not ratios:
        return
    shown = (f"{name} {'<' if name in stopped else ''}{r:.2f}x" for name, r in ratios.items())
    print("  " + ", ".join(shown))
    slowest = max(ratios, key=ratios.get)
    seen = f"at most {ratios[slowest]:.2f}x its time, on {slowest}"
    if stopped:
        seen += f"; EBM was stopped on {len(stopped)}, where the ratio is an upper bound"
    what = f"selection by CV in less time than one EBM fit, on every one of {len(ratios)} sets"
    print_target(what, max(ratios.values()) < 1, seen)
