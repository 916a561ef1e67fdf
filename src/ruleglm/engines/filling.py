"""Histograms over rows in memory, on threads; and the sample of rows that pairs are chosen on.

Threads share out tuples of features, or rules, never rows, so that no sum depends on their number.
"""

import math

import numpy as np

from ruleglm import kernels
from ruleglm.dtypes import (
    CODE_DTYPE,
    INDEX_DTYPE,
    SUM_DTYPE,
    BoolArray,
    CodeArray,
    FloatArray,
    IntArray,
    WordArray,
)
from ruleglm.engines.base import Bases, Yardstick, histogram_starts
from ruleglm.engines.covers import cover_tuples
from ruleglm.engines.packed import count_rows
from ruleglm.parallel import Workers
from ruleglm.storage import GrowingRows, home

SAMPLE_ROWS, PAIR_WORK = 200_000, 200_000_000
"""Rows on which pairs of features are chosen, at least, where there are more than twice as many.

They are fewer for many pairs: rows times pairs are about the second at least.
"""

MOST_PAIRED = 300
"""Features of which all pairs are searched; of more, the most promising."""

ROW_WORK = 3.0
"""What a row of a rule costs beside its additions, in additions."""

TURNED_ROWS = 8192
"""Rows whose codes are turned from columns to rows at a time."""


class Sample:
    """Every k-th row, so that `SAMPLE_ROWS` or some fewer are left; all rows where there are few.

    Which rows they are does not depend on how the rows are cut into parts.

    Parameters
    ----------
    n_total : int, rows of all parts
    n_features : int
    first : int, rows of the parts before this one

    Attributes
    ----------
    every : int, k; 1 for all rows
    """

    def __init__(self, n_total: int, n_features: int, first: int = 0) -> None:
        n_pairs = math.comb(min(n_features, MOST_PAIRED), 2)
        self.every = max(1, n_total // min(SAMPLE_ROWS, PAIR_WORK // max(1, n_pairs)))
        self._first = -first % self.every

    def take(self, codes: CodeArray) -> CodeArray:
        """Return the sample's columns of an array with a column for each row."""
        if self.every == 1:
            return codes
        return np.ascontiguousarray(codes[:, self._first :: self.every])

    def scale(self, values: FloatArray) -> FloatArray:
        """Return row values of the sample, so scaled that sums estimate those over all rows."""
        if self.every == 1:
            return values
        return self.every * values[:, self._first :: self.every]


class FeatureSums:
    """Histograms of single features over all rows, for some row vectors; each is filled once.

    Attributes
    ----------
    starts : (n_features + 1,) int64, where the bins of each feature lie
    filled : (n_features,) bool, which are filled
    sums : (n_vectors, starts[-1]) float64, the bins of all features one after the other
    """

    def __init__(
        self, codes: CodeArray, n_bins: IntArray, values: FloatArray, workers: Workers
    ) -> None:
        self._codes = codes
        self._n_bins = n_bins
        self._values = values
        self._workers = workers
        self.starts = bin_starts(n_bins)
        self.filled: BoolArray = np.zeros(len(n_bins), np.bool_)
        self.sums = np.zeros((len(values), self.starts[-1]), SUM_DTYPE)

    def fill(self, features: IntArray) -> None:
        """Fill the histograms of these features, which ascend, if they are not."""
        new = features[~self.filled[features]]
        if len(new):
            tuples = new[:, None]
            starts = histogram_starts(tuples, self._n_bins)
            given = self._codes, tuples, self._n_bins, self._values
            sums = fill_joint(*given, starts, self._workers)
            if len(new) == len(self.filled):
                self.sums = sums
            else:
                self.sums[:, self._places(new)] = sums
            self.filled[new] = True

    def take(self, features: IntArray) -> FloatArray:
        """Return the bins of these features, which ascend, one after the other."""
        self.fill(features)
        if len(features) == len(self.filled):
            return self.sums.copy()
        return np.take(self.sums, self._places(features), axis=1)

    def _places(self, features: IntArray) -> IntArray:
        """Return where the bins of these features lie."""
        sizes = self._n_bins[features]
        before = np.cumsum(sizes) - sizes
        places: IntArray = np.repeat(self.starts[features] - before, sizes)
        return places + np.arange(len(places))


class Room:
    """Memory that is used again: new pages take long to come by, longest with several threads.

    What is in it lasts until it is next asked for.
    """

    def __init__(self) -> None:
        self._cells = np.empty(0, SUM_DTYPE)

    def zeros(self, *shape: int) -> FloatArray:
        """Return zeros in that shape."""
        size = math.prod(shape)
        if size > len(self._cells):
            self._cells = np.empty(2 * size, SUM_DTYPE)  # more will be asked for
        cells = self._cells[:size]
        cells.fill(0.0)
        return cells.reshape(shape)


def codes_by_rows(codes: CodeArray) -> CodeArray:
    """Return codes with those of a row side by side, shape (n_rows, n_features).

    They live where the codes do.
    """
    n_features, n_rows = codes.shape
    turned = GrowingRows(TURNED_ROWS * n_features, CODE_DTYPE, home(codes))
    for first in range(0, n_rows, TURNED_ROWS):
        part = np.zeros((TURNED_ROWS, n_features), CODE_DTYPE)
        block = codes[:, first : first + TURNED_ROWS]
        part[: block.shape[1]] = block.T
        turned.append(part.ravel())
    return turned.array().reshape(-1, n_features)[:n_rows]


def bin_starts(n_bins: IntArray) -> IntArray:
    """Return where each feature's bins lie, one after the other, and where the last one's end."""
    return np.concatenate([[0], np.cumsum(n_bins)])


def fill_joint(
    codes: CodeArray,
    tuples: IntArray,
    n_bins: IntArray,
    values: FloatArray,
    starts: IntArray,
    workers: Workers,
    room: Room | None = None,
) -> FloatArray:
    """Return the joint histograms of tuples of features, one after the other, by row vector.

    ``starts`` are their `histogram_starts`, ``room`` is where they lie, None for new memory.
    """
    shape = len(values), int(starts[-1])
    out = np.zeros(shape, SUM_DTYPE) if room is None else room.zeros(*shape)
    cover = cover_tuples(tuples, n_bins, codes.shape[1])
    if cover is None:
        fill_each(codes, tuples, n_bins, values, starts, out, workers)
        return out
    places = np.where(cover.without >= 0, starts[cover.without], -1)

    def fill(part: slice) -> None:
        kernels.fill_covered(codes, cover.sets[part], n_bins, values, places[part], out)

    workers.share(fill, len(cover.sets), len(cover.sets) * codes.shape[1] * len(values))
    if len(cover.rest):
        fill_each(codes, tuples[cover.rest], n_bins, values, starts[cover.rest], out, workers)
    return out


def fill_each(
    codes: CodeArray,
    tuples: IntArray,
    n_bins: IntArray,
    values: FloatArray,
    starts: IntArray,
    out: FloatArray,
    workers: Workers,
) -> None:
    """Fill the joint histograms of tuples by a pass over the rows for each.

    ``starts`` says where they begin in ``out``, which is zero there.
    """

    def fill(part: slice) -> None:
        kernels.fill_histograms(codes, tuples[part], n_bins, values, starts[part], out)

    workers.share(fill, len(tuples), len(tuples) * codes.shape[1] * len(values) // 2)


def fill_rules(
    lines: CodeArray,
    columns: WordArray,
    wanted: BoolArray,
    n_bins: IntArray,
    values: FloatArray,
    whole: FeatureSums,
    workers: Workers,
    room: Room,
) -> FloatArray:
    """Return histograms of features within rules, see `Engine.histograms_within`.

    ``lines`` are the codes by rows, ``columns`` those of the rules, ``whole`` are the sums of the
    values over all rows, ``room`` is where the answer lies. Of a rule that covers most rows, those
    it leaves out are added up, if that is less work, and taken from the sums of all.
    """
    n_rows, starts = len(lines), whole.starts
    out = room.zeros(len(columns), len(values), int(starts[-1]))
    covered = count_rows(columns) / max(n_rows, 1)
    turned = covered > 0.5
    if not whole.filled.all():
        asked = wanted[turned].any(axis=0) & ~whole.filled
        saved = wanted[turned].sum(axis=1) * (2.0 * covered[turned] - 1.0)
        if saved.sum() > np.count_nonzero(asked):
            whole.fill(asked.nonzero()[0])
        elif asked.any():
            turned[:] = False
    sums = whole.sums

    def fill(part: slice) -> None:
        each = columns[part], wanted[part], turned[part]
        kernels.fill_within(lines, *each, n_bins, values, sums, starts, out[part])

    if workers.n_threads == 1:
        fill(slice(0, len(columns)))
        return out
    walked = n_rows * np.where(turned, 1.0 - covered, covered)
    each = 0.35 * len(values) * (ROW_WORK + np.count_nonzero(wanted, axis=1))
    sizes = walked * each + 2.0 * len(values) * starts[-1]
    workers.share(fill, len(columns), int(sizes.sum()), sizes)
    return out


def extend_rules(
    lines: CodeArray,
    codes: CodeArray,
    columns: WordArray,
    n_bins: IntArray,
    values: FloatArray,
    whole: FeatureSums,
    bases: Bases,
    yardstick: Yardstick,
    workers: Workers,
) -> tuple[IntArray, BoolArray, IntArray, FloatArray]:
    """Extend rules by one condition after the other, see `Engine.extend`; threads share them out.

    ``lines`` are the codes by rows, ``columns`` those of the rules, ``values`` both derivatives,
    ``whole`` their sums over all rows.
    """
    n_rules, most = len(columns), len(yardstick.prices) - 1
    n_steps, left = np.zeros(n_rules, INDEX_DTYPE), np.zeros(n_rules, np.bool_)
    steps, gains = np.zeros((n_rules, most, 2), INDEX_DTYPE), np.zeros((n_rules, most))
    each = columns, bases.degrees, bases.least, bases.sides.copy(), bases.wants
    features = np.flatnonzero(yardstick.tried)
    axes = features, n_bins, whole.starts, yardstick.top, yardstick.way
    measure = values, whole.sums, yardstick.total, yardstick.ridge, yardstick.prices
    out = n_steps, left, steps, gains

    def extend(part: slice) -> None:
        mine, found = (array[part] for array in each), (array[part] for array in out)
        kernels.extend_rules(lines, codes, *mine, *axes, *measure, *found)

    if workers.n_threads == 1:
        extend(slice(0, n_rules))
        return out
    covered = count_rows(columns)
    walked = np.minimum(covered, len(lines) - covered)
    sizes = 1.4 * walked * (ROW_WORK + len(features)) + 2.0 * whole.starts[-1]
    workers.share(extend, n_rules, int(sizes.sum()), sizes)
    return out
