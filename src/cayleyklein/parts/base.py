"""What a part of an answer is, and the rows that it is fitted to.

A part gives every row a score for every target. An answer is a weighted sum of the scores of parts,
see `prediction/sums.py`. To add a part, write one module with a `Part` and its `FittedPart`, and
name it in `parts/registry.py`.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.dask_shards import Blocks
from cayleyklein.parts import places

Queries = Floats | Blocks  # checked rows in memory, or lazily on a cluster


@dataclass(frozen=True)
class TableRows:
    """Checked rows to predict, and the table that they come from, for parts that ask for its cells.

    Attributes
    ----------
    X : ndarray of shape (m, d)
    table : DataFrame of m rows
    """

    X: Floats
    table: Any

    def __len__(self) -> int:
        return len(self.X)


AnyQueries = Queries | TableRows


class Answer(Protocol):
    """What a part must know of the question: classes or numbers, see `prediction/answers.py`."""

    def targets(self, target: AnyArray) -> Floats:
        """Return what machines are fitted to (n, t)."""

    def of_votes(self, answers: Any) -> Any:
        """Return class shares or mean numbers (m, t) as scores."""


@dataclass(frozen=True)
class FitRows:
    """Rows to fit parts to.

    If `counted`, the weights are numbers of rows that were observed; see `places.count_rows`.
    """

    given: GivenRows
    answer: Answer
    counted: bool = False

    @property
    def targets(self) -> Floats:
        """What machines are fitted to (n, t)."""
        return self.answer.targets(self.given.target)

    @cached_property
    def places(self) -> places.TargetPlaces:
        """The distinct rows of positive weight, with their mean targets."""
        return places.pool_rows(self.given, self.targets, self.counted)


class FittedPart(Protocol):
    """A part that is fitted to rows. A class that inherits from it has to define `scores` only."""

    takes_tables: bool = False  # whether rows to score are tables, not numbers

    @property
    def settings(self) -> Any:
        """What the part has chosen, or was told; it fits another part alike."""
        return None

    @abstractmethod
    def scores(self, X: Queries) -> Any:
        """Return the scores (m, t) of rows X; of rows on a cluster a lazy Dask array."""

    def trials(self, X: Floats) -> dict[Any, Floats]:
        """Return the scores (m, t) of rows X for each setting that held-out rows choose between."""
        return {self.settings: self.scores(X)}

    def with_settings(self, settings: Any) -> "FittedPart":
        """Return the part with one of the settings of `trials`."""
        return self

    def variances(self, X: Floats) -> Floats | None:
        """Return the variances (m,) of new targets, in units of the noise; None if not known."""
        return None

    def row_effects(self, x: Floats) -> tuple[Ints, Floats] | None:
        """Return numbers of fitted rows (p,), and what each adds to the scores (p, t) of a row x.

        None if the part cannot say.
        """
        return None


class Part(Protocol):
    """One voice in the sum."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the part in `parts=` and `part_weights_`."""

    @property
    def needs_metric(self) -> bool:
        """Whether the part needs a learned metric; none is learned for parts that do not."""
        return False

    @property
    def leads(self) -> bool:
        """Whether the part counts where no row was held out.

        Weights are drawn to those with which parts start: other parts start with 0, if any leads.
        """
        return False

    @property
    def fits_last(self) -> bool:
        """Whether held-out rows alone choose the settings.

        Such a part is fitted to all rows once it has its settings and a weight, and not without.
        """
        return False

    @property
    def searches(self) -> bool:
        """Whether the part searches among all rows for each answer.

        Of many rows such a part is dropped unless the sum is clearly better with it.
        """
        return False

    @abstractmethod
    def fit(self, rows: FitRows, metric: Metric | None, settings: Any = None) -> FittedPart:
        """Fit the part; choose settings by leaving rows out, unless they are given."""


def on_blocks(function: Callable[[Floats], Floats], X: Queries, width: int) -> Any:
    """Apply a function of rows to an array, or lazily to blocks of rows; (m, width)."""
    if isinstance(X, np.ndarray):
        return function(X)
    tasks = [(_distributed.task(function, block),) for block in X.tasks]
    return Blocks(tasks, X.lengths).lazy(((width,), np.float64))[0]


def mapped_queries(function: Callable[[Floats], Floats], X: AnyQueries) -> AnyQueries:
    """Return rows that a function makes of rows; those on a cluster stay there."""
    if isinstance(X, np.ndarray):
        return function(X)
    if isinstance(X, TableRows):
        return TableRows(function(X.X), X.table)
    return Blocks([_distributed.task(function, block) for block in X.tasks], X.lengths)


def numbers_of(X: AnyQueries) -> Any:
    """Return rows as numbers, without their table."""
    return X.X if isinstance(X, TableRows) else X


def mapped_rows(function: Callable[[Floats], Floats], given: GivenRows) -> GivenRows:
    """Return given rows with other columns; those on a cluster stay there."""
    if not isinstance(given.X, RowBlocks):
        return given.mapped(function)
    blocks = [_distributed.task(function, block) for block in given.X.blocks]
    return replace(given, X=given.X._replace(blocks=blocks))
