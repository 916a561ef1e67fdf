"""Threads: the answers of all items in order, whoever works on them, and errors that get out."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleglm.parallel import ANY_THREADS, Workers, cut_evenly


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


def test_a_helper_that_sleeps_wakes_up():
    workers = Workers(2)
    for _ in range(3):
        assert workers.map(abs, range(16), ANY_THREADS) == list(range(16))
        time.sleep(0.02)  # longer than it looks for work


def test_an_errand_that_has_not_begun_is_called_off():
    workers, begun, leave = Workers(2), threading.Event(), threading.Event()
    workers.map(abs, range(16), ANY_THREADS)
    (helper,) = workers._helpers

    def keep_busy():
        begun.set()
        assert leave.wait(10.0)

    busy = helper.send(keep_busy)
    assert begun.wait(10.0)
    assert workers.map(abs, range(16), ANY_THREADS) == list(range(16))  # all by this thread
    leave.set()
    helper.join(busy)


def test_threads_end_with_the_work():
    before, workers = set(threading.enumerate()), Workers(4)
    workers.map(abs, range(16), ANY_THREADS)
    helpers = set(threading.enumerate()) - before
    assert len(helpers) == 3
    del workers
    for helper in helpers:
        helper.join(10.0)
    assert not any(helper.is_alive() for helper in helpers)


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=30), st.integers(1, 8))
def test_even_parts_have_all_items_once(sizes, n_parts):
    parts = cut_evenly(np.array(sizes), n_parts)
    assert 1 <= len(parts) <= n_parts
    assert [k for part in parts for k in range(part.start, part.stop)] == list(range(len(sizes)))
    if len(parts) > 1:
        largest = max(sum(sizes[part]) for part in parts)
        assert largest <= sum(sizes) / n_parts + 2.0 * max(sizes) + 1e-6


def test_after_an_error_what_others_have_begun_is_waited_for():
    begun, done = threading.Event(), []

    def fail_here(k):
        if threading.current_thread() is threading.main_thread():
            assert begun.wait(10.0)
            raise KeyboardInterrupt
        begun.set()
        time.sleep(0.05)
        done.append(k)

    with pytest.raises(KeyboardInterrupt):
        Workers(2).map(fail_here, range(16), ANY_THREADS)
    assert len(done) == 1
