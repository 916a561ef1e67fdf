"""The front door: estimators with scikit-learn's contract.

``fit`` goes through the pipeline of the folder: columns are read one at a time and become bin
codes, an engine holds them, column generation or a pursuit finds the rules, and a
:class:`~ruleglm.ensemble.RuleEnsemble` comes out.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from ruleglm.adaptive import prepare_auto
from ruleglm.ensemble import RuleEnsemble
from ruleglm.fitting import DEFAULT_RIDGE, PathModel
from ruleglm.frames import open_files
from ruleglm.kernels.ahead import compile_ahead
from ruleglm.models import (
    ATTRIBUTES,
    CLASS_WEIGHT,
    REGRESSOR_PARAMETERS,
    RuleModel,
    RuleModelClassifier,
    RuleModelRegressor,
    shared_parameters,
)
from ruleglm.multiclass import fit_model
from ruleglm.parallel import one_blas_thread
from ruleglm.pricing import Limits, Penalty
from ruleglm.progress import Advance, FitProgress, Monitor, progress
from ruleglm.training import FitRows, FitSettings, Units

LAMBDA_RATIO = 0.2
"""Default ``lambda_1 / lambda_0``: the weight of a condition in the paper's complexity."""

MAX_COMPLEXITY = 30.0
"""Largest model of a pursuit for which no budget is given."""

SHARED = shared_parameters("False", "32")

PARAMETERS = f"""
    Parameters
    ----------
    penalty : {{"l1", "l0"}}, default="l1"
        "l1" is the paper's convex problem, solved with a certificate; "l0" counts the complexity
        itself, and a pursuit takes the rules that are worth most for it.
    lambda_0 : float, default=0.02
        Price of a rule for "l1": the penalty on its coefficient is ``lambda_0 + lambda_1 *
        degree``, beside the mean loss (half the deviance a row; for the gaussian family of the
        target, less its offset, divided by its standard deviation).
    lambda_1 : float, default=None
        Price of each condition of a rule; None means ``0.2 * lambda_0``, as in the paper.
    debias : bool or float, default=True
        Whether the coefficients of the rules found are fitted again without the penalty "l1"; a
        number from 0 to 1 goes that share of the way.
    max_complexity : float, default=None
        Largest complexity for "l0": 1 for each rule and linear term, and 0.2 for each condition.
        None means 30 if ``max_rules`` and ``price`` are None too.
    max_rules : int, default=None
        The most rules and linear terms for "l0".
    price : float, default=None
        For "l0": least decrease of the mean loss by unit of complexity.
    ridge : float, default=10.0
        For "l0": coefficients are shrunk as by this many rows without an effect, those of rules
        that cover few rows, or all but few, by fewer.
    {SHARED.strip()}
    warm_start : bool, default=False
        Whether a second ``fit`` starts from the rules and coefficients of the first, as far as the
        new bins have their thresholds. For "l1" the optimum is the same, and found in fewer
        rounds; for "l0" the pursuit goes on from there.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, default=None
        Called with a `FitProgress` after each round; if it returns True, the fit ends with the
        best model so far.
    time_limit : float, default=None
        Seconds after which the search ends with the best model so far and a warning.
    n_jobs : int, default=None
        Threads; None means 1, -1 all cores. The model does not depend on it; nothing in a fit is
        random, so that there is no ``random_state``.
"""


class _PlainModel(RuleModel):
    """What the classifier and the regressor share."""

    _open = staticmethod(open_files)
    _plain_constraints: ClassVar[dict[str, list[Any]]] = {
        "lambda_0": [Interval(Real, 0, None, closed="left")],
        "lambda_1": [Interval(Real, 0, None, closed="left"), None],
        "debias": ["boolean", Interval(Real, 0, 1, closed="both")],
        "max_complexity": [Interval(Real, 0, None, closed="left"), None],
        "max_rules": [Interval(Integral, 0, None, closed="left"), None],
        "price": [Interval(Real, 0, None, closed="neither"), None],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
    }

    def _settings(self) -> FitSettings:
        lambda_1 = LAMBDA_RATIO * self.lambda_0 if self.lambda_1 is None else self.lambda_1
        if self.lambda_0 + lambda_1 == 0:
            raise ValueError(
                "`lambda_0` and `lambda_1` are both 0, so that rules cost nothing; "
                "give one of them a small positive value, for example lambda_0=1e-4"
            )
        free = self.max_complexity is None and self.max_rules is None and self.price is None
        return self._make_settings(
            Penalty(float(self.lambda_0), float(lambda_1)),
            MAX_COMPLEXITY if free else self.max_complexity,
            self.max_rules,
            self.price,
        )

    def _prepare(self, limits: Limits, *given: Any) -> FitRows:
        """Check and code the rows; what is read on the way is gone when this returns."""
        raw = self._check_rows(*self._open(*given))
        compile_ahead(self.penalty)
        return prepare_auto(raw, self._make_family(), self._settings(), limits)

    def _fit(self, *given: Any) -> Self:
        """Learn the rules."""
        self._validate_params()
        limits = Limits.after(self.time_limit)
        variant = self.ridge if self.penalty == "l0" else 1.0 - self.debias
        with one_blas_thread(), progress(bool(self.verbose)) as begin:
            rows = self._prepare(limits, *given)
            watched = replace(limits, monitor=Monitor("fit", self.callback, self._watch(begin)))
            previous = self._previous(rows.units) if self.warm_start else None
            model = fit_model(rows, self._settings(), float(variant), watched, previous)
        self._hold(model, 0, rows.units)
        warn_of_ending(model, limits)
        return self

    def _watch(
        self, begin: Callable[[str, float | None], Advance]
    ) -> Callable[[FitProgress], None]:
        """Return what shows the progress of the fit."""
        if self.penalty == "l1":
            advance = begin("rounds", None)
            return lambda told: advance(note=f"{told.number}: {told.note()}")
        advance = begin("complexity", self._settings().max_complexity)
        return lambda told: advance(to=told.complexity, note=told.note())

    def _previous(self, units: Units) -> RuleEnsemble | None:
        """Return the model of an earlier fit, if it is of the same kind of target."""
        before: RuleEnsemble | None = getattr(self, "ensemble_", None)
        if before is None or (before.family, before.classes) != (units.family, units.classes):
            return None
        return before


class RuleClassifier(RuleModelClassifier, _PlainModel):  # noqa: D101
    __doc__ = f"""Probabilities of classes from a few short rules.

    The log-odds of the second class (``classes_[1]``) are an intercept plus the coefficients of
    the rules that fire. Of more than two classes each has such a sum over the same rules, and
    their softmax is the probabilities.
    {PARAMETERS}{CLASS_WEIGHT}{ATTRIBUTES}
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = RuleClassifier(lambda_0=0.02).fit(X, y)
    >>> model.certified_
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RuleModelClassifier._parameter_constraints,
        **_PlainModel._plain_constraints,
    }

    def __init__(
        self,
        *,
        penalty: str = "l1",
        max_degree: int | str | None = "auto",
        lambda_0: float = 0.02,
        lambda_1: float | None = None,
        max_complexity: float | None = None,
        max_rules: int | None = None,
        price: float | None = None,
        ridge: float = DEFAULT_RIDGE,
        pricing: str = "auto",
        pricing_options: dict[str, Any] | None = None,
        linear_terms: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        bins: int | str = 32,
        thresholds: dict[str, Any] | None = None,
        categorical: Any = None,
        min_level_share: float = 0.0,
        include: Any = None,
        exclude: Any = None,
        monotone: dict[Any, int] | None = None,
        allowed_interactions: Sequence[Any] | bool | None = None,
        forbidden_interactions: Sequence[Any] | None = None,
        debias: bool | float = True,
        tol: float = 1e-4,
        max_rounds: int = 1000,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.max_degree = max_degree
        self.lambda_0 = lambda_0
        self.lambda_1 = lambda_1
        self.max_complexity = max_complexity
        self.max_rules = max_rules
        self.price = price
        self.ridge = ridge
        self.pricing = pricing
        self.pricing_options = pricing_options
        self.linear_terms = linear_terms
        self.class_weight = class_weight
        self.bins = bins
        self.thresholds = thresholds
        self.categorical = categorical
        self.min_level_share = min_level_share
        self.include = include
        self.exclude = exclude
        self.monotone = monotone
        self.allowed_interactions = allowed_interactions
        self.forbidden_interactions = forbidden_interactions
        self.debias = debias
        self.tol = tol
        self.max_rounds = max_rounds
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Learn rules.

        Parameters
        ----------
        X : frame, array or `RowFiles` (or their path) with n rows
            Numbers, categories, strings, booleans; missing values are welcome. Of files, the
            vectors below are given as names of columns.
        y : array-like of shape (n,)
            Two classes or more, of any type.
        sample_weight : array-like of shape (n,), default=None
            A weight of 2 is the row twice, a weight of 0 the row left out.
        offset : array-like of shape (n,), default=None
            Added to the log-odds of each row, in the fit and (to be given again) in prediction;
            for two classes only.
        """
        return self._fit(X, y, sample_weight, offset)


class RuleRegressor(RuleModelRegressor, _PlainModel):  # noqa: D101
    __doc__ = f"""Numbers, counts, amounts or rates from a few short rules.

    The linear predictor is an intercept plus the coefficients of the rules that fire; the family's
    link makes it the mean: identity for gaussian, logit for binomial, logarithm for poisson,
    negative binomial, gamma and tweedie.
    {PARAMETERS}{REGRESSOR_PARAMETERS}{ATTRIBUTES}
    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = RuleRegressor(lambda_0=0.02).fit(X, y)
    >>> model.certified_
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RuleModelRegressor._parameter_constraints,
        **_PlainModel._plain_constraints,
    }

    def __init__(
        self,
        *,
        family: str = "gaussian",
        power: float = 1.5,
        alpha: float = 1.0,
        penalty: str = "l1",
        max_degree: int | str | None = "auto",
        lambda_0: float = 0.02,
        lambda_1: float | None = None,
        max_complexity: float | None = None,
        max_rules: int | None = None,
        price: float | None = None,
        ridge: float = DEFAULT_RIDGE,
        pricing: str = "auto",
        pricing_options: dict[str, Any] | None = None,
        linear_terms: bool = False,
        bins: int | str = 32,
        thresholds: dict[str, Any] | None = None,
        categorical: Any = None,
        min_level_share: float = 0.0,
        include: Any = None,
        exclude: Any = None,
        monotone: dict[Any, int] | None = None,
        allowed_interactions: Sequence[Any] | bool | None = None,
        forbidden_interactions: Sequence[Any] | None = None,
        debias: bool | float = True,
        tol: float = 1e-4,
        max_rounds: int = 1000,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.power = power
        self.alpha = alpha
        self.penalty = penalty
        self.max_degree = max_degree
        self.lambda_0 = lambda_0
        self.lambda_1 = lambda_1
        self.max_complexity = max_complexity
        self.max_rules = max_rules
        self.price = price
        self.ridge = ridge
        self.pricing = pricing
        self.pricing_options = pricing_options
        self.linear_terms = linear_terms
        self.bins = bins
        self.thresholds = thresholds
        self.categorical = categorical
        self.min_level_share = min_level_share
        self.include = include
        self.exclude = exclude
        self.monotone = monotone
        self.allowed_interactions = allowed_interactions
        self.forbidden_interactions = forbidden_interactions
        self.debias = debias
        self.tol = tol
        self.max_rounds = max_rounds
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
    ) -> Self:
        """Learn rules.

        Parameters
        ----------
        X : frame, array or `RowFiles` (or their path) with n rows
            Numbers, categories, strings, booleans; missing values are welcome. Of files, the
            vectors below are given as names of columns.
        y : array-like of shape (n,)
            Numbers in the range of the family.
        sample_weight : array-like of shape (n,), default=None
            A weight of 2 is the row twice, a weight of 0 the row left out.
        offset : array-like of shape (n,), default=None
            Added to the linear predictor of each row, in the fit and (to be given again) in
            prediction.
        exposure : array-like of shape (n,), default=None
            Multiplies the mean of each row (time at risk, number insured); for log links.
        """
        return self._fit(X, y, sample_weight, offset, exposure)


def warn_of_ending(model: PathModel, limits: Limits) -> None:
    """Warn when the search ended early, and say what to do."""
    reasons = {
        "time": "the time limit was reached: raise `time_limit`",
        "rounds": "the round limit was reached: raise `max_rounds`",
        "interrupted": "the fit was interrupted",
    }
    ending = "time" if limits.over() and not model.solution.trace else model.solution.ending
    if ending in reasons:
        warnings.warn(
            f"This is the best model so far, {model.certificate}; {reasons[ending]}. "
            "A larger `lambda_0` or a smaller `max_degree` makes the search shorter.",
            ConvergenceWarning,
            stacklevel=4,
        )
