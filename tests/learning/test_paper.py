"""The paper's solver: its gradient, its starts, its steps, and what it tells."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Frame
from cayleyklein.learning._data import TrainingRows
from cayleyklein.learning._descent import PAIR_BYTES
from cayleyklein.learning._loss import Links, Problem, loss_and_gradient
from cayleyklein.learning._paper import KAPPA, PaperDescent
from cayleyklein.learning._recipes import GEOMETRIES
from cayleyklein.learning._search import find_impostors, find_targets, radii
from cayleyklein.learning._starts import starting_factor

THREE = ("flat", "elliptic", "hyperbolic")
CURVED = ("elliptic", "hyperbolic")


def iris(offset=0.0):
    X, y = load_iris(return_X_y=True)
    return TrainingRows.from_raw(X + offset, y.astype(np.int64), np.ones(len(y)))


def blobs(n=120, d=4):
    X, y = make_classification(
        n, n_features=d, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1,
        class_sep=0.8, random_state=0,
    )  # fmt: skip
    return TrainingRows.from_raw(X, y.astype(np.int64), np.ones(n))


def descent(geometry, data, init="precision", max_iter=30, **parameters):
    recipe = replace(
        GEOMETRIES[geometry], margin=1.0, init=init, radius=None, n_passes=1, max_iter=max_iter
    )
    name = "precision" if init == "diagonal" else init
    factor = parameters.pop("factor", starting_factor(data, name, data.X.shape[1], None))
    return PaperDescent(data, recipe, factor, **parameters)


def problem_of(solver):
    data, recipe = solver.data, solver.recipe
    targets = find_targets(data.X, data.labels, recipe.n_targets, Frame(np.eye(data.X.shape[1])))
    return Problem(data.X, targets, data.weights, recipe.margin, recipe.push, recipe.squared)


def true_loss(solver, frame):
    """The loss over all impostors, from the metric alone."""
    problem = problem_of(solver)
    reach = radii(problem.targets, problem.X, frame, problem.margin, problem.squared)
    pairs, _ = find_impostors(problem.X, solver.data.labels, reach, frame)
    links = Links.of(problem.targets, pairs)
    return loss_and_gradient(problem, links, frame.factor, frame.center, frame.curvature).loss


@pytest.mark.parametrize("geometry", THREE)
def test_gradient_by_finite_differences(geometry):
    solver = descent(geometry, blobs(60), max_iter=5, learning_rate=1e-5).run()
    rng = np.random.default_rng(0)
    solver._matrix = solver._matrix + 0.01 * rng.normal(size=solver._matrix.shape)
    assert solver._frame(solver._matrix) is not None
    problem = problem_of(solver)
    links = solver._links(problem)
    _, n_active, gradient = solver._gradient(problem, links)
    assert n_active > 0
    here, step = solver._matrix, 1e-6
    for i, j in np.ndindex(here.shape):
        if geometry == "flat" and (i == len(here) - 1 or j == here.shape[1] - 1):
            assert gradient[i, j] == 0  # L alone moves
            continue
        values = []
        for side in (-step, step):
            solver._matrix = here.copy()
            solver._matrix[i, j] += side
            values.append(solver._gradient(problem, links)[0])
        slope = (values[1] - values[0]) / (2 * step)
        assert slope == pytest.approx(gradient[i, j], rel=1e-4, abs=1e-4 * np.abs(gradient).max())


@pytest.mark.parametrize("geometry", THREE)
def test_the_frame_has_the_loss_of_its_matrix(geometry):
    solver = descent(geometry, blobs(), max_iter=15).run()
    loss, *_ = solver._evaluate(problem_of(solver), solver._links(problem_of(solver)), True)
    frame = solver._frame(solver._matrix)
    assert true_loss(solver, frame) == pytest.approx(loss, rel=1e-9)
    assert abs(frame.curvature) == (geometry != "flat")


@pytest.mark.parametrize("geometry", THREE)
def test_returns_the_best_of_what_fresh_impostors_judged(geometry):
    """A step much too long makes losses rise and stale impostors flatter."""
    first = descent(geometry, blobs(), max_iter=1)
    gradient = first._gradient(problem_of(first), first._links(problem_of(first)))[2]
    rate = 2 * np.linalg.norm(first._matrix) / np.linalg.norm(gradient)
    solver = descent(geometry, blobs(), max_iter=25, tol=0.0, learning_rate=rate).run()
    best = true_loss(solver, solver.frame)
    assert best == pytest.approx(solver._best[0], rel=1e-6)
    fresh = [*solver.loss_history[::10], solver.loss_history[-1]]
    assert best <= min(fresh) * (1 + 1e-6)
    assert len(solver.loss_history) == solver.n_iter + 1 == 26


def test_halving_keeps_rows_inside():
    data = blobs()
    solver = descent("hyperbolic", data)
    problem = problem_of(solver)
    _, _, gradient = solver._gradient(problem, solver._links(problem))
    before = solver._matrix
    gamma, moved = solver._step(1e6, gradient)
    assert moved
    assert gamma < 1e6
    assert not np.array_equal(solver._matrix, before)
    frame = solver._frame(solver._matrix)
    assert (frame.form_values(data.X) > 0).all()
    frame = descent("hyperbolic", data, learning_rate=1e6).run().frame
    assert (frame.form_values(data.X) > 0).all()


def test_no_step_is_no_convergence(monkeypatch):
    solver = descent("hyperbolic", blobs())
    monkeypatch.setattr(solver, "_step", lambda gamma, gradient: (gamma, False))
    solver.run()
    assert not solver.converged
    assert solver.n_iter == len(solver.loss_history) == 1
    assert np.isfinite(solver.frame.factor).all()


def test_standing_still_at_the_wall_is_no_convergence():
    solver = descent("hyperbolic", iris(), init="diagonal", max_iter=200).run()
    assert solver.n_iter < 200
    assert not solver.converged


@pytest.mark.parametrize("geometry", THREE)
def test_convergence(geometry):
    slow = 1e-6 if geometry == "hyperbolic" else None  # never halved
    assert descent(geometry, blobs(), tol=1e-2, max_iter=500, learning_rate=slow).run().converged
    assert not descent(geometry, blobs(), tol=0.0, max_iter=3).run().converged


@pytest.mark.parametrize("geometry", THREE)
def test_a_start_goes_on(geometry):
    data = blobs()
    first = descent(geometry, data).run()
    assert first.loss_history[-1] == first._best[0] < first.loss_history[0]
    second = descent(geometry, data, start=first.frame).run()
    assert second.loss_history[0] == pytest.approx(first.loss_history[-1], rel=1e-6)
    assert second.loss_history[-1] < first.loss_history[-1]


@pytest.mark.parametrize("K", [-4.0, 0.25])
def test_a_start_of_any_curvature(K):
    """(L, K) and (√|K| L, ±1) have the same classes, at distances √|K| times as large."""
    data = blobs()
    center = 0.1 * np.ones(4)
    start = Frame(0.05 * np.eye(4), center=center, curvature=K)
    solver = descent(start.geometry, data, start=start)
    frame = solver.frame
    np.testing.assert_allclose(frame.matrix, abs(K) * start.matrix, atol=1e-12)
    np.testing.assert_allclose(frame.center, center, atol=1e-9)


def test_a_start_that_does_not_fit_gives_its_factor():
    data = blobs()
    factor = np.diag([1.0, 2.0, 3.0, 4.0])
    plain = descent("hyperbolic", data, factor=factor).frame
    for start in (
        Frame(factor, center=np.ones(4), curvature=-9.0),  # rows are outside
        Frame(factor, center=np.ones(4), curvature=1.0),
        Frame(factor),
    ):
        solver = descent("hyperbolic", data, factor=factor, start=start)
        np.testing.assert_allclose(solver.frame.factor, plain.factor)
        np.testing.assert_allclose(solver.frame.center, plain.center)


@pytest.mark.parametrize("geometry", CURVED)
def test_the_diagonal_start_is_about_the_raw_origin(geometry):
    data = iris()
    solver = descent(geometry, data, init="diagonal")
    raw = data.to_raw(solver.frame)
    np.testing.assert_allclose(raw.center, 0, atol=1e-9)
    around_mean = data.to_raw(descent(geometry, data).frame)
    np.testing.assert_allclose(around_mean.center, data.mean, rtol=1e-9)
    if geometry == "hyperbolic":
        X = load_iris().data
        reach = (raw.coordinates(X) ** 2).sum(axis=1).max()
        assert reach == pytest.approx(1 / KAPPA)
    assert solver.run().loss_history != descent(geometry, data).run().loss_history


def test_a_start_that_is_no_metric_to_rounding_says_so():
    with pytest.raises(InvalidInputError, match="init='diagonal' is no elliptic metric"):
        descent("elliptic", iris(offset=1e9), init="diagonal")


@pytest.mark.parametrize("geometry", CURVED)
def test_low_rank_is_for_flat_only(geometry):
    data = iris()
    low = np.eye(4)[:2]
    with pytest.raises(InvalidInputError, match=r"square factors.*\(2, 4\) and rank 2"):
        descent(geometry, data, factor=low)
    with pytest.raises(InvalidInputError, match=r"square factors.*\(4, 4\) and rank 2"):
        descent(geometry, data, factor=np.diag([1.0, 1.0, 0.0, 0.0]))
    assert descent("flat", data, factor=low).run().frame.factor.shape == (2, 4)


@pytest.mark.parametrize("init", ["precision", "identity", "diagonal"])
@pytest.mark.parametrize("geometry", THREE)
def test_constant_columns_weigh_nothing(geometry, init):
    X, y = load_iris(return_X_y=True)
    table = np.column_stack([X[:, :2], np.full(len(X), 3.0), X[:, 2:]])
    data = TrainingRows.from_raw(table, y.astype(np.int64), np.ones(len(y)))
    solver = descent(geometry, data, init=init).run()
    raw = data.to_raw(solver.frame)
    assert raw.factor.shape == (5, 5)
    assert not raw.factor[:, 2].any()
    assert min(solver.loss_history) < solver.loss_history[0]


@pytest.mark.parametrize("geometry", CURVED)
def test_taller_factors_are_squared(geometry):
    data = iris()
    tall = np.vstack([np.eye(4), np.eye(4)])
    frame = descent(geometry, data, factor=tall).frame
    square = descent(geometry, data, factor=np.sqrt(2) * np.eye(4)).frame
    np.testing.assert_allclose(frame.matrix, square.matrix, atol=1e-12)


@pytest.mark.parametrize("geometry", THREE)
def test_nothing_varies(geometry):
    data = TrainingRows.from_raw(np.ones((6, 2)), np.arange(6) % 2, np.ones(6))
    assert np.isfinite(descent(geometry, data).run().frame.factor).all()


@pytest.mark.parametrize("geometry", THREE)
def test_memory_budget(geometry):
    data = blobs()
    assert not descent(geometry, data, max_iter=2).run().budget_bitten
    solver = descent(geometry, data, max_iter=2, memory_budget=PAIR_BYTES * 120 * 3.0).run()
    assert solver.budget_bitten
    links = solver._links(problem_of(solver))
    assert np.diff(links.first).max() == 3 + solver.recipe.n_targets


@pytest.mark.parametrize("geometry", THREE)
def test_progress_is_of_one_iterate(geometry):
    """Impostors are found each time, so that a metric's loss can be found from it alone."""
    data, seen = blobs(), []
    solver = descent(
        geometry,
        data,
        tol=0.0,
        impostor_interval=1,
        callback=lambda p: seen.append(p) or len(seen) == 5,
    ).run()
    assert solver.stopped
    assert [progress.iteration for progress in seen] == [1, 2, 3, 4, 5]
    assert [progress.loss for progress in seen] == solver.loss_history
    for progress in seen:
        frame = data.from_raw_frame(progress.frame)
        assert true_loss(solver, frame) == pytest.approx(progress.loss, rel=1e-9)
        assert progress.curvature == progress.frame.curvature
