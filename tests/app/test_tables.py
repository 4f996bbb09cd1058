"""Uploads are read as data, within bounds, and refused in words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.app._tables import (
    BUNDLED,
    MOST_BYTES,
    MOST_CLASSES,
    MOST_COLUMNS,
    MOST_ROWS,
    bundled_table,
    read_table,
)
from cayleyklein.exceptions import InvalidInputError

ROWS = [(0.5, 1.0, "u"), (1.5, 2.0, "v"), (2.5, -3.0, "u"), (4.0, 1e-3, "v")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", [None, "a{0}b{0}kind", "\ufeffa{0}b{0}kind"])
def test_reads_what_was_written(delimiter, header):
    lines = [delimiter.join(map(str, row)) for row in ROWS]
    text = "\r\n".join([*([header.format(delimiter)] if header else []), *lines, ""])
    table = read_table(text, "mine.csv")
    assert table.X.tolist() == [list(row[:2]) for row in ROWS]
    assert [table.classes[i] for i in table.y] == [row[2] for row in ROWS]
    assert table.columns == (("a", "b") if header else ("x1", "x2"))


def test_lines_may_end_as_they_did_on_old_computers():
    assert len(read_table("a,b,c\r1,2,x\r3,4,y\r5,6,x\r0,1,y\r", "mine.csv").X) == 4


def test_finds_the_column_of_classes_by_its_name():
    table = read_table("Label,a,b\n0,1,2\n1,3,4\n0,5,6\n1,7,8\n", "mine.csv")
    assert table.columns == ("a", "b")
    assert table.classes == ("0", "1")


def test_numbers_as_classes_in_the_last_column():
    table = read_table("a,b,c\n1,2,0\n3,4,1\n5,6,0\n7,8,1\n", "mine.csv")
    assert table.columns == ("a", "b")
    assert len(table.X) == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("a,b\n1,x\n2,x\n5,y\n6,y\n", "one column that can be used; two are needed"),
        ("a,b,c\n" + "1,2,x\n3,1e200,y\n" * 2, "numbers beyond ±1e[+]100"),
        ("a,b,c\n1,2,x\n3,4\n", "line 3 has 2 cells, fewer than the 3 names"),
        ("a,b,c\n" + "1,2,x\n3,2,y\n" * 2, "one column that can be used .b: not used: every cell"),
        ("a,b,c\n1,2,x\n3,4,x\n", "1 classes"),
        ("a,b,c\n1,2,x\n3,4,x\n5,6,y\n", "Class 'y' has a single row"),
        ("\0\0\0,,\n", "no text"),
        ("1,2,x\n" * (MOST_ROWS + 1), "rows"),
        (",".join(["1"] * (MOST_COLUMNS + 1)) + "\n", "columns"),
        ("".join(f"1,2,{i}\n" for i in range(MOST_CLASSES + 1)), "classes"),
        ("1" * (MOST_BYTES + 1), "bytes"),
    ],
)
def test_says_what_is_wrong(text, said):
    with pytest.raises(InvalidInputError, match=said):
        read_table(text, "mine.csv")


@given(st.text(alphabet="0123456789.,;\"'\n\tax-e", max_size=80))
def test_any_text_is_a_table_or_an_error(text):
    try:
        table = read_table(text, "any")
    except InvalidInputError:
        return
    assert np.isfinite(table.X).all()
    assert len(table.X) == len(table.y)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled(name):
    table = bundled_table(name)
    assert len(table.columns) == table.X.shape[1]
    assert len(table.classes) == len(np.unique(table.y))
