"""Flat models that may explain targets as well as a curved space does.

The first set leaves the rows where they are: smoother covariances, warped columns, directions from
the middle, the distance from the middle as one more column; and linear models, quadratic ones and
trees. The second set may also move every row along its ray from a centre, x → g(r) x/r: a sphere
and hyperbolic space differ from a flat one in little else.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.curvature.processes import (
    LENGTH_GRID,
    SLOPE_GRID,
    START,
    Family,
    Sample,
    flat_distances,
    gaussian,
    matern,
    median_distance,
)

# Parameters of the maps, from hardly bent to as far as a map of a curved space can bend; not varied
SQUASHED = (1.0, 3.0, 9.0, 25.0)  # columns
RADII = (1.0, 1.75, 2.5, 3.25, 4.0, 5.0)  # hyperbolic radii of the farthest row


class Axes(NamedTuple):
    """Axes (r, r) of flat models that are not along the columns."""

    by_slopes: Floats  # axes along which targets vary, and the mean squared slopes along them
    squares: Floats
    by_steps: Floats  # axes along which steps fit best


def smallest_ball(z: Floats, n_steps: int = 2000) -> tuple[Floats, float]:
    """Return centre and radius of the smallest ball around points (Bădoiu and Clarkson 2003).

    The centre is right to the radius over `n_steps`.
    """
    center = z.mean(axis=0)
    for step in range(n_steps):
        away = z - center
        center = center + away[np.square(away).sum(axis=1).argmax()] / (step + 2)
    radius = float(np.sqrt(np.square(z - center).sum(axis=1).max()))
    return center, radius or 1.0


def rays(z: Floats) -> tuple[Floats, Floats]:
    """Return lengths (n, 1) and directions of rows; the direction of a row at 0 is 0."""
    r = np.linalg.norm(z, axis=1, keepdims=True)
    return r, z / np.where(r > 0, r, 1.0)


def slope_axes(sample: Sample) -> tuple[Floats, Floats]:
    """Return the axes (r, r) along which targets vary, and the mean squared slopes along them.

    They are eigenvectors and eigenvalues of the mean outer product of the slopes of a smooth fit,
    largest first, and take flat models to axes that are not those of the columns.
    """
    z = sample.z
    sample = Sample(z, sample.Y, np.arange(len(z)))
    fit = sample.fit(Family("", lambda _: z, kernel=gaussian), 1.0, START)
    D = flat_distances(z)
    unit = median_distance(D)
    length = float(LENGTH_GRID[fit.settings.length]) * unit
    k = gaussian(D, length)
    weights = np.linalg.solve(sample.covariance(gaussian, D, unit, fit.settings), sample.Y)
    trend = SLOPE_GRID[fit.settings.slope] * z.T @ weights / np.square(z).sum(axis=1).mean()
    products = np.zeros((z.shape[1], z.shape[1]))
    for j, alpha in enumerate(weights.T):
        # Σ αᵢ ∂k(x, xᵢ)/∂x = -Σ αᵢ k(x, xᵢ)(x - xᵢ)/ℓ², at every row x
        pull = k * alpha
        slopes = trend[:, j] - (z * pull.sum(axis=1)[:, None] - pull @ z) / length**2
        products += slopes.T @ slopes / len(z)
    values, vectors = np.linalg.eigh(products)
    return vectors[:, ::-1], np.maximum(values[::-1], 0.0)


def step_axes(sample: Sample, axes: Floats) -> Floats:
    """Return the axes with the two leading ones turned in their plane, for steps along them.

    Steps along two axes that act together, as in a decision tree, have slopes along other axes
    than their own: their plane is right, and the angle in it is the one at which squashed axes are
    likeliest. The eight angles that are tried are 11° apart: each axis is then right to 6°.
    """
    if axes.shape[1] < 2:
        return axes
    sample = Sample(sample.z, sample.Y, np.arange(len(sample.z)))
    found = []
    for angle in np.linspace(0, np.pi / 2, 8, endpoint=False):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        turned = np.hstack([axes[:, :2] @ turn, axes[:, 2:]])
        family = Family("", partial(squashed, sample.z @ turned))
        steep = sample.fit(family, 9.0, START)  # columns that are squashed much
        found.append((steep.log_likelihood, turned))
    return max(found, key=lambda one: one[0])[1]


def find_axes(sample: Sample) -> Axes:
    """Return the axes of flat models that are not along the columns."""
    by_slopes, squares = slope_axes(sample)
    return Axes(by_slopes, squares, step_axes(sample, by_slopes))


def squashed(p: Floats, w: float) -> Floats:
    """Return columns p that level off beyond 3/w standard deviations."""
    scale = 3 * p.std(axis=0)
    v = w * p / np.where(scale > 0, scale, 1.0)
    return np.asarray(v / np.sqrt(1 + v * v))


def flat_along(z: Floats, axes: Axes) -> list[Family]:
    """Return processes in which axes count by their slopes, and are squashed one by one."""
    p = z @ axes.by_slopes
    shares = axes.squares / (axes.squares.max() or 1.0)

    def weighed(w: float, power: float) -> Floats:
        return np.asarray(squashed(p, w) * shares**power)

    one_by_one = "combinations of columns squashed one by one"
    by_slopes = "combinations of columns weighed and squashed"
    return [
        Family(
            "a flat space in which some directions count more",
            lambda power: p * shares**power,
            (0.1, 0.25, 0.5),
        ),
        Family(one_by_one, partial(squashed, p), SQUASHED),
        Family(by_slopes, lambda w: weighed(w, 0.25), SQUASHED),
        Family(by_slopes, lambda w: weighed(w, 0.5), SQUASHED),
        Family(one_by_one, partial(squashed, z @ axes.by_steps), SQUASHED),
    ]


def flat_in_place(z: Floats) -> list[Family]:
    """Return the processes of the first set."""
    reach = np.abs(z).max(axis=0)
    reach = np.where(reach > 0, reach, 1.0)
    r, directions = rays(z)
    column = (r - r.mean()) / (r.std() or 1.0) * z.std(axis=0).mean()

    def stretch(w: float) -> Floats:
        v = w * z / reach
        return np.asarray(v / np.sqrt(1 - v * v))

    def beside(weight: float) -> Floats:
        return np.hstack([z, weight * column])

    return [
        Family("plain distances", lambda _: z),
        Family("plain distances and a smooth function", lambda _: z, kernel=matern),
        Family("plain distances and a very smooth function", lambda _: z, kernel=gaussian),
        Family("columns squashed one by one", partial(squashed, z), SQUASHED),
        Family("columns stretched one by one", stretch, (0.8, 0.95, 0.99)),
        Family("directions from the middle", lambda _: directions),
        Family("the distance from the middle as one more column", beside, (1.0, 4.0, 16.0)),
    ]


def flat_rescaled(z: Floats, ball: tuple[Floats, float]) -> list[Family]:
    """Return the processes of the second set that are not in the first: rows moved along rays.

    Concave maps are about the mean, as spheres are, and convex ones about the centre of the
    smallest ball around the rows, as hyperbolic spaces are.
    """
    r, directions = rays(z)
    t = r / (r.max() or 1.0)
    center, radius = ball
    from_center, outward = rays(z - center)
    s = np.minimum(from_center / radius, 1.0)

    def klein(rho: float) -> Floats:
        return np.asarray(np.tanh(rho) * s)

    # concave maps g(r) = arctan and sin of it, of w t
    def by_angle(w: float) -> Floats:
        return np.asarray(np.arctan(w * t) * directions)

    def by_sine(w: float) -> Floats:
        return np.asarray(w * t / np.sqrt(1 + np.square(w * t)) * directions)

    # convex maps: of Klein's radius to the distance, its sinh and Poincaré's radius, and of
    # Poincaré's radius to half the distance
    def by_distance(rho: float) -> Floats:
        return np.asarray(np.arctanh(klein(rho)) * outward)

    def by_hyperbolic_sine(rho: float) -> Floats:
        return np.asarray(klein(rho) / np.sqrt(1 - klein(rho) ** 2) * outward)

    def by_half_distance(rho: float) -> Floats:
        return np.asarray(np.tanh(np.arctanh(klein(rho)) / 2) * outward)

    def from_poincare(rho: float) -> Floats:
        return np.asarray(np.arctanh(np.tanh(rho / 2) * s) * outward)

    squashed = "distances from the middle squashed"
    stretched = "distances from the middle stretched"
    radii = (1.0, 2.0, 4.0, 8.0, 14.0)  # not varied
    return [
        Family(squashed, by_angle, radii),
        Family(squashed, by_sine, radii),
        Family(stretched, by_distance, RADII),
        Family(stretched, by_hyperbolic_sine, RADII),
        Family(stretched, by_half_distance, RADII),
        Family(stretched, from_poincare, RADII),
    ]


def predictors(
    X: Floats, turned: Floats, Y: Floats, codes: Ints | None, partitions: Sequence[Ints], seed: int
) -> dict[str, Floats]:
    """Return squared errors (n, t), held out, of linear and quadratic models and of trees.

    Trees see the rows X (n, d) and, `turned`, along other axes as well. `codes` are the classes of
    labels, None for numbers. Columns of the quadratic model are products of twelve principal
    directions.
    """
    n_directions, n_trees = 12, 40  # time grows fast with either
    z = X - X.mean(axis=0)
    z = z / np.where(z.std(axis=0) > 0, z.std(axis=0), 1.0)
    r = np.linalg.norm(z, axis=1, keepdims=True)
    axes = np.linalg.svd(z, full_matrices=False)[2][:n_directions]
    p = z @ axes.T
    p = p / np.where(p.std(axis=0) > 0, p.std(axis=0), 1.0)
    pairs = np.triu_indices(p.shape[1])
    quadratic = np.hstack([z, p[:, pairs[0]] * p[:, pairs[1]]])
    if codes is None:
        line = Ridge(0.01 * len(z))
        curve = Ridge(0.03 * len(z))
        trees = ExtraTreesRegressor(n_trees, min_samples_leaf=2, random_state=seed)
    else:
        line = LogisticRegression(C=10.0, max_iter=300)
        curve = LogisticRegression(max_iter=300)
        trees = ExtraTreesClassifier(n_trees, min_samples_leaf=2, random_state=seed)
    errors: dict[str, Floats] = {}
    for folds in partitions:
        for fold in range(int(folds.max()) + 1):
            held = folds == fold
            known = folds != fold
            linear = fitted_scores(line, z, Y, codes, known)
            seen = np.hstack([z, turned, r, linear])
            told = {
                "a linear model": linear,
                "a quadratic model": fitted_scores(curve, quadratic, Y, codes, known),
                "trees": fitted_scores(trees, seen, Y, codes, known),
            }
            for name, scores in told.items():
                square = errors.setdefault(name, np.zeros_like(Y))
                square[held] += np.square(Y - scores)[held] / len(partitions)
    return errors


def fitted_scores(model: Any, X: Floats, Y: Floats, codes: Ints | None, known: Bools) -> Floats:
    """Return the predictions (n, t) of all rows by a model fitted to the known ones."""
    if codes is None:
        fitted = clone(model).fit(X[known], Y[known, 0])
        return np.asarray(fitted.predict(X))[:, None]
    if len(np.unique(codes[known])) == 1:
        return np.broadcast_to(Y[known].mean(axis=0), Y.shape)
    fitted = clone(model).fit(X[known], codes[known])
    p = np.asarray(fitted.predict_proba(X))
    if Y.shape[1] == 1:  # 0 and 1, centred
        return np.asarray(p[:, 1:] + Y.min())
    scores = np.tile(Y.min(axis=0), (len(Y), 1))
    scores[:, fitted.classes_] += p
    return scores
