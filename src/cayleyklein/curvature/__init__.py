"""Are data curved? A verdict against flat rivals, an estimate of the curvature, and Gromov's δ."""

from cayleyklein.curvature.estimate import CurvatureEstimate, CurvatureProfile, estimate_curvature
from cayleyklein.curvature.gromov import GromovDelta, gromov_delta
from cayleyklein.curvature.verdicts import Margin, Margins

__all__ = [
    "CurvatureEstimate",
    "CurvatureProfile",
    "GromovDelta",
    "Margin",
    "Margins",
    "estimate_curvature",
    "gromov_delta",
]
