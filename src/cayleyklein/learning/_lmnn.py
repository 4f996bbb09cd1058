"""Large margin nearest neighbours in flat and curved space: the estimator."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cayleyklein._estimators import (
    as_jobs,
    as_random_state,
    whole_or_not_at_all,
)
from cayleyklein._threads import Threads
from cayleyklein._validation import about, as_callback, as_choice
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Frame
from cayleyklein.learning._auto import AUTO_FROM, train_auto
from cayleyklein.learning._base import MetricLearner
from cayleyklein.learning._data import Rows
from cayleyklein.learning._descent import Progress, Recipe
from cayleyklein.learning._intake import Sampling, take_in
from cayleyklein.learning._mixture import sum_of
from cayleyklein.learning._parameters import (
    COUNT,
    NUMBER,
    POSITIVE,
    check_number,
    check_optional,
    check_subsample,
)
from cayleyklein.learning._recipes import SHRUNK_RADIUS, default_impostors, default_recipe
from cayleyklein.learning._reports import warn_of_limits, warn_of_small_classes
from cayleyklein.learning._starts import STARTS
from cayleyklein.learning._train import (
    Options,
    Result,
    train_mixed,
    train_one,
)
from cayleyklein.metrics import CurvedMetric

__all__ = ["CurvedLMNN"]

GEOMETRIES = ("auto", "flat", "elliptic", "hyperbolic", "learned", "mixed")
PAIR = ("elliptic", "hyperbolic")
PAPER_ITERATIONS = 200


class CurvedLMNN(MetricLearner):
    """Learn a flat, elliptic, hyperbolic or mixed metric for nearest neighbours.

    Each row is drawn to its target neighbours, rows of its class, and rows of other classes that
    come within a margin of them, its impostors, are pushed away (Weinberger and Saul 2009; Nielsen,
    Muzellec and Nock 2016, §4). The loss is not convex in curved space, and stopping early
    regularises: the defaults were chosen by accuracy, not by the value of the loss.

    Parameters
    ----------
    n_neighbors : int, default=3
        The k of the nearest-neighbour vote that the metric is for.
    geometry : {"auto", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, default="auto"
        "flat" is classic LMNN on squared Mahalanobis distances. "learned" makes the curvature a
        parameter, which may cross zero. "mixed" is the paper's α d_E + (1-α) d_H. "auto" adds an
        elliptic and a hyperbolic metric, unless held-out rows clearly support one of them alone,
        flat, all three, more passes, or plain k-NN; below 100 distinct rows it is elliptic.
    push : float, default=0.5
        Share of the push term in the loss, from 0 (only pull) to 1.
    margin : float or "auto", default="auto"
        In units of the squared distance (flat) or of the distance at K = ±1 (curved).
    init : str, CurvedMetric, array of shape (r, d) or "auto", default="auto"
        Start: "precision", "identity" (columns as they are), "std" (standardised), "flat" (flat
        LMNN), "shrunk" (precision, drawn to the centre), "pca", "lda", or with solver="gradient"
        "diagonal".
    n_init : int or "auto", default="auto"
        1 takes the default margin and start; otherwise others are tried on held-out rows, and taken
        only on clear evidence. See `selection_`.
    n_targets : int or "auto", default="auto"
        Target neighbours of a row; by default more than `n_neighbors` where classes are large.
    solver : {"lbfgs", "gradient"}, default="lbfgs"
        "gradient" is the paper's own method.
    max_iter : int or "auto", default="auto"
        Iterations of the first pass; later ones have half as many.
    tol : float, default=1e-5
        Relative decrease of the loss at which a pass ends.
    learning_rate : float or None, default=None
        First step of solver="gradient"; None takes one hundredth of the factor's length.
    impostor_interval : int, default=10
        Iterations after which impostors are found anew.
    max_impostors : int, None or "auto", default="auto"
        The nearest impostors of a row that are kept; None keeps all, as the paper does. "auto"
        keeps 100,000 in all, but at least 50 a row.
    n_passes : int or "auto", default="auto"
        How often target neighbours are chosen anew under the learned metric and the fit goes on.
        1 is the paper's behaviour. "auto" tries more from 500 rows on.
    n_components : int or None, default=None
        Rows of the factor: fewer than columns reduce the dimension.
    alpha : float or None, default=None
        Share of the elliptic metric in "mixed"; None tunes it on held-out rows.
    memory_budget : float, default=1e9
        Bytes that impostor pairs may take; a warning says when that binds.
    subsample : int, float or None, default=None
        Rows to learn from, or their share, drawn from each class alike; None takes all.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows and the subsample.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    warm_start : bool, default=False
        Start from the metric of the last fit (a single geometry).
    callback : callable or None, default=None
        Told a :class:`Progress` each iteration, but for fits that only serve a choice, which the
        logger ``cayleyklein.learning`` names at level INFO; a true answer stops the fit, and leaves
        a usable metric.
    verbose : bool, default=False
        Show progress on standard error.

    Attributes
    ----------
    metric_ : CurvedMetric or MixedMetric
    geometry_ : str
        "flat", "elliptic", "hyperbolic" or "mixed".
    curvature_ : float or ndarray
        K, or those of the parts of a mixture.
    alpha_ : float or None
        Share of the elliptic metric in a sum of two, where each metric is in its own unit: the
        median distance of a row to its nearest few. Three have equal shares.
    components_ : ndarray of shape (r, d) or list of them
        The factor L, or those of the parts.
    n_iter_ : int
    loss_history_ : list of float, or list of such lists
        The loss after each iteration, over the targets and impostors of that moment.
    selection_ : Selection or None
        What was tried on held-out rows, what was chosen and why.
    classes_ : ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y)
    >>> learner.metric_
    CurvedMetric(elliptic, d=4, K=1)
    >>> learner.transform(X).shape
    (150, 5)
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        geometry: str = "auto",
        push: float = 0.5,
        margin: float | str = "auto",
        init: Any = "auto",
        n_init: int | str = "auto",
        n_targets: int | str = "auto",
        solver: str = "lbfgs",
        max_iter: int | str = "auto",
        tol: float = 1e-5,
        learning_rate: float | None = None,
        impostor_interval: int = 10,
        max_impostors: int | str | None = "auto",
        n_passes: int | str = "auto",
        n_components: int | None = None,
        alpha: float | None = None,
        memory_budget: float = 1e9,
        subsample: int | float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.geometry = geometry
        self.push = push
        self.margin = margin
        self.init = init
        self.n_init = n_init
        self.n_targets = n_targets
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.impostor_interval = impostor_interval
        self.max_impostors = max_impostors
        self.n_passes = n_passes
        self.n_components = n_components
        self.alpha = alpha
        self.memory_budget = memory_budget
        self.subsample = subsample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> CurvedLMNN:
        """Learn the metric.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
            Dask rows stay on the workers of the active ``distributed.Client``.
        y : array-like, Dask array or Dask series of shape (n,)
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows' terms in the loss; 0 leaves a row out, 2 counts it twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        with whole_or_not_at_all(self) as worker:
            worker._fit(X, y, sample_weight)
        return self

    def _fit(self, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        random = as_random_state(self.random_state)
        data, classes = take_in(self, X, y, sample_weight, self._sampling(random))
        jobs = as_jobs(self.n_jobs)
        with Threads(jobs) if jobs > 1 else nullcontext() as pool:
            options = self._options(data, pool, random)
            if self.verbose and (options.tune or options.tune_passes):
                sys.stderr.write("[CurvedLMNN] choosing between candidates on held-out rows\n")
            result = self._learn(data, options)
        if self.verbose:
            sys.stderr.write("\n")
        warn_of_small_classes(data, classes, self._wanted_targets())
        warn_of_limits(result, self.memory_budget, self.max_iter)
        self._keep(data, result, classes)

    # -- from parameters to recipes -------------------------------------------------

    def _check_parameters(self) -> None:
        as_choice(self.geometry, "geometry", GEOMETRIES)
        as_choice(self.solver, "solver", ("lbfgs", "gradient"))
        if self.solver == "gradient" and self.geometry in ("learned", "auto", "mixed"):
            raise InvalidInputError(
                f'solver="gradient" fits one fixed geometry, "flat", "elliptic" or "hyperbolic"; '
                f"got geometry={self.geometry!r}."
            )
        for name in ("n_neighbors", "impostor_interval"):
            check_number(name, getattr(self, name), COUNT, 1)
        for name in ("n_init", "n_targets", "max_iter", "n_passes"):
            check_optional(name, getattr(self, name), ("auto",), COUNT, 1)
        check_optional("max_impostors", self.max_impostors, ("auto", None), COUNT, 1)
        check_optional("n_components", self.n_components, (None,), COUNT, 1)
        check_optional("margin", self.margin, ("auto",), NUMBER, POSITIVE)
        check_optional("alpha", self.alpha, (None,), NUMBER, 0, 1)
        check_optional("learning_rate", self.learning_rate, (None,), NUMBER, POSITIVE)
        check_subsample(self.subsample)
        check_number("tol", self.tol, NUMBER, 0)
        check_number("memory_budget", self.memory_budget, NUMBER, 1)
        check_number("push", self.push, NUMBER, 0, 1)
        if isinstance(self.init, str):
            words = ("auto", "flat", *STARTS)
            as_choice(
                self.init, "init", (*words, "diagonal") if self.solver == "gradient" else words
            )
        elif self.init is None:
            raise InvalidInputError('Got init=None; leave it "auto", or give a start.')
        as_jobs(self.n_jobs)
        as_random_state(self.random_state)
        as_callback(self.callback, "callback")

    def _recipe(self, geometry: str, data: Rows) -> Recipe:
        recipe = default_recipe(geometry, data, self.n_neighbors)
        changes: dict[str, Any] = {"push": float(self.push)}
        if self.solver == "gradient":  # as the paper has it
            changes |= {"margin": 1.0, "init": "precision", "radius": None, "n_passes": 1}
            changes |= {"n_targets": self.n_neighbors, "max_iter": PAPER_ITERATIONS}
        for name in ("margin", "n_targets", "max_iter", "n_passes"):
            if getattr(self, name) != "auto":
                changes[name] = getattr(self, name)
        if isinstance(self.init, str) and self.init != "auto":
            changes |= {
                "init": self.init,
                "radius": SHRUNK_RADIUS if self.init == "shrunk" else None,
            }
        return replace(recipe, **changes)

    def _options(self, data: Rows, pool: Threads | None, random: np.random.RandomState) -> Options:
        free = self.margin == "auto" and isinstance(self.init, str) and self.init == "auto"
        single = self.geometry not in ("auto", "mixed")
        enough = len(data) >= AUTO_FROM and self.n_init != 1 and self.solver == "lbfgs"
        start = self._start(data)
        return Options(
            n_neighbors=self.n_neighbors,
            n_components=self.n_components,
            solver=self.solver,
            tol=float(self.tol),
            learning_rate=self.learning_rate,
            impostor_interval=self.impostor_interval,
            max_impostors=(
                default_impostors(data)
                if isinstance(self.max_impostors, str)
                else self.max_impostors
            ),
            memory_budget=float(self.memory_budget),
            pool=pool,
            callback=self._watch(),
            tune=enough and (free or not single) and start is None,
            tune_passes=self.n_passes == "auto" and self.solver == "lbfgs" and start is None,
            rng=np.random.default_rng(random.randint(np.iinfo(np.int32).max)),
            start=start,
        )

    def _sampling(self, random: np.random.RandomState) -> Sampling | None:
        if self.subsample is None:
            return None
        rng = np.random.default_rng(random.randint(np.iinfo(np.int32).max))
        return Sampling(self.subsample, self._wanted_targets() + 1, rng)

    def _warm(self) -> bool:
        return bool(self.warm_start) and isinstance(getattr(self, "metric_", None), CurvedMetric)

    def _start(self, data: Rows) -> Frame | None:
        """Return a start that was given, in standardised coordinates."""
        init = self.init
        d = data.n_columns
        if self._warm():
            init = self.metric_
        if isinstance(init, str):
            return None
        if isinstance(init, CurvedMetric):
            frame = init.frame
        else:
            with about("init"):
                frame = Frame(init)
        if frame.dimension != d:
            raise InvalidInputError(f"init is for {frame.dimension} columns, but X has {d}.")
        if self.n_components is not None and self.n_components != len(frame.factor):
            raise InvalidInputError(
                f"Got n_components={self.n_components}, but init has a factor of "
                f"{len(frame.factor)} rows."
            )
        return data.from_raw_frame(frame)

    def _learn(self, data: Rows, options: Options) -> Result:
        if self.geometry in ("auto", "mixed"):
            recipes = {geometry: self._recipe(geometry, data) for geometry in ("flat", *PAIR)}
            if self.geometry == "auto":
                return train_auto(data, recipes, options)
            return train_mixed(data, [recipes[g] for g in PAIR], self.alpha, options)
        return train_one(data, self._recipe(self.geometry, data), options)

    # -- what the caller sees -------------------------------------------------------

    def _wanted_targets(self) -> int:
        return self.n_neighbors if isinstance(self.n_targets, str) else self.n_targets

    def _watch(self) -> Callable[[Progress], bool | None] | None:
        """Return what each iteration calls; once it has been told to stop, every fit stops."""
        if self.callback is None and not self.verbose:
            return None
        told_to_stop = False

        def watch(progress: Progress) -> bool:
            nonlocal told_to_stop
            if self.verbose:
                sys.stderr.write(
                    f"\r[CurvedLMNN] iteration {progress.iteration}: loss {progress.loss:.6g}, "
                    f"{progress.n_active} active, K = {progress.curvature:.4g}   "
                )
                sys.stderr.flush()
            if self.callback is not None and not told_to_stop:
                told_to_stop = bool(self.callback(progress))
            return told_to_stop

        return watch

    def _keep(self, data: Rows, result: Result, classes: NDArray[Any]) -> None:
        frames = [data.to_raw(frame) for frame in result.frames]
        self.metric_ = sum_of(frames, result.units, result.shares)
        self.geometry_ = self.metric_.geometry
        single = len(frames) == 1
        self.curvature_ = frames[0].curvature if single else np.array([f.curvature for f in frames])
        self.alpha_ = result.shares[0] if len(frames) == 2 else None
        self.components_ = frames[0].factor if single else [frame.factor for frame in frames]
        self.n_iter_ = max([fit.n_iter for fit in result.fits], default=0)
        histories = [fit.loss_history for fit in result.fits]
        self.loss_history_ = histories[0] if len(histories) == 1 else histories
        self.selection_ = result.selection
        self.classes_ = classes
