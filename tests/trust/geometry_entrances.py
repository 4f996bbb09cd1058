"""The entrances of the geometry, the metrics and the diagrams."""

from __future__ import annotations

from functools import partial

import numpy as np
from tests.trust.entrances import Entrance
from tests.trust.kinds import (
    EITHER,
    REFUSED,
    SAME,
    WORKS,
    choice,
    count,
    flag,
    ignored,
    labels,
    points,
    real,
    rows,
    thing,
    vector,
)
from tests.trust.values import COLLINEATION, DISC, FLAT, FORM, MIXED, QUERIES, P, Q, X, Y, fitted

from cayleyklein.diagrams import equivalent_balls
from cayleyklein.geometry import Absolute, Ball, Ellipsoid, Polytope

ABSOLUTE = Absolute(FORM)
BALL = Ball(P[0], 0.5, DISC.frame)
ELLIPSOID = Ellipsoid([0.0, 0.0], np.eye(2))
SQUARE = Polytope.from_vertices([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
LINE = DISC.bisector(P[0], Q[0])
STEPS = (Q - P) / 2
LINES = np.column_stack([P, [0.0625, 0.125, 0.0]])
MORE_LINES = np.column_stack([-X[[1, 2, 4]], [0.0625, 0.0, -0.125]])
ON_A_LINE = [np.outer([a, a], [0.5, 0.25]) for a in (0.25, 0.5, -1.0, 2.0)]

matrix = partial(rows, one_row=REFUSED, duplicated=REFUSED, one_axis=REFUSED)
inside = partial(points, outside=REFUSED)
one_point = partial(points, outside=REFUSED, Fortran_order="skip", constant="skip")
anywhere = partial(points, outside=WORKS)
frame = partial(thing, DISC.frame)
metric = partial(thing, DISC)
complex_too = partial(points, complex=EITHER)
in_a_chart = partial(inside, one_column_more=WORKS, one_column_less=WORKS)

GEOMETRY = [
    Entrance("geometry.adjugate", {"A": matrix(FORM)}),
    Entrance("geometry.apply_collineation", {
        "H": matrix(COLLINEATION), "points": complex_too(P), "homogeneous": flag(),
    }),
    Entrance("geometry.ball_from_ellipsoid", {
        "center": one_point([0.0, 0.0]), "shape": matrix(np.eye(2)),
        "radius": real(0.5, 0.0, -1.0), "frame": frame(), "rtol": real(1e-6, -1),
    }),
    Entrance("geometry.bisector", {"p": inside(P), "q": inside(Q), "frame": frame()}),
    Entrance("geometry.blocks_from_form", {"S": matrix(FORM)}),
    Entrance("geometry.canonical_factor", {"S": matrix(FORM)}),
    Entrance("geometry.classify", {"absolute": thing(ABSOLUTE)}),
    Entrance("geometry.cross_ratio", {
        "p": complex_too(ON_A_LINE[0]), "q": complex_too(ON_A_LINE[1]),
        "P": complex_too(ON_A_LINE[2]), "Q": complex_too(ON_A_LINE[3]), "homogeneous": flag(),
    }),
    Entrance("geometry.curvature_from_kappa", {"kappa": real(-0.5)}),
    Entrance("geometry.distance", {
        "p": inside(P), "q": inside(Q), "frame": frame(), "outside": choice("raise"),
    }),
    Entrance("geometry.exp_map", {"x": inside(P), "v": points(STEPS), "frame": frame()}),
    Entrance("geometry.form_from_blocks", {
        "shape": matrix(np.eye(2)), "a": vector([0.25, 0.5]), "b": real(-1.0),
    }),
    Entrance("geometry.form_from_frame", {"frame": frame()}),
    Entrance("geometry.frame_from_form", {"S": matrix(FORM)}),
    Entrance("geometry.from_chart", {
        "y": in_a_chart(P), "chart": choice("klein"),
        "sign": count(-1, 2, -3, negative="skip", zero=WORKS, a_bool="skip"),
    }),
    Entrance("geometry.geodesic", {
        "p": inside(P), "q": inside(Q), "frame": frame(),
        "t": points([0.0, 0.5, 1.0], empty=WORKS, one_number=WORKS, one_column_more=WORKS,
        one_column_less=WORKS,
                    Fortran_order="skip"),
    }),
    Entrance("geometry.hilbert_distance", {
        "body": thing(ELLIPSOID), "p": inside(P), "q": inside(Q),
    }),
    Entrance("geometry.hyperplane_angle", {
        "dual": matrix(FORM), "l": points(LINES), "m": points(MORE_LINES), "signed": flag(),
    }),
    Entrance("geometry.hyperplane_measure", {
        "dual": matrix(FORM), "l": points(LINES), "m": points(MORE_LINES),
        "unit": real(0.5, complex=WORKS),
    }),
    Entrance("geometry.kappa_from_curvature", {"curvature": real(-0.5)}),
    Entrance("geometry.line_intersections", {"A": matrix(FORM), "p": anywhere(P),
        "q": anywhere(Q)}),
    Entrance("geometry.log_cross_ratio", {"A": matrix(FORM), "p": anywhere(P), "q": anywhere(Q)}),
    Entrance("geometry.log_map", {"x": inside(P), "y": inside(Q), "frame": frame()}),
    Entrance("geometry.measure", {
        "A": matrix(FORM), "p": anywhere(P), "q": anywhere(Q), "unit": real(-0.5, complex=WORKS),
    }),
    Entrance("geometry.measurement_geometry", {
        "absolute": thing(ABSOLUTE), "p": anywhere(P, on_the_boundary=REFUSED),
        "q": anywhere(Q, on_the_boundary=EITHER),
    }),
    Entrance("geometry.metric_tensor", {"x": inside(P), "frame": frame()}),
    Entrance("geometry.midpoint", {"p": inside(P), "q": inside(Q), "frame": frame()}),
    Entrance("geometry.proximity_planes", {"p": inside(P), "frame": frame()}),
    Entrance("geometry.reflection", {"p": one_point(P[0]), "q": one_point(Q[0]), "frame": frame()}),
    Entrance("geometry.signature", {"A": matrix(FORM), "rtol": real(1e-12, -1.0, 1.0)}),
    Entrance("geometry.spectral_factor", {"S": matrix(FORM)}),
    Entrance("geometry.to_chart", {
        "w": in_a_chart(P), "chart": choice("klein"),
        "sign": count(-1, 2, -3, negative="skip", zero=WORKS, a_bool="skip"),
    }),
    Entrance("geometry.transvection", {
        "p": one_point(P[0]), "q": one_point(Q[0]), "frame": frame(),
    }),
    Entrance("geometry.vertex_angle", {
        "x": inside(X[3:6]), "p": inside(P), "q": inside(Q), "frame": frame(),
    }),
    Entrance("geometry.Absolute", {"matrix": matrix(FORM), "dual": matrix(FORM, NONE=SAME)}),
    Entrance("geometry.Absolute.angle_kind", {
        "l": points(LINES), "m": points(MORE_LINES),
    }, lambda: ABSOLUTE),
    Entrance("geometry.Absolute.distance_kind", {"p": anywhere(P), "q": anywhere(Q)},
        lambda: ABSOLUTE),
    Entrance("geometry.Absolute.form", {
        "p": anywhere(P), "q": anywhere(Q, NONE=WORKS),
    }, lambda: ABSOLUTE),
    Entrance("geometry.Absolute.is_tangent", {
        "hyperplanes": points(LINES), "rtol": real(1e-12, -1.0),
    }, lambda: ABSOLUTE),
    Entrance("geometry.Absolute.side", {
        "points": anywhere(P), "rtol": real(1e-12, -1.0),
    }, lambda: ABSOLUTE),
    Entrance("geometry.Absolute.tangent", {"points": anywhere(P)}, lambda: ABSOLUTE),
    Entrance("geometry.Ball", {
        "center": one_point(P[0]), "radius": real(0.5, -1.0), "frame": frame(),
    }),
    Entrance("geometry.Ball.contains", {"x": anywhere(P)}, lambda: BALL),
    Entrance("geometry.Ellipsoid", {
        "center": vector([0.25, 0.5]), "shape": matrix(np.eye(2)), "radius": real(1.0, 0.0, -1.0),
    }),
    Entrance("geometry.Ellipsoid.boundary", {"n": count(8)}, lambda: ELLIPSOID),
    Entrance("geometry.Ellipsoid.contains", {"points": anywhere(P)}, lambda: ELLIPSOID),
    Entrance("geometry.Ellipsoid.exit_time", {
        "points": inside(P), "directions": points(STEPS),
    }, lambda: ELLIPSOID),
    Entrance("geometry.Ellipsoid.from_euclidean", {"y": anywhere(P)}, lambda: ELLIPSOID),
    Entrance("geometry.Ellipsoid.to_euclidean", {"points": anywhere(P)}, lambda: ELLIPSOID),
    Entrance("geometry.Frame", {
        "factor": rows(np.eye(2) / 2, NONE=REFUSED, one_row=WORKS, duplicated=WORKS,
                       one_column_more=REFUSED, one_column_less=REFUSED),
        "shape": thing(None, NONE=SAME), "center": vector([0.25, 0.5], NONE=WORKS),
        "curvature": real(-1.0),
    }),
    Entrance("geometry.Frame.coordinates", {"x": anywhere(P)}, lambda: DISC.frame),
    Entrance("geometry.Frame.points", {"z": anywhere(P)}, lambda: DISC.frame),
    Entrance("geometry.Frame.form_values", {"x": anywhere(P)}, lambda: DISC.frame),
    Entrance("geometry.Frame.inside", {"x": inside(P), "name": ignored("x")}, lambda: DISC.frame),
    Entrance("geometry.Hyperplane.evaluate", {"x": anywhere(P)}, lambda: LINE),
    Entrance("geometry.Polytope", {
        "normals": matrix(SQUARE.normals), "offsets": vector(SQUARE.offsets),
    }),
    Entrance("geometry.Polytope.contains", {"points": anywhere(P)}, lambda: SQUARE),
    Entrance("geometry.Polytope.exit_time", {
        "points": points(P), "directions": points(STEPS),
    }, lambda: SQUARE),
    Entrance("geometry.Polytope.from_vertices", {
        "vertices": rows(X, one_column_more=EITHER, one_column_less=EITHER),
    }),
]  # fmt: skip

TERMS = thing([DISC, FLAT])

METRICS = [
    Entrance("metrics.CurvedMetric", {
        "shape": matrix(np.eye(2)), "factor": thing(None, NONE=SAME),
        "center": vector([0.25, 0.5], NONE=WORKS), "curvature": real(-1.0),
    }),
    Entrance("metrics.CurvedMetric.euclidean", {"d": count(2), "curvature": real(-1.0)}),
    Entrance("metrics.CurvedMetric.from_form", {"S": matrix(FORM)}),
    Entrance("metrics.CurvedMetric.from_frame", {"frame": frame()}),
    Entrance("metrics.CurvedMetric.mahalanobis", {
        "X": rows(X, one_column_more=EITHER, one_column_less=WORKS), "curvature": real(-1.0),
    }),
    Entrance("metrics.CurvedMetric.__call__", {
        "p": one_point(P[0]), "q": one_point(Q[0]),
    }, lambda: DISC),
    Entrance("metrics.CurvedMetric.angle", {
        "first": points(LINES), "second": points(MORE_LINES), "signed": flag(),
    }, lambda: DISC),
    Entrance("metrics.CurvedMetric.ball", {
        "center": one_point(P[0]), "radius": real(0.5, -1.0),
    }, lambda: DISC),
    *(
        Entrance(f"metrics.CurvedMetric.{name}", {first: inside(P), second: inside(Q)},
            lambda: DISC)
        for name, first, second in [("bisector", "p", "q"), ("midpoint", "p", "q"), ("log", "x",
            "y")]
    ),
    Entrance("metrics.CurvedMetric.transvection", {
        "p": one_point(P[0]), "q": one_point(Q[0]),
    }, lambda: DISC),
    Entrance("metrics.CurvedMetric.exp", {"x": inside(P), "v": points(STEPS)}, lambda: DISC),
    Entrance("metrics.CurvedMetric.vertex_angle", {
        "x": inside(X[3:6]), "p": inside(P), "q": inside(Q),
    }, lambda: DISC),
    Entrance("metrics.CurvedMetric.geodesic", {
        "p": inside(P), "q": inside(Q),
        "t": points([0.0, 0.5, 1.0], empty=WORKS, NONE=WORKS, one_number=WORKS,
        one_column_more=WORKS,
                    one_column_less=WORKS, Fortran_order="skip"),
    }, lambda: DISC),
    Entrance("metrics.CurvedMetric.to_chart", {"X": inside(P), "chart": choice("klein")},
        lambda: DISC),
    Entrance("metrics.CurvedMetric.from_chart", {"Y": inside(P), "chart": choice("klein")},
        lambda: DISC),
    *(
        Entrance(f"metrics.{kind}.distance", {
            "p": inside(P), "q": inside(Q), "outside": choice("raise"),
        }, lambda owner=owner: owner)
        for kind, owner in [("CurvedMetric", DISC), ("MixedMetric", MIXED)]
    ),
    *(
        Entrance(f"metrics.{kind}.pairwise", {
            "X": rows(X, outside=REFUSED), "Y": rows(QUERIES, outside=REFUSED, NONE=WORKS),
            "outside": choice("raise"),
        }, lambda owner=owner: owner)
        for kind, owner in [("CurvedMetric", DISC), ("MixedMetric", MIXED)]
    ),
    *(
        Entrance(f"metrics.{kind}.contains", {"X": anywhere(P)}, lambda owner=owner: owner)
        for kind, owner in [("CurvedMetric", DISC), ("MixedMetric", MIXED)]
    ),
    Entrance("metrics.MixedMetric.__call__", {
        "p": one_point(P[0]), "q": one_point(Q[0]),
    }, lambda: MIXED),
    Entrance("metrics.MixedMetric", {
        "metrics": TERMS, "weights": vector([0.25, 0.75], NONE=WORKS),
    }),
]  # fmt: skip

DIAGRAMS = [
    Entrance("diagrams.equivalent_balls", {"points": rows(X, outside=REFUSED), "metric": metric()}),
    Entrance("diagrams.EquivalentBalls.power", {
        "x": rows(QUERIES, outside=WORKS),
    }, lambda: equivalent_balls(X, DISC)),
    Entrance("diagrams.CayleyKleinVoronoi", {
        "points": rows(X, one_row=REFUSED, duplicated=REFUSED), "metric": thing(FLAT),
        "order": count(1, len(X)), "labels": labels(Y, NONE=WORKS, one_class=WORKS),
        "window": matrix([[-1.0, -1.0], [1.0, 1.0]], NONE=WORKS, zeros=REFUSED),
    }),
    *(
        Entrance(f"diagrams.CayleyKleinVoronoi.{name}", {
            "X": rows(QUERIES, outside=WORKS),
        }, lambda: fitted("diagram"))
        for name in ("locate", "predict")
    ),
    *(
        Entrance(f"diagrams.CayleyKleinVoronoi.{name}", {
            "tolerance": real(1e-2, 0.0, -1.0, NONE=WORKS),
        }, lambda: fitted("diagram"))
        for name in ("cells", "frontier", "label_areas")
    ),
    Entrance("diagrams.CayleyKleinVoronoi.ridge_polygons", {
        "tolerance": real(1e-2, 0.0, -1.0, NONE=WORKS),
    }, lambda: fitted("space diagram")),
]  # fmt: skip
