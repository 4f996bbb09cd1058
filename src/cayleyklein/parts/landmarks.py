"""A kernel machine of many rows: landmarks for the global shape, and exact machines in leaves.

With K the kernel of m landmarks, and Q = Kₙₘ K⁻¹ Kₘₙ what they say of the kernel of the rows, the
kernel of two rows is taken to be Q, and in one leaf the exact one (the partially independent
conditional of Snelson and Ghahramani 2007). With Λ = λW⁻¹ + (exact kernel - Q) of a leaf,
B = K + Σ Kₘᵦ Λ⁻¹ Kᵦₘ and b = Σ Kₘᵦ Λ⁻¹ yᵦ, summed over the leaves, and a = B⁻¹ b,

    α = Λ⁻¹ (yᵦ - Kᵦₘ a),  f(x) = kₘ(x)ᵀ a + (kᵦ(x) - Kᵦₘ K⁻¹ kₘ(x))ᵀ α,
    yᵢ - f₋ᵢ(xᵢ) = αᵢ / Gᵢᵢ,  Gᵢᵢ = (Λ⁻¹ - Λ⁻¹ Kᵦₘ B⁻¹ Kₘᵦ Λ⁻¹)ᵢᵢ               without row i.

One leaf is the exact machine, whatever the landmarks, and leaves without rows of their own are a
sum of kernels at landmarks (the Nyström method, Williams and Seeger 2001). Two trees with other
leaves are averaged, so that the seams between leaves hardly show.

With leaves all rows are fitted once. The scores of rows that neither the metric nor the weights of
columns have seen are those without them, in closed form; they weigh the parts. Landmarks alone need
nothing but the sums A = KₘₙWKₙₘ and KₘₙWy, which are added up where the rows are, in memory or on a
cluster; some rows are held out, choose γ, λ and the number of landmarks, and are added at the end.
The same rows choose between leaves and landmarks alone.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from scipy import linalg

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.learning.rows import GivenRows, distinct_rows, draw_by_class
from cayleyklein.learning.samples import TIE, gain_of
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.neighbors.search import slices
from cayleyklein.parts.kernel import (
    GRAM_ENTRIES,
    Distance,
    KernelMachine,
    KernelPart,
    Leaves,
    Tuning,
    best_ridge,
    column_squares,
    fit_machine,
    gram_of,
    halved,
    landmark_root,
    leaf_system,
    solve_left_out,
    typical_distance,
)
from cayleyklein.parts.leaves import PIVOTS, LeafTree, split_into_leaves
from cayleyklein.parts.places import TargetPlaces

# Up to which all rows are one leaf. Of 6,000 rows leaves take longer, and have more log loss.
EXACT_ROWS = 6000
# Beyond, landmarks only: of 100,000 generated rows leaves with fewer landmarks were worse.
LEAVES_UP_TO = 30_000
LEAVES_GAIN = 2  # standard errors by which leaves must be better than landmarks alone
LEAF_WORK = 1.6e10  # rows times the squared size of a leaf
LEAST_LEAF, MOST_LEAF = 500, 1500  # rows of a leaf
LANDMARK_WORK = 6.4e6  # rows times landmarks
LEAST_LANDMARKS, MOST_LANDMARKS = 250, 1000
TRIAL_LEAVES, TRIAL_ROWS = 2, 1000  # leaves, and their size, that choose γ and λ

SHARES = (0.5, 1.0)  # of the landmarks that are tried: fewer, if as good, predict more quickly


class ManyRows(NamedTuple):
    """Rows of which some are held out, to fit a part to.

    Attributes
    ----------
    rest : GivenRows
        All rows, those that are held out with the weight 0.
    held_out : GivenRows
        The held-out rows, in memory.
    pool : GivenRows
        A sample of `rest` in memory.
    sample : TargetPlaces
        The places of a smaller sample.
    targets : callable
        Makes what machines are fitted to, of targets.
    """

    rest: GivenRows
    held_out: GivenRows
    pool: GivenRows
    sample: TargetPlaces
    targets: Callable[[AnyArray], Floats]


def fit_by_landmarks(
    part: KernelPart,
    rows: ManyRows,
    metric: Metric | None,
    n_landmarks: int | None,
    rng: np.random.Generator,
) -> tuple[KernelMachine, Floats]:
    """Fit a machine to many rows; return it, and the scores of held-out rows without them.

    γ is the sample's or a narrower one, by a small trial, and λ is about the best of the trial.
    Without a number of landmarks there are as many as earn it.
    """
    gammas, ridges = part.gammas, part.ridges
    distance = part.distance(rows.sample, metric)
    tunings = [Tuning(gamma, penalty) for gamma in gammas for penalty in ridges]
    if len(tunings) > 1:
        start = fit_machine(distance, rows.sample, None, gammas, ridges).tuning.gamma
        # a narrower one, too: with more rows, nearer ones can decide
        tried = {start, 3 * start} if len(gammas) > 1 else {start}
        tunings = [Tuning(gamma, penalty) for gamma in sorted(tried) for penalty in ridges]
        trial = rows._replace(rest=rows.pool.draw(20_000, 1, rng))
        some = drawn_landmarks(rows.rest, 500, rng)
        fitted, _ = fit_landmarks(distance, *some, trial, tunings)
        gamma = fitted.tuning.gamma
        at = ridges.index(fitted.tuning.ridge)
        tunings = [Tuning(gamma, penalty) for penalty in ridges[max(0, at - 1) : at + 2]]
    n = int((rows.rest.weights > 0).sum())
    # the sums of a machine take n m² multiplications: some seconds on two cores
    most = min(int(np.clip(np.sqrt(2e11 / n), 500, 2000)), n // 2)
    size = max(2, most if n_landmarks is None else min(n_landmarks, n))
    landmarks, numbers = drawn_landmarks(rows.rest, size, rng)
    return fit_landmarks(distance, landmarks, numbers, rows, tunings)


def drawn_landmarks(given: GivenRows, size: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return distinct rows in a random order, drawn by class, and their numbers."""
    kept = np.flatnonzero(given.weights > 0)
    numbers = kept[draw_by_class(given.labels[kept], size, 1, rng)]
    X = cast(Floats, given.take(numbers).X)
    first, _ = distinct_rows(X)
    order = rng.permutation(first)[:size]
    return np.ascontiguousarray(X[order]), numbers[order]


class LandmarkKernel(NamedTuple):
    """exp(-γd) of rows and landmarks."""

    distance: Distance
    gamma: float
    landmarks: Floats

    def gram(self, X: Floats) -> Floats:
        return gram_of(self.distance(X, self.landmarks), self.gamma)


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


def sum_blocks(kernel: LandmarkKernel, rows: GivenRows, targets: Floats) -> Floats:
    """Add up the sums of all rows, where they are; `targets` (n, t) are in memory."""
    weights = rows.weights
    if not isinstance(rows.X, RowBlocks):
        kept = weights > 0
        return row_sums(kernel, rows.X[kept], targets[kept], weights[kept])
    sent, cuts = _distributed.held(kernel), rows.X.starts[1:]
    parts = zip(rows.X.blocks, np.split(targets, cuts), np.split(weights, cuts), strict=True)
    found = [_distributed.task(row_sums, sent, *part) for part in parts]
    while len(found) > 1:
        groups = [found[at : at + 8] for at in range(0, len(found), 8)]
        found = [_distributed.task(sum, group) for group in groups]
    return cast(Floats, _distributed.compute(found[0], doing="adding up the rows")[0])


def solved_sums(gram: Floats, sums: Floats, penalty: float) -> Floats:
    """Return a (m, t) of (A + λK) a = b, of the first m landmarks; `gram` is K of these."""
    m, n = len(gram), len(sums)
    system = sums[:m, :m] + penalty * gram
    system[np.diag_indices(m)] *= 1 + 1e-12  # rounding may lose least eigenvalues
    factor = linalg.cho_factor(system, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, sums[:m, n:], check_finite=False))


def fit_landmarks(
    distance: Distance, landmarks: Floats, numbers: Ints, rows: ManyRows, tunings: list[Tuning]
) -> tuple[KernelMachine, Floats]:
    """Fit a machine to all rows; return it, and the scores of held-out rows without them.

    The tuning and the share of the landmarks are those with the least squared error on the held-out
    rows; more landmarks must gain more than a tie. Then these rows are added.
    """
    rest, held_out = rows.rest, rows.held_out
    targets = rows.targets(rest.target)
    mean = rest.weights @ targets / rest.weights.sum()
    among = distance(landmarks)
    unit = typical_distance(among)
    X = cast(Floats, held_out.X)
    truth = rows.targets(held_out.target) - mean
    shares = held_out.weights / held_out.weights.sum()
    best: tuple[Floats, Tuning, int, Floats] | None = None
    for gamma in sorted({tuning.gamma for tuning in tunings}):
        kernel = LandmarkKernel(distance, gamma / unit, landmarks)
        sums = sum_blocks(kernel, rest, targets - mean)
        gram = np.exp(-kernel.gamma * among)
        held = kernel.gram(X)
        for m in (round(share * len(landmarks)) for share in SHARES):
            for tuning in (each for each in tunings if each.gamma == gamma):
                a = solved_sums(gram[:m, :m], sums, tuning.ridge)
                losses = ((held[:, :m] @ a - truth) ** 2).sum(axis=1)
                if best is not None:
                    gain, error = gain_of(best[0], losses, shares)
                    if gain <= (TIE * error if m > best[2] else 0.0):
                        continue
                best = losses, tuning, m, sums
    assert best is not None
    _, tuning, m, sums = best
    kernel = LandmarkKernel(distance, tuning.gamma / unit, landmarks[:m])
    gram = np.exp(-kernel.gamma * among[:m, :m])
    scores = kernel.gram(X) @ solved_sums(gram, sums, tuning.ridge) + mean
    sums = np.delete(sums[:m], slice(m, len(landmarks)), axis=1)  # of the landmarks that are kept
    sums += row_sums(kernel, X, truth, held_out.weights)
    coefficients = solved_sums(gram, sums, tuning.ridge)
    none = np.zeros(0, dtype=np.intp)
    view = Leaves(
        tree=LeafTree.single(PIVOTS),
        order=none,
        starts=np.zeros(2, dtype=np.intp),
        coefficients=np.zeros((0, len(mean))),
        shared=coefficients[None],
        root=factored(gram + sums[:, :m] / tuning.ridge),
    )
    fitted = KernelMachine(
        distance=distance,
        gamma=kernel.gamma,
        tuning=tuning,
        rows=kernel.landmarks,
        numbers=numbers[:m],
        targets=gram @ coefficients,
        offset=mean,
        noise=np.full(m, tuning.ridge),
        views=(view,),
        landmarks=np.arange(m),
    )
    return fitted, scores


def factored(system: Floats) -> Floats:
    """Return the Cholesky factor of a system of landmarks; rounding may lose least eigenvalues."""
    system[np.diag_indices(len(system))] *= 1 + 1e-12
    return np.asarray(linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False))


# -- rows in memory ------------------------------------------------------------------------


class AskedPlaces(NamedTuple):
    """Places to fit a machine to, and those of them whose scores are asked for without them.

    Attributes
    ----------
    all : TargetPlaces
        The places of all rows.
    asked : ndarray of shape (s,)
        The place of each held-out row.
    truth : ndarray of shape (s, t)
        What machines are fitted to of these rows.
    counted : bool
        Whether one row of the place is left out, and not all of them.
    """

    all: TargetPlaces
    asked: Ints
    truth: Floats
    counted: bool


def fit_part(
    part: KernelPart,
    rows: ManyRows,
    asked: AskedPlaces | None,
    metric: Metric | None,
    n_landmarks: int | None,
    rng: np.random.Generator,
) -> tuple[KernelMachine, Floats, Floats]:
    """Fit a machine to many rows; return it, and what it says of the held-out ones.

    Of each held-out row, without it, the scores (m, t) and the variance (m,) in units of σ². Rows
    on a cluster, which have no `asked` places, have landmarks only, and so have very many rows.
    Between them and leaves with fewer landmarks the held-out rows choose. Leaves must be clearly
    better, as landmarks alone are judged by a fit without all of these rows.
    """
    n = 0 if asked is None else len(asked.all.X)
    by_leaves = None
    if asked is not None and n <= LEAVES_UP_TO:
        by_leaves = fit_by_leaves(part, asked, rows.sample, metric, n_landmarks, rng)
        if n <= EXACT_ROWS and n_landmarks is None:
            return by_leaves
    fitted, scores = fit_by_landmarks(part, rows, metric, n_landmarks, rng)
    if by_leaves is not None:
        truth = rows.targets(rows.held_out.target)
        shares = rows.held_out.weights / rows.held_out.weights.sum()
        before, after = (((said - truth) ** 2).sum(axis=1) for said in (scores, by_leaves[1]))
        gain, error = gain_of(before, after, shares)
        if gain > LEAVES_GAIN * error:
            return by_leaves
    return fitted, scores, fitted.variances(cast(Floats, rows.held_out.X))


def fit_by_leaves(
    part: KernelPart,
    rows: AskedPlaces,
    sample: TargetPlaces,
    metric: Metric | None,
    n_landmarks: int | None,
    rng: np.random.Generator,
) -> tuple[KernelMachine, Floats, Floats]:
    """Fit a machine to many rows in memory; return it, and what it says of the asked ones.

    Of each asked row, without it, the scores (s, t) and the variance (s,) in units of σ². The
    distance, and where to begin with γ and λ, come from a sample, which has none of the asked
    rows. Some leaves, as exact machines, choose γ and λ.
    """
    places, mean = rows.all.centred()
    distance = part.distance(sample, metric)
    start = fit_machine(distance, sample, None, part.gammas, part.ridges)
    unit = start.tuning.gamma / start.gamma
    n = len(places.X)
    n_views, size, m = plan(n, n_landmarks)
    landmarks = rng.permutation(n)[:m]
    pivots = landmarks if m else rng.permutation(n)[:PIVOTS]
    to_pivots = distance(places.X, places.X[pivots[:PIVOTS]])
    trees = [split_into_leaves(to_pivots, size, rng) for _ in range(n_views)]
    tuning = start.tuning
    if len(part.gammas) * len(part.ridges) > 1:
        trial = trees[0] if size <= TRIAL_ROWS else split_into_leaves(to_pivots, TRIAL_ROWS, rng)
        tuning = tuned_in_leaves(part, places, distance, unit, tuning, trial.leaf_of(to_pivots))
    noise = tuning.ridge / places.weights
    kernel = LandmarkKernel(distance, tuning.gamma / unit, places.X[landmarks])
    views: list[Leaves] = []
    said = np.zeros_like(rows.truth)
    variances = np.zeros(len(rows.asked))
    for tree in trees:
        view, alpha, inverse = fit_view(
            kernel, places, noise, tree, tree.leaf_of(to_pivots), rows.asked
        )
        views.append(view)
        said += left_out_scores(rows, places, tuning.ridge, alpha, inverse) / n_views
        variances += left_out_variances(rows, places, tuning.ridge, inverse) / n_views
    fitted = KernelMachine(
        distance=distance,
        gamma=kernel.gamma,
        tuning=tuning,
        rows=places.X,
        numbers=places.numbers,
        targets=places.targets,
        offset=mean,
        noise=noise,
        views=tuple(views),
        landmarks=landmarks,
    )
    return fitted, said + mean, variances


def plan(n: int, n_landmarks: int | None) -> tuple[int, int, int]:
    """Return the numbers of views, of rows of a leaf, and of landmarks for n rows.

    One leaf of all rows is exact, and needs no landmarks.
    """
    if n <= EXACT_ROWS and n_landmarks is None:
        return 1, n, 0
    size = int(np.clip(np.sqrt(LEAF_WORK / n), LEAST_LEAF, MOST_LEAF))
    m = int(np.clip(LANDMARK_WORK / n, LEAST_LANDMARKS, MOST_LANDMARKS))
    if n_landmarks is not None:
        m = n_landmarks
    return 2, size, min(max(m, PIVOTS), n // 2)


def tuned_in_leaves(
    part: KernelPart,
    places: TargetPlaces,
    distance: Distance,
    unit: float,
    start: Tuning,
    leaf_of: Ints,
) -> Tuning:
    """Return γ, of the start or a narrower one, and λ that predict left-out rows of some leaves.

    In a leaf rows are as near to each other as in the whole table, and not as in a sample.
    """
    n_leaves = int(leaf_of.max()) + 1
    some = [np.flatnonzero(leaf_of == leaf) for leaf in even_rows(n_leaves, TRIAL_LEAVES)]
    few = [places.take(rows) for rows in some if len(rows) > 1]
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


def fit_view(
    kernel: LandmarkKernel,
    places: TargetPlaces,
    noise: Floats,
    tree: LeafTree,
    leaf_of: Ints,
    asked: Ints,
) -> tuple[Leaves, Floats, Floats]:
    """Fit the leaves of a tree; return them, α of all places (n, t), and Gᵢᵢ (n,) of those asked.

    Gᵢᵢ of other places is 1.
    """
    n, width = places.targets.shape
    m = len(kernel.landmarks)
    order = np.argsort(leaf_of, kind="stable")
    starts = np.searchsorted(leaf_of[order], np.arange(tree.n_leaves + 1))
    root = landmark_root(kernel.distance, kernel.gamma, kernel.landmarks)
    system, sums = root @ root.T, np.zeros((m, width))
    solved: list[Floats] = []
    inverse = np.ones(n)
    wanted = np.zeros(n, dtype=bool)
    wanted[asked] = True
    leaves = [order[start:end] for start, end in pairwise(starts.tolist())]
    alpha = np.zeros((n, width))
    for rows in leaves:
        leaf = leaf_system(
            kernel.distance, kernel.gamma, places.X, rows, noise, kernel.landmarks, root
        )
        alone = linalg.cho_solve((leaf.root, True), places.targets[rows], check_finite=False)
        alpha[rows] = alone
        inverse[rows[wanted[rows]]] = inverse_diagonal(leaf.root, np.flatnonzero(wanted[rows]))
        system += leaf.weighed.T @ leaf.weighed
        sums += leaf.cross.T @ alone
        solved.append(leaf.solved)
    joint = factored(system) if m else system
    a = halved(joint, halved(joint, sums), transposed=True) if m else sums
    shared = np.zeros((len(leaves), m, width))
    for at, (rows, each) in enumerate(zip(leaves, solved, strict=True)):
        alpha[rows] -= each @ a
        if m:
            own = rows[wanted[rows]]
            inverse[own] -= column_squares(halved(joint, each[wanted[rows]].T))
            cross = kernel.gram(places.X[rows]).T @ alpha[rows]
            shared[at] = a - linalg.cho_solve((root, True), cross, check_finite=False)
    return Leaves(tree, order, starts, alpha[order], shared, joint), alpha, inverse


def inverse_diagonal(root: Floats, some: Ints) -> Floats:
    """Return (RRᵀ)⁻¹ᵢᵢ of some i, for a lower triangular R."""
    columns = np.zeros((len(root), len(some)))
    columns[some, np.arange(len(some))] = 1.0
    return column_squares(halved(root, columns))


def left_out_scores(
    rows: AskedPlaces, places: TargetPlaces, ridge: float, alpha: Floats, inverse: Floats
) -> Floats:
    """Return the scores (s, t) of held-out rows by a fit without each, but for the mean.

    Without its place, or where rows are counted without one of the rows there, see
    :meth:`TargetPlaces.left_out_loss`.
    """
    at = rows.asked
    if not rows.counted:
        return np.asarray(places.targets[at] - alpha[at] / inverse[at, None])
    weights, counts = places.weights[at], places.counts[at]
    centred = rows.truth - (rows.all.targets - places.targets)[at]
    fitted = places.targets[at] - (ridge / weights)[:, None] * alpha[at]
    rest = 1 - 1 / counts + ridge * inverse[at] / (counts * weights)
    return np.asarray(centred - (centred - fitted) / rest[:, None])


def left_out_variances(
    rows: AskedPlaces, places: TargetPlaces, ridge: float, inverse: Floats
) -> Floats:
    """Return the variance (s,) of a new target at each held-out row by a fit without it.

    Without its place, f has the variance 1/Gᵢᵢ less the noise there; rows of the place that stay,
    where rows are counted, reduce it.
    """
    weights = places.weights[rows.asked]
    alone = 1 / inverse[rows.asked] - ridge / weights
    if rows.counted:
        precision = (1 - 1 / places.counts[rows.asked]) * weights / ridge  # of rows that stay
        alone = alone / (1 + alone * precision)
    return np.asarray(alone + ridge)
