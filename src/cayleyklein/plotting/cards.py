"""Notebook cards: a picture of a metric, an estimator or a diagram, with facts next to it."""

from collections.abc import Sequence
from contextlib import suppress
from html import escape
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.columns import entrance
from cayleyklein.curvature import CurvatureEstimate
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.metrics import CurvedMetric, ProductMetric, SphereMetric, combined
from cayleyklein.neighbors.curved_neighbors import searched_rows
from cayleyklein.plotting import outlines, sections, shapes
from cayleyklein.plotting._plane import BallDisplay, ball_shapes
from cayleyklein.plotting.shapes import Shape, chain, number

Facts = list[tuple[str, str]]

METRIC_SIZE = 180  # pixels along the longer side of a picture


def notebook_card(thing: Any) -> str:
    if isinstance(thing, SphereMetric):  # every sphere looks the same
        return ""
    if isinstance(thing, combined.Metric):
        return html_card(type(thing).__name__, metric_facts(thing), *metric_picture(thing))
    if isinstance(thing, CayleyKleinVoronoi):
        return html_card("CayleyKleinVoronoi", *_diagram_card(thing))
    if isinstance(thing, CurvatureEstimate):
        return html_card("CurvatureEstimate", *_estimate_card(thing))
    metric: Any = getattr(thing, "metric_", None)
    if not isinstance(metric, combined.Metric):  # none yet, or a function, which has no picture
        metric = None
    names = getattr(thing, "feature_names_in_", None)
    parts = getattr(thing, "part_weights_", None)
    if metric is None and parts is None:
        return ""
    facts = []
    drawn = ""
    caption = ""
    bars = ""
    if metric is not None:
        encoded = getattr(thing, "encoder_", None) is not None  # it has other columns than X
        facts = metric_facts(metric)
        drawn, caption = metric_picture(metric, None if encoded else names)
    selection = getattr(thing, "selection_", None)
    if selection is not None and selection.trials:
        chosen = next(t for t in selection.trials if t.name == selection.chosen)
        facts.append(("chosen", f"{selection.chosen}: {selection.reason}"))
        facts.append(("held-out rows", str(chosen)))
    rows = searched_rows(thing)
    with suppress(CayleyKleinError):  # there are no shares if all rows coincide
        if parts is not None:
            facts.append(("weights", ", ".join(f"{name} {w:.2f}" for name, w in parts.items())))
            bars = _weight_bars(thing.feature_weights(), names, "product", "what the model says")
        elif rows is not None:
            shares = metric.feature_weights(rows[:: 1 + len(rows) // 1000])
            shares = entrance.column_shares(thing, shares)
            bars = _weight_bars(shares, names, metric.geometry, "squared distances")
            facts.append(("bars", "largest shares of squared distances"))
    title = "The learned metric" if parts is None else "Kernel machines and votes, added"
    return html_card(title, facts, drawn, caption, bars)


def html_card(title: str, facts: Facts, drawn: str, caption: str, more: str = "") -> str:
    cell = 'style="text-align:left;padding:1px 8px 1px 0;vertical-align:top"'
    rows = "".join(
        f'<tr><th {cell} scope="row">{escape(name)}</th><td {cell}>{escape(value)}</td></tr>'
        for name, value in [*facts, ("picture", caption)]
        if value
    )
    return (
        f'<div class="cayleyklein" style="display:flex;flex-wrap:wrap;align-items:center;'
        f'gap:16px;margin:4px 0">{drawn}<div style="flex:1 1 240px"><b>{escape(title)}</b>'
        f'<table style="margin:4px 0;border:none">{rows}</table></div>{more}</div>'
    )


def metric_facts(metric: combined.Metric) -> Facts:
    facts = [("geometry", metric.geometry)]
    terms = combined.terms_of(metric)
    for i, (part, weight) in enumerate(terms):
        name = f"{weight:.3g} ×"
        kind = f"{part.geometry}, K = {number(part.curvature)}"
        if isinstance(metric, CurvedMetric):
            name = "curvature K"
            kind = number(metric.curvature)
        elif isinstance(metric, ProductMetric):
            name = f"part {i + 1}"
            kind = f"{kind}, unit {number(float(metric.units[i]), 3)}"
        facts.append((name, kind))
    rank = min(len(part.factor) for part, _ in terms)
    low = "" if rank >= metric.dimension else f", factor of {rank} rows"
    return [*facts, ("dimension", f"{metric.dimension}{low}")]


def _estimate_card(found: CurvatureEstimate) -> tuple[Facts, str, str]:
    facts = [("verdict", found.sentence)]
    bend = (found.bend, *found.bend_interval)
    for name, numbers in (("curvature K", (found.curvature, *found.interval)), ("bend", bend)):
        best, low, high = (f"{value:.3g}" for value in numbers)
        assumed = f"{found.level:.0%} from {low} to {high}, if targets are such a process"
        facts.append((name, f"{best}, {assumed}"))
    K, value, _ = found.profile
    x = np.arcsinh(K / np.abs(K).mean())
    path = np.column_stack([x, np.maximum(value - value.max(), -8.0) / 8 * np.ptp(x)])
    flat = Shape("line", np.array([[0.0, 0.0], [0.0, -np.ptp(x)]]))
    profile = Shape("line", path, "elliptic" if found.curvature > 0 else "hyperbolic", 2.0)
    caption = "the log likelihood over K, down to 8 below its maximum, and a line at K = 0"
    bounds = outlines.bounds_of(path)
    return facts, shapes.picture([flat, profile], bounds, METRIC_SIZE, caption), caption


def _weight_bars(weights: Floats, names: Any, geometry: str, of: str) -> str:
    width = 150
    row = 26
    parts = []
    digits = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    for i, column in enumerate(np.argsort(-weights, kind="stable")[:5]):
        text = f"x{column + 1}".translate(digits) if names is None else str(names[column])
        if len(text) > 22:
            text = f"{text[:21]}…"
        length = width * 0.75 * weights[column] / weights.max()
        y = row * i
        parts.append(
            f'<text x="0" y="{y + 11}" font-size="11" fill="currentColor">{escape(text)}</text>'
            f'<rect x="0" y="{y + 14}" width="{length:.1f}" height="8" '
            f'fill="{shapes.GEOMETRY_COLORS[geometry]}"/>'
            f'<text x="{length + 4:.1f}" y="{y + 22}" font-size="10" fill="currentColor">'
            f"{100 * weights[column]:.0f} %</text>"
        )
    title = f"columns with the largest shares of {of}"
    return shapes.document(width, row * len(parts), title, "".join(parts))


def metric_picture(metric: combined.Metric, names: Sequence[str] | None = None) -> tuple[str, str]:
    first = combined.first_term(metric)
    plane = metric
    try:
        if metric.dimension == 2 and np.linalg.cond(first.factor) < 4:  # the ratio of its axes
            one, two = ("x₁", "x₂") if names is None else names
            where = f"the plane of {one} and {two}"
        else:
            plane = sections.choose_section(first, None, "pca").restrict(metric)
            whose = "its" if first is metric else "its first part's"
            where = f"the plane of {whose} two principal axes"
        drawn, caption, window = _balls_on(plane, METRIC_SIZE, where)
        if isinstance(plane, ProductMetric) and len(plane.metrics) > 1:
            size = METRIC_SIZE // 2
            parts = "".join(_balls_on(part, size, where, window)[0] for part in plane.metrics)
            drawn += f'<div style="display:grid;gap:4px">{parts}</div>'
            caption += ", and next to it balls of each part,"
    except (CayleyKleinError, np.linalg.LinAlgError):  # a line, or points at distance 0
        return "", ""
    return drawn, f"{caption} in {where}"


def _balls_on(
    plane: combined.Metric, size: int, where: str, window: Floats | None = None
) -> tuple[str, str, Floats]:  # the picture, its caption and its corners
    n_balls = 5  # along a side
    centers, radius = outlines.ball_lattice(plane, window, n_balls)
    edges = outlines.edges_of(outlines.domains_of(plane), 192)
    bounds = outlines.bounds_of(*(edges or [centers]))
    if not edges:
        half_a_cell = np.ptp(bounds, axis=0).max() / (2 * n_balls)
        bounds += [[-half_a_cell], [half_a_cell]]
    balls = BallDisplay.from_metric(plane, centers, radius, resolution=48)
    spheres = ball_shapes(balls, shapes.GEOMETRY_COLORS[plane.geometry], 0.15, 1.0)
    drawn = [*spheres, Shape("line", chain(edges), size=2.0)]
    caption = f"balls of radius {radius:.2g}{' and the domain' if edges else ''}"
    title = f"{plane.geometry} metric: {caption} in {where}"
    return shapes.picture(drawn, bounds, size, title), caption, bounds


def _diagram_card(diagram: CayleyKleinVoronoi) -> tuple[Facts, str, str]:
    n = len(diagram.points)
    cells = len(diagram.cell_generators)
    labels = "" if diagram.labels is None else f", {len(diagram.classes)} labels"
    facts = [
        ("points", f"{n:,}{labels}"),
        ("order", str(diagram.order)),
        ("cells", f"{cells:,}, {int(diagram.unbounded.sum()):,} of them unbounded"),
        *metric_facts(diagram.metric),
    ]
    for name, which in (("duplicates", diagram.duplicates), ("hidden", diagram.hidden)):
        if len(which):
            facts.append((name, f"{len(which):,}"))
    if diagram.metric.dimension != 2:
        return facts, "", "only for diagrams of the plane"
    if cells > 2000:  # a picture of more would be large, and grey
        return facts, "", "only for at most 2,000 cells"
    edges = outlines.edges_of(outlines.domains_of(diagram.metric))
    bounds = outlines.bounds_of(*edges) if diagram.window is None else diagram.window
    drawn = []
    kind = "cells"
    if diagram.labels is not None:
        kind = "decision regions"
        codes = np.searchsorted(diagram.classes, diagram.cell_labels)
        regions = list(zip(diagram.outlines(3e-4), codes, strict=True))
        for c in range(len(diagram.classes)):
            mine = chain(cell for cell, code in regions if code == c)
            color, _, alpha = shapes.class_look(c)
            drawn += [Shape("area", mine, color, alpha=alpha), Shape("line", mine, color, 0.5)]
    drawn.append(Shape("line", chain(diagram.ridge_segments()[1])))
    drawn.append(Shape("marks", diagram.points, size=2.0 if n < 200 else 1.0, edge=""))
    drawn.append(Shape("line", chain(edges), size=2.0))
    title = f"{kind} of {n} points, {diagram.metric.geometry}"
    return facts, shapes.picture(drawn, bounds, 240, title), "the plane of x₁ and x₂"
