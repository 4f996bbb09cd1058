"""Experiments: the paper's tables by its protocol, and the same on anybody's data."""

from cayleyklein.experiments._compare import (
    Comparison,
    DataSetComparison,
    MethodResult,
    compare,
)
from cayleyklein.experiments._outcomes import Outcome
from cayleyklein.experiments._paper import PAPER_CELLS, Mark, PaperCell
from cayleyklein.experiments._problems import Problem, load_problem
from cayleyklein.experiments._protocols import FULL, QUICK, Protocol
from cayleyklein.experiments._reproduce import CellResult, Reproduction, reproduce
from cayleyklein.experiments._runs import Cell, Step
from cayleyklein.experiments._statistics import (
    PairedDifference,
    Ranking,
    holm,
    paired_difference,
    rank_methods,
    standard_error,
)

__all__ = [
    "FULL",
    "PAPER_CELLS",
    "QUICK",
    "Cell",
    "CellResult",
    "Comparison",
    "DataSetComparison",
    "Mark",
    "MethodResult",
    "Outcome",
    "PairedDifference",
    "PaperCell",
    "Problem",
    "Protocol",
    "Ranking",
    "Reproduction",
    "Step",
    "compare",
    "holm",
    "load_problem",
    "paired_difference",
    "rank_methods",
    "reproduce",
    "standard_error",
]
