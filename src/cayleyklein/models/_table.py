"""A classifier of the rows of a table, by a curved metric that it learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import as_random_state, as_target, at_one_moment, whole_or_not_at_all
from cayleyklein._notebook import EstimatorCard
from cayleyklein._validation import as_count
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import CurvedKNeighborsClassifier, CurvedLMNN
from cayleyklein.learning._classifier import accuracy
from cayleyklein.metrics import Metric, terms_of
from cayleyklein.models._columns import numbers_of
from cayleyklein.models._encoder import TableEncoder, as_table
from cayleyklein.neighbors._weights import check_weights

__all__ = ["LabelledRows", "LearnedMetric", "TableClassifier"]

STRIP = 16384
"""Rows that are looked at together, so that what is needed on the way stays small."""


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

    Examples
    --------
    >>> from cayleyklein.models import LearnedMetric
    >>> LearnedMetric("mixed", (1.0, -1.0), (0.2, 0.3), 0.5, 40, 178, 0, "").describe()
    'mixed, K = 1, -1, α = 0.5'
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


class LabelledRows(NamedTuple):
    """Encoded rows with their classes, and the metric in which they are neighbours."""

    metric: Metric
    rows: NDArray[np.float64]
    labels: NDArray[np.intp]
    classes: NDArray[Any]


class TableClassifier(EstimatorCard, ClassifierMixin, BaseEstimator):
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
        Among the rows; its search index is built when it is first asked for.
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
    >>> rest = table[1::2]
    >>> model.predict(rest).shape, model.predict_proba(rest).shape
    ((89,), (89, 3))
    >>> distances, rows = model.kneighbors(rest, n_neighbors=5)
    >>> rows.shape
    (89, 5)
    >>> int(model.recognizer()(table).sum())  # the rows that were fitted
    89
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
        as_table(table)
        target = as_target(y)
        if len(target) != len(table):
            raise InvalidInputError(f"The table has {len(table)} rows, but y has {len(target)}.")
        classes, labels, counts = np.unique(target, return_inverse=True, return_counts=True)
        if len(classes) < 2:
            raise InvalidInputError(
                f"Every one of the {len(target)} rows is of the class {classes.tolist()[0]!r} in "
                f"y; learning needs two classes or more."
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
        check_weights(self.weights)
        with whole_or_not_at_all(self) as worker:
            worker.encoder_ = TableEncoder(max_categories=self.max_categories).fit(table)
            rows = worker.encoder_.transform(table)
            inside = worker._learn(rows, labels, classes)
            worker.row_numbers_ = numbers_of(table)[inside]
        return self

    def _learn(
        self, rows: NDArray[np.float64], labels: NDArray[np.intp], classes: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Learn the metric, and keep as neighbours the rows in its domain; return which."""
        sample = self._sample(labels)
        learner = CurvedLMNN(
            self.n_neighbors,
            geometry=self.geometry,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            callback=self.callback,
        ).fit(rows[sample], classes[labels[sample]])
        metric = learner.metric_
        inside = np.ones(len(rows), dtype=bool)
        if len(sample) < len(rows):  # the learner has only seen to it for its own rows
            strips = range(0, len(rows), STRIP)
            inside = np.concatenate([metric.contains(rows[i : i + STRIP]) for i in strips])
        if not inside.all():
            rows, labels = rows[inside], labels[inside]
        self._labelled = LabelledRows(metric, rows, labels, classes)
        self._neighbors: CurvedKNeighborsClassifier | None = None
        self.learned_ = LearnedMetric(
            geometry=metric.geometry,
            curvatures=tuple(part.curvature for part, _ in terms_of(metric)),
            weights=tuple(weight for _, weight in terms_of(metric)),
            alpha=None if learner.alpha_ is None else float(learner.alpha_),
            n_iter=int(learner.n_iter_),
            n_rows=len(sample),
            n_outside=int((~inside).sum()),
            selection="" if learner.selection_ is None else str(learner.selection_),
        )
        return inside

    def _sample(self, target: NDArray[np.intp]) -> NDArray[np.intp]:
        """Draw rows at random, with enough of the rarest classes for their target neighbours."""
        most, n = as_count(self.learn_rows, "learn_rows"), len(target)
        if n <= most:
            return np.arange(n)
        drawn = as_random_state(self.random_state).permutation(n)
        first = places_in_class(target[drawn]) <= self.n_neighbors
        return np.sort(np.concatenate([drawn[first], drawn[~first]])[:most])

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        check_is_fitted(self, "_labelled")
        return self._labelled.classes

    @property
    def neighbors_(self) -> CurvedKNeighborsClassifier:
        """The classifier of encoded rows."""
        check_is_fitted(self, "_labelled")
        if self._neighbors is None:
            metric, rows, labels, classes = self._labelled
            self._neighbors = CurvedKNeighborsClassifier(
                self.n_neighbors, metric=metric, weights=self.weights, n_jobs=self.n_jobs
            ).partial_fit(rows, classes[labels], classes=classes)
        return self._neighbors

    @property
    def metric_(self) -> Metric:
        """The learned metric, on the encoded columns."""
        check_is_fitted(self, "_labelled")
        return self._labelled.metric

    @at_one_moment
    def predict(self, table: Any) -> NDArray[Any]:
        """Return the class of each row of a table."""
        rows = self._encoded(table)
        return self.neighbors_.predict(rows)

    @at_one_moment
    def predict_proba(self, table: Any) -> NDArray[np.float64]:
        """Return the share of the votes for each class, in the order of ``classes_``."""
        rows = self._encoded(table)
        return self.neighbors_.predict_proba(rows)

    def _encoded(self, table: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "_labelled")
        return np.asarray(self.encoder_.transform(table))

    def score(self, table: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on a table."""
        return accuracy(self.predict(table), y, sample_weight)

    @at_one_moment
    def kneighbors(
        self, table: Any, n_neighbors: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return the distances and the fitted rows of the nearest neighbours, nearest first."""
        rows = self._encoded(table)
        found = self.neighbors_.kneighbors(rows, n_neighbors)
        return found[0], found[1]

    def recognizer(self) -> Callable[[Any], NDArray[np.bool_]]:
        """Return what says which rows of a table are, once encoded, the same as fitted ones."""
        check_is_fitted(self, "_labelled")
        known = set(fingerprints(self._labelled.rows))

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
