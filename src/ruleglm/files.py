"""Rows in files that need not fit into memory: Parquet, and Arrow's own formats.

These formats keep columns apart, so that a fit can read one column after the other, code it into
one byte a row and let it go, as it does with frames. Files are read by batches of rows; what they
say of themselves, the types of columns above all, is checked before anything is read.
"""

import glob
import os
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruleglm.storage import check_folder

if TYPE_CHECKING:
    import pandas as pd

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "ipc",
    ".arrow": "ipc",
    ".ipc": "ipc",
}
"""Formats of files by the ends of their names."""

BATCH_ROWS = 65_536
"""Rows that are read at a time."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A file, or a data set that somebody else has opened."""

    label: str
    native: Any
    schema: Any

    def scan(self, fields: Sequence[Any], columns: list[str], wanted: Any) -> Any:
        """Return what reads some columns of the rows wanted."""
        from pyarrow import dataset, schema

        options: dict[str, Any] = {"columns": columns, "filter": wanted, "batch_size": BATCH_ROWS}
        if isinstance(self.native, dataset.Dataset):
            return self.native.scanner(**options, batch_readahead=1, fragment_readahead=1)
        if isinstance(self.native, dataset.ParquetFileFragment):
            options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=1 << 20, pre_buffer=False
            )
        return self.native.scanner(schema=schema(fields), batch_readahead=1, **options)


class RowFiles:
    """Rows in Parquet or Arrow files, for fits on more rows than fit into memory.

    The estimators take it in place of a frame, with the names of columns in place of target,
    weights, offset, exposure and groups. A path by itself stands for this with its defaults.

    Parameters
    ----------
    source : str, path, list of them, or pyarrow.dataset.Dataset
        A file (.parquet, .pq, .feather, .arrow, .ipc), a folder with such files, also
        in folders such as ``year=2024``, or a pattern such as ``"rows/2024-*.parquet"``. Files are
        taken in the order of their names.
    columns : sequence of str, default=None
        The features; by default all columns that have no other role.
    workdir : str or path, default=None
        Folder for temporary files of about one byte a value, and eight for each column that may be
        a straight line; by default the system's own, which may be in memory.

    Attributes
    ----------
    names : tuple of str
        The features.
    n_rows : int
        Number of rows in all files.

    Examples
    --------
    >>> RuleClassifier().fit("rows/", "default")  # doctest: +SKIP
    >>> files = RowFiles("rows/*.parquet", columns=["age", "income"], workdir="/scratch")
    ... # doctest: +SKIP
    >>> RuleClassifierCV().fit(files, "default", sample_weight="weight")  # doctest: +SKIP
    """

    def __init__(
        self,
        source: Any,
        *,
        columns: Sequence[str] | None = None,
        workdir: str | Path | None = None,
    ) -> None:
        self.workdir = check_folder(workdir)
        self._parts = _open_parts(source)
        found = self._parts[0].schema.names
        for name in columns or ():
            _check_column(name, self._parts[0])
        self._chosen = columns is not None
        self.names = tuple(found if columns is None else columns)
        self._known: str | None = None
        self.n_rows = self._count()

    def __repr__(self) -> str:
        return f"RowFiles({self.n_rows} rows, {len(self.names)} columns, {self._parts[0].label!r})"

    def __len__(self) -> int:
        return self.n_rows

    def without(self, names: Sequence[str]) -> "RowFiles":
        """Return the same rows without some of the features."""
        other = copy(self)
        other.names = tuple(name for name in self.names if name not in names)
        return other

    def where_known(self, name: str) -> "RowFiles":
        """Return the rows in which a column is not missing."""
        other = copy(self)
        other._known = name
        other.n_rows = other._count()
        return other

    def check(self) -> None:
        """Refuse features that are not in all files, or not of types that go together."""
        for part in self._parts if not self._chosen else ():
            new = [name for name in part.schema.names if name not in self._parts[0].schema.names]
            if new:
                _check_column(new[0], self._parts[0], part)
        for name in self.names:
            self._field(name)

    def header(self) -> "pd.DataFrame":
        """Return a frame of the features without rows."""
        import pandas as pd

        return pd.DataFrame(columns=list(self.names))

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield some columns of the rows by batches, as pyarrow tables; an empty one of no rows."""
        import pyarrow as pa

        fields = [self._field(name) for name in names]
        empty = True
        for part in self._parts:
            try:
                for batch in self._scan(part, fields).to_batches():
                    if batch.num_rows:
                        empty = False
                        yield pa.Table.from_batches([batch])
            except (pa.ArrowException, OSError) as error:
                raise ValueError(f"Column {names[0]!r} of {part.label}: {error}") from error
        if empty:
            yield pa.schema(fields).empty_table()

    def series(self, name: str) -> "pd.Series[Any]":
        """Read a column as pandas does."""
        import pyarrow as pa

        column: pd.Series[Any] = pa.concat_tables(self.batches([name])).column(0).to_pandas()
        return column.rename(name)

    def _scan(self, part: _Part, fields: Sequence[Any]) -> Any:
        from pyarrow import dataset

        names = [field.name for field in fields]
        if self._known is None:
            return part.scan(fields, names, None)
        more = [] if self._known in names else [self._field(self._known)]
        return part.scan([*fields, *more], names, dataset.field(self._known).is_valid())

    def _count(self) -> int:
        if self._known is None:
            return sum(part.native.count_rows() for part in self._parts)
        fields = [self._field(self._known)]
        return sum(self._scan(part, fields).count_rows() for part in self._parts)

    def _field(self, name: str) -> Any:
        """Return the name and the type of a column, the one that all files can be read as."""
        import pyarrow as pa

        first = self._parts[0]
        _check_column(name, first)
        whole = pa.schema([pa.field(name, first.schema.field(name).type)])
        for part in self._parts[1:]:
            _check_column(name, part, first)
            mine = pa.schema([pa.field(name, part.schema.field(name).type)])
            try:
                whole = pa.unify_schemas([whole, mine], promote_options="permissive")
            except pa.ArrowException:
                raise TypeError(
                    f"Column {name!r} has the type {first.schema.field(name).type} in "
                    f"{first.label} and {mine.field(name).type} in {part.label}; write the files "
                    "with one type throughout."
                ) from None
        return whole.field(name)


@dataclass(frozen=True, eq=False)
class FileColumn:
    """A column of files that is yet to be read."""

    files: RowFiles
    name: str

    def pieces(self) -> Iterator[Any]:
        """Yield the column piece by piece."""
        return (batch.column(0) for batch in self.files.batches([self.name]))


def is_source(X: Any) -> bool:
    """Whether something is, or names, rows in files."""
    if isinstance(X, (RowFiles, str, os.PathLike)):
        return True
    return type(X).__module__.startswith("pyarrow._dataset")


def _check_column(name: str, part: _Part, other: _Part | None = None) -> None:
    """Refuse a column that a file does not have; ``other`` has it."""
    if name in part.schema.names:
        return
    names = part.schema.names
    there = f"they have {', '.join(map(repr, names[:8]))}{', ...' if len(names) > 8 else ''}"
    if other is not None and name in other.schema.names:
        there = f"{other.label} has it: write it to all files, missing where it is not known"
    raise ValueError(f"There is no column {name!r} in {part.label}; {there}.")


def _open_parts(source: Any) -> list[_Part]:
    """Open all files, and read what they say of themselves."""
    try:
        from pyarrow import ArrowException, dataset
    except ImportError as error:
        raise ImportError('Reading files needs pyarrow: pip install "ruleglm[parquet]"') from error
    if isinstance(source, dataset.Dataset):
        return [_Part("the data set", source, source.schema)]
    base, paths = _list_files(source)
    kinds = sorted({FORMATS[path.suffix.lower()] for path in paths})
    if len(kinds) > 1:
        raise ValueError(f"{source!s} has files of several formats; name one by a pattern.")
    try:
        opened = dataset.dataset(
            [str(path) for path in paths],
            format=kinds[0],
            partitioning=dataset.partitioning(flavor="hive"),
        )
        keys = [name for name in opened.schema.names if f"{name}=" in str(paths[0].parent)]
        added = [opened.schema.field(name) for name in keys]
        return [_describe(fragment, base, added) for fragment in opened.get_fragments()]
    except (ArrowException, OSError) as error:
        raise ValueError(f"{source!s}: cannot be read as {kinds[0]} ({error}).") from error


def _describe(fragment: Any, base: Path, added: Sequence[Any]) -> _Part:
    schema = fragment.physical_schema
    for field in added:
        if field.name not in schema.names:
            schema = schema.append(field)
    path = Path(fragment.path)
    label = path.relative_to(base) if path.is_relative_to(base) else path
    return _Part(str(label), fragment, schema)


def _list_files(source: Any) -> tuple[Path, list[Path]]:
    """Return the folder that labels are relative to, and the files in the order of their names."""
    if not isinstance(source, (str, os.PathLike)):
        found = [path for one in source for path in _list_files(one)[1]]
        return Path(), found
    text = os.fspath(source)
    path = Path(text)
    if path.is_dir():
        inside = (one for one in path.rglob("*") if one.suffix.lower() in FORMATS)
        paths = sorted(
            one
            for one in inside
            if not any(name.startswith(("_", ".")) for name in one.relative_to(path).parts)
        )
        base = path
    elif path.is_file():
        paths, base = [path], path.parent
    else:
        paths, base = sorted(Path(one) for one in glob.glob(text, recursive=True)), Path()  # noqa: PTH207
    odd = [one for one in paths if one.suffix.lower() not in FORMATS]
    if odd:
        raise ValueError(
            f"{odd[0]} has no ending of a format that is read by columns: {', '.join(FORMATS)}; "
            "convert it, e.g. by DuckDB: copy 'rows.csv' to 'rows.parquet'."
        )
    if not paths:
        raise ValueError(f"{text!r} names no file, and no folder with {', '.join(FORMATS)} files.")
    return base, paths
