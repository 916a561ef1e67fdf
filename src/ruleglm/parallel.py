"""Threads for kernels that release the interpreter lock."""

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cache
from itertools import chain, pairwise
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from ruleglm import kernels
from ruleglm.dtypes import INDEX_DTYPE, FloatArray, IntArray

Item = TypeVar("Item")
Answer = TypeVar("Answer")

SHORT_PART, LONG_PART = 50_000, 500_000
"""Nanoseconds, about, of the smallest part that is worth a thread, and of parts of much work."""

FEW_PARTS, MAX_PARTS = 4, 16
"""The most parts of work that is cut into short ones, and of any work."""

LOOKS, MORE_LOOKS = 2_000_000, 30_000
"""Looks for work, or for its end, before a thread goes to sleep, and after it was seen.

Some 0.6 ms, and 10 us in which the other one has let go of the interpreter lock. Longer looks save
nothing, and take cores from other programs.
"""

PATIENCE = 1.0
"""Seconds that are waited for the work of others after an error."""

LINE = 16
"""Numbers that are as long as two lines of the cache."""

ANY_THREADS = 1 << 62
"""Work that is worth threads, however few the items."""


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread: matrices are small, and its threads would fight with ours."""
    limits: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="blas")
    return limits


@cache
def _thread_pools() -> ThreadpoolController:
    """Look for thread pools, once: NumPy's and SciPy's are loaded by now, and it takes a while."""
    return ThreadpoolController()


class Errand:
    """Something that a helper does, unless it is called off before it has begun."""

    def __init__(self, call: Callable[[], None], number: int) -> None:
        self.number = number
        self._call = call
        self._free = [True]
        self._over = threading.Lock()
        self._over.acquire()
        self._error: BaseException | None = None

    def claim(self) -> bool:
        """Take it on, or call it off; False if the other one has been first."""
        try:
            return self._free.pop()
        except IndexError:
            return False

    def run(self) -> None:
        """Do it."""
        try:
            self._call()
        except BaseException as error:
            self._error = error
        self._over.release()

    def abandon(self) -> None:
        """Call it off, or wait a little for its end: it writes to arrays that may be used again."""
        if not self.claim():
            self._over.acquire(timeout=PATIENCE)

    def wait(self) -> None:
        """Wait until it is done, and raise what it raised."""
        self._over.acquire()
        if self._error is not None:
            raise self._error


class Helper:
    """A thread that waits for errands: awake for a while, since waking up takes long, then asleep.

    Nothing but time depends on what it sees while it is awake.
    """

    def __init__(self) -> None:
        self._errands: SimpleQueue[Errand | None] = SimpleQueue()
        self._given, self._done = np.zeros((2, LINE), INDEX_DTYPE)
        self._unheard = np.zeros(1, INDEX_DTYPE)
        mine = self._errands, self._given, self._done
        threading.Thread(target=_serve, args=mine, daemon=True, name="ruleglm helper").start()
        weakref.finalize(self, self._errands.put, None)

    def send(self, call: Callable[[], None]) -> Errand:
        """Have something done."""
        errand = Errand(call, int(self._given[0]))
        self._errands.put(errand)
        self._given[0] += 1
        return errand

    def join(self, errand: Errand) -> None:
        """Wait for an errand, if it has begun; otherwise call it off."""
        if not errand.claim():
            kernels.await_change(self._done, errand.number, LOOKS, 0, 0, self._unheard)
            errand.wait()


def _serve(errands: "SimpleQueue[Errand | None]", given: IntArray, done: IntArray) -> None:
    """Run errands until there is none instead of one."""
    n_done = 0
    while True:
        kernels.await_change(given, n_done, LOOKS, MORE_LOOKS, n_done, done)
        errand = errands.get()
        if errand is None:
            return
        if errand.claim():
            errand.run()
        n_done += 1
        del errand  # and what it works on


class Workers:
    """Threads that are started when they are first of use.

    The thread that asks for work takes part in it, so that threads that are slow to wake up only
    find less to do.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._helpers: list[Helper] = []

    def map(
        self, function: Callable[[Item], Answer], items: Iterable[Item], work: int
    ) -> list[Answer]:
        """Apply ``function`` to the items, in threads if ``work`` nanoseconds are worth it."""
        n_runs = self._count_runs(work)
        if n_runs == 1:
            return list(map(function, items))
        every = list(items)
        runs = [every[part] for part in cut(len(every), n_runs)]
        answers: list[list[Answer]] = [[] for _ in runs]
        places = iter(range(len(runs)))  # each is given out once

        def take_part() -> None:
            for place in places:
                answers[place] = list(map(function, runs[place]))

        helpers = self._call_helpers(min(self.n_threads, len(runs)) - 1)
        errands = [helper.send(take_part) for helper in helpers]
        try:
            take_part()
        except BaseException:
            deque(places, maxlen=0)  # nobody begins anything more
            for errand in errands:
                errand.abandon()
            raise
        for helper, errand in zip(helpers, errands, strict=True):
            helper.join(errand)
        return list(chain.from_iterable(answers))

    def _count_runs(self, work: int) -> int:
        """Return in how many runs work is done: one a thread, of much work more, which balances."""
        most = MAX_PARTS if work >= LONG_PART and self.n_threads > 1 else self.n_threads
        return min(n_parts(work), most)

    def _call_helpers(self, n_helpers: int) -> list[Helper]:
        while len(self._helpers) < n_helpers:
            self._helpers.append(Helper())
        return self._helpers[:n_helpers]

    def share(
        self,
        function: Callable[[slice], None],
        length: int,
        work: int,
        sizes: FloatArray | None = None,
    ) -> None:
        """Apply ``function`` to all of ``range(length)``, in parts that threads share out.

        How it is cut depends on the number of threads, so it must not matter. With ``sizes``, how
        much of the work each item is, parts are of about the same work.
        """
        parts = self._count_runs(work)
        if parts > 1:
            every = cut(length, parts) if sizes is None else cut_evenly(sizes, parts)
            self.map(function, every, work)
        elif length:
            function(slice(0, length))


def n_parts(work: int) -> int:
    """Return the number of parts, a power of two, for some work, whatever the number of threads."""
    most = max(min(FEW_PARTS, work // SHORT_PART), min(MAX_PARTS, work // LONG_PART))
    return 1 << max(0, most.bit_length() - 1)


def cut_evenly(sizes: FloatArray, n_parts: int) -> list[slice]:
    """Cut items into at most ``n_parts`` slices of about the same size in all."""
    ends = np.cumsum(sizes)
    goals = ends[-1] / n_parts * np.arange(1, n_parts)
    limits = np.unique([0, *np.searchsorted(ends - 0.5 * sizes, goals), len(sizes)]).tolist()
    return [slice(first, last) for first, last in pairwise(limits)]


def cut(length: int, n_parts: int, multiple: int = 1) -> list[slice]:
    """Cut ``range(length)`` into at most ``n_parts`` slices that start at multiples."""
    size = max(1, -(-length // (n_parts * multiple))) * multiple
    return [slice(first, min(first + size, length)) for first in range(0, length, size)]
