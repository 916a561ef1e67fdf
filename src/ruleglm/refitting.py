"""Coefficients for given rules: a model that a person has edited, or one that meets new rows.

The rules and lines of an ensemble become columns of an engine, so that weights, offsets, families
and the ridge mean what they mean in a fit.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from ruleglm.checks import check_offset, check_weights
from ruleglm.constraints import term_signs
from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE, BoolArray, CodeArray, FloatArray
from ruleglm.engines import LocalEngine
from ruleglm.engines.classes import ClassEngines
from ruleglm.ensemble import RuleEnsemble, Term
from ruleglm.explain.rows import effect_sizes
from ruleglm.families import get_family
from ruleglm.family import Family
from ruleglm.frames import Table
from ruleglm.linear import scale_term
from ruleglm.solvers import refit as minimise
from ruleglm.solvers.class_refit import refit_classes
from ruleglm.solvers.columns import shrink_ridges
from ruleglm.targets import check_labels, check_length, check_target
from ruleglm.training import Translation, count_rows, target_scale

TOL = 1e-14
"""Decrease of the mean loss that a step has to promise."""

DEFAULT_RIDGE = 1.0

BINOMIAL = get_family("binomial")


def refit(
    ensemble: RuleEnsemble,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    offset: ArrayLike | None = None,
    exposure: ArrayLike | None = None,
    ridge: float = DEFAULT_RIDGE,
    fixed: Iterable[Term] = (),
    monotone: Mapping[Any, int] | None = None,
) -> RuleEnsemble:
    """Fit the coefficients of a model's rules and lines to rows, and leave the rules as they are.

    For a model that a person has edited (`RuleEnsemble.drop`, `add`, `replace`), and for new rows.
    With several classes every term gets a coefficient for each of them.

    Parameters
    ----------
    ensemble : RuleEnsemble
    X : frame or array with n rows
        The columns that the model reads.
    y : array-like of shape (n,)
        Labels of the model's classes, or numbers in the range of its family.
    sample_weight : array-like of shape (n,), optional
        A weight of 2 is the row twice, a weight of 0 the row left out.
    offset, exposure : array-like of shape (n,), optional
        As in the fit.
    ridge : float
        Coefficients are shrunk as by this many rows without an effect, those of rules that cover
        few rows, or all but few, by fewer. With 0, terms must not be collinear, and rules that
        separate the classes get very large coefficients.
    fixed : iterable of Rule, str or int
        Terms that keep their coefficients; see `RuleEnsemble.drop` for how to name them.
    monotone : mapping of columns to 1 or -1, optional
        As in a fit; a coefficient that would have the wrong sign is 0.

    Returns
    -------
    RuleEnsemble
        The same terms in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from ruleglm import RuleRegressor, refit
    >>> X = np.arange(40.0).reshape(-1, 1) % 20
    >>> model = RuleRegressor(lambda_0=0.01).fit(X, X[:, 0] > 11)
    >>> edited = model.ensemble_.drop(1).add("x0 > 10")
    >>> print(refit(edited, X, X[:, 0] > 11, ridge=0.0).terms)
    ('(intercept)', 'x0 > 10')
    """
    held = Rows.read(ensemble, X, y, sample_weight, offset, exposure)
    return refit_terms(ensemble, held, ridge, fixed, term_signs(ensemble, monotone)).ensemble


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to fit coefficients to, those of weight 0 left out.

    Attributes
    ----------
    table : Table
    y : (n_rows,) float64
    weights : (n_rows,) float64, or None for equal weights
    offset : (n_rows,) float64 or None
    """

    table: Table
    y: FloatArray
    weights: FloatArray | None
    offset: FloatArray | None

    @classmethod
    def read(
        cls,
        ensemble: RuleEnsemble,
        X: Any,
        y: Any,
        sample_weight: Any,
        offset: Any,
        exposure: Any,
    ) -> "Rows":
        """Check and read rows as the model needs them."""
        table = ensemble.read(X)
        target = read_target(ensemble, y, table.n_rows)
        weights = check_weights(sample_weight, table.n_rows)
        shift = check_offset(offset, exposure, ensemble.family, table.n_rows)
        if weights is None or weights.all():
            return cls(table, target, weights, shift)
        kept = weights > 0
        shift = None if shift is None else shift[kept]
        return cls(table.take(kept), target[kept], weights[kept], shift)

    @property
    def size(self) -> float:
        """The rows that these stand for: the sum of their weights."""
        return count_rows(self.y, self.weights)


@dataclass(frozen=True, eq=False)
class Columns:
    """The terms of a model on some rows, lines scaled as in a fit.

    Attributes
    ----------
    masks : (n_rules, n_rows) uint8, where each rule holds
    lines : (n_linear_terms, n_rows) float64, ``(value - center) * scale``
    centers, scales, sds : (n_linear_terms,) float64; a line that does not vary has the scale and
        the standard deviation 0, and its value as the center
    """

    masks: CodeArray
    lines: FloatArray
    centers: FloatArray
    scales: FloatArray
    sds: FloatArray

    @classmethod
    def build(cls, ensemble: RuleEnsemble, table: Table, shares: FloatArray | None) -> "Columns":
        """Evaluate the terms of a model."""
        scaled = [scale_term(term, table, shares) for term in ensemble.linear_terms]
        moments = [
            (float(term.values(table)[0]), 0.0, 0.0) if s is None else (s.center, s.scale, s.spread)
            for s, term in zip(scaled, ensemble.linear_terms, strict=True)
        ]
        lines = [np.zeros(table.n_rows) if s is None else s.column(table) for s in scaled]
        masks = [rule.holds(table) for rule in ensemble.rules]
        return cls(
            np.array(masks, CODE_DTYPE).reshape(-1, table.n_rows),
            np.array(lines).reshape(-1, table.n_rows),
            *np.array(moments).reshape(-1, 3).T,
        )

    def build_engine(
        self,
        y: FloatArray,
        family: Family,
        shares: FloatArray | None,
        offset: FloatArray | None = None,
        signs: Sequence[int] = (),
    ) -> LocalEngine:
        """Return an engine that holds the terms as its columns."""
        n_lines = len(self.lines)
        engine = LocalEngine(
            self.masks,
            np.full(len(self.masks), 2, INDEX_DTYPE),
            y,
            family,
            weights=shares,
            offset=offset,
            linear=self.lines,
            sign_of=(lambda rule: signs[n_lines + rule[0][0]]) if any(signs) else None,
            linear_signs=signs[:n_lines],
        )
        # of rules that cover the same rows, it holds another only if its degree is smaller
        n_rules = len(self.masks)
        engine.add_rules([((k, 0b10),) for k in range(n_rules)], range(n_rules, 0, -1))
        return engine

    def scale(self, coef: FloatArray) -> FloatArray:
        """Return coefficients per unit as they enter a fit, the intercept's aside."""
        scaled = coef.copy()
        lines = slice(1, 1 + len(self.scales))
        safe = np.where(self.scales > 0.0, self.scales, 1.0)
        scaled[lines] = (coef[lines].T / safe).T
        return scaled

    def unscale(self, coef: FloatArray) -> FloatArray:
        """Return coefficients per unit from those of a fit, the intercept's too."""
        plain = coef.copy()
        lines = slice(1, 1 + len(self.scales))
        plain[lines] = (coef[lines].T * self.scales).T
        plain[0] -= self.centers @ plain[lines]
        return plain


def refit_terms(
    ensemble: RuleEnsemble,
    rows: Rows,
    ridge: float,
    fixed: Iterable[Term] = (),
    signs: Sequence[int] = (),
) -> Translation:
    """Fit the coefficients of a model, and say what the rows tell of its terms.

    ``signs`` are those that the coefficients of lines and rules have to have, 0 for any.
    """
    if any(signs) and ensemble.family.output_shape:
        raise ValueError("`monotone` is for regressions and two classes")
    if not 0.0 <= ridge < np.inf:
        raise ValueError(f"`ridge` is {ridge}; give a number of rows, at least 0")
    family, first = ensemble.family, 1 + len(ensemble.linear_terms)
    shares = None if rows.weights is None else rows.weights / rows.weights.sum()
    shift, unit = (
        target_scale(rows.y, shares, rows.offset) if family.constant_hessian else (0.0, 1.0)
    )
    columns = Columns.build(ensemble, rows.table, shares)
    kept = sorted({ensemble.place(term) for term in fixed})
    supports = np.array([np.average(mask, weights=shares) for mask in columns.masks])
    members = np.concatenate([[True], columns.sds > 0, (supports > 0) & (supports < 1)])
    warn_of_idle(ensemble, members, kept)
    members[kept] = False
    if family.output_shape:
        start = columns.scale(ensemble.all_coefficients())
        coef = columns.unscale(
            solve_classes(columns, rows, shares, start, ridge / rows.size, members)
        )
    else:
        given = given_part(ensemble, rows, kept)
        offset = None if given is None else given / unit
        engine = columns.build_engine((rows.y - shift) / unit, family, shares, offset, signs)
        coef = columns.unscale(unit * solve(engine, ridge / rows.size, members))
        coef[0] += shift
    coef[kept] = ensemble.all_coefficients()[kept]
    if family.output_shape:  # a line that stays and does not vary is part of the intercept
        still = [k for k in kept if k < first and columns.sds[k - 1] == 0.0]
        coef[0] -= columns.centers[[k - 1 for k in still]] @ coef[still]
    fitted = replace(
        ensemble,
        intercept=coef[0],
        coefficients=coef[first:],
        linear_coefficients=coef[1:first],
    )
    spreads = np.concatenate([columns.sds, np.sqrt(supports * (1 - supports))])
    shown = np.concatenate([np.ones(first - 1), supports])
    return Translation(fitted, shown, effect_sizes(coef[1:]) * spreads)


def given_part(ensemble: RuleEnsemble, rows: Rows, kept: list[int]) -> FloatArray | None:
    """Return what is known of the linear predictor: the offset and the terms that stay."""
    if not kept:
        return rows.offset
    others = set(range(1, len(ensemble.terms))) - set(kept)
    stay = replace(ensemble.drop(*others), intercept=np.zeros(ensemble.family.output_shape))
    return stay.decision_function(rows.table, rows.offset)


def solve(engine: LocalEngine, ridge: float, members: BoolArray) -> FloatArray:
    """Return the coefficients of an engine's columns, 0 for those that may not move."""
    coef = np.zeros(len(members))
    coef[0] = engine.null_intercept()
    engine.set_coefficients(coef)
    try:
        return minimise(engine, coef, shrink_ridges(engine, ridge), TOL, members).coef
    except linalg.LinAlgError as error:
        raise ValueError(
            "These rows do not determine the coefficients, because terms are collinear on them; "
            "drop some, or give a `ridge` above 0"
        ) from error


def solve_classes(
    columns: Columns,
    rows: Rows,
    shares: FloatArray | None,
    start: FloatArray,
    ridge: float,
    members: BoolArray,
) -> FloatArray:
    """Return the coefficients of all columns for each class; those that may not move stay."""
    labels = rows.y.argmax(axis=1)
    targets = (rows.y == 1.0).astype(np.float64).T
    engines = [columns.build_engine(np.ascontiguousarray(y), BINOMIAL, shares) for y in targets]
    classes = ClassEngines(engines, labels, shares)
    coef = np.where(members[:, None], 0.0, start)
    coef[0] = classes.null_intercepts()
    classes.set_coefficients(list(coef.T.copy()))
    every = np.repeat(members[:, None], len(engines), axis=1)
    coef = refit_classes(classes, coef, every, shrink_ridges(engines[0], ridge), TOL)
    coef[members] -= coef[members].mean(axis=1, keepdims=True)
    return coef


def read_target(ensemble: RuleEnsemble, y: Any, n_rows: int) -> FloatArray:
    """Return a target as the model's family wants it, or say what is wrong with it.

    For more than two classes its shape is (n_rows, n_classes), with a 1 for the class of each row.
    """
    target = encode_labels(y, ensemble.classes) if ensemble.classes else check_target(y)
    check_length(target, n_rows)
    if ensemble.family.output_shape:
        target = np.eye(len(ensemble.classes))[target.astype(np.int64)]
    ensemble.family.check_target(target)
    return target


def encode_labels(y: Any, classes: tuple[Any, ...]) -> FloatArray:
    """Return the place of each label among the classes: 0 for the first, 1 for the second."""
    labels = np.ravel(np.asarray(check_labels(y)))
    place = {label: float(code) for code, label in enumerate(classes)}
    unknown = [label for label in labels.tolist() if label not in place]
    if unknown:
        raise ValueError(f"y holds {unknown[0]!r}, but the model tells apart {classes}")
    return np.array([place[label] for label in labels.tolist()])


def warn_of_idle(ensemble: RuleEnsemble, members: BoolArray, kept: list[int]) -> None:
    """Name the terms of which the rows say nothing."""
    idle = [ensemble.terms[k] for k in np.flatnonzero(~members) if k not in kept]
    if idle:
        warnings.warn(
            f"{', '.join(f'`{term}`' for term in idle)}: the same for all of these rows, which say "
            "nothing about it, so that its coefficient is 0; drop it, or name it in `fixed` to "
            "keep its coefficient",
            UserWarning,
            stacklevel=4,
        )
