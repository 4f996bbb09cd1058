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
from cayleyklein.geometry import Frame
from cayleyklein.learning._loss import Links, Pairs, Problem, loss_and_gradient
from cayleyklein.learning._search import find_impostors, find_targets, radii

CURVATURES = [-0.7, -1e-3, 0.0, 1e-3, 0.7]
SQUARED = {"flat": True, "elliptic": False, "hyperbolic": False, "learned": False}


def small_problem(seed=0, n=14, d=2, classes=3):
    rng = np.random.default_rng(seed)
    y = np.sort(np.arange(n) % classes)
    X = rng.normal(size=(n, d)) + 0.8 * y[:, None] * [1.0, -0.5, 0.3][:d]
    return X[np.lexsort(X.T[::-1])], rng.permutation(y)


def small_frame(X, K, seed=0):
    """A frame of X whose domain holds all rows."""
    rng = np.random.default_rng(seed)
    center = X.mean(axis=0) + 0.1 * rng.normal(size=X.shape[1])
    factor = np.eye(X.shape[1]) + 0.3 * rng.normal(size=(X.shape[1],) * 2)
    z = (X - center) @ factor.T
    return Frame(0.8 * factor / np.linalg.norm(z, axis=1).max(), center=center, curvature=K)


def plain(frame):
    return [(1.0, frame.factor.tolist(), frame.center.tolist(), frame.curvature)]


# -- the pieces ----------------------------------------------------------------------------


@pytest.mark.parametrize("K", CURVATURES)
def test_targets_and_impostors(K):
    X, y = small_problem()
    frame = small_frame(X, K)
    D = slow.all_distances(X, X, plain(frame))
    targets = slow.nearest_of_class(D, y, 2)
    assert find_targets(X, y, 2, frame).tolist() == targets
    for squared in (False, True):
        reach = radii(np.array(targets), X, frame, 0.2, squared)
        pairs, _ = find_impostors(X, y, reach, frame)
        *_, impostors = slow.loss(D, y, targets, margin=0.2, push=0.5, squared=squared)
        found = [set(pairs.column[a:b]) for a, b in zip(pairs.first, pairs.first[1:], strict=False)]
        assert found == impostors
        assert 0 < sum(map(len, found)) < sum((y != label).sum() for label in y)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("K", [-0.7, 0.0, 0.7])
def test_loss_and_gradient(K, squared):
    X, y = small_problem(n=9)
    frame, weights = small_frame(X, K), np.linspace(0.5, 2, len(X))
    D = slow.all_distances(X, X, plain(frame))
    targets = slow.nearest_of_class(D, y, 2)
    given = {"margin": 0.2, "push": 0.4, "squared": squared}

    def value(factor, center, curvature):
        D = slow.all_distances(X, X, [(1.0, factor, center, curvature)])
        return slow.loss(D, y, targets, weights=weights, **given)[0]

    loss, n_active, _ = slow.loss(D, y, targets, weights=weights, **given)
    others = [np.flatnonzero(y != label) for label in y]
    first = np.cumsum([0, *map(len, others)])
    links = Links.of(np.array(targets), Pairs(first, np.concatenate(others)))
    problem = Problem(X, np.array(targets), weights, **given)
    found = loss_and_gradient(problem, links, frame.factor, frame.center, K)
    assert found.loss == pytest.approx(float(loss), rel=1e-10)
    assert found.n_active == n_active > 0
    expected = slow.gradient(value, frame.factor, frame.center, K)
    size = max(np.abs(part).max() for part in expected[:2])
    np.testing.assert_allclose(found.factor, expected[0], atol=1e-8 * size)
    np.testing.assert_allclose(found.center, expected[1], atol=1e-8 * size)
    assert found.curvature == pytest.approx(expected[2], rel=1e-6, abs=1e-8 * size)


# -- a whole fit, seen from outside --------------------------------------------------------


def watched_fit(X, y, **parameters):
    told = []
    learner = CurvedLMNN(
        2,
        n_targets=2,
        n_passes=1,
        n_init=1,
        max_impostors=None,
        callback=lambda progress: told.append(progress) and None,
        **parameters,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the few iterations
        learner.fit(X, y)
    return learner, told


@pytest.mark.parametrize(
    ("geometry", "solver"),
    [
        *((geometry, "lbfgs") for geometry in SQUARED),
        *((geometry, "gradient") for geometry in ("flat", "elliptic", "hyperbolic")),
    ],
)
def test_losses_of_a_fit_are_those_of_its_metrics(geometry, solver):
    """With a margin so wide that every row of another class is an impostor all the while."""
    X, y = small_problem(seed=3)
    start = {}
    if geometry == "flat" and solver == "lbfgs":  # whose own start is scaled to the margin
        start = {"init": 0.1 * np.eye(X.shape[1])}
    learner, told = watched_fit(
        X, y, geometry=geometry, solver=solver, margin=40.0, max_iter=3, push=0.3, tol=0.0, **start
    )
    targets = slow.euclidean_targets(X, y, 2)
    given = {"margin": 40.0, "push": 0.3, "squared": SQUARED[geometry]}
    assert told
    for progress in told:
        D = slow.all_distances(X, X, plain(progress.frame))
        loss, n_active, _ = slow.loss(D, y, targets, **given)
        assert progress.loss == pytest.approx(float(loss), rel=1e-9)
        assert progress.n_active == n_active
    assert [progress.loss for progress in told] == learner.loss_history_[: len(told)]
    assert learner.loss_history_[-1] <= learner.loss_history_[0]


@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic"])
def test_no_impostor_is_lost_at_the_end(geometry):
    """With the margin of every day, where impostors come and go."""
    X, y = small_problem(seed=1)
    margin = {"flat": 1.0, "elliptic": 0.3, "hyperbolic": 0.05}[geometry]
    learner, _ = watched_fit(X, y, geometry=geometry, margin=margin, max_iter=200, tol=1e-9)
    D = slow.all_distances(X, X, slow.parts_of(learner.metric_))
    targets = slow.euclidean_targets(X, y, 2)
    loss, *_ = slow.loss(D, y, targets, margin=margin, push=0.5, squared=SQUARED[geometry])
    assert learner.loss_history_[-1] == pytest.approx(float(loss), rel=1e-9)


def test_a_step_of_the_papers_solver():
    """L₁ = L₀ - γ ∂ε/∂L, flat, on standardised columns."""
    X, y = small_problem(seed=2)
    rate = 1e-4
    _, told = watched_fit(
        X, y, geometry="flat", solver="gradient", margin=1.0, max_iter=2, learning_rate=rate
    )
    rows = np.array([[float(v) for v in row] for row in slow.standardised(X)])
    targets = slow.euclidean_targets(X, y, 2)

    def value(factor, center, K):
        D = slow.all_distances(rows, rows, [(1.0, factor, center, K)])
        return slow.loss(D, y, targets, margin=1.0, push=0.5, squared=True)[0]

    before, after = (progress.frame.factor * X.std(axis=0) for progress in told)
    by_factor, *_ = slow.gradient(value, before, [0.0, 0.0], 0.0)
    np.testing.assert_allclose(after, before - rate * by_factor, rtol=1e-9, atol=1e-12)
    assert np.abs(after - before).max() > 1e-3


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


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic", "mixed"])
def test_neighbours_votes_and_weights(geometry, weights):
    X, y = small_problem(seed=4, n=20)
    queries = np.vstack([small_problem(seed=5, n=10)[0], X[:4]])  # some on the spot
    metric, classes = metrics(2)[geometry], np.unique(y)
    rows, lengths = slow.neighbors(queries, X, 5, slow.parts_of(metric))
    model = CurvedKNeighborsClassifier(5, metric=metric, weights=weights).fit(X, y)
    distances, found = model.kneighbors(queries)
    assert found.tolist() == rows
    np.testing.assert_allclose(distances, np.array(lengths, dtype=float), rtol=1e-12)
    expected = slow.shares(rows, lengths, y, classes, weights)
    np.testing.assert_allclose(model.predict_proba(queries), expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(model.predict(queries), classes[expected.argmax(axis=1)])


@pytest.mark.parametrize("algorithm", ["auto", "brute", "vptree"])
@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic", "mixed"])
def test_ties(geometry, algorithm):
    """On a grid around the centre many rows are equally near: the first ones are the neighbours,
    and of classes with as many votes the first wins."""
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
        search = CurvedNeighbors(metric, k, algorithm=algorithm).fit(X)
        assert search.kneighbors(queries, return_distance=False).tolist() == rows
        model = CurvedKNeighborsClassifier(k, metric=metric, algorithm=algorithm).fit(X, y)
        expected = slow.shares(rows, lengths, y, ["a", "b"], "uniform")
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
        model = CurvedKNeighborsClassifier(3, geometry=geometry, random_state=0).fit(X, y)
    inside = model.metric_.contains(queries)
    parts = slow.parts_of(model.metric_)
    rows, lengths = slow.neighbors(queries[inside], X, 3, parts)
    expected = slow.shares(rows, lengths, y, np.unique(y), "uniform")
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
        n_init=1,
        max_impostors=None,
        max_iter=5000,
        tol=0.0,
    ).fit(X, y, sample_weight=weights)
    share = weights / weights.sum()
    mean = share @ X
    rows = (X - mean) / np.sqrt(share @ (X - mean) ** 2)
    D = ((rows[:, None] - rows) ** 2).sum(axis=-1)
    targets = slow.nearest_of_class(D, y, 3)
    optimum = conic_optimum(rows, y, targets, margin, push, weights)
    D = learner.metric_.pairwise(X)
    reached, *_ = slow.loss(D, y, targets, margin=margin, push=push, squared=True, weights=weights)
    assert optimum * (1 - 1e-6) <= float(reached) <= optimum * (1 + 1e-4)
