"""How good and how trustworthy a fitted model is."""

from ruleglm.assess.calibration import Calibration

__all__ = ["Calibration"]
