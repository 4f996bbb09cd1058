"""``cayleyklein figures``: the paper's figures, by the Display classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from cayleyklein._validation import require
from cayleyklein.cli._console import Console, with_console
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.metrics import CurvedMetric
from cayleyklein.models import writing
from cayleyklein.plotting import (
    BallDisplay,
    CrossRatioDisplay,
    DecisionBoundaryDisplay,
    GeodesicDisplay,
    VoronoiDisplay,
)

__all__ = ["FIGURES", "HELP", "command"]

HELP = """Draw the figures of the paper.

Cross-ratio, bisectors, spheres, Voronoi diagrams and decision frontiers, as SVG and PNG.

Example:

\b
    cayleyklein figures -o pictures
"""

DISC = CurvedMetric.euclidean(2, curvature=-1.0)
OVAL = CurvedMetric(shape=[[1.0, 0.6], [0.6, 1.5]], center=[0.4, 0.1], curvature=-0.5)


@with_console
def command(
    console: Console,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Made when it is missing.")
    ],
) -> None:
    """Draw all figures."""
    require("matplotlib", "plot")
    from matplotlib.figure import Figure

    output.mkdir(parents=True, exist_ok=True)
    written = []
    with console.progress("drawing") as show:
        for number, (name, (panels, draw)) in enumerate(FIGURES.items()):
            show(number, len(FIGURES))
            figure = Figure(figsize=(5 * panels, 4.6), layout="compressed")
            draw(figure.subplots(1, panels, squeeze=False)[0])
            for ending in (".svg", ".png"):
                path = output / f"{name}{ending}"
                with writing(path) as temporary:
                    figure.savefig(temporary, dpi=150, bbox_inches="tight")
                written.append(path)
    values = {"figures": [str(path) for path in written]}
    console.result(values, "" if console.quiet else "\n".join(map(str, written)))


def points_in_disc(n: int) -> NDArray[np.float64]:
    """Return points that fill the disc evenly, on a spiral of the golden angle."""
    i = np.arange(n) + 0.5
    radius, angle = 0.94 * np.sqrt(i / n), np.pi * (3 - np.sqrt(5)) * i
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def cross_ratio(panels: Any) -> None:
    """Distance from a conic: Log (p, q; P, Q)."""
    CrossRatioDisplay.from_metric(DISC, [-0.5, -0.3], [0.4, 0.5]).plot(panels[0])
    CrossRatioDisplay.from_metric(OVAL, [-0.3, 0.5], [0.9, -0.3]).plot(panels[1])


def bisectors(panels: Any) -> None:
    """Bisectors are straight lines."""
    pairs = [(DISC, [-0.55, -0.2], [0.35, 0.6]), (OVAL, [-0.35, 0.75], [0.9, -0.35])]
    for ax, (metric, p, q) in zip(panels, pairs, strict=True):
        for scale in (0.5, 0.7, 0.95):
            radius = scale * metric(p, q)
            BallDisplay.from_metric(metric, [p, q], radius).plot(ax, fill=0, linewidths=0.6)
        GeodesicDisplay.from_points(metric, p, q, marks=3).plot(ax, linestyles="--")
        line = metric.bisector(np.asarray(p), np.asarray(q))
        GeodesicDisplay.from_hyperplane(metric, line).plot(ax, color="#D55E00", linewidths=2)
        ax.set_title(f"$K = {metric.curvature:g}$")


def spheres(panels: Any) -> None:
    """Spheres are ellipses with displaced centres."""
    centers = np.array([[0.0, 0.0], [0.62, 0.0], [-0.5, 0.55], [-0.2, -0.75]])
    for K in (1.0, -1.0, 0.0):
        metric = CurvedMetric(shape=[[1.0, 0.3], [0.3, 0.8]], curvature=K)
        label = f"{metric.geometry}, $K = {K:g}$"
        BallDisplay.from_metric(metric, centers, 0.25).plot(
            panels[0], fill=0, show_centers=False, label=label
        )
    panels[0].plot(*centers.T, "k.")
    panels[0].legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


def voronoi(panels: Any) -> None:
    """Voronoi diagrams are affine, whatever the curvature."""
    points = points_in_disc(60)
    for ax, K in zip(panels, (-1.0, 0.0, 1.0), strict=True):
        VoronoiDisplay.from_points(points, CurvedMetric.euclidean(2, curvature=K)).plot(ax)
        ax.set_title(f"$K = {K:g}$")


def order_k(panels: Any) -> None:
    """Each cell of order 3 belongs to three points."""
    diagram = CayleyKleinVoronoi(points_in_disc(25), DISC, order=3)
    cell = int(diagram.locate(np.array([[0.1, -0.1]]))[0])
    VoronoiDisplay.from_diagram(diagram).plot(panels[0], highlight=cell)


def bichromatic(panels: Any) -> None:
    """Labelled points, their diagram, and the frontier between their classes."""
    points = points_in_disc(80)
    labels = np.where(points[:, 0] + 0.5 * np.sin(5 * points[:, 1]) > 0, "blue", "red")
    diagram = CayleyKleinVoronoi(points, DISC, labels=labels)
    VoronoiDisplay.from_diagram(diagram).plot(panels[0], fill=False, linewidths=0)
    VoronoiDisplay.from_diagram(diagram).plot(panels[1], linewidths=0.4)
    DecisionBoundaryDisplay.from_diagram(diagram).plot(panels[1], legend=False, linewidths=2)


FIGURES: dict[str, tuple[int, Callable[[Any], None]]] = {
    "cross_ratio": (2, cross_ratio),
    "bisectors": (2, bisectors),
    "spheres": (1, spheres),
    "voronoi": (3, voronoi),
    "order_k": (1, order_k),
    "bichromatic": (2, bichromatic),
}
"""The number of panels of each figure, and what draws on them."""
