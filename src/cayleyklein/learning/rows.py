"""Rows to learn from: as they were given, and standardised, distinct and sorted by class."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import linalg

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._estimators import as_weights, check_numbers, encode_classes, is_dask
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import list_indices
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.metrics import CurvedMetric


@dataclass(frozen=True)
class GivenRows:
    """Checked rows in memory, or Dask blocks of rows, with targets and weights in memory."""

    X: Floats | RowBlocks
    target: AnyArray  # the number of a class among `classes`, or one or more numbers a row
    weights: Floats
    n_columns: int
    classes: AnyArray | None = None
    source: Any = None  # X as it was given, or its encoded rows
    always: Bools | None = None  # rows that every sample has
    searched: Floats | None = None  # rows to search in, where they are not those to learn from
    table: Any = None  # the rows as a DataFrame, where a part asks for its cells
    numbers: Ints | None = None  # of rows taken from others, where they are asked for

    @classmethod
    def read(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        numeric: bool = False,
        classes: AnyArray | None = None,
        least_rows: int = 1,
        block_rows: int = 0,
        reset: bool = True,
    ) -> Self:
        """Check X, y and weights once, for all that a fit does with them.

        With `block_rows`, Dask rows stay in memory where they are, and blocks of fewer are joined.
        """
        rows: Floats | RowBlocks
        if is_dask(X):
            _distributed.check_columns(estimator, X, y, reset=reset)
            if isinstance(y, list | tuple):
                y = np.array(y, dtype=object)  # NumPy would turn a missing class into a text
            if block_rows:
                X, y, sample_weight = _distributed.in_place(X, y, sample_weight)
            beside = {"y": y, "sample_weight": sample_weight}
            lengths, (y, sample_weight) = _distributed.read_columns(X, **beside)
            rows = _distributed.row_blocks(X, lengths, least_rows=max(block_rows, 1))
        else:
            if is_dask(y) or is_dask(sample_weight):
                y = _distributed.in_memory(y, "y")
                sample_weight = _distributed.in_memory(sample_weight, "sample_weight")
            rows, y = entrance.rows_to_fit(estimator, X, y, least_rows, reset)
        if numeric:
            target: AnyArray = check_numbers(y)
        else:
            classes, target = encode_classes(y, classes)
        weights, searched = as_weights(sample_weight, target), None
        if reset and not isinstance(rows, RowBlocks):
            found, searched = entrance.encoded_rows(estimator, X, rows, target, weights)
            X, rows = X if found is rows else found, found
        d = rows.n_columns if isinstance(rows, RowBlocks) else rows.shape[1]
        return cls(rows, target, weights, d, classes, X, searched=searched)

    @property
    def places(self) -> Any:
        return self.X if self.searched is None else self.searched

    @property
    def labels(self) -> Ints:
        """Class of each row; 0 for all where targets are numbers."""
        return np.zeros(len(self.target), int) if self.classes is None else self.target

    def mapped(self, function: Callable[[Any], Floats]) -> Self:
        X = function(self.X)
        searched = None if self.searched is None else function(self.searched)
        return replace(self, X=X, source=X, searched=searched)

    def take(self, rows: Ints) -> Self:
        """Return rows by their numbers, in memory."""
        X = _distributed.rows_at(self.X, rows) if isinstance(self.X, RowBlocks) else self.X[rows]
        target, weights = self.target[rows], self.weights[rows]
        table = None if self.table is None else self.table.iloc[rows]
        numbers = None if self.numbers is None else self.numbers[rows]
        return type(self)(
            X,
            target,
            weights,
            self.n_columns,
            self.classes,
            source=X,
            table=table,
            numbers=numbers,
        )

    def joined(self, added: Self) -> Self:
        pairs = ((self.X, added.X), (self.target, added.target), (self.weights, added.weights))
        X, target, weights = map(np.concatenate, pairs)
        searched = None if self.searched is None else np.concatenate([self.searched, added.X])
        return replace(self, X=X, target=target, weights=weights, searched=searched)

    def draw(self, size: int | float | None, fewest: int, rng: np.random.Generator) -> Self:
        """Return a sample of rows of positive weight, by class, in memory."""
        some = np.flatnonzero(self.weights > 0)
        if size is not None and (isinstance(size, float) or size < len(some)):
            labels = self.labels[some]
            if isinstance(self.X, RowBlocks):
                some = some[draw_by_class(labels, size, fewest, rng)]
            else:  # equal rows together, so that a row of weight 2 is drawn like two rows
                first, group = distinct_rows(self.X[some], labels)
                mass: Floats = np.bincount(group, weights=self.weights[some]).astype(float)
                order = place_order(self.X[some][first], -mass)
                drawn = np.zeros(len(first), dtype=bool)
                drawn[order[draw_by_class(labels[first[order]], size, fewest, rng)]] = True
                if self.always is not None:
                    drawn[group[self.always[some]]] = True
                some = some[drawn[group]]
        return self.take(some)


@dataclass(frozen=True)
class TrainingRows:
    """Rows standardised column by column.

    Equal rows of one class are one row whose weight is the sum of theirs, and rows are sorted by
    class and then by column. So neither the order of the rows nor whether a row is repeated or
    weighs 2 changes a model.

    Rows of more columns than rows span a space of few dimensions, and a descent from standardised
    columns never leaves it. They are turned into it: each is r coordinates along an orthonormal
    `basis`, with the same distances, and what is learned there is the same metric.
    """

    X: Floats  # (columns - mean)/scale
    labels: Ints  # 0, 1, …, ascending; all 0 where the targets are numbers
    weights: Floats  # positive, 1 on average
    mean: Floats
    scale: Floats  # inf for a constant column, which so has no weight
    basis: Floats | None = None  # (r, d), by falling variance
    targets: Floats | None = None  # (n, t) standardised numbers, divided by √t

    @classmethod
    def from_raw(
        cls, X: Floats, labels: Ints, weights: Floats, *, turn: bool = True, name: str = "X"
    ) -> Self:
        """Merge, sort and standardise the rows of positive weight; `turn` wide ones."""
        kept = weights > 0
        keyed = np.column_stack([labels, X])
        rows, inverse = np.unique(keyed if kept.all() else keyed[kept], axis=0, return_inverse=True)
        total: Floats = np.bincount(inverse.ravel(), weights=in_twos(weights[kept])).astype(float)
        total /= total.sum() / len(total)  # 1 on average, and exactly 1 where all are equal
        share = total / total.sum()
        X = np.ascontiguousarray(rows[:, 1:])
        # Units are powers of two, which change no digit: columns of 1e±150 need no special case.
        low, high = X.min(axis=0), X.max(axis=0)
        span = np.maximum(np.abs(low), np.abs(high))
        extreme = (span > 1e151) | ((span > 0) & (span < 1e-151))
        if extreme.any():
            raise InvalidInputError(
                f"The largest entries of {name} are beyond 1e+151 or below 1e-151 in columns "
                f"{list_indices(np.flatnonzero(extreme))}; rescale them."
            )
        unit = np.exp2(np.floor(np.log2(np.where(span > 0, span, 1.0))))
        constant = high / unit - low / unit <= 4 * np.finfo(float).eps * (span / unit)
        X = X / unit
        mean = share @ X
        deviation = np.where(constant, np.inf, np.sqrt(share @ (X - mean) ** 2))
        X = (X - mean) / deviation
        basis = principal_axes(X, len(X)) if turn and X.shape[1] > len(X) else None
        return cls(
            X if basis is None else X @ basis.T,
            rows[:, 0].astype(np.int64),
            total,
            mean * unit,
            deviation * unit,
            basis,
        )

    @classmethod
    def from_targets(cls, X: Floats, Y: Floats, weights: Floats) -> Self:
        """Merge, sort and standardise rows and targets (n, t); equal rows have their mean."""
        some = weights > 0
        # equal rows with equal targets first: two rows and a row of weight 2 round alike
        pairs, group = np.unique(np.hstack([X, Y])[some], axis=0, return_inverse=True)
        X, Y = np.split(pairs, [X.shape[1]], axis=1)
        weights = np.bincount(group.ravel(), weights=in_twos(weights[some])).astype(float)
        rows, inverse = np.unique(X, axis=0, return_inverse=True)
        inverse = inverse.ravel()
        total: Floats = np.bincount(inverse, weights=weights).astype(float)
        mean = np.zeros((len(rows), Y.shape[1]))
        unit = np.abs(Y).max(axis=0)
        share = (weights / total[inverse])[:, None]
        np.add.at(mean, inverse, share * (Y / np.where(unit > 0, unit, 1.0)))
        base = cls.from_raw(rows, np.zeros(len(rows), dtype=np.int64), total)
        mean -= base.shares @ mean
        deviation = np.sqrt(base.shares @ mean**2)
        constant = deviation <= 4 * np.finfo(float).eps
        targets = np.where(constant, 0.0, mean / np.where(constant, 1.0, deviation))
        return replace(base, targets=targets / np.sqrt(Y.shape[1]))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def order(self) -> Ints:
        """The rows in an order that depends on their values and weights only.

        Rows are drawn in this order, so that a draw is the same whatever the names of the classes
        and the order of the columns. Of rows at one point the heaviest is first.
        """
        return place_order(self.X, -self.weights)

    @cached_property
    def points(self) -> tuple[Ints, Ints]:
        """The first row at each distinct point, of whatever class, and the point of each row.

        Points are in the order of `place_order`.
        """
        first, point = distinct_rows(self.X)
        order = place_order(self.X[first])
        return first[order], np.argsort(order)[point]

    @property
    def shares(self) -> Floats:
        return np.asarray(self.weights / self.weights.sum())

    @property
    def varies(self) -> Bools:
        if self.basis is None:
            return np.isfinite(self.scale)
        return np.ones(self.n_columns, dtype=bool)

    @property
    def as_given(self) -> Floats:
        """The rows in the columns that were given."""
        X = self.X if self.basis is None else self.X @ self.basis
        return np.asarray(X * self.finite_scale + self.mean)

    @property
    def finite_scale(self) -> Floats:
        return np.where(np.isfinite(self.scale), self.scale, 0.0)

    def take(self, rows: Ints) -> Self:
        rows = np.sort(rows)
        X, labels, weights = self.X[rows], self.labels[rows], self.weights[rows]
        targets = None if self.targets is None else self.targets[rows]
        return replace(self, X=X, labels=labels, weights=weights, targets=targets)

    def nested_order(self, rng: np.random.Generator) -> Ints:
        """Return an order of the rows in which each beginning has all classes by their shares."""
        place = np.empty(len(self))
        labels = self.labels[self.order]
        for label in by_appearance(labels):
            own = self.order[labels == label]
            place[own] = (rng.permutation(len(own)) + rng.uniform()) / len(own)
        return np.argsort(place, kind="stable")

    def to_metric(self, found: Parameters, unit: float = 1.0) -> CurvedMetric:
        """Return the metric for rows as they were given, its distances divided by a unit."""
        factor, center = found.factor, found.center
        if self.basis is not None:
            factor, center = factor @ self.basis, center @ self.basis
        center, K = self.mean + self.finite_scale * center, found.curvature * unit**2
        return CurvedMetric(factor=factor / self.scale / unit, center=center, curvature=K)

    def from_metric(self, metric: CurvedMetric) -> Parameters:
        """Return the parameters for standardised rows of a metric for rows as given."""
        varies = np.isfinite(self.scale)
        factor, center = metric.factor * self.finite_scale, (metric.center - self.mean) / self.scale
        if not varies.all():  # what a constant column adds to every row moves the centre
            constant = metric.factor[:, ~varies] @ (self.mean - metric.center)[~varies]
            center -= np.linalg.lstsq(factor, constant, rcond=None)[0]
        if self.basis is not None:
            factor, center = factor @ self.basis.T, self.basis @ center
        return Parameters(factor, center, metric.curvature)


def in_twos(weights: Floats) -> Floats:
    """Return weights in units of a power of two, which changes no digit; the largest is below 2."""
    return np.asarray(weights / np.exp2(np.floor(np.log2(weights.max()))))


def principal_axes(X: Floats, r: int) -> Floats:
    """Return at most r orthonormal rows of length d: the principal axes of rows (n, d), n < d."""
    _, sizes, axes = linalg.svd(X, full_matrices=False)
    kept = sizes > max(X.shape) * np.finfo(float).eps * sizes[0]
    return np.ascontiguousarray(axes[kept][:r]) if kept.any() else np.eye(1, X.shape[1])


def distinct_rows(X: Floats, labels: Ints | None = None) -> tuple[Ints, Ints]:
    """Return the first row at each distinct point (and label), ascending, and each row's point.

    >>> distinct_rows(np.array([[5.0], [1.0], [5.0]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    hashes = np.zeros(len(X), dtype=np.uint64)
    for j in range(X.shape[1]):
        hashes ^= (X[:, j] + 0.0).view(np.uint64)  # which turns -0.0 into 0.0
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(32)
        hashes *= np.uint64(0xD6E8FEB86659FD93)
        hashes ^= hashes >> np.uint64(29)
    _, first, point = np.unique(hashes, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[point] != np.arange(len(X)))
    if (X[again] != X[first[point[again]]]).any():  # different rows with one hash
        _, first, point = np.unique(X, axis=0, return_index=True, return_inverse=True)
    if labels is not None:
        pairs = point.ravel() * (int(labels.max()) + 1) + labels
        _, first, point = np.unique(pairs, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[point.ravel()]


def by_appearance(labels: Ints) -> Ints:
    """Return the distinct labels in the order in which they appear.

    >>> by_appearance(np.array([2, 0, 2, 1]))
    array([2, 0, 1])
    """
    names, first = np.unique(labels, return_index=True)
    return np.asarray(names[np.argsort(first)])


def class_order(labels: Ints, weights: Floats, place: Ints) -> Ints:
    """Return the rank of the class of each row, by where its rows are and what they weigh.

    The names of the classes do not matter. Rows have numbers of places in `place_order`.
    """
    where: Floats = np.bincount(labels, weights * np.sqrt(1.0 + place)).astype(float)
    return np.argsort(np.argsort(where, kind="stable"))[labels]


def heaviest_labels(labels: Ints, weights: Floats, place: Ints) -> Ints:
    """Return the class of the largest weight at each place (p,).

    Places of several such classes have the number of classes: they are a class of their own.
    """
    n_classes = int(labels.max()) + 1
    pairs, pair = np.unique(place * n_classes + labels, return_inverse=True)
    mass: Floats = np.bincount(pair, weights).astype(float)
    at = pairs // n_classes
    largest = np.zeros(int(place.max()) + 1)
    np.maximum.at(largest, at, mass)
    ahead = mass >= (1 - 1e-9) * largest[at]
    found = np.empty(len(largest), dtype=np.int64)
    found[at[ahead]] = pairs[ahead] % n_classes
    found[np.bincount(at, ahead, len(largest)) > 1] = n_classes
    return found


def place_order(X: Floats, ties: Floats | None = None) -> Ints:
    """Return an order of rows that depends on their values only, equal rows by `ties` (n,).

    Rows are sorted by one column after the other, and columns by where their mean lies between
    their least and their largest value. So neither the order of the columns nor their units nor the
    order of the rows matters. Columns that agree in this to nine digits, such as scores of ranks,
    are told apart by how they go with all columns together, see `ties_of_columns`.
    """
    ascending = np.sort(X, axis=0)  # the mean is then rounded alike, whatever the order of rows
    low, high = ascending[0], ascending[-1]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        middle = np.round((ascending.mean(axis=0) - low) / (high - low), 9)
    columns = np.argsort(middle, kind="stable")
    placed = middle[columns]
    if (placed[1:] == placed[:-1]).any():
        columns = np.lexsort((ties_of_columns(X, low, high), middle))
    n_keys = 1
    while n_keys < len(columns):  # as a rule few columns tell all rows apart
        keys = X[:, columns[:n_keys]]
        order = np.lexsort(keys[:, ::-1].T)
        if (keys[order[1:]] != keys[order[:-1]]).any(axis=1).all():
            return order
        n_keys *= 4
    keys_of_all = [*X[:, columns[::-1]].T]
    return np.lexsort(keys_of_all if ties is None else [ties, *keys_of_all])


def ties_of_columns(X: Floats, low: Floats, high: Floats) -> Floats:
    """Return numbers (d,) that tell columns apart whose values have the same distribution.

    With u the columns from 0 to 1, less their means, they are the means of (Σₖ uₖ)² uⱼ: they depend
    neither on the order of rows and columns nor on units.
    """
    span = np.where(high > low, high - low, 1.0)
    u = (X - low) / span
    u -= u.mean(axis=0)
    return np.asarray(np.round((u.sum(axis=1) ** 2) @ u / len(u), 12))


def draw_by_class(labels: Ints, size: int | float, fewest: int, rng: np.random.Generator) -> Ints:
    """Draw `size` rows, or that share, by class, `fewest` at least; return their sorted numbers.

    >>> labels = np.repeat([0, 1, 2], [5000, 900, 2])
    >>> np.bincount(labels[draw_by_class(labels, 500, 4, np.random.default_rng(0))])
    array([424,  76,   2])
    """
    counts = np.bincount(labels)
    share = size if isinstance(size, float) else size / max(1, len(labels))
    wanted = np.minimum(counts, np.maximum(np.rint(min(1.0, share) * counts), fewest))
    if np.array_equal(wanted, counts):  # leaves the generator as it is
        return np.arange(len(labels))
    order = np.lexsort((rng.random(len(labels)), labels))
    own = labels[order]
    ranks = np.arange(len(order)) - np.searchsorted(own, own)
    return np.sort(order[ranks < wanted[own]])
