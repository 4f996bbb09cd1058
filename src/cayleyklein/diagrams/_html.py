"""What a notebook shows of a Voronoi diagram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cayleyklein.metrics._html import card, metric_facts
from cayleyklein.metrics._palette import class_colors
from cayleyklein.metrics._spheres import bounds_of, domains_of
from cayleyklein.metrics._svg import Drawing

if TYPE_CHECKING:
    from cayleyklein.diagrams._voronoi import CayleyKleinVoronoi

__all__ = ["diagram_html"]

SIZE = 240
ARC_STEP = math.pi / 60

MOST_CELLS = 2000
"""Of a diagram with more the picture would be large, and grey."""


def diagram_html(diagram: CayleyKleinVoronoi) -> str:
    """Return what a notebook shows of a diagram."""
    n, cells = len(diagram.points), len(diagram.cell_generators)
    facts = [
        ("points", f"{n:,}" if diagram.labels is None else f"{n:,}, {len(diagram.classes)} labels"),
        ("order", str(diagram.order)),
        ("cells", f"{cells:,}, {int(diagram.unbounded.sum()):,} of them unbounded"),
        *metric_facts(diagram.metric),
    ]
    for name, which in (("duplicates", diagram.duplicates), ("hidden", diagram.hidden)):
        facts += [(name, f"{len(which):,}")] if len(which) else []
    if diagram.metric.dimension != 2:
        return card("CayleyKleinVoronoi", facts, "", "none: it is not of the plane")
    if cells > MOST_CELLS:
        return card("CayleyKleinVoronoi", facts, "", f"none of more than {MOST_CELLS:,} cells")
    return card("CayleyKleinVoronoi", facts, _picture(diagram), "the plane of x₁ and x₂")


def _picture(diagram: CayleyKleinVoronoi) -> str:
    edges = [domain.boundary() for domain in domains_of(diagram.metric)]
    bounds = bounds_of(*edges) if diagram.window is None else diagram.window
    drawing = Drawing(np.asarray(bounds), SIZE)
    if diagram.labels is not None:
        _fill_cells(drawing, diagram)
    for segment in diagram.ridge_segments()[1]:
        drawing.path(segment)
    shown = diagram.points
    if diagram.window is not None:
        inside = ((shown >= bounds[0]) & (shown <= bounds[1])).all(axis=1)
        shown = shown[inside]
    drawing.dots(shown, radius=2.0 if len(shown) < 200 else 1.0)
    for edge in edges:
        drawing.path(edge, closed=True, width=2)
    kind = "cells" if diagram.labels is None else "decision regions"
    return drawing.svg(f"{kind} of {len(diagram.points)} points, {diagram.metric.geometry}")


def _fill_cells(drawing: Drawing, diagram: CayleyKleinVoronoi) -> None:
    """Draw the cells of a labelled diagram in the colours of their classes."""
    palette = np.array(class_colors(len(diagram.classes)))
    colors = palette[np.searchsorted(diagram.classes, diagram.cell_labels)]
    cell, corners = diagram._drawing.pieces.subdivide(ARC_STEP)
    x = diagram._drawing.to_points(corners)
    for number in np.unique(cell).tolist():
        color = str(colors[number])
        drawing.path(x[cell == number], closed=True, color=color, width=0.5, fill=0.25)
