"""Predicting by a metric: votes of neighbours, means of their targets, and explanations."""

from cayleyklein.prediction.classifier import CurvedKNeighborsClassifier
from cayleyklein.prediction.predictor import Explanation
from cayleyklein.prediction.regressor import CurvedKNeighborsRegressor

__all__ = ["CurvedKNeighborsClassifier", "CurvedKNeighborsRegressor", "Explanation"]
