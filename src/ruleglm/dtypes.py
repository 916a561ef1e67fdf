"""The dtype contract: every array that crosses a module has one of these types.

Codes are one byte, so that a pass over the rows is a pass over ``n * p`` bytes and each kernel has
one specialisation; sums over rows are doubles, because certificates are read to nine digits.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

CODE_DTYPE = np.uint8
"""A bin code; at most 256 bins a feature, the reserved ones included."""

WORD_DTYPE = np.uint64
"""64 rows of a rule's column, least significant bit first."""

SUM_DTYPE = np.float64
"""Sums over rows, and the row values that go into them."""

INDEX_DTYPE = np.int64
"""Feature numbers, positions and counts."""

MAX_BINS = 256

CodeArray: TypeAlias = NDArray[np.uint8]
WordArray: TypeAlias = NDArray[np.uint64]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
