"""A kernel machine of many rows: landmarks for the global shape, and exact machines in leaves.

With K the kernel of m landmarks, and kₘ(x) that of a row and the landmarks, the global function is
the sum of kernels at landmarks with the least squared error (the Nyström method, Williams and
Seeger 2001),

    global(x) = kₘ(x)ᵀ a,  (A + λK) a = b,  A = Σ wᵢ kₘ(xᵢ) kₘ(xᵢ)ᵀ,  b = Σ wᵢ kₘ(xᵢ) yᵢ.

Sums are added up block by block. What the landmarks say of the kernel of two rows is Q = Kₙₘ K⁻¹ Kₘₙ.
In a leaf the rest K - Q of the kernel is the covariance of what the global function misses (as in
Snelson and Ghahramani 2007):

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
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self, cast

import numpy as np

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.rows import GivenRows, distinct_rows
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.dask_shards import Blocks
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.neighbors.search import slices
from cayleyklein.parts.base import FittedPart, Queries
from cayleyklein.parts.kernel import (
    GRAM_ENTRIES,
    JITTER,
    Distance,
    KernelMachine,
    KernelPart,
    Landmarks,
    Leaves,
    Tuning,
    best_ridge,
    column_squares,
    fit_machine,
    gram_of,
    halved,
    leaf_system,
    lower_factor,
    solve_left_out,
    summed_effects,
)
from cayleyklein.parts.leaves import PIVOTS, LeafTree, split_into_leaves
from cayleyklein.parts.places import Places, TargetPlaces, pool_rows

# Up to which all rows are one leaf. Of 6,000 rows leaves take longer, and have more log loss.
EXACT_ROWS = 6000
N_TREES = 2
LEAF_WORK = 1.6e10  # rows times the squared size of a leaf
LEAST_LEAF, MOST_LEAF = 500, 1000  # rows of a leaf
LEAST_LANDMARKS, MOST_LANDMARKS = 250, 500
TRIAL_LEAVES, TRIAL_ROWS = 2, 1000  # leaves, and their size, that choose γ and λ
START_PLACES = 1000  # places of the sample at which γ and λ start
GROUP_ROWS = 50_000  # of the leaves that meet on a worker


class HeldOut(NamedTuple):
    """Held-out rows, and their places among all rows.

    Attributes
    ----------
    X : ndarray of shape (s, d)
    truth : ndarray of shape (s, t)
        What machines are fitted to.
    weights : ndarray of shape (s,)
    numbers : ndarray of shape (s,)
        Numbers of their places.
    places : TargetPlaces
        These places, whose weights are those in the fit.
    counted : bool
        Whether one row of a place is left out, and not all of them.
    """

    X: Floats
    truth: Floats
    weights: Floats
    numbers: Ints
    places: TargetPlaces
    counted: bool


@dataclass(frozen=True)
class ManyRows:
    """Many rows to fit a machine to, in memory or on a cluster.

    Attributes
    ----------
    blocks : list
        `TargetPlaces` in memory, or tasks that yield them.
    n : int
        Number of places.
    offset : ndarray of shape (t,)
        Mean target.
    pool : GivenRows
        A sample in memory, without the held-out rows, with the numbers of their places.
    sample : TargetPlaces
        The places of a smaller sample.
    held_out : HeldOut
    on_cluster : bool
    """

    blocks: list[Any]
    n: int
    offset: Floats
    pool: GivenRows
    sample: TargetPlaces
    held_out: HeldOut
    on_cluster: bool

    @classmethod
    def of(
        cls,
        given: GivenRows,
        held_out: GivenRows,
        pool: GivenRows,
        sample: TargetPlaces,
        targets: Callable[[AnyArray], Floats],
        counted: bool,
    ) -> Self:
        """Take all rows, which have numbers, and those that are held out, with their targets.

        Rows in memory are pooled to places. On a cluster each is a place of its own.
        """
        truth = targets(held_out.target)
        all_targets = targets(given.target)
        offset = given.weights @ all_targets / given.weights.sum()
        blocks: list[Any]
        if isinstance(given.X, RowBlocks):
            starts = given.X.starts
            parts = zip(
                given.X.blocks,
                np.split(all_targets, starts[1:]),
                np.split(given.weights, starts[1:]),
                starts,
                strict=True,
            )
            blocks = [_distributed.task(block_of_places, *each) for each in parts]
            n = int((given.weights > 0).sum())
            places = block_of_places(held_out.X, truth, held_out.weights, 0)
            numbers = cast(Ints, held_out.numbers)
        else:
            every = pool_rows(given, all_targets, counted)
            every = every._replace(numbers=cast(Ints, given.numbers)[every.numbers])
            blocks, n = [every], len(every.X)
            of_rows = Places.pooled(given.X, given.weights, ordered=True).of_rows
            held = np.flatnonzero(np.isin(given.numbers, held_out.numbers))
            places = every.take(of_rows[held])
            numbers = places.numbers
        X = cast(Floats, held_out.X)
        held_places = HeldOut(X, truth, held_out.weights, numbers, places, counted)
        on_cluster = isinstance(given.X, RowBlocks)
        return cls(blocks, n, offset, pool, sample, held_places, on_cluster)

    def each(self, function: Callable[..., Any], *sent: Any) -> list[Any]:
        """Return a function of each block, or the tasks that will find it."""
        if not self.on_cluster:
            return [function(block, *sent) for block in self.blocks]
        values = [_distributed.held(value) for value in sent]
        return [_distributed.task(function, block, *values) for block in self.blocks]

    def gathered(self, found: list[Any], doing: str) -> list[Any]:
        """Return results in memory."""
        return list(_distributed.compute(*found, doing=doing)) if self.on_cluster else found


def block_of_places(X: Floats, targets: Floats, weights: Floats, start: int) -> TargetPlaces:
    """Return rows of positive weight, each a place of its own, numbered from a start."""
    kept = np.flatnonzero(weights > 0)
    ones = np.ones(len(kept))
    return TargetPlaces(X[kept], targets[kept], weights[kept], ones, 0 * ones, start + kept)


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


class LeftOut(NamedTuple):
    """α and Gᵢᵢ of some places, by fits whose global function is without the held-out rows."""

    numbers: Ints
    alpha: Floats
    inverse: Floats

    @classmethod
    def joined(cls, some: list["LeftOut"]) -> "LeftOut":
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
    few = rows.sample.take(even_rows(len(rows.sample.X), START_PLACES))
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
    return N_TREES, size, min(max(m, PIVOTS), n // 2)


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


def joined_pieces(by_block: list[list[TargetPlaces]]) -> list[TargetPlaces]:
    """Return the places of each leaf, or group of leaves, of all blocks."""
    return [joined(pieces) for pieces in zip(*by_block, strict=True)]


def joined(pieces: Any) -> TargetPlaces:
    """Return places one after the other."""
    return TargetPlaces(*map(np.concatenate, zip(*pieces, strict=True)))


def tuned_in_leaves(
    part: KernelPart, few: list[TargetPlaces], distance: Distance, unit: float, start: Tuning
) -> Tuning:
    """Return γ, of the start or a narrower one, and λ that predict left-out rows of some leaves.

    In a leaf rows are as near to each other as in the whole table, and not as in a sample.
    """
    few = [each for each in few if len(each.X) > 1]
    among = [distance(each.X) for each in few]
    best: dict[Tuning, float] = {}
    for gamma in sorted({start.gamma, 3 * start.gamma} if len(part.gammas) > 1 else {start.gamma}):
        grams = [np.exp(-gamma / unit * each) for each in among]

        def loss(ridge: float, grams: list[Floats] = grams) -> tuple[float]:
            each = (
                solve_left_out(gram, own, ridge)[0] for gram, own in zip(grams, few, strict=True)
            )
            return (sum(each),)

        ridge, (left_out,) = best_ridge(loss, part.ridges, start.ridge)
        best[Tuning(gamma, ridge)] = left_out
    return min(best, key=lambda tuning: best[tuning])


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


def fit_here(plan: Plan, rows: ManyRows) -> tuple[KernelMachine, list[LeftOut]]:
    """Fit all leaves of rows in memory."""
    (places,) = rows.blocks
    fitted = [fit_view(plan, places, tree, 0, tree.n_leaves) for tree in plan.trees]
    return plan.machine(places, tuple(view for view, _ in fitted)), [left for _, left in fitted]


def fit_on_cluster(plan: Plan, rows: ManyRows) -> tuple["ClusterMachine", list[LeftOut]]:
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
        left_out.append(LeftOut.joined(list(_distributed.compute(*found, doing="fitting leaves"))))
        machines += [_distributed.task(operator.getitem, each, 0) for each in kept]
    return ClusterMachine(tuple(machines), plan.tuning, plan.offset), left_out


def split_block(
    block: TargetPlaces, plan: Plan, tree: LeafTree, cuts: Ints
) -> list[TargetPlaces]:
    """Return the places of a block in each group of leaves; groups begin at the cuts."""
    group = np.searchsorted(cuts, plan.leaf_of(block.X, tree), side="right") - 1
    return [block.take(np.flatnonzero(group == at)) for at in range(len(cuts) - 1)]


def fit_group(
    plan: Plan, pieces: list[TargetPlaces], tree: LeafTree, first: int, last: int
) -> tuple[KernelMachine, LeftOut]:
    """Fit some leaves of a tree, of places from all blocks."""
    places = joined(pieces)
    view, left_out = fit_view(plan, places, tree, first, last)
    return plan.machine(places, (view,)), left_out


def fit_view(
    plan: Plan, places: TargetPlaces, tree: LeafTree, first: int, last: int
) -> tuple[Leaves, LeftOut]:
    """Fit the leaves from the first to before the last, which have all of the places."""
    leaf_of = plan.leaf_of(places.X, tree) - first
    order = np.argsort(leaf_of, kind="stable")
    starts = np.searchsorted(leaf_of[order], np.arange(last - first + 1))
    wanted = np.isin(places.numbers, plan.asked)
    noise = plan.tuning.ridge / places.weights
    targets = places.targets - plan.offset
    n, width = targets.shape
    coefficients = np.zeros((n, width))
    shared = np.zeros((last - first, len(plan.landmarks), width))
    left_out = [LeftOut(np.zeros(0, dtype=np.intp), np.zeros((0, width)), np.zeros(0))]
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
            LeftOut(places.numbers[some[out]], without[out], inverse_diagonal(system.root, out))
        )
    view = Leaves(tree, first, order, starts, coefficients, shared)
    return view, LeftOut.joined(left_out)


def inverse_diagonal(root: Floats, some: Ints) -> Floats:
    """Return (RRᵀ)⁻¹ᵢᵢ of some i, for a lower triangular R."""
    columns = np.zeros((len(root), len(some)))
    columns[some, np.arange(len(some))] = 1.0
    return column_squares(halved(root, columns))


def said_of_held_out(
    plan: Plan, rows: HeldOut, left_out: list[LeftOut]
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


@dataclass(frozen=True)
class ClusterMachine(FittedPart):
    """A machine whose leaves are on the workers of a cluster, as tasks that yield machines."""

    machines: tuple[Any, ...]
    tuning: Tuning
    offset: Floats

    @property
    def settings(self) -> Tuning:
        """γ, times the median distance, and λ."""
        return self.tuning

    def scores(self, X: Queries) -> Any:
        """Return f (m, t) at rows X, lazily unless they are in memory."""
        blocks = Blocks.of_array(X) if isinstance(X, np.ndarray) else X
        answers = []
        for block in blocks.tasks:
            found = [_distributed.task(leaf_scores, each, block) for each in self.machines]
            answers.append(_distributed.task(total_scores, found, self.offset))
        answered = Blocks(answers, blocks.lengths)
        if isinstance(X, np.ndarray):
            return answered.in_memory()[0]
        return answered.lazy(((len(self.offset),), np.float64))[0]

    def variances(self, X: Floats) -> Floats:
        """Return the variance (m,) of a new target at each row in memory, in units of σ²."""
        return cast(Floats, sum(self._asked("variances", X)))

    def row_effects(self, x: Floats) -> tuple[Ints, Floats]:
        """Return numbers of fitted rows (p,), and what each adds to the scores (p, t) of a row x."""
        numbers, added = zip(*self._asked("row_effects", x), strict=True)
        return summed_effects(np.concatenate(numbers), np.concatenate(added))

    def _asked(self, name: str, X: Floats) -> tuple[Any, ...]:
        tasks = [_distributed.task(operator.methodcaller(name, X), each) for each in self.machines]
        return _distributed.compute(*tasks, doing="asking the leaves")

    def __getstate__(self) -> Any:
        self.refuse_to_leave()

    def refuse_to_leave(self) -> None:
        """Raise the error of a model whose rows are on a cluster."""
        raise InvalidInputError(
            "The leaves of this model are on a Dask cluster, which it cannot leave. Fit it on rows "
            "in memory to keep it."
        )


def leaf_scores(machine: KernelMachine, X: Floats) -> Floats:
    """Return what the leaves of a machine add to the scores of rows."""
    return machine.leaf_scores(X)


def total_scores(found: list[Floats], offset: Floats) -> tuple[Floats]:
    """Return the sum of what leaves say."""
    return (cast(Floats, sum(found)) + offset,)
