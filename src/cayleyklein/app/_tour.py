"""The tour of the plane in eight steps, and one sentence of help for every control."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from cayleyklein.app._state import DEFAULT_POINTS, Generator, PlaneState, scatter
from cayleyklein.datasets import load_wine
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.geometry import Ball, cross_ratio
from cayleyklein.learning import CurvedLMNN
from cayleyklein.metrics import CurvedMetric, standard_factor

__all__ = ["HELP", "REFERENCES", "TOUR", "Step"]

PAPER = "https://arxiv.org/pdf/1609.07082#"

REFERENCES: dict[str, tuple[str, Any]] = {
    "absolute": ("CurvedMetric.absolute", CurvedMetric.absolute),
    "cross_ratio": ("cayleyklein.geometry.cross_ratio", cross_ratio),
    "metric": ("CurvedMetric", CurvedMetric),
    "ball": ("cayleyklein.geometry.Ball", Ball),
    "bisector": ("CurvedMetric.bisector", CurvedMetric.bisector),
    "voronoi": ("CayleyKleinVoronoi", CayleyKleinVoronoi),
    "learner": ("CurvedLMNN", CurvedLMNN),
}
"""Pages of the reference: a title, and the object whose docstring it shows."""


class Step(NamedTuple):
    """One step of the tour: what it says, and the scenes that it sets."""

    title: str
    text: str
    formula: str
    section: str
    anchor: str
    reference: str
    scene: Callable[[], PlaneState]
    after: Callable[[], PlaneState] | None = None
    play: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for the page."""
        return {
            "title": self.title,
            "text": self.text,
            "formula": self.formula,
            "paper": [f"Paper, section {self.section}", PAPER + self.anchor],
            "reference": [REFERENCES[self.reference][0], f"/reference/{self.reference}"],
            "query": self.scene().to_query(),
            "after": self.after().to_query() if self.after else None,
            "play": self.play,
        }


def _scene(shown: str = "", **values: Any) -> Callable[[], PlaneState]:
    """Return how to make a state of the usual points with some layers."""
    given = {"points": DEFAULT_POINTS} | values
    return lambda: PlaneState(shown=frozenset(shown.split()), **given)


PAIR = (Generator(-0.55, -0.2), Generator(0.5, 0.3, 1))
ROWS = tuple(Generator(x, y) for x in (-0.9, -0.45, 0.0, 0.45, 0.9) for y in (-0.6, 0.0, 0.6))

LEARNED = {
    "curvature": 1.0,
    "center_x": -0.2292,
    "center_y": -0.6865,
    "major": 0.436,
    "minor": 0.2409,
    "angle": 23.4,
}
"""The metric of geometry="learned" for two columns of the wine data, in the plane's units."""


def _wine(**conic: float) -> PlaneState:
    """Return the wines in two columns, with the standardised metric or another one."""
    wine: Any = load_wine()
    X = wine.data[:, [6, 9]]
    state, _ = PlaneState.of_rows(CurvedMetric(factor=standard_factor(X)), X, wine.target)
    return replace(state, **conic)  # type: ignore[arg-type]


TOUR = (
    Step(
        "A conic is a ruler",
        "Inside the thick ellipse, the conic, distances grow without bound towards the edge: the "
        "edge is infinitely far away. Each of the balls below has the same radius, so small ones "
        "are where the ruler is fine. Drag the cross or a square to move the conic, and the "
        "geometry moves with it.",
        "inside: 1 + K ‖L(x − μ)‖² > 0",
        "2",
        "section.2",
        "absolute",
        _scene("balls conic", points=ROWS, curvature=-0.7, radius=0.22),
    ),
    Step(
        "Distance from a cross-ratio",
        "The line through p and q meets the conic in P and Q. Four points on a line have a "
        "cross-ratio, the one number that no projection changes, and the distance is its "
        "logarithm in the unit of the curvature. Drag p towards P: the numbers under the drawing "
        "grow without bound.",
        "d(p, q) = log (p, q; P, Q) / (2√−K)",
        "2.1",
        "subsection.2.1",
        "cross_ratio",
        _scene("cross conic", points=PAIR, curvature=-0.8),
    ),
    Step(
        "Curvature, through zero",
        "Press play and watch K go from −1 to 1. For K < 0 the geometry is hyperbolic and ends at "
        "the conic, at K = 0 it is the Mahalanobis distance of the ellipse, for K > 0 it is a "
        "sphere. Nothing jumps: the balls far from the centre are smaller than in the flat plane "
        "for K < 0 and larger for K > 0.",
        "K < 0 stretches what is far from the centre, K > 0 compresses it",
        "2.4",
        "subsection.2.4",
        "metric",
        _scene("balls conic", points=ROWS, curvature=-0.7, radius=0.2),
        play=True,
    ),
    Step(
        "Balls have displaced centres",
        "In this view every ball is an ellipse, but its centre is not the ellipse's centre: look "
        "where the dots are. Towards the conic, balls of one radius are drawn smaller and flatter, "
        "because the same step on the page is a longer way there. In Poincaré's view beside it "
        "they are true circles.",
        "{x : d(x, c) ≤ r} is an ellipse around another point than c",
        "3.2",
        "subsection.3.2",
        "ball",
        _scene("balls", points=ROWS, curvature=-0.85, radius=0.3, second="poincare"),
    ),
    Step(
        "Bisectors are straight",
        "The dashed line is the set of points as far from p as from q. In Klein's view it is a "
        "straight line whatever K is, because the distances are equal where two linear functions "
        "are. This is why diagrams in a curved geometry are as quick to compute as flat ones.",
        "S(x, p)/√S(p, p) = S(x, q)/√S(q, q), linear in x",
        "3.1",
        "subsection.3.1",
        "bisector",
        _scene("bisector geodesics cross", points=PAIR, curvature=-0.8, second="poincare"),
    ),
    Step(
        "Voronoi cells",
        "Each cell holds the places that are nearest to one point, so its edges are pieces of "
        "bisectors. Lines join the points of cells that touch: the Delaunay triangulation. Drag a "
        "point, and see the same cells in both views.",
        "cell(i) = {x : d(x, pᵢ) ≤ d(x, pⱼ) for all j}",
        "3.1",
        "subsection.3.1",
        "voronoi",
        _scene("cells delaunay", curvature=-0.8, second="hemisphere"),
    ),
    Step(
        "Order k: the k nearest",
        "Now a cell holds the places that have the same three nearest points. The lit cell is that "
        "of the chosen point, and the rings are its three. If the points have classes and vote, "
        "these cells joined by class are the decision regions of k nearest neighbours.",
        "cell(T) = {x : T are the k points nearest to x}",
        "3.1",
        "subsection.3.1",
        "voronoi",
        _scene("cells lit conic", points=scatter(24, seed=5), curvature=-0.6, order=3),
    ),
    Step(
        "A learned metric",
        "These are wines of three makers, by flavanoids and colour; regions show the class of the "
        "nearest wine. Before, each column counts by its spread. After, the metric was learned so "
        "that wines of one maker are near: it tells apart where classes meet and, with K > 0, "
        "compresses what is far from there.",
        "learn (L, μ, K) so that neighbours of a class are nearer than others by a margin",
        "4",
        "section.4",
        "learner",
        _wine,
        lambda: _wine(**LEARNED),
    ),
)
"""What curvature does, for someone who has not read the paper."""


HELP = {
    "curvature": "Negative K is hyperbolic, zero is flat, positive K is elliptic (a sphere).",
    "play": "Moves K from −1 to 1 and back until you press it again.",
    "chart": "A view draws the same geometry in another way; distances do not change.",
    "second": "Shows another view of the same points beside the first.",
    "camera": "Drag the empty part of a hemisphere or hyperboloid to turn it.",
    "cells": "Each cell holds the places that are nearest to one point.",
    "regions": "Colours the cells by the class of their points, as nearest neighbours decide.",
    "lit": "Lights the cell that the chosen point is in, and rings its k nearest points.",
    "delaunay": "Joins the points whose cells touch.",
    "geodesics": "Shortest paths from the chosen point to all others, with marks at equal steps.",
    "bisector": "The places as far from the first chosen point as from the second.",
    "cross": "Shows the line through the two chosen points and how their distance is computed.",
    "balls": "All places within the ball radius of each point.",
    "conic": "Handles to move, stretch and turn the ellipse that the metric is made from.",
    "order": "With order k, a cell holds the places with the same k nearest points.",
    "radius": "The radius of all balls, measured in the geometry.",
    "points": "Add, remove and choose points; the chosen one has the large ring.",
    "scatter": "Replaces all points by new random ones.",
    "reset": "Sets points, conic, K, views and layers as at the start; Undo brings yours back.",
    "label": "The class of the chosen point, and of the points you add next.",
    "undo": "Steps back and forth through your changes, as the browser's Back and Forward do.",
    "share": "The link holds everything you see; files are made from it.",
    "learn": "Takes these points and classes to the Learn page.",
    "center": "Where the conic's centre μ is.",
    "axes": "Half lengths of the conic's axes.",
    "angle": "How far the conic is turned, in degrees.",
    "zoom": "Wheel or two fingers zoom when the drawing has the focus; drag empty space to move.",
    "data": "A table that comes with the package, or your own.",
    "file": "A table as text: commas, semicolons or tabs, with or without a line of names.",
    "target": "The column with the classes to predict.",
    "columns": "The columns to learn from; with exactly two, the pictures show these two.",
    "geometry": "The shape of the metric to learn; “automatic” compares several on held-out rows.",
    "neighbors": "How many nearest rows vote on the class of a new one.",
    "fit": "Learns from 7 of 10 rows; the other 3 test the result.",
    "model": "Learns once more from all rows, and saves a file for “cayleyklein predict”.",
    "open": "Opens the learned metric and the rows in the plane.",
}
"""What each control does, in one sentence."""
