"""One metric from one start: passes of L-BFGS over (L, μ, K), each with an objective of its own.

A recipe says which geometry, start and number of iterations, and poses the objective of each pass.
A product has its parts side by side, each in units of its own nearest neighbours: d² is the sum of
(chord_p / u_p)², where u_p is the median distance of a row to its nearest few in part p.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from cayleyklein._lbfgs import minimise
from cayleyklein._typing import Floats, Ints
from cayleyklein.geometry import lifts
from cayleyklein.learning import starts
from cayleyklein.learning.objectives.lifted import Evaluation, Parameters
from cayleyklein.learning.rows import TrainingRows, draw_by_class
from cayleyklein.metrics import CurvedMetric, FormMetric, MixedMetric, ProductMetric
from cayleyklein.neighbors import euclidean

CURVATURES = {"flat": 0.0, "elliptic": 1.0, "hyperbolic": -1.0, "learned": 1.0}  # at the start

Objective = Callable[[Parameters, bool], Evaluation]  # with the gradient in K, if it bends


@dataclass(frozen=True)
class Recipe:
    """A geometry, a start, and for how long to descend; a subclass adds its objective.

    An elliptic start is `spread` times the standardised columns. A hyperbolic start has its
    farthest row at √-K‖z‖ = `radius`; the domain ends at 1.
    """

    geometry: str
    init: str = "std"
    n_components: int | None = None
    n_passes: int = 4
    max_iter: int = 5
    spread: float = 2.0
    radius: float = 0.2
    tol: float = 1e-7  # decrease of the loss at which a pass ends, relative to it or to `floor`
    floor: float = 0.0

    @property
    def unit(self) -> float:
        """Distance at |K| = 1 that counts as 1 in a product."""
        return 1.0 if self.geometry == "flat" else self.spread

    @property
    def name(self) -> str:
        return self.geometry

    @property
    def flat(self) -> Self:
        return type(self)("flat", n_components=self.n_components)

    def start(self, rows: TrainingRows, factor: Floats) -> Parameters:
        K = CURVATURES[self.geometry]
        if K > 0:
            factor = self.spread * factor
        elif K < 0:
            farthest = float(np.linalg.norm(rows.X @ factor.T, axis=1).max())
            factor = self.radius / (farthest or 1.0) * factor
        return Parameters(factor, np.zeros(rows.X.shape[1]), K)

    def pose(self, rows: TrainingRows, anchors: Ints, found: Parameters) -> Objective:
        """Return the objective of a pass that starts at `found`, with terms for some rows."""
        raise NotImplementedError


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
    metric : CurvedMetric or FormMetric
        For rows as they were given.

    Examples
    --------
    >>> from cayleyklein import CurvedLMNN
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> told = lambda progress: progress.n_pass == 2  # stop in the second pass
    >>> len(CurvedLMNN(geometry="flat", callback=told).fit(X, y).loss_history_)
    2
    """

    part: str
    n_pass: int
    iteration: int
    loss: float
    n_active: int
    metric: CurvedMetric | FormMetric


Report = Callable[[Progress], bool]  # a true answer stops the fit


class Fit(NamedTuple):
    """A learned metric, for standardised rows."""

    recipe: Recipe
    found: Parameters
    losses: list[list[float]]  # of each pass, before the first iteration and after each
    converged: bool
    stopped: bool = False

    @property
    def n_iter(self) -> int:
        return sum(len(losses) - 1 for losses in self.losses)


Fits = tuple[Fit, ...]


def descend(
    rows: TrainingRows,
    recipe: Recipe,
    rng: np.random.Generator,
    start: Parameters | None = None,
    report: Report | None = None,
) -> Fit:
    """Learn one metric, from a given start or the recipe's own; `rng` draws the anchors."""
    if start is not None:
        found = start
    elif recipe.init == "flat":
        found = recipe.start(rows, descend(rows, recipe.flat, rng).found.factor)
    else:
        found = recipe.start(rows, starts.starting_factor(recipe.init, rows, recipe.n_components))
    bends, losses = recipe.geometry == "learned", list[list[float]]()
    n_active: dict[float, int] = {}

    def value(x: Floats) -> tuple[float, Floats]:
        loss, gradient, n_active[loss] = objective(unpack(x, found, recipe), bends)
        if not losses[-1]:
            losses[-1].append(loss)
        return loss, np.zeros_like(x) if gradient is None else pack(gradient, recipe)

    def told(x: Floats, loss: float) -> bool:
        losses[-1].append(loss)
        if report is None:
            return False
        n_iter = sum(map(len, losses)) - len(losses)
        metric = rows.to_metric(unpack(x, found, recipe))
        return report(Progress(recipe.name, len(losses), n_iter, loss, n_active[loss], metric))

    for _ in range(recipe.n_passes):
        anchors = np.arange(len(rows.X))
        size = n_anchors(rows.n_columns)
        if len(anchors) > size:
            drawn = draw_by_class(rows.labels[rows.order], size, 1, rng)
            anchors = np.sort(rows.order[drawn])
        objective = recipe.pose(rows, anchors, found)
        losses.append([])
        end = minimise(
            value,
            pack(found, recipe),
            max_iter=recipe.max_iter,
            tol=recipe.tol,
            floor=recipe.floor,
            callback=told,
        )
        found = unpack(end.x, found, recipe)
        if end.stopped:
            break
    return Fit(recipe, found, losses, end.converged, end.stopped)


def descend_parts(
    rows: TrainingRows,
    parts: tuple[Recipe, ...],
    rng: np.random.Generator,
    report: Report | None = None,
    before: Fits = (),
    n_passes: int | None = None,
    keep_all: bool = False,
) -> Fits:
    """Learn several metrics one after the other, or go on from the fits `before`.

    Once a callback has stopped one, the rest are left out, or with `keep_all` fitted in one step.
    """
    fits: list[Fit] = []
    for at, part in enumerate(parts):
        recipe = part if n_passes is None else replace(part, n_passes=n_passes)
        fit = descend(rows, recipe, rng, before[at].found if before else None, report)
        fits.append(fit._replace(losses=before[at].losses + fit.losses) if before else fit)
        if fit.stopped and not keep_all:
            break
    return tuple(fits)


def pack(p: Parameters, recipe: Recipe) -> Floats:
    """Return parameters or a gradient as a vector: L, then μ unless flat, then K if learned."""
    n_kinds = {"flat": 1, "learned": 3}.get(recipe.geometry, 2)
    return np.concatenate([*map(np.ravel, p[:n_kinds])])


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
    """Return how many rows have a term in the loss of a pass, drawn for each.

    All rows stay targets and impostors. On real sets fewer do as well; where most columns are
    noise, more help (docs/learning.md).
    """
    return max(1000, 25 * r)


def product_of(rows: TrainingRows, fits: Fits) -> ProductMetric:
    metrics = [rows.to_metric(fit.found, fit.recipe.unit) for fit in fits]
    units = [part_unit(rows, fit.found) / fit.recipe.unit for fit in fits]
    return ProductMetric(metrics, units)


class Mixing(NamedTuple):
    """An elliptic and a hyperbolic metric for rows as given, which make mixed ones.

    The unit of each is the typical distance of a row to its nearest few.
    """

    parts: tuple[Any, ...]
    units: tuple[float, ...]
    fits: tuple[Any, ...]

    def metric(self, alpha: float) -> MixedMetric:
        """Return the paper's α d_E + (1 - α) d_H (§5.2)."""
        return MixedMetric(self.parts, [alpha, 1 - alpha])

    def alpha_of(self, share: float) -> float:
        """Return the α of a mix whose elliptic part has this share in units of both parts.

        share d_E/u_E + (1 - share) d_H/u_H is a multiple of it, and so the order of neighbours.
        """
        elliptic, hyperbolic = share / self.units[0], (1 - share) / self.units[1]
        return elliptic / (elliptic + hyperbolic)

    def balanced(self, share: float) -> MixedMetric:
        return self.metric(self.alpha_of(share))


class MixingChoice(NamedTuple):
    """Shares of the elliptic part that held-out rows choose between.

    They are in units of both parts, or α itself. The first one wins where the best is better by
    less than `tie` standard errors.
    """

    shares: tuple[float, ...]
    in_units: bool
    tie: float = 0.5

    def name(self, share: float) -> str:
        return f"{share:g} elliptic, in units" if self.in_units else f"α = {share:g}"

    def alpha(self, share: float, mixing: Mixing) -> float:
        return mixing.alpha_of(share) if self.in_units else share


def product_map(rows: TrainingRows, fits: Fits) -> Callable[[Floats], Floats]:
    parts = [(fit.found, part_unit(rows, fit.found)) for fit in fits]
    return lambda X: np.hstack([_coordinates(X, found) / unit for found, unit in parts])


def part_unit(rows: TrainingRows, found: Parameters) -> float:
    """Return the median distance of at most 2,000 rows to their three nearest."""
    Z = _coordinates(rows.X, found)
    some = Z[rows.order[euclidean.even_rows(len(Z), 2000)]]
    k = min(3, len(Z) - 1)
    distances, _ = euclidean.nearest_rows(Z, some, k + 1)
    return float(np.median(distances[:, 1:])) or 1.0


def _coordinates(X: Floats, found: Parameters) -> Floats:
    return lifts.euclidean_coordinates((X - found.center) @ found.factor.T, found.curvature)
