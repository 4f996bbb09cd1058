"""What commands share: their output, as text or JSON, and arguments and options."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from cayleyklein.exceptions import InvalidInputError


@dataclass(frozen=True)
class Console:
    """Results on standard output, and remarks on standard error."""

    quiet: bool = False
    verbose: bool = False
    json: bool = False
    reading: dict[str, Any] = field(default_factory=dict)  # how to read a table

    def result(self, values: dict[str, Any], text: str, *, styled: bool = False) -> None:
        """Print the values as JSON, or the text; a styled text has terminal codes and is safe."""
        if self.json:
            print(json.dumps(values, ensure_ascii=False, default=plain_value))
        elif text:
            print(text if styled else printable(text))

    def written(self, values: dict[str, Any], text: str) -> None:
        """Print the result of a command that writes a file; nothing with -q."""
        self.result(values, "" if self.quiet else text)

    def say(self, text: str) -> None:
        """Print a remark."""
        if not self.quiet:
            print(printable(text), file=sys.stderr)

    def note(self, text: str) -> None:
        """Print a remark on something unexpected."""
        self.say(f"note: {text}")

    def detail(self, text: str) -> None:
        """Print a remark with -v only."""
        if self.verbose:
            self.say(text)

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[..., None]]:
        """Show a progress bar on a terminal; yield a function of (done, total)."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda *_: None
            return
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            console=Terminal(stderr=True),
            transient=True,
        )
        with bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total, *_: bar.update(task, completed=done, total=total)


CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
}


def printable(text: str) -> str:
    r"""Replace control characters, so that names in a file cannot control the terminal.

    >>> print(printable("red\x1b[2J"))
    red\x1b[2J
    """
    return text.translate(CONTROLS)


def plain_value(value: Any) -> Any:
    """Convert a NumPy value for JSON."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def counted(n: int, name: str) -> str:
    """Format a number of things.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {name}{'' if n == 1 else 's'}"


def columns_of_text(rows: Any, **columns: Any) -> str:
    """Format rows as a table of text."""
    import pandas as pd

    frame = pd.DataFrame(rows, **columns)
    return str(frame.to_string(index=False, float_format="{:.3f}".format))


TABLE_HELP = "CSV, TSV or Parquet with a line of column names; may be packed (gz, bz2, xz, zip)."

TableArgument = Annotated[Path, typer.Argument(metavar="TABLE", help=TABLE_HELP)]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by `fit`.")]
RowsOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="OUT", help="CSV, TSV or Parquet.", show_default="print"
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding, such as cp1252.", show_default="utf-8")
]
Delimiter = Annotated[
    str | None, typer.Option(help="Character between cells.", show_default="by the first line")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print only results and errors.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print more remarks.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]


def not_zero(jobs: int | None) -> int | None:
    """Raise for 0 jobs, with a clearer message than joblib's."""
    if jobs == 0:
        raise typer.BadParameter("0 would do nothing; give 1 or more, or -1 for one a core.")
    return jobs


def refuse_overwriting(output: Path | None, *inputs: Path) -> None:
    """Raise if a result would overwrite an input."""
    for given in inputs:
        if output is not None and output.exists() and given.exists() and output.samefile(given):
            raise InvalidInputError(f"{output} is an input; give the output another name.")


def _common(quiet: Quiet = False, verbose: Verbose = False, json: Json = False,
            debug: Debug = False) -> None:  # fmt: skip
    """Declare the options that every command has."""


def _reading(encoding: Encoding = None, delimiter: Delimiter = None) -> None:
    """Declare the options of commands that read a table."""


def with_console(
    *examples: str, reads: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command: examples, and options -q, -v, --json and --debug as a Console.

    One that `reads` tables has --encoding and --delimiter, too.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command, eval_str=True)
        _, *own = signature.parameters.values()
        shared = ([_reading] if reads else []) + [_common]
        for options in shared:
            own += inspect.signature(options, eval_str=True).parameters.values()

        @functools.wraps(command)
        def with_options(quiet: bool, verbose: bool, json: bool, debug: bool, **given: Any) -> Any:
            reading = {name: given.pop(name) for name in ("encoding", "delimiter") if reads}
            return command(Console(quiet, verbose, json, reading), **given)

        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {p.name: p.annotation for p in parameters}
        lines = "".join(f"\n    cayleyklein {example}" for example in examples)
        title = "Examples" if len(examples) > 1 else "Example"
        shown = f"\n\n{title}:\n\n\b{lines}\n" if lines else ""  # \b: do not wrap the lines
        with_options.__doc__ = inspect.cleandoc(command.__doc__ or "") + shown
        del with_options.__wrapped__
        return with_options

    return decorate
