"""How a scorecard is laid out: plain text of 80 columns, Markdown, HTML."""

import html
import re
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ruleglm.export.scorecard import Scorecard

WIDTH = 80

NOTHING = "No rule gets points."


def write_text(card: "Scorecard") -> str:
    """Write a scorecard for a terminal."""
    rules = [(_signed(points), _printable(rule)) for rule, points in _rules(card)]
    totals = [(str(points), mean) for points, mean in _totals(card)]
    parts = [
        f"Scorecard: start at {card.start} points, add those of every rule that holds.",
        "",
        *_align(("points", "rule"), rules or [("", NOTHING)]),
        "",
        *_align(("total", _printable(card.mean_name)), totals),
    ]
    notes = _notes(card)
    if notes:
        parts.append("")
    for note in notes:
        parts += textwrap.wrap(_printable(note), WIDTH, subsequent_indent="  ")
    return "\n".join(parts)


def write_markdown(card: "Scorecard") -> str:
    """Write a scorecard as two Markdown tables."""
    rules = [(_escape_markdown(rule), _signed(points)) for rule, points in _rules(card)]
    totals = [(str(points), mean) for points, mean in _totals(card)]
    parts = [
        f"Start at {card.start} points, add those of every rule that holds.",
        "",
        *_pipe_table(("rule", "points"), ("---", "---:"), rules or [(NOTHING, "")]),
        "",
        *_pipe_table(("total points", _escape_markdown(card.mean_name)), ("---:", "---:"), totals),
    ]
    for note in _notes(card):
        parts += ["", _escape_markdown(note)]
    return "\n".join(parts) + "\n"


def write_html(card: "Scorecard") -> str:
    """Write a scorecard as HTML without a style of its own."""
    rules = [(rule, _signed(points)) for rule, points in _rules(card)]
    totals = [(str(points), mean) for points, mean in _totals(card)]
    notes = "".join(f"<p>{html.escape(note)}</p>\n" for note in _notes(card))
    return (
        '<div class="scorecard">\n'
        f"<p>Start at {card.start} points, add those of every rule that holds.</p>\n"
        + _html_table(("rule", "points"), rules or [(NOTHING, "")])
        + _html_table(("total points", card.mean_name), totals)
        + notes
        + "</div>\n"
    )


# ----------------------------------------------------------------------------------------- content


def _rules(card: "Scorecard") -> list[tuple[str, int]]:
    table = card.table()
    return list(zip(table["rule"], table["points"], strict=True))


def _totals(card: "Scorecard") -> list[tuple[int, str]]:
    table = card.totals()
    write = _percent if card.ensemble.family.link == "logit" else "{:.4g}".format
    return [
        (int(points), write(mean))
        for points, mean in zip(table["points"], table[card.mean_name], strict=True)
    ]


def _percent(share: float) -> str:
    """Write a probability with one decimal, or as many as it takes to differ from 0 % and 100 %."""
    if 0.001 <= share <= 0.999:
        return f"{share:.1%}"
    return f"{share:.2g}" if share < 0.5 else f"1 - {1.0 - share:.2g}"


def _signed(points: int) -> str:
    return f"{points:+d}"


def _notes(card: "Scorecard") -> list[str]:
    notes = [
        f"{name}: {after:.4f} with points, {before:.4f} with the model's coefficients."
        for name, (before, after) in card.accuracy.items()
    ]
    if card.left_out:
        notes.append(f"Worth less than half a point: {'; '.join(card.left_out)}.")
    return notes


# ------------------------------------------------------------------------------------------ layout


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _align(heads: tuple[str, str], rows: Iterable[tuple[str, str]]) -> list[str]:
    """Set a narrow column to the right and a wide one, broken into lines, to the left."""
    lines = [heads, *rows]
    width = max(len(narrow) for narrow, _ in lines)
    written = []
    for narrow, wide in lines:
        parts = textwrap.wrap(wide, WIDTH - width - 4, subsequent_indent="  ") or [""]
        written.append(f"  {narrow.rjust(width)}  {parts[0]}")
        written += [f"  {' ' * width}  {part}" for part in parts[1:]]
    rule = f"  {'-' * width}  {'-' * min(len(heads[1]), WIDTH - width - 4)}"
    return [written[0], rule, *written[1:]]


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", _printable(text))


def _pipe_table(
    heads: tuple[str, str], marks: tuple[str, str], rows: Iterable[tuple[str, str]]
) -> list[str]:
    return [f"| {left} | {right} |" for left, right in (heads, marks, *rows)]


def _html_table(heads: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>\n"
        for row in rows
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
