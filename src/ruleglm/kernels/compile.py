"""The one way a kernel is compiled."""

from collections.abc import Callable
from typing import Any

import numba

FAST_SUMS = {"reassoc", "contract", "nsz"}
"""Let sums be reordered into vector lanes; NaN and infinity keep their meaning."""


FAST_EXTREMES = FAST_SUMS | {"nnan"}
"""Let maxima vectorise too: only for values that are finite by construction."""


def kernel(function: Callable[..., Any], *, fastmath: set[str] = FAST_SUMS) -> Any:
    """Compile ``function`` on first use: no lock held, cached on disk, sums free to vectorise."""
    options: dict[str, Any] = {
        "nogil": True,
        "cache": True,
        "error_model": "numpy",
        "fastmath": fastmath,
        "no_cfunc_wrapper": True,  # nobody calls them from C, and it is a tenth of the work
    }
    return numba.njit(**options)(function)


def finite_kernel(function: Callable[..., Any]) -> Any:
    """Compile as :func:`kernel`, for values that are never NaN."""
    return kernel(function, fastmath=FAST_EXTREMES)


def ordered_kernel(function: Callable[..., Any]) -> Any:
    """Compile as :func:`kernel`, with every sum in the order that it is written in."""
    return kernel(function, fastmath={"contract"})
