"""Kernel machines in curved metrics: ridge regression, whose mean is a Gaussian process's."""

from cayleyklein.kernels.classifier import CurvedKernelClassifier
from cayleyklein.kernels.estimator import KernelExplanation
from cayleyklein.kernels.regressor import CurvedKernelRegressor

__all__ = ["CurvedKernelClassifier", "CurvedKernelRegressor", "KernelExplanation"]
