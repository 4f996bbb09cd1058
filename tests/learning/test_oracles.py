"""Learning and voting against an implementation that shares nothing with the library."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from tests.learning import slow

from cayleyklein import (
    CurvedKNeighborsClassifier,
    CurvedLMNN,
    CurvedMetric,
    CurvedNeighbors,
    MixedMetric,
)


def small_problem(seed=0, n=14, d=2, classes=3):
    rng = np.random.default_rng(seed)
    y = np.sort(np.arange(n) % classes)
    X = rng.normal(size=(n, d)) + 0.8 * y[:, None] * [1.0, -0.5, 0.3][:d]
    return X[np.lexsort(X.T[::-1])], rng.permutation(y)


# -- neighbours and votes ------------------------------------------------------------------


def metrics(d):
    factor = np.eye(d) + 0.2 * np.triu(np.ones((d, d)), 1)
    flat, elliptic, hyperbolic = (
        CurvedMetric(factor=0.15 * factor, center=np.full(d, 0.1), curvature=K)
        for K in (0.0, 1.0, -1.0)
    )
    return {
        "flat": flat,
        "elliptic": elliptic,
        "hyperbolic": hyperbolic,
        "mixed": MixedMetric([elliptic, hyperbolic, flat], [0.5, 0.3, 0.2]),
    }


@pytest.mark.parametrize("weights", ["linear", "uniform", "distance"])
@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic", "mixed"])
def test_neighbours_votes_and_weights(geometry, weights):
    X, y = small_problem(seed=4, n=20)
    queries = np.vstack([small_problem(seed=5, n=10)[0], X[:4]])  # some on the spot
    metric, classes = metrics(2)[geometry], np.unique(y)
    rows, lengths = slow.neighbors(queries, X, 6, slow.parts_of(metric))
    model = CurvedKNeighborsClassifier(5, metric=metric, weights=weights).fit(X, y)
    distances, found = model.kneighbors(queries)
    assert found.tolist() == [row[:5] for row in rows]
    np.testing.assert_allclose(distances, np.array(lengths, dtype=float)[:, :5], rtol=1e-12)
    expected = slow.shares(rows, lengths, y, classes, weights, 5)
    np.testing.assert_allclose(model.predict_proba(queries), expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(model.predict(queries), classes[expected.argmax(axis=1)])


@pytest.mark.parametrize("algorithm", ["auto", "brute", "tree"])
@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic", "mixed"])
def test_ties(geometry, algorithm):
    """On a grid around the centre many rows are equally near: the first ones are the neighbours,
    and of classes with as many votes that of the nearest row wins."""
    axis = np.arange(-2, 3) / 8
    X = np.array([(a, b) for a in axis for b in axis])
    X = X[np.random.default_rng(0).permutation(len(X))]
    y = np.array(["b", "a"])[np.arange(len(X)) % 2]
    K = {"flat": 0.0, "elliptic": 1.0, "hyperbolic": -1.0, "mixed": 1.0}[geometry]
    metric = CurvedMetric.euclidean(2, curvature=K)
    if geometry == "mixed":
        metric = MixedMetric([metric, CurvedMetric.euclidean(2, curvature=-1.0)])
    queries = np.array([[0.0, 0.0], [0.0, 1 / 16], [1 / 16, 0.0], [1 / 8, 1 / 8]])
    for k in (1, 4, 6):
        rows, lengths = slow.neighbors(queries, X, k, slow.parts_of(metric))
        search = CurvedNeighbors(k, metric=metric, algorithm=algorithm).fit(X)
        assert search.kneighbors(queries, return_distance=False).tolist() == rows
        model = CurvedKNeighborsClassifier(
            k, metric=metric, algorithm=algorithm, weights="uniform"
        ).fit(X, y)
        expected = slow.shares(rows, lengths, y, ["a", "b"], "uniform", k)
        np.testing.assert_array_equal(
            model.predict(queries), np.array(["a", "b"])[expected.argmax(axis=1)]
        )
        assert k < 4 or any(far[-1] == far[-2] for far in lengths)  # there are ties to break


@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic", "mixed"])
def test_the_pipeline_from_rows_to_answers(geometry):
    """Learn on some rows, and answer for others with what was learned, by the slow way."""
    X, y = small_problem(seed=6, n=24)
    queries, _ = small_problem(seed=7, n=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CurvedKNeighborsClassifier(
            3, geometry=geometry, weights="linear", random_state=0
        ).fit(X, y)
    inside = model.metric_.contains(queries)
    parts = slow.parts_of(model.metric_)
    rows, lengths = slow.neighbors(queries[inside], X, 4, parts)
    expected = slow.shares(rows, lengths, y, np.unique(y), "linear", 3)
    np.testing.assert_allclose(model.predict_proba(queries[inside]), expected, rtol=1e-10)
    assert inside.sum() >= 4


# -- the global optimum of the flat problem ------------------------------------------------


def conic_optimum(rows, y, targets, margin, push, weights):
    """min over M ⪰ 0 of the flat loss over all triplets, by an interior-point solver."""
    import cvxpy

    d = rows.shape[1]
    square = lambda i, j: np.outer(rows[i] - rows[j], rows[i] - rows[j])  # noqa: E731
    pull, pushed, weight = np.zeros((d, d)), [], []
    for i in range(len(rows)):
        for j in targets[i]:
            pull += weights[i] * square(i, j)
            for other in np.flatnonzero(y != y[i]):
                pushed.append((square(i, j) - square(i, other)).ravel())
                weight.append(weights[i])
    M = cvxpy.Variable((d, d), PSD=True)
    hinges = cvxpy.pos(margin + np.array(pushed) @ cvxpy.vec(M, order="C"))
    objective = (1 - push) * cvxpy.trace(M @ pull) + push * (np.array(weight) @ hinges)
    problem = cvxpy.Problem(cvxpy.Minimize(objective))
    problem.solve(solver=cvxpy.CLARABEL, **dict.fromkeys(("tol_gap_rel", "tol_feas"), 1e-7))
    assert problem.status == "optimal"
    return problem.value


def separated(n):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 4))
    X[:, 0] += 4 * y
    return X, y


def mixed_up(n):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 3)), np.arange(n) % 3


IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)


@pytest.mark.parametrize(
    ("X", "y", "margin", "push", "weighted"),
    [
        (IRIS[0][::5], IRIS[1][::5], 1.0, 0.5, False),
        (WINE[0][::6, :5], WINE[1][::6], 1.0, 0.5, True),
        (*separated(30), 1.0, 0.8, False),
        (*mixed_up(30), 2.0, 0.3, True),
    ],
    ids=["iris", "wine", "separated", "mixed up"],
)
def test_flat_fit_reaches_the_global_optimum(X, y, margin, push, weighted):
    X, first = np.unique(X, axis=0, return_index=True)
    y = y[first]
    weights = np.exp2(-(np.arange(len(X)) % 3)) if weighted else np.ones(len(X))
    learner = CurvedLMNN(
        geometry="flat",
        margin=margin,
        push=push,
        n_targets=3,
        n_passes=1,
        n_impostors=None,
        max_iter=5000,
    ).fit(X, y, sample_weight=weights)
    share = weights / weights.sum()
    mean = share @ X
    rows = (X - mean) / np.sqrt(share @ (X - mean) ** 2)
    D = ((rows[:, None] - rows) ** 2).sum(axis=-1)
    targets = slow.nearest_of_class(D, y, 3)
    optimum = conic_optimum(rows, y, targets, margin, push, weights)
    D = learner.metric_.pairwise(X)
    reached, _ = slow.loss(D, y, targets, margin=margin, push=push, squared=True, weights=weights)
    assert optimum * (1 - 1e-6) <= float(reached) <= optimum * (1 + 2e-4)
