"""Machines and votes of many rows, in memory or on a cluster: a sum of kernels at m landmarks.

f(x) = Σⱼ aⱼ k(x, zⱼ) minimises Σᵢ wᵢ (yᵢ - f(xᵢ))² + λ‖f‖² over the span of m landmarks zⱼ (the
Nyström method, as Williams and Seeger 2001): (A + λ K) a = b with K the landmarks' Gram matrix,
A = Kₙₘᵀ W Kₙₘ and b = Kₙₘᵀ W y. A and b are sums over the rows: blocks of rows, in memory or on a
cluster, are added up, and memory is m² and one block. The first landmarks are a problem of their
own, whose A and b are corners of these.

Some rows are held out once. The metric and the weights of columns are learned from a sample of the
others, the machines are fitted to all others, and the held-out rows choose γ, λ, the number of
landmarks and the weights of the parts. At the end the held-out rows are added.
"""

from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple, Self, cast

import numpy as np
from scipy import linalg

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats, Ints
from cayleyklein.kernels import fitting, machine
from cayleyklein.kernels.columns import NormalScores
from cayleyklein.kernels.fitting import FittedSum, HeldOut, PartFitter
from cayleyklein.kernels.machine import Distance, KernelMachine, TargetPoints, Tuning
from cayleyklein.kernels.sums import LEARNED
from cayleyklein.learning import sampling
from cayleyklein.learning.rows import GivenRows, distinct_rows
from cayleyklein.selection import folds
from cayleyklein.selection.scores import TIE, gain_of

WORK = 2e11  # multiplications n m² that the sums of one machine may take: some seconds on two cores

FEWEST_LANDMARKS, MOST_LANDMARKS = 500, 2000
SHARES = (0.5, 1.0)  # of the landmarks that are tried: fewer, if as good, predict more quickly
JITTER = 1e-12  # relative growth of the diagonal of A + λK: rounding may lose least eigenvalues
SUMS_AT_A_TIME = 8  # sums of blocks that are added at a time on a cluster
TRIAL_ROWS, TRIAL_LANDMARKS = 20_000, 500  # of the fits that choose between two γ
VOTING_ROWS = 50_000  # among which held-out rows have neighbours while the parts are weighed
NARROWER = 3.0  # factor of a sample's γ, tried too: with more rows, nearer ones can decide
RANK_ROWS = 10_000  # rows whose ranks are the scores of columns


def fit_many(fitter: PartFitter, given: GivenRows, columns: str, wanted: int | None) -> FittedSum:
    """Fit the sum; with `wanted` landmarks, or as many as earn it."""
    rng, task = np.random.default_rng(fitter.seed), fitter.task
    given = replace(given, weights=given.weights / given.weights[given.weights > 0].mean())
    ranks = None
    if columns != "standardised":
        sample = drawn(given, machine.EXACT_POINTS, rng)
        if columns == "ranks" or fitting.ranks_may_help(fitter, sample):
            some = drawn(given, RANK_ROWS, rng)
            ranks = NormalScores.of(cast(Floats, some.X), some.weights)
            given = ranked_rows(given, ranks)
    kept = np.flatnonzero(given.weights > 0)
    size = min(folds.MOST_HELD_OUT, int(folds.HELD_OUT_SHARE * len(kept)))
    held = kept[sampling.draw(given.labels[kept], size, 0, rng)]
    weights = given.weights.copy()
    weights[held] = 0.0
    rest, held_out = replace(given, weights=weights), fitting.rows_in_memory(given, held)
    learned = bool(LEARNED & set(fitter.names))
    metric, learner = fitter.learn(rest, "sample") if learned else (None, None)
    X, pool = cast(Floats, held_out.X), drawn(rest, VOTING_ROWS, rng)
    sample = drawn(pool, machine.EXACT_POINTS, rng)
    points = fitting.pool_rows(sample, task.targets(sample.target), False)
    scores: dict[str, Floats] = {
        name: task.of_votes(voters._by_number(X, fitter.numbers))
        for name, voters in fitter.voters(pool, metric).items()
    }
    machines: dict[str, KernelMachine] = {}
    for name, distance in fitter.distances(points, metric).items():
        machines[name], scores[name] = fit_part(
            fitter, distance, points, pool, rest, held_out, wanted, rng
        )
    spreads = fitting.spread_of(task, machines, X)
    judged = HeldOut.judged(fitter, scores, held_out, len(held), spreads)
    return FittedSum.weighed(fitter, given, judged, machines, metric, learner, ranks)


def fit_part(
    fitter: PartFitter, distance: Distance, points: TargetPoints, pool: GivenRows,
    rest: GivenRows, held_out: GivenRows, wanted: int | None, rng: np.random.Generator,
) -> tuple[KernelMachine, Floats]:  # fmt: skip
    """Fit one machine by landmarks.

    γ is the sample's or a narrower one, by a small trial, and λ is about the best of the trial.
    """
    gammas, ridges, targets = fitter.gammas, fitter.ridges, fitter.task.targets
    tunings = [Tuning(gamma, ridge) for gamma in gammas for ridge in ridges]
    held_targets = targets(held_out.target)
    if len(tunings) > 1:
        start = machine.fit_machine(distance, points, None, gammas, ridges).tuning.gamma
        tried = {start, NARROWER * start} if len(gammas) > 1 else {start}
        tunings = [Tuning(gamma, ridge) for gamma in sorted(tried) for ridge in ridges]
        trial = drawn(pool, TRIAL_ROWS, rng)
        fitted, _ = fit_landmarks(
            distance, *drawn_landmarks(rest, TRIAL_LANDMARKS, rng), trial, held_out,
            targets(trial.target), held_targets, tunings,
        )  # fmt: skip
        gamma, at = fitted.tuning.gamma, ridges.index(fitted.tuning.ridge)
        tunings = [Tuning(gamma, ridge) for ridge in ridges[max(0, at - 1) : at + 2]]
    m = n_landmarks(int((rest.weights > 0).sum()), wanted)
    return fit_landmarks(
        distance, *drawn_landmarks(rest, m, rng), rest, held_out, targets(rest.target),
        held_targets, tunings,
    )  # fmt: skip


def drawn(given: GivenRows, size: int, rng: np.random.Generator) -> GivenRows:
    """Return a sample of rows of positive weight, by class, in memory."""
    X, target, weights = given.draw(size, 1, rng)
    return replace(given, X=X, target=target, weights=weights, source=X, always=None, searched=None)


def drawn_landmarks(given: GivenRows, size: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return distinct rows in a random order, drawn by class, and their numbers."""
    kept = np.flatnonzero(given.weights > 0)
    numbers = kept[sampling.draw(given.labels[kept], size, 1, rng)]
    X = cast(Floats, fitting.rows_in_memory(given, numbers).X)
    first, _ = distinct_rows(X)
    order = rng.permutation(first)[:size]
    return np.ascontiguousarray(X[order]), numbers[order]


def ranked_rows(given: GivenRows, ranks: NormalScores) -> GivenRows:
    """Return the rows with their columns as scores of ranks; Dask rows where they are."""
    if isinstance(given.X, RowBlocks):
        blocks = [_distributed.task(ranks.transform, block) for block in given.X.blocks]
        return replace(given, X=given.X._replace(blocks=blocks))
    return given.mapped(ranks.transform)


class BlockSums(NamedTuple):
    """A = KᵀWK (m, m) and b = KᵀWy (m, t) of some rows."""

    squares: Floats
    products: Floats

    def __add__(self, other: Self) -> Self:  # type: ignore[override]
        return type(self)(self.squares + other.squares, self.products + other.products)


@dataclass(frozen=True)
class LandmarkKernel:
    """exp(-γd) of rows and landmarks."""

    distance: Distance
    gamma: float
    landmarks: Floats

    def gram(self, X: Floats) -> Floats:
        return machine.gram_of(self.distance(X, self.landmarks), self.gamma)

    def sums(self, X: Floats, targets: Floats, weights: Floats) -> BlockSums:
        """Return the sums over rows with centred targets (n, t)."""
        m = len(self.landmarks)
        squares, products = np.zeros((m, m)), np.zeros((m, targets.shape[1]))
        step = max(1, machine.GRAM_ENTRIES // m)
        for at in range(0, len(X), step):
            some = slice(at, at + step)
            roots = np.sqrt(weights[some])[:, None]
            gram = self.gram(X[some])
            gram *= roots
            squares += gram.T @ gram
            products += gram.T @ (roots * targets[some])
        return BlockSums(squares, products)


def n_landmarks(n: int, wanted: int | None = None) -> int:
    """Return how many landmarks n rows get: as many as the work allows, at most half of them."""
    if wanted is not None:
        return max(2, min(wanted, n))
    most = int(np.clip(np.sqrt(WORK / n), FEWEST_LANDMARKS, MOST_LANDMARKS))
    return max(2, min(most, n // 2))


def sum_blocks(kernel: LandmarkKernel, rows: GivenRows, targets: Floats) -> BlockSums:
    """Add up the sums of all rows, where they are; `targets` (n, t) are in memory."""
    weights = rows.weights
    if not isinstance(rows.X, RowBlocks):
        kept = weights > 0
        return kernel.sums(rows.X[kept], targets[kept], weights[kept])
    sent = _distributed.held(kernel)
    ends = [start + n for start, n in zip(rows.X.starts, rows.X.lengths, strict=True)]
    found = [
        _distributed.task(LandmarkKernel.sums, sent, X, targets[start:end], weights[start:end])
        for X, start, end in zip(rows.X.blocks, rows.X.starts, ends, strict=True)
    ]
    while len(found) > 1:
        groups = [found[at : at + SUMS_AT_A_TIME] for at in range(0, len(found), SUMS_AT_A_TIME)]
        found = [_distributed.task(_added, group) for group in groups]
    return cast(BlockSums, _distributed.compute(found[0], doing="adding up the rows")[0])


def _added(sums: list[BlockSums]) -> BlockSums:
    return reduce(BlockSums.__add__, sums)


def solved_sums(gram: Floats, sums: BlockSums, ridge: float) -> Floats:
    """Return a (m, t) of (A + λK) a = b."""
    system = sums.squares + ridge * gram
    system[np.diag_indices(len(gram))] *= 1 + JITTER
    factor = linalg.cho_factor(system, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, sums.products, check_finite=False))


def fit_landmarks(
    distance: Distance, landmarks: Floats, numbers: Ints, rows: GivenRows, held_out: GivenRows,
    targets: Floats, held_targets: Floats, tunings: list[Tuning],
) -> tuple[KernelMachine, Floats]:  # fmt: skip
    """Fit a machine to all rows; return it, and the scores of held-out rows without them.

    The tuning and the share of the landmarks are those with the least squared error on the held-out
    rows; more landmarks must gain more than a tie. Then these rows are added.
    """
    mean = rows.weights @ targets / rows.weights.sum()
    among = distance(landmarks)
    unit = machine.typical_distance(among)
    X, truth = cast(Floats, held_out.X), held_targets - mean
    shares = held_out.weights / held_out.weights.sum()
    best: tuple[Floats, Tuning, int, BlockSums] | None = None
    for gamma in sorted({tuning.gamma for tuning in tunings}):
        kernel = LandmarkKernel(distance, gamma / unit, landmarks)
        sums = sum_blocks(kernel, rows, targets - mean)
        gram, held = np.exp(-kernel.gamma * among), kernel.gram(X)
        for m in (round(share * len(landmarks)) for share in SHARES):
            corner = BlockSums(sums.squares[:m, :m], sums.products[:m])
            for tuning in (each for each in tunings if each.gamma == gamma):
                a = solved_sums(gram[:m, :m], corner, tuning.ridge)
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
    corner = BlockSums(sums.squares[:m, :m], sums.products[:m])
    scores = kernel.gram(X) @ solved_sums(gram, corner, tuning.ridge) + mean
    corner += kernel.sums(X, truth, held_out.weights)
    coefficients = solved_sums(gram, corner, tuning.ridge)
    noise = np.full(m, tuning.ridge * m / len(rows.weights))
    fitted = KernelMachine(
        distance, kernel.gamma, tuning, kernel.landmarks, numbers[:m], gram @ coefficients,
        coefficients, mean, noise,
    )  # fmt: skip
    return fitted, scores
