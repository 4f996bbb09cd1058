"""Pictures: Display classes in scikit-learn's manner, on matplotlib (the extra ``plot``).

A class method ``from_…`` computes, and ``plot(ax=None)`` draws. All figures look alike:
the fundamental conic in thick black, equal axes, colours for the colour-blind.
"""

from cayleyklein.plotting._diagrams import ChartDisplay, VoronoiDisplay
from cayleyklein.plotting._graphs import CurvatureDisplay, FeatureWeightsDisplay
from cayleyklein.plotting._learned import DecisionBoundaryDisplay, MetricDisplay
from cayleyklein.plotting._maps import MapDisplay
from cayleyklein.plotting._plane import BallDisplay, CrossRatioDisplay, GeodesicDisplay
from cayleyklein.plotting.paper_figures import PAPER_FIGURES, paper_figure

__all__ = [
    "PAPER_FIGURES",
    "BallDisplay",
    "ChartDisplay",
    "CrossRatioDisplay",
    "CurvatureDisplay",
    "DecisionBoundaryDisplay",
    "FeatureWeightsDisplay",
    "GeodesicDisplay",
    "MapDisplay",
    "MetricDisplay",
    "VoronoiDisplay",
    "paper_figure",
]
