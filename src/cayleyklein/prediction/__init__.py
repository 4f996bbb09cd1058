"""Predicting by a metric: votes of neighbours, means of their targets, and explanations."""

from cayleyklein.prediction.classifier import CurvedKNeighborsClassifier, Explanation
from cayleyklein.prediction.regressor import CurvedKNeighborsRegressor

__all__ = ["CurvedKNeighborsClassifier", "CurvedKNeighborsRegressor", "Explanation"]
