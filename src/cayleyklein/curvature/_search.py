"""The profile of a likelihood over K: every other parameter at its best, found from a neighbour's.

K is searched along u in (-1, 1), K = u/R² for u ≤ 0 and u/(R²(1 - u)) for u > 0, where R is the
distance of the farthest row from the centre: the hyperbolic domain ends at u = -1, and towards
u = 1 the sphere becomes so small that only directions from the centre count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.curvature._processes import LabelProcess, NumberProcess, vertex
from cayleyklein.manifold.stress_profile import StressProfile
from cayleyklein.metrics import CurvedMetric

LEAST_U, LARGEST_U = -0.999, 0.97
STEP = 0.6  # of a logarithm, in a search
DRAWN_GRID = 9  # points of the profile of targets drawn for a bootstrap
ROUNDS, ENOUGH = 20, 0.02  # most rounds of a search, and the gain in a round that ends it
SCALES = (-7.0, 7.0)  # bounds of the logarithms of column scales


def climb(value: Callable[[Floats], float], start: Floats, bounds: Floats) -> tuple[float, Floats]:
    """Return the largest value and where it is, by parabolas along one coordinate after another."""
    best, at = value(start), start.copy()
    for _ in range(ROUNDS):
        before = best
        for axis, (low, high) in enumerate(bounds):
            x = np.clip(at[axis] + STEP * np.array([-1.0, 0.0, 1.0]), low, high)

            def along(t: float, axis: int = axis, at: Floats = at) -> float:
                return value(np.where(np.arange(len(at)) == axis, t, at))

            y = np.array([along(x[0]) if x[0] < x[1] else -np.inf, best,
                          along(x[2]) if x[2] > x[1] else -np.inf])  # fmt: skip
            top = int(y.argmax())
            if top == 1 and np.isfinite(y).all():
                t = vertex(x, y)
                gain = (y[1] - y[0]) * ((t - x[1]) / STEP) ** 2  # a little less than that, or more
                tried = [(along(t), t)] if abs(gain) > ENOUGH / 4 else []
            else:
                t = float(np.clip(at[axis] + 2 * (x[top] - at[axis]), low, high))
                tried = [(y[top], x[top])] + ([(along(t), t)] if top != 1 and t != x[top] else [])
            for found, t in tried:
                if found > best:
                    best, at = found, at.copy()
                    at[axis] = t
        if best - before < ENOUGH:
            break
    return best, at


class Profile:
    """A profile known at some u: `points` are u → log likelihood, other parameters."""

    points: dict[float, tuple[float, Floats]]

    def curvature(self, u: float) -> float:
        raise NotImplementedError

    def search(self, u: float) -> tuple[float, Floats]:
        raise NotImplementedError

    def at(self, u: float) -> float:
        """Return the profile at u, searched from the nearest point known."""
        if u not in self.points:
            self.points[u] = self.search(u)
        return self.points[u][0]

    def nearest(self, u: float) -> Floats:
        return self.points[min(self.points, key=lambda at: abs(at - u))][1]

    def explore(self, middle: float, ends: tuple[float, float], n_grid: int) -> None:
        """Profile a grid, outwards from its middle, and refine it at the maximum."""
        self.at(middle)
        for share in np.linspace(0.0, 1.0, n_grid // 2 + 1)[1:]:
            for end in ends:
                self.at(float(middle + share * (end - middle)))
        for _ in range(2):
            u, y = self.curve()
            top = int(y.argmax())
            if 0 < top < len(u) - 1:
                self.at(vertex(u[top - 1 : top + 2], y[top - 1 : top + 2]))

    def curve(self) -> tuple[Floats, Floats]:
        u = np.array(sorted(self.points))
        return u, np.array([self.points[at][0] for at in u])

    def best(self) -> float:
        return max(self.points, key=lambda u: self.points[u][0])

    def deviance(self, u: float) -> float:
        """Return twice the log likelihood that the largest one has more than that at u."""
        value = self.at(u)
        return 2 * (self.at(self.best()) - value)

    def crossing(self, allowed: Callable[[float], float], side: int) -> float | None:
        """Return the u beyond which deviances are larger than allowed; None without an end."""
        found = None
        for _ in range(4):
            u, y = self.curve()
            excess = np.sqrt(2 * (y.max() - y)) - np.sqrt([allowed(at) for at in u])
            inside = np.flatnonzero(excess <= 0)
            last = int(inside[0] if side < 0 else inside[-1])
            beyond = last + side
            if not 0 <= beyond < len(u):
                return None
            share = excess[last] / (excess[last] - excess[beyond])  # roots are nearly linear in u
            found = float(u[last] + share * (u[beyond] - u[last]))
            if min(abs(found - u[last]), abs(found - u[beyond])) < 1e-3 * (u[-1] - u[0]):
                break
            self.at(found)
        return found


@dataclass
class ProcessProfile(Profile):
    """Rows z (n, r), centred, and the process of their targets."""

    process: NumberProcess | LabelProcess
    z: Floats
    diagonal: bool = False
    hints: dict[float, Floats] = field(default_factory=dict)  # parameters to start from
    points: dict[float, tuple[float, Floats]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mean_square = float(np.square(self.z).sum(axis=1).mean())
        self.start_scales = np.log(1 / self.z.std(axis=0)) if self.diagonal else np.empty(0)
        z = self.z * self.factor(self.start_scales)
        self.radius = float(np.sqrt(np.square(z).sum(axis=1).max()))

    def factor(self, log_scales: Floats) -> Floats:
        """Return the diagonal of L, which keeps the mean of ‖z‖²."""
        if not self.diagonal:
            return np.ones(self.z.shape[1])
        found = np.exp(log_scales - log_scales.max())
        size = float(np.square(self.z * found).sum(axis=1).mean())
        return np.asarray(found * np.sqrt(self.mean_square / size))

    def curvature(self, u: float) -> float:
        return u / self.radius**2 / (1 - max(u, 0.0))

    def distances(self, u: float, log_scales: Floats) -> Floats | None:
        """Return the distances in units of their mean; None if a row is outside the domain."""
        metric = CurvedMetric(factor=self.factor(log_scales), curvature=self.curvature(u))
        if not metric.contains(self.z).all():
            return None
        D = metric.pairwise(self.z)
        return np.asarray(D / D.mean())

    def search(self, u: float) -> tuple[float, Floats]:
        m = len(self.process.bounds)
        fixed = None if self.diagonal else self.distances(u, self.start_scales)

        def value(parameters: Floats) -> float:
            D = self.distances(u, parameters[m:]) if fixed is None else fixed
            return -np.inf if D is None else self.process.log_likelihood(D, parameters[:m])

        if self.points or self.hints:
            hint = min(self.hints, key=lambda at: abs(at - u), default=u)
            start = self.hints[hint] if self.hints else self.nearest(u)
            if value(start) == -np.inf:  # scales of a neighbour that put a row outside
                start = np.append(start[:m], self.start_scales)
        else:
            starts = [np.append(start, self.start_scales) for start in self.process.starts]
            start = max(starts, key=value)
        scales = np.tile(SCALES, (len(self.start_scales), 1)) + self.start_scales[:, None]
        return climb(value, start, np.vstack([self.process.bounds, scales]))

    def score(self, u: float) -> float:
        """Return how well each row is predicted from the others."""
        parameters = self.points[u][1]
        m = len(self.process.bounds)
        D = self.distances(u, parameters[m:])
        return float("nan") if D is None else self.process.score(D, parameters[:m])

    def draws(self, u: float, count: int, rng: np.random.RandomState) -> Floats:
        """Return deviances at u of targets drawn from the process that was fitted there."""
        self.at(u)
        parameters = self.points[u][1]
        m = len(self.process.bounds)
        D = self.distances(u, parameters[m:])
        assert D is not None
        hints, found = {at: known for at, (_, known) in self.points.items()}, []
        for _ in range(count):
            drawn = self.process.draw(D, parameters[:m], rng)
            again = ProcessProfile(drawn, self.z, self.diagonal, hints)
            again.explore(0.0, (LEAST_U, LARGEST_U), DRAWN_GRID)
            found.append(again.deviance(u))
        return np.array(found)


@dataclass
class StressCurve(Profile):
    """The profile of a map's stress; u is K."""

    stress: StressProfile
    inflation: float
    points: dict[float, tuple[float, Floats]] = field(default_factory=dict)

    def curvature(self, u: float) -> float:
        return u

    def search(self, u: float) -> tuple[float, Floats]:
        start = self.nearest(u) if self.points else self.stress.v
        found, v = self.stress.log_likelihood(u, start)
        return found / self.inflation, v
