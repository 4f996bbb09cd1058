"""Every public function of the geometry raises a clear error for bad input."""

from functools import partial

import numpy as np
import pytest
from tests.bad_input import Call, calls, check, choice, count, fixed, points, real, rows, thing
from tests.small import DISC, FORM, LINES, MORE_LINES, P, Q, X

from cayleyklein import CurvedMetric
from cayleyklein import geometry as g

ABSOLUTE = g.Absolute(FORM)
BALL = g.Ball(P[0], 0.5, DISC)
ELLIPSOID = g.Ellipsoid([0.0, 0.0], np.eye(2))
SQUARE = g.Polytope.from_vertices([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
STEPS = (Q - P) / 2
COLLINEATION = np.array([[1.0, 0.25, 0.0], [0.0, 1.0, 0.5], [0.125, 0.0, 1.0]])
COLLINEAR = {
    name: points(np.outer([a, a], [0.5, 0.25]), "inf")
    for name, a in {"p": 0.25, "q": 0.5, "P": -1.0, "Q": 2.0}.items()
}

inside = partial(points, inside=True)
metric = thing(DISC)
form = rows(FORM)
pq = {"p": inside(P), "q": inside(Q)}
anywhere = {"p": points(P), "q": points(Q)}
lm = {"l": points(LINES), "m": points(MORE_LINES)}
in_chart = inside(P, "one column more")
sign = count(-1, 2, -3, accepted=("zero", "a bool"))

TURN = np.array([[1.0, 0.25, 0.0], [0.25, 1.0, 0.5]])
direction = points([0.25, 0.5])

CALLS = {
    "adjugate": Call(g.adjugate, {"A": points(FORM, "one column more", "huge", "tiny")}),
    "apply_collineation": Call(
        g.apply_collineation, {"H": rows(COLLINEATION), "points": points(P)}
    ),
    "ball_from_ellipsoid": Call(g.ball_from_ellipsoid, {
        "center": inside([0.0, 0.0]), "matrix": rows(np.eye(2)), "radius": real(0.5, 0.0, -1.0),
        "metric": metric, "rtol": real(1e-6, -1),
    }),
    "chart_distance": Call(g.chart_distance, {
        **pq, "chart": choice("poincare"), "curvature": real(-1.0, 0.0, 1.0),
    }),
    "classify": Call(g.classify, {"absolute": thing(ABSOLUTE)}),
    "cross_ratio": Call(g.cross_ratio, {**COLLINEAR, "homogeneous": fixed(False)}),
    "curvature_from_kappa": Call(g.curvature_from_kappa, {"kappa": real(-0.5)}),
    "form_from_blocks": Call(g.form_from_blocks, {
        "matrix": rows(np.eye(2)), "a": points([0.25, 0.5]), "b": real(-1.0),
    }),
    "from_chart": Call(g.from_chart, {"y": in_chart, "chart": choice("klein"), "sign": sign}),
    "hilbert_distance": Call(g.hilbert_distance, {"body": thing(ELLIPSOID), **pq}),
    "hyperplane_angle": Call(g.hyperplane_angle, {"dual": form, **lm}),
    "hyperplane_measure": Call(g.hyperplane_measure, {"dual": form, **lm, "unit": real(0.5)}),
    "line_intersections": Call(g.line_intersections, {"A": form, **anywhere}),
    "measure": Call(g.measure, {"A": form, **anywhere, "unit": real(-0.5)}),
    "kappa_from_curvature": Call(g.kappa_from_curvature, {"curvature": real(-0.25)}),
    "metric_tensor": Call(g.metric_tensor, {"x": inside(P), "metric": metric}),
    "proximity_planes": Call(g.proximity_planes, {"p": inside(P), "metric": metric}),
    "signature": Call(g.signature, {"A": form}),
    "signed_hyperplane_measure": Call(
        g.signed_hyperplane_measure, {"dual": form, **lm, "unit": real(0.5), "turn": points(TURN)}
    ),
    "signed_measure": Call(
        g.signed_measure, {"A": form, **anywhere, "unit": real(-0.5), "direction": direction}
    ),
    "spectral_form": Call(g.spectral_form, {"S": form}),
    "SpectralForm.map": Call(g.spectral_form(FORM).map, {"x": points(P)}),
    "to_chart": Call(g.to_chart, {"w": in_chart, "chart": choice("klein"), "sign": sign}),
    "unit_cholesky": Call(g.unit_cholesky, {"matrix": rows(np.eye(2))}),
    "UnitCholesky.map": Call(g.unit_cholesky(np.eye(2)).map, {"x": points(P)}),
    "Absolute": Call(g.Absolute, {"matrix": form, "dual": form}),
    "Absolute.form": Call(ABSOLUTE.form, anywhere),
    "Absolute.is_tangent": Call(
        ABSOLUTE.is_tangent, {"hyperplanes": points(LINES), "rtol": real(1e-12, -1.0)}
    ),
    "Absolute.side": Call(ABSOLUTE.side, {"points": points(P)}),
    "Absolute.tangent": Call(ABSOLUTE.tangent, {"points": points(P)}),
    "Ball": Call(g.Ball, {"center": inside(P[0]), "radius": real(0.5, -1.0), "metric": metric}),
    "Ball.contains": Call(BALL.contains, {"x": points(P)}),
    "Ellipsoid": Call(g.Ellipsoid, {
        "center": points([0.25, 0.5]), "matrix": rows(np.eye(2)), "radius": real(1.0, 0.0, -1.0),
    }),
    "Ellipsoid.boundary": Call(ELLIPSOID.boundary, {"n": count(8)}),
    "Ellipsoid.contains": Call(ELLIPSOID.contains, {"points": points(P)}),
    "Ellipsoid.exit_time": Call(
        ELLIPSOID.exit_time, {"points": inside(P), "directions": points(STEPS)}
    ),
    "Ellipsoid.from_euclidean": Call(ELLIPSOID.from_euclidean, {"y": points(P)}),
    "Ellipsoid.to_euclidean": Call(ELLIPSOID.to_euclidean, {"points": points(P)}),
    "CurvedMetric": Call(CurvedMetric, {
        "factor": rows(np.eye(2) / 2, "one axis"), "center": points([0.25, 0.5]),
        "curvature": real(-1.0),
    }),
    "CurvedMetric.coordinates": Call(DISC.coordinates, {"x": points(P)}),
    "CurvedMetric.points": Call(DISC.points, {"z": points(P)}),
    "CurvedMetric.form_values": Call(DISC.form_values, {"x": points(P)}),
    "CurvedMetric.inside": Call(DISC.inside, {"x": inside(P)}),
    "Hyperplane.evaluate": Call(DISC.bisector(P[0], Q[0]).evaluate, {"x": points(P)}),
    "Polytope": Call(
        g.Polytope, {"normals": rows(SQUARE.normals), "offsets": points(SQUARE.offsets)}
    ),
    "Polytope.contains": Call(SQUARE.contains, {"points": points(P)}),
    "Polytope.exit_time": Call(
        SQUARE.exit_time, {"points": points(P), "directions": points(STEPS)}
    ),
    "Polytope.from_vertices": Call(
        g.Polytope.from_vertices, {"vertices": rows(X, "one column more")}
    ),
}  # fmt: skip

SAMPLE = """
Absolute matrix: ragged
Absolute.form q: NaN
Absolute.is_tangent hyperplanes: sparse
Absolute.side points: inf
Absolute.tangent points: one number
Ball center: all outside
Ball.contains x: wrong type
Ellipsoid radius: out of range: 0
Ellipsoid.boundary n: zero
Ellipsoid.contains points: sparse
Ellipsoid.exit_time directions: object of strings
Ellipsoid.from_euclidean y: one column more
Ellipsoid.to_euclidean points: a dict
CurvedMetric curvature: complex
CurvedMetric.coordinates x: masked entry
CurvedMetric.form_values x: one column less
CurvedMetric.inside x: on the boundary
CurvedMetric.points z: strings
Hyperplane.evaluate x: dates
Polytope normals: three axes
Polytope offsets: wrong type
Polytope.contains points: ragged
Polytope.exit_time points: None
Polytope.from_vertices vertices: one axis
adjugate A: masked entry
adjugate A: one axis
apply_collineation points: dates
ball_from_ellipsoid metric: an array
chart_distance p: on the boundary
chart_distance curvature: out of range: 1
classify absolute: wrong type
cross_ratio P: object of strings
cross_ratio Q: NaN
curvature_from_kappa kappa: inf
form_from_blocks matrix: one row
from_chart chart: another word
hilbert_distance q: complex
hyperplane_angle l: one column more
hyperplane_measure dual: duplicated
line_intersections A: masked entry
measure p: a dict
metric_tensor x: strings
proximity_planes p: inf
signature A: three axes
signed_hyperplane_measure turn: one row
signed_hyperplane_measure turn: all zero
signed_measure direction: all zero
signed_measure direction: ragged
to_chart sign: out of range: -3
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
