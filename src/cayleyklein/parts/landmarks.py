"""A kernel machine of many rows, in memory or on a cluster: a sum of kernels at m landmarks.

f(x) = Σⱼ aⱼ k(x, zⱼ) minimises Σᵢ wᵢ (yᵢ - f(xᵢ))² + λ‖f‖² over the span of m landmarks zⱼ (the
Nyström method, as Williams and Seeger 2001): (A + λ K) a = b with K the landmarks' Gram matrix,
A = Kₙₘᵀ W Kₙₘ and b = Kₙₘᵀ W y. A and b are sums over the rows: blocks of rows, in memory or on a
cluster, are added up, and memory is m² and one block. The first landmarks are a problem of their
own, whose A and b are corners of these.

The machine is fitted to all rows but some held-out ones, which choose γ, λ and the number of
landmarks. At the end they are added.
"""

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
from scipy import linalg

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.learning.rows import GivenRows, distinct_rows, draw_by_class
from cayleyklein.learning.samples import TIE, gain_of
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.search import slices
from cayleyklein.parts.kernel import (
    GRAM_ENTRIES,
    Distance,
    KernelMachine,
    KernelPart,
    Tuning,
    fit_machine,
    gram_of,
    typical_distance,
)
from cayleyklein.parts.places import TargetPlaces

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
    noise = np.full(m, tuning.ridge * m / (rest.weights.sum() + held_out.weights.sum()))
    fitted = KernelMachine(
        distance=distance,
        gamma=kernel.gamma,
        tuning=tuning,
        rows=kernel.landmarks,
        numbers=numbers[:m],
        targets=gram @ coefficients,
        coefficients=coefficients,
        offset=mean,
        noise=noise,
    )
    return fitted, scores
