"""A classifier of the rows of a table, by a curved metric that it learns."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import encode_classes
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import as_choice, as_count
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics.combined import terms_of
from cayleyklein.prediction import CurvedKNeighborsClassifier, Explanation
from cayleyklein.tables._columns import as_table
from cayleyklein.tables._encoder import TableEncoder


@dataclass(frozen=True, repr=False)
class TableExplanation(Explanation):
    missing: Bools

    def __repr__(self) -> str:
        return Explanation.__repr__(replace(self, names=self.marked_names))

    @property
    def marked_names(self) -> AnyArray:
        marks = np.where(self.missing, " (missing)", "").astype(object)
        return np.asarray(self.names + marks)


class TableClassifier(EstimatorCard, ClassifierMixin, BaseEstimator):
    """Classify the rows of a table: encode the columns, learn a metric, let neighbours vote.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours that vote; "auto" chooses on the rows that geometry="auto" holds out, or is 15.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, \
default="auto"
        "auto" learns "product", a product of spheres and flat space, and keeps it unless plain
        neighbours do as well on held-out rows; "learned" learns the curvature with its sign;
        "mixed" adds an elliptic and a hyperbolic distance.
    weights : {"local", "linear", "uniform", "distance"}, default="local"
        Weight of a vote: 1 ("uniform"), 1/d_i ("distance"), 1 - d_i/d_{k+1} ("linear"), or that
        with distances divided by the root of each row's distance to its fifth nearest ("local").
    max_categories : int, default=20
        Largest number of encoded columns of one column of categories; the rarest share one.
    kinds : mapping of str to str, optional
        Kinds of columns where the guess is wrong: "number", "category", "text", "date" or a date
        with its format, such as "date:%d/%m/%Y".
    drop : collection of str, default=()
        Columns to leave out.
    subsample : int, float, "auto" or None, default="auto"
        Rows to learn the metric from, or their share, drawn at random; "auto" takes as many as
        held-out rows gain from, None all. All rows are neighbours.
    random_state : int or None, default=0
        Seed of the held-out rows, the start and the drawn rows.
    n_jobs : int or None, default=None
        Number of threads that search neighbours; -1 for all cores.
    callback : callable or None, default=None
        Called with a :class:`cayleyklein.learning.Progress` after each iteration; a true answer
        stops the learner. Not saved.

    Attributes
    ----------
    classes_ : ndarray
    encoder_ : TableEncoder
    neighbors_ : CurvedKNeighborsClassifier
        Classifies the encoded rows.
    metric_ : CurvedMetric, MixedMetric or ProductMetric
        On the encoded columns.
    learned_ : dict
        "geometry" of the metric, "curvatures" and "weights" of its parts, "n_iter", "n_rows" (rows
        it was learned from), "selection" (what was tried on held-out rows) and "chosen" of it.
    labels_ : ndarray of int
        Position of each neighbour's class in ``classes_``.
    row_numbers_ : ndarray of int
        Row of each neighbour in the fitted table: its index, or its position, from 0.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> from cayleyklein.tables import TableClassifier
    >>> table, y = load_wine(as_frame=True, return_X_y=True)
    >>> model = TableClassifier(geometry="elliptic").fit(table[::2], y[::2])
    >>> rest = table[1::2]
    >>> model.score(rest, y[1::2]) > 0.9, model.learned_["n_rows"]
    (True, 89)
    >>> model.predict(rest).shape, model.predict_proba(rest).shape
    ((89,), (89, 3))
    >>> distances, rows = model.kneighbors(rest, n_neighbors=5)
    >>> why = model.explain(rest[:1])[0]
    >>> len(why.names), round(sum(model.feature_weights().values()), 9)
    (13, 1.0)
    """

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        geometry: str = "auto",
        weights: str = "local",
        max_categories: int = 20,
        kinds: Mapping[str, str] | None = None,
        drop: Collection[str] = (),
        subsample: int | float | str | None = "auto",
        random_state: int | None = 0,
        n_jobs: int | None = None,
        callback: Callable[[Any], bool | None] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.geometry = geometry
        self.weights = weights
        self.max_categories = max_categories
        self.kinds = kinds
        self.drop = drop
        self.subsample = subsample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    def fit(self, table: Any, y: ArrayLike) -> Self:
        """Learn from the n rows of a DataFrame, and their n classes."""
        table = as_table(table)
        target = self._checked(y, len(table))
        encoder = TableEncoder(
            max_categories=self.max_categories, kinds=self.kinds, drop=self.drop
        ).fit(table)
        rows = encoder.transform(table)
        neighbors = CurvedKNeighborsClassifier(
            self.n_neighbors, geometry=self.geometry, weights=self.weights,
            subsample=self.subsample, random_state=self.random_state, callback=self.callback,
            n_jobs=self.n_jobs,
        ).fit(rows, target)  # fmt: skip
        learner: Any = neighbors.learner_
        parts = terms_of(neighbors.metric_)
        learned = {
            "geometry": neighbors.metric_.geometry,
            "curvatures": [float(part.curvature) for part, _ in parts],
            "weights": [float(weight) for _, weight in parts],
            "n_iter": int(learner.n_iter_),
            "n_rows": int(learner.n_samples_learned_),
            "selection": str(neighbors.selection_),
            "chosen": getattr(neighbors.selection_, "chosen", ""),
        }
        index = np.asarray(table.index)
        numbers = index.astype(np.int64) if index.dtype.kind in "iu" else np.arange(len(table))
        return self._take(encoder, neighbors, learned, numbers)

    def _checked(self, y: ArrayLike, n_rows: int) -> AnyArray:
        classes, codes = encode_classes(y)
        target: AnyArray = classes[codes]
        if len(target) != n_rows:
            raise InvalidInputError(f"The table has {n_rows} rows, but y has {len(target)}.")
        if len(np.unique(target)) == n_rows:
            raise InvalidInputError("Each class has one row only: there is nothing to learn.")
        auto = isinstance(self.n_neighbors, str) and self.n_neighbors == "auto"
        if not auto and (k := as_count(self.n_neighbors, "n_neighbors")) >= n_rows:
            raise InvalidInputError(
                f"{k} neighbours were asked for, but a row has only {n_rows - 1} others."
            )
        as_choice(self.weights, "weights", ("local", "linear", "uniform", "distance"))
        return target

    def _take(
        self, encoder: TableEncoder, neighbors: Any, learned: dict[str, Any], numbers: Ints
    ) -> Self:
        self.encoder_, self.neighbors_, self.learned_ = encoder, neighbors, learned
        self.metric_, self.classes_ = neighbors.metric_, neighbors.classes_
        self.labels_, self.row_numbers_ = neighbors._given.target, numbers
        return self

    def predict(self, table: Any) -> AnyArray:
        """Return the class of each row of a table."""
        return self._neighbors().predict(self.encoder_.transform(table))

    def predict_proba(self, table: Any) -> Floats:
        """Return the share of the votes for each class, in the order of ``classes_``."""
        return self._neighbors().predict_proba(self.encoder_.transform(table))

    def score(self, table: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on a table."""
        return self._neighbors().score(self.encoder_.transform(table), y, sample_weight)

    def kneighbors(self, table: Any, n_neighbors: int | None = None) -> tuple[Floats, Ints]:
        """Return the distances and positions of the nearest neighbours, nearest first."""
        return self._neighbors().kneighbors(self.encoder_.transform(table), n_neighbors)

    def explain(self, table: Any) -> list[TableExplanation]:
        """Say why rows are predicted as they are: who voted, and what their distances are made of.

        As :meth:`cayleyklein.CurvedKNeighborsClassifier.explain`, with ``rows`` and ``columns`` of
        the fitted table, and ``missing``: which cells of the row were missing.
        """
        found = cast(list[Explanation], self._neighbors().explain(self.encoder_.transform(table)))
        every = []
        for why, gaps in zip(found, self.encoder_._is_missing(table), strict=True):
            names, columns = self.encoder_._add_up(why.columns)
            totals = np.abs(columns).sum(axis=1, keepdims=True)  # signs within a column cancel
            columns = columns / np.where(totals > 0, totals, 1.0)
            rows = self.row_numbers_[why.rows]
            values = vars(why) | {"rows": rows, "columns": columns, "names": names}
            every.append(TableExplanation(**values, missing=gaps))
        return every

    def feature_weights(self) -> dict[str, float]:
        """Return the share of each column of the table in the distances, largest first."""
        rows = self._neighbors()._given.X
        names, shares = self.encoder_._add_up(self.metric_.feature_weights(rows))
        order = np.argsort(-shares, kind="stable")
        return {str(names[at]): float(shares[at]) for at in order}

    def _neighbors(self) -> CurvedKNeighborsClassifier:
        check_is_fitted(self, "classes_")
        return cast(CurvedKNeighborsClassifier, self.neighbors_)
