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

ENDS = (-0.999, 0.97)  # of the profile, along u
STEP = 0.6  # of a logarithm, in a search
MOST_ROUNDS, ENOUGH = 20, 0.02  # rounds of a search, and the gain in a round that ends it
DRAWN_GRID = 9  # points of the profile of targets drawn for a bootstrap
SCALES = (-7.0, 7.0)  # bounds of the logarithms of column scales, from those of the start


def climb(value: Callable[[Floats], float], start: Floats, bounds: Floats) -> tuple[float, Floats]:
    """Return the largest value and where it is, by parabolas along one coordinate after another."""
    best, at = value(start), start
    for _ in range(MOST_ROUNDS):
        before = best
        for axis, (low, high) in enumerate(bounds):
            here = float(at[axis])
            tried = {here: best}

            def attempt(t: float, base: Floats = at, axis: int = axis) -> float:
                return value(np.where(np.arange(len(base)) == axis, t, base))

            for t in np.clip([here - STEP, here + STEP], low, high):
                tried[t] = tried[t] if t in tried else attempt(t)
            top = max(tried, key=tried.__getitem__)
            x, y = np.array(sorted(tried.items())).T
            t = top if top == here else float(np.clip(2 * top - here, low, high))
            if top == here and len(x) == 3 and np.isfinite(y).all():
                t = vertex(x, y)
            if abs(t - top) > STEP / 6:
                tried[t] = attempt(t)
            t = max(tried, key=tried.__getitem__)
            best, at = tried[t], np.where(np.arange(len(at)) == axis, t, at)
        if best - before < ENOUGH:
            break
    return best, at


@dataclass
class Profile:
    """A profile known at some u: `points` are u → log likelihood, other parameters."""

    points: dict[float, tuple[float, Floats]] = field(default_factory=dict, init=False)
    least = -np.inf  # the lower end of the domain, a curvature

    def curvature(self, u: float) -> float:
        return u

    def search(self, u: float) -> tuple[float, Floats]:
        raise NotImplementedError

    def at(self, u: float) -> float:
        """Return the profile at u."""
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
        return max(self.points, key=self.at)

    def deviance(self, u: float) -> float:
        """Return twice the log likelihood that the largest one has more than that at u."""
        value = self.at(u)
        return 2 * (self.at(self.best()) - value)

    def crossing(self, allowed: Callable[[Floats], Floats], side: int) -> float | None:
        """Return the u beyond which deviances are larger than allowed; None without an end."""
        for _ in range(4):
            u, y = self.curve()
            excess = np.sqrt(2 * (y.max() - y)) - np.sqrt(allowed(u))  # nearly linear in u
            inside = np.flatnonzero(excess <= 0)
            last = int(inside[0] if side < 0 else inside[-1])
            beyond = last + side
            if not 0 <= beyond < len(u):
                return None
            share = excess[last] / (excess[last] - excess[beyond])
            found = float(u[last] + share * (u[beyond] - u[last]))
            if np.abs(found - u[[last, beyond]]).min() < 1e-3 * (u[-1] - u[0]):
                break
            self.at(found)
        return found


@dataclass
class ProcessProfile(Profile):
    """Rows z (n, r), centred, and the process of their targets; `known` is a similar profile."""

    process: NumberProcess | LabelProcess
    z: Floats
    diagonal: bool = False
    known: Profile | None = None

    def __post_init__(self) -> None:
        self.mean_square = float(np.square(self.z).sum(axis=1).mean())
        self.start_scales = -np.log(self.z.std(axis=0)) if self.diagonal else np.empty(0)
        z = self.z * self.scales(self.start_scales)
        self.radius = float(np.sqrt(np.square(z).sum(axis=1).max()))
        self.least = -1 / self.radius**2

    def scales(self, log_scales: Floats) -> Floats:
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
        metric = CurvedMetric(factor=self.scales(log_scales), curvature=self.curvature(u))
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

        starts = [np.append(start, self.start_scales) for start in self.process.starts]
        if self.points or self.known:
            near = (self.known or self).nearest(u)
            starts = [near, np.append(near[:m], self.start_scales)][: 1 + self.diagonal]
        start = max(starts, key=value) if len(starts) > 1 else starts[0]
        scales = self.start_scales[:, None] + SCALES
        return climb(value, start, np.vstack([self.process.bounds, scales]))

    def fitted(self, u: float) -> tuple[Floats, Floats]:
        """Return the distances and the parameters of the process at u."""
        self.at(u)
        parameters = self.points[u][1]
        m = len(self.process.bounds)
        D = self.distances(u, parameters[m:])
        assert D is not None
        return D, parameters[:m]

    def draw_deviances(self, u: float, count: int, rng: np.random.RandomState) -> Floats:
        """Return deviances at u of targets drawn from the process that was fitted there."""
        found = np.empty(count)
        for i in range(count):
            drawn = self.process.draw(*self.fitted(u), rng)
            again = ProcessProfile(drawn, self.z, self.diagonal, self)
            again.explore(0.0, ENDS, DRAWN_GRID)
            found[i] = again.deviance(u)
        return found


@dataclass
class StressCurve(Profile):
    """The profile of a map's stress; u is K."""

    stress: StressProfile
    inflation: float

    def search(self, u: float) -> tuple[float, Floats]:
        start = self.nearest(u) if self.points else self.stress.v
        found, v = self.stress.log_likelihood(u, start)
        return found / self.inflation, v
