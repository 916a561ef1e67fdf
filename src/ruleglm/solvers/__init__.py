"""Solvers: the convex master problem, and the loop that feeds it with rules."""

from ruleglm.solvers.column_generation import run_column_generation
from ruleglm.solvers.master import MasterState, refit, solve_master
from ruleglm.solvers.solution import Solution

__all__ = ["MasterState", "Solution", "refit", "run_column_generation", "solve_master"]
