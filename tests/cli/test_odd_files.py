"""Files that the command was not made for, each with the message that it gives."""

import gzip
import io

import pandas as pd
import pytest

GOOD = (
    "a,b,y\n" + "\n".join(f"{i % 7},{i % 5},{'u' if i % 7 > 2 else 'v'}" for i in range(60)) + "\n"
)
DATES = b"a,y\n" + b"".join(b"1,2024-01-%02d\n" % i for i in range(1, 31))


@pytest.mark.parametrize(
    "content",
    [
        GOOD.encode(),
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace("a,b,y", '"a","b","y"').encode(),
        GOOD.replace(",", "\t").encode(),
        gzip.compress(GOOD.encode(), mtime=0),
    ],
    ids=["plain", "BOM", "CRLF", "quoted headers", "tabs", "gz"],
)
def test_is_read(command, tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    answer = command("fit", "t.csv", "--target", "y", "-g", "flat", "-o", "m.ckm")
    assert answer.code == 0, answer.err
    assert "60 rows, 2 classes of 'y'" in answer.out
    assert command("evaluate", "m.ckm", "t.csv", "--json").json["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("content", "target", "message"),
    [
        (b"", "y", "t.csv is empty; a table starts with a line of column names."),
        (b"a,y\n", "y", "t.csv has a line of column names, but no rows."),
        (b"a,y\n1,u\n", "y", "t.csv has one row with a class; learning needs many."),
        (b"a,y\n1,u\n2,u\n3,u\n", "y", "learning a metric needs two or more"),
        (GOOD.encode(), "Y", "There is no column 'Y'. Did you mean 'y'?"),
        (GOOD.encode(), "price", "There is no column 'price'. The columns are 'a', 'b', 'y'."),
        (b"1,2\n3,4\n", "y", "t.csv starts with numbers, 1, 2, … : a first line with the names"),
        (b"a,a,y\n1,2,u\n", "y", "t.csv has more than one column named 'a'; rename them."),
        (b"a,y\n1,u,3\n", "y", "line 2 has 3 cells, more than the 2 names"),
        (b"a,y\n1,u\n2,v,3\n", "y", "line 3 has 3 cells, more than the 2 names"),
        (b"a,y\n1,u\n2,v\n", "y", "Each class has one row only: there is nothing to learn."),
        (b"a,y\n1,\n2,\n", "y", "Column 'y' has no classes: every value is missing."),
        (GOOD.replace(",", "~").encode(), "y", "are 'a~b~y'. If these are not the names"),
        (b"All of March\n\n" + GOOD.encode(), "y", "than the 1 names in the first line; quote"),
        (b"All of March\n\n" + GOOD.encode(), "y", "--skip-rows (skip_rows in Python) leaves out"),
        (b"March,,\n" + GOOD.encode(), "y", "--delimiter (delimiter) names another character"),
        (b'{"a": [1, 2], "y": ["u"]}', "y", "Column 'y' holds a list in a cell"),
        (b'{"a": 1, "y": "u"', "y", "t.csv is JSON that cannot be read"),
        (DATES, "y", "Column 'y' holds 30 distinct dates, neither classes nor numbers"),
        (b"a,y\n" + b"1,u\n1,v\n" * 9, "y", "No column of the table can be used (a: every cell"),
    ],
)
def test_says_what_is_wrong_in_one_sentence(command, tmp_path, content, target, message):
    (tmp_path / "t.csv").write_bytes(content)
    answer = command("fit", "t.csv", "--target", target, "-o", "m.ckm")
    assert (answer.code, answer.out) == (1, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_directory_and_missing(command, tmp_path):
    answer = command("fit", ".", "-t", "y", "-o", "m.ckm")
    assert (answer.code, answer.err) == (1, "cayleyklein: . is a directory; give a file.\n")
    answer = command("fit", "no.csv", "-t", "y", "-o", "m.ckm")
    assert (answer.code, answer.err) == (1, "cayleyklein: There is no file no.csv.\n")


def test_encoding_can_be_given(command, tmp_path):
    content = GOOD.replace("u", "ü").replace("v", "ö").encode("cp1252")
    (tmp_path / "t.csv").write_bytes(content)
    answer = command(
        "fit", "t.csv", "-t", "y", "-g", "flat", "-o", "m.ckm", "--encoding", "cp1252", "--json"
    )
    assert list(answer.json["classes"]) == ["ö", "ü"]


def test_output_that_cannot_be_written(command, tmp_path):
    (tmp_path / "t.csv").write_text(GOOD)
    answer = command("fit", "t.csv", "-t", "y", "-g", "flat", "-o", "no/m.ckm")
    assert (answer.code, answer.err.splitlines()[-1]) == (
        1,
        "cayleyklein: There is no directory no to write m.ckm to.",
    )
    answer = command("fit", "t.csv", "-t", "y", "-o", "t.csv")
    assert answer.code == 1
    assert "t.csv is an input; give the output another name" in answer.err
    assert (tmp_path / "t.csv").read_text() == GOOD


def test_nothing_is_read_for_an_output_that_cannot_be_written(command, tmp_path):
    answer = command("fit", "no.csv", "-t", "y", "-o", "no/m.ckm")
    assert answer.err == "cayleyklein: There is no directory no to write m.ckm to.\n"


def test_inputs_are_not_overwritten(command, wine_files, tmp_path):
    table, model = tmp_path / "t.csv", tmp_path / "m.csv"
    table.write_bytes((wine_files / "test.csv").read_bytes())
    model.write_bytes((wine_files / "wine.ckm").read_bytes())
    for name in ("predict", "neighbors"):
        for output in (table, model):
            before = output.read_bytes()
            answer = command(name, model, table, "-o", output)
            assert (answer.code, "is an input" in answer.err) == (1, True)
            assert output.read_bytes() == before


def test_decimal_commas_between_semicolons(command, tmp_path):
    rows = [(i % 7 + 0.25, i % 5 - 0.5, "uv"[i % 7 > 2]) for i in range(60)]
    points = "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows)
    commas = points.replace(",", ";").replace(".", ",")
    (tmp_path / "points.csv").write_text(points)
    (tmp_path / "commas.csv").write_text(commas)
    found = []
    for name, other in (("points.csv", "commas.csv"), ("commas.csv", "points.csv")):
        assert command("fit", name, "-t", "y", "-g", "flat", "-o", "m.ckm").code == 0
        found.append(command("neighbors", "m.ckm", name, "--json").json)
        # One format for the fitted table and those after it: 1,234 could be either number.
        answer = command("predict", "m.ckm", other)
        assert answer.code == 0
        assert "60 in 'a', not a number with a decimal" in answer.err
        answer = command("predict", "m.ckm", other, "--errors", "raise")
        assert (answer.code, answer.out) == (1, "")
        assert "Column 'a' should hold a number with a decimal" in answer.err
    assert found[0] == found[1]


@pytest.mark.parametrize("delimiter", ["", ",,", "é", '"'])
def test_wrong_delimiters(command, tmp_path, delimiter):
    (tmp_path / "t.csv").write_text(GOOD)
    answer = command("fit", "t.csv", "-t", "y", "-o", "m.ckm", "--delimiter", delimiter)
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert f"Got delimiter={delimiter!r}, but expected one character" in answer.err


def test_rare_classes_are_in_the_sample(command, tmp_path):
    rows = "".join(
        f"{i % 97},{i % 89},{'rare' if i in (5, 700) else 'common'}\n" for i in range(900)
    )
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    answer = command(
        "fit", "t.csv", "-t", "y", "-g", "flat", "-o", "m.ckm", "--subsample", "20", "--json"
    )
    assert answer.code == 0, answer.err
    assert answer.json["learned"]["n_rows"] == 22  # both rare rows besides


def test_control_characters_do_not_reach_the_terminal(command, tmp_path):
    (tmp_path / "t.csv").write_text(GOOD.replace("u\n", "\x1b[2Ju\n"))
    assert command("fit", "t.csv", "-t", "y", "-g", "flat", "-o", "m.ckm").code == 0
    answer = command("info", "m.ckm")
    assert "\\x1b[2Ju" in answer.out
    assert "\x1b" not in answer.out


def test_no_model(command, tmp_path):
    (tmp_path / "t.csv").write_text(GOOD)
    answer = command("predict", "t.csv", "t.csv")
    assert (answer.code, answer.err) == (1, "cayleyklein: t.csv is not a model of cayleyklein.\n")
    answer = command("info", ".")
    assert (answer.code, answer.err) == (
        1,
        "cayleyklein: . is a directory; give the file of a model.\n",
    )


def test_output_of_unknown_kind(command, wine_files):
    answer = command("predict", wine_files / "wine.ckm", wine_files / "test.csv", "-o", "o.docx")
    assert answer.code == 1
    assert "o.docx should end in .csv, .tsv, .tab, .jsonl, .xlsx, .parquet." in answer.err


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx", "parquet"])
def test_blank_targets_are_counted_in_every_kind_of_file(command, tmp_path, kind):
    table = pd.read_csv(io.StringIO(GOOD))
    table.loc[[2, 5], "y"] = ["", " "]
    write = {
        "csv": lambda: table.to_csv("t.csv", index=False),
        "jsonl": lambda: table.to_json("t.jsonl", orient="records", lines=True),
        "xlsx": lambda: table.to_excel("t.xlsx", index=False),
        "parquet": lambda: table.to_parquet("t.parquet"),
    }
    write[kind]()
    answer = command("fit", f"t.{kind}", "-t", "y", "-g", "flat", "-o", "m.ckm")
    assert "note: left out 2 rows without a class in 'y'" in answer.err
    assert answer.out == "m.ckm: 58 rows, 2 classes of 'y' by kernel machines, metric flat, K = 0\n"


def test_standard_input(command, monkeypatch):
    def given(text):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return "-"

    fitted = command("fit", given(GOOD), "-t", "y", "-g", "flat", "-o", "m.ckm")
    assert (fitted.code, fitted.out.split(",")[0]) == (0, "m.ckm: 60 rows")
    answer = command("predict", "m.ckm", given(GOOD))
    assert answer.out.splitlines()[1] == "1,v"
    assert command("evaluate", "m.ckm", given(GOOD), "--json").json["accuracy"] == 1
    assert "is empty; a table starts with" in command("predict", "m.ckm", given("")).err


def test_many_small_classes_are_counted_not_listed(command, tmp_path):
    rows = "".join(f"{i % 97},{i % 89},{f'c{i}' if i < 90 else 'uv'[i % 2]}\n" for i in range(300))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    answer = command("fit", "t.csv", "-t", "y", "-g", "flat", "-o", "m.ckm")
    assert (
        "note: 90 of 92 classes have fewer than 4 rows, which teach a metric little" in answer.err
    )
    assert "c17" not in answer.err
    first = command("info", "m.ckm").out.splitlines()[0]
    assert first.startswith("predicts      y: u (105), v (105), c0 (1), ")
    assert first.endswith("and 72 others")
