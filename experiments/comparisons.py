"""Who is better: our means beside the paper's, and methods ranked over data sets."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from experiments.records import OURS, PAPER_METHODS, Line, Metric, Printed, Study
from experiments.statistics import Comparison, Friedman, compare_with, friedman_test, rank_methods

COVERAGE = 0.75
"""Methods with results on a smaller share of the data sets are not ranked with the others."""
REFERENCE = "LRRN"
"""The paper's best method, with which it compares all others."""
BETTER, WITHIN, COMBINED, WORSE = VERDICTS = (
    *("as good or better", "within 2 SE", "within 2 combined SE", "worse"),
)


@dataclass(frozen=True)
class Reproduction:
    """Our mean of a method on a data set beside the paper's; differences above 0 are for us."""

    dataset: str
    ours: Line
    paper: Printed
    in_paper_errors: float
    in_combined_errors: float
    complexity_ratio: float
    """Our complexity over the paper's; nan if either is missing or the paper's is 0."""

    @property
    def verdict(self) -> str:
        """Say how the two means relate."""
        if self.in_paper_errors >= 0:
            return BETTER
        if self.in_paper_errors >= -2:
            return WITHIN
        return COMBINED if self.in_combined_errors >= -2 else WORSE

    @property
    def met(self) -> bool:
        """Whether ours is better or within two of the paper's standard errors."""
        return self.verdict in (BETTER, WITHIN)


def reproduce(study: Study, metric: Metric, method: str) -> list[Reproduction]:
    """Compare a method with the paper on each data set that both have.

    An error printed as 0 stands for anything below half of the last digit, and is taken as that.
    """
    summary, found = study.summary(metric.name), []
    for name in study.datasets(metric.name):
        paper = study.paper_cell(metric.name, name, method)
        if paper is None or (name, method) not in summary:
            continue
        ours = summary[name, method]
        error = max(paper.se, paper.unit / 2)
        combined = np.hypot(error, 0.0 if np.isnan(ours.se) else ours.se)
        gain = metric.sign * (ours.mean - paper.mean)
        simple = study.paper_cell(f"{metric.name}_complexity", name, method)
        known = simple is not None and simple.mean > 0
        found.append(
            Reproduction(
                *(name, ours, paper),
                in_paper_errors=gain / error,
                in_combined_errors=gain / combined,
                complexity_ratio=ours.complexity / simple.mean if known else np.nan,
            )
        )
    return found


@dataclass(frozen=True)
class Ranking:
    """Methods ranked over data sets, by means over the folds that all of them have."""

    metric: Metric
    value: str
    ranks: dict[str, float]
    n_sets: int
    folds: tuple[int, int]
    """Of the data set with the fewest shared folds and of that with the most."""
    test: Friedman | None
    """None where there is too little to test."""
    left_out: list[str]

    @property
    def table(self) -> str:
        """The paper's table of the same."""
        return self.metric.name + ("" if self.value == "score" else "_complexity")

    @property
    def best_of_ours(self) -> str | None:
        """The method of ours with the best mean rank."""
        ours = [method for method in self.ranks if method in OURS]
        return min(ours, key=self.ranks.get) if ours else None

    def against(self, reference: str) -> list[Comparison]:
        """Return Holm's comparisons with a method, none if it was not ranked."""
        if self.test is None or reference not in self.ranks:
            return []
        return compare_with(reference, self.ranks, self.n_sets)


def rank(
    study: Study, metric: Metric, methods: Iterable[str], *, value: str = "score"
) -> Ranking | None:
    """Rank methods by their scores or complexities; None if fewer than two can be ranked."""
    covered = study.of(metric.name).dropna(subset=value).groupby("method").dataset.nunique()
    wanted = [m for m in methods if m in covered.index]
    enough = COVERAGE * max((covered[method] for method in wanted), default=0)
    kept = [method for method in wanted if covered[method] >= enough]
    means, folds = study.shared(metric.name, kept, value)
    if len(kept) < 2 or means.empty:
        return None
    larger = metric.larger_is_better and value == "score"
    ranks = dict(zip(kept, rank_methods(means, larger_is_better=larger).tolist(), strict=True))
    return Ranking(
        *(metric, value, ranks, len(means)),
        folds=(int(folds.min()), int(folds.max())),
        test=friedman_test(ranks, len(means)) if len(means) > 1 else None,
        left_out=[method for method in wanted if method not in kept],
    )


def paper_ranks(study: Study, table: str) -> dict[str, float]:
    """Return the paper's mean ranks by method."""
    cells = {method: study.paper_cell(table, "mean rank", method) for method in PAPER_METHODS}
    return {method: cell.mean for method, cell in cells.items() if cell is not None}
