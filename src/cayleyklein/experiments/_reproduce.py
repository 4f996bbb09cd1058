"""The paper's two tables, by its protocol, cell by cell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from joblib import delayed

from cayleyklein._estimators import as_jobs
from cayleyklein._validation import as_callback, as_choice, as_path, as_texts
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments._methods import METHODS, PAPERS, REPRODUCED, check_methods
from cayleyklein.experiments._outcomes import Outcome, Scores, evaluate, gains_over
from cayleyklein.experiments._paper import (
    METHODS_IN_PRINT,
    PAPER_CELLS,
    TABLES,
    Mark,
    mark_against,
    paper_cells,
)
from cayleyklein.experiments._problems import load_bundled
from cayleyklein.experiments._protocols import QUICK, Protocol
from cayleyklein.experiments._runs import (
    Cell,
    CellStore,
    ProgressCallback,
    Step,
    fingerprint,
    in_parallel,
    provenance,
    write_whole,
)
from cayleyklein.experiments._statistics import PairedDifference

__all__ = ["CellResult", "Reproduction", "cells_of", "reproduce"]

FORMAT = "cayleyklein-reproduction"
VERSION = 1


@dataclass(frozen=True)
class CellResult(Scores):
    """A cell of a table: what came out, beside flat LMNN and beside the paper.

    Attributes
    ----------
    outcomes : tuple of Outcome
    cell : Cell
    over_flat : PairedDifference or None
        To flat LMNN at the same k on the same splits, by the paper's algorithm for its methods and
        by ours for the others; None when that was not run.
    is_better : bool
        Whether the gain over flat LMNN stands a corrected test at 5 %, adjusted for the methods
        tried at this k (Holm).
    marks : tuple of Mark
        One for each table of the paper that has this cell.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from cayleyklein.experiments import Protocol, reproduce
    >>> short = Protocol("short", repetitions=2, folds=2)
    >>> with TemporaryDirectory() as folder:
    ...     found = reproduce(folder, tables=["mixed"], protocol=short, methods=["knn"])
    >>> result = next(iter(found.results.values()))
    >>> result.cell.method, len(result.outcomes), result.marks
    ('knn', 2, ())
    >>> sorted(result.to_dict())[:2]
    ['accuracy', 'dataset']
    """

    cell: Cell
    over_flat: PairedDifference | None
    is_better: bool
    marks: tuple[Mark, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            **self.cell._asdict(),
            **super().to_dict(),
            "over_flat": None if self.over_flat is None else self.over_flat.to_dict(),
            "is_better_than_flat": self.is_better,
            "paper": [{**mark.paper._asdict(), "mark": mark.kind} for mark in self.marks],
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

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from cayleyklein.experiments import Protocol, Reproduction, reproduce
    >>> short = Protocol("short", repetitions=2, folds=2)
    >>> with TemporaryDirectory() as folder:
    ...     found = reproduce(folder, tables=["mixed"], protocol=short, methods=["knn"])
    ...     paths = found.write(folder)
    ...     again = Reproduction.read(paths["results.json"])
    >>> sorted(paths)
    ['mixed.md', 'report.html', 'report.md', 'results.json']
    >>> Reproduction.from_dict(again.to_dict()).outcomes == found.outcomes
    True
    >>> found.only(found.tables).tables == found.tables
    True
    """

    protocol: Protocol
    tables: tuple[str, ...]
    outcomes: Mapping[Cell, tuple[Outcome, ...]]
    provenance: dict[str, Any]

    @cached_property
    def results(self) -> dict[Cell, CellResult]:
        """Every cell, judged."""
        found: dict[Cell, CellResult] = {}
        for flat in dict.fromkeys(map(flat_cell, self.outcomes)):
            found |= self._judge(flat)
        return {cell: found[cell] for cell in self.outcomes}

    def _judge(self, flat: Cell) -> dict[Cell, CellResult]:
        """Compare the methods of one row of a table with flat LMNN, and with the paper."""
        row = {c: o for c, o in self.outcomes.items() if flat_cell(c) == flat}
        gains = gains_over(flat, row) if flat in row else {}
        is_partition = self.protocol.is_partition(flat.dataset)
        return {
            cell: CellResult(
                cell=cell,
                outcomes=tuple(outcomes),
                over_flat=gains[cell].difference if gains and cell != flat else None,
                is_better=bool(gains) and gains[cell].is_shown,
                marks=tuple(
                    mark_against(paper, outcomes, is_partition=is_partition)
                    for paper in paper_cells(*in_print(cell))
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
        if not isinstance(stored, dict):
            raise InvalidInputError(f"stored must be a dict; got {type(stored).__name__}.")
        if stored.get("format") != FORMAT or stored.get("version") != VERSION:
            raise InvalidInputError(
                f"stored is no result of this version of reproduce: expected format {FORMAT!r} and "
                f"version {VERSION}, got {stored.get('format')!r} and {stored.get('version')!r}."
            )
        try:
            return cls._from_checked(stored)
        except (KeyError, TypeError) as error:
            raise InvalidInputError(f"stored holds no results of reproduce: {error}.") from error

    @classmethod
    def _from_checked(cls, stored: dict[str, Any]) -> Reproduction:
        return cls(
            protocol=Protocol(**stored["protocol"]),
            tables=tuple(stored["tables"]),
            outcomes={
                Cell(c["dataset"], c["method"], c["k"], c["n_targets"]): tuple(
                    Outcome.from_dict(values) for values in c["outcomes"]
                )
                for c in stored["cells"]
            },
            provenance=stored["provenance"],
        )

    @classmethod
    def read(cls, path: str | Path) -> Reproduction:
        """Read a ``results.json``."""
        where = as_path(path)
        try:
            return cls.from_dict(json.loads(where.read_text("utf-8")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"{path} holds no results of reproduce: {error}") from error

    def only(self, tables: Sequence[str]) -> Reproduction:
        """Return the part of it that some of the paper's tables need."""
        wanted_tables = as_texts(tables, "tables")
        kept = tuple(table for table in self.tables if table in wanted_tables)
        if not kept:
            raise InvalidInputError(
                f"There are results of the tables {', '.join(self.tables)} alone; expected "
                f"{' or '.join(wanted_tables)}."
            )
        wanted = set(cells_of(kept, list(METHODS)))
        cells = {cell: outcomes for cell, outcomes in self.outcomes.items() if cell in wanted}
        return replace(self, tables=kept, outcomes=cells)

    def write(self, folder: str | Path) -> dict[str, Path]:
        """Write results.json, report.md, report.html, and a fragment for each table."""
        from cayleyklein.experiments._reproduction_report import fragment, markdown, whole_page

        where = as_path(folder, "folder")
        texts = {
            "results.json": json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n",
            "report.md": markdown(self),
            "report.html": whole_page(self),
            **{f"{table}.md": fragment(self, table) for table in self.tables},
        }
        paths = {name: where / name for name in texts}
        for name, text in texts.items():
            write_whole(paths[name], text)
        return paths


def in_print(cell: Cell) -> Cell:
    """Return the cell of the paper: the paper's algorithm and ours stand beside one number.

    >>> in_print(Cell("wine", "paper-flat", 3))
    Cell(dataset='wine', method='flat', k=3, n_targets=None)
    """
    return cell._replace(method=cell.method.removeprefix(PAPERS))


def flat_cell(cell: Cell) -> Cell:
    """Return the cell that this one is compared with: flat LMNN by the same algorithm."""
    return cell._replace(method="paper-flat" if cell.method.startswith(PAPERS) else "flat")


def cells_of(tables: Sequence[str], methods: Sequence[str] = REPRODUCED) -> list[Cell]:
    """Return the cells of the paper's tables, those that take longest first.

    A method of the paper has cells in the tables that print it, another method in all.

    >>> len(cells_of(["exp"])), len(cells_of(["mixed"])), len(cells_of(["exp", "mixed"]))
    (128, 45, 141)
    """
    found: dict[Cell, None] = {}
    for table in tables:
        printed = [cell for cell in PAPER_CELLS if cell.table == table]
        missing = METHODS_IN_PRINT - {cell.method for cell in printed}
        for row in dict.fromkeys((c.dataset, c.k, c.n_targets) for c in printed):
            cells = (Cell(row[0], method, *row[1:]) for method in methods)
            found |= dict.fromkeys(cell for cell in cells if in_print(cell).method not in missing)
    # One row out at a time means as many fits as rows: the longest cells should not come last.
    return sorted(found, key=lambda cell: not QUICK.is_partition(cell.dataset))


def reproduce(
    output: str | Path,
    *,
    tables: Iterable[str] = tuple(TABLES),
    protocol: Protocol = QUICK,
    methods: Sequence[str] = REPRODUCED,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Reproduction:
    """Compute the paper's tables, going on from the cells that a folder already has.

    Parameters
    ----------
    output : str or Path
        Each cell is stored here, in ``cells-<protocol>``, once it is finished. Cells of another
        version of the code are computed anew.
    tables : sequence of str, default=("exp", "targets", "mixed")
        "targets" is the paper's "exp" with k read as the target neighbours, and votes of 3.
    protocol : Protocol, default=QUICK
        ``FULL`` is the paper's.
    methods : sequence of str, default=REPRODUCED
        "flat", "elliptic", "hyperbolic" and "mixed" by our defaults, "paper-flat",
        "paper-elliptic" and "paper-hyperbolic" by the paper's algorithm, "knn" and "auto". In all
        of them k neighbours vote, each alike.
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
    wanted = tuple(as_choice(t, "tables", tuple(TABLES)) for t in as_texts(tables, "tables"))
    where = as_path(output, "output")
    as_jobs(n_jobs)
    as_callback(progress, "progress")
    if not isinstance(protocol, Protocol):
        raise InvalidInputError(
            f"protocol must be a Protocol, such as QUICK or FULL; got {type(protocol).__name__}."
        )
    cells = cells_of(wanted, methods)
    run = f"{json.dumps(asdict(protocol))} {fingerprint()}"
    store = CellStore(where / f"cells-{protocol.name}", run)
    found = {cell: outcomes for cell in cells if (outcomes := store.read(cell)) is not None}
    if progress is not None and found:
        progress(Step(len(found), len(cells), "finished before"))
    tasks = (delayed(compute)(cell, protocol) for cell in cells if cell not in found)
    for cell, outcomes in in_parallel(tasks, n_jobs):
        store.write(cell, outcomes)  # here: a worker on another machine has not this folder
        found[cell] = outcomes
        if progress is not None:
            what = f"{cell.dataset}, {METHODS[cell.method].title}, k = {cell.n_targets or cell.k}"
            progress(Step(len(found), len(cells), what))
    ordered = {cell: tuple(found[cell]) for cell in cells}
    return Reproduction(protocol, wanted, ordered, provenance())


def compute(cell: Cell, protocol: Protocol) -> tuple[Cell, list[Outcome]]:
    """Evaluate a cell on every split."""
    problem = load_bundled(cell.dataset)
    outcomes = [
        evaluate(cell.method, cell.k, problem.X, problem.y, split, n_targets=cell.n_targets)
        for split in protocol.splits(cell.dataset, problem.y)
    ]
    return cell, outcomes
