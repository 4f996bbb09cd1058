"""The parts that an answer may have, by name and in the order in which they are listed.

Users ask for parts by these names, or give estimators.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.parts import distances, kernel
from cayleyklein.parts.base import Part
from cayleyklein.parts.boosting import RulesPart
from cayleyklein.parts.estimator import EstimatorPart, check_estimator, says_it_takes_tables
from cayleyklein.parts.kernel import KernelPart
from cayleyklein.parts.votes import NEIGHBORS, VotesPart

# Distinct rows from which trees join by default. What they change, in accuracy and log loss: of 500
# rows +0.001 and -0.003 on 14 mixed tables and nothing on 15 numeric ones; of 700 rows +0.07 and
# -0.12 on five hard problems. Of 150 rows, for half of the time again, +0.002 ± 0.002 and
# 0.000 ± 0.002 on the numeric tables, and +0.04 ± 0.03 on the hard ones, where thresholds decide.
RULES_FROM = 300
FORMS = (
    'a name, an estimator, ("mine", estimator), or ("mine", estimator, "table") for one that takes '
    "the columns as they were given"
)


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


def asked_parts(
    asked: Any, n_places: int, options: PartOptions, seed: int, *, numeric: bool
) -> list[Part]:
    """Return the parts that are asked for: those of `PARTS` in their order, then estimators.

    "auto" is those for so many distinct rows. Estimators without a seed get this one.
    """
    if isinstance(asked, str) and asked == "auto":
        asked = ["metric", "columns", "neighbors", "plain"]
        if n_places >= RULES_FROM:
            asked.append("rules")
    names: list[str] = []
    estimators: list[Part] = []
    for part in asked if isinstance(asked, tuple | list) else [asked]:
        if isinstance(part, str):
            names.append(part)
        else:
            estimators.append(estimator_part(part, seed, numeric=numeric))
    every = names + [part.name for part in estimators]
    if set(names) - set(PARTS) or not every or len(set(every)) < len(every):
        raise InvalidInputError(
            f"parts must be one or more of {', '.join(PARTS)}, or estimators, each once; got "
            f"{every}. A part is {FORMS}."
        )
    return [make(options) for name, make in PARTS.items() if name in names] + estimators


def estimator_part(given: Any, seed: int, *, numeric: bool) -> EstimatorPart:
    """Return the part of an estimator, of its name and the estimator, or of these and "table"."""
    name: Any = ""
    estimator = given
    sees = ""
    if isinstance(given, tuple | list):
        if len(given) == 2:
            name, estimator = given
        elif len(given) == 3:
            name, estimator, sees = given
        named = isinstance(name, str) and name != "" and name not in PARTS
        if not named or sees not in ("", "table"):
            raise InvalidInputError(f"A part must be {FORMS}; got {given!r}.")
    if not hasattr(estimator, "fit"):
        raise InvalidInputError(f"A part must be {FORMS}; got {estimator!r}.")
    if not name:
        kind = estimator if isinstance(estimator, type) else type(estimator)
        name = kind.__name__
    check_estimator(name, estimator, numeric=numeric)
    takes_tables = sees == "table" or says_it_takes_tables(estimator)
    return EstimatorPart(name, estimator, seed, takes_tables)
