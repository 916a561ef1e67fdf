"""What column generation leaves: the point where it ended, and a line for each round."""

from dataclasses import dataclass
from typing import Literal

from ruleglm.dtypes import FloatArray

Ending = Literal["certified", "exhausted", "rounds", "time", "stopped", "interrupted"]


@dataclass(frozen=True)
class Round:
    """One line of the trace; messages and bytes are of rows that are elsewhere."""

    objective: float
    lower_bound: float
    gap: float
    n_columns: int
    n_new: int
    master_seconds: float
    pricing_seconds: float
    messages: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Solution:
    """The end of column generation; the engine stands at it.

    Attributes
    ----------
    coef : (1 + n_columns,) float64, in the engine's column order
    objective, lower_bound, gap : float, ``gap`` relative to the objective
    ending : why the loop ended; only "certified" means a gap within the tolerance over the class
    trace : the rounds
    """

    coef: FloatArray
    objective: float
    lower_bound: float
    gap: float
    ending: Ending
    trace: tuple[Round, ...]
