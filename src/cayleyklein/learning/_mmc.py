"""Mahalanobis metric for clustering (Xing et al. 2003), the flat baseline of the paper's §4."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from cayleyklein._distributed import refuse_dask
from cayleyklein._estimators import as_labels, as_weights, check_data, whole_or_not_at_all
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Frame
from cayleyklein.learning._base import MetricLearner
from cayleyklein.learning._data import TrainingRows
from cayleyklein.learning._lbfgs import LBFGS
from cayleyklein.learning._parameters import (
    COUNT,
    NUMBER,
    check_factor_size,
    check_number,
    check_optional,
)
from cayleyklein.metrics import CurvedMetric

__all__ = ["MMC"]

Array = NDArray[np.float64]

BLOCK_ROWS = 512
TINY = 1e-12


class Point(NamedTuple):
    """The objective and its gradient."""

    loss: float
    vector: Array


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
        The loss after each iteration.
    classes_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MMC().fit(X, y).metric_
    CurvedMetric(flat, d=4, K=0)
    """

    def __init__(
        self, *, max_iter: int = 100, tol: float = 1e-6, n_components: int | None = None
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.n_components = n_components

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
        check_number("max_iter", self.max_iter, COUNT, 1)
        check_number("tol", self.tol, NUMBER, 0)
        refuse_dask(X, "X", "learn from a sample of its rows in memory, or by CurvedLMNN")
        with whole_or_not_at_all(self) as worker:
            worker._fit(X, y, sample_weight)
        return self

    def _fit(self, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        rows, target = check_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        as_labels(target)
        weights = as_weights(sample_weight, rows)
        d = rows.shape[1]
        check_optional("n_components", self.n_components, (None,), COUNT, 1, d)
        shape = (self.n_components or d, d)
        check_factor_size(*shape)
        classes, labels = np.unique(target, return_inverse=True)
        present = np.unique(labels[weights > 0])
        if len(present) < 2:
            only = f"1 class ({classes[present].tolist()[0]!r})" if len(present) else "no class"
            raise InvalidInputError(
                f"y has {only} in rows of positive weight; learning a metric needs two classes or "
                f"more."
            )
        data = TrainingRows.from_raw(rows, labels.astype(np.int64), weights)
        solver = LBFGS(np.eye(*shape).ravel())
        like = like_scatter(data)

        def function(x: Array) -> Point:
            return objective(x.reshape(shape), data, like)

        state, history = function(solver.x), []
        for _ in range(self.max_iter):
            moved = solver.step(function, state)
            if moved is None:
                break
            history.append(moved.loss)
            fall, state = state.loss - moved.loss, moved
            if fall <= self.tol * max(abs(state.loss), 1.0):
                break
        else:
            warnings.warn(
                f"The loss still falls after max_iter={self.max_iter} iterations; raise max_iter "
                f"or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        frame = data.to_raw(Frame(solver.x.reshape(shape)))
        self.metric_ = CurvedMetric.from_frame(frame)
        self.geometry_ = "flat"
        self.components_ = frame.factor
        self.n_iter_ = len(history)
        self.loss_history_ = history
        self.classes_ = classes


def like_scatter(data: TrainingRows) -> Array:
    """Return Σ (x - y)(x - y)ᵀ over unordered pairs of rows of one class, in closed form."""
    total = np.zeros((data.X.shape[1],) * 2)
    for label in np.unique(data.labels):
        rows, weights = data.X[data.labels == label], data.weights[data.labels == label]
        mass = weights.sum()
        centred = rows - weights @ rows / mass
        total += mass * (centred * weights[:, None]).T @ centred
    return total


def objective(factor: Array, data: TrainingRows, like: Array) -> Point:
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
    return Point(loss, gradient.ravel())
