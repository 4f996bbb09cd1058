"""The paper's two tables, by its protocol."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cayleyklein._validation import as_choice, as_path, as_texts, expect
from cayleyklein.experiments import _paper, _runs
from cayleyklein.experiments import page as html
from cayleyklein.experiments._paper import PAPER_LEGEND, PAPER_TABLES
from cayleyklein.experiments._runs import Cell, Outcome, ProgressCallback
from cayleyklein.experiments._statistics import Result, summarize
from cayleyklein.experiments.methods import REPRODUCED, check_methods
from cayleyklein.experiments.problems import QUICK, Protocol, load_problem


@dataclass(frozen=True)
class Reproduction:
    """Results of :func:`reproduce`.

    Attributes
    ----------
    protocol : Protocol
    names : tuple of str
        Tables that were computed: "exp", "targets", "mixed".
    results : list of dict
        For each cell the keys of :attr:`Comparison.results`, and "paper": the paper's numbers, each
        with a "mark": "above", "level" or "below".
    provenance : dict
        Code, versions, machine and date.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> short = Protocol("short", repetitions=2, folds=2)
    >>> with TemporaryDirectory() as folder:
    ...     found = reproduce(folder, tables=["mixed"], protocol=short, methods=["flat"])
    ...     sorted(found.write(folder))
    ['mixed.md', 'report.html', 'report.md', 'results.json']
    >>> found.tables()[0].title, found.to_dict()["tables"], found.describe()[:16]
    ("Mixed metrics (the paper's table tab:mixed)", ['mixed'], 'Protocol (short)')
    """

    protocol: Protocol
    names: tuple[str, ...]
    results: list[Result]
    provenance: dict[str, Any]

    def tables(self) -> list[html.ReportTable]:
        """Return the paper's tables with our results next to its numbers."""
        return [_paper.paper_table(self.results, name) for name in self.names]

    def describe(self) -> str:
        """Return the protocol, date, version and machine as two sentences."""
        about, machine = self.provenance, self.provenance["machine"]
        commit = f", commit {about['commit']}" if about["commit"] else ""
        return (
            f"Protocol ({self.protocol.name}): {self.protocol.describe()}. Measured on "
            f"{about['date'][:10]} with cayleyklein {about['cayleyklein']}{commit}, Python "
            f"{about['python']}, {machine['processor']}, {machine['cores']} cores."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "format": "cayleyklein-reproduction",
            "version": 1,
            "protocol": asdict(self.protocol),
            "tables": list(self.names),
            "provenance": self.provenance,
            "cells": self.results,
        }

    def write(self, folder: str | Path) -> dict[str, Path]:
        """Write results.json, report.md, report.html and a Markdown file for each table."""
        where, title = as_path(folder, "folder"), "The paper's tables, reproduced"
        parts = [f"## {table.title}\n\n{self._markdown(table)}" for table in self.tables()]
        report = html.page(
            title,
            "Nielsen, Muzellec, Nock: Large Margin Nearest Neighbor Classification using Curved "
            "Mahalanobis Distances, section 5.",
            [
                *(table.to_html() for table in self.tables()),
                html.section("How to read it", html.bullets([PAPER_LEGEND, self.describe()])),
                html.provenance_section(self.provenance),
            ],
        )
        texts = {
            "results.json": json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n",
            "report.md": "\n".join([f"# {title}\n", *parts]),
            "report.html": report,
        }
        for name, table in zip(self.names, self.tables(), strict=True):
            texts[f"{name}.md"] = self._markdown(table)
        for name, text in texts.items():
            _runs.write(where / name, text)
        return {name: where / name for name in texts}

    def _markdown(self, table: html.ReportTable) -> str:
        counts, *below = table.notes
        notes = [counts, f"{'; '.join(below)}."] if below else [counts]
        return "\n\n".join([table.to_markdown(), PAPER_LEGEND, *notes, f"{self.describe()}\n"])


def beside_paper(outcomes: Mapping[Cell, list[Outcome]], protocol: Protocol) -> list[Result]:
    results = summarize(outcomes)
    for result in results:
        is_partition = protocol.is_partition(result["dataset"])
        result["paper"] = _paper.paper_marks(result, is_partition=is_partition)
    return results


def reproduce(
    output: str | Path,
    *,
    tables: Iterable[str] = tuple(PAPER_TABLES),
    protocol: Protocol = QUICK,
    methods: Sequence[str] = REPRODUCED,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Reproduction:
    """Compute the paper's tables, except the cells that a folder already has.

    Parameters
    ----------
    output : str or Path
        Folder for finished cells, in ``cells-<protocol>``; those of other code are computed again.
    tables : sequence of str, default=("exp", "targets", "mixed")
        "targets" is "exp" with k read as the number of target neighbours, and votes of 3.
    protocol : Protocol, default=QUICK
        ``FULL`` is the paper's.
    methods : sequence of str, default=REPRODUCED
        "flat", "elliptic", "hyperbolic" and "mixed" with our defaults; the first three also by the
        paper's algorithm, as "paper-flat"; "knn" and "auto". k neighbours vote, equally.
    n_jobs : int, optional
        Processes; -1 for one for each core. The accuracies do not depend on it.
    progress : callable, optional
        Called after each fit with the number of finished fits, of all fits, and a description.

    Examples
    --------
    >>> reproduce("paper", protocol=FULL).write("paper")  # doctest: +SKIP
    """
    check_methods(methods)
    names = tuple(as_choice(t, "tables", tuple(PAPER_TABLES)) for t in as_texts(tables, "tables"))
    where = as_path(output, "output")
    known = isinstance(protocol, Protocol)
    expect(known, "protocol", protocol, "a Protocol, such as QUICK or FULL")
    cells = _paper.cells_of(names, methods)
    problems = {name: load_problem(name) for name in {cell.dataset for cell in cells}}
    run = f"{json.dumps(asdict(protocol))} {_runs.fingerprint()}"
    outcomes = _runs.run_cells(
        cells,
        problems,
        {name: protocol.splits(name, problem.y) for name, problem in problems.items()},
        n_jobs=n_jobs,
        progress=progress,
        store=_runs.CellStore(where / f"cells-{protocol.name}", run),
    )
    return Reproduction(protocol, names, beside_paper(outcomes, protocol), _runs.provenance())
