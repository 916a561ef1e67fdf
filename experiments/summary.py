"""What the results say in a page: coverage, the paper's figures, ranks and simplicity."""

from collections.abc import Iterator
from statistics import median

from experiments.comparisons import BETTER, COMBINED, REFERENCE, WITHIN, WORSE, rank, reproduce
from experiments.curves import curve_of, simplest_reaching
from experiments.markdown import BLANK, count, enumerate_words, make_table
from experiments.records import FOLDS, METRICS, OURS, REPRODUCED, Metric, Study

PRIMARY = tuple(metric for metric in METRICS if metric.name in ("brier", "r2"))
"""One measure for each data set, so that "k of n" counts data sets."""


def describe(study: Study) -> Iterator[str]:
    """Yield the parts of the summary."""
    yield from coverage_parts(study)
    yield from match_parts(study)
    yield from rank_parts(study)
    yield from size_parts(study)
    yield from simplicity_parts(study)


def coverage_parts(study: Study) -> Iterator[str]:
    """Yield which methods ran on how many data sets and folds."""
    lines = study.finished[study.finished.metric.isin([metric.name for metric in PRIMARY])]
    folds = lines.groupby(["method", "dataset"]).fold.nunique()
    sets = {metric.name: study.datasets(metric.name) for metric in PRIMARY}
    n_sets = sum(map(len, sets.values()))
    yield "### What was run\n"
    yield (
        f"{count(n_sets, 'data set')}: {len(sets['brier'])} of two classes "
        f"({enumerate_words(sets['brier'])}) and {count(len(sets['r2']), 'regression')} "
        f"({enumerate_words(sets['r2'])}).\n"
    )
    methods = dict.fromkeys(m for metric in PRIMARY for m in study.methods(metric.name))
    rows = []
    for method in methods:
        counts = folds.loc[method]
        full = int((counts >= FOLDS).sum())
        fewer = [f"{name} {count}" for name, count in counts.items() if count < FOLDS]
        rows.append([method, f"{len(counts)} of {n_sets}", str(full), ", ".join(fewer)])
    yield make_table(
        ["method", "data sets", f"with all {FOLDS} folds", "fewer folds"], rows, words=1
    )


def match_parts(study: Study) -> Iterator[str]:
    """Yield where ours meets, beats and misses the paper's means of its own methods."""
    rows, misses = [], []
    for method in REPRODUCED:
        found = [line for metric in PRIMARY for line in reproduce(study, metric, method)]
        if not found:
            continue
        kinds = [line.verdict for line in found]
        counts = [kinds.count(kind) for kind in (BETTER, WITHIN, COMBINED, WORSE)]
        rows.append([method, *map(str, counts), f"**{sum(counts[:2])} of {len(found)}**"])
        for kind in (COMBINED, WORSE):
            if names := [line.dataset for line in found if line.verdict == kind]:
                misses += [f"- {method}, {kind}: {enumerate_words(names)}."]
    if rows:
        yield "### Beside the paper's figures\n"
        yield (
            "The Brier scores of two classes and R² of regressions, our mean against the paper's: "
            "as good or better, at most two of the paper's standard errors worse, at most two "
            "combined standard errors worse, or worse than that.\n"
        )
        head = ["method", BETTER, WITHIN, COMBINED, WORSE, "met or better"]
        yield make_table(head, rows)
        if misses:
            yield "Not met:\n"
            yield "\n".join(misses) + "\n"


def rank_parts(study: Study) -> Iterator[str]:
    """Yield mean ranks of all methods, by score and by complexity."""
    columns = {}
    for metric in METRICS:
        for value, words in (("score", metric.words), ("complexity", f"{metric.words}: rules")):
            if (found := rank(study, metric, study.methods(metric.name), value=value)) is not None:
                columns[f"{words} ({count(found.n_sets, 'set')})"] = found.ranks
    if not columns:
        return
    yield "### Mean ranks of all methods\n"
    yield (
        "Rank 1 is the best of a data set, or the simplest. Ranks are over the data sets and folds "
        "that all of the methods ranked have.\n"
    )
    rows = [
        [method, *(show_rank(ranks, method) for ranks in columns.values())]
        for method in all_methods(study)
    ]
    yield make_table(["method", *columns], rows)


def all_methods(study: Study) -> list[str]:
    """Return the methods that have a result of any measure, in their order."""
    return list(dict.fromkeys(m for metric in METRICS for m in study.methods(metric.name)))


def show_rank(ranks: dict[str, float], method: str) -> str:
    """Return a mean rank, the best in bold."""
    if method not in ranks:
        return BLANK
    text = f"{ranks[method]:.2f}"
    return f"**{text}**" if ranks[method] == min(ranks.values()) else text


def size_parts(study: Study) -> Iterator[str]:
    """Yield the median complexity of the models chosen by each method."""
    lines = study.finished.dropna(subset="complexity")
    if lines.empty:
        return
    means = lines.groupby(["metric", "method", "dataset"]).complexity.mean()
    sizes = means.groupby(["metric", "method"]).median()
    rows = []
    for method in all_methods(study):
        found = [sizes.get((metric.name, method)) for metric in METRICS]
        rows.append([method, *(BLANK if size is None else f"{size:,.0f}" for size in found)])
    yield "### Size of the models chosen\n"
    yield "The median over the data sets that a method has of its mean weighted number of rules.\n"
    yield make_table(["method", *(f"for {metric.words}" for metric in METRICS)], rows)


def simplicity_parts(study: Study) -> Iterator[str]:
    """Yield how simple ours can be with the score that the paper's LRRN has."""
    methods = [m for m in OURS if len(study.curves) and (study.curves.method == m).any()]
    rows, shares = [], {method: [] for method in methods}
    for metric in PRIMARY:
        for name in study.datasets(metric.name):
            row = simplicity_row(study, metric, name, methods, shares)
            if row is not None:
                rows.append(row)
    if not rows or not methods:
        return
    yield f"### As good as the paper's {REFERENCE}, with how many rules?\n"
    yield (
        "The least weighted number of rules on a method's curve of mean test scores that reaches "
        f"the score that the paper printed for {REFERENCE}, beside {REFERENCE}'s own number. The "
        "curve is read with knowledge of the test scores, as in the paper's figures.\n"
    )
    middle = [show_share(shares[method]) for method in methods]
    reached = [
        f"{sum(share < float('inf') for share in shares[method])} of {len(shares[method])}"
        for method in methods
    ]
    rows += [["reached", "", "", *reached], [f"median share of {REFERENCE}'s", "", "", *middle]]
    yield make_table(["data set", "score", f"paper's {REFERENCE}", *methods], rows)


def show_share(shares: list[float]) -> str:
    """Return the median of shares, of which those not reached are infinite."""
    if not shares:
        return BLANK
    return "not reached on most" if (middle := median(shares)) == float("inf") else f"{middle:.2f}"


def simplicity_row(
    study: Study, metric: Metric, name: str, methods: list[str], shares: dict[str, list[float]]
) -> list[str] | None:
    """Return the line of a data set and note each method's share of the paper's complexity."""
    target = study.paper_cell(metric.name, name, REFERENCE)
    rules = study.paper_cell(f"{metric.name}_complexity", name, REFERENCE)
    if target is None or rules is None:
        return None
    row = [name, "".join(metric.show(target.mean, None)), f"{rules.mean:.1f}"]
    for method in methods:
        points = curve_of(study, metric, name, method)
        if points.empty:
            row.append(BLANK)
            continue
        least = simplest_reaching(points, metric, target.mean)
        shares[method].append(float("inf") if least is None else least / rules.mean)
        row.append("not reached" if least is None else f"{least:.1f}")
    return row
