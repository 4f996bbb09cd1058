"""Place new points among fixed ones, each where its stress is least.

Many starts of many points descend at once by the method of Levenberg and Marquardt: each step
solves (JᵀΩJ + λI) s = -JᵀΩ(d - t), J being the derivatives of the distances d to fixed points.
"""

import numpy as np

from cayleyklein._jit import vectorised
from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.geometry import lifts
from cayleyklein.geometry.rounding import EPSILON
from cayleyklein.manifold import _limits, _stress
from cayleyklein.manifold._stress import Stereographic, distances, to_stereographic

# Most fixed points looked at, steps, and number of best places that go on to the next round; not
# varied.
ROUNDS = ((100, 6, 6), (10**9, 6, 2))


def place(
    v: Floats, K: float, target: Floats, weights: Floats, max_iter: int
) -> tuple[Floats, Bools]:
    """Return the place (m, r) of least stress of each point, and whether its descent converged.

    Fixed points v are (n, r), targets and weights (m, n). A point with a target of 0 starts at the
    fixed point that it should coincide with, and nowhere else.
    """
    found = np.empty((len(target), v.shape[1]))
    converged = np.empty(len(target), dtype=bool)
    few = slice(None, None, -(-len(v) // _limits.STARTING_POINTS))
    ranked = []
    # Starts among each multiple of the fixed points' tangent coordinates; not varied.
    counts = {1.0: 16} | dict.fromkeys((0.25, 0.5, 0.75, 1.5, 2.0, -0.5, -1.0, -2.0), 4)
    for multiple, count in counts.items():
        between = distances(v[few], K, multiple * v[few])
        stress = weights[:, few] @ np.square(between)
        stress -= 2 * (weights * target)[:, few] @ between
        ranked.append(multiple * v[few][np.argsort(stress, axis=1, kind="stable")[:, :count]])
    starts = np.concatenate(ranked, axis=1)
    twin = (weights > 0) & (target == 0)
    starts[twin.any(axis=1)] = v[twin.argmax(axis=1)][twin.any(axis=1), None]
    step = max(1, _limits.BLOCK_DERIVATIVES // (ROUNDS[0][2] * v.size))
    for start in range(0, len(target), step):
        rows = slice(start, start + step)
        t = target[rows]
        omega = weights[rows]
        ends = starts[rows]
        for points, steps, kept in ROUNDS:
            some = slice(None, None, -(-len(v) // points))
            ends, stress, _ = descend_to(v[some], K, ends, t[:, some], omega[:, some], steps)
            best = np.argsort(stress, axis=1, kind="stable")[:, :kept, None]
            ends = np.take_along_axis(ends, best, axis=1)
        ends, stress, done = descend_to(v, K, ends, t, omega, max_iter)
        each = np.arange(len(t))
        lowest = stress.argmin(axis=1)
        found[rows], converged[rows] = ends[each, lowest], done[each, lowest]
    return found, converged


def expand(
    fixed: Stereographic, K: float, v: Floats, target: Floats, weights: Floats, owner: Ints
) -> tuple[Floats, Floats, Floats]:
    """Return Σ ω (d - t)² (m,) at v (m, r), JᵀΩ(d - t) and JᵀΩJ; t and ω in row owner[i]."""
    m, r = v.shape
    stress = np.zeros(m)
    slope = np.zeros((m, r))
    square = np.zeros((m, r, r))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        at = to_stereographic(v, K)
        step = max(1, _limits.CACHED_PAIRS // len(fixed.w))
        for start in range(0, m, step):
            rows = slice(start, start + step)
            sqchord = np.empty((len(v[rows]), len(fixed.w)))
            _stress.fill_sqchords(at.y[rows], at.w[rows], fixed.y, fixed.w, sqchord)
            pairs = (sqchord, lifts.distance_from_sqchord(sqchord, K), target, weights)
            points = (v[rows], at.y[rows], at.w[rows], at.stretch[rows], at.bend[rows])
            sums = (stress[rows], slope[rows], square[rows])
            add_systems(K, points, (fixed.y, fixed.w), pairs, owner[rows], sums)
    return stress, slope, square


def descend_to(
    v_to: Floats, K: float, starts: Floats, target: Floats, weights: Floats, max_iter: int
) -> tuple[Floats, Floats, Bools]:
    """Return the ends of descents from starts (m, s, r), their stress, and which converged.

    A descent has converged when a step lowers the stress by less than a share of 1e-10, or when no
    step lowers it, however strongly damped. The damping λ is relative to the mean of the diagonal
    of JᵀΩJ.
    """
    least_fall = 1e-10
    shape = starts.shape[:2]
    r = starts.shape[2]
    v = starts.reshape(-1, r).copy()
    fixed = to_stereographic(v_to, K)
    owner = np.repeat(np.arange(shape[0]), shape[1])
    floor = least_fall * np.einsum("mn,mn,mn->m", weights, target, target)[owner]
    value, slope, square = expand(fixed, K, v, target, weights, owner)
    damping = np.full(len(v), 1e-2)
    left = np.arange(len(v))
    for _ in range(max_iter):
        if not len(left):
            break
        ridge = damping[left] * np.trace(square[left], axis1=1, axis2=2) / r
        ridge = np.maximum(ridge, np.finfo(float).tiny)[:, None, None] * np.eye(r)
        there = v[left] - np.linalg.solve(square[left] + ridge, slope[left, :, None])[..., 0]
        stress, *slopes = expand(fixed, K, there, target, weights, owner[left])
        fall = value[left] - stress
        lower = fall >= 0
        moved = left[lower]
        v[moved], value[moved] = there[lower], stress[lower]
        slope[moved], square[moved] = (found[lower] for found in slopes)
        damping[left] *= np.where(lower, 0.2, 4.0)
        damping = np.maximum(damping, 1e-6)
        still = lower & (fall <= np.maximum(least_fall * stress, floor[left]))
        left = left[~still & (damping[left] < 1e8)]
    done = ~np.isin(np.arange(len(v)), left)
    return v.reshape(starts.shape), value.reshape(shape), done.reshape(shape)


@vectorised
def add_systems(K, points, fixed, pairs, owner, sums):  # type: ignore[no-untyped-def]
    """Add Σ ω (d - t)², JᵀΩ(d - t) and JᵀΩJ of each point over the fixed ones."""
    (v, y, w, stretch, bend), (y_to, w_to), (stress, slope, square) = points, fixed, sums
    sqchord, d, target, weights = pairs
    r = v.shape[1]
    J = np.empty(r)
    for i in range(len(v)):
        for j in range(len(y_to)):
            weight = weights[owner[i], j]
            c2 = sqchord[i, j]
            residual = d[i, j] - target[owner[i], j]
            stress[i] += weight * residual * residual
            if weight == 0 or c2 == 0:  # no pull between points that coincide
                continue
            by_sqchord = 0.5 / np.sqrt(c2 * max(1 - K * c2 / 4, EPSILON))
            along = -by_sqchord * c2 * stretch[i] / 2
            for a in range(r):  # ∂y/∂v = T + K b vvᵀ, ∂w/∂v = -K T w v/2
                J[a] = 2 * by_sqchord * w[i] * w_to[j] * (y[i, a] - y_to[j, a])
                along += bend[i] * v[i, a] * J[a]
            for a in range(r):
                J[a] = stretch[i] * J[a] + K * along * v[i, a]
                slope[i, a] += weight * residual * J[a]
                for b in range(a + 1):
                    square[i, a, b] += weight * J[a] * J[b]
        for a in range(r):
            for b in range(a):
                square[i, b, a] = square[i, a, b]
