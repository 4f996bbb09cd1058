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
from typing import Any, NamedTuple, Self, TypeVar, TypeVarTuple, cast

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
# Even places whose median distance is the unit of 1/γ, and which choose γ. With 300 log loss of
# columns alone is +0.0001 ± 0.0015 on 19 numeric tables of 600 rows, and on six hard ones
# -0.0007 ± 0.0005.
GAMMA_PLACES = 150
# Even places that choose λ. With all of 1,500 instead a fit takes a sixth to a quarter more time,
# and the mean log loss of five tables changes by -0.0002 (three draws each); with half of them it
# rises by 0.0008.
RIDGE_PLACES = 800
GRAM_ENTRIES = 2**22  # entries of a block of a Gram matrix

Found = TypeVar("Found", bound=tuple[Any, ...])

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
    """Some leaves of a tree, one after the other, and the coefficients of their kernels.

    In a leaf, f(x) = Σ cⱼ k(x, zⱼ) over the landmarks + Σ αᵢ k(x, xᵢ) over the rows of the leaf.
    """

    tree: LeafTree
    first: int  # number of the first leaf in the tree
    order: Ints  # numbers of the fitted places, leaf by leaf
    starts: Ints  # (n_leaves + 1,): where each leaf begins in the order
    coefficients: Floats  # α (p, t), in this order
    shared: Floats  # c (n_leaves, m, t)

    def of_leaf(self, leaf: int) -> tuple[Ints, Floats]:
        """Return the places of a leaf and their coefficients."""
        some = slice(self.starts[leaf], self.starts[leaf + 1])
        return self.order[some], self.coefficients[some]

    @classmethod
    def single(cls, coefficients: Floats) -> Self:
        """Return one leaf of all places, without landmarks."""
        n, width = coefficients.shape
        ends = np.array([0, n])
        return cls(LeafTree.single(), 0, np.arange(n), ends, coefficients, np.zeros((1, 0, width)))


@dataclass(frozen=True)
class Landmarks:
    """Landmarks z, what they say, and how sure they are."""

    X: Floats  # (m, d)
    numbers: Ints  # (m,): their numbers among the given rows
    values: Floats  # (m, t): the global function at them
    root: Floats  # (m, m): Cholesky factor of their kernel K
    known: Floats  # (m, m): Cholesky factor of K + A/λ, A the sum of kᵢkᵢᵀ over the rows

    @classmethod
    def none(cls, width: int) -> Self:
        """Return no landmarks, for targets of a width."""
        # three arrays of their own: model files refuse one that stands in two places
        X, root, known = (np.zeros((0, 0)) for _ in range(3))
        return cls(X, np.zeros(0, dtype=np.intp), np.zeros((0, width)), root, known)

    def __len__(self) -> int:
        return len(self.numbers)


class LeafSystem(NamedTuple):
    """The factor of Λ of some rows, and what the landmarks say of their kernel."""

    root: Floats  # (q, q): Cholesky factor of Λ = K - Q + λW⁻¹
    half: Floats  # (m, q): H, with Q = HᵀH


@dataclass(frozen=True)
class KernelMachine(FittedPart):
    """A fitted part: a sum of kernels, and an offset, for each target.

    Few rows have one leaf and no landmarks: f(x) = Σᵢ αᵢ exp(-γ d(x, xᵢ)) + offset, over all rows.
    Many rows have landmarks and leaves, see `landmarks`; f is the mean over `n_trees` trees, each
    of them with leaves of its own. A machine on a worker has some of the leaves.
    """

    distance: Distance
    gamma: float  # one over a distance
    tuning: Tuning
    rows: Floats  # (p, d): the fitted places
    numbers: Ints  # (p,): their numbers among the given rows
    targets: Floats  # (p, t): of the places, without the offset
    offset: Floats  # (t,)
    noise: Floats  # (p,): λ over the weight of each of the rows
    views: tuple[Leaves, ...]
    landmarks: Landmarks
    n_trees: int = 1
    log_likelihood: float = np.nan

    @property
    def settings(self) -> Tuning:
        """γ, times the median distance, and λ."""
        return self.tuning

    def scores(self, X: Queries) -> Any:
        """Return f (m, t) at rows X."""
        return on_blocks(lambda some: self.leaf_scores(some) + self.offset, X, len(self.offset))

    def leaf_scores(self, X: Floats) -> Floats:
        """Return f - offset (m, t) at rows X, as far as the leaves of the machine know it."""
        found = np.zeros((len(X), len(self.offset)))
        for some, view, leaf, near in self._sorted(X):
            rows, coefficients = view.of_leaf(leaf)
            values = near @ view.shared[leaf]
            if len(rows):
                values += self._gram(X[some], rows) @ coefficients
            found[some] += values / self.n_trees
        return found

    def variances(self, X: Floats) -> Floats:
        """Return the variance (m,) of a new target at each row, in units of σ².

        Of many rows that of the landmarks' function and that of the leaf's, given the landmarks.
        """
        found = np.zeros(len(X))
        for some, view, leaf, near in self._sorted(X):
            system, own, said = self._own_kernel(view, leaf, X[some], near)
            lost = column_squares(halved(system.root, own)) + column_squares(said)
            known = column_squares(halved(self.landmarks.known, near.T))
            found[some] += (1 + self.tuning.ridge - lost + known) / self.n_trees
        return found

    def row_effects(self, x: Floats) -> tuple[Ints, Floats]:
        """Return numbers of fitted rows (p,), and what each adds to the scores (p, t) of a row x.

        A machine is linear in the targets of the rows in the leaves of x, and in the values of the
        global function at the landmarks: what each adds is exact.
        """
        marks = self.landmarks
        numbers, added = [marks.numbers[:0]], [marks.values[:0]]
        for _, view, leaf, near in self._sorted(x[None]):
            system, own, said = self._own_kernel(view, leaf, x[None], near)
            rows, _ = view.of_leaf(leaf)
            moved = halved(system.root, halved(system.root, own), transposed=True)
            numbers.append(self.numbers[rows])
            added.append(moved * self.targets[rows])
            rest = said - system.half @ moved
            numbers.append(marks.numbers)
            added.append(halved(marks.root, rest, transposed=True) * marks.values)
        return summed_effects(np.concatenate(numbers), np.concatenate(added) / self.n_trees)

    def _sorted(self, X: Floats) -> Iterator[tuple[Ints, Leaves, int, Floats]]:
        """Yield rows of X that share a leaf, the leaf, and their kernel of the landmarks.

        Rows in leaves that the machine does not have are left out.
        """
        largest = max(int(np.diff(view.starts).max()) for view in self.views)
        marks = self.landmarks.X
        step = max(1, GRAM_ENTRIES // max(1, largest, len(marks)))
        for start in range(0, len(X), step):
            block = X[start : start + step]
            far = self.distance(block, marks[:PIVOTS]) if len(marks) else np.zeros((len(block), 0))
            leaves = [view.tree.leaf_of(far) - view.first for view in self.views]
            own = [
                (each >= 0) & (each < len(view.shared))
                for each, view in zip(leaves, self.views, strict=True)
            ]
            asked = np.flatnonzero(np.any(own, axis=0))
            far = far[asked]
            if len(marks) > PIVOTS and len(asked):
                far = np.hstack([far, self.distance(block[asked], marks[PIVOTS:])])
            near = gram_of(far, self.gamma)
            for view, leaf_of in zip(self.views, leaves, strict=True):
                leaf_of = leaf_of[asked]
                for leaf in np.unique(leaf_of):
                    if 0 <= leaf < len(view.shared):
                        some = np.flatnonzero(leaf_of == leaf)
                        yield start + asked[some], view, int(leaf), near[some]

    def _own_kernel(
        self, view: Leaves, leaf: int, X: Floats, near: Floats
    ) -> tuple[LeafSystem, Floats, Floats]:
        """Return the system of a leaf, its own kernel of rows X (q, m'), and the landmarks' share.

        `near` is the kernel of X and the landmarks; of it the share is H, with Q = HᵀH.
        """
        rows, _ = view.of_leaf(leaf)
        # a few are kept, to be asked again
        key = id(view), leaf
        if key not in self._systems:
            if len(self._systems) > 4:
                self._systems.clear()
            cross = self._gram(self.rows[rows], None)
            self._systems[key] = leaf_system(
                gram_of(self.distance(self.rows[rows]), self.gamma),
                self.noise[rows],
                cross,
                self.landmarks.root,
            )
        system = self._systems[key]
        said = halved(self.landmarks.root, near.T)
        return system, self._gram(X, rows).T - system.half.T @ said, said

    def _gram(self, X: Floats, rows: Ints | None) -> Floats:
        """Return the kernel of rows X and some fitted places, or the landmarks."""
        if rows is None and not len(self.landmarks):
            return np.zeros((len(X), 0))
        others = self.landmarks.X if rows is None else self.rows[rows]
        return gram_of(self.distance(X, others), self.gamma)

    @cached_property
    def _systems(self) -> dict[tuple[int, int], LeafSystem]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_systems"}


def summed_effects(numbers: Ints, added: Floats) -> tuple[Ints, Floats]:
    """Return each row once, and all that it adds."""
    distinct, place = np.unique(numbers, return_inverse=True)
    total = np.zeros((len(distinct), added.shape[1]))
    np.add.at(total, place, added)
    return distinct, total


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


def leaf_system(gram: Floats, noise: Floats, cross: Floats, root: Floats) -> LeafSystem:
    """Factor Λ of the rows of a leaf; overwrites their Gram matrix.

    `cross` is the kernel of the rows and the landmarks, `root` the factor of that of the landmarks.
    """
    half = halved(root, cross.T)
    if len(half):
        gram -= half.T @ half
    gram[np.diag_indices(len(gram))] += noise
    return LeafSystem(lower_factor(gram), half)


def lower_factor(system: Floats) -> Floats:
    """Return the Cholesky factor of a positive definite matrix, in its place."""
    if not len(system):
        return system
    return np.asarray(linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False))


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

    A few places choose γ and where to begin with λ, and at most `RIDGE_PLACES` choose λ.
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
        if n > RIDGE_PLACES:
            few = even_rows(n, RIDGE_PLACES)
            among_few = partial(solve_left_out, gram[np.ix_(few, few)], centred.take(few))
            ridge, _ = best_of_near(among_few, ridges, ridge)
            near = (ridge,)
        solve = partial(solve_left_out, gram, centred)
        ridge, (_, coefficients, likelihood) = best_of_near(solve, near, ridge)
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
        landmarks=Landmarks.none(len(mean)),
        log_likelihood=likelihood,
    )


def best_of_near(
    solve: Callable[[float], Found], values: tuple[float, ...], start: float
) -> tuple[float, Found]:
    """Return one of the values, found from a start by steps to less loss, and what it yields.

    `solve` returns the loss of a value first.
    """
    best = values.index(start)
    tried: dict[int, Found] = {}
    while todo := {best - 1, best, best + 1} & set(range(len(values))) - set(tried):
        tried |= {at: solve(values[at]) for at in todo}
        best = min(tried, key=lambda at: tried[at][0])
    return values[best], tried[best]


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
