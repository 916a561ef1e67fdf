"""Turns rows into bin codes, one byte a feature, and rules into bins and back.

The matrix of all conditions on all rows is never built: a condition is a set of bins of one
feature, and everything that is learned from the rows is a sum over rows that share a bin.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from ruleglm.bins import FeatureBins, LevelBins, NumberBins, OrderedBins, Vocabulary
from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE, BoolArray, CodeArray, FloatArray, IntArray
from ruleglm.frames import (
    Column,
    Kind,
    Level,
    Table,
    TableScan,
    check_name,
)
from ruleglm.rules import Rule
from ruleglm.sketches import LevelSketch, NumberSketch, Sketch, sketch_column
from ruleglm.storage import GrowingRows
from ruleglm.thresholds import TIE, choose_thresholds, merge_thresholds

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
    "choose_binning",
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
    visit: Callable[[Column, Sketch], None] | None = None,
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
        Called with each column and its summary in turn, for what else is to be made of them.

    Returns
    -------
    binning : Binning
        A column with one value, or none, is kept with an empty vocabulary.
    codes : ndarray of shape (n_features, n_rows), uint8
        What `Binning.encode` returns for the same rows.
    """
    chooser = _make_chooser(table.names, bins, thresholds, min_level_share, wanted)
    rows, weight = _drop_weightless(sample_weight, table.n_rows)
    features: list[FeatureBins] = []
    workdir = table.workdir if isinstance(table, TableScan) else None
    codes = GrowingRows(table.n_rows, CODE_DTYPE, workdir)
    for column in table.columns:
        sketch = sketch_column(column if rows is None else column.take(rows), weight)
        chosen = chooser.choose(sketch)
        codes.append(chosen.encode(column))
        features.append(chosen)
        if visit is not None:
            visit(column, sketch)
        del column, sketch  # so that they are gone before the next is read
    return Binning(tuple(features)), codes.array()


def build_binning(
    table: Table | TableScan,
    *,
    bins: int = 32,
    thresholds: Mapping[str, Sequence[float]] | None = None,
    sample_weight: FloatArray | None = None,
    min_level_share: float = 0.0,
) -> Binning:
    """Choose the bins of every column and code no rows; the parameters are those of `bin_rows`."""
    rows, weight = _drop_weightless(sample_weight, table.n_rows)
    columns = (column if rows is None else column.take(rows) for column in table.columns)
    return choose_binning(
        (sketch_column(column, weight) for column in columns),
        table.names,
        bins=bins,
        thresholds=thresholds,
        min_level_share=min_level_share,
    )


def choose_binning(
    sketches: Iterable[Sketch],
    names: Sequence[str],
    *,
    bins: int = 32,
    thresholds: Mapping[str, Sequence[float]] | None = None,
    min_level_share: float = 0.0,
    wanted: Mapping[str, Sequence[Level]] | None = None,
) -> Binning:
    """Choose the bins of columns by their summaries; the other parameters are those of `bin_rows`.

    Parameters
    ----------
    sketches : iterable of NumberSketch or LevelSketch
        Of the rows of positive weight, one for each column.
    names : sequence of str
        Names of the columns, in the same order.
    """
    chooser = _make_chooser(names, bins, thresholds, min_level_share, wanted)
    return Binning(tuple(map(chooser.choose, sketches)))


@dataclass(frozen=True, eq=False)
class _Chooser:
    """Chooses the bins of one column after the other."""

    bins: int
    thresholds: dict[str, tuple[float, ...]]
    min_level_share: float
    wanted: Mapping[str, Sequence[Level]]

    def choose(self, sketch: Sketch) -> FeatureBins:
        given = self.thresholds.get(sketch.name)
        wanted = self.wanted.get(sketch.name, ())
        if isinstance(sketch, NumberSketch):
            return _bin_numbers(sketch, self.bins, given, tuple(map(float, wanted)))
        if given is not None:
            raise ValueError(
                f"`thresholds` names column {sketch.name!r}, which holds levels; only numbers "
                "have them."
            )
        if sketch.ordered:
            observed = [*(sketch.weights > 0.0).tolist(), False, sketch.missing > 0.0]
            return OrderedBins(sketch.name, sketch.levels, _pack_mask(observed))
        return _bin_levels(sketch, self.min_level_share, wanted)


def _make_chooser(
    names: Sequence[str],
    bins: int,
    thresholds: Mapping[str, Sequence[float]] | None,
    min_level_share: float,
    wanted: Mapping[str, Sequence[Level]] | None = None,
) -> _Chooser:
    """Check all that can be checked before a column is read."""
    if not 2 <= bins <= 254:
        raise ValueError(f"`bins` must be from 2 to 254, got {bins}.")
    if not 0.0 <= min_level_share <= 1.0:
        raise ValueError(f"`min_level_share` must be from 0 to 1, got {min_level_share}.")
    given = _check_thresholds(names, thresholds or {})
    return _Chooser(bins, given, min_level_share, wanted or {})


def _check_thresholds(
    names: Sequence[str], thresholds: Mapping[str, Sequence[float]]
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
    sketch: NumberSketch, bins: int, given: tuple[float, ...] | None, wanted: tuple[float, ...]
) -> NumberBins:
    distinct = sketch.distinct
    thresholds = choose_thresholds(distinct, bins) if given is None else given
    if wanted:
        thresholds = merge_thresholds(distinct, thresholds, wanted)
    ends = distinct.values.searchsorted(thresholds, side="right").tolist()
    filled = [low < high for low, high in pairwise([0, *ends, len(distinct.values)])]
    observed = _pack_mask([*filled, sketch.missing > 0.0])
    return NumberBins(sketch.name, thresholds, observed)


def _bin_levels(sketch: LevelSketch, min_level_share: float, wanted: Sequence[Level]) -> LevelBins:
    weights = sketch.weights
    least = min_level_share * sketch.known * (1.0 - TIE)
    kept = _keep_levels(sketch.levels, weights, least, wanted)
    others = np.delete(weights, kept).sum() + sketch.others
    observed = [*(weights[kept] > 0.0).tolist(), others > 0.0, sketch.missing > 0.0]
    return LevelBins(sketch.name, tuple(sketch.levels[j] for j in kept), _pack_mask(observed))


def _keep_levels(
    levels: tuple[Level, ...],
    weights: FloatArray,
    least: float,
    wanted: Sequence[Level],
) -> list[int]:
    """Return positions of the levels that get a bin of their own, ascending."""
    asked = [j for j, level in enumerate(levels) if level in wanted]
    kept = [
        j
        for j in np.argsort(-weights, kind="stable").tolist()
        if weights[j] > 0.0 and weights[j] >= least and levels[j] not in (-math.inf, math.inf)
    ]
    return sorted(list(dict.fromkeys([*asked, *kept]))[:MOST_LEVELS])


def _pack_mask(filled: Sequence[bool]) -> int:
    return int.from_bytes(np.packbits(filled, bitorder="little").tobytes(), "little")
