"""What the classifier and the regressor by neighbours share: fits, growth, and answers."""

from dataclasses import replace
from typing import Any, Self, cast

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks
from cayleyklein._estimators import check_parameters, few_threads, restore_on_error
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric, Metric
from cayleyklein.neighbors import search
from cayleyklein.neighbors.dask_shards import Shards
from cayleyklein.neighbors.estimator import NeighborMethods, refuse_growth
from cayleyklein.neighbors.search import SearchIndex
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.parts.ballots import NEIGHBORS, LabelVotes, Weights
from cayleyklein.parts.votes import FittedVotes, fit_votes
from cayleyklein.prediction.estimator import Predicting
from cayleyklein.prediction.explain import Explanation, explain_votes
from cayleyklein.prediction.metric import Obtained, obtain_metric
from cayleyklein.prediction.rehearsal import AskedVotes


class NeighborPredictor(Predicting, NeighborMethods):
    """Base of the predictors by neighbours: places vote, and `kneighbors` finds rows."""

    weights: Weights
    metric_: Metric
    _votes: FittedVotes

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the metric from rows, which are then the neighbours of queries.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
            Rows.
        y : array-like or Dask collection of shape (n,), of numbers also (n, n_targets)
            Labels of the classifier, numbers of the regressor.
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows in the learner's loss, and of their votes. Only their ratios count.
        """
        return self._fit(self._read(X, y, sample_weight))

    def _fit(self, given: GivenRows) -> Self:
        learns = self._numeric and self.metric is None and self.learner is None
        if learns and not isinstance(given.X, RowBlocks) and (given.X[0] == given.X).all():
            obtained = Obtained(CurvedMetric.euclidean(given.n_columns))
        else:
            numbers = NEIGHBORS if isinstance(self.n_neighbors, str) else (int(self.n_neighbors),)
            request = self._metric_request(self.random_state, self.geometry)
            asked = AskedVotes(numbers, self.weights)
            obtained = obtain_metric(request, given, self._trials, asked)
        self.learner_ = obtained.learner
        self.selection_ = obtained.selection
        self._take(given, cast(Metric, obtained.metric))
        k: Any = self.n_neighbors
        if k == "auto":
            k = self.selection_.n_neighbors if self.selection_ else self._trials.usual_neighbors
            k = max(1, min(k, self.n_samples_fit_ - 1))
        self.n_neighbors_ = k
        return self

    def _take(self, given: GivenRows, metric: Metric) -> None:
        """Index the rows, and keep what they are."""
        n = len(given.target)
        with few_threads(n, given.n_columns):
            self._votes = fit_votes(
                given, metric, self.weights, 1, algorithm=self.algorithm, n_jobs=self.n_jobs
            )
        self._given = replace(given, source=None, always=None)
        self.metric_ = metric
        self.n_samples_fit_ = n
        self.algorithm_used_ = self._votes.index.name
        if given.classes is not None:
            self.classes_ = given.classes
            self.class_prior_ = cast(LabelVotes, self._votes.table).prior

    def _grow(self, X: Any, y: Any, sample_weight: Any, classes: AnyArray | None = None) -> Self:
        """Add rows in memory, of known classes; the metric stays. The first call is a fit."""
        refuse_growth(self, X)
        if not hasattr(self, "metric_"):
            return self._fit(self._read(X, y, sample_weight, classes=classes))
        added = self._read(X, y, sample_weight, classes=classes, reset=False)
        outputs = self._given.target.shape[1:]
        if added.target.shape[1:] != outputs:
            raise InvalidInputError(
                f"y has shape {added.target.shape}, but expected {(len(added.target), *outputs)}, "
                f"like the targets of the rows before."
            )
        refuse_outside(self.metric_.contains(added.X))
        self._take(self._given.joined(added), self.metric_)
        return self

    def _answers(self, X: Any, best: bool = False) -> Any:
        """Return class probabilities or mean targets (m, t), or the numbers of the best classes."""
        k = search.number_of_neighbors(self, own=X is None)
        queries = search.checked_queries(self, X)
        if self.weights != self._votes.table.weights:  # set after the fit
            check_parameters(self)
            self._take(self._given, self.metric_)
        votes = replace(self._votes, n_jobs=self.n_jobs)
        return votes.answers(queries, k, best=best)

    def explain(self, X: ArrayLike) -> Any:  # by the shape of X, which types do not know
        """Explain predictions by the neighbours that voted and the columns in their distances.

        Parameters
        ----------
        X : array-like of shape (d,) or (m, d)
            One row gives an Explanation, several give a list of them.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cayleyklein import CurvedKNeighborsClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = CurvedKNeighborsClassifier(random_state=0).fit(X[1:], y[1:])
        >>> why = model.explain(X[0])
        >>> int(why.prediction), bool((why.labels == 0).all()), bool(why.votes.sum().round(9) == 1)
        (0, True, True)
        """
        self._rows_in_memory()

        def explain(queries: Floats) -> list[Explanation]:
            return explain_votes(
                self._votes,
                queries,
                search.number_of_neighbors(self),
                self._by_column,
                encoded=self.encoder_ is not None,
                classes=None if self._numeric else cast(Any, self).classes_,
                single_target=self._given.target.ndim == 1,
            )

        return self._one_or_more(X, explain)

    @property
    def _searcher(self) -> SearchIndex | Shards:  # type: ignore[override]
        return self._votes.index

    def _row_index(self) -> SearchIndex | Shards:
        check_is_fitted(self, "metric_")
        return self._votes.row_index
