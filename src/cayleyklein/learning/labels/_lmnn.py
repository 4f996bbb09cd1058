"""Large margin nearest neighbours in flat and curved space: the estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from cayleyklein._distributed import is_dask
from cayleyklein._estimators import (
    as_target,
    as_weights,
    check_data,
    check_parameters,
    encode_classes,
    few_threads,
    restore_on_error,
)
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._descent import Progress, descend, n_anchors
from cayleyklein.learning._learner import DescentLearner
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning._sampling import draw_rows, read_targets, rows_at
from cayleyklein.learning._selection import Learned, rows_to_draw
from cayleyklein.learning._starts import STARTS
from cayleyklein.learning._trials import Selection
from cayleyklein.learning.labels._paper import PaperDescent
from cayleyklein.learning.labels._selection import focus, learn_auto, learn_mixed
from cayleyklein.learning.objectives import LargeMarginRecipe
from cayleyklein.metrics import CurvedMetric

GEOMETRIES = ("auto", "flat", "elliptic", "hyperbolic", "learned", "mixed")

MARGINS = {"flat": 1.0, "elliptic": 0.3, "hyperbolic": 0.1, "learned": 0.3}
"""Default margins: of d² in flat space, of d at |K| = 1 in curved space."""

PAPER = {"margin": 1.0, "init": "precision", "n_passes": 1, "max_iter": 200, "n_impostors": None}
"""What solver="gradient" does, as the paper has it."""

EVALUATIONS, RATE, LONG = 7, 2e10, 120
"""Evaluations of the loss in a pass, multiplications in a second, and seconds that are long."""


class CurvedLMNN(DescentLearner):
    """Learn a flat, elliptic, hyperbolic or mixed metric, or a product, for nearest neighbours.

    Each row is drawn to its target neighbours, rows of its class, and its nearest impostors, rows
    of other classes, are pushed a margin beyond them (Weinberger and Saul 2009; Nielsen, Muzellec
    and Nock 2016, §4). Impostors are those of the metric being evaluated, found in every evaluation
    of the loss. Columns need no scaling: they are standardised first.

    Parameters
    ----------
    geometry : {"auto", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, default="auto"
        "auto" learns a product of spheres of curvature 0.09 and 1 (in units of the margin) and flat
        space, and keeps it unless plain neighbours do as well on held-out rows. "flat" is classic
        LMNN. "learned" makes the curvature a parameter, which may cross zero. "mixed" is the
        paper's α d_E + (1-α) d_H.
    n_targets : int, default=3
        Target neighbours of a row.
    n_impostors : int or None, default=10
        Nearest impostors of a row that are pushed; None pushes all, which is the paper's loss.
    margin : float or "auto", default="auto"
        In units of the squared distance (flat) or of the distance at K = ±1 (curved). "auto" is 1
        (flat), 0.3 (elliptic, learned) or 0.1 (hyperbolic).
    push : float, default=0.5
        Share of the push term in the loss, from 0 (only pull) to 1.
    init : str, CurvedMetric, array of shape (r, d) or "auto", default="auto"
        Start: "std" (standardised columns, the default), "identity" (columns as they are),
        "precision", "pca", "lda", "flat" (flat LMNN), or with solver="gradient" "diagonal".
    n_components : int or None, default=None
        Rows of the factor: fewer than columns reduce the dimension.
    solver : {"lbfgs", "gradient"}, default="lbfgs"
        "gradient" is the paper's own method, with its margin of 1, start, and all impostors, unless
        these are given.
    max_iter : int or "auto", default="auto"
        Iterations of a pass; 5 by default.
    n_passes : int or "auto", default="auto"
        How often target neighbours are chosen anew under the learned metric and the fit goes on; 4
        by default. 1 is the paper's behaviour.
    subsample : int, float, "auto" or None, default="auto"
        Rows to learn from, or their share, drawn from each class alike. "auto" takes at most 10,000
        for one geometry; with geometry="auto" the sample doubles from 8,000 rows on until held-out
        rows show no gain (``selection_.stages``). None takes all rows.
    random_state : int, RandomState or None, default=None
        Draws held-out rows, anchors and the subsample.
    callback : callable or None, default=None
        Told a :class:`Progress` after each iteration of the fits that make the metric; a true
        answer stops, and leaves a usable metric.
    verbose : bool, default=False
        Write a line for each iteration to standard error.

    Attributes
    ----------
    metric_ : CurvedMetric, MixedMetric or ProductMetric
    geometry_ : str
        "flat", "elliptic", "hyperbolic", "mixed" or "product".
    curvature_ : ndarray of shape (n_parts,)
        K of each part of the metric; one for a single metric.
    components_ : ndarray of shape (n_rows, d)
        The factors L of the parts, one below the other.
    n_iter_ : int
        Iterations of all passes of all parts; 1 where plain neighbours were kept.
    loss_history_ : list of list of float
        For each pass of each part the loss before its first iteration and after each. It never
        rises within a pass.
    n_samples_learned_ : int
        Rows that the metric was learned from.
    selection_ : Selection
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DescentLearner._sample_constraints,
        "geometry": [StrOptions(set(GEOMETRIES))],
        "n_targets": [Interval(Integral, 1, None, closed="left")],
        "n_impostors": [Interval(Integral, 1, None, closed="left"), None],
        "margin": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "push": [Interval(Real, 0, 1, closed="both")],
        "init": [StrOptions({"auto", "flat", "diagonal", *STARTS}), CurvedMetric, "array-like"],
        "solver": [StrOptions({"lbfgs", "gradient"})],
    }

    def __init__(
        self,
        *,
        geometry: str = "auto",
        n_targets: int = 3,
        n_impostors: int | None = 10,
        margin: float | str = "auto",
        push: float = 0.5,
        init: Any = "auto",
        n_components: int | None = None,
        solver: str = "lbfgs",
        max_iter: int | str = "auto",
        n_passes: int | str = "auto",
        subsample: int | float | str | None = "auto",
        random_state: Any = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.geometry = geometry
        self.n_targets = n_targets
        self.n_impostors = n_impostors
        self.margin = margin
        self.push = push
        self.init = init
        self.n_components = n_components
        self.solver = solver
        self.max_iter = max_iter
        self.n_passes = n_passes
        self.subsample = subsample
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> CurvedLMNN:
        """Learn the metric.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
            Of Dask rows a sample is drawn, the same as of rows in memory, and learned from here.
        y : array-like, Dask array or Dask series of shape (n,)
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows' terms in the loss; 0 leaves a row out, 2 counts it twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        rng = self._generator()
        take: Callable[[Ints], Floats]
        if is_dask(X):
            blocks, target, sample_weight = read_targets(self, X, y, sample_weight)
            classes, labels = encode_classes(as_target(target))
            d, take = blocks.n_columns, partial(rows_at, blocks)
        else:
            rows, target = check_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
            classes, labels = encode_classes(target)
            d, take = rows.shape[1], rows.__getitem__
        weights = as_weights(sample_weight, labels)
        size = rows_to_draw(self.subsample, self.geometry, d)
        some = draw_rows(labels, weights, size, self.n_targets + 1, rng)
        labels, weights = labels[some], weights[some]
        self._check_columns(d if self.solver == "gradient" else len(some), d)
        refuse_one_class(classes[np.unique(labels[weights > 0])])
        data = TrainingRows.from_raw(take(some), labels, weights, turn=self.solver != "gradient")
        self._warn_if_long(data)
        with few_threads(*data.X.shape):
            learned = self._learn(data, rng)
        self._warn_few(data, classes)
        self._keep(learned.metric, learned.fits, learned.selection, len(some))
        self.classes_ = classes
        return self

    # -- from parameters to recipes -------------------------------------------------

    def _check_parameters(self) -> None:
        check_parameters(self)
        several = self.geometry in ("auto", "mixed")
        if self.solver == "gradient" and (several or self.geometry == "learned"):
            raise InvalidInputError(
                f'solver="gradient" fits one fixed geometry, "flat", "elliptic" or "hyperbolic"; '
                f"got geometry={self.geometry!r}."
            )
        if several and not isinstance(self.init, str):
            raise InvalidInputError(
                f"Got a metric as init with geometry={self.geometry!r}, which learns several "
                f"metrics; give one geometry, or a start by name."
            )
        if self.geometry == "auto" and self.margin != "auto":
            raise InvalidInputError(
                f'Got margin={self.margin!r} with geometry="auto", whose parts have margins of '
                f"their own; drop it, or give one geometry."
            )
        starts = {"lbfgs": "diagonal", "gradient": "flat"}  # each is one of the other solver
        if isinstance(self.init, str) and self.init == starts[self.solver]:
            (other,) = starts.keys() - {self.solver}
            raise InvalidInputError(f'init="{self.init}" is a start of solver="{other}".')

    def _recipe(self, geometry: str) -> LargeMarginRecipe:
        recipe = LargeMarginRecipe(
            geometry, margin=MARGINS[geometry], push=float(self.push), n_targets=self.n_targets,
            n_impostors=self.n_impostors, n_components=self.n_components,
        )  # fmt: skip
        changes: dict[str, Any] = dict(PAPER) if self.solver == "gradient" else {}
        changes.update(self._given("margin", "max_iter", "n_passes", "init"))
        return replace(recipe, **changes)

    def _learn(self, rows: TrainingRows, rng: np.random.Generator) -> Learned:
        report = self._report()
        if self.geometry == "auto":
            return learn_auto(rows, self._recipe("flat"), rng, report)
        if self.geometry == "mixed":
            return learn_mixed(
                rows, (self._recipe("elliptic"), self._recipe("hyperbolic")), rng, report
            )
        recipe = self._recipe(self.geometry)
        start = self._start(rows, recipe)
        if start is None:
            (rows,) = focus(recipe.init, rows)
        if self.solver == "gradient":
            fit = PaperDescent(rows, recipe, start, report).run()
        else:
            fit = descend(rows, recipe, rng, start, report)
        selection = Selection(self.geometry, "the geometry that was asked for")
        return Learned(rows.to_metric(fit.found), (fit,), selection)

    def _warn_if_long(self, rows: TrainingRows) -> None:
        """Say beforehand where a fit takes minutes."""
        if self.geometry == "auto":  # its samples are bounded by their work
            return
        n, d = rows.X.shape
        passes = 4 if isinstance(self.n_passes, str) else self.n_passes
        steps = EVALUATIONS if isinstance(self.max_iter, str) else 1.2 * self.max_iter
        parts = 2 if self.geometry == "mixed" else 1
        seconds = parts * passes * steps * n * min(n, n_anchors(d)) * d / RATE
        if seconds > LONG:
            warn_caller(
                f"Learning from {n:,} rows of {d:,} columns will take about "
                f"{round(seconds / 60)} minutes. subsample=10000 learns from fewer, verbose=True "
                f"shows how far it is."
            )

    def _warn_few(self, rows: TrainingRows, classes: AnyArray) -> None:
        """Say which classes have fewer target neighbours than asked for."""
        sizes = rows.class_sizes  # shorter where the last classes weigh nothing
        small = np.flatnonzero((sizes > 0) & (sizes <= self.n_targets))
        if len(small):
            warn_caller(
                f"Classes {classes[small].tolist()} have fewer than {self.n_targets + 1} distinct "
                f"rows, so that their rows have fewer than n_targets={self.n_targets} others of "
                f"their class to be drawn to. They are learned from as they are."
            )


def refuse_one_class(classes: AnyArray) -> None:
    """Raise unless two classes or more have a row of positive weight."""
    if len(classes) < 2:
        raise InvalidInputError(
            f"y has {len(classes)} class in rows of positive weight, {classes.tolist()}; learning "
            f"a metric needs two or more."
        )
