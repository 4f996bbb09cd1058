"""The stress of points in a space of constant curvature K, and its gradient in points and K.

Points are given by tangent coordinates v at an origin: v is the direction and the distance ρ = ‖v‖
in which a point is seen from there. Every v is a point, whatever K (elliptic points beyond the
antipode come round again), so that a descent meets no wall, and a change of K keeps the distances
from the origin. With tan_K, cos_K of :mod:`cayleyklein.geometry`,

    y = T v,  T = 2 tan_K(ρ/2)/ρ,      w = cos_K²(ρ/2) = 1/(1 + K‖y‖²/4),
    c² = ‖y_p - y_q‖² w_p w_q,

where y are stereographic (for K < 0 Poincaré's) coordinates and c the chord, for every sign of K.
On a sphere, a plane or a hyperboloid, a point is the vector X = (u, t) = (sin_K(ρ) v/ρ, cos_K(ρ)),
with K‖u‖² + t² = 1. Isometries are linear there, and u/t are Klein's (gnomonic) coordinates.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from cayleyklein._jit import vectorised
from cayleyklein._typing import Floats
from cayleyklein.geometry import lifts
from cayleyklein.geometry.lifts import SLOPE_SERIES_BELOW
from cayleyklein.geometry.rounding import EPSILON
from cayleyklein.manifold._limits import CACHED_PAIRS

INSIDE = 1e-9  # least height above the equator of points that a hemisphere holds, in radii


class Stereographic(NamedTuple):
    """Points y (n, r), their w, and T, b = (1/w - T)/(Kρ²) and ρ², all (n,), for derivatives."""

    y: Floats
    w: Floats
    stretch: Floats
    bend: Floats
    sqnorm: Floats


def to_stereographic(v: Floats, K: float) -> Stereographic:
    sqnorm = np.einsum("ij,ij->i", v, v)
    rho = np.sqrt(sqnorm)
    x = K * sqnorm
    w = np.square(lifts.cosine(rho / 2, K))
    stretch = np.divide(2 * lifts.tangent(rho / 2, K), rho, out=np.ones_like(rho), where=rho > 0)
    series = 1 / 6 + x * (1 / 30 + x * (17 / 3360 + x * 31 / 45360))
    far = np.abs(x) > 1e-2  # nearer, the closed form of b cancels
    bend = np.divide(1 / w - stretch, x, out=series, where=far)
    return Stereographic(v * stretch[:, None], w, stretch, bend, sqnorm)


def distances(v: Floats, K: float, v_to: Floats | None = None) -> Floats:
    """Return the distances between points (n, r) and (m, r), or of all points with each other."""
    p = to_stereographic(v, K)
    q = p if v_to is None else to_stereographic(v_to, K)
    out = np.empty((len(p.w), len(q.w)))
    step = max(1, CACHED_PAIRS // len(q.w))
    for start in range(0, len(out), step):
        rows = slice(start, start + step)
        fill_sqchords(p.y[rows], p.w[rows], q.y, q.w, out[rows])
        out[rows] = lifts.distance_from_sqchord(out[rows], K)
    return out


class Stress:
    """Stress Σ ω (d - δ)² / Σ ω δ² over pairs, as a function of tangent coordinates and K.

    Dissimilarities δ (n, n) are symmetric, with zeros for missing pairs; so are weights ω, which
    are 0 for missing pairs and on the diagonal, or None for 1.
    """

    def __init__(self, dissimilarities: Floats, weights: Floats | None) -> None:
        self.target, self.weights = dissimilarities, weights
        square = np.square(dissimilarities) * (1.0 if weights is None else weights)
        self.total = float(square.sum()) / 2 or 1.0

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def __call__(self, v: Floats, K: float, shrinkage: float = 0.0) -> tuple[float, Floats, float]:
        """Return the stress and its gradient in v and K, with c² shrunk by a share."""
        n = len(v)
        at = to_stereographic(v, K)
        if not (np.isfinite(at.w).all() and np.isfinite(at.y).all()):
            return np.inf, v, 0.0
        at = at._replace(w=np.sqrt(1 - shrinkage) * at.w)
        sums = np.zeros(2)
        pull = np.zeros((v.shape[1] + 2, n))
        lifted = np.vstack([at.w, at.w * at.y.T])
        weights = np.empty((0, 0)) if self.weights is None else self.weights
        start = 0
        while start < n:  # strips of the upper triangle
            stop = min(n, start + max(1, CACHED_PAIRS // (n - start)))
            sqchord = np.empty((stop - start, n - start))
            fill_sqchords(at.y[start:stop], at.w[start:stop], at.y[start:], at.w[start:], sqchord)
            d = lifts.distance_from_sqchord(sqchord, K)
            force = np.empty_like(d)
            fill_forces(start, K, sqchord, d, self.target, weights, force, sums)
            # Σ_q f ∂d/∂c² (w_q, w_q y_q, c²) for each point of either side
            pull[:-1, start:stop] += lifted[:, start:] @ force.T
            pull[:-1, start:] += lifted[:, start:stop] @ force
            force *= sqchord
            pull[-1, start:stop] += force.sum(axis=1)
            pull[-1, start:] += force.sum(axis=0)
            start = stop
        pull *= 2 / self.total
        by_y = 2 * (at.w * (pull[0] * at.y.T - pull[1:-1])).T
        # ∂y/∂v = T + K b vvᵀ, ∂w/∂v = -K T w v/2, ∂y/∂K = ρ² b v/2, ∂w/∂K = -ρ² T w/4
        along = np.einsum("ij,ij->i", by_y, v) * at.bend - pull[-1] * at.stretch / 2
        by_v = at.stretch[:, None] * by_y + (K * along)[:, None] * v
        by_K = 2 * sums[1] / self.total + along @ at.sqnorm / 2
        return float(sums[0] / self.total), by_v, float(by_K)


@vectorised
def fill_sqchords(y_p, w_p, y_q, w_q, out):  # type: ignore[no-untyped-def]
    for i in range(len(y_p)):
        for j in range(len(y_q)):
            square = 0.0
            for a in range(y_p.shape[1]):
                step = y_p[i, a] - y_q[j, a]
                square += step * step
            out[i, j] = square * w_p[i] * w_q[j]


@vectorised
def fill_forces(start, K, sqchord, d, target, weights, force, sums):  # type: ignore[no-untyped-def]
    """Fill f ∂d/∂c², f = ω (d - t), of the pairs of a strip right of the diagonal; 0 elsewhere.

    Add Σ ω (d - t)² and Σ f ∂d/∂K to the sums. Slopes are those of `lifts.slopes_from_sqchord`.
    """
    value = 0.0
    along = 0.0
    inverse = 0.5 / K if K else 0.0
    ones = np.ones(d.shape[1])
    for i in range(len(d)):
        square = sqchord[i, i + 1 :]
        reached = d[i, i + 1 :]
        pull = force[i, i + 1 :]
        goal = target[start + i, start + i + 1 :]
        weight = weights[start + i, start + i + 1 :] if len(weights) else ones[i + 1 :]
        force[i, : i + 1] = 0.0
        for j in range(len(goal)):
            gap = reached[j] - goal[j]
            pushed = weight[j] * gap
            value += pushed * gap
            x = K * square[j]
            slope = 0.5 / np.sqrt(
                square[j] * max(1 - x / 4, EPSILON)
            )  # √ is 0 for antipodal points
            slope = slope if square[j] > 0 else 0.0
            ratio = 2 * square[j] * slope  # c/√(1 - x/4)
            series = ratio * square[j] * (1 / 24 + x * (1 / 240 + x * (1 / 1680 + x / 10080)))
            closed = (ratio - reached[j]) * inverse
            along += pushed * (series if abs(x) < SLOPE_SERIES_BELOW else closed)
            pull[j] = pushed * slope
    sums[0] += value
    sums[1] += along


def to_surface(v: Floats, K: float) -> Floats:
    rho = np.linalg.norm(v, axis=1)
    stretch = np.divide(lifts.sine(rho, K), rho, out=np.ones_like(rho), where=rho > 0)
    return np.column_stack([v * stretch[:, None], lifts.cosine(rho, K)])


def to_tangent(X: Floats, K: float) -> Floats:
    u = X[:, :-1]
    length = np.sqrt(abs(K)) * np.linalg.norm(u, axis=1)
    rho = np.arctan2(length, X[:, -1]) if K > 0 else np.arcsinh(length)
    stretch = np.divide(rho, length, out=np.ones_like(length), where=length > 0)
    return np.asarray(u * stretch[:, None])


def to_centered(X: Floats, K: float) -> Floats:
    """Return v of X moved by an isometry: its centre to the origin, its principal axes to the axes.

    The centre is that of :func:`moved_to_center`.
    """
    X = moved_to_center(X, K)
    u = X[:, :-1]
    u = u @ axes_of_spread(u)
    return to_tangent(np.column_stack([u, X[:, -1]]), K)


def axes_of_spread(u: Floats) -> Floats:
    """Return axes (r, r), of largest mean square first; the farthest row on each is positive."""
    axes = np.linalg.eigh(u.T @ u)[1][:, ::-1]
    along = u @ axes
    largest = along[np.abs(along).argmax(axis=0), np.arange(u.shape[1])]
    return np.asarray(axes * np.where(largest < 0, -1.0, 1.0))


def moved_to_center(X: Floats, K: float) -> Floats:
    """Return X moved by an isometry that puts its centre into the origin.

    The centre is the point whose mean squared distance is least. On a sphere it is the direction of
    the mean vector; where that leaves points beyond the equator, it is the pole of a hemisphere
    that holds them all, if there is one.
    """
    if K == 0:
        return np.asarray(X - np.append(X[:, :-1].mean(axis=0), 0.0))
    if K < 0:
        for _ in range(200):
            v = to_tangent(X, K)
            far = np.sqrt(-K) * np.linalg.norm(v, axis=1).max()
            step = v.mean(axis=0) / max(1.0, far)  # d² is this much more curved
            if np.sqrt(-K) * np.abs(step).max() <= 1e-7:
                break
            X = to_surface(to_tangent(moved_to_origin(X, to_surface(step[None], K)[0], K), K), K)
        return X
    moved = moved_to_origin(X, X.mean(axis=0), K)
    if (moved[:, -1] <= INSIDE).any():
        pole = _hemisphere_pole(X, K)
        moved = moved if pole is None else moved_to_origin(X, pole, K)
    return moved


def radii(X: Floats, K: float) -> Floats:
    """Return the factors that measure X in radii 1/√|K| of its surface."""
    return np.append(np.full(X.shape[1] - 1, np.sqrt(abs(K))), 1.0)


def moved_to_origin(X: Floats, middle: Floats, K: float) -> Floats:
    """Reflect X in the bisector of the direction of a vector and the origin (0, 1)."""
    scale = radii(X, K)
    signature = np.append(np.ones(X.shape[1] - 1), np.sign(K))
    normal = middle * scale
    length = np.sqrt(abs(signature @ (normal * normal)))
    if length == 0:
        return X
    normal /= length
    normal[-1] -= 1
    square = float(signature @ (normal * normal))
    if square <= 0:
        return X
    away = (X * scale) @ (signature * normal)
    return np.asarray(X - np.outer(away, 2 / square * normal / scale))


def _hemisphere_pole(X: Floats, K: float) -> Floats | None:
    n, width = X.shape
    scale = radii(X, K)
    # the largest t with ⟨c, X⟩ ≥ t for all X, |c| ≤ 1 in each coordinate
    cost = np.append(np.zeros(width), -1.0)
    above = np.column_stack([-X * scale, np.ones(n)])
    bounds = [*[(-1, 1)] * width, (None, 1)]
    found = linprog(cost, A_ub=above, b_ub=np.zeros(n), bounds=bounds)
    return found.x[:-1] / scale if found.success and found.x[-1] > INSIDE else None
