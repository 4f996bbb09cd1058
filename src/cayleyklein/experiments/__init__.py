"""Experiments: the paper's tables by its protocol, and comparisons on other data."""

from cayleyklein.experiments._compare import Comparison, compare
from cayleyklein.experiments._methods import COMPARED as COMPARED
from cayleyklein.experiments._page import Table as Table
from cayleyklein.experiments._problems import FULL, QUICK, Problem, Protocol, load_problem
from cayleyklein.experiments._problems import PROBLEMS as PROBLEMS
from cayleyklein.experiments._reproduce import Reproduction, reproduce
from cayleyklein.experiments._runs import calibration as calibration
from cayleyklein.experiments._runs import log_loss as log_loss
from cayleyklein.experiments._statistics import PairedDifference, paired_difference

# Names imported "as" themselves are for the other folders of this package, not for users.

__all__ = [
    "FULL",
    "QUICK",
    "Comparison",
    "PairedDifference",
    "Problem",
    "Protocol",
    "Reproduction",
    "compare",
    "load_problem",
    "paired_difference",
    "reproduce",
]
