import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedMetric
from cayleyklein.datasets import make_elliptic_blobs, make_hyperbolic_tree, make_mixed
from cayleyklein.exceptions import InvalidInputError

MAKERS = [make_elliptic_blobs, make_hyperbolic_tree, make_mixed]
SEEDS = range(2)


def accuracy(split, **how):
    X, X_test, y, y_test = split
    return CurvedKNeighborsClassifier(3, weights="uniform", **how).fit(X, y).score(X_test, y_test)


def halves(make, seed):
    X, y, metric = make(random_state=seed, return_metric=True)
    return train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y), metric


@pytest.mark.parametrize("make", MAKERS)
def test_known_metric_beats_euclidean(make):
    gains = []
    for seed in SEEDS:
        split, metric = halves(make, seed)
        euclidean = CurvedMetric.euclidean(split[0].shape[1])
        gains.append(accuracy(split, metric=metric) - accuracy(split, metric=euclidean))
    assert min(gains) > 0
    assert np.mean(gains) > 0.03


@pytest.mark.parametrize(("make", "sign"), [(make_elliptic_blobs, 1), (make_hyperbolic_tree, -1)])
def test_learner_recovers_the_sign_and_beats_flat(make, sign):
    gains = []
    for seed in SEEDS:
        split, metric = halves(make, seed)
        learner = CurvedLMNN(geometry="learned", random_state=0).fit(split[0], split[2])
        assert np.sign(metric.curvature) == sign
        assert np.sign(learner.curvature_) == sign
        flat = accuracy(split, geometry="flat", random_state=0)
        gains.append(accuracy(split, metric=learner.metric_) - flat)
    assert np.mean(gains) > 0.03


def test_a_mixture_beats_each_of_its_parts_and_flat():
    """On the mean of a few draws."""
    found = {geometry: [] for geometry in ("mixed", "flat", "elliptic", "hyperbolic")}
    for seed in SEEDS:
        split, metric = halves(make_mixed, seed)
        assert [part.curvature for part in metric.metrics] == [1.0, -1.0]
        for geometry, scores in found.items():
            learner = CurvedLMNN(geometry=geometry, max_iter=100, random_state=0)
            scores.append(accuracy(split, learner=learner))
    mixed = found.pop("mixed")
    for geometry, scores in found.items():
        assert np.mean(np.subtract(mixed, scores)) > 0.03, geometry


def test_neither_half_of_a_mixture_is_enough():
    X, y, metric = make_mixed(random_state=0, return_metric=True)
    both, *parts = (
        CurvedKNeighborsClassifier(3, metric=m).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
        for m in (metric, *metric.metrics)
    )
    assert both > 0.9
    assert max(parts) < 0.7


@pytest.mark.parametrize("make", MAKERS)
def test_same_seed_same_rows(make):
    (X, y), (X_again, y_again) = make(200, random_state=3), make(200, random_state=3)
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, make(200, random_state=4)[0])


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (make_elliptic_blobs, {"n_features": 2, "centers": 6, "reach": 1.3}),
        (make_hyperbolic_tree, {"n_features": 3, "depth": 2}),
    ],
)
def test_clusters_have_the_width_asked_for(make, options):
    """The mean square distance to a Gaussian cluster's middle is n_features · std²."""
    std = 0.02
    X, y, metric = make(6000, cluster_std=std, random_state=0, return_metric=True, **options)
    widths = []
    for label in np.unique(y):
        rows = X[y == label]
        middle = rows[np.median(metric.pairwise(rows), axis=1).argmin()]
        widths.append((metric.distance(rows, middle) ** 2).mean() / (X.shape[1] * std**2))
    assert np.median(widths) == pytest.approx(1.0, abs=0.15)


def test_tree_has_equal_edges():
    X, y, metric = make_hyperbolic_tree(
        22, depth=3, cluster_std=0.0, edge=1.2, random_state=0, return_metric=True
    )
    nodes = X[np.argsort(y)]
    parents = [0, 0, 0, *np.repeat(np.arange(1, 4), 2), *np.repeat(np.arange(4, 10), 2)]
    np.testing.assert_allclose(metric.distance(nodes[1:], nodes[parents]), 1.2, rtol=1e-9)
    others = metric.pairwise(nodes)[~np.eye(22, dtype=bool)]
    assert others.min() > 1.19  # no two nodes come nearer than an edge


def test_elliptic_rows_stay_within_reach():
    X, _ = make_elliptic_blobs(500, reach=1.2, cluster_std=0.5, random_state=0)
    assert np.arctan(np.linalg.norm(X, axis=1)).max() < 1.2


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_elliptic_blobs, {"reach": 1.6}, r"reach=1.6, .* in \(0, 1.57"),
        (make_elliptic_blobs, {"cluster_std": -0.1}, "cluster_std=-0.1"),
        (make_elliptic_blobs, {"cluster_std": 0.5, "reach": 0.3}, "at most 0.173 wide"),
        (make_elliptic_blobs, {"n_samples": 0}, "n_samples=0"),
        (make_hyperbolic_tree, {"n_features": 1}, "at least 2"),
        (make_hyperbolic_tree, {"depth": 9}, "radius 9"),
        (make_mixed, {"centers": 0}, "centers=0"),
    ],
)
def test_refuses(make, options, message):
    with pytest.raises(InvalidInputError, match=message):
        make(**options)
