"""Bins of one feature: how values become codes, and which sets of bins are conditions.

A set of bins is a bit mask, a Python integer in which bit b stands for bin b. The last bin is the
one of missing values and is there even if no row is in it, as is the bin of levels without a bin
of their own, so that a code means the same in training and in prediction.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from ruleglm.columns import Column, Kind, Level, LevelColumn, NumberColumn, conform
from ruleglm.dtypes import (
    CODE_DTYPE,
    INDEX_DTYPE,
    MAX_BINS,
    BoolArray,
    CodeArray,
    IntArray,
)
from ruleglm.rules import Condition, Levels, Missing, Range

KNOWN_VOCABULARIES = 512
"""Vocabularies that are kept, since most columns have as many bins as others."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Elementary conditions of a feature, each of degree 1.

    Parameters
    ----------
    lo, hi : ndarray of shape (n_conditions,), int64
        First and last bin of each condition, both included.
    negate : ndarray of shape (n_conditions,), bool
        Whether the condition holds on all bins but ``lo..hi`` and the one of missing values.
    masks : tuple of int
        The bins of each condition.
    by_observed : dict of int to int
        The same by those of their bins that hold rows in training.
    """

    lo: IntArray
    hi: IntArray
    negate: BoolArray
    masks: tuple[int, ...]
    by_observed: dict[int, int]

    def __len__(self) -> int:
        return len(self.masks)


class FeatureBins(ABC):
    """What the three kinds of bins share; see `NumberBins`, `LevelBins` and `OrderedBins`."""

    name: str
    observed: int
    kind: Kind

    @property
    @abstractmethod
    def n_bins(self) -> int:
        """Number of bins, the reserved ones included."""

    @cached_property
    def missing_bin(self) -> int:
        """The bin of missing values, always the last."""
        return self.n_bins - 1

    @cached_property
    def present_mask(self) -> int:
        """Mask of all bins but the one of missing values."""
        return span_mask(0, self.missing_bin - 1)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Conditions of degree 1 that split the training rows, no two of them in the same way."""
        return _list_conditions(type(self), self.n_bins, self.observed)

    @cached_property
    def first_degree(self) -> IntArray:
        """Positions in the vocabulary, of two complementary conditions only the first."""
        seen: set[int] = set()
        kept = []
        for position, mask in enumerate(self.vocabulary.masks):
            if self.observed & ~mask not in seen:
                seen.add(mask & self.observed)
                kept.append(position)
        return np.array(kept, dtype=INDEX_DTYPE)

    def condition(self, mask: int) -> Condition:
        """Return the condition that holds on exactly the bins of a mask, else raise ValueError."""
        if mask == 1 << self.missing_bin:
            return Missing(self.name, missing=True)
        if mask == self.present_mask:
            return Missing(self.name, missing=False)
        self._check_mask(mask)
        return self._compare(mask)

    def mask(self, condition: Condition) -> int:
        """Return the mask of the bins on which a condition holds, the inverse of `condition`.

        Raises
        ------
        ValueError
            If the bins cannot tell the rows of the condition from others.
        """
        if condition.feature != self.name:
            raise ValueError(f"`{condition}` is not about column {self.name!r}.")
        if isinstance(condition, Missing):
            return 1 << self.missing_bin if condition.missing else self.present_mask
        return self._compared_mask(condition)

    def degree(self, mask: int) -> int:
        """Return the degree of the condition that holds on the bins of a mask."""
        if mask in (1 << self.missing_bin, self.present_mask):
            return 1
        self._check_mask(mask)
        return self._compared_degree(mask)

    @abstractmethod
    def encode(self, column: Column) -> CodeArray:
        """Return the bin of each row of the feature's column."""

    @staticmethod
    @abstractmethod
    def _elementary(n_bins: int) -> list[tuple[int, int, bool]]:
        """List ``(lo, hi, negate)`` of all conditions of degree 1, preferred ones first."""

    @abstractmethod
    def _check_mask(self, mask: int) -> None:
        """Refuse a mask that is not one comparison."""

    @abstractmethod
    def _compare(self, mask: int) -> Condition: ...

    @abstractmethod
    def _compared_degree(self, mask: int) -> int: ...

    @abstractmethod
    def _compared_mask(self, condition: Range | Levels) -> int: ...

    def _refuse_mask(self, mask: int) -> ValueError:
        return ValueError(f"The bins {mask:#b} of column {self.name!r} are not one condition.")

    def _refuse_condition(self, condition: Condition, reason: str) -> ValueError:
        return ValueError(f"`{condition}` cannot be told from the bins of its column: {reason}.")


@dataclass(frozen=True)
class NumberBins(FeatureBins):
    """Bins of a number: bin j holds ``thresholds[j - 1] < x <= thresholds[j]``.

    Parameters
    ----------
    name : str
        Name of the feature.
    thresholds : tuple of float
        Finite and ascending, at most 254.
    observed : int
        Mask of the bins that hold rows in training.
    """

    name: str
    thresholds: tuple[float, ...]
    observed: int
    kind = "number"

    def __post_init__(self) -> None:
        if len(self.thresholds) > MAX_BINS - 2:
            raise ValueError(
                f"Column {self.name!r} has {len(self.thresholds)} thresholds; at most "
                f"{MAX_BINS - 2} are possible."
            )
        for threshold in self.thresholds:
            if not math.isfinite(threshold):
                raise ValueError(f"Column {self.name!r} has the threshold {threshold}.")
        for low, high in pairwise(self.thresholds):
            if not low < high:
                raise ValueError(
                    f"The thresholds of column {self.name!r} must ascend, but {low} comes before "
                    f"{high}."
                )

    @property
    def n_bins(self) -> int:
        """Number of bins: one more than thresholds, and one for missing values."""
        return len(self.thresholds) + 2

    def encode(self, column: Column) -> CodeArray:
        """Return the bin of each row of the feature's column."""
        numbers = conform(column, "number")
        if not isinstance(numbers, NumberColumn):  # conform sees to it
            raise TypeError(f"Column {self.name!r} does not hold numbers.")
        from ruleglm import kernels  # not at the top: a model that only predicts has no use of them

        given = np.require(numbers.values, np.float64, ["C", "W"])
        thresholds, codes = np.array(self.thresholds, np.float64), np.empty(len(given), CODE_DTYPE)
        kernels.encode_numbers(given, thresholds, self.missing_bin, codes)
        return codes

    @staticmethod
    def _elementary(n_bins: int) -> list[tuple[int, int, bool]]:
        last = n_bins - 2
        upto = [(0, j, False) for j in range(last)]
        above = [(j + 1, last, False) for j in range(last)]
        return [*upto, *above, (last + 1, last + 1, False), (0, last, False)]

    def _check_mask(self, mask: int) -> None:
        if not 0 < mask < self.present_mask or mask != span_mask(*_find_span(mask)):
            raise self._refuse_mask(mask)

    def _compare(self, mask: int) -> Condition:
        lo, hi = _find_span(mask)
        low = self.thresholds[lo - 1] if lo else -math.inf
        high = self.thresholds[hi] if hi < len(self.thresholds) else math.inf
        return Range(self.name, low, high)

    def _compared_degree(self, mask: int) -> int:
        lo, hi = _find_span(mask)
        return int(lo > 0) + int(hi < len(self.thresholds))

    def _compared_mask(self, condition: Range | Levels) -> int:
        if isinstance(condition, Levels) or condition.order is not None:
            raise self._refuse_condition(condition, "it holds numbers, so use `<=` and `>`")
        bounds = (-math.inf, *self.thresholds, math.inf)
        for bound in (condition.low, condition.high):
            if bound not in bounds:
                raise self._refuse_condition(condition, f"{bound} is not one of its thresholds")
        return span_mask(bounds.index(condition.low), bounds.index(condition.high) - 1)


@dataclass(frozen=True)
class LevelBins(FeatureBins):
    """Bins of levels without an order: one for each level, one for all others.

    Parameters
    ----------
    name : str
        Name of the feature.
    levels : tuple of levels
        Those with a bin of their own, at most 254; any other, rare or unseen, shares the next bin.
    observed : int
        Mask of the bins that hold rows in training.
    """

    name: str
    levels: tuple[Level, ...]
    observed: int
    kind = "level"

    def __post_init__(self) -> None:
        _check_levels(self.name, self.levels)

    @property
    def n_bins(self) -> int:
        """Number of bins: the levels, one for other levels, one for missing values."""
        return len(self.levels) + 2

    def encode(self, column: Column) -> CodeArray:
        """Return the bin of each row of the feature's column."""
        return _encode_levels(column, self.levels)

    @staticmethod
    def _elementary(n_bins: int) -> list[tuple[int, int, bool]]:
        other = n_bins - 2
        equal = [(j, j, False) for j in range(other)]
        differ = [(j, j, True) for j in range(other)]
        return [*equal, *differ, (other + 1, other + 1, False), (0, other, False)]

    def _check_mask(self, mask: int) -> None:
        if not 0 < mask < self.present_mask:
            raise self._refuse_mask(mask)

    def _named(self, mask: int) -> tuple[int, bool]:
        """Return the bins of the levels that a comparison names, and whether it is negated."""
        negated = bool(mask >> len(self.levels) & 1)
        return self.present_mask & ~mask if negated else mask, negated

    def _compare(self, mask: int) -> Condition:
        named, negated = self._named(mask)
        levels = (level for j, level in enumerate(self.levels) if named >> j & 1)
        return Levels(self.name, tuple(levels), negated)

    def _compared_degree(self, mask: int) -> int:
        return self._named(mask)[0].bit_count()

    def _compared_mask(self, condition: Range | Levels) -> int:
        if isinstance(condition, Range):
            raise self._refuse_condition(condition, "its levels have no order")
        named = 0
        for level in condition.levels:
            if level not in self.levels:
                reason = f"the level {level!r} has no bin of its own"
                raise self._refuse_condition(condition, reason)
            named |= 1 << self.levels.index(level)
        return self.present_mask & ~named if condition.negated else named


@dataclass(frozen=True)
class OrderedBins(FeatureBins):
    """Bins of ordered levels: one for each level, in order, and one for unseen ones.

    Parameters
    ----------
    name : str
        Name of the feature.
    order : tuple of levels
        All levels, lowest first, at most 254.
    observed : int
        Mask of the bins that hold rows in training.
    """

    name: str
    order: tuple[Level, ...]
    observed: int
    kind = "ordered"

    def __post_init__(self) -> None:
        _check_levels(self.name, self.order)

    @property
    def n_bins(self) -> int:
        """Number of bins: the levels, one for unseen levels, one for missing values."""
        return len(self.order) + 2

    def encode(self, column: Column) -> CodeArray:
        """Return the bin of each row of the feature's column."""
        return _encode_levels(column, self.order)

    @staticmethod
    def _elementary(n_bins: int) -> list[tuple[int, int, bool]]:
        last = n_bins - 3
        upto = [(0, j, False) for j in range(last)]
        above = [(j + 1, last, False) for j in range(last)]
        return [*upto, *above, (last + 2, last + 2, False), (0, last + 1, False)]

    def _check_mask(self, mask: int) -> None:
        lo, hi = _find_span(mask)
        if not 0 < mask < self.present_mask or mask != span_mask(lo, hi) or hi >= len(self.order):
            raise self._refuse_mask(mask)

    def _compare(self, mask: int) -> Condition:
        lo, hi = _find_span(mask)
        return Range(self.name, lo - 1 if lo else -math.inf, hi, self.order)

    def _compared_degree(self, mask: int) -> int:
        lo, hi = _find_span(mask)
        return 1 + int(lo > 0 and hi < len(self.order) - 1)

    def _compared_mask(self, condition: Range | Levels) -> int:
        if isinstance(condition, Levels) or condition.order is None:
            raise self._refuse_condition(condition, "it holds ordered levels, so use `<=` and `>`")
        if condition.order != self.order:
            raise self._refuse_condition(condition, f"its order is {self.order}")
        lo = int(max(condition.low, -1)) + 1
        return span_mask(lo, int(min(condition.high, len(self.order) - 1)))


@lru_cache(maxsize=KNOWN_VOCABULARIES)
def _list_conditions(kind: type[FeatureBins], n_bins: int, observed: int) -> Vocabulary:
    """List the conditions of a vocabulary, which features with the same bins share."""
    present = span_mask(0, n_bins - 2)
    kept: dict[int, tuple[int, int, bool, int]] = {}
    for lo, hi, negate in kind._elementary(n_bins):
        span = span_mask(lo, hi)
        mask = present & ~span if negate else span
        seen = mask & observed
        if seen and seen != observed:
            kept.setdefault(seen, (lo, hi, negate, mask))
    rows = list(kept.values())
    return Vocabulary(
        lo=np.array([row[0] for row in rows], dtype=INDEX_DTYPE),
        hi=np.array([row[1] for row in rows], dtype=INDEX_DTYPE),
        negate=np.array([row[2] for row in rows], dtype=np.bool_),
        masks=tuple(row[3] for row in rows),
        by_observed={seen: row[3] for seen, row in kept.items()},
    )


def span_mask(lo: int, hi: int) -> int:
    """Return the mask of the bins from `lo` to `hi`, both included."""
    return (1 << hi + 1) - (1 << lo)


def _find_span(mask: int) -> tuple[int, int]:
    """Return the lowest and the highest bin of a mask."""
    return (mask & -mask).bit_length() - 1, mask.bit_length() - 1


def _encode_levels(column: Column, levels: tuple[Level, ...]) -> CodeArray:
    """Code each row by the place of its level, then one code for other levels, one for missing."""
    read = conform(column, "level")
    if not isinstance(read, LevelColumn):  # conform sees to it
        raise TypeError(f"Column {column.name!r} does not hold levels.")
    place = {level: code for code, level in enumerate(levels)}
    codes = [place.get(level, len(levels)) for level in read.levels]
    lookup = np.array([*codes, len(levels) + 1], dtype=CODE_DTYPE)  # code -1 reads the last entry
    return lookup[read.codes]


def _check_levels(name: str, levels: tuple[Level, ...]) -> None:
    if len(levels) > MAX_BINS - 2:
        raise ValueError(
            f"Column {name!r} has {len(levels)} levels, and at most {MAX_BINS - 2} are possible; "
            "group some of them, or turn the column into numbers."
        )
    if len(set(levels)) < len(levels):
        raise ValueError(f"The levels of column {name!r} are not distinct: {levels}.")
