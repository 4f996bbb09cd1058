"""Metric learning for kernel regression in flat and curved space: the estimator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from cayleyklein._distributed import is_dask
from cayleyklein._estimators import (
    as_weights,
    check_data,
    check_parameters,
    few_threads,
    restore_on_error,
)
from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import as_finite_array, warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._descent import Progress, descend
from cayleyklein.learning._learner import DescentLearner
from cayleyklein.learning._sampling import class_shares, read_targets, rows_at
from cayleyklein.learning._selection import Learned, rows_to_draw
from cayleyklein.learning._trials import Selection
from cayleyklein.learning.objectives import KernelRecipe
from cayleyklein.learning.regression._selection import (
    RegressionRows,
    learn_auto,
    left_out_neighbors,
    plain,
)

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
    subsample, random_state, callback, verbose : see :class:`CurvedLMNN`

    Attributes
    ----------
    metric_ : CurvedMetric or ProductMetric
    geometry_ : str
        "flat", "elliptic", "hyperbolic" or "product".
    loss_history_ : list of list of float
        For each pass of each part the loss before its first iteration and after each: 1 - R² of
        leaving one row out.
    curvature_, components_, n_iter_, n_samples_learned_, selection_ : see :class:`CurvedLMNN`
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
        **DescentLearner._sample_constraints,
        "geometry": [StrOptions(set(GEOMETRIES))],
        "kernel": [StrOptions(set(WINDOWS))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "spread": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
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
        take: Callable[[Ints], Floats]
        if is_dask(X):
            blocks, y, sample_weight = read_targets(self, X, y, sample_weight)
            target = as_finite_array(y, "y")
            d, take = blocks.n_columns, partial(rows_at, blocks)
        else:
            rows, target = check_data(
                self, X, y, dtype=np.float64, multi_output=True, y_numeric=True,
                ensure_min_samples=2,
            )  # fmt: skip
            d, take = rows.shape[1], rows.__getitem__
        weights = as_weights(sample_weight, target)
        some = np.flatnonzero(weights > 0)
        (size,) = class_shares(
            np.array([len(some)]), rows_to_draw(self.subsample, self.geometry, d), 2
        )
        some = some[np.sort(rng.choice(len(some), size, replace=False, shuffle=False))]
        self._check_columns(len(some), d)
        Y = np.asarray(target[some], dtype=np.float64).reshape(len(some), -1)
        data = RegressionRows.from_targets(take(some), Y, weights[some])
        if len(data) < 2:
            raise InvalidInputError(
                "X has one distinct row of positive weight; learning a metric needs two or more."
            )
        with few_threads(*data.X.shape):
            learned = self._learn(data, rng)
        self._keep(learned.metric, learned.fits, learned.selection, len(some))
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

    # -- learning -------------------------------------------------------------------

    def _recipe(self, geometry: str) -> KernelRecipe:
        changes = self._given("max_iter", "n_passes", "init", "n_neighbors", "spread")
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
