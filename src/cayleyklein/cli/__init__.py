"""The command ``cayleyklein`` (the extra ``cli``)."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from cayleyklein._version import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments of the command; by default those of the command line.

    Returns
    -------
    int
        Exit code: 0 for success, 1 for an error, 2 for misuse, 130 for an interruption.
    """
    try:
        if arguments is None:
            arguments = sys.argv[1:]
        else:
            from cayleyklein._validation import as_texts

            arguments = as_texts(arguments, "arguments")
        if list(arguments) == ["--version"]:
            print(f"cayleyklein {__version__}")
            return 0
        for module in ("typer", "rich", "pandas", "skops"):
            if find_spec(module) is None:
                advice = 'pip install "cayleyklein[cli]" adds it.'
                print(f"cayleyklein: {module} is not installed; {advice}", file=sys.stderr)
                return 1
        from cayleyklein.cli._app import run_command_line

        return run_command_line(list(arguments))
    except KeyboardInterrupt:  # during the imports
        print("cayleyklein: interrupted.", file=sys.stderr)
        return 130
