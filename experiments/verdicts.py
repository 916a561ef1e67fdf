"""Tables of what the results prove: significant differences, and the paper's figures met or not."""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.comparisons import REFERENCE, VERDICTS, Ranking, Reproduction, rank, reproduce
from experiments.markdown import BLANK, count, enumerate_words, make_table
from experiments.records import COMPARED, METRICS, REPRODUCED, Metric, Study

PAPERS, ALL = "the paper's", "all"


def test_parts(study: Study) -> Iterator[str]:
    """Yield Friedman's tests and Holm's comparisons of all tables."""
    rankings = list(rank_tables(study))
    if not rankings:
        return
    yield "## Are the differences significant?\n"
    yield (
        "Friedman's statistic of the mean ranks (no correction for ties), its p-value by the F "
        "approximation, and Holm's procedure against one method, as in the paper (Demšar, 2006). "
        "Ranks are over the data sets that all of the methods have, by means over the folds "
        "that all of them have. Methods with results on fewer than three quarters of the data sets "
        "are left out.\n"
    )
    head = ["table", "methods", "sets", "Friedman", "p", "paper", "paper's p"]
    head += [f"differ from {REFERENCE} at 0.05", "at 0.10 only", "left out"]
    yield make_table(head, [friedman_row(study, *line) for line in rankings], words=3)
    for title, scope, ranking in rankings:
        if scope == ALL:
            yield from holm_parts(title, ranking)


def rank_tables(study: Study) -> Iterator[tuple[str, str, Ranking]]:
    """Yield title, scope and ranking of the paper's methods and of all, for each table."""
    for value in ("score", "complexity"):
        for metric in METRICS:
            title = metric.words if value == "score" else f"{metric.words}: rules"
            for scope, methods in ((PAPERS, COMPARED[value]), (ALL, study.methods(metric.name))):
                ranking = rank(study, metric, methods, value=value)
                if ranking is not None and ranking.test is not None:
                    yield title, scope, ranking


def friedman_row(study: Study, title: str, scope: str, ranking: Ranking) -> list[str]:
    """Return a line of the table of Friedman's tests."""
    printed = ["", ""]
    if scope == PAPERS:
        cells = (study.paper_cell(ranking.table, "friedman", p) for p in ("statistic", "p_value"))
        printed = ["" if cell is None else f"{cell.mean:g}" for cell in cells]
    lines = ranking.against(REFERENCE)
    strong = [line.method for line in lines if line.adjusted < 0.05]
    weak = [line.method for line in lines if 0.05 <= line.adjusted < 0.10]
    return [
        *(title, scope, str(ranking.n_sets)),
        *(f"{ranking.test.statistic:.2f}", f"{ranking.test.p_value:.2g}", *printed),
        *(enumerate_words(strong), enumerate_words(weak), enumerate_words(ranking.left_out)),
    ]


def holm_parts(title: str, ranking: Ranking) -> Iterator[str]:
    """Yield each method against LRRN and against the best of ours."""
    references = dict.fromkeys((REFERENCE, ranking.best_of_ours))
    found = {name: ranking.against(name) for name in references if name is not None}
    found = {name: {line.method: line for line in lines} for name, lines in found.items() if lines}
    if not found:
        return
    yield f"### {title}: each method against {enumerate_words(found)}\n"
    yield (
        f"{count(ranking.n_sets, 'data set')}{shared_folds(ranking)}. z above 0: the method has "
        "the worse mean rank; p is adjusted by Holm's procedure.\n"
    )
    head = ["method", "mean rank"]
    for name in found:
        head += [f"z ({name})", f"p ({name})"]
    rows = []
    for method in sorted(ranking.ranks, key=ranking.ranks.get):
        row = [method, f"{ranking.ranks[method]:.2f}"]
        for lines in found.values():
            line = lines.get(method)
            row += ["", ""] if line is None else [f"{line.z:+.2f}", f"{line.adjusted:.2g}"]
        rows.append(row)
    yield make_table(head, rows)


def shared_folds(ranking: Ranking) -> str:
    """Say on how many folds the ranks are."""
    fewest, most = ranking.folds
    return f", on the {most} folds" if fewest == most else f", on {fewest} to {most} shared folds"


def reproduction_parts(study: Study) -> Iterator[str]:
    """Yield our means beside the paper's for its own methods: counts, then each data set."""
    found = {
        (metric, method): lines
        for metric in METRICS
        for method in REPRODUCED
        if (lines := reproduce(study, metric, method))
    }
    if not found:
        return
    yield "## Reproduction of the paper's own methods\n"
    yield (
        "Differences are positive where ours is better, in units of the paper's standard error and "
        "of both errors combined (the paper's folds are not known, so both means vary). An error "
        "printed as 0 counts as half of the last printed digit.\n"
    )
    yield make_table(COUNT_HEAD, list(count_rows(found)))
    for metric in METRICS:
        for method in REPRODUCED:
            if lines := found.get((metric, method)):
                yield f"### {metric.words}: {method} beside the paper's\n"
                head = ["data set", "ours", "paper", "difference / SE", "/ combined SE", "verdict"]
                yield make_table(head, [reproduction_row(metric, line) for line in lines], words=1)


COUNT_HEAD = ["measure", "method", *VERDICTS, "met or better", "rules, ours / paper's (median)"]


def count_rows(found: dict[tuple[Metric, str], Sequence[Reproduction]]) -> Iterator[list[str]]:
    """Yield how many data sets have each verdict."""
    for (metric, method), lines in found.items():
        verdicts = [line.verdict for line in lines]
        met = sum(line.met for line in lines)
        ratios = [line.complexity_ratio for line in lines if not np.isnan(line.complexity_ratio)]
        yield [
            *(metric.words, method, *(str(verdicts.count(verdict)) for verdict in VERDICTS)),
            f"{met} of {len(lines)}",
            f"{np.median(ratios):.2f}" if ratios else BLANK,
        ]


def reproduction_row(metric: Metric, line: Reproduction) -> list[str]:
    """Return a data set's line."""
    ours = "".join(metric.show(line.ours.mean, line.ours.se)) + line.ours.marks
    paper = "".join(metric.show(line.paper.mean, line.paper.se))
    return [
        *(line.dataset, ours, paper),
        *(f"{line.in_paper_errors:+.1f}", f"{line.in_combined_errors:+.1f}", line.verdict),
    ]
