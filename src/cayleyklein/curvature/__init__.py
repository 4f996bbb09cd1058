"""How curved are data? An estimate of the curvature with an interval."""

from cayleyklein.curvature.estimate import CurvatureEstimate, CurvatureProfile, estimate_curvature

__all__ = ["CurvatureEstimate", "CurvatureProfile", "estimate_curvature"]
