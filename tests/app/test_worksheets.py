"""Worksheets that teachers write: what is read, what is refused, and what conditions can ask."""

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cayleyklein.app._figures import Construction
from cayleyklein.app._state import PlaneState
from cayleyklein.app._worksheets import (
    Quantities,
    bundled_worksheets,
    check_step,
    read_address,
    read_folder,
    read_worksheet,
    read_worksheets,
)
from cayleyklein.exceptions import InvalidInputError

OBJECTS = (
    "point,A,,ink,0,0;point,B,,ink,0,1;point,C,,ink,0,2;segment,s,A.B,ink,0,0;"
    "circle,c,A.C,ink,0,0;polygon,ABC,A.B.C,ink,0,0;angle,w,A.B.C,ink,0,0"
)
STATE = PlaneState().with_parts(
    {"points": "0,0,0;0.5,0.1,0;0.1,0.6,0", "curvature": -0.5, "objects": OBJECTS}
)
MADE = Construction(STATE.objects, STATE.coordinates, STATE.metric)


def answer(rules, choice=""):
    sheet = read_worksheet(f"---\ntitle: T\n---\nLook.\n\n{rules}\n")
    return check_step(sheet.steps[0], MADE, choice)


def test_quantities_are_those_of_the_package():
    x = STATE.coordinates
    found = Quantities(MADE)
    assert found.length("s") == pytest.approx(STATE.metric(x[0], x[1]))
    assert found.radius("c") == pytest.approx(STATE.metric(x[0], x[2]))
    assert found.angle_sum(3) == found.angle_sum("ABC")
    assert found.bend(3) == pytest.approx(found.angle_sum(3) - 180)
    right, said = answer('- right if `K < 0 and length("s") > 0`: {length("s"):.3f}, K = {K}')
    assert right
    assert said == f"{STATE.metric(x[0], x[1]):.3f}, K = −0.5"


def test_the_first_rule_that_holds_answers():
    rules = '- if `length("t") > 0`: t\n- if `not exists("t") and abs(-2) == 2`: no t\n- else: rest'
    assert answer(rules) == (False, "no t")
    assert answer("- if `angle_sum(9) > 0 or angle_sum(9) <= 0`: x\n- else: rest")[1] == "rest"
    assert answer("- if `1 / 0 > 0`: x") == (False, "Not yet.")
    choices = "- [ ] red: No.\n- [x] blue sky: Yes,\n  it is."
    assert answer(choices, "blue sky") == (True, "Yes, it is.")
    assert answer(choices, "red") == (False, "No.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Hello", "must begin with a header"),
        ("---\ntitle: x", "must begin with a header"),
        ("---\nname: x\n---\nHi", "has title and start"),
        ("---\nstart: K=1\n---\nHi", "needs a title"),
        ("---\ntitle: x\n---\n", "no question"),
        ("---\ntitle: x\n---\nHi\n- perhaps", "A rule of"),
        ("---\ntitle: x\n---\nHi\n- if `__import__('os')`: x", "__import__"),
        ("---\ntitle: x\n---\nHi\n- if `().__class__`: x", "not known here"),
        ("---\ntitle: x\n---\nHi\n- if `9 ** 9 ** 9`: x", "Pow"),
        ("---\ntitle: x\n---\nHi\n- if `[K for K in K]`: x", "not known here"),
        ("---\ntitle: x\n---\nHi\n- if `K <`: x", "was not understood"),
        ("---\ntitle: x\n---\nHi\n- if `" + "(" * 299 + "`: x", "was not understood"),
    ],
)
def test_what_is_refused(text, said):
    with pytest.raises(InvalidInputError, match=said):
        read_worksheet(text)


def test_conditions_that_cannot_be_computed_say_so():
    with pytest.raises(InvalidInputError, match="cannot be computed"):
        answer('- if `K < "a"`: x')
    with pytest.raises(InvalidInputError, match="cannot be computed"):
        answer("- if `length()`: x")


def test_files_of_a_folder(tmp_path):
    with pytest.raises(InvalidInputError, match="no worksheet"):
        read_folder(tmp_path)
    (tmp_path / "2-mine.md").write_text("---\ntitle: Mine\n---\nLook.\n> Up.\n", "utf-8")
    (sheet,) = read_folder(tmp_path).values()
    assert sheet.title == "Mine"
    assert sheet.steps[0].hint == "Up."
    assert list(read_folder(tmp_path / "2-mine.md")) == ["mine"]
    for one in bundled_worksheets().values():
        assert PlaneState.from_query(one.start).points
        assert all(step.rules for step in one.steps)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *given):
        pass


def test_a_worksheet_of_an_address(tmp_path):
    (tmp_path / "3-my%20own.md").write_text("---\ntitle: Größe\n---\nLook.\n", "utf-8")
    (tmp_path / "long.md").write_text("x" * 100_000)
    (tmp_path / "odd.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "page.html").write_text("<script>alert(1)</script>")
    handler = functools.partial(Quiet, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_port}"
        found = read_worksheets(f"{home}/3-my%2520own.md?raw=1")
        assert {name: sheet.title for name, sheet in found.items()} == {"my%20own": "Größe"}
        for name, said in (
            ("moon.md", "could not be fetched: HTTP Error 404"),
            ("long.md", "has more than 80,000 bytes"),
            ("odd.md", "not text in UTF-8"),
            ("page.html", "must begin with a header"),
        ):
            with pytest.raises(InvalidInputError, match=said):
                read_address(f"{home}/{name}")
        server.shutdown()
    with pytest.raises(InvalidInputError, match="could not be fetched"):
        read_address(f"{home}/3-mine.md", seconds=2)
    assert list(read_worksheets(tmp_path / "3-my%20own.md")) == ["my%20own"]
    with pytest.raises(InvalidInputError, match="no worksheet"):
        read_worksheets("file://localhost/etc/hosts")
