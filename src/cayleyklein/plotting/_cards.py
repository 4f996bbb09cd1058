"""Notebook cards: a picture of a metric, an estimator or a diagram, and facts beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.metrics import CurvedMetric, Metric, ProductMetric, first_term, terms_of
from cayleyklein.plotting.outlines import (
    ball_lattice,
    bounds_of,
    domains_of,
    edges_of,
    sphere_path,
)
from cayleyklein.plotting.sections import choose_section
from cayleyklein.plotting.style import GEOMETRY_COLORS, class_colors
from cayleyklein.plotting.svg import Drawing, bar_chart, number

Facts = list[tuple[str, str]]

METRIC_SIZE, PART_SIZE, DIAGRAM_SIZE = 180, 90, 240
"""Length of the longer side in pixels."""

LATTICE = 5
OUTLINE_POINTS = 48
CHORDS = 3e-4
"""Distance of chords from the arcs of the absolute, as a part of its radius."""

LARGEST_ASPECT = 4.0
"""Ratio of a plane metric's axes from which on it is shown in its principal axes instead."""

MOST_ROWS, MOST_BARS = 1000, 5
"""Rows that feature weights are computed from, and bars that show them."""

MOST_CELLS = 2000
"""A picture of more cells would be large, and grey."""


def notebook_card(thing: Any) -> str:
    """Return the HTML card of a metric, a diagram or an estimator, empty before it is fitted."""
    if isinstance(thing, Metric):
        return card(type(thing).__name__, metric_facts(thing), *metric_picture(thing))
    if isinstance(thing, CayleyKleinVoronoi):
        return card("CayleyKleinVoronoi", diagram_facts(thing), *diagram_picture(thing))
    metric = getattr(thing, "metric_", None)
    if metric is None:
        return ""
    names = getattr(thing, "feature_names_in_", None)
    facts = [*metric_facts(metric), *learning_facts(thing)]
    picture, caption = metric_picture(metric, names)
    rows = getattr(getattr(thing, "_searcher", None), "X", None)
    bars = "" if rows is None else weight_bars(metric, rows, names)
    facts += [("bars", "largest shares of squared distances")] if bars else []
    return card("The learned metric", facts, picture, caption, bars)


def weight_bars(metric: Metric, rows: Floats, names: Sequence[str] | None) -> str:
    """Return bars of the largest feature weights over a sample of the rows."""
    try:
        weights = metric.feature_weights(rows[:: 1 + len(rows) // MOST_ROWS])
    except CayleyKleinError:  # rows that coincide have none
        return ""
    order = np.argsort(-weights, kind="stable")[:MOST_BARS]
    shown = [f"x{subscript(i + 1)}" if names is None else str(names[i]) for i in order.tolist()]
    title = "columns with the largest shares of squared distances"
    return bar_chart(shown, weights[order].tolist(), GEOMETRY_COLORS[metric.geometry], title)


def subscript(index: int) -> str:
    """Write a number in small digits."""
    return str(index).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def card(title: str, facts: Facts, picture: str, caption: str, more: str = "") -> str:
    """Return a picture with facts, and perhaps another, beside it; every text is escaped."""
    cell = 'style="text-align:left;padding:1px 8px 1px 0;vertical-align:top"'
    rows = "".join(
        f'<tr><th {cell} scope="row">{escape(name)}</th><td {cell}>{escape(value)}</td></tr>'
        for name, value in [*facts, ("picture", caption)]
        if value
    )
    return (
        f'<div class="cayleyklein" style="display:flex;flex-wrap:wrap;align-items:center;'
        f'gap:16px;margin:4px 0">{picture}<div style="flex:1 1 240px"><b>{escape(title)}</b>'
        f'<table style="margin:4px 0;border:none">{rows}</table></div>{more}</div>'
    )


# -- metrics and estimators --------------------------------------------------------------------


def metric_facts(metric: Metric) -> Facts:
    """Return geometry, curvature and dimension of a metric."""
    facts, terms = [("geometry", metric.geometry)], terms_of(metric)
    if isinstance(metric, CurvedMetric):
        facts.append(("curvature K", number(metric.curvature)))
    for i, (part, weight) in enumerate([] if isinstance(metric, CurvedMetric) else terms):
        kind = f"{part.geometry}, K = {number(part.curvature)}"
        if isinstance(metric, ProductMetric):
            facts.append((f"part {i + 1}", f"{kind}, unit {number(float(metric.units[i]), 3)}"))
        else:
            facts.append((f"{weight:.3g} ×", kind))
    rank = min(len(part.factor) for part, _ in terms)
    low = "" if rank >= metric.dimension else f", factor of {rank} rows"
    return [*facts, ("dimension", f"{metric.dimension}{low}")]


def learning_facts(estimator: Any) -> Facts:
    """Return the chosen candidate and its scores on held-out rows, if some were compared."""
    learner = getattr(estimator, "learner_", None) or estimator
    selection = getattr(learner, "selection_", None)
    if selection is None or not selection.trials:
        return []
    chosen = next(t for t in selection.trials if t.name == selection.chosen)
    return [
        ("chosen", f"{selection.chosen}: {selection.reason}"),
        ("held-out rows", str(chosen)),
    ]


def metric_picture(metric: Metric, names: Sequence[str] | None = None) -> tuple[str, str]:
    """Return a picture of the domain and equal balls, and its caption; both empty for a line."""
    try:
        plane, where = _plane_of(metric, names)
        picture, caption, window = _balls_on(plane, METRIC_SIZE, where)
        if isinstance(plane, ProductMetric) and len(plane.metrics) > 1:
            parts = "".join(_balls_on(part, PART_SIZE, where, window)[0] for part in plane.metrics)
            picture += f'<div style="display:grid;gap:4px">{parts}</div>'
            caption += ", beside it balls of each part,"
    except (CayleyKleinError, np.linalg.LinAlgError):  # a line, or points at distance 0
        return "", ""
    return picture, f"{caption} in {where}"


def _balls_on(
    plane: Metric, size: int, where: str, window: Floats | None = None
) -> tuple[str, str, Floats]:
    """Return a picture of equal balls of a metric of the plane, its caption and its corners."""
    centers, radius = ball_lattice(plane, window, LATTICE)
    edges = [domain.boundary(4 * OUTLINE_POINTS) for domain in domains_of(plane)]
    bounds = _bounds_around(centers, edges)
    drawing = Drawing(bounds, size)
    color = GEOMETRY_COLORS[plane.geometry]
    for center in centers:
        path, closed = sphere_path(plane, center, radius, OUTLINE_POINTS)
        if len(path):
            drawing.path(path, closed=closed, stroke=color, fill=color, fill_opacity=0.15)
    for edge in edges:
        drawing.path(edge, closed=True, width=2)
    caption = f"balls of radius {radius:.2g}{' and the domain' if edges else ''}"
    return drawing.svg(f"{plane.geometry} metric: {caption} in {where}"), caption, bounds


def _plane_of(metric: Metric, names: Sequence[str] | None) -> tuple[Metric, str]:
    """Return the metric on the plane to show, and a description of that plane."""
    first = first_term(metric)
    if metric.dimension == 2 and np.linalg.cond(first.factor) < LARGEST_ASPECT:
        one, two = ("x₁", "x₂") if names is None else names
        return metric, f"the plane of {one} and {two}"
    whose = "its" if first is metric else "its first part's"
    section = choose_section(first, None, "pca")
    return section.restrict(metric), f"the plane of {whose} two principal axes"


def _bounds_around(centers: Floats, edges: Sequence[Floats]) -> Floats:
    if edges:
        return bounds_of(*edges)
    around = bounds_of(centers)
    half_a_cell = np.ptp(around, axis=0).max() / (2 * LATTICE)
    return np.stack([around[0] - half_a_cell, around[1] + half_a_cell])


# -- diagrams ----------------------------------------------------------------------------------


def diagram_facts(diagram: CayleyKleinVoronoi) -> Facts:
    """Return the numbers of points, labels and cells of a diagram, and the facts of its metric."""
    n, cells = len(diagram.points), len(diagram.cell_generators)
    facts = [
        ("points", f"{n:,}" if diagram.labels is None else f"{n:,}, {len(diagram.classes)} labels"),
        ("order", str(diagram.order)),
        ("cells", f"{cells:,}, {int(diagram.unbounded.sum()):,} of them unbounded"),
        *metric_facts(diagram.metric),
    ]
    for name, which in (("duplicates", diagram.duplicates), ("hidden", diagram.hidden)):
        facts += [(name, f"{len(which):,}")] if len(which) else []
    return facts


def diagram_picture(diagram: CayleyKleinVoronoi) -> tuple[str, str]:
    """Return a picture of the cells, and its caption."""
    if diagram.metric.dimension != 2:
        return "", "only for diagrams of the plane"
    if len(diagram.cell_generators) > MOST_CELLS:
        return "", f"only for at most {MOST_CELLS:,} cells"
    edges = edges_of(domains_of(diagram.metric))
    bounds = np.asarray(bounds_of(*edges) if diagram.window is None else diagram.window)
    drawing = Drawing(bounds, DIAGRAM_SIZE)
    if diagram.labels is not None:
        _fill_cells(drawing, diagram)
    for segment in diagram.ridge_segments()[1]:
        drawing.path(segment)
    shown = diagram.points
    if diagram.window is not None:
        shown = shown[((shown >= bounds[0]) & (shown <= bounds[1])).all(axis=1)]
    drawing.dots(shown, radius=2.0 if len(shown) < 200 else 1.0)
    for edge in edges:
        drawing.path(edge, closed=True, width=2)
    kind = "cells" if diagram.labels is None else "decision regions"
    title = f"{kind} of {len(diagram.points)} points, {diagram.metric.geometry}"
    return drawing.svg(title), "the plane of x₁ and x₂"


def _fill_cells(drawing: Drawing, diagram: CayleyKleinVoronoi) -> None:
    """Fill the cells of a labelled diagram with the colours of their classes."""
    palette = np.array(class_colors(len(diagram.classes)))
    colors = palette[np.searchsorted(diagram.classes, diagram.cell_labels)]
    for outline, color in zip(diagram.outlines(CHORDS), colors.tolist(), strict=True):
        if len(outline):
            drawing.path(
                outline, closed=True, stroke=color, width=0.5, fill=color, fill_opacity=0.25
            )
