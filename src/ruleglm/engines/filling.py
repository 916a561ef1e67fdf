"""Histograms over rows in memory, on threads; and the sample of rows that pairs are chosen on.

Threads share out tuples of features, or rules, never rows, so that no sum depends on their number.
"""

from collections.abc import Sequence

import numpy as np

from ruleglm import kernels
from ruleglm.binning import BinRule
from ruleglm.dtypes import SUM_DTYPE, BoolArray, CodeArray, FloatArray, IntArray
from ruleglm.engines.base import histogram_starts
from ruleglm.engines.packed import complement, evaluate
from ruleglm.parallel import Workers, cut, n_parts

SAMPLE_ROWS = 200_000
"""Rows on which pairs of features are chosen, at least, where there are more than twice as many."""


class Sample:
    """Every k-th row, so that about `SAMPLE_ROWS` are left; all rows where there are few.

    Which rows they are does not depend on how the rows are cut into parts.

    Parameters
    ----------
    n_total : int, rows of all parts
    first : int, rows of the parts before this one
    """

    def __init__(self, n_total: int, first: int) -> None:
        self._every = max(1, n_total // SAMPLE_ROWS)
        self._first = -first % self._every

    def take(self, codes: CodeArray) -> CodeArray:
        """Return the sample's columns of an array with a column for each row."""
        if self._every == 1:
            return codes
        return np.ascontiguousarray(codes[:, self._first :: self._every])

    def scale(self, values: FloatArray) -> FloatArray:
        """Return row values of the sample, so scaled that sums estimate those over all rows."""
        if self._every == 1:
            return values
        return self._every * values[:, self._first :: self._every]


def fill_joint(
    codes: CodeArray, tuples: IntArray, n_bins: IntArray, values: FloatArray, workers: Workers
) -> FloatArray:
    """Return the joint histograms of tuples of features, one after the other, by row vector."""
    starts = histogram_starts(tuples, n_bins)
    out = np.zeros((len(values), starts[-1]), SUM_DTYPE)

    def fill(part: slice) -> None:
        limits = starts[part.start : part.stop + 1]
        target = np.zeros((len(values), limits[-1] - limits[0]), SUM_DTYPE)
        kernels.fill_histograms(codes, tuples[part], n_bins, values, limits - limits[0], target)
        out[:, limits[0] : limits[-1]] = target

    work = len(tuples) * codes.shape[1] * len(values)
    if workers.n_threads == 1 or n_parts(work) == 1:
        kernels.fill_histograms(codes, tuples, n_bins, values, starts, out)
    else:
        workers.map(fill, cut(len(tuples), n_parts(work)), work)
    return out


def fill_rules(
    codes: CodeArray,
    rules: Sequence[BinRule],
    wanted: BoolArray,
    n_bins: IntArray,
    values: FloatArray,
    workers: Workers,
) -> FloatArray:
    """Return histograms of features within rules, see `Engine.histograms_within`.

    Of a rule that covers most rows, those it leaves out are added up, if that is less work, and
    taken from the sums of all.
    """
    n_rows = codes.shape[1]
    columns = evaluate(codes, rules)
    starts = np.concatenate([[0], np.cumsum(n_bins)])
    out = np.zeros((len(rules), len(values), starts[-1]), SUM_DTYPE)
    covered = np.bitwise_count(columns).sum(axis=1, dtype=np.int64) / max(n_rows, 1)
    dense = covered > 0.5
    asked = wanted[dense].any(axis=0)
    turned = (wanted[dense].sum(axis=1) * (2.0 * covered[dense] - 1.0)).sum() > asked.sum()
    if turned:
        columns[dense] = complement(columns[dense], n_rows)

    def fill(part: slice) -> None:
        kernels.fill_within(codes, columns[part], wanted[part], n_bins, values, starts, out[part])

    work = int(np.count_nonzero(wanted)) * n_rows
    workers.map(fill, cut(len(rules), n_parts(work)), work)
    if turned:
        all_rows = np.zeros((len(values), starts[-1]))
        places = np.repeat(asked, n_bins)
        features = np.flatnonzero(asked)[:, None]
        all_rows[:, places] = fill_joint(codes, features, n_bins, values, workers)
        within = np.repeat(wanted[dense], n_bins, axis=1)[:, None]
        out[dense] = np.where(within, all_rows - out[dense], 0.0)
    return out
