"""Predictors take gaps, text, categories and dates as they come."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedMetric,
)
from cayleyklein.exceptions import InvalidInputError, UnreadableCellsWarning

RNG = np.random.default_rng(0)
N = 240
x, z = RNG.normal(size=(2, N))
town, colour = RNG.choice(list("abcdefghij"), N), RNG.choice(["red", "blue"], N)
AMOUNT = x + 0.5 * (town < "d") + (colour == "red")
KIND = np.where(AMOUNT > 0.7, "u", "v")
TABLE = pd.DataFrame(
    {
        "x": np.where(np.arange(N) % 7 == 0, np.nan, x),
        "town": pd.Categorical(town),
        "colour": np.where(np.arange(N) % 11 == 0, None, colour),
        "z": z,
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 300, N), unit="D"),
    }
)
CLASSIFIERS = [CurvedKNeighborsClassifier, CurvedKernelClassifier]
REGRESSORS = [CurvedKNeighborsRegressor, CurvedKernelRegressor]


def target_of(kind):
    return KIND if kind in CLASSIFIERS else AMOUNT


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_a_table_is_encoded_and_answers_name_its_columns(kind):
    y, model = target_of(kind), kind(random_state=0)
    model.fit(TABLE[:160], y[:160])
    assert model.n_features_in_ == 5
    assert model.feature_names_in_.tolist() == list(TABLE)
    assert model.score(TABLE[160:], y[160:]) > (0.75 if kind in CLASSIFIERS else 0.5)
    distances, rows = model.kneighbors(TABLE[:160], 1)
    np.testing.assert_array_equal(distances, 0)  # a fitted row, given again
    assert (rows[:, 0] == np.arange(160)).mean() > 0.95
    shuffled = TABLE[["day", "colour", "x", "town", "z"]]
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(TABLE))
    if hasattr(model, "feature_weights"):
        assert model.feature_weights().shape == (5,)
    if hasattr(model, "explain"):
        assert set(model.explain(TABLE[:1])[0].names) == set(TABLE)
    assert "</table>" in model._repr_html_()


@pytest.mark.parametrize("form", [pl.from_pandas, lambda t: t.to_numpy(dtype=object)])
def test_polars_and_arrays_of_objects_give_the_same_answers(form):
    given = form(TABLE)
    model = CurvedKNeighborsClassifier(random_state=0).fit(given, KIND)
    plain = CurvedKNeighborsClassifier(random_state=0).fit(TABLE, KIND)
    np.testing.assert_array_equal(model.predict_proba(given), plain.predict_proba(TABLE))
    assert str(model.explain(given[:1])[0]).startswith(str(plain.explain(TABLE[:1])[0])[:20])


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_gaps_of_numbers_are_filled(kind):
    X = np.column_stack([x, z, x * z])
    holes = X.copy()
    holes[RNG.random(X.shape) < 0.1] = np.nan
    model = kind(random_state=0).fit(holes[:160], target_of(kind)[:160])
    assert model.n_features_in_ == 3
    assert np.isfinite(
        model.predict(holes) if kind in REGRESSORS else model.predict_proba(holes)
    ).all()
    distances, _ = model.kneighbors(holes[:160], 1)
    np.testing.assert_array_equal(distances, 0)
    whole = kind(random_state=0).fit(X, target_of(kind))
    assert whole.encoder_ is None
    assert len(whole.predict(holes)) == N  # gaps that only queries have


def test_infinite_numbers_are_missing_with_a_warning():
    X = np.column_stack([x, z])
    infinite, holes = X.copy(), X.copy()
    infinite[3, 1], holes[3, 1] = np.inf, np.nan
    said = r"1 cell cannot be read, .*: 1 in 'x1', not a finite number: 'inf' \(row 4\)"
    with pytest.warns(UnreadableCellsWarning, match=said):
        model = CurvedKernelClassifier(random_state=0).fit(infinite, KIND)
    same = CurvedKernelClassifier(random_state=0).fit(holes, KIND)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    with pytest.warns(UnreadableCellsWarning, match=said):
        found = model.predict_proba(infinite)
    np.testing.assert_array_equal(found, model.predict_proba(holes))


def test_one_odd_cell_does_not_end_a_cross_validation():
    table = pd.DataFrame({"x": x, "time": "9:05", "colour": colour})
    table["time"] = [f"{i % 12 + 8}:{i % 60:02}" for i in range(N)]
    table.loc[77, "time"] = "9.12"
    model = CurvedKNeighborsClassifier(5, geometry="flat", random_state=0)
    with pytest.warns(UserWarning, match="cell.*9.12") as warned:
        scores = cross_val_score(model, table, KIND, cv=3, error_score="raise")
    assert np.isfinite(scores).all()
    odd = [one for one in warned if one.category is UnreadableCellsWarning]
    assert len(odd) == 1  # in the fold that holds the row out


def test_blank_classes_are_missing():
    for y in (["a", " ", "b", ""], np.array(["a", " ", "b", ""])):
        with pytest.raises(InvalidInputError, match="y has no class at rows 1, 3"):
            CurvedKNeighborsClassifier(1).fit(np.eye(4), y)


def test_telling_gaps_do_not_widen_a_given_metric():
    holes = np.column_stack([x, np.where(KIND == "u", np.nan, z)])
    model = CurvedKNeighborsClassifier(3, metric=CurvedMetric.euclidean(2)).fit(holes, KIND)
    assert model.metric_.dimension == 2


def test_whole_numbers_stay_numbers_beside_text_and_unused_text_is_named():
    table = TABLE.assign(number=np.arange(N), name=[f"row {i}" for i in range(N)])
    with pytest.warns(UserWarning, match="Column name: not used: text that hardly ever repeats"):
        model = CurvedKNeighborsClassifier(random_state=0).fit(table, KIND)
    assert "number" in model.explain(table[:1])[0].names


def test_categories_that_are_numbers_or_ordered():
    size = pd.Categorical(RNG.choice(["s", "m", "l"], N), ["s", "m", "l"], ordered=True)
    table = pd.DataFrame({"size": size, "code": pd.Categorical(RNG.integers(1, 4, N)), "x": x})
    model = CurvedKNeighborsClassifier(random_state=0).fit(table, KIND)
    names = model.encoder_.get_feature_names_out().tolist()
    assert names == ["size", "x", "code=1", "code=2", "code=3"]


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_tags_tell_the_truth(kind):
    tags = get_tags(kind()).input_tags
    assert (tags.allow_nan, tags.categorical, tags.string) == (True, True, True)


def test_skrub_builds_a_pipeline_without_an_imputer():
    skrub = pytest.importorskip("skrub")
    model = skrub.tabular_pipeline(CurvedKernelClassifier(random_state=0))
    assert "simpleimputer" not in model.named_steps
    assert cross_val_score(model, TABLE, KIND, cv=2).mean() > 0.75


def test_leaving_rows_out_does_not_tell_their_targets():
    rng = np.random.default_rng(1)
    chance = pd.DataFrame({"a": rng.integers(0, 100, 400).astype(str), "x": rng.normal(size=400)})
    y = rng.integers(0, 2, 400)
    model = CurvedKNeighborsClassifier(random_state=0).fit(chance, y)
    assert model.score(None, y) < 0.6


def test_dask_queries_of_encoded_rows_are_refused():
    array = pytest.importorskip("dask.array")
    holes = np.column_stack([x, np.where(np.arange(N) % 9 == 0, np.nan, z)])
    model = CurvedKNeighborsClassifier(3, metric=CurvedMetric.euclidean(2)).fit(holes, KIND)
    with pytest.raises(InvalidInputError, match="encoded, which is done in memory"):
        model.predict(array.from_array(np.column_stack([x, z]), chunks=(60, 2)))
