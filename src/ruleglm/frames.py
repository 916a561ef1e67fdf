"""Reads pandas, polars and pyarrow frames, arrays and lists into one table of columns.

Data come in through two doors only: `scan_table` for training, which reads a column when it is
asked for and does not keep it, and `read_table` for prediction, which reads all columns at once.
What they return holds plain NumPy arrays and Python values.
"""

import difflib
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from ruleglm.columns import (
    Column,
    Kind,
    Level,
    LevelColumn,
    NumberColumn,
    conform,
    join_columns,
    read_array,
    read_series,
)
from ruleglm.dtypes import AnyArray, BoolArray, IntArray
from ruleglm.files import FileColumn, RowFiles, is_source

__all__ = [
    "Column",
    "Kind",
    "Level",
    "LevelColumn",
    "NumberColumn",
    "Table",
    "TableScan",
    "check_name",
    "open_files",
    "read_table",
    "scan_table",
]

Source: TypeAlias = tuple[list[str], list[Any], int, bool]
"""Names, unread columns, number of rows, and whether the columns came with their own names."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length, each with a name of its own.

    Parameters
    ----------
    columns : tuple of NumberColumn or LevelColumn
        At least one column.
    """

    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in their order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        first = self.columns[0]
        return len(first.values) if isinstance(first, NumberColumn) else len(first.codes)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def column(self, name: str) -> Column:
        """Return the column of a name.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        NumberColumn or LevelColumn
            The column.

        Raises
        ------
        ValueError
            If there is no such column; the message gives names that look alike.
        """
        check_name(name, self.names)
        return self.columns[self._position[name]]

    def take(self, rows: IntArray | BoolArray) -> "Table":
        """Return the rows of a mask or of an index, in that order."""
        return Table(tuple(column.take(rows) for column in self.columns))


@dataclass(frozen=True, eq=False)
class TableScan:
    """Columns of equal length that are yet to be read.

    Parameters
    ----------
    names : tuple of str
        Names of the columns, in their order.
    n_rows : int
        Number of rows.
    readers : tuple of callables
        What reads each column, all its rows.
    rows : ndarray of int64, optional
        Index of the rows wanted; all if not given.
    workdir : str, optional
        Folder for temporary files of what is made of the columns; memory if not given.
    """

    names: tuple[str, ...]
    n_rows: int
    readers: tuple[Callable[[], Column], ...]
    rows: IntArray | None = None
    workdir: str | None = None

    @property
    def columns(self) -> Iterator[Column]:
        """The columns in their order, each read when it is asked for and not kept."""
        for read in self.readers:
            yield read() if self.rows is None else read().take(self.rows)

    def column(self, name: str) -> Column:
        """Read the column of a name."""
        column = self.readers[self.names.index(name)]()
        return column if self.rows is None else column.take(self.rows)

    def take(self, rows: IntArray | BoolArray) -> "TableScan":
        """Return a scan of the rows of a mask or of an index, in that order."""
        kept = (np.arange(self.n_rows) if self.rows is None else self.rows)[rows]
        return replace(self, n_rows=len(kept), rows=kept)


def scan_table(
    X: Any,
    *,
    names: Sequence[str] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    levels: Mapping[str, tuple[Level, ...]] | None = None,
    categorical: Iterable[str | int] = (),
) -> TableScan:
    """Open data of any kind, to be read column by column.

    Parameters
    ----------
    X : frame, array, list of rows or files
        A pandas or polars frame, a pyarrow table, a two-dimensional array or a list of lists, the
        columns of which two are called x0, x1 and so on; or what `RowFiles` takes.
    names : sequence of str, optional
        The columns wanted, in this order: frames are read by name and may hold more, arrays are
        read by position and must hold as many. Frames are read by position too if the names
        wanted are those of an array's columns and the frame has none of them.
    kinds : mapping of str to {"number", "level", "ordered"}, optional
        What columns must be, as in training.
    levels : mapping of str to tuple, optional
        Levels that come first in a column's codes; levels beyond them are appended.
    categorical : iterable of str or int, optional
        Names or positions of columns to read as levels though they hold numbers.

    Returns
    -------
    TableScan
        The columns, yet to be read. One that is neither of numbers nor of levels, or not of its
        kind, is refused when it is reached.

    Raises
    ------
    TypeError
        If X is a lazy frame, or `categorical` is no list of columns.
    ValueError
        If the shape or the names do not fit.
    """
    if is_source(X) and not isinstance(X, RowFiles):
        X = RowFiles(X)
    found, columns, n_rows, named = _open_source(X)
    _check_unique(found)
    if names is not None:
        found, columns = _choose_columns(found, columns, list(names), named=named)
    as_levels = _find_categorical(found, categorical)
    kinds, levels = kinds or {}, levels or {}
    readers = (
        partial(_read_column, name, column, name in as_levels, kinds.get(name), levels.get(name))
        for name, column in zip(found, columns, strict=True)
    )
    workdir = X.workdir if isinstance(X, RowFiles) else None
    return TableScan(tuple(found), n_rows, tuple(readers), workdir=workdir)


def open_files(X: Any, *vectors: Any) -> tuple[Any, ...]:
    """Open rows in files, if X is or names such, and read the columns that vectors name.

    Parameters
    ----------
    X : frame, array, list of rows or files
    vectors : array-like, None, or name of a column
        Target, weights and so on; columns that they name are no features.

    Returns
    -------
    X, *vectors
        `RowFiles` and pandas series; anything else as it is.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    if not is_source(X):
        return X, *vectors
    files = X if isinstance(X, RowFiles) else RowFiles(X)
    named = [vector for vector in vectors if isinstance(vector, str)]
    features = files.without(named)
    features.check()
    read = (files.series(each) if isinstance(each, str) else each for each in vectors)
    return features, *read


def read_table(
    X: Any,
    *,
    names: Sequence[str] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    levels: Mapping[str, tuple[Level, ...]] | None = None,
    categorical: Iterable[str | int] = (),
) -> Table:
    """Read data of any kind into a table.

    Parameters
    ----------
    X : frame, array or list of rows
        As for `scan_table`; a `Table` is returned as it is.
    names, kinds, levels, categorical
        As for `scan_table`.

    Returns
    -------
    Table
        The columns, missing values marked in one way.

    Raises
    ------
    TypeError
        If a column is neither of numbers nor of levels.
    ValueError
        If the shape, the names or the kinds do not fit.
    """
    if isinstance(X, Table):
        return X
    scan = scan_table(X, names=names, kinds=kinds, levels=levels, categorical=categorical)
    return Table(tuple(scan.columns))


def _read_column(
    name: str,
    column: Any,
    as_levels: bool,
    kind: Kind | None,
    levels: tuple[Level, ...] | None,
) -> Column:
    if isinstance(column, FileColumn):
        pieces = (_read_column(name, one, as_levels, kind, levels) for one in column.pieces())
        return join_columns(pieces, column.files.n_rows)
    as_levels = as_levels or kind in ("level", "ordered")
    reader = read_array if isinstance(column, np.ndarray) else read_series
    try:
        read = reader(name, column, as_levels=as_levels)
    except TypeError:
        if kind != "number":
            raise
        read = reader(name, column, as_levels=True)  # so that the odd value can be named below
    if kind is None and levels is not None and isinstance(read, LevelColumn):
        kind = "ordered" if read.ordered else "level"
    return read if kind is None else conform(read, kind, levels)


def _open_source(X: Any) -> Source:
    """Return the names and the unread columns of any input."""
    if isinstance(X, RowFiles):
        _check_shape(X.n_rows, len(X.names))
        return list(X.names), [FileColumn(X, name) for name in X.names], X.n_rows, True
    if nw.dependencies.is_pandas_dataframe(X):
        names = [str(name) for name in X.columns]
        columns = [column for _, column in X.items()]
    elif nw.dependencies.is_pyarrow_table(X):
        names, columns = list(X.column_names), list(X.columns)
    else:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            raise TypeError("X is a lazy frame; bring its rows into memory, e.g. by X.collect().")
        if not isinstance(frame, nw.DataFrame):
            return _open_array(X)
        names = list(frame.columns)
        columns = [nw.to_native(frame.get_column(name)) for name in names]
    _check_shape(len(X), len(names))
    return names, columns, len(X), True


def _open_array(X: Any) -> Source:
    from sklearn.utils import check_array

    if isinstance(X, (list, tuple)):
        X = np.array(X, dtype=object)  # a list of rows may mix strings and numbers
    elif isinstance(X, np.ma.MaskedArray):
        masked, X = np.ma.getmaskarray(X), np.ma.getdata(X).astype(object)
        X[masked] = None
    array: AnyArray = check_array(X, dtype=None, ensure_all_finite=False)
    return _number_names(array.shape[1]), list(array.T), array.shape[0], False


def _number_names(n_columns: int) -> list[str]:
    """Names of columns that have none of their own."""
    return [f"x{position}" for position in range(n_columns)]


def _check_shape(n_rows: int, n_columns: int) -> None:
    """Refuse an empty frame in the words that scikit-learn has for arrays."""
    for count, what in ((n_rows, "sample"), (n_columns, "feature")):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape=({n_rows}, {n_columns})) while a minimum of "
                "1 is required."
            )


def _check_unique(names: list[str]) -> None:
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{count} columns have the name {name!r}; rename all but one of them.")


def _choose_columns(
    found: list[str], columns: list[Any], wanted: list[str], *, named: bool
) -> tuple[list[str], list[Any]]:
    unnamed = wanted == _number_names(len(wanted)) and set(wanted).isdisjoint(found)
    if not named or unnamed:
        if len(found) != len(wanted):
            raise ValueError(
                f"X has {len(found)} features, but the model is expecting {len(wanted)} features "
                "as input, in the order of its names."
            )
        return wanted, columns
    position = {name: place for place, name in enumerate(found)}
    absent = [name for name in wanted if name not in position]
    if absent:
        listed = ", ".join(repr(name) for name in absent)
        raise ValueError(f"X lacks the columns {listed}; {near_names(absent[0], found)}.")
    return wanted, [columns[position[name]] for name in wanted]


def _find_categorical(names: list[str], categorical: Iterable[str | int]) -> set[str]:
    if isinstance(categorical, str):
        raise TypeError(f"`categorical` must be a list of columns; write [{categorical!r}].")
    return {names[find_column(item, names, "categorical")] for item in categorical}


def find_column(item: Any, names: Sequence[str], parameter: str) -> int:
    """Return the number of the column that a parameter means by its name or its position."""
    if isinstance(item, str):
        if item not in names:
            raise ValueError(f"`{parameter}` names {item!r}; {near_names(item, names)}.")
        return list(names).index(item)
    if isinstance(item, (bool, np.bool_)) or not hasattr(item, "__index__"):
        raise TypeError(
            f"`{parameter}` holds {item!r}; give names or positions of columns, and instead of "
            "a mask np.flatnonzero(mask)."
        )
    place = operator.index(item)
    if not 0 <= place < len(names):
        raise ValueError(f"`{parameter}` gives column {place}, but X has {len(names)} columns.")
    return place


def check_name(name: str, names: Sequence[str]) -> None:
    """Refuse a name that no column has; the message gives names that look alike."""
    if name not in names:
        raise ValueError(f"There is no column {name!r}; {near_names(name, names)}.")


def near_names(name: str, names: Sequence[str]) -> str:
    """Say which names look like one that no column has."""
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6)
    if near:
        return "the nearest names are " + ", ".join(repr(other) for other in near)
    shown = ", ".join(repr(other) for other in names[:5])
    return f"the columns are {shown}" + (", ..." if len(names) > 5 else "")
