"""The exports as methods of an estimator."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from ruleglm.export.json_format import save_model, to_json
from ruleglm.export.onnx import to_onnx
from ruleglm.export.python import to_python
from ruleglm.export.scorecard import Scorecard, to_scorecard
from ruleglm.export.sql import to_sql

if TYPE_CHECKING:
    import onnx


class ExportMethods:
    """What a fitted estimator can be written as."""

    def to_json(self, indent: int | None = 2) -> str:
        """Write the model as JSON, as `ruleglm.export.to_json` does."""
        check_is_fitted(self, "ensemble_")
        return to_json(self, indent=indent)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file that `ruleglm.load_model` reads."""
        check_is_fitted(self, "ensemble_")
        save_model(self, path)

    def to_sql(
        self,
        table: str | Sequence[str] = "t",
        dialect: str = "duckdb",
        *,
        keys: Sequence[str] = (),
        offset: str | None = None,
    ) -> str:
        """Write the model as one SELECT, as `ruleglm.export.to_sql` does."""
        check_is_fitted(self, "ensemble_")
        return to_sql(self, table, dialect, keys=keys, offset=offset)

    def to_python(self, name: str = "predict") -> str:
        """Write the model as a Python module, as `ruleglm.export.to_python` does."""
        check_is_fitted(self, "ensemble_")
        return to_python(self, name)

    def to_onnx(self, *, missing: str = "", offset: str | None = None) -> "onnx.ModelProto":
        """Write the model as an ONNX graph, as `ruleglm.export.to_onnx` does."""
        check_is_fitted(self, "ensemble_")
        return to_onnx(self, missing=missing, offset=offset)

    def to_scorecard(
        self,
        *,
        max_points: int | None = None,
        pdo: float | None = None,
        base_points: int = 0,
        base_odds: float = 1.0,
        line_steps: int = 10,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Scorecard:
        """Round the model to whole points, as `ruleglm.export.to_scorecard` does."""
        check_is_fitted(self, "ensemble_")
        return to_scorecard(
            self,
            max_points=max_points,
            pdo=pdo,
            base_points=base_points,
            base_odds=base_odds,
            line_steps=line_steps,
            X=X,
            y=y,
            sample_weight=sample_weight,
        )
