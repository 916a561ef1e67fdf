"""Threads: the answers of all items in order, whoever works on them, and errors that get out."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleglm.parallel import ANY_THREADS, Workers


@given(st.integers(1, 5), st.integers(0, 40))
def test_answers_come_in_the_order_of_the_items(n_threads, n_items):
    workers = Workers(n_threads)
    for _ in range(2):
        assert workers.map(lambda k: k * k, range(n_items), ANY_THREADS) == [
            k * k for k in range(n_items)
        ]


def test_the_thread_that_asks_takes_part():
    workers, busy = Workers(2), threading.Event()

    def wait_for_the_other(k):
        mine = threading.current_thread() is threading.main_thread()
        if mine:
            busy.set()
        else:
            assert busy.wait(10.0)
        return mine

    assert any(workers.map(wait_for_the_other, range(16), ANY_THREADS))


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_errors_of_any_thread_get_out(n_threads):
    def fail(k):
        if k == 11:
            raise OSError(f"item {k}")

    with pytest.raises(OSError, match="item 11"):
        Workers(n_threads).map(fail, range(16), ANY_THREADS)


def test_after_an_error_nothing_more_is_begun():
    done = []

    def fail(k):
        done.append(k)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Workers(2).map(fail, range(1000), ANY_THREADS)
    assert len(done) <= 2  # one of each thread
