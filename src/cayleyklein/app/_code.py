"""The Python that reproduces what the page shows."""

from __future__ import annotations

from cayleyklein.app._scene import make_scene
from cayleyklein.app._state import PlaneState
from cayleyklein.app._views import LIBRARY_CHARTS

__all__ = ["plane_code", "points_csv"]


def points_csv(state: PlaneState) -> str:
    r"""Return the generators as a table.

    >>> from cayleyklein.app._state import Generator
    >>> points_csv(PlaneState(points=(Generator(0.5, -0.25, 1),)))
    'x,y,class\n0.5,-0.25,1\n'
    """
    rows = (f"{p.x},{p.y},{p.label}\n" for p in state.points)
    return "x,y,class\n" + "".join(rows)


def plane_code(state: PlaneState) -> str:
    """Return a script that draws the plane with the library's own plots."""
    metric = state.metric
    lines = [
        "import matplotlib.pyplot as plt",
        "import numpy as np",
        "",
        "from cayleyklein import CayleyKleinVoronoi, CurvedMetric",
        "from cayleyklein.plotting import (",
        "    BallDisplay, ChartDisplay, DecisionBoundaryDisplay, GeodesicDisplay, VoronoiDisplay",
        ")",
        "",
        f"points = np.array({[list(p[:2]) for p in state.points]}).reshape(-1, 2)",
        f"labels = np.array({[p.label for p in state.points]}, dtype=int)",
        "metric = CurvedMetric(",
        f"    factor={metric.factor.tolist()},",
        f"    center={metric.center.tolist()},",
        f"    curvature={metric.curvature},",
        ")",
    ]
    if not make_scene(state).inside.any():
        return "\n".join([*lines, "print(metric, 'without a point in its domain')", ""])
    lines.append("inside = metric.contains(points)")
    if state.chart == "klein":
        lines += _klein_lines(state)
    else:
        name = LIBRARY_CHARTS[state.chart][
            int(metric.curvature > 0) - int(metric.curvature < 0) + 1
        ]
        left_out = sorted(state.shown - {"cells", "conic"})
        if left_out:
            lines.append(f"# in this chart the cells only, without {', '.join(left_out)}")
        lines.append(
            f"ChartDisplay.from_points(points[inside], metric, charts=[{name!r}], "
            f"order={_order(state)}).plot()"
        )
    return "\n".join([*lines, "plt.show()", ""])


def _order(state: PlaneState) -> int:
    return min(state.order, max(1, int(make_scene(state).inside.sum()) - 1))


def _klein_lines(state: PlaneState) -> list[str]:
    """Return the lines that draw what is shown, one display on top of the other."""
    window = "" if state.curvature < 0 else ", window=[[-1.6, -1.6], [1.6, 1.6]]"
    lines = [
        "diagram = CayleyKleinVoronoi(",
        f"    points[inside], metric, order={_order(state)}, labels=labels[inside]{window}",
        ")",
    ]
    if "regions" in state.shown:
        lines.append("ax = DecisionBoundaryDisplay.from_diagram(diagram).plot().ax_")
    else:
        lines.append("ax = VoronoiDisplay.from_diagram(diagram).plot(fill=False).ax_")
    if "delaunay" in state.shown:
        lines += [
            "first = CayleyKleinVoronoi(points[inside], metric)",
            "for edge in first.dual().edges:",
            "    ax.plot(*points[inside][edge].T, color='tab:green', linewidth=1)",
        ]
    if "balls" in state.shown:
        lines.append(f"BallDisplay.from_metric(metric, points[inside], {state.radius}).plot(ax)")
    pair = state.chosen_pair
    if pair is not None and make_scene(state).inside[list(pair)].all():
        lines.append(f"p, q = points[{pair[0]}], points[{pair[1]}]")
        if "geodesics" in state.shown:
            lines.append("GeodesicDisplay.from_points(metric, p, q, marks=9).plot(ax)")
        if "bisector" in state.shown:
            lines.append("GeodesicDisplay.from_hyperplane(metric, metric.bisector(p, q)).plot(ax)")
    return lines
