"""What every command says, and how: quietly, at length, or as JSON."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

__all__ = ["Console", "columns_of_text", "printable", "with_console"]


@dataclass(frozen=True)
class Console:
    """Where a command writes.

    Results go to standard output, and everything about how they came about to standard error.
    """

    quiet: bool = False
    verbose: bool = False
    json: bool = False

    def result(self, values: dict[str, Any], text: str, *, styled: bool = False) -> None:
        """Print a result: values as JSON when it was asked for, or else the text.

        A styled text has bold letters and colours in it, and all that is not ours made printable.
        """
        if self.json:
            print(json.dumps(values, ensure_ascii=False, default=plain))
        elif text:
            print(text if styled else printable(text))

    def say(self, text: str) -> None:
        """Say what was done."""
        if not self.quiet:
            print(printable(text), file=sys.stderr)

    def note(self, text: str) -> None:
        """Say what the user may not have expected."""
        self.say(f"note: {text}")

    def detail(self, text: str) -> None:
        """Say what only -v asks for."""
        if self.verbose:
            self.say(text)

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[float, float | None], None]]:
        """Show a bar while something goes on, on a terminal; yield what takes (done, total)."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda done, total: None
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
            yield lambda done, total: bar.update(task, completed=done, total=total)


CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
}


def printable(text: str) -> str:
    r"""Spell control characters out: names in a stranger's file must not steer the terminal.

    >>> print(printable("red\x1b[2J"))
    red\x1b[2J
    """
    return text.translate(CONTROLS)


def plain(value: Any) -> Any:
    """Make of a numpy value something that JSON knows."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def columns_of_text(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Align rows of cells: the first `left` columns to the left, the others to the right.

    >>> print(columns_of_text([["class", "rows"], ["a", "12"]]))
    class  rows
    a        12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing but results and errors.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Say more.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]


def _common(quiet: Quiet = False, verbose: Verbose = False, json: Json = False,
            debug: Debug = False) -> None:  # fmt: skip
    """Stand for the options that every command has."""


def with_console(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options -q, -v, --json and --debug, and its first parameter from them."""
    signature = inspect.signature(command, eval_str=True)
    _, *own = signature.parameters.values()
    common = list(inspect.signature(_common, eval_str=True).parameters.values())

    @functools.wraps(command)
    def with_options(quiet: bool, verbose: bool, json: bool, debug: bool, **given: Any) -> Any:
        return command(Console(quiet, verbose, json), **given)

    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in [*own, *common]
    ]
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in parameters}
    del with_options.__wrapped__
    return with_options
