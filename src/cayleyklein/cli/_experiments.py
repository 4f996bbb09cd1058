"""``cayleyklein compare``, ``reproduce``, ``figures`` and ``datasets``."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from cayleyklein.cli import _console

if TYPE_CHECKING:
    from cayleyklein.experiments.page import ReportTable

Processes = Annotated[
    int,
    Option("-j", "--jobs", help="Processes; -1 for one a core.", callback=_console.not_zero),
]


@_console.with_console(
    "compare",
    "compare sonar pima",
    "compare flowers.csv --target species --splits 20 -o flowers.html",
    reads=True,
)
def compare_data(
    console: _console.Console,
    data: Annotated[
        list[str] | None,
        Argument(
            metavar="DATA",
            show_default="wine balance vowel",
            help="Names from `cayleyklein datasets`, or files: CSV, TSV, JSON, Excel or Parquet, "
            "with names of columns.",
        ),
    ] = None,
    target: Annotated[
        str | None, Option("-t", "--target", metavar="COLUMN", help="What to predict, in files.")
    ] = None,
    task: _console.TaskOption = "auto",
    drop: _console.DropOption = None,
    neighbors: Annotated[
        int | None,
        Option(
            "-k",
            "--neighbors",
            help="Neighbours that vote, with equal weights.",
            show_default="the method's",
        ),
    ] = None,
    splits: Annotated[int, Option(help="Splits; more show smaller differences.")] = 5,
    test_size: Annotated[float, Option(help="Share of the rows that are tested.")] = 0.2,
    jobs: Processes = -1,
    output: Annotated[
        Path, Option("-o", "--output", metavar="FILE.html", help="The report.")
    ] = Path("comparison.html"),
    report: Annotated[bool, Option(help="Whether to write the report.")] = True,
) -> None:
    """Compare our default with other methods, on bundled data or on your own tables.

    Methods: kernel machines (the default of `fit`), neighbours, each geometry, k-NN on standardised
    columns (5 neighbours, or -k), NCA + k-NN, a random forest and an RBF SVM. For each data set:
    accuracy ± standard error over random splits that all methods share; log loss; the difference in
    accuracy to standardised k-NN with its 95 % interval; CPU seconds of a fit and of a prediction;
    the curvature K of each part of the metric; the share α of the elliptic part of a mixed one. A
    star (*) means better than standardised k-NN on the evidence. Where the target is a number: R²
    instead of accuracy, RMSE and MAE instead of log loss, without NCA and mixed metrics.

    At the end a verdict over all data sets, with the curvature that each supports. One HTML file
    holds the tables, pictures of the learned metric, and how to read them. The lines
    of Python that do the same are printed at the end.
    """
    from cayleyklein import experiments
    from cayleyklein.tables import atomic

    if report:
        _console.refuse_overwriting(output, *map(Path, data or ()))
        output.parent.mkdir(parents=True, exist_ok=True)
        atomic.check_writable(output)
    chosen: dict[str, Any] = {"data": data} if data else {}
    with console.progress("comparing") as show:
        found = experiments.compare(
            **chosen,
            **console.reading,
            target=target,
            task=task,
            drop=drop or [],
            n_neighbors=neighbors,
            n_splits=splits,
            test_size=test_size,
            n_jobs=jobs,
            progress=show,
        )
    path = None
    end = (
        "* better than standardised k-NN at 5 %, corrected for overlapping training sets (Nadeau "
        "and Bengio) and for the number of methods (Holm).\n"
    )
    if report:
        console.say("drawing the report")
        path = str(found.write_report(output).resolve())
        end += f"Report: {path}\n"
    end += f"\nThe same in Python:\n\n{found.to_python()}"
    text = tables_text([*found.tables(), found.overview()], end)
    console.result(found.to_dict() | {"report": path}, text, styled=True)


@_console.with_console("reproduce", "reproduce --full -o paper")
def reproduce_tables(
    console: _console.Console,
    datasets: Annotated[
        list[str] | None,
        Argument(metavar="[DATA]...", help="Data sets of the paper; all of them by default."),
    ] = None,
    table: Annotated[
        Literal["exp", "targets", "mixed", "all"],
        Option(
            help="exp: elliptic, hyperbolic and flat at k = 1, 3, 5, 11; targets: the same with k "
            "target neighbours and votes of 3; mixed: these and the mixed metric at k = 3, and "
            "sonar."
        ),
    ] = "all",
    full: Annotated[bool, Option("--full", help="The paper's protocol.")] = False,
    output: Annotated[
        Path, Option("-o", "--output", metavar="DIR", help="Created if it is missing.")
    ] = Path("reproduction"),
    jobs: Processes = -1,
) -> None:
    """Compute the paper's two tables by its protocol, next to the paper's own numbers.

    For each geometry there are four columns: the paper's number; the paper's algorithm, computed
    here on the columns as they are, as the paper has it; the same on standardised columns; and our
    defaults in the same geometry with as many votes. A number is an accuracy ±
    standard error with a mark: ▲ above the paper's, = level, ▼ below. A star (*) means better than
    flat LMNN by the same algorithm, on the evidence. Seeds are fixed.

    Each finished cell is stored in DIR. Repeat the command to continue an interrupted run; cells of
    other code or other versions are computed again. DIR then holds results.json (every split, with
    machine, versions and commit), report.html, and exp.md, targets.md and mixed.md, one
    table each.

    The paper does not say what the k of its first table is: the neighbours that vote, or the target
    neighbours that a metric is learned with. Both are computed.

    By default wine and sonar have ten folds, and the other data sets five random subsets of 250
    training rows: some ten minutes of one core.
    --full leaves one row out at a time and draws ten subsets, as in the paper: some fifty minutes
    of one core.
    --table takes one table alone.
    """
    from cayleyklein import experiments

    tables = ["exp", "targets", "mixed"] if table == "all" else [table]
    protocol = experiments.FULL if full else experiments.QUICK
    output.mkdir(parents=True, exist_ok=True)
    try:
        with console.progress("computing cells") as show:
            found = experiments.reproduce(
                output,
                tables=tables,
                datasets=datasets or None,
                protocol=protocol,
                n_jobs=jobs,
                progress=show,
            )
    except KeyboardInterrupt:
        console.say(f"Finished cells are in {output}; the same command continues from them.")
        raise
    paths = found.write(output)
    end = f"{found.describe()}\nReport: {paths['report.html'].resolve()}"
    console.result(found.to_dict(), tables_text(found.tables(), end), styled=True)


@_console.with_console("figures -o pictures", "figures spheres order_k -o pictures")
def draw_figures(
    console: _console.Console,
    names: Annotated[
        list[str] | None, Argument(metavar="NAME", show_default="all", help="Figures to draw.")
    ] = None,
    output: Annotated[
        Path, Option("-o", "--output", metavar="DIR", help="Created if it is missing.")
    ] = Path("figures"),
) -> None:
    """Draw the figures of the paper again, as PNG and SVG files.

    In the paper's order: cross_ratio, distance_and_angle, projections, bisectors, voronoi, spheres,
    bichromatic and order_k. All of them take some ten seconds. In Python:
    cayleyklein.plotting.paper_figure("spheres").
    """
    from cayleyklein._validation import require
    from cayleyklein.plotting import PAPER_FIGURES, paper_figures

    pyplot = require("matplotlib.pyplot", "plot")
    chosen = [paper_figures.as_figure_name(name) for name in dict.fromkeys(names or PAPER_FIGURES)]
    if output.exists() and not output.is_dir():
        raise NotADirectoryError(f"{output} is a file; give a directory to draw to.")
    output.mkdir(parents=True, exist_ok=True)
    written: list[str] = []
    with console.progress("drawing") as show:
        for number, name in enumerate(chosen):
            figure = paper_figures.paper_figure(name)
            for ending in (".png", ".svg"):
                path = output / f"{name}{ending}"
                _console.save_figure(figure, path)
                written.append(str(path))
            pyplot.close(figure)
            show(number + 1, len(chosen))
    console.result({"figures": written}, "\n".join(written))


@_console.with_console()
def datasets(console: _console.Console) -> None:
    """List the data sets that `cayleyklein compare` knows, with their sizes and sources.

    In Python they are cayleyklein.datasets.load_wine() and so on.
    """
    from cayleyklein.experiments import problems

    found = []
    for name in problems.PROBLEMS:
        problem = problems.load_problem(name)
        n_rows, n_columns = problem.X.shape
        found.append(
            {
                "name": problem.name,
                "rows": n_rows,
                "columns": n_columns,
                "classes": len(problem.classes),
                "source": problem.source,
            }
        )
    table = _console.columns_of_text(found, columns=["name", "rows", "columns", "classes"])
    sources = "\n".join(f"{entry['name']}: {entry['source']}" for entry in found)
    console.result({"datasets": found}, f"{table}\n\n{sources}")


def tables_text(tables: "Sequence[ReportTable]", end: str) -> str:
    parts = []
    for table in tables:
        notes = _console.printable("\n".join(table.notes))
        parts.append(f"{table_text(table)}\n{notes}\n")
    return "\n".join([*parts, _console.printable(end)])


def table_text(table: "ReportTable") -> str:
    from rich import box
    from rich.console import Console as Terminal
    from rich.table import Table as Grid
    from rich.text import Text

    width = None if sys.stdout.isatty() else 300  # in a file nothing wraps
    terminal = Terminal(highlight=False, width=width)
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    # the report has one more column, for which a terminal is too narrow
    shown = [i for i, name in enumerate(table.columns) if name != "over flat LMNN [95 %]"]
    for i in shown:
        side: Any = "left" if i < table.n_labels else "right"
        grid.add_column(Text(table.columns[i]), justify=side, no_wrap=i == table.n_labels)

    def cell(row: Sequence[str], i: int) -> Text:
        plain = row[i].strip("*")
        star = (
            " *" if plain != row[i] and i >= table.n_labels else ""
        )  # names of methods get no star
        return Text(_console.printable(plain) + star, "bold" if plain != row[i] else "")

    for row in table.rows:
        grid.add_row(*(cell(row, i) for i in shown))
    with terminal.capture() as captured:
        terminal.print(Text(_console.printable(table.title)), grid, sep="\n")
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
