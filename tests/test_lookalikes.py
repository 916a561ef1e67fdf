"""Text columns that look like numbers or dates are pointed out before a fit."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleglm import RuleRegressor, RuleRegressorCV
from ruleglm.lookalikes import SAMPLE, describe, warn_of_lookalikes

N = 60
NUMBERS = [f"{k}.5" for k in range(N)]
CASES = {
    "a mark among numbers": ([*map(str, range(N - 1)), "?"], "text such as '\\?' among 59 differ"),
    "decimal numbers": (NUMBERS, "numbers as text, such as '0.5'"),
    "amounts": ([f"${k},000.00" for k in range(N)], "numbers as text, such as '\\$0,000.00'"),
    "shares": ([f"{k} %" for k in range(N)], "numbers as text, such as '0 %'"),
    "days": ([f"2026-01-{k % 28 + 1:02}" for k in range(N)], "dates as text, such as '2026-01-01'"),
    "times": (
        [f"{k % 12 + 1}/9/26 8:00" for k in range(N)],
        "dates as text, such as '1/9/26 8:00'",
    ),
}
FRAMES = {
    "pandas": lambda texts: pd.DataFrame({"plain": np.arange(N), "odd": texts}),
    "objects": lambda texts: pd.DataFrame({"plain": np.arange(N), "odd": texts}, dtype=object),
    "polars": lambda texts: pl.DataFrame({"plain": np.arange(N), "odd": texts}),
    "pyarrow": lambda texts: pa.table({"plain": np.arange(N), "odd": texts}),
}


def doubts(X, categorical=()):
    """What is said of a table."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_lookalikes(X, categorical)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(("texts", "message"), CASES.values(), ids=CASES)
def test_frames_are_looked_at(kind, texts, message):
    with pytest.warns(UserWarning, match=f"Column 'odd' holds {message}"):
        warn_of_lookalikes(FRAMES[kind](texts), ())


def test_arrays_are_looked_at():
    with pytest.warns(UserWarning, match="Column 'x1' holds numbers as text"):
        warn_of_lookalikes(np.array([["a"] * N, NUMBERS], object).T, ())


@pytest.mark.parametrize("model", [RuleRegressor(), RuleRegressorCV(max_complexity=2)])
def test_a_fit_warns_where_it_was_called(model):
    frame = FRAMES["pandas"](CASES["a mark among numbers"][0])
    with pytest.warns(UserWarning, match="convert it") as caught:
        model.fit(frame, np.arange(N))
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("categorical", [["odd"], [1]])
def test_columns_named_as_levels_are_left_alone(categorical):
    assert doubts(FRAMES["pandas"](NUMBERS), categorical) == []


def test_categories_are_left_alone():
    assert doubts(FRAMES["pandas"](NUMBERS).astype({"odd": "category"})) == []


@given(st.lists(st.integers(0, 10**6).map(str), max_size=50))
def test_whole_numbers_as_text_are_meant(texts):
    assert describe(sorted(set(texts))) == ""


@given(st.lists(st.text(st.characters(categories=["L"]), min_size=1), max_size=50))
def test_words_are_words(texts):
    assert describe(sorted(set(texts))) == ""


def test_what_is_not_a_frame_is_not_looked_at():
    assert doubts([[1, "2.5"]] * N) == []
    assert doubts(np.ones((N, 2))) == []


def test_only_the_first_rows_are_read():
    late = ["a", "b"] * SAMPLE + NUMBERS
    assert doubts(pd.DataFrame({"odd": late})) == []
