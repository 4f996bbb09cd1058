"""The tables and the pages of a reproduction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments._methods import METHODS, PAPERS
from cayleyklein.experiments._outcomes import learned_alpha
from cayleyklein.experiments._page import Entry, Table, page, paragraph, provenance_section, section
from cayleyklein.experiments._paper import (
    METHODS_IN_PRINT,
    PAPER_ALPHA,
    PAPER_CELLS,
    SYMBOLS,
    Mark,
)
from cayleyklein.experiments._runs import Cell

if TYPE_CHECKING:
    from cayleyklein.experiments._reproduce import CellResult, Reproduction

__all__ = [
    "below_the_paper",
    "check_markers",
    "fragment",
    "insert_fragments",
    "markdown",
    "summary",
    "whole_page",
]

TITLES = {
    "exp": "Classification with curved metrics (the paper's table tab:exp)",
    "targets": "The same, with k read as the target neighbours of a row, and votes of 3",
    "mixed": "Mixed metrics (the paper's table tab:mixed)",
}

LEGEND = (
    "For each geometry: the paper's number, the paper's algorithm (its solver, start and loss, as "
    "many target neighbours as vote), and ours (our defaults in this geometry, the same votes). "
    "Mean accuracy ± standard error over the splits. ▲ above the paper's number, = level with it, "
    "▼ below: by more than one row where each row is tested once, and by more than one standard "
    "error of ours elsewhere. Bold: better than flat LMNN by the same algorithm on the same splits "
    "at the same k, by a t-test at 5 % corrected for overlapping training sets (Nadeau and Bengio "
    "2003) and for the number of methods (Holm)."
)

ALGORITHMS = {"the paper's algorithm": True, "ours": False}
"""Who computed a number, and whether the names of its methods begin with `PAPERS`."""


def marked(
    found: Reproduction, table: str, papers: bool | None = None
) -> list[tuple[CellResult, Mark]]:
    """Return the cells for which the paper's table has a number, with their marks.

    Those of the paper's algorithm alone, of ours alone, or with None of both.
    """
    return [
        (result, mark)
        for result in found.results.values()
        for mark in result.marks
        if mark.paper.table == table and papers in (None, result.cell.method.startswith(PAPERS))
    ]


class Column(NamedTuple):
    """A column of a table: the numbers of the paper, or of a method."""

    head: str
    method: str
    in_print: bool = False


def columns_of(found: Reproduction, table: str) -> list[Column]:
    """Return for each geometry the paper's number, its algorithm and ours; then the others."""
    computed = dict.fromkeys(cell.method for cell in found.results)
    printed = sorted((c for c in PAPER_CELLS if c.table == table), key=lambda cell: cell.column)
    columns = []
    for method in dict.fromkeys(cell.method for cell in printed):
        title = METHODS[method].title
        ran = [
            Column(f"{title}: {who}", name)
            for who, name in (("paper's algorithm", PAPERS + method), ("ours", method))
            if name in computed
        ]
        columns += [Column(f"{title}: paper", method, in_print=True), *ran] if ran else []
    return columns + [
        Column(METHODS[method].title, method)
        for method in computed
        if method.removeprefix(PAPERS) not in METHODS_IN_PRINT
    ]


def paper_table(found: Reproduction, table: str) -> Table:
    """Return one of the paper's tables with the numbers of its algorithm and ours beside it."""
    printed = [cell for cell in PAPER_CELLS if cell.table == table]
    numbers = {Cell(c.dataset, c.method, c.k, c.n_targets): f"{c.accuracy:.3f}" for c in printed}
    columns = columns_of(found, table)
    shares = table == "mixed" and any(column.method == "mixed" for column in columns)

    def entry(column: Column, dataset: str, k: int, targets: int | None) -> Entry:
        cell = Cell(dataset, column.method, k, targets)
        if column.in_print:
            return Entry(numbers.get(cell, ""))
        return cell_entry(found.results.get(cell), table)

    rows = dict.fromkeys((cell.dataset, cell.k, cell.n_targets) for cell in printed)
    return Table(
        TITLES[table],
        ("k", "data set", *(c.head for c in columns), *["α of mixed: paper, ours"] * shares),
        [
            [
                Entry(str(targets or k)),
                Entry(dataset),
                *(entry(column, dataset, k, targets) for column in columns),
                *([alpha_entry(found, dataset, k)] if shares else []),
            ]
            for dataset, k, targets in rows
        ],
        n_labels=2,
    )


def cell_entry(result: CellResult | None, table: str) -> Entry:
    """Write a mean, its standard error, and a mark where the paper has a number."""
    if result is None:
        return Entry("")
    for mark in result.marks:
        if mark.paper.table == table:
            text = f"{result.text} {SYMBOLS[mark.kind]}"
            return Entry(text, bold=result.is_better, kind=mark.kind)
    return Entry(result.text, bold=result.is_better)


def alpha_entry(found: Reproduction, dataset: str, k: int) -> Entry:
    """Write the paper's share of the elliptic metric, and our mean."""
    result = found.results[Cell(dataset, "mixed", k)]
    alpha = learned_alpha(result.outcomes)
    return Entry(f"{PAPER_ALPHA[dataset]:.2f}, {'' if alpha is None else f'{alpha:.2f}'}")


def summary(found: Reproduction, table: str) -> str:
    """Count the cells above, level with and below the paper."""
    parts = []
    for who, papers in ALGORITHMS.items():
        kinds = Counter(mark.kind for _, mark in marked(found, table, papers))
        if kinds:
            counts = ", ".join(f"{kinds[kind]} {kind}" for kind in SYMBOLS)
            parts.append(f"{who}: {counts} of {sum(kinds.values())}")
    return f"Beside the numbers of the paper's table, {'; '.join(parts)}."


def below_the_paper(found: Reproduction, table: str) -> list[str]:
    """Name each cell that is below the paper."""
    return [
        f"{result.cell.dataset}, {METHODS[result.cell.method].title}, "
        f"k = {result.cell.n_targets or result.cell.k}: "
        f"{result.accuracy:.3f}, paper {mark.paper.accuracy:.3f}"
        for result, mark in marked(found, table)
        if mark.kind == "below"
    ]


def measured(found: Reproduction) -> str:
    """Say by which protocol and on what the numbers were taken."""
    about = found.provenance
    commit = f", commit {about['commit']}" if about["commit"] else ""
    machine = about["machine"]
    return (
        f"Protocol ({found.protocol.name}): {found.protocol.describe()}. Measured on "
        f"{about['date'][:10]} with cayleyklein {about['cayleyklein']}{commit}, Python "
        f"{about['python']}, {machine['processor']}, {machine['cores']} cores."
    )


def fragment(found: Reproduction, table: str) -> str:
    """Return a table as Markdown, with its legend, for a README or a page."""
    below = "; ".join(below_the_paper(found, table)) or "nothing"
    return "\n\n".join(
        [
            paper_table(found, table).to_markdown(),
            LEGEND,
            f"{summary(found, table)} Below the paper: {below}.",
            measured(found) + "\n",
        ]
    )


def markdown(found: Reproduction) -> str:
    """Return the report as Markdown."""
    parts = ["# The paper's tables, reproduced\n"]
    parts += [f"## {TITLES[table]}\n\n{fragment(found, table)}" for table in found.tables]
    return "\n".join(parts)


def marked_place(table: str) -> re.Pattern[str]:
    """Return what matches the markers of a table, each alone on its line, and all between them."""
    return re.compile(
        rf"^<!-- reproduce {table} -->\n(.*?)^<!-- /reproduce {table} -->$",
        re.MULTILINE | re.DOTALL,
    )


def check_markers(text: str, tables: Sequence[str], name: str) -> None:
    """Refuse a Markdown text that has no place for any of the tables, or half of one."""
    for table in tables:
        lines = text.splitlines()
        counts = [lines.count(f"<!-- {slash}reproduce {table} -->") for slash in ("", "/")]
        if counts not in ([0, 0], [1, 1]) or (counts[0] and not marked_place(table).search(text)):
            raise InvalidInputError(
                f"{name} should have the lines <!-- reproduce {table} --> and "
                f"<!-- /reproduce {table} --> once each, in that order."
            )
    if not any(marked_place(table).search(text) for table in tables):
        raise InvalidInputError(
            f"{name} has no place for a table: add the lines <!-- reproduce {tables[0]} --> and "
            f"<!-- /reproduce {tables[0]} -->."
        )


def insert_fragments(text: str, found: Reproduction) -> str:
    """Put the tables between their markers in a Markdown text.

    The markers of a table are ``<!-- reproduce exp -->`` and ``<!-- /reproduce exp -->``, each on a
    line of its own.
    """
    for table in found.tables:
        if place := marked_place(table).search(text):
            text = text[: place.start(1)] + fragment(found, table) + text[place.end(1) :]
    return text


def whole_page(found: Reproduction) -> str:
    """Return the report as one page of HTML."""
    return page(
        "The paper's tables, reproduced",
        "Nielsen, Muzellec, Nock: Large Margin Nearest Neighbor Classification using Curved "
        "Mahalanobis Distances, section 5.",
        [
            *(table_section(found, table) for table in found.tables),
            section("How to read it", paragraph(LEGEND), paragraph(measured(found))),
            provenance_section(found.provenance),
        ],
        wide=True,
    )


def table_section(found: Reproduction, table: str) -> str:
    """Return a table, the counts, and the names of what is below the paper."""
    below = below_the_paper(found, table)
    names = "".join(f"<li>{escape(line)}</li>" for line in below)
    listed = [paragraph("Below the paper:"), f"<ul>{names}</ul>"] if below else []
    return section(
        TITLES[table],
        replace(paper_table(found, table), caption=summary(found, table)).to_html(),
        *listed,
    )
