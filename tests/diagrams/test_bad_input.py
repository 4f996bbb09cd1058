"""Diagrams raise a clear error for bad input."""

from functools import partial

import pytest
from tests.bad_input import Call, calls, check, count, labels, real, rows, thing
from tests.small import DISC, FLAT, QUERIES, X, Y, fitted

from cayleyklein.diagrams import CayleyKleinVoronoi, equivalent_balls

tolerance = {"tolerance": real(1e-2, 0.0, -1.0, accepted=("None",))}


def method(name, args, diagram="diagram"):
    return Call(name, args, lambda: fitted(diagram))


CALLS = {
    "equivalent_balls": Call(
        equivalent_balls, {"points": rows(X, inside=True), "metric": thing(DISC)}
    ),
    "the paper's balls": Call(
        partial(equivalent_balls, as_printed=True),
        {"points": rows(X, inside=True), "metric": thing(DISC)},
    ),
    "CayleyKleinVoronoi": Call(CayleyKleinVoronoi, {
        "points": rows(X), "metric": thing(FLAT), "order": count(1, len(X)),
        "labels": labels(Y, "None"), "window": rows([[-1.0, -1.0], [1.0, 1.0]]),
    }),
    "CayleyKleinVoronoi.locate": method("locate", {"X": rows(QUERIES)}),
    "CayleyKleinVoronoi.predict": method("predict", {"X": rows(QUERIES)}),
    "CayleyKleinVoronoi.cells": method("cells", tolerance),
    "CayleyKleinVoronoi.frontier": method("frontier", tolerance),
    "CayleyKleinVoronoi.cells in space": method("cells", tolerance, "space diagram"),
    "CayleyKleinVoronoi.outlines": method("outlines", tolerance),
}  # fmt: skip

SAMPLE = """
CayleyKleinVoronoi labels: one label less
CayleyKleinVoronoi.cells tolerance: out of range: 0
CayleyKleinVoronoi.frontier tolerance: -inf
CayleyKleinVoronoi.outlines tolerance: -inf
CayleyKleinVoronoi.locate X: a text
CayleyKleinVoronoi.predict X: sparse
equivalent_balls points: three axes
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
