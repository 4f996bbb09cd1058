"""The absolute, cross-ratios, complex measures, angles, the seven geometries, Hilbert geometry."""

from cayleyklein.geometry.projective._absolute import Absolute, adjugate, signature
from cayleyklein.geometry.projective._angles import (
    hyperplane_angle,
    hyperplane_measure,
    metric_angle,
)
from cayleyklein.geometry.projective._cross_ratio import (
    apply_collineation,
    cross_ratio,
    line_intersections,
)
from cayleyklein.geometry.projective._hilbert import Polytope, hilbert_distance
from cayleyklein.geometry.projective._measures import half_log, log_cross_ratio, measure
from cayleyklein.geometry.projective._taxonomy import (
    MEASUREMENT_GEOMETRIES,
    PLANAR_GEOMETRIES,
    PlanarGeometry,
    classify,
    measurement_geometry,
)

__all__ = [
    "MEASUREMENT_GEOMETRIES",
    "PLANAR_GEOMETRIES",
    "Absolute",
    "PlanarGeometry",
    "Polytope",
    "adjugate",
    "apply_collineation",
    "classify",
    "cross_ratio",
    "half_log",
    "hilbert_distance",
    "hyperplane_angle",
    "hyperplane_measure",
    "line_intersections",
    "log_cross_ratio",
    "measure",
    "measurement_geometry",
    "metric_angle",
    "signature",
]
