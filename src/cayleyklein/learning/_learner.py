"""Base of the learners that descend: what their parameters mean, and what they keep of a fit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from cayleyklein._estimators import as_random_state
from cayleyklein._validation import about, check_memory, refuse_huge, warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._base import Metric, MetricLearner
from cayleyklein.learning._descent import Fit, Progress, Report
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning._starts import STARTS
from cayleyklein.learning.objectives import LiftedRows, Parameters, Recipe
from cayleyklein.metrics import CurvedMetric

SOLVER_COPIES, SQUARES = 24, 3
"""Arrays of the size of a factor, and of a covariance, that a fit keeps."""


class DescentLearner(MetricLearner):
    """Base of the learners that descend from a start by L-BFGS."""

    geometry: str
    init: Any
    n_components: int | None
    max_iter: int | str
    random_state: Any
    callback: Callable[[Progress], bool | None] | None
    verbose: bool

    _shared_constraints: ClassVar[dict[str, list[Any]]] = {
        "init": [StrOptions({"auto", "flat", *(set(STARTS) - {"lda"})}), CurvedMetric,
                 "array-like"],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "verbose": ["boolean"],
    }  # fmt: skip

    def _check_columns(self, n: int, d: int) -> None:
        if self.n_components is not None and self.n_components > d:
            raise InvalidInputError(
                f"Got n_components={self.n_components}, but X has only {d} columns."
            )
        r = min(n, d)
        check_memory(
            8.0 * (SOLVER_COPIES * min(self.n_components or r, r) * d + SQUARES * r * r),
            f"Learning a metric of {d:,} columns",
            "Reduce the columns first, by PCA for example.",
        )

    def _generator(self) -> np.random.Generator:
        random = as_random_state(self.random_state)
        return np.random.default_rng(random.randint(np.iinfo(np.int32).max))

    def _start(self, rows: TrainingRows, recipe: Recipe) -> Parameters | None:
        """Return a start that was given, for standardised rows and the geometry's K."""
        if isinstance(self.init, str):
            return None
        metric = self.init
        if not isinstance(metric, CurvedMetric):
            with about("init"):
                metric = CurvedMetric(factor=metric)
        refuse_huge(metric.factor, "init")
        if metric.dimension != len(rows.mean):
            raise InvalidInputError(
                f"init is for {metric.dimension} columns, but X has {len(rows.mean)}."
            )
        if self.n_components is not None and self.n_components != len(metric.factor):
            raise InvalidInputError(
                f"Got n_components={self.n_components}, but init has a factor of "
                f"{len(metric.factor)} rows."
            )
        factor, center, K = rows.from_metric(metric)
        if self.geometry == "learned":
            start = Parameters(factor, center, K)
        else:
            unit = np.sqrt(abs(K)) if K and recipe.curvature else 1.0  # recipes have |K| = 1
            start = Parameters(unit * factor, center, recipe.curvature)
        if not LiftedRows(rows.X, start).inside:
            raise InvalidInputError(
                f"init leaves rows of X outside the domain of a {recipe.geometry} metric; shrink "
                f"its factor."
            )
        return start

    def _report(self) -> Report | None:
        """Return what each iteration calls; once told to stop, every later fit stops at once."""
        if self.callback is None and not self.verbose:
            return None
        stop = False

        def report(progress: Progress) -> bool:
            nonlocal stop
            if self.verbose:
                sys.stderr.write(
                    f"[{type(self).__name__}] {progress.part}: pass {progress.n_pass}, iteration "
                    f"{progress.iteration}, loss {progress.loss:.6g}\n"
                )
            if self.callback is not None and not stop:
                stop = bool(self.callback(progress))
            return stop

        return report

    def _keep(self, metric: Metric, fits: tuple[Fit, ...]) -> None:
        """Set the fitted attributes."""
        parts = [metric] if isinstance(metric, CurvedMetric) else metric.metrics
        self.metric_ = metric
        self.geometry_ = metric.geometry
        self.curvature_ = np.array([part.curvature for part in parts])
        self.components_ = np.vstack([part.factor for part in parts])
        self.n_iter_ = sum(fit.n_iter for fit in fits)
        self.loss_history_ = [losses for fit in fits for losses in fit.losses]

    def _warn_unconverged(self, fits: tuple[Fit, ...]) -> None:
        """Say that a number of iterations that was asked for did not suffice."""
        if self.max_iter != "auto" and not all(fit.converged or fit.stopped for fit in fits):
            warn_caller(
                f"The loss still falls after max_iter={self.max_iter} iterations a pass: "
                f"{fits[-1].losses[-1][-1]:.6g} now. Raise max_iter, or leave it out: the default "
                f"stops early on purpose.",
                ConvergenceWarning,
            )


def given(learner: Any, *names: str) -> dict[str, Any]:
    """Return the parameters that are not left to be chosen ("auto")."""
    values = {name: getattr(learner, name) for name in names}
    return {k: v for k, v in values.items() if not (isinstance(v, str) and v == "auto")}
