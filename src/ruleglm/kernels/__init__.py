"""Compiled inner loops: arrays in, arrays out, and the only importers of numba.

Every kernel releases the interpreter lock, is cached on disk after its first compilation, writes
its last argument (marked OUT) and has a NumPy twin of the same name in ``tests/reference``.
"""

from ruleglm.kernels.columns import (
    add_terms,
    count_gram,
    count_rows,
    evaluate_rules,
    gram_lines,
    hash_columns,
    join_columns,
    sum_columns,
    sum_lines,
    unpack_words,
    weighted_gram,
)
from ruleglm.kernels.cuts import choose_cuts, round_cuts
from ruleglm.kernels.descent import descend
from ruleglm.kernels.extend import extend_rules
from ruleglm.kernels.gains import (
    gain_lines,
    gain_pairs,
    gain_spans,
    gain_triples,
    locate_gain,
    scan_gains,
    scan_second_gains,
    scan_signed_gains,
)
from ruleglm.kernels.histograms import fill_covered, fill_histograms, fill_within
from ruleglm.kernels.logistic import logistic_derivatives, logistic_loss, sum_logistic
from ruleglm.kernels.numbers import encode_numbers, sort_numbers
from ruleglm.kernels.pricing import (
    locate,
    scan_axis,
    scan_second_degree,
    score_pairs,
    score_triples,
)
from ruleglm.kernels.refit import FAILED, refit_logistic
from ruleglm.kernels.search import search_branch
from ruleglm.kernels.sweeps import rate_additions, rate_swaps, sweep_column
from ruleglm.kernels.waiting import await_change

KERNELS = (
    sort_numbers,
    choose_cuts,
    round_cuts,
    encode_numbers,
    fill_histograms,
    fill_covered,
    fill_within,
    evaluate_rules,
    join_columns,
    hash_columns,
    count_rows,
    count_gram,
    unpack_words,
    weighted_gram,
    sum_columns,
    sum_lines,
    gram_lines,
    add_terms,
    descend,
    logistic_loss,
    sum_logistic,
    logistic_derivatives,
    scan_axis,
    locate,
    scan_second_degree,
    score_pairs,
    score_triples,
    search_branch,
    scan_gains,
    scan_signed_gains,
    locate_gain,
    scan_second_gains,
    gain_lines,
    gain_spans,
    gain_pairs,
    gain_triples,
    extend_rules,
    refit_logistic,
    sweep_column,
    rate_additions,
    rate_swaps,
    await_change,
)

__all__ = [
    "FAILED",
    "KERNELS",
    "add_terms",
    "await_change",
    "choose_cuts",
    "count_gram",
    "count_rows",
    "descend",
    "encode_numbers",
    "evaluate_rules",
    "extend_rules",
    "fill_covered",
    "fill_histograms",
    "fill_within",
    "gain_lines",
    "gain_pairs",
    "gain_spans",
    "gain_triples",
    "gram_lines",
    "hash_columns",
    "join_columns",
    "locate",
    "locate_gain",
    "logistic_derivatives",
    "logistic_loss",
    "rate_additions",
    "rate_swaps",
    "refit_logistic",
    "round_cuts",
    "scan_axis",
    "scan_gains",
    "scan_second_degree",
    "scan_second_gains",
    "scan_signed_gains",
    "score_pairs",
    "score_triples",
    "search_branch",
    "sort_numbers",
    "sum_columns",
    "sum_lines",
    "sum_logistic",
    "sweep_column",
    "unpack_words",
    "weighted_gram",
]
