"""Where rows live: an engine holds them and answers only sums over rows."""

from ruleglm.engines.base import Engine, JointHistograms, Traffic
from ruleglm.engines.local import LocalEngine
from ruleglm.engines.part import Part
from ruleglm.engines.parts import InProcess, PartsEngine, Transport

__all__ = [
    "Engine",
    "InProcess",
    "JointHistograms",
    "LocalEngine",
    "Part",
    "PartsEngine",
    "Traffic",
    "Transport",
]
