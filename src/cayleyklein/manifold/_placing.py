"""Places of new points among fixed ones, where the stress of each is least.

Many starts of many points descend at once by the method of Levenberg and Marquardt: each step
solves (JᵀΩJ + λI) s = -JᵀΩ(d - t), J being the derivatives of the distances d to fixed points.
"""

import numpy as np

from cayleyklein._typing import Bools, Floats
from cayleyklein.geometry import lifts
from cayleyklein.manifold._stress import distances, to_stereographic

# Number of starts among each multiple of the fixed points' tangent coordinates.
STARTS_AT = {1.0: 16, 0.25: 4, 0.5: 4, 1.5: 4, 2.0: 4, -0.5: 4, -1.0: 4, -2.0: 4}
STARTING_POINTS = 300  # most fixed points of which multiples are tried
# Most fixed points looked at, steps, and number of best places that go on to the next round.
ROUNDS = ((100, 6, 6), (10**9, 6, 2))
PLACED = 1e-10  # fall of the stress of one point in a step, relative to it, that ends its descent
# λ relative to the mean of the diagonal of JᵀΩJ: at first, and its bounds.
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-6, 1e8
BLOCK_DERIVATIVES = 2**19  # derivatives of distances held at a time


def place(
    v: Floats, K: float, target: Floats, weights: Floats, max_iter: int
) -> tuple[Floats, Bools]:
    """Return the place (m, r) of least stress of each point, and whether its descent converged.

    Fixed points v are (n, r), targets and weights (m, n). A point with a target of 0 starts at the
    fixed point that it should coincide with, and nowhere else.
    """
    found, converged = np.empty((len(target), v.shape[1])), np.empty(len(target), dtype=bool)
    few = slice(None, None, -(-len(v) // STARTING_POINTS))
    starts = _starts(v[few], K, target[:, few], weights[:, few])
    twin = (weights > 0) & (target == 0)
    starts[twin.any(axis=1)] = v[twin.argmax(axis=1)][twin.any(axis=1), None]
    step = max(1, BLOCK_DERIVATIVES // (ROUNDS[0][2] * v.size))
    for start in range(0, len(target), step):
        rows = slice(start, start + step)
        t, omega, ends = target[rows], weights[rows], starts[rows]
        for points, steps, kept in ROUNDS:
            some = slice(None, None, -(-len(v) // points))
            nearby = PointStress(v[some], K)
            ends, stress, _ = nearby.descend(ends, t[:, some], omega[:, some], steps)
            best = np.argsort(stress, axis=1, kind="stable")[:, :kept, None]
            ends = np.take_along_axis(ends, best, axis=1)
        ends, stress, done = PointStress(v, K).descend(ends, t, omega, max_iter)
        each, lowest = np.arange(len(t)), stress.argmin(axis=1)
        found[rows], converged[rows] = ends[each, lowest], done[each, lowest]
    return found, converged


def _starts(v: Floats, K: float, target: Floats, weights: Floats) -> Floats:
    """Return starts (m, s, r): of each multiple of v those of least stress."""
    starts = []
    for multiple, count in STARTS_AT.items():
        between = distances(v, K, multiple * v)
        stress = weights @ np.square(between) - 2 * (weights * target) @ between
        starts.append(multiple * v[np.argsort(stress, axis=1, kind="stable")[:, :count]])
    return np.concatenate(starts, axis=1)


class PointStress:
    """Stress of points against fixed points v (n, r), each by itself."""

    def __init__(self, v: Floats, K: float) -> None:
        self.K, self._fixed = K, to_stereographic(v, K)

    def expand(self, v: Floats, target: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return Σ ω (d - t)² (m,) at v (m, r), JᵀΩ(d - t), half its gradient, and JᵀΩJ."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            at = to_stereographic(v, self.K)
            y, w = at.y[:, :, None] - self._fixed.y.T, at.w[:, None] * self._fixed.w
            sqchord = np.square(y).sum(axis=1) * w
            d, by_sqchord, _ = lifts.slopes_from_sqchord(sqchord, self.K)
            J = (2 * by_sqchord * w)[:, None] * y  # (m, r, n), by y at first
            # ∂y/∂v = T + K b vvᵀ, ∂w/∂v = -K T w v/2
            along = (at.bend[:, None, None] * v[:, None] @ J)[:, 0]
            along -= by_sqchord * sqchord * at.stretch[:, None] / 2
            J *= at.stretch[:, None, None]
            J += self.K * v[:, :, None] * along[:, None]
            residual = d - target
            pulled = weights * residual
            stress = np.einsum("mn,mn->m", pulled, residual)
            square = (weights[:, None] * J) @ np.swapaxes(J, 1, 2)
            return stress, (J @ pulled[:, :, None])[..., 0], square

    def descend(
        self, starts: Floats, target: Floats, weights: Floats, max_iter: int
    ) -> tuple[Floats, Floats, Bools]:
        """Descend from starts (m, s, r); return ends, their stress (m, s), and which converged."""
        shape, r = starts.shape[:2], starts.shape[2]
        v = starts.reshape(-1, r).copy()
        owner = np.repeat(np.arange(shape[0]), shape[1])
        floor = PLACED * np.einsum("mn,mn,mn->m", weights, target, target)[owner]
        value, slope, square = self.expand(v, target[owner], weights[owner])
        damping, left = np.full(len(v), FIRST_DAMPING), np.arange(len(v))
        for _ in range(max_iter):
            if not len(left):
                break
            ridge = damping[left] * np.trace(square[left], axis1=1, axis2=2) / r
            ridge = np.maximum(ridge, np.finfo(float).tiny)[:, None, None] * np.eye(r)
            there = v[left] - np.linalg.solve(square[left] + ridge, slope[left, :, None])[..., 0]
            stress, *slopes = self.expand(there, target[owner[left]], weights[owner[left]])
            fall = value[left] - stress
            lower = fall >= 0
            moved = left[lower]
            v[moved], value[moved] = there[lower], stress[lower]
            slope[moved], square[moved] = (found[lower] for found in slopes)
            damping[left] *= np.where(lower, 0.2, 4.0)
            damping = np.maximum(damping, LEAST_DAMPING)
            still = lower & (fall <= np.maximum(PLACED * stress, floor[left]))
            left = left[~still & (damping[left] < MOST_DAMPING)]
        done = ~np.isin(np.arange(len(v)), left)
        return v.reshape(starts.shape), value.reshape(shape), done.reshape(shape)
