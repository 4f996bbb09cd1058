"""From dissimilarities to points and K: several starts, each a descent of the stress."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cayleyklein._lbfgs import minimise
from cayleyklein._typing import Floats, Ints
from cayleyklein.manifold._starts import NEGATIVE, POSITIVE, classical
from cayleyklein.manifold._stress import Stress, distances

SAMPLE = 300
"""Rows on which the curvature to start from is found."""

FEW_STARTS = 4
"""Starts by default of so few rows: their stress has more local minima that differ."""

FLOOR = 1e-6
"""Stress under which falls are measured absolutely: dissimilarities that fit exactly."""

REACH = 16.0
"""√-K times the largest dissimilarity of the most negative curvature learned."""

AT_LIMIT = 0.98
"""Share of the most negative curvature from which on K is taken as that limit."""

BENT = 8.0
"""√-K times the largest dissimilarity at which the flat solution is tried as a start."""

TOGETHER, PART = 1e-3, 0.2
"""Share of its dissimilarity under which a pair falls together, and by which it is parted."""


class Dissimilarities(NamedTuple):
    """Dissimilarities (n, n) of mean square 1, their weights, and a version without gaps."""

    values: Floats
    weights: Floats | None
    filled: Floats

    @property
    def longest(self) -> float:
        """The largest dissimilarity."""
        return float(self.filled.max())

    def some(self, rows: Ints) -> Dissimilarities:
        """Return those between some rows."""
        at = np.ix_(rows, rows)
        weights = None if self.weights is None else self.weights[at]
        return Dissimilarities(self.values[at], weights, self.filled[at])


class Fit(NamedTuple):
    """Tangent coordinates (n, r), K, the stress, and how the descent went."""

    v: Floats
    K: float
    stress: float
    n_iter: int
    converged: bool


class Options(NamedTuple):
    """What is fitted: r dimensions, K (None if it is learned), metric or not; and how long."""

    r: int
    K: float | None
    metric: bool
    max_iter: int
    tol: float


def solve(
    data: Dissimilarities, options: Options, n_init: int | None, rng: np.random.RandomState
) -> Fit:
    """Return the best fit of the classical starts and n_init - 1 random ones."""
    n, K = len(data.values), options.K
    if n_init is None:
        n_init = FEW_STARTS if n <= SAMPLE else 1
    stress = Stress(data.values, data.weights, options.metric)
    if K is None and n <= SAMPLE:
        fits = _explore(stress, data, options, rng)
    elif K is None:
        some = data.some(np.sort(rng.choice(n, SAMPLE, replace=False)))
        tried = _explore(Stress(some.values, some.weights, options.metric), some, options, rng)
        fits = _fit_at(stress, data, options, min(tried, key=lambda fit: fit.stress).K, rng)
    else:
        fits = _fit_at(stress, data, options, K, rng)
    K = min(fits, key=lambda fit: fit.stress).K
    for _ in range(n_init - 1):
        start = rng.normal(size=(n, options.r)) / np.sqrt(2 * options.r)
        if K < 0:
            start = _flat(stress, data, options, start).v
        fits.append(descend(stress, start, K, options, data.longest))
    return min(fits, key=lambda fit: fit.stress)


def _flat(stress: Stress, data: Dissimilarities, options: Options, start: Floats) -> Fit:
    """Descend in flat space."""
    return descend(stress, start, 0.0, options._replace(K=0.0), data.longest)


def _fit_at(
    stress: Stress,
    data: Dissimilarities,
    options: Options,
    K: float,
    rng: np.random.RandomState,
) -> list[Fit]:
    """Descend from the classical solution at K, and from the flat fit if K is negative.

    A strong negative curvature is best reached from the flat fit: cosh lets the largest
    dissimilarities decide the classical solution alone.
    """
    starts = [_classical(data, K, options.r, rng)]
    if K < 0:
        starts.append(_flat(stress, data, options, _classical(data, 0.0, options.r, rng)).v)
    return [descend(stress, v, K, options, data.longest) for v in starts]


def _classical(data: Dissimilarities, K: float, r: int, rng: np.random.RandomState) -> Floats:
    """Return classical scaling at K, with points moved apart that fall together but should not.

    Leaves of one branch of a tree do. No force tells in which direction they should part.
    """
    v = classical(data.filled, K, r)
    together = distances(v, K) < TOGETHER * data.filled
    count = together.sum(axis=1)
    apart = np.einsum("ij,ij->i", together, data.filled) / np.maximum(count, 1)
    return np.asarray(v + PART * apart[:, None] * rng.normal(size=v.shape))


def _explore(
    stress: Stress, data: Dissimilarities, options: Options, rng: np.random.RandomState
) -> list[Fit]:
    """Learn K from the flat fit, and from the best classical solutions of either sign of K."""
    longest, r = data.longest, options.r
    flat = _flat(stress, data, options, _classical(data, 0.0, r, rng))
    starts = [(flat.v, 0.0)]
    if longest:
        starts.append((flat.v, -((BENT / longest) ** 2)))
        for curvatures in (NEGATIVE, POSITIVE):
            tried = [float(np.sign(k) * (k / longest) ** 2) for k in curvatures]
            found = [(_classical(data, K, r, rng), K) for K in tried]
            starts += sorted(found, key=lambda start: stress(*start)[0])[:2]
    return [descend(stress, v, K, options, longest) for v, K in starts]


def descend(stress: Stress, v: Floats, K: float, options: Options, longest: float) -> Fit:
    """Minimise the stress from a start, in v, and in K if that is learned."""
    n, r = v.shape
    learned = options.K is None
    # K is measured such that the stress is as curved in it as in a coordinate
    unit = 24 / np.sqrt(n)
    least = -((REACH / longest) ** 2) if longest else 0.0
    steps = []

    def value(x: Floats) -> tuple[float, Floats]:
        if not learned:
            found, by_v, _ = stress(x.reshape(n, r), K)
            return found, by_v.ravel()
        at = float(x[-1]) * unit
        if at < least:
            return np.inf, x
        found, by_v, by_K = stress(x[:-1].reshape(n, r), at)
        return found, np.append(by_v.ravel(), by_K * unit)

    def note(x: Floats, reached: float) -> bool:
        steps.append(reached)
        return False

    start = np.append(v.ravel(), max(K, least) / unit) if learned else v.ravel()
    end = minimise(
        value, start, max_iter=options.max_iter, tol=options.tol, floor=FLOOR, callback=note
    )
    reached = steps[-1] if steps else value(start)[0]
    if not learned:
        return Fit(end.x.reshape(n, r), K, reached, len(steps), end.converged)
    fit = Fit(end.x[:-1].reshape(n, r), float(end.x[-1]) * unit, reached, len(steps), end.converged)
    if least < 0 and AT_LIMIT * least > fit.K:
        fixed = descend(stress, fit.v, least, options._replace(K=least), longest)
        return fixed._replace(n_iter=fit.n_iter + fixed.n_iter)
    return fit
