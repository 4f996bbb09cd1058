"""The two tables of the paper's section 5 as data, and our results next to them."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cayleyklein.experiments._runs import Cell
from cayleyklein.experiments._statistics import Result, accuracy_text, cell_of
from cayleyklein.experiments.methods import METHODS, PAPERS, REPRODUCED
from cayleyklein.experiments.page import PAPER_MARKS, ReportTable


class PaperCell(NamedTuple):
    """A number of the paper, in a table by its LaTeX label without ``tab:``, or "targets"."""

    table: str
    dataset: str
    method: str
    k: int
    n_targets: int | None
    accuracy: float
    bold: bool


# A star is the paper's bold face; the dash is empty in print. The paper does not say whether k is
# the neighbours that vote, or the target neighbours, as in its section 4: the table "targets".
EXP = """
k   dataset  elliptic  hyperbolic  flat
1   wine     0.989*    0.865       0.984
1   vowel    0.832*    0.797       0.827
1   balance  0.924*    0.891       0.846
1   pima     0.726*    0.706       0.709
3   wine     0.983     0.871       0.984*
3   vowel    0.828*    0.782       0.827
3   balance  0.917*    0.911       0.846
3   pima     0.706     0.695       0.709*
5   wine     0.983     -           0.984*
5   vowel    0.826     0.805       0.827*
5   balance  0.907*    0.895       0.846
5   pima     0.714*    0.712       0.709
11  wine     0.994*    0.983       0.984
11  vowel    0.839*    0.767       0.827
11  balance  0.874     0.897*      0.846
11  pima     0.713*    0.698       0.709
"""
MIXED = """
k  dataset  flat    elliptic  hyperbolic  mixed
3  wine     0.993*  0.984     0.893       0.986
3  sonar    0.733   0.788     0.640       0.802*
3  balance  0.846   0.910     0.904       0.920*
3  pima     0.709   0.712     0.699       0.720*
3  vowel    0.827   0.825     0.816       0.841*
"""
PAPER_TABLES = {"exp": EXP, "targets": EXP, "mixed": MIXED}
VOTES = 3  # neighbours that vote in the table "targets"
# Share α of the elliptic distance in the paper's mixed distance.
PAPER_ALPHA = {"wine": 0.741, "sonar": 0.794, "balance": 0.440, "pima": 0.584, "vowel": 0.407}


def _read_cells(table: str) -> list[PaperCell]:
    (_, _, *methods), *rows = (line.split() for line in PAPER_TABLES[table].strip().splitlines())
    cells = []
    for k, dataset, *texts in rows:
        votes, targets = (VOTES, int(k)) if table == "targets" else (int(k), None)
        for method, text in zip(methods, texts, strict=True):
            if text != "-":
                number, bold = float(text.removesuffix("*")), text.endswith("*")
                cells.append(PaperCell(table, dataset, method, votes, targets, number, bold))
    return cells


PAPER_CELLS = tuple(cell for table in PAPER_TABLES for cell in _read_cells(table))
METHODS_IN_PRINT = frozenset(cell.method for cell in PAPER_CELLS)


def cells_of(tables: Sequence[str], methods: Sequence[str] = REPRODUCED) -> list[Cell]:
    """Return the cells of tables: a method of the paper where it is printed, another in all."""
    found: dict[Cell, None] = {}
    for table in tables:
        printed = [paper for paper in PAPER_CELLS if paper.table == table]
        missing = METHODS_IN_PRINT - {paper.method for paper in printed}
        for paper in printed:
            some = (method for method in methods if method.removeprefix(PAPERS) not in missing)
            found |= dict.fromkeys(Cell(paper.dataset, m, paper.k, paper.n_targets) for m in some)
    return list(found)


HALF_DIGIT = 0.0005  # half of the last digit that the paper prints
TABLE_TITLES = {
    "exp": "Classification with curved metrics (the paper's table tab:exp)",
    "targets": "The same, with k read as the target neighbours of a row, and votes of 3",
    "mixed": "Mixed metrics (the paper's table tab:mixed)",
}
PAPER_LEGEND = (
    "For each geometry: the paper's number, the paper's algorithm (its solver, start and loss, as "
    "many target neighbours as vote), and ours (our defaults in this geometry, the same votes). "
    "Mean accuracy ± standard error over the splits. ▲ above the paper's number, = level with it, "
    "▼ below: by more than one row where each row is tested once, and by more than one standard "
    "error of ours elsewhere. Bold: better than flat LMNN by the same algorithm on the same splits "
    "at the same k, by a t-test at 5 % corrected for overlapping training sets (Nadeau and Bengio "
    "2003) and for the number of methods (Holm)."
)


def paper_marks(result: Result, *, is_partition: bool) -> list[dict[str, Any]]:
    """Return the paper's numbers for a result, each with a mark: "above", "level" or "below".

    Level is within one row if each is tested once, and otherwise within one standard error of ours,
    both with half a digit for the paper's rounding. A single split is always level.
    """
    tolerance = math.inf if result["standard_error"] is None else result["standard_error"]
    if is_partition:
        tolerance = 1 / sum(outcome["n_test"] for outcome in result["outcomes"])
    cell, marks = cell_of(result), []
    cell = cell._replace(method=cell.method.removeprefix(PAPERS))
    for paper in PAPER_CELLS:
        if paper[1:5] == cell:
            gap = result["accuracy"] - paper.accuracy
            is_level = abs(gap) <= tolerance + HALF_DIGIT
            kind = "level" if is_level else "above" if gap > 0 else "below"
            marks.append(paper._asdict() | {"mark": kind})
    return marks


def paper_table(results: Sequence[Result], table: str) -> ReportTable:
    by_cell = {cell_of(result): result for result in results}
    printed = {Cell(*p[1:5]): f"{p.accuracy:.3f}" for p in PAPER_CELLS if p.table == table}
    marked = {
        cell: mark for cell, r in by_cell.items() for mark in r["paper"] if mark["table"] == table
    }

    def ours(cell: Cell) -> str:
        if cell not in by_cell:
            return ""
        mark = f" {PAPER_MARKS[marked[cell]['mark']]}" if cell in marked else ""
        bold = "**" if by_cell[cell]["is_better_than_flat"] else ""
        return f"{bold}{accuracy_text(by_cell[cell])}{mark}{bold}"

    def alphas(cell: Cell) -> str:
        share = by_cell[cell]["alpha"]
        return f"{PAPER_ALPHA[cell.dataset]:.2f}, {'' if share is None else f'{share:.2f}'}"

    columns: list[tuple[str, str, Callable[[Cell], str]]] = []  # name, method, text of a cell
    computed = dict.fromkeys(cell.method for cell in by_cell)
    for method in dict.fromkeys(cell.method for cell in printed):
        title, whose = METHODS[method].title, {"paper's algorithm": PAPERS + method, "ours": method}
        ran = [(f"{title}: {who}", name, ours) for who, name in whose.items() if name in computed]
        if ran:
            columns += [(f"{title}: paper", method, lambda cell: printed.get(cell, "")), *ran]
    others = [m for m in computed if m.removeprefix(PAPERS) not in METHODS_IN_PRINT]
    columns += [(METHODS[method].title, method, ours) for method in others]
    if table == "mixed" and "mixed" in computed:
        columns.append(("α of mixed: paper, ours", "mixed", alphas))

    rows = [
        [str(row.n_targets or row.k), row.dataset]
        + [text(row._replace(method=method)) for _, method, text in columns]
        for row in dict.fromkeys(cell._replace(method="") for cell in printed)
    ]
    names = ("k", "data set", *(name for name, _, _ in columns))
    return ReportTable(TABLE_TITLES[table], names, rows, 2, _notes(by_cell, marked))


def _notes(by_cell: dict[Cell, Result], marked: dict[Cell, dict[str, Any]]) -> list[str]:
    counts = []
    for who, papers in (("the paper's algorithm", True), ("ours", False)):
        some = [m["mark"] for c, m in marked.items() if c.method.startswith(PAPERS) == papers]
        if some:
            kinds = ", ".join(f"{Counter(some)[kind]} {kind}" for kind in PAPER_MARKS)
            counts.append(f"{who}: {kinds} of {len(some)}")
    below = [
        f"{cell}: {by_cell[cell]['accuracy']:.3f}, below the paper's {mark['accuracy']:.3f}"
        for cell, mark in marked.items()
        if mark["mark"] == "below"
    ]
    return [f"Beside the numbers of the paper's table, {'; '.join(counts)}.", *below]
