"""Estimators that fit a whole path of models and choose one by cross-validation."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.metrics._scorer import _BaseScorer
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ruleglm.dtypes import IntArray
from ruleglm.estimators import RuleClassifier, RuleRegressor
from ruleglm.fitting import VARIANTS, PathModel
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
from ruleglm.parallel import one_blas_thread
from ruleglm.pricing import Limits, Penalty
from ruleglm.report import Subject
from ruleglm.selection import (
    HeldOutScore,
    Plan,
    Split,
    check_select,
    choose,
    keep_counted,
    read_ratios,
    split_rows,
    validate_path,
    warn_of_ending,
)
from ruleglm.training import RawRows, Units

HANDED_ON = (
    "classes_",
    "n_features_in_",
    "feature_names_in_",
    "_n_rows",
    "_target_name",
    "_target_mean",
)
"""What a plain estimator that holds a model of a path has from the one that fitted it."""

SHARED = shared_parameters("True", '"auto"')

PARAMETERS = f"""
    Parameters
    ----------
    penalty : {{"l1", "l0"}}, default="l0"
        "l1" is the paper's convex problem, solved with a certificate for every ``lambda_0`` of a
        path; "l0" counts the complexity itself, and a pursuit takes the rules that are worth most
        for it.
    lambda_ratio : float or list of float, default=0.2
        ``lambda_1 / lambda_0``, for "l1"; of several the best is chosen too.
    n_lambdas : int, default=30
        Models of a path for "l1": as many penalties in a geometric series, from the smallest that
        leaves the model empty to one that leads to ``max_complexity``.
    max_complexity : float, default=100
        Complexity at which the path ends.
    cv : int, splitter or iterable of (train, validation) row numbers, default=5
        Folds. A number means that many, shuffled, stratified by class, and whole groups if there
        are ``groups``.
    scoring : str or callable, default=None
        A scikit-learn scorer; None means the mean loss, half the deviance a row (for the gaussian
        family in units of the target's variance), of which less is better.
    select : {{"min", "1se"}} or dict, default="min"
        The model to choose: the best, or a simpler one that explains all but a thousandth as much;
        the simplest within one standard error of that; or the best inside budgets, for example
        ``{{"max_rules": 10}}`` (also ``max_complexity``, ``max_conditions``).
    {SHARED.strip()}
    random_state : int, RandomState or None, default=0
        Shuffles the rows for the folds; None gives new folds at every fit.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, default=None
        Called with a `FitProgress` after each model of the path and of the folds' paths. If it
        returns True, the path (``stage == "path"``) ends there, or the comparison (``"folds"``)
        with the folds that are complete.
    time_limit : float, default=None
        Seconds after which the paths end where they are, with a warning.
    n_jobs : int, default=None
        Threads; None means 1, -1 all cores. The model does not depend on it.
"""

CLASS_WEIGHT_IN_FOLDS = """ In every fold
        "balanced" is computed from the training rows; the loss on held-out rows counts classes by
        the same factors, while a scorer sees ``sample_weight`` only.
"""

MORE_ATTRIBUTES = f"""{ATTRIBUTES.rstrip()}
    path_ : TradeoffPath
        All models, their scores and how they compare: ``path_.table()``, ``path_.plot()``.
    best_index_ : int
        Position of the model chosen on the path.
    strength_ : float
        Its ``lambda_0``; for "l0" the decrease of the mean loss by unit of complexity.
    variant_ : float
        Share of the penalised coefficients in it, the others being refitted; for "l0" its ridge in
        rows.
"""


class _ChosenModel(RuleModel):
    """What the classifier and the regressor share."""

    _open = staticmethod(open_files)
    _plain: ClassVar[type[RuleClassifier] | type[RuleRegressor]]
    _cv_constraints: ClassVar[dict[str, list[Any]]] = {
        "lambda_ratio": [Interval(Real, 0, None, closed="left"), "array-like"],
        "n_lambdas": [Interval(Integral, 1, None, closed="left")],
        "max_complexity": [Interval(Real, 0, None, closed="left")],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "select": [StrOptions({"min", "1se"}), dict],
        "random_state": ["random_state"],
    }

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        offset: Any,
        exposure: Any = None,
    ) -> Self:
        """Learn the path, choose a model and hold it."""
        self._validate_params()
        limits = Limits.after(self.time_limit)
        X, groups, *given = self._open(X, groups, y, sample_weight, offset, exposure)
        raw = self._check_rows(X, *given)
        check_select(self.select)
        plan = self._plan(X, raw, groups)
        compile_ahead(self.penalty)
        with one_blas_thread():
            path, ended = validate_path(plan, limits, bool(self.verbose), self.callback)
        self.best_index_ = choose(path, self.select)
        self.path_ = replace(path, chosen=self.best_index_)
        place = int(path.best_variants()[self.best_index_])
        model = path.models[self.best_index_]
        self.strength_, self.variant_ = model.strength, path.variants[place]
        self._hold(model, place, path.units)
        if self.penalty == "l1":
            self.certificate_ += f", at lambda_0={self.strength_:.4g}, one of {len(path)} on a path"
        warn_of_ending(path, ended)
        return self

    def _plan(self, X: Any, raw: RawRows, groups: Any) -> Plan:
        ratios = read_ratios(self.lambda_ratio)[: None if self.penalty == "l1" else 1]
        settings = tuple(
            self._make_settings(Penalty(1.0, ratio), float(self.max_complexity), path=True)
            for ratio in ratios
        )
        counted = raw.weigh(self._class_weights())
        splits = keep_counted(self._split(X, raw, groups), counted.weights)
        score = None if self.scoring is None else self._build_score(X, raw)
        return Plan(raw, self._make_family(), settings, self.n_lambdas, splits, score)

    def _split(self, X: Any, raw: RawRows, groups: Any) -> list[Split]:
        """Return the folds; those of a number are shuffled."""
        folds = 5 if self.cv is None else self.cv
        return split_rows(folds, X, raw.y, groups, is_classifier(self), self.random_state)

    def _build_score(self, X: Any, raw: RawRows) -> HeldOutScore:
        """Return what asks the scorer, with a plain estimator that holds a fold's model."""
        if raw.offset is not None or raw.scan.workdir is not None:
            raise ValueError(
                "scorers know nothing of `offset`, `exposure` and files; use scoring=None"
            )
        scorer = check_scoring(self._plain(), self.scoring)
        target = self.classes_[raw.y.astype(np.int64)] if is_classifier(self) else raw.y
        weights = raw.weights if isinstance(scorer, _BaseScorer) else None

        def score(model: PathModel, variant: int, units: Units, rows: IntArray) -> float:
            more = {} if weights is None else {"sample_weight": weights[rows]}
            held = self._make_plain(model, variant, units)
            return float(scorer(held, _safe_indexing(X, rows), target[rows], **more))

        return score

    def at(
        self,
        index: int | None = None,
        *,
        max_complexity: float | None = None,
        max_rules: int | None = None,
        max_conditions: int | None = None,
    ) -> Any:
        """Return another model of the path as a fitted plain estimator; nothing is fitted again.

        Parameters
        ----------
        index : int, optional
            Row of ``path_.table()``.
        max_complexity, max_rules, max_conditions : number, optional
            Budgets in place of an index: the best model inside them.

        Returns
        -------
        RuleClassifier or RuleRegressor
            Its parameters are those that lead to the model from the same rows.
        """
        check_is_fitted(self, "path_")
        if index is None:
            index = self.path_.within(
                max_complexity=max_complexity, max_rules=max_rules, max_conditions=max_conditions
            )
        place = int(self.path_.best_variants()[index])
        return self._make_plain(self.path_.models[index], place, self.path_.units)

    def _refit(self, *given: Any) -> Any:
        """Return the chosen model, edited, as a plain estimator."""
        return self._as_plain()._refit(*given)

    def _as_plain(self) -> Any:
        check_is_fitted(self, "path_")
        return self.at(self.best_index_)

    def _describe(self) -> Subject:
        """Return the whole path, from simple to complex."""
        table = self.path_.table()
        order = np.lexsort((table["train_loss"], table["complexity"]))
        candidates = (
            replace(
                self.at(index)._candidate(),
                place=int(index),
                scores=table.loc[index, ["cv_mean", "cv_se", "train_loss"]].to_dict(),
            )
            for index in order
        )
        return replace(
            super()._describe(),
            candidates=tuple(candidates),
            chosen=int(np.flatnonzero(order == self.best_index_)[0]),
            scoring="" if self.scoring is None else str(self.scoring),
            greater_is_better=self.path_.greater_is_better,
            n_folds=len(self.path_.scores),
        )

    def _make_plain(self, model: PathModel, variant: int, units: Units) -> Any:
        """Return a plain estimator that holds a model."""
        names = self._plain._get_param_names()
        shared = {key: value for key, value in self.get_params(deep=False).items() if key in names}
        plain = self._plain(**shared).set_params(**self._place_on_path(model, variant))
        for name in HANDED_ON:
            if hasattr(self, name):
                setattr(plain, name, getattr(self, name))
        plain._hold(model, variant, units)
        return plain

    def _place_on_path(self, model: PathModel, variant: int) -> dict[str, Any]:
        """Return the parameters of a plain estimator that lead to a model."""
        value = VARIANTS[self.penalty][variant]
        if self.penalty == "l0":
            return {"max_complexity": model.complexity, "ridge": value}
        lambdas = {"lambda_0": model.strength, "lambda_1": model.lambda_1}
        return {**lambdas, "debias": 1.0 - value, "max_complexity": None}


class RuleClassifierCV(RuleModelClassifier, _ChosenModel):  # noqa: D101
    __doc__ = f"""Probabilities of classes from a few short rules, as many as held-out rows ask.

    A path of models from none to many rules is fitted to all rows and, with bins and rules of its
    own, in every fold; the folds choose the model. Any other model of the path is at hand by `at`.
    {PARAMETERS}{CLASS_WEIGHT.rstrip()}{CLASS_WEIGHT_IN_FOLDS}{MORE_ATTRIBUTES}
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = RuleClassifierCV(max_degree=1, cv=3, select={{"max_rules": 5}}).fit(X, y)
    >>> len(model.rules_) <= 5
    True
    """

    _plain = RuleClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RuleModelClassifier._parameter_constraints,
        **_ChosenModel._cv_constraints,
    }

    def __init__(
        self,
        *,
        penalty: str = "l0",
        lambda_ratio: Any = 0.2,
        n_lambdas: int = 30,
        max_degree: int | str | None = "auto",
        max_complexity: float = 100,
        cv: Any = 5,
        scoring: Any = None,
        select: str | dict[str, Any] = "min",
        pricing: str = "auto",
        pricing_options: dict[str, Any] | None = None,
        linear_terms: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        bins: int | str = "auto",
        thresholds: dict[str, Any] | None = None,
        categorical: Any = None,
        min_level_share: float = 0.0,
        include: Any = None,
        exclude: Any = None,
        monotone: dict[Any, int] | None = None,
        allowed_interactions: Sequence[Any] | bool | None = None,
        forbidden_interactions: Sequence[Any] | None = None,
        tol: float = 1e-4,
        max_rounds: int = 1000,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.lambda_ratio = lambda_ratio
        self.n_lambdas = n_lambdas
        self.max_degree = max_degree
        self.max_complexity = max_complexity
        self.cv = cv
        self.scoring = scoring
        self.select = select
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
        self.tol = tol
        self.max_rounds = max_rounds
        self.random_state = random_state
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
        groups: Any = None,
        offset: Any = None,
    ) -> Self:
        """Learn a path of models and choose one.

        Parameters
        ----------
        X : frame, array or `RowFiles` (or their path) with n rows
            Numbers, categories, strings, booleans. Of files, vectors are names of columns.
        y : array-like of shape (n,)
            Two classes or more, of any type.
        sample_weight : array-like of shape (n,), default=None
            A weight of 2 is the row twice, a weight of 0 the row left out.
        groups : array-like of shape (n,), default=None
            Rows of a group are never on both sides of a fold.
        offset : array-like of shape (n,), default=None
            Added to the log-odds of each row, in the fit and (to be given again) in prediction;
            for two classes only.
        """
        return self._fit(X, y, sample_weight, groups, offset)


class RuleRegressorCV(RuleModelRegressor, _ChosenModel):  # noqa: D101
    __doc__ = f"""Numbers, counts, amounts or rates from as many rules as held-out rows ask for.

    A path of models from none to many rules is fitted to all rows and, with bins and rules of its
    own, in every fold; the folds choose the model. Any other model of the path is at hand by `at`.
    {PARAMETERS}{REGRESSOR_PARAMETERS}{MORE_ATTRIBUTES}
    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = RuleRegressorCV(max_degree=1, cv=3, select={{"max_rules": 5}}).fit(X, y)
    >>> len(model.rules_) <= 5
    True
    """

    _plain = RuleRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RuleModelRegressor._parameter_constraints,
        **_ChosenModel._cv_constraints,
    }

    def __init__(
        self,
        *,
        family: str = "gaussian",
        power: float = 1.5,
        alpha: float = 1.0,
        penalty: str = "l0",
        lambda_ratio: Any = 0.2,
        n_lambdas: int = 30,
        max_degree: int | str | None = "auto",
        max_complexity: float = 100,
        cv: Any = 5,
        scoring: Any = None,
        select: str | dict[str, Any] = "min",
        pricing: str = "auto",
        pricing_options: dict[str, Any] | None = None,
        linear_terms: bool = True,
        bins: int | str = "auto",
        thresholds: dict[str, Any] | None = None,
        categorical: Any = None,
        min_level_share: float = 0.0,
        include: Any = None,
        exclude: Any = None,
        monotone: dict[Any, int] | None = None,
        allowed_interactions: Sequence[Any] | bool | None = None,
        forbidden_interactions: Sequence[Any] | None = None,
        tol: float = 1e-4,
        max_rounds: int = 1000,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.power = power
        self.alpha = alpha
        self.penalty = penalty
        self.lambda_ratio = lambda_ratio
        self.n_lambdas = n_lambdas
        self.max_degree = max_degree
        self.max_complexity = max_complexity
        self.cv = cv
        self.scoring = scoring
        self.select = select
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
        self.tol = tol
        self.max_rounds = max_rounds
        self.random_state = random_state
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
        groups: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> Self:
        """Learn a path of models and choose one.

        Parameters
        ----------
        X : frame, array or `RowFiles` (or their path) with n rows
            Numbers, categories, strings, booleans. Of files, vectors are names of columns.
        y : array-like of shape (n,)
            Numbers in the range of the family.
        sample_weight : array-like of shape (n,), default=None
            A weight of 2 is the row twice, a weight of 0 the row left out.
        groups : array-like of shape (n,), default=None
            Rows of a group are never on both sides of a fold.
        offset : array-like of shape (n,), default=None
            Added to the linear predictor of each row, in the fit and (to be given again) in
            prediction.
        exposure : array-like of shape (n,), default=None
            Multiplies the mean of each row (time at risk, number insured); for log links.
        """
        return self._fit(X, y, sample_weight, groups, offset, exposure)
