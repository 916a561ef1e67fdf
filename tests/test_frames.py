"""Reading frames, arrays and lists: the same table whatever library the data come from."""

import math
import weakref
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from ruleglm.frames import LevelColumn, NumberColumn, Table, read_table, scan_table


def plain(table: Table) -> list:
    """Say a table in Python values, None for missing, to compare tables by ==."""
    return [(column.name, *plain_column(column)) for column in table.columns]


def plain_column(column) -> tuple:
    if isinstance(column, NumberColumn):
        assert column.values.dtype == np.float64
        return "number", [None if math.isnan(value) else value for value in column.values.tolist()]
    assert column.codes.dtype == np.int64
    values = [None if code < 0 else column.levels[code] for code in column.codes.tolist()]
    return ("ordered" if column.ordered else "level"), column.levels, values


def read_one(values, **options):
    return read_table(pd.DataFrame({"c": values}), **options).columns[0]


def optional(values):
    return st.lists(st.none() | values, min_size=1, max_size=12)


# ------------------------------------------------------------------------- all libraries agree


@st.composite
def columns(draw):
    n_rows = draw(st.integers(1, 8))

    def column(values):
        return draw(st.lists(st.none() | values, min_size=n_rows, max_size=n_rows))

    text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=3)
    return {
        "i": column(st.integers(-(2**40), 2**40)),
        "f": column(st.floats(allow_nan=False)),
        "b": column(st.booleans()),
        "s": column(text),
    }


@given(columns())
def test_all_libraries_give_the_same_table(data):
    schema = {"i": pa.int64(), "f": pa.float64(), "b": pa.bool_(), "s": pa.string()}
    arrow = pa.table({name: pa.array(data[name], kind) for name, kind in schema.items()})
    expected = plain(read_table(arrow))
    assert plain(read_table(pl.from_arrow(arrow))) == expected
    assert plain(read_table(arrow.to_pandas(types_mapper=pd.ArrowDtype))) == expected
    nullable = pd.DataFrame(
        {
            "i": pd.array(data["i"], dtype="Int64"),
            "f": pd.array(data["f"], dtype="Float64"),
            "b": pd.array(data["b"], dtype="boolean"),
            "s": pd.array(data["s"], dtype="string"),
        }
    )
    assert plain(read_table(nullable)) == expected
    for name, kind, *_ in expected:
        found = plain(read_table(arrow))[list(data).index(name)][-1]
        assert kind == ("number" if name in "if" else "level")
        assert found == data[name]


@given(columns())
def test_objects_and_lists_give_the_same_values(data):
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in data.items()})
    rows = list(map(list, zip(*data.values(), strict=True)))
    for table in (read_table(frame), read_table(rows), read_table(np.array(rows, dtype=object))):
        for column, values in zip(table.columns, data.values(), strict=True):
            assert plain_column(column)[-1] == values


@given(optional(st.integers(-5, 5)))
def test_numbers_read_as_levels_agree(values):
    frames = (
        pd.DataFrame({"c": pd.array(values, dtype="Int64")}),
        pd.DataFrame({"c": pd.Series(values, dtype="float64")}),
        pd.DataFrame({"c": pd.Series(values, dtype=object)}),
        pl.DataFrame({"c": pl.Series(values, dtype=pl.Int32)}),
        pa.table({"c": pa.array(values, pa.int16())}),
        pa.table({"c": pa.array(values, pa.float32())}),
    )
    levels = tuple(sorted({value for value in values if value is not None}))
    for frame in frames:
        column = read_table(frame, categorical=["c"]).columns[0]
        assert plain_column(column) == ("level", levels, values)
        assert all(type(level) is int for level in column.levels)


def test_array_columns_are_numbered_and_contiguous():
    table = read_table(np.arange(6, dtype=np.float32).reshape(3, 2))
    assert table.names == ("x0", "x1")
    assert table.n_rows == 3
    assert table.column("x1").values.tolist() == [1.0, 3.0, 5.0]
    assert table.column("x1").values.flags.c_contiguous


# ----------------------------------------------------------------------------------- categories


@pytest.mark.parametrize("ordered", [False, True])
def test_pandas_category_keeps_its_order(ordered):
    values = pd.Categorical(["M", None, "S"], categories=["S", "M", "L"], ordered=ordered)
    kind = "ordered" if ordered else "level"
    assert plain_column(read_one(values)) == (kind, ("S", "M", "L"), ["M", None, "S"])


@pytest.mark.parametrize("ordered", [False, True])
def test_arrow_dictionary_keeps_its_order(ordered):
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array([1, None]), pa.array(["S", "M"]), ordered=ordered),
        pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["S", "M"]), ordered=ordered),
    ]
    column = read_table(pa.table({"c": pa.chunked_array(chunks)})).columns[0]
    kind = "ordered" if ordered else "level"
    assert plain_column(column) == (kind, ("S", "M"), ["M", None, "S", "S"])


def test_arrow_dictionaries_that_differ_by_chunk_and_hold_null():
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["b", None])),
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "b"])),
    ]
    column = read_table(pa.table({"c": pa.chunked_array(chunks)})).columns[0]
    assert plain_column(column) == ("level", ("b", "a"), ["b", None, "a", "b"])


def test_polars_enum_and_categorical():
    enum = pl.Series(["M", None], dtype=pl.Enum(["S", "M"]))
    categorical = pl.Series(["b", "a"], dtype=pl.Categorical)
    table = read_table(pl.DataFrame({"e": enum, "c": categorical}))
    assert plain(table) == [
        ("e", "level", ("S", "M"), ["M", None]),
        ("c", "level", ("a", "b"), ["b", "a"]),
    ]


def test_categories_that_are_numbers_stay_numbers():
    assert plain_column(read_one(pd.Categorical([3.0, 1.5, None])))[1:] == (
        (1.5, 3),
        [3, 1.5, None],
    )


def test_a_category_of_intervals_is_refused():
    with pytest.raises(TypeError, match=r"Column 'c' has the level Interval.*astype\(str\)"):
        read_one(pd.cut([1, 2, 3], 2))


# -------------------------------------------------------------------------- dtypes and odd values


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, None], dtype="float32"),
        pd.Series([1, None], dtype="Int8"),
        pd.Series([1, pd.NA], dtype=object),
        pd.Series([Decimal(1), Decimal("NaN")], dtype=object),
        pd.Series([np.float64(1), pd.NaT], dtype=object),
        pd.Series([True, 1, None], dtype=object)[1:],
        pd.Series(pd.arrays.SparseArray([1.0, np.nan])),
        pd.Series([Decimal("1.0"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
        pl.Series([1.0, math.nan]),
        pl.Series([Decimal("1.0"), None]),
        pa.chunked_array([[Decimal("1.0"), None]]),
        pa.chunked_array([pa.array([1.0, None], pa.float16())]),
    ],
    ids=str,
)
def test_every_kind_of_number_and_missing(values):
    frame = pl.DataFrame if isinstance(values, pl.Series) else pa.table
    frame = pd.DataFrame if isinstance(values, pd.Series) else frame
    assert plain(read_table(frame({"c": values}))) == [("c", "number", [1.0, None])]


@pytest.mark.parametrize("values", [[None, None], [math.nan, None], [pd.NA, pd.NaT]])
def test_objects_that_are_all_missing_are_numbers(values):
    assert plain_column(read_one(pd.Series(values, dtype=object))) == ("number", [None, None])


def test_null_columns_are_numbers():
    assert plain(read_table(pl.DataFrame({"c": [None]}))) == [("c", "number", [None])]
    assert plain(read_table(pa.table({"c": pa.nulls(1)}))) == [("c", "number", [None])]


def test_huge_integers():
    huge = 2**53 + 1
    assert read_one([huge, 2**63]).values.tolist() == [float(huge), 2.0**63]
    assert read_one([huge, huge - 1], categorical=["c"]).levels == (huge - 1, huge)
    frame = pl.DataFrame({"c": [huge, None, huge - 1]})
    assert read_table(frame, categorical=["c"]).columns[0].levels == (huge - 1, huge)
    with pytest.raises(ValueError, match="'c' holds a number too large"):
        read_one(pd.Series([10**400], dtype=object))


def test_true_and_one_in_one_object_column_are_numbers_in_any_order():
    for values in ([True, 1, False], [1, True, False], [1.0, False, True]):
        column = read_one(pd.Series(values, dtype=object))
        assert plain_column(column) == ("number", [float(value) for value in values])


def test_numpy_strings_objects_and_other_byte_orders():
    assert read_table(np.array([["b"], ["a"]])).columns[0].levels == ("a", "b")
    assert all(type(level) is str for level in read_one(np.array(["b"])).levels)
    swapped = np.array([[2.0], [1.0]]).astype(">f8")
    assert read_table(swapped).columns[0].values.tolist() == [2.0, 1.0]
    assert read_table(swapped.astype(">i4"), categorical=[0]).columns[0].levels == (1, 2)


def test_masked_array_entries_are_missing():
    masked = np.ma.array([[1.0], [2.0]], mask=[[False], [True]])
    assert plain(read_table(masked)) == [("x0", "number", [1.0, None])]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.date_range("2020", periods=1), "'c' has the type datetime64.*days since a date"),
        (pd.to_timedelta([1], unit="D"), "'c' has the type timedelta64"),
        (pd.period_range("2020", periods=1), "'c' has the type period"),
        (np.array([1j]), "'c' has the type complex128"),
        (pd.Series([{"a": 1}]), r"'c' holds \{'a': 1\}.*argument must be a string or a number"),
        (pd.Series([None, [1]]), r"'c' holds \[1\].*argument must be a string or a number"),
        (pd.Series([b"x"]), "'c' holds b'x' of type bytes"),
        (pd.Series(["x", 1]), "'c' mixes the string 'x' with 1"),
        (pl.Series([[1]]), r"'c' has the type List"),
        (pl.Series([{"a": 1}]), r"'c' has the type Struct"),
    ],
)
def test_other_types_are_refused_by_name(values, message):
    frame = pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame
    with pytest.raises(TypeError, match=message):
        read_table(frame({"c": values}))


# ------------------------------------------------------------------------- shapes and names


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.float64(1), "Expected 2D array, got scalar"),
        ([1.0, 2.0], "Expected 2D array, got 1D"),
        (pd.Series([1.0]), "Expected .*2"),
        (np.empty((0, 2)), r"Found array with 0 sample\(s\) \(shape=\(0, 2\)\)"),
        (pd.DataFrame({"a": [], "b": []}), r"Found array with 0 sample\(s\) \(shape=\(0, 2\)\)"),
        (pd.DataFrame(index=range(3)), r"Found array with 0 feature\(s\) \(shape=\(3, 0\)\)"),
        (pl.DataFrame({"a": []}), r"Found array with 0 sample\(s\) \(shape=\(0, 1\)\)"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
    ],
)
def test_shapes_are_refused_in_the_words_of_scikit_learn(X, message):
    with pytest.raises(ValueError, match=message):
        read_table(X)


def test_sparse_and_lazy_input_are_refused():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        read_table(scipy.sparse.eye_array(2).tocsr())
    with pytest.raises(TypeError, match="collect"):
        read_table(pl.DataFrame({"a": [1]}).lazy())


def test_names_are_text_and_unique():
    assert read_table(pd.DataFrame([[1, 2]], columns=[0, ("a", 1)])).names == ("0", "('a', 1)")
    for frame in (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=[0, "0"]),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ):
        with pytest.raises(ValueError, match=r"2 columns have the name '(a|0)'"):
            read_table(frame)


def test_a_table_is_returned_as_it_is_and_finds_its_columns():
    table = read_table(pd.DataFrame({"age": [1.0, 2.0], "sex": ["f", "m"]}))
    assert read_table(table) is table
    assert table.column("sex").name == "sex"
    with pytest.raises(ValueError, match="no column 'agge'; the nearest names are 'age'"):
        table.column("agge")


def test_take_by_mask_and_by_index():
    table = read_table(pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": ["f", "m", None]}))
    assert plain(table.take(np.array([True, False, True])))[0] == ("x", "number", [1.0, 3.0])
    assert plain(table.take(np.array([2, 1])))[1] == ("c", "level", ("f", "m"), [None, "m"])


# ------------------------------------------------------------------------- reading at prediction


def test_names_choose_and_order_the_columns_of_frames():
    frame = pd.DataFrame({"a": [1], "b": [2], "z": [pd.Timestamp("2020")]})
    assert read_table(frame, names=["b", "a"]).names == ("b", "a")
    with pytest.raises(ValueError, match="X lacks the columns 'c'"):
        read_table(frame, names=["a", "c"])


def test_names_are_given_to_arrays_by_position():
    assert read_table([[1, 2]], names=["b", "a"]).names == ("b", "a")
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 3 features"):
        read_table([[1, 2]], names=["a", "b", "c"])


def test_numbers_are_wanted():
    kinds = {"c": "number"}
    assert plain_column(read_one([True, False], kinds=kinds)) == ("number", [1.0, 0.0])
    assert plain_column(read_one(pd.Categorical([2, 5]), kinds=kinds)) == ("number", [2.0, 5.0])
    assert plain_column(read_one(pd.Series([None], dtype="str"), kinds=kinds))[1] == [None]
    for values in (["x", "y"], pd.Series([1.0, "x"], dtype=object)):
        with pytest.raises(ValueError, match=r"'c' was a number .* holds the value 'x'"):
            read_one(values, kinds=kinds)


def test_levels_are_wanted():
    kinds = {"c": "level"}
    assert plain_column(read_one([2.0, 0.5, None], kinds=kinds))[1] == (0.5, 2)
    assert plain_column(read_one(pd.Series(["x", 1]), kinds=kinds))[1] == (1, "x")
    assert read_one([1, 0], kinds=kinds).levels == (False, True)


def test_ordered_levels_follow_the_order_of_training():
    kinds, levels = {"c": "ordered"}, {"c": ("S", "M", "L")}
    column = read_one(["M", "XL", None], kinds=kinds, levels=levels)
    assert isinstance(column, LevelColumn)
    assert column.ordered
    assert column.levels == ("S", "M", "L", "XL")
    assert column.codes.tolist() == [1, 3, -1]


def test_categorical_columns_by_name_and_position():
    X = np.array([[1.0, 2.0], [3.0, 2.5]])
    assert read_table(X, categorical=[1]).columns[1].levels == (2, 2.5)
    assert read_table(X, categorical=["x0"]).columns[0].levels == (1, 3)
    with pytest.raises(ValueError, match="names 'x7'"):
        read_table(X, categorical=["x7"])
    with pytest.raises(ValueError, match="column 2, but X has 2"):
        read_table(X, categorical=[2])
    with pytest.raises(TypeError, match=r"write \['x0'\]"):
        read_table(X, categorical="x0")


# ------------------------------------------------------------------------- column by column


def test_a_scan_reads_what_a_table_holds():
    frame = pd.DataFrame({"x": [1, 2, 3], "c": ["b", None, "a"], "k": [7, 7, 8]})
    scan = scan_table(frame, categorical=["k"])
    table = read_table(frame, categorical=["k"])
    assert (scan.names, scan.n_rows) == (table.names, table.n_rows)
    for _ in range(2):  # a scan can be gone over again
        assert plain(Table(tuple(scan.columns))) == plain(table)
    mask, index = np.array([True, False, True]), np.array([1, 0, 1])
    assert plain(Table(tuple(scan.take(mask).columns))) == plain(table.take(mask))
    again = scan.take(mask).take(index)
    assert again.n_rows == 3
    assert plain(Table(tuple(again.columns))) == plain(table.take(mask).take(index))


def test_a_scan_keeps_no_column():
    columns = scan_table(pd.DataFrame({"x": [1, 2], "c": ["a", "b"]})).columns
    for _ in range(2):
        read = weakref.ref(next(columns))
        assert read() is None


def test_a_scan_refuses_names_at_once_and_values_when_it_gets_there():
    frame = pd.DataFrame({"x": [1.0], "day": pd.to_datetime(["2024-01-01"])})
    with pytest.raises(ValueError, match="names 'dya'; the nearest names are 'day'"):
        scan_table(frame, categorical=["dya"])
    with pytest.raises(ValueError, match="2 columns have the name 'x'"):
        scan_table(frame.set_axis(["x", "x"], axis=1))
    columns = scan_table(frame).columns
    assert next(columns).name == "x"
    with pytest.raises(TypeError, match="Column 'day'"):
        next(columns)


def test_arrow_integers_beyond_what_doubles_hold_are_the_nearest_number():
    table = pa.table({"x": pa.array([1, None, 2**64 - 1], pa.uint64())})
    (column,) = read_table(table).columns
    np.testing.assert_array_equal(column.values, [1.0, np.nan, 2.0**64])
