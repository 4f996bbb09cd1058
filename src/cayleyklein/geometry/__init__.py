"""Pure array geometry: absolute, distances, angles, charts, geodesics, bisectors, balls, Hilbert.

Points carry their coordinates along the last axis, with any leading batch shape. Most
functions take a :class:`Frame` (L, μ, K), the parameters of one curved geometry.
"""

from cayleyklein.geometry._absolute import Absolute, adjugate, signature
from cayleyklein.geometry._angles import hyperplane_angle, hyperplane_measure
from cayleyklein.geometry._balls import Ball, ball_from_ellipsoid
from cayleyklein.geometry._bisectors import Hyperplane, bisector, proximity_planes
from cayleyklein.geometry._charts import CHARTS, from_chart, to_chart
from cayleyklein.geometry._convex import ConvexBody
from cayleyklein.geometry._cross_ratio import apply_collineation, cross_ratio, line_intersections
from cayleyklein.geometry._distances import distance
from cayleyklein.geometry._ellipsoids import Ellipsoid
from cayleyklein.geometry._forms import (
    blocks_from_form,
    canonical_factor,
    curvature_from_kappa,
    form_from_blocks,
    form_from_frame,
    frame_from_form,
    kappa_from_curvature,
    spectral_factor,
)
from cayleyklein.geometry._frames import Frame
from cayleyklein.geometry._geodesics import (
    exp_map,
    geodesic,
    log_map,
    metric_tensor,
    midpoint,
    vertex_angle,
)
from cayleyklein.geometry._hilbert import Polytope, hilbert_distance
from cayleyklein.geometry._isometries import reflection, transvection
from cayleyklein.geometry._measures import log_cross_ratio, measure
from cayleyklein.geometry._taxonomy import (
    MEASUREMENT_GEOMETRIES,
    PLANAR_GEOMETRIES,
    PlanarGeometry,
    classify,
    measurement_geometry,
)

__all__ = [
    "CHARTS",
    "MEASUREMENT_GEOMETRIES",
    "PLANAR_GEOMETRIES",
    "Absolute",
    "Ball",
    "ConvexBody",
    "Ellipsoid",
    "Frame",
    "Hyperplane",
    "PlanarGeometry",
    "Polytope",
    "adjugate",
    "apply_collineation",
    "ball_from_ellipsoid",
    "bisector",
    "blocks_from_form",
    "canonical_factor",
    "classify",
    "cross_ratio",
    "curvature_from_kappa",
    "distance",
    "exp_map",
    "form_from_blocks",
    "form_from_frame",
    "frame_from_form",
    "from_chart",
    "geodesic",
    "hilbert_distance",
    "hyperplane_angle",
    "hyperplane_measure",
    "kappa_from_curvature",
    "line_intersections",
    "log_cross_ratio",
    "log_map",
    "measure",
    "measurement_geometry",
    "metric_tensor",
    "midpoint",
    "proximity_planes",
    "reflection",
    "signature",
    "spectral_factor",
    "to_chart",
    "transvection",
    "vertex_angle",
]
