"""The exports as methods of an estimator."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from ruleglm.export.json_format import save_model, to_json
from ruleglm.export.onnx import to_onnx
from ruleglm.export.python import to_python
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
