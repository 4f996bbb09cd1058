"""Kernel machines: ridge regression on exp(-γd) of a distance d, in the metric, columns or ranks.

γ and λ are chosen by leaving rows out. f minimises Σ wᵢ (yᵢ - f(xᵢ))² + λ‖f‖² over the functions of
a kernel k. The same f is the mean of a Gaussian process with covariance σ²k and noise of variance
σ²λ/wᵢ, given the targets (Rasmussen and Williams 2006, chapter 2). With √W K √W = V Λ Vᵀ and
G = (K + λW⁻¹)⁻¹ = √W V (Λ + λ)⁻¹ Vᵀ √W,

    f(x) = Σ αᵢ k(x, xᵢ),  α = G y,
    yᵢ - f₋ᵢ(xᵢ) = αᵢ / Gᵢᵢ                                        without row i,
    log p(y) = -½ (yᵀGy/σ² + log det(σ²G⁻¹) + n log 2π)            the marginal likelihood.

Scores of many rows are sums of kernels at landmarks, see `landmarks`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Self, TypeVarTuple, cast

import numpy as np
from scipy import linalg
from scipy.spatial.distance import squareform

from cayleyklein._typing import Floats, Ints
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.parts.base import FitRows, FittedPart, Queries, on_blocks
from cayleyklein.parts.leaves import PIVOTS, LeafTree
from cayleyklein.parts.places import TargetPlaces

# γ that are tried, times the median distance between rows. Half of them all raise log loss, or
# 1 - R², by 0.002 ± 0.002 on six small tables, and double by 0.004 ± 0.001; half or double λ
# change nothing (docs/evidence/constants.txt).
GAMMAS = (0.1, 0.3, 1.0, 3.0)
RIDGES = tuple((10.0 ** np.arange(-3, 1.6, 0.5)).tolist())  # λ that are tried
GAMMA_PLACES = 300  # even places whose median distance is the unit of 1/γ, and which choose γ
GRAM_ENTRIES = 2**22  # entries of a block of a Gram matrix

JITTER = 1e-8  # added to the kernel of landmarks, which may be as good as equal

Distance = Callable[..., Any]  # (X, Y or None) → all distances between rows
Solution = TypeVarTuple("Solution")


@dataclass(frozen=True)
class Spectrum:
    """A Gram matrix of n rows, decomposed for every λ, and the targets (n, t) of the rows."""

    values: Floats  # Λ (n,), of √W K √W
    vectors: Floats  # V (n, n)
    targets: Floats  # Vᵀ √W y (n, t)
    roots: Floats  # √W (n,)

    @classmethod
    def of(cls, gram: Floats, targets: Floats, weights: Floats) -> Self:
        roots = np.sqrt(weights)
        weighed = gram if (weights == 1).all() else gram * roots[:, None] * roots
        values, vectors = linalg.eigh(weighed, check_finite=False, driver="evd")
        values = np.maximum(values, 0.0)  # a positive definite matrix, but for rounding
        return cls(values, vectors, vectors.T @ (roots[:, None] * targets), roots)

    def coefficients(self, ridge: float) -> Floats:
        """Return α (n, t)."""
        found = self.vectors @ (self.targets / (self.values + ridge)[:, None])
        return np.asarray(self.roots[:, None] * found)

    def inverse_diagonal(self, ridge: float) -> Floats:
        """Return Gᵢᵢ (n,)."""
        inverse = self.vectors**2 @ (1 / (self.values + ridge))
        return np.asarray(self.roots**2 * inverse)

    def left_out_errors(self, ridge: float) -> Floats:
        """Return for each row its target minus what a fit without the row predicts (n, t)."""
        return np.asarray(self.coefficients(ridge) / self.inverse_diagonal(ridge)[:, None])

    def log_likelihood(self, ridge: float) -> Floats:
        """Return the log marginal likelihood (t,) of each target, with the σ² that is the best."""
        n = len(self.values)
        shrunk = (self.values + ridge)[:, None]
        variances = (self.targets**2 / shrunk).mean(axis=0)
        determinant = np.log(shrunk).sum() - 2 * np.log(self.roots).sum()
        with np.errstate(divide="ignore"):  # a target that is 0 throughout has the density inf
            return np.asarray(-0.5 * (n + n * np.log(2 * np.pi * variances) + determinant))


class Tuning(NamedTuple):
    gamma: float  # γ, times the median distance
    ridge: float  # λ


@dataclass(frozen=True)
class Leaves:
    """Leaves of rows, and the coefficients of the kernels of their rows and of the landmarks.

    In a leaf, f(x) = Σ cⱼ k(x, zⱼ) over the landmarks + Σ αᵢ k(x, xᵢ) over the rows of the leaf.
    """

    tree: LeafTree
    order: Ints  # numbers of the fitted places, leaf by leaf
    starts: Ints  # (n_leaves + 1,): where each leaf begins in the order
    coefficients: Floats  # α (p, t), in this order
    shared: Floats  # c (n_leaves, m, t)
    root: Floats  # (m, m): Cholesky factor of B

    def of_leaf(self, leaf: int) -> tuple[Ints, Floats]:
        """Return the places of a leaf and their coefficients."""
        some = slice(self.starts[leaf], self.starts[leaf + 1])
        return self.order[some], self.coefficients[some]

    @classmethod
    def single(cls, coefficients: Floats) -> Self:
        """Return one leaf of all places, without landmarks."""
        n, width = coefficients.shape
        none = np.zeros((1, 0, width))
        return cls(
            LeafTree.single(),
            np.arange(n),
            np.array([0, n]),
            coefficients,
            none,
            np.zeros((0, 0)),
        )


class LeafSystem(NamedTuple):
    """The factor of Λ of a leaf, and what it makes of the landmarks."""

    rows: Ints
    root: Floats  # (q, q): Cholesky factor of Λ = K - Q + λW⁻¹
    cross: Floats  # (q, m): kernel of rows and landmarks
    half: Floats  # (m, q): H, with Q = HᵀH
    weighed: Floats  # (q, m): R⁻¹ cross
    solved: Floats  # (q, m): Λ⁻¹ cross


@dataclass(frozen=True)
class KernelMachine(FittedPart):
    """A fitted part: a sum of kernels, and an offset, for each target.

    Few rows have one leaf and no landmarks: f(x) = Σᵢ αᵢ exp(-γ d(x, xᵢ)) + offset, over all rows.
    Many rows have landmarks and leaves, see `landmarks`; f is the mean over the `views`, each of
    them with leaves of its own.
    """

    distance: Distance
    gamma: float  # one over a distance
    tuning: Tuning
    rows: Floats  # (p, d): the fitted places
    numbers: Ints  # (p,): their numbers among the given rows
    targets: Floats  # (p, t): of the places without the offset, or f at landmarks without leaves
    offset: Floats  # (t,)
    noise: Floats  # (p,): λ over the weight of each of the rows
    views: tuple[Leaves, ...]
    landmarks: Ints  # (m,): their numbers among the fitted places
    log_likelihood: float = np.nan

    @property
    def settings(self) -> Tuning:
        """γ, times the median distance, and λ."""
        return self.tuning

    def scores(self, X: Queries) -> Any:
        """Return f (m, t) at rows X."""
        return on_blocks(self._scores_in_memory, X, len(self.offset))

    def _scores_in_memory(self, X: Floats) -> Floats:
        """Return f (m, t) at rows X in memory."""
        found = np.zeros((len(X), len(self.offset)))
        for some, at, leaf, near in self._sorted(X):
            view = self.views[at]
            rows, coefficients = view.of_leaf(leaf)
            values = near @ view.shared[leaf]
            if len(rows):
                values += self._gram(X[some], rows) @ coefficients
            found[some] += values / len(self.views)
        return found + self.offset

    def variances(self, X: Floats) -> Floats:
        """Return the variance (m,) of a new target at each row, in units of σ²."""
        found = np.zeros(len(X))
        for some, at, leaf, near in self._sorted(X):
            system = self._system(at, leaf)
            left, pulled = self._leaf_part(system, X[some], near)
            shared = halved(self._landmark_root, near.T)
            rest = halved(self.views[at].root, pulled)
            lost = column_squares(left) + column_squares(shared) - column_squares(rest)
            found[some] += (1 + self.tuning.ridge - lost) / len(self.views)
        return found

    def influences(self, x: Floats) -> tuple[Ints, Floats]:
        """Return rows (p,), and by how much the target of each moves f at a row x.

        Of many rows those in the leaves of x, which move it most; what a row moves through the
        landmarks of a view in which it is in another leaf is left out. Where there are landmarks
        alone, by how much f at each of them moves f at x.
        """
        rows: list[Ints] = []
        moved: list[Floats] = []
        for _, at, leaf, near in self._sorted(x[None]):
            system = self._system(at, leaf)
            if not len(system.rows):  # f is interpolated between its values at the landmarks
                half = halved(self._landmark_root, near.T)
                rows.append(self.landmarks)
                moved.append(halved(self._landmark_root, half, transposed=True)[:, 0])
                continue
            left, pulled = self._leaf_part(system, x[None], near)
            known = halved(system.root, left, transposed=True)
            rest = halved(self.views[at].root, halved(self.views[at].root, pulled), transposed=True)
            rows.append(system.rows)
            moved.append((known + system.solved @ rest)[:, 0] / len(self.views))
        distinct, place = np.unique(np.concatenate(rows), return_inverse=True)
        found: Floats = np.bincount(place, weights=np.concatenate(moved)).astype(float)
        return distinct, found

    def row_effects(self, x: Floats) -> tuple[Ints, Floats]:
        """Return numbers of fitted rows (p,), and what each adds to the scores (p, t) of a row x.

        A machine is linear in the targets of the fitted rows: what each adds is exact, but for
        rows in other leaves, see `influences`.
        """
        rows, moved = self.influences(x)
        return self.numbers[rows], moved[:, None] * self.targets[rows]

    def _sorted(self, X: Floats) -> Iterator[tuple[Ints, int, int, Floats]]:
        """Yield rows of X that share a leaf of a view, and their kernel of the landmarks.

        The view and the leaf come as numbers.
        """
        largest = max(int(np.diff(view.starts).max()) for view in self.views)
        step = max(1, GRAM_ENTRIES // max(1, largest, len(self.landmarks)))
        marks = self.rows[self.landmarks]
        for start in range(0, len(X), step):
            block = X[start : start + step]
            far = np.zeros((len(block), 0))
            if len(marks):
                far = self.distance(block, marks)
            leaves = [view.tree.leaf_of(far[:, :PIVOTS]) for view in self.views]
            near = gram_of(far, self.gamma)
            for at, leaf_of in enumerate(leaves):
                for leaf in np.unique(leaf_of):
                    some = np.flatnonzero(leaf_of == leaf)
                    yield start + some, at, int(leaf), near[some]

    def _leaf_part(self, system: LeafSystem, X: Floats, near: Floats) -> tuple[Floats, Floats]:
        """Return R⁻¹u (q, m'), with Λ = RRᵀ and u the leaf's own kernel, and kₘ - Kₘᵦ Λ⁻¹u.

        `near` are kₘ of rows X; u is their kernel of the rows of the leaf, less Q.
        """
        if not len(system.rows):
            return np.zeros((0, len(X))), near.T
        own = self._gram(X, system.rows).T
        own -= system.half.T @ halved(self._landmark_root, near.T)
        return halved(system.root, own), near.T - system.solved.T @ own

    def _gram(self, X: Floats, rows: Ints) -> Floats:
        """Return the kernel of rows X and some fitted places."""
        return gram_of(self.distance(X, self.rows[rows]), self.gamma)

    def _system(self, view: int, leaf: int) -> LeafSystem:
        """Return the system of a leaf of a view. A few are kept, to be asked again."""
        key = view, leaf
        found = self._systems.get(key)
        if found is None:
            rows, _ = self.views[view].of_leaf(leaf)
            marks = self.rows[self.landmarks]
            found = leaf_system(
                self.distance, self.gamma, self.rows, rows, self.noise, marks, self._landmark_root
            )
            if len(self._systems) > 4:
                self._systems.clear()
            self._systems[key] = found
        return found

    @cached_property
    def _systems(self) -> dict[tuple[int, int], LeafSystem]:
        return {}

    @cached_property
    def _landmark_root(self) -> Floats:
        """Return the Cholesky factor of the kernel of the landmarks."""
        return landmark_root(self.distance, self.gamma, self.rows[self.landmarks])

    def __getstate__(self) -> dict[str, Any]:
        made = {"_systems", "_landmark_root"}
        return {name: value for name, value in vars(self).items() if name not in made}


def halved(root: Floats, values: Floats, *, transposed: bool = False) -> Floats:
    """Return R⁻¹ values, or R⁻ᵀ values, for a lower triangular R; none of none."""
    if not len(root):
        return np.zeros((0, values.shape[1]))
    trans = 1 if transposed else 0
    found = linalg.solve_triangular(root, values, lower=True, trans=trans, check_finite=False)
    return np.asarray(found)


def column_squares(values: Floats) -> Floats:
    """Return the sum of squares of each column."""
    return np.asarray(np.einsum("kn,kn->n", values, values))


def landmark_root(distance: Distance, gamma: float, landmarks: Floats) -> Floats:
    """Return the Cholesky factor of the kernel of landmarks, which a metric may not tell apart."""
    m = len(landmarks)
    if not m:
        return np.zeros((0, 0))
    gram = gram_of(distance(landmarks), gamma)
    gram[np.diag_indices(m)] += JITTER
    return np.asarray(linalg.cholesky(gram, lower=True, overwrite_a=True, check_finite=False))


def leaf_system(
    distance: Distance,
    gamma: float,
    X: Floats,
    rows: Ints,
    noise: Floats,
    landmarks: Floats,
    root: Floats,
) -> LeafSystem:
    """Factor the system of some rows of X; `root` is the factor of the kernel of the landmarks."""
    q, m = len(rows), len(landmarks)
    if not q:
        none = np.zeros((0, m))
        return LeafSystem(rows, np.zeros((0, 0)), none, none.T, none, none)
    own = X[rows]
    system = gram_of(distance(own), gamma)
    half, cross = np.zeros((0, q)), np.zeros((q, 0))
    if m:
        cross = gram_of(distance(own, landmarks), gamma)
        half = halved(root, cross.T)
        system -= half.T @ half
    system[np.diag_indices(q)] += noise[rows]
    factor = linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    weighed = solved = cross
    if m:
        weighed = halved(factor, cross)
        solved = halved(factor, weighed, transposed=True)
    return LeafSystem(rows, np.asarray(factor), cross, half, weighed, solved)


def gram_of(distances: Floats, gamma: float) -> Floats:
    """Return exp(-γd), in place of the distances."""
    distances *= -gamma
    return np.asarray(np.exp(distances, out=distances))


def typical_distance(distances: Floats) -> float:
    """Return the median of the distances between places; their mean, or 1, where it is 0."""
    pairs = squareform(distances, checks=False) if len(distances) > 1 else np.ones(1)
    return float(np.median(pairs)) or float(pairs.mean()) or 1.0


def fit_machine(
    distance: Distance,
    rows: TargetPlaces,
    tuning: Tuning | None = None,
    gammas: tuple[float, ...] = GAMMAS,
    ridges: tuple[float, ...] = RIDGES,
) -> KernelMachine:
    """Fit a machine to places, with a given tuning or the one that predicts rows left out.

    A few places choose γ and where to begin with λ, and all choose λ.
    """
    n = len(rows.X)
    some = even_rows(n, GAMMA_PLACES)
    among = distance(rows.X[some])
    unit = typical_distance(among)
    centred, mean = rows.centred()
    start = tuning or best_tuning(among / unit, centred.take(some), gammas, ridges)
    gram = gram_of(among if len(some) == n else distance(rows.X), start.gamma / unit)
    ridge = start.ridge
    likelihood = np.nan
    if tuning is None:
        near = (ridge,) if len(some) == n else ridges
        solve = partial(solve_left_out, gram, centred)
        ridge, (_, coefficients, likelihood) = best_ridge(solve, near, ridge)
    else:
        coefficients = solved(gram, centred, ridge)
    return KernelMachine(
        distance=distance,
        gamma=start.gamma / unit,
        tuning=start._replace(ridge=ridge),
        rows=rows.X,
        numbers=rows.numbers,
        targets=centred.targets,
        offset=mean,
        noise=ridge / rows.weights,
        views=(Leaves.single(coefficients),),
        landmarks=np.zeros(0, dtype=np.intp),
        log_likelihood=likelihood,
    )


def best_ridge(
    solve: Callable[[float], tuple[float, *Solution]], ridges: tuple[float, ...], start: float
) -> tuple[float, tuple[float, *Solution]]:
    """Return λ, found from a start by steps to less loss, and what solving for it returns.

    `solve` returns the loss of a λ first.
    """
    best = ridges.index(start)
    tried: dict[int, tuple[float, *Solution]] = {}
    while todo := {best - 1, best, best + 1} & set(range(len(ridges))) - set(tried):
        tried |= {at: solve(ridges[at]) for at in todo}
        best = min(tried, key=lambda at: tried[at][0])
    return ridges[best], tried[best]


def solve_left_out(gram: Floats, rows: TargetPlaces, ridge: float) -> tuple[float, Floats, float]:
    """Return the squared error of rows left out, α, and the log likelihood, for one λ.

    The same as a :class:`Spectrum` says, by a Cholesky factor and its inverse, which for one λ is
    quicker.
    """
    n = len(gram)
    system = gram.copy()
    system[np.diag_indices(n)] += ridge / rows.weights
    root = linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    coefficients = linalg.cho_solve((root, True), rows.targets, check_finite=False)
    determinant = 2 * np.log(np.diagonal(root)).sum()
    variances = np.einsum("nt,nt->t", rows.targets, coefficients) / n
    with np.errstate(divide="ignore"):
        likelihood = -0.5 * (n * np.log(2 * np.pi * variances) + n + determinant).sum()
    half, _ = linalg.lapack.dtrtri(root, lower=True, overwrite_c=True)
    loss = rows.left_out_loss(coefficients, np.einsum("kn,kn->n", half, half), ridge)
    return loss, coefficients, float(likelihood)


def best_tuning(
    distances: Floats, rows: TargetPlaces, gammas: tuple[float, ...], ridges: tuple[float, ...]
) -> Tuning:
    losses = {}
    for gamma in gammas:
        spectrum = Spectrum.of(np.exp(-gamma * distances), rows.targets, rows.weights)
        for ridge in ridges:
            alpha, inverse = spectrum.coefficients(ridge), spectrum.inverse_diagonal(ridge)
            losses[Tuning(gamma, ridge)] = rows.left_out_loss(alpha, inverse, ridge)
    return min(losses, key=lambda tuning: losses[tuning])


def place_errors(distance: Distance, rows: TargetPlaces) -> Floats:
    """Return what a machine without a place misses of its targets (p, t), γ and λ the best."""
    among = distance(rows.X)
    unit = typical_distance(among)
    centred, _ = rows.centred()
    some = even_rows(len(rows.X), GAMMA_PLACES)
    few = centred.take(some)
    tuning = best_tuning(among[np.ix_(some, some)] / unit, few, GAMMAS, RIDGES)
    gram = gram_of(among, tuning.gamma / unit)
    return Spectrum.of(gram, centred.targets, centred.weights).left_out_errors(tuning.ridge)


def solved(gram: Floats, rows: TargetPlaces, ridge: float) -> Floats:
    """Return (K + λW⁻¹)⁻¹ y; overwrites the Gram matrix K."""
    gram[np.diag_indices(len(gram))] += ridge / rows.weights
    factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, rows.targets, check_finite=False))


@dataclass(frozen=True)
class MetricDistance:
    """The distance of a metric; infinite for rows outside a hyperbolic domain."""

    metric: Metric

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        return self.metric.pairwise_of_checked(X, Y, "inf")


@dataclass(frozen=True)
class KernelPart:
    """The part that is a kernel machine; it chooses γ and λ by leaving rows out.

    The distance is made of rows by `make_distance`, or is that of the learned metric when None.
    """

    name: str
    make_distance: Callable[[TargetPlaces], Distance] | None
    gammas: tuple[float, ...] = GAMMAS
    ridges: tuple[float, ...] = RIDGES
    leads: bool = True
    fits_last: bool = False
    searches: bool = False

    @property
    def needs_metric(self) -> bool:
        return self.make_distance is None

    def distance(self, rows: TargetPlaces, metric: Metric | None) -> Distance:
        """Return the distance between rows that the kernel is made of."""
        if self.make_distance is None:
            return MetricDistance(cast(Metric, metric))
        return self.make_distance(rows)

    def fit(self, rows: FitRows, metric: Metric | None, settings: Any = None) -> KernelMachine:
        """Fit a machine to the places of the rows."""
        distance = self.distance(rows.places, metric)
        return fit_machine(distance, rows.places, settings, self.gammas, self.ridges)
