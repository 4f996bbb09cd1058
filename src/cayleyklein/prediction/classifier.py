"""The classifier: learn a metric, then let the nearest neighbours by it vote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks, in_memory
from cayleyklein._estimators import (
    check_parameters,
    check_truth,
    encode_classes,
    few_threads,
    naming,
    restore_on_error,
)
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.lmnn import LABEL_GEOMETRIES, CurvedLMNN
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.metrics.combined import Metric
from cayleyklein.neighbors.algorithms import Algorithm
from cayleyklein.neighbors.dask_shards import LEAST_ROWS
from cayleyklein.neighbors.estimator import OutsideQueries, refuse_growth
from cayleyklein.neighbors.search import Ranked, SearchIndex, checked_queries, number_of_neighbors
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.prediction.class_weights import with_class_weights
from cayleyklein.prediction.explanation import explanations
from cayleyklein.prediction.held_out import held_out_probabilities
from cayleyklein.prediction.label_votes import LabelVotes
from cayleyklein.prediction.metric_choice import SOURCE_CONSTRAINTS, check_source, obtain_metric
from cayleyklein.prediction.pooled_points import LeftOut, leaving_out
from cayleyklein.prediction.row_index import PooledRows, index_points
from cayleyklein.prediction.scales import LocalScales
from cayleyklein.prediction.vote_weights import VOTE_KINDS, Weights, candidates_of
from cayleyklein.selection.label_scores import LabelScores
from cayleyklein.selection.n_neighbors import LABEL_NEIGHBORS


class CurvedKNeighborsClassifier(ClassifierMixin, PooledRows):
    """Learn a curved metric from labelled rows, and classify by the nearest ones.

    Columns need no scaling: the learner standardises them by itself.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours that vote; equal rows in memory are one neighbour, which has the votes of all of
        them. "auto" is the number with the least log loss on held-out rows where the geometry is
        "auto", "product" or "mixed", and 15 otherwise.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, \
default="auto"
        Of the metric to learn, see :class:`CurvedLMNN`. "auto" learns the product, and keeps it
        unless plain neighbours, in standardised or unscaled columns, do as well on held-out rows.
        "mixed" chooses α on held-out rows.
    learner : estimator, optional
        Learns the metric, such as ``CurvedLMNN(geometry="elliptic", margin=0.1)`` or ``MMC()``. It
        is cloned and fitted. One that is fitted already is used as it is inside scikit-learn's
        ``FrozenEstimator``.
    metric : CurvedMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    weights : {"local", "linear", "uniform", "distance"} or callable, default="local"
        What a vote counts. "linear": 1 - d_i/d_{k+1}. "local": the same of d_i/√s_i, where s_i is
        the row's distance to its fifth nearest row, so that rows in dense regions do not outvote
        others; the k voters are chosen by it among the 2k + 1 nearest rows. "uniform": 1.
        "distance": 1/d_i. Or a function of the distances (m, k) that returns a weight for each.
    class_weight : dict, "balanced" or None, default=None
        Factors of the rows' weights by class. "balanced" gives all classes the same weight.
    subsample : int, float, "auto" or None, default="auto"
        Rows to learn the metric from, or their share; all rows vote. "auto" takes at most 10,000
        for a single geometry; for "auto" and "product" the sample doubles from 8,000 rows on until
        held-out rows show no gain (``selection_.stages``). None takes all rows.
    algorithm : {"auto", "brute", "tree", "vptree"}, default="auto"
        How neighbours are searched: "auto" (probes the fitted rows), "brute", "tree" (a k-d tree;
        flat, elliptic and product metrics) or "vptree" (vantage points; all but products).
    outside : {"extend", "raise"}, default="extend"
        Queries outside a hyperbolic domain: "extend" ranks the fitted rows for them, all infinitely
        far; "raise" is an error that names them.
    random_state : int, RandomState or None, default=None
        Draws held-out rows, and what learning draws.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration of the fits that make the metric; a
        true answer stops them, and leaves a usable metric.
    verbose : bool, default=False
        Write a line for each iteration to standard error.
    n_jobs : int, optional
        Number of threads of a search; the answer does not depend on it.

    Attributes
    ----------
    classes_ : ndarray
    metric_ : CurvedMetric, MixedMetric or ProductMetric
    n_neighbors_ : int
        Neighbours that vote.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes in the fitted rows, to which probabilities are shrunk.
    learner_ : estimator or None
        The fitted learner; None with a ready-made metric.
    selection_ : Selection or None
        What was tried on held-out rows, what was chosen and why; None with a learner or a metric of
        one's own.
    algorithm_used_ : str
        The search that was taken.
    n_samples_fit_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only where the columns of X have names.

    Notes
    -----
    Probabilities are (votes + s · class share) / (all votes + s), where s is a tenth of the mean
    weight of a neighbour, so that no vote of a few neighbours makes any 0 or 1. The class with the
    largest one is predicted. Of several classes with the most votes, the one with the nearest vote
    gets s more; of equally near ones the most frequent, and then the first. A common factor of all
    sample weights changes nothing.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CurvedKNeighborsClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> model.metric_.geometry, model.predict_log_proba(X[:2]).shape
    ('product', (2, 3))

    With a metric that is known:

    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKNeighborsClassifier(1, metric=disc).fit([[0.0], [0.9]], ["a", "b"])
    >>> model.predict([[0.5], [0.8]])
    array(['a', 'b'], dtype='<U1')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PooledRows._search_constraints,
        **SOURCE_CONSTRAINTS,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "geometry": [StrOptions({"auto", *LABEL_GEOMETRIES})],
        "weights": [StrOptions({"local", *VOTE_KINDS}), callable],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: CurvedMetric | MixedMetric | ProductMetric | None = None,
        weights: Weights = "local",
        class_weight: dict[Any, float] | str | None = None,
        subsample: int | float | str | None = "auto",
        algorithm: Algorithm = "auto",
        outside: OutsideQueries = "extend",
        random_state: int | np.random.RandomState | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.geometry = geometry
        self.learner = learner
        self.metric = metric
        self.weights = weights
        self.class_weight = class_weight
        self.subsample = subsample
        self.algorithm = algorithm
        self.outside = outside
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.n_jobs = n_jobs

    # -- fitting --------------------------------------------------------------------

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> CurvedKNeighborsClassifier:
        """Learn the metric from labelled rows, which are then the neighbours of queries.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
        y : array-like or Dask collection of shape (n,)
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows in the learner's loss, and of their votes. Only their ratios count.
        """
        check_source(self)
        given = GivenRows.read(self, X, y, sample_weight, block_rows=LEAST_ROWS)
        return self._fit(with_class_weights(given, self.class_weight))

    def _fit(self, given: GivenRows) -> CurvedKNeighborsClassifier:
        learner = CurvedLMNN(
            geometry="product" if self.geometry == "auto" else self.geometry,
            subsample=self.subsample, random_state=self.random_state, callback=self.callback,
            verbose=self.verbose,
        )  # fmt: skip
        scorer = LabelScores(held_out_probabilities)
        metric, self.learner_, self.selection_ = obtain_metric(self, learner, given, scorer)
        self._take(given, metric)
        k: Any = self.n_neighbors
        if k == "auto":
            k = self.selection_.n_neighbors if self.selection_ else LABEL_NEIGHBORS
            k = max(1, min(k, self.n_samples_fit_ - 1))
        self.n_neighbors_ = k
        return self

    def _take(self, given: GivenRows, metric: Metric) -> None:
        with few_threads(len(given.target), given.n_columns):
            points, self._searcher = index_points(given, metric, self.algorithm)
            scales = None
            if self.weights == "local" and isinstance(given.X, RowBlocks):
                scales = LocalScales.on_cluster(given.X, metric, self.n_jobs)
            elif self.weights == "local":
                scales = LocalScales.among(cast(SearchIndex, self._searcher), self.n_jobs)
        self._given = replace(given, source=None, always=None)
        self.metric_, self._all_rows = metric, None
        self.classes_ = cast(AnyArray, given.classes)
        self._votes = LabelVotes(
            points, given.target, given.weights, len(self.classes_), self.weights, scales
        )
        self.class_prior_ = self._votes.prior
        self.n_samples_fit_, self.algorithm_used_ = len(given.target), self._searcher.name

    @restore_on_error
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CurvedKNeighborsClassifier:
        """Add labelled rows as neighbours; the metric stays. The first call is a fit.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like, optional
            All classes that later calls may have, at the first call; those of its y when None. At
            later calls the same, or None.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows' votes.

        Examples
        --------
        >>> model = CurvedKNeighborsClassifier(1, metric=CurvedMetric.euclidean(1))
        >>> model = model.partial_fit([[0.0], [1.0]], ["a", "b"])
        >>> model.partial_fit([[5.0]], ["a"]).predict([[4.0]])
        array(['a'], dtype='<U1')
        """
        check_source(self)
        refuse_growth(self, X)
        if self.class_weight is not None:
            raise InvalidInputError(
                "class_weight needs all rows at once; give sample_weight to partial_fit instead."
            )
        known = None if classes is None else encode_classes(classes, name="classes")[0]
        if not hasattr(self, "classes_"):
            return self._fit(GivenRows.read(self, X, y, sample_weight, classes=known))
        if known is not None and not np.array_equal(known, self.classes_):
            raise InvalidInputError(
                f"classes are {known.tolist()}, but the first call had {self.classes_.tolist()}; "
                f"leave them out, or fit again."
            )
        added = GivenRows.read(self, X, y, sample_weight, classes=self.classes_, reset=False)
        refuse_outside(self.metric_.contains(added.X))
        self._take(self._given.joined(added), self.metric_)
        return self

    # -- predicting -----------------------------------------------------------------

    def predict_proba(self, X: ArrayLike | None) -> Floats:
        """Return the probability of each class, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None
            With None, the fitted rows, each left out of its own vote.

        Returns
        -------
        ndarray or Dask array of shape (m, n_classes)

        Examples
        --------
        >>> plain = CurvedMetric.euclidean(1)
        >>> model = CurvedKNeighborsClassifier(3, metric=plain, weights="uniform")
        >>> model = model.fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        >>> model.predict_proba([[0.1]]).round(3)
        array([[0.333, 0.667]])
        """
        check_is_fitted(self, "classes_")
        return cast(Floats, self._answer(X, probabilities, (self.classes_.shape, np.float64)))

    def predict_log_proba(self, X: ArrayLike | None) -> Floats:
        """Return the logarithm of the probabilities, which are never 0 for a class with rows.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None
            With None, the fitted rows, each left out of its own vote.
        """
        return np.log(self.predict_proba(X))

    def predict(self, X: ArrayLike | None) -> AnyArray:
        """Return the most probable class.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None
            With None, the fitted rows, each left out of its own vote.

        Returns
        -------
        ndarray or Dask array of shape (m,)
        """
        check_is_fitted(self, "classes_")
        finish = partial(most_probable, classes=self.classes_)
        return cast(AnyArray, self._answer(X, finish, ((), self.classes_.dtype)))

    def _answer(self, X: Any, finish: Callable[..., tuple[AnyArray]], kind: Any) -> Any:
        """Return what `finish` makes of the votes of the nearest points."""
        k = number_of_neighbors(self, own=X is None)
        queries, n_wanted = checked_queries(self, X), candidates_of(self.weights, k)
        if self.weights != self._votes.weights:  # set after the fit
            check_parameters(self)
            self._take(self._given, self.metric_)
        answer = partial(finish, k=k)
        if queries is None and isinstance(self._searcher, SearchIndex):
            return leaving_out(
                self._searcher, cast(Floats, self._given.X), self._votes, n_wanted, answer,
                self.n_jobs,
            )  # fmt: skip
        (found,) = self._searcher.answer(
            queries, n_wanted, answer, self._votes, (kind,), self.n_jobs
        )
        return found

    def explain(self, X: ArrayLike) -> Any:  # by the shape of X, which types do not know
        """Say why rows are predicted as they are: who voted, and what the distances are made of.

        Parameters
        ----------
        X : array-like of shape (d,) or (m, d)
            One row, or several.

        Returns
        -------
        Explanation or list of Explanation

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = CurvedKNeighborsClassifier(random_state=0).fit(X[1:], y[1:])
        >>> why = model.explain(X[0])
        >>> int(why.prediction), bool((why.labels == 0).all()), bool(why.votes.sum().round(9) == 1)
        (0, True, True)
        """
        check_is_fitted(self, "classes_")
        fitted = self._rows_in_memory().X
        with naming("X"):
            single = np.ndim(X) == 1
        if single:
            X = cast(Any, X).to_frame().T if hasattr(X, "to_frame") else np.reshape(X, (1, -1))
        queries = cast(Floats, checked_queries(self, X))
        k = number_of_neighbors(self)
        index = cast(SearchIndex, self._searcher)
        found = index.nearest(queries, candidates_of(self.weights, k), self.n_jobs)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{j}" for j in range(queries.shape[1])])
        why = explanations(
            queries, fitted, self.metric_, self.classes_, names, self._votes.ballots(found, k),
            found.distances, self._votes.probabilities(found, k),
        )  # fmt: skip
        return why[0] if single else why

    def score(
        self, X: ArrayLike | None, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy; with X None, of leaving one fitted row out at a time."""
        predicted = in_memory(self.predict(X), "predictions")
        y, weights = in_memory(y, "y"), in_memory(sample_weight, "sample_weight")
        truth, weights = check_truth(y, predicted, weights)
        with naming("y"):
            return float(accuracy_score(truth, predicted, sample_weight=weights))


def probabilities(found: Ranked, votes: LabelVotes, first: int | None, *, k: int) -> tuple[Floats]:
    """Return class probabilities; queries are the fitted rows from `first` on, or others."""
    left_out = None
    if first is not None:
        left_out = LeftOut.of(votes.points, first + np.arange(len(found.rows)))
        found = left_out.drop_from(found, candidates_of(votes.weights, k))
    return (votes.probabilities(found, k, left_out),)


def most_probable(
    found: Ranked, votes: LabelVotes, first: int | None, *, k: int, classes: AnyArray
) -> tuple[AnyArray]:
    (shares,) = probabilities(found, votes, first, k=k)
    return (classes[shares.argmax(axis=1)],)
