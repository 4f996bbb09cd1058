"""Where a diagram ends: the disc of a hyperbolic geometry, or a window."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from cayleyklein._typing import AnyArray, Bools, Floats
from cayleyklein._validation import as_finite_array
from cayleyklein.diagrams._planes import LARGEST_SPREAD, LocalChart
from cayleyklein.diagrams._power import Groups
from cayleyklein.exceptions import InvalidInputError

# Vertices farther than FAR typical distances, and than FAR_FROM_ALL times the farthest generator,
# count as infinitely far. Larger numbers would leave Qhull no digits for near vertices.
FAR, FAR_FROM_ALL = 1e6, 1e3

MARGIN = 0.1  # of the default window around the generators, relative to their extent
WINDOW_ROOM = 0.05  # least distance of the point a window is cut around from its sides, relative
DISC_ROOM = 1.5  # distance of the walls around a hyperbolic domain, in its radii


def window_corners(window: ArrayLike | None, points: Floats, curvature: float) -> Floats | None:
    if window is None:
        return None if curvature < 0 else box_around(points)
    if curvature < 0:
        raise InvalidInputError(
            "A hyperbolic diagram ends at its domain, the inside of the absolute; leave out window."
        )
    corners = as_finite_array(window, "window")
    d = points.shape[1]
    extent = float(np.abs(corners).max(initial=0.0))
    if extent and not 1 / LARGEST_SPREAD < extent < LARGEST_SPREAD:
        raise InvalidInputError(
            f"window reaches {extent:.3g}, and products of such coordinates overflow or underflow; "
            f"rescale it and the points."
        )
    if corners.shape != (2, d) or not (corners[0] < corners[1]).all():
        raise InvalidInputError(
            f"window must be two corners, the lower and the upper, of {d} coordinates each; "
            f"got {np.asarray(window).tolist()}."
        )
    return corners


def box_around(points: Floats) -> Floats:
    lower, upper = points.min(axis=0), points.max(axis=0)
    extent = upper - lower
    extent[extent == 0] = extent.max() or 1.0
    return np.stack([lower - MARGIN * extent, upper + MARGIN * extent])


def window_walls(chart: LocalChart, window: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the pivot, or another point well within the window, and the walls around it."""
    lower, upper = window
    room = WINDOW_ROOM * (upper - lower)
    inner = np.clip(chart.pivot, lower + room, upper - room)
    walls = np.vstack([chart.matrix, -chart.matrix])
    return chart.to_local(inner), walls, np.append(upper - inner, inner - lower)


def ball_walls(chart: LocalChart, tolerance: float) -> tuple[Floats, Floats, Floats]:
    """Return the centre and walls of a polyhedron within `tolerance` of the domain in space."""
    o, rho = chart.disc
    count, off = 64, math.inf
    while off > tolerance:
        # a spiral of points that are spread evenly over the sphere
        height = 1 - (2 * np.arange(count) + 1) / count
        turn = np.arange(count) * math.pi * (3 - math.sqrt(5))
        ring = np.sqrt(1 - height * height)
        points = np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)
        faces = ConvexHull(points).equations
        off = 1 + faces[:, 3].max()
        count *= 2
    return -o / rho, rho * faces[:, :3], -faces[:, 3]


def far_walls(chart: LocalChart, w: Floats) -> tuple[Floats, Floats]:
    """Return walls around the domain, or far around the generators w."""
    if chart.metric.curvature < 0:
        o, rho = chart.disc
        reach = DISC_ROOM * (1 + float(np.linalg.norm(o))) / rho
    else:
        reach = max(FAR, FAR_FROM_ALL * float(np.linalg.norm(w, axis=1).max()))
    d = w.shape[1]
    corners = np.eye(d + 1) - 1 / (d + 1)  # of a regular simplex around the ball of this radius
    N = corners @ np.linalg.svd(corners)[2][:d].T
    return N / np.linalg.norm(N, axis=1, keepdims=True), np.full(d + 1, reach)


def in_ball(y: Floats) -> Bools:
    return np.asarray(np.einsum("ij,ij->i", y, y) < 1)


def meets_ball(y: Floats, groups: Groups, which: AnyArray) -> Bools:
    """Return whether convex hulls of corners y meet the open unit ball, for the groups `which`."""
    answer = np.bincount(groups.keys, in_ball(y)[groups.members], len(groups.sizes)) > 0
    for group in np.flatnonzero(which & ~answer & (groups.sizes > 0)):
        corners = y[groups.of_group(group)]
        # the point Σ λ_i v_i of the hull nearest to 0 is u/Σu for the u ≥ 0 that comes nearest to
        # Σ u_i v_i = 0, Σ u_i = 1
        system = np.vstack([corners.T / np.abs(corners).max(), np.ones(len(corners))])
        u, _ = nnls(system, np.append(np.zeros(corners.shape[1]), 1.0))
        nearest = u @ corners / u.sum()
        answer[group] = nearest @ nearest < 1
    return answer
