"""Mahalanobis metric for clustering (Xing et al. 2003), the flat baseline of the paper's §4."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from cayleyklein._estimators import (
    as_weights,
    check_data,
    check_parameters,
    encode_classes,
    restore_on_error,
)
from cayleyklein._lbfgs import minimise
from cayleyklein._typing import Floats
from cayleyklein._validation import warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.learner import MetricLearner
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows

BLOCK_ROWS = 512
TINY = 1e-12


class MMC(MetricLearner):
    """Learn one flat metric from which rows are alike and which are not.

    Rows of one class should be close and rows of different classes far: the metric minimises

        Σ d²(x, y) over like pairs - log Σ d(x, y) over unlike pairs,

    Xing's problem (maximise the second sum while the first is at most 1) up to scale. It is convex
    in Σ = LᵀL and solved without projections, by L-BFGS in L. It draws each class into one clump,
    which suits classes that are one clump.

    Parameters
    ----------
    max_iter : int, default=100
        Iterations; a warning says when the loss still falls after them.
    tol : float, default=1e-6
        Decrease of the loss, relative to the larger of the loss and 1, at which the fit ends.
    n_components : int or None, default=None
        Rows of L, from 1 to the number of columns; None takes as many as columns.

    Attributes
    ----------
    metric_ : CurvedMetric
        Flat.
    geometry_ : str
        Always "flat".
    components_ : ndarray of shape (r, d)
        The factor L.
    n_iter_ : int
    loss_history_ : list of float
        The loss after each iteration, over weights in units of a power of two near the largest.
    classes_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MMC().fit(X, y).metric_
    CurvedMetric(flat, d=4, K=0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self, *, max_iter: int = 100, tol: float = 1e-6, n_components: int | None = None
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.n_components = n_components

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> MMC:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights of the rows: a pair counts as much as their product; 0 leaves a row out.

        Returns
        -------
        self
        """
        check_parameters(self)
        rows, target = check_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        classes, labels = encode_classes(target)
        weights = as_weights(sample_weight, rows)
        if len(np.unique(labels[weights > 0])) < 2:
            raise InvalidInputError("y has one class in rows of positive weight; MMC needs two.")
        d = rows.shape[1]
        self._check_columns(d, d)
        shape = (self.n_components or d, d)
        data = TrainingRows.from_raw(rows, labels, weights, turn=False)
        like = like_scatter(data)
        history: list[float] = []

        def function(x: Floats) -> tuple[float, Floats]:
            return objective(x.reshape(shape), data, like)

        def keep(x: Floats, loss: float) -> bool:
            history.append(loss)
            return False

        start = np.eye(*shape).ravel()
        end = minimise(
            function, start, max_iter=self.max_iter, tol=self.tol, floor=1.0, callback=keep
        )
        if not end.converged:
            warn_caller(
                f"The loss still falls after max_iter={self.max_iter} iterations; raise max_iter "
                f"or tol.",
                ConvergenceWarning,
            )
        found = Parameters(end.x.reshape(shape), np.zeros(d), 0.0)
        self.metric_ = data.to_metric(found)
        self.geometry_ = "flat"
        self.components_ = self.metric_.factor
        self.n_iter_ = len(history)
        self.loss_history_ = history
        self.classes_ = classes
        return self


def like_scatter(data: TrainingRows) -> Floats:
    """Return Σ (x - y)(x - y)ᵀ over unordered pairs of rows of one class, in closed form."""
    total = np.zeros((data.X.shape[1],) * 2)
    for label in np.unique(data.labels):
        rows, weights = data.X[data.labels == label], data.weights[data.labels == label]
        mass = weights.sum()
        centred = rows - weights @ rows / mass
        total += mass * (centred * weights[:, None]).T @ centred
    return total


def objective(factor: Floats, data: TrainingRows, like: Floats) -> tuple[float, Floats]:
    """Return the objective and its gradient in L; unlike pairs in blocks, as XᵀWX."""
    z, weights = data.X @ factor.T, data.weights
    total, pull = 0.0, np.zeros_like(z)
    sqnorm = np.einsum("ij,ij->i", z, z)
    for start in range(0, len(z), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        square = np.maximum(sqnorm[rows, None] + sqnorm - 2 * z[rows] @ z.T, 0.0) + TINY
        pair = np.outer(weights[rows], weights)
        pair[data.labels[rows, None] == data.labels] = 0.0
        root = np.sqrt(square)
        total += float((pair * root).sum()) / 2
        W = pair / root
        pull[rows] += W.sum(axis=1)[:, None] * z[rows] - W @ z
    loss = float(np.einsum("ij,jk,ik", factor, like, factor)) - np.log(total)
    gradient = 2 * factor @ like - pull.T @ data.X / total
    return loss, gradient.ravel()
