"""Experiments: the paper's tables by its protocol, and comparisons on other data."""

from cayleyklein.experiments._compare import Comparison, compare
from cayleyklein.experiments._reproduce import Reproduction, reproduce
from cayleyklein.experiments.problems import FULL, QUICK, Problem, Protocol, load_problem
from cayleyklein.experiments.scores import PairedDifference, paired_difference

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
