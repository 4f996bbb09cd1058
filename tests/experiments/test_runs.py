"""Finished cells on disk: whole or not there."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.experiments import Cell, Outcome
from cayleyklein.experiments._runs import CellStore, digest, write_whole

CELL = Cell("wine", "flat", 3)
OUTCOMES = [
    Outcome(0.9, 100, 20, 0.5, 0.1, "flat", (0.0,), None, ("said",)),
    Outcome(1.0, 100, 20, 0.4, 0.1, "mixed", (1.0, -1.0), 0.5),
]


def test_round_trip(tmp_path):
    store = CellStore(tmp_path, "run")
    assert store.read(CELL) is None
    store.write(CELL, OUTCOMES)
    assert store.read(CELL) == OUTCOMES
    assert [path.name for path in tmp_path.iterdir()] == ["wine-flat-k3.json"]


def test_cells_of_another_run_do_not_count(tmp_path):
    CellStore(tmp_path, "run").write(CELL, OUTCOMES)
    assert CellStore(tmp_path, "another").read(CELL) is None


def test_a_cell_under_a_wrong_name_does_not_count(tmp_path):
    store = CellStore(tmp_path, "run")
    store.write(CELL, OUTCOMES)
    other = Cell("wine", "flat", 5)
    store.path(CELL).rename(store.path(other))
    assert store.read(other) is None


@given(part=st.floats(0, 1, exclude_max=True))
def test_half_a_file_is_ignored(tmp_path_factory, part):
    store = CellStore(tmp_path_factory.mktemp("cells"), "run")
    store.write(CELL, OUTCOMES)
    path = store.path(CELL)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    assert store.read(CELL) is None


def test_a_changed_number_is_no_result(tmp_path):
    store = CellStore(tmp_path, "run")
    store.write(CELL, OUTCOMES)
    path = store.path(CELL)
    path.write_text(path.read_text().replace("0.9", "0.8"))
    assert store.read(CELL) is None


@pytest.mark.parametrize("content", ["[]", "null", '{"run": "run"}', "\x00"])
def test_another_file_is_ignored(tmp_path, content):
    store = CellStore(tmp_path, "run")
    store.path(CELL).write_text(content)
    assert store.read(CELL) is None


def test_an_outcome_with_other_fields_is_ignored(tmp_path):
    store = CellStore(tmp_path, "run")
    store.write(CELL, OUTCOMES)
    stored = json.loads(store.path(CELL).read_text())
    stored["outcomes"][0]["new"] = 1
    stored["digest"] = digest(stored["outcomes"])
    store.path(CELL).write_text(json.dumps(stored))
    assert store.read(CELL) is None


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "new \ud800")  # a lone surrogate has no UTF-8
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
