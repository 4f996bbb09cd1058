"""From dissimilarities to points and K: several starts, each a descent of the stress.

Descents start from classical scaling in constant curvature. The Gram matrix of points on the
surface of curvature K is cos(√K D) or cosh(√-K D), and the doubly centred -D²/2 at K = 0. Its
leading eigenvectors are the points, if D fits into the space.

How far do errors of dissimilarities move the K of a fit?
Let eᵢⱼ = δᵢⱼ - dᵢⱼ be the residuals, g = ∂d/∂K, and h what is left of g after the changes of d that
moving points can make (least squares). Then K changes by Σ sᵢⱼ, s = h e/‖h‖², over pairs i < j. If
errors are independent, its variance is σ²/‖h‖²; if errors of pairs with a point in common are not,

    Σᵢ (Σⱼ sᵢⱼ)² - Σᵢ﹤ⱼ sᵢⱼ²

(Fafchamps and Gubert 2007; a bootstrap over points counts each independent error twice).
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import shortest_path
from scipy.sparse.linalg import eigsh

from cayleyklein._lbfgs import minimise
from cayleyklein._typing import Bools, Floats
from cayleyklein.geometry import lifts
from cayleyklein.manifold._limits import DENSE, SAMPLE
from cayleyklein.manifold._stress import Stress, distances, to_centered, to_surface, to_tangent

# The most negative strength of curvature that is learned: √|K| times the largest dissimilarity,
# with the sign of K.
STRONGEST = -16.0


class Scaling(NamedTuple):
    """Tangent coordinates (n, r), K, the stress, and how the descent went."""

    v: Floats
    K: float
    stress: float
    n_iter: int
    converged: bool
    determined: bool = True  # whether the dissimilarities decide K


@dataclass
class ScalingProblem:
    """Dissimilarities δ (n, n) of mean square 1, their weights, and what is fitted to them."""

    delta: Floats
    weights: Floats | None
    filled: Floats  # δ without gaps
    r: int
    K: float | None  # None if it is learned
    max_iter: int
    tol: float
    rng: np.random.RandomState

    def __post_init__(self) -> None:
        self.stress = Stress(self.delta, self.weights)
        self.longest = float(self.filled.max())

    def curvature(self, strength: float) -> float:
        return float(np.sign(strength) * (strength / self.longest) ** 2)

    def solve(self, n_init: int) -> Scaling:
        """Return the best fit of n_init - 1 random starts and of those of `explore` or `race`."""
        n = len(self.delta)
        best = self.race() if n > SAMPLE and self.K != 0 else self.explore()
        if not best.determined:
            return replace(self, K=0.0).solve(n_init)._replace(determined=False)
        fits = [best]
        for _ in range(n_init - 1):
            start = self.rng.normal(size=(n, self.r)) / np.sqrt(2 * self.r)
            if best.K < 0:
                start = self.descend(start, 0.0, fixed=True).v
            fits.append(self.descend(start, best.K))
        return self.without_kinks(min(fits, key=lambda fit: fit.stress))

    def race(self) -> Scaling:
        """Learn K from a sample; descend from the start that is best there after a few steps."""
        some = np.sort(self.rng.choice(len(self.delta), SAMPLE, replace=False))
        at = np.ix_(some, some)
        weights = None if self.weights is None else self.weights[at]
        few = replace(
            self,
            delta=self.delta[at],
            weights=weights,
            filled=self.filled[at],
            tol=10 * self.tol,  # for a start only
        )
        sample = few.solve(3)
        if not sample.determined:
            return sample
        K = sample.K if self.K is not None else max(sample.K, self.curvature(STRONGEST))
        placed = place_among(sample.v, K, self.filled[:, some])
        other = self.classical(K) if K > 0 else self.flat_start()
        short = replace(self, max_iter=8)
        fits = [short.descend(v, K, fixed=True) for v in (other, placed)]
        best = min(fits, key=lambda fit: fit.stress)
        end = self.descend(best.v, K)
        return end._replace(n_iter=best.n_iter + end.n_iter)

    def flat_start(self) -> Floats:
        """Return the flat fit: cosh lets the largest δ alone decide the classical solution."""
        rough = replace(self, tol=10 * self.tol)
        return rough.descend(self.classical(0.0), 0.0, fixed=True).v

    def explore(self) -> Scaling:
        """Learn K from the flat fit, and from the best classical solutions of either sign of K."""
        if self.K is not None:
            starts = [(self.classical(self.K), self.K)]
            starts += [(self.flat_start(), self.K)] if self.K < 0 else []
        else:
            flat = self.descend(self.classical(0.0), 0.0, fixed=True).v
            starts = [(flat, 0.0)]
            if self.longest:
                starts.append((flat, self.curvature(-8.0)))
                negative = (STRONGEST, -8.0, -4.0, -2.0, -1.0)  # strengths; not varied
                positive = (1.0, 2.0, 2.6, 2.9, np.pi, 3.4)
                for tried in (negative, positive):
                    found = []
                    for strength in tried:
                        K = self.curvature(strength)
                        found.append((self.classical(K), K))
                    starts += sorted(found, key=lambda start: self.stress(*start)[0])[:2]
        best = min((self.descend(*start) for start in starts), key=lambda fit: fit.stress)
        return best._replace(determined=self.K is not None or self.determines_curvature(best))

    def classical(self, K: float) -> Floats:
        # Points that coincide but should not, such as leaves of one branch of a tree, are moved
        # apart by a fifth of their dissimilarities: no force tells in which direction.
        v = classical_scaling(self.filled, K, self.r)
        together = distances(v, K) < 1e-3 * self.filled
        count = together.sum(axis=1)
        apart = np.einsum("ij,ij->i", together, self.filled) / np.maximum(count, 1)
        return np.asarray(v + 0.2 * apart[:, None] * self.rng.normal(size=v.shape))

    def determines_curvature(self, best: Scaling) -> bool:
        """Say whether the stress depends on K, unlike that of a line, or of three points."""
        if not self.longest:
            return False
        flat = self.descend(best.v, 0.0, fixed=True)
        share = 1e-6  # relative and absolute differences that the end of a descent may leave
        least = 1e-9
        if flat.stress > best.stress * (1 + share) + least:
            return True
        bent = self.descend(flat.v, self.curvature(-1.0), fixed=True)
        return abs(bent.stress - flat.stress) > share * flat.stress + least

    def without_kinks(self, fit: Scaling) -> Scaling:
        """Go on from a fit on a sphere that is too small for the largest dissimilarity.

        Pairs farther apart than half a great circle end up at antipodes, where the distance has a
        kink, along which a descent zigzags and stops early. Chords shrunk a little have none.
        """
        if not fit.K > 0 or np.sqrt(fit.K) * self.longest <= np.pi:
            return fit
        steps = [fit]
        for shrinkage in (1e-2, 1e-4, 1e-6, 1e-8, 0.0):  # of squared chords
            steps.append(self.descend(steps[-1].v, steps[-1].K, shrinkage=shrinkage))
        best = min(fit, steps[-1], key=lambda step: step.stress)
        converged = all(step.converged for step in steps)
        return best._replace(n_iter=sum(step.n_iter for step in steps), converged=converged)

    def descend(self, v: Floats, K: float, fixed: bool = False, shrinkage: float = 0.0) -> Scaling:
        """Minimise the stress from a start, in v, and in K if that is learned and not fixed."""
        n, r = v.shape
        learned = self.K is None and not fixed
        # K is measured such that the stress is as curved in it as in a coordinate
        unit = 24 / np.sqrt(n)
        least = self.curvature(STRONGEST) if self.longest else 0.0

        def value(x: Floats) -> tuple[float, Floats]:
            at = float(x[-1]) * unit if learned else K
            if learned and at < least:
                return np.inf, x
            found, by_v, by_K = self.stress(x[: n * r].reshape(n, r), at, shrinkage)
            return found, np.append(by_v, [by_K * unit] * learned)

        start = np.append(v, [max(K, least) / unit] * learned)
        tol = self.tol / (100 if shrinkage else 1)
        # a stress below the floor is an exact fit, whose falls are measured absolutely
        end = minimise(value, start, max_iter=self.max_iter, tol=tol, floor=1e-6)
        at = float(end.x[-1]) * unit if learned else K
        places = end.x[: n * r].reshape(n, r)
        fit = Scaling(places, at, end.value, end.n_iter, end.converged)
        if learned and least < 0 and 0.98 * least > fit.K:  # as good as at the limit
            limit = self.descend(fit.v, least, fixed=True)
            return limit._replace(n_iter=fit.n_iter + limit.n_iter)
        return fit


def classical_scaling(D: Floats, K: float, r: int) -> Floats:
    """Return tangent coordinates (n, r) by classical scaling at a fixed K."""
    k = np.sqrt(abs(K)) or 1.0
    if K == 0:
        gram = np.square(D) / -2
        gram -= gram.mean(axis=0)
        gram -= gram.mean(axis=1)[:, None]
        unit = np.column_stack([_eigen_coordinates(gram, r), np.ones(len(D))])
    elif K > 0:
        unit = _eigen_coordinates(np.cos(np.minimum(k * D, np.pi)), r + 1)
        norm = np.linalg.norm(unit, axis=1)
        unit[norm == 0, -1] = 1.0
        unit /= np.where(norm > 0, norm, 1.0)[:, None]
    else:
        u = _eigen_coordinates(-np.cosh(k * D), r)
        unit = np.column_stack([u, np.sqrt(1 + np.einsum("ij,ij->i", u, u))])
    return to_centered(unit / np.append(np.full(r, k), 1.0), K)


def place_among(v: Floats, K: float, D: Floats) -> Floats:
    """Return tangent coordinates of points at dissimilarities D (n, m) from points v (m, r).

    With h = (1 - t)/K of points (u, t) of a surface, c²/2 = h + h' - K h h' - u·u' is linear in
    (u', h'): least squares, with weights that count errors of distances instead of c²/2.
    """
    X = to_surface(v, K)
    h = 2 * np.square(lifts.sine(np.linalg.norm(v, axis=1) / 2, K))
    D = np.minimum(D, np.pi / np.sqrt(K)) if K > 0 else D
    # errors of short distances, and of those close to an antipode, count no more than these
    scale = 1 / np.maximum(lifts.sine(D, K), 0.1 * D.mean())
    system = scale[:, :, None] * np.column_stack([-X[:, :-1], 1 - K * h])
    right = scale * (2 * np.square(lifts.sine(D / 2, K)) - h)
    found = (np.linalg.pinv(system, rcond=1e-12) @ right[:, :, None])[:, :, 0]
    return to_tangent(np.column_stack([found[:, :-1], 1 - K * found[:, -1]]), K)


def _eigen_coordinates(matrix: Floats, r: int) -> Floats:
    """Return the r leading eigenvectors times the roots of their eigenvalues, if positive."""
    n = len(matrix)
    found = min(r, len(matrix))
    if n <= max(DENSE, r + 1):
        values, vectors = eigh(matrix, subset_by_index=(n - found, n - 1))
    else:
        start = np.cos(np.arange(n))  # any vector that is not an eigenvector, the same each time
        values, vectors = eigsh(matrix, k=found, which="LA", v0=start, tol=1e-4)
    out = np.zeros((n, r))
    out[:, :found] = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]
    return out


def bridged(D: Floats, known: Bools) -> Floats:
    """Return dissimilarities with the missing ones replaced by the lengths of shortest paths."""
    if known[np.triu_indices(len(D), 1)].all():
        return D
    graph = np.where(known, np.maximum(D, np.finfo(float).tiny), np.inf)
    return np.where(known, D, shortest_path(graph, directed=False))


class StressProfile:
    """The least stress as a function of K, from a CurvedMDS fitted without weights."""

    def __init__(self, mds: Any) -> None:
        given = mds.dissimilarity_matrix_
        missing = np.isnan(given)
        self.known = (~missing & ~np.eye(len(given), dtype=bool)).astype(float)
        self.delta = np.where(missing, 0.0, given)
        weights = self.known if missing.any() else None
        filled = bridged(self.delta, ~missing)
        self.size = longest = float(filled.max()) or 1.0
        self.K, self.v = mds.curvature_, mds.tangent_
        n, r = self.v.shape
        self.freedom = float(self.known.sum()) / 2 - n * r + r * (r + 1) / 2 - 1
        # at the upper end the largest dissimilarity is 1.2 times half a great circle
        self.bounds = -((STRONGEST / longest) ** 2), (1.2 * np.pi / longest) ** 2
        self._problem = ScalingProblem(
            self.delta / longest,
            weights,
            filled / longest,
            r,
            K=0.0,
            max_iter=mds.max_iter,
            tol=mds.tol / 10,
            rng=np.random.RandomState(0),
        )

    def log_likelihood(self, K: float, v: Floats) -> tuple[float, Floats]:
        """Return the log likelihood at K, and the points fitted from a start v.

        Errors of dissimilarities are taken as independent and normal, of unknown variance.
        """
        fit = self._problem.descend(v / self.size, K * self.size**2, fixed=True)
        stress = max(fit.stress, 1e-12)  # a smaller one is rounding
        return float(-self.freedom / 2 * np.log(stress)), fit.v * self.size

    def uncertainty(self) -> tuple[float, float]:
        """Return the variance of K, and its ratio to that of independent errors, 1 or more."""
        v = self.v
        K = self.K
        known = self.known
        share = 1e-5  # of finite differences
        step = share * self.size
        n, r = v.shape
        unit = share / self.size**2
        by_K = (distances(v, K + unit) - distances(v, K - unit)) * known / (2 * unit)
        moves = np.eye(r) * step
        by_v = np.empty((r, n, n))  # of dᵢⱼ as point i moves along a coordinate
        for axis, move in enumerate(moves):
            change = distances(v + move, K, v) - distances(v - move, K, v)
            by_v[axis] = change * known / (2 * step)
        normal = np.einsum("aij,bji->iajb", by_v, by_v)
        at = np.arange(n)
        normal[at, :, at] += np.einsum("aij,bij->iab", by_v, by_v)
        right = np.einsum("aij,ij->ia", by_v, by_K).ravel()
        moved = np.linalg.lstsq(normal.reshape(n * r, n * r), right, rcond=1e-9)[0].reshape(n, r)
        made = np.einsum("aij,ia->ij", by_v, moved)
        h = by_K - (made + made.T)
        information = float(np.square(h).sum()) / 2
        errors = (self.delta - distances(v, K)) * known
        noise = float(np.square(errors).sum()) / 2 / self.freedom
        if information * unit**2 <= 1e-24 * self.size**2 or not noise:
            return (np.inf if noise else 0.0), 1.0
        pushes = h * errors / information
        shared = np.square(pushes.sum(axis=1)).sum() - np.square(pushes).sum() / 2
        inflation = max(1.0, float(shared) / (noise / information))
        return inflation * noise / information, inflation
