"""A pool of threads for compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["Threads"]


class Threads(ThreadPoolExecutor):
    """Threads that share the calls of a `map`; calls that wait are dropped when it is left."""

    def __init__(self, n_threads: int) -> None:
        super().__init__(n_threads)
        self.n_threads = n_threads

    def __exit__(self, *_: object) -> None:
        self.shutdown(cancel_futures=True)

    def map(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:  # type: ignore[override]
        """Return function(*some) for each of the arguments, in order, or raise the first error."""
        return list(super().map(function, *arguments))
