"""Coarse bins: pairs of features are searched on few bins of each, and refined where they pay."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from ruleglm.bins import FeatureBins, NumberBins
from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE, MAX_BINS, CodeArray
from ruleglm.pricing.vocabulary import ConditionTable

N_COARSE = 16
"""Coarse bins of a number."""


class CoarseBins:
    """Conditions on coarse bins, and the way back to the bins that they join.

    Attributes
    ----------
    table : ConditionTable, of the coarse bins
    lookup : (n_features, MAX_BINS) uint8, the coarse bin of each bin
    fine_mask : callable, gives the bins that a set of coarse bins of a feature joins
    coded_mask : callable, the same for the condition on coarse bins that a code says
    """

    def __init__(self, fine: ConditionTable) -> None:
        features, self.lookup = coarsen(fine.features)
        self.table = ConditionTable(features, fine.constraints)
        self._n_bins = fine.n_bins
        self._joined = cache(self._list_joined)
        self.fine_mask = cache(self._spread_mask)
        self.coded_mask = cache(self._spread_code)

    def _list_joined(self, feature: int) -> list[int]:
        """Return the mask of the bins that each coarse bin of a feature joins."""
        joined = [0] * int(self.table.n_bins[feature])
        for fine, coarse in enumerate(self.lookup[feature, : int(self._n_bins[feature])].tolist()):
            joined[coarse] |= 1 << fine
        return joined

    def _spread_code(self, feature: int, code: int) -> int:
        return self.fine_mask(feature, self.table.coded_mask(feature, code))

    def _spread_mask(self, feature: int, mask: int) -> int:
        return sum(bins for k, bins in enumerate(self._joined(feature)) if mask >> k & 1)


def coarsen(features: Sequence[FeatureBins]) -> tuple[tuple[FeatureBins, ...], CodeArray]:
    """Join neighbouring bins of numbers until there are about `N_COARSE`; levels stay as they are.

    Returns
    -------
    features : tuple of FeatureBins
    lookup : (n_features, MAX_BINS) uint8, the coarse bin of each bin
    """
    lookup = np.tile(np.arange(MAX_BINS, dtype=CODE_DTYPE), (len(features), 1))
    coarse: list[FeatureBins] = []
    for bins, table in zip(features, lookup, strict=True):
        if not isinstance(bins, NumberBins) or len(bins.thresholds) < N_COARSE:
            coarse.append(bins)
            continue
        kept, table[:] = _join(len(bins.thresholds))
        joined = enumerate(table[: bins.n_bins].tolist())
        seen = {into for b, into in joined if bins.observed >> b & 1}
        thresholds = tuple(bins.thresholds[k] for k in kept)
        coarse.append(NumberBins(bins.name, thresholds, sum(1 << b for b in seen)))
    return tuple(coarse), lookup


@cache
def _join(n_thresholds: int) -> tuple[list[int], CodeArray]:
    """Return which of many thresholds stay, and the coarse bin of each bin."""
    kept = np.linspace(0, n_thresholds, N_COARSE + 1)[1:-1].astype(INDEX_DTYPE) - 1
    joined = np.full(MAX_BINS, len(kept) + 1, CODE_DTYPE)  # that of missing values
    joined[: n_thresholds + 1] = np.searchsorted(kept, np.arange(n_thresholds + 1))
    return kept.tolist(), joined
