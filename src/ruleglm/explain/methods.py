"""The explanations as methods of the estimators."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ruleglm.bins import FeatureBins
from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain.change import Change, nearest_change
from ruleglm.explain.importance import feature_importances
from ruleglm.explain.interactions import measure_interactions, pair_importances
from ruleglm.explain.local import Explanation, explain_row
from ruleglm.explain.options import Facts, learn_facts, recall_facts
from ruleglm.explain.plots import Plots
from ruleglm.explain.rows import TermSpread, measure_terms, recall_terms
from ruleglm.explain.shapes import Shapes, build_shapes, mean_shapes
from ruleglm.explain.words import Training, summarise
from ruleglm.frames import Level

if TYPE_CHECKING:
    import pandas as pd


class ExplainMethods:
    """What a fitted estimator can say about itself."""

    ensemble_: RuleEnsemble
    _supports: FloatArray
    _importances: FloatArray
    _features: tuple[FeatureBins, ...]
    _n_rows: int
    _target_name: str
    _target_mean: Any
    certificate_: str

    def importances(
        self, X: Any = None, sample_weight: ArrayLike | None = None, *, class_: Level | None = None
    ) -> "pd.DataFrame":
        """Return how much each feature matters, the most important first.

        The importance of a term is the standard deviation of what it adds to the linear predictor,
        and is shared equally among its features. That of the terms is in ``rules_``.

        Parameters
        ----------
        X : frame or array with n rows, optional
            Rows over which the terms vary; by default those of the fit.
        sample_weight : array-like of shape (n,), optional
        class_ : label, optional
            For one class of several; by default for all of them together.
        """
        return feature_importances(self._explained(), self._spread(X, sample_weight), class_)

    @property
    def feature_importances_(self) -> FloatArray:
        """Shares of the columns in the importance of all terms, in the order of the columns."""
        table = feature_importances(self._explained(), self._spread()).set_index("feature")
        return np.asarray(table["share"].reindex(list(self.ensemble_.names)), dtype=np.float64)

    def interactions(
        self, X: Any = None, sample_weight: ArrayLike | None = None, *, class_: Level | None = None
    ) -> "pd.DataFrame":
        """Return the pairs of features that share rules, with how much they act together.

        Parameters
        ----------
        X : frame or array with n rows, optional
            With rows there are also ``strength``, what the pair does beyond its features one by
            one, as a standard deviation of the linear predictor, and Friedman and Popescu's ``h``,
            its share in all that the pair does. Without, the importance of the rules only.
        sample_weight : array-like of shape (n,), optional
        class_ : label, optional
            For one class of several.
        """
        ensemble = self._explained()
        if X is None:
            return pair_importances(ensemble, self._spread(), class_)
        return measure_interactions(ensemble, X, sample_weight, class_)

    def shapes(
        self,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        centred: bool = False,
        class_: Level | None = None,
    ) -> Shapes:
        """Return the model as a function of each feature, and rules of several features.

        Parameters
        ----------
        X : frame or array with n rows, optional
            Rows over which the functions are centred; by default those of the fit.
        sample_weight : array-like of shape (n,), optional
        centred : bool
            Whether each function has the mean 0, and the intercept what is taken off.
        class_ : label, optional
            One class of several.
        """
        shapes = build_shapes(self._explained(), class_)
        if not centred:
            return shapes
        return shapes.centred(mean_shapes(shapes, self._spread(X, sample_weight)))

    def explain(self, row: Any, *, offset: float = 0.0, class_: Level | None = None) -> Explanation:
        """Return the prediction of one row as a sum of the terms at work.

        Parameters
        ----------
        row : dict, Series, list or data of one row
        offset : float
            Added to the linear predictor.
        class_ : label, optional
            Only this class of several.
        """
        return explain_row(self._explained(), row, offset=offset, class_=class_)

    def nearest_change(
        self,
        row: Any,
        *,
        threshold: float | None = None,
        target: Level | None = None,
        fixed: Iterable[str] = (),
        max_features: int = 3,
        X: Any = None,
        offset: float = 0.0,
    ) -> Change | None:
        """Return the smallest change of a row that flips the decision, or None if there is none.

        Fewest features first, then the smallest change in standard deviations, a changed level
        counting 1; found by branch and bound, so that nothing smaller does it.

        Parameters
        ----------
        row : dict, Series, list or data of one row
        threshold : float, optional
            Of the prediction, 0.5 for two classes; other families need one.
        target : label, optional
            Of several classes the one to be reached; by default any other than now.
        fixed : iterable of str
            Features that must not change.
        max_features : int
            The most features that may change.
        X : frame or array, optional
            Rows that tell standard deviations, whole numbers and levels; by default the bins of
            the fit do, roughly.
        offset : float
            Added to the linear predictor.
        """
        return nearest_change(
            self._explained(),
            row,
            threshold=threshold,
            target=target,
            fixed=fixed,
            max_features=max_features,
            facts=self._column_facts(X),
            offset=offset,
        )

    @property
    def plot(self) -> Plots:
        """Figures: ``model.plot.shapes()``, ``.importances()``, ``.row(row)`` and others."""
        self._explained()
        return Plots(self)

    def _explained(self) -> RuleEnsemble:
        check_is_fitted(self, "ensemble_")
        return self.ensemble_

    def summary(self, most: int = 8) -> str:
        """Say in plain English what the model predicts and how, in lines of less than 80 letters.

        Parameters
        ----------
        most : int
            The most rules and lines, strongest first.
        """
        ensemble = self._explained()
        rows = Training(self._n_rows, self._target_name, self._target_mean)
        return summarise(ensemble, self._spread(), rows, self.certificate_, most)

    def _column_facts(self, X: Any = None) -> Facts:
        """Return what rows tell of the columns; without any, what the bins of the fit do."""
        return recall_facts(self._features) if X is None else learn_facts(self._explained().read(X))

    def _spread(self, X: Any = None, sample_weight: ArrayLike | None = None) -> TermSpread:
        """Return how the terms vary over rows, by default over those of the fit."""
        ensemble = self._explained()
        if X is not None:
            return measure_terms(ensemble, X, sample_weight)
        return recall_terms(ensemble, self._supports, self._importances)
