"""Learning a metric from pairs of rows that are similar or dissimilar."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import as_weights, restore_on_error
from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import as_choice, as_finite_array, as_real, list_indices, warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.comparisons._tuples import ComparedRows, TupleLearner

MOST_PAIRS = 1500
"""Pairs of each kind that are learned from: each is compared with each of the other kind."""

STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


class CurvedPairs(TupleLearner):
    """Learn a metric from pairs of rows that are similar, and others that are not.

    Each similar pair should be closer than each dissimilar pair: the metric minimises the mean of
    [γ + (a² - b²)/(a² + b²)]₊ over all of them, a and b being the distances of a similar and of a
    dissimilar pair. Distances above a threshold, which is calibrated, are called dissimilar.

    Parameters
    ----------
    geometry : {"flat", "elliptic", "hyperbolic", "learned"}, default="elliptic"
        "learned" makes the curvature a parameter, which may cross zero.
    margin : float, default=0.5
        γ, between 0 and 1: a similar pair's squared distance should be (1 - γ)/(1 + γ) of a
        dissimilar pair's.
    init : str, CurvedMetric, array of shape (r, d) or "auto", default="auto"
        Start: "std" (standardised columns, the default), "identity" (columns as they are),
        "precision", "pca" or "flat" (the flat metric learned first).
    n_components : int or None, default=None
        Rows of the factor: fewer than columns reduce the dimension.
    max_iter : int or "auto", default="auto"
        Iterations; 20 by default.
    preprocessor : array-like of shape (n_rows, d), callable or None, default=None
        Rows that pairs of indices refer to, or a function that returns the rows of an array of
        indices.
    random_state : int, RandomState or None, default=None
        Draws 1,500 pairs of a kind where there are more.
    callback : callable or None, default=None
        Told a :class:`Progress` after each iteration; a true answer stops.
    verbose : bool, default=False
        Write a line for each iteration to standard error.

    Attributes
    ----------
    metric_ : CurvedMetric
    threshold_ : float
        The distance from which pairs are called dissimilar.
    geometry_, curvature_, components_, n_iter_, loss_history_, n_features_in_ : see CurvedMLKR

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = np.random.default_rng(0).integers(150, size=(200, 2))
    >>> alike = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    >>> learner = CurvedPairs(preprocessor=X, random_state=0).fit(pairs[:100], alike[:100])
    >>> bool(learner.score(pairs[100:], alike[100:]) > 0.9)
    True
    >>> learner.predict([[0, 1], [0, 149]])
    array([ 1, -1])
    >>> near, far = learner.decision_function([[0, 1], [0, 149]])
    >>> bool(near > far)
    True
    """

    name = "pairs"
    size = 2

    @restore_on_error
    def fit(
        self, pairs: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> CurvedPairs:
        """Learn the metric, and calibrate the threshold for the best accuracy on these pairs.

        Parameters
        ----------
        pairs : array-like of shape (n, 2, d), or (n, 2) of indices of the preprocessor
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
        rows = ComparedRows.from_tuples(
            formed[near], formed[far], weights[near], weights[far], self.name
        )
        refuse_contradictions(rows)
        self._fit_compared(rows)
        self._calibrate(self.metric_.distance(formed[:, 0], formed[:, 1], outside="inf"), alike,
                        weights)  # fmt: skip
        return self

    # -- scores and decisions -------------------------------------------------------

    def decision_function(self, pairs: ArrayLike) -> Floats:
        """Return minus the distances of pairs: the larger, the more similar.

        Parameters
        ----------
        pairs : array-like of shape (n, 2, d), or (n, 2) of indices of the preprocessor
        """
        return np.asarray(self.pair_score(pairs), dtype=np.float64)

    def predict(self, pairs: ArrayLike) -> Ints:
        """Return 1 for pairs closer than the threshold, -1 for others."""
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: ArrayLike, y: ArrayLike) -> float:
        """Return the area under the ROC curve: how often a similar pair is the closer one."""
        check_is_fitted(self, "metric_")
        score = self.decision_function(pairs)
        alike = as_signs(y, score)
        if len(np.unique(alike)) < 2:
            raise InvalidInputError("y must hold both kinds of pairs, 1 and -1, for a score.")
        return float(roc_auc_score(alike, np.maximum(score, -np.finfo(float).max)))

    def set_threshold(self, threshold: float) -> CurvedPairs:
        """Set the distance from which pairs are called dissimilar.

        Examples
        --------
        >>> learner = CurvedPairs().fit([[[0.0], [1.0]], [[0.0], [5.0]]], [1, -1])
        >>> learner.set_threshold(0.0).predict([[[0.0], [1.0]]])
        array([-1])
        """
        check_is_fitted(self, "metric_")
        self.threshold_ = as_real(threshold, "threshold")
        return self

    @restore_on_error
    def calibrate_threshold(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> CurvedPairs:
        """Choose the threshold on other pairs.

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
        check_is_fitted(self, "metric_")
        as_choice(strategy, "strategy", STRATEGIES)
        rate = 0.0
        if strategy in ("max_tpr", "max_tnr"):
            if min_rate is None:
                raise InvalidInputError(f"strategy={strategy!r} needs min_rate, from 0 to 1.")
            rate = as_real(min_rate, "min_rate", "[0, 1]")
        beta = as_real(beta, "beta", "[0, inf)")
        distances = np.asarray(self.pair_distance(pairs), dtype=np.float64)
        alike = as_signs(y, distances)
        self._calibrate(distances, alike, np.ones(len(alike)), strategy, rate, beta)
        return self

    def _calibrate(
        self, distances: Any, alike: Ints, weights: Floats, strategy: str = "accuracy",
        rate: float = 0.0, beta: float = 1.0,
    ) -> None:  # fmt: skip
        """Set the threshold half-way between the two distances that it parts best."""
        values = np.unique(distances[np.isfinite(distances)])
        if not len(values):
            self.threshold_ = 0.0
            return
        cuts = np.concatenate([[values[0] - 1.0], (values[:-1] + values[1:]) / 2, values[-1:]])
        positive, negative = (
            _mass_below(distances[alike == sign], weights[alike == sign], cuts) for sign in (1, -1)
        )
        p, n = weights[alike == 1].sum(), weights[alike == -1].sum()
        found, spared = positive / max(p, np.finfo(float).tiny), 1 - negative / max(n, 1e-300)
        if strategy == "accuracy":
            merit = positive + n - negative
        elif strategy == "f_beta":
            merit = (1 + beta**2) * positive / np.maximum(positive + negative + beta**2 * p, 1e-300)
        elif strategy == "max_tpr":
            merit = np.where(spared >= rate, found, -1.0)
        else:
            merit = np.where(found >= rate, spared, -1.0)
        best = np.flatnonzero(merit == merit.max())
        self.threshold_ = float(cuts[best[len(best) // 2]])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _mass_below(distances: Floats, weights: Floats, cuts: Floats) -> Floats:
    """Return the weight of the pairs at or below each cut."""
    order = np.argsort(distances, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(sums[np.searchsorted(distances[order], cuts, side="right")])


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


def refuse_contradictions(rows: ComparedRows) -> None:
    """Refuse pairs that are all labelled both ways; warn where some are, or are of equal rows."""
    n = len(rows)
    near, far = (np.sort(pairs, axis=1) @ np.array([n, 1]) for pairs in (rows.near, rows.far))
    both = np.intersect1d(near, far)
    if len(both) and len(both) == len(np.union1d(near, far)):
        raise InvalidInputError(
            "Every pair is labelled both similar and dissimilar: no metric is better than any "
            "other."
        )
    if len(both):
        warn_caller(f"{len(both)} pairs are labelled both similar and dissimilar.")
    equal = int((rows.far[:, 0] == rows.far[:, 1]).sum())
    if equal == len(rows.far):
        raise InvalidInputError("Every dissimilar pair is of equal rows, which no metric parts.")
    if equal:
        warn_caller(f"{equal} dissimilar pairs are of equal rows, which no metric parts.")
