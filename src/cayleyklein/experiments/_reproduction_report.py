"""The tables and the pages of a reproduction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments._marks import SYMBOLS, Mark
from cayleyklein.experiments._methods import METHODS
from cayleyklein.experiments._outcomes import learned_alpha
from cayleyklein.experiments._page import page, paragraph, provenance_section, section
from cayleyklein.experiments._paper import PAPER_ALPHA, PAPER_CELLS
from cayleyklein.experiments._store import Cell
from cayleyklein.experiments._tables import Entry, Table

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
    "Mean accuracy ± standard error over the splits; in parentheses the paper's number, where it "
    "has one. ▲ above the paper, = level with it, ▼ below: by more than one row where each row is "
    "tested once, and by more than one standard error of ours elsewhere. Bold: better than flat "
    "LMNN on the same splits at the same k, by a t-test at 5 % corrected for overlapping training "
    "sets (Nadeau and Bengio 2003) and for the number of methods (Holm)."
)


def marked(found: Reproduction, table: str) -> list[tuple[CellResult, Mark]]:
    """Return the cells for which the paper's table has a number, with their marks."""
    return [
        (result, mark)
        for result in found.results.values()
        for mark in result.marks
        if mark.paper.table == table
    ]


def paper_table(found: Reproduction, table: str) -> Table:
    """Return one of the paper's tables with our numbers beside its own."""
    printed = [cell for cell in PAPER_CELLS if cell.table == table]
    rows = dict.fromkeys((cell.dataset, cell.k, cell.n_targets) for cell in printed)
    in_print = dict.fromkeys(cell.method for cell in sorted(printed, key=lambda c: c.column))
    computed = dict.fromkeys(cell.method for cell in found.results)
    methods = [m for m in dict.fromkeys((*in_print, *computed)) if m in computed]
    names = [METHODS[method].title for method in methods]
    shares = table == "mixed" and "mixed" in methods
    return Table(
        TITLES[table],
        ("k", "data set", *names, *(("α of mixed",) if shares else ())),
        [
            [
                Entry(str(targets or k)),
                Entry(dataset),
                *(
                    cell_entry(found.results.get(Cell(dataset, method, k, targets)), table)
                    for method in methods
                ),
                *((alpha_entry(found, dataset, k),) if shares else ()),
            ]
            for dataset, k, targets in rows
        ],
        n_labels=2,
    )


def cell_entry(result: CellResult | None, table: str) -> Entry:
    """Write a mean, its standard error, and the paper's number with a mark."""
    if result is None:
        return Entry("")
    for mark in result.marks:
        if mark.paper.table == table:
            beside = f" {SYMBOLS[mark.kind]} ({mark.paper.accuracy:.3f})"
            return Entry(result.text + beside, bold=result.is_better, kind=mark.kind)
    return Entry(result.text, bold=result.is_better)


def alpha_entry(found: Reproduction, dataset: str, k: int) -> Entry:
    """Write our mean share of the elliptic metric, and the paper's."""
    result = found.results[Cell(dataset, "mixed", k)]
    alpha = learned_alpha(result.outcomes)
    return Entry(f"{'' if alpha is None else f'{alpha:.2f}'} ({PAPER_ALPHA[dataset]:.2f})")


def summary(found: Reproduction, table: str) -> str:
    """Count the cells above, level with and below the paper."""
    kinds = Counter(mark.kind for _, mark in marked(found, table))
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in SYMBOLS)
    return f"Of {sum(kinds.values())} numbers of the paper's table: {counts}."


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
