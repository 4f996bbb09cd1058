"""One metric from one start: passes of L-BFGS over (L, μ, K), the objective posed anew in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning._lbfgs import minimise
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning._sampling import stratified_sample
from cayleyklein.learning._starts import starting_factor
from cayleyklein.learning.objectives import Evaluation, Objective, Parameters, Recipe
from cayleyklein.metrics import CurvedMetric

TOL = 1e-7
"""Relative decrease of the loss at which a pass ends."""

FEWEST_ANCHORS, ANCHORS_PER_COLUMN = 1000, 25
"""Rows with a term in the loss of a pass, drawn anew for each. All rows stay targets and impostors.

On real sets fewer do as well; where most columns are noise, more help (docs/learning.md).
"""


class Progress(NamedTuple):
    """One iteration of a fit, as a callback is told it.

    Attributes
    ----------
    part : str
        The metric being learned, such as "elliptic, margin 0.3".
    n_pass, iteration : int
        From 1; iterations count on through the passes of a part.
    loss : float
        The loss at this iteration's metric, over the targets and anchors of the pass.
    n_active : int
        Violated comparisons in it: triplets of CurvedLMNN, for example. 0 for CurvedMLKR.
    metric : CurvedMetric
        For rows as they were given.

    Examples
    --------
    >>> from cayleyklein import CurvedLMNN
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> losses = []
    >>> learner = CurvedLMNN(geometry="flat", n_passes=1, callback=lambda p: losses.append(p.loss))
    >>> losses == sorted(losses, reverse=True) if learner.fit(X, y) else None
    True
    """

    part: str
    n_pass: int
    iteration: int
    loss: float
    n_active: int
    metric: CurvedMetric


Report = Callable[[Progress], bool]
"""Told each iteration; a true answer stops the fit."""


class Fit(NamedTuple):
    """A learned metric, for standardised rows.

    `losses` has a list for each pass, its first entry the loss before the first iteration.
    """

    recipe: Recipe
    found: Parameters
    losses: list[list[float]]
    converged: bool
    stopped: bool = False

    @property
    def n_iter(self) -> int:
        """Iterations of all passes."""
        return sum(len(losses) - 1 for losses in self.losses)


def start_of(recipe: Recipe, rows: TrainingRows, rng: np.random.Generator) -> Parameters:
    """Return the parameters that a descent starts from."""
    d = rows.n_columns
    if recipe.init == "flat":
        factor = descend(rows, recipe.flat, rng).found.factor
    else:
        factor = starting_factor(recipe.init, rows, min(recipe.n_components or d, d))
    factor = factor * recipe.scale_of(rows.X @ factor.T)
    return Parameters(factor, np.zeros(d), recipe.curvature)


def descend(
    rows: TrainingRows,
    recipe: Recipe,
    rng: np.random.Generator,
    start: Parameters | None = None,
    report: Report | None = None,
) -> Fit:
    """Learn one metric.

    Parameters
    ----------
    rows : TrainingRows
    recipe : Recipe
    rng : numpy.random.Generator
        Draws the anchors of each pass.
    start : Parameters, optional
        Instead of the recipe's own start.
    report : callable, optional
        Told each iteration; a true answer stops.
    """
    found = start_of(recipe, rows, rng) if start is None else start
    losses: list[list[float]] = []
    converged = stopped = False
    for n_pass in range(recipe.n_passes):
        objective = recipe.pose(rows, draw_anchors(rows, rng), found)
        before = sum(map(len, losses)) - len(losses)
        run = Pass(objective, found, recipe, rows, n_pass + 1, before, report)
        end = minimise(
            run.value, run.pack(found), max_iter=recipe.max_iter, tol=TOL, callback=run.told
        )
        found, converged, stopped = run.unpack(end.x), end.converged, end.stopped
        losses.append(run.losses)
        if stopped:
            break
    return Fit(recipe, found, losses, converged, stopped)


def n_anchors(r: int) -> int:
    """Return how many rows of r coordinates have a term in the loss of a pass, at most."""
    return max(FEWEST_ANCHORS, ANCHORS_PER_COLUMN * r)


def draw_anchors(rows: TrainingRows, rng: np.random.Generator) -> Ints:
    """Return the rows that have a term in the loss of a pass."""
    most = n_anchors(rows.n_columns)
    if len(rows) <= most:
        return np.arange(len(rows))
    first = np.cumsum(rows.class_sizes) - rows.class_sizes
    drawn = stratified_sample(rows.class_sizes, most, rng)
    return np.concatenate([a + some for a, some in zip(first, drawn, strict=True)])


class Pass:
    """One pass as a function of a vector: L, then μ unless flat, then K if it is learned."""

    def __init__(
        self,
        objective: Objective,
        start: Parameters,
        recipe: Recipe,
        rows: TrainingRows,
        n_pass: int,
        n_before: int,
        report: Report | None,
    ) -> None:
        self.objective, self.start, self.recipe, self.rows = objective, start, recipe, rows
        self.n_pass, self.n_before, self.report = n_pass, n_before, report
        self.losses: list[float] = []
        self._active: dict[float, int] = {}

    def pack(self, p: Parameters) -> Floats:
        """Return the vector of parameters, or of a gradient."""
        kinds: list[Floats] = [np.asarray(p.factor).ravel()]
        if self.recipe.geometry != "flat":
            kinds.append(p.center)
        if self.recipe.geometry == "learned":
            kinds.append(np.array([p.curvature]))
        return np.concatenate(kinds)

    def unpack(self, x: Floats) -> Parameters:
        """Return the parameters of a vector."""
        factor, center, K = self.start
        rest = x[factor.size :]
        return Parameters(
            x[: factor.size].reshape(factor.shape),
            center if self.recipe.geometry == "flat" else rest[: center.size],
            float(rest[-1]) if self.recipe.geometry == "learned" else K,
        )

    def value(self, x: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient."""
        found: Evaluation = self.objective(self.unpack(x))
        if not self.losses:
            self.losses.append(found.loss * self.rows.weight_unit)
        if found.gradient is None:
            return found.loss, np.zeros_like(x)
        self._active[found.loss] = found.n_active
        return found.loss, self.pack(Parameters(*found.gradient))

    def told(self, x: Floats, loss: float) -> bool:
        """Keep the loss of an iteration, and pass it on."""
        n_active = self._active.pop(loss, 0)
        self._active.clear()
        loss *= self.rows.weight_unit
        self.losses.append(loss)
        if self.report is None:
            return False
        metric = self.rows.to_metric(self.unpack(x))
        iteration = self.n_before + len(self.losses) - 1
        told = Progress(self.recipe.name, self.n_pass, iteration, loss, n_active, metric)
        return bool(self.report(told))
