"""The regressors: by the nearest neighbours in a learned metric, and by sums of all parts."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils._param_validation import StrOptions

from cayleyklein._estimators import restore_on_error
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import mlkr
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric
from cayleyklein.neighbors import algorithms, curved_neighbors, search
from cayleyklein.neighbors.dask_shards import Blocks
from cayleyklein.parts import votes
from cayleyklein.parts.base import AnyQueries, numbers_of
from cayleyklein.prediction import conformal, scales, strangers
from cayleyklein.prediction.answers import Numbers
from cayleyklein.prediction.explain import KernelExplanation, Told, explain_sum
from cayleyklein.prediction.kernel_predictor import KernelPredictor
from cayleyklein.prediction.neighbor_predictor import NeighborPredictor
from cayleyklein.prediction.predicting import Predicting
from cayleyklein.prediction.rehearsal import NumberTrials
from cayleyklein.prediction.sums import SumFit
from cayleyklein.prediction.suspicious import Suspicion, suspicious_numbers


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

    def _suspicious_among(self, X: Any, known: Ints, target: AnyArray) -> Suspicion:
        said = self._left_out_and_new(X, known, cast(Any, self).predict)
        fitted = self._left_out_errors()
        near = self._neighbors_without(X, known, min(conformal.AROUND, len(fitted) - 1))
        errors = self._on_scale(target) - self._on_scale(said)
        size = root_mean_square(errors / conformal.errors_around(fitted, near))
        own = self._own_neighbors(near.shape[1])
        usual = root_mean_square(fitted / conformal.errors_around(fitted, own))
        wrong, sure = suspicious_numbers(size, usual)
        return Suspicion(np.flatnonzero(wrong), self._shaped(said), sure, size)

    def _left_out_errors(self) -> Floats:
        """Return the errors (n, t) of left-out answers, on the scale on which targets are."""
        said = self._left_out_answers()
        return self._on_scale(self._given.target) - self._on_scale(said)

    def _on_scale(self, numbers: AnyArray) -> Floats:
        """Return numbers (m, t) on the scale on which errors are judged."""
        return np.asarray(numbers.reshape(len(numbers), -1), dtype=np.float64)

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
        Number of neighbours that are averaged; equal rows in memory are one neighbour with their
        mean target and the weight of all of them. "auto" is the number with the least squared error
        on held-out rows, or of leaving one row out with a single geometry; 9 with a metric or a
        frozen learner.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned"}, default="auto"
        Geometry of the metric to learn, see :class:`CurvedMLKR`. "auto" learns the product, and
        keeps it unless plain neighbours, in standardised or unscaled columns, do as well on
        held-out rows.
    learner : estimator, optional
        Estimator that learns the metric, such as ``CurvedLMNN(margin=0.1)``, or
        ``CurvedMLKR(n_components=2)`` from numbers; it is cloned and fitted. Wrap a fitted one in
        scikit-learn's ``FrozenEstimator`` to use it as it is.
    metric : CurvedMetric, FormMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    weights : {"linear", "uniform", "distance"} or callable, default="linear"
        Weight of each neighbour in the mean: 1 - d_i/d_{k+1} ("linear"), 1 ("uniform"), 1/d_i
        ("distance"), or a function of the distances (m, k) that returns a weight for each. All
        neighbours of a query outside a hyperbolic domain are infinitely far, and count the same.
    subsample : int, float, "auto" or None, default="auto"
        Number of rows to learn the metric from, or their share; all rows vote. "auto" takes at most
        10,000 for a single geometry; for "auto" and "product" the sample doubles from 8,000 rows on
        until held-out rows show no gain (``selection_.stages``). None takes all rows.
    algorithm : {"auto", "brute", "tree", "vantage"}, default="auto"
        How neighbours are searched: "auto" (probes the fitted rows), "brute", "tree" (k-d tree) or
        "vantage" (vantage point tree).
    outside : {"extend", "raise"}, default="extend"
        Queries outside a hyperbolic domain: "extend" ranks the fitted rows for them, all infinitely
        far; "raise" is an error that names them.
    random_state : int, RandomState or None, default=None
        Seed of the held-out rows and of the learner.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration of learning the metric. If it returns
        true, learning stops and keeps the metric found so far.
    verbose : bool, default=False
        Whether to write a line for each iteration to standard error.
    n_jobs : int, optional
        Number of threads of a search; the answer does not depend on it.

    Attributes
    ----------
    metric_ : CurvedMetric, MixedMetric or ProductMetric
        Metric of the encoded rows.
    n_neighbors_ : int
        Number of neighbours that are averaged.
    learner_ : estimator or None
        The fitted learner; None with a ready-made metric.
    selection_ : Selection or None
        What was tried on held-out rows, what was chosen and why; None with a given learner or
        metric.
    algorithm_used_ : str
        Algorithm of the search: "brute", "tree" or "vantage".
    n_samples_fit_, n_features_in_ : int
        Numbers of rows and columns of the fitted X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.
    encoder_ : TableEncoder, Gaps or None
        How text, categories, dates and gaps of X became numbers; None for numbers without gaps.
    feature_importances_ : ndarray of shape (d,)
        The share of each column in the answers, see :meth:`feature_weights`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(400, random_state=0)
    >>> model = CurvedKNeighborsRegressor(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.7)
    True
    >>> model.metric_.geometry, bool(model.feature_weights().argmax() < 5)
    ('product', True)

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
        outside: curved_neighbors.OutsideQueries = "extend",
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
            Rows to add.
        y : array-like of shape (n,) or (n, n_targets)
            Targets of the rows.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows in the mean.

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
        k = search.number_of_neighbors(self, own=X is None)
        return cast(Floats, self._shaped(self._answers(search.checked_queries(self, X), k)))

    def predict_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of prediction intervals for new targets.

        The prediction, plus and minus the errors around the row times a factor: a share `level` of
        the fitted rows, each held out, has its target within such an interval. The errors around a
        row are the mean of those of its 15 nearest rows and of all rows. A learned metric is
        learned three times more for them, once: each time without a third of the rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.
        level : float, default=0.95
            Probability that an interval holds the target, between 0 and 1.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = CurvedKNeighborsRegressor(random_state=0).fit(X[::2], y[::2])
        >>> low, high = model.predict_interval(X[1::2], 0.8)
        >>> bool(0.7 < ((low < y[1::2]) & (y[1::2] < high)).mean() < 0.9)
        True
        """
        value = conformal.as_level(level)
        rows = self._numbers_of(X)
        k = min(conformal.AROUND, self.n_samples_fit_ - 1)
        if k < 1:
            raise InvalidInputError("Intervals need two fitted rows, or more; there is one.")
        self._rows_in_memory()
        errors = self._on_scale(self._given.target) - self._held_out_answers()
        ratios = errors / conformal.errors_around(errors, self._own_neighbors(k))
        kept = self._given.weights > 0
        shares = self._given.weights[kept] / self._given.weights[kept].sum()
        around = conformal.errors_around(errors, self._votes.neighbors_of(rows, k)[1])
        half = conformal.half_widths(around, ratios[kept], shares, value)
        middle = self._answers(rows, search.number_of_neighbors(self))
        return self._shaped(middle - half), self._shaped(middle + half)


class CurvedKernelRegressor(NumberPredictor, KernelPredictor):
    """Predict numbers by kernel machines in a learned curved metric and in columns, and neighbours.

    Parts predict, and a weighted sum of the predictions is learned on held-out rows.
    Columns and targets need no scaling.

    - "metric": ridge regression in the kernel exp(-γ d), d the learned metric: the mean of a
      Gaussian process with the exponential covariance of a curved space;
    - "columns": the same in exp(-γ Σⱼ cⱼ|xⱼ - yⱼ|), columns weighted by how well they predict;
    - "ranks": the same of normal scores of the columns' ranks, which suits heavy tails;
    - "neighbors": the mean of the nearest rows in the metric;
    - "plain": the mean of the nearest rows in standardised columns.

    Parameters
    ----------
    parts : "auto", str, estimator, or sequence of these, default="auto"
        Parts to add: "metric" and "columns", kernels in the learned metric and in weighted columns;
        "ranks", a kernel in the ranks of columns; "neighbors" and "plain", votes in the metric and
        in standardised columns; "rules", boosted trees; any regressor with `predict`, or
        ``(name, estimator)``. It sees the rows as numbers, or as ``(name, estimator, "table")`` the
        table as it is. Held-out rows say how much each part counts, and those that do not help are
        dropped. "auto" adds "metric", "columns", "neighbors", "plain", and from 300 rows on
        "rules".
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned"}, default="auto"
        Geometry of the metric to learn, see :class:`CurvedMLKR`. "auto" is the product.
    learner : estimator, optional
        Estimator that learns the metric, such as ``CurvedLMNN(margin=0.1)``, or
        ``CurvedMLKR(n_components=2)`` from numbers; it is cloned and fitted. Wrap a fitted one in
        scikit-learn's ``FrozenEstimator`` to use it as it is.
    metric : CurvedMetric, FormMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    columns : {"auto", "standardised", "ranks"}, default="auto"
        What the parts see: "standardised", columns in units of their standard deviations; "ranks",
        normal scores of their ranks, at most 3 either way, for all parts. "auto" adds the part
        "ranks" to "columns" if a column has a value more than five standard deviations from its
        mean, and takes ranks for all parts if this part alone is clearly better than "columns".
    target_scale : {"auto", "as given", "logarithm", "normal scores"}, default="auto"
        Scale on which numbers are modelled; predictions are carried back. "auto" is "as given"
        unless targets are skewed and another scale surely has smaller absolute errors on rows left
        out, in the unit of the targets. On another scale predictions are nearer to medians than to
        means.
    gamma : float, optional
        Rate γ > 0 of both kernels, times the median distance between rows. By default, for each
        kernel, the one from 0.1 to 3 that predicts left-out rows best.
    ridge : float, optional
        Ridge penalty λ > 0. By default, for each kernel, the one from 0.001 to 30 that predicts
        left-out rows best.
    n_neighbors : int or "auto", default="auto"
        Number of neighbours that are averaged. "auto" is the number with the least squared error on
        held-out rows.
    n_landmarks : int or "auto", default="auto"
        Number of rows that give a machine of many rows its global shape. "auto" takes none up to
        6,000 distinct rows, for which machines are exact, and 250 to 500 of more rows, beside an
        exact machine in each leaf of rows.
    subsample : int, float, "auto" or None, default="auto"
        Number of rows to learn the metric from, or their share; the machines use all rows. "auto"
        takes at most 4,000, None takes all.
    random_state : int, RandomState or None, default=None
        Seed of the held-out rows, the landmarks and the learner.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration of learning the metric. If it returns
        true, learning stops and keeps the metric found so far.
    verbose : bool, default=False
        Whether to write a line for each iteration to standard error.
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
        What the parts see.
    target_scale_ : str
        Scale on which the numbers are modelled; a list if there are several targets.
    selection_ : Selection
        Held-out score of each part and of their sum.
    n_neighbors_ : dict of int
        Number of neighbours that are averaged, by part.
    log_marginal_likelihood_ : float
        Log marginal likelihood of the standardised targets as Gaussian processes with the
        covariance of the first kernel part and the variance that fits best; NaN with landmarks, or
        without a kernel part.
    n_samples_fit_, n_features_in_ : int
        Numbers of rows and columns of the fitted X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.
    encoder_ : TableEncoder, Gaps or None
        How text, categories, dates and gaps of X became numbers; None for numbers without gaps.
    feature_importances_ : ndarray of shape (d,)
        The share of each column in the answers, see :meth:`feature_weights`.

    Notes
    -----
    Standard deviations are those of the Gaussian processes, averaged over the kernel parts, times
    one factor for each target, such that squared errors of held-out rows are right on average.
    :meth:`predict_interval` takes quantiles of these errors instead of those of a normal
    distribution. Without held-out rows (fewer than three), the factor is the standard deviation of
    the targets. Intervals are carried back from the scale of the targets, so they need not be
    symmetric. No prediction is below 0, or above 1, where no fitted target is. For γ, λ, folds and
    many rows see :class:`CurvedKernelClassifier`.

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
        "target_scale": [StrOptions({"auto", *scales.TARGET_SCALES})],
    }

    def __init__(
        self,
        parts: Any = "auto",
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

    def _on_scale(self, numbers: AnyArray) -> Floats:
        """Return numbers (m, t), or their logarithms where these are modelled.

        On the scale of normal scores no error would be large.
        """
        found = np.array(numbers.reshape(len(numbers), -1), dtype=np.float64)
        for target, scale in enumerate(self._numbers.scales):
            if scale.kind == scales.LOGARITHM:
                found[:, target] = scale.modelled(found[:, target])
        return found

    def _keep(self, given: GivenRows, found: SumFit) -> None:
        super()._keep(given, found)
        kinds = [scale.kind for scale in self._numbers.scales]
        self.target_scale_ = kinds[0] if given.target.ndim == 1 else kinds
        # errors of held-out rows, in units of their standard deviations
        self._errors = np.ones((1, len(kinds)))
        self._error_shares = np.ones(1)
        held_out = found.held_out
        self._judged = held_out is not None
        if held_out is not None:
            total = sum(w * held_out.scores[name] for name, w in self.part_weights_.items())
            self._errors = (held_out.truth - total) / held_out.spreads[:, None]
            self._error_shares = held_out.shares

    @property
    def _numbers(self) -> Numbers:
        return cast(Numbers, self._sum.answer)

    def predict(self, X: ArrayLike | None, return_std: bool = False) -> Any:
        """Return predicted numbers (m,) or (m, n_targets), or these and their standard deviations.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None
            With None, the fitted rows, each by the folds that it was held out of; also in
            ``score``. Beyond 2,500 distinct rows the model is then fitted three times more, once.
            Answers for a Dask collection are lazy.
        return_std : bool, default=False
            Whether to return the standard deviation of a new target at each row too; for rows in
            memory that are not the fitted ones.
        """
        if X is None and not return_std:
            return self._shaped(self._numbers.says(self._left_out_totals()))
        if X is None:
            raise InvalidInputError("return_std=True needs rows X; it is None.")
        rows = self._checked(X)
        total = self._sum.total(rows)
        found = self._shaped(self._numbers.says(total))
        if not isinstance(rows, Blocks):
            trust = self._known_rows.trust(numbers_of(rows))
            strangers.warn_of_strangers(trust, drawn=False)
        if not return_std:
            return found
        factor = np.sqrt(self._error_shares @ self._errors**2)
        deviations = self._numbers.deviations(total, self._spreads(rows) * factor)
        return found, self._shaped(deviations)

    def predict_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of prediction intervals for new targets.

        The prediction, plus and minus the standard deviation at the row times the quantile of what
        this ratio was on held-out rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.
        level : float, default=0.95
            Probability that an interval holds the target, between 0 and 1.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = CurvedKernelRegressor(random_state=0).fit(X[::2], y[::2])
        >>> low, high = model.predict_interval(X[1::2], 0.8)
        >>> bool(0.7 < ((low < y[1::2]) & (y[1::2] < high)).mean() < 0.9)
        True
        """
        value = conformal.as_level(level)
        rows = self._checked(X)
        if isinstance(rows, Blocks):
            raise InvalidInputError("Intervals are for rows in memory; pass X.compute().")
        spreads = self._spreads(rows)
        half = conformal.half_widths(spreads, self._errors, self._error_shares, value)
        strangers.warn_of_strangers(self._known_rows.trust(numbers_of(rows)), drawn=False)
        middle = self._sum.total(rows)
        low, high = self._numbers.says(middle - half), self._numbers.says(middle + half)
        return self._shaped(low), self._shaped(high)

    def _spreads(self, rows: Any) -> Floats:
        """Return standard deviations (m, 1) of sums, in units of those of held-out rows."""
        spreads = self._sum.spreads(rows) if self._judged else np.ones(len(rows))
        return np.asarray(spreads[:, None])

    def explain(self, X: ArrayLike, target: int = 0) -> Any:
        """Explain predictions by the rows and columns that raise and lower them.

        Parameters
        ----------
        X : array-like of shape (d,) or (m, d)
            One row gives a KernelExplanation, several give :class:`Explanations`, a list of them.
            Effects are differences from the mean of the targets.
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

        def explain(rows: AnyQueries) -> list[KernelExplanation]:
            direction = np.eye(len(answer.unit))[target] * answer.unit
            predicted = answer.says(self._sum.total(rows))[:, target].tolist()
            strange = self._known_rows.quantiles(numbers_of(rows)).tolist()
            told = [
                Told(prediction, unit, direction, None, strangeness)
                for prediction, strangeness in zip(predicted, strange, strict=True)
            ]
            labels = self._given.target.reshape(len(self._given.target), -1)[:, target]
            by_column = partial(entrance.by_column, self)
            return explain_sum(self._sum, rows, told, self._reference, by_column, labels)

        return self._one_or_more(X, explain)


def root_mean_square(values: Floats) -> Floats:
    """Return the root of the mean square (m,) of values (m, t)."""
    return np.asarray(np.sqrt((values**2).mean(axis=1)))
