"""The rows of one partition: what is done with them on the worker that has them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ruleglm.binning import Binning
from ruleglm.checks import check_offset, check_row_vector, check_weights
from ruleglm.class_weights import scale_weights
from ruleglm.dask.groups import PartRows
from ruleglm.dtypes import AnyArray, BoolArray, FloatArray, IntArray
from ruleglm.family import Family
from ruleglm.fitting import PathModel
from ruleglm.frames import Table, TableScan, scan_table
from ruleglm.selection import held_out_losses
from ruleglm.sketches import Sketch, merge_sketches, shorten, sketch_column
from ruleglm.targets import check_labels, check_target
from ruleglm.training import RawRows, Units

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Block:
    """A partition as it came.

    Attributes
    ----------
    number : int
    X : frame or array
    vectors : mapping of str to array: "y" and, where given, "sample_weight", "offset", "exposure"
        and "groups"
    """

    number: int
    X: Any
    vectors: Mapping[str, AnyArray]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)


@dataclass(frozen=True)
class Fold:
    """Rows on one side of a fold: those held out, or all others.

    Rows are dealt out to the folds partition by partition, in a random order, those of each class
    by themselves; or by their groups.
    """

    number: int
    n_folds: int
    seed: int
    stratified: bool
    held_out: bool


@dataclass(frozen=True, eq=False)
class View:
    """How the rows of all partitions are seen.

    Attributes
    ----------
    family : Family
    categorical : sequence of str or int
    classes : array of labels, None for a regression
    factors : (n_classes,) float64, what classes count, or None
    fold : Fold, or None for all rows
    """

    family: Family
    categorical: Sequence[Any]
    classes: AnyArray | None
    factors: FloatArray | None = None
    fold: Fold | None = None


@dataclass(frozen=True, eq=False)
class Glance:
    """First look at a partition: its rows, and the weight of each label in it."""

    n_rows: int
    labels: dict[Any, float]


@dataclass(frozen=True, eq=False)
class Summary:
    """What bins and scales are made from.

    Attributes
    ----------
    counts : for each partition, the rows of positive weight
    weight : float, of all rows
    moments : mean of the target less its offset, and sum of squares about it
    mean : float, of the target
    masses : weight of each class, empty for a regression
    sketches : list of Sketch, one for each column; none if there are no rows
    """

    counts: tuple[int, ...]
    weight: float
    moments: tuple[float, float]
    mean: float
    masses: FloatArray
    sketches: list[Sketch]


def named(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Let errors say which partition they are about."""

    @wraps(function)
    def run(block: Block, *more: Any) -> Answer:
        try:
            return function(block, *more)
        except (TypeError, ValueError) as error:
            raise type(error)(f"Partition {block.number}: {error}") from error

    return run


def make_block(number: int, X: Any, vectors: Mapping[str, Any]) -> Block:
    """Put the pieces of a partition together; vectors may be names of columns of X."""
    names = [value for value in vectors.values() if isinstance(value, str)]
    read = {
        role: np.asarray(X[value] if isinstance(value, str) else value)
        for role, value in vectors.items()
    }
    for role, values in read.items():
        if len(values) != len(X):
            raise ValueError(
                f"Partition {number} of X has {len(X)} rows, but that of `{role}` has "
                f"{len(values)}; give both the same partitions"
            )
    return Block(number, X.drop(columns=names) if names else X, read)


@named
def glance(block: Block, classify: bool, family: Family | None) -> Glance:
    """Check target and weights; count rows and labels."""
    y, weights = block.vectors["y"], _weights(block)
    if not classify:
        if block.n_rows and family is not None:
            family.check_target(check_target(y))
        return Glance(block.n_rows, {})
    check_labels(y)
    found, places = np.unique(y, return_inverse=True)
    masses = np.bincount(places, weights, len(found))
    return Glance(block.n_rows, dict(zip(found.tolist(), masses.tolist(), strict=True)))


def _weights(block: Block) -> FloatArray | None:
    given = block.vectors.get("sample_weight")
    if given is None:
        return None
    weights = check_row_vector(given, "sample_weight", block.n_rows)
    return check_weights(weights, block.n_rows) if weights.any() else weights


def open_block(block: Block, view: View, binning: Binning | None = None) -> RawRows | None:
    """Return the rows of positive weight as they are seen, None if there are none.

    With ``binning`` columns are read as its kinds.
    """
    if block.n_rows == 0:
        return None
    given = block.vectors["y"]
    if view.classes is None:
        y = check_target(given)
    else:
        y = np.searchsorted(view.classes, given).astype(np.float64)
    weights = _weights(block)
    if view.factors is not None:
        weights = scale_weights(view.factors, y, weights)
    offset = check_offset(
        block.vectors.get("offset"), block.vectors.get("exposure"), view.family, block.n_rows
    )
    raw = RawRows(_scan(block.X, view, binning), y, weights, offset)
    kept = np.ones(block.n_rows, np.bool_) if weights is None else weights > 0.0
    if view.fold is not None:
        kept &= in_fold(block, view.fold, y)
    if not kept.any():
        return None
    return raw if kept.all() else raw.take(kept)


def _scan(X: Any, view: View, binning: Binning | None) -> TableScan:
    if binning is None:
        return scan_table(X, categorical=view.categorical)
    return scan_table(X, names=binning.names, kinds=binning.kinds, levels=binning.orders)


def in_fold(block: Block, fold: Fold, y: FloatArray) -> BoolArray:
    """Tell which rows are on a side of a fold."""
    groups = block.vectors.get("groups")
    if groups is None:
        numbers = deal_out(y if fold.stratified else np.zeros(len(y)), fold, block.number)
    else:
        numbers = hash_groups(groups, fold)
    return np.asarray((numbers == fold.number) == fold.held_out)


def deal_out(labels: FloatArray, fold: Fold, block: int) -> IntArray:
    """Return the fold of each row of a partition."""
    rng = np.random.default_rng([fold.seed, block])
    numbers = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        first = rng.integers(fold.n_folds)
        numbers[rng.permutation(rows)] = (first + np.arange(len(rows))) % fold.n_folds
    return numbers


def hash_groups(groups: AnyArray, fold: Fold) -> IntArray:
    """Return the fold of each row by its group, wherever the rows of the group are."""
    from pandas.util import hash_array

    key = f"{fold.seed:016d}"[:16]
    values = groups.astype(str).astype(object)  # so that 1 and "1" are one group everywhere
    return np.asarray(hash_array(values, hash_key=key) % np.uint64(fold.n_folds), np.int64)


@named
def summarise(block: Block, view: View) -> Summary:
    """Summarise a partition."""
    raw = open_block(block, view)
    n_classes = 0 if view.classes is None else len(view.classes)
    if raw is None:
        return Summary((0,), 0.0, (0.0, 0.0), 0.0, np.zeros(n_classes), [])
    weights = np.ones(len(raw.y)) if raw.weights is None else raw.weights
    total = float(weights.sum())
    target = raw.y if raw.offset is None else raw.y - raw.offset
    mean = float(np.average(target, weights=weights))
    sketches = [shorten(_sketch(column, raw, block)) for column in raw.scan.columns]
    masses = np.zeros(n_classes)
    if n_classes:
        masses += np.bincount(raw.y.astype(np.int64), weights, n_classes)
    return Summary(
        (len(raw.y),),
        total,
        (mean, float(weights @ (target - mean) ** 2)),
        float(np.average(raw.y, weights=weights)),
        masses,
        sketches,
    )


def _sketch(column: Any, raw: RawRows, block: Block) -> Sketch:
    return sketch_column(column, raw.weights, part=f"partition {block.number}")


def merge_summaries(parts: Sequence[Summary]) -> Summary:
    """Return the summary of several partitions."""
    counts = tuple(count for part in parts for count in part.counts)
    filled = [part for part in parts if part.sketches]
    if not filled:
        return Summary(counts, 0.0, (0.0, 0.0), 0.0, parts[0].masses, [])
    weights = np.array([part.weight for part in filled])
    means, squares = np.array([part.moments for part in filled]).T
    mean = float(np.average(means, weights=weights))
    columns = zip(*(part.sketches for part in filled), strict=True)
    return Summary(
        counts,
        float(weights.sum()),
        (mean, float(squares.sum() + weights @ (means - mean) ** 2)),
        float(np.average([part.mean for part in filled], weights=weights)),
        np.sum([part.masses for part in filled], axis=0),
        [shorten(merge_sketches(list(column))) for column in columns],
    )


@named
def encode(
    block: Block, number: int, first: int, view: View, units: Units, weight: float
) -> PartRows:
    """Code the rows of a partition that has some.

    Parameters
    ----------
    block : Block
    number : int, of the part, partitions without rows not counted
    first : int, rows of the parts before
    view : View
    units : Units
    weight : float, of all rows together
    """
    raw = open_block(block, view, units.binning)
    if raw is None:
        raise ValueError("it has lost its rows since it was first read")
    codes = np.empty((len(units.binning.features), len(raw.y)), np.uint8)
    terms = {term.term.feature: term for term in units.terms}
    linear = np.empty((len(terms), len(raw.y)))
    place = {term.term.feature: k for k, term in enumerate(units.terms)}
    for out, bins, column in zip(codes, units.binning.features, raw.scan.columns, strict=True):
        out[:] = bins.encode(column)
        if bins.name in terms:
            linear[place[bins.name]] = terms[bins.name].column(Table((column,)))
    return PartRows(
        number,
        first,
        codes,
        (raw.y - units.shift) / units.unit,
        None if raw.weights is None else raw.weights / weight,
        None if raw.offset is None else raw.offset / units.unit,
        linear,
    )


@named
def sum_losses(
    block: Block, view: View, units: Units, models: Sequence[PathModel]
) -> tuple[FloatArray, float]:
    """Return the losses of models on rows, added up, and the weight of these."""
    raw = open_block(block, view, units.binning)
    if raw is None:
        return np.zeros((len(models), len(models[0].coefs))), 0.0
    weight = float(len(raw.y) if raw.weights is None else raw.weights.sum())
    return weight * held_out_losses(raw, units, models), weight
