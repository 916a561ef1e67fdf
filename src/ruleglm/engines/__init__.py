"""Where rows live: an engine holds them and answers only sums over rows."""

from ruleglm.engines.base import Engine, JointHistograms
from ruleglm.engines.local import LocalEngine

__all__ = ["Engine", "JointHistograms", "LocalEngine"]
