"""The descent of the paper (§4), step by step as it is printed.

Rows x are written x̃ = (x, 1), in the columns as they are given. The form is S = LᵀDL with
D = I (elliptic) or D = diag(-1, …, -1, c) (hyperbolic), and L of shape (d + 1, d + 1); a flat
metric is LᵀL with L of shape (d, d). Then

1. the targets of a row are its nearest rows of the same class, by Euclidean distance;
2. every so many iterations, the impostors are searched: all rows of other classes that violate a
   margin by the metric so far;
3. L ← L - γ ∂ε/∂L, the loss ε taken over these impostors;
4. hyperbolic only: if a row has left the domain, back to before the step, and γ ← γ/2; otherwise
   γ ← 1.01 γ.

The last iterate is the result. The corrections that are followed: the sign of the hyperbolic
gradient, and the step, which moves L and not ε.

Distances and their gradient are those of every other learner (`objectives/lifted.py`). In the unit
where |K| = 1 a row is at z = y/(√c w), where (y, w) = Lx̃. For a hyperbolic form, neither z nor the
distance depends on the sign of w. For an elliptic one w must not change its sign, so L is turned
into a triangle before each step, L → QᵀL. That changes nothing: S stays, the gradient turns along,
and so the next S is the same, too.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import descent
from cayleyklein.learning.objectives import large_margin
from cayleyklein.learning.objectives.large_margin import LargeMargin
from cayleyklein.learning.objectives.lifted import DOMAIN_EDGE, LiftedRows, Parameters
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.metrics import CurvedMetric, FormMetric


@dataclass(frozen=True)
class PaperRecipe:
    """What the paper leaves to choose; :class:`CayleyKleinLMNN` documents each."""

    geometry: str
    init: str = "precision"
    kappa: float | None = None
    n_targets: int = 3
    margin: float = 1.0
    push: float = 0.5
    learning_rate: float | None = None
    impostor_interval: int = 10
    max_iter: int = 200
    tol: float = 1e-5
    domain: str = "rows"
    standardize: bool = False


class PaperFit(NamedTuple):
    """A learned metric, for rows as they were given."""

    metric: CurvedMetric | FormMetric
    losses: list[list[float]]
    converged: bool
    stopped: bool
    learning_rate: float  # γ of the first step
    diverged: bool


class Columns:
    """The coordinates in which the descent takes place: columns as given, or standardised.

    A constant column has no weight, and none in L, which so stays invertible.
    """

    def __init__(self, rows: TrainingRows, standardize: bool) -> None:
        self.rows = rows
        self.varies: Bools = rows.varies if rows.varies.any() else np.ones_like(rows.varies)
        ones = np.ones(int(self.varies.sum()))
        scale, mean = rows.finite_scale[self.varies], rows.mean[self.varies]
        self.unit, self.shift = (ones, 0.0 * ones) if standardize else (scale, mean)
        X = rows.X[:, self.varies] * self.unit + self.shift
        self.homogeneous = np.column_stack([X, np.ones(len(X))])

    @property
    def from_standard(self) -> Floats:
        """The matrix that takes standardised columns, (x, 1), to these."""
        top = np.column_stack([np.diag(self.unit), self.shift])
        return np.vstack([top, np.append(np.zeros(len(self.unit)), 1.0)])

    @property
    def to_standard(self) -> Floats:
        top = np.column_stack([np.diag(1 / self.unit), -self.shift / self.unit])
        return np.vstack([top, np.append(np.zeros(len(self.unit)), 1.0)])

    def metric(self, factor: Floats, center: Floats, K: float) -> CurvedMetric:
        """Return a metric for rows as given from one for the standardised columns that vary."""
        d = len(self.varies)
        whole, middle = np.zeros((len(factor), d)), np.zeros(d)
        whole[:, self.varies], middle[self.varies] = factor, center
        return self.rows.to_metric(Parameters(whole, middle, K))

    def form_metric(self, matrix: Floats) -> FormMetric:
        """Return the metric for rows as given of M for standardised columns (x, 1)."""
        whole = np.zeros((len(matrix), len(self.varies) + 1))
        whole[:, np.append(self.varies, True)] = matrix
        return FormMetric(whole / np.append(self.rows.scale, 1.0), center=self.rows.mean)


class Form:
    """L and c of one iterate: where it places rows, and the metric that it is."""

    def __init__(self, geometry: str, columns: Columns, matrix: Floats, c: float = 1.0) -> None:
        self.geometry, self.columns, self.c = geometry, columns, c
        self.matrix = matrix
        if geometry == "elliptic":
            triangle = np.linalg.qr(matrix)[1]
            self.matrix = triangle * np.sign(triangle[-1, -1] or 1.0)

    def moved(self, step: Floats) -> "Form":
        return Form(self.geometry, self.columns, self.matrix - step, self.c)

    def images(self) -> tuple[Floats, Floats]:
        """Return y (n, d) and w (n,) of Lx̃; w is 1 in flat space."""
        X = self.columns.homogeneous
        if self.geometry == "flat":
            return X[:, :-1] @ self.matrix.T, np.ones(len(X))
        image = X @ self.matrix.T
        return image[:, :-1], image[:, -1]

    @np.errstate(over="ignore", invalid="ignore")
    def place(self) -> LiftedRows:
        """Place the rows at z = y/(√c w), where |K| = 1."""
        y, w = self.images()
        z = y / (np.sqrt(self.c) * w[:, None])
        unit = Parameters(
            np.eye(z.shape[1]), np.zeros(z.shape[1]), descent.CURVATURES[self.geometry]
        )
        return LiftedRows(z, unit, bends=False)

    def contains_rows(self) -> bool:
        """Return whether S_xx = c w² - ‖y‖² is positive for all rows, and L invertible."""
        if not np.isfinite(self.matrix).all():
            return False
        if self.geometry == "elliptic":  # all of space is inside, while S is positive definite
            pivots = np.abs(np.diagonal(self.matrix))
            return bool(pivots.min() > np.finfo(float).eps * pivots.max())
        if self.geometry == "hyperbolic":
            y, w = self.images()
            with np.errstate(over="ignore", invalid="ignore"):
                s = self.c * w * w - np.einsum("ij,ij->i", y, y)
                return bool((s > DOMAIN_EDGE * self.c * w * w).all())
        return True

    def gradient(self, placed: LiftedRows) -> Floats:
        """Return ∂ε/∂L from what the objective has pushed on the placed rows."""
        by_z, _ = placed.row_gradient()
        X = self.columns.homogeneous
        if self.geometry == "flat":
            return by_z.T @ X[:, :-1]
        y, w = self.images()
        by_y = by_z / (np.sqrt(self.c) * w[:, None])
        by_w = -np.einsum("ij,ij->i", by_y, y) / w
        return np.column_stack([by_y, by_w]).T @ X

    def metric(self) -> CurvedMetric | FormMetric:
        """Return the metric for rows as given; a FormMetric where the domain is no ellipsoid."""
        if self.geometry == "flat":
            factor = self.matrix * self.columns.unit
            return self.columns.metric(factor, np.zeros(factor.shape[1]), 0.0)
        matrix = self.matrix @ self.columns.from_standard
        matrix[:-1] /= np.sqrt(self.c)
        if self.geometry == "elliptic":
            matrix = np.linalg.qr(matrix)[1]
        else:
            turned = in_ellipsoid_form(matrix)
            if turned is None:
                return self.columns.form_metric(matrix)
            matrix = turned
        factor, ahead = matrix[:-1, :-1] / matrix[-1, -1], matrix[:-1, -1] / matrix[-1, -1]
        K = descent.CURVATURES[self.geometry]
        return self.columns.metric(factor, -np.linalg.solve(factor, ahead), K)


def in_ellipsoid_form(matrix: Floats) -> Floats | None:
    """Turn M = [[A, b], [m, m₀]] by a Lorentz transformation into [[L, -Lμ], [0, w]], if it can be.

    It can where the domain is an ellipsoid. Its centre μ is the pole of the hyperplane at infinity:
    MᵀJv = (0, …, 0, 1) for v = M(μ, 1) up to scale and J = diag(1, …, 1, -1), and the boost that
    takes v to the axis gives the wanted rows. v is inside the cone exactly where Σ is definite.
    """
    signs = np.append(np.ones(len(matrix) - 1), -1.0)
    v = signs * np.linalg.solve(matrix.T, np.eye(len(matrix))[-1])
    v = v * np.sign(v[-1] or 1.0)
    length = np.linalg.norm(v[:-1])
    inside = (v[-1] - length) * (v[-1] + length)
    # A Lorentz factor beyond 7e7 is infinite in double precision: the ellipsoid is kept as a form.
    # Turning it into (L, μ) would lose half of the digits.
    if inside <= 0:
        return None
    p, rise = v[:-1] / np.sqrt(inside), v[-1] / np.sqrt(inside)
    boost = np.block(
        [
            [np.eye(len(p)) + np.outer(p, p) / (1 + rise), -p[:, None]],
            [-p[None, :], np.array([[rise]])],
        ]
    )
    found = boost @ matrix
    found[-1, :-1] = 0.0  # to rounding
    return np.asarray(found)


def learn(
    rows: TrainingRows,
    recipe: PaperRecipe,
    start: CurvedMetric | FormMetric | None = None,
    report: descent.Report | None = None,
) -> PaperFit:
    """Learn one metric from the recipe's start, or from a metric for rows as they were given.

    The losses are those that the paper's steps see: over the impostors that were searched last.
    """
    columns = Columns(rows, recipe.standardize)
    form = form_of(start, columns, recipe) if start else first_form(columns, recipe, report)
    objective = pose(columns, recipe)
    losses: list[float] = []
    impostors = np.empty((0, 0), dtype=np.int64)
    gamma, before = recipe.learning_rate, form
    first, diverged = gamma or 0.0, False
    converged, stopped, halved = False, False, False
    for iteration in range(recipe.max_iter + 1):
        if not form.place().inside:  # an overflow
            form, diverged = before, True
            break
        fresh = iteration % recipe.impostor_interval == 0
        if fresh:
            impostors = objective.impostors(form.place())
        loss, gradient, n_active = evaluated(objective, form, impostors)
        if not fresh and stands(losses, loss, gradient, recipe.tol):  # and with new impostors?
            impostors = objective.impostors(form.place())
            loss, gradient, n_active = evaluated(objective, form, impostors)
        if not np.isfinite(loss) or not np.isfinite(gradient).all():
            form, diverged = before, True  # the last one whose loss is known
            break
        converged = stands(losses, loss, gradient, recipe.tol)
        losses.append(loss)
        if report is not None:
            name = f"{recipe.geometry}, as in the paper"
            progress = descent.Progress(name, 1, iteration + 1, loss, n_active, form.metric())
            stopped = bool(report(progress))
        if stopped or converged or iteration == recipe.max_iter:
            break
        if gamma is None:
            first = gamma = first_rate(form, gradient)
        n_halved, following = step_inside(form, gamma * gradient, recipe.domain)
        if following is None:
            break
        before, form, halved = form, following, n_halved > 0
        if recipe.geometry == "hyperbolic":
            gamma *= 1.01 * 0.5**n_halved  # as printed
    # a loss that stands after a halved step is at the wall of the domain, and at no minimum
    return PaperFit(form.metric(), [losses], converged and not halved, stopped, first, diverged)


def pose(columns: Columns, recipe: PaperRecipe) -> LargeMargin:
    """Return the paper's loss: all impostors count, and targets stay those of the first columns."""
    rows = columns.rows
    everyone = np.arange(len(rows))
    euclidean = np.zeros(rows.n_columns)
    euclidean[columns.varies] = columns.unit
    measured = Parameters(np.diag(euclidean), np.zeros(rows.n_columns), 0.0)
    targets = large_margin.nearest_of_class(
        rows.X, rows.labels, everyone, recipe.n_targets, measured
    )
    return LargeMargin(
        rows.X,
        rows.labels,
        rows.weights,
        everyone,
        targets,
        recipe.margin,
        recipe.push,
        n_impostors=None,
        squared=recipe.geometry == "flat",
    )


@np.errstate(over="ignore", invalid="ignore")
def evaluated(objective: LargeMargin, form: Form, impostors: Ints) -> tuple[float, Floats, int]:
    """Return the loss over the impostors, ∂ε/∂L, and the number of violated triplets."""
    placed = form.place()
    loss, n_active = objective.evaluate(placed, impostors)
    return loss, form.gradient(placed), n_active


def stands(losses: list[float], loss: float, gradient: Floats, tol: float) -> bool:
    if not gradient.any():
        return True
    return bool(losses) and abs(losses[-1] - loss) <= tol * abs(loss)


def first_rate(form: Form, gradient: Floats) -> float:
    """Return the γ of which the first step moves the images of the rows by a tenth of their size.

    The paper says that the optimal rate is not known beforehand, and not where it starts. Sizes of
    images Lx̃, unlike those of L, do not depend on the units and the origin of the columns. Of the
    shares 0.03, 0.1, 0.3 and 1 the larger ones have less loss after 200 iterations on the paper's
    data sets, raw and standardised; with 0.3 flat fits swing about the minimum, with 1 they
    diverge, with 0.1 neither.
    """
    X = form.columns.homogeneous
    X = X[:, :-1] if form.geometry == "flat" else X
    move = float(np.linalg.norm(X @ gradient.T))
    return 0.1 * float(np.linalg.norm(X @ form.matrix.T)) / move if move else 1.0


@np.errstate(over="ignore", invalid="ignore")
def step_inside(form: Form, step: Floats, domain: str, most: int = 60) -> tuple[int, Form | None]:
    """Return how often a step is halved before it stays inside, and where it ends.

    It ends nowhere (None) after `most` times, when the step is 1e-18 of what it was.
    """
    for n_halved in range(most):
        candidate = form.moved(0.5**n_halved * step)
        if stays_inside(candidate, domain):
            return n_halved, candidate
    return most, None


def stays_inside(form: Form, domain: str) -> bool:
    """Return whether a step may be taken: the rows are inside, as the paper asks.

    With domain="ellipsoid" the domain must also be an ellipsoid of the chart.
    """
    if not form.contains_rows():
        return False
    metric = form.metric()
    if domain == "ellipsoid" and isinstance(metric, FormMetric):
        return False
    return bool(metric.contains(form.columns.rows.as_given).all())


def first_form(columns: Columns, recipe: PaperRecipe, report: descent.Report | None) -> Form:
    """Return the start: L' and the mean m as G₊ or G₋, or L = diag(L', 1) with D (§4.2, §4.3)."""
    kappa = recipe.kappa
    factor = first_factor(columns, recipe, report)
    d = len(factor)
    if recipe.geometry == "flat":
        return Form("flat", columns, factor)
    diagonal = recipe.init.startswith("diagonal")
    center = np.zeros(d) if diagonal else columns.shift  # the mean: standardised rows have 0
    matrix = np.eye(d + 1)
    matrix[:-1, :-1], matrix[:-1, -1] = factor, -factor @ center
    if recipe.geometry == "elliptic":
        matrix[-1, -1] = 1.0 if kappa is None else 1 / kappa
        form = Form("elliptic", columns, matrix)
    else:
        y = columns.homogeneous @ matrix[:-1].T
        farthest = float(np.einsum("ij,ij->i", y, y).max()) or 1.0
        c = (kappa or 2.0) * farthest
        if not diagonal and kappa is not None:
            c = 1 / kappa**2
            if c <= farthest:
                raise InvalidInputError(
                    f"Got kappa={kappa:g}, but rows of X are outside the domain of G₋ unless "
                    f"kappa < {farthest**-0.5:.6g}. Take a smaller one, or leave it out."
                )
        form = Form("hyperbolic", columns, matrix, c)
    if not stays_inside(form, recipe.domain):
        raise InvalidInputError(
            f"The start init={recipe.init!r} is not a {recipe.geometry} metric to rounding: "
            f"columns are too far from their mean, or depend on each other. Take standardize=True."
        )
    return form


def first_factor(columns: Columns, recipe: PaperRecipe, report: descent.Report | None) -> Floats:
    """Return L' of the start: of the precision matrix, the identity, or learned by flat LMNN."""
    rows, name = columns.rows, recipe.init.removeprefix("diagonal-")
    if name == "identity":
        return np.eye(int(columns.varies.sum()))
    if name == "lmnn":
        flat = replace(
            recipe, geometry="flat", init="precision", kappa=None, margin=1.0, learning_rate=None
        )
        learned = learn(rows, flat, report=report).metric
        assert isinstance(learned, CurvedMetric)
        return np.asarray(rows.from_metric(learned).factor[:, columns.varies] / columns.unit)
    precision = descent.starting_factor("precision", rows)
    return np.asarray(precision[np.ix_(columns.varies, columns.varies)] / columns.unit)


def form_of(start: CurvedMetric | FormMetric, columns: Columns, recipe: PaperRecipe) -> Form:
    """Return the form of a given metric, in the unit where |K| = 1."""
    rows = columns.rows
    if isinstance(start, FormMetric):
        standard = start.factor.copy()
        standard[:, -1] += standard[:, :-1] @ (rows.mean - start.center)
        standard[:, :-1] *= rows.finite_scale
        matrix = standard[:, np.append(columns.varies, True)] @ columns.to_standard
    else:
        found = rows.from_metric(start)
        factor = found.factor[:, columns.varies]
        if recipe.geometry == "flat":
            return Form("flat", columns, factor / columns.unit)
        if len(factor) != factor.shape[1] or np.linalg.matrix_rank(factor) < len(factor):
            raise InvalidInputError(
                f"init must have a square factor of full rank where geometry is "
                f"{recipe.geometry!r}; got one of shape {start.factor_shape}."
            )
        factor = np.sqrt(abs(start.curvature) or 1.0) * factor
        ahead = -factor @ found.center[columns.varies]
        bottom = np.append(np.zeros(len(factor)), 1.0)
        matrix = np.vstack([np.column_stack([factor, ahead]), bottom]) @ columns.to_standard
    form = Form(recipe.geometry, columns, matrix)
    if not stays_inside(form, recipe.domain):
        raise InvalidInputError(
            f"init leaves rows of X outside the domain of a {recipe.geometry} metric; shrink its "
            f"factor."
        )
    return form
