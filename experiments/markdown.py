"""Pieces of Markdown."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

BLANK = "\N{EN DASH}"
"""A cell without a result."""


def make_table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 0) -> str:
    """Return a table; all columns are to the right but the first and the last ``words``."""
    numbers = len(head) - 1 - words
    lines = [head, ["---"] + ["--:"] * numbers + ["---"] * words, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def enumerate_words(words: Iterable[str]) -> str:
    """Return "a, b and c", or "none"."""
    *first, last = list(words) or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def count(number: int, noun: str) -> str:
    """Return "1 set" or "2 sets"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def link_sections(parts: Iterable[str]) -> str:
    """Return links to the headings of the second level."""
    titles = [part[3:].strip() for part in parts if part.startswith("## ")]
    return ", ".join(f"[{title}](#{make_anchor(title)})" for title in titles) + ".\n"


def make_anchor(title: str) -> str:
    """Return the anchor that the site gives to a heading."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def join_figures(text: str) -> str:
    """Return a text that is not broken between lines."""
    return text.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "\N{NON-BREAKING HYPHEN}")
