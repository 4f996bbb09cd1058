"""The large-margin loss and its gradient, one formula for every curvature (paper §4).

With targets j of row i, impostors l (rows of another class), margin m and weights w,

    ε = Σ_i w_i { (1-π) Σ_j φ(d_ij) + π Σ_j Σ_l [m + φ(d_ij) - φ(d_il)]₊ },

φ(d) = d² for the classic flat loss and φ(d) = d for the paper's curved ones. For row i the
hinges over (i, j, l) are a sum over impostors l, each with the integer number of targets j that
it violates, so that nothing of the size of the triplets is ever formed.

Distances enter through the square chord c² = (4/K) sin²(√K d/2), which is smooth in K, monotone in
d, and has the gradient

    ∂c²/∂z_p = (2/σ_p) (C u_p - u_q),    u = z/σ,    C = 1 - K c²/2.
"""

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein._threads import Threads
from cayleyklein.learning._kernels import find_forces, gather_forces, transpose

__all__ = ["Gradient", "Links", "Pairs", "Problem", "loss_and_gradient"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

DOMAIN_EDGE = 1e-10
"""S(x, x) a row must keep: a line search that goes further sees an infinite loss."""

CHUNK_PAIRS = 100_000
"""Pairs a task."""


@dataclass(frozen=True)
class Problem:
    """The data and the constants of one loss.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows beyond those of `targets` have no term of their own: they are neighbours of the others.
    targets : ndarray of shape (n, k)
        Row indices of target neighbours, -1 for none.
    weights : ndarray of shape (n,)
    margin : float
    push : float
        π in [0, 1], the share of the push term.
    squared : bool
        φ(d) = d² rather than d.
    """

    X: Array
    targets: Index
    weights: Array
    margin: float
    push: float
    squared: bool


class Pairs(NamedTuple):
    """Impostor candidates of each row, in compressed rows."""

    first: Index
    column: Index


class Links(NamedTuple):
    """All pairs of a loss in compressed rows, by row and by column.

    The first k of each row are its targets, the row itself standing for one it lacks; the others
    are its impostors.
    """

    first: Index
    column: Index
    column_first: Index
    place: Index
    row: Index

    @classmethod
    def of(cls, targets: Index, pairs: Pairs, n_columns: int | None = None) -> "Links":
        """Join targets (n, k), -1 for none, and impostors, among n or more rows."""
        n, k = targets.shape
        first = pairs.first + k * np.arange(n + 1)
        column = np.empty(first[-1], dtype=np.int64)
        at = first[:-1, None] + np.arange(k)
        column[at] = np.where(targets >= 0, targets, np.arange(n)[:, None])
        impostors = np.ones(len(column), dtype=bool)
        impostors[at] = False
        column[impostors] = pairs.column
        all_rows = n_columns or n
        first = np.append(first, np.full(all_rows - n, first[-1]))
        return cls(first, column, *transpose(first, column, all_rows))


class Gradient(NamedTuple):
    """A loss, its derivatives in L, μ, K and z, and the number of violated triplets."""

    loss: float
    factor: Array
    center: Array
    curvature: float
    rows: Array
    n_active: int


def cut(links: Links) -> list[tuple[int, int]]:
    """Cut the rows into ranges of about equal work, whose results do not depend on the cut."""
    n = len(links.first) - 1
    chunks = int(min(n, 1 + links.first[-1] // CHUNK_PAIRS))
    edges = np.searchsorted(links.first, np.linspace(0, links.first[-1], chunks + 1)[1:-1])
    bounds = [0, *np.maximum.accumulate(edges).tolist(), n]
    return [(i, j) for i, j in pairwise(bounds) if j > i]


def loss_and_gradient(
    problem: Problem,
    links: Links,
    factor: Array,
    center: Array,
    curvature: float,
    pool: Threads | None = None,
    *,
    bends: bool = True,
) -> Gradient:
    """Return the loss at (L, μ, K) over the given pairs, and its gradient.

    A pure function. ∂/∂K is only computed where the curvature `bends`, and is 0 otherwise. The loss
    is inf, and the gradient zero, where a row leaves a hyperbolic domain.
    """
    offset = problem.X - center
    z = offset @ factor.T
    a = np.einsum("ij,ij->i", z, z)
    s = 1 + curvature * a
    if not (s > DOMAIN_EDGE).all() or not np.isfinite(s).all():
        return Gradient(
            np.inf, np.zeros_like(factor), np.zeros_like(center), 0.0, np.zeros_like(z), 0
        )
    sigma = np.sqrt(s)

    own, k = problem.targets.shape
    force, along = np.empty(len(links.column)), np.empty(len(links.column))
    sums, gradient = np.empty((own, 3)), np.empty_like(z)

    def find(rows: tuple[int, int]) -> None:
        find_forces(
            z, a, sigma, curvature, bends, k, links.first, links.column, problem.weights,
            problem.margin, problem.push, problem.squared, (rows[0], min(rows[1], own)),
            force, along, sums,
        )  # fmt: skip

    def gather(rows: tuple[int, int]) -> None:
        gather_forces(z, sigma, *links, force, along, rows, gradient)

    ranges = cut(links)
    for task in (find, gather):
        deque((pool.map if pool else map)(task, ranges), maxlen=0)
    loss, by_K, n_active = sums.sum(axis=0)
    return Gradient(
        loss=float(loss),
        factor=gradient.T @ offset,
        center=-gradient.sum(axis=0) @ factor,
        curvature=float(by_K),
        rows=gradient,
        n_active=int(n_active),
    )
