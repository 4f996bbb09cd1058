"""The column to predict: found by its name, and checked to hold classes."""

import numpy as np
import pandas as pd
import pytest

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import split_target
from cayleyklein.tables._cells import parse_number
from cayleyklein.tables._columns import is_identifier


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
    "values",
    [
        np.linspace(0, 1, 40),
        np.arange(40),
        np.arange(40).astype(str),
        [f"1.0{i:02},82 €" for i in range(40)],
        [f"{i},5" for i in range(40)],
        [f"${i},250" for i in range(1, 41)],
        [f"{i} kg" for i in range(40)],
        [f"{i} %" for i in range(40)],
    ],
)
def test_quantities_are_refused(values):
    table = pd.DataFrame({"x": 1.0, "price": values})
    with pytest.raises(
        InvalidInputError, match="'price' holds 40 distinct numbers in 40 rows: a quantity"
    ):
        split_target(table, "price")
    assert len(split_target(table, "price", to_learn=False)[1]) == 40


def test_dates_are_refused_and_codes_are_not():
    days = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    with pytest.raises(InvalidInputError, match="'y' holds 40 distinct dates in 40 rows"):
        classes_of(days)
    assert len(classes_of([f"{i:05}" for i in range(40)])) == 40
    assert len(set(classes_of([f"{i % 8},5 €" for i in range(40)]))) == 8


def test_many_whole_numbers_with_many_rows_are_classes():
    assert len(set(classes_of(np.arange(300) % 30))) == 30


def test_one_long_name_does_not_lengthen_all():
    table = pd.DataFrame({"x": range(1000), "y": ["short"] * 998 + ["long" * 50_000] * 2})
    _, classes, _ = split_target(table, "y")
    assert np.asarray(classes).dtype == object  # texts of one width would take 800 MB
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


def test_numbers_are_parsed_with_marks_and_units():
    assert parse_number("51,234.10") == (51234.1, "", True)
    assert parse_number("1 250,5 €", ",") == (1250.5, "€", False)
    assert parse_number("(12%)") == (-0.12, "%", False)
    assert parse_number("1,5") is None
    assert parse_number("12-13") is None


def test_identifiers_are_numbered_rows_or_named_so():
    squares = np.arange(100.0) ** 2
    assert is_identifier("x", np.arange(1000.0, 1100.0))
    assert not is_identifier("x", squares)
    assert is_identifier("customerId", squares)
