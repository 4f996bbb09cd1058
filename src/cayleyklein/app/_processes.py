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


class FitProcess:
    process: Any = None

    def __init__(self, work: Any, task: Any, slots: threading.Semaphore) -> None:
        self._given, self._slots = (work, task), slots

    def poll(self) -> list[News]:
        """Return the news since the last call; start the fit when its turn comes."""
        if self.process is None:
            if not self._slots.acquire(blocking=False):
                return []
            self.process, self._inbox = _start(*self._given)
            self._begun = time.monotonic()
            return [News({"state": "Fitting…"})]
        alive, found = self.process.is_alive(), []
        with suppress(EOFError, OSError):
            while self._inbox.poll():
                news = self._inbox.recv()
                found.append(ending(str(news)) if isinstance(news, Exception) else news)
        if not found and not alive:
            return [ending("The fit ended without a result.")]
        if time.monotonic() - self._begun > LONGEST:
            found.append(ending(f"The fit took more than {LONGEST:g} seconds and was ended."))
        return found

    def end(self) -> None:
        if self.process is not None:
            _end(self.process, self._inbox)
            self._slots.release()


def warm_up() -> None:
    """Have the process that fits are forked from import the library; this one does nothing."""
    _context().Process(daemon=True).start()


def run_apart(seconds: float, *function_and_given: Any) -> Any:
    """Return what a function returns in a process of its own, which is ended after some time."""
    process, inbox = _start(_hand_back, function_and_given)
    found: Any = TimeoutError()
    try:
        with suppress(EOFError):
            found = inbox.recv() if inbox.poll(seconds) else found
    finally:
        _end(process, inbox)
    if isinstance(found, Exception):
        raise found
    return found


def _hand_back(task: tuple[Any, ...], tell: Callable[[Any], None]) -> None:
    function, *given = task
    tell(function(*given))


def _start(work: Any, task: Any) -> tuple[Any, Any]:
    """Return a process, and the end of a pipe from it for what it tells."""
    context = _context()
    inbox, outbox = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(outbox, work, task), daemon=True)
    process.start()
    outbox.close()  # so that its end is seen here when the process ends
    return process, inbox


def _work(outbox: Any, work: Any, task: Any) -> None:
    with suppress(BrokenPipeError):  # the visitor has left
        try:
            work(task, outbox.send)
        except (CayleyKleinError, ValueError, ArithmeticError, MemoryError) as error:
            outbox.send(error)


def _end(process: Any, inbox: Any) -> None:
    process.terminate()
    process.join(timeout=1.0)
    inbox.close()


def _context() -> Any:
    """Return how processes are made: from a clean one that has the library ready, if possible."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cayleyklein.app._fitting"])
    return context
