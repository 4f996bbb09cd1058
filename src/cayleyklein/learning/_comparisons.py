"""Learning a metric from pairs, triplets and quadruplets of rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import as_weights, check_parameters, restore_on_error
from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import about, as_finite_array, list_indices
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._descent import descend
from cayleyklein.learning._learner import DescentLearner, as_tuples
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning.objectives import ComparisonRecipe

GEOMETRIES = ("flat", "elliptic", "hyperbolic", "learned")

MOST_PAIRS = 1500
"""Pairs of each kind that are learned from: each is compared with each of the other kind."""


@dataclass(frozen=True, kw_only=True)
class ComparedRows(TrainingRows):
    """Standardised distinct rows, and the pairs of them that are compared.

    `near_weights` and `far_weights` are those of :class:`Comparisons`.
    """

    near: Ints
    far: Ints
    near_weights: Floats
    far_weights: Floats | None

    @classmethod
    def from_tuples(
        cls, near: Floats, far: Floats, near_weights: Floats, far_weights: Floats | None, name: str
    ) -> ComparedRows:
        """Return the rows of near pairs (a, 2, d) and far pairs (b, 2, d); errors use `name`."""
        d = near.shape[2]
        points, numbers = np.unique(
            np.vstack([near.reshape(-1, d), far.reshape(-1, d)]), axis=0, return_inverse=True
        )
        if len(points) < 2:
            raise InvalidInputError(
                f"All rows of the {name} are equal; learning a metric needs two distinct ones."
            )
        base = TrainingRows.from_raw(
            points, np.zeros(len(points), int), np.ones(len(points)), name=name
        )
        shared = {field.name: getattr(base, field.name) for field in fields(TrainingRows)}
        pairs = numbers.reshape(-1, 2)
        return cls(
            **shared, near=pairs[: len(near)], far=pairs[len(near) :], near_weights=near_weights,
            far_weights=far_weights,
        )  # fmt: skip


class TupleLearner(DescentLearner):
    """Base of the learners from tuples of rows."""

    name: ClassVar[str]
    size: ClassVar[int]
    margin: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DescentLearner._shared_constraints,
        "geometry": [StrOptions(set(GEOMETRIES))],
        "margin": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        *,
        geometry: str = "elliptic",
        margin: float = 0.5,
        init: Any = "auto",
        n_components: int | None = None,
        max_iter: int | str = "auto",
        random_state: Any = None,
        callback: Any = None,
        verbose: bool = False,
    ) -> None:
        self.geometry = geometry
        self.margin = margin
        self.init = init
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _training_tuples(self, tuples: ArrayLike) -> Floats:
        """Check the parameters and the tuples to learn from."""
        check_parameters(self)
        formed = as_tuples(tuples, self.name, self.size)
        self._check_columns(formed.size // formed.shape[2], formed.shape[2])
        return formed

    def _fit_compared(self, rows: ComparedRows) -> None:
        changes = self._given("max_iter", "init")
        recipe = ComparisonRecipe(
            self.geometry, n_components=self.n_components, margin=float(self.margin), **changes
        )
        start = self._start(rows, recipe)
        fit = descend(rows, recipe, self._generator(), start, self._report())
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
        "learned" makes the curvature a parameter, which may cross zero.
    margin : float, default=0.5
        γ, between 0 and 1: a similar pair's squared distance should be (1 - γ)/(1 + γ) of a
        dissimilar pair's.
    init, n_components : see :class:`CurvedMLKR`
    max_iter : int or "auto", default="auto"
        Iterations; 20 by default.
    random_state : int, RandomState or None, default=None
        Draws 1,500 pairs of a kind where there are more.
    callback, verbose : see :class:`CurvedLMNN`

    Attributes
    ----------
    metric_ : CurvedMetric
    threshold_ : float
        The distance up to which pairs are called similar: the one of best accuracy on the fitted
        pairs. Set another, such as one of :func:`sklearn.metrics.roc_curve`, to change `predict`.
    geometry_, curvature_, components_, n_iter_, loss_history_, n_features_in_ : see CurvedMLKR

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = np.random.default_rng(0).integers(150, size=(200, 2))
    >>> alike = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    >>> learner = CurvedPairs(random_state=0).fit(X[pairs[:100]], alike[:100])
    >>> bool(learner.score(X[pairs[100:]], alike[100:]) > 0.9)
    True
    >>> learner.predict(X[[[0, 1], [0, 149]]])
    array([ 1, -1])
    >>> near, far = learner.decision_function(X[[[0, 1], [0, 149]]])
    >>> bool(near > far)
    True
    """

    name = "pairs"
    size = 2

    @restore_on_error
    def fit(
        self, pairs: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> CurvedPairs:
        """Learn the metric, and the threshold with the best accuracy on these pairs.

        Parameters
        ----------
        pairs : array-like of shape (n, 2, d)
        y : array-like of shape (n,)
            1 for similar and -1 for dissimilar pairs.
        sample_weight : array-like of shape (n,), optional
            Weights of the pairs.

        Returns
        -------
        self
        """
        formed = self._training_tuples(pairs)
        alike = as_signs(y, formed)
        weights = as_weights(sample_weight, formed)
        similar, dissimilar = (np.flatnonzero((alike == s) & (weights > 0)) for s in (1, -1))
        if not len(similar) or not len(dissimilar):
            missing = "dissimilar (-1)" if len(similar) else "similar (1)"
            raise InvalidInputError(
                f"y has no {missing} pair of positive weight; learning needs both kinds."
            )
        rng = self._generator()
        near, far = (
            np.sort(rng.choice(some, MOST_PAIRS, replace=False)) if len(some) > MOST_PAIRS else some
            for some in (similar, dissimilar)
        )
        self._fit_compared(
            ComparedRows.from_tuples(
                formed[near], formed[far], weights[near], weights[far], self.name
            )
        )
        distances = self.metric_.distance(formed[:, 0], formed[:, 1], outside="inf")
        self.threshold_ = best_threshold(distances, alike, weights)
        return self

    def decision_function(self, pairs: ArrayLike) -> Floats:
        """Return minus the distances of pairs: the larger, the more similar.

        Parameters
        ----------
        pairs : array-like of shape (n, 2, d)
        """
        return np.asarray(-self.pair_distance(pairs), dtype=np.float64)

    def predict(self, pairs: ArrayLike) -> Ints:
        """Return 1 for pairs closer than the threshold, -1 for others."""
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: ArrayLike, y: ArrayLike) -> float:
        """Return the area under the ROC curve: how often a similar pair is the closer one."""
        score = self.decision_function(pairs)
        alike = as_signs(y, score)
        if len(np.unique(alike)) < 2:
            raise InvalidInputError("y must hold both kinds of pairs, 1 and -1, for a score.")
        return float(roc_auc_score(alike, np.maximum(score, -np.finfo(float).max)))


class Comparer(TupleLearner):
    """Base of the learners from comparisons: scores and decisions."""

    def _halves(self, tuples: Floats) -> tuple[Floats, Floats]:
        """Return the pairs that should be close, and those that should be farther apart."""
        raise NotImplementedError

    @restore_on_error
    def fit(self, tuples: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the metric from triplets, or quadruplets.

        Parameters
        ----------
        tuples : array-like of shape (n, size, d)
            `size` is 3 for triplets and 4 for quadruplets.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weights of the tuples.

        Returns
        -------
        self
        """
        formed = self._training_tuples(tuples)
        weights = as_weights(sample_weight, formed)
        near, far = self._halves(formed[weights > 0])
        self._fit_compared(
            ComparedRows.from_tuples(near, far, weights[weights > 0], None, self.name)
        )
        return self

    def decision_function(self, tuples: ArrayLike) -> Floats:
        """Return how much farther apart the second pair is: positive where as stated.

        Parameters
        ----------
        tuples : array-like of shape (n, size, d)
        """
        check_is_fitted(self, "metric_")
        halves = self._halves(as_tuples(tuples, self.name, self.size, self.n_features_in_))
        with about(self.name):
            a, b = (self.metric_.distance(half[:, 0], half[:, 1], outside="inf") for half in halves)
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
    geometry, margin, init, n_components, max_iter : see :class:`CurvedPairs`
    random_state : int, RandomState or None, default=None
        Has no effect: all triplets are learned from.
    callback, verbose : see :class:`CurvedLMNN`

    Attributes
    ----------
    metric_ : CurvedMetric
    geometry_, curvature_, components_, n_iter_, loss_history_, n_features_in_ : see CurvedMLKR

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> a, b, c = np.random.default_rng(0).integers(150, size=(3, 900))
    >>> triplets = X[np.stack([a, b, c], axis=1)[(y[a] == y[b]) & (y[a] != y[c])]]
    >>> learner = CurvedTriplets().fit(triplets[:100])
    >>> bool(learner.score(triplets[100:]) > 0.9)
    True
    >>> learner.predict(X[[[0, 1, 149], [0, 149, 1]]])
    array([ 1, -1])
    >>> bool(learner.decision_function(X[[[0, 1, 149]]])[0] > 0)
    True
    """

    name = "triplets"
    size = 3

    def _halves(self, tuples: Floats) -> tuple[Floats, Floats]:
        return tuples[:, :2], tuples[:, [0, 2]]


class CurvedQuadruplets(Comparer):
    """Learn a metric from quadruplets: the first two rows are closer than the last two.

    Parameters
    ----------
    geometry, margin, init, n_components, max_iter : see :class:`CurvedPairs`
    random_state, callback, verbose : see :class:`CurvedTriplets`

    Attributes
    ----------
    metric_ : CurvedMetric
    geometry_, curvature_, components_, n_iter_, loss_history_, n_features_in_ : see CurvedMLKR

    Examples
    --------
    >>> quadruplets = [[[0.0, 0.0], [0.0, 9.0], [0.0, 0.0], [1.0, 0.0]]]
    >>> learner = CurvedQuadruplets(geometry="flat").fit(quadruplets)
    >>> learner.predict(quadruplets), learner.score(quadruplets)
    (array([1]), 1.0)
    >>> bool(learner.decision_function(quadruplets)[0] > 0)
    True
    """

    name = "quadruplets"
    size = 4

    def _halves(self, tuples: Floats) -> tuple[Floats, Floats]:
        return tuples[:, :2], tuples[:, 2:]


def as_signs(y: ArrayLike | None, pairs: Any) -> Ints:
    """Check a label for each pair, 1 or -1."""
    signs = as_finite_array(y, "y") if y is not None else None
    if signs is None or signs.shape != (len(pairs),):
        got = "None" if signs is None else f"an array of shape {signs.shape}"
        raise InvalidInputError(
            f"y must have a label for each of the {len(pairs)} pairs, 1 or -1; got {got}."
        )
    bad = np.abs(signs) != 1
    if bad.any():
        raise InvalidInputError(
            f"y must be 1 for similar and -1 for dissimilar pairs; got "
            f"{np.unique(signs[bad])[:5].tolist()} at index {list_indices(np.flatnonzero(bad))}."
        )
    return signs.astype(np.int64)


def best_threshold(distances: Any, alike: Ints, weights: Floats) -> float:
    """Return the cut of best accuracy, half-way between two distances; 0 if none is finite."""
    finite = np.isfinite(distances)
    values, place = np.unique(distances[finite], return_inverse=True)
    if not len(values):
        return 0.0
    cuts = np.concatenate([[values[0] - 1.0], (values[:-1] + values[1:]) / 2, values[-1:]])
    gains = np.bincount(place, weights=(alike * weights)[finite])
    merit = np.concatenate([[0.0], np.cumsum(gains)])  # similar minus dissimilar weight below
    best = np.flatnonzero(merit == merit.max())
    return float(cuts[best[len(best) // 2]])
