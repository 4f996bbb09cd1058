"""Hyperplanes of the space have the largest margin, by a conic solver and by the geometry."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.svm import LinearSVC

from cayleyklein import CurvedLinearSVC, CurvedMetric
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import apply_collineation
from cayleyklein.svm._newton import largest_margin, soft_margin_loss

CURVATURES = [1.0, 0.25, 0.0, -0.25, -1.0]


def rows_of(seed, noise, n=40, d=2):
    """Return rows in the unit ball, and classes by a line, some of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X *= 0.95 * rng.uniform(size=(n, 1)) ** 0.3 / np.linalg.norm(X, axis=1, keepdims=True)
    y = X @ rng.normal(size=d) + rng.uniform(-0.2, 0.2) + noise * rng.normal(size=n) > 0
    y[:2] = True, False
    return X, y.astype(int)


def pieces(model, X, y):
    """Return the signed lifted rows, the diagonal of the form, C of rows and the normal."""
    z, s = model.metric_.inside(X)
    lifted = np.column_stack([z, np.ones(len(z))]) / np.sqrt(s)[:, None]
    form = np.append(np.ones(z.shape[1]), model.metric_.curvature)
    return lifted * (2 * y - 1)[:, None], form, np.full(len(X), model.C), model._normals[0]


def best_for_offset(b, rows, K, C):
    """Return the least F for a fixed b by a conic solver: convex in w, for every K."""
    cp = pytest.importorskip("cvxpy")
    w = cp.Variable(rows.shape[1] - 1)
    short = cp.pos(1 - rows[:, :-1] @ w - rows[:, -1] * b)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * cp.sum_squares(short)))
    return problem.solve(solver="CLARABEL") + K * b * b / 2


@pytest.mark.parametrize("K", [1.0, 0.25, 0.0])
@pytest.mark.parametrize("C", [1.0, 1000.0])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_convex_problems_agree_with_a_conic_solver(K, C, noise):
    cp = pytest.importorskip("cvxpy")
    X, y = rows_of(0, noise)
    model = CurvedLinearSVC(CurvedMetric.euclidean(2, curvature=K), C=C).fit(X, y)
    rows, form, penalties, normal = pieces(model, X, y)
    n = cp.Variable(3)
    short = cp.pos(1 - rows @ n)
    penalty = cp.sum_squares(cp.multiply(np.sqrt(form), n)) / 2
    cp.Problem(cp.Minimize(penalty + C * cp.sum_squares(short))).solve(solver="CLARABEL")
    value = soft_margin_loss(normal, rows, form, penalties)
    assert value <= soft_margin_loss(n.value, rows, form, penalties) * (1 + 1e-9)
    np.testing.assert_allclose(normal, n.value, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("seed", "noise"), [(0, 0.0), (1, 0.3), (2, 0.0)])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_hyperbolic_problems_agree_with_a_scan_of_conic_problems(seed, noise, C):
    """For a fixed b the problem is convex: no b of a wide scan does better than Newton's method."""
    X, y = rows_of(seed, noise, n=20)
    model = CurvedLinearSVC(CurvedMetric.euclidean(2, curvature=-1.0), C=C).fit(X, y)
    rows, form, penalties, normal = pieces(model, X, y)
    value = soft_margin_loss(normal, rows, form, penalties)
    scan = normal[-1] + np.array([-30, -10, -3, -1, -0.3, -0.1, 0.1, 0.3, 1, 3, 10, 30])
    assert all(best_for_offset(b, rows, -1.0, C) > value for b in scan)
    assert best_for_offset(normal[-1], rows, -1.0, C) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_every_start_leads_to_the_same_hyperbolic_minimum(noise):
    for seed in range(4):
        X, y = rows_of(seed, noise, n=15)
        model = CurvedLinearSVC(CurvedMetric.euclidean(2, curvature=-1.0), C=30.0).fit(X, y)
        rows, form, C, normal = pieces(model, X, y)

        def gradient(n, rows=rows, form=form, C=C):
            return form * n - 2 * rows.T @ (C * np.maximum(0, 1 - rows @ n))

        least = soft_margin_loss(normal, rows, form, C)
        starts = np.random.default_rng(seed).normal(size=(10, 3)) * np.logspace(-2, 2, 10)[:, None]
        for start in starts:
            found = minimize(
                soft_margin_loss, start, (rows, form, C), "BFGS", lambda n, *_: gradient(n)
            )
            assert found.fun == pytest.approx(least, rel=1e-6)
            assert found.fun >= least * (1 - 1e-12)


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_gradient_vanishes_by_differences(K, noise):
    X, y = rows_of(3, noise)
    model = CurvedLinearSVC(CurvedMetric.euclidean(2, curvature=K), C=5.0).fit(X, y)
    rows, form, penalties, normal = pieces(model, X, y)
    for direction in np.eye(3):
        ends = [
            soft_margin_loss(normal + h * direction, rows, form, penalties) for h in (1e-5, -1e-5)
        ]
        assert abs(ends[0] - ends[1]) / 2e-5 < 1e-4 * (1 + np.abs(normal).max())


@pytest.mark.parametrize("K", [1.0, 0.0, -1.0])
def test_the_margin_is_a_distance_of_the_space(K):
    """Of two rows, the hyperplane is the bisector, and the margin half their distance."""
    metric = CurvedMetric(matrix=[[1.0, 0.2], [0.2, 0.5]], center=[0.1, -0.2], curvature=K)
    p, q = np.array([0.5, 0.3]), np.array([-0.4, 0.2])
    model = CurvedLinearSVC(metric, C=1e9).fit([p, q], ["p", "q"])
    assert model.margin_[0] == pytest.approx(metric(p, q) / 2, rel=1e-6)
    found = np.append(model.coef_[0], model.intercept_[0])
    expected = -metric.bisector(p, q).homogeneous
    np.testing.assert_allclose(
        found / np.linalg.norm(found), expected / np.linalg.norm(expected), rtol=1e-6
    )
    assert model.predict([p, q]).tolist() == ["p", "q"]


@pytest.mark.parametrize("K", [1.0, -1.0])
def test_no_other_hyperplane_has_a_larger_margin(K):
    X, y = rows_of(4, 0.0)
    metric = CurvedMetric.euclidean(2, curvature=K)
    model = CurvedLinearSVC(metric, C=1e9).fit(X, y)
    rows, form, _, normal = pieces(model, X, y)

    def sines(normals):
        square = (normals**2) @ form
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(square > 0, (rows @ normals.T).min(axis=0) / np.sqrt(square), -np.inf)

    rng = np.random.default_rng(0)
    others = np.vstack(
        [
            normal + scale * np.abs(normal).max() * rng.normal(size=(20_000, 3))
            for scale in (0.001, 0.01, 0.1, 1.0)
        ]
    )
    best = sines(normal[None])[0]
    sine = np.sin(model.margin_[0]) if K > 0 else np.sinh(model.margin_[0])
    assert best == pytest.approx(sine, rel=1e-5)
    assert sines(others).max() <= best * (1 + 1e-9)


@pytest.mark.parametrize("K", [1.0, -1.0])
def test_isometries_keep_the_decisions(K):
    X, y = rows_of(5, 0.2)
    X *= 0.8
    metric = CurvedMetric.euclidean(2, curvature=K)
    moved = apply_collineation(metric.transvection([0.0, 0.0], [0.2, -0.1]), X)
    model = CurvedLinearSVC(metric, C=3.0)
    before = model.fit(X, y).decision_function(X)
    margin = model.margin_
    after = clone(model).fit(moved, y)
    np.testing.assert_allclose(after.decision_function(moved), before, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(after.margin_, margin, rtol=1e-7)


@pytest.mark.parametrize("K", [1e-7, -1e-7])
def test_curvature_tends_to_zero_from_both_sides(K):
    X, y = rows_of(6, 0.3)
    flat = CurvedLinearSVC(CurvedMetric.euclidean(2), C=2.0).fit(X, y)
    near = CurvedLinearSVC(CurvedMetric.euclidean(2, curvature=K), C=2.0).fit(X, y)
    np.testing.assert_allclose(near.decision_function(X), flat.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(near.margin_, flat.margin_, rtol=1e-5)


def test_flat_space_is_the_linear_machine_of_scikit_learn():
    X, y = rows_of(7, 0.3)
    ours = CurvedLinearSVC(CurvedMetric.euclidean(2), C=2.0).fit(X, y)
    # liblinear penalises b: a large constant column makes that nothing
    theirs = LinearSVC(C=2.0, dual=False, intercept_scaling=1e4, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("K", CURVATURES)
def test_more_columns_than_rows(K):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(12, 40)) / 15
    y = np.repeat([0.0, 1.0], 6)
    lifted = np.column_stack([X, np.ones(12)]) / np.sqrt(1 + K * (X**2).sum(axis=1))[:, None]
    wide, *_ = largest_margin(lifted, 2 * y - 1, K, np.full(12, 4.0))
    padded = np.vstack([lifted, np.zeros((40, 41))])  # rows that say nothing
    penalties = np.append(np.full(12, 4.0), np.full(40, 1e-9))
    tall, *_ = largest_margin(padded, np.append(2 * y - 1, np.ones(40)), K, penalties)
    np.testing.assert_allclose(wide, tall, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("K", [1.0, -1.0])
def test_several_classes(K):
    metric = CurvedMetric.euclidean(2, curvature=K)
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    X = 0.8 * np.column_stack([np.cos(angles), np.sin(angles)])
    y = np.repeat(["a", "b", "c"], 20)
    model = CurvedLinearSVC(metric, C=10.0).fit(X, y)
    assert model.score(X, y) == 1
    assert model.decision_function(X).shape == (60, 3)
    assert model.coef_.shape == (3, 2)
    pair = CurvedLinearSVC(metric, C=10.0).fit(X[y != "b"], y[y != "b"])
    np.testing.assert_allclose(pair.coef_[0], model.coef_[1])
    assert model.intercept_.shape == model.margin_.shape == (3,)


def test_one_class_for_all_rows_where_no_hyperplane_helps():
    X = np.vstack([np.zeros((9, 2)), [[1e-3, 0.0]]])
    y = np.append(np.zeros(9), 1)
    model = CurvedLinearSVC(CurvedMetric.euclidean(2, curvature=-1.0)).fit(X, y)
    assert np.isnan(model.margin_[0])
    assert (model.predict(rows_of(0, 0.0)[0]) == 0).all()
    balanced = CurvedLinearSVC(
        CurvedMetric.euclidean(2, curvature=-1.0), C=1e8, class_weight="balanced"
    )
    assert balanced.fit(X, y).score(X, y) == 1


def test_class_weights_are_repeated_rows():
    X, y = rows_of(9, 0.3)
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    weighted = CurvedLinearSVC(metric, class_weight={0: 1, 1: 3}).fit(X, y)
    twice = y == 1
    repeated = CurvedLinearSVC(metric).fit(
        np.vstack([X, X[twice], X[twice]]), np.concatenate([y, y[twice], y[twice]])
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)


@pytest.mark.parametrize("K", [0.5, 0.0, -1.0, None])
@pytest.mark.parametrize("class_weight", [None, "balanced", {2: 3.0}])
def test_a_weight_of_two_is_two_rows_and_zero_leaves_out(K, class_weight):
    X, y = rows_of(10, 0.3, n=60)
    y[X[:, 0] > 0.4] = 2
    metric = None if K is None else CurvedMetric.euclidean(2, curvature=K)
    model = CurvedLinearSVC(metric, C=4.0, class_weight=class_weight)
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = clone(model).fit(X, y, weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    plain = clone(model).fit(X, y)
    for name in ("coef_", "intercept_", "margin_"):
        found, expected = getattr(weighted, name), getattr(repeated, name)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert not np.allclose(weighted.coef_, plain.coef_, rtol=1e-3)


def test_a_factor_of_all_weights_is_a_factor_of_c():
    X, y = rows_of(11, 0.3)
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    weights = np.random.default_rng(1).uniform(1, 3, len(X))
    one = CurvedLinearSVC(metric, C=6.0).fit(X, y, weights)
    other = CurvedLinearSVC(metric, C=2.0).fit(X, y, 3 * weights)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
    small = CurvedLinearSVC(metric, C=2.0).fit(X, y, weights)
    assert not np.allclose(one.coef_, small.coef_, rtol=1e-3)


def test_a_class_without_weight_is_not_there():
    X, y = rows_of(12, 0.3)
    names = np.array(["a", "b", "c"])[np.where(X[:, 1] > 0.5, 2, y)]
    model = CurvedLinearSVC().fit(X, names, (names != "b").astype(float))
    assert model.classes_.tolist() == ["a", "c"]
    with pytest.raises(InvalidInputError, match="one class where sample_weight is positive, 'a'"):
        model.fit(X, names, names == "a")
    assert model.classes_.tolist() == ["a", "c"]


def test_bad_input():
    X, y = rows_of(0, 0.0)
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    with pytest.raises(InvalidInputError, match=r"expected C × weight > -K/2 = 0.5"):
        CurvedLinearSVC(disc, C=0.5).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"least weight 0\.1"):
        CurvedLinearSVC(disc, class_weight={0: 0.1}).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"least weight 0\.25"):
        CurvedLinearSVC(disc).fit(X, y, np.where(X[:, 0] > 0, 1, 0.25))
    for bad in (-1.0, np.inf):
        with pytest.raises(InvalidInputError, match="class_weight must hold finite numbers"):
            CurvedLinearSVC(class_weight={0: bad}).fit(X, y)
    with pytest.raises(InvalidInputError, match="class_weight and sample_weight must be positive"):
        CurvedLinearSVC(class_weight={0: 0.0}).fit(X, y)
    with pytest.raises(InvalidInputError, match="class_weight"):
        CurvedLinearSVC(class_weight={7: 1.0}).fit(X, y)
    with pytest.raises(InvalidInputError, match="'C'"):
        CurvedLinearSVC(C=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="'metric'"):
        CurvedLinearSVC("hyperbolic").fit(X, y)
    with pytest.raises(InvalidInputError, match="X has 2 columns, but the metric is for 3"):
        CurvedLinearSVC(CurvedMetric.euclidean(3)).fit(X, y)
    with pytest.raises(OutsideDomainError, match="X at index 0"):
        CurvedLinearSVC(disc).fit(X + 2, y)
    with pytest.raises(OutsideDomainError, match="X at index 1"):
        CurvedLinearSVC(disc).fit(X, y).predict([[0.0, 0.0], [1.0, 0.0]])
    with pytest.raises(InvalidInputError, match="y has one class"):
        CurvedLinearSVC(disc).fit(X, np.zeros(len(X)))
