"""The methods of fitted estimators that assess them."""

from typing import Any

from ruleglm.assess.calibration import Calibration, calibrate
from ruleglm.assess.deviance import explained_deviance, mean_deviance
from ruleglm.assess.rows import read_rows
from ruleglm.checks import check_count
from ruleglm.ensemble import RuleEnsemble


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
