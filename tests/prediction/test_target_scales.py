"""Scales of targets: what they are, when another one is chosen, and what is carried back."""

import numpy as np
import pytest
from scipy.stats import norm

from cayleyklein import CurvedKernelRegressor
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.prediction import answers
from cayleyklein.prediction.scales import TARGET_SCALES, NumberScale


def wages(n=400, steep=2.0, seed=0):
    """Rows, and numbers whose logarithm is linear in a column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.exp(steep * X[:, 0] + 0.2 * rng.normal(size=n))


@pytest.mark.parametrize("kind", TARGET_SCALES)
def test_a_scale_is_increasing_and_can_be_undone(kind):
    rng = np.random.default_rng(0)
    y = rng.poisson(2.0, size=60).astype(float)
    scale = NumberScale.of(kind, y, rng.uniform(0.5, 2, size=60))
    order = np.argsort(y, kind="stable")
    z = scale.modelled(y)[order]
    assert (np.diff(z)[np.diff(y[order]) > 0] > 0).all()
    assert (np.diff(z)[np.diff(y[order]) == 0] == 0).all()
    np.testing.assert_allclose(scale.carried_back(scale.modelled(y)), y, atol=1e-12)


def test_normal_scores_are_quantiles_of_the_shares_of_weights_below():
    y, weights = np.array([5.0, -1.0, 5.0, 2.0]), np.array([1.0, 2.0, 3.0, 2.0])
    found = NumberScale.of("normal scores", y, weights).modelled(y)
    np.testing.assert_allclose(found, norm.ppf(np.array([6.0, 1.0, 6.0, 3.0]) / 8))


def test_weights_are_copies_for_normal_scores():
    rng = np.random.default_rng(0)
    y, weights = rng.normal(size=30), rng.integers(1, 4, size=30)
    many = np.repeat(y, weights)
    by_weight = NumberScale.of("normal scores", y, weights.astype(float))
    by_copies = NumberScale.of("normal scores", many, np.ones(len(many)))
    np.testing.assert_allclose(by_weight.scores, by_copies.scores)


@pytest.mark.parametrize(
    ("y", "low", "high"),
    [([0.0, 0.3, 1.0], 0.0, 1.0), ([0.0, 3.0, 7.0], 0.0, np.inf), ([-1.0, 0.5], -np.inf, np.inf)],
)
def test_predictions_stay_within_the_limits_that_all_targets_keep(y, low, high):
    scale = NumberScale.of("as given", np.array(y), np.ones(len(y)))
    np.testing.assert_array_equal(
        scale.carried_back(np.array([-5.0, 0.5, 5.0])), np.clip([-5.0, 0.5, 5.0], low, high)
    )


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_counts_and_shares_are_never_predicted_beyond_their_range():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    counts = rng.poisson(np.exp(X[:, 0])).astype(float)
    shares = 1 / (1 + np.exp(-4 * X[:, 0] + rng.normal(size=150)))
    model = CurvedKernelRegressor(random_state=0).fit(X, np.column_stack([counts, shares]))
    far = 4 * rng.normal(size=(300, 2))
    low, high = model.predict_interval(far)
    for found in (model.predict(far), low, high):
        assert (found >= 0).all()
        assert (found[:, 1] <= 1).all()


def test_a_logarithm_is_chosen_where_numbers_are_its_exponentials():
    X, y = wages()
    model = CurvedKernelRegressor(random_state=0).fit(X[:300], y[:300])
    plain = CurvedKernelRegressor(random_state=0, target_scale="as given").fit(X[:300], y[:300])
    assert model.target_scale_ in ("logarithm", "normal scores")
    assert plain.target_scale_ == "as given"
    errors = [np.abs(each.predict(X[300:]) - y[300:]).mean() for each in (model, plain)]
    assert errors[0] < 0.8 * errors[1]


@pytest.mark.parametrize("seed", range(3))
def test_numbers_as_given_stay_where_they_are_not_skewed_or_nothing_is_gained(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    straight = X[:, 0] + 0.3 * rng.normal(size=200)
    counts = rng.poisson(np.exp(0.7 * X[:, 0])).astype(float)
    for y in (straight, counts):
        assert CurvedKernelRegressor(random_state=0).fit(X, y).target_scale_ == "as given"


def test_intervals_are_carried_back_and_hold_what_they_promise():
    X, y = wages(900)
    model = CurvedKernelRegressor(random_state=0, target_scale="logarithm").fit(X[:400], y[:400])
    low, high = model.predict_interval(X[400:], 0.9)
    middle = model.predict(X[400:])
    assert 0.86 < ((low <= y[400:]) & (y[400:] <= high)).mean() < 0.94
    np.testing.assert_allclose(middle**2, low * high, rtol=1e-8)  # as far by factors either way
    assert (high - middle > middle - low).all()


def test_the_model_of_logarithms_is_the_model_of_numbers_whose_targets_are_logarithms(
    monkeypatch,
):
    """But for the bound of the weights."""
    monkeypatch.setattr(answers, "MOST_WEIGHT_ON_SCALES", answers.MOST_WEIGHT)
    X, y = wages(200)
    model = CurvedKernelRegressor(random_state=0, target_scale="logarithm").fit(X, y)
    other = CurvedKernelRegressor(random_state=0, target_scale="as given").fit(X, np.log(y))
    np.testing.assert_allclose(np.log(model.predict(X)), other.predict(X), atol=1e-9)
    assert model.part_weights_ == pytest.approx(other.part_weights_)
    mean, deviation = model.predict(X[:5], return_std=True)
    z, half = other.predict(X[:5], return_std=True)
    np.testing.assert_allclose(mean, np.exp(z))
    np.testing.assert_allclose(deviation, (np.exp(z + half) - np.exp(z - half)) / 2)


def test_the_choice_does_not_depend_on_the_order_of_rows_or_the_unit():
    X, y = wages(250)
    order = np.random.default_rng(1).permutation(250)
    first = CurvedKernelRegressor(random_state=0).fit(X, y)
    for rows, numbers, factor in ((X[order], y[order], 1.0), (X, 1000 * y, 1000.0)):
        other = CurvedKernelRegressor(random_state=0).fit(rows, numbers)
        assert other.target_scale_ == first.target_scale_
        np.testing.assert_allclose(other.predict(X), factor * first.predict(X), rtol=1e-6)


def test_explanations_say_on_which_scale_effects_are():
    X, y = wages(120)
    why = CurvedKernelRegressor(random_state=0, target_scale="logarithm").fit(X, y).explain(X[0])
    assert why.unit == "the logarithm of the target"
    assert "the logarithm of the target" in repr(why)


@pytest.mark.parametrize("y", [[1.0, -2.0, 3.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
def test_logarithms_of_negative_numbers_are_refused(y):
    X = np.arange(8.0).reshape(4, 2)
    message = r"needs targets of at least 0, and one above; got (-2 \(rows 1\)|only 0)"
    with pytest.raises(InvalidInputError, match=message):
        CurvedKernelRegressor(target_scale="logarithm").fit(X, y)


@pytest.mark.parametrize("seed", [2, 3])
def test_a_few_wrong_targets_do_little(seed):
    """Six of 300 are a thousand times too large, in either direction, so that nothing is skewed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] + np.sin(X[:, 1]) + 0.1 * rng.normal(size=600)
    given = y[:300].copy()
    given[rng.choice(300, 6, replace=False)] *= 1000
    model = CurvedKernelRegressor(random_state=0).fit(X[:300], given)
    errors = np.abs(model.predict(X[300:]) - y[300:])
    assert np.median(errors) < 0.25 * np.median(np.abs(y - np.median(y)))


def test_a_sum_does_not_go_too_far_on_a_logarithm():
    """With a sum of weights of 1.2 R² was −24 on the training rows of this draw."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 3))
    y = np.exp(3 * X[:, 0])
    model = CurvedKernelRegressor(random_state=0, target_scale="logarithm").fit(X, y)
    assert sum(model.part_weights_.values()) <= 1 + 1e-6
    assert model.score(X, y) > 0.2


@pytest.mark.parametrize("exponent", [660, -660, 1000])
@pytest.mark.parametrize("steep", [0.1, 3.0])
def test_units_whose_squares_are_no_floats_do_not_matter(exponent, steep):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.sinh(steep * X[:, 0])
    small = CurvedKernelRegressor(random_state=0).fit(X, y)
    unit = 2.0**exponent
    large = CurvedKernelRegressor(random_state=0).fit(X, y * unit)
    assert large.target_scale_ == small.target_scale_
    np.testing.assert_allclose(large.predict(X) / unit, small.predict(X), rtol=1e-9, atol=1e-12)
    assert large.score(X, y * unit) == pytest.approx(small.score(X, y), abs=1e-9)
    for found, expected in zip(large.predict_interval(X), small.predict_interval(X), strict=True):
        np.testing.assert_allclose(found / unit, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("odd", [1e300, -7.0])
def test_targets_of_rows_of_weight_zero_do_not_matter(odd):
    X, y = wages(n=60)
    weights = np.ones(60)
    weights[0] = 0.0
    y[0] = odd
    found = CurvedKernelRegressor(random_state=0).fit(X, y, sample_weight=weights).predict(X)
    expected = CurvedKernelRegressor(random_state=0).fit(X[1:], y[1:]).predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
