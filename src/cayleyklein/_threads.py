"""A pool of threads that an interruption cannot leave waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from queue import SimpleQueue
from threading import Thread
from typing import Any, Self

__all__ = ["Threads"]


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
        self._calls: SimpleQueue[Any] = SimpleQueue()
        self._closed = False

    def __enter__(self) -> Self:
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(self.n_threads)]
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        for thread in self._threads:
            thread.join()

    def _close(self) -> None:
        self._closed = True
        for _ in self._threads:
            self._calls.put(None)

    def map(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Return function(*some) for each of the arguments, in order, or raise the first error."""
        calls = list(zip(*arguments, strict=True))
        answers: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
        for number, some in enumerate(calls):
            self._calls.put((answers, number, function, some))
        found = sorted((answers.get() for _ in calls), key=lambda answer: answer[0])
        for _, _, error in found:
            if error is not None:
                raise error
        return [result for _, result, _ in found]

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            answers, number, function, some = call
            if self._closed:
                continue
            try:
                answers.put((number, function(*some), None))
            except BaseException as error:  # noqa: BLE001, it is raised where it is waited for
                answers.put((number, None, error))
