"""Pieces of Markdown."""

from collections.abc import Iterable, Sequence

BLANK = "\N{EN DASH}"
"""A cell without a result."""


def make_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; all columns but the first are to the right."""
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def enumerate_words(words: Iterable[str]) -> str:
    """Return "a, b and c", or "none"."""
    *first, last = list(words) or ["none"]
    return f"{', '.join(first)} and {last}" if first else last
