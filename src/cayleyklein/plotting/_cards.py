"""Notebook cards: a picture of a metric, an estimator or a diagram, and facts beside it."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np

from cayleyklein._validation import require
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.metrics import CurvedMetric, Metric, ProductMetric, terms_of
from cayleyklein.plotting._metric import MetricDisplay
from cayleyklein.plotting._style import PlaneDisplay, number
from cayleyklein.plotting._voronoi import VoronoiDisplay

Facts = list[tuple[str, str]]

MOST_CELLS = 2000
"""A picture of more cells would take long, and be grey."""


def notebook_card(thing: Any) -> str:
    """Return the HTML card of a metric, a diagram or an estimator, empty before it is fitted."""
    if isinstance(thing, CayleyKleinVoronoi):
        small = len(thing.cell_generators) <= MOST_CELLS
        image = picture(lambda: VoronoiDisplay.from_diagram(thing)) if small else ""
        return card("CayleyKleinVoronoi", diagram_facts(thing), image)
    if isinstance(thing, Metric):
        image = picture(lambda: MetricDisplay.from_metric(thing, lattice=5))
        return card(type(thing).__name__, metric_facts(thing), image)
    metric, names = getattr(thing, "metric_", None), getattr(thing, "feature_names_in_", None)
    if metric is None:
        return ""
    image = picture(lambda: MetricDisplay.from_metric(metric, feature_names=names, lattice=5))
    return card("The learned metric", [*metric_facts(metric), *learning_facts(thing)], image)


def picture(make: Callable[[], PlaneDisplay]) -> str:
    """Return a display as a small image; empty without matplotlib, and where no plane is to see."""
    try:
        display = make()
        figures = require("matplotlib.figure", "plot")
        figure = figures.Figure(figsize=(2.3, 2.3), layout="constrained")
        ax = display.plot(figure.add_subplot()).ax_  # type: ignore[attr-defined]
    except (CayleyKleinError, np.linalg.LinAlgError):  # a line, space, or points at distance 0
        return ""
    title = ax.get_title() or "Voronoi cells"
    ax.set(title="", xticks=[], yticks=[])
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=90)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{escape(title)}" title="{escape(title)}" src="data:image/png;base64,{data}">'


def card(title: str, facts: Facts, image: str) -> str:
    """Return a picture with facts beside it; every text is escaped."""
    cell = 'style="text-align:left;padding:1px 8px 1px 0;vertical-align:top"'
    rows = "".join(
        f'<tr><th {cell} scope="row">{escape(name)}</th><td {cell}>{escape(value)}</td></tr>'
        for name, value in facts
    )
    return (
        f'<div class="cayleyklein" style="display:flex;flex-wrap:wrap;align-items:center;'
        f'gap:16px;margin:4px 0">{image}<div style="flex:1 1 240px"><b>{escape(title)}</b>'
        f'<table style="margin:4px 0;border:none">{rows}</table></div></div>'
    )


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
        ("held-out rows", chosen.scores),
    ]


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
