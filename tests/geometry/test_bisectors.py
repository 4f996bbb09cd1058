import numpy as np
import pytest
from hypothesis import given
from tests.strategies import metrics_with_points, random_metric, random_points

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import proximity_planes
from cayleyklein.geometry.bisectors import bisector


@given(metrics_with_points(3))
def test_sign_tells_the_nearer_point(case):
    metric, (p, q, x) = case
    plane = bisector(p, q, metric)
    value = float(plane.evaluate(x))
    difference = float(metric.distance(x, q) - metric.distance(x, p))
    whole = float(metric.distance(p, q))
    if abs(difference) > 1e-6 * whole:
        assert np.sign(value) == np.sign(difference)


@given(metrics_with_points(2))
def test_midpoint_lies_on_it(case):
    metric, (p, q) = case
    plane = bisector(p, q, metric)
    value = abs(float(plane.evaluate(metric.midpoint(p, q))))
    assert (
        value
        <= 1e-9 * float(np.linalg.norm(plane.normal) * np.linalg.norm(p - q))
        + 1e-15 * float(np.abs(plane.normal * p).sum() + abs(plane.offset)) * 16
    )


@pytest.mark.parametrize("K", [-2.0, 2.0])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_is_the_papers_equation(K, d):
    rng = np.random.default_rng(d)
    metric = random_metric(rng, d, K)
    p, q = random_points(rng, metric, 2)
    S = metric.form
    a, b = S[:-1, -1], S[-1, -1]

    def root(x):
        x = np.append(x, 1)
        return np.sqrt(abs(x @ S @ x))

    normal = root(p) * (metric.matrix @ q + a) - root(q) * (metric.matrix @ p + a)
    offset = root(p) * (a @ q + b) - root(q) * (a @ p + b)
    paper = np.append(normal, offset)
    ours = bisector(p, q, metric).homogeneous
    scale = paper[np.argmax(np.abs(paper))] / ours[np.argmax(np.abs(paper))]
    np.testing.assert_allclose(ours * scale, paper, rtol=1e-9, atol=1e-11 * np.abs(paper).max())


@pytest.mark.parametrize("K", [-1.0, -1e-9, 0.0, 1e-9, 1.0])
def test_close_points_keep_their_bisector(K):
    metric = CurvedMetric(factor=np.eye(2), center=[0.1, 0.2], curvature=K)
    p = np.array([0.5, 0.3])
    q = p + np.array([1e-12, 2e-12])
    plane = bisector(p, q, metric)
    assert float(plane.evaluate(p)) > 0 > float(plane.evaluate(q + (q - p)))


@pytest.mark.parametrize("K", [-1.0, -1e-12, 0.0, 1e-12, 1.0])
def test_proximity_planes_rank_like_distances(K):
    rng = np.random.default_rng(5)
    metric = random_metric(rng, 4, K)
    P, X = random_points(rng, metric, 30), random_points(rng, metric, 50)
    planes = proximity_planes(P, metric)
    scores = X @ planes.normal.T + planes.offset
    expected = metric.distance(X[:, None], P)
    np.testing.assert_array_equal(scores.argmax(1), expected.argmin(1))


def test_batches_and_refusal():
    metric = CurvedMetric(factor=np.eye(3), curvature=-0.1)
    p, q = np.random.default_rng(0).normal(size=(2, 4, 5, 3)) * 0.3
    plane = bisector(p, q, metric)
    assert plane.normal.shape == (4, 5, 3)
    assert plane.offset.shape == (4, 5)
    assert plane.homogeneous.shape == (4, 5, 4)
    with pytest.raises(InvalidInputError, match=r"coincide at index \(0, 0\)"):
        bisector(p, np.where(np.arange(5)[:, None] == 0, p, q), metric)


def test_evaluate_checks_its_points():
    plane = bisector([0.0, 0.0], [1.0, 0.0], CurvedMetric(factor=np.eye(2)))
    with pytest.raises(InvalidInputError, match="x has 3 coordinates"):
        plane.evaluate([0.0, 0.0, 0.0])
    with pytest.raises(InvalidInputError, match="NaN"):
        plane.evaluate([0.0, np.nan])


def test_bisector_of_points_near_the_pole_and_the_equator():
    """Both ends are as far from the midpoint, which a difference of large terms would not give."""
    sphere = CurvedMetric(factor=np.eye(2), curvature=1.0)
    p, q = np.array([0.3, 0.1]), np.array([7e7, 3e7])
    plane = bisector(p, q, sphere)
    middle = sphere.midpoint(p, q)
    assert abs(plane.evaluate(middle)) <= 1e-14 * np.abs(plane.normal * middle).max()


def test_overflow_is_refused():
    line = CurvedMetric(factor=[[1.0]])
    with pytest.raises(InvalidInputError, match="overflows for p and q at index 1; rescale"):
        bisector([[1.0], [1e200]], [2.0], line)
    with pytest.raises(InvalidInputError, match="overflows for p; rescale"):
        proximity_planes([1e200], line)
