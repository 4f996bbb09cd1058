"""Seven conics, nine measurements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import (
    MEASUREMENT_GEOMETRIES,
    PLANAR_GEOMETRIES,
    Absolute,
    classify,
    measurement_geometry,
)

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
    assert len(MEASUREMENT_GEOMETRIES) == len(set(MEASUREMENT_GEOMETRIES.values())) == 9
    carried = [kinds for g in PLANAR_GEOMETRIES for kinds in g.measurements]
    assert sorted(carried) == sorted(MEASUREMENT_GEOMETRIES)  # each of the nine, once
    for g in PLANAR_GEOMETRIES:
        assert g.name in {MEASUREMENT_GEOMETRIES[kinds] for kinds in g.measurements}


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


@pytest.mark.parametrize("name", sorted(set(CANONICAL) - {"hyperbolic"}))
def test_one_measurement_on_every_other_conic(name):
    absolute = Absolute(*(np.diag(d) for d in CANONICAL[name]))
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(2, 50, 2))
    assert set(measurement_geometry(absolute, p, q)) == {name}


def test_three_measurements_on_a_real_conic():
    conic = Absolute(np.diag([1, 1, -1]))
    rng = np.random.default_rng(0)
    p, q = 1.5 * rng.normal(size=(2, 200, 2))
    names = measurement_geometry(conic, p, q)
    inside, meets = conic.side(p) < 0, conic.distance_kind(p, q) == "hyperbolic"
    np.testing.assert_array_equal(names == "hyperbolic", inside)
    np.testing.assert_array_equal(names == "doubly hyperbolic", ~inside & meets)
    np.testing.assert_array_equal(names == "dual hyperbolic", ~inside & ~meets)
    assert len(set(names)) == 3


def test_what_has_no_type_says_why():
    with pytest.raises(NotRepresentableError, match="dimension 3"):
        classify(Absolute(np.eye(4)))
    with pytest.raises(NotRepresentableError, match=r"Euclidean.*Galilean"):
        classify(Absolute(np.diag([0, 0, 1])))
    conic = Absolute(np.diag([1, 1, -1]))
    with pytest.raises(NotRepresentableError, match=r"isotropic.* at index 1"):
        measurement_geometry(conic, [[0, 0], [1, 5]], [[1, 0], [1, 3]])
    with pytest.raises(NotRepresentableError, match="on the absolute"):
        measurement_geometry(conic, [1, 0], [0, 0])
    with pytest.raises(InvalidInputError, match="same point"):
        measurement_geometry(conic, [0.5, 0], [0.5, 0])
    isotropic = Absolute(np.diag([1, 1, 0]))  # dual Euclidean: lines through the origin
    with pytest.raises(NotRepresentableError, match="isotropic"):
        measurement_geometry(isotropic, [1, 1], [2, 2])
