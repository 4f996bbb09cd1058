"""``cayleyklein reproduce``: the paper's tables beside ours."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cayleyklein.cli._compare import table_text
from cayleyklein.cli._console import Console, printable, with_console
from cayleyklein.cli._figures import draw
from cayleyklein.cli._options import Dask, Processes, cluster_at
from cayleyklein.experiments import FULL, QUICK, Reproduction, reproduce
from cayleyklein.experiments._paper import TABLES
from cayleyklein.experiments._reproduction_report import (
    below_the_paper,
    check_markers,
    insert_fragments,
    measured,
    paper_table,
    summary,
)
from cayleyklein.experiments._runs import write_whole
from cayleyklein.tables import check_writable

__all__ = ["HELP", "command"]

HELP = """Compute the paper's two tables by its protocol, beside the paper's own numbers.

For each geometry there are three columns: the paper's number; the paper's algorithm, computed here;
and ours, our defaults in the same geometry with as many votes. So reproduction and improvement are
seen apart. A number is an accuracy ± standard error with a mark beside the paper's: ▲ above, =
level, ▼ below. A star (*) means better than flat LMNN by the same algorithm, on the evidence. Seeds
are fixed.

Each finished cell is stored in DIR. Repeat the command to go on with a run that was interrupted;
cells of other code or other versions are computed anew. DIR then holds results.json (every split,
with machine, versions and commit), report.html, report.md, and exp.md, targets.md and mixed.md, the
tables alone.

The paper does not say what the k of its first table is: the neighbours that vote, or the target
neighbours that a metric is learned with. Both are computed.

Quick by default: ten folds for wine and sonar, five random subsets of 250 training rows for the
others, about a quarter of an hour on two cores, most of it the paper's algorithm. --full is the
paper's repetition: one row out at a time, and ten subsets; one to two hours. --table takes one
table alone.

Examples:

\b
    cayleyklein reproduce
    cayleyklein reproduce --full --figures -o paper
    cayleyklein reproduce --full --dask tcp://scheduler:8786
    cayleyklein reproduce --from paper/results.json --into README.md
"""


class Wanted(StrEnum):
    """Which of the paper's tables."""

    exp = "exp"
    targets = "targets"
    mixed = "mixed"
    all = "all"


@with_console
def command(
    console: Console,
    table: Annotated[
        Wanted,
        typer.Option(
            help="exp: elliptic, hyperbolic and flat at k = 1, 3, 5, 11; targets: the same with k "
            "target neighbours and votes of 3; mixed: these and the mixed metric at k = 3, and "
            "sonar."
        ),
    ] = Wanted.all,
    full: Annotated[bool, typer.Option("--full", help="The paper's exact repetition.")] = False,
    figures: Annotated[
        bool, typer.Option("--figures", help="Draw the figures too, in DIR/figures.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Made when it is missing.",
            show_default="reproduction, or where --from is",
        ),
    ] = None,
    jobs: Processes = -1,
    dask: Dask = None,
    stored: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="results.json",
            help="Compute nothing; write the reports anew from these results.",
            show_default=False,
        ),
    ] = None,
    into: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.md",
            help="A Markdown file to put the tables in, between <!-- reproduce exp --> and "
            "<!-- /reproduce exp --> (and the same with mixed). May be given again.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compute what is missing, write the reports and print the tables."""
    pages, tables = into or [], tuple(TABLES) if table is Wanted.all else (table.value,)
    if stored is not None and full:
        raise typer.BadParameter("--from computes nothing, so that --full has no meaning.")
    # A run takes long: what could not be written at its end is said before it.
    for page in pages:
        check_writable(page)
        check_markers(page.read_text("utf-8"), tables, str(page))
    output = output or (Path("reproduction") if stored is None else stored.parent)
    output.mkdir(parents=True, exist_ok=True)
    if stored is None:
        with cluster_at(dask):
            found = compute(console, output, tables, full, jobs)
    else:
        found = Reproduction.read(stored).only(tables)
    paths = found.write(output)
    for page in pages:
        write_whole(page, insert_fragments(page.read_text("utf-8"), found))
    if figures:
        with console.progress("drawing the figures") as show:
            draw(output / "figures", progress=show)
    text = as_text(found, paths["report.html"].resolve())
    console.result(found.to_dict(), text, styled=True)


def compute(
    console: Console, output: Path, tables: tuple[str, ...], full: bool, jobs: int
) -> Reproduction:
    """Compute what is missing; when interrupted, say how to go on."""
    try:
        with console.progress("computing cells") as show:
            return reproduce(
                output,
                tables=tables,
                protocol=FULL if full else QUICK,
                n_jobs=jobs,
                progress=lambda step: show(step.done, step.total),
            )
    except KeyboardInterrupt:
        console.say(f"The finished cells are in {output}; the same command goes on from them.")
        raise


def as_text(found: Reproduction, page: Path) -> str:
    """Return the tables, the counts, what is below the paper, and where the report is."""
    parts = []
    for table in found.tables:
        below = "".join(f"  below: {line}\n" for line in below_the_paper(found, table))
        parts.append(table_text(paper_table(found, table)))
        parts.append(f"{summary(found, table)}\n{below}")
    return "\n".join([*parts, printable(f"{measured(found)}\nReport: {page}")])
