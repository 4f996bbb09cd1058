"""Mahalanobis metric for clustering (Xing et al. 2003), the flat baseline of the paper's §4."""

from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from sklearn.utils._param_validation import Interval

from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import descent, learner
from cayleyklein.learning.objectives.lifted import Evaluation, Parameters
from cayleyklein.learning.rows import GivenRows, TrainingRows
from cayleyklein.metrics import Metric


class MMC(learner.RowLearner):
    """Learn a flat metric that brings rows of one class together and keeps classes apart.

    Rows of one class should be close and rows of different classes far: the metric minimises

        mean of d²(x, y) over like pairs - log of the mean of d(x, y) over unlike pairs,

    Xing's problem (maximise the sum over unlike pairs while that over like ones is at most 1) up
    to scale. It is convex in Σ = LᵀL and solved without projections, by L-BFGS in L, in
    coordinates in which the like pairs spread equally in all directions.

    Parameters
    ----------
    max_iter : int, default=100
        Maximum number of iterations; a warning is given if the loss still falls then.
    tol : float, default=1e-6
        Decrease of the loss, relative to the larger of the loss and 1, at which the fit ends.
    n_components : int or None, default=None
        Number of rows of L, from 1 to the number of columns; None takes as many as columns.

    Attributes
    ----------
    metric_ : CurvedMetric
        The learned metric.
    geometry_ : str
        Geometry of the metric, "flat".
    curvature_ : ndarray of shape (1,)
        Curvature of the metric, 0.
    components_ : ndarray of shape (n_components, d)
        Factor L of the metric.
    n_iter_ : int
        Number of iterations.
    loss_history_ : list of list of float
        One list: the loss at the start and after each iteration. It never rises.
    n_features_in_ : int
        Number of columns of X.
    n_samples_learned_ : int
        Number of distinct rows of positive weight that the metric was learned from.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.

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
        self.max_iter, self.tol, self.n_components = max_iter, tol, n_components

    _numeric = False
    geometry = "flat"
    max_iter: int
    subsample = random_state = callback = None
    verbose = False

    def _training_rows(self, given: GivenRows, size: Any, rng: np.random.Generator) -> TrainingRows:
        self._check_columns(given.n_columns, given.n_columns)
        if isinstance(given.X, RowBlocks):  # no sample is drawn, all pairs count
            raise InvalidInputError(
                "MMC needs all rows in memory; pass X.compute() if it fits, or a sample of it."
            )
        return self._labelled_rows(given.draw(size, 2, rng), turn=False)

    def _learn(self, rows: TrainingRows, rng: np.random.Generator) -> tuple[Metric, descent.Fits]:
        rows = spread_equally(rows)
        d = rows.n_columns
        r = self.n_components or d
        # the mean over like pairs is 1/2 at the optimum
        start = Parameters(np.sqrt(0.5 / r) * np.eye(r, d), np.zeros(d), 0.0)
        recipe = XingRecipe("flat", max_iter=self.max_iter, tol=self.tol)
        fit = descent.descend(rows, recipe, rng, start, self._report())
        return rows.to_metric(fit.found), (fit,)


def spread_equally(rows: TrainingRows) -> TrainingRows:
    """Return rows in coordinates in which the mean of (x - y)(x - y)ᵀ over like pairs is I.

    The first is the one along which all rows spread most. L-BFGS converges in about ten iterations
    in these coordinates, and in more than a thousand in standardised columns.
    """
    X, labels, weights = rows.X, rows.labels, rows.weights / rows.weights.max()
    mass, centred = np.bincount(labels, weights), X.copy()
    for label in np.unique(labels):
        own = labels == label
        centred[own] -= np.average(X[own], axis=0, weights=weights[own])
    pulled = (weights * mass[labels])[:, None] * centred
    # the problem is unbounded where rows of one class do not differ along a direction and others do
    ridge = 1e-9 * np.eye(X.shape[1])  # of columns of variance 1
    like = 2 / (mass @ mass) * pulled.T @ centred + ridge
    axes = eigh((X * weights[:, None]).T @ X, like)[1][:, ::-1].T
    return replace(rows, X=X @ axes.T, basis=axes)


@dataclass(frozen=True)
class XingRecipe(descent.Recipe):
    n_passes: int = 1
    floor: float = 1.0

    def pose(self, rows: TrainingRows, anchors: Ints, found: Parameters) -> descent.Objective:
        return partial(xing_loss, rows.X, rows.labels, rows.weights / rows.weights.max())


def xing_loss(
    X: Floats, labels: Ints, weights: Floats, metric: Parameters, bends: bool = False
) -> Evaluation:
    """Return the loss of rows that are spread equally (the mean over like pairs is |L|²) and ∂/∂L.

    Unlike pairs are added in blocks, as XᵀWX.
    """
    factor, center, K = metric
    z = X @ factor.T
    total, pull = 0.0, np.zeros_like(z)
    sqnorm = np.einsum("ij,ij->i", z, z)
    step = 512
    for start in range(0, len(z), step):
        rows = slice(start, start + step)
        square = np.maximum(sqnorm[rows, None] + sqnorm - 2 * z[rows] @ z.T, 0.0)
        root = np.sqrt(square + 1e-12)  # which has a derivative at 0; like pairs have a mean of ½
        pair = np.outer(weights[rows], weights)
        pair[labels[rows, None] == labels] = 0.0
        total += float((pair * root).sum()) / 2
        W = pair / root
        pull[rows] += W.sum(axis=1)[:, None] * z[rows] - W @ z
    mass = np.bincount(labels, weights)
    loss = np.vdot(factor, factor) - np.log(2 * total / (mass.sum() ** 2 - mass @ mass))
    return Evaluation(float(loss), Parameters(2 * factor - pull.T @ X / total, center, K))
