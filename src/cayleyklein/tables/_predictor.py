"""What predictors of tables share: encode the columns, then fit an estimator of encoded rows."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import as_weights, restore_on_error
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import as_choice, as_count, require
from cayleyklein.columns.encoder import TableEncoder
from cayleyklein.columns.uses import as_table
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.kernels import CurvedKernelClassifier, CurvedKernelRegressor
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
        encoder = TableEncoder(max_categories=self.max_categories, kinds=self.kinds, drop=self.drop)
        weights = None if sample_weight is None else as_weights(sample_weight, target)
        rows, _ = encoder._fit_rows(X, target, weights)
        estimator = self._estimator().fit(rows, target, weights)
        learner, selection = getattr(estimator, "learner_", None), estimator.selection_
        parts = terms_of(estimator.metric_)
        learned = {
            "geometry": estimator.metric_.geometry,
            "curvatures": [float(part.curvature) for part, _ in parts],
            "weights": [float(weight) for _, weight in parts],
            "n_iter": int(getattr(learner, "n_iter_", 0)),
            "n_rows": int(getattr(learner, "n_samples_learned_", n)),
            "n_distinct": n - int(require("pandas", "cli").DataFrame(rows).duplicated().sum()),
            "selection": str(selection or ""),
            "chosen": getattr(selection, "chosen", ""),
        }
        numbers = index.astype(np.int64) if index.dtype.kind in "iu" else np.arange(n)
        return self._take(encoder, estimator, learned, numbers)

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

    def _take(
        self, encoder: TableEncoder, estimator: Any, learned: dict[str, Any], numbers: Ints
    ) -> Self:
        self.encoder_, self.estimator_, self.learned_ = encoder, estimator, learned
        self.metric_, self.row_numbers_ = estimator.metric_, numbers
        self.n_features_in_ = encoder.n_features_in_
        if hasattr(encoder, "feature_names_in_"):
            self.feature_names_in_ = encoder.feature_names_in_
        if self.task == "class":
            self.classes_ = estimator.classes_
        return self

    def _rows(self, X: Any) -> Floats:
        check_is_fitted(self, "estimator_")
        return self.encoder_._encoded(self.encoder_._table(X, self))

    @property
    def targets_(self) -> AnyArray:
        """The class or number of each fitted row."""
        target = self.estimator_._given.target
        return cast(AnyArray, self.classes_[target] if self.task == "class" else target)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of classes, or R² of numbers."""
        rows = self._rows(X)
        return float(self.estimator_.score(rows, y, sample_weight))

    def kneighbors(self, X: Any, n_neighbors: int | None = None) -> tuple[Floats, Ints]:
        """Return the distances and positions of the nearest neighbours, nearest first."""
        found = self.estimator_.kneighbors(self._rows(X), n_neighbors)
        return cast(tuple[Floats, Ints], found)

    def explain(self, X: Any) -> list[TableExplanation]:
        """Say why rows are predicted as they are: the rows that count, and why they are near.

        As :meth:`cayleyklein.CurvedKNeighborsClassifier.explain`, with ``rows`` and ``columns`` of
        the fitted table, and ``missing``: which cells of the row were missing. For numbers
        ``labels`` are those of the neighbours, and there are no classes.
        """
        rows = self._rows(X)
        gaps = self.encoder_._is_missing(self.encoder_._table(X, self))
        if isinstance(self.estimator_, KERNELS):
            found = [self._effects(row) for row in rows]
        else:
            found = self.estimator_.explain(rows) if self.task == "class" else self._reasons(rows)
        every = []
        for why, missing in zip(found, gaps, strict=True):
            names, columns = self.encoder_.by_column(why.columns)
            totals = np.abs(columns).sum(axis=1, keepdims=True)  # signs within a column cancel
            columns = columns / np.where(totals > 0, totals, 1.0)
            near = self.row_numbers_[why.rows]
            values = vars(why) | {"rows": near, "columns": columns, "names": names}
            every.append(TableExplanation(**values, missing=missing))
        return every

    def _effects(self, row: Floats) -> Explanation:
        """Explain a kernel machine by the rows with the largest effects; votes are signed."""
        estimator = self.estimator_
        why = estimator.explain(row)
        near, none = why.rows[:EXPLAINING_ROWS], np.empty(0)
        seen = estimator._seen_rows(np.vstack([row, estimator._given.X[near]]))
        query, some = seen[0], seen[1:]
        shares = why.probabilities
        return Explanation(
            why.prediction, none if shares is None else shares,
            none if shares is None else self.classes_, near, why.labels[: len(near)],
            self.metric_.distance(query, some, outside="inf"),
            why.effects[: len(near)] / np.abs(why.effects).sum(),
            self.metric_.column_shares(np.broadcast_to(query, some.shape), some), none,
        )  # fmt: skip

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
            some = estimator._given.X[near]
            columns = self.metric_.column_shares(np.broadcast_to(query, some.shape), some)
            vote = vote[order] / vote.sum()
            values = target[mine[order], 0]
            why.append(
                Explanation(
                    vote @ values, none, none, near, values, far[order], vote, columns, none
                )
            )
        return why

    def feature_weights(self) -> dict[str, float]:
        """Return the share of each column of the table in the distances, largest first."""
        check_is_fitted(self, "estimator_")
        if isinstance(self.estimator_, KERNELS):
            weights = self.estimator_.feature_weights()
        else:
            weights = self.metric_.feature_weights(self.estimator_._given.X)
        names, shares = self.encoder_.by_column(weights)
        order = np.argsort(-shares, kind="stable")
        return {str(names[at]): float(shares[at]) for at in order}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags
