"""The adjugate of every rank, and the decompositions of forms."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import adjugate, spectral_form, unit_cholesky

seeds = st.integers(0, 2**32 - 1)


@mpmath.workdps(60)
def exact_adjugate(A):
    """Return the transpose of the matrix of cofactors, in 60 digits."""
    n = len(A)
    rows = [[mpmath.mpf(float(v)) for v in row] for row in A]

    def cofactor(i, j):
        minor = [[row[c] for c in range(n) if c != j] for k, row in enumerate(rows) if k != i]
        return (-1) ** (i + j) * (mpmath.det(mpmath.matrix(minor)) if minor else 1)

    return np.array([[float(cofactor(j, i)) for j in range(n)] for i in range(n)])


def of_rank(rng, n, rank):
    """Return a matrix of whole numbers, which are exact, of a rank."""
    return rng.integers(-4, 5, size=(n, rank)) @ rng.integers(-4, 5, size=(rank, n)).astype(float)


@given(seeds, st.integers(1, 6), st.data())
def test_the_adjugate_is_the_transposed_matrix_of_cofactors(seed, n, data):
    rank = data.draw(st.integers(1, n))
    A = of_rank(np.random.default_rng(seed), n, rank)
    expected, found = np.rint(exact_adjugate(A)), adjugate(A)
    size = max(1.0, np.linalg.norm(A, 2)) ** (n - 1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * n * size)
    true_rank = np.linalg.matrix_rank(A)
    assert np.linalg.matrix_rank(expected) == {n: n, n - 1: 1}.get(true_rank, 0)
    determinant = np.linalg.det(A) if true_rank == n else 0.0
    error = A @ found - determinant * np.eye(n)
    assert np.abs(error).max() <= 1e-13 * n * size * max(1.0, np.abs(A).max())


def test_the_adjugate_of_ill_conditioned_and_scaled_matrices():
    A = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-14, 0.0], [0.0, 0.0, 3.0]])
    np.testing.assert_allclose(adjugate(A), exact_adjugate(A), atol=1e-15)
    small = adjugate(np.diag([1.0, 1.0, 1e-14]))
    np.testing.assert_allclose(small, np.diag([1e-14, 1e-14, 1.0]), rtol=1e-12)
    np.testing.assert_allclose(adjugate(1e100 * np.eye(3)), 1e200 * np.eye(3))
    for size, flow in ((1e200, "overflows"), (1e-200, "underflows")):
        with pytest.raises(
            InvalidInputError,
            match=rf"adjugate of A {flow} at index 1.*{size:.0e}".replace("+", r"\+"),
        ):
            adjugate([np.eye(3), size * np.eye(3)])
    assert not adjugate(np.diag([1e-200, 0.0, 0.0])).any()


def test_the_adjugate_of_batches_and_of_one_number():
    batch = np.random.default_rng(0).normal(size=(4, 2, 3, 3))
    found = adjugate(batch)
    expected = [[exact_adjugate(A) for A in row] for row in batch]
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert adjugate([[0.0]]) == adjugate([[7.0]]) == 1
    for bad, message in ((np.ones((2, 3)), r"\(2, 3\)"), (3.0, "n, n"), ([[np.nan]], "NaN")):
        with pytest.raises(InvalidInputError, match=message):
            adjugate(bad)


def random_symmetric(rng, eigenvalues):
    n = len(eigenvalues)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (Q * eigenvalues) @ Q.T
    return (A + A.T) / 2


@given(seeds, st.integers(1, 5), st.data())
def test_the_spectral_form_puts_the_form_together_again(seed, d, data):
    rng = np.random.default_rng(seed)
    negative = data.draw(st.integers(0, d + 1))
    signs = np.where(np.arange(d + 1) < negative, -1.0, 1.0)
    S = random_symmetric(rng, signs * rng.uniform(0.1, 10, size=d + 1))
    form = spectral_form(S)
    np.testing.assert_array_equal(form.signs, -np.sort(-signs))
    assert (form.scales > 0).all()
    np.testing.assert_allclose(form.rotation.T @ form.rotation, np.eye(d + 1), atol=1e-13)
    root = np.diag(np.sqrt(form.scales))
    again = form.rotation @ root @ np.diag(form.signs) @ root @ form.rotation.T
    np.testing.assert_allclose(again, S, atol=1e-12)
    p, q = rng.normal(size=(2, 3, d))
    x, y = form.map(p), form.map(q)
    expected = np.einsum("ni,ij,nj->n", np.c_[p, np.ones(3)], S, np.c_[q, np.ones(3)])
    np.testing.assert_allclose((form.signs * x * y).sum(axis=-1), expected, atol=1e-10)


@pytest.mark.parametrize("K", [-0.5, 2.0])
def test_distances_of_the_canonical_forms(K):
    """The mapped points have the canonical distances of the paper, arccos and arccosh."""
    rng = np.random.default_rng(0)
    metric = CurvedMetric(matrix=[[1.0, 0.3], [0.3, 0.8]], center=[0.2, -0.1], curvature=K)
    p, q = 0.3 * rng.normal(size=(2, 20, 2))
    form = spectral_form(metric.form)
    assert form.signs.tolist() == [1, 1, np.sign(K)]
    x, y = form.map(p), form.map(q)
    inner, xx, yy = ((form.signs * a * b).sum(axis=-1) for a, b in ((x, y), (x, x), (y, y)))
    ratio = inner / np.sqrt(xx * yy)  # negative for K < 0: the paper's arccosh needs its modulus
    expected = np.arccos(ratio) if K > 0 else np.arccosh(-ratio)
    found = metric.distance(p, q) * np.sqrt(abs(K))
    np.testing.assert_allclose(expected, found, rtol=1e-7)


def test_a_singular_form_has_no_spectral_form():
    with pytest.raises(NotRepresentableError, match=r"S is singular, with 1 zero eigenvalue"):
        spectral_form(np.diag([1.0, 1.0, 0.0]))
    for size in (1e-20, 1.0, 1e20):
        spectral_form(size * np.diag([1.0, 1.0, 1e-11]))
        with pytest.raises(NotRepresentableError, match="singular"):
            spectral_form(size * np.diag([1.0, 1.0, 1e-13]))
    with pytest.raises(InvalidInputError, match="x has 3 coordinates"):
        spectral_form(np.eye(3)).map([1.0, 2.0, 3.0])


@given(seeds, st.integers(1, 5))
def test_unit_cholesky(seed, d):
    rng = np.random.default_rng(seed)
    matrix = random_symmetric(rng, rng.uniform(0.1, 10, size=d))
    found = unit_cholesky(matrix)
    np.testing.assert_array_equal(np.diagonal(found.factor), 1)
    assert not np.triu(found.factor, 1).any()
    assert (found.scales > 0).all()
    again = found.factor @ np.diag(found.scales) @ found.factor.T
    np.testing.assert_allclose(again, matrix, atol=1e-12)
    p, q = rng.normal(size=(2, 4, d))
    lengths = np.linalg.norm(found.map(p) - found.map(q), axis=-1)
    np.testing.assert_allclose(lengths, CurvedMetric(matrix=matrix).distance(p, q), rtol=1e-12)


def test_unit_cholesky_needs_a_definite_matrix():
    with pytest.raises(NotRepresentableError, match="positive definite"):
        unit_cholesky(np.diag([1.0, -1.0]))
    with pytest.raises(InvalidInputError, match="matrix must be symmetric"):
        unit_cholesky([[1.0, 2.0], [0.0, 1.0]])
