"""Metric learning for kernel regression in flat and curved space: the estimator."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from cayleyklein._typing import Floats
from cayleyklein._validation import warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import descent, learner
from cayleyklein.learning.objectives.kernel_regression import KernelRecipe
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import GivenRows, TrainingRows
from cayleyklein.metrics import Metric

NUMBER_GEOMETRIES = ("product", "flat", "elliptic", "hyperbolic", "learned")
# Geometries and spreads of the product's parts: flat space, and spheres of curvature 0.09 and 1
# where a standardised column has the unit 1.
NUMBER_PRODUCT = (("flat", 1.0), ("elliptic", 0.3), ("elliptic", 1.0))
WINDOW_ROWS = {"window": 30, "gaussian": 200}  # of each kernel


class CurvedMLKR(learner.RowLearner):
    """Learn a product, or a flat, elliptic or hyperbolic metric, for predicting numbers.

    The metric minimises the leave-one-out squared error of predicting each row by a mean of its
    neighbours' targets (metric learning for kernel regression, Weinberger and Tesauro 2007), in
    every curvature. By default the kernel is Epanechnikov's in a window of the nearest rows, which
    follows the density of the data and needs no bandwidth; neighbours are found in every evaluation
    of the loss. Columns need no scaling: they are standardised first, and so is each target.

    Parameters
    ----------
    geometry : {"product", "flat", "elliptic", "hyperbolic", "learned"}, default="product"
        "product" is a product of flat space and spheres of curvature 0.09 and 1, in units of
        standardised columns. "learned" makes the curvature a parameter, which may cross zero.
    kernel : {"window", "gaussian"}, default="window"
        Weight of a row at distance d: "window" is 1.01 - d²/d_m² over the m nearest rows,
        "gaussian" is exp(-d²), as in Weinberger and Tesauro.
    n_neighbors : int or "auto", default="auto"
        Number m of rows under the kernel; "auto" is 30 for a window, 200 for a Gaussian.
    spread : float or "auto", default="auto"
        Size of a standardised column at an elliptic start, in units of the sphere's radius; "auto"
        is 0.3: small is close to flat space, large compares directions from the centre.
    init : str, CurvedMetric, array of shape (r, d) or "auto", default="auto"
        Metric to start from: "std" (standardised columns), "identity" (columns as they are),
        "precision" (whitened columns), "pca", "flat" (the flat metric, learned first), a metric or
        its factor. "auto" is "std".
    n_components : int or None, default=None
        Number of rows of the factor L; fewer than columns reduce the dimension. None takes as many
        as columns.
    max_iter : int or "auto", default="auto"
        Maximum number of iterations of a pass; "auto" is 10.
    n_passes : int or "auto", default="auto"
        Number of passes, each with another draw of the rows whose errors count, if there are many.
        "auto" is 2.
    subsample : int, float, "auto" or None, default="auto"
        Number of rows to learn from, or their share. "auto" takes at most 10,000 rows, None takes
        all.
    random_state : int, RandomState or None, default=None
        Seed of the subsample and, if there are many rows, of the draw of those that have a term in
        the loss.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration. If it returns true, the fit stops and
        keeps the metric found so far.
    verbose : bool, default=False
        Whether to write a line for each iteration to standard error.

    Attributes
    ----------
    metric_ : CurvedMetric or ProductMetric
        The learned metric.
    geometry_ : str
        Geometry of the metric: "flat", "elliptic", "hyperbolic" or "product".
    curvature_ : ndarray of shape (n_parts,)
        Curvature K of each part of the metric; one for a single metric.
    components_ : ndarray of shape (n_rows, d)
        Factors L of the parts, one below the other.
    n_iter_ : int
        Number of iterations, over all passes of all parts.
    loss_history_ : list of list of float
        For each pass of each part, the loss at its start and after each iteration. It never rises.
    n_features_in_ : int
        Number of columns of X.
    n_samples_learned_ : int
        Number of distinct rows of positive weight that the metric was learned from.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(200, random_state=0)
    >>> CurvedMLKR(geometry="flat", random_state=0).fit(X, y).metric_
    CurvedMetric(flat, d=10, K=0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions(set(NUMBER_GEOMETRIES))],
        "kernel": [StrOptions(set(WINDOW_ROWS))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "spread": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        geometry: str = "product",
        kernel: str = "window",
        n_neighbors: int | str = "auto",
        spread: float | str = "auto",
        init: Any = "auto",
        n_components: int | None = None,
        max_iter: int | str = "auto",
        n_passes: int | str = "auto",
        subsample: int | float | str | None = "auto",
        random_state: Any = None,
        callback: Callable[[descent.Progress], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.geometry = geometry
        self.kernel = kernel
        self.spread = spread
        self.n_neighbors = n_neighbors
        self.init = init
        self.n_components = n_components
        self.max_iter = max_iter
        self.n_passes = n_passes
        self.subsample = subsample
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    _numeric = True
    _part_size = "spread"

    def _recipes(self) -> tuple[KernelRecipe, ...]:
        changes = self._given("max_iter", "n_passes", "init", "n_neighbors", "spread")
        base: dict[str, Any] = {"n_components": self.n_components, "kernel": self.kernel}
        base |= {"n_neighbors": WINDOW_ROWS[self.kernel], **changes}
        if self.geometry == "product":
            return tuple(KernelRecipe(g, spread=spread, **base) for g, spread in NUMBER_PRODUCT)
        return (KernelRecipe(self.geometry, **base),)

    def _training_rows(self, given: GivenRows, size: Any, rng: np.random.Generator) -> TrainingRows:
        drawn = given.draw(size, 2, rng.spawn(1)[0])
        n, X = len(drawn.target), cast(Floats, drawn.X)
        self._check_columns(n, given.n_columns)
        rows = TrainingRows.from_targets(X, drawn.target.reshape(n, -1), drawn.weights)
        if len(rows) < 2:
            raise InvalidInputError(
                f"X has one distinct row of positive weight (n_samples = {n}); learning a "
                f"metric needs two or more."
            )
        return rows

    def _learn(self, rows: TrainingRows, rng: np.random.Generator) -> tuple[Metric, descent.Fits]:
        if rows.targets is not None and rows.targets.any():
            return super()._learn(rows, rng)
        warn_caller(
            "y is the same in every row, so that every metric predicts it; standardised columns "
            "are kept."
        )
        factor = descent.starting_factor("std", rows, self.n_components)
        return rows.to_metric(Parameters(factor, np.zeros(rows.n_columns), 0.0)), ()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
