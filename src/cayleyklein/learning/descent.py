"""One metric from one start: passes of L-BFGS over (L, μ, K), each with an objective of its own.

A recipe says which geometry, start and number of iterations, and poses the objective of each pass.
The loss is not convex, and the start decides the basin (paper §4.2). Rows of many more columns than
rows are first turned into coordinates of their own, see `focus`.

A product has its parts side by side, each in units of its own nearest neighbours: d² is the sum of
(chord_p / u_p)², where u_p is the median distance of a row to its nearest few in part p.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.covariance import ledoit_wolf

from cayleyklein._lbfgs import minimise
from cayleyklein._typing import Floats, Ints
from cayleyklein.geometry import lifts
from cayleyklein.learning.objectives.lifted import Evaluation, Parameters
from cayleyklein.learning.rows import TrainingRows, draw_by_class, principal_axes
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
        found = recipe.start(rows, starting_factor(recipe.init, rows, recipe.n_components))
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


def starting_factor(name: str, rows: TrainingRows, n_components: int | None = None) -> Floats:
    """Return a factor of n_components rows, or all; constant columns have no part in it."""
    r = min(n_components or rows.n_columns, rows.n_columns)
    return STARTS[name](rows, r) * rows.varies


def standard_deviations(rows: TrainingRows, r: int) -> Floats:
    return np.eye(r) if r == rows.n_columns else _leading_axes(_covariance(rows), r)


def identity(rows: TrainingRows, r: int) -> Floats:
    """Take the raw columns as they are, in a unit that gives them the size of standardised ones."""
    finite = rows.finite_scale
    largest = float(finite.max()) or 1.0
    varying = finite[finite > 0] / largest
    size = float(np.sqrt(np.mean(varying**2))) * largest if len(varying) else 1.0
    basis = np.eye(rows.n_columns) if rows.basis is None else rows.basis
    raw = (finite * basis).T / size
    if len(raw) > rows.n_columns:  # the same distances from fewer rows
        raw = np.linalg.qr(raw)[1]
    if r == rows.n_columns:
        return raw
    return _leading_axes(raw @ _covariance(rows) @ raw.T, r) @ raw


def discriminants(rows: TrainingRows, r: int) -> Floats:
    """Project on linear discriminants of within-class whitened rows, then on what is left."""
    mass, means = _class_means(rows, rows.X)
    whiten = _whitening(_covariance(rows, means[rows.labels]), rows.n_columns)
    between = means @ whiten.T
    return _leading_axes((between * mass[:, None]).T @ between, r) @ whiten


STARTS: dict[str, Callable[[TrainingRows, int], Floats]] = {
    "std": standard_deviations,
    "identity": identity,
    "precision": lambda rows, r: _whitening(_covariance(rows), r),  # ΣLᵀL is the identity
    "pca": lambda rows, r: _leading_axes(_covariance(rows), r),
    "lda": discriminants,
}
START_NAMES = {"auto", "flat", *STARTS}


def _leading_axes(matrix: Floats, r: int) -> Floats:
    return np.asarray(np.linalg.eigh(matrix)[1][:, ::-1][:, :r].T)


def _whitening(covariance: Floats, r: int) -> Floats:
    eigenvalues, vectors = np.linalg.eigh(covariance)
    order = np.argsort(-eigenvalues)[:r]
    whiten = vectors[:, order].T / np.sqrt(eigenvalues[order])[:, None]
    # The symmetric root where nothing is dropped: closest to the columns as they are.
    return np.asarray(vectors[:, order] @ whiten) if r == len(covariance) else whiten


def _covariance(rows: TrainingRows, centers: Floats | None = None) -> Floats:
    """Return the covariance of standardised rows, shrunk (Ledoit and Wolf) where it is singular."""
    centred = rows.X if centers is None else rows.X - centers
    matrix = np.asarray((centred * rows.shares[:, None]).T @ centred)
    varies = rows.varies
    some = matrix[np.ix_(varies, varies)]
    if not some.any():
        return np.eye(len(matrix))
    eigenvalues = np.linalg.eigvalsh(some)
    if eigenvalues[0] <= 1e-6 * eigenvalues[-1]:
        amount = max(float(ledoit_wolf(centred[:, varies], assume_centered=True)[1]), 1e-6)
        some = (1 - amount) * some + amount * np.trace(some) / len(some) * np.eye(len(some))
    matrix[np.ix_(varies, varies)] = some
    constant = np.flatnonzero(~varies)  # which come last, with the least variance
    matrix[constant, constant] = np.linalg.eigvalsh(some)[0] / 2
    return matrix


def _class_means(rows: TrainingRows, columns: Floats) -> tuple[Floats, Floats]:
    """Return the share of each class, and its mean (C, d) of columns (n, d)."""
    mass: Floats = np.bincount(rows.labels, weights=rows.shares).astype(float)
    sums = np.zeros((len(mass), columns.shape[1]))
    np.add.at(sums, rows.labels, rows.shares[:, None] * columns)
    return mass, sums / np.where(mass > 0, mass, 1.0)[:, None]


def focus(init: str, rows: TrainingRows, *others: TrainingRows) -> tuple[TrainingRows, ...]:
    """Return labelled rows, and others in the same coordinates, on weighted components.

    Only for wide tables and the default start. Most columns of such a table, as of gene expression,
    are noise, and equal weights drown the others. So columns are weighted by what they tell of the
    classes, and the metric is learned on the leading principal components.
    """
    # of fewer columns over rows weights did not help
    wide = rows.basis is not None and len(rows.mean) > 2 * len(rows)
    if not wide or init != "std" or rows.targets is not None:
        return rows, *others
    assert rows.basis is not None
    columns = rows.X @ rows.basis
    weights = column_weights(columns, rows)
    most = max(10, len(rows) // 4)
    axes = principal_axes(columns * weights, most)
    map_ = (rows.basis * weights) @ axes.T
    with np.errstate(divide="ignore"):
        scale = rows.scale / weights
    return tuple(
        replace(some, X=some.X @ map_, scale=scale, basis=axes) for some in (rows, *others)
    )


def column_weights(columns: Floats, rows: TrainingRows) -> Floats:
    """Return √(η²/(1 - η²)) of standardised columns (n, d); their squares are 1 on average.

    η² is the share of a column's variance that lies between class means.
    """
    mass, means = _class_means(rows, columns)
    middle = mass @ means
    total = rows.shares @ (columns - middle) ** 2
    between = mass @ (means - middle) ** 2
    within = np.maximum(total - between, total / len(rows))
    ratio = np.divide(between, within, out=np.zeros_like(total), where=total > 0)
    average = ratio.mean()
    return np.sqrt(ratio / average) if average > 0 else np.ones_like(ratio)
