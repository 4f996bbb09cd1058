"""The figures of the paper, drawn again: one function for each, on an empty figure.

:func:`paper_figure` makes the figure and calls one of them; the command ``cayleyklein figures`` and
the gallery do it that way too. Matplotlib is optional, so its figures have the type Any here.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import qmc

from cayleyklein import _validation as checks
from cayleyklein import geometry
from cayleyklein._typing import Floats
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import shapes
from cayleyklein.plotting._diagrams import VoronoiDisplay
from cayleyklein.plotting._plane import BallDisplay, CrossRatioDisplay, GeodesicDisplay

ORANGE = "#D55E00"


def paper_figure(name: str) -> Any:
    """Draw one figure of the paper, as a Matplotlib figure of pyplot.

    Parameters
    ----------
    name : str
        One of :data:`PAPER_FIGURES`: "cross_ratio", "distance_and_angle", "projections",
        "bisectors", "voronoi", "spheres", "bichromatic" or "order_k".

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from cayleyklein.plotting import PAPER_FIGURES
    >>> len(PAPER_FIGURES)
    8
    >>> figure = paper_figure("spheres")
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['elliptic, $K = 1$', 'hyperbolic, $K = -1$', 'Mahalanobis, $K = 0$']
    """
    drawing = _DRAWINGS[as_figure_name(name)]
    pyplot = checks.require("matplotlib.pyplot", "plot")
    figure = pyplot.figure(figsize=drawing.size, layout="compressed")
    drawing.draw(figure)
    return figure


def as_figure_name(name: Any) -> str:
    """Check the name of a figure; the error names one like it, or all."""
    text = checks.as_text(name, "name")
    if text not in PAPER_FIGURES:
        near = checks.did_you_mean(text, PAPER_FIGURES, "figures")
        raise InvalidInputError(f"The paper has no figure {text!r}.{near}")
    return text


def draw_cross_ratio(figure: Any) -> None:
    """Draw figure 1: the invariance of the cross-ratio, and its product rule."""
    left, right = figure.subplots(1, 2)

    # (a) This collineation moves every point along its ray through O, the origin.
    H = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.14, 0.36, 1.0]]
    t = np.array([0.3, 0.6, 0.0, 1.0])[:, None]
    points = (1 - t) * [-1.0, -1.0] + t * [1.2, -1.4]
    images = geometry.apply_collineation(H, points)
    for image in images:
        left.plot(*np.transpose([(0, 0), 1.1 * image]), color="0.75", linewidth=0.8, zorder=0)
    left.plot(0, 0, "k.")
    left.annotate("$O$", (0, 0), xytext=(8, 0), textcoords="offset points", va="center")
    first = CrossRatioDisplay.from_points(*points).plot(left)
    primed = ("p'", "q'", "P'", "Q'")
    second = CrossRatioDisplay.from_points(*images).plot(left, labels=primed)
    values = f"(p, q; P, Q) = {first.value:.3f} = {second.value:.3f} = (p', q'; P', Q')"
    left.set_title(f"(a) ${values}$")

    # (b) A conic gives the line its P and Q.
    metric = CurvedMetric(matrix=np.diag([0.25, 0.5]), curvature=-1.0)
    p = [-1.1, 0.5]
    r = [0.3, 0.5]
    q = [1.1, 0.5]
    display = CrossRatioDisplay.from_metric(metric, p, q).plot(right)
    P, Q = display.points[2:]
    right.plot(*r, "o", color=ORANGE, markersize=5, zorder=4)
    right.annotate("$r$", r, xytext=(0, 11), textcoords="offset points", ha="center", va="center")
    bar = {"arrowstyle": "|-|, widthA=0.25, widthB=0.25", "shrinkA": 0, "shrinkB": 0}
    for name, start, end, y in [("p, r", p, r, 0.2), ("r, q", r, q, -0.2), ("p, q", p, q, -0.6)]:
        right.annotate("", (start[0], y), (end[0], y), arrowprops=bar)
        text = f"$({name}; P, Q) = {geometry.cross_ratio(start, end, P, Q):.3f}$"
        right.text((start[0] + end[0]) / 2, y - 0.09, text, ha="center", va="top", fontsize=9)
    right.set_title("(b) $(p, q; P, Q) = (p, r; P, Q) \\times (r, q; P, Q)$")


def draw_distance_and_angle(figure: Any) -> None:
    """Draw figure 2: the distance of two points, and the angle of two lines, from a conic."""
    metric = CurvedMetric(matrix=[[0.5, 0.15], [0.15, 0.9]], curvature=-1.0)
    conic = metric.absolute
    left, right = figure.subplots(1, 2)

    # (a) The distance of two points.
    display = CrossRatioDisplay.from_metric(metric, [-0.5, -0.3], [0.55, 0.35]).plot(left)
    left.set_title(f"(a) $d(p, q) = |\\mathrm{{Log}}(p, q; P, Q)|/2 = {display.distance:.3f}$")

    # (b) The angle of two lines. Homogeneous vectors join and meet by cross products.
    meeting = np.array([1.9, 0.9, 1.0])
    line_l = np.cross(meeting, [0.0, 0.35, 1.0])
    line_m = np.cross(meeting, [0.1, -0.35, 1.0])
    polar = conic.matrix @ meeting
    a = np.cross(polar, line_l)
    b = np.cross(polar, line_m)
    a = a[:2] / a[2]
    b = b[:2] / b[2]
    ends = geometry.line_intersections(conic.matrix, a, b)
    touch_L, touch_M = ((x / x[2]).real[:2] for x in ends)
    GeodesicDisplay.from_points(metric, a, b).plot(right, linestyles="--")
    for name, through, length, color in [
        ("l", a, 2.45, shapes.BLUE),
        ("m", b, 2.5, shapes.BLUE),
        ("L", touch_L, 1.45, "0.35"),
        ("M", touch_M, 1.45, "0.35"),
    ]:
        end = meeting[:2] + length * (through - meeting[:2])
        right.plot(*np.transpose([meeting[:2], end]), color=color, linewidth=1.2)
        right.annotate(f"${name}$", end, xytext=(-5, 0), textcoords="offset points", ha="right")
    right.plot(*meeting[:2], "k.")
    right.annotate("$p$", meeting[:2], xytext=(2, 5), textcoords="offset points")
    right.margins(0.08)
    tangent_points = np.transpose([touch_L, touch_M])
    right.plot(*tangent_points, "wo", markeredgecolor="k", markersize=5, zorder=5)
    angle = abs(geometry.hyperplane_measure(conic.dual, line_l, line_m))
    right.set_title(f"(b) $|∠(l, m)| = |\\mathrm{{Log}}(l, m; L, M)|/2 = {angle:.3f}$")


def draw_projections(figure: Any) -> None:
    """Draw figure 3: gnomonic projection of a hemisphere, central projection of a hyperboloid."""
    sphere = CurvedMetric.euclidean(1, curvature=1.0)
    hyperboloid = CurvedMetric.euclidean(1, curvature=-1.0)
    left, right = figure.subplots(1, 2)
    everywhere = np.tan(np.linspace(-1.57, 1.57, 999))
    distance = _draw_projection(left, sphere, "sphere", [-0.7, 1.3], everywhere)
    left.set_title(f"(a) gnomonic projection: $d(x, y) = {distance:.3f}$")
    inside = np.linspace(-0.88, 0.88, 999)
    distance = _draw_projection(right, hyperboloid, "hyperboloid", [-0.5, 0.8], inside)
    right.set_title(f"(b) central projection: $d(x, y) = {distance:.3f}$")
    right.plot([-1.5, 0, 1.5], [1.5, 0, 1.5], "k:", linewidth=1)  # the asymptotes
    right.plot([-1, 1], [1, 1], "ko", markersize=6)  # the conic


def _draw_projection(
    ax: Any, metric: CurvedMetric, model: str, ends: list[float], everywhere: Floats
) -> float:
    """Draw a surface above its line, and the arc of two points; return its length."""
    K = metric.curvature
    color = shapes.GEOMETRY_COLORS[metric.geometry]
    ax.axhline(1, color="0.35", linewidth=1.2, zorder=0)
    ax.plot(*metric.to_chart(everywhere[:, None], model).T, "k", linewidth=1.5)
    arc = metric.to_chart(np.linspace(ends[0], ends[1], 100)[:, None], model)
    ax.plot(*arc.T, color=color, linewidth=3.5, solid_capstyle="round")
    for name, x, lifted in zip("xy", ends, arc[[0, -1]], strict=True):
        farther = max((x, 1.0), tuple(lifted), key=lambda point: point[1])
        ax.plot(*np.transpose([(0, 0), farther]), color="0.6", linewidth=0.8, zorder=0)
        ax.plot(x, 1, "o", color="white", markeredgecolor="black", markersize=5)
        ax.plot(*lifted, "o", color=color, markersize=6)
        side = np.sign(x)
        for text, place, shift in [
            (f"${name}$", (x, 1), (0, 9) if K > 0 else (-5, 10 * side)),
            (f"${name}'$", lifted, (12 * side, 0 if K > 0 else -5)),
        ]:
            ax.annotate(text, place, shift, textcoords="offset points", ha="center", va="center")
    ax.plot(0, 0, "k.")
    ax.set(xlabel="$x$", ylabel="$w$", aspect="equal", ylim=(-0.1, 1.25 if K > 0 else 2.2))
    return metric(ends[:1], ends[1:])


def draw_bisectors(figure: Any) -> None:
    """Draw figure 4: the bisectors of two points in two hyperbolic planes."""
    tilted = CurvedMetric(matrix=[[1.0, 0.6], [0.6, 1.5]], center=[0.4, 0.1], curvature=-0.5)
    cases = [
        (CurvedMetric.euclidean(2, curvature=-1.0), [-0.55, -0.2], [0.35, 0.6]),
        (tilted, [-0.35, 0.75], [0.9, -0.35]),
    ]
    for ax, (metric, p, q) in zip(figure.subplots(1, 2), cases, strict=True):
        for scale in (0.5, 0.7, 0.95):
            balls = BallDisplay.from_metric(metric, [p, q], scale * metric(p, q))
            balls.plot(ax, fill=0, linewidths=0.6)
        GeodesicDisplay.from_points(metric, p, q, marks=3).plot(ax, linestyles="--")
        bisector = GeodesicDisplay.from_hyperplane(metric, metric.bisector(p, q))
        bisector.plot(ax, color=ORANGE, linewidths=2)
        for name, point in {"p": p, "q": q}.items():
            ax.annotate(f"${name}$", point, (0, 7), textcoords="offset points", ha="center")
        ax.set_title(f"$K = {metric.curvature:g}$")


def draw_voronoi(figure: Any) -> None:
    """Draw figure 5: two hyperbolic Voronoi diagrams."""
    metrics = [
        CurvedMetric.euclidean(2, curvature=-1.0),
        CurvedMetric(matrix=[[1.0, 0.6], [0.6, 1.5]], center=[0.4, 0.1], curvature=-0.5),
    ]
    for ax, metric in zip(figure.subplots(1, 2), metrics, strict=True):
        VoronoiDisplay.from_points(_spread_inside(metric, 60), metric).plot(ax)
        ax.set_title(f"$K = {metric.curvature:g}$")


def draw_spheres(figure: Any) -> None:
    """Draw figure 6: spheres of one radius, elliptic, hyperbolic and Mahalanobis."""
    matrix = [[1.0, 0.3], [0.3, 0.8]]
    centers = np.array([[0.0, 0.0], [0.62, 0.0], [-0.5, 0.55], [-0.2, -0.75]])
    colors = shapes.GEOMETRY_COLORS
    ax = figure.subplots()
    for name, K, color in [
        ("elliptic", 1.0, colors["elliptic"]),
        ("hyperbolic", -1.0, colors["hyperbolic"]),
        ("Mahalanobis", 0.0, shapes.BLUE),
    ]:
        metric = CurvedMetric(matrix=matrix, curvature=K)
        balls = BallDisplay.from_metric(metric, centers, 0.25)
        label = f"{name}, $K = {K:g}$"
        balls.plot(ax, color=color, fill=0, show_centers=False, label=label)
    ax.plot(*centers.T, "k.")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


def draw_bichromatic(figure: Any) -> None:
    """Draw figure 7: eight generators with labels 1 and -1, and their bichromatic diagram."""
    metric = CurvedMetric(matrix=[[1.0, -0.3], [-0.3, 1.3]], curvature=-1.0)
    positive = [[-0.55, 0.35], [-0.45, -0.35], [0.05, 0.05], [-0.1, 0.6]]
    negative = [[0.3, 0.6], [0.75, 0.3], [0.5, -0.15], [0.1, -0.6]]
    points = positive + negative
    labels = 4 * [1] + 4 * [-1]
    display = VoronoiDisplay.from_points(points, metric, labels=labels)
    left, right = figure.subplots(1, 2)
    display.plot(left, fill=False)
    left.set_title("(a) eight labelled generators")
    left.legend(loc="upper left", title="label", frameon=False)
    display.plot(right, linewidths=0.6)
    display.plot(right, regions=True, linewidths=2.5)
    right.set_title("(b) bichromatic Voronoi diagram")


def draw_order_k(figure: Any) -> None:
    """Draw figure 8: a Voronoi diagram of order 3, and one of its cells with its generators."""
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    points = _spread_inside(metric, 30)
    diagram = CayleyKleinVoronoi(points, metric, order=3)
    (cell,) = diagram.locate([[0.1, -0.1]])
    ax = figure.subplots()
    VoronoiDisplay.from_diagram(diagram).plot(ax, highlight=int(cell))
    ax.set_title(f"{len(points)} points, {len(diagram.cell_generators)} cells of order 3")


def _spread_inside(metric: CurvedMetric, n: int) -> Floats:
    """Spread n points evenly over a square; return those well inside a hyperbolic domain."""
    disc = 2 * qmc.Halton(2, scramble=False).random(n + 1)[1:] - 1
    disc = disc[np.linalg.norm(disc, axis=1) < 0.95]
    domain = metric.domain
    return disc if domain is None else domain.from_euclidean(disc)


class _Drawing(NamedTuple):
    draw: Callable[[Any], None]
    size: tuple[float, float]  # in inches


_DRAWINGS = {
    "cross_ratio": _Drawing(draw_cross_ratio, (10.0, 4.0)),
    "distance_and_angle": _Drawing(draw_distance_and_angle, (10.0, 4.4)),
    "projections": _Drawing(draw_projections, (10.0, 4.0)),
    "bisectors": _Drawing(draw_bisectors, (10.0, 4.4)),
    "voronoi": _Drawing(draw_voronoi, (10.0, 4.6)),
    "spheres": _Drawing(draw_spheres, (6.6, 4.6)),
    "bichromatic": _Drawing(draw_bichromatic, (10.0, 4.6)),
    "order_k": _Drawing(draw_order_k, (5.2, 5.2)),
}

# In the order of the paper.
PAPER_FIGURES: tuple[str, ...] = tuple(_DRAWINGS)
