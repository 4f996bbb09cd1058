"""Processes apart from the server: fits and exports, which can be ended and slow nobody."""

import multiprocessing
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from cayleyklein.exceptions import CayleyKleinError

LONGEST = 300.0  # seconds after which a fit is ended


class News(NamedTuple):
    """Messages of a fit to the page: texts and pictures by their place, and the other parts."""

    texts: dict[str, str]
    steps: tuple[list[Any], ...] = ()  # series, relative loss, K, accuracy; None lifts the pen
    pictures: dict[str, Any] | None = None
    results: dict[str, Any] | None = None
    model: bytes | None = None
    predictor: Any = None
    notes: tuple[str, ...] = ()
    ended: bool = False


def ending(text: str, **more: Any) -> News:
    return News({"state": text}, ended=True, **more)


Tell = Callable[[News], None]
Work = Callable[[Any, Tell], None]


class Apart:
    """A process and the end of a pipe from it, which it gets as its first argument."""

    def __init__(self, function: Callable[..., None], *given: Any) -> None:
        context = _context()
        self.inbox, outbox = context.Pipe(duplex=False)
        self.process = context.Process(target=function, args=(outbox, *given), daemon=True)
        self.process.start()
        outbox.close()  # so that its end is seen here when the process ends

    def end(self) -> None:
        self.process.terminate()
        self.process.join(timeout=1.0)
        self.inbox.close()


class FitProcess:
    def __init__(self, work: Work, task: Any, slots: threading.Semaphore) -> None:
        self._given, self._slots = (work, task), slots
        self._apart: Apart | None = None

    @property
    def process(self) -> Any:
        return self._apart and self._apart.process

    def poll(self) -> list[News]:
        """Return the news since the last call; start the fit when its turn comes."""
        if self._apart is None:
            if not self._slots.acquire(blocking=False):
                return []
            self._apart, self._begun = Apart(_work, *self._given), time.monotonic()
            return [News({"state": "Fitting…"})]
        alive, found = self.process.is_alive(), []
        with suppress(EOFError, OSError):
            while self._apart.inbox.poll():
                found.append(self._apart.inbox.recv())
        if not found and not alive:
            return [ending("The fit ended without a result.")]
        if time.monotonic() - self._begun > LONGEST:
            found.append(ending(f"The fit took more than {LONGEST:g} seconds and was ended."))
        return found

    def end(self) -> None:
        if self._apart is not None:
            self._apart.end()
            self._slots.release()


def warm_up() -> None:
    """Have the process that fits are forked from import the library; this one does nothing."""
    _context().Process(daemon=True).start()


def run_apart(seconds: float, function: Callable[..., Any], *given: Any) -> Any:
    """Return what a function returns in a process of its own, which is ended after some time."""
    apart = Apart(_hand_back, function, *given)
    found: Any = TimeoutError()
    try:
        with suppress(EOFError):
            found = apart.inbox.recv() if apart.inbox.poll(seconds) else found
    finally:
        apart.end()
    if isinstance(found, Exception):
        raise found
    return found


def _hand_back(outbox: Any, function: Callable[..., Any], *given: Any) -> None:
    try:
        outbox.send(function(*given))
    except (CayleyKleinError, MemoryError) as error:
        outbox.send(error)


def _work(outbox: Any, work: Work, task: Any) -> None:
    with suppress(BrokenPipeError):  # the visitor has left
        try:
            work(task, outbox.send)
        except (CayleyKleinError, ValueError, ArithmeticError, MemoryError) as error:
            outbox.send(ending(f"{error}"))
        finally:
            outbox.close()


def _context() -> Any:
    """Return how processes are made: from a clean one that has the library ready, if possible."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cayleyklein.app._fitting"])
    return context
