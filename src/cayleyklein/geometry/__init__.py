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
)
from cayleyklein.geometry.projective._cross_ratio import (
    Polytope,
    apply_collineation,
    cross_ratio,
    hilbert_distance,
    line_intersections,
)
from cayleyklein.geometry.projective._decompositions import (
    SpectralForm,
    UnitCholesky,
    adjugate,
    spectral_form,
    unit_cholesky,
)
from cayleyklein.geometry.projective.angles import hyperplane_angle, hyperplane_measure, measure
from cayleyklein.geometry.projective.signed import signed_hyperplane_measure, signed_measure
from cayleyklein.geometry.space import (
    curvature_from_kappa,
    form_from_blocks,
    kappa_from_curvature,
)

__all__ = [
    "CHARTS",
    "PLANAR_GEOMETRIES",
    "Absolute",
    "Ball",
    "ConvexBody",
    "Ellipsoid",
    "Hyperplane",
    "PlanarGeometry",
    "Polytope",
    "SpectralForm",
    "UnitCholesky",
    "adjugate",
    "apply_collineation",
    "ball_from_ellipsoid",
    "chart_distance",
    "classify",
    "cross_ratio",
    "curvature_from_kappa",
    "form_from_blocks",
    "from_chart",
    "hilbert_distance",
    "hyperplane_angle",
    "hyperplane_measure",
    "kappa_from_curvature",
    "line_intersections",
    "measure",
    "metric_tensor",
    "proximity_planes",
    "signature",
    "signed_hyperplane_measure",
    "signed_measure",
    "spectral_form",
    "to_chart",
    "unit_cholesky",
]
