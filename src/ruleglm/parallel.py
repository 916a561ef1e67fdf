"""Threads for kernels that release the interpreter lock."""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from itertools import chain
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Answer = TypeVar("Answer")

PART_WORK = 500_000
"""Elementary additions, about half a millisecond, of the smallest part that is worth a thread."""

MAX_PARTS = 16
"""The most parts that work is cut into."""

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


class Workers:
    """A pool of threads that is made when it is first of use.

    The thread that asks for work takes part in it, so that threads that are slow to wake up only
    find less to do.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def map(
        self, function: Callable[[Item], Answer], items: Iterable[Item], work: int
    ) -> list[Answer]:
        """Apply ``function`` to the items, in threads if ``work`` additions are worth it."""
        if self.n_threads == 1 or n_parts(work) == 1:
            return list(map(function, items))
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads - 1)
        every = list(items)
        runs = [every[part] for part in cut(len(every), n_parts(work))]
        answers: list[list[Answer]] = [[] for _ in runs]
        places = iter(range(len(runs)))  # each is given out once

        def take_part() -> None:
            for place in places:
                answers[place] = list(map(function, runs[place]))

        n_helpers = min(self.n_threads, len(runs)) - 1
        helpers = [self._pool.submit(take_part) for _ in range(n_helpers)]
        try:
            take_part()
        finally:
            deque(places, maxlen=0)  # after an error nobody begins anything more
        for helper in helpers:
            if not helper.cancel():  # it has begun
                helper.result()
        return list(chain.from_iterable(answers))

    def share(self, function: Callable[[slice], None], length: int, work: int) -> None:
        """Apply ``function`` to all of ``range(length)``, in parts that threads share out.

        How it is cut depends on the number of threads, so it must not matter.
        """
        parts = 1 if self.n_threads == 1 else n_parts(work)
        if parts > 1:
            self.map(function, cut(length, parts), work)
        elif length:
            function(slice(0, length))


def n_parts(work: int) -> int:
    """Return the number of parts for some work, whatever the number of threads."""
    return max(1, min(MAX_PARTS, work // PART_WORK))


def cut(length: int, n_parts: int, multiple: int = 1) -> list[slice]:
    """Cut ``range(length)`` into at most ``n_parts`` slices that start at multiples."""
    size = max(1, -(-length // (n_parts * multiple))) * multiple
    return [slice(first, min(first + size, length)) for first in range(0, length, size)]
