"""Meshes raise a clear error for bad input."""

import numpy as np
import pytest
from tests.bad_input import Call, calls, check, choice, count, one_of, real, rows, thing
from tests.small import DISC, QUERIES

from cayleyklein.meshes import lloyd, mesh_polygon

SQUARE = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
HOLE = [[-0.25, -0.375], [-0.125, -0.375], [-0.1875, -0.25]]

CALLS = {
    "mesh_polygon": Call(mesh_polygon, {
        "polygon": rows(SQUARE, inside=True), "metric": thing(DISC),
        "holes": one_of(None, a_number=3, a_text="hole", one_ring=HOLE, of_texts=["hole"]),
        "points": rows(QUERIES, inside=True),
        "min_angle": real(20.0, -1.0, 40.0),
        "max_area": real(0.1, 0.0, -1.0, accepted=("None",)),
        "max_edge": real(0.3, 0.0, -1.0, accepted=("None",)),
        "max_vertices": count(1000, 3),
    }),
    "lloyd": Call(lloyd, {
        "points": rows(QUERIES, inside=True), "metric": thing(DISC),
        "polygon": rows(SQUARE, inside=True),
        "holes": one_of(None, a_number=3, a_text="hole", one_ring=HOLE),
        "density": one_of(None, a_number=1.0, an_array=np.ones(4)),
        "max_iter": count(5), "tol": real(1e-2, -1.0, 1.0),
    }, also_named=("polygon",)),
    "PlaneMesh.to_meshio": Call(
        "to_meshio", {"chart": choice("klein", "None")}, lambda: mesh_polygon(SQUARE, DISC)
    ),
    "PlaneMesh.to_trimesh": Call(
        "to_trimesh", {"chart": choice("klein", "None")}, lambda: mesh_polygon(SQUARE, DISC)
    ),
}  # fmt: skip

SAMPLE = """
mesh_polygon polygon: one axis
mesh_polygon polygon: duplicated
lloyd points: duplicated
lloyd polygon: one row
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
