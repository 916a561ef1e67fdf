"""Columns of text that look like numbers or dates, which a person may have meant.

One odd mark such as ``?`` turns a column of numbers into text, and every number into a level.
"""

import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import narwhals as nw
import numpy as np

from ruleglm.frames import TableScan, scan_table

SAMPLE = 2_000
"""First rows that are looked at."""

MANY, MOST = 10, 0.8
"""Different texts, and their share of all, that make a column look like something else."""

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
SIGNS = re.compile(r"[$€£¥%,\s']")
"""What people write around and into numbers."""

DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(\D.*)?")

NUMBERS = "biuf"
"""Kinds of NumPy types that hold no texts."""

ADVICE = "every text is a level of its own"


def scan_features(X: Any, categorical: Iterable[str | int]) -> TableScan:
    """Open the rows of a fit, and warn of columns whose texts look like something else.

    Parameters
    ----------
    X : frame, array, list of rows or files
        As for `scan_table`; rows in files are not looked at.
    categorical : iterable of str or int
        Names or positions of columns that hold levels, whatever they look like.
    """
    scan = scan_table(X, categorical=categorical)
    warn_of_lookalikes(X, list(categorical))
    return scan


def warn_of_lookalikes(X: Any, categorical: Collection[str | int]) -> None:
    """Warn of text columns that look like numbers or dates, unless they are named as levels."""
    for position, name, texts in sample_texts(X):
        if name not in categorical and position not in categorical:
            doubt = describe(sorted(texts))
            if doubt:
                warnings.warn(f"Column {name!r} holds {doubt}", UserWarning, stacklevel=outside())


def outside() -> int:
    """Return the stack level of the code that called this package, whatever lies in between."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("ruleglm"):
        frame, level = frame.f_back, level + 1
    return level


def sample_texts(X: Any) -> Iterator[tuple[int, str, set[str]]]:
    """Yield position, name and different texts of each column that may hold some."""
    if isinstance(X, np.ndarray):
        columns = X[:SAMPLE].T if X.ndim == 2 and X.dtype.kind in "OUT" else ()
        yield from ((k, f"x{k}", only_texts(column.tolist())) for k, column in enumerate(columns))
        return
    if all(getattr(dtype, "kind", "O") in NUMBERS for dtype in getattr(X, "dtypes", "O")):
        return  # as pandas knows, without a look at its columns
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        for position, (name, dtype) in enumerate(frame.schema.items()):
            if dtype in (nw.String, nw.Object):
                column = frame.get_column(name).head(SAMPLE)
                texts = column.unique() if dtype == nw.String else column
                yield position, str(name), only_texts(texts.to_list())


def only_texts(values: Collection[Any]) -> set[str]:
    """Return the different texts among values."""
    texts = {value for value in values if isinstance(value, str)}
    return {text.strip() for text in texts}


def describe(texts: list[str]) -> str:
    """Say what texts look like and what to do; empty if they look like nothing but texts.

    Whole numbers alone are taken as meant: no reader makes texts of them.
    """
    numbers = [text for text in texts if NUMBER.fullmatch(SIGNS.sub("", text))]
    dates = [text for text in texts if DATE.fullmatch(text)]
    if is_most(dates, texts):
        return (
            f"dates as text, such as {dates[0]!r}: {ADVICE}. Give what may matter about them as "
            "numbers, such as the year, the month or the days since a date"
        )
    if not is_most(numbers, texts) or all(text.isdecimal() for text in texts):
        return ""
    others = [text for text in texts if text not in set(numbers)]
    if others:
        return (
            f"text such as {others[0]!r} among {len(numbers)} different numbers such as "
            f"{numbers[0]!r}: {ADVICE}. If numbers are meant, convert it, for example with "
            "pandas.to_numeric(..., errors='coerce')"
        )
    return (
        f"numbers as text, such as {numbers[0]!r}: {ADVICE}. If numbers are meant, convert it; if "
        "not, name it in `categorical`"
    )


def is_most(found: Collection[str], texts: Collection[str]) -> bool:
    """Tell whether so many texts were found that the rest are exceptions."""
    return len(found) >= max(MANY, MOST * len(texts))
