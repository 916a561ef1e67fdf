"""Formulas of the pages as MathML, which browsers draw without a script from elsewhere."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\s*(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])\s*</\1>', re.DOTALL
)

BAR = '<mo stretchy="false">&#x0007C;</mo>'


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of a page; called by mkdocs."""

    def draw(match: re.Match[str]) -> str:
        kind = {"span": "inline", "div": "block"}[match[1]]
        drawn = convert(html.unescape(match[2]).strip(), display=kind)
        return drawn.replace(BAR, BAR.replace("<mo", '<mo lspace="0" rspace="0"'))

    return FORMULA.sub(draw, content)
