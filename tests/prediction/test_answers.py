"""What scores mean: weights of parts against a plain minimiser, votes left out against loops."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax

from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.parts.registry import PARTS, PartOptions
from cayleyklein.parts.votes import NEIGHBORS
from cayleyklein.prediction.answers import (
    MOST_WEIGHT,
    MOST_WEIGHT_ON_SCALES,
    PULL_OF_NUMBERS,
    Classes,
    Numbers,
)
from cayleyklein.prediction.held_out import HeldOut, weights_that_count
from cayleyklein.prediction.rehearsal import best_left_out
from cayleyklein.prediction.scales import NumberScale


@pytest.fixture
def labels():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, size=60)
    scores = rng.normal(size=(2, 60, 3))
    scores[:, np.arange(60), truth] += [[0.8], [0.3]]
    return Classes(np.full(3, 1 / 3), 60.0), scores, truth


@pytest.mark.parametrize("size", [1e-9, 1.0, 100.0])
def test_weights_of_classes_have_the_least_loss_with_a_pull_of_one_row(labels, size):
    answer, scores, truth = labels
    counts = size * np.random.default_rng(1).uniform(0.5, 2, size=60)
    start = np.array([1.5, 0.2])

    def loss(weights):
        logs = log_softmax(np.tensordot(weights, scores, 1), axis=1)
        pull = ((weights - start) ** 2).sum()
        return -counts @ logs[np.arange(60), truth] + pull

    found = answer.weigh(scores, truth, counts, start)
    expected = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12})
    np.testing.assert_allclose(found, expected.x, atol=1e-5)
    if size == 1e-9:
        np.testing.assert_allclose(found, start, atol=1e-6)


@pytest.mark.parametrize("size", [1e-9, 1.0, 100.0])
def test_weights_of_numbers_have_the_least_error_with_a_pull_of_some_rows(size):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(50, 2))
    scores = np.stack([truth + 0.3 * rng.normal(size=(50, 2)), rng.normal(size=(50, 2))])
    counts, start = size * rng.uniform(0.5, 2, size=50), np.array([0.5, 0.5])
    error = ((truth - np.tensordot(start, scores, 1)) ** 2).mean(axis=1)
    noise = counts @ error / counts.sum()

    def loss(weights):
        missed = ((truth - np.tensordot(weights, scores, 1)) ** 2).mean(axis=1)
        return counts @ missed / noise + PULL_OF_NUMBERS * ((weights - start) ** 2).sum()

    found = Numbers.standardising(np.array([[-1.0, -1.0], [1.0, 1.0]]), np.ones(2)).weigh(
        scores, truth, counts, start
    )
    expected = minimize(loss, start, method="L-BFGS-B", bounds=[(0, None)] * 2, tol=1e-14)
    np.testing.assert_allclose(found, expected.x, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "most"), [("as given", MOST_WEIGHT), ("logarithm", MOST_WEIGHT_ON_SCALES)]
)
def test_weights_of_numbers_add_up_to_no_more_than_the_bound(kind, most):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(200, 1))
    scores = np.stack([0.3 * truth, 0.2 * truth + 0.1 * rng.normal(size=(200, 1))])
    scale = NumberScale(kind, shift=10.0)
    answer = Numbers.standardising(truth, np.ones(200), (scale,))
    counts = np.full(200, 10.0)
    start = np.array([0.5, 0.5])
    found = answer.weigh(scores, truth, counts, start)
    assert found.sum() == pytest.approx(most)
    error = ((truth - np.tensordot(start, scores, 1)) ** 2).mean()

    def loss(first):
        weights = np.array([first, most - first])
        missed = ((truth - np.tensordot(weights, scores, 1)) ** 2).mean(axis=1)
        return counts @ missed / error + PULL_OF_NUMBERS * ((weights - start) ** 2).sum()

    expected = minimize_scalar(loss, bounds=(0, most), method="bounded")
    assert found[0] == pytest.approx(expected.x, abs=1e-4)


def test_no_weight_is_negative(labels):
    answer, scores, truth = labels
    scores[1, np.arange(60), truth] -= 5.0
    assert answer.weigh(scores, truth, np.ones(60), np.array([1.5, 0.0]))[1] == 0.0


def test_says_is_the_inverse_of_scores(labels):
    answer, _, truth = labels
    shares = np.random.default_rng(0).dirichlet(np.ones(3), size=5)
    said = answer.says(answer.of_votes(shares))
    np.testing.assert_allclose(said, answer.smoothed(answer.smoothed(shares)))
    assert (answer.targets(truth).argmax(axis=1) == truth).all()
    Y = np.random.default_rng(1).normal(size=(20, 2)) * [3.0, 0.0] + [1.0, 7.0]
    numbers = Numbers.standardising(Y, np.ones(20))
    np.testing.assert_allclose(numbers.says(numbers.of_votes(Y)), Y)
    np.testing.assert_allclose(numbers.targets(Y).std(axis=0), [1.0, 0.0], atol=1e-12)


def test_neighbours_are_chosen_by_leaving_each_row_out():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(120, 1))
    y = np.sin(X) + 0.4 * rng.normal(size=(120, 1))
    rows = TrainingRows.from_targets(X, y, np.ones(120))
    losses = []
    for k in NEIGHBORS:
        error = 0.0
        for i in range(120):
            d = np.abs(rows.X[:, 0] - rows.X[i, 0])
            d[i] = np.inf
            near = np.argsort(d)[: k + 1]
            votes = 1 - d[near[:k]] / d[near[k]]
            error += (votes @ rows.targets[near[:k], 0] / votes.sum() - rows.targets[i, 0]) ** 2
        losses.append(error)
    found = best_left_out(rows, Parameters(np.eye(1), np.zeros(1), 0.0))
    assert found == NEIGHBORS[int(np.argmin(losses))]
    assert 0 < int(np.argmin(losses)) < len(NEIGHBORS) - 1
    three = TrainingRows.from_targets(X[:3], y[:3], np.ones(3))  # have two neighbours each
    assert best_left_out(three, Parameters(np.eye(1), np.zeros(1), 0.0)) == 2


def test_where_weights_start(labels):
    classes, numbers = labels[0], Numbers.standardising(np.array([[-1.0], [1.0]]), np.ones(2))
    for answer, leading in ((classes, 1.5), (numbers, 0.5)):
        found = answer.start_weights([True, False, True, False])
        np.testing.assert_array_equal(found, [leading, 0.0, leading, 0.0])
        np.testing.assert_array_equal(answer.start_weights([False] * 4), np.full(4, 0.25))


def test_what_is_said_of_a_sum(labels):
    answer, scores, truth = labels
    shares = np.full(60, 1 / 60)
    said = answer.named(scores[0], truth, shares)
    shown = answer.says(scores[0])[np.arange(60), truth]
    assert said["log loss"] == pytest.approx(-np.log(shown).mean())
    assert said["accuracy"] == pytest.approx(np.mean(scores[0].argmax(axis=1) == truth))
    numbers, Y = (
        Numbers.standardising(np.array([[-1.0, -1.0], [1.0, 1.0]]), np.ones(2)),
        np.ones((60, 2)),
    )
    assert numbers.named(Y + np.array([0.5, 0.1]), Y, shares)["R²"] == pytest.approx(1 - 0.13)


def test_held_out_rows_count_by_their_shares_of_all_rows(labels):
    answer, scores, truth = labels
    parts = [PARTS[name](PartOptions()) for name in ("columns", "plain")]
    shares = np.random.default_rng(1).dirichlet(np.full(60, 5.0))
    known = dict(zip(("columns", "plain"), scores, strict=True))
    held_out = HeldOut(answer, known, {"plain": 7}, truth, shares, 80.0, np.ones(60))
    start = answer.start_weights([part.leads for part in parts])
    expected = answer.weigh(scores, truth, 80 * shares, np.array(start))
    weights, total = held_out.weigh(parts)
    np.testing.assert_allclose(weights, expected)
    np.testing.assert_allclose(total, np.tensordot(expected, scores, 1))
    one = answer.weigh(scores[:1], truth, 80 * shares, answer.start_weights([True]))
    np.testing.assert_allclose(held_out.best_multiple("columns"), one[0] * scores[0])
    told = held_out.selection(parts)
    assert [trial.name for trial in told.trials] == ["columns", "plain", "columns + plain"]
    assert [trial.n_neighbors for trial in told.trials] == [0, 7, 7]
    assert told.trials[-1].scores == answer.named(total, truth, shares)
    assert len(held_out.selection(parts[:1]).trials) == 1


def test_a_part_that_leaves_a_trace_only_is_dropped_and_the_others_weighed_anew():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=400)
    good = np.column_stack([1.0 - y, y]) * 2 + rng.normal(size=(400, 2))
    trace = 0.01 * rng.normal(size=(400, 2)) + 0.02 * np.column_stack([1.0 - y, y])
    answer = Classes(np.array([0.5, 0.5]), 400.0)
    scores = {"columns": good, "plain": trace}
    shares = np.full(400, 1 / 400)
    held_out = HeldOut(answer, scores, {}, y, shares, 400.0, np.ones(400))
    parts = [PARTS[name](PartOptions()) for name in scores]
    weights = dict(zip(scores, held_out.weigh(parts)[0], strict=True))
    assert 0 < weights["plain"] * trace.std() < 0.02 * weights["columns"] * good.std()
    found = weights_that_count(held_out, parts)
    assert list(found) == ["columns"]
    assert found["columns"] == pytest.approx(held_out.weigh(parts[:1])[0][0])
    assert found["columns"] != pytest.approx(weights["columns"], rel=1e-6)
