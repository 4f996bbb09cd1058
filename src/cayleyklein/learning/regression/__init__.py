"""Learning from numbers: a metric for kernel regression, and the regressor that uses it."""

from cayleyklein.learning.regression._mlkr import CurvedMLKR
from cayleyklein.learning.regression._regressor import CurvedKNeighborsRegressor

__all__ = ["CurvedKNeighborsRegressor", "CurvedMLKR"]
