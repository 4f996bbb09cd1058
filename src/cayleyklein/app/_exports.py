"""Files made from a state: pictures, tables, Python, and a page that needs no server."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import __version__
from cayleyklein import _validation as checks
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._measures import measured
from cayleyklein.app._scene import PICTURE_SIZE, RIM_WIDTH, Drafter, Scene, describe
from cayleyklein.app._state import CHART_NAMES, LAYERS, LETTERS, PlaneState, rounded_point
from cayleyklein.app._views import View
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import shapes

MOVABLE = ("klein", "poincare", "half-plane")  # charts that an offline page moves by isometries


def draw_plane(
    points: ArrayLike,
    metric: CurvedMetric,
    *,
    labels: ArrayLike | None = None,
    chart: str = "klein",
    second: str = "",
    shown: Collection[str] = ("cells",),
    order: int = 1,
    radius: float = 0.25,
    chosen: tuple[int, int] = (0, 1),
    turn: float = 0.0,
    tilt: float = 38.0,
    theme: str = "light",
    objects: str = "",
    tiling: str = "",
) -> str:
    """Return an SVG picture of points and a metric of the plane, as the explorer draws it.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Points of the plane, in the domain of the metric.
    metric : CurvedMetric
        Metric of the plane.
    labels : sequence of n int, optional
        Classes, from 0 to 19.
    chart : {"klein", "poincare", "half-plane", "hemisphere", "hyperboloid"}, default="klein"
        Chart to draw.
    second : str, default=""
        Second chart, drawn beside the first; empty for none.
    shown : collection of str, default=("cells",)
        Layers: "cells", "regions", "lit", "delaunay", "geodesics", "bisector", "cross", "balls",
        "conic" and "power".
    order : int, default=1
        Order k of the Voronoi diagram.
    radius : float, default=0.25
        Radius of the balls.
    chosen : pair of int, default=(0, 1)
        The points of the geodesic, the bisector and the cross-ratio.
    turn : float, default=0.0
        Rotation of the camera around the hemisphere or the hyperboloid, in degrees.
    tilt : float, default=38.0
        Height of the camera, in degrees.
    theme : {"light", "dark"}, default="light"
        Colours of the picture: dark ink on a light ground, or light ink on a dark one.
    objects : str, default=""
        Constructions from the points, written as in the page's address.
    tiling : str, default=""
        Tiling {p, q}, written "p,q,depth,edge"; it fixes the curvature.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> from cayleyklein.app import draw_plane
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> draw_plane([[0.0, 0.0], [0.5, 0.1]], disc, chart="hemisphere")[:28]
    '<svg xmlns="http://www.w3.or'
    """
    given = checks.as_finite_array(points, "points")
    x = checks.as_points(given, "points", 2, ndim=2) if given.size else np.empty((0, 2))
    classes = np.zeros(len(x)) if labels is None else checks.as_finite_array(labels, "labels")
    known = classes.shape == (len(x),) and set(classes.tolist()) <= set(range(len(LETTERS)))
    whole = f"a whole number from 0 to {len(LETTERS) - 1} for each of the {len(x)} points"
    checks.expect(known, "labels", labels, whole)
    flat = getattr(metric, "dimension", 0) == 2 and hasattr(metric, "curvature")
    checks.expect(flat, "metric", metric, "a CurvedMetric of the plane")
    pair = checks.as_finite_array(chosen, "chosen")
    last = max(len(x), 2) - 1
    known = pair.shape == (2,) and set(pair.tolist()) <= set(range(last + 1))
    checks.expect(known, "chosen", chosen, f"two numbers of points, from 0 to {last}")
    state = PlaneState.of_metric(
        metric,
        points=tuple(rounded_point(p[0], p[1], c) for p, c in zip(x, classes, strict=True)),
        chosen=(int(pair[0]), int(pair[1])),
    )
    state = state.with_parts(
        {
            "radius": radius,
            "turn": turn,
            "tilt": tilt,
            "tiling": tiling,
            "order": checks.as_count(order, "order"),
            "chart": chart,
            "second": second,
            "shown": ",".join(checks.as_texts(shown, "shown")),
            "objects": objects,
        }
    )
    return plane_svg(state, checks.as_choice(theme, "theme", tuple(shapes.PALETTE)))


def plane_svg(state: PlaneState, theme: str = "light") -> str:
    title, body = _pictures(state, theme)
    paper = f'<rect width="100%" height="100%" fill="{shapes.PALETTE[theme]["paper"]}"/>'
    return shapes.document(PICTURE_SIZE * len(state.charts), PICTURE_SIZE, title, paper + body)


def _pictures(state: PlaneState, theme: str) -> tuple[str, str]:
    """Return the description and the SVG elements of the views, side by side."""
    drafter = Drafter(state)
    drawn = ""
    scenes = [drafter.scene(chart) for chart in state.charts]
    for i, scene in enumerate(scenes):  # a nested picture cuts off what is beyond its view
        inner = view_elements(scene, shapes.PALETTE[theme])
        size = f'width="{PICTURE_SIZE}" height="{PICTURE_SIZE}"'
        drawn += f'<svg x="{i * PICTURE_SIZE}" {size}>{inner}</svg>'
    return " | ".join(scene.description for scene in scenes), drawn


def view_elements(scene: Scene, palette: Mapping[str, str]) -> str:
    return shapes.elements(scene.shapes, scene.view.window, PICTURE_SIZE, palette)


def points_csv(state: PlaneState, theme: str = "light") -> str:
    return "x,y,class\n" + "".join(f"{p.x},{p.y},{LETTERS[p.label]}\n" for p in state.points)


def plane_code(state: PlaneState, theme: str = "light") -> str:
    metric = state.metric
    first, second = state.chosen
    options: dict[str, Any] = {}
    for name in ("chart", "second", "order", "radius", "chosen", "turn", "tilt"):
        options[name] = getattr(state, name)
    options["shown"] = [name for name in LAYERS if name in state.shown]
    options["theme"] = theme
    options["objects"] = state.objects_text
    options["tiling"] = state.tiling.text if state.tiling else ""
    lines = "\n".join(f"    {name}={value!r}," for name, value in options.items())
    said = f'print("d =", metric.distance(points[{first}], points[{second}]))\n'
    return f"""\
from pathlib import Path

import numpy as np

from cayleyklein import CurvedMetric
from cayleyklein.app import draw_plane

points = np.array({state.coordinates.tolist()}).reshape(-1, 2)
labels = {state.labels.tolist()}
metric = CurvedMetric(
    factor={metric.factor.tolist()},
    center={metric.center.tolist()},
    curvature={metric.curvature},
)
picture = draw_plane(
    points,
    metric,
    labels=labels,
{lines}
)
Path("plane.svg").write_text(picture, encoding="utf-8")
""" + (said if Drafter(state).pair else "")


def plane_json(state: PlaneState, theme: str = "light") -> str:
    made = Drafter(state).construction
    objects = [figure._asdict() | {"measure": measured(made, figure)} for figure in state.objects]
    parts = {field.name: getattr(state, field.name) for field in fields(state)}
    parts |= {"points": [p._asdict() for p in state.points], "shown": sorted(state.shown)}
    return json.dumps(parts | {"objects": objects, "address": f"/?{state.query}"}, indent=1)


def offline_page(state: PlaneState, theme: str = "light") -> str:
    """Return a page of its own: the plane at many K, moved by isometries where it is flat."""
    if not set(state.charts) <= set(MOVABLE):
        return _still_page(state, theme)

    def frame(K: float) -> str:
        drawn = _shapes_in_z(state.with_parts({"curvature": K}))
        return json.dumps({"K": K, "shapes": drawn}, separators=(",", ":"))

    curvatures, frames = _frames(state, frame)
    views = "".join(
        f'<label><input type="radio" name="chart" value="{name}"'
        f"{' checked' if name == state.chart else ''}> {CHART_NAMES[name]}</label>"
        for name in MOVABLE
    )
    metric = state.metric
    data = {
        "palette": shapes.PALETTE[theme],
        "markers": shapes.MARKERS,
        "letters": shapes.WORD_HEIGHT,
        "charts": MOVABLE,
        "place": {"matrix": metric.inverse_factor.tolist(), "center": metric.center.tolist()},
    }
    told = json.dumps(data)[:-1] + f', "frames": [{",".join(frames)}]}}'
    templates = Path(__file__).parent / "templates"
    return Template((templates / "drawing.html").read_text("utf-8")).substitute(
        shapes.PALETTE[theme],
        version=__version__,
        value=f"{state.curvature:.2f}",
        title=escape(describe(state, View(metric, state.chart))),
        last=len(curvatures) - 1,
        start=curvatures.index(state.curvature),
        views=views,
        data=told.replace("<", "\\u003c"),
        script=(templates / "drawing.js").read_text("utf-8"),
        code=escape(plane_code(state, theme)),
    )


def _shapes_in_z(state: PlaneState) -> list[dict[str, Any]]:
    """Return the shapes of Klein's view in z, without the rim, which isometries keep."""
    scene = Drafter(state.with_parts({"shown": ",".join(state.shown - {"conic"})})).scene("klein")
    found = []
    for shape in scene.shapes:
        if shape.kind == "line" and shape.size == RIM_WIDTH:
            continue
        z = np.round((shape.xy - state.metric.center) @ state.metric.factor.T, 5)  # gaps stay NaN
        kept = shape._asdict()
        kept["xy"] = [None if np.isnan(place[0]) else place.tolist() for place in z]
        kept["shift"] = shape.shift[0].tolist() if len(shape.shift) else [0, 0]
        kept["text"] = shape.text[0] if shape.text else ""
        found.append(kept)
    return found


def _frames(state: PlaneState, frame: Callable[[float], str]) -> tuple[list[float], list[str]]:
    """Return the curvatures of an offline page, that of the state among them, and its frames."""
    frames = {state.curvature: frame(state.curvature)}
    count = LIMITS.offline_bytes // len(frames[state.curvature])
    half = (min(count, 41) - 1) // 2  # frames on each side of K = 0
    others = np.linspace(-1, 1, 2 * half + 1).round(2) + 0.0 if half > 0 else np.empty(0)
    for K in others.tolist():
        if K not in frames:
            frames[K] = frame(K)
    curvatures = sorted(frames)
    return curvatures, [frames[K] for K in curvatures]


def _still_page(state: PlaneState, theme: str) -> str:
    def frame(K: float) -> str:
        drawn = _pictures(state.with_parts({"curvature": K}), theme)[1]
        return f'<g data-k="{K:.2f}">{drawn}</g>'

    curvatures, frames = _frames(state, frame)
    template = (Path(__file__).parent / "templates" / "offline.html").read_text("utf-8")
    return Template(template).substitute(
        shapes.PALETTE[theme],
        version=__version__,
        size=PICTURE_SIZE,
        value=f"{state.curvature:.2f}",
        width=PICTURE_SIZE * len(state.charts),
        title=escape(describe(state, View(state.metric, state.chart))),
        last=len(curvatures) - 1,
        start=curvatures.index(state.curvature),
        frames="\n".join(frames),
        code=escape(plane_code(state, theme)),
    )


EXPORTS: dict[
    str, tuple[str, Callable[[PlaneState, str], str]]
] = {  # media type, and the function that makes it
    "plane.svg": ("image/svg+xml", plane_svg),
    "plane.html": ("text/html", offline_page),
    "plane.py": ("text/x-python", plane_code),
    "points.csv": ("text/csv", points_csv),
    "plane.json": ("application/json", plane_json),
}
