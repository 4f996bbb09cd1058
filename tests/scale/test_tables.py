"""What Dask collections of real tables hold: text, missing values, other types, odd names."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from cayleyklein import (
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedMetric,
    CurvedNeighbors,
)
from cayleyklein._distributed import is_dask
from cayleyklein.exceptions import InvalidInputError

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.arange(60) % 2
TABLE = pd.DataFrame(X, columns=["chunks", "rechunk", "c"])  # named like attributes of arrays
FLAT = CurvedMetric.euclidean(3)


def lazy(table, npartitions=3):
    return dd.from_pandas(table, npartitions=npartitions)


def learners():
    return CurvedLMNN(geometry="flat"), CurvedKNeighborsClassifier(metric=FLAT)


# -- columns ------------------------------------------------------------------------


def unreadable(part):
    raise AssertionError("nothing should be read")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["u", "v"], "str"),
        (pd.array(["u", "v"], dtype="string"), "string"),
        (pd.Categorical(["u", "v"]), "category"),
        (pd.to_datetime(["2000-01-01", "2000-01-02"]), "datetime64"),
    ],
)
def test_columns_without_numbers_are_refused_before_anything_is_read(column, kind):
    wrong = TABLE.iloc[:2].assign(kind=column)
    if getattr(wrong.kind.dtype, "categories", wrong.kind).dtype == object:
        pytest.skip("before pandas 3 text was objects, which may be anything")
    frame = lazy(wrong, 1).map_partitions(unreadable, meta=wrong.iloc[:0])
    fitted = CurvedNeighbors().fit(X)
    for act in (
        *(lambda model=model: model.fit(frame, Y[:2]) for model in learners()),
        lambda: CurvedNeighbors().fit(frame),
        lambda: fitted.kneighbors(frame),
    ):
        with pytest.raises(InvalidInputError, match=rf"no numbers: kind \({kind}"):
            act()


def test_categories_that_are_numbers_are_numbers():
    numbers = TABLE.assign(c=pd.Categorical(np.arange(60) % 4))
    expected = CurvedNeighbors().fit(numbers.astype(float)).kneighbors()[0]
    np.testing.assert_array_equal(CurvedNeighbors().fit(lazy(numbers)).kneighbors()[0], expected)


def test_nullable_columns():
    nullable = TABLE.assign(c=pd.array(np.arange(60) % 5, dtype="Int64")).astype(
        {"chunks": "Float64"}
    )
    expected = CurvedNeighbors().fit(nullable.astype(float)).kneighbors()[0]
    np.testing.assert_array_equal(CurvedNeighbors().fit(lazy(nullable)).kneighbors()[0], expected)
    nullable.loc[41, "c"] = pd.NA
    with pytest.raises(InvalidInputError, match=r"NaN or infinite entries at index \(41, 2\)"):
        CurvedNeighbors().fit(lazy(nullable))


def test_masked_entries_are_refused():
    masked = da.ma.masked_array(da.from_array(X, chunks=(20, 3)), mask=da.from_array(X > 2))
    with pytest.raises(InvalidInputError, match="X is a masked array with masked entries"):
        CurvedNeighbors().fit(masked)


def test_an_unknown_number_of_columns_is_refused():
    some = da.from_array(X)[:, da.from_array(np.array([True, False, True]))]
    with pytest.raises(InvalidInputError, match=r"X\.compute_chunk_sizes\(\)"):
        CurvedNeighbors().fit(some)


def test_what_could_hold_a_collection_but_does_not_is_none():
    class Wrapper:
        def __init__(self, graph):
            self.graph = graph

        def __dask_graph__(self):
            return self.graph

    assert not is_dask(Wrapper(None))
    assert is_dask(Wrapper({}))


# -- targets ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["str", "string", "object", "category", "float", "Int64"])
def test_a_missing_class_is_named_by_its_row(kind):
    numbers = kind in ("float", "Int64")
    y = pd.Series(Y if numbers else np.array(["u", "v"])[Y], dtype=kind)
    y[47] = None
    for target in (y, y.tolist(), lazy(y, 2)):
        for model in learners():
            with pytest.raises(InvalidInputError, match=r"^y has .*47; drop"):
                model.fit(lazy(TABLE), target)


def test_classes_of_several_types():
    y = pd.Series([*Y[:30].tolist(), *map(str, Y[30:])], dtype=object)
    for target in (y, da.from_array(y.to_numpy(), chunks=30)):  # a series of Dask is all text
        for model in learners():
            with pytest.raises(InvalidInputError, match="y mixes classes of the types int, str"):
                model.fit(lazy(TABLE), target)


def test_targets_of_other_shapes_are_refused():
    for target in (np.stack([Y, Y], axis=1), da.from_array(np.stack([Y, Y], axis=1))):
        for model in learners():
            with pytest.raises(InvalidInputError, match="1d array"):
                model.fit(lazy(TABLE), target)
    for model in learners():
        with pytest.raises(InvalidInputError, match="y is a Dask Delayed"):
            model.fit(lazy(TABLE), dask.delayed(Y))
        with pytest.raises(
            InvalidInputError, match=r"y has 1\b.*each row needs one|60 rows, but y has 1"
        ):
            model.fit(lazy(TABLE), 3)
        with pytest.raises(InvalidInputError, match="requires y"):
            model.fit(lazy(TABLE))


def test_many_classes_are_no_regression():
    y = np.arange(60) % 25  # a warning would be an error
    expected = CurvedKNeighborsClassifier(metric=FLAT).fit(X, y).predict(X)
    model = CurvedKNeighborsClassifier(metric=FLAT).fit(lazy(TABLE), y)
    np.testing.assert_array_equal(model.predict(TABLE), expected)


def test_bad_weights_are_named():
    weights = np.ones(60)
    for bad in (-1.0, np.nan):
        weights[33] = bad
        with pytest.raises(InvalidInputError, match="sample_weight"):
            CurvedLMNN(geometry="flat").fit(lazy(TABLE), Y, sample_weight=weights)
    with pytest.raises(InvalidInputError, match="weight"):
        CurvedLMNN(geometry="flat").fit(lazy(TABLE), Y, sample_weight=da.zeros(60))


def test_lazy_targets_of_rows_in_memory():
    expected = CurvedLMNN(geometry="flat", n_passes=1)
    for y in (da.from_array(Y), lazy(pd.Series(Y))):
        learner = CurvedLMNN(geometry="flat", n_passes=1)
        learner.fit(X, y, sample_weight=da.ones(60))
        assert learner.metric_ == expected.fit(X, Y).metric_


# -- answers ------------------------------------------------------------------------


def test_predictions_are_a_column_of_the_table_that_was_asked():
    frame = lazy(TABLE)
    frame = frame[frame["c"] > -1]
    model = CurvedKNeighborsClassifier(metric=FLAT).fit(TABLE, np.array(["u", "v"])[Y])
    table = frame.assign(guess=model.predict(frame)).compute()
    expected = TABLE[TABLE["c"] > -1]
    assert table["guess"].tolist() == model.predict(expected).tolist()


def test_the_score_of_a_regressor():
    inside = CurvedKNeighborsRegressor(random_state=0).fit(TABLE, X[:, 0])
    spread = CurvedKNeighborsRegressor(random_state=0).fit(lazy(TABLE), lazy(TABLE["chunks"]))
    expected = inside.score(TABLE, X[:, 0])
    assert inside.score(lazy(TABLE), lazy(TABLE["chunks"])) == expected
    assert spread.score(lazy(TABLE), X[:, 0]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("geometry", ["flat", "elliptic"])
def test_transform_is_lazy(geometry):
    learner = CurvedLMNN(geometry=geometry, n_passes=1).fit(TABLE, Y)
    found = learner.transform(lazy(TABLE))
    assert is_dask(found)
    np.testing.assert_allclose(found.compute(), learner.transform(TABLE), rtol=1e-14)
    single = TABLE.astype(np.float32)
    assert learner.transform(lazy(single)).dtype == learner.transform(single).dtype == np.float32


def test_a_notebook_shows_what_is_fitted_on_a_cluster():
    model = CurvedKNeighborsClassifier(metric=FLAT).fit(lazy(TABLE), Y)
    assert "kneighbors" in dir(model)
    assert "The learned metric" in model._repr_mimebundle_()["text/html"]


def test_rows_are_not_added_to_none():
    for model in (CurvedKNeighborsClassifier(), CurvedKNeighborsRegressor(), CurvedNeighbors()):
        with pytest.raises(InvalidInputError, match="partial_fit adds rows in memory"):
            model.partial_fit(lazy(TABLE), Y)
