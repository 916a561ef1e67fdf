"""Threads for kernels that release the interpreter lock."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Answer = TypeVar("Answer")

THREAD_WORK = 1_000_000
"""Elementary additions below which threads cost more than they save."""


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread: matrices are small, and its threads would fight with ours."""
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits


class Workers:
    """A pool of threads that is made when it is first of use."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def map(
        self, function: Callable[[Item], Answer], items: Iterable[Item], work: int
    ) -> list[Answer]:
        """Apply ``function`` to the items, in threads if ``work`` additions are worth it."""
        return list(self.imap(function, items, work))

    def imap(
        self, function: Callable[[Item], Answer], items: Iterable[Item], work: int
    ) -> Iterator[Answer]:
        """Apply ``function`` as :meth:`map` does, and give the answers one by one, in order."""
        if self.n_threads == 1 or work < THREAD_WORK:
            return map(function, items)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads)
        return self._pool.map(function, items)


def cut(length: int, n_parts: int, multiple: int = 1) -> list[slice]:
    """Cut ``range(length)`` into at most ``n_parts`` slices that start at multiples."""
    size = max(1, -(-length // (n_parts * multiple))) * multiple
    return [slice(first, min(first + size, length)) for first in range(0, length, size)]
