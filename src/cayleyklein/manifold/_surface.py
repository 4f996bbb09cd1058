"""Points of a space of constant curvature as vectors: of a sphere, a plane or a hyperboloid.

A point at tangent coordinates v is X = (u, t) = (sin_K(ρ) v/ρ, cos_K(ρ)), ρ = ‖v‖, a vector with
K‖u‖² + t² = 1. Isometries are linear, and u/t are Klein's (gnomonic) coordinates.
"""

import numpy as np
from scipy.optimize import linprog

from cayleyklein._typing import Floats
from cayleyklein.geometry import lifts

INSIDE = 1e-9  # least height above the equator of points that a hemisphere holds, in radii
MOST_STEPS = 200  # to the centre of hyperbolic points,
CENTERED = 1e-7  # and the length of the last one in radii 1/√-K


def to_surface(v: Floats, K: float) -> Floats:
    rho = np.linalg.norm(v, axis=1)
    stretch = np.divide(lifts.sine(rho, K), rho, out=np.ones_like(rho), where=rho > 0)
    return np.column_stack([v * stretch[:, None], lifts.cosine(rho, K)])


def to_tangent(X: Floats, K: float) -> Floats:
    u, k = X[:, :-1], np.sqrt(abs(K))
    if K == 0:
        return u
    length = k * np.linalg.norm(u, axis=1)
    rho = np.arctan2(length, X[:, -1]) if K > 0 else np.arcsinh(length)
    stretch = np.divide(rho, length, out=np.ones_like(length), where=length > 0)
    return np.asarray(u * stretch[:, None])


def center(X: Floats, K: float) -> Floats:
    """Move X by an isometry: its centre to the origin, its principal axes to the coordinate axes.

    The centre is the point whose mean squared distance is least. On a sphere it is the direction of
    the mean vector; where that leaves points beyond the equator, it is the pole of a hemisphere
    that holds them all, if there is one.
    """
    if K == 0:
        X = X - np.append(X[:, :-1].mean(axis=0), 0.0)
    elif K < 0:
        for _ in range(MOST_STEPS):
            v = to_tangent(X, K)
            far = np.sqrt(-K) * np.linalg.norm(v, axis=1).max()
            step = v.mean(axis=0) / max(1.0, far)  # d² is this much more curved
            if np.sqrt(-K) * np.abs(step).max() <= CENTERED:
                break
            X = to_surface(to_tangent(_to_origin(X, to_surface(step[None], K)[0], K), K), K)
    else:
        moved = _to_origin(X, X.mean(axis=0), K)
        if (moved[:, -1] <= INSIDE).any():
            pole = _hemisphere_pole(X, K)
            moved = moved if pole is None else _to_origin(X, pole, K)
        X = moved
    u = X[:, :-1]
    u = u @ np.linalg.eigh(u.T @ u)[1][:, ::-1]
    largest = u[np.abs(u).argmax(axis=0), np.arange(u.shape[1])]
    return np.column_stack([u * np.where(largest < 0, -1.0, 1.0), X[:, -1]])


def radii(X: Floats, K: float) -> Floats:
    """Return the factors that measure X in radii 1/√|K| of its surface."""
    return np.append(np.full(X.shape[1] - 1, np.sqrt(abs(K))), 1.0)


def _to_origin(X: Floats, middle: Floats, K: float) -> Floats:
    """Reflect X in the bisector of the direction of a vector and the origin (0, 1)."""
    scale, signature = radii(X, K), np.append(np.ones(X.shape[1] - 1), np.sign(K))
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
    (n, width), scale = X.shape, radii(X, K)
    # the largest t with ⟨c, X⟩ ≥ t for all X, |c| ≤ 1 in each coordinate
    cost, above = np.append(np.zeros(width), -1.0), np.column_stack([-X * scale, np.ones(n)])
    bounds = [*[(-1, 1)] * width, (None, 1)]
    found = linprog(cost, A_ub=above, b_ub=np.zeros(n), bounds=bounds)
    return found.x[:-1] / scale if found.success and found.x[-1] > INSIDE else None
