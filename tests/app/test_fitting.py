"""Fits: the results are those of the code that is shown, and a fit can be stopped."""

import time

import numpy as np
import pytest

from cayleyklein.app._fitting import Choosing, Finished, Panel, Step, carry_out
from cayleyklein.app._learn_state import GEOMETRIES, LearnState, learn_code
from cayleyklein.app._tables import bundled_table, read_table
from cayleyklein.app._worker import Failed, FitProcess, FitSlots
from cayleyklein.exceptions import InvalidInputError

WINE = bundled_table("wine")


def told(task, stopped=lambda: False):
    messages = []
    carry_out(task, messages.append, stopped)
    return messages


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("plane", ["projection", "columns"])
def test_the_code_gives_the_accuracy_that_is_shown(geometry, plane, capsys):
    state = LearnState(geometry=geometry, plane=plane, x="6", y="9")
    messages = told(state.task(WINE))
    panels = {message.place: message for message in messages if isinstance(message, Panel)}
    assert list(panels) == ["before", "flat", "curved"]
    assert isinstance(messages[-1], Finished)
    assert not messages[-1].stopped
    code = learn_code(state, WINE)
    assert len(code.splitlines()) <= 12
    exec(compile(code, "learn.py", "exec"), {})
    printed = float(capsys.readouterr().out.split()[-1])
    assert printed == pytest.approx(panels["curved"].accuracy, abs=1e-12)
    for panel in panels.values():
        assert panel.confusion.sum() == 54
        assert np.trace(panel.confusion) / 54 == pytest.approx(panel.accuracy)
        assert panel.codes.shape == (len(panel.y), len(panel.x))


@pytest.mark.parametrize(("geometry", "words"), [("mixed", "shares"), ("auto", "product")])
def test_it_is_told_that_held_out_rows_are_asked(geometry, words):
    messages = told(LearnState(geometry=geometry).task(WINE))
    (choosing,) = [m.text for m in messages if isinstance(m, Choosing)]
    assert words in choosing
    panel = next(m for m in messages if isinstance(m, Panel) and m.place == "curved")
    assert "Chosen: " in panel.summary
    assert "neighbours vote" in panel.summary


def test_steps_are_told():
    steps = [m for m in told(LearnState(geometry="learned").task(WINE)) if isinstance(m, Step)]
    assert {step.series for step in steps} == {"flat", "learned"}
    assert all(0 <= step.accuracy <= 1 for step in steps)
    assert {step.n_pass for step in steps} == {1, 2, 3, 4}


def test_parts_of_a_product_are_told():
    table = bundled_table("balance")
    messages = told(LearnState(geometry="auto").task(table))
    parts = dict.fromkeys(m.part for m in messages if isinstance(m, Step))
    assert len(parts) == 3
    assert [part.split(",")[0] for part in parts] == ["flat", "elliptic", "elliptic"]
    panel = next(m for m in messages if isinstance(m, Panel) and m.place == "curved")
    assert "product: elliptic (K = 0.09) × elliptic (K = 1) × flat (K = 0)" in panel.summary


@pytest.mark.filterwarnings("ignore")
def test_the_code_with_votes_and_iterations(capsys):
    state = LearnState(geometry="elliptic", neighbors="5", iterations="50")
    curved = next(m for m in told(state.task(WINE)) if isinstance(m, Panel) and m.place == "curved")
    exec(compile(learn_code(state, WINE), "learn.py", "exec"), {})
    assert float(capsys.readouterr().out.split()[-1]) == pytest.approx(curved.accuracy)


def test_a_stopped_fit_learns_no_more():
    seen = []
    task = LearnState(geometry="elliptic", iterations="1000").task(WINE)
    carry_out(task, seen.append, lambda: any(isinstance(m, Step) for m in seen))
    assert sum(isinstance(m, Step) for m in seen) == 1
    assert seen[-1].stopped


@pytest.mark.filterwarnings("ignore")
def test_the_code_of_an_upload_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    # numbers as classes, gaps, and a long name
    rows = [(*rng.normal(loc=3 * (i % 2), size=2), ("01", "b")[i % 2]) for i in range(40)]
    text = ";; \n".join(f"{x};{y};{c}\n" for x, y, c in rows)
    name = "flowers of a garden in spring, counted.csv"
    (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    table, state = read_table(text, name), LearnState(geometry="elliptic")
    curved = next(
        m for m in told(state.task(table)) if isinstance(m, Panel) and m.place == "curved"
    )
    exec(compile(learn_code(state, table), "learn.py", "exec"), {})
    assert float(capsys.readouterr().out.split()[-1]) == pytest.approx(curved.accuracy)


def test_two_different_columns_are_needed():
    with pytest.raises(InvalidInputError, match="two different columns"):
        LearnState(plane="columns", x="1", y="1").task(WINE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("".join(f"{i}.5,2,{i % 2}\n" for i in range(20)), "every cell is 2.; two are needed"),
        ("".join(f"{i}.5,{i * i},{i % 8}\n" for i in range(16)), "too few for 8 classes"),
    ],
)
def test_what_cannot_be_learned_is_said_before(text, said):
    with pytest.raises(InvalidInputError, match=said):
        LearnState().task(read_table(text, "mine.csv"))


def drain(fit, seconds=60):
    found = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found += fit.poll()
        if found and isinstance(found[-1], Finished | Failed):
            return found
        time.sleep(0.02)
    raise AssertionError("the fit did not end")


def test_a_process_tells_what_a_call_does():
    task = LearnState(geometry="elliptic").task(WINE)
    fit = FitProcess(task, FitSlots())
    by_process = [m for m in drain(fit) if isinstance(m, Panel)]
    here = [m for m in told(task) if isinstance(m, Panel)]
    assert [p.accuracy for p in by_process] == [p.accuracy for p in here]
    fit.kill()


def test_waiting_for_a_place_cancelling_and_killing():
    slots = FitSlots(most=1)
    vowel = bundled_table("vowel")
    task = LearnState(geometry="learned", iterations="1000").task(vowel)
    first, second = FitProcess(task, slots), FitProcess(task, slots)
    first.poll()
    second.poll()
    assert first.started
    assert not second.started
    first.cancel()
    ending = drain(first)[-1]
    assert isinstance(ending, Failed) or ending.stopped
    first.kill()
    second.poll()
    assert second.started
    second.kill()
    assert not second.process.is_alive()
    assert slots.free()


def test_a_fit_that_waits_can_be_cancelled():
    fit = FitProcess(LearnState().task(WINE), FitSlots(most=0))
    assert fit.poll() == []
    fit.cancel()
    assert isinstance(fit.poll()[0], Failed)


def test_a_failure_is_told():
    task = LearnState().task(WINE)._replace(geometry="round")
    assert "round" in drain(FitProcess(task, FitSlots()))[-1]
