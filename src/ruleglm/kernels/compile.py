"""The one way a kernel is compiled."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba

FAST_SUMS = {"reassoc", "contract", "nsz"}
"""Let sums be reordered into vector lanes; NaN and infinity keep their meaning."""


FAST_EXTREMES = FAST_SUMS | {"nnan"}
"""Let maxima vectorise too: only for values that are finite by construction."""


def kernel(function: Callable[..., Any], *, fastmath: set[str] = FAST_SUMS) -> Any:
    """Compile ``function`` on first use: no lock held, cached on disk, sums free to vectorise."""
    return numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=fastmath)(function)


def finite_kernel(function: Callable[..., Any]) -> Any:
    """Compile as :func:`kernel`, for values that are never NaN."""
    return kernel(function, fastmath=FAST_EXTREMES)


def ordered_kernel(function: Callable[..., Any]) -> Any:
    """Compile as :func:`kernel`, with every sum in the order that it is written in."""
    return kernel(function, fastmath={"contract"})


def announce_compilation(kernels: Iterable[Any]) -> None:
    """Say on standard error that the first call will compile, if this machine has no cache yet."""
    if all(_is_cold(one) for one in kernels):
        sys.stderr.write("ruleglm: compiling its kernels, once on this machine (some seconds)\n")
        sys.stderr.flush()


def _is_cold(compiled: Any) -> bool:
    """Tell whether a kernel is neither in memory nor on disk; False where numba does not say."""
    if getattr(compiled, "signatures", True):
        return False
    cache_file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    path = getattr(cache_file, "_index_path", None)
    return path is not None and not Path(path).exists()
