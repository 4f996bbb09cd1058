"""A pool of threads that an interruption cannot leave waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Self

__all__ = ["Threads"]

Calls = SimpleQueue[Any]


class Threads:
    """Threads that share the calls of a `map`.

    ``concurrent.futures`` guards its queues with locks that are written in Python: Ctrl-C between
    two of its lines leaves one locked, and the pool waits for ever. A ``SimpleQueue`` has no such
    lines. Calls that nobody waits for any more, after an interruption, are dropped.

    Parameters
    ----------
    n_threads : int
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._calls: Calls = SimpleQueue()
        # They know the queue and not the pool, which ends them also when it is merely forgotten.
        self._threads = [
            Thread(target=work, args=(self._calls,), daemon=True) for _ in range(n_threads)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        while self._threads:
            self._threads.pop().join()

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        """Drop the calls that wait, and end the threads."""
        with suppress(Empty):
            while True:
                self._calls.get_nowait()
        for _ in self._threads:
            self._calls.put(None)

    def map(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Return function(*some) for each of the arguments, in order, or raise the first error."""
        calls = list(zip(*arguments, strict=True))
        answers: Calls = SimpleQueue()
        for number, some in enumerate(calls):
            self._calls.put((answers, number, function, some))
        found = sorted((answers.get() for _ in calls), key=lambda answer: answer[0])
        for _, _, error in found:
            if error is not None:
                raise error
        return [result for _, result, _ in found]


def work(calls: Calls) -> None:
    """Make one call after the other, until there is None."""
    while (call := calls.get()) is not None:
        answers, number, function, some = call
        try:
            answers.put((number, function(*some), None))
        except BaseException as error:  # noqa: BLE001, it is raised where it is waited for
            answers.put((number, None, error))
        del call, answers, function, some  # a thread that waits holds on to nothing
