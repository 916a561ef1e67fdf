"""A model in plain English, in lines of less than 80 letters."""

import math
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruleglm.conditions import Missing, quote_name
from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble, count
from ruleglm.explain.importance import term_features, term_importances
from ruleglm.explain.rows import TermSpread
from ruleglm.family import Family

WIDTH = 78

CLASSES_SHOWN = 3
"""Classes of which a coefficient is told in words."""


@dataclass(frozen=True)
class Training:
    """What is told of the rows that a model was fitted to.

    Parameters
    ----------
    n_rows : int
    name : str
        Of the target; may be empty.
    mean : float or (n_classes,) float64
        Of the target: for classes the share of the second, or of each.
    """

    n_rows: int
    name: str
    mean: Any


def mean_target(target: FloatArray, weights: FloatArray | None, family: Family) -> Any:
    """Return the mean of a target; of several classes, numbered or in columns, the shares."""
    if target.ndim == 2 or not family.output_shape:
        return np.average(target, axis=0, weights=weights)
    counts = np.bincount(target.astype(np.int64), weights, *family.output_shape)
    return counts / counts.sum()


def summarise(
    ensemble: RuleEnsemble,
    spread: TermSpread,
    rows: Training | None = None,
    certificate: str = "",
    most: int = 8,
) -> str:
    """Say what a model predicts and how.

    Parameters
    ----------
    ensemble : RuleEnsemble
    spread : TermSpread
        How the terms vary: `measure_terms`.
    rows : Training, optional
        The rows of the fit.
    certificate : str
        What is proved of the model.
    most : int
        The most terms, strongest first.
    """
    paragraphs = [
        [_say_task(ensemble, rows), _say_size(ensemble)],
        [_say_start(ensemble)],
        _say_terms(ensemble, spread, most),
        [_say_missing(ensemble)],
    ]
    if certificate:
        paragraphs.append([f"Certificate: {certificate}."])
    return "\n\n".join("\n".join(_wrap(line) for line in lines if line) for lines in paragraphs)


def _wrap(line: str) -> str:
    indent = "    " if line.startswith("  - ") else ""
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


# ---------------------------------------------------------------------------------------- the task


def _say_task(ensemble: RuleEnsemble, rows: Training | None) -> str:
    name = f" of {one_line(rows.name)}" if rows is not None and rows.name else ""
    family, classes = ensemble.family, [one_line(label) for label in ensemble.classes]
    if family.name == "multinomial":
        said = f"This model gives the probabilities{name} of {len(classes)} classes: "
        said += ", ".join(classes) + "."
    elif classes:
        said = f"This model gives the probability{name} that a row is {classes[1]}, not "
        said += f"{classes[0]}."
    else:
        what = "probability" if family.link == "logit" else "mean"
        said = f"This model predicts the {what}{name or ' of the target'} ({family.name} family)."
    return said if rows is None else f"{said} {_say_base(rows, classes)}"


def _say_base(rows: Training, classes: list[str]) -> str:
    start = f"Of {rows.n_rows:,} training rows"
    if np.ndim(rows.mean):
        shares = zip(rows.mean, classes, strict=True)
        return f"{start} {', '.join(f'{_percent(share)} were {label}' for share, label in shares)}."
    if classes:
        return f"{start} {_percent(rows.mean)} were {classes[1]}."
    return f"The mean of {rows.n_rows:,} training rows was {_number(float(rows.mean))}."


def _say_size(ensemble: RuleEnsemble) -> str:
    rules, lines = len(ensemble.rules), len(ensemble.linear_terms)
    used = {name for features in term_features(ensemble) for name in features}
    parts = [count(rules, "rule")] + ([count(lines, "straight line")] if lines else [])
    columns = f"{len(used)} of {count(len(ensemble.names), 'column')}"
    return (
        f"It has {' and '.join(parts)} and reads {columns}; complexity {ensemble.complexity:.4g}."
    )


def _say_start(ensemble: RuleEnsemble) -> str:
    if ensemble.linear_terms:
        condition = "Where no rule holds and every line is at its mean"
        fills = np.array([term.fill for term in ensemble.linear_terms])
        eta = ensemble.intercept + fills @ ensemble.linear_coefficients
    else:
        condition, eta = "Where no rule holds", ensemble.intercept
    mean = ensemble.family.mean(np.asarray(eta))
    if np.ndim(mean):
        shares = zip(ensemble.classes, mean, strict=True)
        told = ", ".join(f"{one_line(label)} {_percent(share)}" for label, share in shares)
        return f"{condition}, the probabilities are {told}."
    if ensemble.family.link == "logit":
        return f"{condition}, the probability is {_percent(float(mean))}."
    return f"{condition}, the prediction is {_number(float(mean))}."


# --------------------------------------------------------------------------------------- the terms


def _say_terms(ensemble: RuleEnsemble, spread: TermSpread, most: int) -> list[str]:
    importances = term_importances(ensemble, spread)
    order = np.argsort(-importances, kind="stable")
    if len(order) == 0:
        return ["It has no rules: every row gets the same prediction."]
    n_lines = len(ensemble.linear_terms)
    coefficients = ensemble.all_coefficients()[1:]
    lines = ["The strongest terms, with the share of the rows on which a rule holds:"]
    for k in order[:most].tolist():
        effect = say_effect(ensemble, coefficients[k])
        if k < n_lines:
            term = ensemble.linear_terms[k]
            unit = f"With each unit of {one_line(term.text())}, from {term.low:.6g} to "
            lines.append(f"  - {unit}{term.high:.6g}, {effect}.")
        else:
            rule = one_line(ensemble.rules[k - n_lines].text())
            lines.append(f"  - If {rule} ({_percent(spread.means[k])}), {effect}.")
    if len(order) > most:
        share = importances[order[most:]].sum() / (importances.sum() or 1.0)
        rest = f"{len(order) - most} weaker"
        lines.append(f"  - And {rest}, with {_percent(share)} of the importance.")
    return lines


def say_effect(ensemble: RuleEnsemble, coefficient: Any) -> str:
    """Say what a coefficient does to the prediction: odds, percents, units or scores."""
    link = ensemble.family.link
    if np.ndim(coefficient):
        largest = np.argsort(-np.abs(coefficient), kind="stable")[:CLASSES_SHOWN]
        parts = [
            f"{one_line(ensemble.classes[k])} {coefficient[k]:+.3g}"
            for k in largest.tolist()
            if coefficient[k]
        ]
        return "the scores change by " + (", ".join(parts) or "nothing")
    number = float(coefficient)
    if number == 0.0:
        return "nothing changes"
    if link == "logit":
        of = f" of {one_line(ensemble.classes[1])}" if ensemble.classes else ""
        return f"the odds{of} are multiplied by {_factor(number)}"
    word = "higher" if number > 0 else "lower"
    if link == "log":
        if number > math.log(2):
            return f"the prediction is multiplied by {_factor(number)}"
        return f"the prediction is {_percent(abs(math.expm1(number)))} {word}"
    return f"the prediction is {_number(abs(number))} {word}"


# -------------------------------------------------------------------------------- missing values


def _say_missing(ensemble: RuleEnsemble) -> str:
    asked = [
        rule
        for rule in ensemble.rules
        if any(isinstance(condition, Missing) for condition in rule.conditions)
    ]
    names = dict.fromkeys(
        condition.feature
        for rule in asked
        for condition in rule.conditions
        if isinstance(condition, Missing)
    )
    said = "Missing values: a comparison with one never holds."
    if names:
        listed = _list([one_line(quote_name(name)) for name in names])
        verb = "asks" if len(asked) == 1 else "ask"
        said += f" {count(len(asked), 'rule')} {verb} whether {listed} is missing."
    if ensemble.linear_terms:
        lines = [f"{one_line(t.text())} as {t.fill:.4g}" for t in ensemble.linear_terms]
        said += f" In the lines a missing value counts as the mean: {_list(lines)}."
    return said


# ------------------------------------------------------------------------------------ small words


def one_line(text: Any) -> str:
    """Return a text without line breaks."""
    return " ".join(str(text).split())


def _list(words: list[str], most: int = 6) -> str:
    shown = words if len(words) <= most else [*words[: most - 1], f"{len(words) - most + 1} others"]
    return ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1]


def _number(value: float) -> str:
    return f"{value:.4g}"


def _factor(coefficient: float) -> str:
    return "more than 1e300" if coefficient > 690 else f"{math.exp(coefficient):.3g}"


def _percent(share: float) -> str:
    percent = 100.0 * float(share)
    if 0.0 < percent < 0.1:
        return "less than 0.1%"
    if 99.9 < percent < 100.0:
        return "more than 99.9%"
    return f"{percent:.3g}%"
