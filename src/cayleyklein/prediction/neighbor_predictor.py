"""What the predictors by neighbours share: fit, grow, answer, explain."""

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks
from cayleyklein._estimators import (
    check_parameters,
    few_threads,
    restore_on_error,
)
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.choice import Obtained, obtain_metric
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import (
    CurvedMetric,
    Metric,
)
from cayleyklein.neighbors import search
from cayleyklein.neighbors.curved_neighbors import NeighborMethods, refuse_growth
from cayleyklein.neighbors.dask_shards import Blocks, Shards
from cayleyklein.neighbors.search import RowIndex, SearchIndex
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.parts.votes import NEIGHBORS, FittedVotes, LabelVotes, Weights, fit_votes
from cayleyklein.prediction import strangers
from cayleyklein.prediction.explain import Explanation, explain_votes
from cayleyklein.prediction.predicting import Predicting, refit_answers

ROWS_THAT_WEIGH = 10_000  # of those on a cluster, to say what columns count
FEWEST_A_FOLD = 10  # distinct rows; of fewer, each is left out of its own vote only


class NeighborPredictor(Predicting, NeighborMethods):
    """Base of the predictors by neighbours: places vote, and `kneighbors` finds rows."""

    weights: Weights
    metric_: Metric
    _votes: FittedVotes
    _fold_answers: Floats | None = None

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
            obtained = obtain_metric(request, given, self._trials(numbers, self.weights))
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
        self._known_rows = strangers.FamiliarRows.of(self._given)
        self._fold_answers = None
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

    def _answers(self, queries: Any, k: int, *, warn: bool = True) -> Any:
        """Return class probabilities or mean targets (m, t) for checked queries.

        Probabilities of strange ones are drawn to the class shares.
        """
        if self.weights != self._votes.table.weights:  # set after the fit
            check_parameters(self)
            self._take(self._given, self.metric_)
        votes = replace(self._votes, n_jobs=self.n_jobs)
        found = votes.answers(queries, k)
        if queries is None:  # the fitted rows, of which none is strange
            return found
        if isinstance(queries, Blocks):  # lazily, and without a warning
            if self._numeric:
                return found
            prior = cast(LabelVotes, votes.table).prior
            return strangers.drawn_lazily(self._known_rows, queries, found, prior)
        trust = self._known_rows.trust(queries)
        if warn:
            strangers.warn_of_strangers(trust, drawn=not self._numeric)
        if self._numeric:
            return found
        return strangers.drawn_to_shares(found, trust, cast(LabelVotes, votes.table).prior)

    def feature_weights(self) -> Floats:
        """Return the share of each column in the distances; their sum is 1, or 0 if none counts.

        These are the shares of small steps along the columns, see
        :meth:`cayleyklein.CurvedMetric.feature_weights`.
        """
        check_is_fitted(self, "metric_")
        rows = self.fitted_rows.X
        if not isinstance(rows, np.ndarray):
            rng = np.random.default_rng(0)
            rows = cast(Floats, self.fitted_rows.draw(ROWS_THAT_WEIGH, 1, rng).X)
        weights = np.zeros(self.metric_.dimension)
        if self.metric_.distance(rows[:1], rows).any():
            weights = self.metric_.feature_weights(rows)
        return entrance.column_shares(self, weights)

    def explain(self, X: ArrayLike) -> Any:  # by the shape of X, which types do not know
        """Explain predictions by the neighbours that voted and the columns in their distances.

        Parameters
        ----------
        X : array-like of shape (d,) or (m, d)
            One row gives an Explanation, several give :class:`Explanations`, a list of them.

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
            k = search.number_of_neighbors(self)
            return explain_votes(
                self._votes,
                queries,
                k,
                partial(entrance.by_column, self),
                encoded=self.encoder_ is not None,
                classes=None if self._numeric else cast(Any, self).classes_,
                single_target=self._given.target.ndim == 1,
                answers=self._answers(queries, k, warn=False),
                strangeness=self._known_rows.quantiles(queries),
            )

        return self._one_or_more(X, explain)

    def _held_out_answers(self) -> Floats:
        """Return answers (n, t) for the fitted rows by models that did not learn from them.

        A metric that was learned from a row knows its target; it is learned again three times, each
        without a third of the rows. A metric that was given knows nothing.
        """
        learned = self.metric is None and not isinstance(self.learner, FrozenEstimator)
        if not learned or len(self._votes.table.places.rows) < 3 * FEWEST_A_FOLD:
            return super()._held_out_answers()
        if self._fold_answers is None:
            width = self._votes.table.width
            quiet: dict[str, Any] = {"random_state": 0}
            if self.learner is None:
                quiet |= {"callback": None, "verbose": False}

            def answers(train: GivenRows, out: GivenRows) -> Floats:
                model = cast(Any, clone(self)).set_params(**quiet)
                model.fit(train.X, train.target, train.weights)
                if self._numeric:
                    return np.asarray(model.predict(out.X)).reshape(-1, width)
                found = np.zeros((len(out.target), width))
                found[:, model.classes_] = model.predict_proba(out.X)
                return found

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of classes of few rows, and of strange ones
                found = refit_answers(answers, self._given, width)
            usual = self._left_out_answers().reshape(len(found), -1)
            self._fold_answers = np.where(np.isnan(found), usual, found)
        return self._fold_answers

    def _own_neighbors(self, k: int) -> Ints:
        """Return the numbers (n, k) of the other fitted rows nearest to each."""
        return np.asarray(self.kneighbors(None, k)[1])

    @property
    def _searcher(self) -> RowIndex | Shards:  # type: ignore[override]
        return self._votes.index

    def _row_index(self) -> SearchIndex | Shards:
        check_is_fitted(self, "metric_")
        return self._votes.row_index
