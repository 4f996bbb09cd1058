"""Methods of the metrics raise a clear error for bad input; geometry's own are tested there."""

from functools import partial

import numpy as np
import pytest
from tests.bad_input import Call, calls, check, choice, count, points, real, rows, thing
from tests.small import (
    DISC,
    FLAT,
    FORM,
    LINES,
    MIXED,
    MORE_LINES,
    PRODUCT,
    QUERIES,
    SPHERE,
    P,
    Q,
    X,
)

from cayleyklein import CurvedMetric, MixedMetric, ProductMetric

inside = partial(points, inside=True)
pq = {"p": inside(P), "q": inside(Q)}
one_pair = {"p": inside(P[0]), "q": inside(Q[0])}
outside = choice("raise")
several = {"p": rows(P, inside=True), "q": rows(Q, inside=True)}
two_tables = {
    "X": rows(X, inside=True), "Y": rows(QUERIES, inside=True), "outside": outside,
}  # fmt: skip

CALLS = {
    "CurvedMetric": Call(CurvedMetric, {
        "matrix": rows(np.eye(2)), "center": points([0.25, 0.5]), "curvature": real(-1.0),
    }),
    "CurvedMetric.euclidean": Call(
        CurvedMetric.euclidean, {"d": count(2), "curvature": real(-1.0)}
    ),
    "CurvedMetric.from_form": Call(CurvedMetric.from_form, {"S": rows(FORM)}),
    "CurvedMetric.from_kappa": Call(CurvedMetric.from_kappa, {
        "matrix": rows(np.eye(2)), "center": points([0.25, 0.5]), "kappa": real(-0.5),
    }),
    "CurvedMetric.mahalanobis": Call(
        CurvedMetric.mahalanobis, {"X": rows(X, "one column more"), "curvature": real(-1.0)}
    ),
    "CurvedMetric.__call__": Call(DISC.__call__, one_pair),
    "CurvedMetric.angle": Call(DISC.angle, {
        "first": points(LINES), "second": points(MORE_LINES),
    }),
    "CurvedMetric.signed_angle": Call(DISC.signed_angle, {
        "first": points(LINES), "second": points(MORE_LINES),
        "turn": points([[1.0, 0.25, 0.0], [0.25, 1.0, 0.5]]),
    }),
    "CurvedMetric.signed_distance": Call(
        DISC.signed_distance, pq | {"direction": points([0.25, 0.5])}
    ),
    "CurvedMetric.bisector": Call(DISC.bisector, pq),
    "CurvedMetric.exp": Call(DISC.exp, {"x": inside(P), "v": points((Q - P) / 2)}),
    "CurvedMetric.log": Call(DISC.log, {"x": inside(P), "y": inside(Q)}),
    "CurvedMetric.geodesic": Call(DISC.geodesic, {
        **pq, "t": points([0.0, 0.5, 1.0], "empty", "one column more", "None"),
    }),
    "CurvedMetric.midpoint": Call(DISC.midpoint, pq),
    "CurvedMetric.transvection": Call(DISC.transvection, one_pair),
    "CurvedMetric.vertex_angle": Call(DISC.vertex_angle, {"x": inside(X[3:6]), **pq}),
    "CurvedMetric.frechet_mean": Call(
        DISC.frechet_mean, {"X": rows(P, inside=True), "weights": points(np.ones(len(P)))}
    ),
    "CurvedMetric.geometric_median": Call(
        DISC.geometric_median, {"X": rows(P, inside=True), "weights": points(np.ones(len(P)))}
    ),
    "CurvedMetric.ball": Call(DISC.ball, {"center": inside(P[0]), "radius": real(0.5, -1.0)}),
    "CurvedMetric.to_chart": Call(DISC.to_chart, {"X": inside(P), "chart": choice("klein")}),
    "CurvedMetric.from_chart": Call(DISC.from_chart, {"Y": inside(P), "chart": choice("klein")}),
    "CurvedMetric.distance": Call(DISC.distance, {**pq, "outside": outside}),
    "CurvedMetric.pairwise": Call(DISC.pairwise, two_tables),
    "CurvedMetric.contains": Call(DISC.contains, {"X": points(P)}),
    "CurvedMetric.feature_weights": Call(FLAT.feature_weights, {"X": rows(X, "None")}),
    "MixedMetric": Call(
        MixedMetric, {"metrics": thing([DISC, FLAT]), "weights": points([0.25, 0.75])}
    ),
    "MixedMetric.__call__": Call(MIXED.__call__, one_pair),
    "MixedMetric.distance": Call(MIXED.distance, {**pq, "outside": outside}),
    "MixedMetric.pairwise": Call(MIXED.pairwise, two_tables),
    "MixedMetric.contains": Call(MIXED.contains, {"X": points(P)}),
    "MixedMetric.column_shares": Call(MIXED.column_shares, several),
    "MixedMetric.embed": Call(MIXED.embed, {"X": rows(X)}),
    "ProductMetric": Call(
        ProductMetric, {"metrics": thing([SPHERE, FLAT]), "units": points([0.5, 1.0])}
    ),
    "ProductMetric.__call__": Call(PRODUCT.__call__, {"p": points(P[0]), "q": points(Q[0])}),
    "ProductMetric.distance": Call(
        PRODUCT.distance, {"p": points(P), "q": points(Q), "outside": outside}
    ),
    "ProductMetric.pairwise": Call(
        PRODUCT.pairwise, {"X": rows(X), "Y": rows(QUERIES), "outside": outside}
    ),
    "ProductMetric.contains": Call(PRODUCT.contains, {"X": points(P)}),
    "ProductMetric.column_shares": Call(PRODUCT.column_shares, {"p": rows(P), "q": rows(Q)}),
    "ProductMetric.embed": Call(PRODUCT.embed, {"X": rows(X)}),
}  # fmt: skip

SAMPLE = """
CurvedMetric matrix: one row
CurvedMetric.__call__ q: outside the domain
CurvedMetric.angle first: one column less
CurvedMetric.bisector q: None
CurvedMetric.exp x: a text
CurvedMetric.geodesic q: outside the domain
CurvedMetric.log x: ragged
CurvedMetric.midpoint p: all outside
CurvedMetric.transvection p: dates
CurvedMetric.vertex_angle q: a text
CurvedMetric.ball radius: out of range: -1
CurvedMetric.contains X: inf
CurvedMetric.distance p: a text
CurvedMetric.euclidean d: a fraction
CurvedMetric.feature_weights X: one row
CurvedMetric.from_chart chart: another word
CurvedMetric.from_form S: NaN
CurvedMetric.mahalanobis curvature: -inf
CurvedMetric.pairwise X: wrong type
CurvedMetric.to_chart chart: a list
MixedMetric metrics: a number
MixedMetric.__call__ q: a dict
MixedMetric.contains X: object of strings
MixedMetric.distance q: one number
MixedMetric.pairwise outside: another word
ProductMetric units: all zero
ProductMetric.column_shares q: ragged
ProductMetric.pairwise outside: a list
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
