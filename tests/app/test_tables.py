"""Tables to learn from are read as data, within bounds, and refused in words."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pandas")

from cayleyklein.app._limits import LIMITS
from cayleyklein.app._state import LETTERS
from cayleyklein.app._tables import (
    bundled_source,
    points_source,
    prepare,
    read_source,
)
from cayleyklein.datasets.loaders import SOURCES
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableEncoder, read_table, split_target

ROWS = [(0.5, 1.0, "u"), (1.5, 2.0, "v"), (2.5, -3.0, "u"), (4.0, 1e-3, "v")]


def read(text, name="mine.csv", target=None, drop=()):
    source = read_source(text.encode(), name)
    return prepare(source, target or source.target, drop)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", [None, "a{0}b{0}kind", "\ufeffa{0}b{0}kind"])
def test_reads_what_was_written(delimiter, header):
    lines = [delimiter.join(map(str, row)) for row in ROWS]
    text = "\r\n".join([*([header.format(delimiter)] if header else []), *lines, ""])
    table = read(text)
    assert table.X.tolist() == [list(row[:2]) for row in ROWS]
    assert [table.classes[i] for i in table.y] == [row[2] for row in ROWS]
    assert table.columns == (("a", "b") if header else ("x1", "x2"))


MESSY = "day,price,colour,note,kind\n" + "".join(
    f'2024-01-{i % 28 + 1:02d},"{"" if i == 3 else f"{i * 1000.5:,.1f}"}",{i % 3},x,{i % 2}\n'
    for i in range(40)
)


def test_a_messy_table_is_read_as_the_command_reads_it(tmp_path):
    (tmp_path / "mine.csv").write_text(MESSY)
    table = read(MESSY)
    rows, labels, _ = split_target(read_table(tmp_path / "mine.csv", text=["kind"]), "kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = TableEncoder().fit_transform(rows)
    np.testing.assert_allclose(table.X, X)
    assert list(labels) == [table.classes[i] for i in table.y]
    said = "\n".join(table.problem.notes)
    for word in ("day", "note", "missing"):
        assert word in said


def test_the_target_and_the_columns_are_chosen():
    text = "a,b,c,d\n" + "".join(f"{i % 7},{i % 2},{i * i},{i % 3}\n" for i in range(12))
    assert read(text).target == "d"
    table = read(text, target="b", drop=["c"])
    assert table.columns == ("a", "d")
    assert table.classes == ("0", "1")
    with pytest.raises(InvalidInputError, match="No column is left"):
        read(text, drop=["a", "b", "c"])


def test_classes_that_are_numbers_are_in_their_order():
    text = "a,b,c\n" + "".join(f"{i}.5,{i * i},{i % 12}\n" for i in range(72))
    assert read(text).classes == tuple(map(str, range(12)))
    assert prepare(bundled_source("vowel"), "class").classes == tuple(map(str, range(11)))


def test_finds_the_column_of_classes_by_its_name():
    table = read("Label,a,b\n0,1,2\n1,3,4\n0,5,6\n1,7,8\n")
    assert table.columns == ("a", "b")
    assert table.classes == ("0", "1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("a,b\n1,x\n2,x\n5,y\n6,y\n", "one column that can be used; two are needed"),
        ("a,b,c\n" + "1,2,x\n3,1e200,y\n" * 2, "numbers beyond ±1e[+]100"),
        ("a,b,c\n1,2,x\n3,4\n", "line 3 has 2 cells, fewer than the 3 names"),
        ("a,b,c\n" + "1,2,x\n3,2,y\n" * 2, "one column that can be used .b: not used: every cell"),
        ("a,b,c\n1,2,x\n3,4,x\n", "has 1 classes with two rows or more"),
        ("a,b,c\n1,2,x\n3,4,x\n5,6,y\n", "has 1 classes with two rows or more"),
        ("\0\0\0,,\n", "not text"),
        ("1,2,x\n" * (LIMITS.table_rows + 1), "rows"),
        (",".join(["1"] * (LIMITS.table_columns + 1)) + "\n", "columns"),
        ("".join(f"{i},{i * i},c{i}\n" for i in range(len(LETTERS) + 1)), "classes"),
        ("1" * (LIMITS.table_bytes + 1), "bytes"),
    ],
)
def test_says_what_is_wrong(text, said):
    with pytest.raises(InvalidInputError, match=said):
        read(text)


@given(st.text(alphabet="0123456789.,;\"'\n\tax-e", max_size=80))
def test_any_text_is_a_table_or_an_error(text):
    try:
        table = read(text, "any")
    except InvalidInputError:
        return
    assert np.isfinite(table.X).all()
    assert len(table.X) == len(table.y)


@pytest.mark.parametrize("name", SOURCES)
def test_bundled(name):
    table = prepare(bundled_source(name), "class")
    assert len(table.columns) == table.X.shape[1]
    assert len(table.classes) == len(np.unique(table.y))


def test_points_of_the_plane_are_a_table():
    table = prepare(points_source("0,0,0;1,1,2;0.5,0,0;1,0.5,2"), "class")
    assert table.classes == ("A", "C")
    assert table.X.tolist() == [[0, 0], [1, 1], [0.5, 0], [1, 0.5]]
