"""What the page of learning is set to, as one value that fits into an address."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np

from cayleyklein._validation import as_choice
from cayleyklein.app._fitting import SEED, TEST_PART, Task
from cayleyklein.app._tables import BUNDLED, Table
from cayleyklein.exceptions import InvalidInputError

__all__ = ["GEOMETRIES", "LearnState", "learn_code"]

GEOMETRIES = {
    "auto": "auto: product of spheres",
    "elliptic": "elliptic, K > 0",
    "hyperbolic": "hyperbolic, K < 0",
    "learned": "learned curvature",
    "mixed": "mixed: elliptic + hyperbolic",
    "flat": "flat",
}
NEIGHBORS = ("auto", "1", "3", "5", "7", "11", "15", "25")
ITERATIONS = {"auto": "default", "50": "50 a pass", "200": "200 a pass", "1000": "1000 a pass"}
UPLOAD = "upload"
PROJECTION = "projection"


@dataclass(frozen=True)
class LearnState:
    """The choices of the page; `plane` is "projection", or "columns" for those of x and y.

    Examples
    --------
    >>> state = LearnState.from_query({"data": "pima", "geometry": "elliptic"})
    >>> state.to_query()
    'data=pima&plane=projection&x=0&y=1&geometry=elliptic&neighbors=auto&iterations=auto'
    """

    data: str = "wine"
    plane: str = PROJECTION
    x: str = "0"
    y: str = "1"
    geometry: str = "auto"
    neighbors: str = "auto"
    iterations: str = "auto"

    def with_choice(self, name: Any, value: Any) -> LearnState:
        """Return the state with another choice.

        Raises
        ------
        InvalidInputError
            When there is no such choice.
        """
        allowed: dict[str, tuple[str, ...]] = {
            "data": (*BUNDLED, UPLOAD),
            "plane": (PROJECTION, "columns"),
            "geometry": tuple(GEOMETRIES),
            "neighbors": NEIGHBORS,
            "iterations": tuple(ITERATIONS),
        }
        if name in ("x", "y"):
            if not (isinstance(value, str) and value.isdecimal() and len(value) <= 3):
                raise InvalidInputError(
                    f"{name} must be a column's number; got {str(value)[:20]!r}."
                )
            value = str(int(value))
        elif isinstance(name, str) and name in allowed:
            as_choice(value if not isinstance(value, str) else value[:40], name, allowed[name])
        else:
            raise InvalidInputError(f"There is no choice {str(name)[:20]!r}.")
        return replace(self, **{name: value})

    def to_query(self) -> str:
        """Return the state as the query of an address; an upload stays with its visitor."""
        return urlencode({name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def from_query(cls, parts: Mapping[str, str]) -> LearnState:
        """Read a state back; what is missing has its default."""
        state = cls()
        for name in cls.__dataclass_fields__:
            if name in parts and not (name == "data" and parts[name] == UPLOAD):
                state = state.with_choice(name, parts[name])
        return state

    def features(self, table: Table) -> tuple[int, int] | None:
        """Return the two columns to learn from, or None for all.

        Raises
        ------
        InvalidInputError
            When they are one column, or there is no such column.
        """
        if self.plane == PROJECTION:
            return None
        i, j = int(self.x), int(self.y)
        if i == j or max(i, j) >= len(table.columns):
            raise InvalidInputError("Choose two different columns for x and y.")
        return i, j

    def task(self, table: Table) -> Task:
        """Return what is to be fitted."""
        features = self.features(table)
        columns = list(features or range(len(table.columns)))
        X = table.X[:, columns]
        constant = [table.columns[columns[i]] for i in np.flatnonzero(np.ptp(X, axis=0) == 0)]
        if constant and len(columns) - len(constant) < 2:
            raise InvalidInputError(
                f"Column {constant[0][:40]!r} has one value only; two columns that vary are needed."
            )
        held_out = math.ceil(TEST_PART * len(X))
        if min(held_out, len(X) - held_out) < len(table.classes):
            raise InvalidInputError(
                f"{len(X)} rows are too few for {len(table.classes)} classes: {held_out} are held "
                f"out, and each class needs one there."
            )
        neighbors, iterations = (
            value if value == "auto" else int(value) for value in (self.neighbors, self.iterations)
        )
        return Task(X, table.y, self.geometry, neighbors, iterations)


def learn_code(state: LearnState, table: Table) -> str:
    """Return the lines of Python that give the accuracy that the page shows."""
    load, read = _reading(table)
    chosen = state.features(table)
    votes = "" if state.neighbors == "auto" else f"{state.neighbors}, "
    arguments = f'geometry="{state.geometry}", random_state={SEED}'
    default = state.iterations == "auto"
    learner = f"learner = CurvedLMNN({arguments}, max_iter={state.iterations})"
    lines = [
        load,
        "from sklearn.model_selection import train_test_split",
        f"from cayleyklein import CurvedKNeighborsClassifier{'' if default else ', CurvedLMNN'}",
        *read,
        *([] if chosen is None else [f"X = X[:, {list(chosen)}]"]),
        "X_train, X_test, y_train, y_test = train_test_split(",
        f"    X, y, test_size={TEST_PART}, stratify=y, random_state={SEED})",
        *([] if default else [learner]),
        f"model = CurvedKNeighborsClassifier({votes}{arguments if default else 'learner=learner'})",
        "model.fit(X_train, y_train)",
        "print(model.metric_, model.score(X_test, y_test))",
    ]
    return "\n".join(lines) + "\n"


def _reading(table: Table) -> tuple[str, list[str]]:
    """Return the import, and the lines that read X and y."""
    if not table.code:
        return (
            f"from cayleyklein.datasets import load_{table.name}",
            [f"X, y = load_{table.name}(return_X_y=True)"],
        )
    return (
        "from cayleyklein.tables import TableEncoder, read_table, split_target",
        [table.code, "X = TableEncoder().fit_transform(rows)"],
    )
