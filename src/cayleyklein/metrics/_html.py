"""What a notebook shows of a metric, and of an estimator that has learned one."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from cayleyklein._typing import AnyArray
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.metrics._mixed import Metric, MixedMetric, first_term, terms_of
from cayleyklein.metrics._palette import GEOMETRY_COLORS
from cayleyklein.metrics._sections import principal_section
from cayleyklein.metrics._spheres import ball_lattice, bounds_of, domains_of, sphere_path
from cayleyklein.metrics._svg import Drawing

__all__ = ["MetricHtmlMixin", "card", "metric_facts", "metric_html"]

Facts = list[tuple[str, str]]

SIZE = 180
LATTICE = 5
OUTLINE_POINTS = 48

LONGEST = 4.0
"""Ratio of a plane metric's axes from which on it is shown in its principal axes instead."""


def metric_html(metric: Metric) -> str:
    """Return what a notebook shows of a metric.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric_html(CurvedMetric.euclidean(2, curvature=-1.0)).count("<svg")
    1
    >>> metric_html(CurvedMetric.euclidean(1)).count("<svg")  # a line has no picture
    0
    """
    return card(type(metric).__name__, metric_facts(metric), *metric_picture(metric))


def metric_facts(metric: Metric) -> Facts:
    """Return what a metric is, in words."""
    facts, terms = [("geometry", metric.geometry)], terms_of(metric)
    if isinstance(metric, MixedMetric):
        for part, weight in terms:
            facts.append((f"{weight:.3g} ×", f"{part.geometry}, K = {number(part.curvature)}"))
    else:
        facts.append(("curvature K", number(metric.curvature)))
    rank = min(len(part.factor) for part, _ in terms)
    low = "" if rank >= metric.dimension else f", factor of {rank} rows"
    return [*facts, ("dimension", f"{metric.dimension}{low}")]


def metric_picture(metric: Metric, names: Sequence[str] | None = None) -> tuple[str, str]:
    """Return a picture of the domain and of equal balls, and what it shows.

    Both are empty for what has no picture: a line, or a plane that the metric does not tell apart.
    """
    try:
        plane, where = _plane(metric, names)
        centers, radius = ball_lattice(plane, None, LATTICE)
        spheres = [sphere_path(plane, center, radius, OUTLINE_POINTS) for center in centers]
    except (CayleyKleinError, np.linalg.LinAlgError):
        return "", ""
    edges = [domain.boundary(4 * OUTLINE_POINTS) for domain in domains_of(plane)]
    drawing = Drawing(_bounds(centers, edges), SIZE)
    color = GEOMETRY_COLORS[metric.geometry]
    for path, closed in spheres:
        if len(path):
            drawing.path(path, closed=closed, color=color, fill=0.15)
    for edge in edges:
        drawing.path(edge, closed=True, width=2)
    caption = f"balls of radius {radius:.2g}{' and the domain' if edges else ''} in {where}"
    return drawing.svg(f"{metric.geometry} metric: {caption}"), caption


def _plane(metric: Metric, names: Sequence[str] | None) -> tuple[Metric, str]:
    """Return the metric on the plane that is shown, and which that is."""
    first = first_term(metric)
    if metric.dimension == 2 and np.linalg.cond(first.factor) < LONGEST:
        one, two = ("x₁", "x₂") if names is None else names
        return metric, f"the plane of {one} and {two}"
    whose = "its" if first is metric else "its first part's"
    return principal_section(first).restrict(metric), f"the plane of {whose} two principal axes"


def _bounds(centers: AnyArray, edges: Sequence[AnyArray]) -> AnyArray:
    if edges:
        return bounds_of(*edges)
    around = bounds_of(centers)
    half_a_cell = np.ptp(around, axis=0).max() / (2 * LATTICE)
    return np.stack([around[0] - half_a_cell, around[1] + half_a_cell])


def number(value: float, digits: int = 4) -> str:
    """Return a number as it is printed, with a minus that is one."""
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def card(title: str, facts: Facts, picture: str, caption: str) -> str:
    """Return a picture with facts beside it; every text is escaped.

    Examples
    --------
    >>> "&lt;b&gt;" in card("t", [("name", "<b>")], "", "")
    True
    """
    cell = 'style="text-align:left;padding:1px 8px 1px 0;vertical-align:top"'
    rows = "".join(
        f'<tr><th {cell} scope="row">{escape(name)}</th><td {cell}>{escape(value)}</td></tr>'
        for name, value in [*facts, ("picture", caption)]
        if value
    )
    return (
        f'<div class="cayleyklein" style="display:flex;flex-wrap:wrap;align-items:center;'
        f'gap:16px;margin:4px 0">{picture}<div style="flex:1 1 240px"><b>{escape(title)}</b>'
        f'<table style="margin:4px 0;border:none">{rows}</table></div></div>'
    )


class MetricHtmlMixin:
    """Adds the metric of a fitted estimator to the diagram that scikit-learn shows of it.

    Before BaseEstimator among the bases. The estimator has a ``metric_`` once it is fitted, and may
    have a ``learner_``, or be one: with ``alpha_`` and ``selection_``.
    """

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + estimator_html(self)  # type: ignore[misc,no-any-return]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += estimator_html(self)
        return bundle


def estimator_html(estimator: Any) -> str:
    """Return what is shown of the metric of an estimator: nothing before it is fitted."""
    metric = getattr(estimator, "metric_", None)
    if metric is None:
        return ""
    learner = getattr(estimator, "learner_", None) or estimator
    facts = metric_facts(metric)
    alpha, selection = (getattr(learner, name, None) for name in ("alpha_", "selection_"))
    if alpha is not None:
        facts.append(("share α of the elliptic part", f"{alpha:.3g}"))
    if selection is not None:
        chosen = next(t for t in selection.trials if t.name == selection.chosen)
        held_out = f"{chosen.accuracy:.3f} on {chosen.n_rows} held-out rows, {selection.chosen}"
        facts.append(("accuracy", held_out))
    names = getattr(estimator, "feature_names_in_", None)
    return card("The learned metric", facts, *metric_picture(metric, names))
