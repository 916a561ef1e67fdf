"""The examples of the documentation: python blocks of a page, and the outputs shown below them.

Blocks of a page run one after the other in one namespace. A ``text`` block that follows a
``python`` block is what that block prints; ``...`` in it stands for anything.
``python -m tests.doc_pages PAGE...`` writes what is printed now into pages where it differs, and
the figures that a page saves into ``docs/assets``.
"""

import contextlib
import doctest
import io
import math
import os
import re
import shutil
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONG_NUMBER = re.compile(r"\d+\.\d{12,}(e0)?")


class Example(NamedTuple):
    """A python block; `start` and `end` limit the output shown, None if there is none."""

    line: int
    code: str
    start: int | None
    end: int | None


def find_examples(text):
    """The python blocks of a page, each with the place of its output."""
    blocks = list(FENCED.finditer(text))
    for block, after in zip_longest(blocks, blocks[1:]):
        if block[1] != "python":
            continue
        line = text.count("\n", 0, block.start()) + 2
        shown = after and after[1] == "text" and not text[block.end() : after.start()].strip()
        yield Example(line, block[2], *(after.span(2) if shown else (None, None)))


def run_example(page, example, namespace):
    """Run a block; what it prints, without spaces at the ends of lines."""
    code = compile("\n" * (example.line - 1) + example.code, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, namespace)
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def agree(shown, printed):
    """Compare two outputs; numbers of twelve decimals and more need agree to 1e-8 only."""
    pairs = zip(LONG_NUMBER.finditer(shown), LONG_NUMBER.finditer(printed), strict=False)
    if not all(math.isclose(float(a[0]), float(b[0]), rel_tol=1e-8) for a, b in pairs):
        return False
    shown, printed = (LONG_NUMBER.sub("[number]", text) for text in (shown, printed))
    return doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)


def update_page(page):
    """Write into a page what its blocks print."""
    text, namespace, changes = page.read_text(encoding="utf-8"), {}, []
    for example in find_examples(text):
        printed = run_example(page, example, namespace)
        if example.start is not None and not agree(text[example.start : example.end], printed):
            changes.append((example.start, example.end, printed))
    for start, end, printed in reversed(changes):
        text = text[:start] + printed + text[end:]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "Agg"
    for name in [Path(name).resolve() for name in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            sys.path.insert(0, folder)
            update_page(name)
            for figure in Path(folder).glob("*.png"):
                shutil.copy(figure, ROOT / "docs" / "assets")
