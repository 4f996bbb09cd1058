"""Which rows are held out: places, dealt to three folds, or one held-out part of many rows.

All rows at a place are held out together, so that no row predicts its copy. Where copies are
evidence (`places.count_rows`), rows are held out one by one: what a table of a few categories
repeats, new rows will repeat.

Rows are dealt by class, and neither the names of the classes nor the order of rows and columns
matter: places are taken in the order of `rows.place_order`, and classes in the order in which
they appear there.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats, Ints
from cayleyklein.learning.rows import (
    GivenRows,
    TrainingRows,
    by_appearance,
    class_order,
    distinct_rows,
    draw_by_class,
    heaviest_labels,
)

# Folds, and the places beyond which one held-out part is enough: the metric learned from the other
# rows is then the one that is kept. On six small tables 2 and 6 folds raise log loss, or 1 - R², of
# kernels by 0.003 ± 0.004, and of neighbours by 0.016 ± 0.011 and 0.004 ± 0.004
# (docs/evidence/constants.txt).
N_FOLDS, FOLDS_UP_TO = 3, 2500
HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 2000


def split_training(
    rows: TrainingRows, rng: np.random.Generator
) -> list[tuple[TrainingRows, TrainingRows]]:
    """Return pairs of training and held-out rows, every class spread evenly.

    A place belongs to the class that weighs most there.
    """
    _, place = rows.points
    labels = heaviest_labels(rows.labels, rows.weights, place)
    part, n_held_out = deal_to_folds(labels, rng)
    pairs = []
    for fold in range(n_held_out):
        out = part[place] == fold
        pairs.append((rows.take(np.flatnonzero(~out)), rows.take(np.flatnonzero(out))))
    return pairs


def split_given(
    given: GivenRows,
    place: Ints,
    pair: Ints,
    counted: bool,
    seed: int,
    n_folds: int | None = None,
) -> Iterator[tuple[GivenRows, GivenRows]]:
    """Yield training and held-out rows in memory, every class spread evenly.

    Rows have positive weights, and each has its place, and its pair of a place and a target. If
    `counted`, weights are numbers of observations, which are held out one by one. With `n_folds`,
    every row is held out once, however many there are.
    """
    rng = np.random.default_rng(seed)
    if not counted:
        labels = heaviest_labels(given.labels, given.weights, place)
        part, n_held_out = deal_to_folds(labels, rng, n_folds)
        for fold in range(n_held_out):
            out = part[place] == fold
            yield given.take(np.flatnonzero(~out)), given.take(np.flatnonzero(out))
        return
    mass = np.rint(weights_of_pairs(given, pair)).astype(np.intp)
    _, first = np.unique(pair, return_index=True)
    given = replace(given.take(first), weights=mass.astype(float))
    place = place[first]
    labels = given.labels
    # the classes at a place by their weights, which have no names
    order = np.lexsort((class_order(labels, given.weights, place), -mass, place))
    unit = np.repeat(order, mass[order])
    part, n_held_out = deal_to_folds(labels[unit], rng, n_folds)
    for fold in range(n_held_out):
        out = np.bincount(unit[part == fold], minlength=len(first)).astype(float)
        yield with_weights(given, given.weights - out), with_weights(given, out)


def hold_out_once(
    given: GivenRows, counted: bool, rng: np.random.Generator
) -> tuple[GivenRows, GivenRows]:
    """Return many rows of which those that are held out weigh 0, and these rows, in memory.

    Rows in memory are places with their targets, see `places.pool_pairs`; if `counted`, weights are
    numbers of observations, which are held out one by one. So are rows on a cluster.
    """
    held = np.zeros(len(given.weights))
    if counted:
        unit = np.repeat(np.arange(len(held)), np.rint(given.weights).astype(np.intp))
        drawn = unit[draw_held_out(given.labels[unit], rng)]
        held = np.bincount(drawn, minlength=len(held)).astype(float)
    elif isinstance(given.X, RowBlocks):
        kept = np.flatnonzero(given.weights > 0)
        drawn = kept[draw_held_out(given.labels[kept], rng)]
        held[drawn] = given.weights[drawn]
    else:
        first, place = distinct_rows(given.X)
        out = np.isin(place, draw_held_out(given.labels[first], rng))
        held[out] = given.weights[out]
    return replace(given, weights=given.weights - held), with_weights(given, held)


def draw_held_out(labels: Ints, rng: np.random.Generator) -> Ints:
    """Draw which of many units to hold out, by class; return their sorted numbers."""
    size = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * len(labels)))
    return draw_by_class(labels, size, 0, rng)


def weights_of_pairs(given: GivenRows, pair: Ints) -> Floats:
    """Return the weight of each place with one of its targets."""
    return np.bincount(pair, weights=given.weights).astype(float)


def with_weights(given: GivenRows, weights: Floats) -> GivenRows:
    """Return rows with other weights, but for those of weight 0."""
    return replace(given, weights=weights).take(np.flatnonzero(weights > 0))


def deal_to_folds(
    labels: Ints, rng: np.random.Generator, n_folds: int | None = None
) -> tuple[Ints, int]:
    """Return the part of each unit, every class spread evenly, and how many parts to hold out.

    Classes are dealt in the order in which they appear among the units.
    """
    n = len(labels)
    if n_folds is None and n <= FOLDS_UP_TO:
        n_folds = N_FOLDS
    n_parts = n_folds or max(round(1 / HELD_OUT_SHARE), -(-n // MOST_HELD_OUT))
    part = np.empty(n, dtype=np.int64)
    shift = 0
    for label in by_appearance(labels):
        some = rng.permutation(np.flatnonzero(labels == label))
        part[some] = (np.arange(len(some)) + shift) % n_parts
        shift += len(some)
    return part, n_folds or 1
