"""Are data curved? A verdict against flat rivals, and an estimate of the curvature."""

from cayleyklein.curvature.estimate import CurvatureEstimate, CurvatureProfile, estimate_curvature
from cayleyklein.curvature.verdicts import Margin, Margins

__all__ = ["CurvatureEstimate", "CurvatureProfile", "Margin", "Margins", "estimate_curvature"]
