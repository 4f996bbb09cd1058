"""Support vector machines in curved metrics: kernels of a metric, and hyperplanes of a space."""

from cayleyklein.svm._linear import CurvedLinearSVC
from cayleyklein.svm._svc import CurvedSVC

__all__ = ["CurvedLinearSVC", "CurvedSVC"]
