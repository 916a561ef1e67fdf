"""The part of a model that is a sum of functions of one feature each, as the paper draws it.

All rules of one feature, intervals included, and its line are merged into one function: piecewise
linear with jumps for a number, a value for each level, and a value where the feature is missing.
With the rules of several features and the intercept, they add up to the linear predictor.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ruleglm.columns import conform
from ruleglm.conditions import Condition, Levels, Missing, Range, exact_doubles, level_numbers
from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain.importance import term_features
from ruleglm.explain.rows import TermSpread, find_class, row_shares
from ruleglm.frames import Column, Level, LevelColumn, NumberColumn, Table
from ruleglm.rules import LinearTerm, Rule

if TYPE_CHECKING:
    import pandas as pd

Steps: TypeAlias = Sequence[tuple[Rule, Any]]
"""Rules and their coefficients."""

Lines: TypeAlias = Sequence[tuple[LinearTerm, Any]]
"""Linear terms and their coefficients."""


@dataclass(frozen=True, eq=False)
class NumberShape:
    """What a number adds to the linear predictor: piecewise linear, with jumps.

    For the multinomial family values and slopes have a last axis over the classes.

    Attributes
    ----------
    feature : str
    breaks : (n_breaks,) float64, ascending
        Piece ``k`` is of the numbers ``breaks[k - 1] < x <= breaks[k]``; the first and the last
        have no end.
    starts : (n_breaks + 1,) float64
        Values at the left end of each piece, as a limit; of the first piece at its right end.
    slopes : (n_breaks + 1,) float64
    missing : float
        Value where the feature is missing.
    """

    feature: str
    breaks: FloatArray
    starts: FloatArray
    slopes: FloatArray
    missing: Any

    @property
    def anchors(self) -> FloatArray:
        """The numbers at which the pieces have the values `starts`."""
        return np.concatenate([self.breaks[:1], self.breaks]) if len(self.breaks) else np.zeros(1)

    @property
    def ends(self) -> FloatArray:
        """Values at the right end of each piece; of the last piece where it starts."""
        widths = np.append(self.breaks, self.anchors[-1]) - self.anchors
        return self.starts + (self.slopes.T * widths).T

    def values(self, column: Column) -> FloatArray:
        """Return the value in each row of the feature's column."""
        if isinstance(column, LevelColumn):
            numbers = level_numbers(column).take(column.codes)
        else:
            numbers = column.values
        piece = np.searchsorted(self.breaks, numbers)
        flat = (self.slopes.reshape(len(self.slopes), -1) == 0).all(axis=1)
        way = np.where(flat[piece], 0.0, numbers - self.anchors[piece])
        values = self.starts[piece] + (self.slopes[piece].T * way).T
        values[np.isnan(numbers)] = self.missing
        return values

    def shifted(self, by: Any) -> "NumberShape":
        """Return the shape with a constant added."""
        return replace(self, starts=self.starts + by, missing=self.missing + by)

    def of_class(self, place: int) -> "NumberShape":
        """Return the shape of one class."""
        return replace(
            self,
            starts=self.starts[:, place],
            slopes=self.slopes[:, place],
            missing=float(self.missing[place]),
        )

    def pieces(self) -> list[tuple[str, float, float, Any, Any]]:
        """Return text, lower and upper end, and the values there, of each piece and of missing."""
        bounds = [-math.inf, *self.breaks.tolist(), math.inf]
        found: list[tuple[str, float, float, Any, Any]] = []
        for k, (start, end) in enumerate(zip(self.starts, self.ends, strict=True)):
            low, high = bounds[k], bounds[k + 1]
            bounded = math.isfinite(low) or math.isfinite(high)
            what = Range(self.feature, low, high) if bounded else Missing(self.feature, False)
            found.append((what.text(), low, high, start, end))
        return [*found, _missing_piece(self)]


@dataclass(frozen=True, eq=False)
class LevelShape:
    """What a category adds to the linear predictor.

    Attributes
    ----------
    feature : str
    levels : tuple of levels
        Those that the model mentions; all of them, in order, if they are ordered.
    level_values : (n_levels,) float64
        One for each level; a last axis over the classes for the multinomial family.
    other : float
        Value of every other level, seen in training or not.
    missing : float
        Value where the feature is missing.
    ordered : bool
    """

    feature: str
    levels: tuple[Level, ...]
    level_values: FloatArray
    other: Any
    missing: Any
    ordered: bool = False

    def values(self, column: Column) -> FloatArray:
        """Return the value in each row of the feature's column."""
        read = conform(column, "level")
        if not isinstance(read, LevelColumn):  # conform sees to it
            raise TypeError(f"Column {column.name!r} does not hold levels.")
        known = dict(zip(self.levels, self.level_values, strict=True))
        lookup = [known.get(level, self.other) for level in read.levels]
        return np.array([*lookup, self.missing], dtype=np.float64)[read.codes]

    def shifted(self, by: Any) -> "LevelShape":
        """Return the shape with a constant added."""
        return replace(
            self,
            level_values=self.level_values + by,
            other=self.other + by,
            missing=self.missing + by,
        )

    def of_class(self, place: int) -> "LevelShape":
        """Return the shape of one class."""
        return replace(
            self,
            level_values=self.level_values[:, place],
            other=float(self.other[place]),
            missing=float(self.missing[place]),
        )

    def pieces(self) -> list[tuple[str, float, float, Any, Any]]:
        """Return text, two NaN, and the value twice, of each level, of others and of missing."""
        nothing = math.nan, math.nan
        texts = [Levels(self.feature, (level,)).text() for level in self.levels]
        named = zip(texts, self.level_values, strict=True)
        found = [(text, *nothing, value, value) for text, value in named]
        other = Levels(self.feature, self.levels, True) if self.levels else None
        text = (other or Missing(self.feature, False)).text()
        return [*found, (text, *nothing, self.other, self.other), _missing_piece(self)]


FeatureShape: TypeAlias = NumberShape | LevelShape


def _missing_piece(shape: FeatureShape) -> tuple[str, float, float, Any, Any]:
    text = Missing(shape.feature, True).text()
    return text, math.nan, math.nan, shape.missing, shape.missing


@dataclass(frozen=True, eq=False)
class Shapes:
    """A model as an intercept, a function of each feature, and rules of several features.

    They add up to the linear predictor of the model.

    Attributes
    ----------
    ensemble : RuleEnsemble
        The model that is taken apart.
    intercept : float, or (n_classes,) float64
    shapes : dict from feature to NumberShape or LevelShape
        In the order of the training columns.
    rules : tuple of Rule
        Those of several features.
    coefficients : (n_rules,) or (n_rules, n_classes) float64
    class_ : label, optional
        The class that the numbers are of, if they are of one of several.
    """

    ensemble: RuleEnsemble
    intercept: Any
    shapes: Mapping[str, FeatureShape]
    rules: tuple[Rule, ...]
    coefficients: FloatArray
    class_: Level | None = None

    def __getitem__(self, feature: str) -> FeatureShape:
        return self.shapes[feature]

    def __iter__(self) -> Iterator[FeatureShape]:
        return iter(self.shapes.values())

    def __len__(self) -> int:
        return len(self.shapes)

    def decision_function(self, X: Any, offset: ArrayLike | None = None) -> FloatArray:
        """Return the linear predictor of each row, added up from the parts."""
        table = self.ensemble.read(X)
        eta = np.zeros((table.n_rows, *self.coefficients.shape[1:]))
        eta += self.intercept
        eta += 0.0 if offset is None else np.asarray(offset, dtype=np.float64)
        for name, shape in self.shapes.items():
            eta += shape.values(table.column(name))
        for rule, coefficient in zip(self.rules, self.coefficients, strict=True):
            eta += np.multiply.outer(rule.holds(table), coefficient)
        return eta

    def of_class(self, class_: Level) -> "Shapes":
        """Return the part of one class of several."""
        place = find_class(self.ensemble, class_)
        shapes = {name: shape.of_class(place) for name, shape in self.shapes.items()}
        intercept, coefficients = float(self.intercept[place]), self.coefficients[:, place]
        return replace(
            self, intercept=intercept, shapes=shapes, coefficients=coefficients, class_=class_
        )

    def means(self, X: Any, sample_weight: ArrayLike | None = None) -> dict[str, Any]:
        """Return the mean of each shape over rows."""
        table = self.ensemble.read(X)
        weights = row_shares(sample_weight, table.n_rows)
        return {s.feature: weights @ s.values(table.column(s.feature)) for s in self}

    def centred(self, means: Mapping[str, Any]) -> "Shapes":
        """Return shapes less their means, which move into the intercept; the sum stays.

        Parameters
        ----------
        means : dict from feature to number
            From `means` for some rows, or `mean_shapes` for the training rows.
        """
        shapes = {name: shape.shifted(-means[name]) for name, shape in self.shapes.items()}
        return replace(
            self, intercept=self.intercept + sum(means[name] for name in self.shapes), shapes=shapes
        )

    def table(self) -> "pd.DataFrame":
        """Return one line a piece of a number, a level, or missing.

        The columns: ``feature``; ``where``, in words; ``low`` and ``high``, the ends of a piece;
        ``start`` and ``end``, the values there, the same for levels. For the multinomial family
        ``start`` and ``end`` are there for each class.
        """
        import pandas as pd

        pieces = [(shape.feature, *piece) for shape in self for piece in shape.pieces()]
        lines = [(*line[:4], *np.atleast_1d(line[4]), *np.atleast_1d(line[5])) for line in pieces]
        several = self.coefficients.ndim > 1
        of = [f" of {label}" for label in self.ensemble.classes] if several else [""]
        names = ["feature", "where", "low", "high"]
        names += [what + suffix for what in ("start", "end") for suffix in of]
        return pd.DataFrame(lines, columns=names)


# -------------------------------------------------------------------------------- taking it apart


def build_shapes(ensemble: RuleEnsemble, class_: Level | None = None) -> Shapes:
    """Take a model apart into functions of one feature and rules of several.

    Parameters
    ----------
    ensemble : RuleEnsemble
    class_ : label, optional
        The part of this class only, for the multinomial family.
    """
    steps: dict[str, list[tuple[Rule, Any]]] = {}
    lines: dict[str, list[tuple[LinearTerm, Any]]] = {}
    intercept, several = ensemble.intercept, []
    for k, (rule, value) in enumerate(zip(ensemble.rules, ensemble.coefficients, strict=True)):
        if len(rule.features) > 1:
            several.append(k)
        elif rule.features:
            steps.setdefault(rule.features[0], []).append((rule, value))
        else:  # a rule that always holds
            intercept = intercept + value
    for term, slope in zip(ensemble.linear_terms, ensemble.linear_coefficients, strict=True):
        lines.setdefault(term.feature, []).append((term, slope))
    shapes = {
        name: _build_shape(ensemble, name, steps.get(name, []), lines.get(name, []))
        for name in ensemble.names
        if name in steps or name in lines
    }
    rules = tuple(ensemble.rules[k] for k in several)
    whole = Shapes(ensemble, intercept, shapes, rules, ensemble.coefficients[several])
    return whole if class_ is None else whole.of_class(class_)


def mean_shapes(shapes: Shapes, spread: TermSpread) -> dict[str, Any]:
    """Return the mean of each shape over the rows that a spread was measured on."""
    ensemble = shapes.ensemble
    coefficients = ensemble.all_coefficients()[1:]
    if shapes.class_ is not None:
        coefficients = coefficients[:, find_class(ensemble, shapes.class_)]
    means = {name: np.zeros(coefficients.shape[1:]) for name in shapes.shapes}
    features = term_features(ensemble)
    for names, coefficient, mean in zip(features, coefficients, spread.means, strict=True):
        if len(names) == 1:
            means[names[0]] = means[names[0]] + coefficient * mean
    return means


def _build_shape(ensemble: RuleEnsemble, name: str, steps: Steps, lines: Lines) -> FeatureShape:
    conditions = [rule.conditions[0] for rule, _ in steps]
    shape = ensemble.family.output_shape
    if reads_numbers(ensemble, name, conditions, [term for term, _ in lines]):
        return _build_number_shape(name, steps, lines, shape)
    levels = name_levels(ensemble, name, conditions)
    ordered = name in ensemble.orders or any(isinstance(c, Range) for c in conditions)
    return _build_level_shape(name, levels, steps, ordered, shape)


def reads_numbers(
    ensemble: RuleEnsemble,
    name: str,
    conditions: Sequence[Condition],
    lines: Sequence[LinearTerm],
) -> bool:
    """Whether a feature is a number to the model, rather than one of several levels."""
    compared = any(isinstance(c, Range) and c.order is None for c in conditions)
    return bool(lines) or compared or ensemble.kinds.get(name) == "number"


def name_levels(
    ensemble: RuleEnsemble, name: str, conditions: Sequence[Condition]
) -> tuple[Level, ...]:
    """Return the levels that conditions mention, those of an order first."""
    levels = dict.fromkeys(ensemble.orders.get(name, ()))
    for condition in conditions:
        if isinstance(condition, Range):
            levels |= dict.fromkeys(condition.order or ())
        elif isinstance(condition, Levels):
            levels |= dict.fromkeys(condition.levels)
    return tuple(levels)


def _build_number_shape(
    name: str, steps: Steps, lines: Lines, shape: tuple[int, ...]
) -> NumberShape:
    breaks = find_breaks([rule.conditions[0] for rule, _ in steps], [term for term, _ in lines])
    inside = np.array([*breaks, math.inf, math.nan])  # one number of each piece, and missing
    anchors = np.array([*breaks[:1], *breaks, math.nan] if breaks else [0.0, math.nan])
    values, slopes = np.zeros((len(inside), *shape)), np.zeros((len(inside), *shape))
    for rule, coefficient in steps:
        column = NumberColumn(name, inside)
        values += np.multiply.outer(rule.conditions[0].holds(column), coefficient)
    bounds = [-math.inf, *breaks, math.inf]
    for term, slope in lines:
        at = term.values(Table((NumberColumn(name, anchors),)))
        values += np.multiply.outer(at, slope)
        ends = pairwise(bounds)
        within = [term.low <= low and high <= term.high for low, high in ends]
        slopes[:-1] += np.multiply.outer(np.array(within), slope)
    missing = values[-1] if shape else float(values[-1])
    return NumberShape(name, np.array(breaks), values[:-1], slopes[:-1], missing)


def find_breaks(conditions: Sequence[Condition], lines: Sequence[LinearTerm]) -> list[float]:
    """Return the numbers at which some condition or line on a feature changes, ascending.

    Nothing changes from just above one of them up to and with the next.
    """
    breaks: set[float] = set()
    for condition in conditions:
        if isinstance(condition, Range):
            breaks |= {condition.low, condition.high}
        elif isinstance(condition, Levels):
            for number in exact_doubles(condition.levels).tolist():
                breaks |= {math.nextafter(number, -math.inf), number}
    for term in lines:
        breaks |= {term.low, term.high}
    return sorted(number + 0.0 for number in breaks if math.isfinite(number))


def _build_level_shape(
    name: str, levels: tuple[Level, ...], steps: Steps, ordered: bool, shape: tuple[int, ...]
) -> LevelShape:
    column = one_of_each(name, levels)
    values = np.zeros((len(levels) + 2, *shape))
    for rule, coefficient in steps:
        values += np.multiply.outer(rule.conditions[0].holds(column), coefficient)
    other, missing = (value if shape else float(value) for value in values[-2:])
    return LevelShape(name, levels, values[:-2], other, missing, ordered)


def one_of_each(name: str, levels: tuple[Level, ...]) -> LevelColumn:
    """Return a column with a row for each level, one for a level that is none of them, a gap."""
    unseen = "?"
    while unseen in levels:
        unseen += "?"
    codes = np.array([*range(len(levels) + 1), -1])
    return LevelColumn(name, codes, (*levels, unseen))
