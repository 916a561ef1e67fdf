"""Few passes over the rows for many joint histograms.

The histogram of some features is that of a set with one feature more, added up over the bins of
that one. Where all pairs (or triples) of some features are asked for, a third (or a quarter) as
many triples (or sets of four) contain them all.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from ruleglm.dtypes import INDEX_DTYPE, BoolArray, IntArray

MAX_FEATURES = 20
"""Of more features no cover is looked for: that takes longer than the passes it saves."""

ROWS_PER_CELL = 4
"""Rows for each cell of a larger histogram, at least, or adding it up takes as long as a pass."""


@dataclass(frozen=True)
class Cover:
    """Sets of features, and which tuples come of leaving out each of theirs.

    Attributes
    ----------
    sets : (n_sets, order + 1) int64, feature numbers
    without : (n_sets, order + 1) int64, the tuple that is left, -1 for one that is not wanted
    rest : (n_rest,) int64, tuples that no set has
    """

    sets: IntArray
    without: IntArray
    rest: IntArray


def cover_tuples(tuples: IntArray, n_bins: IntArray, n_rows: int) -> Cover | None:
    """Return sets that have all of the tuples, None if that does not pay.

    Parameters
    ----------
    tuples : (n_tuples, order) int64, the features of each ascending
    n_bins : (n_features,) int64
    n_rows : int
    """
    order = tuples.shape[1]
    if order not in (2, 3) or not order < len(tuples) <= comb(MAX_FEATURES, order):
        return None
    return _cover(tuples.tobytes(), order, n_bins.tobytes(), n_rows)


@lru_cache(maxsize=256)
def _cover(tuples_bytes: bytes, order: int, n_bins_bytes: bytes, n_rows: int) -> Cover | None:
    """Do what `cover_tuples` does; the same tuples are asked for round after round."""
    tuples = np.frombuffer(tuples_bytes, INDEX_DTYPE).reshape(-1, order)
    n_bins = np.frombuffer(n_bins_bytes, INDEX_DTYPE)
    features = np.unique(tuples)
    if len(tuples) != comb(len(features), order):
        return None
    every, sets, without = choose_sets(len(features), order)
    if not np.array_equal(features[every], tuples):
        return None
    small = np.prod(n_bins[features[sets]], axis=1) * ROWS_PER_CELL <= n_rows
    sets, without = sets[small], without[small]
    if not len(sets):
        return None
    reached = np.zeros(len(tuples), np.bool_)
    reached[without[without >= 0]] = True
    return Cover(features[sets], without, np.flatnonzero(~reached))


@lru_cache(maxsize=256)
def choose_sets(n_features: int, order: int) -> tuple[IntArray, IntArray, IntArray]:
    """Choose sets that have all tuples of an order, each time the one with the most new tuples.

    Returns
    -------
    every : (n_tuples, order) int64, all tuples, ascending
    sets : (n_sets, order + 1) int64
    without : (n_sets, order + 1) int64, see `Cover`; each tuple is wanted of one set
    """
    every = np.array(list(combinations(range(n_features), order)), INDEX_DTYPE)
    number = {each: k for k, each in enumerate(map(tuple, every.tolist()))}
    wider = list(combinations(range(n_features), order + 1))
    parts = np.array(
        [[number[each[:j] + each[j + 1 :]] for j in range(order + 1)] for each in wider],
        INDEX_DTYPE,
    )
    missing: BoolArray = np.ones(len(every), np.bool_)
    chosen, without = [], []
    while missing.any():
        new = missing[parts]
        best = int(np.argmax(new.sum(axis=1)))
        chosen.append(wider[best])
        without.append(np.where(new[best], parts[best], -1))
        missing[parts[best]] = False
    return every, np.array(chosen, INDEX_DTYPE), np.array(without, INDEX_DTYPE)
