"""Kernel machines of many rows: a sum of kernels at m landmarks, fitted to all rows.

f(x) = Σⱼ aⱼ k(x, zⱼ) minimises Σᵢ wᵢ (yᵢ - f(xᵢ))² + λ‖f‖² over the span of m landmarks zⱼ (the
Nyström method, as Williams and Seeger 2001): (A + λ K) a = b with K the landmarks' Gram matrix,
A = Kₙₘᵀ W Kₙₘ and b = Kₙₘᵀ W y. A and b are sums over the rows: blocks of rows, in memory or on a
cluster, are added up, and memory is m² and one block. The first landmarks are a problem of their
own, whose A and b are corners of these.
"""

from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, Self, cast

import numpy as np
from scipy import linalg

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats, Ints
from cayleyklein.kernels.machine import (
    GRAM_ENTRIES,
    Distance,
    KernelMachine,
    Tuning,
    gram_of,
    typical_distance,
)
from cayleyklein.learning.rows import GivenRows
from cayleyklein.selection.scores import TIE, gain_of

WORK = 2e11  # multiplications n m² that the sums of one machine may take: some seconds on two cores

FEWEST_LANDMARKS, MOST_LANDMARKS = 500, 2000

# Shares of the landmarks that are tried: where fewer do as well, predicting is quicker.
SHARES = (0.5, 1.0)

# Relative growth of the diagonal of A + λK, whose least eigenvalues may be lost to rounding.
JITTER = 1e-12

SUMS_AT_A_TIME = 8  # sums of blocks that are added at a time on a cluster


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
        return gram_of(self.distance.pairwise(X, self.landmarks), self.gamma)

    def sums(self, X: Floats, targets: Floats, weights: Floats) -> BlockSums:
        """Return the sums over rows with centred targets (n, t)."""
        m = len(self.landmarks)
        squares, products = np.zeros((m, m)), np.zeros((m, targets.shape[1]))
        step = max(1, GRAM_ENTRIES // m)
        for at in range(0, len(X), step):
            some = slice(at, at + step)
            roots = np.sqrt(weights[some])[:, None]
            gram = self.gram(X[some]) * roots
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
    among = distance.pairwise(landmarks)
    unit = typical_distance(among)
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
    machine = KernelMachine(
        distance, kernel.gamma, tuning, kernel.landmarks, numbers[:m], gram @ coefficients,
        coefficients, mean, noise,
    )  # fmt: skip
    return machine, scores
