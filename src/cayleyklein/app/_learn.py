"""One visitor's learning page: its choices, kept in the address, and fits in processes."""

import base64
import math
import multiprocessing
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

import numpy as np

from cayleyklein._validation import as_choice
from cayleyklein.app import _explaining, _fitting, _predicting, _tables, _trust
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._session import run_commands
from cayleyklein.app._state import plural
from cayleyklein.app._tables import SHOWN, PreparedTable, TableSource
from cayleyklein.datasets import loaders
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError
from cayleyklein.plotting.shapes import class_look

OPTIONS = {  # and their names on the page
    "model": {"kernel": "kernel machines and votes", "neighbors": "nearest rows vote"},
    "geometry": {
        "auto": "automatic",
        "product": "product of spheres and flat space",
        "elliptic": "elliptic, K > 0",
        "hyperbolic": "hyperbolic, K < 0",
        "learned": "K learned from the data",
        "mixed": "mixed: elliptic + hyperbolic",
        "flat": "flat, K = 0",
    },
    "neighbors": {
        "auto": "automatic",
        "1": "1",
        "3": "3",
        "5": "5",
        "7": "7",
        "11": "11",
        "15": "15",
        "25": "25",
    },
}


@dataclass(frozen=True)
class LearnState:
    """The choices of the page; `drop` has the positions of the columns that are not used."""

    data: str = "wine"
    target: str = ""
    drop: tuple[int, ...] = ()
    kinds: tuple[tuple[int, str], ...] = ()
    model: str = "kernel"
    geometry: str = "auto"
    neighbors: str = "auto"
    points: str = ""

    def with_choice(self, name: str, value: str) -> Self:
        as_choice(name[:SHOWN], "name", tuple(vars(self)))
        changed: dict[str, Any] = {name: value}
        if name in OPTIONS:
            as_choice(value[:SHOWN], name, tuple(OPTIONS[name]))
        elif name == "data":
            as_choice(value[:SHOWN], name, (*loaders.SOURCES, "upload", "points"))
            changed |= {"target": "", "drop": (), "kinds": ()}
        elif name == "drop":
            parts = [part for part in value.split(",") if part]
            if not all(part.isascii() and part.isdecimal() and len(part) < 4 for part in parts):
                raise InvalidInputError(f"drop must be numbers of columns; got {value[:20]!r}.")
            changed["drop"] = tuple(sorted({int(part) for part in parts}))
        elif name == "kinds":
            changed["kinds"] = _read_kinds(value)
        return replace(self, **changed)

    def task(self, table: PreparedTable) -> _fitting.FitTask:
        k = self.neighbors if self.neighbors == "auto" else int(self.neighbors)
        return _fitting.FitTask(table, self.geometry, k, self.model)

    @property
    def query(self) -> str:
        kinds = ",".join(f"{column}.{kind}" for column, kind in self.kinds)
        parts = vars(self) | {"drop": ",".join(map(str, self.drop)), "kinds": kinds}
        kept = {n: part for n, part in parts.items() if n != "points" or self.data == "points"}
        return urlencode(kept, safe=",;")

    @classmethod
    def from_query(cls, query: str) -> Self:
        state = cls()
        parts = dict(parse_qsl(query, keep_blank_values=True))
        for name in filter(parts.__contains__, vars(state)):
            state = state.with_choice(name, parts[name])
        return state


def _read_kinds(value: str) -> tuple[tuple[int, str], ...]:
    """Read kinds of columns, "3.category,5.text"."""
    found = {}
    for part in filter(None, value.split(",")):
        number, _, kind = part.partition(".")
        if not (number.isascii() and number.isdecimal() and len(number) < 4):
            raise InvalidInputError(f"kinds must be columns with kinds; got {value[:20]!r}.")
        found[int(number)] = as_choice(kind[:SHOWN], "kind", _tables.CHOSEN_KINDS)
    return tuple(sorted(found.items()))


def learn_code(state: LearnState, table: PreparedTable) -> str:
    source = table.source
    rows = "problem.X"
    given = ""
    more = ""
    if source.kind == "bundled" and table.dropped:
        rows += f"[:, {[source.columns.index(name) for name in table.columns]}]"
    elif source.kind != "bundled":
        given = f", {table.target!r}"
        if table.dropped:
            given += f", drop={table.dropped}"
        if not source.header:
            given += ", header=False"
        kinds = f"kinds={dict(table.kinds)}" if table.kinds else ""
        rows = f"TableEncoder({kinds}).fit_transform({rows})"
        more = "from cayleyklein.tables import TableEncoder\n"
    labels = "problem.y" if table.is_regression else "problem.classes[problem.y]"
    kind = type(_fitting.make_estimator(state.task(table))).__name__
    votes = "" if state.neighbors == "auto" else f"n_neighbors={state.neighbors}, "
    same = "" if table.is_regression else "stratify=y, "
    seed = _fitting.PAGE_SEED
    return f"""\
from cayleyklein.experiments import load_problem
{more}problem = load_problem({source.name!r}{given})
X, y = {rows}, {labels}
from sklearn.model_selection import train_test_split
from cayleyklein import {kind}
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size={_fitting.TEST_PART}, {same}random_state={seed})
model = {kind}({votes}geometry="{state.geometry}", random_state={seed})
model.fit(X_train, y_train)
print(model.metric_, model.score(X_test, y_test))
"""


def _bytes_of(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except ValueError as error:
        raise InvalidInputError("A file did not arrive whole; choose it again.") from error


class FitProcess:
    process: Any = None

    def __init__(self, work: Any, task: Any, slots: threading.Semaphore) -> None:
        self._given = (work, task)
        self._slots = slots

    def poll(self) -> list[_fitting.News]:
        """Return the news since the last call; start the fit when its turn comes."""
        if self.process is None:
            if not self._slots.acquire(blocking=False):
                return []
            self.process, self._inbox = start_apart(_work, *self._given)
            self._begun = time.monotonic()
            return [_fitting.News({"state": "Fitting…"})]
        alive = self.process.is_alive()
        found = []
        with suppress(EOFError, OSError):
            while self._inbox.poll():
                found.append(self._inbox.recv())
        if not found and not alive:
            return [_fitting.ending("The fit ended without a result.")]
        if time.monotonic() - self._begun > LIMITS.fit_seconds:
            said = f"The fit took more than {LIMITS.fit_seconds:g} seconds and was ended."
            found.append(_fitting.ending(said))
        return found

    def end(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.join(timeout=1.0)
            self._inbox.close()
            self._slots.release()


def _work(outbox: Any, work: Any, task: Any) -> None:
    with suppress(BrokenPipeError):  # the visitor has left
        try:
            work(task, outbox.send)
        except (CayleyKleinError, ValueError, ArithmeticError, MemoryError) as error:
            outbox.send(_fitting.ending(f"{error}"))


def start_apart(target: Any, *given: Any) -> tuple[Any, Any]:
    """Start a process, which gets one end of a pipe; return it and the other end."""
    context = _processes()
    inbox, outbox = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(outbox, *given), daemon=True)
    process.start()
    outbox.close()  # then the pipe ends here when the process ends
    return process, inbox


def run_apart(seconds: float, function: Any, *given: Any) -> Any:
    """Run a function in a process of its own, for at most some seconds; return its result."""
    with _processes().Pool(1) as pool:
        return pool.apply_async(function, given).get(seconds)


def _processes() -> Any:
    """Return a context that forks processes from a clean one that has imported the library."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cayleyklein.app._learn"])
    return context


def nothing_new() -> dict[str, Any]:
    """Return the part of an answer that is sent only once, empty."""
    return {"pictures": {}, "steps": [], "model": None, "preview": None}


class LearnSession:
    """The learning page of one visitor.

    `examples` has the news of fits of the package's own tables, by query, for all visitors: they
    come at once when another one asks for the same.
    """

    def __init__(
        self,
        query: str,
        slots: threading.Semaphore,
        examples: dict[str, list[_fitting.News]] | None = None,
    ) -> None:
        self.slots = slots
        self._why: dict[str, Any] | None = None
        self._predictions: dict[str, Any] | None = None
        self._examples = {} if examples is None else examples
        self._told: list[_fitting.News] = []  # news of the fit that runs
        self.notes = list[str]()
        self.uploaded: TableSource | None = None
        self.fit: FitProcess | None = None
        self._lock = threading.RLock()
        try:
            self._take(LearnState.from_query(query))
        except CayleyKleinError as error:
            self._take(LearnState())
            self.notes.append(f"The address was not understood: {error}")

    def hear(self, commands: list[Any]) -> dict[str, Any]:
        with self._lock:
            self.notes = [] if commands else self.notes
            self.notes += run_commands(self, commands)
            return self._answer()

    def poll(self) -> dict[str, Any] | None:
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._answer() if self._look() else None
        finally:
            self._lock.release()

    def close(self) -> None:
        with self._lock:
            if self.fit is not None:
                self.fit.end()
                self.fit = None

    def do_choose(self, name: str, value: str) -> None:
        self._take(self.state.with_choice(name, value))

    def do_load(self, query: str) -> None:
        self._take(LearnState.from_query(query))

    def do_upload(self, name: str, content: str) -> None:
        source = _tables.read_source(_bytes_of(content), name)
        self._take(self.state.with_choice("data", "upload"), source)

    def do_predict(self, content: str) -> None:
        if self._predictor is None:
            raise InvalidInputError("Press Fit first; then rows can be predicted.")
        self._predict(_bytes_of(content))

    def do_try(self, cells: dict[str, Any]) -> None:
        """Predict one row from the cells of the form, and say why."""
        if self._predictor is None:
            raise InvalidInputError("Press Fit first; then rows can be predicted.")
        rows = self._predict(_predicting.row_as_text(cells, self.table))
        with warnings.catch_warnings():  # the notes of the prediction say what was odd
            warnings.simplefilter("ignore")
            (x,) = self._predictor[0].transform(rows)
        self._why = self._explained(x, None, rows)

    def _predict(self, content: bytes) -> Any:
        rows = _tables.read_rows(content, self.table)
        self._predictions = _predicting.predict_rows(self._predictor, self.table, rows)
        return rows

    def do_explain(self, row: int) -> None:
        """Say why a row of the table is predicted as it is, by the model fitted last."""
        if self._predictor is None:
            raise InvalidInputError("Press Fit first; then rows can be explained.")
        if not 0 <= row < len(self.table.X):
            raise InvalidInputError(f"There is no row {row + 1}.")
        self._why = self._explained(self.table.X[row], row, self.table.problem.X.iloc[[row]])

    def do_change(self) -> None:
        """Say what would have to change for the explained row to have another class."""
        if self._why is None or self.table.is_regression:
            raise InvalidInputError("Say which row first, of a table with classes.")
        cells = _predicting.row_as_text(self._why["whole"], self.table)
        rows = _tables.read_rows(cells, self.table)
        encoder, model = self._predictor
        self._why |= {"change": _trust.change_words(encoder, model, rows)}

    def _explained(self, x: Any, row: int | None, cells: Any) -> dict[str, Any]:
        why = _explaining.explain_row(self._predictor[1], self.table, x, row)
        whole = _predicting.named_cells(cells)
        return why | {
            "change": None if self.table.is_regression else "",
            "names": [name[:SHOWN] for name in whole],
            "cells": [cell[:SHOWN] for cell in whole.values()],
            "whole": whole,
        }

    def _take(self, state: LearnState, source: TableSource | None = None) -> None:
        self._not_while_fitting()
        source = source or self.uploaded
        if state.data == "points":
            source = _tables.points_source(state.points)
        elif state.data != "upload":
            source = _tables.bundled_source(state.data)
        elif source is None:
            raise InvalidInputError("A file stays with the page it was given to; choose it again.")
        target = state.target or source.target
        if target not in source.targets:
            raise InvalidInputError(f"There is no column {target[:SHOWN]!r} to predict.")
        if state.drop and state.drop[-1] >= len(source.columns):
            raise InvalidInputError(f"There is no column number {state.drop[-1]}.")
        if state.kinds and state.kinds[-1][0] >= len(source.columns):
            raise InvalidInputError(f"There is no column number {state.kinds[-1][0]}.")
        kinds = {source.columns[i]: kind for i, kind in state.kinds}
        dropped = [source.columns[i] for i in state.drop]
        table = _tables.prepare(source, target, dropped, kinds)
        self.state = replace(state, target=target)
        self.table = table
        self.uploaded = source if state.data == "upload" else self.uploaded
        self.rows = _fitting.RowPictures(table)
        self._clear()

    def _clear(self) -> None:
        self.texts = {"state": "", "live": "", "share": "0", "headline": "", "verdict": ""}
        self.texts |= {"choice": "", "read": _predicting.reading_words(self.table)}
        self._why = None
        for place, title in _fitting.PANEL_NAMES.items():
            self.texts[f"about-{place}"] = "Not fitted yet: these are the rows."
            self.texts[f"title-{place}"] = title
        self.results: dict[str, Any] = {
            "confusion": None,
            "curves": {},
            "weights": (),
            "parts": (),
            "trials": (),
            "planes": (),
            "suspicious": None,
        }
        self._predictor: Any = None
        self._predictions = None
        table = self.table
        codes = self.rows.y
        counts = np.bincount(codes, minlength=len(table.classes)).tolist()
        classes = []
        for i, (name, n) in enumerate(zip(table.classes, counts, strict=True)):
            hue, marker, _ = class_look(i)
            classes.append([name[:SHOWN], n, hue, marker])
        preview = {
            "names": [name[:SHOWN] for name in table.source.columns],
            "rows": _predicting.shown_cells(table.source.frame.head(5)),
            "classes": classes,
            "target": table.target[:SHOWN],
            "labels": codes.tolist(),
            "test": self.rows.is_test,
            "notes": [*table.source.notes, *table.notes],
            "fields": _predicting.fields_of(table),
            "first": _predicting.named_cells(table.problem.X.head(1)),
        }
        pictures = dict.fromkeys(_fitting.PANEL_NAMES, self.rows.picture([]))
        self._once = nothing_new() | {"pictures": pictures, "preview": preview}

    def _not_while_fitting(self) -> None:
        if self.fit is not None:
            raise InvalidInputError("A fit is running; cancel it first.")

    def do_fit(self) -> None:
        n = len(self.table.labels)
        n_classes = len(self.table.classes)
        n_test = math.ceil(_fitting.TEST_PART * n)
        if min(n_test, n - n_test) < n_classes and not self.table.is_regression:
            said = f"{plural(n_test, 'test row')}, and each class needs one among them."
            raise InvalidInputError(f"{n} rows are too few for {n_classes} classes: {said}")
        self._run(_fitting.fit_and_compare)

    def do_model(self) -> None:
        self._run(_fitting.make_model)

    def _run(self, work: Any) -> None:
        self._not_while_fitting()
        self._told = []
        if work is _fitting.fit_and_compare:
            self._clear()
            for news in self._examples.get(self.state.query, ()):
                self._hear_news(news)
            if self._predictor is not None:
                return
        self.fit = FitProcess(work, self.state.task(self.table), self.slots)
        self.texts["state"] = "Waiting for a free place…"
        if work is _fitting.fit_and_compare:
            n, k = len(self.table.X), round((1 - _fitting.TEST_PART) * len(self.table.X))
            self.texts["headline"] = f"Learning from {k:,} of {n:,} rows; the others test it…"
        self._look()

    def do_cancel(self) -> None:
        if self.fit is not None:
            self.close()
            self.texts["state"] = "Cancelled."

    def _look(self) -> bool:
        told = [] if self.fit is None else self.fit.poll()
        for news in told:
            self._told.append(news)
            done = news.ended and news.texts.get("state") == "Done."
            bundled = self.table.source.kind == "bundled"
            if done and bundled and len(self._examples) < LIMITS.kept_fits:
                self._examples[self.state.query] = self._told
            self._hear_news(news)
        return bool(told)

    def _hear_news(self, news: _fitting.News) -> None:
        self.texts |= news.texts
        self._once["steps"] = [*self._once["steps"], *news.steps]
        self._once["pictures"] = self._once["pictures"] | (news.pictures or {})
        self.results = news.results or self.results
        self._predictor = news.predictor or self._predictor
        self.notes += news.notes
        if news.model is not None:
            stem = self.table.source.name.rpartition(".")[0] or self.table.source.name
            content = np.frombuffer(news.model, dtype=np.int8)
            self._once["model"] = {"name": f"{stem}.ckm", "content": content}
        if news.ended:
            self.close()

    def _columns(self) -> list[list[Any]]:
        """Return the number, name and use of each column, the kind that it is read as, and why."""
        read = {column.name: column for column in self.table.encoder.columns_}
        chosen = dict(self.state.kinds)
        found = []
        for i, name in enumerate(self.table.source.columns):
            column = read.get(name)
            kind = "unused" if column is None else column.kind
            said = "" if column is None or column.is_plain else str(column).partition(": ")[2]
            used = i not in self.state.drop
            found.append([i, name[:SHOWN], used, chosen.get(i, kind), said, i in chosen])
        return found

    def _answer(self) -> dict[str, Any]:
        table = self.table
        state = self.state
        source = self.table.source
        data = {name: name for name in loaders.SOURCES}
        if self.uploaded:
            data["upload"] = self.uploaded.name[:SHOWN]
        if state.data == "points":
            data["points"] = "points of the plane"
        options = OPTIONS | {"data": data, "target": {n: n[:SHOWN] for n in source.targets}}
        classes = plural(len(table.classes), "class")
        kinds = "numbers to predict" if table.is_regression else classes
        about = f"{plural(len(table.X), 'row')}, {kinds}"
        columns = self._columns()
        del columns[source.columns.index(table.target)]
        once = self._once
        self._once = nothing_new()
        return once | {
            "choices": vars(state),
            "kinds": _tables.CHOSEN_KINDS,
            "columns": columns,
            "query": state.query,
            "notes": self.notes,
            "options": {name: list(names.items()) for name, names in options.items()},
            "texts": self.texts | {"table": about, "code": learn_code(state, table)},
            "running": self.fit is not None,
            "results": self.results,
            "predictions": self._predictions,
            "explanation": self._why,
            "fitted": self._predictor is not None,
        }
