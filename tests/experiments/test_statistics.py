"""Statistics against SciPy's, tables in print, and values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments import paired_difference
from cayleyklein.experiments.scores import holm

scores = arrays(np.float64, st.integers(2, 12), elements=st.integers(0, 50).map(lambda i: i / 50))


def test_paired_difference_by_hand():
    # Differences 1, 2, 3 (per cent): mean 2, variance 1. With n_test/n_train = 1/6 the variance of
    # the mean is 1/3 + 1/6 = 1/2, so t = 2√2; for two degrees of freedom the p-value has a closed
    # form, 1 - t/√(t² + 2) = 1 - √(8/10).
    found = paired_difference([0.81, 0.82, 0.83], [0.80] * 3, test_ratio=1 / 6)
    assert found.difference == pytest.approx(0.02)
    assert found.p_value == pytest.approx(1 - np.sqrt(0.8))
    reach = 4.302652729911275 * 0.01 / np.sqrt(2)  # Student's t, 97.5 %, 2 degrees of freedom
    assert (found.low, found.high) == pytest.approx((0.02 - reach, 0.02 + reach))


@given(scores, st.integers(0, 1000))
def test_without_correction_it_is_the_paired_t_test(a, seed):
    b = np.random.default_rng(seed).random(len(a))
    found = paired_difference(a, b, test_ratio=0.0)
    theirs = stats.ttest_rel(a, b)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found[1:3] == pytest.approx(tuple(theirs.confidence_interval(0.95)))


@given(scores, st.floats(0, 2), st.floats(0.01, 2))
def test_correction_only_widens(a, ratio, more):
    b = np.roll(a, 1)
    narrow = paired_difference(a, b, test_ratio=ratio)
    wide = paired_difference(a, b, test_ratio=ratio + more)
    if np.ptp(a - b) > 0:
        assert wide.low <= narrow.low <= narrow.difference <= narrow.high <= wide.high
    assert wide.p_value >= narrow.p_value


@given(scores)
def test_difference_is_antisymmetric(a):
    b = np.roll(a, 1)
    there = paired_difference(a, b, test_ratio=0.3)
    back = paired_difference(b, a, test_ratio=0.3)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), nan_ok=True)
    assert there.p_value == back.p_value


def test_one_split_says_nothing():
    found = paired_difference([0.9], [0.1], test_ratio=0.2)
    assert found.difference == pytest.approx(0.8)
    assert np.isnan(found[1:]).all()


@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_same_difference_everywhere_is_judged_by_signs(n):
    found = paired_difference([0.75] * n, [0.5] * n, test_ratio=0.2)
    assert found.p_value == pytest.approx(stats.binomtest(n, n).pvalue)
    assert found.to_dict()["low"] is None
    assert paired_difference([0.5] * n, [0.5] * n, test_ratio=0.2).p_value == 1


@given(st.integers(2, 100), st.lists(st.integers(0, 98), min_size=2, max_size=6))
def test_rounding_is_no_evidence(n_test, right):
    """One row more on every split, whatever floats the shares of rows are."""
    base = np.minimum(right, n_test - 1)
    found = paired_difference((base + 1) / n_test, base / n_test, test_ratio=0.2)
    assert found.p_value == pytest.approx(2.0 ** (1 - len(right)))
    assert np.isnan(found.low)


def test_unpaired_scores_are_refused():
    with pytest.raises(InvalidInputError, match="baseline"):
        paired_difference([0.9, 0.8], [0.9], test_ratio=0.2)


def test_holm_by_hand():
    assert holm([0.01, 0.02, 0.03, 0.5]) == pytest.approx([0.04, 0.06, 0.06, 0.5])
    assert holm([0.4, 0.4]) == pytest.approx([0.8, 0.8])
    assert holm([]).shape == (0,)


@given(arrays(np.float64, st.integers(1, 8), elements=st.floats(0, 1)))
def test_holm_lies_between_nothing_and_bonferroni(p):
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(len(p) * p, 1)).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
