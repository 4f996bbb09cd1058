"""Outlines of domains, lines and balls of the plane, as polylines."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.optimize.elementwise import find_root

from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import Ellipsoid, Hyperplane, lifts, line_intersections, metric_tensor
from cayleyklein.metrics import CurvedMetric, FormMetric
from cayleyklein.metrics.combined import Metric, first_term, terms_of
from cayleyklein.plotting.shapes import unit_circle

RIM = 1e-9  # relative distance inside the conic at which points on it are drawn
HORIZON = 1e-4  # angle before π/2 at which polylines to infinity end


def bounds_of(*points: Floats) -> Floats:
    rows = np.concatenate(points)
    return np.stack([rows.min(axis=0), rows.max(axis=0)])


def centred_part(metric: Metric) -> CurvedMetric:
    """Return the first part of a metric; its centre and axes frame a picture without rows."""
    part = first_term(metric)
    if isinstance(part, FormMetric):
        raise NotRepresentableError("A FormMetric has no centre to draw around; give rows X.")
    return part


def domains_of(metric: Metric) -> tuple[Ellipsoid, ...]:
    """Return the ellipses that intersect in the domain; none when it is the whole plane.

    The domain of a FormMetric need not be an ellipse, and is left out.
    """
    parts = [part for part, weight in terms_of(metric) if weight]
    found = [part.domain for part in parts if isinstance(part, CurvedMetric)]
    return tuple(domain for domain in found if domain is not None)


def edges_of(domains: Iterable[Ellipsoid], n: int = 256) -> list[Floats]:
    """Return the closed boundaries of ellipses."""
    return [domain.from_euclidean(unit_circle(n + 1)) for domain in domains]


def sphere_path(metric: Metric, center: Floats, radius: float, n: int) -> tuple[Floats, bool]:
    """Return a sphere in the plane as a polyline, and whether it is closed."""
    return sphere_paths(metric, np.asarray(center)[None], np.array([radius]), n)[0]


def sphere_paths(
    metric: Metric, centers: Floats, radii: Floats, n: int
) -> list[tuple[Floats, bool]]:
    """Return spheres in the plane as polylines, and whether they are closed."""
    paths: dict[int, tuple[Floats, bool]] = {}
    # across the elliptic equator it is an open branch of a conic; around the whole plane, empty
    if isinstance(metric, CurvedMetric):
        for at, (center, radius) in enumerate(zip(centers, radii.tolist(), strict=True)):
            ball = metric.ball(center, radius)
            if ball.kind == "ellipsoid":
                paths[at] = ball.ellipsoid().boundary(n), True
    rest = [at for at in range(len(centers)) if at not in paths]
    if rest:
        found = traced_spheres(metric, centers[rest], radii[rest], n)
        paths |= dict(zip(rest, found, strict=True))
    return [paths[at] for at in range(len(centers))]


def traced_spheres(
    metric: Metric, centers: Floats, radii: Floats, n: int
) -> list[tuple[Floats, bool]]:
    """Return spheres (m,) by where distances reach the radius on n rays from each centre."""
    # on rays from the centre, which are geodesics, so that distances grow
    u = unit_circle(n + 1)[:-1] @ centred_part(metric).inverse_factor.T
    u = np.tile(u, (len(centers), 1, 1))
    domains = domains_of(metric)
    each = zip(centers, u, strict=True)
    exits = [[domain.exit_time(center, ray) for domain in domains] for center, ray in each]
    if not domains:  # scale so that t = 1 is close to the sphere
        u *= radii[:, None, None]
        away = np.asarray(metric.distance(centers[:, None], centers[:, None] + u))
        step = away.min(axis=1)
        u *= np.divide(radii, step, out=np.ones_like(radii), where=step > 0)[:, None, None]
    last = np.full(u.shape[:2], math.pi / 2 - HORIZON)
    if domains:
        last = np.min(exits, axis=1) * (1 - RIM)
    start = np.repeat(centers, n, axis=0)
    radius = np.repeat(radii, n)

    def point(t: Floats, *ray: Floats) -> Floats:
        # without a domain, tan t reaches infinity at π/2
        where = np.stack(ray[:2], axis=-1)
        direction = np.stack(ray[2:4], axis=-1)
        return where + direction * (t if domains else np.tan(t))[..., None]

    def excess(t: Floats, *ray: Floats) -> Floats:
        where = np.stack(ray[:2], axis=-1)
        return np.asarray(metric.distance(where, point(t, *ray)) - ray[4], dtype=float)

    rays = (*start.T, *u.reshape(-1, 2).T, radius)
    with np.errstate(invalid="ignore"):  # SciPy's next guess, where two are equal to rounding
        found = find_root(excess, (np.zeros(len(radius)), last.ravel()), args=rays)
    points = point(found.x, *rays).reshape(-1, n, 2)
    paths = []
    for path, success in zip(points, found.success.reshape(-1, n), strict=True):
        # start an open branch after a gap, so that it is one piece
        first = -int(np.argmin(success))
        reached = np.roll(success, first)
        paths.append((np.roll(path, first, axis=0)[reached], bool(reached.all())))
    return paths


def spheres(metric: CurvedMetric, centers: Floats, radius: Any, n: int) -> Floats:
    """Return closed spheres (m, n, 2) of one radius or (m,); NaN beyond the elliptic equator.

    With lifts X = (z, 1)/σ, σ² = 1 + K‖z‖², they are cos_K(r) X + sin_K(r) U for unit tangents U.
    """
    K, z = metric.curvature, metric.coordinates(centers)[:, None]
    # with g = CCᵀ, C⁻ᵀ takes unit vectors of the plane to those of the metric
    C = np.linalg.cholesky(metric_tensor(centers, metric))
    u = unit_circle(n) @ np.linalg.inv(C) @ metric.factor.T
    slope = K * np.sum(z * u, axis=-1, keepdims=True) / (1 + K * np.sum(z * z, axis=-1))[..., None]
    r = np.reshape(radius, (-1, 1, 1))
    c = lifts.cosine(r, K)
    s = lifts.sine(r, K)
    height = np.where(c > s * slope, c - s * slope, np.nan)
    shift = (c * z + s * (u - slope * z)) / height @ metric.inverse_factor.T
    return np.asarray(metric.center + shift)


def ball_lattice(metric: Metric, X: Floats | None, n: int) -> tuple[Floats, float]:
    """Return centres over the rows (or the domain), and a radius for which balls nearly touch."""
    if X is not None and np.ptp(X, axis=0).any():
        low, high = bounds_of(X)
    elif domains_of(metric):
        low, high = bounds_of(*edges_of(domains_of(metric)))
    else:
        part = centred_part(
            metric
        )  # one unit of length to each side: 1, or the radius of the sphere
        half = np.linalg.norm(part.inverse_factor, axis=1) / part.length_unit
        low, high = part.center - half, part.center + half
    step = (high - low).max() / n
    counts = np.maximum(np.round((high - low) / step), 1).astype(int)
    cells = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 2)
    centers = low + (cells + 0.5) * (high - low) / counts
    centers = centers[metric.contains(centers)]
    if not len(centers):
        advice = "give rows X inside it, or a finer lattice."
        raise InvalidInputError(f"No ball of the lattice is in the domain of the metric; {advice}")
    sides = np.array([[1, 0], [0, 1], [1, 1], [1, -1], [-1, 0], [0, -1]])
    ends = centers[:, None] + 0.4 * step * sides
    radii = metric.distance(centers[:, None], ends, outside="inf").min(axis=1)
    return centers, float(np.median(radii))


def line_path(metric: CurvedMetric, line: Hyperplane, n: int) -> Floats:
    """Return a line of the plane, clipped to the domain; empty when it misses it."""
    normal = np.asarray(line.normal, float)
    offset = float(line.offset)
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    foot = metric.center - normal * (normal @ metric.center + offset) / (normal @ normal)
    if metric.domain is None:
        angle = np.linspace(-1, 1, n) * (math.pi / 2 - HORIZON)
        scale = 1 / (metric.length_unit * np.linalg.norm(metric.factor @ along))
        return np.asarray(foot + scale * np.tan(angle)[:, None] * along)
    ends = [e / e[-1] for e in line_intersections(metric.absolute.matrix, foot, foot + along)]
    if np.iscomplex(ends).any():
        return np.empty((0, 2))
    P, Q = (end.real[:2] for end in ends)
    # dense at the ends, where the other charts need it
    t = (1 - np.cos(np.linspace(0, math.pi, n))) / 2
    return np.asarray(P + t[:, None] * (Q - P))


def inset(domain: Ellipsoid | None, points: Floats, margin: float = RIM) -> Floats:
    """Move points on or outside a conic to a little inside, where charts are defined."""
    if domain is None:
        return points
    y = domain.to_euclidean(points)
    size = np.linalg.norm(y, axis=-1, keepdims=True) / (1 - margin)
    return np.where(size > 1, domain.from_euclidean(y / np.maximum(size, 1.0)), points)
