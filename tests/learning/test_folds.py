"""Which rows are held out: each once, places together, every class in every fold."""

import numpy as np
import pytest

from cayleyklein.learning import folds
from cayleyklein.learning.rows import GivenRows, TrainingRows
from cayleyklein.parts.places import places_and_pairs


def table(seed=0, n=90):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, 2)).astype(float) ** [1.0, 1.5]
    y = rng.integers(0, 3, size=n)
    return X, y, rng.integers(1, 4, size=n).astype(float)


def totals(given):
    """Return the weight of each row and class, in order."""
    keyed = np.column_stack([given.X, given.target])
    rows, at = np.unique(keyed, axis=0, return_inverse=True)
    return {tuple(row): w for row, w in zip(rows, np.bincount(at, given.weights), strict=True)}


@pytest.mark.parametrize("counted", [False, True])
def test_each_weight_is_held_out_once_and_teaches_otherwise(counted):
    X, y, weights = table()
    given = GivenRows(X, y, weights, 2, np.arange(3))
    whole, held = totals(given), {}
    for train, out in folds.split_given(given, *places_and_pairs(given), counted, 0):
        parts = totals(train), totals(out)
        for key in whole:
            assert sum(part.get(key, 0.0) for part in parts) == whole[key]
            held[key] = held.get(key, 0.0) + parts[1].get(key, 0.0)
        if not counted:
            assert not {key[:2] for key in parts[0]} & {key[:2] for key in parts[1]}
        else:
            sizes = np.bincount(out.target, out.weights) / np.bincount(y, weights)
            np.testing.assert_allclose(sizes, 1 / 3, atol=0.03)
    assert held == whole


def test_places_of_training_rows_are_held_out_whole():
    X, y, weights = table()
    rows = TrainingRows.from_raw(X, y, weights)
    held = []
    for train, out in folds.split_training(rows, np.random.default_rng(0)):
        assert len(train) + len(out) == len(rows)
        assert not set(map(tuple, train.X)) & set(map(tuple, out.X))
        held.append(out.X)
    assert len(np.concatenate(held)) == len(rows)


def test_many_places_hold_out_one_part(monkeypatch):
    monkeypatch.setattr(folds, "FOLDS_UP_TO", 50)
    labels = np.arange(100) % 4
    part, n_held_out = folds.deal_to_folds(labels, np.random.default_rng(0))
    assert n_held_out == 1
    assert np.bincount(labels[part == 0]).tolist() == [5, 5, 5, 5]
    _, n_held_out = folds.deal_to_folds(labels[:51], np.random.default_rng(0))
    assert n_held_out == 1
    part, n_held_out = folds.deal_to_folds(labels[:50], np.random.default_rng(0))
    assert n_held_out == part.max() + 1 == 3
    monkeypatch.setattr(folds, "MOST_HELD_OUT", 9)
    part, _ = folds.deal_to_folds(labels, np.random.default_rng(0))
    assert part.max() + 1 == 12  # of at most 9 units


def test_classes_are_dealt_in_the_order_in_which_they_appear():
    labels = np.random.default_rng(0).integers(0, 4, size=60)
    renamed = np.array([2, 0, 3, 1])[labels]
    first, _ = folds.deal_to_folds(labels, np.random.default_rng(5))
    second, _ = folds.deal_to_folds(renamed, np.random.default_rng(5))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("counted", [False, True])
def test_rows_without_weight_are_nowhere(counted):
    X, y, weights = table()
    weights[::4] = 0.0
    given = GivenRows(X, y, weights, 2, np.arange(3))
    seen = {key for key, weight in totals(given).items() if weight > 0}
    given = given.take(np.flatnonzero(weights))
    for train, out in folds.split_given(given, *places_and_pairs(given), counted, 0):
        assert min(train.weights.min(), out.weights.min()) > 0
        assert set(totals(train)) | set(totals(out)) == seen


def test_folds_are_as_large_as_can_be():
    for sizes in ([4, 4, 4], [1, 1, 1], [5, 2, 8], [4, 5, 6], [1, 2, 3], [2, 4, 3]):
        part, n_held_out = folds.deal_to_folds(
            np.repeat([0, 1, 2], sizes), np.random.default_rng(0)
        )
        assert n_held_out == 3
        assert np.bincount(part).tolist() == [sum(sizes) // 3] * 3
