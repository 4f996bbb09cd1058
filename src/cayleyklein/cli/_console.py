"""Output of every command: short, verbose, quiet or as JSON."""

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


@dataclass(frozen=True)
class Console:
    """Results on standard output, and remarks on standard error."""

    quiet: bool = False
    verbose: bool = False
    json: bool = False

    def result(self, values: dict[str, Any], text: str, *, styled: bool = False) -> None:
        """Print the values as JSON, or the text; a styled text has terminal codes and is safe."""
        if self.json:
            print(json.dumps(values, ensure_ascii=False, default=plain))
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


def plain(value: Any) -> Any:
    """Convert a NumPy value for JSON."""
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


Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print only results and errors.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print more remarks.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]


def _common(quiet: Quiet = False, verbose: Verbose = False, json: Json = False,
            debug: Debug = False) -> None:  # fmt: skip
    """Declare the options that every command has."""


def with_console(*examples: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command: options -q, -v, --json and --debug, as a Console, and examples."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command, eval_str=True)
        _, *own = signature.parameters.values()
        common = inspect.signature(_common, eval_str=True).parameters.values()

        @functools.wraps(command)
        def with_options(quiet: bool, verbose: bool, json: bool, debug: bool, **given: Any) -> Any:
            return command(Console(quiet, verbose, json), **given)

        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in [*own, *common]]
        with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {p.name: p.annotation for p in parameters}
        lines = "".join(f"\n    cayleyklein {example}" for example in examples)
        title = "Examples" if len(examples) > 1 else "Example"
        shown = f"\n\n{title}:\n\n\b{lines}\n" if lines else ""  # \b: do not wrap the lines
        with_options.__doc__ = inspect.cleandoc(command.__doc__ or "") + shown
        del with_options.__wrapped__
        return with_options

    return decorate
