"""Dask collections, and files, as partitions of rows."""

import os
from collections.abc import Mapping
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import delayed

from ruleglm.dask.blocks import make_block
from ruleglm.dask.session import Session


def is_collection(X: Any) -> bool:
    """Whether something is a dask frame or array."""
    return isinstance(X, (dd.DataFrame, dd.Series, da.Array))


def open_source(X: Any) -> Any:
    """Return a frame or an array of dask; a path is a file or a folder of Parquet files."""
    if isinstance(X, (str, os.PathLike)):
        return dd.read_parquet(os.fspath(X))
    if not isinstance(X, (dd.DataFrame, da.Array)):
        raise TypeError(
            f"X is a {type(X).__name__}; give a dask DataFrame, a dask array or the path of "
            "Parquet files, or use the estimator of the same name without 'Dask'"
        )
    if isinstance(X, da.Array) and X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; give rows and columns")
    return X


def column_names(X: Any, vectors: Mapping[str, Any]) -> list[str] | None:
    """Return the names of the features, None for an array; refuse roles that are no columns."""
    named = [value for value in vectors.values() if isinstance(value, str)]
    if isinstance(X, da.Array):
        if named:
            raise ValueError(f"X is an array, which has no column {named[0]!r}; give the values")
        return None
    names = [str(name) for name in X.columns]
    for name in named:
        if name not in names:
            raise ValueError(f"X has no column {name!r}; it has {', '.join(names[:8])}")
    return [name for name in names if name not in named]


def load_blocks(session: Session, X: Any, vectors: Mapping[str, Any]) -> list[Any]:
    """Return futures of the partitions, which stay on the workers."""
    pieces = _pieces(X.rechunk({1: -1}) if isinstance(X, da.Array) else X)
    columns = {
        role: [value] * len(pieces) if isinstance(value, str) else _pieces(value, role)
        for role, value in vectors.items()
    }
    for role, parts in columns.items():
        if len(parts) != len(pieces):
            raise ValueError(
                f"X has {len(pieces)} partitions, but `{role}` has {len(parts)}; give both the "
                "same, e.g. as columns of one frame"
            )
    make = delayed(make_block, pure=False)
    blocks = [
        make(number, piece, {role: parts[number] for role, parts in columns.items()})
        for number, piece in enumerate(pieces)
    ]
    futures: list[Any] = session.client.compute(blocks)
    session.hold(futures)
    return futures


def _pieces(values: Any, role: str = "X") -> list[Any]:
    """Return the partitions of a collection, delayed."""
    if isinstance(values, (dd.DataFrame, dd.Series)):
        return list(values.to_delayed())
    if isinstance(values, da.Array):
        return list(np.ravel(values.to_delayed()))
    raise TypeError(
        f"`{role}` is a {type(values).__name__}; give a dask Series or array with the partitions "
        "of X, or the name of a column of X"
    )
