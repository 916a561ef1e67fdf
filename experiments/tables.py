"""The paper's tables from the committed results: ``tables.md`` and ``summary.md`` beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.comparisons import REFERENCE, paper_ranks, rank
from experiments.markdown import BLANK, count, join_figures, link_sections, make_table
from experiments.records import (
    COMPARED,
    COMPLEXITY,
    FOLDS,
    METHODS,
    METRICS,
    Metric,
    Printed,
    Study,
    in_order,
)
from experiments.registry import SETS
from experiments.summary import describe
from experiments.verdicts import reproduction_parts, test_parts

NOTICE = "<!-- Written by `python -m experiments.paper tables`; changes by hand are lost. -->\n"
LEGEND = f"""\
Means over {FOLDS} outer folds, their standard errors in parentheses, the best of a line in
**bold**. *In italics below ours: what the paper printed*, from folds of its own. A raised number
says how many folds there are, where not {FOLDS}; a dagger † that the run has a note, in the list at
the end.
"""
COLUMNS = {"score": ("mean", "se"), "complexity": ("complexity", "complexity_se")}


def write_tables(results: Path) -> None:
    """Write ``tables.md`` and ``summary.md`` into the folder of the results."""
    study = Study.read(results)
    parts = []
    for metric in METRICS:
        if study.datasets(metric.name):
            parts += score_parts(study, metric)
    parts += [*test_parts(study), *reproduction_parts(study), *seconds_parts(study)]
    parts += [*note_parts(study), *data_parts(), *version_parts(study)]
    write_text(results / "tables.md", [NOTICE, link_sections(parts), LEGEND, *parts])
    write_text(results / "summary.md", [NOTICE, *describe(study)])


def write_text(path: Path, parts: Sequence[str]) -> None:
    """Write paragraphs and tables with an empty line between them."""
    path.write_text("\n".join(parts), encoding="utf-8", newline="\n")


def score_parts(study: Study, metric: Metric) -> Iterator[str]:
    """Yield the tables of a metric: scores and complexities, the paper's methods and others."""
    yield f"## {metric.title}\n"
    yield "Models chosen by nested cross-validation for this measure.\n"
    yield from grid_parts(study, metric, "score", metric.name)
    if study.of(metric.name).complexity.notna().any():
        yield f"### {metric.words}: weighted number of rules\n"
        yield (
            "The complexity of the same models: a rule counts 1, and 0.2 for each condition. "
            "Leaves of trees count as rules.\n"
        )
        yield from grid_parts(study, metric, "complexity", f"{metric.name}_complexity")


def grid_parts(study: Study, metric: Metric, value: str, paper_table: str) -> Iterator[str]:
    """Yield the table of the paper's methods, then that of others beside its LRRN."""
    present = in_order(study.of(metric.name).dropna(subset=value).method, METHODS)
    paper = [method for method in present if method in COMPARED[value]]
    others = [method for method in present if method not in COMPARED[value]]
    if paper:
        yield Grid(study, metric, value, paper, paper_table).table()
    if others:
        yield f"Methods that this table of the paper does not have, beside its {REFERENCE}.\n"
        beside = [method for method in present if method == REFERENCE or method in others]
        yield Grid(study, metric, value, beside).table()


@dataclass(frozen=True)
class Grid:
    """A table of data sets by methods: scores or complexities, maybe with the paper's figures."""

    study: Study
    metric: Metric
    value: str
    methods: Sequence[str]
    paper_table: str | None = None

    @property
    def shown(self) -> Metric:
        """What the cells show."""
        return self.metric if self.value == "score" else COMPLEXITY

    def table(self) -> str:
        """Return the table, with mean ranks last."""
        rows = [self.row(name) for name in self.study.datasets(self.metric.name)]
        return make_table(["data set", *self.methods], [*rows, *self.rank_rows()])

    def row(self, name: str) -> list[str]:
        """Return the cells of a data set."""
        summary, (mean, error) = self.study.summary(self.metric.name), COLUMNS[self.value]
        found = {m: summary[name, m] for m in self.methods if (name, m) in summary}
        means = {m: getattr(line, mean) for m, line in found.items()}
        means = {m: value for m, value in means.items() if not np.isnan(value)}
        best = max((self.shown.sign * value for value in means.values()), default=None)
        cells = []
        for method in self.methods:
            parts = []
            if method in means:
                line, bold = found[method], self.shown.sign * means[method] == best
                text = show(self.shown, means[method], getattr(line, error), bold=bold)
                parts.append(text + line.marks)
            if (printed := self.paper_cell(name, method)) is not None:
                parts.append(f"*{show(self.shown, printed.mean, printed.se)}*")
            cells.append("<br>".join(parts) or BLANK)
        return [name, *cells]

    def paper_cell(self, name: str, method: str) -> Printed | None:
        """Return the paper's figures for a cell, if it is to have them."""
        if self.paper_table is None:
            return None
        return self.study.paper_cell(self.paper_table, name, method)

    def rank_rows(self) -> Iterator[list[str]]:
        """Yield the line of mean ranks; a method that was not ranked has a dash."""
        ranking = rank(self.study, self.metric, self.methods, value=self.value)
        if ranking is None:
            return
        printed = paper_ranks(self.study, self.paper_table) if self.paper_table else {}
        best, row = min(ranking.ranks.values()), [f"mean rank ({count(ranking.n_sets, 'set')})"]
        for method in self.methods:
            mean = ranking.ranks.get(method)
            text = BLANK if mean is None else f"**{mean:.2f}**" if mean == best else f"{mean:.2f}"
            row.append(text + (f"<br>*{printed[method]:.2f}*" if method in printed else ""))
        yield row


def show(metric: Metric, mean: float, error: float, *, bold: bool = False) -> str:
    """Return a mean with its standard error."""
    figure, after = metric.show(mean, error)
    return (f"**{figure}**" if bold else figure) + join_figures(after)


def seconds_parts(study: Study) -> Iterator[str]:
    """Yield the median CPU seconds of a fold, the choice by nested cross-validation included."""
    lines = study.finished[study.finished.metric.isin(["brier", "r2"])]
    medians = lines.groupby(["dataset", "method"]).cpu_seconds.median()
    sets = [*study.datasets("brier"), *study.datasets("r2")]
    methods = list(dict.fromkeys([*study.methods("brier"), *study.methods("r2")]))
    if medians.notna().sum() == 0:
        return
    yield "## Seconds\n"
    yield (
        "Median CPU seconds of one outer fold, with the inner folds that choose the model. Other "
        "work ran on the machine too: read the orders of magnitude.\n"
    )
    rows = [
        [name, *(show_seconds(medians.get((name, method))) for method in methods)] for name in sets
    ]
    means = medians.groupby("method").median()
    rows.append(["median", *(show_seconds(means.get(method)) for method in methods)])
    yield make_table(["data set", *methods], rows)


def show_seconds(seconds: float | None) -> str:
    """Return seconds with about two digits."""
    if seconds is None or np.isnan(seconds):
        return BLANK
    decimals = 0 if seconds >= 10 else 1 if seconds >= 1 else 2
    return f"{seconds:,.{decimals}f}"


def note_parts(study: Study) -> Iterator[str]:
    """Yield what is special about some runs, and what has no score."""
    noted = study.scores[study.scores.note != ""]
    lines = {}
    for (method, note), group in noted.groupby(["method", "note"], sort=False):
        places = {
            f"{name} (folds {', '.join(map(str, sorted(set(part.fold))))})"
            if part.fold.nunique() < FOLDS
            else name: None
            for name, part in group.groupby("dataset", sort=False)
        }
        lines[f"- {method}, {', '.join(places)}: {note}"] = None
    if lines:
        yield "## Notes on runs\n"
        yield "\n".join(lines) + "\n"


def data_parts() -> Iterator[str]:
    """Yield the registry's list of data sets."""
    yield "## Data sets\n"
    rows = []
    for one in SETS.values():
        share = f"{100 * one.positives / one.rows:.1f} %" if one.positives and one.rows else ""
        sizes = [f"{size:,}" if size else BLANK for size in (one.rows, one.features)]
        rows.append([one.name, *sizes, share, one.target, one.notes])
    yield make_table(["data set", "rows", "features", "class 1", "target", "notes"], rows, words=2)


def version_parts(study: Study) -> Iterator[str]:
    """Yield the versions of the packages that were used."""
    if len(study.versions):
        yield "## Versions\n"
        named = [f"{line.package} {line.version}" for line in study.versions.itertuples()]
        yield ", ".join(named) + ".\n"
