"""From a table to the rows of a fit: what is kept of the data, and the way back to its units.

Columns are read one at a time, coded and let go, so that codes, target, weights, offset and linear
terms are all that is in memory while the rules are learned.

A gaussian target is centred and divided by its standard deviation inside the fit, so that a lambda
means the same on every data set; the ensemble that comes out is in the target's own unit.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Protocol, Self

import numpy as np

from ruleglm.binning import Binning, BinRule, bin_rows, build_binning
from ruleglm.class_weights import ClassWeights, scale_weights
from ruleglm.constraints import Asked, Constraints
from ruleglm.dtypes import BoolArray, CodeArray, FloatArray, IntArray
from ruleglm.engines import Engine, LocalEngine
from ruleglm.engines.classes import ClassEngines
from ruleglm.ensemble import RuleEnsemble
from ruleglm.expert import NOTHING, Expert, Wishes, bind
from ruleglm.explain.rows import effect_sizes
from ruleglm.families import Binomial
from ruleglm.family import Family
from ruleglm.frames import TableScan
from ruleglm.linear import LinearColumns, ScaledTerm, moments
from ruleglm.pricing import ConditionTable, Penalty
from ruleglm.storage import rows_beside

FINE_BINS = 64
"""Bins of a number column where none are asked for."""

LIMITS_OF_SIZE = 1e-3, 1e12
"""Of the sum of the weights, in units of which a ridge is given."""


SHRINK_TOL = 1e-7
"""Decrease of the mean loss that a step of a refit after a pursuit has to promise."""


@dataclass(frozen=True)
class FitSettings:
    """What a fit needs to know besides the data; the estimators document each.

    Paths take of ``penalty`` only the ratio ``lambda_1 / lambda_0``; ``bins`` is None where none
    are asked for; ``shrink_tol`` is how exact refits after a pursuit are.
    """

    kind: str
    penalty: Penalty
    max_complexity: float | None
    max_rules: int | None
    price: float | None
    max_degree: int | None
    pricing: str
    pricing_options: Mapping[str, Any] | None
    linear_terms: bool
    bins: int | None
    thresholds: Mapping[str, Sequence[float]] | None
    min_level_share: float
    constraints: Asked
    tol: float
    max_rounds: int
    n_threads: int
    path: bool
    class_weights: ClassWeights | None
    shrink_tol: float = SHRINK_TOL


class RowSource(Protocol):
    """Rows that are checked and not yet coded, wherever they are."""

    def take(self, rows: Any) -> Self:
        """Return some of the rows."""

    def weigh(self, class_weights: ClassWeights | None, training: Self | None = None) -> Self:
        """Return the rows with weights that count classes as asked."""

    def choose_bins(self, bins: int) -> Binning:
        """Choose the bins of every column and code no rows."""

    def prepare(self, family: Family, settings: FitSettings) -> "FitRows":
        """Code the rows."""


@dataclass(frozen=True, eq=False)
class RawRows:
    """The rows as they came, checked and not yet coded.

    Attributes
    ----------
    scan : TableScan
    y : (n_rows,) float64, valid for the family
    weights : (n_rows,) float64, or None for equal weights
    offset : (n_rows,) float64 or None
    classes : tuple of labels, empty for a regression
    expert : Expert, what a person asks of the rules
    """

    scan: TableScan
    y: FloatArray
    weights: FloatArray | None
    offset: FloatArray | None
    classes: tuple[Any, ...] = ()
    expert: Expert = NOTHING

    def take(self, rows: IntArray | BoolArray) -> "RawRows":
        """Return the rows of a mask or of an index, in that order."""
        return RawRows(
            self.scan.take(rows),
            self.y[rows],
            None if self.weights is None else self.weights[rows],
            None if self.offset is None else self.offset[rows],
            self.classes,
            self.expert,
        )

    def weigh(
        self, class_weights: ClassWeights | None, training: "RawRows | None" = None
    ) -> "RawRows":
        """Return the rows with weights that count classes as asked.

        Parameters
        ----------
        class_weights : ClassWeights or None
        training : RawRows, optional
            The rows that balanced weights are computed from; by default these.
        """
        if class_weights is None:
            return self
        source = self if training is None else training
        factors = class_weights.factors(source.y, source.weights)
        return replace(self, weights=scale_weights(factors, self.y, self.weights))

    def choose_bins(self, bins: int) -> Binning:
        """Choose the bins of every column and code no rows."""
        return build_binning(self.scan, bins=bins, sample_weight=self.weights)

    def prepare(self, family: Family, settings: FitSettings) -> "FitRows":
        """Code the rows."""
        return prepare_rows(self, family, settings)


@dataclass(frozen=True, eq=False)
class Units:
    """What takes a model of the fit to the data's own names and units.

    Attributes
    ----------
    binning : Binning
    terms : tuple of ScaledTerm, the linear terms
    family : Family
    shift, unit : float
        The fit sees the target less ``shift`` and divided by ``unit``.
    classes : tuple of labels, empty for a regression
    """

    binning: Binning
    terms: tuple[ScaledTerm, ...]
    family: Family
    shift: float
    unit: float
    classes: tuple[Any, ...] = ()

    def translate(
        self,
        rules: Sequence[BinRule],
        linear: Sequence[int],
        coef: FloatArray,
        supports: FloatArray,
    ) -> "Translation":
        """Say a model in the data's own names and units, its rules sorted by importance.

        Terms with a coefficient of 0, which monotone constraints may lead to, are left out.

        Parameters
        ----------
        rules : sequence of BinRule
        linear : sequence of int, positions of the model's linear terms
        coef : (1 + n_linear + n_rules,) float64, on the scale of the fit; with an axis of classes
            for the multinomial family
        supports : (n_rules,) float64
        """
        used: BoolArray = coef[1:] != 0.0 if coef.ndim == 1 else np.any(coef[1:], axis=1)
        line, step = used[: len(linear)], used[len(linear) :]
        terms = [self.terms[k] for k in compress(linear, line)]
        rules, supports = list(compress(rules, step)), supports[step]
        slopes = coef[1 : 1 + len(linear)][line]
        slopes = self.unit * (slopes.T * [term.scale for term in terms]).T
        steps = self.unit * coef[1 + len(linear) :][step]
        importances = effect_sizes(steps) * np.sqrt(supports * (1 - supports))
        order = sorted(range(len(steps)), key=lambda k: (-importances[k], rules[k]))
        centers = np.array([term.center for term in terms])
        ensemble = RuleEnsemble(
            intercept=self.shift + self.unit * coef[0] - centers @ slopes,
            rules=tuple(self.binning.to_rule(rules[k]) for k in order),
            coefficients=steps[order],
            linear_terms=tuple(term.term for term in terms),
            linear_coefficients=slopes,
            family=self.family,
            names=self.binning.names,
            kinds=self.binning.kinds,
            orders=self.binning.orders,
            classes=self.classes,
        )
        spreads = effect_sizes(slopes) * [term.spread for term in terms]
        return Translation(
            ensemble,
            np.concatenate([np.ones(len(terms)), supports[order]]),
            np.concatenate([spreads, importances[order]]),
        )

    def recall(self, ensemble: RuleEnsemble) -> "Recalled":
        """Say an ensemble over these bins; rules at other thresholds and other lines are left out.

        The inverse of `translate`.
        """
        steps: dict[BinRule, float] = {}
        for rule, step in zip(ensemble.rules, ensemble.coefficients.tolist(), strict=True):
            with suppress(ValueError):
                steps[self.binning.from_rule(rule)] = step / self.unit
        features = [term.feature for term in ensemble.linear_terms]
        slopes = dict(zip(features, ensemble.linear_coefficients.tolist(), strict=True))
        lines = [slopes.get(term.term.feature, 0.0) for term in self.terms]
        level = sum(a * term.center for a, term in zip(lines, self.terms, strict=True))
        scaled = [a / (self.unit * term.scale) for a, term in zip(lines, self.terms, strict=True)]
        intercept = (ensemble.intercept + level - self.shift) / self.unit
        return Recalled(intercept, np.array(scaled), steps)


@dataclass(frozen=True, eq=False)
class Recalled:
    """An earlier model on the scale of a fit.

    Attributes
    ----------
    intercept : float
    slopes : (n_linear_terms,) float64, 0 for lines that it does not have
    steps : coefficients of its rules
    """

    intercept: float
    slopes: FloatArray
    steps: dict[BinRule, float]


@dataclass(frozen=True, eq=False)
class Translation:
    """An ensemble and what the training rows say of its terms.

    Attributes
    ----------
    ensemble : RuleEnsemble, its rules sorted by importance
    supports : (n_linear_terms + n_rules,) float64, share of the rows where a term is at work
    importances : (n_linear_terms + n_rules,) float64
        ``|coefficient|`` times the standard deviation of the term.
    """

    ensemble: RuleEnsemble
    supports: FloatArray
    importances: FloatArray


class FitRows(ABC):
    """What a fit knows of its rows, wherever they are.

    Attributes
    ----------
    units : Units
    constraints : Constraints
    size : float, the sum of the weights as they were given: the rows that the data stand for
    wishes : Wishes, what a person asks of the rules, over the bins
    """

    units: Units
    constraints: Constraints
    size: float
    wishes: Wishes

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows, whatever they weigh."""

    @abstractmethod
    def build_engine(self, n_threads: int, linear: Sequence[int] | None = None) -> Engine:
        """Return an engine over these rows, with all linear terms or those at some positions."""

    @abstractmethod
    def build_class_engines(self, n_threads: int) -> ClassEngines:
        """Return an engine for each class over these rows, with all linear terms."""

    def condition_table(self) -> ConditionTable:
        """Return the conditions that rules may be made of."""
        return ConditionTable(self.wishes.features, self.constraints)

    def _sign_of(self, rule: BinRule) -> int:
        return self.constraints.sign(rule, self.units.binning.features)

    def _linear_signs(self) -> list[int]:
        ways = dict(zip(self.units.binning.names, self.constraints.ways, strict=False))
        return [ways.get(term.term.feature, 0) for term in self.units.terms]


@dataclass(frozen=True, eq=False)
class TrainingRows(FitRows):
    """All that a fit keeps of the data, as the engine wants it.

    Attributes
    ----------
    units : Units
    codes : (n_features, n_rows) uint8
    y : (n_rows,) float64, on the scale of the fit
    weights : (n_rows,) float64, summing to 1, or None for equal weights
    offset : (n_rows,) float64, on the scale of the fit, or None
    linear : (n_linear_terms, n_rows) float64 or None, the values of the linear terms
    constraints : Constraints
    size : float, the sum of the weights as they were given: the rows that the data stand for
    wishes : Wishes, what a person asks of the rules, over the bins
    """

    units: Units
    codes: CodeArray
    y: FloatArray
    weights: FloatArray | None
    offset: FloatArray | None
    linear: FloatArray | None
    constraints: Constraints
    size: float
    wishes: Wishes

    @property
    def n_rows(self) -> int:
        """Number of rows, whatever they weigh."""
        return len(self.y)

    def build_engine(self, n_threads: int, linear: Sequence[int] | None = None) -> LocalEngine:
        """Return an engine over these rows, with all linear terms or those at some positions."""
        columns, signs = self.linear, self._linear_signs()
        if columns is not None and linear is not None:
            chosen = rows_beside(columns)
            for k in linear:
                chosen.append(columns[k])
            columns, signs = chosen.array(), [signs[k] for k in linear]
        return self._engine(self.y, self.units.family, self.offset, columns, n_threads, signs)

    def build_class_engines(self, n_threads: int) -> ClassEngines:
        """Return an engine for each class over these rows, with all linear terms."""
        labels = self.y.astype(np.int64)
        engines = [
            self._engine((labels == k).astype(np.float64), Binomial(), None, self.linear, n_threads)
            for k in range(*self.units.family.output_shape)
        ]
        return ClassEngines(engines, labels, self.weights)

    def _engine(
        self,
        y: FloatArray,
        family: Family,
        offset: FloatArray | None,
        linear: FloatArray | None,
        n_threads: int,
        signs: Sequence[int] = (),
    ) -> LocalEngine:
        return LocalEngine(
            self.codes,
            self.units.binning.n_bins,
            y,
            family,
            weights=self.weights,
            offset=offset,
            linear=linear,
            n_threads=n_threads,
            sign_of=self._sign_of if self.constraints.ways else None,
            linear_signs=signs,
        )


def prepare_rows(raw: RawRows, family: Family, settings: FitSettings) -> TrainingRows:
    """Code the rows, reading each column once; nothing that comes out refers to the table.

    Rows of weight 0 are left out.
    """
    constraints = read_constraints(settings, raw.scan.names, family)
    if raw.weights is not None and not raw.weights.all():
        raw = raw.take(raw.weights > 0)
    if settings.kind == "l0" or settings.path:
        raw.expert.check_budget(settings.max_complexity, settings.max_rules)
    weights, y, offset = raw.weights, raw.y, raw.offset
    shares = None if weights is None else weights / weights.sum()
    names = raw.expert.line_names(raw.scan.names, settings.linear_terms)
    lines = None
    if names:
        lines = LinearColumns(raw.scan.n_rows, names, raw.expert.lines, raw.scan.workdir)
    binning, codes = bin_rows(
        raw.scan,
        bins=FINE_BINS if settings.bins is None else settings.bins,
        thresholds=settings.thresholds,
        sample_weight=weights,
        min_level_share=settings.min_level_share,
        wanted=raw.expert.wanted,
        visit=None if lines is None else lines.add,
    )
    constraints.check_kinds(binning)
    constraints.check_rules(raw.expert.include, raw.scan.names)
    shift, unit = target_scale(y, shares, offset) if family.constant_hessian else (0.0, 1.0)
    terms = () if lines is None else tuple(lines.terms)
    return TrainingRows(
        Units(binning, terms, family, shift, unit, raw.classes),
        codes,
        y if unit == 1.0 and shift == 0.0 else (y - shift) / unit,
        shares,
        offset if offset is None or unit == 1.0 else offset / unit,
        None if lines is None else lines.values(),
        constraints,
        count_rows(y, weights),
        bind(raw.expert, binning, codes, [term.term.feature for term in terms]),
    )


def read_constraints(settings: FitSettings, names: Sequence[str], family: Family) -> Constraints:
    """Read the constraints that a fit has on its rules."""
    constraints = Constraints.of(settings.constraints, names)
    if constraints.ways and family.output_shape:
        raise ValueError(
            "`monotone` is for regressions and two classes: with more, a probability depends on "
            "all classes; fit a model for each of them, or leave it out"
        )
    return constraints


def count_rows(y: FloatArray, weights: FloatArray | None) -> float:
    """Return the rows that weights stand for, within limits between which a ridge has a meaning."""
    return float(np.clip(len(y) if weights is None else weights.sum(), *LIMITS_OF_SIZE))


def target_scale(
    y: FloatArray, shares: FloatArray | None, offset: FloatArray | None = None
) -> tuple[float, float]:
    """Return the weighted mean and standard deviation (1 if it is 0) of the target less offset."""
    mean, sd = moments(y if offset is None else y - offset, shares)
    return mean, sd or 1.0
