"""Rows to learn from: merged, standardised, drawn; every formula once more in plain NumPy."""

import numpy as np
import pytest

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import (
    GivenRows,
    TrainingRows,
    distinct_rows,
    draw_by_class,
    in_twos,
    place_order,
)


def repeated(seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, 3)) * [1.0, 2.5, 1e-3] + [0.0, 100.0, -2.0]
    return X, rng.integers(0, 3, size=n), rng.integers(0, 4, size=n).astype(float)


def test_rows_are_merged_and_standardised_by_their_weights():
    X, y, weights = repeated()
    rows = TrainingRows.from_raw(X, y, weights)
    copies = np.repeat(X, weights.astype(int), axis=0)
    np.testing.assert_allclose(rows.mean, copies.mean(axis=0))
    np.testing.assert_allclose(rows.scale, copies.std(axis=0))
    np.testing.assert_allclose(
        rows.as_given, rows.X * copies.std(axis=0) + copies.mean(axis=0), atol=1e-12
    )
    masses = {}
    for x, label, weight in zip(X.tolist(), y.tolist(), weights.tolist(), strict=True):
        if weight:
            masses[(label, *x)] = masses.get((label, *x), 0.0) + weight
    keys = sorted(masses)
    np.testing.assert_array_equal(rows.labels, [key[0] for key in keys])
    np.testing.assert_allclose(rows.as_given, [key[1:] for key in keys], atol=1e-12)
    found = np.array([masses[key] for key in keys])
    np.testing.assert_allclose(rows.weights, found / found.mean())


def test_targets_of_equal_rows_are_their_mean_and_standardised():
    X, _, weights = repeated()
    rng = np.random.default_rng(1)
    Y = np.column_stack([rng.normal(size=200) * 7 + 3, rng.normal(size=200), np.full(200, 4.0)])
    rows = TrainingRows.from_targets(X, Y, weights)
    means = []
    for row in rows.as_given:
        at = np.isclose(X, row, rtol=1e-12).all(axis=1)
        means.append(np.average(Y[at], axis=0, weights=weights[at]))
    means = np.array(means)
    share = rows.weights / rows.weights.sum()
    centred = means - share @ means
    deviation = np.sqrt(share @ centred**2)
    expected = centred[:, :2] / deviation[:2] / np.sqrt(3)
    np.testing.assert_allclose(rows.targets[:, :2], expected, atol=1e-12)
    assert (rows.targets[:, 2] == 0).all()


@pytest.mark.parametrize("largest", [1e-152, 1e152])
def test_columns_beyond_what_can_be_squared_are_refused(largest):
    X = np.column_stack([np.arange(4.0), largest * np.arange(1.0, 5.0)])
    with pytest.raises(InvalidInputError, match=r"columns 1; rescale"):
        TrainingRows.from_raw(X, np.zeros(4, int), np.ones(4))
    near = X * [1.0, 1e3 if largest < 1 else 1e-3]
    np.testing.assert_allclose(TrainingRows.from_raw(near, np.zeros(4, int), np.ones(4)).X[:, 1],
                               (np.arange(4) - 1.5) / np.std(np.arange(4)))  # fmt: skip


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("K", [-0.3, 0.0, 0.4])
def test_a_metric_of_standardised_rows_is_that_of_rows_as_given(K, wide):
    rng = np.random.default_rng(0)
    n, d = (12, 20) if wide else (40, 3)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, size=d) + rng.normal(size=d)
    X[:, 0] = 5.0  # a constant column
    rows = TrainingRows.from_raw(X, np.zeros(n, int), np.ones(n))
    r = rows.n_columns
    factor = 0.2 * rng.normal(size=(2, r)) * rows.varies
    found = Parameters(factor / np.sqrt(r), 0.1 * rng.normal(size=r), K)
    inside = CurvedMetric(factor=found.factor, center=found.center, curvature=K)
    for unit in (1.0, 2.5):
        metric = rows.to_metric(found, unit)
        np.testing.assert_allclose(metric.pairwise(rows.as_given), inside.pairwise(rows.X) / unit,
                                   atol=1e-9)  # fmt: skip
    back = rows.from_metric(rows.to_metric(found))
    again = CurvedMetric(factor=back.factor, center=back.center, curvature=back.curvature)
    np.testing.assert_allclose(again.pairwise(rows.X), inside.pairwise(rows.X), atol=1e-9)


def test_the_constant_column_of_a_metric_moves_its_centre():
    """What it adds to each row is added to the centre of the others."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(20, 2)), np.full(20, 7.0)])
    metric = CurvedMetric(
        factor=0.1 * rng.normal(size=(2, 3)), center=rng.normal(size=3), curvature=0.5
    )
    rows = TrainingRows.from_raw(X, np.zeros(20, int), np.ones(20))
    found = rows.from_metric(metric)
    inside = CurvedMetric(factor=found.factor, center=found.center, curvature=0.5)
    np.testing.assert_allclose(inside.pairwise(rows.X), metric.pairwise(rows.as_given), atol=1e-9)


def test_weights_in_twos_keep_their_digits():
    weights = np.array([3.0, 5.0, 1e-3])
    for unit in (1.0, 2.0**40, 2.0**-40):
        np.testing.assert_array_equal(in_twos(unit * weights), weights / 4)


def test_distinct_rows_are_those_of_a_loop():
    X, y, _ = repeated(n=60)
    X[5, 0] = -0.0
    for labels in (None, y):
        first, point = distinct_rows(X, labels)
        seen = []
        for i in range(60):
            key = (*X[i], 0 if labels is None else labels[i])
            if key not in seen:
                seen.append(key)
                assert first[len(seen) - 1] == i
            assert point[i] == seen.index(key)
        assert len(first) == len(seen)


def test_places_are_ordered_by_columns_and_then_by_what_breaks_ties():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(80, 3)) ** [1.0, 3.0, 2.0]
    ties = rng.normal(size=80)
    low, high = X.min(axis=0), X.max(axis=0)
    columns = np.argsort((X.mean(axis=0) - low) / (high - low))
    expected = sorted(range(80), key=lambda i: (*X[i, columns], ties[i]))
    assert place_order(X, ties).tolist() == expected
    smooth = rng.exponential(size=(80, 3))  # the first column tells all apart
    low, high = smooth.min(axis=0), smooth.max(axis=0)
    first = np.argmin((smooth.mean(axis=0) - low) / (high - low))
    np.testing.assert_array_equal(place_order(smooth), np.argsort(smooth[:, first]))
    few = np.unique(rng.integers(0, 4, size=(30, 4)), axis=0) ** np.arange(1.0, 5.0)
    few = np.column_stack([few, -np.exp(np.arange(len(few)))])  # four columns tell all rows apart
    low, high = few.min(axis=0), few.max(axis=0)
    columns = np.argsort((few.mean(axis=0) - low) / (high - low))
    expected = sorted(range(len(few)), key=lambda i: tuple(few[i, columns]))
    assert place_order(few).tolist() == expected


def test_columns_of_one_value_do_not_order_rows():
    varies = np.random.default_rng(0).normal(size=(37, 1))
    values = np.random.default_rng(1).uniform(size=300)
    constant = np.tile(values, (37, 1))  # of some the mean is rounded to more than the value
    assert (constant.mean(axis=0) > values).sum() > 1
    found = place_order(np.hstack([constant, varies]))
    np.testing.assert_array_equal(found, np.argsort(varies[:, 0]))


def test_a_draw_has_each_class_by_its_share_and_some_of_each():
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [600, 390, 10]))
    for size, expected in ((100, [60, 39, 4]), (0.5, [300, 195, 5]), (5000, [600, 390, 10])):
        found = draw_by_class(labels, size, 4, np.random.default_rng(1))
        assert np.bincount(labels[found]).tolist() == expected
        assert (np.diff(found) > 0).all()
    counts = np.zeros(1000)
    for seed in range(200):
        counts[draw_by_class(labels, 100, 4, np.random.default_rng(seed))] += 1
    assert counts[labels == 0].max() < 45  # of 20 on average: every row has its turn
    assert counts[labels == 0].min() > 3


def test_a_sample_keeps_equal_rows_together_and_rows_that_it_must_have():
    X, y, weights = repeated()
    always = np.zeros(200, dtype=bool)
    must = int(np.flatnonzero(weights > 0)[3])
    always[must] = True
    given = GivenRows(X, y, weights, 3, np.arange(3), always=always)
    for seed in range(5):
        drawn = given.draw(20, 1, np.random.default_rng(seed))
        keys = set(map(tuple, np.column_stack([drawn.X, drawn.target])))
        assert 18 <= len(keys) <= 22  # each class is rounded
        assert (*X[must], y[must]) in keys
        whole = [w for x, t, w in zip(X, y, weights, strict=True) if (*x, t) in keys and w > 0]
        assert drawn.weights.sum() == sum(whole)
    everything = given.draw(None, 1, np.random.default_rng(0))
    assert len(everything.target) == (weights > 0).sum()


def test_columns_of_the_same_distribution_are_told_apart_in_any_order():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))).argsort(axis=0).argsort(axis=0) / 7
    order = rng.permutation(40)
    for columns in ([0, 1, 2], [1, 2, 0], [2, 1, 0]):
        other = X[order][:, columns] * [2.0, 3.0, 0.1] + 7.0
        np.testing.assert_array_equal(X[order][place_order(other)], X[place_order(X)])
