"""Pictures raise a clear error for bad input."""

from functools import cache, partial

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.bad_input import Call, calls, check, count, fixed, labels, one_of, points, real, rows
from tests.bad_input import thing as an_object
from tests.small import DISC, FLAT, P, Q, X, Y, fitted

from cayleyklein import CayleyKleinVoronoi, plotting

FEW = X[::4]
COLLINEAR = {name: np.array([a, a / 2]) for name, a in zip("pqPQ", (0.25, 0.5, -1, 1), strict=True)}

metric, flat = an_object(DISC), an_object(FLAT)
inside = partial(points, inside=True)
order = count(1, len(FEW))
window = rows([[-1.0, -1.0], [1.0, 1.0]])
charts = one_of(["klein"], a_text="klein", no_such=["no such"], nothing=[], a_number=3)
features = one_of(
    None,
    a_text="no such",
    a_number=3,
    one=[0],
    twice_the_same=[0, 0],
    no_such=[0, 9],
    fractions=[0.5, 1.5],
    negative=[-9, 0],
)
names = one_of(["length", "width"], a_number=3, too_few=["length"])
color = fixed("black")
ax = an_object(Figure().subplots(), "None")
diagram = an_object(fitted("diagram"))

MADE = {
    "BallDisplay": lambda: plotting.BallDisplay.from_metric(DISC, P, 0.5, resolution=8),
    "ChartDisplay": lambda: plotting.ChartDisplay.from_diagram(
        CayleyKleinVoronoi(FEW, DISC), charts=["klein"]
    ),
    "CrossRatioDisplay": lambda: plotting.CrossRatioDisplay.from_points(**COLLINEAR),
    "DecisionBoundaryDisplay": lambda: plotting.DecisionBoundaryDisplay.from_estimator(
        fitted("classifier"), X, Y, resolution=8
    ),
    "FeatureWeightsDisplay": lambda: plotting.FeatureWeightsDisplay.from_metric(FLAT, X),
    "GeodesicDisplay": lambda: plotting.GeodesicDisplay.from_points(DISC, P, Q),
    "MapDisplay": lambda: plotting.MapDisplay.from_estimator(fitted("mds"), Y),
    "MetricDisplay": lambda: plotting.MetricDisplay.from_metric(FLAT, X, Y, lattice=2),
    "VoronoiDisplay": lambda: plotting.VoronoiDisplay.from_points(FEW, DISC),
}
made = cache(lambda name: MADE[name]())


def plot(name, **args):
    return Call("plot", args, lambda: made(name))


CALLS = {
    "BallDisplay.from_metric": Call(
        plotting.BallDisplay.from_metric,
        {
            "metric": metric,
            "centers": inside(P),
            "radius": real(0.5, 0.0, -1.0),
            "resolution": count(8),
        },
    ),
    "BallDisplay.plot": plot(
        "BallDisplay", ax=ax, color=color, fill=real(0.15, -1.0, 2.0), label=fixed("balls")
    ),
    "ChartDisplay.from_diagram": Call(
        plotting.ChartDisplay.from_diagram, {"diagram": diagram, "charts": charts}
    ),
    "ChartDisplay.plot": plot(
        "ChartDisplay", axes=one_of([Figure().subplots()], a_number=3, nothing=[], no_axes=["x"])
    ),
    "CrossRatioDisplay.from_metric": Call(
        plotting.CrossRatioDisplay.from_metric,
        {
            "metric": metric,
            "p": inside(P[0]),
            "q": inside(Q[0]),
        },
    ),
    "CrossRatioDisplay.from_points": Call(
        plotting.CrossRatioDisplay.from_points,
        {name: points(point) for name, point in COLLINEAR.items()},
    ),
    "CrossRatioDisplay.plot": plot(
        "CrossRatioDisplay",
        ax=ax,
        labels=one_of(list("pqPQ"), three=list("pqP"), a_number=3),
    ),
    "DecisionBoundaryDisplay.from_estimator": Call(
        plotting.DecisionBoundaryDisplay.from_estimator,
        {
            "estimator": an_object(fitted("classifier")),
            "X": rows(X),
            "y": labels(Y, "None"),
            "features": features,
            "feature_names": names,
            "resolution": count(8, 1),
        },
    ),
    "DecisionBoundaryDisplay.plot": plot("DecisionBoundaryDisplay", ax=ax, legend=fixed(True)),
    "FeatureWeightsDisplay.from_metric": Call(
        plotting.FeatureWeightsDisplay.from_metric,
        {
            "metric": flat,
            "X": rows(X),
            "feature_names": names,
        },
    ),
    "FeatureWeightsDisplay.from_estimator": Call(
        plotting.FeatureWeightsDisplay.from_estimator,
        {
            "estimator": an_object(fitted("lmnn")),
            "X": rows(X),
            "feature_names": names,
        },
    ),
    "FeatureWeightsDisplay.plot": plot("FeatureWeightsDisplay", ax=ax, top=count(2), color=color),
    "GeodesicDisplay.from_points": Call(
        plotting.GeodesicDisplay.from_points,
        {
            "metric": metric,
            "p": inside(P),
            "q": inside(Q),
            "marks": count(2),
        },
    ),
    "GeodesicDisplay.from_hyperplane": Call(
        plotting.GeodesicDisplay.from_hyperplane,
        {
            "metric": metric,
            "line": an_object(DISC.bisector(P[0], Q[0])),
        },
    ),
    "GeodesicDisplay.plot": plot("GeodesicDisplay", ax=ax, color=color),
    "MapDisplay.from_estimator": Call(
        plotting.MapDisplay.from_estimator,
        {
            "estimator": an_object(fitted("mds")),
            "y": labels(Y, "None"),
            "names": one_of([*"abcdefghijklmnop"], a_number=3, too_few=["a"]),
            "edges": one_of([[0, 1]], a_number=3, no_such=[[0, 99]], fractions=[[0.5, 1]]),
        },
    ),
    "MapDisplay.plot": plot("MapDisplay", ax=ax, legend=fixed(True)),
    "MetricDisplay.from_metric": Call(
        plotting.MetricDisplay.from_metric,
        {
            "metric": flat,
            "X": rows(X),
            "y": labels(Y, "None"),
            "features": features,
            "feature_names": names,
            "radius": real(0.5, 0.0, -1.0, accepted=("None",)),
            "lattice": count(2),
        },
    ),
    "MetricDisplay.from_estimator": Call(
        plotting.MetricDisplay.from_estimator,
        {
            "estimator": an_object(fitted("lmnn")),
            "X": rows(X),
            "y": labels(Y, "None"),
        },
    ),
    "MetricDisplay.plot": plot("MetricDisplay", ax=ax, legend=fixed(True)),
    "VoronoiDisplay.from_points": Call(
        plotting.VoronoiDisplay.from_points,
        {
            "points": rows(FEW),
            "metric": flat,
            "order": order,
            "labels": labels(Y[::4], "None"),
            "window": window,
        },
    ),
    "VoronoiDisplay.from_diagram": Call(plotting.VoronoiDisplay.from_diagram, {"diagram": diagram}),
    "VoronoiDisplay.plot": plot(
        "VoronoiDisplay", ax=ax, highlight=count(1, 99, accepted=("None", "zero", "a bool"))
    ),
}

SAMPLE = """
BallDisplay.from_metric resolution: a bool
BallDisplay.plot fill: out of range: 2
ChartDisplay.from_diagram charts: nothing
VoronoiDisplay.from_points order: out of range: 4
ChartDisplay.plot axes: no axes
CrossRatioDisplay.from_metric q: on the boundary
CrossRatioDisplay.from_points P: inf
CrossRatioDisplay.from_points Q: a dict
CrossRatioDisplay.plot labels: three
DecisionBoundaryDisplay.from_estimator features: fractions
DecisionBoundaryDisplay.plot ax: wrong type
GeodesicDisplay.from_points marks: a bool
MetricDisplay.from_estimator y: two columns
MetricDisplay.from_metric features: one
MetricDisplay.plot ax: an array
VoronoiDisplay.from_diagram diagram: a text
VoronoiDisplay.from_points labels: mixed types
VoronoiDisplay.plot highlight: out of range: 99
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
