"""Learning a metric from pairs, triplets and quadruplets of rows."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import as_weights, restore_on_error
from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import about, as_choice, as_finite_array, as_real, list_indices
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.objectives.comparisons import compared_rows
from cayleyklein.learning.tuples import TupleLearner, fill_in_parameters

PAIRS_OF_A_KIND = 1500  # at most: each is compared with each of the other kind
STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


@fill_in_parameters
class CurvedPairs(TupleLearner):
    """Learn a metric from pairs of rows that are similar, and others that are not.

    Each similar pair should be closer than each dissimilar pair: the metric minimises the mean of
    [γ + (a² - b²)/(a² + b²)]₊ over all of them, a and b being the distances of a similar and of a
    dissimilar pair. Distances above a threshold, which is calibrated, are called dissimilar.

    {parameters}
    threshold_ : float
        The distance up to which pairs are called similar.

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
        pairs : array-like of shape (n, 2, d), or (n, 2) of indices of the preprocessor
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
            np.sort(rng.choice(some, min(len(some), PAIRS_OF_A_KIND), replace=False))
            for some in (similar, dissimilar)
        )
        rows, compared = compared_rows(
            formed[near], formed[far], weights[near], weights[far], self.name
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

    def set_threshold(self, threshold: float) -> Self:
        """Set the distance up to which pairs are called similar.

        Examples
        --------
        >>> learner = CurvedPairs().fit([[[0.0], [1.0]], [[0.0], [5.0]]], [1, -1])
        >>> learner.set_threshold(0.0).predict([[[0.0], [1.0]]])
        array([-1])
        """
        check_is_fitted(self, "metric_")
        self.threshold_ = as_real(threshold, "threshold")
        return self

    def calibrate_threshold(
        self, pairs: ArrayLike, y: ArrayLike, strategy: str = "accuracy",
        min_rate: float | None = None, beta: float = 1.0,
    ) -> Self:  # fmt: skip
        """Choose the threshold on given pairs.

        Parameters
        ----------
        pairs : array-like of shape (n, 2, d), or (n, 2) of indices of the preprocessor
        y : array-like of shape (n,)
            1 for similar and -1 for dissimilar pairs.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
            What is best: the accuracy; the F-score of similar pairs; the rate of similar pairs
            found while at least `min_rate` of dissimilar ones are; or the other way round.
        min_rate : float, optional
            For "max_tpr" and "max_tnr".
        beta : float, default=1.0
            For "f_beta".

        Examples
        --------
        >>> pairs = [[[0.0], [1.0]], [[0.0], [5.0]], [[1.0], [3.0]]]
        >>> learner = CurvedPairs().fit(pairs, [1, -1, 1])
        >>> learner.calibrate_threshold(pairs, [1, -1, -1]).predict(pairs)
        array([ 1, -1, -1])
        """
        as_choice(strategy, "strategy", STRATEGIES)
        if strategy.startswith("max") and min_rate is None:
            raise InvalidInputError(f"strategy={strategy!r} needs min_rate, from 0 to 1.")
        rate = 0.0 if min_rate is None else as_real(min_rate, "min_rate", "[0, 1]")
        beta = as_real(beta, "beta", "[0, inf)")
        distances = self.pair_distance(pairs)
        alike = as_signs(y, len(distances), both=True)
        weights = np.ones(len(alike))
        self.threshold_ = best_threshold(distances, alike, weights, strategy, rate, beta)
        return self


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
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weights of the tuples.
        """
        formed = self._training_tuples(tuples)
        weights = as_weights(sample_weight, formed)
        some = np.flatnonzero(weights > 0)
        near, far = formed[some][:, self.near], formed[some][:, self.far]
        rows, compared = compared_rows(near, far, weights[some], None, self.name)
        compared.report_contradictions(self.name, some)
        self._fit_compared(rows, compared)
        return self

    def decision_function(self, tuples: ArrayLike) -> Floats:
        """Return how much farther apart the second pair of a tuple is: positive where as stated."""
        rows = self._fitted_tuples(tuples)
        with about(self.name):
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


@fill_in_parameters
class CurvedTriplets(Comparer):
    """Learn a metric from triplets: the first row is closer to the second than to the third.

    The metric minimises the mean of [γ + (a² - b²)/(a² + b²)]₊, a and b being the distances of the
    first row to the second and to the third.

    {parameters}

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


@fill_in_parameters
class CurvedQuadruplets(Comparer):
    """Learn a metric from quadruplets: the first two rows are closer than the last two.

    The metric minimises the mean of [γ + (a² - b²)/(a² + b²)]₊, a and b being the distances of the
    first two rows and of the last two.

    {parameters}

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
    signs = as_finite_array(y, "y") if y is not None else None
    if signs is None or signs.shape != (n,):
        got = "None" if signs is None else f"an array of shape {signs.shape}"
        raise InvalidInputError(
            f"y must have a label for each of the {n} pairs, 1 or -1; got {got}."
        )
    bad = np.abs(signs) != 1
    if bad.any():
        raise InvalidInputError(
            f"y must be 1 for similar and -1 for dissimilar pairs; got "
            f"{np.unique(signs[bad])[:5].tolist()} at index {list_indices(np.flatnonzero(bad))}."
        )
    if both and len(np.unique(signs)) < 2:
        raise InvalidInputError("y must hold both kinds of pairs, 1 and -1.")
    return signs.astype(np.int64)


def best_threshold(
    distances: Any, alike: Ints, weights: Floats, strategy: str = "accuracy", rate: float = 0.0,
    beta: float = 1.0,
) -> float:  # fmt: skip
    """Return the best cut, half-way between two distances; 0 if none is finite."""
    finite = np.isfinite(distances)
    values, place = np.unique(distances[finite], return_inverse=True)
    if not len(values):
        return 0.0
    cuts = np.concatenate([[values[0] - 1.0], (values[:-1] + values[1:]) / 2, values[-1:]])
    below, total = {}, {}  # weight of the pairs of a kind, up to each cut and in all
    for sign in (1, -1):
        mass = weights * (alike == sign)
        counts = np.bincount(place, weights=mass[finite])
        below[sign], total[sign] = np.concatenate([[0.0], np.cumsum(counts)]), mass.sum()
    found, wrong = below[1], below[-1]
    if strategy == "accuracy":
        merit = found - wrong
    elif strategy == "f_beta":
        named = found + wrong + beta**2 * total[1]
        merit = found / np.maximum(named, np.finfo(float).tiny)
    elif strategy == "max_tpr":
        merit = np.where((total[-1] - wrong) / total[-1] >= rate, found, -1.0)
    else:
        merit = np.where(found / total[1] >= rate, -wrong, -np.inf)
    best = np.flatnonzero(merit == merit.max())
    return float(cuts[best[len(best) // 2]])
