"""Pure array geometry: absolute, distances, angles, charts, geodesics, bisectors, balls, Hilbert.

Points have their coordinates along the last axis, with any leading batch shape. Geodesics and
whatever else belongs to a metric are methods of :class:`cayleyklein.CurvedMetric`.
"""

from cayleyklein.geometry._balls import Ball, ConvexBody, Ellipsoid, ball_from_ellipsoid
from cayleyklein.geometry.bisectors import Hyperplane, proximity_planes
from cayleyklein.geometry.charts import CHARTS, chart_distance, from_chart, to_chart
from cayleyklein.geometry.geodesics import metric_tensor
from cayleyklein.geometry.projective._absolute import (
    PLANAR_GEOMETRIES,
    Absolute,
    PlanarGeometry,
    classify,
    signature,
)  # fmt: skip
from cayleyklein.geometry.projective._cross_ratio import (
    Polytope,
    apply_collineation,
    cross_ratio,
    hilbert_distance,
    line_intersections,
)  # fmt: skip
from cayleyklein.geometry.projective.angles import hyperplane_angle, hyperplane_measure, measure
from cayleyklein.geometry.space import curvature_from_kappa, form_from_blocks

__all__ = [
    "CHARTS", "PLANAR_GEOMETRIES", "Absolute", "Ball", "ConvexBody", "Ellipsoid", "Hyperplane",
    "PlanarGeometry", "Polytope", "apply_collineation", "ball_from_ellipsoid", "chart_distance",
    "classify", "cross_ratio", "curvature_from_kappa", "form_from_blocks", "from_chart",
    "hilbert_distance", "hyperplane_angle", "hyperplane_measure", "line_intersections", "measure",
    "metric_tensor", "proximity_planes", "signature", "to_chart",
]  # fmt: skip
