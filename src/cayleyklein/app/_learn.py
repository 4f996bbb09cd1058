"""One visitor's learning page: choices that fit into an address, and fits and their results."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import as_choice
from cayleyklein.app import _draw as draw
from cayleyklein.app._fitting import (
    SEED,
    TEST_PART,
    Choosing,
    Finished,
    Model,
    ModelTask,
    Panel,
    Step,
    Task,
    project,
    split_rows,
)
from cayleyklein.app._session import one_of, run, text
from cayleyklein.app._tables import (
    BUNDLED,
    Source,
    Table,
    bundled_source,
    points_source,
    prepare,
    read_source,
)
from cayleyklein.app._worker import Failed, FitProcess, FitSlots
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError

__all__ = ["GEOMETRIES", "LearnSession", "LearnState", "learn_code"]

GEOMETRIES = {
    "auto": "automatic: a product of curved spaces",
    "elliptic": "elliptic, K > 0",
    "hyperbolic": "hyperbolic, K < 0",
    "learned": "K learned from the data",
    "mixed": "mixed: elliptic + hyperbolic",
    "flat": "flat, K = 0",
}
NEIGHBORS = ("auto", "1", "3", "5", "7", "11", "15", "25")
UPLOAD, POINTS = "upload", "points"

PLACES = {"before": "Plain k-NN", "flat": "Flat LMNN", "curved": "The curved metric"}

PREVIEW, MOST_LETTERS = 5, 40
"""Rows of a preview, and letters of a name or cell that is shown."""

MOST_DRAWN = 800
"""Rows that a picture shows; more hide the regions."""


@dataclass(frozen=True)
class LearnState:
    """The choices of the page; `drop` has the positions of the columns that are not used.

    Examples
    --------
    >>> state = LearnState.from_query({"data": "pima", "geometry": "elliptic"})
    >>> state.to_query()
    'data=pima&target=&drop=&geometry=elliptic&neighbors=auto'
    """

    data: str = "wine"
    target: str = ""
    drop: tuple[int, ...] = ()
    geometry: str = "auto"
    neighbors: str = "auto"
    points: str = ""

    def with_choice(self, name: str, value: str) -> LearnState:
        """Return the state with another choice.

        Raises
        ------
        InvalidInputError
            When there is no such choice.
        """
        allowed = {
            "data": (*BUNDLED, UPLOAD, POINTS),
            "geometry": tuple(GEOMETRIES),
            "neighbors": NEIGHBORS,
        }
        if name in allowed:
            as_choice(value[:40], name, allowed[name])
        if name == "data":
            return replace(self, data=value, target="", drop=())
        if name == "target":
            return replace(self, target=value)
        if name == "drop":
            parts = [part for part in value.split(",") if part]
            if not all(part.isascii() and part.isdecimal() and len(part) < 4 for part in parts):
                raise InvalidInputError(f"drop must be numbers of columns; got {value[:20]!r}.")
            return replace(self, drop=tuple(sorted({int(part) for part in parts})))
        if name == "geometry":
            return replace(self, geometry=value)
        if name == "neighbors":
            return replace(self, neighbors=value)
        raise InvalidInputError(f"There is no choice {name[:20]!r}.")

    def to_query(self) -> str:
        """Return the state as the query of an address; an upload stays with its visitor."""
        parts = {name: getattr(self, name) for name in ("data", "target", "drop", "geometry")}
        parts |= {"drop": ",".join(map(str, self.drop)), "neighbors": self.neighbors}
        if self.data == POINTS:
            parts["points"] = self.points
        return urlencode(parts, safe=",;")

    @classmethod
    def from_query(cls, parts: Mapping[str, str]) -> LearnState:
        """Read a state back; missing parts have their default."""
        state = cls()
        for name in ("data", "target", "drop", "geometry", "neighbors"):
            if name in parts and not (name == "data" and parts[name] == UPLOAD):
                state = state.with_choice(name, parts[name])
        if state.data == POINTS:
            points_source(parts.get("points", ""))  # checks them
            state = replace(state, points=parts.get("points", ""))
        return state


class LearnSession:
    """One visitor's learning page.

    Parameters
    ----------
    parts : mapping of str to str
        The query of the address.
    slots : FitSlots
        Of the server.
    """

    def __init__(self, parts: Mapping[str, str], slots: FitSlots) -> None:
        self.slots = slots
        self.notes: list[str] = []
        self.uploaded: Source | None = None
        self.fit: FitProcess | None = None
        self._lock = threading.RLock()
        try:
            self._take(LearnState.from_query(parts))
        except CayleyKleinError as error:
            self._take(LearnState())
            self.notes.append(f"The address was not understood: {error}")
        if parts.get("data") == UPLOAD:
            self.notes.append("A file stays with the page it was given to; choose it again.")

    # -- commands -------------------------------------------------------------------

    def hear(self, commands: list[Any]) -> dict[str, Any]:
        """Do a batch of commands, and return the answer to the page."""
        with self._lock:
            if commands:
                self.notes = []
            try:
                for command in commands:
                    run(COMMANDS, self, command)
            except CayleyKleinError as error:
                self.notes.append(str(error))
            return self._answer()

    def poll(self) -> dict[str, Any] | None:
        """Return news of a running fit, if there are any."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._answer() if self._look() else None
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the fit of a page that is left."""
        with self._lock:
            if self.fit is not None:
                self.fit.kill()
                self.fit = None

    def _not_while_fitting(self) -> None:
        if self.fit is not None:
            raise InvalidInputError("A fit is running; cancel it first.")

    def _choose(self, name: str, value: str) -> None:
        self._not_while_fitting()
        if name == "data" and value == UPLOAD and self.uploaded is None:
            raise InvalidInputError("Choose a file first.")
        self._take(self.state.with_choice(name, value))

    def _load(self, query: str) -> None:
        self._not_while_fitting()
        parts = dict(parse_qsl(query, keep_blank_values=True))
        if parts.get("data") == UPLOAD and self.uploaded is not None:
            state = LearnState.from_query(parts | {"data": "wine"})
            self._take(replace(state, data=UPLOAD))
        else:
            self._take(LearnState.from_query(parts))

    def _upload(self, name: str, text: str) -> None:
        self._not_while_fitting()
        before, self.uploaded = self.uploaded, read_source(text, name)
        try:
            self._take(self.state.with_choice("data", UPLOAD))
        except CayleyKleinError:
            self.uploaded = before
            raise

    def _take(self, state: LearnState) -> None:
        """Take over choices, when there is something to learn with them."""
        source = self._source(state)
        target = state.target or source.target
        if target not in source.columns:
            raise InvalidInputError(f"There is no column {target[:MOST_LETTERS]!r} of classes.")
        if state.drop and state.drop[-1] >= len(source.columns):
            raise InvalidInputError(f"There is no column number {state.drop[-1]}.")
        table = prepare(source, target, [source.columns[i] for i in state.drop])
        self.state, self.table = replace(state, target=target), table
        self._clear()

    def _source(self, state: LearnState) -> Source:
        if state.data == UPLOAD and self.uploaded is not None:
            return self.uploaded
        return points_source(state.points) if state.data == POINTS else bundled_source(state.data)

    def _clear(self) -> None:
        """Forget the results of another task, and show its rows."""
        X, y = self.table.X, self.table.y
        self.texts = {f"about-{place}": "Not fitted yet: these are the rows." for place in PLACES}
        self.texts |= {"state": "", "live": ""}
        self.results: dict[str, Any] = {
            "confusion": None,
            "weights": [],
            "trials": [],
            "planes": [],
        }
        self.first_loss: dict[str, float] = {}
        self._last: dict[str, Step] = {}
        self._steps: list[list[Any]] = []
        self._model: dict[str, Any] | None = None
        self.shown, self.axes = project(X, self.table.columns)
        self.drawn = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_DRAWN])
        self.is_test = np.zeros(len(y), dtype=bool)
        if self._too_small() is None:
            self.is_test[split_rows(y)[1]] = True
        self._news: dict[str, Any] = {place: self._picture(None) for place in PLACES}
        self._fresh = True

    def _too_small(self) -> str | None:
        n, n_classes = len(self.table.y), len(self.table.classes)
        held_out = math.ceil(TEST_PART * n)
        if min(held_out, n - held_out) >= n_classes:
            return None
        return (
            f"{n} rows are too few for {n_classes} classes: {held_out} are held out, and each "
            f"class needs one there."
        )

    # -- fits -----------------------------------------------------------------------

    def _start(self) -> None:
        self._not_while_fitting()
        problem = self._too_small()
        if problem is not None:
            raise InvalidInputError(problem)
        self._clear()
        self._run(Task(self.table.X, self.table.y, self.table.columns, *self._settings()))

    def _save(self) -> None:
        """Make a model of all rows, as the command does."""
        self._not_while_fitting()
        table = self.table
        self._run(ModelTask(table.rows, table.labels, table.target, *self._settings()))

    def _settings(self) -> tuple[str, int | str]:
        k = self.state.neighbors
        return self.state.geometry, k if k == "auto" else int(k)

    def _run(self, task: Task | ModelTask) -> None:
        self.fit = FitProcess(task, self.slots)
        self.texts["state"] = "Waiting for a free place…"
        self._look()

    def _cancel(self) -> None:
        if self.fit is not None:
            self.fit.cancel()
            self.texts["state"] = "Cancelling…"

    def _look(self) -> bool:
        """Take over the messages of the fit; say whether there were any."""
        if self.fit is None:
            return False
        before, told = dict(self.texts), self.fit.poll()
        waiting = self.texts["state"].startswith("Waiting")
        if self.fit.started and waiting:
            self.texts["state"] = "Fitting…"
        for news in told:
            if isinstance(news, Step):
                self._add_step(news)
            elif isinstance(news, Choosing):
                self.texts["state"] = f"{news.text}…"
            elif isinstance(news, Panel):
                self._add_panel(news)
            elif isinstance(news, Model):
                stem = self.table.source.name.rpartition(".")[0] or self.table.source.name
                content = np.frombuffer(news.content, dtype=np.int8)
                self._model = {"name": f"{stem}.ckm", "content": content}
                self._end(f"The model is saved: {news.summary}.")
            elif isinstance(news, Finished):
                self.notes += news.notes
                self._end("Stopped early; what was learned is shown." if news.stopped else "Done.")
            elif isinstance(news, Failed):
                self._end(str(news))
        return bool(told) or self.texts != before

    def _end(self, said: str) -> None:
        self.close()
        self.texts["state"] = said

    def _add_step(self, step: Step) -> None:
        name, last = step.series, self._last.get(step.series)
        another = last is not None and step.iteration <= last.iteration  # part, or fit
        if another:
            self.first_loss.pop(name, None)
        if another or (last is not None and step.n_pass != last.n_pass):  # lift the pen
            self._steps.append([name, None, None, None])
        self._last[name] = step
        first = self.first_loss.setdefault(name, step.loss or 1.0)
        accuracy = None if math.isnan(step.accuracy) else step.accuracy
        self._steps.append([name, step.loss / first, step.curvature, accuracy])
        self.texts["live"] = (
            f"{step.part}, pass {step.n_pass}, iteration {step.iteration}: loss {step.loss:.4g}, "
            f"K = {step.curvature:.3g}, accuracy {step.accuracy:.1%}"
        )
        if self.texts["state"] != "Cancelling…":
            self.texts["state"] = "Fitting…"

    def _add_panel(self, panel: Panel) -> None:
        self._news[panel.place] = self._picture(panel)
        self.texts[f"about-{panel.place}"] = (
            f"{panel.accuracy:.1%} of held-out rows right; {panel.summary}"
        )
        self.results = {
            "confusion": {
                "caption": f"{PLACES[panel.place]} on held-out rows",
                "names": self.table.classes,
                "counts": panel.confusion.tolist(),
            },
            "weights": panel.weights,
            "trials": panel.trials,
            "planes": panel.planes,
        }

    # -- pictures and answers -------------------------------------------------------

    def _picture(self, panel: Panel | None) -> dict[str, Any]:
        """Draw the rows, with the regions and the metric of a classifier when there is one."""
        low, high = self.shown.min(axis=0), self.shown.max(axis=0)
        room = 0.05 * np.maximum(high - low, 1e-12)
        shapes: list[dict[str, Any]] = []
        if panel is not None:
            rows, columns = panel.codes.shape
            raster = {"kind": "raster", "codes": panel.codes, "size": [rows, columns]}
            shapes.append(raster | {"box": panel.box})
            shapes += [draw.line(path, "soft", 1.4, (6, 4))._asdict() for path in panel.balls]
            shapes += [draw.line(path, "ink", 2.4)._asdict() for path in panel.domains]
        shapes += [shape._asdict() for shape in self._rows_shapes(panel)]
        found: dict[str, Any] = {
            "window": [*(low - room), *(high + room)],
            "axes": [name[:MOST_LETTERS] for name in self.axes],
            "shapes": shapes,
            "points": self.shown[self.drawn],
            "rows": self.drawn.tolist(),
        }
        if panel is not None:
            near = panel.neighbors[self.drawn]
            found |= {
                "neighbors": near.tolist(),
                "distances": panel.distances[self.drawn],
                "places": self.shown[near.ravel()],
                "wrong": panel.wrong[self.drawn],
            }
        return found

    def _rows_shapes(self, panel: Panel | None) -> list[draw.Shape]:
        """Return marks: training rows filled, test rows open, rows that were wrong ringed."""
        shapes, labels, test = [], self.table.y[self.drawn], self.is_test[self.drawn]
        x: Floats = self.shown[self.drawn]
        for label in np.unique(labels):
            mine, hue = labels == label, draw.class_color(int(label))
            marker = draw.class_marker(int(label))
            trained = draw.marks(x[mine & ~test], hue, 3.4, marker=marker)
            tested = draw.marks(x[mine & test], "paper", 4.0, marker=marker, edge=hue, width=1.6)
            shapes += [trained, tested]
        if panel is not None:
            wrong = x[panel.wrong[self.drawn]]
            shapes.append(draw.marks(wrong, "", 8.0, edge="ink", width=1.6))
        return [shape for shape in shapes if len(shape.xy)]

    def _answer(self) -> dict[str, Any]:
        """Return the choices for the controls, and the pictures and results that are new."""
        table, state, source = self.table, self.state, self.table.source
        data = [[name, name] for name in BUNDLED]
        if self.uploaded is not None:
            data.append([UPLOAD, self.uploaded.name[:MOST_LETTERS]])
        if state.data == POINTS:
            data.append([POINTS, "points of the plane"])
        about = f"{len(table.X)} rows, {len(table.classes)} classes"
        answer = {
            "choices": {n: getattr(state, n) for n in ("data", "target", "geometry", "neighbors")},
            "options": {
                "data": data,
                "target": [[name, name[:MOST_LETTERS]] for name in source.columns],
                "geometry": [list(item) for item in GEOMETRIES.items()],
                "neighbors": [[k, "automatic" if k == "auto" else k] for k in NEIGHBORS],
            },
            "columns": [
                [i, name[:MOST_LETTERS], i not in state.drop]
                for i, name in enumerate(source.columns)
                if name != table.target
            ],
            "texts": self.texts | {"table": about, "code": learn_code(state, table)},
            "running": self.fit is not None,
            "query": state.to_query(),
            "notes": self.notes,
            "results": self.results,
            "pictures": self._news,
            "steps": self._steps,
        }
        if self._fresh:
            answer["preview"] = self._preview()
        if self._model is not None:
            answer["model"] = self._model
        self._news, self._steps, self._model, self._fresh = {}, [], None, False
        return answer

    def _preview(self) -> dict[str, Any]:
        """Return the first rows as text, the classes, and what becomes of odd columns."""
        table, frame = self.table, self.table.source.frame
        counts = np.bincount(table.y, minlength=len(table.classes)).tolist()
        cells = [
            ["" if cell != cell or cell is None else str(cell)[:MOST_LETTERS] for cell in row]
            for row in frame.head(PREVIEW).itertuples(index=False, name=None)
        ]
        left_out = [f"{name}: left out by you" for name in table.dropped]
        labels = table.y.tolist()
        return {
            "names": [name[:MOST_LETTERS] for name in table.source.columns],
            "target": table.target[:MOST_LETTERS],
            "rows": cells,
            "notes": [*table.notes, *left_out],
            "classes": [
                [name[:MOST_LETTERS], count, draw.class_color(i), draw.class_marker(i)]
                for i, (name, count) in enumerate(zip(table.classes, counts, strict=True))
            ],
            "labels": labels,
            "test": self.is_test.astype(np.int8),
        }


COMMANDS: dict[str, Any] = {
    "choose": (
        LearnSession._choose,
        {"name": one_of("data", "target", "drop", "geometry", "neighbors"), "value": text},
    ),
    "load": (LearnSession._load, {"query": text}),
    "upload": (LearnSession._upload, {"name": text, "text": text}),
    "fit": (LearnSession._start, {}),
    "model": (LearnSession._save, {}),
    "cancel": (LearnSession._cancel, {}),
}
"""Every command of the learning page: its action, and a check of each of its values."""


def learn_code(state: LearnState, table: Table) -> str:
    """Return the lines of Python that give the accuracy that the page shows."""
    source = table.source
    bundled = source.kind == "bundled"
    if bundled:
        used = [i for i, name in enumerate(source.columns[:-1]) if name not in table.dropped]
        columns = f"[:, {used}]" if table.dropped else ""
        load = [f"from cayleyklein.datasets import load_{source.name}"]
        read = [f"X, y = load_{source.name}(return_X_y=True)"]
        read += [f"X = X{columns}"] if columns else []
    else:
        drop = f", drop={list(table.dropped)}" if table.dropped else ""
        load = ["from cayleyklein.tables import TableEncoder, read_table, split_target"]
        read = [
            f"table = {source.reading.format(target=table.target)}",
            f"rows, y, _ = split_target(table, {table.target!r})",
            f"X = TableEncoder({drop.lstrip(', ')}).fit_transform(rows)",
        ]
    votes = "" if state.neighbors == "auto" else f"{state.neighbors}, "
    lines = [
        *load,
        "from sklearn.model_selection import train_test_split",
        "from cayleyklein import CurvedKNeighborsClassifier",
        *read,
        "X_train, X_test, y_train, y_test = train_test_split(",
        f"    X, y, test_size={TEST_PART}, stratify=y, random_state={SEED})",
        f'model = CurvedKNeighborsClassifier({votes}geometry="{state.geometry}", '
        f"random_state={SEED})",
        "model.fit(X_train, y_train)",
        "print(model.metric_, model.score(X_test, y_test))",
    ]
    if source.kind == "upload":
        drops = "".join(f" --drop {name!r}" for name in table.dropped)
        k = "" if state.neighbors == "auto" else f" -k {state.neighbors}"
        lines += [
            "# the model that “Save model” makes, by the command:",
            f"# cayleyklein fit {source.name!r} -t {table.target!r} -g {state.geometry}{k}{drops} "
            f"-o model.ckm",
        ]
    return "\n".join(lines) + "\n"
