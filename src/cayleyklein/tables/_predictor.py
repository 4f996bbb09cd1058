"""What predictors of tables share: encode the columns, then fit an estimator of encoded rows."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import restore_on_error
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import as_choice, as_count
from cayleyklein.columns.encoder import TableEncoder
from cayleyklein.columns.entrance import query_rows
from cayleyklein.columns.uses import as_table
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.kernels import CurvedKernelClassifier, CurvedKernelRegressor
from cayleyklein.learning.rows import distinct_rows
from cayleyklein.metrics.combined import terms_of
from cayleyklein.neighbors.search import SearchIndex
from cayleyklein.prediction import (
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    Explanation,
)
from cayleyklein.prediction.votes import candidates_of, neighbor_weights

ESTIMATORS: dict[tuple[str, str], Any] = {  # by task and model
    ("class", "neighbors"): CurvedKNeighborsClassifier,
    ("class", "kernel"): CurvedKernelClassifier,
    ("number", "neighbors"): CurvedKNeighborsRegressor,
    ("number", "kernel"): CurvedKernelRegressor,
}
DEFAULT_MODEL = "neighbors"  # what model="auto" means
KERNELS = (CurvedKernelClassifier, CurvedKernelRegressor)
EXPLAINING_ROWS = 15  # rows with the largest effects that explain a kernel machine


def inner_estimator(task: str, model: str, **parameters: Any) -> Any:
    """Return the estimator of encoded rows, with those of the parameters that it has."""
    known = ("auto", *dict.fromkeys(name for _, name in ESTIMATORS))
    chosen = DEFAULT_MODEL if as_choice(model, "model", known) == "auto" else model
    kind = ESTIMATORS[task, chosen]
    names = kind._get_param_names()
    return kind(**{name: value for name, value in parameters.items() if name in names})


@dataclass(frozen=True, repr=False)
class TableExplanation(Explanation):
    missing: Bools

    def __repr__(self) -> str:
        if len(self.classes):
            return Explanation.__repr__(replace(self, names=self.marked_names))
        values = np.array([f"{value:.6g}" for value in self.labels])
        text = Explanation.__repr__(replace(self, names=self.marked_names, labels=values))
        _, *lines = text.replace("class", "value", 1).splitlines()
        return "\n".join([f"{self.prediction:.6g}", *lines])

    @property
    def marked_names(self) -> AnyArray:
        marks = np.where(self.missing, " (missing)", "").astype(object)
        return np.asarray(self.names + marks)


class TablePredictor(EstimatorCard):
    """Base of the predictors of tables, before BaseEstimator."""

    task: ClassVar[str]
    encoder_: TableEncoder
    metric_: Any
    classes_: AnyArray

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        model: str = "auto",
        geometry: str = "auto",
        weights: str = "auto",
        max_categories: int = 20,
        kinds: Mapping[str, str] | None = None,
        drop: Collection[str] = (),
        subsample: int | float | str | None = "auto",
        random_state: int | None = 0,
        n_jobs: int | None = None,
        callback: Callable[[Any], bool | None] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.model = model
        self.geometry = geometry
        self.weights = weights
        self.max_categories = max_categories
        self.kinds = kinds
        self.drop = drop
        self.subsample = subsample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the n rows of a table and what is to be predicted of them.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like, of n rows
            All columns of an array of numbers are numbers.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; only their ratios count.
        """
        table = as_table(X)
        target, n, index = self._checked(y, len(table)), len(table), np.asarray(table.index)
        estimator = self._estimator()
        estimator._encoding = TableEncoder(
            max_categories=self.max_categories, kinds=self.kinds, drop=self.drop
        )
        estimator.fit(X, target, sample_weight)
        learner, selection = getattr(estimator, "learner_", None), estimator.selection_
        parts = terms_of(estimator.metric_)
        learned = {
            "geometry": estimator.metric_.geometry,
            "curvatures": [float(part.curvature) for part, _ in parts],
            "weights": [float(weight) for _, weight in parts],
            "n_iter": int(getattr(learner, "n_iter_", 0)),
            "n_rows": int(getattr(learner, "n_samples_learned_", n)),
            "n_distinct": len(distinct_rows(estimator._given.X)[0]),
            "selection": str(selection or ""),
            "chosen": getattr(selection, "chosen", ""),
        }
        numbers = index.astype(np.int64) if index.dtype.kind in "iu" else np.arange(n)
        return self._take(estimator, learned, numbers)

    def _estimator(self, **given: Any) -> Any:
        """Return the inner estimator with the parameters of this one, but for those given."""
        votes = ("auto", "local", "linear", "uniform", "distance")
        values = cast(Any, self).get_params(deep=False) | given
        if as_choice(values["weights"], "weights", votes) == "auto":
            del values["weights"]
        return inner_estimator(self.task, values.pop("model"), **values)

    def _checked(self, y: Any, n_rows: int) -> AnyArray:
        if y is None:
            said = "estimator requires y to be passed, but the target y is None."
            raise InvalidInputError(f"This {type(self).__name__} {said}")
        target = self._as_target(y)
        if len(target) != n_rows:
            raise InvalidInputError(f"The table has {n_rows} rows, but y has {len(target)}.")
        auto = isinstance(self.n_neighbors, str) and self.n_neighbors == "auto"
        if not auto and (k := as_count(self.n_neighbors, "n_neighbors")) >= n_rows:
            raise InvalidInputError(
                f"{k} neighbours were asked for, but a row has only {n_rows - 1} others."
            )
        return target

    def _as_target(self, y: Any) -> AnyArray:
        raise NotImplementedError

    def _take(self, estimator: Any, learned: dict[str, Any], numbers: Ints) -> Self:
        self.estimator_, self.learned_, self.row_numbers_ = estimator, learned, numbers
        estimator._said = type(self).__name__
        for name in ("encoder_", "metric_", "n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def _fitted(self, X: Any) -> Any:
        """Return the fitted estimator for the rows X."""
        check_is_fitted(self, "estimator_")
        if X is None:
            raise InvalidInputError("X is None; expected a table.")
        return self.estimator_

    @property
    def targets_(self) -> AnyArray:
        """The class or number of each fitted row."""
        target = self.estimator_._given.target
        return cast(AnyArray, self.classes_[target] if self.task == "class" else target)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of classes, or R² of numbers."""
        return float(self._fitted(X).score(X, y, sample_weight))

    def kneighbors(self, X: Any, n_neighbors: int | None = None) -> tuple[Floats, Ints]:
        """Return the distances and positions of the nearest neighbours, nearest first."""
        return cast(tuple[Floats, Ints], self._fitted(X).kneighbors(X, n_neighbors))

    def explain(self, X: Any) -> list[TableExplanation]:
        """Say why rows are predicted as they are: the rows that count, and why they are near.

        As :meth:`cayleyklein.CurvedKNeighborsClassifier.explain`, with ``rows`` and ``columns`` of
        the fitted table, and ``missing``: which cells of the row were missing. For numbers
        ``labels`` are those of the neighbours, and there are no classes.
        """
        estimator = self._fitted(X)
        table = self.encoder_._table(X, type(self).__name__)
        if isinstance(estimator, KERNELS):
            reasons = estimator.explain(table)
            found = list(map(self._effects, query_rows(estimator, table), reasons))
        elif self.task == "class":
            found = estimator.explain(table)
        else:
            found = self._reasons(query_rows(estimator, table))
        every = []
        for why, missing in zip(found, self.encoder_._is_missing(table), strict=True):
            values = vars(why) | {"rows": self.row_numbers_[why.rows]}
            every.append(TableExplanation(**values, missing=missing))
        return every

    def _effects(self, row: Floats, why: Any) -> Explanation:
        """Explain a kernel machine by the rows with the largest effects; votes are signed."""
        estimator = self.estimator_
        near, none = why.rows[:EXPLAINING_ROWS], np.empty(0)
        seen = estimator._seen_rows(np.vstack([row, estimator._given.X[near]]))
        query, some = seen[0], seen[1:]
        shares = why.probabilities
        return Explanation(
            why.prediction, none if shares is None else shares,
            none if shares is None else self.classes_, near, why.labels[: len(near)],
            self.metric_.distance(query, some, outside="inf"),
            why.effects[: len(near)] / np.abs(why.effects).sum(),
            *self._columns(query, some),
        )  # fmt: skip

    def _columns(self, query: Floats, some: Floats) -> tuple[Floats, AnyArray]:
        """Return the shares of columns in the distances of a row to some, and their names."""
        shares = self.metric_.column_shares(np.broadcast_to(query, some.shape), some)
        names, columns = self.estimator_._shares_by_column(shares)
        return columns, names

    def _reasons(self, rows: Floats) -> list[Explanation]:
        """Explain means of numbers; a point of equal rows is named by the first of them."""
        estimator, k = self.estimator_, self.estimator_.n_neighbors_
        index, means = cast(SearchIndex, estimator._searcher), estimator._table
        found = index.nearest(rows, candidates_of(means.weights, k), self.n_jobs)
        weight, target = means.pooled
        at = found.rows[:, :k]
        votes = neighbor_weights(found.distances, k, means.weights, found.rows >= 0) * weight[at]
        none, why = np.empty(0), []
        for query, mine, far, vote in zip(rows, at, found.distances, votes, strict=True):
            order = np.argsort(-vote, kind="stable")[: np.count_nonzero(vote)]
            near = means.points.rows[mine[order]]
            columns = self._columns(query, estimator._given.places[near])
            vote, values = vote[order] / vote.sum(), target[mine[order], 0]
            of_row = (vote @ values, none, none, near, values, far[order], vote, *columns)
            why.append(Explanation(*of_row))
        return why

    def feature_weights(self) -> dict[str, float]:
        """Return the share of each column of the table in the distances, largest first.

        All are 0 where the metric is: no column helped to tell the targets apart.
        """
        check_is_fitted(self, "estimator_")
        estimator = self.estimator_
        if isinstance(estimator, KERNELS):
            shares = estimator.feature_weights()
        else:
            weights, rows = np.zeros(self.metric_.dimension), estimator._given.X
            if self.metric_.distance(rows[:1], rows).any():
                weights = self.metric_.feature_weights(rows)
            shares = estimator._column_shares(weights)
        used = [
            (column.name, float(share))
            for column, share in zip(self.encoder_.columns_, shares, strict=True)
            if column.kind != "unused"
        ]
        return dict(sorted(used, key=lambda pair: -pair[1]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags
