"""Work spread over processes, and reported as it is done."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from joblib import Parallel, cpu_count

from cayleyklein._estimators import as_jobs

__all__ = ["ProgressCallback", "Step", "at_most_one_a_core", "in_parallel"]


class Step(NamedTuple):
    """Some work that is done.

    Attributes
    ----------
    done, total : int
    what : str
        The piece of work just finished.

    Examples
    --------
    >>> from cayleyklein.experiments import Step, compare
    >>> steps = []
    >>> _ = compare("wine", methods=["knn"], n_splits=2, progress=steps.append)
    >>> steps[-1].done == steps[-1].total, isinstance(steps[-1], Step)
    (True, True)
    """

    done: int
    total: int
    what: str


ProgressCallback = Callable[[Step], object]


def at_most_one_a_core(n_jobs: int | None) -> int | None:
    """Return a number of processes for joblib, which starts as many as it is told, at once."""
    return None if n_jobs is None else min(n_jobs, cpu_count())


def in_parallel(tasks: Iterable[object], n_jobs: int | None) -> Iterator[Any]:
    """Yield the results of joblib's delayed calls as they come, in any order."""
    jobs = at_most_one_a_core(as_jobs(n_jobs))
    yield from Parallel(jobs, return_as="generator_unordered", batch_size=1)(tasks)
