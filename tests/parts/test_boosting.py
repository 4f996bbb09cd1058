"""Boosted trees as a part: their arrays predict as scikit-learn's trees do."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.rows import GivenRows
from cayleyklein.parts import boosting as boosting_part
from cayleyklein.parts.base import FitRows
from cayleyklein.parts.boosting import NUMBERS_OF_ROUNDS, RulesPart, most_rounds
from cayleyklein.parts.tree_arrays import MOST_BINS, Trees, bin_edges, check_trees
from cayleyklein.prediction.answers import Classes, Numbers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
LABELS = (X[:, 0] > 0).astype(int) + ((X[:, 1] > 0.5) & (X[:, 2] > 0))
NUMBERS = np.where(X[:, 0] > 0, 2.0, -1.0) + X[:, 3]
Q = RNG.normal(size=(40, 4))


def boosting(kind, n_rounds, y, rows=X):
    model = kind(
        max_iter=n_rounds,
        learning_rate=0.1,
        max_leaf_nodes=8,
        min_samples_leaf=10,
        early_stopping=False,
    )
    return model.fit(rows, y)


@pytest.mark.parametrize("y", [LABELS, np.minimum(LABELS, 1)])
def test_trees_say_the_raw_scores_of_classes(y):
    model = boosting(HistGradientBoostingClassifier, 25, y)
    few, all_of_them = Trees.of_boosting(model).raw_scores(Q, (12, 25))
    np.testing.assert_allclose(np.squeeze(all_of_them), model._raw_predict(Q).squeeze())
    shorter = boosting(HistGradientBoostingClassifier, 12, y)
    np.testing.assert_allclose(np.squeeze(few), shorter._raw_predict(Q).squeeze())


def test_the_first_rounds_are_a_shorter_fit():
    trees = Trees.of_boosting(boosting(HistGradientBoostingRegressor, 25, NUMBERS))
    shorter = boosting(HistGradientBoostingRegressor, 12, NUMBERS)
    assert trees.n_rounds == 25
    assert trees.first_rounds(12).n_rounds == 12
    found = trees.first_rounds(12).raw_scores(Q, (12,))[0]
    np.testing.assert_allclose(found[:, 0], shorter.predict(Q))


def fitted(y, rows=X, weights=None, settings=None):
    weights = np.ones(len(rows)) if weights is None else weights
    if y.dtype.kind == "i":
        classes = np.arange(4)  # one of which no row has
        given = GivenRows(rows, y, weights, rows.shape[1], classes)
        answer = Classes(np.full(4, 0.25), 1000.0)
    else:
        given = GivenRows(rows, y, weights, rows.shape[1])
        answer = Numbers.standardising(y[:, None], weights)
    return RulesPart().fit(FitRows(given, answer), None, settings), answer


def test_scores_of_classes_are_log_shares():
    part, _ = fitted(LABELS, settings=12)
    order = np.lexsort(X.T[::-1])
    model = boosting(HistGradientBoostingClassifier, 12, LABELS[order], X[order])
    shares = np.column_stack([model.predict_proba(Q), np.zeros(len(Q))])
    np.testing.assert_allclose(part.scores(Q), np.log((1000 * shares + 0.25) / 1001))


def test_trials_are_fits_of_fewer_rounds():
    part, _ = fitted(NUMBERS)
    trials = part.trials(Q)
    assert tuple(trials) == NUMBERS_OF_ROUNDS[:4]
    for n_rounds in (12, 50):
        np.testing.assert_array_equal(
            trials[n_rounds], fitted(NUMBERS, settings=n_rounds)[0].scores(Q)
        )
        np.testing.assert_array_equal(trials[n_rounds], part.with_settings(n_rounds).scores(Q))


@pytest.mark.parametrize("y", [LABELS, NUMBERS])
def test_order_of_rows_and_columns_and_copies_change_nothing(y):
    plain = fitted(y, settings=25)[0].scores(Q)
    rows = RNG.permutation(len(X))
    columns = RNG.permutation(4)
    other = fitted(y[rows], X[rows][:, columns], settings=25)[0]
    np.testing.assert_allclose(other.scores(Q[:, columns]), plain, rtol=1e-12)
    twice = fitted(np.tile(y, 2), np.tile(X, (2, 1)), np.full(300, 0.5), settings=25)[0]
    np.testing.assert_allclose(twice.scores(Q), plain, atol=1e-9)


def test_weights_count():
    weights = RNG.uniform(0.2, 5.0, size=len(X))
    model = HistGradientBoostingRegressor(
        max_iter=12, learning_rate=0.1, max_leaf_nodes=8, min_samples_leaf=10, early_stopping=False
    )
    part, answer = fitted(NUMBERS, weights=weights, settings=12)
    order = np.lexsort(X.T[::-1])
    targets = answer.targets(NUMBERS)[:, 0]
    model.fit(X[order], targets[order], weights[order] / weights.mean())
    np.testing.assert_allclose(part.scores(Q)[:, 0], model.predict(Q), atol=1e-9)


@pytest.mark.parametrize("n", [40, 255, 256, 1000])
def test_bins_hold_about_equal_weight(n):
    x = np.sort(RNG.normal(size=n))
    weights = RNG.uniform(0.1, 2.0, size=n)
    edges = bin_edges(x, weights)
    mass = np.bincount(np.searchsorted(edges, x), weights=weights)
    assert len(mass) == len(edges) + 1 <= MOST_BINS
    assert (mass > 0).all()
    assert (edges[:, None] != x).all()
    if n <= MOST_BINS:
        assert len(mass) == n
    else:
        assert len(mass) > 120
        assert mass.max() < 2 * weights.sum() / MOST_BINS + 2 * weights.max()


def test_neighbouring_numbers_have_an_edge_between_them():
    low = 1.0
    high = np.nextafter(low, 2.0)
    edges = bin_edges(np.array([low, high]), np.ones(2))
    assert np.searchsorted(edges, [low, high]).tolist() == [0, 1]


def test_very_many_rows_are_drawn_by_class(monkeypatch):
    monkeypatch.setattr(boosting_part, "MOST_ROWS", 60)
    rng = np.random.default_rng(3)
    rows = np.vstack([X, X[:1] + 9])
    labels = np.append(np.minimum(LABELS, 1), 2)
    found, _ = fitted(labels, rows, settings=12)
    assert found.known.tolist() == [0, 1, 2]  # the only row of a class is there
    order = rng.permutation(len(rows))
    again, _ = fitted(labels[order], rows[order], settings=12)
    np.testing.assert_array_equal(found.scores(Q), again.scores(Q))
    monkeypatch.setattr(boosting_part, "MOST_ROWS", 10**6)
    whole, _ = fitted(labels, rows, settings=12)
    assert not np.array_equal(found.scores(Q), whole.scores(Q))


def test_many_classes_get_fewer_rounds():
    assert most_rounds(1, 5000) == 200
    assert most_rounds(1, 6000) == 400
    assert most_rounds(2, 20_000) == 800
    assert most_rounds(4, 20_000) == 400
    assert most_rounds(1, 250) == 100
    assert most_rounds(20, 5000) == 50
    assert most_rounds(2, 350) == 50
    assert most_rounds(1000, 5000) == 12


def test_a_constant_number_needs_no_trees():
    part, _ = fitted(np.full(len(X), 3.0))
    np.testing.assert_array_equal(part.scores(Q), 0.0)


def damaged(trees, **changed):
    return trees._replace(
        **{name: change(getattr(trees, name)) for name, change in changed.items()}
    )


def with_entry(at, value):
    def change(array):
        array = array.copy()
        array[at] = value
        return array

    return change


@pytest.mark.parametrize(
    "changes",
    [
        {"left": with_entry(0, 0)},  # a walk without end
        {"right": with_entry(0, 10**6)},
        {"left": with_entry(0, -5)},
        {"columns": with_entry(0, 4)},
        {"roots": with_entry(-1, -1)},
        {"roots": with_entry(-1, 10**6)},
        {"values": with_entry(-1, np.nan)},
        {"thresholds": with_entry(0, np.nan)},
        {"base": with_entry(0, np.inf)},
        {"columns": lambda array: array.astype(float)},
        {"values": lambda array: array[:-1]},
        {"base": lambda array: np.zeros(7)},
    ],
)
def test_damaged_trees_are_refused(changes):
    trees = Trees.of_boosting(boosting(HistGradientBoostingRegressor, 12, NUMBERS))
    check_trees(trees, 4)
    with pytest.raises(InvalidInputError, match="damaged"):
        check_trees(damaged(trees, **changes), 4)
