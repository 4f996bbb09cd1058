"""Missing numbers: conditional means, and gaps that tell something."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import TargetEncoder

from cayleyklein.columns import means
from cayleyklein.columns.gaps import Gaps, filled
from cayleyklein.tables import TableEncoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) @ RNG.normal(size=(3, 6)) + 0.1 * RNG.normal(size=(400, 6))
MISSING = RNG.random(X.shape) < 0.2
HOLES = np.where(MISSING, np.nan, X)


def test_gaps_are_filled_by_what_is_known():
    gaps = Gaps.of(HOLES, np.ones(len(X)))
    rows = gaps.fill(HOLES)
    np.testing.assert_array_equal(rows[~MISSING], X[~MISSING])
    error, by_median = (np.abs(f - X)[MISSING].mean() for f in (rows, np.median(X, axis=0)))
    assert error < 0.4 * by_median
    assert np.array_equal(np.vstack([gaps.fill(row[None]) for row in HOLES]), rows)


def test_the_conjugate_gradients_solve_each_rows_system():
    gaps = Gaps.of(HOLES, np.ones(len(X)))
    P, Z = gaps.precision, gaps.standardised(HOLES)
    for row, found in zip(Z[:50], filled(Z, P)[:50], strict=True):
        gone = np.isnan(row)
        if gone.any():
            exact = np.linalg.solve(P[np.ix_(gone, gone)], -P[np.ix_(gone, ~gone)] @ row[~gone])
            np.testing.assert_allclose(found[gone], np.clip(exact, -3, 3), atol=1e-7)


def test_a_weight_of_two_is_two_rows_and_zero_is_none():
    weights = RNG.integers(0, 3, len(X)).astype(float)
    y = means.as_numbers(X[:, 0] > 0)
    weighted = Gaps.of(HOLES, weights, y)
    repeated = np.repeat(np.arange(len(X)), weights.astype(int))
    plain = Gaps.of(HOLES[repeated], np.ones(len(repeated)), y[repeated])
    np.testing.assert_array_equal(weighted.median, plain.median)
    np.testing.assert_allclose(weighted.scale, plain.scale)
    assert weighted.telling.tolist() == plain.telling.tolist()


def test_only_gaps_that_tell_something_become_numbers():
    y = RNG.integers(0, 2, 400)
    Z = RNG.normal(size=(400, 4))
    Z[RNG.random(Z.shape) < 0.2] = np.nan
    Z[(y == 1) & (RNG.random(400) < 0.5), 2] = np.nan
    gaps = Gaps.of(Z, np.ones(400), means.as_numbers(y))
    assert gaps.telling.tolist() == [2]
    rows = gaps.fill(Z)
    np.testing.assert_array_equal(rows[:, 4], np.isnan(Z[:, 2]))


def test_an_empty_column_and_a_single_one():
    Z = np.column_stack([np.full(30, np.nan), np.arange(30.0)])
    assert (Gaps.of(Z, np.ones(30)).fill(Z)[:, 0] == 0).all()
    one = np.array([[1.0], [np.nan], [4.0]])
    assert Gaps.of(one, np.ones(3)).fill(one)[1, 0] == 2.5


def test_mean_targets_are_scikit_learns_and_a_weight_is_so_many_rows():
    codes, y = RNG.integers(0, 8, 300), RNG.normal(size=300)
    encoder = TargetEncoder(target_type="continuous").fit(codes[:, None], y)
    found = means.category_means(codes, y[:, None], np.ones(300), 8)
    np.testing.assert_allclose(found[:-1, 0], encoder.encodings_[0])
    weights = RNG.integers(0, 3, 300)
    rows = np.repeat(np.arange(300), weights)
    repeated = means.category_means(codes[rows], y[rows, None], np.ones(len(rows)), 8)
    weighted = means.category_means(codes, y[:, None], weights.astype(float), 8)
    np.testing.assert_allclose(weighted, repeated)


@pytest.mark.parametrize("kind", ["continuous", "binary"])
def test_means_of_other_folds_are_scikit_learns(kind):
    codes, y = RNG.integers(0, 8, 300), RNG.normal(size=300)
    y = y if kind == "continuous" else (y > 0).astype(np.int64)
    targets, weights = means.as_numbers(y), np.ones(300)
    folds = means.folds_of(pd.DataFrame({"a": codes, "x": RNG.normal(size=300)}), targets, weights)
    found = means.means_of_others(codes, targets, weights, 8, folds)
    for fold in range(means.MEAN_FOLDS):
        mine = folds == fold
        assert abs(mine.sum() - 60) <= 1
        encoder = TargetEncoder(target_type=kind).fit(codes[~mine, None], y[~mine])
        np.testing.assert_allclose(found[mine], encoder.transform(codes[mine, None]))


def test_a_row_does_not_tell_its_own_mean():
    table = pd.DataFrame({"a": RNG.integers(0, 40, 200), "x": RNG.normal(size=200)})
    y, weights = RNG.normal(size=(200, 1)), np.ones(200)
    folds = means.folds_of(table, y, weights)
    order = RNG.permutation(200)
    np.testing.assert_array_equal(
        means.folds_of(table.iloc[order], y[order], weights), folds[order]
    )
    others = means.means_of_others(table["a"].to_numpy(), y, weights, 40, folds)
    other = y.copy()
    other[folds == 2] += 100  # changes nothing for these rows themselves
    again = means.means_of_others(table["a"].to_numpy(), other, weights, 40, folds)
    np.testing.assert_array_equal(again[folds == 2], others[folds == 2])


def categories(seed, n=80):
    """A table of categories and numbers, of which some are missing, and classes."""
    rng = np.random.default_rng(seed)
    letters, few = rng.integers(0, 12, n), rng.integers(0, 3, n)
    table = pd.DataFrame({"a": np.array(list("abcdefghijkl"))[letters], "b": few == 1})
    if seed % 3:
        x = rng.normal(size=n).round(seed % 2 + 1)
        table["x"] = np.where(rng.uniform(size=n) < 0.2, np.nan, x)
    y = (few == 1) + (letters > 5) + 0.5 * rng.normal(size=n)
    return table, (y > 0.7).astype(int) + (y > 1.4)


@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_encoded_rows_depend_on_no_unit_copy_or_name(seed, numeric):
    table, y = categories(seed)
    if numeric:
        y = y + 0.5 * np.random.default_rng(seed).normal(size=len(y))

    def rows_of(table, y, weights=None):
        learned, searched = TableEncoder().fit_rows(table, y, weights, few_levels=4)
        return learned, learned if searched is None else searched

    learned, searched = rows_of(table, y)
    for weight in (2.0, 0.1):
        for found, expected in zip(
            rows_of(table, y, np.full(len(y), weight)), (learned, searched), strict=True
        ):
            np.testing.assert_allclose(found, expected, atol=1e-12)
    twice = pd.concat([table, table], ignore_index=True)
    found = rows_of(twice, np.concatenate([y, y]))
    np.testing.assert_allclose(found[1], np.vstack([searched, searched]), atol=1e-12)
    # the rows to learn from are the same, though a copy may stand where another one did
    expected = np.vstack([learned, learned])
    order, other = (np.lexsort(rows.round(9).T) for rows in (found[0], expected))
    np.testing.assert_allclose(found[0][order], expected[other], atol=1e-12)
    if not numeric:
        renamed = rows_of(table, np.array([2, 0, 1])[y])
        for found, expected in zip(renamed, (learned, searched), strict=True):
            np.testing.assert_allclose(found.sum(axis=1), expected.sum(axis=1), atol=1e-12)


def test_columns_that_are_dropped_may_hold_anything():
    table, y = categories(0)
    plain = TableEncoder().fit_rows(table, y, None, few_levels=4)
    table["cells"] = [[i] for i in range(len(table))]
    found = TableEncoder(drop=["cells"]).fit_rows(table, y, None, few_levels=4)
    assert found[0].shape == plain[0].shape


@pytest.mark.parametrize("exponent", [660, -660])
def test_encoded_rows_do_not_depend_on_the_unit_of_targets(exponent):
    table, y = categories(1)
    y = y + RNG.normal(size=len(y))
    varies = []
    for unit in (1.0, 2.0**exponent):
        rows = TableEncoder().fit_rows(table, y * unit, None, few_levels=4)[0]
        varies.append((rows - rows.mean(axis=0)) / rows.std(axis=0))
    np.testing.assert_allclose(varies[0], varies[1], atol=1e-9)
