"""A pool of threads: answers in order, and nothing left behind."""

import signal
import threading
import time

import pytest

from cayleyklein._threads import Threads


def test_answers_come_in_the_order_of_the_arguments():
    def wait(seconds, number):
        time.sleep(seconds)
        return number

    with Threads(3) as pool:
        assert pool.map(wait, [0.02, 0.01, 0.0], range(3)) == [0, 1, 2]
        assert pool.map(wait, [], []) == []


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_the_first_error_is_raised_and_the_pool_stays_usable(kind):
    def fail(number):
        if number:
            raise kind(number)

    with Threads(2) as pool:
        with pytest.raises(kind, match="1"):
            pool.map(fail, [0, 1, 2])
        assert pool.map(abs, [-1]) == [1]


def test_an_interruption_drops_the_calls_that_wait():
    begun, before = [], threading.active_count()

    def begin(number):
        begun.append(number)
        time.sleep(0.02)

    def begin_many():
        with Threads(1) as pool:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            pool.map(begin, range(500))

    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            begin_many()
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert 0 < len(begun) < 100
    assert threading.active_count() == before
