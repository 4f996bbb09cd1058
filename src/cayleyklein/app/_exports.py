"""Files made from a state: pictures, tables, Python, and a page that needs no server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from string import Template

import numpy as np

from cayleyklein import __version__
from cayleyklein.app._draw import PALETTE, SIZE, elements, svg
from cayleyklein.app._scene import Drafter, describe
from cayleyklein.app._state import LETTERS, PlaneState
from cayleyklein.app._views import View

PAGE_BYTES = 3_000_000
"""Size of an offline page; frames that are larger leave room for fewer."""

MOST_FRAMES, FEWEST_FRAMES = 41, 3

TEMPLATE = Path(__file__).parent / "templates" / "offline.html"


def picture(state: PlaneState, theme: str = "light") -> str:
    """Return the first view of a state as SVG."""
    scene = Drafter(state).scene(state.chart)
    return svg(scene.shapes, scene.view.window, scene.description, theme)


def points_csv(state: PlaneState) -> str:
    """Return the points as a table."""
    rows = (f"{p.x},{p.y},{LETTERS[p.label]}\n" for p in state.points)
    return "x,y,class\n" + "".join(rows)


def plane_code(state: PlaneState) -> str:
    """Return a script that computes the metric and the diagram of a state, and draws them."""
    metric, drafter = state.metric, Drafter(state)
    points, labels = state.coordinates[drafter.live], state.labels[drafter.live]
    return f"""\
import matplotlib.pyplot as plt
import numpy as np

from cayleyklein import CayleyKleinVoronoi, CurvedMetric
from cayleyklein.plotting import VoronoiDisplay

metric = CurvedMetric(
    factor={metric.factor.tolist()},
    center={metric.center.tolist()},
    curvature={metric.curvature},
)
points = np.array({points.tolist()})
labels = {labels.tolist()}
diagram = CayleyKleinVoronoi(points, metric, order={drafter.order}, labels=labels)
VoronoiDisplay.from_diagram(diagram).plot()
plt.show()
"""


def offline_page(state: PlaneState, theme: str = "light") -> str:
    """Return a page of the first view at many curvatures, without a server or a network."""

    def frame(K: float) -> str:
        scene = Drafter(replace(state, curvature=K)).scene(state.chart)
        drawn = elements(scene.shapes, scene.view.window, theme)
        return f'<g data-k="{K:.2f}">{drawn}</g>'

    frames = {state.curvature: frame(state.curvature)}
    count = PAGE_BYTES // len(frames[state.curvature])
    steps = np.linspace(-1, 1, (min(max(count, FEWEST_FRAMES), MOST_FRAMES) - 1) // 2 * 2 + 1)
    for K in steps.round(2).tolist():
        frames.setdefault(K + 0.0, frame(K + 0.0))
    curvatures = sorted(frames)
    return Template(TEMPLATE.read_text("utf-8")).substitute(
        PALETTE[theme],
        title=escape(describe(state, View(state.metric, state.chart))),
        value=f"{state.curvature:.2f}",
        last=len(curvatures) - 1,
        start=curvatures.index(state.curvature),
        size=SIZE,
        frames="\n".join(frames[K] for K in curvatures),
        code=escape(plane_code(state)),
        version=__version__,
    )


EXPORTS: dict[str, tuple[str, Callable[[PlaneState, str], str]]] = {
    "plane.svg": ("image/svg+xml", picture),
    "plane.html": ("text/html", offline_page),
    "plane.py": ("text/x-python", lambda state, theme: plane_code(state)),
    "points.csv": ("text/csv", lambda state, theme: points_csv(state)),
}
"""Files that the server makes: their type, and how."""
