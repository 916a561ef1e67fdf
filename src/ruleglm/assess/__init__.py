"""How good and how trustworthy a fitted model is."""

from ruleglm.assess.calibration import Calibration
from ruleglm.assess.stability import Stability

__all__ = ["Calibration", "Stability"]
