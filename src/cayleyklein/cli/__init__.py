"""The command ``cayleyklein`` (the extra ``cli``)."""

import sys
from collections.abc import Sequence

from cayleyklein._validation import as_texts, require
from cayleyklein._version import __version__
from cayleyklein.exceptions import MissingExtraError

__all__ = ["main"]

NEEDED = ("typer", "rich", "pandas", "skops")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line by default.

    Returns
    -------
    int
        0 when all went well, 1 when something could not be done, 2 for a wrong command line, 130
        when it was interrupted.
    """
    given = sys.argv[1:] if arguments is None else list(as_texts(arguments, "arguments"))
    if given == ["--version"]:  # at once: the libraries take their time
        print(f"cayleyklein {__version__}")
        return 0
    try:
        for module in NEEDED:
            require(module, "cli")
        from cayleyklein.cli._run import run

        return run(given)
    except MissingExtraError as error:
        print(f"cayleyklein: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # while the libraries take their time
        print("cayleyklein: interrupted.", file=sys.stderr)
        return 130
