"""What is written, and how: never over a file unasked, never half."""

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ruleglm.cli.errors import UserError
from ruleglm.cli.sources import file_format, import_reader

if TYPE_CHECKING:
    import pandas as pd

STDOUT = Path("-")

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def check_outputs(paths: Iterable[Path | None], force: bool) -> None:
    """Refuse outputs that cannot be written, before any long work.

    Parameters
    ----------
    paths : iterable of Path or None
        None stands for an output that is not wanted.
    force : bool
        Whether files that exist may be replaced.
    """
    wanted = [path for path in paths if path is not None and path != STDOUT]
    for path in wanted:
        if not path.parent.is_dir():
            raise UserError(
                f"{path}: the folder {str(path.parent)!r} does not exist; make it first."
            )
        if path.is_dir():
            raise UserError(f"{path} is a folder; name a file.")
        if path.is_file() and not force:
            raise UserError(f"{path} exists already; --force replaces it.")
    if len(set(wanted)) < len(wanted):
        raise UserError("Two outputs have the same name; give each its own.")


def write_file(content: str | bytes, path: Path) -> None:
    """Write a text or bytes, to standard output for ``-``.

    Whoever reads the file sees the old one or the whole new one. What is no plain file (a pipe,
    /dev/null) is written to as it is.
    """
    from ruleglm.export.json_format import write_whole

    if path == STDOUT and isinstance(content, str):
        sys.stdout.write(content)
    elif path == STDOUT:
        sys.stdout.buffer.write(content)  # type: ignore[arg-type]
    elif path.exists() and not path.is_file():
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    else:
        write_whole(path, content)


def write_frame(frame: "pd.DataFrame", path: Path) -> None:
    """Write a table in the format of the file's name, as CSV to standard output for ``-``."""
    kind = check_table_name(path)
    content: str | bytes
    if kind == "parquet":
        content = frame.to_parquet(None, index=False)
    elif kind == "arrow":
        buffer = io.BytesIO()
        frame.to_feather(buffer)
        content = buffer.getvalue()
    else:
        text = frame.to_csv(index=False, sep="\t" if kind == "tsv" else ",", lineterminator="\n")
        squeeze = COMPRESSORS.get(path.suffix.lower())
        content = squeeze(text.encode("utf-8")) if squeeze else text
    write_file(content, path)


def check_table_name(path: Path | None) -> str:
    """Return the format of a table to write, or say which there are."""
    kind = "csv" if path is None or path == STDOUT else file_format(path.name)
    if kind is None:
        raise UserError(f"{path}: give a name that ends with .csv, .tsv, .parquet or .feather.")
    if kind in ("parquet", "arrow"):
        import_reader("pyarrow", "parquet", f"Writing {path}")
    return kind
