"""Worksheets that teachers write: what is read, what is refused, and what conditions can ask."""

import pytest

from cayleyklein.app._figures import Construction
from cayleyklein.app._state import PlaneState
from cayleyklein.app._worksheets import (
    Quantities,
    bundled_worksheets,
    check_step,
    read_folder,
    read_worksheet,
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
