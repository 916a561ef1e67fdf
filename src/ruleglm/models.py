"""What every estimator has: checks of the input, the fitted model, its predictions.

Parameters and ``fit`` are in :mod:`ruleglm.estimators` and :mod:`ruleglm.estimators_cv`.
"""

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ruleglm.assess.methods import AssessMethods
from ruleglm.checks import check_offset, check_weights, warn_of_light_weights
from ruleglm.class_weights import ClassWeights, read_class_weight, scale_weights
from ruleglm.constraints import Asked, term_signs
from ruleglm.dtypes import AnyArray, FloatArray
from ruleglm.ensemble import RuleEnsemble, Term
from ruleglm.expert import read_expert
from ruleglm.explain import ExplainMethods, mean_target, rule_importances
from ruleglm.export.methods import ExportMethods
from ruleglm.families import FAMILIES, get_family
from ruleglm.family import Family
from ruleglm.files import RowFiles
from ruleglm.fitting import PathModel
from ruleglm.frames import open_files, read_table
from ruleglm.lookalikes import scan_features
from ruleglm.multinomial import Multinomial
from ruleglm.pricing import PRICERS, Penalty
from ruleglm.refitting import Rows, refit_terms
from ruleglm.report.methods import ReportMethods
from ruleglm.rules import Rule
from ruleglm.solvers.master import debias_ridge
from ruleglm.targets import check_classes, check_labels, check_length, check_target
from ruleglm.training import FitSettings, RawRows, Translation, Units

if TYPE_CHECKING:
    import pandas as pd

AUTO_DEGREE = {"l1": 2, "l0": 6}
REFINED = "bins refined around the thresholds of a first, coarse fit"

SHARED_PARAMETERS = """
    max_degree : int, "auto" or None, default="auto"
        The most conditions in a rule; an interval counts as two. 1 gives the paper's LR1: a sum of
        step functions. "auto" means 2 for "l1" and 6 for "l0". For "l1", the search of all rules
        of degree 3 takes seconds to minutes on data with more than about 30 columns; None sets no
        limit, which only small data can be searched to (for "l0" it means 8).
    pricing : {"auto", "histogram", "beam", "mip"}, default="auto"
        How rules are searched. For "l1", "histogram" is exact; "auto" is the same search, but goes
        to higher degrees only when lower ones have nothing more to give; "beam" is the paper's
        heuristic; "mip" its integer program, for small data (needs ``pip install
        "ruleglm[mip]"``). For "l0", "histogram" looks at all rules of degree 3 in each search,
        "auto" at extensions of the best shorter ones; the other two are not for it.
    pricing_options : dict, default=None
        For "beam": ``n_best``, ``beam_width``, ``early_stop``, ``value_weight``, ``max_depth``; for
        "mip": ``seconds``, ``max_entries``.
    linear_terms : bool, default=<linear>
        Whether number columns of more than two values may also enter as straight lines, winsorised
        at their 2.5 % and 97.5 % quantiles (the paper's "N" variants).
    bins : int or "auto", default=<bins>
        The most bins of a number column; 10 gives the paper's deciles. "auto" means 64 for "l0",
        searched coarse first; for "l1" 16, and finer ones where a first fit put thresholds.
    thresholds : dict, default=None
        Thresholds to use for the columns named, in place of quantiles: ``{"age": [18, 30, 65]}``.
    categorical : list of str or int, default=None
        Columns (names or positions) of numbers that stand for categories.
    min_level_share : float, default=0.0
        Levels of a category with a smaller share of the rows get no condition of their own.
    include : list of str or Rule, default=None
        Rules that are always in the model, for example ``["age > 50 and sex = 'F'"]``; the name of
        a number column means a straight line. Their thresholds and levels need not be those of
        the bins, which learn of them. They cost nothing for "l1", beside the certificate's
        problem, and count in the complexity.
    exclude : list of str or Rule, default=None
        Rules that must not be learned, nor any that says as much or more (with further conditions,
        or stricter ones on the same columns), nor any that splits the training rows in the same
        way. The name of a column keeps that column out of all that is learned. What ``include``
        gives is exempt.
    monotone : dict, default=None
        Columns (names or positions) of numbers or ordered categories on which predictions depend in
        one direction whatever the other columns are: ``{"age": 1, "bmi": -1}`` for predictions that
        do not fall with age and do not rise with bmi. Missing values have no place in the order.
    allowed_interactions : list of groups of columns, False or None, default=None
        Which columns may share a rule: with groups, ``[("age", "bmi"), ("age", "sex", "smoker")]``,
        a rule on several columns lies inside one of them; False gives rules on one column each.
    forbidden_interactions : list of pairs of columns, default=None
        Columns that share no rule: ``[("race", "zip")]``.
    tol : float, default=1e-4
        Relative optimality gap at which to stop, for "l1".
    max_rounds : int, default=1000
        The most rounds of column generation, for "l1".
"""


def shared_parameters(linear: str, bins: str) -> str:
    """Return the documentation of the parameters that all estimators have, with two defaults."""
    return SHARED_PARAMETERS.replace("<linear>", linear).replace("<bins>", bins)


CLASS_WEIGHT = """
    class_weight : dict or "balanced", default=None
        Factors by class for the weights of the rows; a class that the dict leaves out has 1, a
        class with 0 is absent. "balanced" lets all classes weigh the same, with the sum of the
        weights as it is.
"""

REGRESSOR_PARAMETERS = """
    family : str, default="gaussian"
        Distribution of the target: "gaussian", "binomial", "poisson", "negative_binomial", "gamma"
        or "tweedie".
    power : float, default=1.5
        Variance power of the tweedie family, between 1 and 2.
    alpha : float, default=1.0
        Dispersion of the negative binomial family, whose variance is ``mean + alpha * mean ** 2``;
        `ruleglm.estimate_alpha` chooses it.
"""

ATTRIBUTES = """
    Attributes
    ----------
    ensemble_ : RuleEnsemble
        The model by itself: predicts from raw data, prints, compares.
    rules_ : pandas.DataFrame
        One line a term, most important first: rule, coefficient (of more than two classes
        one for each), what it multiplies (odds for the
        logit, the mean for the logarithm), degree, support, importance.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Shares of the columns in the importance of all terms.
    intercept_ : float, or ndarray of shape (n_classes,)
        Linear predictor of a row on which no rule fires, linear terms aside.
    complexity_ : float
        Sum of ``1 + 0.2 * degree`` over rules, and 1 for each linear term.
    objective_, lower_bound_ : float
        Value of the penalised problem, before de-biasing, and a proven lower bound on what any
        model of the class can reach; nan for "l0".
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


class RuleModel(
    ExplainMethods,
    AssessMethods,
    ExportMethods,
    ReportMethods,
    BaseEstimator,  # type: ignore[misc]
):
    """What all estimators share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty": [StrOptions({"l1", "l0"})],
        "max_degree": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "pricing": [StrOptions(set(PRICERS))],
        "pricing_options": [dict, None],
        "linear_terms": ["boolean"],
        "bins": [Interval(Integral, 2, 254, closed="both"), StrOptions({"auto"})],
        "thresholds": [dict, None],
        "categorical": ["array-like", None],
        "min_level_share": [Interval(Real, 0, 1, closed="left")],
        "include": [list, tuple, None],
        "exclude": [list, tuple, None],
        "monotone": [dict, None],
        "allowed_interactions": [list, tuple, Options(bool, {False}), None],
        "forbidden_interactions": [list, tuple, None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["verbose"],
        "callback": [callable, None],
        "n_jobs": [Integral, None],
    }

    def _make_settings(
        self,
        penalty: Penalty,
        max_complexity: float | None,
        max_rules: int | None = None,
        price: float | None = None,
        path: bool = False,
    ) -> FitSettings:
        if self.penalty == "l0" and self.pricing in ("beam", "mip"):
            raise ValueError(
                f"pricing={self.pricing!r} is for penalty='l1'; use 'auto' or 'histogram' with 'l0'"
            )
        return FitSettings(
            kind=self.penalty,
            penalty=penalty,
            max_complexity=max_complexity,
            max_rules=max_rules,
            price=price,
            max_degree=AUTO_DEGREE[self.penalty] if self.max_degree == "auto" else self.max_degree,
            pricing=self.pricing,
            pricing_options=self.pricing_options,
            linear_terms=self.linear_terms,
            bins=None if self.bins == "auto" else self.bins,
            thresholds=self.thresholds,
            min_level_share=self.min_level_share,
            constraints=Asked(
                self.monotone, self.allowed_interactions, self.forbidden_interactions
            ),
            tol=self.tol,
            max_rounds=self.max_rounds,
            n_threads=effective_n_jobs(self.n_jobs),
            path=path,
            class_weights=self._class_weights(),
        )

    def _class_weights(self) -> ClassWeights | None:
        """Return what the classes count, None if alike or if there are none."""
        return None

    @abstractmethod
    def _make_family(self) -> Family:
        """Return the family of the target."""

    @abstractmethod
    def _check_target(self, y: Any, n_rows: int, sample_weight: Any) -> FloatArray:
        """Return the target as the family wants it, or say what is wrong with it."""

    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any = None
    ) -> RawRows:
        """Check the data before anything long begins."""
        scan = scan_features(X, () if self.categorical is None else self.categorical)
        header = X.header() if isinstance(X, RowFiles) else X
        validate_data(self, header, reset=True, skip_check_array=True)
        target = self._check_target(y, scan.n_rows, sample_weight)
        weights = check_weights(sample_weight, scan.n_rows)
        self._n_rows, self._target_name = scan.n_rows, str(getattr(y, "name", None) or "")
        family = self._make_family()
        if not family.output_shape:
            family.check_target(target)
        self._target_mean = mean_target(target, weights, family)
        shift = check_offset(offset, exposure, family, scan.n_rows)
        labels = self.classes_.tolist() if is_classifier(self) else ()
        expert = read_expert(self.include, self.exclude, scan, weights)
        raw = RawRows(scan, target, weights, shift, tuple(labels), expert)
        counted = raw.weigh(self._class_weights()).weights
        if counted is not None and self.penalty == "l0":
            warn_of_light_weights(float(counted.sum()), int(np.count_nonzero(counted)))
        return raw

    def _show(self, said: Translation) -> None:
        """Hold an ensemble and what the rows say of its terms."""
        self._supports, self._importances = said.supports, said.importances
        self.ensemble_ = said.ensemble
        self.intercept_ = said.ensemble.intercept
        self.complexity_ = said.ensemble.complexity

    def _hold(self, model: PathModel, variant: int, units: Units) -> None:
        """Make a fitted model this estimator's own."""
        coef = model.coefs[variant]
        self._features = units.binning.features
        self._show(units.translate(model.rules, model.linear, coef, model.supports))
        self._thresholds = units.binning.thresholds
        self.objective_ = model.solution.objective
        self.lower_bound_ = model.solution.lower_bound
        self.gap_ = model.solution.gap
        self.certified_ = model.solution.ending == "certified"
        self.certificate_ = model.certificate
        if self.bins == "auto":
            self.certificate_ = model.certificate.replace("these bins", REFINED)
        self.n_iter_ = len(model.solution.trace)
        self._trace = model.solution.trace

    @property
    def rules_(self) -> "pd.DataFrame":
        """The terms of the model, most important first."""
        return rule_importances(self._explained(), self._spread())

    def _refit(
        self,
        given: tuple[Any, ...],
        drop: Iterable[Term],
        add: Iterable[Rule | str],
        fixed: Iterable[Term],
    ) -> Self:
        """Return a copy that holds the edited model with new coefficients."""
        check_is_fitted(self, "ensemble_")
        ensemble = self.ensemble_
        gone = [self._place(term) for term in drop]
        names = [ensemble.terms[self._place(term)] for term in fixed]
        rows = Rows.read(ensemble, *given)
        edited = copy(self)
        edited._show(self._fit_coefficients(ensemble.drop(*gone).add(*add), rows, names))
        edited.objective_ = edited.lower_bound_ = edited.gap_ = np.nan
        edited.certified_ = False
        edited.certificate_ = "edited and refitted, of which nothing is proved"
        edited.n_iter_, edited._trace = 0, ()
        edited._n_rows = rows.table.n_rows
        edited._target_mean = mean_target(rows.y, rows.weights, edited.ensemble_.family)
        return edited

    def _fit_coefficients(
        self, ensemble: RuleEnsemble, rows: Rows, fixed: Iterable[Term] = ()
    ) -> Translation:
        """Fit the coefficients of an ensemble as this estimator does: its classes and ridge."""
        counts = self._class_weights()
        if counts is not None:
            factors = counts.factors(rows.y, rows.weights)
            rows = replace(rows, weights=scale_weights(factors, rows.y, rows.weights))
        is_l0 = self.penalty == "l0"
        ridge = self.ridge if is_l0 else debias_ridge(self._settings().penalty) * rows.size
        signs = term_signs(ensemble, self.monotone)
        return refit_terms(ensemble, rows, ridge, fixed, signs)

    def _place(self, term: Term) -> int:
        """Return the place of a term in the ensemble; a number is a row of ``rules_``."""
        if isinstance(term, (int, np.integer)):
            shown = self.rules_["rule"].tolist()
            if not 0 <= term < len(shown):
                raise ValueError(f"There is no row {term} in `rules_`, which has {len(shown)}.")
            term = shown[term]
        return self.ensemble_.place(term)

    @property
    def trace_(self) -> "pd.DataFrame":
        """The rounds of column generation: objective, bound, gap, columns, seconds by part."""
        import pandas as pd

        check_is_fitted(self, "ensemble_")
        trace = pd.DataFrame(self._trace)
        return trace.loc[:, ~((trace.columns.isin(["messages", "bytes"])) & (trace == 0).all())]

    def _linear_predictor(self, X: Any, offset: Any = None, exposure: Any = None) -> FloatArray:
        check_is_fitted(self, "ensemble_")
        ensemble = self.ensemble_
        if isinstance(X, (list, tuple, np.ndarray)) and np.ndim(X) < 2:
            read_table(X)  # says how to reshape
        table, offset, exposure = open_files(X, offset, exposure)
        if not isinstance(table, RowFiles):
            validate_data(self, X, reset=False, skip_check_array=True)
            table = ensemble.read(X)
        total = check_offset(offset, exposure, ensemble.family, table.n_rows)
        return ensemble.decision_function(table, total)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


class RuleModelClassifier(ClassifierMixin, RuleModel):  # type: ignore[misc]
    """What the classifiers share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RuleModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def _class_weights(self) -> ClassWeights | None:
        return read_class_weight(self.class_weight, self.classes_)

    def _make_family(self) -> Family:
        n_classes = len(self.classes_)
        return get_family("binomial") if n_classes == 2 else Multinomial(n_classes)

    def _check_target(self, y: Any, n_rows: int, sample_weight: Any) -> FloatArray:
        labels = column_or_1d(check_labels(y), warn=True)
        check_length(labels, n_rows)
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        target: FloatArray = np.searchsorted(self.classes_, labels).astype(np.float64)
        weights = check_weights(sample_weight, n_rows)
        counts = self._class_weights()
        if counts is not None:
            weights = scale_weights(counts.factors(target, weights), target, weights)
        check_classes(labels, self.classes_, weights)
        return target

    def decision_function(self, X: Any, *, offset: ArrayLike | None = None) -> FloatArray:
        """Return the log-odds of the second class in each row.

        Of more than two classes, the linear predictor of each, shape (n, n_classes).
        """
        return self._linear_predictor(X, offset)

    def predict_proba(self, X: Any, *, offset: ArrayLike | None = None) -> FloatArray:
        """Return the probability of each class, shape (n, n_classes)."""
        eta = self._linear_predictor(X, offset)
        mean = self.ensemble_.family.mean
        return np.column_stack([mean(-eta), mean(eta)]) if eta.ndim == 1 else mean(eta)

    def predict(self, X: Any, *, offset: ArrayLike | None = None) -> AnyArray:
        """Return the most probable class of each row."""
        eta = self._linear_predictor(X, offset)
        best = (eta > 0).astype(np.int64) if eta.ndim == 1 else np.argmax(eta, axis=1)
        labels: AnyArray = self.classes_[best]
        return labels

    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        drop: Iterable[Term] = (),
        add: Iterable[Rule | str] = (),
        fixed: Iterable[Term] = (),
        offset: Any = None,
    ) -> Any:
        """Return a model with rules dropped or added, all coefficients fitted again to any rows.

        Parameters
        ----------
        X, y, sample_weight, offset
            As for `fit`.
        drop : iterable of Rule, str or int
            Terms to leave out: rules, their texts, or rows of `rules_`.
        add : iterable of Rule or str
            Rules to add, of any thresholds and levels.
        fixed : iterable of Rule, str or int
            Terms that keep their coefficients.

        Returns
        -------
        RuleClassifier
            Its ``gap_`` and bounds are nan: nothing is proved of edited models. Coefficients have
            the ridge of this model; `ruleglm.refit` takes any.
        """
        return self._refit((X, y, sample_weight, offset, None), drop, add, fixed)


class RuleModelRegressor(RegressorMixin, RuleModel):  # type: ignore[misc]
    """What the regressors share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RuleModel._parameter_constraints,
        "family": [StrOptions(set(FAMILIES))],
        "power": [Interval(Real, 1, 2, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def _make_family(self) -> Family:
        return get_family(self.family, self.power, self.alpha)

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

    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        drop: Iterable[Term] = (),
        add: Iterable[Rule | str] = (),
        fixed: Iterable[Term] = (),
        offset: Any = None,
        exposure: Any = None,
    ) -> Any:
        """Return a model with rules dropped or added, all coefficients fitted again to any rows.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure
            As for `fit`.
        drop : iterable of Rule, str or int
            Terms to leave out: rules, their texts, or rows of `rules_`.
        add : iterable of Rule or str
            Rules to add, of any thresholds and levels.
        fixed : iterable of Rule, str or int
            Terms that keep their coefficients.

        Returns
        -------
        RuleRegressor
            Its ``gap_`` and bounds are nan: nothing is proved of edited models. Coefficients have
            the ridge of this model; `ruleglm.refit` takes any.
        """
        return self._refit((X, y, sample_weight, offset, exposure), drop, add, fixed)
