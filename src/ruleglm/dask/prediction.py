"""Predictions for dask collections, partition by partition."""

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from ruleglm.dask.sources import is_collection
from ruleglm.dtypes import AnyArray


def predict_blocks(
    model: Any, method: str, X: Any, vectors: dict[str, Any], sample: AnyArray
) -> Any:
    """Predict every partition of X when it is asked for.

    Parameters
    ----------
    model : fitted estimator
    method : str, of the model
    X : dask DataFrame or array
    vectors : dict, offset and exposure; None, or collections with the partitions of X
    sample : array, predictions of no rows, which show their shape and type

    Returns
    -------
    dask Series or DataFrame with the index of X, or a dask array
    """
    given = {name: values for name, values in vectors.items() if values is not None}
    odd = next((name for name, values in given.items() if not is_collection(values)), None)
    if odd is not None:
        raise TypeError(f"`{odd}` has to be a dask Series or array, with the partitions of X")
    more = {"model": model, "method": method, "names": tuple(given), "sample": sample}
    if isinstance(X, da.Array):
        indexed = [each for values in given.values() for each in (_as_array(values), "i")]
        shape = {"k": sample.shape[1]} if sample.ndim == 2 else {}
        return da.blockwise(
            *(predict_block, "ik" if shape else "i", X, "ij", *indexed),
            new_axes=shape,
            concatenate=True,
            dtype=sample.dtype,
            meta=sample,
            **more,
        )
    return X.map_partitions(
        predict_block,
        *map(_as_series, given.values()),
        meta=_like_frame(sample, X._meta.index[:0]),
        **more,
    )


def predict_block(
    X: Any, *vectors: Any, model: Any, method: str, names: tuple[str, ...], sample: AnyArray
) -> Any:
    """Predict the rows of one partition."""
    given = {name: np.asarray(values) for name, values in zip(names, vectors, strict=True)}
    found = getattr(model, method)(X, **given) if len(X) else sample
    return found if isinstance(X, np.ndarray) else _like_frame(found, X.index)


def _like_frame(values: AnyArray, index: Any) -> Any:
    if values.ndim == 2:
        return pd.DataFrame(values, index=index)
    return pd.Series(values, index=index, name="prediction")


def _as_series(values: Any) -> Any:
    return dd.from_dask_array(values) if isinstance(values, da.Array) else values


def _as_array(values: Any) -> Any:
    return values if isinstance(values, da.Array) else values.to_dask_array()
