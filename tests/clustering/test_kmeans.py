"""k-means in curved metrics: against scikit-learn where flat, and by properties."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from cayleyklein import CurvedKMeans, CurvedMetric, MixedMetric, SphereMetric
from cayleyklein.clustering import kmeans
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError


def blobs(seed=0, size=12):
    rng = np.random.default_rng(seed)
    middle = np.array([[0.6, 0.0], [-0.5, 0.5], [0.0, -0.7], [0.0, 0.0]])
    X = np.repeat(middle, size, axis=0) + rng.normal(scale=0.05, size=(4 * size, 2))
    return X, np.repeat(np.arange(4), size)


def same_clusters(first, second):
    return len(np.unique(np.stack([first, second]), axis=1).T) == len(np.unique(first))


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_clusters_and_centers(K):
    X, truth = blobs()
    metric = CurvedMetric.euclidean(2, curvature=K)
    model = CurvedKMeans(4, metric=metric, random_state=0).fit(X)
    assert same_clusters(model.labels_, truth)
    for cluster, center in enumerate(model.cluster_centers_):
        wanted = metric.frechet_mean(X[model.labels_ == cluster])
        np.testing.assert_allclose(center, wanted, atol=1e-9)
    distances = metric.pairwise(X, model.cluster_centers_)
    np.testing.assert_allclose(model.transform(X), distances)
    np.testing.assert_array_equal(model.predict(X), distances.argmin(axis=1))
    assert model.inertia_ == pytest.approx(np.square(distances.min(axis=1)).sum())
    assert model.score(X) == pytest.approx(-model.inertia_)
    assert model.voronoi().locate(X).tolist() == model.labels_.tolist()


def test_flat_is_as_good_as_scikit_learn():
    X = np.random.default_rng(0).normal(size=(150, 3))
    ours = CurvedKMeans(5, n_init=10, random_state=0).fit(X).inertia_
    theirs = KMeans(5, n_init=10, random_state=0).fit(X).inertia_
    assert ours <= 1.02 * theirs


def test_weights_are_copies_and_order_does_not_matter():
    X, _ = blobs(1)
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    counts = np.random.default_rng(0).integers(0, 4, size=len(X))
    model = CurvedKMeans(4, metric=disc, random_state=0)
    weighted = model.fit(X, sample_weight=counts).cluster_centers_
    copied = model.fit(np.repeat(X, counts, axis=0)).cluster_centers_
    np.testing.assert_allclose(weighted, copied, atol=1e-9)
    order = np.random.default_rng(1).permutation(len(X))
    mixed = model.fit(X[order], sample_weight=counts[order])
    np.testing.assert_allclose(mixed.cluster_centers_, weighted, atol=1e-9)
    np.testing.assert_array_equal(mixed.labels_, mixed.predict(X[order]))


def test_a_step_never_raises_the_sum():
    X = np.random.default_rng(0).uniform(-0.6, 0.6, size=(80, 2))
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    sums = []
    for steps in (1, 2, 4, 8, 300):
        model = CurvedKMeans(6, metric=disc, n_init=1, max_iter=steps, tol=0, random_state=3)
        if steps < 8:
            with pytest.warns(ConvergenceWarning, match="still moving"):
                model.fit(X)
        elif steps == 8:
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                model.fit(X)
        else:
            model.fit(X)
        sums.append(model.inertia_)
    assert (np.diff(sums) <= 1e-12).all()


@pytest.mark.parametrize("name", ["flat", "elliptic", "hyperbolic", "far out", "sphere"])
def test_a_step_towards_the_means_never_raises_a_sum(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    metric = CurvedMetric.euclidean(2, curvature=float(name == "elliptic"))
    if name in ("hyperbolic", "far out"):
        radius = rng.uniform(0, 12 if name == "far out" else 2, size=(300, 1))
        X *= np.tanh(radius) / np.linalg.norm(X, axis=1, keepdims=True)
        metric = CurvedMetric.euclidean(2, curvature=-1.0)
    if name == "sphere":
        X = rng.normal(size=(300, 3))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        metric = SphereMetric()
    centers = X[rng.choice(300, size=(5, 3))]
    weights = rng.uniform(size=300)
    last = np.inf
    for _ in range(30):
        labels, distances = kmeans.nearest_centers(X, centers, metric)
        sums = np.square(distances) @ weights
        assert (sums <= last * (1 + 1e-12)).all()
        last = sums
        centers = kmeans.moved_centers(centers, labels, distances, X, weights, metric)


def test_starts_together_are_starts_alone():
    X, _ = blobs(2)
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    weights = np.ones(len(X))
    starts = X[np.random.default_rng(0).choice(len(X), size=(5, 4))]
    options = (kmeans.moved_centers, 1e-6, 100)
    together = kmeans.move_until_still(X, weights, disc, starts, *options)
    for i in range(5):
        alone = kmeans.move_until_still(X, weights, disc, starts[i : i + 1], *options)
        np.testing.assert_allclose(alone.centers[0], together.centers[i], atol=1e-12)
        assert alone.n_iter[0] == together.n_iter[i]
        assert alone.inertia[0] == pytest.approx(together.inertia[i])


def test_rows_opposite_to_a_centre():
    X = [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.0, 0.6, 0.8], [0.0, 0.8, 0.6]]
    model = CurvedKMeans(1, metric=SphereMetric(), random_state=0).fit(X)
    np.testing.assert_allclose(model.cluster_centers_[0], SphereMetric().frechet_mean(X))


def test_empty_clusters_take_the_farthest_row():
    rows = np.arange(4.0)[:, None]
    labels, distances = np.array([0, 0, 0, 1]), np.array([1.0, 5.0, 2.0, 9.0])
    centers = np.full((3, 1), 9.0)
    kmeans.fill_empty(labels, distances, centers, rows, np.ones(4))
    assert labels.tolist() == [0, 2, 0, 1]
    assert distances.tolist() == [1, 0, 2, 9]
    assert centers.ravel().tolist() == [9, 9, 1]
    model = CurvedKMeans(4, random_state=0).fit([[0.0], [0.0], [1.0], [1.0], [1.0]])
    assert model.inertia_ == 0
    assert len(np.unique(model.labels_)) == 2


def test_bad_input():
    X, _ = blobs()
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    with pytest.raises(OutsideDomainError):
        CurvedKMeans(2, metric=disc).fit(3 * X)
    with pytest.raises(InvalidInputError, match="n_samples=3"):
        CurvedKMeans(4).fit(X[:3])
    with pytest.raises(InvalidInputError, match="Fréchet means"):
        CurvedKMeans(2, metric=MixedMetric([disc, disc])).fit(X)
    with pytest.raises(ValueError, match="non-zero"):
        CurvedKMeans(2).fit(X, sample_weight=np.zeros(len(X)))


def test_scikit_learn_checks_pass():
    check_estimator(CurvedKMeans(3, n_init=2, random_state=0), on_skip=None)
