"""The two tables of the paper's section 5, as data, and the two readings of the first one's k."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cayleyklein.experiments._outcomes import Outcome, accuracies
from cayleyklein.experiments._statistics import standard_error

__all__ = [
    "METHODS_IN_PRINT",
    "PAPER_ALPHA",
    "PAPER_CELLS",
    "SYMBOLS",
    "TABLES",
    "Mark",
    "PaperCell",
    "mark_against",
    "paper_cells",
    "tolerance",
]


class PaperCell(NamedTuple):
    """A number of the paper and where it stands.

    Attributes
    ----------
    table : {"exp", "targets", "mixed"}
        Its LaTeX label without ``tab:``; "targets" is "exp" with k read as the target neighbours.
    row, column : int
        From 0, headers not counted; the columns of numbers only.
    dataset, method : str
    k : int
        The neighbours that vote.
    n_targets : int or None
        The target neighbours that a metric is learned with; None leaves them to the learner.
    accuracy : float
    bold : bool
        As printed: the largest of its row, without a test.

    Examples
    --------
    >>> from cayleyklein.experiments import PAPER_CELLS
    >>> PAPER_CELLS[0]
    PaperCell(table='exp', row=0, column=0, dataset='wine', method='elliptic', k=1,
              n_targets=None, accuracy=0.989, bold=True)
    >>> len(PAPER_CELLS)
    114
    """

    table: str
    row: int
    column: int
    dataset: str
    method: str
    k: int
    n_targets: int | None
    accuracy: float
    bold: bool


# A star is the paper's bold face; the dash is empty in print.
# The paper does not say what k is. It may be the neighbours that vote, as the k of k-NN is. But
# its text and caption have "3-NN" throughout, its Mahalanobis column is the same for every k, and
# its section 4 has k for the target neighbours. "targets" is that reading.
EXP = """
k   dataset  elliptic  hyperbolic  flat
1   wine     0.989*    0.865       0.984
1   vowel    0.832*    0.797       0.827
1   balance  0.924*    0.891       0.846
1   pima     0.726*    0.706       0.709
3   wine     0.983     0.871       0.984*
3   vowel    0.828*    0.782       0.827
3   balance  0.917*    0.911       0.846
3   pima     0.706     0.695       0.709*
5   wine     0.983     -           0.984*
5   vowel    0.826     0.805       0.827*
5   balance  0.907*    0.895       0.846
5   pima     0.714*    0.712       0.709
11  wine     0.994*    0.983       0.984
11  vowel    0.839*    0.767       0.827
11  balance  0.874     0.897*      0.846
11  pima     0.713*    0.698       0.709
"""

MIXED = """
k  dataset  flat    elliptic  hyperbolic  mixed
3  wine     0.993*  0.984     0.893       0.986
3  sonar    0.733   0.788     0.640       0.802*
3  balance  0.846   0.910     0.904       0.920*
3  pima     0.709   0.712     0.699       0.720*
3  vowel    0.827   0.825     0.816       0.841*
"""

TABLES = {"exp": EXP, "targets": EXP, "mixed": MIXED}

VOTES = 3
"""The neighbours that vote where k is the target neighbours."""

PAPER_ALPHA = {"wine": 0.741, "sonar": 0.794, "balance": 0.440, "pima": 0.584, "vowel": 0.407}
"""The share of the elliptic distance in the paper's mixed one; β = 1 - α."""


def read_cells(table: str) -> list[PaperCell]:
    """Read a table that is written as above."""
    (_, _, *methods), *rows = (line.split() for line in TABLES[table].strip().splitlines())
    return [
        PaperCell(
            table=table,
            row=row,
            column=column,
            dataset=dataset,
            method=methods[column],
            k=VOTES if table == "targets" else int(k),
            n_targets=int(k) if table == "targets" else None,
            accuracy=float(text.removesuffix("*")),
            bold=text.endswith("*"),
        )
        for row, (k, dataset, *texts) in enumerate(rows)
        for column, text in enumerate(texts)
        if text != "-"
    ]


PAPER_CELLS = tuple(cell for table in TABLES for cell in read_cells(table))

METHODS_IN_PRINT = frozenset(cell.method for cell in PAPER_CELLS)


def paper_cells(dataset: str, method: str, k: int, n_targets: int | None = None) -> list[PaperCell]:
    """Return what the paper has for a cell: nothing, a number, or one in each table.

    >>> [(cell.table, cell.accuracy) for cell in paper_cells("wine", "flat", 3)]
    [('exp', 0.984), ('mixed', 0.993)]
    """
    wanted = (dataset, method, k, n_targets)
    return [c for c in PAPER_CELLS if (c.dataset, c.method, c.k, c.n_targets) == wanted]


# -- our number beside the paper's --------------------------------------------------

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
