"""The likelihood of K: processes of targets, and the profile with all else at its best.

Targets are values of a Gaussian process with covariance σ²(exp(-d/ℓ) + T), d a distance and T a
given trend, the same at every K. Parameters are logarithms: of ℓ, relative to the mean distance,
and for labels of σ²/ℓ, which the data determine better than either (Zhang 2004). Noise, mean and
the σ² of numbers are profiled out.

K is searched along u in (-1, 1), K = u/R² for u ≤ 0 and u/(R²(1 - u)) for u > 0, where R is the
distance of the farthest row from the centre: the hyperbolic domain ends at u = -1, and towards
u = 1 the sphere becomes so small that only directions from the centre count.

Where L is not known, scales of the axes are found at every u, and R is kept. In another unit, such
as the mean of ‖z‖², the scales would decide how strong a K the farthest row allows: close to that
end they could not move, and deviances would not be χ² of one degree of freedom.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.linalg import lapack
from scipy.special import log_ndtr

from cayleyklein._typing import Floats
from cayleyklein.metrics import CurvedMetric
from cayleyklein.parts.kernel import Spectrum

NOISES = np.geomspace(1e-5, 100.0, 15)  # noise variances, relative to σ², that are tried
LENGTHS = (0.1, 0.4, 1.6, 6.4)  # ℓ to start from; not varied
SCALES = (-7.0, 7.0)  # bounds of the logarithms of scales of standardised columns
Measure = Callable[[float, Floats], tuple[float, float]]  # (u, parameters) → K and bend


def peak(values: dict[float, float]) -> float:
    """Return the top of the parabola through the highest point and its neighbours, if finite."""
    x, y = np.array(sorted(values.items())).T
    top = int(y.argmax())
    if not (0 < top < len(x) - 1 and np.isfinite(y[top - 1 : top + 2]).all()):
        return float(x[top])
    steps = np.diff(x[top - 1 : top + 2])
    fall, rise = np.diff(y[top - 1 : top + 2]) / steps
    return float((x[top] + x[top - 1]) / 2 + steps.sum() / 2 * fall / (fall - rise or 1.0))


def contrasts(values: Floats) -> Floats:
    """Return n - 1 orthonormal contrasts of n rows, which no constant changes (Householder)."""
    n = len(values)
    mirror = np.full(n, 1 / np.sqrt(n))
    mirror[0] += 1
    return np.asarray((values - np.outer(mirror, mirror @ values) / mirror[0])[1:])


class NumberProcess:
    """Numbers y (n, 1), by their restricted likelihood: that of their contrasts."""

    starts = np.log([[length] for length in LENGTHS])
    bounds = np.log([[0.01, 100.0]])

    def __init__(self, targets: Floats, trend: Floats) -> None:
        self.targets = targets
        self.trend = trend

    def log_likelihood(self, D: Floats, log_parameters: Floats) -> float:
        gram = contrasts(contrasts(np.exp(-D / np.exp(log_parameters[0])) + self.trend).T)
        spectrum = Spectrum.of(gram, contrasts(self.targets), np.ones(len(gram)))
        found = {float(np.log(r)): float(spectrum.log_likelihood(r).sum()) for r in NOISES}
        for _ in range(2):
            at = peak(found)
            found[at] = float(spectrum.log_likelihood(float(np.exp(at))).sum())
        return max(found.values())

    def score(self, D: Floats, log_parameters: Floats) -> float:
        """Return R² of each row by the others."""
        y = self.targets - self.targets.mean(axis=0)
        errors = left_out_errors(D, log_parameters, y, self.trend)
        return float(1 - np.square(errors).sum() / np.square(y).sum())


class LabelProcess:
    """Labels as signs (n, c), one column for two classes and otherwise one against the rest.

    p(y) = ∫ Π Φ(yᵢfᵢ) dN(f) by Laplace's approximation (Rasmussen and Williams 2006, algorithm
    3.1); deviances, a little too large in simulations, are divided by a constant. The log
    likelihoods of one against the rest count half each, since they see every border between two
    classes from both sides.
    """

    starts = np.log([[length, ratio] for length in LENGTHS for ratio in (1.0, 10.0, 100.0)])
    bounds = np.log([[0.01, 100.0], [1e-2, 1e4]])

    def __init__(self, codes: Floats, trend: Floats) -> None:
        self.trend = trend
        signs = np.where(codes[:, None] == np.unique(codes), 1.0, -1.0)
        self.targets = signs[:, 1:] if signs.shape[1] == 2 else signs
        # f where the integrand was largest last, from which the next search starts
        self.modes = np.zeros_like(self.targets)

    def log_likelihood(self, D: Floats, log_parameters: Floats) -> float:
        length, ratio = np.exp(log_parameters)
        unknown_mean = 100.0  # prior variance of the constant f: as good as unknown
        covariance = ratio * length * (np.exp(-D / length) + self.trend) + unknown_mean
        total = 0.0
        c = self.targets.shape[1]
        for j in range(c):
            value, self.modes[:, j] = laplace(covariance, self.targets[:, j], self.modes[:, j])
            total += value
        # mean deviance at the true K: 0.9 for 100 simulated rows, 1.3 for 300
        bartlett = 1.1
        return total / bartlett / (1 if c == 1 else 2)

    def score(self, D: Floats, log_parameters: Floats) -> float:
        """Return the share of labels that ridge regression of the others' signs gets right."""
        errors = left_out_errors(D, log_parameters, self.targets, self.trend)
        predicted = self.targets - errors
        if predicted.shape[1] == 1:
            return float((predicted * self.targets > 0).mean())
        return float((predicted.argmax(axis=1) == self.targets.argmax(axis=1)).mean())


def left_out_errors(D: Floats, log_parameters: Floats, targets: Floats, trend: Floats) -> Floats:
    """Return the errors (n, t) of ridge regression without each row, by the best ridge."""
    gram = np.exp(-D / np.exp(log_parameters[0])) + trend
    spectrum = Spectrum.of(gram, targets, np.ones(len(gram)))
    return min(map(spectrum.left_out_errors, NOISES), key=lambda e: float(np.square(e).sum()))


def laplace(covariance: Floats, signs: Floats, f: Floats) -> tuple[float, Floats]:
    """Return the log likelihood of signs, and the mode f; Newton's method from a given f."""
    n = len(signs)
    enough = 1e-5  # gain of a step, in nats
    for start in (f, np.zeros(n)):
        f = start
        reached = -np.inf
        for _ in range(40):
            m = signs * f
            ratio = np.exp(-m * m / 2 - log_ndtr(m)) / np.sqrt(2 * np.pi)  # φ/Φ
            weights = ratio * (ratio + m)
            root = np.sqrt(weights)
            b = weights * f + signs * ratio
            system = root[:, None] * covariance * root
            system.flat[:: n + 1] += 1.0
            lower = lapack.dpotrf(system.T, lower=1, overwrite_a=1)[0]
            a = b - root * lapack.dpotrs(lower, root * (covariance @ b), lower=1)[0]
            f = covariance @ a
            now = float(log_ndtr(signs * f).sum() - a @ f / 2)
            step = now - reached
            reached = now
            if abs(step) < enough or step < 0:
                break
        if abs(step) < enough:
            break
    return reached - float(np.log(np.diagonal(lower)).sum()), f


def climb(value: Callable[[Floats], float], start: Floats, bounds: Floats) -> tuple[float, Floats]:
    """Return the largest value and where it is, by parabolas along one coordinate after another."""

    def moved(at: Floats, axis: int, t: float) -> Floats:
        return np.where(np.arange(len(at)) == axis, t, at)

    best = value(start)
    at = start
    width = 0.6  # of a step, along a logarithm
    for _ in range(20):
        before = best
        for axis, (low, high) in enumerate(bounds):
            here = float(at[axis])
            tried = {here: best}
            for t in np.clip([here - width, here + width], low, high):
                tried[t] = tried[t] if t in tried else value(moved(at, axis, t))
            top = max(tried, key=tried.__getitem__)
            t = peak(tried) if top == here else float(np.clip(2 * top - here, low, high))
            if abs(t - top) > width / 6:
                tried[t] = value(moved(at, axis, t))
            t = max(tried, key=tried.__getitem__)
            best = tried[t]
            at = moved(at, axis, t)
        if best - before < 0.02:  # nats
            break
    return best, at


@dataclass
class Profile:
    """A profile known at some u: `points` are u → log likelihood, other parameters.

    `search` finds them at a u, from the parameters of the nearest known one if there is any.
    """

    search: Callable[[float, Floats | None], tuple[float, Floats]]
    points: dict[float, tuple[float, Floats]] = field(default_factory=dict, init=False)

    def at(self, u: float) -> float:
        if u not in self.points:
            self.points[u] = self.search(u, self.nearest(u) if self.points else None)
        return self.points[u][0]

    def nearest(self, u: float) -> Floats:
        return self.points[min(self.points, key=lambda at: abs(at - u))][1]

    def explore(self, middle: float, ends: tuple[float, float], n_grid: int) -> None:
        """Profile a grid, outwards from its middle, and refine it at the maximum."""
        self.at(middle)
        for share, end in product(np.linspace(0.0, 1.0, n_grid // 2 + 1)[1:], ends):
            self.at(float(middle + share * (end - middle)))
        for _ in range(2):
            self.at(peak({u: value for u, (value, _) in self.points.items()}))

    def curve(self) -> tuple[Floats, Floats]:
        u = np.array(sorted(self.points))
        return u, np.array([self.points[at][0] for at in u])

    def best(self) -> float:
        return max(self.points, key=self.at)

    def deviance(self, u: float) -> float:
        """Return twice the difference between the largest log likelihood and that at u."""
        value = self.at(u)
        return 2 * (self.at(self.best()) - value)

    def crossing(self, allowed: float, side: int) -> float | None:
        """Return the u beyond which deviances are larger than allowed; None without an end."""
        for _ in range(4):
            u, y = self.curve()
            excess = np.sqrt(2 * (y.max() - y)) - np.sqrt(allowed)  # nearly linear in u
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
class ProcessModel:
    """Rows z (n, r), centred, and the process of their targets.

    Logarithms of the scales of columns of z are searched from `scales` (s, r); r is 0 if z is L's.
    """

    process: NumberProcess | LabelProcess
    z: Floats
    scales: Floats

    def __post_init__(self) -> None:
        square = np.square(self.z)
        self.sqradius = float(square.sum(axis=1).max())
        least = -1 / self.sqradius
        # scales may bring all rows as far out as the farthest
        self.least = least, -1.0 if self.scales.size else least * square.sum(axis=1).mean()

    def factor(self, log_scales: Floats) -> Floats:
        """Return the diagonal of L, which keeps the largest ‖z‖."""
        if not len(log_scales):
            return np.ones(self.z.shape[1])
        found = np.exp(log_scales - log_scales.max())
        longest = np.square(self.z * found).sum(axis=1).max()
        return np.asarray(found * np.sqrt(self.sqradius / longest))

    def measure(self, u: float, parameters: Floats) -> tuple[float, float]:
        """Return K, and K times the mean of ‖z‖²."""
        z = self.z * self.factor(parameters[len(self.process.bounds) :])
        K = self.curvature(u)
        return K, K * float(np.square(z).sum(axis=1).mean())

    def curvature(self, u: float) -> float:
        return u / self.sqradius / (1 - max(u, 0.0))

    def distances(self, u: float, log_scales: Floats) -> Floats:
        """Return the distances in units of their mean."""
        metric = CurvedMetric(factor=self.factor(log_scales), curvature=self.curvature(u))
        D = metric.pairwise(self.z)
        return np.asarray(D / D.mean())

    def search(self, u: float, near: Floats | None) -> tuple[float, Floats]:
        m = len(self.process.bounds)
        fixed = None if self.scales.size else self.distances(u, np.empty(0))

        def value(parameters: Floats) -> float:
            D = self.distances(u, parameters[m:]) if fixed is None else fixed
            return self.process.log_likelihood(D, parameters[:m])

        others = self.process.starts
        scales = self.scales
        if near is not None:
            others = near[None, :m]
            scales = np.unique(np.vstack([near[m:], scales]), axis=0)
        starts = [np.append(*both) for both in product(others, scales)]
        start = max(starts, key=value) if len(starts) > 1 else starts[0]
        bounds = [*self.process.bounds, *[SCALES] * self.scales.shape[1]]
        return climb(value, start, np.array(bounds))

    def score(self, u: float, parameters: Floats) -> float:
        m = len(self.process.bounds)
        return self.process.score(self.distances(u, parameters[m:]), parameters[:m])
