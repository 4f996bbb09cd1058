"""A kernel machine of many rows: landmarks for the global shape, and exact machines in leaves.

With K the kernel of m landmarks, and kₘ(x) that of a row and the landmarks, the global function is
the sum of kernels at landmarks with the least squared error (the Nyström method, Williams and
Seeger 2001),

    global(x) = kₘ(x)ᵀ a,  (A + λK) a = b,  A = Σ wᵢ kₘ(xᵢ) kₘ(xᵢ)ᵀ,  b = Σ wᵢ kₘ(xᵢ) yᵢ.

Sums are added up block by block. What the landmarks say of the kernel of two rows is
Q = Kₙₘ K⁻¹ Kₘₙ. In a leaf the rest K - Q of the kernel is the covariance of what the global
function misses (as in Snelson and Ghahramani 2007):

    Λ = K - Q + λW⁻¹,  α = Λ⁻¹ (yᵦ - Kᵦₘ a),
    f(x) = global(x) + leaf(x),  leaf(x) = (kᵦ(x) - Kᵦₘ K⁻¹ kₘ(x))ᵀ α,
    yᵢ - f₋ᵢ(xᵢ) = αᵢ / Gᵢᵢ,  G = Λ⁻¹                                            without row i.

One leaf of all rows without landmarks is the exact machine. Two trees with other leaves are
averaged, so that the seams between leaves hardly show.

Held-out rows, which neither the metric nor the weights of columns have seen, weigh the parts: a
global function without all of them, and leaves without each of them, say what is left out.

On a cluster the same functions run where the rows are. Each worker gets the landmarks and trees
once; rows that share a group of leaves meet on one worker, which fits and keeps these leaves.
"""

import operator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import linalg

from cayleyklein import _distributed
from cayleyklein._typing import Floats, Ints
from cayleyklein.learning.rows import distinct_rows
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.neighbors.search import slices
from cayleyklein.parts.base import FittedPart
from cayleyklein.parts.cluster import ClusterMachine
from cayleyklein.parts.kernel import (
    GRAM_ENTRIES,
    JITTER,
    Distance,
    KernelMachine,
    KernelPart,
    Landmarks,
    Leaves,
    Tuning,
    best_of_near,
    column_squares,
    fit_machine,
    gram_of,
    halved,
    leaf_system,
    lower_factor,
    solve_left_out,
)
from cayleyklein.parts.leaves import PIVOTS, LeafTree, split_into_leaves
from cayleyklein.parts.many import HeldOutPlaces, ManyRows, joined, joined_pieces
from cayleyklein.parts.places import TargetPlaces

# Up to which all rows are one leaf. Of 6,000 rows leaves take longer, and have more log loss.
EXACT_ROWS = 6000
# Rows times the squared size of a leaf: 700 for 16,000 rows. With 1,000 a fit of 14,000 rows takes
# a fifth more time, and log loss changes by -0.0008 (letter), 0.0001 (magic), -0.0003 and 0.0006
# (two generated tables); with 500 by 0.0021, 0.0020, 0.0012 and 0.0016, three draws each.
LEAF_WORK = 8e9
LEAST_LEAF, MOST_LEAF = 500, 1000  # rows of a leaf
LEAST_LANDMARKS, MOST_LANDMARKS = 250, 500
# Leaves, and their size, that choose γ and λ. They take less time than two leaves of 1,000 rows
# with half of the γ; log loss of defaults, three draws each: 0.3902 (0.3965) on 100,000 rows of a
# rule, 0.4147 (0.4136) on 10,000, 0.5806 (0.5827) on 30,000 of four classes, 0.0500 (0.0504) on
# letter and 0.2962 (0.2969) on magic.
TRIAL_LEAVES, TRIAL_ROWS = 6, 500
GROUP_ROWS = 50_000  # of the leaves that meet on a worker


@dataclass(frozen=True)
class Plan:
    """All that a worker must know to fit leaves: the kernel, landmarks and trees.

    `coefficients` are a of the global function; `without` those of one without the held-out rows,
    whose places have the sorted numbers `asked`.
    """

    distance: Distance
    gamma: float
    tuning: Tuning
    offset: Floats
    landmarks: Landmarks
    coefficients: Floats
    without: Floats
    trees: tuple[LeafTree, ...]
    asked: Ints

    @property
    def kernel(self) -> "LandmarkKernel":
        return LandmarkKernel(self.distance, self.gamma, self.landmarks.X)

    def leaf_of(self, X: Floats, tree: LeafTree) -> Ints:
        """Return the leaf (n,) of rows."""
        return leaves_of(self.distance, self.landmarks.X, tree, X)

    def machine(self, places: TargetPlaces, views: tuple[Leaves, ...]) -> KernelMachine:
        """Return the machine of some places and leaves."""
        return KernelMachine(
            distance=self.distance,
            gamma=self.gamma,
            tuning=self.tuning,
            rows=places.X,
            numbers=places.numbers,
            targets=places.targets - self.offset,
            offset=self.offset,
            noise=self.tuning.ridge / places.weights,
            views=views,
            landmarks=self.landmarks,
            n_trees=len(self.trees),
        )


class LeafErrors(NamedTuple):
    """α and Gᵢᵢ of some places, by fits whose global function is without the held-out rows."""

    numbers: Ints
    alpha: Floats
    inverse: Floats

    @classmethod
    def joined(cls, some: list["LeafErrors"]) -> "LeafErrors":
        """Return those of several groups of leaves, in the order of the numbers."""
        numbers, alpha, inverse = map(np.concatenate, zip(*some, strict=True))
        order = np.argsort(numbers)
        return cls(numbers[order], alpha[order], inverse[order])


def fit_part(
    part: KernelPart,
    rows: ManyRows,
    metric: Metric | None,
    n_landmarks: int | None,
    rng: np.random.Generator,
) -> tuple[FittedPart, Floats, Floats]:
    """Fit a machine to many rows; return it, and what it says of the held-out ones.

    Of each held-out row, without it, the scores (s, t) and the variance (s,) in units of σ². The
    distance, and where to begin with γ and λ, come from a sample, which has none of these rows.
    Some leaves, as exact machines, choose γ and λ.
    """
    distance = part.distance(rows.sample, metric)
    few = rows.sample.take(even_rows(len(rows.sample.X), 1000))  # at which γ and λ start
    start = fit_machine(distance, few, None, part.gammas, part.ridges)
    unit = start.tuning.gamma / start.gamma
    n_trees, size, m = sizes(rows.n, n_landmarks)
    first, _ = distinct_rows(cast(Floats, rows.pool.X))
    X = cast(Floats, rows.pool.X)[first]
    marks = rng.permutation(len(X))[: max(m, PIVOTS)]
    to_pivots = distance(X, X[marks[:PIVOTS]])
    share = len(X) / rows.n
    trees = tuple(
        split_into_leaves(to_pivots, max(2, round(size * share)), rng)
        if size < rows.n
        else LeafTree.single(to_pivots.shape[1])
        for _ in range(n_trees)
    )
    tuning = start.tuning
    if len(part.gammas) * len(part.ridges) > 1:
        trial = trees[0]
        if size > TRIAL_ROWS:
            trial = split_into_leaves(to_pivots, max(2, round(TRIAL_ROWS * share)), rng)
        some = even_rows(trial.n_leaves, TRIAL_LEAVES)
        found = rows.each(in_leaves, distance, X[marks[:PIVOTS]], trial, some)
        leaves = joined_pieces(rows.gathered(found, "reading some leaves"))
        few_leaves = [each._replace(targets=each.targets - rows.offset) for each in leaves]
        tuning = tuned_in_leaves(part, few_leaves, distance, unit, tuning)
    landmarks = Landmarks.none(len(rows.offset))
    coefficients = without = np.zeros((0, len(rows.offset)))
    if m:
        numbers = cast(Ints, rows.pool.numbers)[first][marks[:m]]
        landmarks, coefficients, without = fit_landmarks(
            rows, distance, tuning, tuning.gamma / unit, X[marks[:m]], numbers
        )
    plan = Plan(
        distance=distance,
        gamma=tuning.gamma / unit,
        tuning=tuning,
        offset=rows.offset,
        landmarks=landmarks,
        coefficients=coefficients,
        without=without,
        trees=trees,
        asked=np.unique(rows.held_out.numbers),
    )
    machine, left_out = fit_on_cluster(plan, rows) if rows.on_cluster else fit_here(plan, rows)
    scores, variances = said_of_held_out(plan, rows.held_out, left_out)
    return machine, scores, variances


def sizes(n: int, n_landmarks: int | None) -> tuple[int, int, int]:
    """Return the numbers of trees, of rows of a leaf, and of landmarks for n rows.

    One leaf of all rows is exact, and needs no landmarks.
    """
    if n <= EXACT_ROWS and n_landmarks is None:
        return 1, n, 0
    size = int(np.clip(np.sqrt(LEAF_WORK / n), LEAST_LEAF, MOST_LEAF))
    m = int(np.clip(size // 2, LEAST_LANDMARKS, MOST_LANDMARKS))
    if n_landmarks is not None:
        m = n_landmarks
    n_trees = 2
    return n_trees, size, min(max(m, PIVOTS), n // 2)


class LandmarkKernel(NamedTuple):
    """exp(-γd) of rows and landmarks."""

    distance: Distance
    gamma: float
    landmarks: Floats

    def gram(self, X: Floats) -> Floats:
        if not len(self.landmarks):
            return np.zeros((len(X), 0))
        return gram_of(self.distance(X, self.landmarks), self.gamma)


def leaves_of(distance: Distance, pivots: Floats, tree: LeafTree, X: Floats) -> Ints:
    """Return the leaf (n,) of rows."""
    if tree.n_leaves == 1:
        return np.zeros(len(X), dtype=np.intp)
    steps = slices(len(X), GRAM_ENTRIES // PIVOTS)
    return np.concatenate([tree.leaf_of(distance(X[some], pivots[:PIVOTS])) for some in steps])


def in_leaves(
    block: TargetPlaces, distance: Distance, pivots: Floats, tree: LeafTree, some: Ints
) -> list[TargetPlaces]:
    """Return the places of a block in each of some leaves."""
    leaf_of = leaves_of(distance, pivots, tree, block.X)
    return [block.take(np.flatnonzero(leaf_of == leaf)) for leaf in some]


def tuned_in_leaves(
    part: KernelPart, few: list[TargetPlaces], distance: Distance, unit: float, start: Tuning
) -> Tuning:
    """Return γ and λ that predict left-out rows of some leaves, found from a start.

    In a leaf rows are as near to each other as in the whole table, and not as in a sample.
    """
    few = [each for each in few if len(each.X) > 1]
    among = [distance(each.X) for each in few]
    # narrower ones may be better among many rows than among a few
    gammas = (*part.gammas, 3 * part.gammas[-1]) if len(part.gammas) > 1 else part.gammas

    def with_best_ridge(gamma: float) -> tuple[float, Tuning]:
        grams = [np.exp(-gamma / unit * each) for each in among]

        def loss(ridge: float) -> tuple[float]:
            each = (
                solve_left_out(gram, own, ridge)[0] for gram, own in zip(grams, few, strict=True)
            )
            return (sum(each),)

        ridge, (left_out,) = best_of_near(loss, part.ridges, start.ridge)
        return left_out, Tuning(gamma, ridge)

    _, (_, found) = best_of_near(with_best_ridge, gammas, start.gamma)
    return found


# -- the global function ---------------------------------------------------------------------------


def fit_landmarks(
    rows: ManyRows,
    distance: Distance,
    tuning: Tuning,
    gamma: float,
    X: Floats,
    numbers: Ints,
) -> tuple[Landmarks, Floats, Floats]:
    """Return landmarks, and a (m, t) of all rows, and without those that are held out."""
    kernel = LandmarkKernel(distance, gamma, X)
    held_out = rows.held_out
    gram = kernel.gram(X)
    gram[np.diag_indices(len(X))] += JITTER  # a metric may not tell landmarks apart
    sums = sum_blocks(rows, kernel)
    out = row_sums(kernel, held_out.X, held_out.truth - rows.offset, held_out.weights)
    coefficients = solved_sums(gram, sums, tuning.ridge)
    landmarks = Landmarks(
        X=X,
        numbers=numbers,
        values=gram @ coefficients,
        root=lower_factor(gram.copy()),
        known=lower_factor(bolder(gram + sums[:, : len(X)] / tuning.ridge)),
    )
    return landmarks, coefficients, solved_sums(gram, sums - out, tuning.ridge)


def block_sums(block: TargetPlaces, kernel: LandmarkKernel, offset: Floats) -> Floats:
    """Return the sums of a block."""
    return row_sums(kernel, block.X, block.targets - offset, block.weights)


def row_sums(kernel: LandmarkKernel, X: Floats, targets: Floats, weights: Floats) -> Floats:
    """Return A = KᵀWK and b = KᵀWy of rows with centred targets (n, t), beside each other."""
    m = len(kernel.landmarks)
    squares, products = np.zeros((m, m)), np.zeros((m, targets.shape[1]))
    for some in slices(len(X), max(1, GRAM_ENTRIES // m)):
        roots = np.sqrt(weights[some])[:, None]
        gram = kernel.gram(X[some])
        gram *= roots
        squares += gram.T @ gram
        products += gram.T @ (roots * targets[some])
    return np.hstack([squares, products])


def sum_blocks(rows: ManyRows, kernel: LandmarkKernel) -> Floats:
    """Add up the sums of all rows, where they are, eight at a time."""
    found = rows.each(block_sums, kernel, rows.offset)
    if not rows.on_cluster:
        return cast(Floats, sum(found))
    while len(found) > 1:
        groups = [found[at : at + 8] for at in range(0, len(found), 8)]
        found = [_distributed.task(sum, group) for group in groups]
    return cast(Floats, _distributed.compute(found[0], doing="adding up the rows")[0])


def solved_sums(gram: Floats, sums: Floats, penalty: float) -> Floats:
    """Return a (m, t) of (A + λK) a = b; `gram` is K."""
    m = len(gram)
    root = lower_factor(bolder(sums[:, :m] + penalty * gram))
    return halved(root, halved(root, sums[:, m:]), transposed=True)


def bolder(system: Floats) -> Floats:
    """Return a system of landmarks of which rounding may have lost the least eigenvalues."""
    system[np.diag_indices(len(system))] *= 1 + 1e-12
    return system


# -- leaves ----------------------------------------------------------------------------------------


def fit_here(plan: Plan, rows: ManyRows) -> tuple[KernelMachine, list[LeafErrors]]:
    """Fit all leaves of rows in memory."""
    (places,) = rows.blocks
    fitted = [fit_view(plan, places, tree, 0, tree.n_leaves) for tree in plan.trees]
    return plan.machine(places, tuple(view for view, _ in fitted)), [left for _, left in fitted]


def fit_on_cluster(plan: Plan, rows: ManyRows) -> tuple[ClusterMachine, list[LeafErrors]]:
    """Fit all leaves of rows on a cluster, and leave them there."""
    sent = _distributed.held(plan)
    machines: list[Any] = []
    left_out = []
    for tree in plan.trees:
        n_groups = min(tree.n_leaves, -(-rows.n // GROUP_ROWS))
        cuts = np.linspace(0, tree.n_leaves, n_groups + 1).astype(int)
        pieces = rows.each(split_block, plan, tree, cuts)
        groups = []
        for at, (first, last) in enumerate(pairwise(cuts.tolist())):
            own = [_distributed.task(operator.getitem, piece, at) for piece in pieces]
            groups.append(_distributed.task(fit_group, sent, own, tree, first, last))
        kept = _distributed.persist(*groups, doing="fitting leaves")
        found = [_distributed.task(operator.getitem, each, 1) for each in kept]
        left_out.append(
            LeafErrors.joined(list(_distributed.compute(*found, doing="fitting leaves")))
        )
        machines += [_distributed.task(operator.getitem, each, 0) for each in kept]
    return ClusterMachine(tuple(machines), plan.tuning, plan.offset), left_out


def split_block(block: TargetPlaces, plan: Plan, tree: LeafTree, cuts: Ints) -> list[TargetPlaces]:
    """Return the places of a block in each group of leaves; groups begin at the cuts."""
    group = np.searchsorted(cuts, plan.leaf_of(block.X, tree), side="right") - 1
    return [block.take(np.flatnonzero(group == at)) for at in range(len(cuts) - 1)]


def fit_group(
    plan: Plan, pieces: list[TargetPlaces], tree: LeafTree, first: int, last: int
) -> tuple[KernelMachine, LeafErrors]:
    """Fit some leaves of a tree, of places from all blocks."""
    places = joined(pieces)
    view, left_out = fit_view(plan, places, tree, first, last)
    return plan.machine(places, (view,)), left_out


def fit_view(
    plan: Plan, places: TargetPlaces, tree: LeafTree, first: int, last: int
) -> tuple[Leaves, LeafErrors]:
    """Fit the leaves from the first to before the last, which have all of the places."""
    leaf_of = plan.leaf_of(places.X, tree) - first
    wanted = np.isin(places.numbers, plan.asked)
    order = np.lexsort((wanted, leaf_of))  # those that are asked for are the last of their leaf
    starts = np.searchsorted(leaf_of[order], np.arange(last - first + 1))
    noise = plan.tuning.ridge / places.weights
    targets = places.targets - plan.offset
    n, width = targets.shape
    coefficients = np.zeros((n, width))
    shared = np.zeros((last - first, len(plan.landmarks), width))
    left_out = [LeafErrors(np.zeros(0, dtype=np.intp), np.zeros((0, width)), np.zeros(0))]
    for leaf, (begin, end) in enumerate(pairwise(starts.tolist())):
        some = order[begin:end]
        own, cross = places.X[some], plan.kernel.gram(places.X[some])
        gram = gram_of(plan.distance(own), plan.gamma) if len(own) else np.zeros((0, 0))
        system = leaf_system(gram, noise[some], cross, plan.landmarks.root)
        missed = [targets[some] - cross @ a for a in (plan.coefficients, plan.without)]
        half = halved(system.root, np.hstack(missed))
        alpha, without = np.hsplit(halved(system.root, half, transposed=True), 2)
        coefficients[begin:end] = alpha
        shared[leaf] = plan.coefficients - halved(
            plan.landmarks.root, system.half @ alpha, transposed=True
        )
        out = np.flatnonzero(wanted[some])
        left_out.append(
            LeafErrors(
                places.numbers[some[out]], without[out], last_of_inverse(system.root, len(out))
            )
        )
    view = Leaves(tree, first, order, starts, coefficients, shared)
    return view, LeafErrors.joined(left_out)


def last_of_inverse(root: Floats, n: int) -> Floats:
    """Return the last n entries of the diagonal of (RRᵀ)⁻¹, for a lower triangular R.

    The last columns of R⁻¹ need nothing but the corner of R.
    """
    if not n:
        return np.zeros(0)
    half, _ = linalg.lapack.dtrtri(root[-n:, -n:], lower=True)
    return column_squares(half)


def said_of_held_out(
    plan: Plan, rows: HeldOutPlaces, left_out: list[LeafErrors]
) -> tuple[Floats, Floats]:
    """Return the scores (s, t) of held-out rows, and the variances (s,), by fits without each.

    Without its place, or where rows are counted without one of the rows there, see
    :meth:`TargetPlaces.left_out_loss`. Without its place, the leaf's function has the variance
    1/Gᵢᵢ less the noise there; rows of the place that stay, where rows are counted, reduce it.
    """
    places, ridge = rows.places, plan.tuning.ridge
    near = halved(plan.landmarks.known, plan.kernel.gram(rows.X).T)
    scores, variances = np.zeros_like(rows.truth), column_squares(near) + ridge
    for known in left_out:
        at = np.searchsorted(known.numbers, rows.numbers)
        alpha, inverse = known.alpha[at], known.inverse[at]
        rest, precision = np.zeros(len(at)), np.zeros(len(at))
        if rows.counted:
            rest = 1 - 1 / places.counts
            precision = rest * places.weights / ridge  # of rows that stay
        alone = 1 / inverse - ridge / places.weights
        variances += alone / (1 + alone * precision) / len(left_out)
        fitted = places.targets - (ridge / places.weights)[:, None] * alpha
        rest = rest + ridge * inverse / (np.where(rows.counted, places.counts, 1) * places.weights)
        scores += (rows.truth - (rows.truth - fitted) / rest[:, None]) / len(left_out)
    return scores, variances
