"""Many rows to fit machines to: places in memory, or blocks of rows on a cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, cast

import numpy as np

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.learning.rows import GivenRows
from cayleyklein.parts.places import Places, TargetPlaces, pool_rows


class HeldOutPlaces(NamedTuple):
    """Held-out rows, and their places among all rows.

    Attributes
    ----------
    X : ndarray of shape (s, d)
    truth : ndarray of shape (s, t)
        What machines are fitted to.
    weights : ndarray of shape (s,)
    numbers : ndarray of shape (s,)
        Numbers of their places.
    places : TargetPlaces
        These places, whose weights are those in the fit.
    counted : bool
        Whether one row of a place is left out, and not all of them.
    """

    X: Floats
    truth: Floats
    weights: Floats
    numbers: Ints
    places: TargetPlaces
    counted: bool


@dataclass(frozen=True)
class ManyRows:
    """Many rows to fit a machine to, in memory or on a cluster.

    Attributes
    ----------
    blocks : list
        `TargetPlaces` in memory, or tasks that yield them.
    n : int
        Number of places.
    offset : ndarray of shape (t,)
        Mean target.
    pool : GivenRows
        A sample in memory, without the held-out rows, with the numbers of their places.
    sample : TargetPlaces
        The places of a smaller sample.
    held_out : HeldOutPlaces
    on_cluster : bool
    """

    blocks: list[Any]
    n: int
    offset: Floats
    pool: GivenRows
    sample: TargetPlaces
    held_out: HeldOutPlaces
    on_cluster: bool

    @classmethod
    def of(
        cls,
        given: GivenRows,
        held_out: GivenRows,
        pool: GivenRows,
        sample: TargetPlaces,
        targets: Callable[[AnyArray], Floats],
        counted: bool,
    ) -> Self:
        """Take all rows, which have numbers, and those that are held out, with their targets.

        Rows in memory are pooled to places. On a cluster each is a place of its own.
        """
        truth = targets(held_out.target)
        all_targets = targets(given.target)
        offset = given.weights @ all_targets / given.weights.sum()
        blocks: list[Any]
        if isinstance(given.X, RowBlocks):
            starts = given.X.starts
            parts = zip(
                given.X.blocks,
                np.split(all_targets, starts[1:]),
                np.split(given.weights, starts[1:]),
                starts,
                strict=True,
            )
            blocks = [_distributed.task(block_of_places, *each) for each in parts]
            n = int((given.weights > 0).sum())
            places = block_of_places(cast(Floats, held_out.X), truth, held_out.weights, 0)
            numbers = cast(Ints, held_out.numbers)
        else:
            given_numbers, held_numbers = cast(Ints, given.numbers), cast(Ints, held_out.numbers)
            every = pool_rows(given, all_targets, counted)
            every = every._replace(numbers=given_numbers[every.numbers])
            blocks, n = [every], len(every.X)
            of_rows = Places.pooled(given.X, given.weights, ordered=True).of_rows
            held = np.flatnonzero(np.isin(given_numbers, held_numbers))
            places = every.take(of_rows[held])
            numbers = places.numbers
        X = cast(Floats, held_out.X)
        held_places = HeldOutPlaces(X, truth, held_out.weights, numbers, places, counted)
        on_cluster = isinstance(given.X, RowBlocks)
        return cls(blocks, n, offset, pool, sample, held_places, on_cluster)

    def each(self, function: Callable[..., Any], *sent: Any) -> list[Any]:
        """Return a function of each block, or the tasks that will find it."""
        if not self.on_cluster:
            return [function(block, *sent) for block in self.blocks]
        values = [_distributed.held(value) for value in sent]
        return [_distributed.task(function, block, *values) for block in self.blocks]

    def gathered(self, found: list[Any], doing: str) -> list[Any]:
        """Return results in memory."""
        return list(_distributed.compute(*found, doing=doing)) if self.on_cluster else found


def block_of_places(X: Floats, targets: Floats, weights: Floats, start: int) -> TargetPlaces:
    """Return rows of positive weight, each a place of its own, numbered from a start."""
    kept = np.flatnonzero(weights > 0)
    ones = np.ones(len(kept))
    return TargetPlaces(X[kept], targets[kept], weights[kept], ones, 0 * ones, start + kept)


def joined_pieces(by_block: list[list[TargetPlaces]]) -> list[TargetPlaces]:
    """Return the places of each leaf, or group of leaves, of all blocks."""
    return [joined(pieces) for pieces in zip(*by_block, strict=True)]


def joined(pieces: Any) -> TargetPlaces:
    """Return places one after the other."""
    return TargetPlaces(*map(np.concatenate, zip(*pieces, strict=True)))
