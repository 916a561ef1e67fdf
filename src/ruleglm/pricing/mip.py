"""The paper's integer program for pricing (its equation 8), solved by HiGHS.

Rows with the same codes are one row of the program. Both kinds of constraints are kept for every
row, whatever the sign of its gradient, so the program is built once and only its objective changes
from round to round and from sign to sign. HiGHS does not always keep its time limit, so it is
interrupted from outside as well.
"""

import threading
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import BoolArray, CodeArray, FloatArray
from ruleglm.engines.base import Engine
from ruleglm.engines.packed import evaluate, unpack_column
from ruleglm.pricing.beam import BeamOptions, BeamPricer
from ruleglm.pricing.found import Found
from ruleglm.pricing.problem import Limits, Penalty, PricingResult, describe_class
from ruleglm.pricing.vocabulary import ConditionTable

GRACE = 2.0
"""Seconds beyond its own limit after which HiGHS is interrupted."""


@dataclass(frozen=True)
class MipOptions:
    """How the integer program is solved.

    Attributes
    ----------
    seconds : time limit of one solve; each pricing takes two, one for each sign
    max_entries : the largest program, counted in nonzero coefficients, that is attempted
    """

    seconds: float = 60.0
    max_entries: int = 2_000_000

    def __post_init__(self) -> None:
        if self.seconds <= 0:
            raise ValueError(f"`seconds` is {self.seconds}; it has to be positive")


class MipPricer:
    """Searches all rules by integer programming (the paper's LRRI).

    Needs all rows in one place. It starts from the beam's rule, and its dual bound feeds the
    certificate.

    Parameters
    ----------
    table : ConditionTable
    max_degree : int or None
    options : MipOptions
    """

    def __init__(self, table: ConditionTable, max_degree: int | None, options: MipOptions) -> None:
        self._table = table
        self._max_degree = max_degree
        self._options = options
        self._beam = BeamPricer(table, max_degree, BeamOptions(beam_width=3))
        self._program: _Program | None = None

    def describe(self) -> str:
        """Return the class of rules searched, in words."""
        return describe_class(self._max_degree, self._table.constraints)

    def price(
        self, engine: Engine, penalty: Penalty, held: Container[BinRule], limits: Limits
    ) -> PricingResult:
        """Return the best rule of each sign, and HiGHS's bound on all."""
        if len(self._table.lo) == 0:  # no column has two bins
            return Found(penalty, held).result(2, True)
        codes, gradient = engine.gather()
        if self._program is None:
            check_size(codes, self._table, self._options.max_entries)
            self._program = _Program(codes, self._table, self._max_degree)
        found = Found(penalty, held)
        start = self._beam.price(engine, penalty, (), limits)
        complete = True
        for sign in (1, -1):
            seconds = min(self._options.seconds, limits.seconds_left())
            self._program.allow(self._table.sign * sign >= 0)
            rule, bound, done = self._program.solve(sign * gradient, penalty, seconds, start.rules)
            complete &= done
            found.leave(1, penalty.of(1) + max(bound, 0.0))
            made = self._table.make_rule(rule)
            if made is not None:
                found.offer(*made, abs(float(gradient[covers(codes, made[0])].sum())))
        return found.result(2, complete)


class _Program:
    """The integer program: one binary variable a condition, one variable a distinct row."""

    def __init__(self, codes: CodeArray, table: ConditionTable, max_degree: int | None) -> None:
        highspy = import_highspy()
        self._table = table
        distinct, self._group = np.unique(codes.T, axis=0, return_inverse=True)
        self._group = self._group.ravel()
        self._n_rows, self._n_conditions = len(distinct), len(table.lo)
        self._holds = condition_matrix(np.ascontiguousarray(distinct.T), table)
        self._solver = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("mip_rel_gap", 0.0)
        self._solver.setOptionValue("mip_abs_gap", 1e-9)
        self._solver.passModel(self._build(highspy, max_degree))
        self._allowed = np.ones(self._n_conditions, np.bool_)

    def _build(self, highspy: Any, max_degree: int | None) -> Any:
        n, k = self._n_rows, self._n_conditions
        fails = ~self._holds
        row, column = np.nonzero(fails)
        upper_rows = n + np.arange(len(row))
        degree_row = n + len(row)
        rows = np.concatenate([np.arange(n), row, upper_rows, upper_rows, np.full(k, degree_row)])
        columns = np.concatenate([k + np.arange(n), column, k + row, column, np.arange(k)])
        order = np.lexsort((columns, rows))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = k + n, degree_row + 1
        model.col_cost_ = np.zeros(k + n)
        model.col_lower_, model.col_upper_ = np.zeros(k + n), np.ones(k + n)
        most = k if max_degree is None else max_degree
        model.row_lower_ = np.concatenate([np.ones(n), np.full(len(row), -np.inf), [1.0]])
        model.row_upper_ = np.concatenate([np.full(n, np.inf), np.ones(len(row)), [float(most)]])
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        counts = np.bincount(rows, minlength=degree_row + 1)
        model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        model.a_matrix_.index_ = columns[order].astype(np.int32)
        model.a_matrix_.value_ = np.ones(len(rows))
        kinds = [highspy.HighsVarType.kInteger] * k + [highspy.HighsVarType.kContinuous] * n
        model.integrality_ = kinds
        return model

    def allow(self, allowed: BoolArray) -> None:
        """Leave some conditions out until further notice."""
        k = self._n_conditions
        if not np.array_equal(allowed, self._allowed):
            upper = allowed.astype(np.float64)
            self._solver.changeColsBounds(k, np.arange(k, dtype=np.int32), np.zeros(k), upper)
            self._allowed = allowed

    def solve(
        self, gain: FloatArray, penalty: Penalty, seconds: float, starts: list[BinRule]
    ) -> tuple[list[tuple[int, int]], float, bool]:
        """Maximise the reduced cost; return the conditions chosen, a bound, and if it is proved."""
        highspy, solver = import_highspy(), self._solver
        k = self._n_conditions
        gains: FloatArray = np.bincount(self._group, gain, self._n_rows).astype(np.float64)
        costs = np.concatenate([np.full(k, penalty.lambda_1), -gains])
        solver.changeColsCost(k + self._n_rows, np.arange(k + self._n_rows, dtype=np.int32), costs)
        solver.clearSolver()
        solver.setOptionValue("time_limit", float(seconds))
        self._give_start(highspy, starts, gains, penalty)
        run_interruptibly(solver, seconds + GRACE)
        info = solver.getInfo()
        status = solver.getModelStatus()
        bound = -info.mip_dual_bound - penalty.lambda_0
        done = status == highspy.HighsModelStatus.kOptimal
        if not np.isfinite(bound) or abs(bound) > 1e20:
            bound = float(np.maximum(gains, 0.0).sum()) - penalty.of(1)
        solution = solver.getSolution()
        switches = np.array(solution.col_value[:k] if solution.value_valid else [])
        chosen = np.flatnonzero(switches > 0.5)
        conditions = [(int(self._table.feature[c]), self._table.masks[c]) for c in chosen]
        return conditions, float(bound), done

    def _give_start(
        self, highspy: Any, starts: list[BinRule], gains: FloatArray, penalty: Penalty
    ) -> None:
        """Hand HiGHS the best of the rules that another search found."""
        best = -np.inf
        chosen: tuple[list[int], BoolArray] | None = None
        for rule in starts:
            picked = self._conditions_of(rule)
            if picked is None or not self._allowed[picked].all():
                continue
            covered = np.asarray(self._holds[:, picked].all(axis=1))
            value = float(gains[covered].sum()) - penalty.of(len(picked))
            if value > best:
                best, chosen = value, (picked, covered)
        if chosen is None:
            return
        solution = highspy.HighsSolution()
        values = np.zeros(self._n_conditions + self._n_rows)
        values[chosen[0]] = 1.0
        values[self._n_conditions :] = chosen[1]
        solution.col_value = values.tolist()
        self._solver.setSolution(solution)

    def _conditions_of(self, rule: BinRule) -> list[int] | None:
        """Return the elementary conditions of a rule, None if they are not in the table."""
        picked: list[int] = []
        for feature, mask in rule:
            mine = range(int(self._table.first[feature]), int(self._table.first[feature + 1]))
            above = [c for c in mine if mask & ~self._table.masks[c] == 0]
            exact = [c for c in above if self._table.masks[c] == mask]
            pairs = [
                [c, d]
                for c in above
                for d in above
                if c < d and self._table.masks[c] & self._table.masks[d] == mask
            ]
            if exact:
                picked += exact[:1]
            elif pairs:
                picked += pairs[0]
            else:
                return None
        return picked


def import_highspy() -> Any:
    """Import HiGHS, or say how to get it."""
    try:
        import highspy
    except ImportError as error:
        raise ImportError(
            "pricing='mip' needs HiGHS; install it with: pip install 'ruleglm[mip]'"
        ) from error
    return highspy


def check_size(codes: CodeArray, table: ConditionTable, max_entries: int) -> None:
    """Refuse a program that HiGHS could not even read in good time."""
    entries = codes.shape[1] * len(table.lo)
    if entries > max_entries:
        raise ValueError(
            f"the integer program would have about {entries:.2g} entries ({codes.shape[1]} rows x "
            f"{len(table.lo)} conditions), more than max_entries={max_entries:.2g}; use "
            "pricing='auto', fewer rows or bins, or pricing_options={'max_entries': ...}"
        )


def condition_matrix(codes: CodeArray, table: ConditionTable) -> BoolArray:
    """Return whether each row satisfies each condition, shape (n_rows, n_conditions)."""
    columns = [
        covers(codes, ((int(f), m),)) for f, m in zip(table.feature, table.masks, strict=True)
    ]
    return np.column_stack(columns)


def covers(codes: CodeArray, rule: BinRule) -> BoolArray:
    """Return the rows that a rule covers."""
    return unpack_column(evaluate(codes, [rule])[0], codes.shape[1])


def run_interruptibly(solver: Any, seconds: float) -> None:
    """Run HiGHS in a thread of its own, and cancel it when it overstays."""
    solver.HandleUserInterrupt = True
    thread = threading.Thread(target=solver.run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        solver.cancelSolve()
        thread.join()
