"""How far a fit is: shown on standard error, told to a callback, ended by it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Advance = Callable[..., None]
"""Moves a bar by one, or ``to`` somewhere, with a ``note`` beside it."""


@dataclass(frozen=True)
class FitProgress:
    """What a callback learns of a fit.

    Attributes
    ----------
    stage : {"fit", "path", "folds"}
        A single model; the path of all rows; the paths of the folds.
    number : int
        Reports of the stage so far: of rounds of a single model, else of models.
    n_terms : int
        Rules and lines of the model as it is.
    complexity : float
    objective : float
        Mean loss with the penalty of "l1"; for "l0" the mean loss.
    gap : float
        Of a single model for "l1" how far it may be from the optimum, relative; else nan.
    seconds : float
        Since the fit began.
    """

    stage: str
    number: int
    n_terms: int
    complexity: float
    objective: float
    gap: float
    seconds: float

    def note(self) -> str:
        """Say it in a line."""
        gap = f", gap {100 * self.gap:.2g} %" if self.gap == self.gap else ""
        return f"{self.n_terms} terms, objective {self.objective:.5g}{gap}"


Callback = Callable[[FitProgress], Any]


class Monitor:
    """Takes reports of one stage of a fit, from any thread.

    Parameters
    ----------
    stage : str
    callback : Callback or None, which ends the stage by returning True
    show : callable or None, called with each report
    began : float, when the fit began, in the time of ``time.monotonic``
    """

    def __init__(
        self,
        stage: str,
        callback: Callback | None,
        show: Callable[[FitProgress], None] | None = None,
        began: float | None = None,
    ) -> None:
        self._stage = stage
        self._callback = callback
        self._show = show
        self._began = time.monotonic() if began is None else began
        self._lock = threading.Lock()
        self._number = 0
        self.stopped = False

    def report(self, n_terms: int, complexity: float, objective: float, gap: float) -> None:
        """Tell how far the fit is."""
        with self._lock:
            self._number += 1
            seconds = time.monotonic() - self._began
            told = FitProgress(
                self._stage, self._number, n_terms, complexity, objective, gap, seconds
            )
            if self._show is not None:
                self._show(told)
            if self._callback is not None and not self.stopped:
                self.stopped = self._callback(told) is True


@contextmanager
def progress(verbose: bool) -> Iterator[Callable[[str, float | None], Advance]]:
    """Show bars on standard error if asked to; gives what begins a bar of a name and a length."""
    if not verbose:
        yield lambda *_: lambda **_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}")
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bars:

        def begin(name: str, total: float | None) -> Advance:
            for task in bars.task_ids:
                bars.update(task, total=max(1, int(bars.tasks[task].completed)))
            task = bars.add_task(name, total=total, note="")

            def advance(*, to: float | None = None, note: str = "") -> None:
                if to is None:
                    bars.update(task, advance=1, note=note)
                else:
                    bars.update(task, completed=to, note=note)

            return advance

        yield begin
