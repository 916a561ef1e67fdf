"""The exports as methods of an estimator."""

import os

from sklearn.utils.validation import check_is_fitted

from ruleglm.export.json_format import save_model, to_json


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
