"""Turns rows into bin codes, one byte a feature, and rules into bins and back.

The matrix of all conditions on all rows is never built: a condition is a set of bins of one
feature, and everything that is learned from the rows is a sum over rows that share a bin.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ruleglm.bins import FeatureBins, LevelBins, NumberBins, OrderedBins, Vocabulary, span_mask
from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE, BoolArray, CodeArray, FloatArray, IntArray
from ruleglm.frames import (
    Column,
    Kind,
    Level,
    LevelColumn,
    NumberColumn,
    Table,
    TableScan,
    check_name,
)
from ruleglm.rules import Rule
from ruleglm.thresholds import TIE, choose_thresholds, collect_distinct, merge_thresholds

__all__ = [
    "BinRule",
    "Binning",
    "FeatureBins",
    "LevelBins",
    "NumberBins",
    "OrderedBins",
    "Vocabulary",
    "bin_rows",
    "build_binning",
]

BinRule: TypeAlias = tuple[tuple[int, int], ...]
"""A rule as sorted pairs of feature number and bit mask over its bins."""

MOST_LEVELS = 253
"""Levels of a feature that may have a bin of their own; the others share one."""


@dataclass(frozen=True)
class Binning:
    """The bins of every feature.

    Parameters
    ----------
    features : tuple of NumberBins, LevelBins or OrderedBins
        One for each column, in the order of the codes.
    """

    features: tuple[FeatureBins, ...]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @cached_property
    def n_bins(self) -> IntArray:
        """Number of bins of each feature, the reserved ones included."""
        return np.array([bins.n_bins for bins in self.features], dtype=INDEX_DTYPE)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(bins.name for bins in self.features)

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """What each feature's column has to be read as."""
        return {bins.name: bins.kind for bins in self.features}

    @cached_property
    def orders(self) -> dict[str, tuple[Level, ...]]:
        """Levels of the ordered features, lowest first."""
        return {bins.name: bins.order for bins in self.features if isinstance(bins, OrderedBins)}

    @cached_property
    def thresholds(self) -> dict[str, tuple[float, ...]]:
        """Thresholds of the number features."""
        numbers = (bins for bins in self.features if isinstance(bins, NumberBins))
        return {bins.name: bins.thresholds for bins in numbers}

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def encode(self, table: Table) -> CodeArray:
        """Return the bin of every value.

        Parameters
        ----------
        table : Table
            Rows with a column for every feature; columns are found by name.

        Returns
        -------
        ndarray of shape (n_features, n_rows), uint8
            One contiguous row of codes for each feature.
        """
        codes = np.empty((self.n_features, table.n_rows), dtype=CODE_DTYPE)
        for bins, out in zip(self.features, codes, strict=True):
            out[:] = bins.encode(table.column(bins.name))
        return codes

    def to_rule(self, bin_rule: BinRule) -> Rule:
        """Say a rule over bins in the data's own names and values."""
        return Rule(tuple(self.features[feature].condition(mask) for feature, mask in bin_rule))

    def from_rule(self, rule: Rule) -> BinRule:
        """Say a rule over bins, the inverse of `to_rule`.

        Parameters
        ----------
        rule : Rule
            Its conditions have to be on these features, at their thresholds and levels.

        Returns
        -------
        tuple of (int, int)
            Pairs of feature number and bit mask, sorted.

        Raises
        ------
        ValueError
            If a condition is on no feature, or cannot be told from its bins.
        """
        pairs = []
        for condition in rule.conditions:
            if condition.feature not in self._position:
                raise ValueError(
                    f"`{condition}` is on column {condition.feature!r}, not a feature."
                )
            feature = self._position[condition.feature]
            pairs.append((feature, self.features[feature].mask(condition)))
        return tuple(sorted(pairs))

    def degree(self, bin_rule: BinRule) -> int:
        """Return the number of elementary conditions of a rule."""
        return sum(self.features[feature].degree(mask) for feature, mask in bin_rule)


def bin_rows(
    table: Table | TableScan,
    *,
    bins: int = 32,
    thresholds: Mapping[str, Sequence[float]] | None = None,
    sample_weight: FloatArray | None = None,
    min_level_share: float = 0.0,
    wanted: Mapping[str, Sequence[Level]] | None = None,
    visit: Callable[[Column], None] | None = None,
) -> tuple[Binning, CodeArray]:
    """Choose the bins of every column and code its rows, going over the columns once.

    Parameters
    ----------
    table : Table or TableScan
        The training rows; of a scan, one column at a time is in memory.
    bins : int
        The most bins that a column of numbers gets, from 2 to 254, missing values not counted.
    thresholds : mapping of str to sequence of float, optional
        Thresholds of columns for which they are not to be chosen.
    sample_weight : ndarray of shape (n_rows,), optional
        Weights, not negative; a row of weight 2 counts as two rows, one of weight 0 as none.
    min_level_share : float
        Levels with a smaller share of the weight, among rows that are not missing, have no bin of
        their own.
    wanted : mapping of str to sequence of float or level, optional
        Thresholds and levels that the bins of a column have to tell apart, beside those chosen.
    visit : callable, optional
        Called with each column in turn, for what else is to be made of it.

    Returns
    -------
    binning : Binning
        A column with one value, or none, is kept with an empty vocabulary.
    codes : ndarray of shape (n_features, n_rows), uint8
        What `Binning.encode` returns for the same rows.
    """
    chooser = _make_chooser(table, bins, thresholds, sample_weight, min_level_share, wanted)
    features: list[FeatureBins] = []
    codes = np.empty((len(table.names), table.n_rows), dtype=CODE_DTYPE)
    for column in table.columns:
        chosen = chooser.choose(column)
        codes[len(features)] = chosen.encode(column)
        features.append(chosen)
        if visit is not None:
            visit(column)
        del column  # so that it is gone before the next is read
    return Binning(tuple(features)), codes


def build_binning(
    table: Table | TableScan,
    *,
    bins: int = 32,
    thresholds: Mapping[str, Sequence[float]] | None = None,
    sample_weight: FloatArray | None = None,
    min_level_share: float = 0.0,
) -> Binning:
    """Choose the bins of every column and code no rows; the parameters are those of `bin_rows`."""
    chooser = _make_chooser(table, bins, thresholds, sample_weight, min_level_share)
    return Binning(tuple(map(chooser.choose, table.columns)))


@dataclass(frozen=True, eq=False)
class _Chooser:
    """Chooses the bins of one column after the other; ``rows`` are those of positive weight."""

    bins: int
    thresholds: dict[str, tuple[float, ...]]
    rows: BoolArray | None
    weight: FloatArray | None
    min_level_share: float
    wanted: Mapping[str, Sequence[Level]]

    def choose(self, column: Column) -> FeatureBins:
        if self.rows is not None:
            column = column.take(self.rows)
        given = self.thresholds.get(column.name)
        wanted = self.wanted.get(column.name, ())
        if isinstance(column, NumberColumn):
            return _bin_numbers(column, self.weight, self.bins, given, tuple(map(float, wanted)))
        if given is not None:
            raise ValueError(
                f"`thresholds` names column {column.name!r}, which holds levels; only numbers "
                "have them."
            )
        if column.ordered:
            return _bin_ordered(column)
        return _bin_levels(column, self.weight, self.min_level_share, wanted)


def _make_chooser(
    table: Table | TableScan,
    bins: int,
    thresholds: Mapping[str, Sequence[float]] | None,
    sample_weight: FloatArray | None,
    min_level_share: float,
    wanted: Mapping[str, Sequence[Level]] | None = None,
) -> _Chooser:
    """Check all that can be checked before a column is read."""
    if not 2 <= bins <= 254:
        raise ValueError(f"`bins` must be from 2 to 254, got {bins}.")
    if not 0.0 <= min_level_share <= 1.0:
        raise ValueError(f"`min_level_share` must be from 0 to 1, got {min_level_share}.")
    given = _check_thresholds(table.names, thresholds or {})
    rows, weight = _drop_weightless(sample_weight, table.n_rows)
    return _Chooser(bins, given, rows, weight, min_level_share, wanted or {})


def _check_thresholds(
    names: tuple[str, ...], thresholds: Mapping[str, Sequence[float]]
) -> dict[str, tuple[float, ...]]:
    checked = {}
    for name, given in thresholds.items():
        check_name(name, names)
        try:
            numbers = tuple(float(threshold) + 0.0 for threshold in given)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"`thresholds` of column {name!r} are {given!r}; give a list of numbers."
            ) from error
        checked[name] = NumberBins(name, numbers, observed=0).thresholds
    return checked


def _drop_weightless(
    sample_weight: FloatArray | None, n_rows: int
) -> tuple[BoolArray | None, FloatArray | None]:
    """Return the rows of positive weight, None for all, and their weights, None for equal ones."""
    if sample_weight is None:
        return None, None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"`sample_weight` has shape {weight.shape}, not ({n_rows},).")
    positive = weight > 0.0
    rows = None if positive.all() else positive
    weight = weight if rows is None else weight[rows]
    if len(weight) and weight.min() == weight.max():
        return rows, None  # equal weights choose the same bins as none
    return rows, weight


def _bin_numbers(
    column: NumberColumn,
    weight: FloatArray | None,
    bins: int,
    given: tuple[float, ...] | None,
    wanted: tuple[float, ...],
) -> NumberBins:
    distinct = collect_distinct(column.values, weight)
    thresholds = choose_thresholds(distinct, bins) if given is None else given
    if wanted:
        thresholds = merge_thresholds(distinct, thresholds, wanted)
    ends = np.searchsorted(distinct.values, thresholds, side="right")
    filled = np.diff(ends, prepend=0, append=len(distinct.values)) > 0
    has_missing = bool(np.isnan(column.values).any())
    return NumberBins(column.name, thresholds, _pack_mask([*filled.tolist(), has_missing]))


def _bin_levels(
    column: LevelColumn,
    weight: FloatArray | None,
    min_level_share: float,
    wanted: Sequence[Level],
) -> LevelBins:
    per_level = _level_weights(column, weight)
    kept = _keep_levels(column.levels, per_level[:-1], min_level_share, wanted)
    others = np.delete(per_level[:-1], kept).sum()
    observed = [*(per_level[kept] > 0.0).tolist(), others > 0.0, per_level[-1] > 0.0]
    return LevelBins(column.name, tuple(column.levels[j] for j in kept), _pack_mask(observed))


def _keep_levels(
    levels: tuple[Level, ...],
    weights: FloatArray,
    min_level_share: float,
    wanted: Sequence[Level],
) -> list[int]:
    """Return positions of the levels that get a bin of their own, ascending."""
    least = min_level_share * weights.sum() * (1.0 - TIE)
    asked = [j for j, level in enumerate(levels) if level in wanted]
    kept = [
        j
        for j in np.argsort(-weights, kind="stable").tolist()
        if weights[j] > 0.0 and weights[j] >= least and levels[j] not in (-math.inf, math.inf)
    ]
    return sorted(list(dict.fromkeys([*asked, *kept]))[:MOST_LEVELS])


def _bin_ordered(column: LevelColumn) -> OrderedBins:
    per_level = _level_weights(column, None)
    observed = [*(per_level[:-1] > 0.0).tolist(), False, per_level[-1] > 0.0]
    return OrderedBins(column.name, column.levels, _pack_mask(observed))


def _level_weights(column: LevelColumn, weight: FloatArray | None) -> FloatArray:
    """Return the weight of each level, and last that of missing values."""
    n_levels = len(column.levels)
    counts = np.bincount(column.codes + 1, weights=weight, minlength=n_levels + 1)
    return np.append(counts[1:], counts[0]).astype(np.float64)


def _pack_mask(filled: Sequence[bool]) -> int:
    return sum(span_mask(place, place) for place, rows in enumerate(filled) if rows)
