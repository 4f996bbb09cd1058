"""From dissimilarities to points and K: several starts, each a descent of the stress."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cayleyklein._lbfgs import minimise
from cayleyklein._typing import Floats
from cayleyklein.manifold._classical import NEGATIVE, POSITIVE, classical
from cayleyklein.manifold._stress import Stress, distances

SAMPLE = 300
"""Rows on which the curvature to start from is found."""

FEW_STARTS = 4
"""Default number of starts up to SAMPLE rows, whose stress has more local minima that differ."""

FLOOR = 1e-6
"""Stress below which falls are measured absolutely, for dissimilarities that fit exactly."""

STRONGEST_LEARNED = 16.0
"""√-K times the largest dissimilarity of the most negative curvature learned."""

AT_LIMIT = 0.98
"""Share of the most negative curvature from which on K is set to that limit."""

BENT = 8.0
"""√-K times the largest dissimilarity at which the flat solution is tried as a start."""

TOGETHER, PART = 1e-3, 0.2
"""Share of its dissimilarity below which a pair coincides, and by which it is moved apart."""

PROBED, AS_GOOD, EXACT = 1.0, 1e-6, 1e-9
"""√-K times the largest dissimilarity of the space compared with the flat one to see whether K is
determined; relative and absolute differences of the stress that count as none."""

SHRINKAGES = (1e-2, 1e-4, 1e-6, 1e-8)
"""Shares by which squared chords are shrunk, in turn, to round off the kinks at antipodes."""


class Scaling(NamedTuple):
    """Tangent coordinates (n, r), K, the stress, and how the descent went."""

    v: Floats
    K: float
    stress: float
    n_iter: int
    converged: bool
    determined: bool = True  # whether the dissimilarities decide K


@dataclass(frozen=True)
class ScalingProblem:
    """Dissimilarities δ (n, n) of mean square 1, their weights, and what is fitted to them."""

    delta: Floats
    weights: Floats | None
    filled: Floats  # δ without gaps
    r: int
    K: float | None  # None if it is learned
    metric: bool
    max_iter: int
    tol: float
    rng: np.random.RandomState

    @cached_property
    def stress(self) -> Stress:
        return Stress(self.delta, self.weights, self.metric)

    @cached_property
    def longest(self) -> float:
        return float(self.filled.max())

    def solve(self, n_init: int | None) -> Scaling:
        """Return the best fit of the classical starts and n_init - 1 random ones."""
        n = len(self.delta)
        if self.K is not None:
            fits = self.fit_at(self.K)
        else:
            few = self if n <= SAMPLE else self._sampled()
            fits = few.explore()
            best = min(fits, key=lambda fit: fit.stress)
            if not few.determines_curvature(best):
                return replace(self, K=0.0).solve(n_init)._replace(determined=False)
            if n > SAMPLE:
                fits = self.fit_at(best.K)
        K = min(fits, key=lambda fit: fit.stress).K
        if n_init is None:
            n_init = FEW_STARTS if n <= SAMPLE else 1
        for _ in range(n_init - 1):
            start = self.rng.normal(size=(n, self.r)) / np.sqrt(2 * self.r)
            if K < 0:
                start = self.descend(start, 0.0, fixed=True).v
            fits.append(self.descend(start, K))
        return self.without_kinks(min(fits, key=lambda fit: fit.stress))

    def _sampled(self) -> ScalingProblem:
        rows = np.sort(self.rng.choice(len(self.delta), SAMPLE, replace=False))
        at = np.ix_(rows, rows)
        weights = None if self.weights is None else self.weights[at]
        return replace(self, delta=self.delta[at], weights=weights, filled=self.filled[at])

    def fit_at(self, K: float) -> list[Scaling]:
        """Descend from the classical solution at K, and from the flat fit if K is negative.

        A strong negative curvature is best reached from the flat fit: cosh lets the largest
        dissimilarities decide the classical solution alone.
        """
        starts = [self.classical(K)]
        if K < 0:
            starts.append(self.descend(self.classical(0.0), 0.0, fixed=True).v)
        return [self.descend(v, K) for v in starts]

    def explore(self) -> list[Scaling]:
        """Learn K from the flat fit, and from the best classical solutions of either sign of K."""
        flat = self.descend(self.classical(0.0), 0.0, fixed=True)
        starts = [(flat.v, 0.0)]
        if self.longest:
            starts.append((flat.v, -((BENT / self.longest) ** 2)))
            for curvatures in (NEGATIVE, POSITIVE):
                tried = [float(np.sign(k) * (k / self.longest) ** 2) for k in curvatures]
                found = [(self.classical(K), K) for K in tried]
                starts += sorted(found, key=lambda start: self.stress(*start)[0])[:2]
        return [self.descend(v, K) for v, K in starts]

    def classical(self, K: float) -> Floats:
        """Return classical scaling at K, with points moved apart that coincide but should not.

        Leaves of one branch of a tree do. No force tells in which direction they should part.
        """
        v = classical(self.filled, K, self.r)
        together = distances(v, K) < TOGETHER * self.filled
        count = together.sum(axis=1)
        apart = np.einsum("ij,ij->i", together, self.filled) / np.maximum(count, 1)
        return np.asarray(v + PART * apart[:, None] * self.rng.normal(size=v.shape))

    def determines_curvature(self, best: Scaling) -> bool:
        """Say whether the stress depends on K.

        It does not for three points in the plane, or points of a line: flat and hyperbolic space
        fit as well as the best K.
        """
        if not self.longest:
            return False
        flat = self.descend(best.v, 0.0, fixed=True)
        if flat.stress > best.stress * (1 + AS_GOOD) + EXACT:
            return True
        bent = self.descend(flat.v, -((PROBED / self.longest) ** 2), fixed=True)
        return abs(bent.stress - flat.stress) > AS_GOOD * flat.stress + EXACT

    def without_kinks(self, fit: Scaling) -> Scaling:
        """Go on from a fit on a sphere that is too small for the largest dissimilarity.

        Pairs that should be farther apart than half a great circle end up at antipodes, where the
        distance has a kink. A descent zigzags along such kinks, and stops early. With chords that
        are shrunk a little there is none; they are shrunk less and less.
        """
        if not fit.K > 0 or np.sqrt(fit.K) * self.longest <= np.pi:
            return fit
        steps = [fit]
        for shrinkage in (*SHRINKAGES, 0.0):
            steps.append(self.descend(steps[-1].v, steps[-1].K, shrinkage=shrinkage))
        best = min(fit, steps[-1], key=lambda step: step.stress)
        converged = all(step.converged for step in steps)
        return best._replace(n_iter=sum(step.n_iter for step in steps), converged=converged)

    def descend(
        self, v: Floats, K: float, *, fixed: bool = False, shrinkage: float = 0.0
    ) -> Scaling:
        """Minimise the stress from a start, in v, and in K if that is learned and not fixed."""
        n, r = v.shape
        learned = self.K is None and not fixed
        # K is measured such that the stress is as curved in it as in a coordinate
        unit = 24 / np.sqrt(n)
        least = -((STRONGEST_LEARNED / self.longest) ** 2) if self.longest else 0.0
        steps = []

        def value(x: Floats) -> tuple[float, Floats]:
            if not learned:
                found, by_v, _ = self.stress(x.reshape(n, r), K, shrinkage)
                return found, by_v.ravel()
            at = float(x[-1]) * unit
            if at < least:
                return np.inf, x
            found, by_v, by_K = self.stress(x[:-1].reshape(n, r), at, shrinkage)
            return found, np.append(by_v.ravel(), by_K * unit)

        def note(x: Floats, reached: float) -> bool:
            steps.append(reached)
            return False

        start = np.append(v.ravel(), max(K, least) / unit) if learned else v.ravel()
        tol = self.tol / (100 if shrinkage else 1)
        end = minimise(value, start, max_iter=self.max_iter, tol=tol, floor=FLOOR, callback=note)
        reached = steps[-1] if steps else value(start)[0]
        places, at = (end.x[:-1], float(end.x[-1]) * unit) if learned else (end.x, K)
        fit = Scaling(places.reshape(n, r), at, reached, len(steps), end.converged)
        if learned and least < 0 and AT_LIMIT * least > fit.K:
            limit = self.descend(fit.v, least, fixed=True)
            return limit._replace(n_iter=fit.n_iter + limit.n_iter)
        return fit
