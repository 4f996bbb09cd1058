"""The app of all commands, the messages of their errors, and the exit codes."""

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from cayleyklein.cli import _check, _console, _experiments, _fit, _predict
from cayleyklein.exceptions import CayleyKleinError

app = typer.Typer(
    help="""Learn curved metrics from tables, and use them.

Begin with your own table, whose first line names the columns:

\b
    cayleyklein fit flowers.csv --target species -o flowers.ckm
    cayleyklein evaluate flowers.ckm more-flowers.csv
    cayleyklein predict flowers.ckm new-flowers.csv -o answers.csv

or compare the geometries on the data sets of the paper:

\b
    cayleyklein compare wine balance

Every command has its own help: cayleyklein fit --help. The version is: cayleyklein --version
""",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def open_explorer(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 5006,
    host: Annotated[str, typer.Option(help="Address; this computer by default.")] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
    worksheets: Annotated[
        str | None, typer.Option(help="A worksheet (.md), a folder of them, or an address of one.")
    ] = None,
    show: Annotated[
        Path | None,
        typer.Option(
            "--map",
            help="A tree (Newick, .nwk) or a table with an embedding, opened as a map.",
        ),
    ] = None,
    chart: Annotated[
        str, typer.Option(help="Chart of the embedding, such as poincare, hyperboloid or lonlat.")
    ] = "poincare",
) -> None:
    """Open a page where points, conics and curvatures can be moved, and metrics learned."""
    from cayleyklein.app import explore

    def tell(address: str) -> None:
        typer.echo(f"The explorer is at {address} (Ctrl+C ends it).")

    pages: dict[str, Any] = {"port": port, "host": host, "browser": not no_browser}
    explore(show, chart=chart, on_start=tell, worksheets=worksheets, **pages)


# in the order of the help
app.command("fit")(_fit.fit)
app.command("predict")(_predict.predict)
app.command("evaluate")(_predict.evaluate)
app.command("check")(_check.check)
app.command("counterfactual")(_predict.counterfactual)
app.command("info")(_fit.info)
app.command("neighbors")(_predict.neighbors)
app.command("curvature")(_fit.curvature)
app.command("compare")(_experiments.compare_data)
app.command("reproduce")(_experiments.reproduce_tables)
app.command("figures")(_experiments.draw_figures)
app.command("datasets")(_experiments.datasets)
app.command("explore")(open_explorer)

INTERRUPTED = 130  # exit code, which some versions of Typer return themselves

# Typer has its own copy of click or uses the installed one, depending on its version.
UsageError: Any = typer.BadParameter.__bases__[0]


def run_command_line(arguments: list[str]) -> int:
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"] or ["--help"]
    try:
        with warnings_as_notes(quiet=not {"-q", "--quiet"}.isdisjoint(arguments)):
            code = app(arguments, prog_name="cayleyklein", standalone_mode=False)
            sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except UsageError as error:
        context = getattr(error, "ctx", None)
        where = context.command_path if context is not None else "cayleyklein"
        complain(f"{error.format_message()}\nTry: {where} --help")
        return 2
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as if SIGPIPE had ended it
    except Exception as error:  # noqa: BLE001 - nobody else would catch it
        if debug:
            traceback.print_exc()
        if isinstance(error, CayleyKleinError | OSError | ValueError | MemoryError):
            complain(sentence(error))  # of a file or a parameter: the message is enough
        else:
            advice = "" if debug else " --debug shows where."
            complain(f"an unexpected {type(error).__name__}: {sentence(error)}{advice}")
        return 1
    if code == INTERRUPTED:
        complain("interrupted.")
    return code if isinstance(code, int) else 0


def complain(message: str) -> None:
    print(_console.printable(f"cayleyklein: {message}"), file=sys.stderr)


def sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError) and not str(error):
        return "there is not enough memory for this."
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def warnings_as_notes(quiet: bool) -> Iterator[None]:
    def show(message: Warning | str, *_: object, **__: object) -> None:
        if not quiet:
            print(_console.printable(f"note: {' '.join(str(message).split())}"), file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        yield
