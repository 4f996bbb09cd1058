"""Constructions of the plane: lines, perpendiculars, reflections, parallels, circles, curves.

In z = L(x - μ) a line is ⟨n, z⟩ + c = 0 and its pole, where all its perpendiculars meet, is the
homogeneous vector (n, Kc): at infinity for K = 0, so that everything here is smooth there. With
the lift P = (z, 1)/σ of a point and the unit normal N = (n, Kc)/ν, ν² = ‖n‖² + Kc²,

    sin_K h = (⟨n, z⟩ + c)/(σν)                signed distance of the point from the line,
    P - 2 sin_K(h) N                           its mirror image,
    cos_K(h) F + sin_K(h) N                    the point at h from the foot F on the line.

A circle of radius r has the circumference 2π sin_K r and the area 4π sin_K²(r/2).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry.bisectors import Hyperplane
from cayleyklein.geometry.charts import from_chart
from cayleyklein.geometry.geodesics import log_map, metric_tensor, transvection
from cayleyklein.geometry.lifts import cosine, distance_from_sqchord, sine
from cayleyklein.geometry.projective._cross_ratio import apply_collineation
from cayleyklein.geometry.space import CurvedSpace


def line_through(p: ArrayLike, q: ArrayLike) -> Hyperplane:
    """Return the line of the plane through two points; its normal is to the left of p → q."""
    p, q = (checks.as_points(x, name, 2, ndim=1) for x, name in ((p, "p"), (q, "q")))
    if (p == q).all():
        raise InvalidInputError("p and q coincide; a line needs two points.")
    normal = np.array([p[1] - q[1], q[0] - p[0]])
    return Hyperplane(normal, -(normal @ p))


def _normal(line: Hyperplane, metric: CurvedSpace) -> tuple[Floats, float]:
    """Return the unit normal (n, Kc)/ν of a line in z, and c/ν."""
    n = metric.inverse_factor.T @ np.asarray(line.normal, dtype=float)
    c = float(line.offset + line.normal @ metric.center)
    square = float(n @ n) + metric.curvature * c * c
    if not square > 0:
        raise OutsideDomainError("The line does not meet the domain of the metric.")
    return np.append(n, metric.curvature * c) / math.sqrt(square), c / math.sqrt(square)


def lowered(lifted: Floats, metric: CurvedSpace) -> Floats:
    """Return points of the plane from multiples of their lifts, NaN beyond the equator."""
    weight = np.where(lifted[..., 2:] > 0, lifted[..., 2:], np.nan)
    return np.asarray(lifted[..., :2] / weight @ metric.inverse_factor.T + metric.center)


def distance_to_line(x: ArrayLike, line: Hyperplane, metric: CurvedSpace) -> Floats:
    """Return distances of points (…, 2) from a line, positive on the side of its normal."""
    z, s = metric.inside(x)
    normal, c = _normal(line, metric)
    height = (z @ normal[:2] + c) / np.sqrt(s)
    sqchord = np.asarray(4 * height * height)
    return np.asarray(np.sign(height) * distance_from_sqchord(sqchord, metric.curvature) / 2)


def perpendicular(line: Hyperplane, p: ArrayLike, metric: CurvedSpace) -> Hyperplane:
    """Return the line through a point at right angles to a line: it goes through the pole."""
    p = checks.as_points(p, "p", 2, ndim=1)
    normal, _ = _normal(line, metric)
    z = np.append(metric.coordinates(p), 1.0)
    n, c = np.split(np.cross(z, normal), [2])
    if not n.any():
        raise InvalidInputError("p is the pole of the line: every line there is perpendicular.")
    across = metric.factor.T @ n
    return Hyperplane(across, c[0] - across @ metric.center)


def reflect(x: ArrayLike, line: Hyperplane, metric: CurvedSpace) -> Floats:
    """Return the mirror images of points (…, 2) in a line, NaN beyond the equator."""
    z, _ = metric.inside(checks.as_points(x, "x", 2))
    normal, c = _normal(line, metric)
    lifted = np.concatenate([z, np.ones((*z.shape[:-1], 1))], axis=-1)
    return lowered(lifted - 2 * (z @ normal[:2] + c)[..., None] * normal, metric)


def angle_bisector(p: ArrayLike, x: ArrayLike, q: ArrayLike, metric: CurvedSpace) -> Hyperplane:
    """Return the line through x that halves the angle from p to q."""
    x = checks.as_points(x, "x", 2, ndim=1)
    tensor = metric_tensor(x, metric)
    a, b = (np.asarray(log_map(x, end, metric), dtype=float) for end in (p, q))
    if not (a.any() and b.any()):
        raise InvalidInputError("p or q coincides with x; an angle needs two sides.")
    u, v = (step / math.sqrt(step @ tensor @ step) for step in (a, b))
    middle = u + v
    if np.abs(middle).max() < np.sqrt(np.finfo(float).eps) * np.abs(u).max():
        return perpendicular(line_through(x, x + u), x, metric)
    return line_through(x, x + middle)


def meet(first: Hyperplane, second: Hyperplane, metric: CurvedSpace) -> Floats:
    """Return where two lines meet; NaN where that is not in the geometry."""
    x = np.cross(first.homogeneous, second.homogeneous)
    flat = abs(x[2]) * np.abs(metric.inverse_factor).max() > 1e-12 * np.abs(x[:2]).max()
    return x[:2] / x[2] if flat and metric.form_values(x[:2] / x[2]) > 0 else np.full(2, np.nan)


def line_ends(line: Hyperplane, metric: CurvedSpace) -> tuple[Floats, Floats]:
    """Return the ends of a line on the absolute, where limiting parallels meet it (K < 0)."""
    K = metric.curvature
    normal, c = _normal(line, metric)
    if not K < 0:
        raise InvalidInputError(f"Lines end on the absolute where K < 0; got K = {K:g}.")
    n = normal[:2]
    middle = -c * n / (n @ n)
    along = np.array([n[1], -n[0]]) / float(np.linalg.norm(n))
    reach = math.sqrt(max(-1 / K - float(middle @ middle), 0.0)) * along
    return metric.points(middle - reach), metric.points(middle + reach)


def circle_measures(radius: float, K: float) -> tuple[float, float]:
    """Return the circumference 2π sin_K r and the area 4π sin_K²(r/2) of a circle."""
    radius = checks.as_real(radius, "radius", "[0, inf)")
    return 2 * math.pi * float(sine(radius, K)), 4 * math.pi * float(sine(radius / 2, K)) ** 2


def _line_frame(line: Hyperplane, metric: CurvedSpace) -> tuple[Floats, Floats]:
    """Return the lift of the point of a line next to μ, and the unit step along the line there."""
    normal, c = _normal(line, metric)
    across = normal[:2]
    size = float(across @ across)
    start = np.append(-c * across, size) / math.sqrt(size * (size + metric.curvature * c * c))
    return start, np.array([-across[1], across[0], 0.0]) / math.sqrt(size)


def point_on_line(line: Hyperplane, t: ArrayLike, metric: CurvedSpace) -> Floats:
    """Return the points (…, 2) at signed distances t along a line, from its point next to μ.

    Points beyond the equator are NaN.
    """
    start, along = _line_frame(line, metric)
    K = metric.curvature
    return lowered(cosine(t, K)[..., None] * start + sine(t, K)[..., None] * along, metric)


def place_on_line(line: Hyperplane, x: ArrayLike, metric: CurvedSpace) -> float:
    """Return the signed distance t along a line of the point of it that is nearest to x."""
    start, along = _line_frame(line, metric)
    z, s = metric.inside(checks.as_points(x, "x", 2, ndim=1))
    K = metric.curvature
    lifted = np.append(z, 1.0) / math.sqrt(float(s))
    ahead = float(lifted @ along)
    level = float(K * lifted[:2] @ start[:2] + lifted[2] * start[2])
    k = math.sqrt(abs(K)) or 1.0
    if K > 0:
        return math.atan2(k * ahead, level) / k
    return math.atanh(k * ahead / level) / k if K else ahead


def equidistant(p: ArrayLike, line: Hyperplane, metric: CurvedSpace, n: int = 257) -> Floats:
    """Return the curve (n, 2) of the points as far from a line as p, on its side."""
    height = float(distance_to_line(p, line, metric))
    normal, _ = _normal(line, metric)
    K = metric.curvature
    start, along = _line_frame(line, metric)
    longest = 1e3  # of every curve to each side, in units of z
    if K < 0:
        longest = min(longest, 12.0 / math.sqrt(-K))
    elif K > 0:
        longest = min(longest, math.pi / math.sqrt(K))  # half a great circle
    t = longest * np.linspace(-1, 1, n) ** 3  # dense around μ
    on_line = cosine(t, K)[:, None] * start + sine(t, K)[:, None] * along
    return lowered(cosine(height, K) * on_line + sine(height, K) * normal, metric)


def horocycle(p: ArrayLike, q: ArrayLike, metric: CurvedSpace, n: int = 257) -> Floats:
    """Return the horocycle through p whose centre is the end of the ray from p to q.

    At most n points, those that Klein coordinates can hold. In the Poincaré disc of radius 1 it is
    the circle through p that touches the rim at the end e: ‖y - e‖² = b (1 - ‖y‖²) for one b.
    """
    p, q = (checks.as_points(x, name, 2, ndim=1) for x, name in ((p, "p"), (q, "q")))
    k = math.sqrt(-metric.curvature) if metric.curvature < 0 else math.nan
    ends = np.stack(line_ends(line_through(p, q), metric))
    end = ends[np.argmax((ends - p) @ (q - p))]
    e = metric.coordinates(end) * k
    z, s = metric.inside(p)
    y = z * k / (1 + np.sqrt(s))
    level = float((y - e) @ (y - e) / (1 - y @ y))
    # dense at the end, where the other charts need it
    angle = math.pi * (1 - np.cos(np.linspace(0, math.pi, n)[1:-1]))
    turned = np.outer(np.cos(angle), e) + np.outer(np.sin(angle), [-e[1], e[0]])
    ring = (e + level * turned) / (1 + level)
    # Klein coordinates hold points up to the radius 16.8
    ring = ring[np.linalg.norm(ring, axis=1) < math.tanh(16.0 / 2)]
    return metric.points(np.asarray(from_chart(ring, "conformal", -1)) / k)


def rotation_about(center: ArrayLike, angle: float, metric: CurvedSpace) -> Floats:
    """Return the rotation around a point, a collineation (3, 3) of homogeneous points."""
    center = checks.as_points(center, "center", 2, ndim=1)
    H = np.eye(3)
    c = math.cos(angle)
    s = math.sin(angle)
    H[:2, :2] = metric.inverse_factor @ np.array([[c, -s], [s, c]]) @ metric.factor
    H[:2, 2] = metric.center - H[:2, :2] @ metric.center
    to = transvection(metric.center, center, metric)
    return np.asarray(to @ H @ transvection(center, metric.center, metric))


def turn_between(center: ArrayLike, p: ArrayLike, q: ArrayLike, metric: CurvedSpace) -> float:
    """Return the signed angle at a point from p to q, in (-π, π]."""
    back = transvection(checks.as_points(center, "center", 2, ndim=1), metric.center, metric)
    moved = apply_collineation(back, np.stack([np.asarray(p, float), np.asarray(q, float)]))
    (a, b), (c, d) = metric.coordinates(np.asarray(moved))
    return math.atan2(a * d - b * c, a * c + b * d)
