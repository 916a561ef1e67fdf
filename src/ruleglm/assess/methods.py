"""The methods of fitted estimators that assess them."""

from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ruleglm.assess.bootstrap import Bootstrap
from ruleglm.assess.calibration import Calibration, calibrate
from ruleglm.assess.deviance import explained_deviance, mean_deviance
from ruleglm.assess.redundancy import find_redundancy
from ruleglm.assess.rows import read_rows
from ruleglm.assess.stability import Stability, assess_stability
from ruleglm.checks import check_count, check_groups, check_weights
from ruleglm.class_weights import class_numbers
from ruleglm.ensemble import RuleEnsemble

if TYPE_CHECKING:
    import pandas as pd


QUIET = {"n_jobs": None, "verbose": 0, "callback": None}
"""Parameters of fits that run beside each other."""


class AssessMethods:
    """What a fitted estimator tells of its own quality."""

    ensemble_: RuleEnsemble

    def deviance(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
    ) -> float:
        """Return the mean deviance of rows: twice the loss that a fit minimises.

        That is the squared error for the gaussian family, twice the log loss for a classifier.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure
            As for `fit`; ``exposure`` is for log links.
        """
        return mean_deviance(read_rows(self, X, y, sample_weight, offset, exposure))

    def d2_score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
    ) -> float:
        """Return the share of the deviance explained, a pseudo-R2.

        1 is perfect, 0 no better than the best intercept for these rows, with their offset and
        exposure. It is R2 for the gaussian family, McFadden's R2 for a classifier.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure
            As for `fit`; ``exposure`` is for log links.
        """
        return explained_deviance(read_rows(self, X, y, sample_weight, offset, exposure))

    def calibration(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        n_bins: int = 10,
        offset: Any = None,
        exposure: Any = None,
    ) -> Calibration:
        """Compare predictions with what happened, in bins of rows with similar predictions.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure
            As for `fit`; with an ``exposure``, rates are compared. Use rows that the fit has not
            seen.
        n_bins : int, default=10
            The most bins; equal predictions are never separated.

        Returns
        -------
        Calibration
            With the table ``bins`` and the expected calibration ``error``.
        """
        n_bins = check_count(n_bins, "n_bins")
        rows = read_rows(self, X, y, sample_weight, offset, exposure)
        return calibrate(rows, self.ensemble_.classes, n_bins)

    def redundancy(
        self, X: Any = None, sample_weight: Any = None, *, threshold: float = 0.9
    ) -> "pd.DataFrame":
        """Return the pairs of rules that overlap, the most redundant first.

        Parameters
        ----------
        X : frame or array with n rows, optional
            Rows to compare the rules on; without any, only their words are compared.
        sample_weight : array-like of shape (n,), optional
            Rows of weight 0 are left out.
        threshold : float, default=0.9
            Least Jaccard index of similar rules: rows that both cover over rows that at least one
            covers, or the same of the rows that they leave out, if that is smaller.

        Returns
        -------
        DataFrame
            One line a pair: ``rule``, ``other``, their ``relation`` ("equal": they cover the same
            rows, "complement": just the others, "similar", or "inside": the rule's rows are all the
            other's), whether it is ``logical``, one implying the other by its words, the
            ``jaccard`` index and the shares of the rows that they cover. A fit by itself gives no
            two rules that are equal or complements on its rows.
        """
        check_is_fitted(self, "ensemble_")
        if not 0.0 < threshold <= 1.0:
            raise ValueError(f"`threshold` is {threshold}; give a number above 0, at most 1")
        table = None if X is None else self.ensemble_.read(X)
        weights = None if table is None else check_weights(sample_weight, table.n_rows)
        return find_redundancy(self.ensemble_, table, weights, threshold)

    def _as_plain(self) -> Any:
        """Return a fitted estimator that fits a single model, with the parameters of this one."""
        check_is_fitted(self, "ensemble_")
        return self

    def stability(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        offset: Any = None,
        exposure: Any = None,
        n_bootstrap: int = 50,
        similarity: float = 0.8,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Stability:
        """Fit the model again to resamples of its rows, and see how much of it is found again.

        Each resample is drawn with replacement and fitted with the parameters of this model, on its
        bins. A model chosen by cross-validation is fitted at its penalty (for "l0" its complexity
        and ridge) without another choice.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure
            The rows of the fit. Whole weights count rows: as many are drawn as they add up to.
            Other weights stay with their rows.
        groups : array-like of shape (n,), default=None
            Rows of a group are drawn together, as many groups as there are.
        n_bootstrap : int, default=50
            Number of resamples.
        similarity : float, default=0.8
            Least Jaccard index at which a rule, or its complement, counts as found again; see
            `redundancy`.
        random_state : int, RandomState or None, default=0
            Decides the resamples.
        n_jobs : int, default=None
            Threads, over resamples; None means 1, -1 all cores. The result does not depend on it.
        verbose : int, default=0
            1 shows progress on standard error.

        Returns
        -------
        Stability
            With ``terms()``, ``features()`` and ``pairs()``, how often each is found again, and
            ``interval(X)``, between which values predictions lie.
        """
        n_bootstrap = check_count(n_bootstrap, "n_bootstrap")
        if not 0.0 < similarity <= 1.0:
            raise ValueError(f"`similarity` is {similarity}; give a number above 0, at most 1")
        fitted = self._as_plain()
        rows = read_rows(fitted, X, y, None, offset, exposure)
        weights = check_weights(sample_weight, len(rows.y))
        bootstrap = Bootstrap(
            clone(fitted).set_params(thresholds=fitted._thresholds, **QUIET),
            fitted.ensemble_,
            (X, y, weights, offset, exposure),
            rows.y if rows.y.ndim == 1 else class_numbers(rows.y).astype(np.float64),
            None if groups is None else check_groups(groups, len(rows.y)),
            similarity,
        )
        n_threads = effective_n_jobs(n_jobs)
        return assess_stability(bootstrap, n_bootstrap, random_state, n_threads, bool(verbose))
