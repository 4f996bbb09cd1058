"""Pictures: Display classes in scikit-learn's manner, on matplotlib (the extra ``plot``).

A class method ``from_…`` computes, and ``plot(ax=None)`` draws. Figures keep one look:
the fundamental conic in thick black, equal axes, colours that everyone can tell apart.
"""

from cayleyklein.plotting._balls import BallDisplay
from cayleyklein.plotting._boundary import DecisionBoundaryDisplay, Regions, Samples
from cayleyklein.plotting._charts import ChartDisplay, ChartPanel
from cayleyklein.plotting._cross_ratio import CrossRatioDisplay
from cayleyklein.plotting._geodesics import GeodesicDisplay
from cayleyklein.plotting._metric import MetricDisplay
from cayleyklein.plotting._voronoi import VoronoiDisplay

__all__ = [
    "BallDisplay",
    "ChartDisplay",
    "ChartPanel",
    "CrossRatioDisplay",
    "DecisionBoundaryDisplay",
    "GeodesicDisplay",
    "MetricDisplay",
    "Regions",
    "Samples",
    "VoronoiDisplay",
]
