"""Predictors: learn a metric, add what parts say, and explain the answer."""

from cayleyklein.learning.choice import Selection, Trial
from cayleyklein.learning.samples import Stage
from cayleyklein.prediction.classifier import CurvedKernelClassifier, CurvedKNeighborsClassifier
from cayleyklein.prediction.counterfactual import Counterfactual
from cayleyklein.prediction.explain import Explanation, KernelExplanation
from cayleyklein.prediction.explanation_tables import Explanations
from cayleyklein.prediction.regressor import CurvedKernelRegressor, CurvedKNeighborsRegressor
from cayleyklein.prediction.suspicious import SuspiciousRows

__all__ = [
    "Counterfactual",
    "CurvedKNeighborsClassifier",
    "CurvedKNeighborsRegressor",
    "CurvedKernelClassifier",
    "CurvedKernelRegressor",
    "Explanation",
    "Explanations",
    "KernelExplanation",
    "Selection",
    "Stage",
    "SuspiciousRows",
    "Trial",
]
