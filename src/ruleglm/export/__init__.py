"""Models for elsewhere: each function reads an ensemble and writes it in another language.

None of them fits anything, and each export predicts what the ensemble predicts.
"""

from ruleglm.export.fields import ModelFormatError
from ruleglm.export.json_format import (
    from_json,
    load_model,
    load_summary,
    model_schema,
    save_model,
    to_json,
)
from ruleglm.export.onnx import to_onnx
from ruleglm.export.python import to_python
from ruleglm.export.scorecard import Scorecard, to_scorecard
from ruleglm.export.sql import to_sql

__all__ = [
    "ModelFormatError",
    "Scorecard",
    "from_json",
    "load_model",
    "load_summary",
    "model_schema",
    "save_model",
    "to_json",
    "to_onnx",
    "to_python",
    "to_scorecard",
    "to_sql",
]
