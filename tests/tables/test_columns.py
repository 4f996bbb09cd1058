"""The column to predict: found by its name, and checked to hold classes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cayleyklein.columns.parsing import parse_number
from cayleyklein.columns.uses import is_identifier
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import split_target


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
    ("values", "last"),
    [
        (np.linspace(0, 1, 40), 1),
        (np.arange(40), 39),
        (np.arange(40).astype(str), 39),
        ([f"1.0{i:02},82 €" for i in range(40)], 1039.82),
        ([f"{i},5" for i in range(40)], 39.5),
        ([f"${i},250" for i in range(1, 41)], 40250),
        ([f"{i} kg" for i in range(40)], 39),
        ([f"{i} %" for i in range(40)], 0.39),
        (np.repeat(np.arange(18, 60), 9), 59),
    ],
)
def test_quantities_are_numbers(values, last):
    table = pd.DataFrame({"x": 1.0, "price": values})
    numbers = split_target(table, "price", task="auto")[1]
    assert (numbers.dtype, numbers[-1]) == (np.float64, last)
    assert len(set(split_target(table, "price")[1])) == len(set(values))


def test_the_decimal_mark_of_a_target_is_that_of_the_table():
    table = pd.DataFrame({"x": ["1,5"] * 20, "price": [f"{i + 1}.250" for i in range(20)]})
    assert split_target(table, "price", task="auto")[1][1] == 2250
    assert split_target(table.assign(x="1.5"), "price", task="auto")[1][1] == 2.25


def test_dates_are_refused_and_codes_are_classes():
    days = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    table = pd.DataFrame({"y": days, "x": 1})
    with pytest.raises(InvalidInputError, match="'y' holds 40 distinct dates, neither classes nor"):
        split_target(table, "y", task="auto")
    for codes in ([f"{i:05}" for i in range(40)], [f"{i % 8},5 €" for i in range(40)]):
        assert split_target(table.assign(y=codes), "y", task="auto")[1].dtype == object


@pytest.mark.parametrize("task", ["class", "number", "auto"])
def test_blank_targets_are_left_out_of_frames(task):
    blank = pd.DataFrame({"x": range(4), "y": ["1", " ", "", "2"]})
    rows, targets, n_dropped = split_target(blank, "y", task=task)
    assert (list(rows["x"]), n_dropped, len(set(targets))) == ([0, 3], 2, 2)
    assert split_target(pl.from_pandas(blank), "y", task=task)[2] == 2
    assert split_target(blank.astype({"y": "category"}), "y", task=task)[2] == 2


def test_words_are_no_numbers():
    with pytest.raises(InvalidInputError, match="'y' was said to be a number, but none of its"):
        split_target(pd.DataFrame({"y": ["a", "b"], "x": 1}), "y", task="number")


def test_many_whole_numbers_with_many_rows_are_classes():
    table = pd.DataFrame({"x": 1, "y": np.arange(300) % 30})
    assert len(set(split_target(table, "y", task="auto")[1])) == 30


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
    assert parse_number("51,234.10") == (51234.1, "", True, False)
    assert parse_number("1 250,5 €", ",") == (1250.5, "€", False, False)
    assert parse_number("(12%)") == (-0.12, "%", False, False)
    assert parse_number("<4") == parse_number("≥ 4") == (4.0, "", False, True)
    assert parse_number("1,5") is None
    assert parse_number("12-13") is None


def test_identifiers_are_numbered_rows_or_named_so():
    squares = np.arange(100.0) ** 2
    assert is_identifier("x", np.arange(1000.0, 1100.0))
    assert not is_identifier("x", squares)
    assert is_identifier("customerId", squares)
