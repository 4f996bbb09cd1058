"""Files of every kind, and what is said about those that are no tables."""

import bz2
import datetime as dt
import gzip
import importlib
import io
import json
import lzma
import os
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest

from cayleyklein.exceptions import InvalidInputError, MissingExtraError
from cayleyklein.tables import _reading, iter_table, read_table

PLAIN = b"length,colour\n1.5,blue\n-2,red\n"


def zipped(content, name="table.csv"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def encrypted(content):
    """Set the flags of a member that needs a password, before its bytes and in the directory."""
    packed = bytearray(zipped(content))
    packed[6] |= 1
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(packed)


def read(tmp_path, content, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(content)
    return read_table(path, **options)


@pytest.fixture
def small_pieces(monkeypatch):
    """A few bytes at a time, so that a few rows are many pieces."""
    monkeypatch.setattr(_reading, "BLOCK_BYTES", 24)
    monkeypatch.setattr(_reading, "PIECE_ROWS", 1)


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        b"\xef\xbb\xbf" + PLAIN,
        PLAIN.replace(b"\n", b"\r\n"),
        PLAIN.replace(b",", b"\t"),
        PLAIN.replace(b",", b";"),
        b'"length","colour"\n1.5,"blue"\n-2,red\n',
        b"\n\n" + PLAIN,
        b"sep=;\n" + PLAIN.replace(b",", b";"),
        b"\xef\xbb\xbfSEP=\t\r\n" + PLAIN.replace(b",", b"\t"),
        PLAIN.rstrip(b"\n"),
        PLAIN.decode().encode("utf-16"),
        gzip.compress(PLAIN, mtime=0),
        bz2.compress(PLAIN),
        lzma.compress(PLAIN),
        zipped(PLAIN),
        gzip.compress(b"\xef\xbb\xbf" + PLAIN.replace(b"\n", b"\r\n"), mtime=0),
    ],
    ids=[
        "plain",
        "BOM",
        "CRLF",
        "tab",
        "semicolon",
        "quoted",
        "blank lines",
        "sep",
        "sep tab",
        "no last end",
        "UTF-16",
        "gz",
        "bz2",
        "xz",
        "zip",
        "gz BOM CRLF",
    ],
)
def test_reads(tmp_path, content):
    table = read(tmp_path, content)
    assert list(table.columns) == ["length", "colour"]
    assert table["length"].tolist() == [1.5, -2.0]
    assert table["colour"].tolist() == ["blue", "red"]


def test_quoted_cells_hold_delimiters_and_lines(tmp_path):
    table = read(tmp_path, b'"a, b","c\nd"\n1,"x\ny"\n2,"u,v"\n')
    assert list(table.columns) == ["a, b", "c\nd"]
    assert table["c\nd"].tolist() == ["x\ny", "u,v"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "table.csv is empty; a table starts with a line of column names"),
        (gzip.compress(b"", mtime=0), "is blank"),
        (b"a,b\n1,2\n3\n", "line 3 has 1 cells, fewer than the 2 names"),
        (b"5.1,3.5,iris\n4.9,3.0,iris\n", "starts with numbers, 5.1, 3.5, iris"),
        (b"\n \n", "is blank"),
        (b"a,b\n", "has a line of column names, but no rows"),
        (b"1,2\n3,4\n", "starts with numbers, 1, 2, … : a first line with the names"),
        (b"a,b,a\n1,2,3\n", "more than one column named 'a'"),
        (b"a,b\n1,2,3\n4,5,6\n", "line 2 has 3 cells, more than the 2 names"),
        (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 cells, more than the 2 names"),
        (b'a,b\n1,"2\n', "a quotation mark opens a cell and is never closed"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not text: it holds zero bytes"),
        (gzip.compress(PLAIN * 99, mtime=0)[:-20], "is damaged, and cannot be unpacked"),
        (zipped(PLAIN)[:-30], "is damaged, and cannot be unpacked"),
        (b"BZh9" + 40 * b"\x01", "is damaged, and cannot be unpacked"),
        (zipped(PLAIN).replace(b"\x08\x00", b"\x08\x01"), "is damaged, and cannot be unpacked"),
        (b"sep=;\n", "is blank"),
        (b"%PDF-1.7\n%\xe2\xe3", "is a PDF document; give a CSV, Excel, JSON or Parquet file"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "is packed by zstd; pack it by gzip"),
        (encrypted(PLAIN), "is encrypted; unpack it first"),
        (zipped(b"", "xl/workbook.xml"), "is a workbook that cannot be read"),
        (b"\xd0\xcf\x11\xe0" + bytes(99), "is an old Excel workbook; save it as .xlsx or CSV"),
        (b"PAR1" + bytes(50), "cannot be read as a Parquet file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_says_what_is_wrong(tmp_path, content, message):
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path, content)


@pytest.mark.parametrize("late", [False, True])
def test_other_encodings_are_found(tmp_path, late):
    """Also past the first block."""
    rows = "a;b\n" + "x;y\n" * (600_000 if late else 1) + "größe;œuvre €\n"
    with pytest.warns(UserWarning, match="is not UTF-8, and is read as cp1252"):
        table = read(tmp_path, rows.encode("cp1252"))
    assert table.iloc[-1].tolist() == ["größe", "œuvre €"]


RECORDS = [{"length": 1.5, "colour": "blue"}, {"colour": "red", "length": -2}]
LINES = "\n".join(map(json.dumps, RECORDS))


def workbook(*sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {number}")
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


CELLS = [["length", "colour"], [1.5, "blue"], [None, None], [-2, " red "]]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (LINES.encode(), {}),
        (gzip.compress(LINES.encode() + b"\n\n", mtime=0), {}),
        (b"\xef\xbb\xbf" + json.dumps(RECORDS, indent=1).encode(), {}),
        (workbook(CELLS), {}),
        (workbook([], CELLS), {}),
        (workbook([["Wines of 2024"], [None], *CELLS]), {"skip_rows": 1}),
        (b"Wines of 2024\n\n" + PLAIN, {"skip_rows": 1}),
        (b"Wines, of 2024,\n,,\n" + PLAIN, {"skip_rows": 2}),
        (PLAIN.replace(b",", b"~"), {"delimiter": "~"}),
    ],
)
def test_reads_json_workbooks_and_titles(tmp_path, content, options, monkeypatch):
    monkeypatch.setattr(_reading, "PIECE_ROWS", 1)
    table = read(tmp_path, content, **options)
    assert table["length"].tolist() == [1.5, -2.0]
    assert table["colour"].tolist() == ["blue", "red"]


def test_a_workbook_keeps_dates_numbers_and_codes(tmp_path):
    days = [dt.datetime(2024, 1, day) for day in range(1, 13)]
    rows = [[day, f"0{i}", 0.1 + i, "-" if i else None] for i, day in enumerate(days)]
    with pytest.warns(UserWarning, match="has 2 sheets, and 'sheet 0' is read"):
        table = read(tmp_path, workbook([["day", "code", "x", "none"], *rows], [["other"]]))
    assert table["day"].tolist() == days
    assert table["x"].tolist() == [0.1 + i for i in range(12)]
    assert table["code"].tolist()[:2] == ["00", "01"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b'{"a": 1}\n{"a": ',
            "is JSON that cannot be read: .*; expected an object of cells in each",
        ),
        (b'{"a": 1}\n[3]', "JSON of row 2 is not an object of cells"),
        (b'{"a": {"b": 1}}\n{"a": {"b": 2}}', "Column 'a' holds a dict in a cell"),
        (workbook([]), "is a workbook without cells"),
        (b"Wines of 2024\n" + PLAIN, r"line 2 has 2 cells, more than the 1 names.*--skip-rows"),
    ],
)
def test_says_what_is_wrong_with_json_and_workbooks(tmp_path, content, message):
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path, content)


def test_blank_cells_are_missing_in_every_kind_of_file(tmp_path):
    table = pd.DataFrame({"a": ["u", " ", "NA", "v "], "b": ["x", None, "", "y"]})
    table.to_parquet(tmp_path / "t.parquet")
    table.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    table.to_excel(tmp_path / "t.xlsx", index=False)
    table.to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.parquet", "t.jsonl", "t.xlsx", "t.csv"):
        found = read_table(tmp_path / name)
        assert found["a"].dropna().tolist() == ["u", "v"]
        assert found["b"].dropna().tolist() == ["x", "y"]


def test_directory_and_missing_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a directory; give a file"):
        read_table(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_table(tmp_path / "nothing.csv")


def test_zip_of_several_files(tmp_path):
    path = tmp_path / "two.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", PLAIN)
        archive.writestr("b.csv", PLAIN)
    with pytest.raises(InvalidInputError, match="holds 2 files"):
        read_table(path)


def test_encoding_can_be_given(tmp_path):
    content = "größe,y\n1,ü\n".encode("cp1252")
    assert read(tmp_path, content, encoding="cp1252")["y"].tolist() == ["ü"]
    with pytest.raises(InvalidInputError, match="which Python does not know"):
        read(tmp_path, content, encoding="martian")
    with pytest.raises(InvalidInputError, match="is not ascii"):
        read(tmp_path, content, encoding="ascii")


def test_missing_values(tmp_path):
    table = read(tmp_path, b"a,b\n1,x\n,?\nNA,\n?,None\n")
    assert table["a"].isna().tolist() == [False, True, True, True]
    assert table["b"].isna().tolist() == [False, True, True, True]


def test_a_type_is_that_of_the_whole_column(tmp_path, small_pieces):
    """Numbers in the first pieces keep the form they had in the file."""
    table = read(tmp_path, b"a,b\n01,1\n2.50,2\nx,3\n")
    assert table["a"].tolist() == ["01", "2.50", "x"]
    assert table["b"].tolist() == [1.0, 2.0, 3.0]


def test_columns_with_nothing_in_them_at_first(tmp_path, small_pieces):
    table = read(tmp_path, b"a,b\n,u\n,v\n3,\n4,\n")
    np.testing.assert_array_equal(table["a"], [np.nan, np.nan, 3, 4])
    assert table["b"].isna().tolist() == [False, False, True, True]
    assert table["b"].tolist()[:2] == ["u", "v"]


def test_spaces_around_cells_do_not_matter(tmp_path):
    table = read(tmp_path, b"a , b\n 1 , red\n 2, red \n,NA \n")
    assert table["a"].tolist()[:2] == [1.0, 2.0]
    assert table["b"].tolist()[:2] == ["red", "red"]
    assert table.iloc[2].isna().all()


def test_dates_are_timestamps(tmp_path):
    table = read(tmp_path, b"a,when\n1,2024-02-28 12:30\n2,2024-03-01 00:00\n")
    assert table["when"].tolist() == [pd.Timestamp("2024-02-28 12:30"), pd.Timestamp("2024-03-01")]


def test_without_a_header(tmp_path):
    table = read(tmp_path, b"1,2,u\n3,4,v\n", header=False)
    assert table.to_dict("list") == {"x1": [1.0, 3.0], "x2": [2.0, 4.0], "x3": ["u", "v"]}


def test_text_can_be_asked_for(tmp_path):
    assert read(tmp_path, b"a,y\n1,007\n2,10\n", text=["y"])["y"].tolist() == ["007", "10"]


def test_parquet(tmp_path):
    given = pd.DataFrame({"a": [1, 2, None], "b": ["u", None, "v"], "y": [3, 4, 3]})
    given["big"] = pd.array([1, None, 3], dtype="Int64")
    given["kind"] = pd.Categorical(["p", "q", "p"])
    given["flag"] = [True, False, True]
    given.to_parquet(tmp_path / "table.bin")
    table = read_table(tmp_path / "table.bin", text=["y"])
    np.testing.assert_array_equal(table["a"], [1, 2, np.nan])
    np.testing.assert_array_equal(table["big"], [1, np.nan, 3])
    assert table["y"].tolist() == ["3", "4", "3"]
    assert table["b"].isna().tolist() == [False, True, False]
    assert table["kind"].tolist() == ["p", "q", "p"]
    assert table["flag"].tolist() == ["True", "False", "True"]


def test_what_a_parquet_file_says_of_pandas_does_not_matter(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"a": [1.0, 2.0], "b": ["u", "v"]})
    path = tmp_path / "t.parquet"
    parquet.write_table(table.replace_schema_metadata({"pandas": '{"version"; 1}'}), path)
    assert read_table(path).to_dict("list") == {"a": [1.0, 2.0], "b": ["u", "v"]}


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_rows_are_counted_through_the_pieces(tmp_path, small_pieces, name):
    given = pd.DataFrame({"length": [1.5, 2.5, 3.5], "colour": ["blue", "red", "blue"]})
    path = tmp_path / name
    given.to_parquet(path) if name.endswith("parquet") else given.to_csv(path, index=False)
    rows = [list(piece.index) for piece in iter_table(path)]
    assert [row for piece in rows for row in piece] == [0, 1, 2]
    assert len(rows) > 1


def test_progress(tmp_path, small_pieces):
    told = []
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 10)
    pieces = list(iter_table(path, progress=lambda done, total: told.append((done, total))))
    assert sum(map(len, pieces)) == 10
    assert len(told) == len(pieces) > 1
    assert told[-1] == (44, 44)


def test_pieces_are_small(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" + b"1.25,abc\n" * 2_000_000)
    sizes = [len(piece) for piece in iter_table(path)]
    assert sum(sizes) == 2_000_000
    assert max(sizes) * 9 <= _reading.BLOCK_BYTES + 9


def test_a_pipe(tmp_path):
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(PLAIN)
    with os.fdopen(reader, "rb") as file:
        assert read_table(file)["length"].tolist() == [1.5, -2.0]


def test_utf16_that_is_none_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"is not utf-16: .*tream does not start"):
        read(tmp_path, PLAIN, encoding="utf-16")


@pytest.mark.parametrize("before", [b"a,b\n", b"a,b\n1,2\n3,4\n"])
def test_a_line_without_end_is_refused(tmp_path, before):
    """A few KB can unpack to more than memory holds."""
    bomb = gzip.compress(before + b"1," + b"1" * (3 * _reading.BLOCK_BYTES))
    assert len(bomb) < 50_000
    with pytest.raises(InvalidInputError, match="a line of more than 4,194,304 bytes"):
        read(tmp_path, bomb)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (ModuleNotFoundError, r'{} is not installed; pip install "cayleyklein\[cli\]" adds it'),
        (ImportError, r'{} cannot be imported: .*pip install --upgrade "cayleyklein\[cli\]"'),
    ],
)
@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_without_the_extra(tmp_path, monkeypatch, package, problem, message):
    real = importlib.import_module

    def without(name, *arguments):
        if name.partition(".")[0] == package:
            raise problem(name)
        return real(name, *arguments)

    monkeypatch.setattr("importlib.import_module", without)
    with pytest.raises(MissingExtraError, match=message.format(package)):
        read(tmp_path, PLAIN)
