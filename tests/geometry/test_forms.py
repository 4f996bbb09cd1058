import numpy as np
import pytest
from hypothesis import given
from tests.strategies import metrics_with_points, random_metric

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import curvature_from_kappa, form_from_blocks, kappa_from_curvature
from cayleyklein.geometry.space import parameters_from_form


@pytest.mark.parametrize("kappa", [-3.0, -0.5, 0.0, 0.5, 3.0])
def test_curvature_is_the_signed_square_of_kappa(kappa):
    assert curvature_from_kappa(kappa) == np.sign(kappa) * kappa**2
    assert kappa_from_curvature(curvature_from_kappa(kappa)) == kappa


@pytest.mark.parametrize("kappa", [-0.7, 0.3])
def test_a_metric_of_the_papers_parameters(kappa):
    """b = μᵀΣμ + sign(κ)/κ², and κ back from b and μ."""
    matrix, center = np.array([[2.0, 0.3], [0.3, 0.8]]), np.array([0.4, -0.1])
    metric = CurvedMetric.from_kappa(matrix, center, kappa)
    inverse = metric.form[2, 2] - center @ matrix @ center
    assert inverse == pytest.approx(np.sign(kappa) / kappa**2, rel=1e-13)
    np.testing.assert_array_equal(metric.form[:2, :2], matrix)
    assert kappa_from_curvature(metric.curvature) == pytest.approx(kappa, rel=1e-15)
    flat = CurvedMetric.from_kappa(matrix, center, 0.0)
    assert flat == CurvedMetric(matrix=matrix, center=center)
    for call in (kappa_from_curvature, lambda k: CurvedMetric.from_kappa(matrix, center, k)):
        with pytest.raises(InvalidInputError, match="NaN"):
            call(np.nan)


def test_blocks_of_a_form():
    S = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, -1.0], [1.0, -1.0, 5.0]])
    np.testing.assert_array_equal(form_from_blocks(S[:2, :2], S[:2, 2], 5.0), S)


@pytest.mark.parametrize("K", [-5.0, -1e-3, 1e-3, 5.0])
@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize("sign", [1, -1])
def test_form_round_trip(K, d, sign):
    """S ↔ (Σ, μ, K), also in the sign convention of the paper's learning section."""
    metric = random_metric(np.random.default_rng(d), d, K)
    matrix, center, curvature = parameters_from_form(sign * metric.form)
    np.testing.assert_allclose(matrix, metric.matrix, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(center, metric.center, rtol=1e-10)
    assert curvature == pytest.approx(K, rel=1e-9)


def test_form_is_the_papers():
    """b = μᵀΣμ + sign(κ)/κ², and S(p, q) = (p - μ)ᵀΣ(q - μ) + sign(κ)/κ²."""
    rng = np.random.default_rng(0)
    kappa = -0.7
    metric = random_metric(rng, 3, -(kappa**2))
    p, q = rng.normal(size=(2, 3))
    value = np.append(p, 1) @ metric.form @ np.append(q, 1)
    expected = (p - metric.center) @ metric.matrix @ (q - metric.center) - 1 / kappa**2
    assert value == pytest.approx(expected, rel=1e-12)


@given(metrics_with_points(2))
def test_canonical_coordinates_keep_the_form(case):
    """K S = MᵀDM with D = diag(K, …, K, 1), where M x̃ is the canonical vector (paper §5.1)."""
    metric, (p, q) = case
    if abs(metric.curvature) < 1e-3:
        return
    M, K, S = metric.homogeneous_matrix, metric.curvature, metric.curvature * metric.form
    signs = np.append(np.full(metric.dimension, K), 1.0)
    np.testing.assert_allclose(M.T @ np.diag(signs) @ M, S, rtol=0, atol=1e-12 * np.abs(S).max())
    x, y = M @ np.append(p, 1), M @ np.append(q, 1)
    expected = np.append(p, 1) @ S @ np.append(q, 1)
    scale = np.linalg.norm(x) * np.linalg.norm(y)
    assert abs(x @ (signs * y) - expected) <= 1e-11 * max(scale, np.abs(S).max())


@pytest.mark.parametrize(
    ("S", "error", "message"),
    [
        (np.diag([1.0, -1.0, 1.0]), NotRepresentableError, "must be definite"),
        (np.diag([1.0, 0.0, 1.0]), NotRepresentableError, "must be definite"),
        ([[1.0, 2.0], [2.0, 4.0]], NotRepresentableError, "cone"),
        ([[1.0, 2.0], [0.0, 4.0]], InvalidInputError, "symmetric"),
        ([[3.0]], InvalidInputError, "d ≥ 1"),
        (np.ones(3), InvalidInputError, "square"),
    ],
)
def test_refuses_what_is_not_representable(S, error, message):
    with pytest.raises(error, match=message):
        parameters_from_form(S)


def test_flat_has_no_form():
    with pytest.raises(NotRepresentableError, match="not finite for K = 0"):
        CurvedMetric(factor=np.eye(2)).form  # noqa: B018
