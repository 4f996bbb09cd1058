"""The plane in a notebook: one's own points and metric, and what was dragged handed back."""

import base64
import json
import sys
import types

import numpy as np
import pytest
from tests.app.browser import browser, reason_to_skip

from cayleyklein import CurvedMetric, explore
from cayleyklein.app._cell import SCRIPT, PlaneCell
from cayleyklein.app._pages import embedded_page
from cayleyklein.exceptions import InvalidInputError, MissingExtraError

X = np.random.default_rng(0).normal([50.0, -3.0], [8.0, 0.4], (20, 2))
LABELS = np.array(["red", "blue"] * 10)
CURVED = CurvedMetric(matrix=np.diag([0.01, 2.0]), center=[50.0, -3.0], curvature=-0.05)


def say(cell, *commands):
    return cell.hear(json.dumps({"number": 1, "commands": list(commands)}))


@pytest.mark.parametrize("K", [-0.05, 0.0, 0.2])
def test_what_comes_back_is_in_the_rows_own_coordinates(K):
    metric = CurvedMetric(matrix=CURVED.matrix, center=CURVED.center, curvature=K)
    cell = PlaneCell(X, metric, LABELS)
    assert cell.points == pytest.approx(X, abs=1e-4)
    assert cell.labels.tolist() == LABELS.tolist()
    found = cell.metric
    assert found.curvature == pytest.approx(K)
    assert found.pairwise(X, X) == pytest.approx(metric.pairwise(X, X), rel=1e-6)
    state = cell.session.state
    x, y = state.coordinates[3] * 0.5
    say(cell, {"do": "move", "index": 3, "x": x, "y": y, "view": 0, "far": False})
    middle = (X.min(axis=0) + X.max(axis=0)) / 2
    assert cell.points[3] == pytest.approx((X[3] + middle) / 2, abs=1e-3)
    say(cell, {"do": "set", "values": {"curvature": 0}})
    assert cell.metric.curvature == 0


def test_rows_of_many_columns_are_shown_on_a_plane_and_come_back_whole():
    wide = np.random.default_rng(1).normal(size=(30, 4)) * [1.0, 2.0, 0.5, 3.0]
    metric = CurvedMetric(matrix=np.eye(4), center=wide.mean(axis=0), curvature=0.1)
    cell = PlaneCell(wide, metric)
    assert cell.points.shape == (30, 4)
    back = cell._section.project(cell.points)
    assert back == pytest.approx(cell._section.project(wide), abs=1e-3)
    assert cell.labels.tolist() == [0] * 30


def test_what_is_refused():
    with pytest.raises(InvalidInputError, match="need rows X"):
        PlaneCell(metric=CURVED)
    with pytest.raises(InvalidInputError, match="labels must be one"):
        PlaneCell(X, CURVED, ["a"])
    with pytest.raises(InvalidInputError, match="not understood"):
        PlaneCell().hear("hello")


def test_the_widget_needs_its_extra_and_is_made_of_the_page(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingExtraError, match=r"cayleyklein\[notebook\]"):
        explore(X, CURVED)

    class Widget:
        """What anywidget does with values and messages, as far as it is used."""

        def __init__(self, **values):
            self.values = values
            self.sent = []

        def on_msg(self, hear):
            self.hear = hear

        def send(self, content, buffers):
            self.sent.append(buffers[0])

    def trait(*default):
        return types.SimpleNamespace(tag=lambda sync: None)

    from cayleyklein.app import _cell

    monkeypatch.setitem(sys.modules, "anywidget", types.SimpleNamespace(AnyWidget=Widget))
    traits = types.SimpleNamespace(Unicode=trait, Int=trait)
    monkeypatch.setitem(sys.modules, "traitlets", traits)
    _cell._widget_class.cache_clear()
    widget = explore(X, CURVED, labels=LABELS)
    _cell._widget_class.cache_clear()
    assert widget.values["page"].startswith("<!DOCTYPE html>")
    widget.hear(widget, json.dumps({"number": 7, "commands": ""}), [])
    assert b'"number": 7' in widget.sent[0]
    assert widget.points == pytest.approx(X, abs=1e-4)
    assert widget.metric.curvature == pytest.approx(-0.05)
    assert set(widget.labels) == {"red", "blue"}


@pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip()))
def test_the_page_lives_in_a_frame_and_hands_back_a_drag():
    assert 'src="/' not in embedded_page()
    cell = PlaneCell(X, CURVED, LABELS)
    with browser() as context:
        page = context.new_page()
        faults = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.expose_function("hear", lambda text: base64.b64encode(cell.hear(text)).decode())
        page.goto("about:blank")
        page.evaluate(
            """([script, html]) => {
              const code = `${script.replace("export default {render};", "")} return render;`;
              const values = {page: html, height: 700}, heard = [];
              const model = {
                get: name => values[name],
                on: (_, listener) => heard.push(listener),
                send: async text => {
                  const bytes = Uint8Array.from(atob(await hear(text)), c => c.charCodeAt(0));
                  for (const listener of heard) listener({}, [new DataView(bytes.buffer)]);
                },
              };
              new Function(code)()({model, el: document.body});
            }""",
            [SCRIPT, embedded_page()],
        )
        page.wait_for_selector("iframe")
        frame = page.frames[1]
        frame.wait_for_selector("body[data-ready=yes]")
        frame.wait_for_function("() => explorer.views[0].points.length === 40")
        before = cell.points[4].copy()
        place = frame.evaluate(
            """() => {
              const view = explorer.views[0], box = view.host.getBoundingClientRect();
              const [x, y] = view.toPixel(view.points[8], view.points[9]);
              return [box.left + x, box.top + y];
            }"""
        )
        edge = page.locator("iframe").bounding_box()
        x, y = edge["x"] + place[0], edge["y"] + place[1]
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 20, y + 10, steps=3)
        page.mouse.up()
        frame.wait_for_function("() => explorer.idle()")
        assert cell.points[4][0] > before[0]
        assert cell.points[4][1] < before[1]
        frame.wait_for_function("() => !document.querySelector('#undo').disabled")
        frame.click("#undo")
        frame.wait_for_function("() => explorer.idle()")
        assert cell.points[4] == pytest.approx(before, abs=1e-3)
        assert faults == []
