"""The regressor: learn a metric, then average the targets of the nearest neighbours by it."""

from collections.abc import Callable
from typing import Any, ClassVar, Self, cast

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

from cayleyklein._estimators import restore_on_error
from cayleyklein._typing import Floats
from cayleyklein.learning.descent import Progress
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.neighbors import algorithms, estimator
from cayleyklein.prediction import predictor, tasks, votes


class CurvedKNeighborsRegressor(tasks.NumberPredictor, predictor.NeighborPredictor):
    """Learn a curved metric from rows with targets, and predict by the nearest ones.

    Columns need no scaling: the learner standardises them by itself.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours that are averaged; equal rows in memory are one neighbour with their mean target
        and the weight of all of them. "auto" is the number with the least squared error on held-out
        rows, or of leaving one row out with a single geometry; 9 with a metric or a frozen learner.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned"}, default="auto"
        Of the metric to learn, see :class:`CurvedMLKR`. "auto" learns the product, and keeps it
        unless plain neighbours, in standardised or unscaled columns, do as well on held-out rows.
    {metric}
    weights : {"linear", "uniform", "distance"} or callable, default="linear"
        What each neighbour counts in the mean: 1 - d_i/d_{k+1}, 1, 1/d_i, or what a function makes
        of the distances (m, k). All neighbours of a query outside a hyperbolic domain are
        infinitely far, and count the same.
    {searching}

    Attributes
    ----------
    {learned}

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(400, random_state=0)
    >>> model = CurvedKNeighborsRegressor(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.7)
    True
    >>> model.metric_.geometry
    'product'

    With a metric that is known:

    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKNeighborsRegressor(2, metric=disc, weights="distance")
    >>> model.fit([[0.0], [0.5], [0.9]], [0.0, 1.0, 2.0]).predict([[0.0], [0.25]]).round(3)
    array([0.   , 0.465])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": [StrOptions(set(votes.VOTE_KINDS)), callable],
    }

    def __init__(
        self, n_neighbors: int | str = "auto", *, geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: CurvedMetric | MixedMetric | ProductMetric | None = None,
        weights: votes.Weights = "linear", subsample: int | float | str | None = "auto",
        algorithm: algorithms.Algorithm = "auto", outside: estimator.OutsideQueries = "extend",
        random_state: Any = None, callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.n_neighbors, self.geometry, self.learner = n_neighbors, geometry, learner
        self.metric, self.weights, self.subsample = metric, weights, subsample
        self.algorithm, self.outside, self.random_state = algorithm, outside, random_state
        self.callback, self.verbose, self.n_jobs = callback, verbose, n_jobs

    @restore_on_error
    def partial_fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows and their targets; the metric stays. The first call is a fit.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : array-like of shape (n,), optional

        Examples
        --------
        >>> model = CurvedKNeighborsRegressor(n_neighbors=1).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> model.partial_fit([[2.0]], [4.0]).predict([[1.9]])
        array([4.])
        """
        return self._grow(X, y, sample_weight)

    def predict(self, X: ArrayLike | None) -> Floats:
        """Return the mean targets (m,) or (m, n_targets) of the neighbours.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None
            With None, the fitted rows, each left out of its own mean; also in ``score``. Answers
            of a Dask collection are lazy.

        Examples
        --------
        >>> model = CurvedKNeighborsRegressor(n_neighbors=1).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> model.score([[0.1], [0.9]], [0.0, 1.0])
        1.0
        """
        return cast(Floats, self._shaped(self._answers(X)))
