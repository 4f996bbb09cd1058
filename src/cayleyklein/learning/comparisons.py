"""Learning a metric from tuples of rows, given as rows or as indices of a preprocessor."""

from numbers import Real
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _validation as checks
from cayleyklein._estimators import as_weights, check_parameters, restore_on_error
from cayleyklein._typing import AnyFloats, Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import descent, learner
from cayleyklein.learning.objectives.comparisons import ComparisonRecipe, Comparisons, compared_rows
from cayleyklein.learning.rows import TrainingRows


class TupleLearner(learner.MetricLearner):
    name: ClassVar[str]
    size: ClassVar[int]
    margin: float
    preprocessor: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions({"flat", "elliptic", "hyperbolic", "learned"})],
        "margin": [Interval(Real, 0, 1, closed="neither")],
        "preprocessor": ["array-like", None],
    }

    def __init__(
        self,
        *,
        geometry: str = "elliptic",
        margin: float = 0.5,
        init: Any = "auto",
        n_components: int | None = None,
        max_iter: int | str = "auto",
        preprocessor: Any = None,
        random_state: Any = None,
        callback: Any = None,
        verbose: bool = False,
    ) -> None:
        self.geometry = geometry
        self.margin = margin
        self.preprocessor = preprocessor
        self.init = init
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _rows_of(self, tuples: ArrayLike, name: str) -> ArrayLike:
        if self.preprocessor is None:
            return tuples
        indices = checks.as_finite_array(tuples, name)
        if indices.ndim != 2:
            return indices
        rows = checks.as_points(self.preprocessor, "preprocessor", ndim=2)
        bad = ((indices % 1 != 0) | (indices < 0) | (indices >= len(rows))).any(axis=1)
        if bad.any():
            raise InvalidInputError(
                f"{name} must be indices of the preprocessor's rows, 0 to {len(rows) - 1}; got "
                f"others in tuples {checks.list_indices(np.flatnonzero(bad))}."
            )
        return rows[indices.astype(np.int64)]

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NoReturn:
        """Raise an error: `fit` takes tuples of rows, and `transform` takes rows."""
        raise InvalidInputError(
            f"fit_transform is not available: fit learns from {self.name}, transform maps rows. "
            f"Call fit({self.name}, …).transform(X) with the rows X to map."
        )

    def pair_distance(self, pairs: ArrayLike) -> AnyFloats:
        """Return the distances of pairs (n, 2, d) of rows, or (n, 2) of indices; inf outside."""
        check_is_fitted(self, "metric_")
        return super().pair_distance(self._rows_of(pairs, "pairs"))

    def _training_tuples(self, tuples: ArrayLike) -> Floats:
        check_parameters(self)
        formed = learner.as_tuples(self._rows_of(tuples, self.name), self.name, self.size)
        self._check_columns(formed.size // formed.shape[2], formed.shape[2])
        return formed

    def _fit_compared(self, rows: TrainingRows, objective: Comparisons) -> None:
        recipe = ComparisonRecipe(
            geometry=self.geometry,
            n_components=self.n_components,
            objective=objective,
            **self._given("max_iter", "init"),
        )
        start = self._start(rows, recipe)
        fit = descent.descend(rows, recipe, self._generator(), start, self._report())
        self._keep(rows.to_metric(fit.found), (fit,))
        self.n_features_in_ = len(rows.mean)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


class CurvedPairs(TupleLearner):
    """Learn a metric from pairs of rows that are similar, and others that are not.

    Each similar pair should be closer than each dissimilar pair: the metric minimises the mean of
    [γ + (a² - b²)/(a² + b²)]₊ over all of them, a and b being the distances of a similar and of a
    dissimilar pair. Distances above a threshold are called dissimilar.

    Parameters
    ----------
    geometry : {"flat", "elliptic", "hyperbolic", "learned"}, default="elliptic"
        Geometry of the metric. "learned" makes the curvature a parameter, which may cross zero.
    margin : float, default=0.5
        Margin γ, between 0 and 1. The squared distance of a similar pair should be at most
        (1 - γ)/(1 + γ) times that of a dissimilar pair.
    init : str, CurvedMetric, array of shape (r, d) or "auto", default="auto"
        Metric to start from: "std" (standardised columns), "identity" (columns as they are),
        "precision" (whitened columns), "pca", "flat" (the flat metric, learned first), a metric or
        its factor. "auto" is "std".
    n_components : int or None, default=None
        Number of rows of the factor L; fewer than columns reduce the dimension. None takes as many
        as columns.
    max_iter : int or "auto", default="auto"
        Maximum number of iterations; "auto" is 20.
    preprocessor : array-like of shape (n_rows, d) or None, default=None
        Rows that indices in the pairs refer to.
    random_state : int, RandomState or None, default=None
        Seed of the draw of 1,500 pairs of each kind, if there are more.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration. If it returns true, the fit stops and
        keeps the metric found so far.
    verbose : bool, default=False
        Whether to write a line for each iteration to standard error.

    Attributes
    ----------
    metric_ : CurvedMetric
        The learned metric.
    geometry_ : str
        Geometry of the metric: "flat", "elliptic" or "hyperbolic".
    curvature_ : ndarray of shape (1,)
        Curvature K of the metric.
    components_ : ndarray of shape (n_components, d)
        Factor L of the metric.
    n_iter_ : int
        Number of iterations.
    loss_history_ : list of list of float
        One list: the loss at the start and after each iteration. It never rises.
    n_features_in_ : int
        Number of columns of a row.
    threshold_ : float
        The distance up to which pairs are called similar: that of the best accuracy on the pairs
        of `fit`. You may set it, as to the best cut of :func:`sklearn.metrics.roc_curve`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = np.random.default_rng(0).integers(150, size=(200, 2))
    >>> alike = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    >>> learner = CurvedPairs(preprocessor=X, random_state=0).fit(pairs[:100], alike[:100])
    >>> bool(learner.score(pairs[100:], alike[100:]) > 0.9)
    True
    >>> learner.predict(X[[[0, 1], [0, 149]]])
    array([ 1, -1])
    >>> near, far = learner.decision_function([[0, 1], [0, 149]])
    >>> bool(near > far)
    True
    """

    name, size = "pairs", 2

    @restore_on_error
    def fit(
        self, pairs: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the metric, and the threshold with the best accuracy on these pairs.

        Parameters
        ----------
        pairs : array-like of shape (n, 2, d) or (n, 2)
            Pairs of rows, or of indices of rows of the preprocessor.
        y : array-like of shape (n,)
            1 for similar and -1 for dissimilar pairs.
        sample_weight : array-like of shape (n,), optional
            Weights of the pairs.
        """
        formed = self._training_tuples(pairs)
        alike = as_signs(y, len(formed))
        weights = as_weights(sample_weight, formed)
        similar, dissimilar = (np.flatnonzero((alike == s) & (weights > 0)) for s in (1, -1))
        if not len(similar) or not len(dissimilar):
            missing = "dissimilar (-1)" if len(similar) else "similar (1)"
            raise InvalidInputError(
                f"y has no {missing} pair of positive weight; learning needs both kinds."
            )
        rng = self._generator()
        near, far = (
            np.sort(rng.choice(some, min(len(some), 1500), replace=False))
            for some in (similar, dissimilar)
        )
        rows, compared = compared_rows(
            formed[near], formed[far], weights[near], weights[far], self.margin, self.name
        )
        compared.report_both_ways()
        self._fit_compared(rows, compared)
        distances = self.metric_.distance(formed[:, 0], formed[:, 1], outside="inf")
        self.threshold_ = best_threshold(distances, alike, weights)
        return self

    def decision_function(self, pairs: ArrayLike) -> Floats:
        """Return minus the distances of pairs (n, 2, d) or (n, 2): large for similar ones."""
        return np.asarray(self.pair_score(pairs), dtype=np.float64)

    def predict(self, pairs: ArrayLike) -> Ints:
        """Return 1 for pairs closer than the threshold, -1 for others."""
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: ArrayLike, y: ArrayLike) -> float:
        """Return the area under the ROC curve: how often a similar pair is the closer one."""
        score = self.decision_function(pairs)
        alike = as_signs(y, len(score), both=True)
        return float(roc_auc_score(alike, np.maximum(score, -np.finfo(float).max)))


class Comparer(TupleLearner):
    near: ClassVar[list[int]]  # the two rows of a tuple that should be close
    far: ClassVar[list[int]]  # the two that should be farther apart

    @restore_on_error
    def fit(self, tuples: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the metric from triplets, or quadruplets.

        Parameters
        ----------
        tuples : array-like of shape (n, size, d), or (n, size) of indices of the preprocessor
            `size` is 3 for triplets and 4 for quadruplets.
        y : None
            Not used.
        sample_weight : array-like of shape (n,), optional
            Weights of the tuples.
        """
        formed = self._training_tuples(tuples)
        weights = as_weights(sample_weight, formed)
        some = np.flatnonzero(weights > 0)
        near, far = formed[some][:, self.near], formed[some][:, self.far]
        rows, compared = compared_rows(near, far, weights[some], None, self.margin, self.name)
        compared.report_contradictions(self.name, some)
        self._fit_compared(rows, compared)
        return self

    def decision_function(self, tuples: ArrayLike) -> Floats:
        """Return how much farther apart the second pair of a tuple is: positive where as stated."""
        check_is_fitted(self, "metric_")
        given, d = self._rows_of(tuples, self.name), self.n_features_in_
        rows = learner.as_tuples(given, self.name, self.size, d)
        with checks.about(self.name):
            a, b = (
                self.metric_.distance(rows[:, i], rows[:, j], outside="inf")
                for i, j in (self.near, self.far)
            )
        with np.errstate(invalid="ignore"):  # two infinite distances are equal
            return np.asarray(np.where(a == b, 0.0, b - a), dtype=np.float64)

    def predict(self, tuples: ArrayLike) -> Ints:
        """Return 1 for tuples whose first pair is the closer one, -1 for others."""
        return np.where(self.decision_function(tuples) > 0, 1, -1)

    def score(self, tuples: ArrayLike, y: Any = None) -> float:
        """Return the share of tuples whose first pair is the closer one."""
        return float(np.mean(self.decision_function(tuples) > 0))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class CurvedTriplets(Comparer):
    """Learn a metric from triplets: the first row is closer to the second than to the third.

    The metric minimises the mean of [γ + (a² - b²)/(a² + b²)]₊, a and b being the distances of the
    first row to the second and to the third.

    Parameters
    ----------
    geometry : {"flat", "elliptic", "hyperbolic", "learned"}, default="elliptic"
        Geometry of the metric. "learned" makes the curvature a parameter, which may cross zero.
    margin : float, default=0.5
        Margin γ, between 0 and 1. The squared distance of the first row to the second should be at
        most (1 - γ)/(1 + γ) times that of the first row to the third.
    init : str, CurvedMetric, array of shape (r, d) or "auto", default="auto"
        Metric to start from: "std" (standardised columns), "identity" (columns as they are),
        "precision" (whitened columns), "pca", "flat" (the flat metric, learned first), a metric or
        its factor. "auto" is "std".
    n_components : int or None, default=None
        Number of rows of the factor L; fewer than columns reduce the dimension. None takes as many
        as columns.
    max_iter : int or "auto", default="auto"
        Maximum number of iterations; "auto" is 20.
    preprocessor : array-like of shape (n_rows, d) or None, default=None
        Rows that indices in the triplets refer to.
    random_state : int, RandomState or None, default=None
        Not used: all triplets are taken.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration. If it returns true, the fit stops and
        keeps the metric found so far.
    verbose : bool, default=False
        Whether to write a line for each iteration to standard error.

    Attributes
    ----------
    metric_ : CurvedMetric
        The learned metric.
    geometry_ : str
        Geometry of the metric: "flat", "elliptic" or "hyperbolic".
    curvature_ : ndarray of shape (1,)
        Curvature K of the metric.
    components_ : ndarray of shape (n_components, d)
        Factor L of the metric.
    n_iter_ : int
        Number of iterations.
    loss_history_ : list of list of float
        One list: the loss at the start and after each iteration. It never rises.
    n_features_in_ : int
        Number of columns of a row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> a, b, c = np.random.default_rng(0).integers(150, size=(3, 900))
    >>> triplets = np.stack([a, b, c], axis=1)[(y[a] == y[b]) & (y[a] != y[c])]
    >>> learner = CurvedTriplets(preprocessor=X).fit(triplets[:100])
    >>> bool(learner.score(triplets[100:]) > 0.9)
    True
    >>> learner.predict([[0, 1, 149], [0, 149, 1]])
    array([ 1, -1])
    >>> bool(learner.decision_function([[0, 1, 149]])[0] > 0)
    True
    """

    name, size = "triplets", 3
    near: ClassVar = [0, 1]
    far: ClassVar = [0, 2]


class CurvedQuadruplets(Comparer):
    """Learn a metric from quadruplets: the first two rows are closer than the last two.

    The metric minimises the mean of [γ + (a² - b²)/(a² + b²)]₊, a and b being the distances of the
    first two rows and of the last two.

    Parameters
    ----------
    geometry : {"flat", "elliptic", "hyperbolic", "learned"}, default="elliptic"
        Geometry of the metric. "learned" makes the curvature a parameter, which may cross zero.
    margin : float, default=0.5
        Margin γ, between 0 and 1. The squared distance of the first two rows should be at most
        (1 - γ)/(1 + γ) times that of the last two rows.
    init : str, CurvedMetric, array of shape (r, d) or "auto", default="auto"
        Metric to start from: "std" (standardised columns), "identity" (columns as they are),
        "precision" (whitened columns), "pca", "flat" (the flat metric, learned first), a metric or
        its factor. "auto" is "std".
    n_components : int or None, default=None
        Number of rows of the factor L; fewer than columns reduce the dimension. None takes as many
        as columns.
    max_iter : int or "auto", default="auto"
        Maximum number of iterations; "auto" is 20.
    preprocessor : array-like of shape (n_rows, d) or None, default=None
        Rows that indices in the quadruplets refer to.
    random_state : int, RandomState or None, default=None
        Not used: all quadruplets are taken.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration. If it returns true, the fit stops and
        keeps the metric found so far.
    verbose : bool, default=False
        Whether to write a line for each iteration to standard error.

    Attributes
    ----------
    metric_ : CurvedMetric
        The learned metric.
    geometry_ : str
        Geometry of the metric: "flat", "elliptic" or "hyperbolic".
    curvature_ : ndarray of shape (1,)
        Curvature K of the metric.
    components_ : ndarray of shape (n_components, d)
        Factor L of the metric.
    n_iter_ : int
        Number of iterations.
    loss_history_ : list of list of float
        One list: the loss at the start and after each iteration. It never rises.
    n_features_in_ : int
        Number of columns of a row.

    Examples
    --------
    >>> quadruplets = [[[0.0, 0.0], [0.0, 9.0], [0.0, 0.0], [1.0, 0.0]]]
    >>> learner = CurvedQuadruplets(geometry="flat").fit(quadruplets)
    >>> learner.predict(quadruplets), learner.score(quadruplets)
    (array([1]), 1.0)
    >>> bool(learner.decision_function(quadruplets)[0] > 0)
    True
    """

    name, size = "quadruplets", 4
    near: ClassVar = [0, 1]
    far: ClassVar = [2, 3]


def as_signs(y: ArrayLike | None, n: int, *, both: bool = False) -> Ints:
    signs = checks.as_finite_array(y, "y") if y is not None else None
    if signs is None or signs.shape != (n,):
        got = "None" if signs is None else f"an array of shape {signs.shape}"
        raise InvalidInputError(
            f"y must have a label for each of the {n} pairs, 1 or -1; got {got}."
        )
    bad = np.abs(signs) != 1
    if bad.any():
        raise InvalidInputError(
            f"y must be 1 for similar and -1 for dissimilar pairs; got "
            f"{np.unique(signs[bad])[:5].tolist()}{checks.at_index(bad)}."
        )
    if both and len(np.unique(signs)) < 2:
        raise InvalidInputError("y must hold both kinds of pairs, 1 and -1.")
    return signs.astype(np.int64)


def best_threshold(distances: AnyFloats, alike: Ints, weights: Floats) -> float:
    """Return the cut of the best accuracy, half-way between two distances; 0 if none is finite."""
    finite = np.isfinite(distances)
    values, place = np.unique(distances[finite], return_inverse=True)
    if not len(values):
        return 0.0
    cuts = np.concatenate([[values[0] - 1.0], (values[:-1] + values[1:]) / 2, values[-1:]])
    right = np.cumsum(np.append(0.0, np.bincount(place, (weights * alike)[finite])))
    best = np.flatnonzero(right == right.max())
    return float(cuts[best[len(best) // 2]])
