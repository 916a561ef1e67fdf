"""One column of data, read into numbers or levels whatever library it comes from.

A column is either a `NumberColumn`, doubles in which NaN says missing, or a `LevelColumn`, codes
into a short tuple of levels in which -1 says missing. Everything above sees only these two.
"""

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np

from ruleglm.dtypes import AnyArray, BoolArray, FloatArray, IntArray

Level: TypeAlias = str | int | float | bool
Kind: TypeAlias = Literal["number", "level", "ordered"]

_BOOLEAN = (bool, np.bool_)
_NUMBER = (numbers.Real, Decimal, np.bool_)


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers.

    Parameters
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,), float64
        The numbers; NaN says missing. They may be the source's own memory: not to be written to.
    """

    name: str
    values: FloatArray

    def take(self, rows: IntArray | BoolArray) -> "NumberColumn":
        """Return the rows of a mask or of an index, in that order."""
        return NumberColumn(self.name, self.values[rows])


@dataclass(frozen=True, eq=False)
class LevelColumn:
    """A column of levels.

    Parameters
    ----------
    name : str
        Name of the column.
    codes : ndarray of shape (n_rows,), int64
        Position of each row's level in `levels`; -1 says missing.
    levels : tuple of str, int, float or bool
        The levels, each once; some may have no rows.
    ordered : bool
        Whether the order of `levels` means something, so that `<=` makes sense.
    """

    name: str
    codes: IntArray
    levels: tuple[Level, ...]
    ordered: bool = False

    def take(self, rows: IntArray | BoolArray) -> "LevelColumn":
        """Return the rows of a mask or of an index, in that order."""
        return LevelColumn(self.name, self.codes[rows], self.levels, self.ordered)


Column: TypeAlias = NumberColumn | LevelColumn


def read_array(name: str, values: AnyArray, *, as_levels: bool = False) -> Column:
    """Read a one-dimensional NumPy array.

    Parameters
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,)
        Numbers, booleans, strings or objects.
    as_levels : bool
        Whether numbers are read as levels.

    Returns
    -------
    NumberColumn or LevelColumn
        The column; a boolean array has the levels False and True.
    """
    kind = values.dtype.kind
    if kind == "b":
        return LevelColumn(name, values.astype(np.int64), (False, True))
    if kind in "iuf":
        if as_levels:
            plain = values.astype(np.float64 if kind == "f" else values.dtype.newbyteorder("="))
            return _sorted_levels(name, *_factorize(plain))
        return NumberColumn(name, np.ascontiguousarray(values, dtype=np.float64))
    if kind in "OUT":
        return _read_objects(name, values.astype(object, copy=False), as_levels=as_levels)
    raise _refuse_dtype(name, values.dtype)


def read_series(name: str, native: Any, *, as_levels: bool = False) -> Column:
    """Read a column of a pandas, polars or pyarrow frame.

    Parameters
    ----------
    name : str
        Name of the column.
    native : pandas.Series, polars.Series, pyarrow.ChunkedArray or alike
        Any series that narwhals knows.
    as_levels : bool
        Whether numbers are read as levels.

    Returns
    -------
    NumberColumn or LevelColumn
        The column. Categories, enumerations and dictionaries keep their own order of levels.
    """
    if nw.dependencies.is_pandas_series(native):
        return _read_pandas(name, native, as_levels=as_levels)
    if nw.dependencies.is_pyarrow_chunked_array(native):
        return _read_arrow(name, native, as_levels=as_levels)
    return _read_generic(name, native, as_levels=as_levels)


def conform(column: Column, kind: Kind, levels: tuple[Level, ...] | None = None) -> Column:
    """Turn a column into the kind that a model was trained on.

    Parameters
    ----------
    column : NumberColumn or LevelColumn
        The column as read, numbers already read as levels where levels are wanted.
    kind : {"number", "level", "ordered"}
        What the column was in training.
    levels : tuple, optional
        Levels that come first, in this order; others found in the column are appended.

    Returns
    -------
    NumberColumn or LevelColumn
        A `NumberColumn` for "number", otherwise a `LevelColumn`.

    Raises
    ------
    ValueError
        If numbers are expected and something else is found.
    """
    if kind == "number":
        return column if isinstance(column, NumberColumn) else _levels_to_numbers(column)
    if isinstance(column, NumberColumn):
        column = _sorted_levels(column.name, *_factorize(column.values))
    ordered = kind == "ordered"
    if levels is None:
        return LevelColumn(column.name, column.codes, column.levels, ordered)
    order = dict.fromkeys([*levels, *column.levels])
    return _recode(column.name, column.codes, column.levels, tuple(order), ordered=ordered)


def join_columns(pieces: Iterable[Column], n_rows: int) -> Column:
    """Put a column together from pieces of one kind, of which only one need be there at a time.

    Parameters
    ----------
    pieces : iterable of NumberColumn or LevelColumn
        At least one.
    n_rows : int
        Rows of all of them.
    """
    numbers, codes = np.empty(0), np.empty(0, np.int64)
    places: dict[Level, int] = {}
    orders: list[tuple[Level, ...]] = []
    start = 0
    for piece in pieces:
        if isinstance(piece, NumberColumn):
            numbers = numbers if start else np.empty(n_rows)
            numbers[start : start + len(piece.values)] = piece.values
            start += len(piece.values)
            continue
        codes = codes if start else np.empty(n_rows, np.int64)
        orders = orders if orders[-1:] == [piece.levels] else [*orders, piece.levels]
        lookup = [places.setdefault(level, len(places)) for level in piece.levels]
        codes[start : start + len(piece.codes)] = np.array([*lookup, -1], np.int64)[piece.codes]
        start += len(piece.codes)
    if isinstance(piece, NumberColumn):
        return NumberColumn(piece.name, numbers)
    order = merge_levels(orders)
    rank = {level: k for k, level in enumerate(order)}
    np.take(np.array([*map(rank.get, places), -1]), codes, out=codes, mode="wrap")
    return LevelColumn(piece.name, codes, order, piece.ordered)


def merge_levels(parts: Sequence[tuple[Level, ...]]) -> tuple[Level, ...]:
    """Return all levels: sorted if those of each part are, otherwise in the order they come in."""
    found = tuple(dict.fromkeys(level for levels in parts for level in levels))
    if found == parts[0] or not all(_is_sorted(levels) for levels in parts):
        return found
    return tuple(sorted(found, key=level_key))


def _is_sorted(levels: tuple[Level, ...]) -> bool:
    return all(level_key(low) <= level_key(high) for low, high in pairwise(levels))


def is_number(value: object) -> bool:
    """Whether a value is a real number, decimals and booleans included."""
    return isinstance(value, _NUMBER)


def _read_pandas(name: str, native: Any, *, as_levels: bool) -> Column:
    import pandas as pd

    dtype = native.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = np.asarray(native.cat.codes, dtype=np.int64)
        values = dtype.categories.tolist()
        return _given_levels(name, codes, values, ordered=bool(dtype.ordered))
    if isinstance(dtype, (np.dtype, pd.SparseDtype)):
        return read_array(name, native.to_numpy(), as_levels=as_levels)
    return _read_generic(name, native, as_levels=as_levels)


def _read_arrow(name: str, native: Any, *, as_levels: bool) -> Column:
    import pyarrow as pa

    if pa.types.is_dictionary(native.type):
        return _given_levels(name, *_open_dictionary(native), ordered=bool(native.type.ordered))
    if pa.types.is_integer(native.type) and not as_levels:
        native = native.cast("float64", safe=False)  # beyond 2**53 the nearest number
    return _read_generic(name, native, as_levels=as_levels)


def _open_dictionary(native: Any) -> tuple[IntArray, list[Any]]:
    """Return codes and values of a pyarrow dictionary; each chunk has values of its own."""
    codes: list[IntArray] = []
    values: list[Any] = []
    for chunk in native.chunks:
        indices = chunk.indices.cast("int64").fill_null(-1).to_numpy()
        codes.append(np.where(indices < 0, -1, indices + len(values)))
        values.extend(chunk.dictionary.to_pylist())
    return np.concatenate(codes), values


def _read_generic(name: str, native: Any, *, as_levels: bool) -> Column:
    series = nw.from_native(native, series_only=True)
    dtype = series.dtype
    if dtype.is_numeric() and not as_levels:
        values = series.cast(nw.Float64()).to_numpy()
        return NumberColumn(name, np.asarray(values, dtype=np.float64))
    if dtype == nw.Boolean:
        codes, found = _factorize_series(native)
        return _recode(name, codes, to_levels(name, found), (False, True))
    if dtype.is_numeric() or dtype in (nw.String, nw.Categorical):
        return _sorted_levels(name, *_factorize_series(native))
    if isinstance(dtype, nw.Enum):
        codes, found = _factorize_series(native)
        return _recode(name, codes, to_levels(name, found), tuple(dtype.categories))
    if dtype == nw.Object:
        return _read_objects(name, series.to_numpy().astype(object), as_levels=as_levels)
    if series.null_count() == len(series):
        return NumberColumn(name, np.full(len(series), np.nan))
    raise _refuse_dtype(name, dtype if dtype != nw.Unknown else getattr(native, "dtype", dtype))


def _read_objects(name: str, values: AnyArray, *, as_levels: bool) -> Column:
    try:
        codes, found = _factorize(values)
    except TypeError:  # something that cannot be hashed
        raise _refuse_objects(name, values) from None
    types = set(map(type, found))
    if types and _all_of(types, _BOOLEAN):
        types = set(map(type, values[codes >= 0]))  # True hides a 1 that comes after it
        if _all_of(types, _BOOLEAN):
            return _recode(name, codes, to_levels(name, found), (False, True))
    if _all_of(types, _NUMBER) and not as_levels:
        return NumberColumn(name, _objects_to_numbers(name, codes, found))
    if _all_of(types, (str, *_BOOLEAN)) or (as_levels and _all_of(types, (str, *_NUMBER))):
        return _sorted_levels(name, codes, found)
    raise _refuse_objects(name, found)


def _all_of(types: set[type], wanted: tuple[type, ...]) -> bool:
    return all(issubclass(kind, wanted) for kind in types)


def _objects_to_numbers(name: str, codes: IntArray, found: list[Any]) -> FloatArray:
    try:
        numbers = np.array([*found, np.nan], dtype=np.float64)
    except OverflowError as error:
        message = f"Column {name!r} holds a number too large for a double; rescale the column."
        raise ValueError(message) from error
    return numbers[codes]  # code -1 reads the last entry


def _factorize(values: AnyArray) -> tuple[IntArray, list[Any]]:
    import pandas as pd

    codes, found = pd.factorize(values)
    return codes.astype(np.int64, copy=False), found.tolist()


def _factorize_series(native: Any) -> tuple[IntArray, list[Any]]:
    """Return codes, -1 for missing, and the distinct values that they refer to."""
    if nw.dependencies.is_pandas_series(native):
        import pandas as pd

        codes, found = pd.factorize(native)
        return codes.astype(np.int64, copy=False), found.tolist()
    if nw.dependencies.is_pyarrow_chunked_array(native):
        return _open_dictionary(native.dictionary_encode())
    series = nw.from_native(native, series_only=True)
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return _factorize(np.array(series.to_list(), dtype=object))
    text = series.cast(nw.String())
    found = text.drop_nulls().unique().to_list()
    if not found:
        return np.full(len(text), -1, dtype=np.int64), []
    codes = text.replace_strict(found, list(range(len(found))), return_dtype=nw.Int64())
    return codes.fill_null(-1).to_numpy().astype(np.int64, copy=False), found


def to_levels(name: str, values: Iterable[Any]) -> list[Level | None]:
    """Turn values of any library into plain Python levels; None stands for missing."""
    return [_to_level(name, value) for value in values]


def _to_level(name: str, value: Any) -> Level | None:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, (numbers.Real, Decimal)):
        number = float(value)
        if np.isnan(number):
            return None
        return int(number) if number.is_integer() else number
    if value is None:
        return None
    raise TypeError(
        f"Column {name!r} has the level {value!r} of type {type(value).__name__}; a level's "
        "argument must be a string or a number: convert the column, e.g. with astype(str)."
    )


def _sorted_levels(name: str, codes: IntArray, values: Sequence[Any]) -> LevelColumn:
    found = to_levels(name, values)
    order = sorted({level for level in found if level is not None}, key=level_key)
    return _recode(name, codes, found, tuple(order))


def _given_levels(
    name: str, codes: IntArray, values: Sequence[Any], *, ordered: bool
) -> LevelColumn:
    found = to_levels(name, values)
    order = tuple(dict.fromkeys(level for level in found if level is not None))
    return _recode(name, codes, found, order, ordered=ordered)


def level_key(level: Level) -> tuple[bool, float, str]:
    """Sort numbers and booleans by value, then strings by their characters."""
    if isinstance(level, str):
        return True, 0.0, level
    return False, level, ""


def _recode(
    name: str,
    codes: IntArray,
    found: Sequence[Level | None],
    order: tuple[Level, ...],
    *,
    ordered: bool = False,
) -> LevelColumn:
    """Express codes into `found` as codes into `order`."""
    if list(order) == list(found):
        return LevelColumn(name, codes, order, ordered)
    position = {level: rank for rank, level in enumerate(order)}
    lookup = np.full(len(found) + 1, -1, dtype=np.int64)  # the last entry answers code -1
    for code, level in enumerate(found):
        if level is not None:
            lookup[code] = position[level]
    return LevelColumn(name, lookup[codes], order, ordered)


def _levels_to_numbers(column: LevelColumn) -> NumberColumn:
    values = np.full(len(column.levels) + 1, np.nan)  # the last entry answers code -1
    used = set(np.unique(column.codes).tolist())
    for code, level in enumerate(column.levels):
        if is_number(level):
            values[code] = level
        elif code in used:
            raise ValueError(
                f"Column {column.name!r} was a number in training and now holds the value "
                f"{level!r}; convert it to numbers, with a missing value where there is none."
            )
    return NumberColumn(column.name, values[column.codes])


def _refuse_dtype(name: str, dtype: object) -> TypeError:
    return TypeError(
        f"Column {name!r} has the type {dtype}, which is neither a number nor a level; convert it "
        "to a number (e.g. days since a date) or to strings, or leave the column out."
    )


def _refuse_objects(name: str, present: Iterable[Any]) -> TypeError:
    import pandas as pd

    present = list(present)
    odd = next(
        (v for v in present if not isinstance(v, (str, *_NUMBER)) and pd.isna(v) is not True), None
    )
    if odd is not None:
        return TypeError(
            f"Column {name!r} holds {odd!r} of type {type(odd).__name__}; each value's argument "
            "must be a string or a number: convert the column, or leave it out."
        )
    text = next(value for value in present if isinstance(value, str))
    number = next(value for value in present if not isinstance(value, str))
    return TypeError(
        f"Column {name!r} mixes the string {text!r} with {number!r}; each column's argument must "
        "be a string or a number throughout: convert it with astype(str) or astype(float)."
    )
