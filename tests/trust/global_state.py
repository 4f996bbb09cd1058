"""What belongs to the whole process, and is nobody's to change."""

from __future__ import annotations

import csv
import locale
import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)

THREADPOOLS = ThreadpoolController()


class GlobalState(NamedTuple):
    """The state of the process at one moment."""

    numpy_errors: Any
    numpy_printing: Any
    numpy_random: Any
    warning_filters: Any
    environment: Any
    locale: Any
    path: Any
    folder: Any
    signals: Any
    recursion: Any
    threads: Any
    csv_limit: Any
    blas_threads: Any
    pictures: Any

    def changes_since(self, before: GlobalState) -> list[str]:
        """Return the names of what changed."""
        return [
            name for name, now, then in zip(self._fields, self, before, strict=True) if now != then
        ]


def snapshot(*, thorough: bool = False) -> GlobalState:
    """Look at everything; at what takes long, threads and pictures, only if asked."""
    state = np.random.get_state()  # noqa: NPY002 - the old one is the global one
    return GlobalState(
        numpy_errors=np.geterr(),
        numpy_printing=np.get_printoptions(),
        numpy_random=(state[1].tobytes(), state[2:]),
        warning_filters=list(warnings.filters),
        environment=dict(os.environ),
        locale=locale.setlocale(locale.LC_ALL),
        path=list(sys.path),
        folder=Path.cwd(),
        signals=[signal.getsignal(number) for number in SIGNALS],
        recursion=sys.getrecursionlimit(),
        threads=[t.name for t in threading.enumerate()],
        csv_limit=csv.field_size_limit(),
        blas_threads=blas_threads() if thorough else None,
        pictures=pictures() if thorough else None,
    )


def blas_threads() -> Any:
    """Return how many threads each library of matrices takes."""
    return [(pool["prefix"], pool["num_threads"]) for pool in THREADPOOLS.info()]


def pictures() -> Any:
    """Return matplotlib's settings, backend and open figures, where it is in use."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return None
    return dict(pyplot.rcParams), pyplot.get_fignums()
