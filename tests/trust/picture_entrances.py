"""The entrances of the pictures."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tests.trust.entrances import Entrance
from tests.trust.geometry_entrances import LINE, inside, matrix, one_point
from tests.trust.kinds import (
    REFUSED,
    WORKS,
    count,
    flag,
    ignored,
    labels,
    one_of,
    points,
    real,
    rows,
    thing,
)
from tests.trust.values import DISC, FLAT, P, Q, X, Y, fitted

from cayleyklein.plotting import (
    BallDisplay,
    ChartDisplay,
    CrossRatioDisplay,
    DecisionBoundaryDisplay,
    GeodesicDisplay,
    MetricDisplay,
    VoronoiDisplay,
)

FEW = X[::4]
ON_A_LINE = [np.array([a, a / 2]) for a in (0.25, 0.5, -1.0, 1.0)]

metric, flat = partial(thing, DISC), partial(thing, FLAT)
text = partial(one_of, base=())
order = count(1, len(FEW))
window = matrix([[-1.0, -1.0], [1.0, 1.0]], NONE=WORKS, zeros=REFUSED)
charts = text(["klein"], {"a text": "klein", "no such": ["no such"], "nothing": [], "a number": 3})
features = text(None, {
    "a text": "no such", "a number": 3, "one": [0], "twice the same": [0, 0], "no such": [0, 9],
    "fractions": [0.5, 1.5], "negative": [-9, 0],
})  # fmt: skip
names = text(["length", "width"], {"a number": 3, "too few": ["length"]})
few_rows = partial(rows, FEW, one_row=REFUSED, duplicated=REFUSED)


def axes(**rules: str) -> Any:
    """Axes of a figure that nobody shows; without them a new figure is shown."""
    return thing(Figure().subplots(), NONE="skip", **rules)


color = text("black", {"no such": "no colour", "a number": 3.0, "wrong type": object()})


@cache
def displays() -> dict[str, Any]:
    return {
        "ball": BallDisplay.from_metric(DISC, P, 0.5, resolution=8),
        "chart": ChartDisplay.from_points(FEW, DISC, charts=["klein"]),
        "cross": CrossRatioDisplay.from_points(*ON_A_LINE),
        "boundary": DecisionBoundaryDisplay.from_points(FEW, Y[::4], DISC),
        "geodesic": GeodesicDisplay.from_points(DISC, P, Q),
        "metric": MetricDisplay.from_metric(FLAT, X, Y, lattice=2),
        "voronoi": VoronoiDisplay.from_points(FEW, DISC),
    }


def display(name: str) -> Any:
    return lambda: displays()[name]


PICTURES = [
    Entrance("plotting.BallDisplay.from_metric", {
        "metric": metric(), "centers": inside(P),
        "radius": real(0.5, 0.0, -1.0, a_list=REFUSED), "resolution": count(8),
    }),
    Entrance("plotting.BallDisplay.plot", {
        "ax": axes(), "color": color, "fill": real(0.15, -1.0, 2.0), "label": ignored("balls"),
        "show_centers": flag(True),
    }, display("ball")),
    Entrance("plotting.ChartDisplay.from_points", {
        "points": rows(FEW), "metric": flat(), "charts": charts, "order": order, "window": window,
    }),
    Entrance("plotting.ChartDisplay.from_diagram", {
        "diagram": thing(fitted("diagram")), "charts": charts,
    }),
    Entrance("plotting.ChartDisplay.plot", {
        "axes": text([Figure().subplots()], {"a number": 3, "nothing": [], "no axes": ["x"]}),
    }, display("chart")),
    Entrance("plotting.CrossRatioDisplay.from_metric", {
        "metric": metric(), "p": one_point(P[0]), "q": one_point(Q[0]),
    }),
    Entrance("plotting.CrossRatioDisplay.from_points", {
        name: points(point, Fortran_order="skip", constant="skip")
        for name, point in zip("pqPQ", ON_A_LINE, strict=True)
    }),
    Entrance("plotting.CrossRatioDisplay.plot", {
        "ax": axes(), "labels": text(list("pqPQ"), {"three": list("pqP"), "a number": 3}),
        "color": color, "title": flag(True),
    }, display("cross")),
    Entrance("plotting.DecisionBoundaryDisplay.from_points", {
        "X": few_rows(), "y": labels(Y[::4], one_class=WORKS), "metric": flat(),
        "n_neighbors": order, "window": window,
    }),
    Entrance("plotting.DecisionBoundaryDisplay.from_diagram",
        {"diagram": thing(fitted("diagram"))}),
    Entrance("plotting.DecisionBoundaryDisplay.from_estimator", {
        "estimator": thing(fitted("classifier")), "X": rows(X, one_row=REFUSED, duplicated=REFUSED),
        "y": labels(Y, NONE=WORKS, one_class=WORKS), "features": features, "feature_names": names,
        "resolution": count(8, 1),
    }),
    Entrance("plotting.DecisionBoundaryDisplay.plot", {
        "ax": axes(), "legend": flag(True), "show_points": flag(True),
    }, display("boundary")),
    Entrance("plotting.GeodesicDisplay.from_points", {
        "metric": metric(), "p": inside(P), "q": inside(Q), "marks": count(2),
    }),
    Entrance("plotting.GeodesicDisplay.from_hyperplane", {
        "metric": metric(), "line": thing(LINE), "resolution": count(2),
    }),
    Entrance("plotting.GeodesicDisplay.plot", {
        "ax": axes(), "color": color, "label": ignored("line"),
    }, display("geodesic")),
    Entrance("plotting.MetricDisplay.from_metric", {
        "metric": flat(), "X": rows(X, NONE=WORKS, one_row=REFUSED, duplicated=REFUSED),
        "y": labels(Y, NONE=WORKS, one_class=WORKS), "features": features, "feature_names": names,
        "radius": real(0.5, 0.0, -1.0, NONE=WORKS), "lattice": count(2),
    }),
    Entrance("plotting.MetricDisplay.from_estimator", {
        "estimator": thing(fitted("lmnn")),
        "X": rows(X, NONE=WORKS, one_row=REFUSED, duplicated=REFUSED),
        "y": labels(Y, NONE=WORKS, one_class=WORKS),
    }),
    Entrance("plotting.MetricDisplay.plot", {"ax": axes(), "legend": flag(True)},
        display("metric")),
    Entrance("plotting.VoronoiDisplay.from_points", {
        "points": rows(FEW, one_row=REFUSED, duplicated=REFUSED), "metric": flat(), "order": order,
        "labels": labels(Y[::4], NONE=WORKS, one_class=WORKS), "window": window,
    }),
    Entrance("plotting.VoronoiDisplay.from_diagram", {"diagram": thing(fitted("diagram"))}),
    Entrance("plotting.VoronoiDisplay.plot", {
        "ax": axes(), "fill": flag(True),
        "highlight": count(1, 99, NONE=WORKS, zero=WORKS, a_bool="skip"),
        "show_points": flag(True),
    }, display("voronoi")),
]  # fmt: skip
