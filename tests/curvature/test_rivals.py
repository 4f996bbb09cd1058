"""Flat models: maps along rays are those of the curved spaces, slopes those of a smooth fit."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from cayleyklein.curvature import processes, rivals, spaces

RNG = np.random.default_rng(1)
X = RNG.normal(size=(40, 3)) * [1.0, 2.0, 0.5]
X -= X.mean(axis=0)
BALL = rivals.smallest_ball(X)


def farthest(family, parameter):
    """The largest distance from the middle that a curved family gives a row."""
    points = family.place(parameter)
    if family.sign > 0:
        return np.arccos(points[:, -1]).max()
    return np.arctanh(np.linalg.norm(points, axis=1)).max()


def test_the_farthest_row_is_where_the_parameter_says():
    gnomonic, stereographic = spaces.elliptic_spaces(X)
    assert farthest(gnomonic, 2.0) == pytest.approx(np.arctan(2.0))
    assert farthest(stereographic, 0.8) == pytest.approx(2 * np.arctan(0.8))
    for family in spaces.hyperbolic_spaces(X, BALL):
        assert farthest(family, 2.5) == pytest.approx(2.5, rel=1e-3)


def test_charts_of_curved_spaces_move_rows_along_rays():
    r = np.linalg.norm(X, axis=1) / np.linalg.norm(X, axis=1).max()
    gnomonic, stereographic = (f.place(0.8)[:, -1] for f in spaces.elliptic_spaces(X))
    np.testing.assert_allclose(np.tan(np.arccos(gnomonic)), 0.8 * r)
    np.testing.assert_allclose(np.tan(np.arccos(stereographic) / 2), 0.8 * r)
    s = np.linalg.norm(X - BALL[0], axis=1) / BALL[1]
    klein, poincare = (f.place(2.5) for f in spaces.hyperbolic_spaces(X, BALL))
    np.testing.assert_allclose(np.linalg.norm(klein, axis=1), np.tanh(2.5) * s)
    distance = np.arctanh(np.linalg.norm(poincare, axis=1))
    np.testing.assert_allclose(np.tanh(distance / 2), np.tanh(1.25) * s)


def test_flat_rivals_have_the_distances_from_the_middle_of_curved_spaces():
    sizes = [np.linalg.norm(f.place(2.0), axis=1) for f in rivals.flat_rescaled(X, BALL)]
    gnomonic = np.arccos(spaces.elliptic_spaces(X)[0].place(2.0)[:, -1])
    np.testing.assert_allclose(sizes[0], gnomonic)
    np.testing.assert_allclose(sizes[1], np.sin(gnomonic))
    klein, poincare = (
        np.arctanh(np.linalg.norm(f.place(2.0), axis=1)) for f in spaces.hyperbolic_spaces(X, BALL)
    )
    np.testing.assert_allclose(sizes[2], klein)
    np.testing.assert_allclose(sizes[3], np.sinh(klein))
    np.testing.assert_allclose(sizes[4], np.tanh(klein / 2))
    np.testing.assert_allclose(sizes[5], poincare / 2)
    inward = rivals.flat_rescaled(X, BALL)[2].place(2.0)
    cosines = np.einsum("ij,ij->i", inward, X - BALL[0])
    lengths = np.linalg.norm(inward, axis=1) * np.linalg.norm(X - BALL[0], axis=1)
    np.testing.assert_allclose(cosines, lengths)


def test_columns_are_squashed_and_stretched():
    families = {family.name: family for family in rivals.flat_in_place(X)}
    squashed = families["columns squashed one by one"].place(9.0)
    t = 9.0 * X / (3 * X.std(axis=0))
    np.testing.assert_allclose(squashed, np.sin(np.arctan(t)))
    stretched = families["columns stretched one by one"].place(0.8)
    np.testing.assert_allclose(stretched, np.tan(np.arcsin(0.8 * X / np.abs(X).max(axis=0))))
    beside = families["the distance from the middle as one more column"].place(4.0)
    np.testing.assert_array_equal(beside[:, :3], X)
    r = np.linalg.norm(X, axis=1)
    assert beside[:, 3].std() == pytest.approx(4 * X.std(axis=0).mean())
    assert np.corrcoef(beside[:, 3], r)[0, 1] == pytest.approx(1)
    directions = families["directions from the middle"].place(1.0)
    np.testing.assert_allclose(directions * r[:, None], X)


def test_axes_along_which_targets_vary():
    """By finite differences of the smooth fit's prediction."""
    turn = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    Y = np.column_stack([np.sin(X @ turn[0]), 0.1 * (X @ turn[1])])
    Y -= Y.mean(axis=0)
    sample = processes.Sample(X, Y, np.arange(len(X)))
    axes, squares = rivals.slope_axes(sample)
    family = processes.Family("", lambda _: X, kernel=processes.gaussian)
    at = sample.fit(family, 1.0, processes.START).settings
    D = processes.flat_distances(X)
    unit = processes.median_distance(D)
    weights = np.linalg.solve(sample.covariance(processes.gaussian, D, unit, at), Y)

    def predict(points):
        between = np.linalg.norm(points[:, None] - X, axis=2)
        k = processes.gaussian(between, processes.LENGTH_GRID[at.length] * unit)
        trend = processes.SLOPE_GRID[at.slope] * points @ X.T / np.square(X).sum(axis=1).mean()
        return (k + trend) @ weights

    steps = 1e-5 * np.eye(3)
    slopes = np.stack([(predict(X + h) - predict(X - h)) / 2e-5 for h in steps], axis=2)
    products = np.einsum("nti,ntj->ij", slopes, slopes) / len(X)
    np.testing.assert_allclose(axes @ np.diag(squares) @ axes.T, products, rtol=1e-5, atol=1e-7)
    assert (np.diff(squares) <= 0).all()
    assert abs(axes[:, 0] @ turn[0]) > 0.95


def test_directions_count_by_their_slopes():
    axes, squares = np.eye(3)[:, ::-1], np.array([4.0, 1.0, 0.0])
    steps = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    found = rivals.Axes(axes, squares, steps)
    weighed, squashed, _, half, along = rivals.flat_along(X, found)
    p = X[:, ::-1]
    np.testing.assert_allclose(weighed.place(0.5), p * [1.0, 0.5, 0.0])
    t = 3.0 * p / (3 * p.std(axis=0))
    np.testing.assert_allclose(squashed.place(3.0), np.sin(np.arctan(t)) * [1, 1, 1])
    np.testing.assert_allclose(half.place(3.0), np.sin(np.arctan(t)) * [1.0, 0.5, 0.0])
    t = X @ steps / (X @ steps).std(axis=0)
    np.testing.assert_allclose(along.place(3.0), np.sin(np.arctan(t)))


def test_axes_of_steps_are_found_in_the_plane_of_the_slopes():
    """Steps of a tree: their slopes lie along other axes than the steps themselves."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=(200, 2))
    left = np.where(z[:, 1] > 0, 2.0, 0.0)
    right = np.where(z[:, 1] > -0.5, 1.0, 3.0)
    Y = np.where(z[:, 0] > 0.3, left, right)[:, None]
    turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    sample = processes.Sample(z @ turn, Y - Y.mean(), np.arange(200))
    axes = rivals.find_axes(sample)
    cosines = np.abs(turn @ axes.by_steps).max(axis=1)
    assert (cosines > np.cos(np.radians(8))).all()
    assert (np.abs(turn @ axes.by_slopes).max(axis=1) < np.cos(np.radians(15))).all()
    np.testing.assert_allclose(axes.by_steps.T @ axes.by_steps, np.eye(2), atol=1e-12)
    one = rivals.find_axes(processes.Sample(z[:, :1], Y - Y.mean(), np.arange(200)))
    np.testing.assert_array_equal(one.by_steps, one.by_slopes)


def test_linear_and_quadratic_models_are_those_of_scikit_learn():
    y = X[:, 0] * X[:, 1] + X[:, 2]
    y -= y.mean()
    partitions = [np.arange(40) % 5, np.arange(40) // 8]
    errors = rivals.predictors(X, X, y[:, None], None, partitions, 0)
    z = X / X.std(axis=0)
    expected = np.zeros(40)
    for folds in partitions:
        told = cross_val_predict(Ridge(0.01 * 40), z, y, cv=PredefinedSplit(folds))
        expected += np.square(y - told) / 2
    np.testing.assert_allclose(errors["a linear model"][:, 0], expected)
    assert errors["a quadratic model"].mean() < 0.1 * errors["a linear model"].mean()
    assert errors["trees"].mean() < errors["a linear model"].mean()


def test_scores_of_classes_are_their_probabilities():
    codes = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    Y = np.eye(3)[codes] - np.eye(3)[codes].mean(axis=0)
    errors = rivals.predictors(X, X, Y, codes, [np.arange(40) % 5], 0)
    for values in errors.values():
        assert values.shape == (40, 3)
        assert values.mean() < np.square(Y).mean()


def test_two_classes_have_the_errors_of_their_probabilities():
    codes = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
    Y = (codes - codes.mean())[:, None]
    folds = np.arange(40) % 5
    errors = rivals.predictors(X, X, Y, codes, [folds], 0)
    model, z = LogisticRegression(C=10.0, max_iter=300), X / X.std(axis=0)
    split = PredefinedSplit(folds)
    told = cross_val_predict(model, z, codes, cv=split, method="predict_proba")
    np.testing.assert_allclose(errors["a linear model"][:, 0], (codes - told[:, 1]) ** 2, atol=1e-6)


def test_one_known_class_is_predicted_by_its_share():
    codes = np.zeros(40, dtype=int)
    codes[0] = 1
    Y = (codes - codes.mean())[:, None]
    folds = np.ones(40, dtype=int)
    folds[:5] = 0  # the other class is in this fold alone
    errors = rivals.predictors(X, X, Y, codes, [folds], 0)
    for values in errors.values():
        np.testing.assert_allclose(values[1:5], 0, atol=1e-12)
        np.testing.assert_allclose(values[0], 1)
