"""``cayleyklein compare``: the default classifier, every geometry, and others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console as Terminal
from rich.table import Table as Grid
from rich.text import Text

from cayleyklein.cli._console import Console, printable, with_console
from cayleyklein.cli._options import Dask, Delimiter, Encoding, Processes, cluster_at
from cayleyklein.cli._tables import refuse_overwriting
from cayleyklein.experiments import Comparison, compare
from cayleyklein.experiments._compare import DEFAULT_DATA
from cayleyklein.experiments._comparison_report import dataset_table, verdict
from cayleyklein.experiments._page import Table
from cayleyklein.tables import check_writable

__all__ = ["HELP", "command", "table_text"]

HELP = """Compare the default classifier with others, on bundled data or on your own tables.

Methods: the default (auto, nothing chosen), each geometry, plain k-NN, NCA + k-NN, a random forest
and an RBF SVM. For each data set: accuracy ± standard error over random splits that all methods
share; log loss; the difference in accuracy to Euclidean k-NN with its 95 % interval; CPU seconds of
a fit and of a prediction; the curvature K of each part of the metric; the share α of the elliptic
part of a mixed one. A star (*) means better than Euclidean k-NN on the evidence, and without one
nothing is claimed.

One HTML file holds the tables, pictures of what was learned, and how to read them.

Examples:

\b
    cayleyklein compare
    cayleyklein compare sonar pima --against lmnn
    cayleyklein compare flowers.csv --target species --splits 20 -o flowers.html
"""

LEGEND = (
    "* better than Euclidean k-NN at 5 %, corrected for overlapping training sets (Nadeau and "
    "Bengio) and for the number of methods (Holm)."
)

FILE_WIDTH = 300
"""Characters of a line when the output is no terminal, so that tables stay whole."""

ONLY_IN_REPORT = ("over flat LMNN [95 %]",)
"""A terminal is narrow."""

KIND_STYLES = {"above": "green", "below": "red"}
"""Beside the paper's number, on a terminal."""


@with_console
def command(
    console: Console,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA",
            help="Names that `cayleyklein datasets` lists, or files: CSV, TSV or Parquet with a "
            "line of column names, packed or not.",
            show_default=" ".join(DEFAULT_DATA),
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("-t", "--target", metavar="COLUMN", help="The column of classes, for files."),
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Others to add, separated by commas: lmnn (those of metric-learn and pylmnn), "
            "metric-learn, pylmnn, where they are installed.",
        ),
    ] = "",
    neighbors: Annotated[
        int | None,
        typer.Option(
            "-k",
            "--neighbors",
            help="Neighbours that vote, each alike.",
            show_default="as each method has it",
        ),
    ] = None,
    splits: Annotated[
        int, typer.Option(help="Random splits; with more, differences are surer.")
    ] = 5,
    test_size: Annotated[float, typer.Option(help="Share of the rows that test.")] = 0.2,
    jobs: Processes = -1,
    dask: Dask = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.html", help="The report.")
    ] = Path("comparison.html"),
    report: Annotated[bool, typer.Option(help="Whether to write the report.")] = True,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Compare methods, print the tables and write the report."""
    if report:
        refuse_overwriting(output, *map(Path, data or ()))
        output.parent.mkdir(parents=True, exist_ok=True)
        check_writable(output)
    with cluster_at(dask), console.progress("comparing") as show:
        found = compare(
            data or DEFAULT_DATA,
            target=target,
            delimiter=delimiter,
            encoding=encoding,
            against=[name.strip() for name in against.split(",") if name.strip()],
            n_neighbors=neighbors,
            n_splits=splits,
            test_size=test_size,
            n_jobs=jobs,
            progress=lambda step: show(step.done, step.total),
        )
    path = None
    if report:
        console.say("drawing the report")
        path = found.write_report(output, n_jobs=jobs).resolve()
    for note in found.notes:
        console.note(note)
    values = found.to_dict() | {"report": None if path is None else str(path)}
    console.result(values, as_text(found, path), styled=True)


def as_text(found: Comparison, path: Path | None) -> str:
    """Return the tables, what they support, where the report is, and the Python for it."""
    parts = []
    for dataset in found.datasets:
        said = "\n".join((*dataset.problem.notes, verdict(dataset)))
        grid = table_text(dataset_table(dataset), ONLY_IN_REPORT)
        parts.append(f"{grid}\n{printable(said)}\n")
    parts.append(LEGEND)
    if path is not None:
        parts.append(printable(f"Report: {path}"))
    parts.append(printable(f"\nThe same in Python:\n\n{found.to_python()}"))
    return "\n".join(parts)


def table_text(table: Table, without: tuple[str, ...] = ()) -> str:
    """Return a table for standard output, with a star, and on a terminal bold, for evidence.

    Its texts are made printable; the codes of a terminal are in it.
    """
    terminal = Terminal(highlight=False)
    if not terminal.is_terminal:
        terminal = Terminal(highlight=False, width=FILE_WIDTH)
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    shown = [i for i, name in enumerate(table.columns) if name not in without]
    for i in shown:
        is_number = i >= table.n_labels
        grid.add_column(
            Text(table.columns[i]),
            justify="right" if is_number else "left",
            no_wrap=i == table.n_labels,
        )
    for row in table.rows:
        # The star stands once, by the number; a name in bold is enough.
        texts = [
            Text(printable(row[i].text) + " *" * (row[i].bold and i >= table.n_labels))
            for i in shown
        ]
        for i, text in zip(shown, texts, strict=True):
            text.stylize("bold" if row[i].bold else "")
            text.stylize(KIND_STYLES.get(row[i].kind, ""))
        grid.add_row(*texts)
    with terminal.capture() as captured:
        terminal.print(Text(printable(table.caption)), grid, sep="\n")
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
