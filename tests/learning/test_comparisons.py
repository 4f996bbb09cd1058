"""Learning from pairs, triplets and quadruplets: what is learned, decisions, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score

from cayleyklein import CurvedMetric, CurvedPairs, CurvedQuadruplets, CurvedTriplets
from cayleyklein.exceptions import InvalidInputError

GEOMETRIES = ("flat", "elliptic", "hyperbolic", "learned")
X, Y = load_wine(return_X_y=True)


def pairs_of(y, n, seed=0):
    """Half of them similar."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(y), size=(40 * n, 2))
    same = y[drawn[:, 0]] == y[drawn[:, 1]]
    pairs = np.concatenate([drawn[same][: n // 2], drawn[~same][: n // 2]])
    return pairs, np.repeat([1, -1], n // 2)


def triplets_of(y, n, seed=0):
    a, b, c = np.random.default_rng(seed).integers(len(y), size=(3, 40 * n))
    return np.stack([a, b, c], axis=1)[(y[a] == y[b]) & (y[a] != y[c]) & (a != b)][:n]


TRAIN, TEST = np.arange(0, 178, 2), np.arange(1, 178, 2)
PAIRS, ALIKE = pairs_of(Y[TRAIN], 200)
TRIPLETS = triplets_of(Y[TRAIN], 200)
QUADRUPLETS = np.hstack([PAIRS[:100], PAIRS[100:]])
CASES = [
    (CurvedPairs, (PAIRS, ALIKE)), (CurvedTriplets, (TRIPLETS,)),
    (CurvedQuadruplets, (QUADRUPLETS,)),
]  # fmt: skip
EACH = pytest.mark.parametrize(("kind", "data"), CASES, ids=["pairs", "triplets", "quadruplets"])


def held_out(learner):
    """The share of held-out triplets of rows in the right order."""
    a, p, n = triplets_of(Y[TEST], 500, seed=1).T
    Z = X[TEST]
    near, far = (learner.metric_.distance(Z[a], Z[b], outside="inf") for b in (p, n))
    return np.mean(near < far)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@EACH
def test_held_out_rows_are_ranked_better(kind, data, geometry):
    plain = CurvedMetric(factor=np.diag(1 / X[TRAIN].std(axis=0)))
    learner = kind(geometry=geometry, preprocessor=X[TRAIN], random_state=0).fit(*data)
    plain = type("", (), {"metric_": plain})
    assert held_out(learner) > held_out(plain) + 0.03
    losses = learner.loss_history_[0]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.5 * losses[0]
    assert learner.n_features_in_ == 13


@EACH
def test_rows_and_indices_give_the_same(kind, data):
    tuples, *rest = data
    rows = X[TRAIN]
    by_index = kind(preprocessor=rows, random_state=0).fit(*data)
    by_row = kind(random_state=0).fit(rows[tuples], *rest)
    np.testing.assert_array_equal(by_index.components_, by_row.components_)
    np.testing.assert_array_equal(
        by_index.decision_function(tuples), by_row.decision_function(rows[tuples])
    )
    np.testing.assert_array_equal(by_index.predict(tuples), by_index.predict(rows[tuples]))


@EACH
def test_a_tuple_repeated_is_one_that_weighs_two(kind, data):
    weights = np.random.default_rng(0).integers(0, 3, size=len(data[0]))
    fit = kind(geometry="flat", preprocessor=X[TRAIN], random_state=0).fit
    weighted = fit(*data, sample_weight=weights).components_
    repeated = fit(*(np.repeat(part, weights, axis=0) for part in data)).components_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-5, atol=1e-8)


@EACH
def test_scikit_learn_habits(kind, data):
    """scikit-learn's own checks are for tables; these are what they would check."""
    learner = kind(geometry="flat", preprocessor=X[TRAIN], random_state=0)
    with pytest.raises(NotFittedError):
        learner.decision_function(data[0])
    before = learner.get_params()
    fitted = learner.fit(*data)
    assert fitted is learner
    assert learner.get_params() == before
    fresh = clone(learner)
    assert not hasattr(fresh, "metric_")
    np.testing.assert_array_equal(fresh.fit(*data).components_, learner.components_)
    again = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(again.predict(data[0]), learner.predict(data[0]))
    assert learner.transform(X).shape == (178, 13)
    assert learner.__sklearn_tags__().input_tags.three_d_array
    assert set(learner.predict(data[0])) <= {-1, 1}
    units = kind(geometry="flat", preprocessor=4 * X[TRAIN], random_state=0).fit(*data)
    np.testing.assert_allclose(units.components_, learner.components_ / 4, rtol=1e-6)


@EACH
def test_fit_transform_says_what_to_call(kind, data):
    """It must neither fail on tuples of rows nor take indices for rows of two columns."""
    tuples, *rest = data
    message = rf"Call fit\({kind.name}, …\).transform\(X\)"
    with pytest.raises(InvalidInputError, match=message):
        kind().fit_transform(X[TRAIN][tuples], *rest)
    learner = kind(preprocessor=X[TRAIN, : kind.size])  # as many columns as rows in a tuple
    with pytest.raises(InvalidInputError, match=message):
        learner.fit_transform(*data)


def test_curved_beats_flat_on_truly_curved_data():
    """Distances of a sphere order the triplets."""
    sphere = CurvedMetric.euclidean(2, curvature=1.0)
    rng = np.random.default_rng(0)
    rows = 2 * rng.normal(size=(120, 2))
    a, b, c = rng.integers(120, size=(3, 3000))
    swap = sphere.distance(rows[a], rows[b]) > sphere.distance(rows[a], rows[c])
    triplets = np.stack([a, np.where(swap, c, b), np.where(swap, b, c)], axis=1)
    triplets = triplets[(a != b) & (b != c) & (a != c)]
    scores = {
        geometry: CurvedTriplets(geometry=geometry, margin=0.05, preprocessor=rows)
        .fit(triplets[:1000]).score(triplets[1000:])
        for geometry in ("flat", "elliptic", "learned")
    }  # fmt: skip
    assert scores["elliptic"] > scores["flat"] + 0.02
    assert scores["learned"] > scores["flat"] + 0.02


# -- decisions ------------------------------------------------------------------------


def test_decisions_of_pairs():
    learner = CurvedPairs(preprocessor=X[TRAIN], random_state=0).fit(PAIRS, ALIKE)
    distances = learner.pair_distance(PAIRS)
    np.testing.assert_array_equal(learner.pair_score(PAIRS), -distances)
    np.testing.assert_array_equal(learner.decision_function(PAIRS), -distances)
    assert learner.score(PAIRS, ALIKE) == roc_auc_score(ALIKE, -distances)
    predicted = learner.predict(PAIRS)
    np.testing.assert_array_equal(predicted == 1, distances <= learner.threshold_)
    best = max(np.mean(np.where(distances <= t, 1, -1) == ALIKE) for t in distances)
    assert np.mean(predicted == ALIKE) == best


def test_decisions_of_triplets_and_quadruplets():
    learner = CurvedTriplets(preprocessor=X[TRAIN]).fit(TRIPLETS)
    gaps = learner.pair_distance(TRIPLETS[:, [0, 2]]) - learner.pair_distance(TRIPLETS[:, :2])
    np.testing.assert_allclose(learner.decision_function(TRIPLETS), gaps)
    assert learner.score(TRIPLETS) == np.mean(gaps > 0)
    same = CurvedQuadruplets(preprocessor=X[TRAIN]).fit(TRIPLETS[:, [0, 1, 0, 2]])
    np.testing.assert_array_equal(same.components_, learner.components_)


def test_many_pairs_are_drawn_from():
    iris, y = load_iris(return_X_y=True)
    pairs, alike = pairs_of(y, 8000)
    models = [CurvedPairs(preprocessor=iris, random_state=0).fit(pairs, alike) for _ in range(2)]
    np.testing.assert_array_equal(models[0].components_, models[1].components_)
    assert models[0].score(pairs, alike) > 0.95


def test_callback_stops():
    learner = CurvedTriplets(preprocessor=X[TRAIN], callback=lambda p: p.iteration == 2)
    assert learner.fit(TRIPLETS).n_iter_ == 2
    assert learner.predict(TRIPLETS).shape == (200,)


# -- bad input ------------------------------------------------------------------------


ROWS = X[TRAIN]


@pytest.mark.parametrize(
    ("kind", "parameters", "data", "message"),
    [
        (CurvedPairs, {}, (ROWS[TRIPLETS], ALIKE), r"shape \(n, 2, d\); got shape \(200, 3, 13\)"),
        (CurvedPairs, {}, (ROWS, ALIKE), r"pass X\[indices\]"),
        (CurvedPairs, {}, (ROWS[PAIRS], None), "label for each of the 200 pairs, 1 or -1; got No"),
        (CurvedPairs, {}, (ROWS[PAIRS], ALIKE[:9]), r"got an array of shape \(9,\)"),
        (CurvedPairs, {}, (ROWS[PAIRS], (ALIKE + 1) // 2), r"got \[0.0\] at index 100, 101"),
        (CurvedPairs, {}, (ROWS[PAIRS], np.ones(200)), r"no dissimilar \(-1\) pair"),
        (CurvedPairs, {}, (ROWS[PAIRS], -np.ones(200)), r"no similar \(1\) pair"),
        (CurvedPairs, {"preprocessor": ROWS}, (TRIPLETS, ALIKE), r"shape \(n, 2, d\)"),
        (CurvedPairs, {"preprocessor": ROWS}, (PAIRS + 60, ALIKE), "rows, 0 to 88; got others in"),
        (CurvedPairs, {"preprocessor": ROWS}, (-PAIRS, ALIKE), "rows, 0 to 88"),
        (CurvedPairs, {"preprocessor": ROWS}, (PAIRS + 0.5, ALIKE), "in tuples 0, 1"),
        (CurvedPairs, {}, (np.full((4, 2, 3), np.nan), [1, 1, -1, -1]), "NaN"),
        (CurvedPairs, {}, (np.ones((4, 2, 3)), [1, 1, -1, -1]), "two distinct ones"),
        (CurvedPairs, {}, (ROWS[[[0, 1], [2, 2]]], [1, -1]), "Every dissimilar pair is of equal"),
        (CurvedPairs, {}, (ROWS[np.vstack([PAIRS[:9], PAIRS[:9, ::-1]])],
                           np.repeat([1, -1], 9)), "labelled both"),
        (CurvedPairs, {"margin": 1.0}, (ROWS[PAIRS], ALIKE), "'margin' parameter"),
        (CurvedPairs, {"geometry": "auto"}, (ROWS[PAIRS], ALIKE), "'geometry' parameter"),
        (CurvedPairs, {"n_components": 14}, (ROWS[PAIRS], ALIKE), "only 13 columns"),
        (CurvedTriplets, {}, (ROWS[PAIRS],), r"shape \(n, 3, d\)"),
        (CurvedTriplets, {}, (np.empty((0, 3, 2)),), "triplets is empty"),
        (CurvedTriplets, {}, (ROWS[np.vstack([TRIPLETS, TRIPLETS[:, [0, 2, 1]]])],),
         "Every one of the 400 triplets is contradicted"),
        (CurvedTriplets, {}, (np.ones((4, 3, 3)),), "two distinct ones"),
        (CurvedTriplets, {}, (ROWS[[[0, 1, 1]]],), "compares a pair with itself"),
        (CurvedQuadruplets, {}, (ROWS[TRIPLETS],), r"shape \(n, 4, d\)"),
    ],
)  # fmt: skip
def test_bad_tuples_are_refused(kind, parameters, data, message):
    with pytest.raises(InvalidInputError, match=message):
        kind(**parameters).fit(*data)


def test_some_contradictions_are_warned_about():
    some = np.vstack([TRIPLETS, TRIPLETS[:2, [0, 2, 1]]])
    with pytest.warns(UserWarning, match=r"4 of 202 triplets are contradicted .*: 0, 1, 200, 201"):
        learner = CurvedTriplets(preprocessor=ROWS).fit(some)
    assert learner.score(TRIPLETS) > 0.9
    pairs = np.vstack([PAIRS, PAIRS[:1], [[3, 3]]])
    with (
        pytest.warns(UserWarning, match="1 pairs are labelled both similar and dissimilar"),
        pytest.warns(UserWarning, match="1 dissimilar pairs are of equal rows"),
    ):
        CurvedPairs(preprocessor=ROWS).fit(pairs, [*ALIKE, -1, -1])


def test_iterations_that_did_not_suffice_are_warned_about():
    with pytest.warns(ConvergenceWarning, match="still falls after max_iter=2"):
        CurvedTriplets(preprocessor=ROWS, max_iter=2).fit(TRIPLETS)


def test_a_failed_fit_changes_nothing():
    learner = CurvedPairs(random_state=0).fit(ROWS[PAIRS], ALIKE)
    before = learner.metric_
    with pytest.raises(InvalidInputError):
        learner.fit(ROWS[PAIRS][:, :, :3], np.zeros(200))
    assert learner.metric_ is before
    assert learner.n_features_in_ == 13
    with pytest.raises(InvalidInputError, match="3 coordinates per point, but 13 are expected"):
        learner.predict(ROWS[PAIRS][:, :, :3])


def test_a_score_needs_both_kinds_of_pairs():
    learner = CurvedPairs(random_state=0).fit(ROWS[PAIRS], ALIKE)
    with pytest.raises(InvalidInputError, match="both kinds of pairs"):
        learner.score(ROWS[PAIRS][:9], ALIKE[:9])
