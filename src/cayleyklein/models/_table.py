"""A classifier of the rows of a table, by a curved metric that it learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from cayleyklein._validation import as_count
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import CurvedKNeighborsClassifier, CurvedLMNN
from cayleyklein.metrics import CurvedMetric, MixedMetric
from cayleyklein.models._columns import numbers_of
from cayleyklein.models._encoder import TableEncoder

__all__ = ["LearnedMetric", "TableClassifier"]


@dataclass(frozen=True)
class LearnedMetric:
    """How a metric was learned, in plain values that a file can hold.

    Attributes
    ----------
    geometry : str
        "flat", "elliptic", "hyperbolic" or "mixed".
    curvatures : tuple of float
        K of each part.
    weights : tuple of float
        Of each part in the sum.
    alpha : float or None
        Share of the elliptic part in a sum of two.
    n_iter : int
    n_rows : int
        Rows that it was learned from.
    n_outside : int
        Other rows that lie outside its hyperbolic domain, and are no neighbours.
    selection : str
        What was tried on held-out rows, and what was chosen.
    """

    geometry: str
    curvatures: tuple[float, ...]
    weights: tuple[float, ...]
    alpha: float | None
    n_iter: int
    n_rows: int
    n_outside: int
    selection: str

    def describe(self) -> str:
        """Return one line, such as ``elliptic, K = 1``."""
        if len(self.curvatures) == 1:
            return f"{self.geometry}, K = {self.curvatures[0]:.4g}"
        parts = ", ".join(f"{K:.4g}" for K in self.curvatures)
        share = "" if self.alpha is None else f", α = {self.alpha:.3g}"
        return f"{self.geometry}, K = {parts}{share}"


class TableClassifier(ClassifierMixin, BaseEstimator):
    """Classify the rows of a table: encode the columns, learn a metric, ask the neighbours.

    Parameters
    ----------
    n_neighbors : int, default=3
    geometry : str, default="auto"
        Of the metric to learn, see :class:`cayleyklein.CurvedLMNN`.
    weights : {"uniform", "distance"}, default="uniform"
        What the vote of a neighbour counts.
    max_categories : int, default=20
        See :class:`TableEncoder`.
    learn_rows : int, default=5000
        Rows to learn the metric from, drawn at random where there are more. All rows are
        neighbours.
    random_state : int or None, default=0
    n_jobs : int or None, default=None
        Threads.
    callback : callable or None, default=None
        Told the learner's progress, see :class:`cayleyklein.CurvedLMNN`. Not saved.

    Attributes
    ----------
    classes_ : ndarray
    encoder_ : TableEncoder
        ``encoder_.uses_`` says what was done to which column.
    neighbors_ : CurvedKNeighborsClassifier
    metric_ : CurvedMetric or MixedMetric
        On the encoded columns.
    learned_ : LearnedMetric
    row_numbers_ : ndarray of int
        Where each neighbour was in the table: its index, or its position, from 0.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> table, y = load_wine(as_frame=True, return_X_y=True)
    >>> model = TableClassifier(geometry="elliptic").fit(table[::2], y[::2])
    >>> bool(model.score(table[1::2], y[1::2]) > 0.9)
    True
    >>> model.learned_.describe()
    'elliptic, K = 1'
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        geometry: str = "auto",
        weights: str = "uniform",
        max_categories: int = 20,
        learn_rows: int = 5000,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        callback: Callable[[Any], bool | None] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.geometry = geometry
        self.weights = weights
        self.max_categories = max_categories
        self.learn_rows = learn_rows
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    def fit(self, table: Any, y: ArrayLike) -> TableClassifier:
        """Learn from labelled rows.

        Parameters
        ----------
        table : pandas.DataFrame
        y : array-like of shape (n,)
            Their classes.
        """
        target = column_or_1d(np.asarray(y))
        if len(target) != len(table):
            raise InvalidInputError(f"The table has {len(table)} rows, but y has {len(target)}.")
        classes, counts = np.unique(target, return_counts=True)
        if len(classes) < 2:
            raise InvalidInputError(
                f"Every one of the {len(target)} rows is of the class {classes.tolist()[0]!r}; "
                f"learning needs two classes or more."
            )
        k = as_count(self.n_neighbors, "n_neighbors")
        if k >= len(target):
            raise InvalidInputError(
                f"{k} neighbours were asked for, but a row has only {len(target) - 1} others."
            )
        if counts.max() == 1:
            raise InvalidInputError(
                f"Each of the {len(classes)} classes has one row only: there is nothing to learn."
            )
        self.encoder_ = TableEncoder(max_categories=self.max_categories).fit(table)
        rows = self.encoder_.transform(table)
        inside = self._learn(rows, target, classes)
        self.row_numbers_ = numbers_of(table)[inside]
        return self

    def _learn(
        self, rows: NDArray[np.float64], target: NDArray[Any], classes: Any
    ) -> NDArray[np.bool_]:
        """Learn the metric, and keep as neighbours the rows in its domain; return which."""
        sample = self._sample(target)
        learner = CurvedLMNN(
            self.n_neighbors,
            geometry=self.geometry,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            callback=self.callback,
        ).fit(rows[sample], target[sample])
        metric = learner.metric_
        inside = np.ones(len(rows), dtype=bool)
        if len(sample) < len(rows):  # the learner has only seen to it for its own rows
            inside = metric.contains(rows)
        self.neighbors_ = CurvedKNeighborsClassifier(
            self.n_neighbors, metric=metric, weights=self.weights, n_jobs=self.n_jobs
        )
        everything = bool(inside.all())  # then there is no need of a copy
        self.neighbors_.partial_fit(
            rows if everything else rows[inside],
            target if everything else target[inside],
            classes=classes,
        )
        self.learned_ = LearnedMetric(
            geometry=metric.geometry,
            curvatures=tuple(part.curvature for part in parts_of(metric)),
            weights=tuple(weights_of(metric)),
            alpha=None if learner.alpha_ is None else float(learner.alpha_),
            n_iter=int(learner.n_iter_),
            n_rows=len(sample),
            n_outside=int((~inside).sum()),
            selection="" if learner.selection_ is None else str(learner.selection_),
        )
        return inside

    def _sample(self, target: NDArray[Any]) -> NDArray[np.intp]:
        """Draw rows at random, with enough of the rarest classes for their target neighbours."""
        most, n = as_count(self.learn_rows, "learn_rows"), len(target)
        if n <= most:
            return np.arange(n)
        drawn = check_random_state(self.random_state).permutation(n)
        first = places_in_class(target[drawn]) <= self.n_neighbors
        return np.sort(np.concatenate([drawn[first], drawn[~first]])[:most])

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        check_is_fitted(self, "neighbors_")
        return np.asarray(self.neighbors_.classes_)

    @property
    def metric_(self) -> CurvedMetric | MixedMetric:
        """The learned metric, on the encoded columns."""
        check_is_fitted(self, "neighbors_")
        return self.neighbors_.metric_

    def predict(self, table: Any) -> NDArray[Any]:
        """Return the class of each row of a table."""
        check_is_fitted(self, "neighbors_")
        return self.neighbors_.predict(self.encoder_.transform(table))

    def predict_proba(self, table: Any) -> NDArray[np.float64]:
        """Return the share of the votes for each class, in the order of ``classes_``."""
        check_is_fitted(self, "neighbors_")
        return self.neighbors_.predict_proba(self.encoder_.transform(table))

    def kneighbors(
        self, table: Any, n_neighbors: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return the distances and the fitted rows of the nearest neighbours, nearest first."""
        check_is_fitted(self, "neighbors_")
        found = self.neighbors_.kneighbors(self.encoder_.transform(table), n_neighbors)
        return found[0], found[1]

    def recognizer(self) -> Callable[[Any], NDArray[np.bool_]]:
        """Return what says which rows of a table are, once encoded, the same as fitted ones."""
        check_is_fitted(self, "neighbors_")
        known = set(fingerprints(self.neighbors_._fitted.references.X))

        def are_fitted(table: Any) -> NDArray[np.bool_]:
            return np.array([row in known for row in fingerprints(self.encoder_.transform(table))])

        return are_fitted


def places_in_class(target: NDArray[Any]) -> NDArray[np.intp]:
    """Return how many rows of its class come before each row.

    >>> places_in_class(np.array(["a", "b", "a", "a"]))
    array([0, 0, 1, 2])
    """
    _, codes, counts = np.unique(target, return_inverse=True, return_counts=True)
    places = np.empty(len(target), dtype=np.intp)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    places[np.argsort(codes, kind="stable")] = np.arange(len(target)) - starts
    return places


def fingerprints(rows: NDArray[np.float64]) -> list[int]:
    """Return a number for each row, the same for rows that are."""
    # + 0.0 makes one of the two zeros.
    return [hash((row + 0.0).tobytes()) for row in np.ascontiguousarray(rows)]


def parts_of(metric: CurvedMetric | MixedMetric) -> tuple[CurvedMetric, ...]:
    """Return the terms of a metric."""
    return metric.metrics if isinstance(metric, MixedMetric) else (metric,)


def weights_of(metric: CurvedMetric | MixedMetric) -> list[float]:
    """Return the weights of its terms."""
    return metric.weights.tolist() if isinstance(metric, MixedMetric) else [1.0]
