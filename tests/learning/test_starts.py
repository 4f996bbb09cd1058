"""Starts of a fit, and the weights of columns of wide tables, against plain covariances."""

import numpy as np
import pytest

from cayleyklein.learning import descent, samples
from cayleyklein.learning.objectives.large_margin import LargeMarginRecipe
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=150)
    X = rng.normal(size=(150, 4)) @ rng.normal(size=(4, 4)) + y[:, None] * [1.0, 0.5, 0.0, -1.0]
    return TrainingRows.from_raw(X, y, rng.uniform(0.5, 2.0, size=150))


def covariance(X, shares):
    centred = X - shares @ X
    return (centred * shares[:, None]).T @ centred


def within(rows):
    total = np.zeros((rows.n_columns, rows.n_columns))
    for label in np.unique(rows.labels):
        own = rows.labels == label
        share = rows.shares[own]
        total += share.sum() * covariance(rows.X[own], share / share.sum())
    return total


def test_columns_are_standardised_and_leading_axes_hold_the_most_variance(rows):
    np.testing.assert_array_equal(descent.starting_factor("std", rows), np.eye(4))
    C = covariance(rows.X, rows.shares)
    values = np.linalg.eigvalsh(C)[::-1]
    for name in ("std", "pca"):
        L = descent.starting_factor(name, rows, 2)
        np.testing.assert_allclose(L @ C @ L.T, np.diag(values[:2]), atol=1e-12)
        np.testing.assert_allclose(L @ L.T, np.eye(2), atol=1e-12)


def test_the_precision_whitens(rows):
    C = covariance(rows.X, rows.shares)
    L = descent.starting_factor("precision", rows)
    np.testing.assert_allclose(L @ C @ L.T, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(L, L.T, atol=1e-12)  # the symmetric root
    np.testing.assert_allclose(L.T @ L, np.linalg.inv(C), rtol=1e-8)
    few = descent.starting_factor("precision", rows, 2)
    np.testing.assert_allclose(few @ C @ few.T, np.eye(2), atol=1e-10)
    leading = np.linalg.eigh(C)[1][:, ::-1][:, :2]
    projected = np.abs(few @ leading) * np.sqrt(np.linalg.eigvalsh(C)[::-1][:2])
    np.testing.assert_allclose(projected, np.eye(2), atol=1e-9)


def test_discriminants_whiten_classes_and_separate_their_means(rows):
    W = within(rows)
    B = covariance(rows.X, rows.shares) - W
    ratios = np.sort(np.linalg.eigvals(np.linalg.solve(W, B)).real)[::-1]
    for r in (1, 2, 4):
        L = descent.starting_factor("lda", rows, r)
        np.testing.assert_allclose(L @ W @ L.T, np.eye(r), atol=1e-9)
        np.testing.assert_allclose(np.diag(L @ B @ L.T), ratios[:r], atol=1e-9)


def test_raw_columns_have_the_size_of_standardised_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.0]
    rows = TrainingRows.from_raw(X, np.zeros(50, int), np.ones(50))
    L = descent.starting_factor("identity", rows)
    deviation = X.std(axis=0)[:2]
    expected = np.diag(np.append(deviation / np.sqrt(np.mean(deviation**2)), 0.0))
    np.testing.assert_allclose(L, expected, atol=1e-12)
    two = descent.starting_factor("identity", rows, 2)
    np.testing.assert_allclose(np.abs(two[0]) @ [0, 1, 0], expected[1, 1], rtol=1e-2)


def test_a_singular_covariance_is_shrunk_to_its_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    X = np.column_stack([X, X.sum(axis=1)])
    rows = TrainingRows.from_raw(X, np.zeros(60, int), np.ones(60))
    L = descent.starting_factor("precision", rows)
    assert np.isfinite(L).all()
    C = covariance(rows.X, rows.shares)
    shrunk = np.linalg.inv(L.T @ L)  # (1 - a) C + a m I
    a = np.linalg.eigvalsh(shrunk)[0] / (np.trace(C) / 3)
    assert 0 < a < 0.2
    np.testing.assert_allclose(shrunk, (1 - a) * C + a * np.trace(C) / 3 * np.eye(3), atol=1e-6)


def test_columns_are_weighted_by_what_they_tell_of_the_classes(rows):
    columns = np.column_stack([rows.X, np.zeros(len(rows))])
    found = descent.column_weights(columns, rows)
    expected = []
    for column in columns.T:
        means = [np.average(column[rows.labels == c], weights=rows.weights[rows.labels == c])
                 for c in range(3)]  # fmt: skip
        fitted = np.array(means)[rows.labels]
        middle = rows.shares @ column
        between = rows.shares @ (fitted - middle) ** 2
        rest = rows.shares @ (column - fitted) ** 2
        expected.append(between / rest if rest else 0.0)
    expected = np.array(expected)
    np.testing.assert_allclose(found, np.sqrt(expected / expected.mean()), rtol=1e-10)
    assert np.mean(found**2) == pytest.approx(1.0)
    constant = np.zeros((len(rows), 2))
    np.testing.assert_array_equal(descent.column_weights(constant, rows), np.ones(2))
    # a column that is the class itself counts at most n times
    own = descent.column_weights(np.column_stack([rows.labels, rows.X[:, 0]]).astype(float), rows)
    assert own[0] ** 2 / own[1] ** 2 == pytest.approx(len(rows) / expected[0], rel=1e-9)


# -- descents ---------------------------------------------------------------------------------


def test_starts_of_every_geometry_have_the_size_that_is_documented(rows):
    L = np.diag([1.0, 2.0, 0.5, 1.0])
    for geometry, K in (("flat", 0.0), ("elliptic", 1.0), ("learned", 1.0), ("hyperbolic", -1.0)):
        recipe = descent.Recipe(geometry, spread=0.7, radius=0.3)
        found = recipe.start(rows, L)
        assert found.curvature == K
        assert not found.center.any()
        if K < 0:
            assert np.linalg.norm(rows.X @ found.factor.T, axis=1).max() == pytest.approx(0.3)
        else:
            np.testing.assert_allclose(found.factor, (0.7 if K else 1.0) * L)
        assert recipe.unit == (0.7 if K else 1.0)
        assert LargeMarginRecipe(geometry, margin=0.2).unit == (0.2 if K else 1.0)


def test_units_of_parts_are_the_median_distance_to_the_nearest_three(rows):
    for K in (0.0, 0.3):
        found = Parameters(0.3 * np.eye(4), np.full(4, 0.1), K)
        metric = rows.to_metric(found)
        chords = metric.pairwise(rows.as_given)
        if K:
            chords = 2 / np.sqrt(K) * np.sin(np.sqrt(K) * chords / 2)
        near = np.sort(chords, axis=1)[:, 1:4]
        assert descent.part_unit(rows, found) == pytest.approx(np.median(near), rel=1e-9)
    three = np.array([[0.0], [1.0], [3.0]])  # have two others each, 1 to 3 apart
    few = TrainingRows.from_targets(three, three, np.ones(3))
    unit = descent.part_unit(few, Parameters(np.eye(1), np.zeros(1), 0.0))
    assert unit == pytest.approx(2 / three.std())


def test_shares_of_a_mix_are_in_units_of_its_parts():
    mixing = descent.Mixing((), (2.0, 5.0), ())
    for share in (0.1, 0.5, 0.9):
        alpha = mixing.alpha_of(share)
        assert alpha / (1 - alpha) == pytest.approx(share / 2.0 / ((1 - share) / 5.0))
    assert descent.MixingChoice((0.3,), in_units=False).alpha(0.3, mixing) == 0.3
    assert descent.MixingChoice((0.3,), in_units=True).alpha(0.3, mixing) == mixing.alpha_of(0.3)


def test_an_anchor_is_drawn_for_many_rows_and_more_for_many_columns():
    assert descent.n_anchors(3) == 1000
    assert descent.n_anchors(41) == 25 * 41


# -- growing samples --------------------------------------------------------------------------


def test_work_is_anchors_times_rows_times_columns():
    """n² r where all rows are anchors, else n · anchors · r."""
    assert samples.most_rows(4, 4 * 500.0**2) == 500
    assert samples.most_rows(4, 4 * 1000 * 5000.0) == 5000
    assert samples.most_rows(100, 100 * 2500 * 9000.0) == 9000


def test_a_gain_is_a_mean_and_its_standard_error():
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(2, 50))
    gain, error = samples.gain_of(before, after, np.full(50, 1 / 50))
    assert gain == pytest.approx(np.mean(before - after))
    assert error == pytest.approx(np.std(before - after) / np.sqrt(50))
    share = rng.dirichlet(np.ones(50))
    gain, error = samples.gain_of(before, after, share)
    variance = sum(w**2 * (b - a - gain) ** 2 for w, b, a in zip(share, before, after, strict=True))
    assert gain == pytest.approx(share @ before - share @ after)
    assert error == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize(
    ("losses", "sizes", "kept"),
    [
        ([1.0, 0.9, 0.8, 0.7], [100, 200, 400, 700], 3),  # as long as it helps
        ([1.0, 0.9, 0.95, 0.5], [100, 200, 400], 1),  # the best so far
        ([1.0, 1.1], [100, 200], 0),
        ([1.0, 0.999999, 0.5], [100, 200], 1),  # better, but by less than a tie
    ],
)
def test_a_sample_doubles_until_held_out_rows_gain_nothing(losses, sizes, kept, monkeypatch):
    monkeypatch.setattr(samples, "FIRST_SAMPLE", 100)
    rng = np.random.default_rng(0)
    rows = TrainingRows.from_raw(rng.normal(size=(700, 2)), np.arange(700) % 2, np.ones(700))
    said, noise = iter(losses), 1e-3 * rng.normal(size=50)
    noise -= noise.mean()
    learned = []

    def judge(some, fits):
        learned.append(len(some))
        wiggle = np.roll(noise, len(learned))
        return np.stack([np.full(50, 9.0), next(said) + wiggle])[None]

    recipe = LargeMarginRecipe("flat", max_iter=1, n_passes=1)
    grown = samples.grow(
        rows, rows.nested_order(rng), (recipe,), judge, np.full(50, 1 / 50), rng, None
    )
    assert learned == sizes
    assert [stage.n_rows for stage in grown.stages] == sizes
    np.testing.assert_allclose([stage.loss for stage in grown.stages], losses[: len(sizes)])
    assert grown.scores[0, 1].mean() == pytest.approx(losses[kept])
    assert len(grown.fits[0].losses) == kept + 1  # one more pass each time
