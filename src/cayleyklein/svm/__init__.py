"""Hyperplanes of largest margin in spaces of constant curvature."""

from cayleyklein.svm._linear import CurvedLinearSVC

__all__ = ["CurvedLinearSVC"]
