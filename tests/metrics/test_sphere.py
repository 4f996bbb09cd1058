"""The distance on the whole sphere, and what uses it."""

import mpmath
import numpy as np
import pytest
from sklearn.metrics.pairwise import haversine_distances

from cayleyklein import (
    CurvedKMeans,
    CurvedKNeighborsClassifier,
    CurvedNeighbors,
    FromChart,
    SphereMetric,
)
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.metrics import laplacian_kernel


def points_on_sphere(n, width=3, seed=0):
    P = np.random.default_rng(seed).normal(size=(n, width))
    return P / np.linalg.norm(P, axis=1)[:, None]


@pytest.mark.parametrize("width", [2, 3, 6])
@pytest.mark.parametrize("K", [1.0, 0.04])
def test_distances_are_angles(width, K):
    metric = SphereMetric(width, K)
    P, Q = points_on_sphere(12, width), points_on_sphere(9, width, 1)
    Q[0] = -P[0]
    Q[1] = P[1] + 1e-9 * np.roll(P[1], 1)
    Q[1] /= np.linalg.norm(Q[1])
    found = metric.pairwise(P, Q)
    for i in range(len(P)):
        for j in range(len(Q)):
            with mpmath.workdps(40):
                a = [mpmath.mpf(float(x)) for x in P[i]]
                b = [mpmath.mpf(float(x)) for x in Q[j]]
                a = [x / mpmath.sqrt(sum(y * y for y in a)) for x in a]
                b = [x / mpmath.sqrt(sum(y * y for y in b)) for x in b]
                apart = mpmath.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
                together = mpmath.sqrt(sum((x + y) ** 2 for x, y in zip(a, b, strict=True)))
                wanted = float(2 * mpmath.atan2(apart, together) / mpmath.sqrt(K))
            assert found[i, j] == pytest.approx(wanted, rel=1e-9, abs=1e-14)
            assert metric(P[i], Q[j]) == pytest.approx(wanted, rel=1e-9, abs=1e-14)
    assert found[0, 0] == pytest.approx(np.pi / np.sqrt(K))


@pytest.mark.parametrize("algorithm", ["brute", "tree", "vantage"])
def test_search_is_all_around(algorithm):
    P = points_on_sphere(300)
    metric = SphereMetric(curvature=0.25)
    search = CurvedNeighbors(5, metric=metric, algorithm=algorithm).fit(P)
    X = points_on_sphere(50, seed=1)
    distances, rows = search.kneighbors(X)
    wanted = metric.pairwise(X, P)
    np.testing.assert_array_equal(rows, np.argsort(wanted, axis=1, kind="stable")[:, :5])
    np.testing.assert_allclose(distances, np.sort(wanted, axis=1)[:, :5])
    within = search.radius_neighbors(X, 5.0, return_distance=False)  # most of the sphere
    for found, row in zip(within, wanted, strict=True):
        np.testing.assert_array_equal(found, np.flatnonzero(row <= 5.0))


def test_longitude_and_latitude():
    lonlat = np.random.default_rng(0).uniform([-180, -90], [180, 90], size=(30, 2))
    globe = FromChart("lonlat", curvature=1 / 6371.0**2).fit(lonlat)
    X = globe.transform(lonlat)
    radians = np.radians(lonlat[:, ::-1])
    wanted = 6371 * haversine_distances(radians)
    np.testing.assert_allclose(globe.metric_.pairwise(X), wanted, atol=1e-3)
    np.testing.assert_allclose(globe.pairwise(lonlat), wanted, atol=1e-3)
    np.testing.assert_allclose(globe.inverse_transform(X), lonlat, atol=1e-9)
    with pytest.raises(OutsideDomainError, match="latitude"):
        globe.transform([[10.0, 91.0]])
    with pytest.raises(InvalidInputError, match="curvature"):
        FromChart("lonlat").fit(lonlat)
    same = FromChart("unit", curvature=1.0).fit_transform(X)
    np.testing.assert_allclose(same, X)
    with pytest.raises(OutsideDomainError, match="unit vector"):
        FromChart("unit", curvature=1.0).fit(2 * X)


def test_means_geodesics_and_tangents():
    metric = SphereMetric(curvature=0.5)
    P = points_on_sphere(20)
    P[:, 0] = np.abs(P[:, 0]) + 0.5
    P /= np.linalg.norm(P, axis=1)[:, None]
    weights = np.random.default_rng(0).uniform(size=20)
    mean = metric.frechet_mean(P, weights)

    def total(x):
        return weights @ metric.distance(x, P) ** 2

    for step in 1e-3 * np.eye(3):
        moved = mean + step
        assert total(moved / np.linalg.norm(moved)) > total(mean)
    np.testing.assert_allclose(weights @ metric.log(mean, P), 0, atol=1e-12)
    np.testing.assert_allclose(metric.exp(P[0], metric.log(P[0], P[1:])), P[1:], atol=1e-12)
    path = metric.geodesic(P[0], P[1], [0.0, 0.25, 1.0])
    assert metric(P[0], path[1]) == pytest.approx(metric(P[0], P[1]) / 4)
    with pytest.raises(NotRepresentableError, match="not unique"):
        metric.frechet_mean([[1.0, 0, 0], [-1.0, 0, 0]])
    with pytest.raises(InvalidInputError, match="opposite"):
        metric.log([1.0, 0, 0], [-1.0, 0, 0])


def test_others_take_it():
    P = points_on_sphere(120)
    metric = SphereMetric()
    y = (P[:, 2] > 0).astype(int)
    assert (
        CurvedKNeighborsClassifier(5, metric=metric).fit(P[:80], y[:80]).score(P[80:], y[80:]) > 0.8
    )
    model = CurvedKMeans(4, metric=metric, random_state=0).fit(P)
    np.testing.assert_array_equal(model.labels_, model.transform(P).argmin(axis=1))
    kernel = laplacian_kernel(metric, 1.0)(P, P)
    np.testing.assert_allclose(np.log(kernel), np.log(kernel).T)
    assert np.linalg.eigvalsh(kernel)[0] > 0
    with pytest.raises(NotRepresentableError):
        metric.feature_weights()
    with pytest.raises(OutsideDomainError):
        CurvedNeighbors(metric=metric).fit(2 * P)
