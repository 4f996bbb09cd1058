"""The regressors: by the nearest neighbours in a learned metric, and by sums of all parts."""

from collections.abc import Callable
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils._param_validation import StrOptions

from cayleyklein._estimators import restore_on_error
from cayleyklein._typing import Floats
from cayleyklein._validation import as_real, expect
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import mlkr
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric
from cayleyklein.neighbors import algorithms, estimator
from cayleyklein.parts import votes
from cayleyklein.prediction import scales
from cayleyklein.prediction.answers import Numbers
from cayleyklein.prediction.estimator import NeighborPredictor, Predicting
from cayleyklein.prediction.explain import KernelExplanation, explain_sum
from cayleyklein.prediction.kernel_estimator import USUAL_PARTS, KernelEstimator
from cayleyklein.prediction.rehearsal import NumberTrials
from cayleyklein.prediction.sums import HeldOut, SumFit


class NumberPredictor(Predicting, RegressorMixin):
    """Mixin of the regressors."""

    _numeric = True
    _learner_kind = mlkr.CurvedMLKR
    _trials = NumberTrials
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions({"auto", *mlkr.NUMBER_GEOMETRIES})],
    }

    def _shaped(self, found: Any) -> Any:
        """Return numbers (m, t) in the shape of the targets."""
        return found[:, 0] if self._given.target.ndim == 1 else found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class CurvedKNeighborsRegressor(NumberPredictor, NeighborPredictor):
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
    learner : estimator, optional
        Learns the metric, such as ``CurvedLMNN(margin=0.1)``, or ``CurvedMLKR(n_components=2)``
        from numbers: cloned and fitted. One fitted before is used as it is inside scikit-learn's
        ``FrozenEstimator``.
    metric : CurvedMetric, FormMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    weights : {"linear", "uniform", "distance"} or callable, default="linear"
        What each neighbour counts in the mean: 1 - d_i/d_{k+1}, 1, 1/d_i, or what a function makes
        of the distances (m, k). All neighbours of a query outside a hyperbolic domain are
        infinitely far, and count the same.
    subsample : int, float, "auto" or None, default="auto"
        Rows to learn the metric from, or their share; all rows vote. "auto" takes at most 10,000
        for a single geometry; for "auto" and "product" the sample doubles from 8,000 rows on until
        held-out rows show no gain (``selection_.stages``). None takes all rows.
    algorithm : {"auto", "brute", "tree", "vantage"}, default="auto"
        How neighbours are searched: "auto" (probes the fitted rows), "brute", "tree" (k-d tree) or
        "vantage" (vantage point tree).
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
    metric_ : CurvedMetric, MixedMetric or ProductMetric
    n_neighbors_ : int
        Neighbours that vote, or are averaged.
    learner_ : estimator or None
        The fitted learner; None with a ready-made metric.
    selection_ : Selection or None
        What was tried on held-out rows, what was chosen and why; None with a learner or a metric of
        one's own.
    algorithm_used_ : str
    n_samples_fit_, n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,), where the columns of X have names
    encoder_ : TableEncoder, Gaps or None
        How text, categories, dates and gaps of X became numbers; None for numbers without gaps.

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

    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKNeighborsRegressor(2, metric=disc, weights="distance")
    >>> model.fit([[0.0], [0.5], [0.9]], [0.0, 1.0, 2.0]).predict([[0.0], [0.25]]).round(3)
    array([0.   , 0.465])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": [StrOptions(set(votes.VOTE_KINDS)), callable],
    }

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: Metric | None = None,
        weights: votes.Weights = "linear",
        subsample: int | float | str | None = "auto",
        algorithm: algorithms.Algorithm = "auto",
        outside: estimator.OutsideQueries = "extend",
        random_state: Any = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.geometry = geometry
        self.learner = learner
        self.metric = metric
        self.weights = weights
        self.subsample = subsample
        self.algorithm = algorithm
        self.outside = outside
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.n_jobs = n_jobs

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


class CurvedKernelRegressor(NumberPredictor, KernelEstimator):
    """Predict numbers by kernel machines in a learned curved metric and in columns, and neighbours.

    Parts predict, and a weighted sum of the predictions is learned on held-out rows.
    Columns and targets need no scaling.

    - "metric": ridge regression in the kernel exp(-γ d), d the learned metric: the mean of a
      Gaussian process with the exponential covariance of a curved space;
    - "columns": the same in exp(-γ Σⱼ cⱼ|xⱼ - yⱼ|), columns weighted by how much they tell;
    - "ranks": the same of normal scores of the columns' ranks, which suits heavy tails;
    - "neighbors": the mean of the nearest rows in the metric;
    - "plain": the mean of the nearest rows in standardised columns.

    Parameters
    ----------
    parts : str or sequence of str, default=("metric", "columns", "neighbors", "plain")
        Parts to add. How much each counts is learned on held-out rows.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned"}, default="auto"
        Of the metric to learn, see :class:`CurvedMLKR`. "auto" is the product.
    learner : estimator, optional
        Learns the metric, such as ``CurvedLMNN(margin=0.1)``, or ``CurvedMLKR(n_components=2)``
        from numbers: cloned and fitted. One fitted before is used as it is inside scikit-learn's
        ``FrozenEstimator``.
    metric : CurvedMetric, FormMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    columns : {"auto", "standardised", "ranks"}, default="auto"
        What the parts see: "standardised", columns in units of their standard deviations; "ranks",
        normal scores of their ranks, at most 3 either way, for all parts. "auto" adds the part
        "ranks" to "columns" if a column has a value more than five standard deviations from its
        mean, and takes ranks for all parts if this part alone is clearly better than "columns".
    target_scale : {"auto", "as given", "logarithm", "normal scores"}, default="auto"
        On which scale numbers are modelled; what is predicted is carried back. Where targets are
        skewed, "auto" takes the one with the least squared error on rows left out, in the unit of
        the targets, if it also lowers absolute errors.
    gamma, ridge : float, optional
        γ > 0 of both kernels, times the median distance between rows, and λ > 0. When None, those
        of 0.1 to 3 and of 0.001 to 30 that predict rows left out best, for each kernel.
    n_neighbors : int or "auto", default="auto"
        Neighbours that vote, or are averaged. "auto" is the number with the least log loss (of
        classes) or squared error (of numbers) on held-out rows.
    n_landmarks : int or "auto", default="auto"
        Rows at which kernels are taken. "auto" takes all up to 2,500 distinct rows; then 500 to
        2,000, the fewer the more rows, so that a machine takes some seconds.
    subsample : int, float, "auto" or None, default="auto"
        Rows to learn the metric from, or their share; all rows count in the machines. "auto" learns
        from all up to 2,500 rows, beyond from a sample that grows while held-out rows gain. None
        takes all rows.
    random_state : int, RandomState or None, default=None
        Draws held-out rows, landmarks, and what learning draws.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration of the fits that make the metric; a
        true answer stops them, and leaves a usable metric.
    verbose : bool, default=False
        Write a line for each iteration to standard error.
    n_jobs : int, optional
        Number of threads of a search; the answer does not depend on it.

    Attributes
    ----------
    part_weights_, part_shares_ : dict of float
        The weight of each part that counts, and its share in the spread of the scores.
    metric_ : CurvedMetric, MixedMetric, ProductMetric or None
        The metric, of ranks where ``columns_`` is "ranks"; None where no part needs one.
    learner_ : estimator or None
        The fitted learner; None with a ready-made metric.
    columns_ : {"standardised", "ranks"}
    target_scale_ : str, or list of str where there are several targets
        The scale on which the numbers are modelled.
    selection_ : Selection
        How each part did alone, and all together, on held-out rows.
    n_neighbors_ : dict of int
        Neighbours that vote, or are averaged, by part.
    log_marginal_likelihood_ : float
        Of the class indicators, or the standardised targets, as Gaussian processes with the
        covariance of the first kernel part, their variance the best; NaN with landmarks, or without
        a kernel part.
    n_samples_fit_, n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,), where the columns of X have names
    encoder_ : TableEncoder, Gaps or None
        How text, categories, dates and gaps of X became numbers; None for numbers without gaps.

    Notes
    -----
    Standard deviations are those of the Gaussian processes, averaged over the kernel parts, times
    one factor for each target, such that squared errors of held-out rows are right on average.
    :meth:`predict_interval` takes quantiles of these errors instead of those of a normal
    distribution. Without held-out rows (fewer than three), the factor is the standard deviation of
    the targets. Intervals are carried back from the scale of the targets, so they need not be
    symmetric; no prediction is below 0, or above 1, where no fitted target is beyond. For γ, λ, folds and many rows see :class:`CurvedKernelClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(400, random_state=0)
    >>> model = CurvedKernelRegressor(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.85)
    True
    >>> mean, std = model.predict(X[:3], return_std=True)
    >>> mean.shape, bool((std > 0).all())
    ((3,), True)
    >>> model.explain(X[0]).columns.shape, bool(model.feature_weights().argmax() < 5)
    ((10,), True)
    >>> distances, rows = model.kneighbors(X[:1], n_neighbors=2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "target_scale": [StrOptions({"auto", *scales.SCALES})],
    }

    def __init__(
        self,
        parts: Any = USUAL_PARTS,
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: Metric | None = None,
        columns: str = "auto",
        target_scale: str = "auto",
        gamma: float | None = None,
        ridge: float | None = None,
        n_neighbors: int | str = "auto",
        n_landmarks: int | str = "auto",
        subsample: int | float | str | None = "auto",
        random_state: Any = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            parts,
            geometry=geometry,
            learner=learner,
            metric=metric,
            columns=columns,
            gamma=gamma,
            ridge=ridge,
            n_neighbors=n_neighbors,
            n_landmarks=n_landmarks,
            subsample=subsample,
            random_state=random_state,
            callback=callback,
            verbose=verbose,
            n_jobs=n_jobs,
        )
        self.target_scale = target_scale

    def _answer_for(self, given: GivenRows, n_places: int, seed: int) -> Numbers:
        found = scales.scales_of(self.target_scale, given, np.random.default_rng(seed))
        Y = given.target.reshape(len(given.target), -1)
        return Numbers.standardising(Y, given.weights, found)

    def _keep(self, given: GivenRows, found: SumFit) -> None:
        super()._keep(given, found)
        kinds = [scale.kind for scale in self._numbers.scales]
        self.target_scale_ = kinds[0] if given.target.ndim == 1 else kinds

    def _judge(self, held_out: HeldOut | None) -> None:
        """Keep the errors of held-out rows, in units of their standard deviations."""
        n_targets = len(self._numbers.mean)
        self._errors = np.ones((1, n_targets))
        self._error_shares = np.ones(1)
        self._judged = held_out is not None
        if held_out is not None:
            total = sum(w * held_out.scores[name] for name, w in self.part_weights_.items())
            self._errors = (held_out.truth - total) / held_out.spreads[:, None]
            self._error_shares = held_out.shares

    @property
    def _numbers(self) -> Numbers:
        return cast(Numbers, self._sum.answer)

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return predicted numbers (m,) or (m, n_targets), or these and their standard deviations.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d)
        return_std : bool, default=False
            Also return the standard deviation of a new target at each row; rows in memory only.
        """
        rows = self._checked(X)
        total = self._sum.total(rows)
        found = self._shaped(self._numbers.says(total))
        if not return_std:
            return found
        factor = np.sqrt(self._error_shares @ self._errors**2)
        deviations = self._numbers.deviations(total, self._spreads(rows) * factor)
        return found, self._shaped(deviations)

    def predict_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends, low and high, of intervals that hold a new target with a probability.

        The prediction, plus and minus the standard deviation at the row times the quantile of what
        this ratio was on held-out rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
        level : float, default=0.95
            The probability, between 0 and 1.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = CurvedKernelRegressor(random_state=0).fit(X[::2], y[::2])
        >>> low, high = model.predict_interval(X[1::2], 0.8)
        >>> bool(0.7 < ((low < y[1::2]) & (y[1::2] < high)).mean() < 0.9)
        True
        """
        value = as_real(level, "level")
        expect(0 < value < 1, "level", level, "a number between 0 and 1")
        rows = self._checked(X)
        if not isinstance(rows, np.ndarray):
            raise InvalidInputError("Intervals are for rows in memory; pass X.compute().")
        sizes = [quantile(errors, self._error_shares, value) for errors in np.abs(self._errors).T]
        half = self._spreads(rows) * sizes
        middle = self._sum.total(rows)
        low, high = self._numbers.says(middle - half), self._numbers.says(middle + half)
        return self._shaped(low), self._shaped(high)

    def _spreads(self, rows: Any) -> Floats:
        """Return standard deviations (m, 1) of sums of scores, in units of those of held-out rows."""
        spreads = self._sum.spreads(rows) if self._judged else np.ones(len(rows))
        return np.asarray(spreads[:, None])

    def explain(self, X: ArrayLike, target: int = 0) -> Any:
        """Say which rows and columns raise and lower the prediction.

        Parameters
        ----------
        X : array-like of shape (d,) for one KernelExplanation, or (m, d) for a list of them
            Effects are differences to the mean of the targets.
        target : int, default=0
            Which target to explain, where there are several.
        """
        answer = self._numbers
        kind = answer.scales[target].kind
        unit = {
            scales.AS_GIVEN: "the target",
            scales.LOGARITHM: "the logarithm of the target",
            scales.NORMAL_SCORES: "the normal score of the target",
        }[kind]

        def explain(row: Floats) -> KernelExplanation:
            return explain_sum(
                self._sum,
                row,
                np.eye(len(answer.unit))[target] * answer.unit,
                self._reference,
                self._by_column,
                prediction=float(answer.says(self._sum.total(row[None]))[0, target]),
                unit=unit,
                labels=self._given.target.reshape(len(self._given.target), -1)[:, target],
            )

        return self._one_or_more(X, lambda rows: [explain(row) for row in rows])


def quantile(values: Floats, shares: Floats, level: float) -> float:
    """Return the least value that a share `level` of new ones is not above, by weighted values.

    One more value, infinitely large but counted as the largest, makes it right for new rows.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(shares[order]) * len(values) / (len(values) + 1)
    place = min(int(np.searchsorted(reached, level)), len(values) - 1)
    return float(values[order][place])
