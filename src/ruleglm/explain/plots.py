"""The figures as methods of an estimator's ``plot``."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from ruleglm.explain.figures import (
    draw_calibration,
    draw_importances,
    draw_interactions,
    draw_waterfall,
)
from ruleglm.explain.shape_figures import draw_shapes
from ruleglm.frames import Level


class Plots:
    """Figures of a fitted model, drawn with matplotlib (``pip install "ruleglm[plot]"``).

    Each method returns the axes that it drew in, a new figure's if none are given.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def shapes(
        self,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        features: Sequence[str] | None = None,
        most: int = 12,
        class_: Level | None = None,
    ) -> Any:
        """Draw the function of each feature, centred, the most important first.

        Rules of several features are not in it: see ``rules_`` and `interactions`.

        Parameters
        ----------
        X : frame or array with n rows, optional
            Rows over which the functions are centred; by default those of the fit.
        sample_weight : array-like of shape (n,), optional
        features : sequence of str, optional
            What to draw, in this order.
        most : int
            The most panels.
        class_ : label, optional
            One class of several.
        """
        shapes = self._model.shapes(X, sample_weight, centred=True, class_=class_)
        facts = self._model._column_facts(X)
        if features is None:
            table = self._model.importances(X, sample_weight, class_=class_)
            order = table.sort_values("alone", ascending=False, kind="stable")["feature"]
            features = [name for name in order if name in shapes.shapes]
        return draw_shapes(shapes, facts, features, most)

    def importances(
        self, X: Any = None, *, most: int = 15, class_: Level | None = None, ax: Any = None
    ) -> Any:
        """Draw how much each feature matters, by itself and with others."""
        return draw_importances(self._model.importances(X, class_=class_), most, ax)

    def interactions(
        self, X: Any = None, *, most: int = 15, class_: Level | None = None, ax: Any = None
    ) -> Any:
        """Draw how strongly pairs of features act together; with rows, beyond each by itself."""
        return draw_interactions(self._model.interactions(X, class_=class_), most, ax)

    def row(
        self,
        row: Any,
        *,
        offset: float = 0.0,
        by: str = "terms",
        most: int = 12,
        class_: Level | None = None,
        ax: Any = None,
    ) -> Any:
        """Draw the prediction of one row as a sum, by "terms" or by "features"."""
        explanation = self._model.explain(row, offset=offset, class_=class_)
        return draw_waterfall(explanation, by, most, ax)

    def calibration(self, X: Any, y: Any, sample_weight: Any = None, *, ax: Any = None) -> Any:
        """Draw what happened against what was predicted, for rows that the fit has not seen."""
        return draw_calibration(self._model.calibration(X, y, sample_weight).bins, ax)

    def path(self, *, ax: Any = None) -> Any:
        """Draw the score of all models of the path against their complexity."""
        if not hasattr(self._model, "path_"):
            raise ValueError("Only RuleClassifierCV and RuleRegressorCV have a path of models.")
        return self._model.path_.plot(ax)
