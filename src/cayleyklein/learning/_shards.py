"""What a worker does with a shard of the rows: one task each, pure functions of their arguments.

The searches go round: a shard meets the others one after the other, and keeps of each what is
nearest so far, along with the rows themselves, its *guests*. So a task holds its shard, one other
and the guests, and the loss of a shard can later be evaluated without asking for more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein.geometry import Frame
from cayleyklein.learning._data import Distinct, TrainingRows
from cayleyklein.learning._loss import Gradient, Links, Pairs, Problem, loss_and_gradient
from cayleyklein.learning._near_columns import merge_nearest
from cayleyklein.learning._posed import wide_radii
from cayleyklein.learning._search import find_targets, near_impostors, target_chords

__all__ = [
    "Impostors",
    "Linked",
    "Targets",
    "evaluate",
    "keys_of",
    "link",
    "local_rows",
    "meet_impostors",
    "meet_targets",
    "merge",
    "part_between",
    "pivots",
    "sizes",
]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


# -- sorting ------------------------------------------------------------------------


def keys_of(table: Array) -> NDArray[Any]:
    """Return rows (x, label) as items that compare in order of their columns."""
    fields = [(f"f{t}", table.dtype) for t in range(table.shape[1])]
    return np.ascontiguousarray(table).view(fields).ravel()


def pivots(rows: Distinct, begin: int, step: int) -> Array:
    """Return every so many-th row with its label, from which the cuts between shards are taken."""
    some = slice(begin, None, step)
    return np.column_stack([rows.X[some], rows.labels[some]])


def part_between(rows: Distinct, cuts: Array, part: int) -> Distinct:
    """Return the rows from one cut to the next."""
    edges = np.searchsorted(keys_of(np.column_stack([rows.X, rows.labels])), keys_of(cuts))
    begin, end = [0, *edges, len(rows.X)][part : part + 2]
    some = slice(begin, end)
    return Distinct(rows.X[some].copy(), rows.labels[some].copy(), rows.weights[some].copy())


def merge(parts: list[Distinct]) -> Distinct:
    """Return the rows of several blocks as those of one."""
    return Distinct.of(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def sizes(rows: Distinct, n_classes: int) -> Index:
    """Return how many rows there are of each class."""
    return np.bincount(rows.labels, minlength=n_classes)


def local_rows(rows: TrainingRows, ordinals: list[Index]) -> list[Index]:
    """Return, class by class, the numbers of rows from their ordinals in the class, here."""
    return [rows.first + numbers for numbers in rows.locate(ordinals)]


# -- neighbours ---------------------------------------------------------------------


class Guests(NamedTuple):
    """Rows of other shards: their numbers, ascending, and themselves."""

    numbers: Index
    X: Array

    @classmethod
    def none(cls, n_columns: int) -> Guests:
        """Return no rows."""
        return cls(np.empty(0, dtype=np.int64), np.empty((0, n_columns)))

    def after(self, met: TrainingRows, named: Index) -> Guests:
        """Return those that are named among the guests so far and the rows of a shard just met."""
        places = np.searchsorted(self.numbers, named)
        inside = places < len(self.numbers)
        kept = np.zeros(len(self.numbers), dtype=bool)
        there = places[inside]
        kept[there[self.numbers[there] == named[inside]]] = True
        new = np.zeros(len(met), dtype=bool)
        of_met = met.places(named)
        new[of_met[of_met >= 0]] = True
        return self.joined_with(Guests(met.first + np.flatnonzero(new), met.X[new]), kept)

    def joined_with(self, others: Guests, kept: NDArray[np.bool_] | slice = slice(None)) -> Guests:
        """Return some of the guests and others."""
        numbers = np.concatenate([self.numbers[kept], others.numbers])
        unique, first = np.unique(numbers, return_index=True)
        return Guests(unique, np.concatenate([self.X[kept], others.X])[first])

    def places(self, rows: TrainingRows, named: Index) -> Index:
        """Return where named rows are, in a shard followed by these guests; -1 stays."""
        own = rows.places(named)
        guests = len(rows) + np.searchsorted(self.numbers, named)
        return np.where(named < 0, -1, np.where(own >= 0, own, guests))


class Targets(NamedTuple):
    """The target neighbours of a shard's rows so far: numbers (-1 for none) and square chords."""

    numbers: Index
    chords: Array
    guests: Guests


def joined(rows: TrainingRows, other: TrainingRows) -> tuple[Array, Index, int | None]:
    """Return a shard followed by another, their labels, and where the other begins, if it does."""
    if other.first == rows.first:
        return rows.X, rows.labels, None
    X = np.concatenate([rows.X, other.X])
    return X, np.concatenate([rows.labels, other.labels]), len(rows)


def numbers_of(columns: Index, begin: int | None, other: TrainingRows) -> Index:
    """Return the numbers of rows that were found among those of another shard."""
    return np.where(columns < 0, -1, columns - (begin or 0) + other.first)


def meet_targets(
    so_far: Targets | None, rows: TrainingRows, other: TrainingRows, k: int, frame: Frame
) -> Targets:
    """Look for target neighbours of a shard in another, or in itself."""
    X, labels, begin = joined(rows, other)
    found = find_targets(X, labels, k, frame, begin)
    chords = target_chords(found, X, frame)
    chords[found < 0] = np.inf
    numbers = numbers_of(found, begin, other)
    guests = Guests.none(rows.n_columns)
    if so_far is not None:
        numbers = np.concatenate([so_far.numbers, numbers], axis=1)
        chords = np.concatenate([so_far.chords, chords], axis=1)
        order = np.lexsort((numbers, chords), axis=1)[:, :k]
        numbers = np.take_along_axis(numbers, order, axis=1)
        chords = np.take_along_axis(chords, order, axis=1)
        guests = so_far.guests
    if begin is not None:
        guests = guests.after(other, numbers.ravel())
    return Targets(numbers, chords, guests)


class Impostors(NamedTuple):
    """The impostor candidates of a shard's rows so far, in compressed rows.

    ``share`` is their square chord over the row's `reach`.
    """

    reach: Array
    first: Index
    numbers: Index
    share: Array
    guests: Guests
    crowded: bool


def reach_of(
    rows: TrainingRows, targets: Targets, frame: Frame, margin: float, squared: bool
) -> Array:
    """Return the square chord out to which the impostors of each row are looked for."""
    X = np.concatenate([rows.X, targets.guests.X])
    places = targets.guests.places(rows, targets.numbers)
    return wide_radii(places, X, frame, margin, squared)


def meet_impostors(
    so_far: Impostors | None,
    rows: TrainingRows,
    other: TrainingRows,
    targets: Targets,
    frame: Frame,
    per_row: int,
    margin: float,
    squared: bool,
) -> Impostors:
    """Look for impostors of a shard in another, or in itself."""
    if so_far is None:
        reach = reach_of(rows, targets, frame, margin, squared)
    else:
        reach = so_far.reach
    X, labels, begin = joined(rows, other)
    near, crowded = near_impostors(X, labels, reach, frame, per_row, begin)
    numbers = numbers_of(near.column, begin, other)
    first, share, guests = near.first, near.share, Guests.none(rows.n_columns)
    if so_far is not None:
        first, numbers, share, more = merge_nearest(
            so_far.first, so_far.numbers, so_far.share, first, numbers, share, per_row
        )
        guests, crowded = so_far.guests, crowded or so_far.crowded or more
    if begin is not None:
        guests = guests.after(other, numbers)
    return Impostors(reach, first, numbers, share, guests, bool(crowded))


# -- the loss -----------------------------------------------------------------------


class Linked(NamedTuple):
    """The loss of a shard's rows: they come first, their guests after them."""

    problem: Problem
    links: Links
    crowded: bool


def link(
    rows: TrainingRows,
    targets: Targets,
    impostors: Impostors,
    margin: float,
    push: float,
    squared: bool,
) -> Linked:
    """Put a shard and its guests into one table, and number the pairs by it."""
    guests = targets.guests.joined_with(impostors.guests)
    X = np.concatenate([rows.X, guests.X])
    places = guests.places(rows, targets.numbers)
    pairs = Pairs(impostors.first, guests.places(rows, impostors.numbers))
    return Linked(
        Problem(X, places, rows.weights, margin, push, squared),
        Links.of(places, pairs, len(X)),
        impostors.crowded,
    )


def evaluate(
    linked: Linked, factor: Array, center: Array, curvature: float, bends: bool
) -> Gradient:
    """Return the loss of a shard's rows and its gradient, without that in the rows."""
    found = loss_and_gradient(linked.problem, linked.links, factor, center, curvature, bends=bends)
    return found._replace(rows=found.rows[:0].copy())
