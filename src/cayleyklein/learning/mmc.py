"""Mahalanobis metric for clustering (Xing et al. 2003), the flat baseline of the paper's §4."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from cayleyklein import _estimators
from cayleyklein._lbfgs import minimise
from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.learner import MetricLearner
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows

UNLIKE_ROWS = 512  # of a block
# Added to the scatter of like pairs, of columns of variance 1: the problem is unbounded where rows
# of one class do not differ along a direction and others do.
SCATTER_RIDGE = 1e-9
# Added to squared distances: the root has no derivative at 0. Like pairs have a mean of 1/2.
LEAST_SQUARE = 1e-12


class MMC(MetricLearner):
    """Learn one flat metric from which rows are alike and which are not.

    Rows of one class should be close and rows of different classes far: the metric minimises

        mean of d²(x, y) over like pairs - log of the mean of d(x, y) over unlike pairs,

    Xing's problem (maximise the sum over unlike pairs while that over like ones is at most 1) up
    to scale. It is convex in Σ = LᵀL and solved without projections, by L-BFGS in L, in
    coordinates in which the like pairs spread equally in all directions.

    Parameters
    ----------
    max_iter : int, default=100
        Most iterations; a warning says when the loss still falls after them.
    tol : float, default=1e-6
        Decrease of the loss, relative to the larger of the loss and 1, at which the fit ends.
    n_components : int or None, default=None
        Rows of L, from 1 to the number of columns; None takes as many as columns.

    Attributes
    ----------
    metric_ : CurvedMetric
        Flat.
    geometry_ : "flat"
    components_ : ndarray of shape (r, d)
        The factor L.
    n_iter_ : int
        Number of iterations.
    loss_history_ : list of float
        The loss after each iteration.
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, if X has them.

    See Also
    --------
    CurvedLMNN : Compares each row with its neighbours only: the one to take for k-NN.

    Notes
    -----
    The optimum has few directions, those that separate whole classes: every pair of rows counts.
    That serves clustering, and classes that are one clump each. It is not made for nearest
    neighbours: rows that differ only in other directions coincide. On half of the digits' first
    900 rows the optimum has rank 3, and 3-NN with it is right for 0.84 of the others, where
    standardised columns have 0.96. For 2 and 3 classes it is enough (breast cancer 0.965, wine
    0.966, iris 0.973).

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

    @_estimators.restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights of the rows: a pair counts as much as their product; 0 leaves a row out.
        """
        _estimators.check_parameters(self)
        rows, target = _estimators.check_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        classes, labels = _estimators.encode_classes(target)
        weights = _estimators.as_weights(sample_weight, rows)
        kept = classes[np.unique(labels[weights > 0])].tolist()
        if len(kept) < 2:
            raise InvalidInputError(
                f"y has 1 class in rows of positive weight, {kept}; learning a metric needs two or "
                f"more."
            )
        d = rows.shape[1]
        self._check_columns(d, d)
        data = TrainingRows.from_raw(rows, labels, weights, turn=False)
        problem = Xing(data.X, data.labels, data.weights)
        r, history = self.n_components or d, []
        start = np.sqrt(0.5 / r) * np.eye(r, d)  # the mean over like pairs is 1/2 at the optimum

        def function(x: Floats) -> tuple[float, Floats]:
            loss, gradient = problem.evaluate(x.reshape(r, d) @ problem.axes)
            return loss, (gradient @ problem.axes.T).ravel()

        def keep(x: Floats, loss: float) -> bool:
            history.append(loss)
            return False

        end = minimise(
            function, start.ravel(), max_iter=self.max_iter, tol=self.tol, floor=1.0, callback=keep
        )
        if not end.converged:
            warn_caller(
                f"The loss still falls after max_iter={self.max_iter} iterations; raise max_iter "
                f"or tol.",
                ConvergenceWarning,
            )
        factor = end.x.reshape(r, d) @ problem.axes
        self.metric_ = data.to_metric(Parameters(factor, np.zeros(d), 0.0))
        self.geometry_ = "flat"
        self.components_ = self.metric_.factor
        self.n_iter_ = len(history)
        self.loss_history_ = history
        self.classes_ = classes
        return self


class Xing:
    """The objective, of standardised rows (n, d) with labels and weights.

    `like` is the mean of (x - y)(x - y)ᵀ over like pairs. `axes` (d, d) are rows a with
    aᵀ like a = 1, from the one along which all rows spread most: L-BFGS in Z, L = Z axes, converges
    in about ten iterations, where it takes more than a thousand in L.
    """

    def __init__(self, X: Floats, labels: Ints, weights: Floats) -> None:
        self.X, self.labels, self.weights = X, labels, weights / weights.max()
        mass, centred = np.bincount(labels, self.weights), X.copy()
        for label in np.unique(labels):
            own = labels == label
            centred[own] -= np.average(X[own], axis=0, weights=weights[own])
        pulled = (self.weights * mass[labels])[:, None] * centred
        self.like = 2 / (mass @ mass) * pulled.T @ centred + SCATTER_RIDGE * np.eye(X.shape[1])
        self.unlike_mass = (mass.sum() ** 2 - mass @ mass) / 2
        self.axes = eigh((X * self.weights[:, None]).T @ X, self.like)[1][:, ::-1].T

    def evaluate(self, factor: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient in L; unlike pairs in blocks, as XᵀWX."""
        z, weights = self.X @ factor.T, self.weights
        total, pull = 0.0, np.zeros_like(z)
        sqnorm = np.einsum("ij,ij->i", z, z)
        for start in range(0, len(z), UNLIKE_ROWS):
            rows = slice(start, start + UNLIKE_ROWS)
            square = np.maximum(sqnorm[rows, None] + sqnorm - 2 * z[rows] @ z.T, 0.0)
            root = np.sqrt(square + LEAST_SQUARE)
            pair = np.outer(weights[rows], weights)
            pair[self.labels[rows, None] == self.labels] = 0.0
            total += float((pair * root).sum()) / 2
            W = pair / root
            pull[rows] += W.sum(axis=1)[:, None] * z[rows] - W @ z
        loss = float(np.einsum("ij,jk,ik", factor, self.like, factor))
        loss -= np.log(total / self.unlike_mass)
        return loss, 2 * factor @ self.like - pull.T @ self.X / total
