"""Running a command line: what its errors look like, and its exit codes."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from cayleyklein.cli._app import app
from cayleyklein.cli._console import printable
from cayleyklein.exceptions import CayleyKleinError

__all__ = ["run"]

FAILED, MISUSED, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141

# Typer brings its own click or uses the one installed, depending on its version.
UsageError: Any = typer.BadParameter.__bases__[0]

EXPECTED = (CayleyKleinError, OSError, ValueError, MemoryError)
"""What a file or a parameter can cause; the message alone tells what to do."""


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"] or ["--help"]
    try:
        with warnings_as_notes(quiet=not {"-q", "--quiet"}.isdisjoint(arguments)):
            code = app(arguments, prog_name="cayleyklein", standalone_mode=False)
            sys.stdout.flush()
        return ended(code if isinstance(code, int) else 0)
    except typer.Exit as stop:
        return ended(int(stop.exit_code))
    except (KeyboardInterrupt, typer.Abort):
        return ended(INTERRUPTED)
    except UsageError as error:
        context = getattr(error, "ctx", None)
        where = context.command_path if context is not None else "cayleyklein"
        complain(f"{error.format_message()}\nTry: {where} --help")
        return MISUSED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except EXPECTED as error:
        if debug:
            traceback.print_exc()
        complain(sentence(error))
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last one before the user
        if debug:
            traceback.print_exc()
        advice = "" if debug else " --debug shows where."
        complain(f"an unexpected {type(error).__name__}: {sentence(error)}{advice}")
        return FAILED


def ended(code: int) -> int:
    """Return an exit code; some versions of Typer make one of an interruption by themselves."""
    if code == INTERRUPTED:
        complain("interrupted.")
    return code


def complain(message: str) -> None:
    """Say on standard error what went wrong."""
    print(printable(f"cayleyklein: {message}"), file=sys.stderr)


def sentence(error: BaseException) -> str:
    """Return the message of an error on one line."""
    if isinstance(error, MemoryError) and not str(error):
        return "there is not enough memory for this."
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Show warnings as one line on standard error, without the line of code that gave them."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if not quiet:
            print(printable(f"note: {' '.join(str(message).split())}"), file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        for unhelpful in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", unhelpful)
        warnings.showwarning = show
        yield
