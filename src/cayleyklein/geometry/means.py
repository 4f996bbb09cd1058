"""Fréchet means and geometric medians: the least Σ w d² and the least Σ w d, by Newton's method.

At x, with the tangent vectors e of length d from x to the points, in orthonormal coordinates, and
c = √-K d coth(√-K d), 1 or √K d cot(√K d), the sum Σ w dᵖ/p has the negative gradient and Hessian

    Σ w dᵖ⁻² e,      Σ w dᵖ⁻² ((p - 1) êêᵀ + c (I - êêᵀ)),      ê = e/d,  p = 1, 2.

Both sums are convex along geodesics for K ≤ 0, so that the minimum is unique but for the median of
points on one line. For K > 0 the chart is an open hemisphere, where that is known of the mean of
any points, and of the median of points in a ball of radius π/(4√K) (Afsari 2011, theorem 2.1).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry.distances import norms
from cayleyklein.geometry.geodesics import exp_map, from_orthonormal, log_map, to_orthonormal
from cayleyklein.geometry.lifts import lift
from cayleyklein.geometry.rounding import EPSILON
from cayleyklein.geometry.space import CurvedSpace, as_space

MAX_STEPS = 200
QUADRATIC_BELOW = 1e-6  # relative gradient from which a step that does not halve it is rounding
COLLINEAR = 1e-13  # second singular value of points, relative to the first, of points on a line
BALL_STEPS = 300  # of the search for a small ball around points (Bădoiu and Clarkson 2003)


class Pull(NamedTuple):
    """A point x, tangent vectors e (n, d) from it to the others, lengths (n,) and Σ w dᵖ/p."""

    x: Floats
    e: Floats
    d: Floats
    total: float


def frechet_mean(X: ArrayLike, weights: ArrayLike | None, metric: CurvedSpace) -> Floats:
    rows, shares = _weighted_rows(X, weights, metric)
    return _minimise(rows, shares, metric, power=2)


def geometric_median(X: ArrayLike, weights: ArrayLike | None, metric: CurvedSpace) -> Floats:
    rows, shares = _weighted_rows(X, weights, metric)
    if metric.curvature > 0:
        _refuse_wide(rows, metric)
    away = rows - rows[0]
    away /= np.abs(away).max() or 1.0
    spread = np.linalg.svd(away, compute_uv=False)
    if len(spread) == 1 or spread[1] <= COLLINEAR * spread[0]:
        return _median_on_line(rows, shares, away @ away[norms(away).argmax()])
    return _minimise(rows, shares, metric, power=1)


def _weighted_rows(
    X: ArrayLike, weights: ArrayLike | None, metric: CurvedSpace
) -> tuple[Floats, Floats]:
    """Return the points that count, and their weights with sum 1."""
    metric = as_space(metric)
    rows = checks.as_points(X, "X", metric.dimension, ndim=2)
    metric._refuse_lower_rank()
    metric._inside(rows, "X")
    given = np.ones(len(rows)) if weights is None else checks.as_finite_array(weights, "weights")
    if given.shape != (len(rows),) or (given < 0).any() or not given.any():
        raise InvalidInputError(
            f"weights must be {len(rows)} numbers, none negative and not all 0; got shape "
            f"{given.shape}{checks.at_index(given < 0) if (given < 0).any() else ''}."
        )
    given = given / given.max()
    return rows[given > 0], given[given > 0] / given.sum()


def _minimise(rows: Floats, shares: Floats, metric: CurvedSpace, power: int) -> Floats:
    """Return the least Σ w dᵖ/p by Newton's method, for p = 1 with a look at the nearest point.

    Where x is a point itself, that term of p = 1 pulls with its weight against any step.
    """
    K = metric.curvature

    def pull_at(x: Floats) -> Pull:
        z, s = metric._inside(x, "x")
        e = to_orthonormal(metric._apply(np.asarray(log_map(x, rows, metric))), z, s)
        d = norms(e)
        return Pull(x, e, d, float(shares @ d**power) / power)

    scale = shares / np.sqrt(metric._inside(rows, "X")[1])  # of the lifts, whose mean is the start
    here, last, last_x = pull_at(scale @ rows / scale.sum()), np.inf, rows[0]
    for _ in range(MAX_STEPS):
        if power == 1 and here.d.min() > 0:
            nearest = pull_at(rows[here.d.argmin()])
            here = nearest if nearest.total <= here.total else here
        x, e, d, total = here
        apart = d > 0 if power == 1 else np.ones(len(d), dtype=bool)
        weight = np.divide(shares, d ** (2 - power), out=np.zeros_like(d), where=apart)
        g = weight @ e
        length, held = float(norms(g)), float(shares[~apart].sum())
        size = (length - held) / (float(shares @ d ** (power - 1)) or 1.0)
        if size <= EPSILON:
            return x
        if last < QUADRATIC_BELOW and size > last / 2:
            return x if size < last else last_x
        last, last_x = size, x
        step = g * ((length - held) / length / weight.sum())
        if not held:
            step = _newton_step(g, e, d, weight, K, power, step)
        z, s = metric._inside(x, "x")
        for _ in range(60):
            try:
                new = pull_at(exp_map(x, metric._solve(from_orthonormal(step, z, s)), metric))
            except OutsideDomainError:  # beyond the equator
                new = here._replace(total=math.inf)
            if new.total <= total or (size < QUADRATIC_BELOW and new.total < math.inf):
                break
            step = step / 2
        else:
            return x  # no step is lower: rounding
        here = new
    checks.warn_caller("Newton's method did not converge.", ConvergenceWarning)
    return here.x


def _newton_step(
    g: Floats, e: Floats, d: Floats, weight: Floats, K: float, power: int, otherwise: Floats
) -> Floats:
    """Return H⁻¹g, or a step of gradient descent where the Hessian H is not positive definite."""
    t = math.sqrt(abs(K)) * d
    c = np.ones_like(t)
    np.divide(t, np.tan(t) if K > 0 else np.tanh(t), out=c, where=t > 0)
    across = np.divide(weight * (power - 1 - c), d**2, out=np.zeros_like(d), where=d > 0)
    hessian = (e * across[:, None]).T @ e + (weight @ c) * np.eye(len(g))
    try:
        np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        return otherwise
    return np.linalg.solve(hessian, g)


def _median_on_line(rows: Floats, shares: Floats, along: Floats) -> Floats:
    """Return the median of points in the order of `along`, the order on their geodesic."""
    order = np.argsort(along, kind="stable")
    below = np.cumsum(shares[order])
    at = int(np.argmax(below >= 0.5 - len(rows) * EPSILON))
    first, second = order[at], order[min(at + 1, len(rows) - 1)]
    tied = below[at] <= 0.5 + len(rows) * EPSILON
    if tied and along[second] > along[first]:
        raise NotRepresentableError(
            f"The points lie on one line with half of the weight on each side, so every point "
            f"between {rows[first].tolist()} and {rows[second].tolist()} is a median; change the "
            f"weights, or take frechet_mean."
        )
    return rows[first].copy()


def _refuse_wide(rows: Floats, metric: CurvedSpace) -> None:
    z, s = metric._inside(rows, "X")
    unit = math.sqrt(metric.curvature)
    points = lift(unit * z, s)
    center, radius = points.mean(axis=0), math.pi
    for step in range(BALL_STEPS):
        chord = norms(points - center / np.linalg.norm(center))
        radius = min(radius, 2 * math.asin(min(chord.max() / 2, 1.0)))
        if radius < math.pi / 4:
            return
        center = center + (points[chord.argmax()] - center) / (step + 2)
    raise NotRepresentableError(
        f"X lies in a ball of radius {radius / unit:.4g}, and in no much smaller one. An elliptic "
        f"median is known to be unique for radii below π/(4√K) = {math.pi / 4 / unit:.4g} only; "
        f"take frechet_mean."
    )
