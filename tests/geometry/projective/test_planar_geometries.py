"""Seven conics, nine measurements."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.exceptions import NotRepresentableError
from cayleyklein.geometry import PLANAR_GEOMETRIES, Absolute, classify

CANONICAL = {
    "elliptic": ([1, 1, 1], [1, 1, 1]),
    "hyperbolic": ([1, 1, -1], [1, 1, -1]),
    "dual Euclidean": ([1, 1, 0], [0, 0, 1]),
    "dual pseudo-Euclidean": ([1, -1, 0], [0, 0, 1]),
    "Euclidean": ([0, 0, 1], [1, 1, 0]),
    "pseudo-Euclidean": ([0, 0, 1], [1, -1, 0]),
    "Galilean": ([0, 0, 1], [1, 0, 0]),
}


def test_tables_are_complete_and_consistent():
    assert [g.name for g in PLANAR_GEOMETRIES] == list(CANONICAL)
    assert len({(g.matrix_signs, g.dual_signs) for g in PLANAR_GEOMETRIES}) == 7
    carried = [kinds for g in PLANAR_GEOMETRIES for kinds in g.measurements]
    kinds = ("elliptic", "parabolic", "hyperbolic")
    assert sorted(carried) == sorted(itertools.product(kinds, kinds))  # each of the nine, once


@pytest.mark.parametrize("name", CANONICAL)
def test_signs_are_those_of_the_table(name):
    geometry = next(g for g in PLANAR_GEOMETRIES if g.name == name)
    for signs, diagonal in zip(
        (geometry.matrix_signs, geometry.dual_signs), CANONICAL[name], strict=True
    ):
        assert sorted(signs) == sorted(diagonal)


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(CANONICAL)))
def test_type_does_not_depend_on_the_chart_or_on_signs(seed, name):
    rng = np.random.default_rng(seed)
    A, B = (np.diag(np.array(d, dtype=float)) for d in CANONICAL[name])
    H = np.linalg.qr(rng.normal(size=(3, 3)))[0] @ np.diag(rng.uniform(0.5, 2, 3))
    inverse = np.linalg.inv(H)
    A, B = inverse.T @ A @ inverse, H @ B @ H.T
    for sign in (1, -1):
        assert classify(Absolute(sign * A, dual=-sign * B)).name == name
    if name not in {"Euclidean", "pseudo-Euclidean", "Galilean"}:
        assert classify(Absolute(A)).name == name


def test_what_has_no_type_says_why():
    with pytest.raises(NotRepresentableError, match="dimension 3"):
        classify(Absolute(np.eye(4)))
