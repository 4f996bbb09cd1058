"""Fits: the results are those of the code that is shown, and a fit can be stopped."""

import time

import numpy as np
import pytest

pytest.importorskip("pandas")

from cayleyklein.app._fitting import Choosing, Finished, ModelTask, Panel, Step, Task, carry_out
from cayleyklein.app._learn_state import GEOMETRIES, LearnState, learn_code
from cayleyklein.app._state import PlaneState
from cayleyklein.app._tables import bundled_source, prepare, read_source
from cayleyklein.app._worker import Failed, FitProcess, FitSlots
from cayleyklein.learning import CurvedLMNN

WINE = prepare(bundled_source("wine"), "class")
TWO = prepare(
    bundled_source("wine"), "class", [c for c in WINE.columns if c not in ("flavanoids", "hue")]
)


def task(table=WINE, geometry="elliptic", k="auto"):
    return Task(table.X, table.y, table.columns, geometry, k)


def told(given, stopped=lambda: False):
    messages = []
    carry_out(given, messages.append, stopped)
    return messages


def panels(messages):
    return {message.place: message for message in messages if isinstance(message, Panel)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_the_code_gives_the_accuracy_that_is_shown(geometry, capsys):
    table = TWO if geometry in ("elliptic", "mixed") else WINE
    messages = told(task(table, geometry))
    found = panels(messages)
    assert list(found) == ["before", "flat", "curved"]
    assert isinstance(messages[-1], Finished)
    assert not messages[-1].stopped
    exec(compile(learn_code(LearnState(geometry=geometry), table), "learn.py", "exec"), {})
    printed = float(capsys.readouterr().out.split()[-1])
    assert printed == pytest.approx(found["curved"].accuracy, abs=1e-12)
    for panel in found.values():
        confusion = np.array(panel.results["confusion"])
        assert confusion.sum() == 54
        assert np.trace(confusion) / 54 == pytest.approx(panel.accuracy)
        assert sum(weight for _, weight in panel.results["weights"]) == pytest.approx(1)
        assert panel.picture["wrong"].sum() == 54 - np.trace(confusion)
        assert min(panel.picture["shapes"][0]["size"]) > 150
    if geometry in ("auto", "mixed"):
        (choosing,) = [m.text for m in messages if isinstance(m, Choosing)]
        assert {"auto": "product", "mixed": "shares"}[geometry] in choosing
        assert found["curved"].results["trials"]
        assert "Chosen: " in found["curved"].summary


@pytest.mark.filterwarnings("ignore")
def test_regions_neighbours_and_the_metric_are_those_of_the_model():
    curved = panels(told(task(TWO, "hyperbolic", 3)))["curved"]
    learner = CurvedLMNN(geometry="hyperbolic", random_state=0)
    from cayleyklein.app._fitting import split_rows

    train, _ = split_rows(TWO.y)
    metric = learner.fit(TWO.X[train], TWO.y[train]).metric_
    near, far = np.array(curved.picture["neighbors"]), curved.picture["distances"]
    i = int(np.flatnonzero(near[:, 0] >= 0)[7])
    assert i not in near[i]
    assert set(near[i]) <= set(train.tolist())
    assert far[i] == pytest.approx(metric.distance(TWO.X[i], TWO.X[near[i]]), rel=1e-9)
    raster, _, rim, *_ = curved.picture["shapes"]
    domain, codes = rim["xy"], raster["codes"]
    assert metric.domain.to_euclidean(domain) ** 2 @ [1, 1] == pytest.approx(1)
    x0, y0, x1, y1 = raster["box"]
    n = len(codes)
    for row, column in ((0, 0), (n // 2, n // 2), (n - 1, n // 3)):
        x = np.array([x0 + (x1 - x0) * column / (n - 1), y0 + (y1 - y0) * row / (n - 1)])
        assert (codes[row, column] < 0) == (not metric.contains(x))
    ((_, query),) = curved.results["planes"]
    state = PlaneState.from_query(query)
    assert state.metric.geometry == "hyperbolic"
    assert len(state.points) == 178


def test_steps_are_told():
    steps = [m for m in told(task(geometry="learned")) if isinstance(m, Step)]
    assert {step.series for step in steps} == {"flat", "learned"}
    assert all(0 <= step.accuracy <= 1 for step in steps)


def test_a_stopped_fit_learns_no_more():
    seen = []
    carry_out(task(), seen.append, lambda: any(isinstance(m, Step) for m in seen))
    assert sum(isinstance(m, Step) for m in seen) == 1
    assert seen[-1].stopped


@pytest.mark.filterwarnings("ignore")
def test_the_code_of_an_upload_runs(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    # numbers as classes, gaps, and a long name
    rows = [(*rng.normal(loc=3 * (i % 2), size=2), ("01", "b")[i % 2]) for i in range(40)]
    text = ";; \n".join(f"{x};{y};{c}\n" for x, y, c in rows)
    name = "flowers of a garden in spring, counted.csv"
    (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    source = read_source(text, name)
    table = prepare(source, source.target)
    curved = panels(told(task(table)))["curved"]
    code = learn_code(LearnState(data="upload", geometry="elliptic"), table)
    exec(compile(code, "learn.py", "exec"), {})
    assert float(capsys.readouterr().out.split()[-1]) == pytest.approx(curved.accuracy)


def drain(fit, seconds=60):
    found = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found += fit.poll()
        if found and isinstance(found[-1], Finished | Failed):
            return found
        time.sleep(0.02)
    raise AssertionError("the fit did not end")


def test_waiting_for_a_place_cancelling_and_killing():
    slots = FitSlots(most=1)
    vowel = task(prepare(bundled_source("vowel"), "class"), "learned")
    first, second = FitProcess(vowel, slots), FitProcess(vowel, slots)
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
    third = FitProcess(vowel, FitSlots(most=0))
    assert third.poll() == []
    third.cancel()
    assert isinstance(third.poll()[0], Failed)


def test_a_failure_is_told():
    assert "round" in drain(FitProcess(task(geometry="round"), FitSlots()))[-1]


def test_a_model_is_that_of_the_command(tmp_path):
    pytest.importorskip("skops")
    from cayleyklein.tables import TableClassifier, load_model

    (model,) = told(ModelTask(WINE.rows, WINE.labels, "class", "elliptic", 5))
    (tmp_path / "wine.ckm").write_bytes(model.content)
    loaded = load_model(tmp_path / "wine.ckm")
    fitted = TableClassifier(5, geometry="elliptic", random_state=0).fit(WINE.rows, WINE.labels)
    assert (loaded.predict(WINE.rows) == fitted.predict(WINE.rows)).all()
    assert loaded.target_ == "class"
