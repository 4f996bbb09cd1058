"""Fréchet means and geometric medians: the least Σ w d² and the least Σ w d, by Newton's method.

At x, with the tangent vectors v of length d from x to the points (the logarithms), the metric
tensor g and c = √-K d coth(√-K d), 1 or √K d cot(√K d), the sum Σ w dᵖ/p, p = 1 or 2, has the
negative gradient and the Hessian, as an operator on tangent vectors,

    Σ w dᵖ⁻² v,      Σ w dᵖ⁻² (c I + (p - 1 - c) vvᵀg/d²).

Both sums are convex along geodesics for K ≤ 0, so that the minimum is unique but for the median of
points on one line. For K > 0 the chart is an open hemisphere, where that is known of the mean of
any points, and of the median of points in a ball of radius π/(4√K) (Afsari 2011, theorem 2.1).
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Floats
from cayleyklein.exceptions import NotRepresentableError, OutsideDomainError
from cayleyklein.geometry.distances import distance_between, norms
from cayleyklein.geometry.geodesics import exp_map, log_map, metric_tensor
from cayleyklein.geometry.lifts import lift
from cayleyklein.geometry.rounding import EPSILON
from cayleyklein.geometry.space import CurvedSpace, place_inside, refuse_lower_rank


def frechet_mean(X: ArrayLike, weights: ArrayLike | None, metric: CurvedSpace) -> Floats:
    return _minimise(*_weighted_rows(X, weights, metric), metric, power=2)


def geometric_median(X: ArrayLike, weights: ArrayLike | None, metric: CurvedSpace) -> Floats:
    rows, shares = _weighted_rows(X, weights, metric)
    if metric.curvature > 0:
        _refuse_wide(rows, metric)
    away = (rows - rows[0]) / (np.abs(rows - rows[0]).max() or 1.0)
    spread = np.linalg.svd(away, compute_uv=False)
    if len(spread) > 1 and spread[1] > 1e-13 * spread[0]:  # the rows do not lie on one line
        return _minimise(rows, shares, metric, power=1)
    along = away @ away[norms(away).argmax()]  # points are in the same order on their geodesic
    order = np.argsort(along)
    below = np.cumsum(shares[order]) - 0.5
    first, *others = order[below >= -len(rows) * EPSILON]
    tied = below[order == first][0] <= len(rows) * EPSILON
    if tied and others and along[others[0]] > along[first]:
        raise NotRepresentableError(
            f"X lies on one line, half of the weight on each side: every point between "
            f"{rows[first].tolist()} and {rows[others[0]].tolist()} is a median; take frechet_mean."
        )
    return np.array(rows[first])


def _weighted_rows(
    X: ArrayLike, weights: ArrayLike | None, metric: CurvedSpace
) -> tuple[Floats, Floats]:
    """Return the rows of positive weight, and their weights scaled to the sum 1."""
    rows = checks.as_points(X, "X", metric.dimension, ndim=2)
    refuse_lower_rank(metric)
    place_inside(metric, rows, "X")
    given = np.ones(len(rows)) if weights is None else checks.as_finite_array(weights, "weights")
    right = given.shape == (len(rows),) and bool((given >= 0).all() and given.any())
    least = f"weights of shape {given.shape}, the least", float(given.min(initial=math.inf))
    checks.expect(right, *least, f"{len(rows)} numbers, none negative and not all 0")
    given = given / given.max()
    return rows[given > 0], given[given > 0] / given.sum()


def _minimise(rows: Floats, shares: Floats, metric: CurvedSpace, power: int) -> Floats:
    """Return the x of least Σ w dᵖ/p; for p = 1 a row at x holds it back by its weight."""
    scale = shares / np.sqrt(place_inside(metric, rows, "X")[1])
    x = last_x = scale @ rows / scale.sum()  # the mean of the lifts
    d = distance_between(np.broadcast_to(x, rows.shape), rows, metric, "raise")
    unit = float(d.max()) or 1.0  # squares may under- or overflow
    d = d / unit

    def distances_to(x: Floats) -> Floats:
        return distance_between(np.broadcast_to(x, rows.shape), rows, metric, "raise") / unit

    last = math.inf
    converging = 1e-6  # relative gradient from which a step that does not halve it is rounding
    for _ in range(200):
        if power == 1 and d.min() > 0:  # the nearest row may be the median
            nearest = rows[d.argmin()]
            there = distances_to(nearest)
            if shares @ there <= shares @ d:
                x = nearest
                d = there
        v = log_map(x, rows, metric) / unit
        apart = (d > 0) | (power == 2)
        weight = np.divide(shares, d ** (2 - power), out=np.zeros_like(d), where=apart)
        pull = weight @ v
        g = metric_tensor(x, metric)
        length = math.sqrt(max(pull @ g @ pull, 0.0))
        held = float(shares[~apart].sum())
        size = (length - held) / (float(shares @ d ** (power - 1)) or 1.0)
        if size <= EPSILON or (last < converging and size > last / 2):
            return np.array(x if size < last else last_x)
        last = size
        last_x = x
        step = pull * ((length - held) / length / weight.sum())  # gradient descent
        if not held:
            c = bend(d * unit, metric.curvature)
            hessian = hessian_of_sum(v, d, weight, g, c, power)
            newton = np.linalg.solve(hessian, pull)
            step = newton if newton @ g @ pull > 0 else step
        for _ in range(60):
            try:
                x = np.asarray(exp_map(last_x, unit * step, metric), dtype=np.float64)
                after = distances_to(x)
                if shares @ after**power <= shares @ d**power or size < converging:
                    break
            except OutsideDomainError:  # beyond the equator
                pass
            step = step / 2
        else:
            return np.array(last_x)  # no step is lower: rounding
        d = after
    checks.warn_caller("Newton's method did not converge.", ConvergenceWarning)
    return np.array(x)


def bend(d: Floats, K: float) -> Floats:
    """Return c = √-K d coth(√-K d), 1 or √K d cot(√K d) of distances d."""
    t = math.sqrt(abs(K)) * d
    tangent = np.tan(t) if K > 0 else np.tanh(t)
    return np.divide(t, tangent, out=np.ones_like(t), where=t > 0)


def hessian_of_sum(
    v: AnyFloats, d: Floats, weight: Floats, g: Floats, c: Floats, power: int
) -> Floats:
    """Return the Hessian of Σ w dᵖ/p, from logarithms v, their lengths d, the weights w dᵖ⁻², c."""
    along = np.divide(weight * (power - 1 - c), d**2, out=np.zeros_like(d), where=d > 0)
    return np.asarray((v * along[:, None]).T @ v @ g + weight @ c * np.eye(len(g)))


def _refuse_wide(rows: Floats, metric: CurvedSpace) -> None:
    """Refuse rows in no ball of radius π/(4√K); search for one by Bădoiu and Clarkson (2003)."""
    unit = math.sqrt(metric.curvature)
    z, s = place_inside(metric, rows, "X")
    points = lift(unit * z, s)
    radius = math.pi
    center = points.mean(axis=0)
    for step in range(300):
        chord = norms(points - center / np.linalg.norm(center))
        radius = min(radius, 2 * math.asin(min(chord.max() / 2, 1.0)))
        if radius < math.pi / 4:
            return
        center = center + (points[chord.argmax()] - center) / (step + 2)
    raise NotRepresentableError(
        f"The smallest ball around X has a radius of about {radius / unit:.4g}, but an elliptic "
        f"median is unique only for radii below π/(4√K) = {math.pi / 4 / unit:.4g}; take "
        f"frechet_mean."
    )
