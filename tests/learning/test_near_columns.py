import numpy as np
import pytest

from cayleyklein.learning._near_columns import near_columns, of_rank


@pytest.mark.parametrize("n", [1, 2, 3, 10, 257])
def test_of_rank_is_what_sorting_has_there(n):
    rng = np.random.default_rng(n)
    few = rng.integers(0, 4, size=n).astype(float)  # many are equal
    for values in (rng.normal(size=n), few, np.arange(n) * 1.0, -np.arange(n) * 1.0):
        values[rng.integers(n)] = np.inf
        for rank in {0, n // 3, n // 2, n - 1}:
            assert of_rank(values.copy(), rank) == np.sort(values)[rank]


@pytest.mark.parametrize("per_row", [1, 5, 60])
@pytest.mark.parametrize("limit", [0.3, np.inf])
def test_near_columns_are_those_of_a_sort(per_row, limit):
    rng = np.random.default_rng(0)
    chords = rng.integers(0, 50, size=(30, 400)) / 50.0  # equally near ones: the first are kept
    chords[rng.random(chords.shape) < 0.1] = np.nan
    columns, counts, crowded = near_columns(chords, per_row, limit)
    expected = []
    for row in chords:
        order = np.argsort(row, kind="stable")
        expected.append(np.sort([j for j in order if row[j] <= limit][:per_row]))
    np.testing.assert_array_equal(columns, np.concatenate(expected))
    np.testing.assert_array_equal(counts, [len(some) for some in expected])
    assert crowded == (np.nansum(chords <= limit, axis=1) > per_row).any()


def test_a_row_without_columns_has_none():
    columns, counts, crowded = near_columns(np.full((2, 3), np.nan), 2, np.inf)
    assert (len(columns), counts.tolist(), crowded) == (0, [0, 0], False)
