"""The classifier: learn a metric, then let the nearest neighbours by it vote."""

from collections.abc import Callable
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

from cayleyklein._estimators import encode_classes, restore_on_error
from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.descent import Progress
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.neighbors import algorithms, estimator
from cayleyklein.prediction import predictor, tasks, votes


class CurvedKNeighborsClassifier(tasks.LabelPredictor, predictor.NeighborPredictor):
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
    {metric}
    weights : {"local", "linear", "uniform", "distance"} or callable, default="local"
        What a vote counts. "linear": 1 - d_i/d_{k+1}. "local": the same of d_i/√s_i, where s_i is
        the row's distance to its fifth nearest row, so that rows in dense regions do not outvote
        others; the k voters are chosen by it among the 2k + 1 nearest rows. "uniform": 1.
        "distance": 1/d_i. Or a function of the distances (m, k) that returns a weight for each.
    {class_weight}
    {searching}

    Attributes
    ----------
    classes_ : ndarray
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes in the fitted rows, to which probabilities are shrunk.
    {learned}

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
        "weights": [StrOptions({"local", *votes.VOTE_KINDS}), callable],
    }

    def __init__(
        self, n_neighbors: int | str = "auto", *, geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: CurvedMetric | MixedMetric | ProductMetric | None = None,
        weights: votes.Weights = "local", class_weight: dict[Any, float] | str | None = None,
        subsample: int | float | str | None = "auto", algorithm: algorithms.Algorithm = "auto",
        outside: estimator.OutsideQueries = "extend", random_state: Any = None,
        callback: Callable[[Progress], bool | None] | None = None, verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.n_neighbors, self.geometry, self.learner = n_neighbors, geometry, learner
        self.metric, self.weights, self.class_weight = metric, weights, class_weight
        self.subsample, self.algorithm, self.outside = subsample, algorithm, outside
        self.random_state, self.callback = random_state, callback
        self.verbose, self.n_jobs = verbose, n_jobs

    @restore_on_error
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike | None = None, classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
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
        if self.class_weight is not None:
            raise InvalidInputError(
                "class_weight needs all rows at once; give sample_weight to partial_fit instead."
            )
        known = None if classes is None else encode_classes(classes, name="classes")[0]
        before: Any = getattr(self, "classes_", known)
        if known is not None and not np.array_equal(known, before):
            raise InvalidInputError(
                f"classes are {known.tolist()}, but the first call had {before.tolist()}; "
                f"leave them out, or fit again."
            )
        return self._grow(X, y, sample_weight, before)

    def predict_proba(self, X: ArrayLike | None) -> Floats:
        """Return the probabilities (m, n_classes) of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None
            With None, the fitted rows, each left out of its own vote; also in ``predict``,
            ``predict_log_proba`` and ``score``. Answers of a Dask collection are lazy.

        Examples
        --------
        >>> plain = CurvedMetric.euclidean(1)
        >>> model = CurvedKNeighborsClassifier(3, metric=plain, weights="uniform")
        >>> model = model.fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        >>> model.predict_proba([[0.1]]).round(3)
        array([[0.333, 0.667]])
        """
        return cast(Floats, self._answers(X))

    def _best(self, X: Any) -> Any:
        return self._answers(X, best=True)
