"""The explorer as a method of the estimators."""

import os
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ruleglm.bins import FeatureBins
from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain import recall_terms
from ruleglm.refitting import Rows
from ruleglm.report.page import write_report
from ruleglm.report.subject import Candidate, Subject


class ReportMethods:
    """What a fitted estimator can be looked at in."""

    ensemble_: RuleEnsemble
    certificate_: str
    _supports: FloatArray
    _importances: FloatArray
    _features: tuple[FeatureBins, ...]
    _n_rows: int
    _target_name: str

    def report(
        self,
        path: str | os.PathLike[str],
        X_test: Any = None,
        y_test: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        title: str | None = None,
        date: str | None = None,
    ) -> Path:
        """Write one HTML file in which a person can explore the model, or a path of models.

        The file needs no network and no server. It holds the rules, never rows of data.

        Parameters
        ----------
        path : str or path
            The file; one that is there is replaced.
        X_test, y_test : frame or array with n rows, array-like of shape (n,), optional
            Rows to score the models on.
        sample_weight, offset, exposure : array-like of shape (n,), optional
            Of the test rows, as in `fit`.
        title : str, optional
            Headline of the page.
        date : str, optional
            Shown as it is; without it the same model gives the same file.

        Returns
        -------
        Path
            The file.
        """
        check_is_fitted(self, "ensemble_")
        if (X_test is None) != (y_test is None):
            raise ValueError("give both `X_test` and `y_test`, or neither")
        rows = None
        if X_test is not None:
            rows = Rows.read(self.ensemble_, X_test, y_test, sample_weight, offset, exposure)
        return write_report(path, self._describe(), rows, title=title, date=date)

    def _describe(self) -> Subject:
        """Return what a report is about."""
        return Subject(
            candidates=(self._candidate(),),
            features=self._features,
            estimator=repr(self),
            n_rows=self._n_rows,
            target=self._target_name,
        )

    def _candidate(self) -> Candidate:
        """Return the model as a report sees it."""
        spread = recall_terms(self.ensemble_, self._supports, self._importances)
        return Candidate(self.ensemble_, spread, self.certificate_)
