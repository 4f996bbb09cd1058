"""The paper's two tables, by its protocol, cell by cell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed

from cayleyklein._validation import as_choice
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments._compare import check_methods
from cayleyklein.experiments._marks import Mark, mark_against
from cayleyklein.experiments._methods import METHODS, OURS
from cayleyklein.experiments._outcomes import Outcome, accuracies, evaluate, ratio_of_test_rows
from cayleyklein.experiments._paper import PAPER_CELLS, TABLES, paper_cells
from cayleyklein.experiments._parallel import ProgressCallback, Step, in_parallel
from cayleyklein.experiments._problems import load_bundled
from cayleyklein.experiments._protocols import QUICK, Protocol
from cayleyklein.experiments._provenance import fingerprint, provenance
from cayleyklein.experiments._statistics import (
    SIGNIFICANCE,
    PairedDifference,
    holm,
    paired_difference,
    standard_error,
)
from cayleyklein.experiments._store import Cell, CellStore, write_whole

__all__ = ["CellResult", "Reproduction", "cells_of", "reproduce"]

FORMAT = "cayleyklein-reproduction"
VERSION = 1
FLAT = "flat"


@dataclass(frozen=True)
class CellResult:
    """A cell of a table: what came out, beside flat LMNN and beside the paper.

    Attributes
    ----------
    cell : Cell
    outcomes : tuple of Outcome
    over_flat : PairedDifference or None
        To flat LMNN at the same k on the same splits; None when that was not run.
    is_better : bool
        Whether the gain over flat LMNN stands a corrected test at 5 %, adjusted for the methods
        tried at this k (Holm).
    marks : tuple of Mark
        One for each table of the paper that has this cell.
    """

    cell: Cell
    outcomes: tuple[Outcome, ...]
    over_flat: PairedDifference | None
    is_better: bool
    marks: tuple[Mark, ...]

    @property
    def accuracy(self) -> float:
        """The mean over the splits."""
        return float(np.mean(accuracies(self.outcomes)))

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return standard_error(accuracies(self.outcomes))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            **self.cell._asdict(),
            "accuracy": self.accuracy,
            "standard_error": self.standard_error,
            "over_flat": None if self.over_flat is None else self.over_flat.to_dict(),
            "is_better_than_flat": self.is_better,
            "paper": [{**mark.paper._asdict(), "mark": mark.kind} for mark in self.marks],
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
        }


@dataclass(frozen=True)
class Reproduction:
    """What :func:`reproduce` found.

    Attributes
    ----------
    protocol : Protocol
    tables : tuple of str
        The tables that were asked for.
    outcomes : mapping of Cell to tuple of Outcome
    provenance : dict
    """

    protocol: Protocol
    tables: tuple[str, ...]
    outcomes: Mapping[Cell, tuple[Outcome, ...]]
    provenance: dict[str, Any]

    @cached_property
    def results(self) -> dict[Cell, CellResult]:
        """Every cell, judged."""
        found: dict[Cell, CellResult] = {}
        for dataset, k in dict.fromkeys((cell.dataset, cell.k) for cell in self.outcomes):
            found |= self._judge(dataset, k)
        return found

    def _judge(self, dataset: str, k: int) -> dict[Cell, CellResult]:
        """Compare the methods at one k of a data set with flat LMNN, and with the paper."""
        row = {c: o for c, o in self.outcomes.items() if (c.dataset, c.k) == (dataset, k)}
        flat = row.get(Cell(dataset, FLAT, k))
        gains = {
            cell: paired_difference(
                accuracies(outcomes), accuracies(flat), test_ratio=ratio_of_test_rows(flat)
            )
            for cell, outcomes in row.items()
            if flat is not None and cell.method != FLAT
        }
        adjusted = dict(zip(gains, holm([gain.p_value for gain in gains.values()]), strict=True))
        is_partition = self.protocol.is_partition(dataset)
        return {
            cell: CellResult(
                cell=cell,
                outcomes=tuple(outcomes),
                over_flat=gains.get(cell),
                is_better=cell in gains
                and gains[cell].difference > 0
                and bool(adjusted[cell] < SIGNIFICANCE),
                marks=tuple(
                    mark_against(paper, outcomes, is_partition=is_partition)
                    for paper in paper_cells(*cell)
                ),
            )
            for cell, outcomes in row.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "protocol": asdict(self.protocol),
            "tables": list(self.tables),
            "provenance": self.provenance,
            "cells": [result.to_dict() for result in self.results.values()],
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Reproduction:
        """Return what :meth:`to_dict` gave; everything but the outcomes is judged anew."""
        if stored.get("format") != FORMAT or stored.get("version") != VERSION:
            raise InvalidInputError(
                f"Not a result of this version of reproduce: expected format {FORMAT!r} and "
                f"version {VERSION}, got {stored.get('format')!r} and {stored.get('version')!r}."
            )
        return cls(
            protocol=Protocol(**stored["protocol"]),
            tables=tuple(stored["tables"]),
            outcomes={
                Cell(c["dataset"], c["method"], c["k"]): tuple(
                    Outcome.from_dict(values) for values in c["outcomes"]
                )
                for c in stored["cells"]
            },
            provenance=stored["provenance"],
        )

    @classmethod
    def read(cls, path: str | Path) -> Reproduction:
        """Read a ``results.json``."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text("utf-8")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"{path} holds no results of reproduce: {error}") from error

    def write(self, folder: str | Path) -> dict[str, Path]:
        """Write results.json, report.md, report.html, and a fragment for each table."""
        from cayleyklein.experiments._reproduction_report import fragment, markdown, whole_page

        texts = {
            "results.json": json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n",
            "report.md": markdown(self),
            "report.html": whole_page(self),
            **{f"{table}.md": fragment(self, table) for table in self.tables},
        }
        paths = {name: Path(folder) / name for name in texts}
        for name, text in texts.items():
            write_whole(paths[name], text)
        return paths


def cells_of(tables: Sequence[str], methods: Sequence[str] = OURS) -> list[Cell]:
    """Return the cells of the paper's tables, those that take longest first.

    >>> len(cells_of(["exp"])), len(cells_of(["mixed"])), len(cells_of(["exp", "mixed"]))
    (112, 35, 119)
    """
    rows = dict.fromkeys((c.dataset, c.k) for c in PAPER_CELLS if c.table in tables)
    # One row out at a time means as many fits as rows: the longest cells should not come last.
    slow_first = sorted(rows, key=lambda row: not QUICK.is_partition(row[0]))
    return [Cell(dataset, method, k) for dataset, k in slow_first for method in methods]


def reproduce(
    output: str | Path,
    *,
    tables: Iterable[str] = tuple(TABLES),
    protocol: Protocol = QUICK,
    methods: Sequence[str] = OURS,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Reproduction:
    """Compute the paper's tables, going on from the cells that a folder already has.

    Parameters
    ----------
    output : str or Path
        Each cell is stored here, in ``cells-<protocol>``, once it is finished. Cells of another
        version of the code are computed anew.
    tables : sequence of {"exp", "mixed"}
    protocol : Protocol, default=QUICK
        ``FULL`` is the paper's.
    methods : sequence of str
        All by default.
    n_jobs : int, optional
        Processes; -1 for as many as there are cores. The accuracies do not depend on it.
    progress : callable, optional
        Told a :class:`Step` after each cell.

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from cayleyklein.experiments import Protocol, reproduce
    >>> short = Protocol("short", repetitions=2, folds=2)
    >>> with TemporaryDirectory() as folder:
    ...     found = reproduce(folder, tables=["mixed"], protocol=short, methods=["knn"])
    >>> len(found.results)
    5
    """
    check_methods(methods)
    wanted = tuple(as_choice(table, "table", tuple(TABLES)) for table in tables)
    cells = cells_of(wanted, methods)
    run = f"{json.dumps(asdict(protocol))} {fingerprint()}"
    store = CellStore(Path(output) / f"cells-{protocol.name}", run)
    found = {cell: outcomes for cell in cells if (outcomes := store.read(cell)) is not None}
    if progress is not None and found:
        progress(Step(len(found), len(cells), "finished before"))
    tasks = (delayed(compute)(cell, protocol) for cell in cells if cell not in found)
    for cell, outcomes in in_parallel(tasks, n_jobs):
        store.write(cell, outcomes)  # here: a worker on another machine has not this folder
        found[cell] = outcomes
        if progress is not None:
            what = f"{cell.dataset}, {METHODS[cell.method].title}, k = {cell.k}"
            progress(Step(len(found), len(cells), what))
    ordered = {cell: tuple(found[cell]) for cell in cells}
    return Reproduction(protocol, wanted, ordered, provenance())


def compute(cell: Cell, protocol: Protocol) -> tuple[Cell, list[Outcome]]:
    """Evaluate a cell on every split."""
    problem = load_bundled(cell.dataset)
    outcomes = [
        evaluate(cell.method, cell.k, problem.X, problem.y, split)
        for split in protocol.splits(cell.dataset, problem.y)
    ]
    return cell, outcomes
