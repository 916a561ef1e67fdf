"""What runs on the workers: groups of parts, which pass questions on and add up answers."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from threadpoolctl import ThreadpoolController

from ruleglm.dask.journal import Step
from ruleglm.dtypes import CodeArray, FloatArray, IntArray
from ruleglm.engines import Part
from ruleglm.engines.part import combine
from ruleglm.family import Family


@dataclass(frozen=True, eq=False)
class PartRows:
    """Coded rows of one partition, all of positive weight.

    Attributes
    ----------
    number : int
    first : int, rows of the parts before this one
    codes : (n_features, n_rows) uint8
    y : (n_rows,) float64, on the scale of the fit
    weights : (n_rows,) float64, summing to 1 over all partitions, or None for equal weights
    offset : (n_rows,) float64 or None
    linear : (n_terms, n_rows) float64
    """

    number: int
    first: int
    codes: CodeArray
    y: FloatArray
    weights: FloatArray | None
    offset: FloatArray | None
    linear: FloatArray


@dataclass(frozen=True, eq=False)
class Shared:
    """What all parts of a fit have in common."""

    n_bins: IntArray
    family: Family
    n_total: int


@dataclass(frozen=True, eq=False)
class Request:
    """A question about the rows.

    Attributes
    ----------
    engine : int, the engine that asks
    linear : tuple of int, the linear terms that it has
    after : int, number of the last step that parts know of; 0 if they may know of none
    steps : sequence of Step, to be done first
    method, arguments : the question
    gone : sequence of int, engines that are no longer needed
    """

    engine: int
    linear: tuple[int, ...]
    after: int
    steps: Sequence[Step]
    method: str
    arguments: tuple[Any, ...]
    gone: Sequence[int]


@dataclass(frozen=True)
class Failure:
    """Stands for an answer; ``error`` is None if the parts do not know what went before."""

    error: Exception | None


class _State:
    """The parts of a group as one engine has them."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self.done = 0


class Group:
    """An actor: parts that are asked together, on one thread of one worker.

    Groups form a tree. A question goes from each to those below it while it works on its own
    answer; answers are added on the way back, in an order that depends on the tree only.

    Parameters
    ----------
    rows : list of PartRows
    shared : Shared
    """

    def __init__(self, rows: list[PartRows], shared: Shared) -> None:
        self._rows = rows
        self._shared = shared
        self._states: dict[int, _State] = {}
        self._below: list[Any] = []
        self._thread = ThreadPoolExecutor(1)
        self._libraries = ThreadpoolController()  # to find them takes as long as an answer

    async def connect(self, below: list[Any]) -> None:
        """Learn which groups are below this one."""
        self._below = below

    async def ask(self, request: Request) -> Any:
        """Return the answer of this group and those below it, or a `Failure`."""
        loop = asyncio.get_running_loop()
        own = loop.run_in_executor(self._thread, self._answer, request)
        answers = await asyncio.gather(own, *(group.ask(request) for group in self._below))
        for answer in answers:
            if isinstance(answer, Failure):
                return answer
        return combine(request.method, answers)

    def _answer(self, request: Request) -> Any:
        for engine in request.gone:
            self._states.pop(engine, None)
        try:
            with self._libraries.limit(limits=1, user_api="blas"):
                state = self._state(request)
                if state is None:
                    return Failure(None)
                answers = [
                    getattr(part, request.method)(*request.arguments) for part in state.parts
                ]
                return combine(request.method, answers)
        except Exception as error:  # raised again where the question is from
            return Failure(error)

    def _state(self, request: Request) -> _State | None:
        """Return the parts after the steps of a request, None if they do not know enough."""
        state = self._states.get(request.engine)
        if state is None and request.after == 0:
            state = self._states[request.engine] = _State(self._build(request.linear))
        if state is None or state.done < request.after:
            return None
        for step in request.steps:
            if step.number > state.done:
                for part in state.parts:
                    getattr(part, step.method)(*step.arguments)
                state.done = step.number
        return state

    def _build(self, linear: tuple[int, ...]) -> list[Part]:
        shared = self._shared
        return [
            Part(
                rows.codes,
                shared.n_bins,
                rows.y,
                shared.family,
                weights=rows.weights,
                offset=rows.offset,
                linear=rows.linear[list(linear)],
                number=rows.number,
                n_total=shared.n_total,
                first=rows.first,
            )
            for rows in self._rows
        ]
