"""One fit from a table to an ensemble: bins, engine, column generation, refit.

Columns are read one at a time, coded and let go, so that codes, target, weights, offset and linear
terms are all that is in memory while the rules are learned.

A gaussian target is centred and divided by its standard deviation inside the fit, so that a lambda
means the same on every data set; the ensemble that comes out is in the target's own unit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruleglm.binning import Binning, bin_rows
from ruleglm.dtypes import CodeArray, FloatArray
from ruleglm.engines import LocalEngine
from ruleglm.ensemble import RuleEnsemble
from ruleglm.families import Family
from ruleglm.frames import Table, TableScan
from ruleglm.linear import LinearColumns, ScaledTerm
from ruleglm.pricing import Limits, Penalty, build_pricer
from ruleglm.solvers import Solution, refit, run_column_generation

KEEP_ABOVE = 1e-5
"""Smaller coefficients of the scaled problem are no part of the model (paper, section 3.2)."""


@dataclass(frozen=True)
class FitSettings:
    """What a fit needs to know besides the data; the estimators document each."""

    penalty: Penalty
    max_degree: int | None
    pricing: str
    pricing_options: Mapping[str, Any] | None
    linear_terms: bool
    bins: int
    thresholds: Mapping[str, Sequence[float]] | None
    min_level_share: float
    debias: bool
    tol: float
    max_rounds: int
    time_limit: float | None
    n_threads: int


@dataclass(frozen=True)
class FitResult:
    """A fitted ensemble and the facts about its fit.

    Attributes
    ----------
    ensemble : RuleEnsemble, its rules sorted by importance
    supports : (n_linear_terms + n_rules,) float64, share of the rows where a term is at work
    importances : (n_linear_terms + n_rules,) float64
        ``|coefficient|`` times the standard deviation of the term.
    solution : Solution, of the penalised problem
    certificate : str, what was proved, in words
    """

    ensemble: RuleEnsemble
    supports: FloatArray
    importances: FloatArray
    solution: Solution
    certificate: str


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """All that a fit keeps of the data, as the engine wants it.

    Attributes
    ----------
    binning : Binning
    codes : (n_features, n_rows) uint8
    y : (n_rows,) float64, less ``shift`` and divided by ``unit``
    weights : (n_rows,) float64, summing to 1, or None for equal weights
    offset : (n_rows,) float64, divided by ``unit``, or None
    terms : tuple of ScaledTerm, the linear terms
    linear : (n_linear_terms, n_rows) float64 or None, their values
    shift, unit : float, what takes the target to the scale of the fit
    """

    binning: Binning
    codes: CodeArray
    y: FloatArray
    weights: FloatArray | None
    offset: FloatArray | None
    terms: tuple[ScaledTerm, ...]
    linear: FloatArray | None
    shift: float
    unit: float


def prepare_rows(
    table: Table | TableScan,
    y: FloatArray,
    family: Family,
    settings: FitSettings,
    *,
    weights: FloatArray | None = None,
    offset: FloatArray | None = None,
) -> TrainingRows:
    """Code the rows, reading each column once; nothing that comes out refers to the table.

    Parameters
    ----------
    table : Table or TableScan
    y : (n_rows,) float64, valid for the family
    family : Family
    settings : FitSettings
    weights : (n_rows,) float64, all positive, or None for equal weights
    offset : (n_rows,) float64 or None
    """
    shares = None if weights is None else weights / weights.sum()
    lines = LinearColumns(table.n_rows, shares) if settings.linear_terms else None
    binning, codes = bin_rows(
        table,
        bins=settings.bins,
        thresholds=settings.thresholds,
        sample_weight=weights,
        min_level_share=settings.min_level_share,
        visit=None if lines is None else lines.add,
    )
    shift, unit = target_scale(y, shares) if family.constant_hessian else (0.0, 1.0)
    return TrainingRows(
        binning,
        codes,
        y if unit == 1.0 and shift == 0.0 else (y - shift) / unit,
        shares,
        offset if offset is None or unit == 1.0 else offset / unit,
        () if lines is None else tuple(lines.terms),
        None if lines is None else lines.values,
        shift,
        unit,
    )


def fit_rules(rows: TrainingRows, family: Family, settings: FitSettings) -> FitResult:
    """Learn a rule model.

    Parameters
    ----------
    rows : TrainingRows, prepared with the same family and settings
    family : Family
    settings : FitSettings
    """
    binning, linear = rows.binning, list(rows.terms)
    engine = LocalEngine(
        rows.codes,
        binning.n_bins,
        rows.y,
        family,
        weights=rows.weights,
        offset=rows.offset,
        linear=rows.linear,
        n_threads=settings.n_threads,
    )
    pricer = build_pricer(
        settings.pricing, binning.features, settings.max_degree, settings.pricing_options
    )
    solution = run_column_generation(
        engine,
        pricer,
        settings.penalty,
        Limits.after(settings.time_limit),
        tol=settings.tol,
        max_rounds=settings.max_rounds,
    )
    coef = keep_support(engine, linear, solution.coef)
    if settings.debias and len(coef) > 1:
        engine.set_coefficients(coef)
        coef = refit(engine, coef).coef
    words = certificate_words(solution, pricer.describe())
    return build_result(engine, binning, linear, coef, (rows.shift, rows.unit), solution, words)


def target_scale(y: FloatArray, shares: FloatArray | None) -> tuple[float, float]:
    """Return the weighted mean and standard deviation of the target (1 if it does not vary)."""
    mean = float(np.average(y, weights=shares))
    sd = float(np.sqrt(np.average((y - mean) ** 2, weights=shares)))
    return mean, sd if sd > 1e-12 * max(1e-300, float(np.abs(y).max())) else 1.0


def keep_support(engine: LocalEngine, linear: list[ScaledTerm], coef: FloatArray) -> FloatArray:
    """Drop the columns whose coefficients are about zero; return the coefficients of the rest."""
    kept = np.abs(coef) > KEEP_ABOVE
    kept[0] = True
    first = 1 + engine.n_linear
    engine.keep_rules(np.flatnonzero(kept[first:]).tolist())
    engine.keep_linear(np.flatnonzero(kept[1:first]).tolist())
    linear[:] = [term for term, keep in zip(linear, kept[1:first], strict=True) if keep]
    return coef[kept]


def certificate_words(solution: Solution, searched: str) -> str:
    """Say what the certificate proves."""
    if solution.lower_bound <= 0.0 < solution.objective:
        return f"no lower bound above 0 is known among {searched}"
    return f"optimal to {max(100 * solution.gap, 1e-4):.2g} % among {searched}"


def build_result(
    engine: LocalEngine,
    binning: Binning,
    linear: list[ScaledTerm],
    coef: FloatArray,
    scale: tuple[float, float],
    solution: Solution,
    certificate: str,
) -> FitResult:
    """Put the engine's columns into an ensemble in the data's own names and units."""
    shift, unit = scale
    supports = engine.supports()
    slopes = unit * coef[1 : 1 + len(linear)] * [term.scale for term in linear]
    steps = unit * coef[1 + len(linear) :]
    importances = np.abs(steps) * np.sqrt(supports * (1 - supports))
    order = sorted(range(len(steps)), key=lambda k: (-importances[k], engine.rules[k]))
    centers = np.array([term.center for term in linear])
    ensemble = RuleEnsemble(
        intercept=shift + unit * coef[0] - float(slopes @ centers),
        rules=tuple(binning.to_rule(engine.rules[k]) for k in order),
        coefficients=steps[order],
        linear_terms=tuple(term.term for term in linear),
        linear_coefficients=slopes,
        family=engine.family,
        names=binning.names,
        kinds=binning.kinds,
        orders=binning.orders,
    )
    spreads = np.abs(slopes) * [term.sd for term in linear]
    return FitResult(
        ensemble,
        np.concatenate([np.ones(len(linear)), supports[order]]),
        np.concatenate([spreads, importances[order]]),
        solution,
        certificate,
    )
