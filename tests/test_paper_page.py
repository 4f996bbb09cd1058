"""The page of the paper tells the truth: what its tables name exists, and the counts are right.

A comment at the top of docs/paper.md describes the format of its tables.
"""

import ast
import functools
import importlib
import re
from typing import NamedTuple

import pytest
from tests.snippets import ROOT

import cayleyklein
from cayleyklein.plotting import PAPER_FIGURES

PAGE = ROOT / "docs" / "paper.md"
HEADER = "| in the paper | code | test | note |"
MISSING = "—"
NOTES = ("Corrected:", "Different:")
COUNTS = (
    "The tables below have {rows} rows: {there} items are there ({corrected} of them with a "
    "correction), {different} are different on purpose, and {missing} are missing."
)


class Row(NamedTuple):
    line: int
    section: str  # the text between two headings
    item: str
    code: str
    test: str
    note: str

    @property
    def status(self):
        if self.code == MISSING:
            return "missing"
        return "different" if self.note.startswith("Different:") else "there"


def read_rows(text):
    """Return the rows of all tables with the header; a malformed one raises."""
    rows, section, inside = [], "", False
    starts = [match.start() for match in re.finditer(r"^#+ ", text, re.M)] + [len(text)]
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            offset = sum(len(row) + 1 for row in text.splitlines()[: number - 1])
            section = text[offset : min(start for start in starts if start > offset)]
        if line.strip() == HEADER:
            inside = True
        elif inside and line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) != 4:
                raise ValueError(f"line {number} has {len(cells)} cells in place of 4: {line}")
            if not set("".join(cells)) <= set("-: "):
                rows.append(Row(number, section, *cells))
        else:
            inside = False
    return rows


ROWS = read_rows(PAGE.read_text("utf-8"))


@functools.cache
def functions_of(path):
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def resolve(dotted):
    """Return what a dotted name of the library names; raise ImportError or AttributeError."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            named = getattr(thing, "__annotations__", {})
            thing = getattr(thing, part, None) if part in named else getattr(thing, part)
        return thing
    raise ImportError(dotted)


def faults_of_code(code):
    """Yield what a cell of code names, and does not exist."""
    checked = 0
    for target in re.findall(r"\{\w+\}`([^`]+)`", code):
        dotted = re.sub(r"^.*<(.+)>$", r"\1", target).lstrip("~")
        checked += 1
        try:
            resolve(dotted)
        except (ImportError, AttributeError):
            yield f"{dotted} does not exist"
    for link in re.findall(r"\]\(([^)]+)\)", code):
        script = re.fullmatch(r"auto_examples/(.+)\.rst", link)
        checked += 1
        if script and not (ROOT / "examples" / f"{script[1]}.py").is_file():
            yield f"examples/{script[1]}.py does not exist"
    for span in re.findall(r"(?<!\})`([^`]+)`", re.sub(r"\{\w+\}`[^`]+`", "", code)):
        name = re.match(r"[A-Za-z_][\w.]*", span)
        command = re.fullmatch(r"cayleyklein figures (\w+)", span)
        if command and command[1] not in PAPER_FIGURES:
            yield f"there is no figure {command[1]}"
        if re.fullmatch(r"[\w/]+\.py", span):
            checked += 1
            if not any((base / span).is_file() for base in (ROOT, ROOT / "src" / "cayleyklein")):
                yield f"{span} does not exist"
        elif name and name[0].partition(".")[0] in ("numpy", "scipy"):
            checked += 1
            resolve(name[0])
        elif "(" in span and name and name[0] != "cayleyklein":
            checked += 1
            first, *rest = name[0].split(".")
            home = cayleyklein if hasattr(cayleyklein, first) else cayleyklein.geometry
            try:
                functools.reduce(getattr, [first, *rest], home)
            except AttributeError:
                yield f"{name[0]} does not exist"
    if not checked:
        yield f"{code!r} names nothing that can be checked"


def faults_of_test(row):
    """Yield the tests that a row names, and do not exist."""
    for name in row.test.split(", "):
        if name == "this page":
            if "```python" not in row.section:
                yield "this section has no snippet"
            continue
        named = re.fullmatch(r"`([\w/]+\.py)::(test_\w+)`", name)
        if not named:
            yield f"{name!r} is no test: write `folder/test_file.py::test_name` or this page"
            continue
        path = ROOT / "tests" / named[1]
        if not path.is_file():
            yield f"tests/{named[1]} does not exist"
        elif named[2] not in functions_of(path):
            yield f"tests/{named[1]} has no {named[2]}"


def faults_of(row):
    if not row.item:
        yield "the row names no item of the paper"
    if row.status != "missing":
        yield from faults_of_code(row.code)
        yield from faults_of_test(row)
    for word in NOTES:
        if row.note.startswith(word) and len(row.note) < len(word) + 5:
            yield f"say what is {word.lower().rstrip(':')}, and why"
        if word.rstrip(":").lower() in row.note.lower() and not row.note.startswith(NOTES):
            yield f"a note with the word begins with {word!r}, which is counted"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"line {row.line}: {row.item[:40]}")
def test_what_a_row_names_exists(row):
    assert not list(faults_of(row))


def test_every_item_has_one_row():
    items = [(row.section[:20], row.item) for row in ROWS]
    assert len(set(items)) == len(items)


def test_the_counts_are_right():
    status = [row.status for row in ROWS]
    counted = {name: status.count(name) for name in ("there", "different", "missing")}
    corrected = sum(row.note.startswith("Corrected:") for row in ROWS)
    sentence = COUNTS.format(rows=len(ROWS), corrected=corrected, **counted)
    assert sentence in " ".join(PAGE.read_text("utf-8").split()), f"write: {sentence}"


def test_the_readme_has_the_same_counts():
    status = [row.status for row in ROWS]
    corrected = sum(row.note.startswith("Corrected:") for row in ROWS)
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"[{len(ROWS)} definitions, equations, claims, figures and tables]" in readme
    assert f"; {status.count('there')} are there, {corrected} of them with a correction" in readme
    assert f"and {status.count('different')} are different on purpose" in readme
    assert "missing" not in status


def test_the_figures_of_the_paper_have_rows():
    numbers = sorted(int(n) for row in ROWS for n in re.findall(r"^figure (\d)", row.item))
    assert numbers == list(range(1, len(PAPER_FIGURES) + 1))


TABLE = f"""# 1 Section
{HEADER}
|---|---|---|---|
| item \\| it | {{code}} | {{test}} | {{note}} |
"""


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        (
            {"code": "{func}`~cayleyklein.geometry.nothing`"},
            "cayleyklein.geometry.nothing does not",
        ),
        ({"code": "{meth}`B.x <cayleyklein.CurvedMetric.nothing>`"}, "nothing does not exist"),
        ({"code": "[figure](auto_examples/paper/plot_nothing.rst)"}, "plot_nothing.py does not"),
        ({"code": "`CurvedNothing(3)`"}, "CurvedNothing does not exist"),
        ({"code": "`learning/nothing.py`"}, "learning/nothing.py does not exist"),
        (
            {"code": "[f](auto_examples/paper/plot_spheres.rst), `cayleyklein figures x`"},
            "figure x",
        ),
        ({"code": "words"}, "nothing that can be checked"),
        ({"test": "`geometry/test_nothing.py::test_a`"}, "test_nothing.py does not exist"),
        ({"test": "`geometry/test_balls.py::test_nothing`"}, "has no test_nothing"),
        ({"test": "somewhere"}, "is no test"),
        ({"test": "this page"}, "has no snippet"),
        ({"note": "Different:"}, "say what is different"),
        ({"note": "b is different"}, "begins with 'Different:'"),
    ],
)
def test_a_row_that_names_nothing_is_found(cells, fault):
    good = {
        "code": "{func}`~cayleyklein.geometry.measure`, `CurvedMetric(matrix=Q)`",
        "test": "`geometry/test_balls.py::test_round_trip`",
        "note": "",
    }
    (fine,) = read_rows(TABLE.format(**good))
    assert not list(faults_of(fine))
    (row,) = read_rows(TABLE.format(**(good | cells)))
    assert any(fault in text for text in faults_of(row))


def test_a_missing_row_is_counted_and_a_broken_one_is_refused():
    (row,) = read_rows(TABLE.format(code=MISSING, test="", note=""))
    assert row.status == "missing"
    assert not list(faults_of(row))
    with pytest.raises(ValueError, match="line 4 has 5 cells"):
        read_rows(TABLE.format(code="a | b", test="", note=""))
