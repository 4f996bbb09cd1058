"""Pictures: Display classes in scikit-learn's manner, on matplotlib (the extra ``plot``).

A class method ``from_…`` computes, and ``plot(ax=None)`` draws. Figures keep one look: the
fundamental conic in thick black, equal axes, colours that everyone can tell apart.
"""

from cayleyklein.plotting._boundary import DecisionBoundaryDisplay
from cayleyklein.plotting._charts import ChartDisplay
from cayleyklein.plotting._curvature import CurvatureDisplay
from cayleyklein.plotting._lines import CrossRatioDisplay, GeodesicDisplay
from cayleyklein.plotting._map import MapDisplay
from cayleyklein.plotting._metric import BallDisplay, MetricDisplay
from cayleyklein.plotting._voronoi import VoronoiDisplay
from cayleyklein.plotting._weights import FeatureWeightsDisplay

__all__ = [
    "BallDisplay", "ChartDisplay", "CrossRatioDisplay", "CurvatureDisplay",
    "DecisionBoundaryDisplay", "FeatureWeightsDisplay", "GeodesicDisplay", "MapDisplay",
    "MetricDisplay", "VoronoiDisplay",
]  # fmt: skip
