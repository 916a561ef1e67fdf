"""The study's committed results and the paper's numbers, read and summarised over folds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.units import N_FOLDS as FOLDS

PAPER_METHODS = ("LR1", "LRR", "RuleFit", "LR1N", "LRRN", "RuleFitN", "GBT", "SVM")
RULE_METHODS = PAPER_METHODS[:6]
"""Those whose weighted number of rules the paper has."""
REPRODUCED = ("LR1", "LRR", "LR1N", "LRRN")
"""The paper's own methods."""
OURS = (*REPRODUCED, "LRRI", "LRRN+", "Pursuit")
METHODS = (*PAPER_METHODS, "LRRI", "LRRN+", "Pursuit", "LightGBM", "XGBoost", "EBM")
NEEDED = ("dataset", "method", "metric", "fold", "score", "complexity", "cpu_seconds", "note")
"""Columns of ``scores.csv`` that are used."""
DECIMALS = 12
"""Of means, so that sums in another order still tie."""
COMPARED = {"score": PAPER_METHODS, "complexity": RULE_METHODS}
"""The methods of the paper's tables of scores and of complexities."""
KEYS = ["metric", "dataset", "method", "fold"]


@dataclass(frozen=True)
class Metric:
    """What is measured: its name in the records, its title, and how a mean is shown."""

    name: str
    title: str
    larger_is_better: bool
    show: Callable[[float, float | None], tuple[str, str]]
    """From mean and standard error: the figure that may be bold, and what follows it."""

    @property
    def words(self) -> str:
        """The title without its unit."""
        return self.title.split(" (")[0]

    @property
    def sign(self) -> int:
        """1 if more is better, else -1."""
        return 1 if self.larger_is_better else -1


def show_scientific(mean: float, error: float | None) -> tuple[str, str]:
    """Show 0.00258 and 0.00075 as the paper does: 2.58 (0.75) E-3."""
    digits, exponent = f"{mean:.2e}".split("e")
    power = int(exponent)
    after = "" if power == 0 else f" E{power}"
    return digits, show_error(None if error is None else error / 10.0**power, 2) + after


def show_percent(mean: float, error: float | None) -> tuple[str, str]:
    """Show a fraction as percent with one decimal."""
    return f"{100 * mean:.1f}", show_error(None if error is None else 100 * error, 1)


def show_plain(mean: float, error: float | None) -> tuple[str, str]:
    """Show a number with one decimal."""
    return f"{mean:.1f}", show_error(error, 1)


def show_error(error: float | None, decimals: int) -> str:
    """Show a standard error in parentheses; one fold has none."""
    return "" if error is None or np.isnan(error) else f" ({error:.{decimals}f})"


METRICS = (
    Metric("brier", "Brier score", False, show_scientific),
    Metric("accuracy", "Accuracy (%)", True, show_percent),
    Metric("r2", "R² (%)", True, show_percent),
)
COMPLEXITY = Metric("complexity", "Weighted number of rules", False, show_plain)


def read_paper() -> pd.DataFrame:
    """Read the paper's tables; ``unit`` is the last printed digit of a mean."""
    return pd.read_csv(Path(__file__).parent / "paper_results.csv")


@dataclass(frozen=True)
class Line:
    """A method on a data set, over its folds; complexities are nan where a method has none."""

    mean: float
    se: float
    folds: int
    complexity: float
    complexity_se: float
    note: str

    @property
    def marks(self) -> str:
        """How many folds, where not all, and a dagger for a note."""
        folds = "" if self.folds == FOLDS else f"<sup>{self.folds}</sup>"
        return folds + ("†" if self.note else "")


@dataclass(frozen=True)
class Printed:
    """A figure of the paper; the standard error is nan where it has none."""

    mean: float
    se: float
    unit: float
    """The last printed digit of the mean."""


@dataclass(frozen=True)
class Study:
    """All results of a folder, beside the paper's."""

    scores: pd.DataFrame
    curves: pd.DataFrame
    versions: pd.DataFrame
    paper: pd.DataFrame

    @classmethod
    def read(cls, results: Path) -> "Study":
        """Read ``scores.csv``, ``curves.csv`` and ``versions.csv``; the last two may be absent."""
        path = results / "scores.csv"
        if not path.exists():
            raise FileNotFoundError(f"{path} is not there: write it by the study's run stage")
        scores = pd.read_csv(path, dtype={"note": str})
        if missing := sorted(set(NEEDED) - set(scores.columns)):
            raise ValueError(f"{path} lacks the columns {', '.join(missing)}")
        twice = scores[scores.duplicated(KEYS)]
        if len(twice):
            raise ValueError(f"{path} has two lines for {', '.join(map(str, twice[KEYS].iloc[0]))}")
        scores["note"] = scores.note.fillna("").str.strip()
        return cls(
            scores,
            *(read_optional(results / name) for name in ("curves.csv", "versions.csv")),
            read_paper(),
        )

    @cached_property
    def finished(self) -> pd.DataFrame:
        """The lines that have a score."""
        return self.scores[np.isfinite(self.scores.score)]

    def of(self, metric: str) -> pd.DataFrame:
        """Return the finished lines of a metric."""
        return self.finished[self.finished.metric == metric]

    def datasets(self, metric: str) -> list[str]:
        """Return the data sets that have results, in the paper's order, others after them."""
        known = self.paper[self.paper.table == metric].dataset
        return in_order(self.of(metric).dataset, known)

    def methods(self, metric: str) -> list[str]:
        """Return the methods that have results, in the paper's order, ours and others after."""
        return in_order(self.of(metric).method, METHODS)

    def summary(self, metric: str) -> dict[tuple[str, str], Line]:
        """Return means and standard errors by (dataset, method)."""
        return self._summaries[metric]

    def paper_cell(self, table: str, dataset: str, method: str) -> Printed | None:
        """Return what the paper printed in a cell, or None."""
        return self._printed.get((table, dataset, method))

    def curve(self, dataset: str, method: str) -> pd.DataFrame:
        """Return the lines of a curve, none if there are none."""
        return self._curves.get((dataset, method), self.curves.iloc[:0])

    @cached_property
    def _curves(self) -> dict[tuple[str, str], pd.DataFrame]:
        return dict(iter(self.curves.groupby(["dataset", "method"]))) if len(self.curves) else {}

    @cached_property
    def _summaries(self) -> dict[str, dict[tuple[str, str], Line]]:
        return {metric.name: summarise(self.of(metric.name)) for metric in METRICS}

    @cached_property
    def _printed(self) -> dict[tuple[str, str, str], Printed]:
        return {
            (line.table, line.dataset, line.method): Printed(
                line.mean, line.standard_error, line.unit
            )
            for line in self.paper.itertuples()
        }

    def shared(
        self, metric: str, methods: Iterable[str], value: str = "score"
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return means by data set and method over the folds that all of the methods have.

        The second frame has the number of those folds. Data sets without such folds are left out.
        """
        methods = list(methods)
        lines = self.of(metric)
        lines = lines[lines.method.isin(methods) & lines[value].notna()]
        wide = lines.pivot(index=["dataset", "fold"], columns="method", values=value)
        wide = wide.reindex(columns=methods).dropna()
        sets = [name for name in self.datasets(metric) if name in wide.index.get_level_values(0)]
        groups = wide.groupby(level="dataset")
        return groups.mean().loc[sets].round(DECIMALS), groups.size().loc[sets]


def summarise(lines: pd.DataFrame) -> dict[tuple[str, str], Line]:
    """Return the means of the folds of each data set and method."""
    groups = lines.groupby(["dataset", "method"])
    frame = pd.DataFrame(
        {
            "mean": groups.score.mean(),
            "se": groups.score.sem(),
            "folds": groups.fold.nunique(),
            "complexity": groups.complexity.mean(),
            "complexity_se": groups.complexity.sem(),
        }
    )
    noted = lines[lines.note != ""]
    notes = noted.groupby(["dataset", "method"]).note.agg(lambda notes: "; ".join(notes.unique()))
    return {
        line[0]: Line(*line[1:], note=notes.get(line[0], ""))
        for line in frame.round(DECIMALS).itertuples(name=None)
    }


def read_optional(path: Path) -> pd.DataFrame:
    """Read a CSV, or nothing where there is none."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame()


def in_order(values: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the distinct values, those known first and in their order."""
    present = dict.fromkeys(values)
    first = [value for value in dict.fromkeys(known) if value in present]
    return first + [value for value in present if value not in first]
