"""The choices of the learning page, as one value that fits into an address, and as Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from cayleyklein._validation import as_choice
from cayleyklein.app._fitting import SEED, TEST_PART
from cayleyklein.app._tables import BUNDLED, Table, points_source
from cayleyklein.exceptions import InvalidInputError

CHOICES = ("data", "target", "drop", "geometry", "neighbors")

GEOMETRIES = {
    "auto": "automatic, tried on held-out rows",
    "elliptic": "elliptic, K > 0",
    "hyperbolic": "hyperbolic, K < 0",
    "learned": "K learned from the data",
    "mixed": "mixed: elliptic + hyperbolic",
    "flat": "flat, K = 0",
}
NEIGHBORS = ("auto", "1", "3", "5", "7", "11", "15", "25")
UPLOAD, POINTS = "upload", "points"

OPTIONS = {
    "data": (*BUNDLED, UPLOAD, POINTS),
    "geometry": tuple(GEOMETRIES),
    "neighbors": NEIGHBORS,
}


@dataclass(frozen=True)
class LearnState:
    """The choices of the page; `drop` has the positions of the columns that are not used."""

    data: str = "wine"
    target: str = ""
    drop: tuple[int, ...] = ()
    geometry: str = "auto"
    neighbors: str = "auto"
    points: str = ""

    def with_choice(self, name: str, value: str) -> LearnState:
        """Return the state with another choice, which is checked."""
        if name in OPTIONS:
            as_choice(value[:40], name, OPTIONS[name])
        changed: dict[str, Any] = {name: value}
        if name == "data":
            changed |= {"target": "", "drop": ()}
        elif name == "drop":
            parts = [part for part in value.split(",") if part]
            if not all(part.isascii() and part.isdecimal() and len(part) < 4 for part in parts):
                raise InvalidInputError(f"drop must be numbers of columns; got {value[:20]!r}.")
            changed["drop"] = tuple(sorted({int(part) for part in parts}))
        return replace(self, **changed)

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
        for name in CHOICES:
            if name in parts and not (name == "data" and parts[name] == UPLOAD):
                state = state.with_choice(name, parts[name])
        if state.data == POINTS:
            points_source(parts.get("points", ""))  # checks them
            state = replace(state, points=parts.get("points", ""))
        return state


def learn_code(state: LearnState, table: Table) -> str:
    """Return the lines of Python that give the accuracy that the page shows."""
    source = table.source
    if source.kind == "bundled":
        used = [i for i, name in enumerate(source.columns[:-1]) if name not in table.dropped]
        load = [f"from cayleyklein.datasets import load_{source.name}"]
        read = [f"X, y = load_{source.name}(return_X_y=True)"]
        read += [f"X = X[:, {used}]"] if table.dropped else []
    else:
        drop = f"drop={list(table.dropped)}" if table.dropped else ""
        load = ["from cayleyklein.tables import TableEncoder, read_table, split_target"]
        read = [
            f"table = read_table({source.name!r}, text=[{table.target!r}]{source.options})",
            f"rows, y, _ = split_target(table, {table.target!r})",
            f"X = TableEncoder({drop}).fit_transform(rows)",
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
