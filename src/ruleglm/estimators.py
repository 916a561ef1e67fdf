"""The front door: estimators with scikit-learn's contract.

``fit`` goes through the pipeline of the folder: columns are read one at a time and become bin
codes, an engine holds them, column generation finds the rules, and a
:class:`~ruleglm.ensemble.RuleEnsemble` comes out.
"""

import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ruleglm.checks import check_offset, check_weights
from ruleglm.dtypes import AnyArray, FloatArray
from ruleglm.families import FAMILIES, Family, get_family
from ruleglm.fitting import FitResult, FitSettings, TrainingRows, fit_rules, prepare_rows
from ruleglm.frames import read_table, scan_table
from ruleglm.kernels import KERNELS
from ruleglm.kernels.compile import announce_compilation
from ruleglm.pricing import PRICERS, Penalty
from ruleglm.targets import check_labels, check_length, check_target, check_two_classes

if TYPE_CHECKING:
    import pandas as pd

LAMBDA_RATIO = 0.2
"""Default ``lambda_1 / lambda_0``: the weight of a condition in the paper's complexity."""

PARAMETERS = """
    Parameters
    ----------
    max_degree : int or None, default=2
        The most conditions in a rule; an interval counts as two. 1 gives the paper's LR1: a sum of
        step functions. The search of all rules of degree 3 takes seconds to minutes on data with
        more than about 30 columns; None sets no limit, which only small data can be searched to.
    lambda_0 : float, default=0.02
        Price of a rule: the penalty on its coefficient is ``lambda_0 + lambda_1 * degree``, beside
        the mean loss (half the deviance a row; for the gaussian family of the target divided by
        its standard deviation).
    lambda_1 : float, default=None
        Price of each condition of a rule; None means ``0.2 * lambda_0``, as in the paper.
    pricing : {"auto", "histogram", "beam", "mip"}, default="auto"
        How rules are searched. "histogram" is exact; "auto" is the same search, but goes to higher
        degrees only when lower ones have nothing more to give; "beam" is the paper's heuristic;
        "mip" its integer program, for small data (needs ``pip install "ruleglm[mip]"``).
    pricing_options : dict, default=None
        For "beam": ``n_best``, ``beam_width``, ``early_stop``, ``value_weight``, ``max_depth``; for
        "mip": ``seconds``, ``max_entries``.
    linear_terms : bool, default=False
        Whether number columns may also enter as straight lines, winsorised at their 2.5 % and
        97.5 % quantiles (the paper's "N" variants).
    bins : int, default=32
        The most bins of a number column; 10 gives the paper's deciles.
    thresholds : dict, default=None
        Thresholds to use for the columns named, in place of quantiles: ``{"age": [18, 30, 65]}``.
    categorical : list of str or int, default=None
        Columns (names or positions) of numbers that stand for categories.
    min_level_share : float, default=0.0
        Levels of a category with a smaller share of the rows get no condition of their own.
    debias : bool, default=True
        Whether the coefficients of the rules found are fitted again without the penalty.
    tol : float, default=1e-4
        Relative optimality gap at which to stop.
    max_rounds : int, default=1000
        The most rounds of column generation.
    time_limit : float, default=None
        Seconds after which the search ends with the best model so far, its gap and a warning.
    n_jobs : int, default=None
        Threads; None means 1, -1 all cores. The model does not depend on it.
"""

ATTRIBUTES = """
    Attributes
    ----------
    ensemble_ : RuleEnsemble
        The model by itself: predicts from raw data, prints, compares.
    rules_ : pandas.DataFrame
        One line a term, most important first: rule, coefficient, degree, support, importance.
    intercept_ : float
        Linear predictor of a row on which no rule fires, linear terms aside.
    complexity_ : float
        Sum of ``1 + 0.2 * degree`` over rules, and 1 for each linear term.
    objective_, lower_bound_ : float
        Value of the penalised problem, before de-biasing, and a proven lower bound on what any
        model of the class can reach.
    gap_ : float
        ``(objective_ - lower_bound_) / objective_``.
    certified_ : bool
        Whether the gap is at most ``tol`` over the whole class of rules.
    certificate_ : str
        What is proved, in words.
    n_iter_ : int
        Rounds of column generation.
    trace_ : pandas.DataFrame
        One line a round: objective, lower bound, gap, columns, new columns, seconds by part.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only for data with column names.
"""


class _RuleModel(BaseEstimator):  # type: ignore[misc]
    """What the classifier and the regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_degree": [Interval(Integral, 1, None, closed="left"), None],
        "pricing": [StrOptions(set(PRICERS))],
        "pricing_options": [dict, None],
        "lambda_0": [Interval(Real, 0, None, closed="left")],
        "lambda_1": [Interval(Real, 0, None, closed="left"), None],
        "linear_terms": ["boolean"],
        "bins": [Interval(Integral, 2, 254, closed="both")],
        "thresholds": [dict, None],
        "categorical": ["array-like", None],
        "min_level_share": [Interval(Real, 0, 1, closed="left")],
        "debias": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
    }

    def _settings(self) -> FitSettings:
        lambda_1 = LAMBDA_RATIO * self.lambda_0 if self.lambda_1 is None else self.lambda_1
        if self.lambda_0 + lambda_1 == 0:
            raise ValueError(
                "`lambda_0` and `lambda_1` are both 0, so that rules cost nothing; "
                "give one of them a small positive value, for example lambda_0=1e-4"
            )
        return FitSettings(
            penalty=Penalty(float(self.lambda_0), float(lambda_1)),
            max_degree=self.max_degree,
            pricing=self.pricing,
            pricing_options=self.pricing_options,
            linear_terms=self.linear_terms,
            bins=self.bins,
            thresholds=self.thresholds,
            min_level_share=self.min_level_share,
            debias=self.debias,
            tol=self.tol,
            max_rounds=self.max_rounds,
            time_limit=self.time_limit,
            n_threads=effective_n_jobs(self.n_jobs),
        )

    @abstractmethod
    def _make_family(self) -> Family:
        """Return the family of the target."""

    @abstractmethod
    def _check_target(self, y: Any, n_rows: int, sample_weight: Any) -> FloatArray:
        """Return the target as the family wants it, or say what is wrong with it."""

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any = None
    ) -> TrainingRows:
        """Check everything and code the rows, before anything long begins.

        What is read on the way is in the variables of this function only, and so gone when it
        returns.
        """
        self._validate_params()
        scan = scan_table(X, categorical=() if self.categorical is None else self.categorical)
        validate_data(self, X, reset=True, skip_check_array=True)
        target = self._check_target(y, scan.n_rows, sample_weight)
        family = self._make_family()
        shift = check_offset(offset, exposure, family, scan.n_rows)
        weights = check_weights(sample_weight, scan.n_rows)
        family.check_target(target)
        if weights is not None and not weights.all():
            kept = weights > 0
            scan, target, weights = scan.take(kept), target[kept], weights[kept]
            shift = None if shift is None else shift[kept]
        return prepare_rows(scan, target, family, self._settings(), weights=weights, offset=shift)

    def _fit(self, rows: TrainingRows) -> Self:
        """Learn the rules."""
        announce_compilation(KERNELS)
        result = fit_rules(rows, self._make_family(), self._settings())
        self._supports = result.supports
        self._importances = result.importances
        self.ensemble_ = result.ensemble
        self.intercept_ = result.ensemble.intercept
        self.complexity_ = result.ensemble.complexity
        self.objective_ = result.solution.objective
        self.lower_bound_ = result.solution.lower_bound
        self.gap_ = result.solution.gap
        self.certified_ = result.solution.ending == "certified"
        self.certificate_ = result.certificate
        self.n_iter_ = len(result.solution.trace)
        self._trace = result.solution.trace
        warn_of_ending(result)
        return self

    @property
    def rules_(self) -> "pd.DataFrame":
        """The terms of the model, most important first."""
        import pandas as pd

        check_is_fitted(self, "ensemble_")
        ensemble = self.ensemble_
        lines = [
            f"{term.text()} (line from {term.low:.6g} to {term.high:.6g})"
            for term in ensemble.linear_terms
        ]
        frame = pd.DataFrame(
            {
                "rule": lines + [rule.text() for rule in ensemble.rules],
                "coefficient": np.r_[ensemble.linear_coefficients, ensemble.coefficients],
                "degree": [0] * len(lines) + [rule.degree for rule in ensemble.rules],
                "support": self._supports,
                "importance": self._importances,
            }
        )
        return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)

    @property
    def trace_(self) -> "pd.DataFrame":
        """The rounds of column generation: objective, bound, gap, columns, seconds by part."""
        import pandas as pd

        check_is_fitted(self, "ensemble_")
        return pd.DataFrame(self._trace)

    def _linear_predictor(self, X: Any, offset: Any = None, exposure: Any = None) -> FloatArray:
        check_is_fitted(self, "ensemble_")
        ensemble = self.ensemble_
        if isinstance(X, (list, tuple, np.ndarray)) and np.ndim(X) < 2:
            read_table(X)  # says how to reshape
        validate_data(self, X, reset=False, skip_check_array=True)
        table = ensemble.read(X)
        total = check_offset(offset, exposure, ensemble.family, table.n_rows)
        return ensemble.decision_function(table, total)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


class RuleClassifier(ClassifierMixin, _RuleModel):  # type: ignore[misc]  # noqa: D101
    __doc__ = f"""Probabilities of two classes from a few short rules.

    The log-odds of the second class (``classes_[1]``) are an intercept plus the coefficients of
    the rules that fire.
    {PARAMETERS}{ATTRIBUTES}
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = RuleClassifier(lambda_0=0.02).fit(X, y)
    >>> model.certified_
    True
    """

    def __init__(
        self,
        *,
        max_degree: int | None = 2,
        lambda_0: float = 0.02,
        lambda_1: float | None = None,
        pricing: str = "auto",
        pricing_options: dict[str, Any] | None = None,
        linear_terms: bool = False,
        bins: int = 32,
        thresholds: dict[str, Any] | None = None,
        categorical: Any = None,
        min_level_share: float = 0.0,
        debias: bool = True,
        tol: float = 1e-4,
        max_rounds: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_degree = max_degree
        self.lambda_0 = lambda_0
        self.lambda_1 = lambda_1
        self.pricing = pricing
        self.pricing_options = pricing_options
        self.linear_terms = linear_terms
        self.bins = bins
        self.thresholds = thresholds
        self.categorical = categorical
        self.min_level_share = min_level_share
        self.debias = debias
        self.tol = tol
        self.max_rounds = max_rounds
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Learn rules.

        Parameters
        ----------
        X : frame or array with n rows
            Numbers, categories, strings, booleans; missing values are welcome.
        y : array-like of shape (n,)
            Two classes, of any type.
        sample_weight : array-like of shape (n,), default=None
            A weight of 2 is the row twice, a weight of 0 the row left out.
        offset : array-like of shape (n,), default=None
            Added to the log-odds of each row, in the fit and (to be given again) in prediction.
        """
        return self._fit(self._prepare(X, y, sample_weight, offset))

    def _make_family(self) -> Family:
        return get_family("binomial")

    def _check_target(self, y: Any, n_rows: int, sample_weight: Any) -> FloatArray:
        labels = column_or_1d(check_labels(y), warn=True)
        check_length(labels, n_rows)
        check_classification_targets(labels)
        self.classes_, encoded = np.unique(labels, return_inverse=True)
        check_two_classes(labels, self.classes_, check_weights(sample_weight, n_rows))
        return encoded.astype(np.float64)

    def decision_function(self, X: Any, *, offset: ArrayLike | None = None) -> FloatArray:
        """Return the log-odds of the second class in each row."""
        return self._linear_predictor(X, offset)

    def predict_proba(self, X: Any, *, offset: ArrayLike | None = None) -> FloatArray:
        """Return the probability of each class, shape (n, 2)."""
        eta = self._linear_predictor(X, offset)
        mean = self.ensemble_.family.mean
        return np.column_stack([mean(-eta), mean(eta)])

    def predict(self, X: Any, *, offset: ArrayLike | None = None) -> AnyArray:
        """Return the more probable class of each row."""
        positive = self._linear_predictor(X, offset) > 0
        labels: AnyArray = self.classes_[positive.astype(np.int64)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class RuleRegressor(RegressorMixin, _RuleModel):  # type: ignore[misc]  # noqa: D101
    __doc__ = f"""Numbers, counts, amounts or rates from a few short rules.

    The linear predictor is an intercept plus the coefficients of the rules that fire; the family's
    link makes it the mean: identity for gaussian, logit for binomial, logarithm for poisson, gamma
    and tweedie.
    {PARAMETERS}
    family : {{"gaussian", "binomial", "poisson", "gamma", "tweedie"}}, default="gaussian"
        Distribution of the target.
    power : float, default=1.5
        Variance power of the tweedie family, between 1 and 2.
    {ATTRIBUTES}
    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = RuleRegressor(lambda_0=0.02).fit(X, y)
    >>> model.certified_
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_RuleModel._parameter_constraints,
        "family": [StrOptions(set(FAMILIES))],
        "power": [Interval(Real, 1, 2, closed="neither")],
    }

    def __init__(
        self,
        *,
        family: str = "gaussian",
        power: float = 1.5,
        max_degree: int | None = 2,
        lambda_0: float = 0.02,
        lambda_1: float | None = None,
        pricing: str = "auto",
        pricing_options: dict[str, Any] | None = None,
        linear_terms: bool = False,
        bins: int = 32,
        thresholds: dict[str, Any] | None = None,
        categorical: Any = None,
        min_level_share: float = 0.0,
        debias: bool = True,
        tol: float = 1e-4,
        max_rounds: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.power = power
        self.max_degree = max_degree
        self.lambda_0 = lambda_0
        self.lambda_1 = lambda_1
        self.pricing = pricing
        self.pricing_options = pricing_options
        self.linear_terms = linear_terms
        self.bins = bins
        self.thresholds = thresholds
        self.categorical = categorical
        self.min_level_share = min_level_share
        self.debias = debias
        self.tol = tol
        self.max_rounds = max_rounds
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
        X : frame or array with n rows
            Numbers, categories, strings, booleans; missing values are welcome.
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
        return self._fit(self._prepare(X, y, sample_weight, offset, exposure))

    def _make_family(self) -> Family:
        return get_family(self.family, self.power)

    def _check_target(self, y: Any, n_rows: int, sample_weight: Any) -> FloatArray:  # noqa: ARG002
        target = check_target(y)
        check_length(target, n_rows)
        return target

    def predict(
        self, X: Any, *, offset: ArrayLike | None = None, exposure: ArrayLike | None = None
    ) -> FloatArray:
        """Return the mean of the target in each row."""
        eta = self._linear_predictor(X, offset, exposure)
        return self.ensemble_.family.mean(eta)


def warn_of_ending(result: FitResult) -> None:
    """Warn when the search ended early, and say what to do."""
    reasons = {
        "time": "the time limit was reached: raise `time_limit`",
        "rounds": "the round limit was reached: raise `max_rounds`",
        "interrupted": "the fit was interrupted",
    }
    ending = result.solution.ending
    if ending in reasons:
        warnings.warn(
            f"This is the best model so far, {result.certificate}; {reasons[ending]}. "
            "A larger `lambda_0` or a smaller `max_degree` makes the search shorter.",
            ConvergenceWarning,
            stacklevel=4,
        )
