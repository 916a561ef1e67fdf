"""The run stage: units of work that are not done yet, in parallel, each with its record.

Units are ordered by fold, so that an interrupted run has the first folds of everything. Workers are
processes with one thread each. Running again goes on with what is missing.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from math import log
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean

from experiments.ours import OURS
from experiments.peers import PEERS
from experiments.protocol import Method, Rows, run_fold, split
from experiments.registry import SETS, load
from experiments.units import N_FOLDS, Record, Unit, read_records

METHODS: dict[str, Method] = {**OURS, **PEERS}
THREADS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"

BUDGETS = {
    "GBT": 5,
    "LightGBM": 3,
    "XGBoost": 3,
    "SVM": 3,
    "LRRI": 2,
    "RuleFit": 2,
    "RuleFitN": 2,
    "EBM": 2,
}
"""Folds of other learners on sets of at least ``MANY_CELLS`` cells."""
FEW_FOLDS = {"RuleFit": 3, "RuleFitN": 3, "EBM": 5, "LRRI": 3}
"""Folds of slow methods on the other sets; the rest has all ten."""
ONE_SPLIT = "RuleFit", "RuleFitN", "LRRI"
"""Methods that choose by one held-out part only."""
MANY_CELLS = 50_000
INTEGER_ROWS = 800
"""Rows up to which the paper's integer program is tried."""


@dataclass(frozen=True)
class Settings:
    """What a run needs to know."""

    data: Path
    records: Path
    jobs: int
    seed: int = 0
    minutes: float | None = None
    """After which no new unit is begun."""


def plan(sets: Iterable[str], methods: Sequence[str], folds: int) -> list[Unit]:
    """Return the units of a run, those of the first fold first and small sets before large ones."""
    units = [
        Unit(name, method, fold)
        for name in sets
        for method in methods
        for fold in range(min(folds, folds_of(name, method)))
    ]
    order = {method: place for place, method in enumerate(methods)}
    return sorted(units, key=lambda unit: (unit.fold, size(unit.dataset), order[unit.method]))


def size(name: str) -> int:
    """Return the cells of a data set."""
    return SETS[name].rows * SETS[name].features


def folds_of(name: str, method: str) -> int:
    """Return on how many of the ten folds a method is run."""
    if method == "LRRI" and SETS[name].rows > INTEGER_ROWS:
        return 0
    few = FEW_FOLDS if size(name) < MANY_CELLS else BUDGETS
    return few.get(method, N_FOLDS)


def run(units: Sequence[Unit], settings: Settings, tell: Callable[[str], None]) -> None:
    """Run the units that have no record yet."""
    known = read_records(settings.records)
    done = {record.unit for record in known if not record.error}
    left = [unit for unit in units if unit not in done]
    clock = Clock(known)
    tell(f"{len(left)} of {len(units)} units to run, {clock.estimate(left, settings.jobs)}")
    began, waiting = time.monotonic(), list(left)
    pending: dict[Future[Record], Unit] = {}
    with limited_threads(), start_workers(settings.jobs) as pool, terminated_like_interrupted():
        try:
            while waiting or pending:
                while waiting and len(pending) < settings.jobs and not over(began, settings):
                    unit = waiting.pop(0)
                    pending[pool.submit(run_unit, unit, settings)] = unit
                if not pending:
                    break
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    del pending[future]
                    record = future.result()
                    clock.add(record)
                    n_left = len(waiting) + len(pending)
                    tell(line_of(record, n_left, clock.estimate(waiting, settings.jobs)))
        except KeyboardInterrupt:
            tell("interrupted; what is done is on disk, run again to go on")
            for process in list(pool._processes.values()):  # shutdown would forget them
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Let a request to terminate end the workers too, as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def over(began: float, settings: Settings) -> bool:
    """Tell whether the minutes of a run are up."""
    return settings.minutes is not None and time.monotonic() - began > 60 * settings.minutes


def start_workers(jobs: int) -> ProcessPoolExecutor:
    """Return workers that are started anew, so that they have the limits on threads."""
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


@contextmanager
def limited_threads() -> Iterator[None]:
    """Give workers that are started meanwhile one thread each."""
    before = {name: os.environ.pop(name, None) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@cache
def load_once(data: Path, name: str) -> tuple[object, object]:
    """Return a data set, kept by the worker."""
    return load(data, name)


def run_unit(unit: Unit, settings: Settings) -> Record:
    """Run a unit in a worker and write its record, also if it fails."""
    import warnings

    warnings.simplefilter("ignore")
    task = SETS[unit.dataset].task
    try:
        X, y = load_once(settings.data, unit.dataset)
        train, test = split(task, X, y, N_FOLDS, settings.seed)[unit.fold]
        rows = Rows(task, X.iloc[train], y[train], X.iloc[test], y[test], settings.seed)
        most = 1 if unit.method in ONE_SPLIT else None
        outcome = run_fold(METHODS[unit.method], rows, most)
        record = Record(
            *(unit.dataset, task, unit.method, unit.fold, len(train), settings.seed),
            **asdict(outcome),
        )
    except Exception as error:  # one failure must not end hours of work
        words = f"{type(error).__name__}: {error}".splitlines()[0]
        record = Record(unit.dataset, task, unit.method, unit.fold, error=words)
    record.write(settings.records)
    return record


class Clock:
    """Guesses the seconds of units from those that are done."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._seconds: dict[tuple[str, str], list[float]] = {}
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Learn from a record."""
        if not record.error:
            self._seconds.setdefault((record.dataset, record.method), []).append(record.seconds)

    def guess(self, unit: Unit) -> float:
        """Return the mean of the method on the same data set, or on that nearest in size."""
        cells = size(unit.dataset)
        known = [
            (abs(log(size(name) / cells)), name, fmean(times))
            for (name, method), times in self._seconds.items()
            if method == unit.method
        ]
        _, nearest, seconds = min(known, default=(0.0, unit.dataset, 10.0))
        return seconds * max(1.0, cells / size(nearest)) ** 0.5

    def estimate(self, units: Sequence[Unit], jobs: int) -> str:
        """Return the time left, in words."""
        minutes = sum(map(self.guess, units)) / jobs / 60
        return (
            f"about {minutes:.0f} min left" if minutes < 120 else f"about {minutes / 60:.1f} h left"
        )


def line_of(record: Record, n_left: int, left: str) -> str:
    """Return a line of progress."""
    if record.error:
        what = record.error
    else:
        what = ", ".join(f"{one['metric']} {one[one['metric']]:.4g}" for one in record.chosen)
        if record.chosen[0]["complexity"] is not None:
            what += f", complexity {record.chosen[0]['complexity']:.1f}"
    where = f"{record.dataset} {record.method} {record.fold}"
    return f"{where:<28}{what:<52}{record.seconds:7.1f} s  {n_left} left, {left}"


def print_line(text: str) -> None:
    """Show progress."""
    print(text, file=sys.stderr, flush=True)
