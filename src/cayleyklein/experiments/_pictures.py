"""What was learned, drawn for the report and put into it as data."""

from __future__ import annotations

import base64
import io
import warnings
from html import escape
from typing import Any

import numpy as np
from sklearn.base import clone

from cayleyklein._validation import require
from cayleyklein.experiments._methods import METHODS
from cayleyklein.experiments._problems import Problem
from cayleyklein.plotting import DecisionBoundaryDisplay, MetricDisplay

__all__ = ["learned_pictures"]

MOST_ROWS = 800
"""Rows in a picture; more would hide each other."""

RESOLUTION = 160
"""Points of the grid of decision regions along each axis."""

SHOWN = "auto"
LEGEND_CLASSES = 12
"""More classes than this have no legend beside the picture."""


def learned_pictures(problem: Problem, k: int) -> str:
    """Return two pictures of what ``geometry="auto"`` learns from all rows, as HTML.

    Parameters
    ----------
    problem : Problem
    k : int
        Neighbours that vote.
    """
    require("matplotlib", "plot")
    X, y = numeric_rows(problem)
    model = METHODS[SHOWN].make(k, None)
    with warnings.catch_warnings():  # the fits of the comparison have said it
        warnings.simplefilter("ignore")
        model.fit(X, y)
    legend = len(problem.classes) <= LEGEND_CLASSES
    metric = MetricDisplay.from_estimator(model, X, y)
    regions = DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=RESOLUTION)
    return (
        '<div class="pictures">'
        + figure(
            metric,
            f"The metric that auto learned from all rows of {problem.name}, on the principal plane "
            f"of its own coordinates. All balls have one radius: where they look small, "
            f"distances are long.",
            legend,
        )
        + figure(
            regions,
            "What auto predicts on the principal plane of the standardised columns. Rows are "
            "projected to that plane, so some stand on a colour that is not theirs.",
            legend,
        )
        + "</div>"
    )


def numeric_rows(problem: Problem) -> tuple[Any, Any]:
    """Return the rows as numbers, not too many, and the names of their classes."""
    X = problem.X
    if problem.prepare is not None:
        X = clone(problem.prepare).fit_transform(X)
    rows = np.asarray(X, dtype=np.float64)
    some = np.sort(np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS])
    return rows[some], problem.classes[problem.y[some]]


def figure(display: Any, caption: str, legend: bool) -> str:
    """Draw a display, and return it as a figure element that holds its picture."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(5.6, 4.4), layout="constrained")
    display.plot(canvas.add_subplot(), legend=legend)
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", dpi=150, bbox_inches="tight", metadata={"Software": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    text = escape(caption)
    return (
        f'<figure><img alt="{text}" src="data:image/png;base64,{data}">'
        f"<figcaption>{text}</figcaption></figure>"
    )
