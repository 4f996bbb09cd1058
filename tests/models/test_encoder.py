import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.models import TableEncoder, split_target


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(50, 10, 60),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], 60)),
            "many": [f"v{i % 12}" for i in range(60)],
            "name": [f"row {i}" for i in range(60)],
            "same": 7.0,
            "nothing": np.nan,
            "flag": rng.random(60) > 0.5,
        }
    )
    frame.loc[[3, 4], "size"] = [np.nan, np.inf]
    frame.loc[5, "colour"] = None
    return frame


def test_says_what_becomes_of_each_column(table):
    encoder = TableEncoder(max_categories=5).fit(table)
    kinds = {use.name: use.kind for use in encoder.uses_}
    assert kinds == {
        "size": "number",
        "colour": "category",
        "many": "category",
        "name": "unused",
        "same": "unused",
        "nothing": "unused",
        "flag": "category",
    }
    said = {use.name: use.text for use in encoder.uses_}
    assert "2 missing values become the median" in said["size"]
    assert "1 missing value becomes the most frequent" in said["colour"]
    assert "and one for the 8 rarest" in said["many"]
    assert "identifier" in said["name"]
    assert said["same"] == "not used: every value is 7.0"
    assert said["nothing"] == "not used: every value is missing"


def test_numbers_are_imputed_and_standardised(table):
    encoder = TableEncoder().fit(table)
    size = encoder.transform(table)[:, 0]
    assert size.mean() == pytest.approx(0, abs=1e-12)
    assert size.std() == pytest.approx(1)
    known = table["size"].replace(np.inf, np.nan)
    center = (known.median() - known.fillna(known.median()).mean()) / known.fillna(
        known.median()
    ).std(ddof=0)
    np.testing.assert_allclose(size[[3, 4]], center)


def test_categories_are_one_hot(table):
    encoder = TableEncoder().fit(table[["colour"]])
    rows = encoder.transform(table)
    np.testing.assert_array_equal(rows.sum(axis=1), 1)
    for column, name in enumerate(["blue", "green", "red"]):
        chosen = (table["colour"] == name).to_numpy()
        assert rows[chosen, column].all()


def test_each_row_is_encoded_by_itself(table):
    encoder = TableEncoder().fit(table)
    whole = encoder.transform(table)
    np.testing.assert_array_equal(encoder.transform(table[40:50]), whole[40:50])


def test_agrees_with_scikit_learn(table):
    encoder = TableEncoder(max_categories=5).fit(table[["size", "many", "flag"]])
    size = table[["size"]].replace(np.inf, np.nan)
    numbers = StandardScaler().fit_transform(SimpleImputer(strategy="median").fit_transform(size))
    flags = OneHotEncoder(sparse_output=False).fit_transform(table[["flag"]])
    found = encoder.transform(table)
    np.testing.assert_allclose(found[:, :1], numbers, atol=1e-12)
    np.testing.assert_array_equal(found[:, -2:], flags)
    assert found.shape[1] == 1 + 5 + 2


@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1.0, 1e200, 1e307])
def test_numbers_of_any_size_are_standardised(unit):
    values = np.arange(9) * unit
    encoded = TableEncoder().fit_transform(pd.DataFrame({"a": values}))[:, 0]
    assert encoded.mean() == pytest.approx(0, abs=1e-9)
    assert encoded.std() == pytest.approx(1)


def test_numbers_far_from_the_mean_do_not_overflow():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.7e308, 1.2e308]}))
    encoded = encoder.transform(pd.DataFrame({"a": [-1.7e308]}))
    assert encoded[0, 0] == pytest.approx(-3.15 / 0.25)


def test_columns_of_several_levels_have_names():
    levels = pd.MultiIndex.from_tuples([("size", "x"), ("size", "y")])
    table = pd.DataFrame([[1.0, 2.0], [3.0, 5.0]], columns=levels)
    encoder = TableEncoder().fit(table)
    assert encoder.used_ == ["('size', 'x')", "('size', 'y')"]
    np.testing.assert_array_equal(encoder.transform(table), [[-1.0, -1.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([*map(str, range(20)), "-", "-"], "20 of its values are numbers, but not '-'"),
        ([f"{i},5" for i in range(20)], "look like numbers with commas"),
    ],
)
def test_numbers_that_are_taken_for_text_are_said(values, message):
    table = pd.DataFrame({"a": values, "b": range(len(values))})
    assert message in TableEncoder().fit(table).uses_[0].text
    assert (
        "numbers"
        not in TableEncoder()
        .fit(table.assign(a=["u", "v"] * 10 + ["w"] * (len(values) - 20)))
        .uses_[0]
        .text
    )


def test_columns_are_found_by_name(table):
    encoder = TableEncoder().fit(table)
    shuffled = table[table.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(table))
    assert encoder.check_columns(list(shuffled.columns)) == ["more"]
    with pytest.raises(InvalidInputError, match="lacks 2 columns: 'size', 'flag'"):
        encoder.transform(table.drop(columns=["size", "flag", "same"]))


def test_unseen_categories_are_zeros_and_counted(table):
    encoder = TableEncoder().fit(table[["colour", "size"]])
    other = pd.DataFrame({"size": [1.0, 2.0, 3.0], "colour": ["pink", "red", None]})
    assert encoder.unseen(other) == {"colour": 1}
    np.testing.assert_array_equal(encoder.transform(other)[0, 1:], 0)


def test_text_among_numbers_is_named(table):
    encoder = TableEncoder().fit(table)
    wrong = table.assign(size=table["size"].astype(object))
    wrong.loc[32, "size"] = "huge"
    for piece in (wrong, wrong[30:]):  # the row of the whole table
        with pytest.raises(InvalidInputError, match=r"'size' .* numbers, but row 33 has 'huge'"):
            encoder.transform(piece)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[1.0]], "must be a pandas DataFrame"),
        (pd.DataFrame(index=range(3)), "no column to learn from"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame({"a": [1, 1], "b": [None, None]}), "No column of the table can be used"),
        (pd.DataFrame({"a": [1j, 2, 3]}), "'a' holds complex numbers"),
        (pd.DataFrame({"a": [[1], [2], [1]]}), "'a' holds a list in a cell"),
    ],
)
def test_refuses(given, message):
    with pytest.raises(InvalidInputError, match=message):
        TableEncoder().fit(given)


# -- the target ----------------------------------------------------------------------------


def classes_of(values):
    return split_target(pd.DataFrame({"x": range(len(values)), "y": values}), "y")[1].tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        ([1, 2], ["1", "2"]),
        ([1.0, 2.0], ["1", "2"]),
        (["1.0", "2"], ["1", "2"]),
        (["007", "7"], ["007", "7"]),
        ([True, False], ["True", "False"]),
        ([0.5, 1.0], ["0.5", "1"]),
    ],
)
def test_classes_are_text(values, expected):
    assert classes_of(values) == expected


@pytest.mark.parametrize(
    "values", [np.linspace(0, 1, 40), np.arange(40), np.arange(40).astype(str)]
)
def test_quantities_are_refused(values):
    table = pd.DataFrame({"x": 1.0, "price": values})
    with pytest.raises(
        InvalidInputError, match="'price' holds 40 distinct numbers in 40 rows: a quantity"
    ):
        split_target(table, "price")
    assert len(split_target(table, "price", to_learn=False)[1]) == 40


def test_many_whole_numbers_with_many_rows_are_classes():
    assert len(set(classes_of(np.arange(300) % 30))) == 30


def test_one_long_name_does_not_lengthen_all():
    table = pd.DataFrame({"x": range(1000), "y": ["short"] * 998 + ["long" * 50_000] * 2})
    tracemalloc.start()
    _, classes, _ = split_target(table, "y")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10e6  # texts of one width would take 800 MB
    assert sorted(map(len, set(classes))) == [5, 200_000]


def test_rows_without_a_class_are_left_out():
    table = pd.DataFrame({"x": [1, 2, 3], "y": ["a", None, "b"]})
    rows, classes, dropped = split_target(table, "y")
    assert rows["x"].tolist() == [1, 3]
    assert (classes.tolist(), dropped) == (["a", "b"], 1)
    with pytest.raises(InvalidInputError, match="no classes: every value is missing"):
        split_target(table.assign(y=None), "y")


def test_a_wrong_name_suggests_the_nearest():
    table = pd.DataFrame({"species": ["a"], "length": [1.0]})
    with pytest.raises(InvalidInputError, match=r"no column 'Specie'\. Did you mean 'species'"):
        split_target(table, "Specie")
    with pytest.raises(InvalidInputError, match="The columns are 'species', 'length'"):
        split_target(table, "zzz")
