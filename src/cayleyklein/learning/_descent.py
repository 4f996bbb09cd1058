"""One metric from one start: passes of L-BFGS over (L, μ, K), the objective posed anew in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cayleyklein._lbfgs import Minimum, minimise
from cayleyklein._typing import Floats, Ints
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning._sampling import stratified_sample
from cayleyklein.learning._starts import starting_factor
from cayleyklein.learning.objectives import Objective, Parameters, Recipe
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
        Violated comparisons in it, such as triplets with an active impostor; 0 for CurvedMLKR.
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
    """Return the parameters that a descent starts from; "flat" learns a flat metric first."""
    d = rows.n_columns
    if recipe.init == "flat":
        flat = type(recipe)("flat", n_components=recipe.n_components)
        factor = descend(rows, flat, rng).found.factor
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
    """Learn one metric, from a given start or the recipe's own; `rng` draws the anchors."""
    found = start_of(recipe, rows, rng) if start is None else start
    losses: list[list[float]] = []
    converged = stopped = False
    for n_pass in range(1, recipe.n_passes + 1):
        objective = recipe.pose(rows, draw_anchors(rows, rng), found)
        n_before = sum(len(some) - 1 for some in losses)
        end, seen = _run_pass(objective, found, recipe, rows, (n_pass, n_before), report)
        found, converged, stopped = unpack(end.x, found, recipe), end.converged, end.stopped
        losses.append(seen)
        if stopped:
            break
    return Fit(recipe, found, losses, converged, stopped)


def _run_pass(
    objective: Objective, start: Parameters, recipe: Recipe, rows: TrainingRows,
    count: tuple[int, int], report: Report | None,
) -> tuple[Minimum, list[float]]:  # fmt: skip
    """Minimise one objective; `count` is the pass, and the iterations of those before it."""
    losses: list[float] = []
    n_active: dict[float, int] = {}

    def value(x: Floats) -> tuple[float, Floats]:
        loss, gradient, active = objective(unpack(x, start, recipe))
        n_active[loss] = active
        if not losses:
            losses.append(loss * rows.weight_unit)
        return loss, np.zeros_like(x) if gradient is None else pack(gradient, recipe)

    def told(x: Floats, loss: float) -> bool:
        losses.append(loss * rows.weight_unit)
        if report is None:
            return False
        metric = rows.to_metric(unpack(x, start, recipe))
        iteration = count[1] + len(losses) - 1
        progress = Progress(recipe.name, count[0], iteration, losses[-1], n_active[loss], metric)
        return bool(report(progress))

    x = pack(start, recipe)
    return minimise(value, x, max_iter=recipe.max_iter, tol=TOL, callback=told), losses


def pack(p: Parameters, recipe: Recipe) -> Floats:
    """Return parameters or a gradient as a vector: L, then μ unless flat, then K if learned."""
    kinds: list[Floats] = [np.asarray(p.factor).ravel()]
    if recipe.geometry != "flat":
        kinds.append(p.center)
    if recipe.geometry == "learned":
        kinds.append(np.array([p.curvature]))
    return np.concatenate(kinds)


def unpack(x: Floats, like: Parameters, recipe: Recipe) -> Parameters:
    """Return the parameters of a vector; those that are fixed are `like` others."""
    factor, center, K = like
    rest = x[factor.size :]
    return Parameters(
        x[: factor.size].reshape(factor.shape),
        center if recipe.geometry == "flat" else rest[: center.size],
        float(rest[-1]) if recipe.geometry == "learned" else K,
    )


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
