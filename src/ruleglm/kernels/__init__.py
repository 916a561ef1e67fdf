"""Compiled inner loops: arrays in, arrays out, and the only importers of numba.

Every kernel releases the interpreter lock, is cached on disk after its first compilation, writes
its last argument (marked OUT) and has a NumPy twin of the same name in ``tests/reference``.
"""

from ruleglm.kernels.columns import (
    add_columns,
    count_gram,
    evaluate_rules,
    sum_columns,
    unpack_words,
    weighted_gram,
)
from ruleglm.kernels.descent import descend
from ruleglm.kernels.histograms import contract_axis, fill_histograms

KERNELS = (
    fill_histograms,
    contract_axis,
    evaluate_rules,
    count_gram,
    unpack_words,
    weighted_gram,
    sum_columns,
    add_columns,
    descend,
)

__all__ = [
    "KERNELS",
    "add_columns",
    "contract_axis",
    "count_gram",
    "descend",
    "evaluate_rules",
    "fill_histograms",
    "sum_columns",
    "unpack_words",
    "weighted_gram",
]
