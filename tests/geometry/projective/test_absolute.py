"""The absolute: signatures, adjugates, duals, sides and tangents."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import Absolute, signature

seeds = st.integers(0, 2**32 - 1)
DISC = np.diag([1.0, 1.0, -1.0])


def random_symmetric(rng, eigenvalues):
    n = len(eigenvalues)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (Q * eigenvalues) @ Q.T
    return (A + A.T) / 2


def cofactors(A):
    """Return the adjugate by its definition, from minors."""
    n = len(A)
    rows = [[np.delete(np.delete(A, j, 0), i, 1) for j in range(n)] for i in range(n)]
    return np.array(
        [[(-1) ** (i + j) * np.linalg.det(rows[i][j]) for j in range(n)] for i in range(n)]
    )


@given(seeds, st.integers(2, 6), st.data())
def test_signature_counts_signs(seed, n, data):
    counts = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n))
    rng = np.random.default_rng(seed)
    A = random_symmetric(rng, np.array(counts) * rng.uniform(0.1, 10, n))
    expected = counts.count(-1), counts.count(0), counts.count(1)
    if any(counts):
        assert signature(A) == expected
        assert signature(1e-100 * A) == expected
    assert signature(np.zeros((n, n))) == (0, n, 0)


@given(seeds, st.integers(2, 6), st.booleans())
def test_the_dual_is_the_matrix_of_cofactors(seed, n, singular):
    rng = np.random.default_rng(seed)
    eigenvalues = rng.choice([-1, 1], size=n) * rng.uniform(0.1, 2, size=n)
    A = random_symmetric(rng, eigenvalues * (np.arange(n) >= singular))
    dual = Absolute(A).dual
    np.testing.assert_allclose(dual, cofactors(A), atol=1e-12)
    np.testing.assert_allclose(A @ dual, np.linalg.det(A) * np.eye(n), atol=1e-12)


def test_a_dual_that_overflows_is_refused():
    with pytest.raises(InvalidInputError, match=r"overflows.*1e\+200"):
        Absolute(1e200 * np.eye(3))
    with pytest.raises(InvalidInputError, match="underflows"):
        Absolute(1e-200 * np.eye(3))


def test_attributes_are_frozen_copies():
    given_matrix = DISC.copy()
    conic = Absolute(given_matrix)
    given_matrix[0, 0] = 7
    assert conic.matrix[0, 0] == 1
    assert conic.dimension == 2
    np.testing.assert_array_equal(conic.dual, np.diag([-1.0, -1.0, 1.0]))
    assert conic.signature == (1, 0, 2)
    assert conic.dual_signature == (2, 0, 1)
    with pytest.raises(ValueError, match="read-only"):
        conic.matrix[0, 0] = 2
    with pytest.raises(AttributeError, match="immutable"):
        conic.matrix = np.eye(3)
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del conic.matrix


def test_equality_hash_repr_and_copies():
    conic, other = Absolute(DISC), Absolute(np.diag([1.0, 1.0, -2.0]))
    same = Absolute(np.where(DISC == 0, -0.0, DISC))
    assert conic == same
    assert hash(conic) == hash(same)
    assert conic != other
    assert conic != "conic"
    assert conic != Absolute(DISC, dual=DISC)
    for twin in (pickle.loads(pickle.dumps(conic)), copy.deepcopy(conic)):
        assert twin == conic
        assert not twin.matrix.flags.writeable
    assert eval(repr(conic), {"Absolute": Absolute}) == conic


def test_a_double_line_needs_its_dual():
    with pytest.raises(NotRepresentableError, match=r"rank 1.*Euclidean.*Galilean.*dual="):
        Absolute(np.diag([0.0, 0.0, 1.0]))
    with pytest.raises(NotRepresentableError, match="dimension 3"):
        Absolute(np.diag([0.0, 0.0, 1.0, 1.0]))
    assert Absolute(np.diag([0.0, 1.0])).dual.tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize(
    ("matrix", "dual"),
    [
        (DISC, 3 * DISC),
        (np.diag([0.0, 0.0, 1.0]), np.diag([1.0, 1.0, 0.0])),
        (np.diag([0.0, 0.0, 1.0]), np.diag([1.0, -1.0, 0.0])),
        (np.diag([0.0, 0.0, 1.0]), np.diag([1.0, 0.0, 0.0])),
        (np.diag([4.0, 1.0, -1.0]), np.diag([1.0, 4.0, -4.0])),
    ],
)
def test_duals_that_fit(matrix, dual):
    np.testing.assert_array_equal(Absolute(matrix, dual).dual, dual)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((DISC, np.eye(3)), "multiple of the identity"),
        ((np.diag([0.0, 0.0, 1.0]), np.diag([0.0, 0.0, 1.0])), "multiple of the identity"),
        ((np.zeros((3, 3)),), "matrix is the zero matrix"),
        ((DISC, np.zeros((3, 3))), "dual is the zero matrix"),
        ((np.array([[1.0, 2.0], [0.0, 1.0]]),), r"entries \(0, 1\) and \(1, 0\)"),
        ((np.array([[1.0, np.nan], [np.nan, 1.0]]),), "NaN"),
        ((np.ones((2, 3)),), "square"),
        ((np.ones((1, 1)),), "d ≥ 1"),
        (([],), "square"),
    ],
)
def test_bad_matrices_are_named(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        Absolute(*arguments)


@given(seeds, st.integers(1, 5))
def test_sides_agree_with_the_ellipsoid(seed, d):
    rng = np.random.default_rng(seed)
    L, c = np.eye(d) + 0.3 * rng.normal(size=(d, d)), rng.normal(size=d)
    M = np.zeros((d + 1, d + 1))
    M[:d, :d], M[:d, d] = L, -L @ c
    M[d, d] = 1
    A = M.T @ np.diag([1.0] * d + [-1.0]) @ M
    x = c + rng.normal(size=(20, d))
    expected = np.sign(np.linalg.norm((x - c) @ L.T, axis=1) - 1)
    for sign in (1, -1) if d > 1 else (1,):
        np.testing.assert_array_equal(Absolute(sign * (A + A.T) / 2).side(x), expected)


def test_side_special_cases():
    conic = Absolute(DISC)
    angles = np.linspace(0, 6, 40)
    assert not conic.side(np.stack([np.cos(angles), np.sin(angles)], axis=-1)).any()
    assert conic.side([0.0, 0.0]) == -1
    assert Absolute(np.eye(3)).side(np.zeros((4, 2))).tolist() == [-1] * 4
    interval = Absolute(np.diag([1.0, -1.0]))
    assert interval.side([[0.0], [1.0], [2.0]]).tolist() == [-1, 0, 1]
    with pytest.raises(NotRepresentableError, match="singular"):
        Absolute(np.diag([1.0, 1.0, 0.0])).side([0.0, 0.0])
    with pytest.raises(NotRepresentableError, match=r"\(2, 0, 2\).*only once"):
        Absolute(np.diag([1.0, 1.0, -1.0, -1.0])).side([0.0, 0.0, 0.0])
    with pytest.raises(InvalidInputError, match="points has 3 coordinates"):
        conic.side([0.0, 0.0, 0.0])


def test_polars_of_points_on_the_absolute_are_tangent():
    rng = np.random.default_rng(1)
    H = rng.normal(size=(4, 4))
    A = H.T @ np.diag([1.0, 1.0, 1.0, -1.0]) @ H
    absolute = Absolute((A + A.T) / 2)
    sphere = rng.normal(size=(30, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    x = np.concatenate([sphere, np.ones((30, 1))], axis=1) @ np.linalg.inv(H).T
    on = x[:, :3] / x[:, 3:]
    tangents = absolute.tangent(on)
    assert tangents.shape == (30, 4)
    dual = np.abs(absolute.dual)
    in_dual_conic = np.abs(np.einsum("ni,ij,nj->n", tangents, absolute.dual, tangents))
    sizes = np.einsum("ni,ij,nj->n", np.abs(tangents), dual, np.abs(tangents))
    assert (in_dual_conic < 1e-9 * sizes).all()
    incidence = np.abs(np.einsum("ij,ij->i", tangents[:, :3], on) + tangents[:, 3])
    assert (incidence < 1e-9 * np.abs(tangents).sum(axis=1) * (1 + np.abs(on).max(axis=1))).all()


@pytest.mark.parametrize("eigenvalues", [(1, 1, 1, -1), (2, -1, 1, 3), (1, 2, 3, 0)])
def test_tangents_are_zeros_of_the_dual_form(eigenvalues):
    """Tangents of the conic pass, and planes turned a little out of them do not."""
    rng = np.random.default_rng(2)
    absolute = Absolute(random_symmetric(rng, np.array(eigenvalues, dtype=float)))
    if eigenvalues[-1]:
        values, vectors = np.linalg.eigh(absolute.matrix)
        isotropic = np.zeros((20, 4))  # x̃ᵀAx̃ = Σλy² = 0
        isotropic[:, values > 0] = rng.normal(size=(20, 3))
        weights = (isotropic**2 * values).sum(axis=1)
        isotropic[:, values < 0] = np.sqrt(weights / -values[values < 0])[:, None]
        tangents = isotropic @ vectors.T @ absolute.matrix
    else:  # of a cone: every plane through its vertex
        vertex = np.linalg.eigh(absolute.matrix)[1][:, 0]
        tangents = rng.normal(size=(20, 4))
        tangents -= np.outer(tangents @ vertex, vertex)
    assert absolute.is_tangent(tangents).all()
    assert absolute.is_tangent(-1e-200 * tangents).all()
    near = tangents + 1e-3 * rng.normal(size=(20, 4))
    for size in (1e-200, 1.0, 1e200):
        assert not absolute.is_tangent(size * near).any()
    assert absolute.is_tangent(near, rtol=0.1).all()


def test_tangents_of_a_circle():
    theta = np.linspace(0, 2 * np.pi, 30).reshape(5, 6)
    conic = Absolute(DISC)
    lines = np.stack([np.cos(theta), np.sin(theta), np.full(theta.shape, -1.0)], axis=-1)
    assert conic.is_tangent(lines).all()
    assert conic.is_tangent(conic.tangent(lines[..., :2])).all()
    assert not conic.is_tangent([[1.0, 0.0, -1.1], [1.0, 0.0, 0.9], [0.0, 0.0, 1.0]]).any()
    assert Absolute(np.diag([0, 0, 1]), dual=np.diag([1, 1, 0])).is_tangent([0, 0, 1])
    assert not Absolute(np.eye(3)).is_tangent(lines).any()
    assert conic.is_tangent([1.0, 0.0, -1.0]).shape == ()
    for bad, message in (([1.0, 2.0], "2 coordinates"), ([0.0, 0.0, 0.0], "zero vector")):
        with pytest.raises(InvalidInputError, match=message):
            conic.is_tangent(bad)
    with pytest.raises(InvalidInputError, match="rtol"):
        conic.is_tangent([1.0, 0.0, -1.0], rtol=-1.0)


def test_form_broadcasts_and_keeps_single_precision():
    conic = Absolute(DISC)
    p, q = np.ones((4, 1, 2), np.float32), np.zeros((3, 2), np.float32)
    assert conic.form(p, q).shape == (4, 3)
    assert conic.form(p, q).dtype == conic.tangent(q).dtype == np.float32
    assert conic.form(p, q.astype(float)).dtype == np.float64
    assert conic.form([3.0, 4.0]) == 24
    with pytest.raises(InvalidInputError, match="broadcast"):
        conic.form(np.zeros((2, 2)), np.zeros((3, 2)))
