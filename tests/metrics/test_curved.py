import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from cayleyklein import CurvedMetric, ProductMetric, geometry
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError

CURVATURES = [-0.5, -1e-12, 0.0, 1e-12, 0.5]


def make(K, d=3, seed=0):
    rng = np.random.default_rng(seed)
    factor = np.eye(d) + 0.2 * rng.normal(size=(d, d))
    metric = CurvedMetric(factor=factor, center=0.1 * rng.normal(size=d), curvature=K)
    return metric, 0.2 * rng.normal(size=(30, d))


@pytest.mark.parametrize(("K", "name"), [(-2.0, "hyperbolic"), (0.0, "flat"), (3.0, "elliptic")])
def test_geometry_and_domain(K, name):
    metric = CurvedMetric(matrix=[[4.0]], center=[1.0], curvature=K)
    assert metric.geometry == name
    assert name in repr(metric)
    if K < 0:
        assert metric.domain.semi_axes == pytest.approx([1 / (2 * np.sqrt(2))])
        assert metric.contains([[1.3], [1.36]]).tolist() == [True, False]
    else:
        assert metric.domain is None
        assert metric.contains([[1e9]]).all()


def test_constructors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    precision = CurvedMetric.mahalanobis(X)
    np.testing.assert_allclose(precision.matrix, np.linalg.inv(np.cov(X.T, bias=True)), rtol=1e-10)
    np.testing.assert_allclose(precision.center, X.mean(axis=0))
    assert CurvedMetric.euclidean(3, curvature=1.0).geometry == "elliptic"
    metric, _ = make(-0.5)
    again = CurvedMetric.from_form(metric.form)
    assert again.curvature == pytest.approx(-0.5)
    p, q = 0.1 * rng.normal(size=(2, 3))
    assert again(p, q) == pytest.approx(metric(p, q), rel=1e-12)


@pytest.mark.parametrize("K", [-0.5, 0.0, 0.5])
def test_absolute_for_every_curvature(K):
    metric, X = make(K, d=2)
    absolute = metric.absolute
    name = geometry.classify(absolute).name
    assert name.lower() == ("euclidean" if K == 0 else metric.geometry)
    if K:
        np.testing.assert_allclose(
            absolute.form(X[:, None], X), metric.curvature * _form(metric, X)
        )


def _form(metric, X):
    X = np.column_stack([X, np.ones(len(X))])
    return X @ metric.form @ X.T


@pytest.mark.parametrize("K", CURVATURES)
def test_is_a_metric_for_scipy_and_scikit_learn(K):
    metric, X = make(K)
    expected = metric.pairwise(X)
    np.testing.assert_allclose(cdist(X, X, metric=metric), expected, rtol=1e-12)
    for algorithm in ("brute", "ball_tree"):
        index = NearestNeighbors(n_neighbors=4, algorithm=algorithm, metric=metric).fit(X)
        found, _ = index.kneighbors(X)
        np.testing.assert_allclose(found, np.sort(expected, axis=1)[:, :4], rtol=1e-12, atol=1e-15)
    y = np.arange(30) % 2
    classifier = KNeighborsClassifier(n_neighbors=1, metric=metric).fit(X, y)
    assert classifier.score(X, y) == 1.0


def test_equality_hash_pickle():
    metric, X = make(-0.5)
    same, _ = make(-0.5)
    other, _ = make(0.5)
    assert metric == same
    assert hash(metric) == hash(same)
    assert metric != other
    assert metric != "metric"
    assert len({metric, same, other}) == 2
    copy = pickle.loads(pickle.dumps(metric))
    assert copy == metric
    np.testing.assert_array_equal(copy.pairwise(X), metric.pairwise(X))
    with pytest.raises(AttributeError, match="immutable"):
        metric.curvature = 0.0
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del metric.curvature
    with pytest.raises(ValueError, match="read-only"):
        metric.matrix[0, 0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        metric.inverse_factor[0, 0] = 9.0


@pytest.mark.parametrize("K", CURVATURES)
def test_methods_are_the_geometrys(K):
    metric, X = make(K)
    p, q, x = X[:3]
    plane = metric.bisector(p, q)
    assert np.sign(plane.evaluate(x)) == np.sign(metric(x, q) - metric(x, p))
    assert metric.ball(p, 0.3).contains(p)
    path = metric.geodesic(p, q)
    assert path.shape == (50, 3)
    np.testing.assert_allclose(metric.distance(path[:-1], path[1:]), metric(p, q) / 49, rtol=1e-8)
    np.testing.assert_allclose(metric.midpoint(p, q), metric.geodesic(p, q, 0.5))
    np.testing.assert_allclose(metric.exp(p, metric.log(p, q)), q, rtol=1e-9)
    moved = geometry.apply_collineation(metric.transvection(p, q), x)
    assert metric(q, moved) == pytest.approx(metric(p, x), rel=1e-9)
    assert 0 < metric.vertex_angle(x, p, q) < np.pi
    assert 0 <= metric.angle(plane, metric.bisector(p, x)) <= np.pi / 2
    for chart in ("klein", "conformal"):
        np.testing.assert_allclose(
            metric.from_chart(metric.to_chart(X, chart), chart), X, atol=1e-9
        )


def test_low_rank_is_a_pseudo_metric():
    metric = CurvedMetric(factor=[[1.0, 0.0]], curvature=-1.0)
    assert metric([0.2, 5.0], [0.2, -7.0]) == 0
    assert metric([0.0, 5.0], [0.5, -7.0]) == pytest.approx(np.arctanh(0.5))
    assert metric.domain.semi_axes.tolist() == [np.inf, 1.0]
    assert "1×2 factor" in repr(metric)
    with pytest.raises(NotRepresentableError, match="no inverse"):
        _ = metric.absolute


def test_refusals():
    with pytest.raises(NotRepresentableError, match=r"4 rows, 2 columns\) has rank 1"):
        CurvedMetric.mahalanobis([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    with pytest.raises(InvalidInputError, match="at least 1"):
        CurvedMetric.euclidean(0)
    with pytest.raises(NotRepresentableError, match="must be definite"):
        CurvedMetric.from_form(np.diag([1.0, -1.0, 1.0]))
    with pytest.raises(NotRepresentableError, match="K = 0"):
        _ = CurvedMetric.euclidean(2).form
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    with pytest.raises(OutsideDomainError, match="Y at index 0"):
        metric.pairwise([[0.0, 0.0]], [[3.0, 0.0]])
    with pytest.raises(InvalidInputError, match="X must have 2 axes"):
        metric.pairwise([0.0, 0.0])
    with pytest.raises(InvalidInputError, match="X is empty"):
        metric.pairwise(np.empty((0, 2)))
    with pytest.raises(OutsideDomainError, match="X at index 1"):
        metric.to_chart([[0.0, 0.0], [1.0, 0.0]], "klein")


def test_mahalanobis_does_not_depend_on_units():
    X = np.random.default_rng(0).normal(size=(50, 3))
    units = np.array([1e-8, 1.0, 1e8])
    ours = CurvedMetric.mahalanobis(X * units)
    np.testing.assert_allclose(
        ours.pairwise(X * units), CurvedMetric.mahalanobis(X).pairwise(X), rtol=1e-9
    )
    with pytest.raises(NotRepresentableError, match="has rank 2"):
        CurvedMetric.mahalanobis(np.column_stack([X[:, :2], np.full(50, 0.1)]))


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_mahalanobis_of_extreme_rows_is_refused(scale):
    with pytest.raises(InvalidInputError, match="rescale them"):
        CurvedMetric.mahalanobis(scale * np.random.default_rng(0).normal(size=(9, 2)))


@pytest.mark.parametrize("d", ["2", 2.5, True, 0, None])
def test_a_dimension_is_a_whole_number(d):
    with pytest.raises(InvalidInputError, match="whole number"):
        CurvedMetric.euclidean(d)


def test_bad_arguments_are_typed():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    with pytest.raises(InvalidInputError, match=r"use distance\(\)"):
        disc([[0.0, 0.0]], [0.1, 0.0])
    with pytest.raises(InvalidInputError, match="masked"):
        disc.ball(np.ma.array([0.1, 0.2], mask=[True, False]), 0.1)
    with pytest.raises(InvalidInputError, match="3 coordinates"):
        disc.from_chart([0.1, 0.1, 0.1], "klein")
    for rows in ([[0.0, 0.0], [0.0]], [[10**400, 1]]):
        for function in (disc.pairwise, disc.contains, lambda X: disc.to_chart(X, "klein")):
            with pytest.raises(InvalidInputError, match="X"):
                function(rows)


def test_float32_is_kept_by_charts_and_single_values_are_scalars():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    x = np.float32([[0.1, 0.2]])
    assert disc.to_chart(x, "conformal").dtype == np.float32
    assert disc.from_chart(x, "conformal").dtype == np.float64  # float32 holds radius 9 at most
    p, q = [0.1, 0.2], [0.3, 0.1]
    for value in (
        disc.distance(p, q),
        disc.contains(p),
        disc.vertex_angle([0.0, 0.0], p, q),
        disc.bisector(p, q).evaluate(p),
        disc.angle([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
    ):
        assert isinstance(value, np.generic)


def test_float32_points_give_float32_answers():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    p, q, x = np.float32([[0.1, 0.2], [0.5, -0.3], [0.0, 0.4]])
    plane, form = disc.bisector(p, q), np.diag([1, 1, -1]).astype(np.float32)
    answers = [
        disc.distance(p, q), disc.geodesic(p, q, 0.3), disc.midpoint(p, q), disc.exp(p, q),
        disc.log(p, q), disc.vertex_angle(x, p, q), plane.normal, plane.offset, plane.evaluate(x),
        ProductMetric([CurvedMetric.euclidean(2, curvature=1.0)]).distance(p, q),
        geometry.hyperplane_angle(form, *np.float32([[1, 0, 0], [1, 1, 0]])),
        geometry.cross_ratio(*np.float32([[0.0], [1.0], [2.0], [5.0]])),
        geometry.apply_collineation(form, p),
        geometry.hilbert_distance(geometry.Ellipsoid([0, 0], np.eye(2)), p, q),
    ]  # fmt: skip
    assert {np.asarray(answer).dtype for answer in answers} == {np.dtype(np.float32)}
    assert geometry.measure(form, p, q).dtype == np.complex64
    assert disc.distance(p, q.astype(float)).dtype == np.float64
