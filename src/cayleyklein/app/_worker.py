"""Fits in processes of their own, which slow no other visitor and can be ended."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import suppress
from typing import Any

from cayleyklein.app._fitting import ModelTask, Task, carry_out
from cayleyklein.exceptions import CayleyKleinError

MOST_FITS = 2
"""Fits that run at once; others wait for their turn."""

GRACE = 2.0
"""Seconds in which a fit that is told to stop may do so by itself, and keep what it learned."""

LONGEST = 300.0
"""Seconds after which a fit is ended."""

MOST_MESSAGES = 200
"""Messages that are taken at once, so that a fast fit does not fill the loop."""


class Failed(str):
    """Why a fit ended without a result."""

    __slots__ = ()


class FitSlots:
    """Counts the fits that run on a server."""

    def __init__(self, most: int = MOST_FITS) -> None:
        self.most = most
        self.running: list[FitProcess] = []

    def free(self) -> bool:
        """Say whether another fit may start."""
        self.running = [fit for fit in self.running if fit.process.is_alive()]
        return len(self.running) < self.most

    def kill_all(self) -> None:
        """End every fit, when the server ends."""
        for fit in self.running:
            fit.kill()


class FitProcess:
    """A task in a process of its own."""

    def __init__(self, task: Task | ModelTask, slots: FitSlots) -> None:
        context = _context()
        self.slots, self.started = slots, False
        self._told_to_stop_at: float | None = None
        self._begun = 0.0
        self._inbox, self._outbox = context.Pipe(duplex=False)
        self._stop = context.Event()
        self.process = context.Process(
            target=_work, args=(task, self._outbox, self._stop), daemon=True
        )

    def poll(self) -> list[Any]:
        """Return the messages since the last call; start the fit when its turn comes."""
        if not self.started:
            if self._told_to_stop_at is not None:
                return [Failed("Cancelled before it began.")]
            if self.slots.free():
                self._start()
            return []
        found: list[Any] = []
        with suppress(EOFError, OSError):
            while len(found) < MOST_MESSAGES and self._inbox.poll():
                found.append(self._inbox.recv())
        if not found:
            found = self._overdue()
        return found

    def _start(self) -> None:
        self.slots.running.append(self)
        self.process.start()
        self._outbox.close()  # so that its end is seen here when the process ends
        self.started, self._begun = True, time.monotonic()

    def _overdue(self) -> list[Failed]:
        """Return why the fit has ended or must end, if so."""
        now = time.monotonic()
        if not self.process.is_alive() and not self._has_more():
            return [Failed("The fit ended without a result.")]
        if self._told_to_stop_at is not None and now - self._told_to_stop_at > GRACE:
            self.kill()
            return [Failed("Cancelled.")]
        if now - self._begun > LONGEST:
            self.kill()
            return [Failed(f"The fit took more than {LONGEST:g} seconds and was ended.")]
        return []

    def _has_more(self) -> bool:
        try:
            return bool(self._inbox.poll())
        except (EOFError, OSError):
            return False

    def cancel(self) -> None:
        """Ask the fit to stop at its next iteration; after a grace it is ended."""
        self._told_to_stop_at = time.monotonic()
        self._stop.set()

    def kill(self) -> None:
        """End the process, if it runs."""
        if self.started and self.process.is_alive():
            self.process.terminate()
            self.process.join(timeout=1.0)
        self._inbox.close()


def warm_up() -> None:
    """Have the process that fits are forked from import the library before the first one."""
    _context().Process(daemon=True).start()  # without a target it does nothing


def _context() -> Any:
    """Return how processes are made: from a clean one that has the library ready, if possible."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["cayleyklein.app._fitting"])
        return context
    return multiprocessing.get_context("spawn")


def _work(task: Task | ModelTask, outbox: Any, stop: Any) -> None:
    """Carry out a task and tell the page, in another process."""
    with suppress(BrokenPipeError):  # the visitor has left
        try:
            carry_out(task, outbox.send, stop.is_set)
        except (CayleyKleinError, ValueError, ArithmeticError, MemoryError) as error:
            outbox.send(Failed(f"{error}"))
        finally:
            outbox.close()
