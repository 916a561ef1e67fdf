"""Models, paths and scores as a person reads them, in a terminal of any width."""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from ruleglm.cli.models import SavedModel
from ruleglm.cli.scores import LABELS
from ruleglm.cli.shell import Screen
from ruleglm.dtypes import FloatArray

if TYPE_CHECKING:
    from ruleglm.ensemble import RuleEnsemble

NARROWEST = 30
"""Characters that a rule gets at least, however narrow the terminal."""

MOST_CLASSES = 4
"""Classes whose coefficients are shown with a rule, the largest ones."""


@dataclass(frozen=True)
class Line:
    """A term of a model: its conditions, and numbers to be put before them."""

    parts: tuple[str, ...]
    cells: tuple[str, ...]
    below: str = ""


# ------------------------------------------------------------------------------------------ rules


def term_parts(ensemble: "RuleEnsemble") -> list[tuple[str, ...]]:
    """Return the conditions of each linear term and rule, in the order of the contributions."""
    lines = [
        (f"{term.text()} (line from {term.low:.6g} to {term.high:.6g})",)
        for term in ensemble.linear_terms
    ]
    rules = [tuple(part.text() for part in rule.conditions) for rule in ensemble.rules]
    return [*lines, *(parts or ("true",) for parts in rules)]


def term_order(model: SavedModel) -> list[int]:
    """Return the terms, most important first; by their coefficients if no file says more."""
    sizes = model.numbers("importances")
    if sizes is None:
        coefficients = model.ensemble.all_coefficients()[1:]
        sizes = np.abs(coefficients).reshape(len(coefficients), -1).max(axis=1, initial=0.0)
    return [int(place) for place in np.argsort(-sizes, kind="stable")]


def model_table(model: SavedModel, width: int) -> Text:
    """Lay out the terms of a model, most important first."""
    ensemble = model.ensemble
    coefficients, parts = ensemble.all_coefficients()[1:], term_parts(ensemble)
    columns: dict[str, list[str]] = {}
    if coefficients.ndim == 1:
        columns["coefficient"] = align_numbers(coefficients, "+")
    supports, importances = model.numbers("supports"), model.numbers("importances")
    if supports is not None:
        columns["rows"] = [share_text(support) for support in supports]
    if importances is not None:
        columns["importance"] = align_numbers(importances)
    lines = []
    for k in term_order(model):
        below = "" if coefficients.ndim == 1 else by_class(ensemble, coefficients[k])
        lines.append(Line(parts[k], tuple(cells[k] for cells in columns.values()), below))
    return lines_table(list(columns), lines, width)


def lines_table(heads: Sequence[str], lines: Sequence[Line], width: int) -> Text:
    """Lay out terms with numbers before them; long rules go on below their first condition."""
    cells = [line.cells for line in lines]
    sizes = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    room = max(NARROWEST, width - sum(sizes) - 2 * len(sizes))
    rows = [
        (*line.cells, "\n".join([*wrap_rule(line.parts, room), *wrap_note(line.below, room)]))
        for line in lines
    ]
    return lay_out([*heads, "rule"], rows, left={len(heads)})


def lay_out(
    heads: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = ()
) -> Text:
    """Lay out a table: columns of numbers to the right, the last may have several lines a row.

    Parameters
    ----------
    heads : sequence of str
        Names of the columns; all empty for a table without a head.
    rows : sequence of sequences of str
    left : collection of int
        Columns that begin at the left.
    """
    blocks = [[cell.split("\n") for cell in row] for row in rows]
    sizes = [
        max(len(head), *(len(line) for block in blocks for line in block[k]), 0)
        for k, head in enumerate(heads)
    ]

    def write(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(size) if k in left else cell.rjust(size)
            for k, (cell, size) in enumerate(zip(cells, sizes, strict=True))
        )
        return "  ".join(padded).rstrip()

    text = Text(no_wrap=True, overflow="ignore")
    if any(heads):
        text.append(write(heads) + "\n", "bold")
    lines = [write(cells) for block in blocks for cells in zip_longest(*block, fillvalue="")]
    return text.append("\n".join(lines))


def wrap_rule(parts: Sequence[str], width: int) -> list[str]:
    """Break a rule into lines, between its conditions where that is enough.

    Each further line begins with "and", or is moved in if it goes on with a condition that is too
    long by itself.
    """
    lines: list[str] = []
    for number, part in enumerate(parts):
        text = f"and {part}" if number else part
        if lines and len(lines[-1]) + 1 + len(text) <= width:
            lines[-1] += f" {text}"
        else:
            lines += textwrap.wrap(
                text, width, subsequent_indent="    ", break_on_hyphens=False
            ) or [text]
    return lines


def wrap_note(text: str, width: int) -> list[str]:
    """Break a note below a rule into lines, moved in."""
    indent = "  "
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent)


def by_class(ensemble: "RuleEnsemble", coefficients: FloatArray) -> str:
    """Write the coefficients of a term by class, of many classes only the largest."""
    largest = np.argsort(-np.abs(coefficients), kind="stable")[:MOST_CLASSES]
    texts = [f"{signed(coefficients[k])} {ensemble.classes[k]}" for k in sorted(largest)]
    return ", ".join(texts) + (", ..." if len(coefficients) > MOST_CLASSES else "")


def align_numbers(numbers: FloatArray, sign: str = "") -> list[str]:
    """Write numbers with the decimals that the largest deserves; small ones keep three digits."""
    largest = float(np.abs(numbers).max(initial=0.0))
    decimals = 3 if largest == 0 else int(np.clip(3 - np.floor(np.log10(largest)), 0, 3))
    least = 5 * 10.0**-decimals
    return [
        f"{number:{sign},.{decimals}f}"
        if number == 0 or abs(number) >= least
        else f"{number:{sign}.3g}"
        for number in numbers
    ]


def share_text(share: float) -> str:
    """Write a share of the rows; a small one is not none."""
    return "<1%" if 0.0 < share < 0.005 else f"{share:.0%}"


def signed(number: float) -> str:
    """Write one number with its sign."""
    return align_numbers(np.array([number]), "+")[0]


def number_text(number: float) -> str:
    """Write one number, without a plus."""
    return align_numbers(np.array([number]))[0]


# ------------------------------------------------------------------------------------------ model


def formula(ensemble: "RuleEnsemble", target: str, exposure: str | None = None) -> str:
    """Say in words what the terms add up to."""
    family, classes = ensemble.family, ensemble.classes
    rest = "plus the coefficients of the rules that hold"
    if ensemble.linear_terms:
        rest += ", a line's times its value"
    if family.output_shape:
        start = by_class(ensemble, np.asarray(ensemble.intercept))
        return f"The score of each class of {target} is {start}, {rest}; softmax makes them shares."
    what = {
        "identity": f"The mean of {target}",
        "log": f"The logarithm of the mean of {target}",
        "logit": f"The log-odds that {target} is {classes[1]!r}"
        if classes
        else f"The log-odds of {target}",
    }[family.link]
    per = f" per unit of {exposure}" if exposure else ""
    verb = "are" if family.link == "logit" else "is"
    return f"{what}{per} {verb} {number_text(ensemble.intercept)} {rest}."


def size_text(ensemble: "RuleEnsemble") -> str:
    """Say how large a model is."""
    counts = [count(len(ensemble.rules), "rule")]
    if ensemble.linear_terms:
        counts.append(count(len(ensemble.linear_terms), "line"))
    return f"{' and '.join(counts)}, complexity {ensemble.complexity:.4g}"


def count(number: int, noun: str) -> str:
    """Write a number of things: 1 rule, 2,000 rules."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def show_model(screen: Screen, model: SavedModel) -> None:
    """Show a model: what adds up to what, its terms, how it was chosen, how good it is."""
    ensemble, columns = model.ensemble, model.fit.get("columns", {})
    target = columns.get("target", "the target")
    screen.show(formula(ensemble, target, columns.get("exposure")), "")
    if ensemble.rules or ensemble.linear_terms:
        screen.show(model_table(model, screen.width), "")
    said = f"{size_text(ensemble)}{chosen_text(model)}"
    screen.show(said[0].upper() + said[1:] + ".")
    if model.fit.get("test_scores"):
        n_rows = count(model.fit["test_rows"], "test row")
        screen.show(f"On {n_rows}: {score_text(model.fit['test_scores'])}.")
    elif model.fit.get("train_scores"):
        n_rows = count(model.fit["rows"], "row")
        screen.show(f"On the {n_rows} of the fit: {score_text(model.fit['train_scores'])}.")


def chosen_text(model: SavedModel) -> str:
    """Say how a model was chosen, or what is proved of it."""
    models = model.fit.get("path") or []
    certificate = model.summary.get("certificate")
    proof = f"; {certificate}" if certificate and model.summary.get("certified") else ""
    for row in models:
        if row["chosen"] and row["cv_mean"] is not None:
            return (
                f"; one of {len(models)} models, chosen on held-out rows: loss "
                f"{row['cv_mean']:.4f} +- {row['cv_se']:.4f}{proof}"
            )
    return proof


# --------------------------------------------------------------------------------- scores and path


def shown_scores(scores: Mapping[str, float]) -> dict[str, str]:
    """Return the scores that a person is shown, by their names: of squared errors only once."""
    rmse, deviance = scores.get("rmse"), scores.get("deviance")
    same = rmse is not None and deviance is not None and np.isclose(rmse**2, deviance, rtol=1e-9)
    return {
        LABELS[name]: format_score(name, value)
        for name, value in scores.items()
        if name in LABELS and not (same and name.startswith("deviance"))
    }


def score_text(scores: Mapping[str, float]) -> str:
    """Write scores as one sentence part."""
    return ", ".join(f"{label} {value}" for label, value in shown_scores(scores).items())


def scores_table(scores: Mapping[str, float]) -> Text:
    """Lay out scores, one a line."""
    return lay_out(["", ""], list(shown_scores(scores).items()), left={0})


def format_score(name: str, value: float | None) -> str:
    """Write a score with the digits that it deserves."""
    if value is None or np.isnan(value):
        return "-"
    if name in ("accuracy", "deviance_explained"):
        return f"{value:.1%}"
    return f"{value:.4f}" if abs(value) < 1e3 else f"{value:,.0f}"


def path_table(path: Sequence[Mapping[str, Any]], every: bool) -> Text:
    """Lay out the models of a path: their sizes and losses.

    Parameters
    ----------
    path : sequence of mappings
        Rows of ``TradeoffPath.table()``.
    every : bool
        Whether models that a simpler one beats are shown too.
    """
    heads = ["complexity", "rules", "lines", "conditions", "loss", "held-out loss", "+-"]
    sizes = ("n_rules", "n_linear", "n_conditions")
    losses = ("train_loss", "cv_mean", "cv_se")
    rows = [
        (
            f"{row['complexity']:.1f}",
            *(str(row[name]) for name in sizes),
            *(_loss(row[name]) for name in losses),
            "chosen" if row["chosen"] else "",
        )
        for row in path
        if every or row["efficient"] or row["chosen"]
    ]
    return lay_out([*heads, ""], rows, left={len(heads)})


def _loss(value: float | None) -> str:
    return "-" if value is None or np.isnan(value) else f"{value:.5f}"
