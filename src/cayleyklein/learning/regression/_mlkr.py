"""Metric learning for kernel regression in flat and curved space: the estimator."""

from __future__ import annotations

import logging
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from cayleyklein._distributed import compute, is_dask, row_blocks, target_blocks, task
from cayleyklein._estimators import (
    as_weights,
    check_columns,
    check_data,
    check_parameters,
    few_threads,
    restore_on_error,
)
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import as_finite_array, warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._descent import Progress, descend
from cayleyklein.learning._learner import DescentLearner, given
from cayleyklein.learning._sampling import class_shares, rows_at
from cayleyklein.learning._selection import Learned, rows_to_draw
from cayleyklein.learning._trials import Selection
from cayleyklein.learning.objectives import KernelRecipe
from cayleyklein.learning.regression._selection import (
    RegressionRows,
    learn_auto,
    left_out_neighbors,
    plain,
)

logger = logging.getLogger(__name__)

GEOMETRIES = ("auto", "flat", "elliptic", "hyperbolic", "learned")

WINDOWS = {"window": 30, "gaussian": 200}
"""Rows in the window of each kernel."""


class CurvedMLKR(DescentLearner):
    """Learn a flat, elliptic or hyperbolic metric, or a product, for predicting numbers.

    The metric minimises the leave-one-out squared error of predicting each row by a mean of its
    neighbours' targets (metric learning for kernel regression, Weinberger and Tesauro 2007), in
    every curvature. By default the kernel is Epanechnikov's in a window of the nearest rows, which
    follows the density of the data and needs no bandwidth; neighbours are found anew in every
    evaluation of the loss. Columns need no scaling: they are standardised first, and so is each
    target.

    Parameters
    ----------
    geometry : {"auto", "flat", "elliptic", "hyperbolic", "learned"}, default="auto"
        "auto" learns a product of flat space and spheres of curvature 0.09 and 1 (in units of
        standardised columns), and keeps it unless plain neighbours do as well on held-out rows.
        "learned" makes the curvature a parameter, which may cross zero.
    kernel : {"window", "gaussian"}, default="window"
        "window" is 1.01 - d²/d_m², of the m nearest rows. "gaussian" is exp(-d²), Weinberger and
        Tesauro's, over the m nearest rows.
    n_neighbors : int or "auto", default="auto"
        m: 30 for a window, 200 for a Gaussian.
    spread : float or "auto", default="auto"
        Size of a standardised column at an elliptic start, in units of the sphere's radius: a
        small one starts close to flat space, a large one compares directions from the centre. 0.3
        by default.
    init : str, CurvedMetric, array of shape (r, d) or "auto", default="auto"
        Start: "std" (standardised columns, the default), "identity" (columns as they are),
        "precision", "pca" or "flat" (the flat metric learned first).
    n_components : int or None, default=None
        Rows of the factor: fewer than columns reduce the dimension.
    max_iter : int or "auto", default="auto"
        Iterations of a pass; 10 by default.
    n_passes : int or "auto", default="auto"
        Passes, each with the rows whose errors count drawn anew where there are many; 2 by default.
    subsample : int, float, "auto" or None, default="auto"
        Rows to learn from, or their share. "auto" takes at most 10,000 for one geometry; with
        geometry="auto" the sample doubles from 8,000 rows on until held-out rows show no gain
        (``selection_.stages``). None takes all rows.
    random_state : int, RandomState or None, default=None
        Draws held-out rows, anchors and the subsample.
    callback : callable or None, default=None
        Told a :class:`Progress` after each iteration of the fits that make the metric; a true
        answer stops, and leaves a usable metric.
    verbose : bool, default=False
        Write a line for each iteration to standard error.

    Attributes
    ----------
    metric_ : CurvedMetric or ProductMetric
    geometry_ : str
        "flat", "elliptic", "hyperbolic" or "product".
    curvature_ : ndarray of shape (n_parts,)
        K of each part of the metric; one for a single metric.
    components_ : ndarray of shape (n_rows, d)
        The factors L of the parts, one below the other.
    n_iter_ : int
        Iterations of all passes of all parts; 1 where plain neighbours were kept.
    loss_history_ : list of list of float
        For each pass of each part the loss before its first iteration and after each: 1 - R² of
        leaving one row out.
    n_samples_learned_ : int
        Rows that the metric was learned from.
    selection_ : Selection
        What was tried on held-out rows, what was chosen and why.
    n_features_in_ : int
    feature_names_in_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(200, random_state=0)
    >>> learner = CurvedMLKR(geometry="flat", random_state=0).fit(X, y)
    >>> learner.metric_
    CurvedMetric(flat, d=10, K=0)
    >>> before, *_, after = learner.loss_history_[0]
    >>> bool(after < before)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DescentLearner._shared_constraints,
        "geometry": [StrOptions(set(GEOMETRIES))],
        "kernel": [StrOptions(set(WINDOWS))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "spread": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_passes": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "subsample": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"auto"}),
            None,
        ],
    }

    def __init__(
        self,
        *,
        geometry: str = "auto",
        kernel: str = "window",
        n_neighbors: int | str = "auto",
        spread: float | str = "auto",
        init: Any = "auto",
        n_components: int | None = None,
        max_iter: int | str = "auto",
        n_passes: int | str = "auto",
        subsample: int | float | str | None = "auto",
        random_state: Any = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.geometry = geometry
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.spread = spread
        self.init = init
        self.n_components = n_components
        self.max_iter = max_iter
        self.n_passes = n_passes
        self.subsample = subsample
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> CurvedMLKR:
        """Learn the metric.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
            Of Dask rows a sample is drawn and learned from here.
        y : array-like or Dask collection of shape (n,) or (n, n_targets)
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows' errors and of their votes; 0 leaves a row out, 2 counts it twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        rng = self._generator()
        if is_dask(X):
            return self._fit_drawn(*self._sample_dask(X, y, sample_weight, rng), rng)
        rows, target = check_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2
        )
        return self._fit_sample(rows, target, as_weights(sample_weight, rows), rng)

    def _fit_checked(self, X: Floats, y: Floats, weights: Floats) -> CurvedMLKR:
        """Learn from rows that are checked already, as a regressor does after its own checks."""
        self._check_parameters()
        self.n_features_in_ = X.shape[1]
        return self._fit_sample(X, y, weights, self._generator())

    def _fit_sample(
        self, X: Floats, y: AnyArray, weights: Floats, rng: np.random.Generator
    ) -> CurvedMLKR:
        some = np.flatnonzero(weights > 0)
        some = some[self._drawn(len(some), X.shape[1], rng)]
        return self._fit_drawn(X[some], y[some], weights[some], rng)

    def _fit_drawn(
        self, X: Floats, y: AnyArray, weights: Floats, rng: np.random.Generator
    ) -> CurvedMLKR:
        self._check_columns(len(X), X.shape[1])
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        rows = RegressionRows.from_targets(X, Y, weights)
        if len(rows) < 2:
            raise InvalidInputError(
                "X has one distinct row of positive weight; learning a metric needs two or more."
            )
        with few_threads(*rows.X.shape):
            learned = self._learn(rows, rng)
        self._warn_unconverged(learned.fits)
        logger.info("%s", learned.selection)
        self._keep(learned.metric, learned.fits)
        self.n_iter_ = max(1, self.n_iter_)  # which scikit-learn wants of few rows too
        self.selection_ = learned.selection
        self.n_samples_learned_ = learned.selection.n_rows or len(X)
        return self

    def _check_parameters(self) -> None:
        check_parameters(self)
        if self.geometry == "auto" and not isinstance(self.init, str):
            raise InvalidInputError(
                'Got a metric as init with geometry="auto", which learns several metrics; give one '
                "geometry, or a start by name."
            )
        if self.geometry == "auto" and self.spread != "auto":
            raise InvalidInputError(
                f'Got spread={self.spread!r} with geometry="auto", whose parts have spreads of '
                f"their own; drop it, or give one geometry."
            )

    def _drawn(self, n: int, d: int, rng: np.random.Generator) -> Ints:
        """Return the rows to learn from, out of n with d columns."""
        size = rows_to_draw(self.subsample, self.geometry, d)
        (count,) = class_shares(np.array([n]), size, 2)
        return np.sort(rng.choice(n, count, replace=False, shuffle=False))

    def _sample_dask(
        self, X: Any, y: Any, sample_weight: Any, rng: np.random.Generator
    ) -> tuple[Floats, Floats, Floats]:
        """Return a sample of Dask rows, their targets and their weights."""
        check_columns(self, X, y, reset=True)
        blocks = row_blocks(X, y)
        drawn = self._drawn(blocks.n_rows, blocks.n_columns, rng)
        weights = np.ones(len(drawn))
        starts = blocks.starts
        if sample_weight is not None:
            parts = target_blocks(sample_weight, blocks.lengths, "sample_weight")
            weights = values_at(parts, starts, drawn, "sample_weight")
        targets = values_at(blocks.targets or [], starts, drawn, "y")
        return rows_at(blocks, drawn), targets, as_weights(weights, drawn)

    # -- learning -------------------------------------------------------------------

    def _recipe(self, geometry: str) -> KernelRecipe:
        changes = given(self, "max_iter", "n_passes", "init", "n_neighbors", "spread")
        if not isinstance(self.init, str):
            changes["init"] = "std"
        changes = {"n_neighbors": WINDOWS[self.kernel], **changes}
        return KernelRecipe(geometry, n_components=self.n_components, kernel=self.kernel, **changes)

    def _learn(self, rows: RegressionRows, rng: np.random.Generator) -> Learned:
        report = self._report()
        if not rows.targets.any():
            warn_caller(
                "y is the same in every row, so that every metric predicts it; standardised "
                "columns are kept."
            )
            return plain(rows, self.n_components, "y is constant")
        if self.geometry == "auto":
            return learn_auto(rows, self._recipe("flat"), rng, report)
        recipe = self._recipe(self.geometry)
        fit = descend(rows, recipe, rng, self._start(rows, recipe), report)
        k = left_out_neighbors(rows, fit.found)
        selection = Selection(self.geometry, "the geometry that was asked for", k)
        return Learned(rows.to_metric(fit.found), (fit,), selection)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def values_at(parts: Any, starts: list[int], numbers: Ints, name: str) -> Floats:
    """Return the values at given row numbers, ascending, of the blocks of a Dask column."""
    ends = [*starts[1:], np.iinfo(np.int64).max]
    tasks = [
        task(_values_of, part, numbers[(numbers >= start) & (numbers < end)] - start, name, start)
        for part, start, end in zip(parts, starts, ends, strict=True)
    ]
    return np.concatenate(compute(*tasks, doing=f"reading {name}"))


def _values_of(part: Any, numbers: Ints, name: str, start: int) -> Floats:
    return as_finite_array(part, name, start)[numbers]
