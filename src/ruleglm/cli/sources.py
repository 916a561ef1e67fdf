"""Where rows come from: files of several formats, standard input, queries.

A source is one word of the command line:

=======================  ========================================================
``rows.csv``             text; also .txt, .tsv, .tab, and with .gz, .bz2, .xz
``rows.parquet``         also .pq; .feather, .arrow, .ipc (needs pyarrow)
``-``                    standard input, text or parquet or arrow, gzipped or not
``sql:QUERY``            a DuckDB query, e.g. ``sql:select * from 'rows.parquet'``
``duckdb:FILE?TABLE``    a table of a DuckDB database; after the ``?`` also a query
=======================  ========================================================
"""

import bz2
import gzip
import importlib
import io
import lzma
import re
import sys
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ruleglm.cli.errors import UserError, need_extra

if TYPE_CHECKING:
    import pandas as pd

STDIN = "-"

COMPRESSED: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

FORMATS = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
}

DELIMITERS = ",;\t|"
"""Of a text file, tried in this order on its first line."""

UNKNOWN = "?"
"""In a text file missing too, like an empty field or NA: many published data sets have it."""

QUERY = re.compile(r"\s*(select|with|from|pivot|summarize|values)\b.*\s", re.IGNORECASE | re.DOTALL)


def read_source(source: str, texts: Collection[str] = ()) -> "pd.DataFrame":
    """Read all rows of a source.

    Parameters
    ----------
    source : str
        As in the table above.
    texts : collection of str
        Columns that hold texts even if all of them look like numbers, for formats without types.

    Returns
    -------
    pandas.DataFrame
        At least one row, columns with names of their own.

    Raises
    ------
    UserError
        If there is no such source, it cannot be read, or a package to read it is missing.
    """
    if source == STDIN:
        frame = _read_stdin(texts)
    elif source.startswith("sql:"):
        frame = _run_query(source.removeprefix("sql:"))
    elif source.startswith("duckdb:"):
        frame = _read_database(source.removeprefix("duckdb:"))
    else:
        frame = _read_file(source, texts)
    return _check_frame(frame, "standard input" if source == STDIN else source)


def file_format(name: str) -> str | None:
    """Return the format that the name of a file stands for, None for an unknown one."""
    path = Path(name)
    inner = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    known = FORMATS.get(inner.suffix.lower())
    return known if inner is path or known in ("csv", "tsv") else None


def _check_frame(frame: "pd.DataFrame", name: str) -> "pd.DataFrame":
    frame.columns = [str(column) for column in frame.columns]
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise UserError(f"{name}: two columns have the name {twice[0]!r}; rename one of them.")
    if len(frame) == 0:
        raise UserError(f"{name}: there are column names, but no rows.")
    return frame


# ------------------------------------------------------------------------------------------ files


def _read_file(name: str, texts: Collection[str]) -> "pd.DataFrame":
    path = Path(name)
    if not path.exists():
        if QUERY.match(name):
            raise UserError(f"There is no file {name!r}; write a query as 'sql:{name}'.")
        raise UserError(f"There is no file {name!r}.")
    kind = file_format(name)
    if path.is_dir() or kind is None:
        raise UserError(
            f"{name}: not a format that can be read. Known are {', '.join(FORMATS)}, text also "
            f"with {', '.join(COMPRESSED)}; other data comes by 'sql:select ... from ...' (DuckDB)."
        )
    opener = COMPRESSED.get(path.suffix.lower(), Path.open)
    try:
        with opener(path, "rb") as handle:
            return _read_handle(handle, kind, name, texts)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise UserError(f"{name}: {error}.") from error


def _read_stdin(texts: Collection[str]) -> "pd.DataFrame":
    data = sys.stdin.buffer.read()
    name = "standard input"
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise UserError(f"{name}: {error}.") from error
    arrow = data[:6] == b"ARROW1" or data[:4] == b"\xff\xff\xff\xff"
    kind = "parquet" if data[:4] == b"PAR1" else "arrow" if arrow else "csv"
    return _read_handle(io.BytesIO(data), kind, name, texts)


def _read_handle(handle: IO[bytes], kind: str, name: str, texts: Collection[str]) -> "pd.DataFrame":
    if kind in ("csv", "tsv"):
        return _read_text(handle, "\t" if kind == "tsv" else None, name, texts)
    reader = _read_parquet if kind == "parquet" else _read_arrow
    import_reader("pyarrow", "parquet", f"Reading {name}")
    from pyarrow import ArrowException

    try:
        frame: pd.DataFrame = reader(handle)
    except (ArrowException, OSError) as error:
        raise UserError(f"{name}: not a {kind} file, or a damaged one ({error}).") from error
    return frame


def _read_parquet(handle: IO[bytes]) -> Any:
    from pyarrow import parquet

    return parquet.read_table(handle).to_pandas()


def _read_arrow(handle: IO[bytes]) -> Any:
    """Read either of Arrow's formats, for files or for streams."""
    from pyarrow import ipc

    in_file = handle.read(6) == b"ARROW1"
    handle.seek(0)
    opener = ipc.open_file if in_file else ipc.open_stream
    return opener(handle).read_all().to_pandas()


def _read_text(
    handle: IO[bytes], delimiter: str | None, name: str, texts: Collection[str]
) -> "pd.DataFrame":
    import pandas as pd

    try:
        header = handle.readline().decode("utf-8-sig")
        handle.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                handle,
                sep=delimiter or guess_delimiter(header),
                encoding="utf-8-sig",
                index_col=False,
                low_memory=False,
                skipinitialspace=True,
                na_values=[UNKNOWN],
                dtype=dict.fromkeys(texts, str),
            )
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}: not text in UTF-8 (byte {error.start}); convert it, e.g. with "
            "iconv -f latin1 -t utf-8."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise UserError(f"{name}: empty.") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise UserError(f"{name}: lines differ in their number of fields ({reason}).") from error


def guess_delimiter(header: str) -> str:
    """Return the delimiter of a text file by its first line: the first known one outside quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    return next((one for one in DELIMITERS if one in bare), ",")


# ---------------------------------------------------------------------------------------- queries


def _run_query(query: str, database: str = ":memory:") -> "pd.DataFrame":
    duckdb = import_reader("duckdb", "duckdb", "A query")
    try:
        with duckdb.connect(database, read_only=database != ":memory:") as connection:
            frame: pd.DataFrame = connection.execute(query).df()
    except duckdb.Error as error:
        raise UserError(f"DuckDB: {str(error).strip()}") from error
    return frame


def _read_database(source: str) -> "pd.DataFrame":
    """Read a table or a query of a database file."""
    path, _, wanted = source.partition("?")
    if not Path(path).is_file():
        raise UserError(f"There is no database {path!r}.")
    if QUERY.match(wanted):
        return _run_query(wanted, path)
    tables = _run_query("select table_name from information_schema.tables order by 1", path)
    names = tables["table_name"].tolist()
    if wanted == "" and len(names) == 1:
        wanted = names[0]
    if wanted == "":
        raise UserError(f"{path}: say which table, 'duckdb:{path}?NAME'; it has {_list(names)}.")
    if "." not in wanted and wanted not in names:
        raise UserError(f"{path}: there is no table {wanted!r}; it has {_list(names)}.")
    parts = [wanted] if wanted in names else wanted.split(".")
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
    return _run_query(f"select * from {quoted}", path)


def _list(names: list[str]) -> str:
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "") or "none"


def import_reader(package: str, extra: str, what: str) -> Any:
    """Import a package that is an extra, or say how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise need_extra(extra, package, what) from error
