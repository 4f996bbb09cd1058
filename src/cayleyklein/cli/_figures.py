"""``cayleyklein figures``: the pictures that the examples draw."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cayleyklein._validation import did_you_mean, require
from cayleyklein.cli._console import Console, with_console
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError

__all__ = ["HELP", "command", "draw"]

HELP = """Draw the figures of the paper, and some more.

Cross-ratio, distance and angle, projections, bisectors, spheres, charts, Voronoi diagrams of order
1 and k, decision frontiers, learned metrics, truly curved rows: each as PNG and SVG. The
diagram that changes with the curvature is a GIF. All of them take a minute or two.

Examples:

\b
    cayleyklein figures -o pictures
    cayleyklein figures spheres order_k -o pictures
"""

PACKAGE = Path(__file__).parents[1]
PREFIX = "plot_"


def scripts() -> dict[str, Path]:
    """Return the examples by name, from the package or from the repository that it runs in."""
    folders = (PACKAGE / "examples", PACKAGE.parents[1] / "examples")
    folder = next((folder for folder in folders if folder.is_dir()), folders[0])
    return {path.stem.removeprefix(PREFIX): path for path in sorted(folder.glob(f"{PREFIX}*.py"))}


def names_from(start: str) -> list[str]:
    """Complete a name, for the shell."""
    return [name for name in scripts() if name.startswith(start)]


@with_console
def command(
    console: Console,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Made when it is missing.")
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Which.", show_default="all", autocompletion=names_from
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer frames and repetitions, to have a look.")
    ] = False,
) -> None:
    """Draw figures."""
    with console.progress("drawing") as show:
        written = draw(output, names or (), quick=quick, progress=show)
    values = {"figures": [str(path) for path in written]}
    console.result(values, "" if console.quiet else "\n".join(map(str, written)))


def draw(
    output: Path,
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    progress: Callable[[float, float | None], None],
) -> list[Path]:
    """Run the examples of these names, or all; return the files, which are there once whole."""
    require("matplotlib", "plot")
    known = scripts()
    for name in names:
        if name not in known:
            raise InvalidInputError(
                f"There is no figure {name!r}.{did_you_mean(name, list(known), 'figures')}"
            )
    output.mkdir(parents=True, exist_ok=True)
    chosen = list(dict.fromkeys(names or known))
    written: list[Path] = []
    for number, name in enumerate(chosen):
        progress(number, len(chosen))
        with tempfile.TemporaryDirectory(prefix=".part-", dir=output) as folder:
            run(known[name], Path(folder), quick)
            drawn = sorted(Path(folder).iterdir())
            written += [path.replace(output / path.name.removeprefix(PREFIX)) for path in drawn]
    progress(len(chosen), len(chosen))
    return written


def run(script: Path, folder: Path, quick: bool) -> None:
    """Run an example in a process of its own: it is a script, and draws with pyplot."""
    done = subprocess.run(
        [sys.executable, str(script), "-o", str(folder), *(["--quick"] if quick else [])],
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise CayleyKleinError(f"{script.name} could not be drawn: {last}")
