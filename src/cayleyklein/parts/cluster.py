"""A kernel machine whose leaves stay on the workers of a cluster."""

import operator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from cayleyklein import _distributed
from cayleyklein._typing import Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.neighbors.dask_shards import Blocks
from cayleyklein.parts.base import FittedPart, Queries
from cayleyklein.parts.kernel import KernelMachine, Tuning, summed_effects


@dataclass(frozen=True)
class ClusterMachine(FittedPart):
    """A machine whose leaves are on the workers of a cluster, as tasks that yield machines."""

    machines: tuple[Any, ...]
    tuning: Tuning
    offset: Floats

    @property
    def settings(self) -> Tuning:
        """γ, times the median distance, and λ."""
        return self.tuning

    def scores(self, X: Queries) -> Any:
        """Return f (m, t) at rows X, lazily unless they are in memory."""
        blocks = Blocks.of_array(X) if isinstance(X, np.ndarray) else X
        answers = []
        for block in blocks.tasks:
            found = [_distributed.task(leaf_scores, each, block) for each in self.machines]
            answers.append(_distributed.task(total_scores, found, self.offset))
        answered = Blocks(answers, blocks.lengths)
        if isinstance(X, np.ndarray):
            return answered.in_memory()[0]
        return answered.lazy(((len(self.offset),), np.float64))[0]

    def variances(self, X: Floats) -> Floats:
        """Return the variance (m,) of a new target at each row in memory, in units of σ²."""
        return cast(Floats, sum(self._asked("variances", X)))

    def row_effects(self, x: Floats) -> tuple[Ints, Floats]:
        """Return numbers of fitted rows (p,), and what each adds to the scores (p, t) of a row."""
        numbers, added = zip(*self._asked("row_effects", x), strict=True)
        return summed_effects(np.concatenate(numbers), np.concatenate(added))

    def _asked(self, name: str, X: Floats) -> tuple[Any, ...]:
        tasks = [_distributed.task(operator.methodcaller(name, X), each) for each in self.machines]
        return _distributed.compute(*tasks, doing="asking the leaves")

    def __getstate__(self) -> Any:
        self.refuse_to_leave()

    def refuse_to_leave(self) -> None:
        """Raise the error of a model whose rows are on a cluster."""
        raise InvalidInputError(
            "The leaves of this model are on a Dask cluster, which it cannot leave. Fit it on rows "
            "in memory to keep it."
        )


def leaf_scores(machine: KernelMachine, X: Floats) -> Floats:
    """Return what the leaves of a machine add to the scores of rows."""
    return machine.leaf_scores(X)


def total_scores(found: list[Floats], offset: Floats) -> tuple[Floats]:
    """Return the sum of what leaves say."""
    return (cast(Floats, sum(found)) + offset,)
