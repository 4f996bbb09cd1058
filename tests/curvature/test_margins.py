"""Margins between models, and the word that they lead to."""

import itertools

import numpy as np
import pytest
from scipy import stats

from cayleyklein.curvature import dissimilarities, rivals, verdicts
from cayleyklein.curvature.verdicts import Judged, Margin

RNG = np.random.default_rng(0)
N = 100


def test_densities_are_normal_with_the_mean_error():
    errors, variances = RNG.uniform(size=(30, 2)), RNG.uniform(0.5, 2, size=30)
    found = verdicts.scored("a model", "curved", errors, variances, -3.0)
    expected = np.zeros(30)
    for column in errors.T:
        scale = (column / variances).mean()
        expected += stats.norm.logpdf(np.sqrt(column), scale=np.sqrt(scale * variances))
    np.testing.assert_allclose(found.densities, expected)
    np.testing.assert_allclose(found.errors, errors.sum(axis=1))
    assert (found.model, found.kind, found.log_likelihood) == ("a model", "curved", -3.0)


def test_means_in_standard_errors():
    gains = RNG.normal(0.3, size=50)
    found = verdicts.in_standard_errors(gains)
    assert found == pytest.approx(stats.ttest_1samp(gains, 0).statistic)
    assert verdicts.in_standard_errors(np.ones(5)) == 0


def test_gains_of_pairs_with_a_row_in_common_depend():
    gains = np.triu(RNG.normal(0.2, size=(8, 8)), 1)
    gains += gains.T
    pairs = list(itertools.combinations(range(8), 2))
    values = np.array([gains[pair] for pair in pairs])
    variance = 0.0
    for (i, p), (j, q) in itertools.product(enumerate(pairs), repeat=2):
        if set(p) & set(q):
            variance += (values[i] - values.mean()) * (values[j] - values.mean())
    found = dissimilarities.pairs_in_standard_errors(gains)
    assert found == pytest.approx(values.sum() / np.sqrt(variance))
    assert dissimilarities.pairs_in_standard_errors(np.zeros((4, 4))) == 0


def test_flat_maps_are_named():
    names = {name: (n, power) for name, n, power in dissimilarities.flat_maps(2)}
    assert names["a flat map in 2 dimensions"] == (2, 1.0)
    assert names["a flat map in 5 dimensions of dissimilarities to the power 0.7"] == (5, 0.7)
    assert "a flat map in 1 dimension" in {name for name, *_ in dissimilarities.flat_maps(1)}


def model(kind, error, nats, name="some model", width=0.1, **more):
    """A model whose held-out errors have this mean; the smaller, the denser."""
    errors = error + width * np.cos(np.arange(N) + error)
    return Judged(name, kind, errors, -errors, nats, **more)


def decide(curved, in_place, rescaled, least=verdicts.OF_NUMBERS):
    """The verdict on three models given by error and nats, of targets of variance 1."""
    judged = [
        model("in place", *in_place, "flat one"),
        model("rescaled", *rescaled, "flat two"),
        model("curved", *curved, "sphere", sign=1, slope=10.0),
        model("curved", 0.9, 0.0, "bad sphere", sign=-1),
    ]
    Y = np.where(np.arange(N) % 2, 1.0, -1.0)[:, None]
    return verdicts.decide(judged, Y, least)


def test_words():
    ahead = decide((0.1, 10.0), (0.3, 5.0), (0.3, 6.0))
    assert (ahead.word, ahead.sign, ahead.slope) == ("curved", 1, 10.0)
    assert ahead.in_place.nats == 5
    assert ahead.rescaled.nats == 4
    assert ahead.in_place.rival == "flat one"
    assert ahead.r2 == pytest.approx(0.9, abs=0.01)
    assert ahead.geometry == "elliptic"
    tied = decide((0.1, 10.0), (0.3, 6.0), (0.1, 10.0))
    assert (tied.word, tied.geometry) == ("curved in these coordinates", "elliptic")
    assert "flat one" in tied.sentence
    behind = decide((0.1, 10.0), (0.3, 6.0), (0.1, 12.5))
    assert (behind.word, behind.geometry) == ("no evidence", "flat")
    assert decide((0.1, 10.0), (0.3, 6.6), (0.1, 10.0)).word == "no evidence"
    nothing = decide((0.99, 10.0), (0.99, 6.0), (0.99, 6.0))
    assert nothing.word == "no evidence"  # 0.9 is predicted by the bad sphere


def told(nats, density, error, least, rescaled=0.0):
    """The word for margins over the models in place, and nats over those that are rescaled."""
    wave = np.sqrt(N - 1) * np.where(np.arange(N) % 2, 1.0, -1.0) / 10
    curved = Judged("sphere", "curved", np.full(N, 0.3), np.zeros(N), 0.0, 1)
    in_place = Judged(
        "flat", "in place", 0.3 + 1e-3 * (error / 10 + wave), -density / 10 - wave, -nats
    )
    # as good as the sphere on held-out rows
    other = curved._replace(model="map", kind="rescaled", log_likelihood=-rescaled)
    Y = np.where(np.arange(N) % 2, 1.0, -1.0)[:, None]
    return verdicts.decide([curved, in_place, other], Y, least).word


@pytest.mark.parametrize(
    ("least", "density", "error"), [(verdicts.OF_NUMBERS, 0.5, -1.0), (verdicts.OF_LABELS, 1.5, 1)]
)
def test_the_weaker_verdict_needs_three_margins_and_a_tie(least, density, error):
    enough = {"nats": 3.6, "density": density + 0.1, "error": error + 0.1, "least": least}
    assert told(**enough) == "curved in these coordinates"
    assert told(**enough, rescaled=-0.9) == "curved in these coordinates"
    for few in ({"nats": 3.4}, {"density": density - 0.1}, {"error": error - 0.1}):
        assert told(**(enough | few)) == "no evidence"
    behind = -2.1 if least is verdicts.OF_NUMBERS else -1.1
    assert told(**enough, rescaled=behind) == "no evidence"


def test_nothing_predicts_noise():
    judged = [model(kind, 0.97, 0.0) for kind in ("in place", "rescaled", "curved")]
    Y = np.where(np.arange(N) % 2, 1.0, -1.0)[:, None]
    found = verdicts.decide(judged, Y, verdicts.OF_NUMBERS)
    assert found.word == "too few rows, or nothing predicts y"
    assert found.r2 == pytest.approx(0.03, abs=0.01)
    assert "held-out R² of 0.03" in found.sentence


def test_margins_against_the_best_of_each_kind():
    curved = model("curved", 0.2, 7.0)
    exact = Judged(
        "exact", "in place", curved.errors + 0.1 + 0.01 * np.arange(N), -9 * np.ones(N), 1
    )
    dense = Judged("dense", "in place", np.full(N, 9.0), curved.densities - 0.2 * np.arange(N), 3)
    found = verdicts.margin(curved, [exact, dense], 0.5)
    assert found.rival == "exact"
    assert found.nats == 2
    assert found.error == pytest.approx(verdicts.in_standard_errors(0.1 + 0.01 * np.arange(N)))
    assert found.density == pytest.approx(verdicts.in_standard_errors(curved.densities + 9))


def test_thresholds_are_met_beyond_them():
    assert verdicts.meets(Margin("", 0, 1.1, 0.1), 1.0, 0.0)
    assert not verdicts.meets(Margin("", 0, 1.0, 0.1), 1.0, 0.0)
    assert not verdicts.meets(Margin("", 0, 1.1, 0.0), 1.0, 0.0)
    assert verdicts.OF_NUMBERS.nats_of(10_000) == 3.5
    assert verdicts.OF_LABELS.nats_of(300) == 3.5
    assert verdicts.OF_LABELS.nats_of(600) == 7.0


def test_folds_have_their_share_of_every_class():
    codes = np.repeat([0, 1], [70, 30])
    z, rng = RNG.normal(size=(100, 2)), np.random.RandomState(0)
    folds = verdicts.deal(z, (codes - 0.3)[:, None], True, rng)
    for code, each in ((0, 14), (1, 6)):
        assert np.bincount(folds[codes == code]).tolist() == [each] * 5


def test_samples_are_spread_over_the_sizes_of_numbers():
    y = RNG.permutation(1000)[:, None] - 499.5
    some = verdicts.stratified(y, False, 100, np.random.RandomState(0))
    assert np.diff(np.sort(y[some, 0])).max() <= 10
    assert (np.diff(some) > 0).all()


def test_hopeless_families_are_not_fitted_to_all_rows():
    rng = np.random.RandomState(0)
    z = rng.normal(size=(310, 2))
    Y = np.sin(3 * z[:, :1])
    Y -= Y.mean()
    every, few = verdicts.samples(z, Y, False, rng)
    axes = rivals.find_axes(few)
    folds = [verdicts.deal(z, Y, False, rng)]
    some = verdicts.judge_processes(every, few, axes, folds)
    every_one = verdicts.judge_processes(every, every, axes, folds)
    assert len(some) < len(every_one)
    for kind in ("in place", "rescaled", "curved"):
        found, expected = (
            max(m.log_likelihood for m in judged if m.kind == kind) for judged in (some, every_one)
        )
        assert found == pytest.approx(expected, abs=1)


def test_few_rows_are_screened_first():
    z = RNG.normal(size=(301, 2))
    every, few = verdicts.samples(z, z[:, :1], False, np.random.RandomState(0))
    assert len(every.z) == 301
    assert len(few.z) == len(few.some) == 300
    np.testing.assert_allclose(few.z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(few.Y.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(few.z - few.z[0], z[few.some] - z[few.some[0]])
    all_of_them, same = verdicts.samples(z[1:], z[1:, :1], False, np.random.RandomState(0))
    assert all_of_them is same
