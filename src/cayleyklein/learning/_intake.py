"""What fit is given: checked, counted, sampled if asked for, and made into training rows.

Rows in memory are one block; those of a Dask collection are as many as its chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein._distributed import (
    RowBlocks,
    compute,
    in_memory,
    is_dask,
    row_blocks,
    target_blocks,
    task,
)
from cayleyklein._estimators import (
    as_labels,
    as_weights,
    check_columns,
    check_data,
    classes_of,
    common_classes,
    refuse_missing,
)
from cayleyklein._validation import as_finite_array, list_indices
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._data import Distinct, Rows, TrainingRows
from cayleyklein.learning._parameters import check_factor_size
from cayleyklein.learning._sharded import FITTING, ShardedRows

__all__ = ["sample_sizes", "take_in"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


class Sampling(NamedTuple):
    """How many rows to learn from, at least `fewest` of a class where it has them."""

    size: int | float
    fewest: int
    rng: np.random.Generator


class Tally(NamedTuple):
    """The classes of a block, and how many rows of positive weight each of them has."""

    classes: NDArray[Any]
    counts: Index

    @classmethod
    def of(cls, y: NDArray[Any], weights: Array | None, first_row: int = 0) -> Tally:
        """Check and count the entries of y, and check the weights."""
        classes = classes_of(y, first_row)
        weighs = None if weights is None else checked_weights(weights, first_row) > 0
        labels = np.searchsorted(classes, y)
        return cls(classes, np.bincount(labels, weights=weighs, minlength=len(classes)).astype(int))


def take_in(
    learner: Any, X: Any, y: Any, sample_weight: Any, sampling: Sampling | None
) -> tuple[Rows, NDArray[Any]]:
    """Return the training rows and the classes of what fit was given."""
    if is_dask(X):
        return take_in_blocks(learner, X, y, sample_weight, sampling)
    rows, target = check_data(learner, X, y, dtype=np.float64, ensure_min_samples=2)
    check_components(learner, rows.shape[1])
    weights = as_weights(in_memory(sample_weight, "sample_weight"), rows)
    tally = Tally.of(as_labels(target), weights)
    check_classes(tally.classes, tally.counts)
    if sampling is not None:
        (chosen,) = draw(tally.counts[None], sampling)
        rows, target, weights = pick(rows, target, weights, tally.classes, chosen)
    labels = np.searchsorted(tally.classes, target)
    return TrainingRows.from_raw(rows, labels, weights), tally.classes


def take_in_blocks(
    learner: Any, X: Any, y: Any, sample_weight: Any, sampling: Sampling | None
) -> tuple[Rows, NDArray[Any]]:
    """Return those of a Dask collection."""
    check_columns(learner, X, y, reset=True)
    refuse_missing(y, "y")
    check_components(learner, learner.n_features_in_)
    blocks = row_blocks(X, y)
    assert blocks.targets is not None
    weights: Sequence[Any] = [None] * len(blocks.blocks)
    if sample_weight is not None:
        weights = target_blocks(sample_weight, blocks.lengths, "sample_weight")
    columns = zip(blocks.targets, weights, blocks.starts, strict=True)
    tallies = compute(*[task(Tally.of, *block) for block in columns], doing=FITTING)
    classes = common_classes([tally.classes for tally in tallies], blocks.n_rows)
    counts = np.zeros((len(tallies), len(classes)), dtype=np.int64)
    for block, tally in zip(counts, tallies, strict=True):
        block[np.searchsorted(classes, tally.classes)] = tally.counts
    check_classes(classes, counts.sum(axis=0))
    if sampling is not None:
        return sampled(blocks, weights, classes, counts, sampling), classes
    if learner.solver == "gradient":
        raise InvalidInputError(
            'solver="gradient" learns from rows in memory: give solver="lbfgs", or subsample=20000 '
            "to learn from so many of the Dask rows."
        )
    distinct = [
        task(_distinct, rows, target, weight, classes)
        for rows, target, weight in zip(blocks.blocks, blocks.targets, weights, strict=True)
    ]
    n_rows = int(counts.sum())
    return ShardedRows.from_blocks(distinct, n_rows, blocks.n_columns, len(classes)), classes


def sampled(
    blocks: RowBlocks,
    weights: Sequence[Any],
    classes: NDArray[Any],
    counts: Index,
    sampling: Sampling,
) -> TrainingRows:
    """Return a sample of the rows, in this process. Every row is checked all the same."""
    assert blocks.targets is not None
    parts = compute(
        *[
            task(pick, rows, target, weight, classes, chosen)
            for rows, target, weight, chosen in zip(
                blocks.blocks, blocks.targets, weights, draw(counts, sampling), strict=True
            )
        ],
        doing=FITTING,
    )
    X, y, w = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return TrainingRows.from_raw(X, np.searchsorted(classes, y), w)


def check_components(learner: Any, n_columns: int) -> None:
    """Refuse to learn more components than there are columns."""
    if learner.n_components is not None and learner.n_components > n_columns:
        raise InvalidInputError(
            f"Got n_components={learner.n_components}, but X has only {n_columns} columns."
        )
    check_factor_size(learner.n_components or n_columns, n_columns)


def check_classes(classes: NDArray[Any], counts: Index) -> None:
    """Refuse to learn from a single class."""
    present = classes[counts > 0].tolist()
    if len(present) < 2:
        raise InvalidInputError(
            f"y has {'1 class' if present else 'no class'} of positive weight, {present}; learning "
            f"a metric needs two classes or more."
        )


def checked_weights(weights: NDArray[Any], first_row: int = 0) -> Array:
    """Return a block of weights, which are finite and not negative."""
    checked = as_finite_array(weights, "sample_weight", first_row)
    if checked.ndim != 1:
        raise InvalidInputError(
            f"sample_weight must be one column; got a block of shape {checked.shape}."
        )
    if (checked < 0).any():
        rows = first_row + np.flatnonzero(checked < 0)
        raise InvalidInputError(f"sample_weight is negative at rows {list_indices(rows)}.")
    return checked


def _distinct(X: Array, y: NDArray[Any], weights: Any, classes: NDArray[Any]) -> Distinct:
    weights = np.ones(len(X)) if weights is None else checked_weights(weights)
    return Distinct.of(X, np.searchsorted(classes, y), weights)


# -- sampling -----------------------------------------------------------------------


def sample_sizes(counts: Index, sampling: Sampling) -> Index:
    """Return how many rows of each class are taken: its share, but a few of the small ones.

    Examples
    --------
    >>> sample_sizes(np.array([5000, 900, 2]), Sampling(500, 4, None))
    array([424,  76,   2])
    """
    n = int(counts.sum())
    share = sampling.size if isinstance(sampling.size, float) else min(1.0, sampling.size / n)
    wanted = np.maximum(np.rint(share * counts), sampling.fewest)
    return np.asarray(np.minimum(counts, wanted), dtype=np.int64)


def draw(counts: Index, sampling: Sampling) -> list[list[Index]]:
    """Return, block by block and class by class, the ordinals in it of the rows that are taken.

    What is drawn are ordinals in the whole class, so that the blocks do not matter.

    Parameters
    ----------
    counts : ndarray of shape (n_blocks, n_classes)
        Rows of each class in a block.
    sampling : Sampling
    """
    whole = counts.sum(axis=0)
    before = np.cumsum(counts, axis=0)
    drawn = [
        np.split(some, np.searchsorted(some, before[:-1, label]))
        for label, some in enumerate(
            np.sort(sampling.rng.choice(count, size, replace=False, shuffle=False))
            for count, size in zip(whole, sample_sizes(whole, sampling), strict=True)
        )
    ]
    return [
        [
            drawn[label][block] - before[block, label] + counts[block, label]
            for label in range(len(whole))
        ]
        for block in range(len(counts))
    ]


def pick(
    X: Array, y: NDArray[Any], weights: Any, classes: NDArray[Any], chosen: list[Index]
) -> tuple[Array, NDArray[Any], Array]:
    """Return the rows of a block that are taken, in their order, and their classes and weights."""
    weights = np.ones(len(X)) if weights is None else checked_weights(weights)
    labels = np.where(weights > 0, np.searchsorted(classes, y), -1)
    rows = np.sort(
        np.concatenate([np.flatnonzero(labels == label)[some] for label, some in enumerate(chosen)])
    )
    return X[rows], y[rows], weights[rows]
