"""The parts that an answer may have, by name and in the order in which they are listed."""

from collections.abc import Callable
from dataclasses import dataclass

from cayleyklein.parts import distances, kernel
from cayleyklein.parts.base import Part
from cayleyklein.parts.boosting import RulesPart
from cayleyklein.parts.kernel import KernelPart
from cayleyklein.parts.votes import NEIGHBORS, VotesPart


@dataclass(frozen=True)
class PartOptions:
    """What is tried by the parts.

    Attributes
    ----------
    gammas, ridges : tuple of float
        γ, times the median distance between rows, and λ of kernel machines.
    numbers : tuple of int
        Numbers of neighbours.
    n_jobs : int or None
        Threads of a search.
    """

    gammas: tuple[float, ...] = kernel.GAMMAS
    ridges: tuple[float, ...] = kernel.RIDGES
    numbers: tuple[int, ...] = NEIGHBORS
    n_jobs: int | None = None


def metric_kernel(options: PartOptions) -> Part:
    return KernelPart("metric", None, options.gammas, options.ridges)


def column_kernel(options: PartOptions) -> Part:
    return KernelPart("columns", distances.weigh_columns, options.gammas, options.ridges)


def rank_kernel(options: PartOptions) -> Part:
    return KernelPart("ranks", distances.rank_distance, options.gammas, options.ridges)


def metric_votes(options: PartOptions) -> Part:
    return VotesPart("neighbors", True, options.numbers, options.n_jobs)


def plain_votes(options: PartOptions) -> Part:
    return VotesPart("plain", False, options.numbers, options.n_jobs)


def boosted_trees(options: PartOptions) -> Part:
    return RulesPart()


PARTS: dict[str, Callable[[PartOptions], Part]] = {
    "metric": metric_kernel,
    "columns": column_kernel,
    "ranks": rank_kernel,
    "neighbors": metric_votes,
    "plain": plain_votes,
    "rules": boosted_trees,
}
