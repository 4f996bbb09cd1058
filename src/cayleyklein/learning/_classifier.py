"""The classifier: learn a metric, then let the nearest neighbours by it vote."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import compute, in_memory, is_dask, row_blocks, task
from cayleyklein._estimators import (
    as_labels,
    at_one_moment,
    check_columns,
    check_data,
    check_truth,
    classes_of,
    common_classes,
    naming,
    refuse_missing,
    whole_or_not_at_all,
)
from cayleyklein._validation import list_indices, refuse_containers
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._lmnn import CurvedLMNN
from cayleyklein.metrics import CurvedMetric, MixedMetric
from cayleyklein.neighbors import CurvedNeighbors
from cayleyklein.neighbors._engines import Algorithm
from cayleyklein.neighbors._index import Ranked
from cayleyklein.neighbors._parameters import as_metric
from cayleyklein.neighbors._shards import LEAST_ROWS
from cayleyklein.neighbors._weights import Weights, check_weights, vote_shares

__all__ = ["CurvedKNeighborsClassifier"]


class CurvedKNeighborsClassifier(ClassifierMixin, CurvedNeighbors):
    """Learn a curved metric from labelled rows, and classify by the nearest ones.

    Columns need no scaling: the learner standardises them by itself.

    Parameters
    ----------
    n_neighbors : int, default=3
        Neighbours that vote, and for which the metric is learned.
    geometry : str, default="auto"
        Of the metric to learn, see :class:`CurvedLMNN`. Not used with a `learner` or a `metric`.
    learner : estimator, optional
        Learns the metric, such as ``CurvedLMNN(geometry="elliptic", margin=0.1)`` or ``MMC()``. One
        that has been fitted is used as it is, not fitted again; note that scikit-learn's `clone`,
        and so a cross-validation, forgets that it was: put it in a ``FrozenEstimator``, or give its
        ``metric_``.
    metric : CurvedMetric or MixedMetric, optional
        A ready-made metric; nothing is learned then.
    weights : {"uniform", "distance"} or callable, default="uniform"
        What a vote counts: as much as the others, 1/distance, or what a function makes of the
        distances.
    algorithm, outside : see :class:`CurvedNeighbors`
    random_state : int, RandomState instance or None, default=None
        For the learner that `geometry` stands for.
    n_jobs : see :class:`CurvedNeighbors`

    Attributes
    ----------
    classes_ : ndarray
    metric_ : CurvedMetric or MixedMetric
    learner_ : estimator or None
        The fitted learner; None with a ready-made metric.
    algorithm_used_, n_samples_fit_, n_features_in_, feature_names_in_ : see CurvedNeighbors

    Notes
    -----
    As in scikit-learn's ``KNeighborsClassifier``, equally near rows are neighbours in their order,
    and of classes with equally many votes the first wins.

    Examples
    --------
    >>> from cayleyklein import CurvedKNeighborsClassifier
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CurvedKNeighborsClassifier(geometry="elliptic").fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> model.metric_.geometry
    'elliptic'

    With a metric that is known:

    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKNeighborsClassifier(1, metric=disc).fit([[0.0], [0.9]], ["a", "b"])
    >>> model.predict([[0.5], [0.8]])
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: CurvedMetric | MixedMetric | None = None,
        weights: Weights = "uniform",
        algorithm: Algorithm = "auto",
        outside: Literal["extend", "raise"] = "extend",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(metric, n_neighbors, algorithm=algorithm, outside=outside, n_jobs=n_jobs)
        self.geometry = geometry
        self.learner = learner
        self.weights = weights
        self.random_state = random_state

    # -- fitting --------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> CurvedKNeighborsClassifier:
        """Learn the metric from labelled rows, and keep them as the neighbours to come.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
        y : array-like or Dask collection of shape (n,)

        Returns
        -------
        self
        """
        self._check_parameters()
        with whole_or_not_at_all(self) as worker:
            worker._fit(X, y, None)
        return self

    def _fit(self, X: ArrayLike, y: ArrayLike | None, classes: ArrayLike | None) -> None:
        if is_dask(X):
            self._fit_spread(X, y)
            return
        _, target = check_data(self, X, y, dtype=[np.float64, np.float32])
        known = np.unique(as_labels(target) if classes is None else as_classes(classes))
        labels = labels_of(target, known)
        learner = self._fitted_learner(X, target) if self.metric is None else None
        rows = self._rows(X, reset=True)
        metric = as_metric(self.metric if learner is None else learner.metric_, rows.shape[1])
        self._index(rows, metric, labels)
        self.classes_, self.learner_ = known, learner

    def _fit_spread(self, X: Any, y: Any) -> None:
        """Fit on a Dask collection; its labels stay with its rows."""
        check_columns(self, X, y, reset=True)
        refuse_missing(y, "y")
        rows = row_blocks(X, y, least_rows=LEAST_ROWS)
        targets = rows.targets or []
        seen = [task(classes_of, *some) for some in zip(targets, rows.starts, strict=True)]
        known = common_classes(list(compute(*seen, doing="reading y")), rows.n_rows)
        learner = self._fitted_learner(X, y) if self.metric is None else None
        metric = as_metric(self.metric if learner is None else learner.metric_, rows.n_columns)
        self._spread(rows, metric, [task(labels_of, target, known) for target in targets])
        self.classes_, self.learner_ = known, learner

    def _fitted_learner(self, X: ArrayLike, target: NDArray[Any]) -> Any:
        if hasattr(self.learner, "metric_"):
            return self.learner
        if self.learner is not None:
            learner = clone(self.learner)
        else:
            learner = CurvedLMNN(
                n_neighbors=self.n_neighbors,
                geometry=self.geometry,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
        learner.fit(X, target)
        if not hasattr(learner, "metric_"):
            raise InvalidInputError(
                f"learner must have a metric_ for the columns of X once it is fitted, as "
                f"CurvedLMNN() and MMC() have; {type(learner).__name__} has none. What transforms "
                f"the columns belongs in a pipeline before this classifier."
            )
        return learner

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_weights(self.weights)
        if self.metric is not None and self.learner is not None:
            raise InvalidInputError(
                "Got both a learner and a metric; give the one or the other, or neither to learn "
                "one by geometry."
            )
        if self.learner is not None and (
            isinstance(self.learner, type) or not hasattr(self.learner, "fit")
        ):
            raise InvalidInputError(
                f"learner must be an estimator such as CurvedLMNN(); got "
                f"{type(self.learner).__name__}. A ready-made metric is given as metric=."
            )

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
        with whole_or_not_at_all(self) as worker:
            if hasattr(self, "classes_"):
                worker._add_labelled(X, y, classes)
            else:
                worker._fit(X, y, classes)
        return self

    def _add_labelled(self, X: ArrayLike, y: ArrayLike | None, classes: ArrayLike | None) -> None:
        known = self.classes_ if classes is None else np.unique(as_classes(classes))
        if not np.array_equal(known, self.classes_):
            raise InvalidInputError(
                f"classes are {known.tolist()}, but the first call had {self.classes_.tolist()}; "
                f"leave them out, or fit again."
            )
        _, target = check_data(self, X, y, dtype=[np.float64, np.float32], reset=False)
        self._append(X, labels_of(as_labels(target), self.classes_))

    def _labels(self) -> NDArray[np.intp]:
        """Return the positions among ``classes_`` of the fitted rows."""
        return cast(NDArray[np.intp], self._in_memory().payload)

    # -- predicting -----------------------------------------------------------------

    @at_one_moment
    def predict_proba(self, X: ArrayLike | None) -> NDArray[np.float64]:
        """Return the share of the votes that each class has, in the order of ``classes_``.

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
        >>> model = CurvedKNeighborsClassifier(3, metric=plain)
        >>> model = model.fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        >>> model.predict_proba([[0.1]]).round(3)
        array([[0.333, 0.667]])
        """
        check_is_fitted(self, "classes_")
        finish = partial(shares_of, classes=self.classes_, weights=self.weights)
        kind = ((len(self.classes_),), np.float64)
        return cast(NDArray[np.float64], self._answers(X, self.n_neighbors, finish, kind)[0])

    @at_one_moment
    def predict(self, X: ArrayLike | None) -> NDArray[Any]:
        """Return the class with most of the votes, the first of equals.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None
            With None, the fitted rows, each left out of its own vote.

        Returns
        -------
        ndarray or Dask array of shape (m,)
        """
        check_is_fitted(self, "classes_")
        finish = partial(winners_of, classes=self.classes_, weights=self.weights)
        kind = ((), self.classes_.dtype)
        return cast(NDArray[Any], self._answers(X, self.n_neighbors, finish, kind)[0])

    def score(
        self, X: ArrayLike | None, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy; with X None, of leaving one fitted row out at a time."""
        predicted = in_memory(self.predict(X), "predictions")
        return accuracy(predicted, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def accuracy(predicted: NDArray[Any], y: ArrayLike, sample_weight: ArrayLike | None) -> float:
    """Return the share of predictions that are true."""
    from sklearn.metrics import accuracy_score

    truth, weights = check_truth(y, predicted, sample_weight)
    with naming("y"):
        return float(accuracy_score(truth, predicted, sample_weight=weights))


def as_classes(classes: ArrayLike) -> NDArray[Any]:
    """Check the classes to come."""
    refuse_containers(classes, "classes")
    given = np.asarray(classes)
    if given.ndim != 1 or given.size == 0:
        raise InvalidInputError(
            f"classes must be a sequence of labels, at least one; got {classes!r}."
        )
    return as_labels(given, "classes")


def shares_of(found: Ranked, classes: NDArray[Any], weights: Weights) -> tuple[NDArray[np.float64]]:
    """Return the share of the votes of neighbours that each class has."""
    assert found.payload is not None
    return (vote_shares(found.distances, found.payload, len(classes), weights),)


def winners_of(found: Ranked, classes: NDArray[Any], weights: Weights) -> tuple[NDArray[Any]]:
    """Return the class with most of the votes of neighbours, the first of equals."""
    (shares,) = shares_of(found, classes, weights)
    return (np.asarray(classes[shares.argmax(axis=1)]),)


def labels_of(target: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each target among the classes, which it must be one of."""
    known = np.isin(target, classes)
    if not known.all():
        raise InvalidInputError(
            f"y has classes that were not seen or announced before, "
            f"{np.unique(target[~known]).tolist()}, at rows "
            f"{list_indices(np.flatnonzero(~known))}; fit again to learn them."
        )
    return np.searchsorted(classes, target)
