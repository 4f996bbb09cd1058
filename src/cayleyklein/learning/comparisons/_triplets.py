"""Learning a metric from triplets and quadruplets: which of two pairs is the closer one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._estimators import restore_on_error
from cayleyklein._typing import Floats, Ints
from cayleyklein.learning.comparisons._tuples import TupleLearner


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
        tuples : array-like of shape (n, size, d), or (n, size) of indices of the preprocessor
            `size` is 3 for triplets and 4 for quadruplets.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weights of the tuples.

        Returns
        -------
        self
        """
        self._fit_one_by_one(*self._halves(self._training_tuples(tuples)), sample_weight)
        return self

    def decision_function(self, tuples: ArrayLike) -> Floats:
        """Return how much farther apart the second pair is: positive where as stated.

        Parameters
        ----------
        tuples : array-like of shape (n, size, d), or (n, size) of indices of the preprocessor
        """
        return self._gaps(*self._halves(self._tuples(tuples)))

    def predict(self, tuples: ArrayLike) -> Ints:
        """Return 1 for tuples whose first pair is the closer one, -1 for others."""
        return np.where(self.decision_function(tuples) > 0, 1, -1)

    def score(self, tuples: ArrayLike, y: Any = None) -> float:
        """Return the share of tuples whose first pair is the closer one."""
        return float(np.mean(self.decision_function(tuples) > 0))


class CurvedTriplets(Comparer):
    """Learn a metric from triplets: the first row is closer to the second than to the third.

    The metric minimises the mean of [γ + (a² - b²)/(a² + b²)]₊, a and b being the distances of the
    first row to the second and to the third.

    Parameters
    ----------
    geometry : {"flat", "elliptic", "hyperbolic", "learned"}, default="elliptic"
        "learned" makes the curvature a parameter, which may cross zero.
    margin : float, default=0.5
        γ, between 0 and 1: a² should be (1 - γ)/(1 + γ) of b².
    init, n_components, max_iter, preprocessor : see :class:`CurvedPairs`
    random_state : int, RandomState or None, default=None
        Has no effect: all triplets are learned from.
    callback, verbose : see :class:`CurvedPairs`

    Attributes
    ----------
    metric_ : CurvedMetric
    geometry_, curvature_, components_, n_iter_, loss_history_, n_features_in_ : see CurvedMLKR

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

    name = "triplets"
    size = 3

    def _halves(self, tuples: Floats) -> tuple[Floats, Floats]:
        return tuples[:, :2], tuples[:, [0, 2]]


class CurvedQuadruplets(Comparer):
    """Learn a metric from quadruplets: the first two rows are closer than the last two.

    Parameters
    ----------
    geometry, margin, init, n_components, max_iter, preprocessor : see :class:`CurvedPairs`
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
