"""CurvedMDS: known spaces are recovered, the stress is as low as it should be."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import smacof
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.manifold.spaces import (
    RADIUS,
    arcs,
    city_distances,
    noisy,
    sphere_points,
    tree_distances,
)

from cayleyklein import CurvedMDS, CurvedMetric
from cayleyklein.manifold._placing import descend_to

CURVATURES = ("learned", 0.0, -0.05, 0.05)


def fitted(D, **options):
    return CurvedMDS(**({"metric": "precomputed", "random_state": 0} | options)).fit(D)


@parametrize_with_checks(
    [
        CurvedMDS(n_init=1),
        CurvedMDS(metric="precomputed", curvature=0.0),
    ]
)
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


# -- spaces that are known -----------------------------------------------------------------


def test_cities_give_the_radius_of_the_earth():
    D = city_distances()
    globe = fitted(D)
    assert globe.curvature_ == pytest.approx(RADIUS**-2, rel=0.005)
    np.testing.assert_allclose(globe.distances_, D, atol=5.0)  # km, of 20,000
    assert globe.metric_ is None  # they need more than a hemisphere
    np.testing.assert_allclose(np.linalg.norm(globe.sphere_, axis=1), 1, rtol=1e-12)
    turned = np.clip(globe.sphere_ @ globe.sphere_.T, -1, 1)
    np.testing.assert_allclose(RADIUS * np.arccos(turned), D, atol=10.0)


@pytest.mark.parametrize(
    ("dimension", "least_height"),
    [(1, -1.0), (2, -1.0), (2, 0.05), (2, 0.6), (3, -1.0), (3, 0.3)],  # half a circle is flat
)
def test_a_sphere_is_recovered(dimension, least_height):
    D = 3 * arcs(sphere_points(60, dimension, least_height))
    found = fitted(D, n_components=dimension)
    assert found.curvature_ == pytest.approx(1 / 9, rel=1e-3)
    assert (found.metric_ is None) == (least_height < 0)
    if found.metric_ is not None:
        np.testing.assert_allclose(found.metric_.pairwise(found.embedding_), D, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_a_sphere_is_recovered_from_noisy_distances(seed):
    D = noisy(arcs(sphere_points(100, seed=seed)), 0.05, seed)
    assert fitted(D).curvature_ == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("K", [-1.0, -0.25])
def test_a_hyperbolic_plane_is_recovered(K):
    radius = 0.97 / np.sqrt(-K)
    X = np.random.default_rng(0).uniform(-radius, radius, size=(120, 2))
    X = X[np.linalg.norm(X, axis=1) < radius]
    D = CurvedMetric.euclidean(2, curvature=K).pairwise(X)
    found = fitted(D)
    assert found.curvature_ == pytest.approx(K, rel=1e-3)
    np.testing.assert_allclose(found.metric_.pairwise(found.embedding_), D, atol=1e-3)


@pytest.mark.parametrize("n", [30, 400])
def test_flat_points_have_no_curvature(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    found = CurvedMDS(random_state=0).fit(X)
    size = np.square(pdist(X)).mean()
    assert abs(found.curvature_) * size < 1e-6
    np.testing.assert_allclose(squareform(pdist(X)), found.distances_, atol=1e-5)
    some_noise = fitted(noisy(squareform(pdist(X)), 0.02))
    assert abs(some_noise.curvature_) * size < 3 / n


@pytest.mark.parametrize(("depth", "children"), [(3, 2), (5, 2), (3, 4)])
def test_a_tree_is_hyperbolic(depth, children):
    D = tree_distances(depth, children)
    learned, flat = fitted(D), fitted(D, curvature=0.0)
    assert learned.curvature_ < 0
    assert learned.stress_ < 0.1 * flat.stress_
    fixed = [fitted(D, curvature=-((k / D.max()) ** 2)).stress_ for k in (2.0, 4.0, 8.0)]
    assert flat.stress_ > fixed[0] > fixed[1] > fixed[2]


@pytest.mark.parametrize(
    ("X", "r"),
    [
        ([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]], 2),  # a triangle
        (np.random.default_rng(0).normal(size=(4, 3)), 3),
        (np.random.default_rng(0).normal(size=(10, 1)), 2),
        (np.random.default_rng(0).normal(size=(400, 1)), 2),
    ],
)
def test_an_undetermined_curvature_warns_and_is_0(X, r):
    """Flat, elliptic and hyperbolic space all hold these distances exactly."""
    D = squareform(pdist(X))
    with pytest.warns(UserWarning, match="curvature is undetermined"):
        found = fitted(D, n_components=r)
    assert found.curvature_ == 0
    np.testing.assert_allclose(found.distances_, D, atol=1e-6)


def test_a_curvature_of_0_may_be_determined():
    D = squareform(pdist(np.random.default_rng(0).normal(size=(4, 2))))
    assert abs(fitted(D).curvature_) < 1e-6


# -- scikit-learn's MDS --------------------------------------------------------------------


@pytest.mark.parametrize("data", ["digits", "iris", "swiss roll"])
def test_stress_is_at_most_that_of_scikit_learn(data):
    X = {
        "digits": lambda: load_digits().data[:300],
        "iris": lambda: load_iris().data,
        "swiss roll": lambda: make_swiss_roll(200, random_state=0)[0],
    }[data]()
    D = squareform(pdist(X))
    flat, learned = fitted(D, curvature=0.0), fitted(D)
    assert flat.stress_ == pytest.approx(np.square(flat.distances_ - D).sum() / 2)
    for seed in range(3):
        _, theirs = smacof(D, n_init=1, random_state=seed, normalized_stress=False)
        assert flat.stress_ <= theirs * (1 + 1e-9)
    assert learned.stress_ <= flat.stress_ * (1 + 1e-6)


# -- properties ----------------------------------------------------------------------------


@pytest.mark.parametrize("K", [-1e-7, 1e-7])
def test_flat_is_the_limit_from_both_sides(K):
    D = squareform(pdist(load_iris().data[::3]))
    bent, flat = fitted(D, curvature=K), fitted(D, curvature=0.0)
    assert bent.stress_ == pytest.approx(flat.stress_, rel=1e-5)
    np.testing.assert_allclose(bent.embedding_, flat.embedding_, atol=1e-2)


@pytest.mark.parametrize("curvature", ["learned", 0.0])
def test_units_and_order_of_rows_change_nothing(curvature):
    D = noisy(arcs(sphere_points(40, 2, 0.3)), 0.02)
    once = fitted(D, curvature=curvature)
    large = fitted(1000 * D, curvature=curvature)
    np.testing.assert_allclose(large.embedding_, 1000 * once.embedding_, rtol=1e-6, atol=1e-6)
    assert large.curvature_ == pytest.approx(once.curvature_ / 1e6, rel=1e-6)
    order = np.random.default_rng(0).permutation(len(D))
    mixed = fitted(D[np.ix_(order, order)], curvature=curvature)
    assert mixed.stress_ == pytest.approx(once.stress_, rel=1e-3)
    assert mixed.curvature_ == pytest.approx(once.curvature_, rel=2e-2, abs=1e-9)


def test_isometries_of_the_rows_change_nothing():
    X = load_iris().data[::3]
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    once, moved = (CurvedMDS(random_state=0).fit(rows) for rows in (X, X @ turn + 5))
    np.testing.assert_allclose(moved.embedding_, once.embedding_, atol=1e-3)
    assert moved.curvature_ == pytest.approx(once.curvature_, abs=1e-4)


def test_points_are_centred_along_their_principal_axes():
    found = CurvedMDS(curvature=0.0).fit(load_iris().data)
    np.testing.assert_allclose(found.embedding_.mean(axis=0), 0, atol=1e-9)
    (wide, cross), (_, narrow) = np.cov(found.embedding_.T)
    assert wide > narrow
    assert abs(cross) < 1e-9 * wide


def test_missing_dissimilarities_are_filled_in():
    D = arcs(sphere_points(60))
    gaps = D.copy()
    missing = np.triu(np.random.default_rng(0).uniform(size=D.shape) < 0.4, 1)
    gaps[missing | missing.T] = np.nan
    found = fitted(gaps)
    assert found.curvature_ == pytest.approx(1, rel=1e-3)
    np.testing.assert_allclose(found.distances_, D, atol=1e-2)


def test_a_weight_of_0_is_a_missing_dissimilarity():
    D = noisy(squareform(pdist(load_iris().data[::5])), 0.1)
    weights = np.ones_like(D)
    weights[3, 7] = weights[7, 3] = 0.0
    gaps = D.copy()
    gaps[3, 7] = gaps[7, 3] = np.nan
    estimator = CurvedMDS(metric="precomputed", curvature=0.0, random_state=0)
    left_out = clone(estimator).fit(gaps)
    weighted = clone(estimator).fit(D, weights=weights)
    np.testing.assert_array_equal(weighted.embedding_, left_out.embedding_)
    strange = D.copy()
    strange[3, 7] = strange[7, 3] = 1e3
    ignored = clone(estimator).fit(strange, weights=weights)
    np.testing.assert_array_equal(ignored.embedding_, left_out.embedding_)
    twice = clone(estimator).fit(D, weights=np.full_like(D, 2.0))
    assert twice.stress_ == pytest.approx(2 * clone(estimator).fit(D).stress_, rel=1e-6)


def test_one_triangle_is_enough():
    D = squareform(pdist(load_iris().data[::5]))
    upper = np.where(np.tri(len(D), k=-1, dtype=bool), np.nan, D)
    np.testing.assert_array_equal(fitted(upper).embedding_, fitted(D).embedding_)


def test_random_starts_never_raise_the_stress():
    D = squareform(pdist(load_digits().data[:60]))
    one, several = fitted(D, curvature=0.0, n_init=1), fitted(D, curvature=0.0, n_init=4)
    assert several.stress_ <= one.stress_


def test_rows_may_be_measured_by_a_learned_metric():
    X = load_iris().data[::3]
    metric = CurvedMetric.mahalanobis(X, curvature=0.3)
    by_metric = CurvedMDS(metric=metric, random_state=0).fit(X)
    np.testing.assert_array_equal(by_metric.dissimilarity_matrix_, metric.pairwise(X))
    np.testing.assert_allclose(by_metric.transform(X), by_metric.embedding_, atol=2e-2)
    by_name = clone(by_metric).set_params(metric="manhattan").fit(X)
    np.testing.assert_allclose(by_name.dissimilarity_matrix_, squareform(pdist(X, "cityblock")))


# -- new points ----------------------------------------------------------------------------


@pytest.mark.parametrize("least_height", [-1.0, 0.3])
def test_new_points_of_a_sphere_are_placed_exactly(least_height):
    X = sphere_points(80, 2, least_height)
    D = arcs(X)
    found = fitted(D[:60, :60])
    new = found.transform(D[60:, :60])
    if found.metric_ is None:
        old, K = found.embedding_, found.curvature_
        height = [1 + K * np.square(y).sum(axis=1) / 4 for y in (new, old)]
        chord = np.linalg.norm(new[:, None] - old, axis=2) / np.sqrt(np.outer(*height))
        placed = 2 / np.sqrt(K) * np.arcsin(np.minimum(np.sqrt(K) * chord / 2, 1))
    else:
        placed = found.metric_.pairwise(new, found.embedding_)
    np.testing.assert_allclose(placed, D[60:, :60], atol=1e-3)


def test_new_leaves_of_a_tree_are_placed_near_their_places():
    D = tree_distances(4)
    found = fitted(D[:-4, :-4])
    new = found.transform(D[-4:, :-4])
    errors = found.metric_.pairwise(new, found.embedding_) - D[-4:, :-4]
    assert np.sqrt(np.square(errors).mean()) < 0.3


def test_missing_dissimilarities_of_new_points():
    X = np.random.default_rng(0).normal(size=(30, 2))
    D = squareform(pdist(X))
    found = fitted(D[:25, :25])
    gaps = D[25:, :25].copy()
    gaps[:, ::2] = np.nan
    np.testing.assert_allclose(found.transform(gaps), found.transform(D[25:, :25]), atol=1e-4)


@pytest.mark.parametrize(
    ("data", "curvature"),
    [
        ("wine", "learned"),
        ("tree", "learned"),
        ("normal", "learned"),
        ("wine", 0.0),
        ("tree", -0.05),
    ],
)
def test_new_points_are_where_the_stress_is_least(data, curvature):
    """No start of 60 at fitted points and 100 drawn ones ends lower."""
    rng = np.random.default_rng(1)
    D = {
        "wine": lambda: squareform(pdist(scale(load_wine().data))),
        "tree": lambda: tree_distances(3, 4),
        "normal": lambda: squareform(pdist(rng.normal(size=(100, 8)))),
    }[data]()
    rows = rng.permutation(len(D))[:80]
    D = D[np.ix_(rows, rows)]
    found = fitted(D[:60, :60], curvature=curvature)
    target, v = D[60:, :60], found.tangent_
    weights = np.ones((20, 60))
    drawn = 0.5 * D.max() * rng.normal(size=(100, 2))
    starts = np.broadcast_to(np.vstack([v, drawn]), (20, 160, 2))
    _, ends, _ = descend_to(v, found.curvature_, starts, target, weights, 300)
    X = found.transform(target)
    errors = found.metric_.pairwise(X, found.embedding_) - target
    reached = np.square(errors).sum(axis=1)
    assert (reached <= ends.min(axis=1) * (1 + 1e-5)).all()


@pytest.mark.parametrize(("seed", "longest"), [(0, 10.0), (1, 20.0)])
def test_a_sphere_that_is_too_small_is_fitted_to_the_end(seed, longest):
    """Dissimilarities beyond half a great circle put pairs at antipodes, where d has a kink."""
    D = squareform(pdist(np.random.default_rng(seed).normal(size=(40, 3))))
    D *= longest / D.max()
    once = fitted(D, curvature=1.0)
    longer = fitted(D, curvature=1.0, tol=1e-10, max_iter=20_000)
    assert once.stress_ == pytest.approx(longer.stress_, rel=1e-4)


def test_stopping_early_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        CurvedMDS(curvature=0.0, max_iter=2).fit(load_iris().data)


UNDETERMINED = pytest.warns(UserWarning, match="curvature is undetermined")


def test_points_that_coincide():
    with UNDETERMINED:
        found = fitted(np.zeros((4, 4)))
    np.testing.assert_array_equal(found.embedding_, np.zeros((4, 2)))
    assert (found.stress_, found.curvature_) == (0, 0)
    with UNDETERMINED:
        assert fitted(1.0 - np.eye(2)).distances_[0, 1] == pytest.approx(1)
