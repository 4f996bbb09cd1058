"""The classifier: learn a metric, then let the nearest neighbours by it vote."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks, held, in_memory, is_dask, task
from cayleyklein._estimators import (
    as_classes,
    as_labels,
    as_target,
    as_weights,
    check_data,
    check_truth,
    few_threads,
    labels_of,
    naming,
    restore_on_error,
)
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._descent import Progress
from cayleyklein.learning._sampling import rows_at
from cayleyklein.learning._trials import DEFAULT_NEIGHBORS
from cayleyklein.learning._voters import LearningNeighbors
from cayleyklein.learning.labels._explanation import explanations
from cayleyklein.learning.labels._lmnn import CurvedLMNN
from cayleyklein.learning.labels._votes import (
    explained,
    first_rows,
    payload_at,
    shares_of,
    winners_of,
)
from cayleyklein.metrics import CurvedMetric, Metric, MixedMetric, ProductMetric
from cayleyklein.neighbors import (
    KINDS,
    Algorithm,
    LocalScales,
    Weights,
    as_metric,
    check_weights,
    class_votes,
    without_vote,
)


class CurvedKNeighborsClassifier(ClassifierMixin, LearningNeighbors):
    """Learn a curved metric from labelled rows, and classify by the nearest ones.

    Columns need no scaling: the learner standardises them by itself.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours that vote; equal rows in memory are one neighbour, which has the votes of all of
        them. "auto" is the number with the least log loss on held-out rows where
        geometry="auto" holds some out, and 15 otherwise.
    geometry : str, default="auto"
        Of the metric to learn, see :class:`CurvedLMNN`.
    learner : estimator, optional
        Learns the metric, such as ``CurvedLMNN(geometry="elliptic", margin=0.1)`` or ``MMC()``. One
        that has been fitted is used as it is, not fitted again; note that scikit-learn's `clone`,
        and so a cross-validation, forgets that it was: put it in a ``FrozenEstimator``, or give its
        ``metric_``.
    metric : CurvedMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    weights : {"local", "linear", "uniform", "distance"} or callable, default="local"
        What a vote counts. "linear": 1 - d_i/d_{k+1}. "local": the same of d_i/√s_i, where s_i is
        the row's distance to its fifth nearest row, so that rows in dense regions do not outvote
        others; the k voters are chosen by it among the 2k + 1 nearest rows. "uniform": as much as
        the others. "distance": 1/d_i. Or what a function makes of the distances.
    algorithm, outside : see :class:`CurvedNeighbors`
    random_state, callback, verbose : see :class:`CurvedLMNN`
    n_jobs : see :class:`CurvedNeighbors`

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
    algorithm_used_, n_samples_fit_, n_features_in_, feature_names_in_ : see CurvedNeighbors

    Notes
    -----
    Probabilities are (votes + 0.1 · class share) / (all votes + 0.1), so that no vote of a few
    neighbours makes any 0 or 1. The class with the largest one is predicted. Where votes are equal,
    the class of the nearest neighbour gets a tenth of a vote more.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CurvedKNeighborsClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> model.metric_.geometry
    'product'

    With a metric that is known:

    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKNeighborsClassifier(1, metric=disc).fit([[0.0], [0.9]], ["a", "b"])
    >>> model.predict([[0.5], [0.8]])
    array(['a', 'b'], dtype='<U1')
    """

    default_learner = CurvedLMNN
    default_neighbors = DEFAULT_NEIGHBORS

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: CurvedMetric | MixedMetric | ProductMetric | None = None,
        weights: Weights = "local",
        algorithm: Algorithm = "auto",
        outside: Literal["extend", "raise"] = "extend",
        random_state: int | np.random.RandomState | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors, metric=metric, algorithm=algorithm, outside=outside,
            n_jobs=n_jobs,
        )  # fmt: skip
        self.geometry = geometry
        self.learner = learner
        self.weights = weights
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    # -- fitting --------------------------------------------------------------------

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> CurvedKNeighborsClassifier:
        """Learn the metric from labelled rows, and keep them as the neighbours to come.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
        y : array-like or Dask collection of shape (n,)
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows in the learner's loss, and of their votes.

        Returns
        -------
        self
        """
        self._check_parameters()
        return self._fit(X, y, sample_weight, None)

    def _fit(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None,
        classes: ArrayLike | None,
    ) -> CurvedKNeighborsClassifier:  # fmt: skip
        blocks: RowBlocks | None = None
        if is_dask(X):
            X, blocks, target, sample_weight = self._read_spread(X, y, sample_weight)
            target, d = as_target(target), blocks.n_columns
        else:
            rows, target = check_data(self, X, y, dtype=[np.float64, np.float32], order="C")
            rows = np.asarray(rows, dtype=np.float64)
            d = rows.shape[1]
        known = np.unique(as_labels(target) if classes is None else as_classes(classes))
        labels = labels_of(target, known)
        weights = as_weights(sample_weight, labels)
        learner = self._fitted_learner(X, target, None if sample_weight is None else weights)
        metric = as_metric(self._metric_of(learner), d)
        self._local: LocalScales | None = None
        with few_threads(len(labels), d):
            if blocks is None:
                self._index(rows, metric, np.column_stack([labels, weights]))
            else:
                if self.weights == "local":
                    some = LocalScales.numbers_of(len(labels))
                    self._local = LocalScales(rows_at(blocks, some), some, metric, self.n_jobs)
                local, starts = held(self._local), blocks.starts
                cuts = zip(blocks.blocks, starts, [*starts[1:], len(labels)], strict=True)
                payloads = [
                    task(payload_at, part, labels[a:b], weights[a:b], a, local)
                    for part, a, b in cuts
                ]
                self._spread(blocks, metric, payloads)
        prior = np.bincount(labels, weights=weights, minlength=len(known)) / weights.sum()
        self.classes_, self.class_prior_ = known, prior
        self._keep_learner(learner)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_weights(self.weights, ("local", *KINDS))

    @restore_on_error
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike | None = None, classes: ArrayLike | None = None
    ) -> CurvedKNeighborsClassifier:
        """Add labelled rows as neighbours; the metric stays. The first call is a fit.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like, optional
            All the classes to come, at the first call; those of its y when None. Later on the same,
            or None.

        Examples
        --------
        >>> model = CurvedKNeighborsClassifier(1, metric=CurvedMetric.euclidean(1))
        >>> model = model.partial_fit([[0.0], [1.0]], ["a", "b"])
        >>> model.partial_fit([[5.0]], ["a"]).predict([[4.0]])
        array(['a'], dtype='<U1')
        """
        self._check_grows(X)
        if not hasattr(self, "classes_"):
            return self._fit(X, y, None, classes)
        known = self.classes_ if classes is None else np.unique(as_classes(classes))
        if not np.array_equal(known, self.classes_):
            raise InvalidInputError(
                f"classes are {known.tolist()}, but the first call had {self.classes_.tolist()}; "
                f"leave them out, or fit again."
            )
        _, target = check_data(self, X, y, dtype=[np.float64, np.float32], reset=False)
        labels = labels_of(as_labels(target), self.classes_)
        n = self.n_samples_fit_
        self._append(X, np.column_stack([labels, np.ones(len(labels))]))
        added = np.bincount(labels, minlength=len(self.classes_))
        self.class_prior_ = (n * self.class_prior_ + added) / (n + len(labels))
        return self

    def _labels(self) -> Ints:
        """Return the positions among ``classes_`` of the fitted rows."""
        return cast(Floats, self._in_memory().payload)[:, 0].astype(np.intp)

    # The payload of a row is its label and weight, that of a point its class votes and scale.

    def _weights_in(self, payload: Floats) -> Floats:
        return np.asarray(payload[:, 1 : payload.shape[1] // 2 * 2 : 2].sum(axis=1))

    def _at_points(self, X: Floats, metric: Metric, points: Ints, payload: Floats) -> Floats:
        votes = class_votes(points, payload[:, 0].astype(np.intp), payload[:, 1])
        if self.weights != "local":
            return np.column_stack([votes, np.ones(len(votes))])
        if self._local is None:
            some = LocalScales.numbers_of(len(X))
            self._local = LocalScales(X[some], some, metric, self.n_jobs)
        return np.column_stack([votes, self._local.of(X, np.arange(len(X)))])

    def _without(self, known: Floats, payload: Floats) -> Floats:
        left = without_vote(known[:, :-1], payload[:, 0], payload[:, 1])
        return np.column_stack([left, known[:, -1]])

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
        kind = ((len(self.classes_),), np.float64)
        return cast(Floats, self._voted(X, shares_of, kind))

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
        winners = partial(winners_of, classes=self.classes_)
        return cast(AnyArray, self._voted(X, winners, ((), self.classes_.dtype)))

    def _voted(self, X: Any, finish: Callable[..., tuple[Any]], kind: Any) -> Any:
        """Return what `finish` makes of the votes of neighbours."""
        check_weights(self.weights, ("local", *KINDS))
        k, more = self._voters(X, self._default_neighbors(), self.weights)
        counted = partial(finish, k=k, weights=self.weights, prior=self.class_prior_)
        return self._polled(X, k + more, counted, kind)[0]

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
        fitted = self._in_memory().X
        with naming("X"):
            single = np.ndim(X) == 1
        if single:
            X = cast(Any, X).to_frame().T if hasattr(X, "to_frame") else np.reshape(X, (1, -1))
        rows = self._rows(X, reset=False)
        k, more = self._voters(rows, self._default_neighbors(), self.weights)
        finish = partial(explained, k=k, weights=self.weights, prior=self.class_prior_)
        near, distances, labels, *rest = self._polled(X, k + more, finish)
        if self._ballot is not None:
            near = first_rows(self._ballot.points, self._labels(), near, labels)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{j}" for j in range(rows.shape[1])])
        why = explanations(
            rows, fitted, self.metric_, self.classes_, names, (near, distances, labels, *rest)
        )
        return why[0] if single else why

    def score(
        self, X: ArrayLike | None, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy; with X None, of leaving one fitted row out at a time."""
        predicted = in_memory(self.predict(X), "predictions")
        truth, weights = check_truth(y, predicted, sample_weight)
        with naming("y"):
            return float(accuracy_score(truth, predicted, sample_weight=weights))
