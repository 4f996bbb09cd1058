"""The page of learning: a Bokeh document that starts fits, follows them and shows the results."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from bokeh.document import Document
from bokeh.models import BasicTicker, ColumnDataSource, PlainText, Range1d
from bokeh.plotting import figure

from cayleyklein.app._fitting import Choosing, Finished, Panel, Step
from cayleyklein.app._learn_state import (
    GEOMETRIES,
    ITERATIONS,
    NEIGHBORS,
    UPLOAD,
    LearnState,
    learn_code,
)
from cayleyklein.app._pages import connect, read_commands, render, said_source, wire_source
from cayleyklein.app._tables import BUNDLED, MOST_BYTES, Table, bundled_table, read_table
from cayleyklein.app._theme import MARKERS, THEMES, channels
from cayleyklein.app._worker import Failed, FitProcess, FitSlots
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError
from cayleyklein.plotting import GEOMETRY_COLORS, class_colors

__all__ = ["LearnPage"]

PLACES = ("before", "flat", "curved")
SERIES = {"flat": "flat", "elliptic": "elliptic", "hyperbolic": "hyperbolic", "learned": "mixed"}
"""A line of the live plots, and the geometry whose colour it has."""

LIVE = ("loss", "curvature", "accuracy")
FIRST_REACH = {"loss": (0.0, 1.0), "curvature": (-1.0, 1.0), "accuracy": (0.9, 1.0)}
"""What the live plots show at least."""

FITTING, CANCELLING = "Fitting…", "Cancelling…"

POLL = 100
"""Milliseconds between two looks at a running fit."""

MOST_LETTERS = 40
"""Of a column's name along an axis."""

REGION_ALPHA = 82
MOST_DRAWN = 600
"""Rows that a picture shows; more hide the regions."""


class LearnPage:
    """One visitor's page of learning.

    Parameters
    ----------
    document : bokeh Document
        Empty; it is filled.
    parts : mapping of str to str
        The query of the address.
    slots : FitSlots
        Of the server.
    """

    def __init__(self, document: Document, parts: dict[str, str], slots: FitSlots) -> None:
        self.document, self.slots = document, slots
        self.notes: list[str] = []
        try:
            self.state = LearnState.from_query(parts)
        except CayleyKleinError as error:
            self.state = LearnState()
            self.notes.append(f"The address was not understood: {error}")
        if parts.get("data") == UPLOAD:
            self.notes.append("A file stays with the page it was given to; choose it again.")
        self.uploaded: Table | None = None
        self.table = bundled_table(self.state.data)
        if max(int(self.state.x), int(self.state.y)) >= len(self.table.columns):
            self.state = self.state.with_choice("x", "0").with_choice("y", "1")
        self.fit: FitProcess | None = None
        self._ticking: Any = None
        self._number = 0
        self.wire, self.said = wire_source(), said_source()
        self.wire.on_change("data", lambda _attr, _old, new: self._hear(new))
        self._make_plots()
        self._clear()
        self._say()
        connect(document, self.pictures["before"], self.wire, self.said)
        document.on_session_destroyed(lambda _context: self._kill())
        render(document, "learn.html", "Learn", page="learn", most_bytes=MOST_BYTES)

    # -- plots ----------------------------------------------------------------------

    def _make_plots(self) -> None:
        look: dict[str, Any] = {
            "sizing_mode": "stretch_both",
            "tools": "",
            "toolbar_location": None,
            "background_fill_alpha": 0,
            "border_fill_alpha": 0,
            "outline_line_color": None,
        }
        self.pictures = {name: _figure(name, look) for name in PLACES}
        self.regions, self.rows = {}, {}
        for name, plot in self.pictures.items():
            plot.grid.visible = False
            image = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []})
            plot.image_rgba("image", "x", "y", "dw", "dh", source=image)
            dots = ColumnDataSource({"x": [], "y": [], "color": [], "marker": []})
            plot.scatter("x", "y", color="color", marker="marker", size=5, alpha=0.9, source=dots)
            self.regions[name], self.rows[name] = image, dots
        self.live = {name: _figure(name, look) for name in LIVE}
        self.series = {
            name: ColumnDataSource({key: [] for key in ("step", *LIVE)}) for name in SERIES
        }
        for quantity, plot in self.live.items():
            for name, source in self.series.items():
                color = GEOMETRY_COLORS[SERIES[name]]
                dash = [5, 3] if name == "flat" else []
                plot.line(
                    "step", quantity, color=color, line_width=2, line_dash=dash, source=source
                )
        for plot in (*self.pictures.values(), *self.live.values()):
            plot.axis.minor_tick_line_color = None
            plot.axis.major_label_text_font_size = plot.axis.axis_label_text_font_size = "10px"
            plot.xaxis.ticker = BasicTicker(desired_num_ticks=4)
            plot.yaxis.ticker = BasicTicker(desired_num_ticks=4)
            self.document.add_root(plot)
        self._paint("light")

    def _paint(self, theme: str) -> None:
        soft = THEMES[theme].soft
        for plot in (*self.pictures.values(), *self.live.values()):
            plot.axis.axis_line_color = plot.axis.major_tick_line_color = soft
            plot.axis.major_label_text_color = plot.axis.axis_label_text_color = soft
            plot.grid.grid_line_color = soft
            plot.grid.grid_line_alpha = 0.25

    def _clear(self) -> None:
        """Forget the results of another task."""
        self.texts = {f"about-{place}": "not fitted yet" for place in PLACES}
        self.texts["live"] = self.texts["state"] = ""
        self.confusion: dict[str, Any] | None = None
        self.first_loss: dict[str, float] = {}
        self.steps: dict[str, int] = {}
        self._last: dict[str, Step] = {}
        self._reach = dict(FIRST_REACH)
        for source in (*self.series.values(), *self.regions.values(), *self.rows.values()):
            source.data = {key: [] for key in source.data}
        for plot in self.pictures.values():
            plot.axis.axis_label = None

    # -- commands -------------------------------------------------------------------

    def _hear(self, data: dict[str, Any]) -> None:
        self._number = int(data["number"][0])
        try:
            for command in read_commands(data["commands"][0]):
                self._apply(command)
        except CayleyKleinError as error:
            self.notes.append(str(error))
        self._say()

    def _apply(self, command: dict[str, Any]) -> None:
        action = command.get("do")
        if action == "theme":
            self._paint("dark" if command.get("value") == "dark" else "light")
            return
        self.notes = []
        if action == "cancel":
            if self.fit:
                self.fit.cancel()
                self.texts["state"] = CANCELLING
        elif self.fit:
            raise InvalidInputError("A fit is running; cancel it first.")
        elif action == "choose":
            self._choose(command.get("name"), command.get("value"))
        elif action == "upload":
            self._upload(command)
        elif action == "fit":
            self._start()
        else:
            raise InvalidInputError(f"There is no command {str(action)[:20]!r}.")

    def _choose(self, name: Any, value: Any) -> None:
        if name == "data" and value == UPLOAD and self.uploaded is None:
            raise InvalidInputError("Choose a CSV file first.")
        self.state = self.state.with_choice(name, value)
        if name == "data":
            chosen = self.uploaded if value == UPLOAD else bundled_table(self.state.data)
            assert chosen is not None
            self._take(chosen)

    def _upload(self, command: dict[str, Any]) -> None:
        name, text = command.get("name"), command.get("text")
        if not isinstance(name, str) or not isinstance(text, str):
            raise InvalidInputError("An upload is a name and a text.")
        self.uploaded = read_table(text, name)
        self.state = self.state.with_choice("data", UPLOAD)
        self._take(self.uploaded)

    def _take(self, table: Table) -> None:
        self.table = table
        self.state = self.state.with_choice("x", "0").with_choice("y", "1")
        self._clear()

    # -- a fit ----------------------------------------------------------------------

    def _start(self) -> None:
        task = self.state.task(self.table)
        self._clear()
        self.fit = FitProcess(task, self.slots)
        self.texts["state"] = "Waiting for a free place…"
        self._ticking = self.document.add_periodic_callback(self._tick, POLL)
        self._tick()

    def _tick(self) -> None:
        if self.fit is None:
            return
        found = self.fit.poll()
        if self.fit.started and self.texts["state"].startswith("Waiting"):
            self.texts["state"] = FITTING
        self._add_steps([told for told in found if isinstance(told, Step)])
        for told in found:
            if isinstance(told, Step | Choosing) and self.texts["state"] != CANCELLING:
                self.texts["state"] = FITTING if isinstance(told, Step) else f"{told.text}…"
            elif isinstance(told, Panel):
                self._show(told)
            elif isinstance(told, Finished):
                self._end("Stopped early; what was learned is shown." if told.stopped else "Done.")
                self.notes += told.notes
            elif isinstance(told, Failed):
                self._end(str(told))
        if found:
            self._say()

    def _end(self, text: str) -> None:
        self.texts["state"] = text
        self._kill()
        if self._ticking is not None:
            self.document.remove_periodic_callback(self._ticking)
            self._ticking = None

    def _kill(self) -> None:
        """End the fit of this page, whose document may be gone already."""
        if self.fit is not None:
            self.fit.kill()
            self.fit = None

    def _add_steps(self, steps: list[Step]) -> None:
        columns: dict[str, dict[str, Any]] = {}
        for step in steps:
            name = step.series
            mine = columns.setdefault(name, {key: [] for key in ("step", *LIVE)})
            count = self.steps[name] = self.steps.get(name, 0) + 1
            last = self._last.get(name)
            another = last is not None and step.iteration <= last.iteration  # part, or fit
            if another or (last is not None and step.n_pass != last.n_pass):  # lift the pen
                for key, value in (("step", float(count)), *((key, np.nan) for key in LIVE)):
                    mine[key].append(value)
            if another:
                self.first_loss.pop(name, None)
            self._last[name] = step
            first = self.first_loss.setdefault(name, step.loss or 1.0)
            for key, value in zip(
                ("step", *LIVE),
                (count, step.loss / first, step.curvature, step.accuracy),
                strict=True,
            ):
                mine[key].append(value)
        for name, rows in columns.items():
            self.series[name].stream(rows)
        if steps:
            self._fit_ranges(columns)
            now = steps[-1]
            self.texts["live"] = (
                f"{now.part}, pass {now.n_pass}, iteration {now.iteration}: loss {now.loss:.4g}, "
                f"K = {now.curvature:.3g}, accuracy {now.accuracy:.1%}"
            )

    def _fit_ranges(self, columns: dict[str, dict[str, Any]]) -> None:
        """Widen the live plots to what is new on them."""
        for quantity, plot in self.live.items():
            low, high = self._reach[quantity]
            found = np.concatenate([rows[quantity] for rows in columns.values()])
            found = found[np.isfinite(found)]
            if len(found):
                low, high = min(low, float(found.min())), max(high, float(found.max()))
            self._reach[quantity] = low, high
            room = 0.06 * (high - low)
            plot.y_range.update(start=low - room, end=high + room)
            plot.x_range.update(start=0, end=1.03 * max(10, *self.steps.values()))

    def _show(self, panel: Panel) -> None:
        n = len(self.table.classes)
        colors = class_colors(n)
        place, x, y = panel.place, panel.x, panel.y
        self.regions[place].data = {
            "image": [_paint_codes(panel.codes, colors)],
            "x": [x[0]],
            "y": [y[0]],
            "dw": [x[-1] - x[0]],
            "dh": [y[-1] - y[0]],
        }
        # plain, so that a column's name is never taken for a formula
        across, up = (PlainText(text=name[:MOST_LETTERS]) for name in self._axis_names())
        self.pictures[place].xaxis.axis_label, self.pictures[place].yaxis.axis_label = across, up
        self.pictures[place].x_range.update(start=x[0], end=x[-1])
        self.pictures[place].y_range.update(start=y[0], end=y[-1])
        pick = np.random.default_rng(0).permutation(len(panel.rows))[:MOST_DRAWN]
        labels = self.table.y[pick]
        self.rows[place].data = {
            "x": panel.rows[pick, 0],
            "y": panel.rows[pick, 1],
            "color": [colors[c] for c in labels],
            "marker": [MARKERS[c % len(MARKERS)] for c in labels],
        }
        self.texts[f"about-{place}"] = f"{panel.accuracy:.1%} on held-out rows; {panel.summary}"
        names = {"before": "Plain k-NN", "flat": "Flat LMNN", "curved": "The curved metric"}
        self.confusion = {
            "caption": f"{names[place]} on held-out rows",
            "names": list(self.table.classes),
            "counts": panel.confusion.tolist(),
        }

    def _axis_names(self) -> tuple[str, str]:
        """Return what the pictures show to the right and upwards."""
        chosen, columns = self.state.features(self.table), self.table.columns
        if chosen is None and len(columns) == 2:
            chosen = 0, 1
        if chosen is None:
            return "first principal component", "second"
        return columns[chosen[0]], columns[chosen[1]]

    # -- answers --------------------------------------------------------------------

    def _say(self) -> None:
        table = self.table
        columns = [[str(i), name] for i, name in enumerate(table.columns)]
        data = [[name, name] for name in BUNDLED]
        if self.uploaded is not None:
            data.append([UPLOAD, self.uploaded.name])
        try:
            code = learn_code(self.state, table)
        except CayleyKleinError as error:
            code = f"# {error}"
        about = f"{len(table.X)} rows, {len(table.columns)} columns, {len(table.classes)} classes"
        about = "; ".join((about, *table.notes))
        answer = {
            "number": self._number,
            "choices": {
                name: getattr(self.state, name) for name in self.state.__dataclass_fields__
            },
            "options": {
                "data": data,
                "plane": [["projection", "all columns, projected"], ["columns", "two columns"]],
                "x": columns,
                "y": columns,
                "geometry": [list(item) for item in GEOMETRIES.items()],
                "neighbors": [[k, "chosen for you" if k == "auto" else k] for k in NEIGHBORS],
                "iterations": [list(item) for item in ITERATIONS.items()],
            },
            "texts": self.texts | {"table": about, "code": code},
            "confusion": self.confusion,
            "running": self.fit is not None,
            "query": self.state.to_query(),
            "notes": self.notes,
        }
        self.said.data = {"answer": [json.dumps(answer)]}


def _figure(name: str, look: dict[str, Any]) -> Any:
    # ranges of their own: Bokeh warns in the browser's console of those that follow no data
    ranges: dict[str, Any] = {
        "x_range": Range1d(start=0, end=1),
        "y_range": Range1d(start=0, end=1),
    }
    return figure(name=name, min_border=4, **ranges, **look)


def _paint_codes(codes: Any, colors: list[str]) -> Any:
    """Return a picture (rows, columns) of 32-bit colours; -1, no class, is clear."""
    painted = [[*channels(color), REGION_ALPHA] for color in colors]
    palette = np.array([*painted, [0, 0, 0, 0]], dtype=np.uint8)
    return np.ascontiguousarray(palette[codes]).view(np.uint32)[..., 0]
