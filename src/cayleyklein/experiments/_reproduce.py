"""The paper's two tables (section 5) as data, and our results next to them, by its protocol."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cayleyklein._validation import as_choice, as_path, as_texts, did_you_mean, expect
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments import _runs
from cayleyklein.experiments import page as html
from cayleyklein.experiments._runs import Outcome, ProgressCallback
from cayleyklein.experiments.methods import (
    GEOMETRIES_IN_PRINT,
    METHODS,
    REPRODUCED,
    WHOSE,
    Cell,
    check_methods,
    in_print,
    whose,
)
from cayleyklein.experiments.problems import QUICK, Protocol, load_problem
from cayleyklein.experiments.scores import Result, accuracy_text, cell_of, summarize


class PaperCell(NamedTuple):
    """A number of the paper, in a table by its LaTeX label without ``tab:``, or "targets"."""

    table: str
    dataset: str
    method: str
    k: int
    n_targets: int | None
    accuracy: float
    bold: bool


# Each k is followed by the methods' numbers. A star is the paper's bold face; the dash is empty in
# print. The paper does not say whether k is the neighbours that vote, or the target neighbours, as
# in its section 4: the table "targets".
EXP = """
dataset elliptic hyperbolic flat
wine    1 .989* .865  .984  3 .983  .871  .984* 5 .983  -     .984* 11 .994* .983  .984
vowel   1 .832* .797  .827  3 .828* .782  .827  5 .826  .805  .827* 11 .839* .767  .827
balance 1 .924* .891  .846  3 .917* .911  .846  5 .907* .895  .846  11 .874  .897* .846
pima    1 .726* .706  .709  3 .706  .695  .709* 5 .714* .712  .709  11 .713* .698  .709
"""
PAPER_TABLES = {
    "exp": EXP,
    "targets": EXP,
    "mixed": """
dataset flat  elliptic hyperbolic mixed
wine    3 .993* .984 .893 .986
sonar   3 .733  .788 .640 .802*
balance 3 .846  .910 .904 .920*
pima    3 .709  .712 .699 .720*
vowel   3 .827  .825 .816 .841*
""",
}
# Share α of the elliptic distance in the paper's mixed distance.
PAPER_ALPHA = {"wine": 0.741, "sonar": 0.794, "balance": 0.440, "pima": 0.584, "vowel": 0.407}


def _read_cells(table: str) -> list[PaperCell]:
    head, *lines = PAPER_TABLES[table].strip().splitlines()
    _, *methods = head.split()
    cells = []
    for line in lines:
        dataset, *texts = line.split()
        while texts:
            k = int(texts.pop(0))
            votes, targets = (3, k) if table == "targets" else (k, None)
            for method in methods:
                text = texts.pop(0)
                if text != "-":
                    number = float(text.removesuffix("*"))
                    bold = text.endswith("*")
                    cells.append(PaperCell(table, dataset, method, votes, targets, number, bold))
    # all data sets at one k after the other, as the paper has them
    return sorted(cells, key=lambda cell: cell.n_targets or cell.k)


PAPER_CELLS = tuple(cell for table in PAPER_TABLES for cell in _read_cells(table))
PAPER_LEGEND = (
    "For each geometry: the paper's number; the paper's algorithm, CayleyKleinLMNN, with as many "
    "target neighbours as vote, on the columns as they are, as the paper has it; the same on "
    "standardised columns; and ours (our defaults in this geometry, the same votes). Mean accuracy "
    "± standard error over the splits. ▲ above the paper's number, = level with it, ▼ below: by "
    "more than one row where each row is tested once, and by more than one standard error of ours "
    "elsewhere. Bold: better than flat LMNN by the same algorithm on the same splits at the same "
    "k, by a t-test at 5 % corrected for overlapping training sets (Nadeau and Bengio 2003) and "
    "for the number of methods (Holm)."
)


def cells_of(
    tables: Sequence[str],
    methods: Sequence[str] = REPRODUCED,
    datasets: Sequence[str] | None = None,
) -> list[Cell]:
    """Return the cells to compute: the paper's methods where it has them, others everywhere."""
    found: dict[Cell, None] = {}
    for table in tables:
        printed = [paper for paper in PAPER_CELLS if paper.table == table]
        missing = GEOMETRIES_IN_PRINT.keys() - {paper.method for paper in printed}
        for paper in printed:
            if datasets is not None and paper.dataset not in datasets:
                continue
            for method in methods:
                if in_print(method) not in missing:
                    found[Cell(paper.dataset, method, paper.k, paper.n_targets)] = None
    return list(found)


def paper_marks(result: Result, is_partition: bool) -> list[dict[str, Any]]:
    """Return the paper's numbers for a result, each with a mark; of a single split "level"."""
    tolerance = math.inf if result["standard_error"] is None else result["standard_error"]
    if is_partition:
        tolerance = 1 / sum(outcome["n_test"] for outcome in result["outcomes"])
    cell = cell_of(result)
    marks = []
    cell = cell._replace(method=in_print(cell.method))
    for paper in PAPER_CELLS:
        if paper[1:5] == cell:
            gap = result["accuracy"] - paper.accuracy
            kind = "above" if gap > 0 else "below"
            if abs(gap) <= tolerance + 0.0005:  # half of the last digit that the paper prints
                kind = "level"
            marks.append(paper._asdict() | {"mark": kind})
    return marks


def paper_table(results: Sequence[Result], table: str) -> html.ReportTable:
    by_cell = {cell_of(result): result for result in results}
    printed = {Cell(*p[1:5]): f"{p.accuracy:.3f}" for p in PAPER_CELLS if p.table == table}
    marked = {}
    for cell, result in by_cell.items():
        for mark in result["paper"]:
            if mark["table"] == table:
                marked[cell] = mark

    def ours(cell: Cell) -> str:
        if cell not in by_cell:
            return ""
        mark = f" {html.PAPER_MARKS[marked[cell]['mark']]}" if cell in marked else ""
        bold = "**" if by_cell[cell]["is_better_than_flat"] else ""
        return f"{bold}{accuracy_text(by_cell[cell])}{mark}{bold}"

    def theirs(cell: Cell) -> str:
        return printed.get(cell, "")

    def alphas(cell: Cell) -> str:
        texts = [f"{PAPER_ALPHA[cell.dataset]:.2f}"]
        for name in mixed:
            alpha = by_cell[cell._replace(method=name)]["alpha"]
            texts.append("" if alpha is None else f"{alpha:.2f}")
        return ", ".join(texts)

    columns: list[tuple[str, str, Callable[[Cell], str]]] = []  # name, method, text of a cell
    computed = dict.fromkeys(cell.method for cell in by_cell)
    for method in dict.fromkeys(cell.method for cell in printed):
        title = METHODS[method].title
        ran = [
            (f"{title}: {who}", prefix + method, ours)
            for prefix, who in WHOSE.items()
            if prefix + method in computed
        ]
        if ran:
            columns += [(f"{title}: paper", method, theirs), *ran]
    others = [m for m in computed if in_print(m) not in GEOMETRIES_IN_PRINT]
    columns += [(METHODS[method].title, method, ours) for method in others]
    mixed = [prefix + "mixed" for prefix in WHOSE if prefix + "mixed" in computed]
    if table == "mixed" and mixed:
        each = ", ".join(WHOSE[whose(name)] for name in mixed)
        columns.append((f"α of mixed: paper, {each}", mixed[0], alphas))

    rows = []
    used = {cell.dataset for cell in by_cell}
    for row in dict.fromkeys(cell._replace(method="") for cell in printed):
        if row.dataset in used:
            texts = [text(row._replace(method=method)) for _, method, text in columns]
            rows.append([str(row.n_targets or row.k), row.dataset, *texts])
    names = ("k", "data set", *(name for name, _, _ in columns))
    counts = []
    for prefix, who in WHOSE.items():
        some = [m["mark"] for c, m in marked.items() if whose(c.method) == prefix]
        if some:
            kinds = ", ".join(f"{Counter(some)[kind]} {kind}" for kind in html.PAPER_MARKS)
            counts.append(f"{who}: {kinds} of {len(some)}")
    below = [
        f"{cell}: {by_cell[cell]['accuracy']:.3f}, below the paper's {mark['accuracy']:.3f}"
        for cell, mark in marked.items()
        if mark["mark"] == "below"
    ]
    notes = [f"Beside the numbers of the paper's table, {'; '.join(counts)}.", *below]
    titles = {
        "exp": "Classification with curved metrics (the paper's table tab:exp)",
        "targets": "The same, with k read as the target neighbours of a row, and votes of 3",
        "mixed": "Mixed metrics (the paper's table tab:mixed)",
    }
    return html.ReportTable(titles[table], names, rows, 2, notes)


@dataclass(frozen=True)
class Reproduction:
    """Results of :func:`reproduce`.

    Attributes
    ----------
    protocol : Protocol
        The splits.
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
    ['mixed.md', 'report.html', 'results.json']
    >>> found.tables()[0].title, found.to_dict()["tables"], found.describe()[:16]
    ("Mixed metrics (the paper's table tab:mixed)", ['mixed'], 'Protocol (short)')
    """

    protocol: Protocol
    names: tuple[str, ...]
    results: list[Result]
    provenance: dict[str, Any]

    def tables(self) -> list[html.ReportTable]:
        """Return the paper's tables with our results next to its numbers."""
        return [paper_table(self.results, name) for name in self.names]

    def describe(self) -> str:
        """Return the protocol, date, version and machine as two sentences."""
        about = self.provenance
        machine = self.provenance["machine"]
        commit = f", commit {about['commit']}" if about["commit"] else ""
        return (
            f"Protocol ({self.protocol.name}): {self.protocol.describe()}. Measured on "
            f"{about['date'][:10]} with cayleyklein {about['cayleyklein']}{commit}, Python "
            f"{about['python']}, {machine['processor']}, {machine['cores']} cores."
        )

    def __str__(self) -> str:
        """Return the tables as Markdown, with what their columns and marks mean."""
        parts = [f"{table.title}\n\n{table.to_markdown()}" for table in self.tables()]
        return "\n\n".join([*parts, PAPER_LEGEND, self.describe()])

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain values for JSON."""
        return {
            "format": "cayleyklein-reproduction",
            "version": 1,
            "protocol": asdict(self.protocol),
            "tables": list(self.names),
            "provenance": self.provenance,
            "cells": self.results,
        }

    def write(self, folder: str | Path) -> dict[str, Path]:
        """Write results.json, report.html and a Markdown file for each table."""
        where = as_path(folder, "folder")
        tables = self.tables()
        report = html.page(
            "The paper's tables, reproduced",
            "Nielsen, Muzellec, Nock: Large Margin Nearest Neighbor Classification using Curved "
            "Mahalanobis Distances, section 5.",
            [table.to_html() for table in tables],
            [PAPER_LEGEND, self.describe()],
            self.provenance,
        )
        texts = {
            "results.json": json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n",
            "report.html": report,
        }
        for name, table in zip(self.names, tables, strict=True):
            counts, *below = table.notes
            notes = [PAPER_LEGEND, counts, *([f"{'; '.join(below)}."] if below else [])]
            parts = [table.to_markdown(), *notes, f"{self.describe()}\n"]
            texts[f"{name}.md"] = "\n\n".join(parts)
        for name, text in texts.items():
            _runs.write(where / name, text)
        return {name: where / name for name in texts}


def beside_paper(outcomes: Mapping[Cell, list[Outcome]], protocol: Protocol) -> list[Result]:
    results = summarize(outcomes)
    for result in results:
        result["paper"] = paper_marks(result, protocol.is_partition(result["dataset"]))
    return results


def reproduce(
    output: str | Path | None = None,
    *,
    tables: Iterable[str] = tuple(PAPER_TABLES),
    datasets: str | Iterable[str] | None = None,
    protocol: Protocol = QUICK,
    methods: Sequence[str] = REPRODUCED,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Reproduction:
    """Compute the paper's tables, except the cells that a folder already has.

    Parameters
    ----------
    output : str or Path, optional
        Folder for finished cells, in ``cells-<protocol>``; those of other code are computed again.
        None keeps none.
    tables : sequence of str, default=("exp", "targets", "mixed")
        "targets" is "exp" with k read as the number of target neighbours, and votes of 3.
    datasets : str or sequence of str, optional
        One or some of "wine", "vowel", "balance", "pima" and "sonar", which is in the table
        "mixed" only; all of them by default.
    protocol : Protocol, default=QUICK
        ``FULL`` is the paper's.
    methods : sequence of str, default=REPRODUCED
        "flat", "elliptic", "hyperbolic" and "mixed" with our defaults; the same by the paper's
        algorithm, as "paper-flat", and on standardised columns, as "paper-std-flat"; "knn" and
        "neighbors". k neighbours vote, equally.
    n_jobs : int, optional
        Number of processes; -1 takes one per core. The accuracies do not depend on it.
    progress : callable, optional
        Called after each fit with the number of finished fits, of all fits, and a description.

    Examples
    --------
    >>> found = reproduce(datasets=["balance"], tables=["mixed"], methods=["knn"])
    >>> print(found.tables()[0].to_markdown())
    | k | data set | standardised k-NN |
    |---|---|---:|
    | 3 | balance | 0.805 ± 0.008 |
    """
    check_methods(methods)
    names = tuple(as_choice(t, "tables", tuple(PAPER_TABLES)) for t in as_texts(tables, "tables"))
    known = tuple(dict.fromkeys(cell.dataset for cell in PAPER_CELLS))
    wanted = None
    if datasets is not None:
        wanted = [datasets] if isinstance(datasets, str) else list(as_texts(datasets, "datasets"))
        for name in wanted:
            if name not in known:
                raise InvalidInputError(
                    f"datasets: the paper has no {name!r}, but {', '.join(known)}."
                    f"{did_you_mean(name, known, None)}"
                )
    where = None if output is None else as_path(output, "output")
    is_one = isinstance(protocol, Protocol)
    expect(is_one, "protocol", protocol, "a Protocol, such as QUICK or FULL")
    cells = cells_of(names, methods, wanted)
    names = tuple(name for name in names if cells_of([name], methods, wanted))
    if not cells:
        raise InvalidInputError(
            f"The tables {list(tables)} have no row for the data sets {wanted}: sonar is in the "
            f'table "mixed" only.'
        )
    problems = {name: load_problem(name) for name in {cell.dataset for cell in cells}}
    splits = {name: protocol.splits(name, problem.y) for name, problem in problems.items()}
    store = None
    if where is not None:
        run = f"{json.dumps(asdict(protocol))} {_runs.fingerprint()}"
        store = _runs.CellStore(where / f"cells-{protocol.name}", run)
    outcomes = _runs.run_cells(cells, problems, splits, n_jobs, progress, store)
    return Reproduction(protocol, names, beside_paper(outcomes, protocol), _runs.provenance())
