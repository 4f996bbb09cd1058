"""The page of the plane: a Bokeh document that draws a visitor's scene and hears commands."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
from bokeh.document import Document
from bokeh.events import (
    DoubleTap,
    MouseLeave,
    MouseMove,
    Pan,
    PanEnd,
    PanStart,
    Tap,
)
from bokeh.models import ColumnDataSource, CustomJS, Range1d
from bokeh.plotting import figure

from cayleyklein.app._commands import PlaneSession, as_spot
from cayleyklein.app._pages import connect, read_commands, render, said_source, wire_source
from cayleyklein.app._readout import read_out, read_out_point
from cayleyklein.app._scene import N_SHADES, Scene
from cayleyklein.app._state import RANGES, PlaneState
from cayleyklein.app._svg import describe
from cayleyklein.app._theme import (
    CLASS_FILL,
    LINES,
    MARKERS,
    THEMES,
    class_color,
    geometry_color,
    line_color,
    shade_strength,
)
from cayleyklein.exceptions import CayleyKleinError

__all__ = ["PlanePage"]

ZOOM_OUT = 3.0
"""How many times its first width a view may be zoomed out to."""

PLOT_EVENTS = {
    PanStart: "grab",
    Pan: "drag",
    PanEnd: "drop",
    Tap: "tap",
    DoubleTap: "add",
    MouseMove: "hover",
    MouseLeave: "leave",
}
"""What the pointer does, and what the page's script calls it."""

FEW, BIG, SMALL = 60, 11, 7
"""Up to how many points are drawn big, and the pixels of a big and a small one."""

EMPTY = np.empty((0, 2), dtype=np.float32)


class PlanePage:
    """One visitor's page of the plane.

    Parameters
    ----------
    document : bokeh Document
        Empty; it is filled.
    parts : mapping of str to str
        The query of the address.
    """

    def __init__(self, document: Document, parts: dict[str, str]) -> None:
        self.document = document
        self.theme = THEMES["light"]
        self.errors: list[str] = []
        try:
            state = PlaneState.from_query(parts)
        except CayleyKleinError as error:
            state = PlaneState.from_query({})
            self.errors.append(f"The address was not understood: {error}")
        self.session = PlaneSession(state)
        self.wire, self.said = wire_source(), said_source()
        self.wire.on_change("data", lambda _attr, _old, new: self._hear(new))
        self._drawn: dict[str, Any] = {}
        self._make_plot()
        self._draw()
        self._say(0)
        self._listen()
        render(document, "plane.html", "The plane", page="plane", ranges=RANGES)

    # -- drawing --------------------------------------------------------------------

    def _make_plot(self) -> None:
        plot = figure(
            name="plot",
            sizing_mode="stretch_both",
            tools="wheel_zoom",
            active_scroll="wheel_zoom",
            toolbar_location=None,
            min_border=0,
            outline_line_color=None,
            background_fill_alpha=0,
            border_fill_alpha=0,
            x_range=Range1d(start=-1, end=1),
            y_range=Range1d(start=-1, end=1),
        )
        plot.axis.visible = plot.grid.visible = False
        self.plot = plot
        self.sources: dict[str, ColumnDataSource] = {}
        cells = self._source("cells", xs=[], ys=[], fill=[], alpha=[])
        self.cells = plot.patches(
            "xs", "ys", fill_color="fill", fill_alpha="alpha", line_join="round", source=cells
        )
        balls = self._source("balls", xs=[], ys=[])
        self.balls = plot.patches("xs", "ys", fill_alpha=0.16, line_color=None, source=balls)
        self.lines = {
            name: plot.line(
                "x",
                "y",
                line_width=line.width,
                line_dash=list(line.dash),
                line_alpha=line.alpha,
                line_join="round",
                source=self._source(name, x=[], y=[]),
            )
            for name, line in LINES.items()
        }
        self.pointer = plot.line(
            "x", "y", line_width=1, line_dash=[2, 2], source=self._source("pointer", x=[], y=[])
        )
        plot.scatter("x", "y", size=6, color="#e69f00", source=self._source("marks", x=[], y=[]))
        self.handles = plot.scatter(
            "x",
            "y",
            size=13,
            marker="marker",
            line_width=2,
            source=self._source("handles", x=[], y=[], marker=[]),
        )
        self.rings = plot.scatter(
            "x",
            "y",
            size="size",
            fill_alpha=0,
            line_width=2,
            source=self._source("rings", x=[], y=[], size=[]),
        )
        self.points = plot.scatter(
            "x",
            "y",
            size="size",
            marker="marker",
            fill_color="fill",
            alpha="alpha",
            line_width=1,
            source=self._source("points", x=[], y=[], marker=[], fill=[], alpha=[], size=[]),
        )
        self.document.add_root(plot)

    def _source(self, name: str, **columns: Any) -> ColumnDataSource:
        source = ColumnDataSource(columns, name=name)
        self.sources[name] = source
        return source

    def _put(self, name: str, **columns: Any) -> None:
        """Hand columns to a source, unless they are what it has."""
        old = self._drawn.get(name)
        if old is not None and all(_same(old[key], columns[key]) for key in columns):
            return
        self._drawn[name] = columns
        self.sources[name].data = columns

    def _put_path(self, name: str, path: Any) -> None:
        x, y = np.asarray(path, dtype=np.float32).T
        self._put(name, x=x, y=y)

    def _draw(self) -> None:
        state, scene = self.session.state, self.session.scene
        ink, tone = self.theme.ink, geometry_color(state.curvature)
        self._draw_fills(scene, tone)
        self.balls.glyph.fill_color = tone
        outlines = [scene.balls.astype(np.float32)] if len(scene.balls) else []
        self._put("balls", xs=[p[:, 0] for p in outlines], ys=[p[:, 1] for p in outlines])
        for name, line in LINES.items():
            self._put_path(name, scene.lines.get(name, EMPTY))
            self.lines[name].glyph.line_color = line_color(line, self.theme, state.curvature)
        self._put_path("marks", scene.marks)
        self.pointer.glyph.line_color = ink
        x, y = scene.handles.T
        self._put("handles", x=x, y=y, marker=["cross", "square", "square"][: len(x)])
        self.handles.glyph.fill_color = self.theme.paper
        self.handles.glyph.line_color = self.theme.soft
        self._draw_points(scene)
        self._frame(scene)

    def _draw_fills(self, scene: Scene, tone: str) -> None:
        paths = [path.astype(np.float32) for path in scene.fills.values()]
        colors = [class_color(c) if scene.labelled else tone for c in scene.fills]
        alphas = [
            CLASS_FILL if scene.labelled else shade_strength(c, N_SHADES) for c in scene.fills
        ]
        self._put(
            "cells",
            xs=[path[:, 0] for path in paths],
            ys=[path[:, 1] for path in paths],
            fill=colors,
            alpha=alphas,
        )
        self.cells.glyph.line_color = self.theme.ink if scene.edged else None
        self.cells.glyph.line_alpha = 0.6

    def _draw_points(self, scene: Scene) -> None:
        state = self.session.state
        x, y = scene.points.T
        marked = state.labels if scene.labelled else np.zeros(len(x), dtype=int)
        fills = [class_color(int(c)) if scene.labelled else self.theme.ink for c in marked]
        faint = scene.away | ~scene.inside
        self._put(
            "points",
            x=x,
            y=y,
            marker=[MARKERS[int(c)] for c in marked],
            fill=fills,
            alpha=np.where(faint, 0.35, 1.0),
            size=np.full(len(x), BIG if len(x) <= FEW else SMALL),
        )
        self.points.glyph.line_color = self.theme.paper
        chosen = [i for i in dict.fromkeys(state.chosen) if i < len(x)]
        sizes = [22, 16][: len(chosen)]
        self._put("rings", x=x[chosen], y=y[chosen], size=sizes)
        self.rings.glyph.line_color = "#e69f00"

    def _frame(self, scene: Scene) -> None:
        """Show the window of a chart when it is another one; otherwise leave the zoom alone."""
        if self._drawn.get("chart") == scene.view.chart:
            return
        self._drawn["chart"] = scene.view.chart
        low, high = scene.view.window.tolist()
        for axis, start, end in zip((self.plot.x_range, self.plot.y_range), low, high, strict=True):
            room = (ZOOM_OUT - 1) / 2 * (end - start)
            axis.update(
                start=start,
                end=end,
                reset_start=start,
                reset_end=end,
                bounds=(start - room, end + room),
            )

    # -- hearing and saying ---------------------------------------------------------

    def _listen(self) -> None:
        """Tell the page's script of the pointer; it sends one batch of commands at a time."""
        for event, name in PLOT_EVENTS.items():
            call = CustomJS(
                args={"plot": self.plot}, code=f"explorer.point('{name}', cb_obj, plot)"
            )
            self.plot.js_on_event(event, call)
        connect(self.document, self.plot, self.wire, self.said)

    def _hear(self, data: dict[str, Any]) -> None:
        """Do the commands of one batch, then draw and answer once."""
        started = time.perf_counter()
        before, pointer, repaint = self.session.state, None, False
        number = int(data["number"][0])
        try:
            for command in read_commands(data["commands"][0]):
                if command.get("do") in ("hover", "leave"):
                    pointer = command
                elif command.get("do") == "theme":
                    self.theme = THEMES.get(str(command.get("value")), self.theme)
                    repaint = True
                else:
                    self.errors = []
                    self.session.apply(command)
        except CayleyKleinError as error:
            self.errors.append(str(error))
        self.document.hold("combine")
        if repaint or self.session.state is not before:
            self._draw()
            self._put_path("pointer", EMPTY)
        readout = self._point(pointer) if pointer else None
        self._say(number, readout, time.perf_counter() - started)
        self.document.unhold()

    def _point(self, command: dict[str, Any]) -> str:
        if command["do"] == "leave":
            self._put_path("pointer", EMPTY)
            return ""
        state, view = self.session.state, self.session.scene.view
        try:
            if "x" in command:
                found = read_out(state, view, as_spot(command))
            else:
                found = read_out_point(state, view, state.chosen[0])
        except CayleyKleinError:
            return ""
        self._put_path("pointer", found.lines)
        return found.text

    def _say(self, number: int, readout: str | None = None, seconds: float = 0.0) -> None:
        """Answer a batch: the state for the controls, the address, and what there is to say."""
        state, scene = self.session.state, self.session.scene
        numbers = {name: getattr(state, name) for name in RANGES}
        answer = {
            "number": number,
            "state": numbers | {"chart": state.chart},
            "shown": sorted(state.shown),
            "query": state.to_query(),
            "points": len(state.points),
            "chosen": [i + 1 for i in state.chosen],
            "label": state.points[state.chosen[0]].label if state.points else state.pen,
            "geometry": state.metric.geometry,
            "title": scene.view.title,
            "description": describe(state, scene),
            "errors": self.errors,
            "notes": scene.notes,
            "milliseconds": round(1e3 * seconds, 1),
        }
        if readout is not None:
            answer["readout"] = readout
        self.said.data = {"answer": [json.dumps(answer)]}


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, list) and old and isinstance(old[0], np.ndarray):
        return len(old) == len(new) and all(map(_same, old, new))
    if isinstance(old, np.ndarray):
        return bool(np.array_equal(old, new, equal_nan=True))
    return bool(old == new)
