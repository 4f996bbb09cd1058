"""Where a number stands beside the paper's."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cayleyklein.experiments._outcomes import Outcome, accuracies
from cayleyklein.experiments._paper import PaperCell
from cayleyklein.experiments._statistics import standard_error

__all__ = ["SYMBOLS", "Mark", "mark_against", "tolerance"]

ROUNDING = 0.0005
"""Half of the last digit that the paper prints."""

SYMBOLS = {"above": "▲", "level": "=", "below": "▼"}


class Mark(NamedTuple):
    """Our mean beside a number of the paper: "above", "level" or "below".

    Examples
    --------
    >>> from cayleyklein.experiments import PAPER_CELLS, Mark
    >>> Mark("above", PAPER_CELLS[0]).kind
    'above'
    """

    kind: str
    paper: PaperCell


def tolerance(outcomes: Sequence[Outcome], *, is_partition: bool) -> float:
    """Return by how much numbers may differ and still be level.

    The paper gives no errors. Where each row is tested once it is one row, and otherwise one
    standard error of ours; either way with half a digit for the paper's rounding. A single split
    has no standard error, and tells nothing apart.
    """
    if is_partition:
        return 1 / sum(outcome.n_test for outcome in outcomes) + ROUNDING
    if len(outcomes) < 2:
        return math.inf
    return standard_error(accuracies(outcomes)) + ROUNDING


def mark_against(paper: PaperCell, outcomes: Sequence[Outcome], *, is_partition: bool) -> Mark:
    """Compare our mean with a number of the paper."""
    gap = float(np.mean(accuracies(outcomes))) - paper.accuracy
    if abs(gap) <= tolerance(outcomes, is_partition=is_partition):
        return Mark("level", paper)
    return Mark("above" if gap > 0 else "below", paper)
