"""What commands share: their output, as text or JSON, and arguments and options."""

import functools
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cayleyklein.exceptions import InvalidInputError


@dataclass(frozen=True)
class Console:
    quiet: bool = False
    verbose: bool = False
    json: bool = False
    reading: dict[str, Any] = field(default_factory=dict)  # how to read a table

    def result(self, values: dict[str, Any], text: str, *, styled: bool = False) -> None:
        """Print the values as JSON, or the text; a styled text keeps its terminal codes."""
        if self.json:
            print(json.dumps(values, ensure_ascii=False, default=plain_value))
        elif text:
            print(text if styled else printable(text))

    def say(self, text: str) -> None:
        if not self.quiet:
            print(printable(text), file=sys.stderr)

    def note(self, text: str) -> None:
        self.say(f"note: {text}")

    def left_out(self, n_rows: int, why: str) -> None:
        if n_rows:
            self.note(f"left out {counted(n_rows, 'row')} {why}")

    def pieces(self, table: Path) -> Iterator[Any]:
        """Yield a table in pieces; the table "-" is standard input."""
        from cayleyklein.tables import iter_table

        source: Any = sys.stdin.buffer if str(table) == "-" else table
        with self.progress(f"reading {table.name}") as show:
            yield from iter_table(source, **self.reading, progress=show)

    def detail(self, text: str) -> None:
        if self.verbose:
            self.say(text)

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[..., None]]:
        if self.quiet or not sys.stderr.isatty():
            yield self.lines_of_progress(title)
            return
        from rich.console import Console as Terminal
        from rich.progress import Progress

        with Progress(console=Terminal(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total, *_: bar.update(task, completed=done, total=total)

    def lines_of_progress(self, title: str) -> Callable[..., None]:
        """Return a function that prints from time to time how far the work is, unless quiet."""
        start = time.monotonic()
        due = 5.0  # seconds before the first line
        before: int | None = None  # what an earlier run has finished

        def show(done: int, total: int | None, *_: Any) -> None:
            nonlocal due, before
            passed = time.monotonic() - start
            if before is None:
                before = done
            # after a twentieth of the work its length can be told
            if total and passed >= due and total / 20 <= done - before < total - before:
                due = passed + 30.0
                left = passed * (total - done) / (done - before)
                about = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min"
                self.say(f"{title}: {done:,} of {total:,}, about {about} left")

        return show


CONTROLS = {c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160)) if chr(c) not in "\n\t"}


def printable(text: str) -> str:
    """Replace control characters, so that names in a file cannot control the terminal."""
    return text.translate(CONTROLS)


def plain_value(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def counted(n: int, name: str) -> str:
    return f"{n:,} {name}{'' if n == 1 else 's'}"


def columns_of_text(rows: Any, **columns: Any) -> str:
    import pandas as pd

    frame = pd.DataFrame(rows, **columns)
    return str(frame.to_string(index=False, float_format="{:.3f}".format))


TableArgument = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, JSON (lines or a list), Excel or Parquet, with names of columns; - is "
        "standard input. Text may be packed (gz, bz2, xz, zip).",
    ),
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by `fit`.")]
RowsOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="OUT",
        help="CSV, TSV, JSON lines (.jsonl), Excel (.xlsx) or Parquet.",
        show_default="print",
    ),
]
DropOption = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out; may be repeated.")
]
TaskOption = Annotated[
    Literal["auto", "class", "number"],
    typer.Option(
        help="What to predict: a class or a number; by default by the values of the target."
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of random choices.")]
PictureOption = Annotated[Path | None, typer.Option(metavar="OUT", help="Draw: svg, png or pdf.")]


def not_zero(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 would do nothing; give 1 or more, or -1 for one a core.")
    return jobs


def refuse_overwriting(output: Path | None, *inputs: Path) -> None:
    for given in inputs:
        if output is not None and output.exists() and given.exists() and output.samefile(given):
            raise InvalidInputError(f"{output} is an input; give the output another name.")


def check_picture(output: Path | None, *inputs: Path) -> None:
    if output is None:
        return
    refuse_overwriting(output, *inputs)
    if output.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise InvalidInputError(f"{output} should end in .svg, .png or .pdf.")
    from cayleyklein.tables import atomic

    atomic.check_writable(output)


def save_figure(figure: Any, output: Path) -> None:
    from cayleyklein.tables import atomic

    with atomic.writing(output) as temporary:
        figure.savefig(temporary, dpi=150)


def _option(name: str, kind: Any, default: Any, *flags: str, **about: Any) -> inspect.Parameter:
    annotation = Annotated[kind, typer.Option(*flags, **about)]
    how = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, how, default=default, annotation=annotation)


READING = [
    _option("encoding", str | None, None, help="Encoding, such as cp1252.", show_default="utf-8"),
    _option(
        "delimiter",
        str | None,
        None,
        help="Character between cells.",
        show_default="by the first line",
    ),
    _option("skip_rows", int, 0, help="Lines above the names of the columns.", min=0),
]
COMMON = [
    _option("quiet", bool, False, "-q", "--quiet", help="Print only results and errors."),
    _option("verbose", bool, False, "-v", "--verbose", help="Print more remarks."),
    _option("json", bool, False, "--json", help="Print the result as JSON."),
    _option("debug", bool, False, "--debug", help="Show where an error comes from."),
]


def with_console(
    *examples: str, reads: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add examples and the common options to a command, and those of reading if it `reads`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command, eval_str=True)
        _, *own = signature.parameters.values()
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        parameters += [*(READING if reads else ()), *COMMON]

        @functools.wraps(command)
        def with_options(quiet: bool, verbose: bool, json: bool, debug: bool, **given: Any) -> Any:
            reading = {option.name: given.pop(option.name) for option in READING if reads}
            return command(Console(quiet, verbose, json, reading), **given)

        with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {p.name: p.annotation for p in parameters}
        lines = "".join(f"\n    cayleyklein {example}" for example in examples)
        shown = f"\n\nExamples:\n\n\b{lines}\n" if lines else ""  # \b: do not wrap the lines
        with_options.__doc__ = inspect.cleandoc(command.__doc__ or "") + shown
        del with_options.__wrapped__
        return with_options

    return decorate
