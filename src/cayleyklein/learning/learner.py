"""Bases of the learners: what all do with their metric, and how those from rows fit."""

import sys
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _distributed, _estimators
from cayleyklein import _validation as checks
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyFloats, Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.learning import descent, samples
from cayleyklein.learning.objectives.lifted import LiftedRows, Parameters
from cayleyklein.learning.rows import GivenRows, TrainingRows
from cayleyklein.metrics import CurvedMetric, FormMetric, Metric, MixedMetric, combined
from cayleyklein.neighbors.dask_shards import Blocks


class ReportsProgress(_estimators.CallbackSupport):
    """Base of estimators that tell how far they are."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "callback": [callable, None],
        "verbose": ["verbose", "boolean"],
    }


class LearnsFromRows(_estimators.TakesSparse, ReportsProgress):
    """Base of estimators that learn a metric from rows, perhaps from a sample of them."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "subsample": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"auto"}),
            None,
        ],
        "random_state": ["random_state"],
    }


class MetricLearner(
    ReportsProgress,
    EstimatorCard,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Base of the learners: maps rows by the metric, and answers for pairs.

    Examples
    --------
    >>> from cayleyklein import MMC
    >>> X, y = [[0.0, 0.0], [0.2, 5.0], [1.0, 0.0], [1.2, 5.0]], [0, 0, 1, 1]
    >>> learner = MMC().fit(X, y)
    >>> pairs = [[[0.0, 0.0], [0.2, 5.0]], [[0.0, 0.0], [1.0, 0.0]]]
    >>> near, far = learner.pair_distance(pairs)
    >>> bool(near < far), bool((learner.pair_score(pairs) == [-near, -far]).all())
    (True, True)
    >>> learner.get_metric()
    CurvedMetric(flat, d=2, K=0)
    >>> learner.get_mahalanobis_matrix().shape, learner.transform([[0.0, 0.0]]).shape
    ((2, 2), (1, 2))
    >>> learner.fit_transform(X, y).shape
    (4, 2)
    """

    geometry: str
    init: Any
    n_components: int | None
    max_iter: int | str
    random_state: Any
    callback: Callable[[descent.Progress], bool | None] | None
    verbose: bool
    metric_: Metric

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "init": [StrOptions(descent.START_NAMES - {"lda"}), CurvedMetric, "array-like"],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "random_state": ["random_state"],
    }

    def transform(self, X: ArrayLike) -> AnyFloats:
        """Map rows to coordinates for methods that use Euclidean distances.

        Flat, elliptic and product metrics: Euclidean distance has exactly the metric's order.
        Hyperbolic and mixed metrics: tangent coordinates at the centre, parts side by side, which
        keep the order approximately (docs/learning.md says how well); rows outside the domain are
        put just inside its boundary. A Dask array or dataframe (n, d) gives a lazy Dask array.
        """
        check_is_fitted(self, "metric_")
        if not _estimators.is_dask(X):
            dtypes = [np.float64, np.float32]
            given: AnyFloats = _estimators.check_data(self, X, dtype=dtypes, reset=False)
            return embedded(given, self.metric_, given.dtype)
        _distributed.check_columns(self, X, reset=False)
        rows = Blocks.of_dask(X, self.metric_.dimension)
        dtype = checks.float_dtype(_distributed.meta_of(X, "X"))
        tasks = [(_distributed.task(embedded, some, self.metric_, dtype),) for some in rows.tasks]
        (found,) = Blocks(tasks, rows.lengths).lazy(((self._n_features_out,), dtype))
        return cast(AnyFloats, found)

    @property
    def _n_features_out(self) -> int:
        return int(self.metric_.embed(np.zeros((1, self.metric_.dimension))).shape[1])

    def pair_distance(self, pairs: ArrayLike) -> AnyFloats:
        """Return the distances of pairs (n, 2, d) of rows; inf outside a hyperbolic domain."""
        check_is_fitted(self, "metric_")
        rows = as_tuples(pairs, "pairs", 2, self.metric_.dimension)
        with checks.about("pairs"):
            return self.metric_.distance(rows[:, 0], rows[:, 1], outside="inf")

    def pair_score(self, pairs: ArrayLike) -> AnyFloats:
        """Return minus the distances of pairs: the larger, the more alike."""
        return -self.pair_distance(pairs)

    def get_metric(self) -> Metric:
        """Return the metric, a callable of two points."""
        check_is_fitted(self, "metric_")
        return self.metric_

    def get_mahalanobis_matrix(self) -> Floats:
        """Return Σ of a flat metric."""
        metric = self.get_metric()
        if metric.geometry != "flat" or not isinstance(metric, CurvedMetric):
            raise NotRepresentableError(
                f"The {metric.geometry} metric is not a Mahalanobis distance; metric_.form is the "
                f'matrix of a curved one, and geometry="flat" learns a flat one.'
            )
        return metric.matrix

    def _check_columns(self, n: int, d: int) -> None:
        if self.n_components is not None and self.n_components > d:
            raise InvalidInputError(
                f"Got n_components={self.n_components}, but X has only {d} columns."
            )
        r = min(n, d)
        # arrays of the size of a factor, and of a covariance
        needed = 8.0 * (24 * min(self.n_components or r, r) * d + 3 * r * r)
        if needed > 1e9:
            advice = "Reduce the columns first, by PCA for example."
            checks.check_memory(needed, f"Learning a metric of {d:,} columns", advice)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _generator(self) -> np.random.Generator:
        random = check_random_state(self.random_state)
        return np.random.default_rng(random.randint(np.iinfo(np.int32).max))

    def _start(self, rows: TrainingRows, recipe: descent.Recipe) -> Parameters | None:
        """Return a start that was given, for standardised rows and the geometry's K."""
        if isinstance(self.init, str):
            return None
        metric = self._init_metric(rows)
        if self.n_components is not None and self.n_components != len(metric.factor):
            raise InvalidInputError(
                f"Got n_components={self.n_components}, but init has a factor of "
                f"{len(metric.factor)} rows."
            )
        start = rows.from_metric(metric)
        if self.geometry != "learned":
            K, given = start.curvature, descent.CURVATURES[recipe.geometry]
            unit = np.sqrt(abs(K)) if K and given else 1.0  # recipes have |K| = 1
            start = Parameters(unit * start.factor, start.center, given)
        if not LiftedRows(rows.X, start).inside:
            raise InvalidInputError(
                f"init leaves rows of X outside the domain of a {recipe.geometry} metric; shrink "
                f"its factor."
            )
        return start

    def _init_metric(self, rows: TrainingRows) -> Any:
        """Return the metric that was given as init, for the columns of X."""
        metric = self.init
        if not isinstance(metric, CurvedMetric | FormMetric):
            with checks.about("init"):
                metric = CurvedMetric(factor=metric)
        checks.refuse_huge(metric.factor, "init")
        if metric.dimension != len(rows.mean):
            raise InvalidInputError(
                f"init is for {metric.dimension} columns, but X has {len(rows.mean)}."
            )
        return metric

    def _report(self) -> descent.Report | None:
        """Return what each iteration calls; once told to stop, every later fit stops at once."""
        if self.callback is None and not self.verbose and _estimators.FIT_TASK.get() is None:
            return None
        stop = False

        def report(progress: descent.Progress) -> bool:
            nonlocal stop
            if self.verbose:
                sys.stderr.write(
                    f"[{type(self).__name__}] {progress.part}: pass {progress.n_pass}, iteration "
                    f"{progress.iteration}, loss {progress.loss:.6g}\n"
                )
            if self.callback is not None and not stop:
                stop = bool(self.callback(progress))
            stop = _estimators.tell_iteration() or stop
            return stop

        return report

    def _keep(self, metric: Metric, fits: descent.Fits) -> None:
        parts = [part for part, _ in combined.terms_of(metric)]
        self.metric_ = metric
        self.geometry_ = metric.geometry
        self.curvature_ = np.array([part.curvature for part in parts])
        if isinstance(metric, MixedMetric):
            self.alpha_ = float(metric.weights[0])
        self.components_ = np.vstack([part.factor[:, : part.dimension] for part in parts])
        self.loss_history_ = [losses for fit in fits for losses in fit.losses]
        # each pass begins with the loss before its first iteration
        n_iter = sum(map(len, self.loss_history_)) - len(self.loss_history_)
        self.n_iter_ = max(1, n_iter)
        self._warn_if_unfinished(fits)

    def _warn_if_unfinished(self, fits: descent.Fits) -> None:
        if self.max_iter != "auto" and not all(fit.converged or fit.stopped for fit in fits):
            checks.warn_caller(
                f"The loss still falls after max_iter={self.max_iter} iterations a pass: "
                f"{fits[-1].losses[-1][-1]:.6g} now. Raise max_iter, or leave it out: the default "
                f"stops early on purpose.",
                ConvergenceWarning,
            )

    def _given(self, *names: str) -> dict[str, Any]:
        """Return the parameters of a recipe that are not "auto"; a metric as init starts it."""
        given = {}
        for name in names:
            value = getattr(self, name)
            if name == "init" and not isinstance(value, str):
                value = "std"
            if value != "auto":
                given[name] = value
        return given


class RowLearner(LearnsFromRows, MetricLearner):
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_passes": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }
    _numeric: ClassVar[bool]
    _part_size: ClassVar[str] = "geometry"  # parameter that each part of a product has for itself
    alpha: float | str
    subsample: int | float | str | None

    @_estimators.restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
            Rows. Of Dask rows a sample is drawn into memory and learned from.
        y : array-like or Dask collection of shape (n,)
            Class of each row; for :class:`CurvedMLKR` numbers, also of shape (n, n_targets).
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows' terms in the loss; 0 leaves a row out, 2 counts it twice. A common
            factor of all weights changes nothing.
        """
        self._check_parameters()
        given = GivenRows.read(self, X, y, sample_weight, numeric=self._numeric, least_rows=2)
        rng = self._generator()
        size = samples.LEARN_FROM if isinstance(self.subsample, str) else self.subsample
        rows = self._training_rows(given, size, rng)
        with _estimators.few_threads(*rows.X.shape):
            metric, fits = self._learn(rows, rng)
        self._keep(metric, fits)
        self._keep_given(given, len(rows))
        return self

    def _keep_given(self, given: GivenRows, n_learned: int) -> None:
        self.n_samples_learned_ = n_learned
        if given.classes is not None:
            self.classes_ = given.classes

    def _check_parameters(self) -> None:
        if self.geometry == "auto":
            raise InvalidInputError(
                'geometry="auto" compares metrics on held-out rows, as CurvedKNeighborsClassifier '
                'and CurvedKNeighborsRegressor do; a learner learns one: take geometry="product".'
            )
        _estimators.check_parameters(self)
        if self.geometry in ("product", "mixed") and not isinstance(self.init, str):
            raise InvalidInputError(
                f"Got a metric as init with geometry={self.geometry!r}, which learns several "
                f"metrics; give one geometry, or a start by name."
            )
        name = self._part_size
        if self.geometry == "product" and getattr(self, name) not in ("auto", "product"):
            raise InvalidInputError(
                f'Got {name}={getattr(self, name)!r} with geometry="product", whose parts have '
                f"{name}s of their own; drop it, or give one geometry."
            )

    def _recipes(self) -> tuple[descent.Recipe, ...]:
        raise NotImplementedError

    def _training_rows(self, given: GivenRows, size: Any, rng: np.random.Generator) -> TrainingRows:
        raise NotImplementedError

    def _labelled_rows(self, drawn: GivenRows, *, turn: bool) -> TrainingRows:
        seen = np.unique(drawn.target)
        if len(seen) < 2:
            assert drawn.classes is not None
            raise InvalidInputError(
                f"y has 1 class in rows of positive weight, {drawn.classes[seen].tolist()}; "
                f"learning a metric needs two or more."
            )
        X = cast(Floats, drawn.X)
        return TrainingRows.from_raw(X, drawn.target, drawn.weights, turn=turn)

    def _learn(self, rows: TrainingRows, rng: np.random.Generator) -> tuple[Metric, descent.Fits]:
        if self.geometry == "mixed":
            mixing = self._learn_mixed(rows, rng)
            if isinstance(self.alpha, str):
                return mixing.balanced(0.5), mixing.fits
            return mixing.metric(float(self.alpha)), mixing.fits
        recipes = self._recipes()
        start = self._start(rows, recipes[0])
        begun: descent.Fits = ()
        if start is None:
            (rows,) = descent.focus(recipes[0].init, rows)
        else:
            begun = (descent.Fit(recipes[0], start, [], converged=False),)
        self._warn_if_long(rows)
        fits = descent.descend_parts(rows, recipes, rng, self._report(), begun)
        if self.geometry == "product":
            return descent.product_of(rows, fits), fits
        return rows.to_metric(fits[0].found), fits

    def _warn_if_long(self, rows: TrainingRows) -> None:
        """Warn before a fit of minutes, where a learner knows how long it takes."""

    def _learn_mixed(self, rows: TrainingRows, rng: np.random.Generator) -> descent.Mixing:
        """Learn an elliptic and a hyperbolic metric, each by itself."""
        recipes = self._recipes()
        self._warn_if_long(rows)
        (rows,) = descent.focus(recipes[0].init, rows)
        fits = descent.descend_parts(rows, recipes, rng, self._report(), keep_all=True)
        metrics = tuple(rows.to_metric(fit.found) for fit in fits)
        units = tuple(descent.part_unit(rows, fit.found) for fit in fits)
        return descent.Mixing(metrics, units, fits)

    def _mixing_choice(self) -> descent.MixingChoice:
        """Return what held-out rows choose between in a mixed metric."""
        if isinstance(self.alpha, str):
            return descent.MixingChoice((0.5, 0.25, 0.75, 0.1, 0.9), in_units=True)
        return descent.MixingChoice((float(self.alpha),), in_units=False)


def as_tuples(tuples: ArrayLike, name: str, size: int, d: int | None = None) -> Floats:
    rows = checks.as_points(tuples, name)
    if rows.ndim != 3 or rows.shape[1] != size:
        hint = " For indices of rows X, pass X[indices]." if rows.ndim == 2 else ""
        raise InvalidInputError(
            f"{name} must be rows of shape (n, {size}, d); got shape {rows.shape}.{hint}"
        )
    return checks.as_points(rows, name, d)


def embedded(rows: AnyFloats, metric: Metric, dtype: Any) -> AnyFloats:
    rows = np.ascontiguousarray(rows, dtype=np.float64)  # BLAS may round differently by layout
    return metric.embed(rows).astype(dtype, copy=False)
