"""Flat models that may explain targets as well as a curved space does.

The first set leaves the rows where they are: smoother covariances, warped columns, directions from
the middle, the distance from the middle as one more column; and linear models, quadratic ones and
trees. The second set may also move every row along its ray from a centre, x → g(r) x/r: a sphere
and hyperbolic space differ from a flat one in little else.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from cayleyklein._typing import Floats, Ints
from cayleyklein.curvature.processes import View, matern, smooth

# Parameters of the maps, from hardly bent to as far as a map of a curved space can bend
SQUASHED, STRETCHED = (1.0, 3.0, 9.0, 25.0), (0.8, 0.95, 0.99)  # columns
CONCAVE = (1.0, 2.0, 4.0, 8.0, 14.0)  # radii
RADII = (1.0, 1.75, 2.5, 3.25, 4.0, 5.0)  # hyperbolic radii of the farthest row
RADIUS_WEIGHTS = (1.0, 4.0, 16.0)  # of the radius as a column, in deviations of a column
MOST_DIRECTIONS = 12  # principal directions whose products are columns of the quadratic model
N_TREES = 40
BALL_STEPS = 2000  # the centre of the smallest ball is then right to R/2000


def smallest_ball(z: Floats) -> tuple[Floats, float]:
    """Return centre and radius of the smallest ball around points (Bădoiu and Clarkson 2003)."""
    center = z.mean(axis=0)
    for step in range(BALL_STEPS):
        away = z - center
        center = center + away[np.square(away).sum(axis=1).argmax()] / (step + 2)
    radius = float(np.sqrt(np.square(z - center).sum(axis=1).max()))
    return center, radius or 1.0


def rays(z: Floats) -> tuple[Floats, Floats]:
    """Return lengths (n, 1) and directions of rows; the direction of a row at 0 is 0."""
    r = np.linalg.norm(z, axis=1, keepdims=True)
    return r, z / np.where(r > 0, r, 1.0)


def in_place(z: Floats) -> Iterator[View]:
    """Return the views of the first set."""
    yield View("plain distances", "exponential", z, 0)
    yield View("plain distances", "Matérn 3/2", z, 0, matern)
    yield View("plain distances", "Gaussian", z, 0, smooth)
    scale = 3 * z.std(axis=0)
    for w in SQUASHED:
        v = w * z / np.where(scale > 0, scale, 1.0)
        yield View("squashed columns", f"squashed columns, {w:g}", v / np.sqrt(1 + v * v), 0)
    reach = np.abs(z).max(axis=0)
    for w in STRETCHED:
        v = w * z / np.where(reach > 0, reach, 1.0)
        yield View("stretched columns", f"stretched columns, {w:g}", v / np.sqrt(1 - v * v), 0)
    r, directions = rays(z)
    yield View("directions", "directions from the middle", directions, 0)
    unit = r.std() or 1.0
    column = (r - r.mean()) / unit * z.std(axis=0).mean()
    for weight in RADIUS_WEIGHTS:
        name = f"radius as a column, {weight:g}"
        yield View("radius as a column", name, np.hstack([z, weight * column]), 0)


def rescaled(z: Floats, ball: tuple[Floats, float]) -> Iterator[View]:
    """Return the views of the second set that the first has not: rows moved along their rays."""
    r, directions = rays(z)
    t = r / r.max()
    center, radius = ball
    from_center, outward = rays(z - center)
    s = np.minimum(from_center / radius, 1.0)
    for w in CONCAVE:
        flatter = {"arctan": np.arctan(w * t), "t/√(1 + t²)": w * t / np.sqrt(1 + (w * t) ** 2)}
        for name, g in flatter.items():
            yield View(f"radius squashed, {name}", f"{name}, {w:g}", g * directions, 0)
    for rho in RADII:
        klein, poincare = np.tanh(rho) * s, np.tanh(rho / 2) * s
        steeper = {
            "artanh": np.arctanh(klein),
            "t/√(1 - t²)": klein / np.sqrt(1 - klein**2),
            "tanh(artanh(t)/2)": np.tanh(np.arctanh(klein) / 2),
            "artanh, Poincaré": np.arctanh(poincare),
        }
        for name, g in steeper.items():
            yield View(f"radius stretched, {name}", f"{name}, {rho:g}", g * outward, 0)


def predictors(
    z: Floats, Y: Floats, labels: bool, partitions: list[Ints], seed: int
) -> dict[str, Floats]:
    """Return squared errors (n, t), held out, of linear and quadratic models and of trees."""
    codes = Y.argmax(axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(int)
    r = np.linalg.norm(z, axis=1, keepdims=True)
    axes = np.linalg.svd(z, full_matrices=False)[2][:MOST_DIRECTIONS]
    p = z @ axes.T
    p = p / np.where(p.std(axis=0) > 0, p.std(axis=0), 1.0)
    pairs = np.triu_indices(p.shape[1])
    columns = z / (z.std() or 1.0)
    quadratic = np.hstack([columns, p[:, pairs[0]] * p[:, pairs[1]]])
    n = len(z)
    if labels:
        line, curve = (LogisticRegression(C=C, max_iter=300) for C in (10.0, 1.0))
        trees = ExtraTreesClassifier(N_TREES, min_samples_leaf=2, random_state=seed)
    else:
        line, curve = Ridge(0.01 * n), Ridge(0.03 * n)
        trees = ExtraTreesRegressor(N_TREES, min_samples_leaf=2, random_state=seed)
    errors = {name: np.zeros_like(Y) for name in ("linear model", "quadratic model", "trees")}
    for folds in partitions:
        for fold in range(folds.max() + 1):
            held, known = folds == fold, folds != fold
            target = codes if labels else Y
            linear = fitted_scores(line, columns, target, known, Y)
            seen = np.hstack([columns, r, linear])
            told = {
                "linear model": linear,
                "quadratic model": fitted_scores(curve, quadratic, target, known, Y),
                "trees": fitted_scores(trees, seen, target, known, Y),
            }
            for name, scores in told.items():
                errors[name][held] += np.square(Y - scores)[held] / len(partitions)
    return errors


def fitted_scores(model: object, X: Floats, target: Floats, known: Floats, Y: Floats) -> Floats:
    """Return the predictions (n, t) of all rows by a model fitted to the known ones."""
    if target is Y:
        fitted = clone(model).fit(X[known], Y[known].ravel() if Y.shape[1] == 1 else Y[known])
        return np.asarray(fitted.predict(X)).reshape(Y.shape)
    few = np.unique(target[known])
    if len(few) == 1:
        return np.broadcast_to(Y[known].mean(axis=0), Y.shape)
    fitted = clone(model).fit(X[known], target[known])
    p = np.asarray(fitted.predict_proba(X))
    if Y.shape[1] == 1:  # centred 0/1
        return p[:, 1:] + Y.min()
    scores = np.broadcast_to(Y.min(axis=0), Y.shape).copy()
    scores[:, fitted.classes_] += p
    return scores
