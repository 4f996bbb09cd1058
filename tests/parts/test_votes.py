"""Votes of the nearest places against plain loops, whatever the search finds beyond them."""

import numpy as np
import pytest

from cayleyklein import CurvedMetric
from cayleyklein.learning.rows import GivenRows
from cayleyklein.neighbors.search import SearchIndex
from cayleyklein.parts.base import FitRows
from cayleyklein.parts.places import (
    LeftOut,
    LocalScales,
    Places,
    floored_scales,
    means_of_pairs,
    places_and_pairs,
)
from cayleyklein.parts.votes import VotesPart, fit_votes
from cayleyklein.prediction.answers import Classes, Numbers

PLANE = CurvedMetric.euclidean(2, curvature=0.3)


def rows_of(n, numeric, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    if numeric:
        y = X[:, 0] + 0.1 * rng.normal(size=n)
        return GivenRows(X, y, np.ones(n), 2), Numbers.standardising(y[:, None], np.ones(n))
    y = rng.integers(0, 3, size=n)
    return GivenRows(X, y, np.ones(n), 2, np.arange(3)), Classes(np.full(3, 1 / 3), float(n))


@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("n", [4, 13, 40, 900])
def test_a_trial_of_a_number_is_a_vote_of_that_number(n, numeric):
    """Also where more neighbours are tried than there are rows."""
    given, answer = rows_of(n, numeric)
    part = VotesPart("neighbors", True, (1, 3, 5, 15, 60))
    fitted = part.fit(FitRows(given, answer), PLANE)
    Q = np.random.default_rng(1).normal(size=(20, 2))
    for k, scores in fitted.trials(Q).items():
        single = fitted.with_settings(k)
        assert single.settings == max(1, min(k, n - 1))
        np.testing.assert_allclose(scores, single.scores(Q), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["linear", "uniform", "distance"])
def test_answers_are_those_of_plain_loops(kind):
    """Rows with copies and weights: a place counts by the weight of its rows."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 5, size=(60, 2)) / 2.0
    Y = rng.normal(size=(60, 2))
    labels = rng.integers(0, 3, size=60)
    weights = rng.uniform(0.1, 2.0, size=60)
    Q = rng.normal(1.0, 1.0, size=(20, 2))
    k = 4
    numbers = fit_votes(GivenRows(X, Y, weights, 2), PLANE, kind, k).answers(Q, k)
    given = GivenRows(X, labels, weights, 2, np.arange(3))
    shares = fit_votes(given, PLANE, kind, k).answers(Q, k)
    places, at = np.unique(X, axis=0, return_inverse=True)
    prior = np.bincount(labels, weights=weights) / weights.sum()
    strength = 0.1 * weights.sum() / len(places)
    for i, q in enumerate(Q):
        d = PLANE.pairwise(q[None], places)[0]
        order = np.argsort(d)
        near, beyond = order[:k], d[order[k]]
        total, said, votes = np.zeros(2), np.zeros(3), 0.0
        for place in near:
            vote = {
                "linear": 1 - d[place] / beyond,
                "uniform": 1.0,
                "distance": d[near[0]] / d[place],
            }[kind]
            for row in np.flatnonzero(at == place):
                total += vote * weights[row] * Y[row]
                said[labels[row]] += vote * weights[row]
                votes += vote * weights[row]
        np.testing.assert_allclose(numbers[i], total / votes, rtol=1e-9)
        expected = (said + strength * prior) / (votes + strength)
        np.testing.assert_allclose(shares[i], expected, rtol=1e-9)


def test_of_equal_votes_the_nearest_wins():
    """By a tenth of the mean weight of a place, which also is the strength of the class shares."""
    X, y = np.array([[1.0, 0.0], [-1.1, 0.0], [9.0, 0.0]]), np.array([1, 0, 0])
    given = GivenRows(X, y, np.ones(3), 2, np.arange(2))
    (shares,) = fit_votes(given, PLANE, "uniform", 2).answers(np.zeros((1, 2)), 2)
    np.testing.assert_allclose(shares, np.array([1 + 0.1 * 2 / 3, 1 + 0.1 / 3 + 0.1]) / 2.2)


@pytest.mark.parametrize("kind", ["local", "linear", "uniform", "distance"])
@pytest.mark.parametrize("numeric", [False, True])
def test_a_row_that_is_left_out_is_not_there(kind, numeric):
    if numeric and kind == "local":
        return
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, size=(24, 2)) / 2.0 + 0.1 * rng.normal(size=(24, 2)).round()
    y = rng.normal(size=24) if numeric else rng.integers(0, 3, size=24)
    weights = rng.uniform(0.1, 2.0, size=24)
    classes = None if numeric else np.arange(3)
    k = 3
    found = fit_votes(GivenRows(X, y, weights, 2, classes), PLANE, kind, k).answers(None, k)
    for i in range(24):
        rest = np.arange(24) != i
        given = GivenRows(X[rest], y[rest], weights[rest], 2, classes)
        expected = fit_votes(given, PLANE, kind, k).answers(X[[i]], k)
        np.testing.assert_allclose(found[[i]], expected, rtol=1e-9, atol=1e-12)


def test_plain_votes_ask_standardised_columns():
    given, answer = rows_of(50, True)
    wide = GivenRows(given.X * [1.0, 1e6], given.target, given.weights, 2)
    part = VotesPart("plain", False, (3,))
    one, two = (part.fit(FitRows(each, answer), None) for each in (given, wide))
    Q = np.random.default_rng(1).normal(size=(20, 2))
    np.testing.assert_allclose(one.scores(Q), two.scores(Q * [1.0, 1e6]), rtol=1e-9)
    X, y = given.X / given.X.std(axis=0), answer.targets(given.target)[:, 0]
    for q, score in zip(Q / given.X.std(axis=0), one.scores(Q)[:, 0], strict=True):
        d = np.sqrt(((X - q) ** 2).sum(axis=1))
        near = np.argsort(d)[:4]
        votes = 1 - d[near[:3]] / d[near[3]]
        assert score == pytest.approx(votes @ y[near[:3]] / votes.sum())


def test_places_number_distinct_rows_and_rows_without_weight_are_nowhere():
    X = np.array([[1.0], [5.0], [1.0], [2.0], [-0.0], [0.0]])
    places = Places.pooled(X, np.array([1.0, 0.0, 2.0, 1.0, 1.0, 1.0]))
    assert places.rows.tolist() == [0, 3, 4]
    assert places.of_rows.tolist() == [0, -1, 0, 1, 2, 2]
    total, mean = places.means(np.arange(6.0)[:, None], np.array([1.0, 0.0, 2.0, 1.0, 1.0, 1.0]))
    assert total.tolist() == [3.0, 1.0, 2.0]
    np.testing.assert_allclose(mean[:, 0], [4 / 3, 3.0, 4.5])
    left = LeftOut.of(places, np.array([0, 1, 3]))
    assert left.places.tolist() == [0, -1, 1]
    assert left.vanish.tolist() == [False, False, True]


@pytest.mark.parametrize("n", [2, 3, 6, 7, 30])
def test_scales_without_a_place_are_those_of_the_other_places(n):
    X = np.random.default_rng(n).normal(size=(n, 2))
    found = LocalScales.among(SearchIndex(X, PLANE), None)
    without = found.without(np.arange(n))

    def plain(D):
        if len(D) < 2:
            return np.ones(len(D))
        fifth = np.sort(D, axis=1)[:, min(5, len(D) - 1)]
        return np.maximum(fifth, 0.1 * np.median(fifth))

    D = PLANE.pairwise(X)
    np.testing.assert_allclose(found.scales, plain(D), rtol=1e-9)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        expected = plain(D[np.ix_(rest, rest)])
        np.testing.assert_allclose(without[i, rest], expected, rtol=1e-9)


def test_scales_of_many_places_are_those_to_an_even_sample_of_them(monkeypatch):
    """The sample is even in the order of places, whatever the order of rows."""
    monkeypatch.setattr("cayleyklein.parts.places.SCALE_ROWS", 40)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    scales = LocalScales.among(SearchIndex(X, PLANE), None).scales
    order = rng.permutation(150)
    moved = LocalScales.among(SearchIndex(X[order], PLANE), None).scales
    np.testing.assert_allclose(moved, scales[order], rtol=1e-12)
    D = np.sort(PLANE.pairwise(X), axis=1)
    assert (scales >= 0.999 * D[:, 5]).all()  # in a sample the fifth is farther
    assert (scales <= D[:, 60]).all()


def test_answers_are_averaged_over_the_rows_of_a_place_and_a_class():
    """By their weights; a row without an answer has that of its copies, or none."""
    X = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [1.0]])
    y = np.array([0, 0, 1, 1, 0, 1])
    given = GivenRows(X, y, np.array([1.0, 3.0, 1.0, 1.0, 1.0, 0.0]), 1, np.arange(2))
    _, pair = places_and_pairs(given)
    answered = np.array([1, 3, 0, 2])
    answers = np.array([[4.0, 1.0], [7.0, 2.0], [8.0, 9.0], [5.0, 3.0]])
    found = means_of_pairs(given, pair, answered, np.array([3.0, 2.0, 1.0, 1.0]), answers)
    np.testing.assert_allclose(found[0], [5.0, 3.0])
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2:4], [[5.0, 3.0], [7.0, 2.0]])
    assert np.isnan(found[4:]).all()  # never answered for, and of no weight
    without = means_of_pairs(given, pair, answered[:1], np.array([3.0]), answers[:1])
    np.testing.assert_array_equal(without[0], [4.0, 1.0])


def test_scales_have_a_floor():
    fifth = np.array([0.0, 1.0, 2.0, 3.0, 1e-9])
    np.testing.assert_allclose(floored_scales(fifth), [0.1, 1.0, 2.0, 3.0, 0.1])
    np.testing.assert_allclose(floored_scales(np.zeros(4)), 1.0)
