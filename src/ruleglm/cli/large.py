"""Rows in files that are too large for memory: how a command finds out, and how it reads them."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ruleglm.cli.errors import UserError
from ruleglm.cli.roles import Roles, Rows, split_roles
from ruleglm.cli.shell import remark
from ruleglm.cli.sources import file_format, import_reader

if TYPE_CHECKING:
    import pandas as pd

    from ruleglm.files import RowFiles

SHARE = 0.5
"""Of the machine's memory that rows may fill; larger ones are read column by column."""

VALUE_BYTES = 16
"""Memory that a value takes while rows are read, about."""


def open_large(source: str, out_of_core: bool | None) -> "RowFiles | None":
    """Open files whose rows are not to be read into memory.

    Parameters
    ----------
    source : str, a word of the command line
    out_of_core : bool or None
        What the user asks for; None for what the size suggests. Folders and patterns
        are always opened here.

    Returns
    -------
    RowFiles, or None for what is to be read at once
    """
    several = Path(source).is_dir() or (not Path(source).exists() and bool(glob.glob(source)))  # noqa: PTH207
    if not several and file_format(source) not in ("parquet", "arrow"):
        if out_of_core:
            raise UserError(f"{source}: --out-of-core is for Parquet and Arrow files.")
        return None
    if out_of_core is False or not (several or Path(source).exists()):
        return None
    import_reader("pyarrow", "parquet", f"Reading {source}")
    from ruleglm.files import RowFiles

    try:
        files = RowFiles(source)
    except ValueError as error:
        if not several:
            return None  # the reader of whole files says what is wrong
        raise UserError(str(error)) from error
    if several and files.n_rows == 0:
        raise UserError(f"{source}: there are column names, but no rows.")
    size = VALUE_BYTES * files.n_rows * len(files.names)
    return files if several or out_of_core or size > SHARE * memory_bytes() else None


def memory_bytes() -> float:
    """Return the memory of the machine, infinite if it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def read_large(files: "RowFiles", roles: Roles) -> Rows:
    """Read the columns with a role, of the rows whose target is known; features stay in files."""
    import pandas as pd

    features = list(split_roles(files.header(), roles).X.columns)
    known = files if roles.target is None else files.where_known(roles.target)
    if known.n_rows < files.n_rows:
        n_unknown = files.n_rows - known.n_rows
        remark(f"{n_unknown} rows without a target ({roles.target!r}) are left out", "warning")
    used = [name for name in roles.named().values() if name in files.names]
    columns = pd.DataFrame({name: known.series(name) for name in used})
    others = [name for name in files.names if name not in features]
    return replace(split_roles(columns, replace(roles, drop=())), X=known.without(others))


def read_frames(files: "RowFiles", names: Sequence[str]) -> Iterator["pd.DataFrame"]:
    """Read some columns by batches of rows."""
    return (batch.to_pandas() for batch in files.batches(names))
