"""Learning from numbers: a metric for kernel regression, and the regressor that uses it."""

from cayleyklein.learning.regression._mlkr import CurvedMLKR
from cayleyklein.learning.regression._regressor import CurvedKNeighborsRegressor
from cayleyklein.learning.regression._selection import RegressionTrial

__all__ = ["CurvedKNeighborsRegressor", "CurvedMLKR", "RegressionTrial"]
