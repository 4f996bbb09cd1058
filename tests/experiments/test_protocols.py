"""Splits: disjoint, of the paper's sizes, and the same at every call."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments import FULL, QUICK, Protocol
from cayleyklein.experiments._problems import BUNDLED, load_bundled
from cayleyklein.experiments._protocols import repeated_splits


@pytest.mark.parametrize("protocol", [FULL, QUICK], ids=lambda p: p.name)
@pytest.mark.parametrize("name", BUNDLED)
def test_paper_splits(protocol, name):
    y = load_bundled(name).y
    splits = protocol.splits(name, y)
    for train, test in splits:
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
    again = protocol.splits(name, y)
    for split, other in zip(splits, again, strict=True):
        assert all(map(np.array_equal, split, other))


@pytest.mark.parametrize("name", ["vowel", "balance", "pima"])
def test_full_protocol_is_ten_subsets_of_250(name):
    splits = FULL.splits(name, load_bundled(name).y)
    assert [len(train) for train, _ in splits] == [250] * 10
    assert len({tuple(train) for train, _ in splits}) == 10


@pytest.mark.parametrize("name", ["wine", "sonar"])
def test_full_protocol_leaves_each_row_out_once(name):
    y = load_bundled(name).y
    tested = [test for _, test in FULL.splits(name, y)]
    assert np.array_equal(np.concatenate(tested), np.arange(len(y)))


def test_quick_protocol_tests_each_row_once_too():
    y = load_bundled("wine").y
    tested = np.concatenate([test for _, test in QUICK.splits("wine", y)])
    assert np.array_equal(np.sort(tested), np.arange(len(y)))
    assert len(QUICK.splits("wine", y)) < len(FULL.splits("wine", y))


def test_protocol_says_what_it_does():
    assert "one row out at a time" in FULL.describe()
    assert "7 folds" in Protocol("mine", repetitions=2, folds=7).describe()


@given(
    sizes=st.lists(st.integers(5, 30), min_size=2, max_size=4),
    n_splits=st.integers(1, 4),
    test_size=st.sampled_from([0.2, 0.3, 0.5]),
)
def test_repeated_splits_keep_classes_in_proportion(sizes, n_splits, test_size):
    y = np.repeat(np.arange(len(sizes)), sizes)
    splits = repeated_splits(y, n_splits, test_size)
    assert len(splits) == n_splits
    for train, test in splits:
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
        assert len(test) == np.ceil(test_size * len(y))
        expected = test_size * np.array(sizes)
        # One row of rounding for the class, and one for the ceiling of the whole.
        assert (np.abs(np.bincount(y[test], minlength=len(sizes)) - expected) < 2).all()


@pytest.mark.parametrize(
    ("y", "test_size", "message"),
    [
        ([0, 0, 0, 0], 0.2, "one class"),
        ([0, 0, 0, 1], 0.5, "single row"),
        ([0, 0, 1, 1, 2, 2, 3, 3], 0.2, "too few"),
        ([0, 0, 1, 1], 1.5, "test_size=1.5"),
    ],
)
def test_impossible_splits_are_refused(y, test_size, message):
    with pytest.raises(InvalidInputError, match=message):
        repeated_splits(np.array(y), 2, test_size)
