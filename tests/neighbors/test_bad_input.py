"""The searches raise a clear error for bad input."""

import pytest
from tests.bad_input import (
    Call,
    calls,
    check,
    choice,
    count,
    fixed,
    jobs,
    real,
    rows,
    thing,
)
from tests.small import DISC, QUERIES, X, fitted

from cayleyklein import CurvedNeighbors


def fitting(kind, *data):
    """Return a function of the parameters, which only `fit` looks at."""
    return lambda **parameters: kind(**parameters).fit(*data)


def method(name, method, args):
    return Call(method, args, lambda: fitted(name))


def search_methods(kind, name, *accepted):
    k = {"X": rows(QUERIES, *accepted), "n_neighbors": count(2, len(X) + 1, accepted=("None",))}
    radius = {"X": rows(QUERIES, *accepted), "radius": real(0.5, -1.0, accepted=("None", "inf"))}
    mode = {"mode": choice("distance")}
    return {
        f"{kind}.kneighbors": method(name, "kneighbors", k),
        f"{kind}.kneighbors_graph": method(name, "kneighbors_graph", k | mode),
        f"{kind}.radius_neighbors": method(
            name, "radius_neighbors", radius | {"sort_results": fixed(False)}
        ),
        f"{kind}.radius_neighbors_graph": method(name, "radius_neighbors_graph", radius | mode),
    }


parameters = {
    "metric": thing(DISC, "None"), "n_neighbors": count(2),
    "radius": real(1.0, -1.0, accepted=("inf",)), "algorithm": choice("brute"),
    "outside": choice("extend"), "n_jobs": jobs(),
}  # fmt: skip

CALLS = {
    "CurvedNeighbors": Call(fitting(CurvedNeighbors, X), parameters),
    "CurvedNeighbors.fit": method("neighbors", "fit", {"X": rows(X, inside=True)}),
    "CurvedNeighbors.partial_fit": method("neighbors", "partial_fit", {"X": rows(X, inside=True)}),
    **search_methods("CurvedNeighbors", "neighbors"),
}  # fmt: skip

SAMPLE = """
CurvedNeighbors n_neighbors: negative
CurvedNeighbors.fit X: on the boundary
CurvedNeighbors.kneighbors n_neighbors: out of range: 17
CurvedNeighbors.kneighbors_graph n_neighbors: a bool
CurvedNeighbors.partial_fit X: outside the domain
CurvedNeighbors.radius_neighbors radius: a list
CurvedNeighbors.radius_neighbors_graph mode: an array
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
