"""One visitor's learning page: choices that fit into an address, and fits and their results."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from cayleyklein.app import _draw as draw
from cayleyklein.app._fitting import (
    MOST_LETTERS,
    TEST_PART,
    Choosing,
    Finished,
    Model,
    ModelTask,
    Panel,
    Rows,
    Step,
    Task,
)
from cayleyklein.app._learn_state import (
    CHOICES,
    GEOMETRIES,
    NEIGHBORS,
    POINTS,
    UPLOAD,
    LearnState,
    learn_code,
)
from cayleyklein.app._session import TEXT, Value, run
from cayleyklein.app._tables import (
    BUNDLED,
    Source,
    bundled_source,
    points_source,
    prepare,
    read_source,
)
from cayleyklein.app._worker import Failed, FitProcess, FitSlots
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError

PLACES = {"before": "Plain k-NN", "flat": "Flat LMNN", "curved": "The curved metric"}

PREVIEW = 5
"""Rows of a preview."""


class LearnSession:
    """One visitor's learning page."""

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
        if target not in source.targets:
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
        self.texts = {f"about-{place}": "Not fitted yet: these are the rows." for place in PLACES}
        self.texts |= {"state": "", "live": ""}
        self.results: dict[str, Any] = {"confusion": None} | dict.fromkeys(
            ("weights", "trials", "planes"), ()
        )
        self.first_loss: dict[str, float] = {}
        self._last: dict[str, Step] = {}
        self._steps: list[list[Any]] = []
        self._model: dict[str, Any] | None = None
        self.rows = Rows(self.table.X, self.table.y, self.table.columns)
        self._news: dict[str, Any] = dict.fromkeys(PLACES, self.rows.picture([]))
        self._fresh = True

    # -- fits -----------------------------------------------------------------------

    def _start(self) -> None:
        self._not_while_fitting()
        n, n_classes = len(self.table.y), len(self.table.classes)
        n_test = math.ceil(TEST_PART * n)
        if min(n_test, n - n_test) < n_classes:
            raise InvalidInputError(
                f"{n} rows are too few for {n_classes} classes: {n_test} are test rows, and each "
                f"class needs one among them."
            )
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
        if self.fit.started and self.texts["state"].startswith("Waiting"):
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
        if another:  # lift the pen; the passes of a part are one line
            self.first_loss.pop(name, None)
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
        self._news[panel.place] = panel.picture
        self.texts[f"about-{panel.place}"] = (
            f"{panel.accuracy:.1%} of test rows right; {panel.summary}"
        )
        caption = f"{PLACES[panel.place]} on test rows"
        confusion = {"caption": caption, "names": self.table.classes}
        confusion["counts"] = panel.results["confusion"]
        self.results = panel.results | {"confusion": confusion}

    # -- answers --------------------------------------------------------------------

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
                "target": [[name, name[:MOST_LETTERS]] for name in source.targets],
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
        head = frame.head(PREVIEW)
        cells = np.where(head.isna(), "", head.astype(str)).tolist()
        left_out = [f"{name}: left out by you" for name in table.dropped]
        return {
            "names": [name[:MOST_LETTERS] for name in table.source.columns],
            "target": table.target[:MOST_LETTERS],
            "rows": [[cell[:MOST_LETTERS] for cell in row] for row in cells],
            "notes": [*table.notes, *left_out],
            "classes": [
                [name[:MOST_LETTERS], count, draw.class_color(i), draw.class_marker(i)]
                for i, (name, count) in enumerate(zip(table.classes, counts, strict=True))
            ],
            "labels": table.y.tolist(),
            "test": self.rows.is_test,
        }


COMMANDS: dict[str, Any] = {
    "choose": (LearnSession._choose, {"name": Value(str, CHOICES), "value": TEXT}),
    "load": (LearnSession._load, {"query": TEXT}),
    "upload": (LearnSession._upload, {"name": TEXT, "text": TEXT}),
    "fit": (LearnSession._start, {}),
    "model": (LearnSession._save, {}),
    "cancel": (LearnSession._cancel, {}),
}
"""Every command of the learning page: its action, and what each of its values must be."""
