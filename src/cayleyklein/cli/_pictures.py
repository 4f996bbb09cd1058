"""``cayleyklein voronoi``, ``figures`` and ``explore``."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, echo

from cayleyklein.cli import _console
from cayleyklein.cli._console import Console, with_console
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError

if TYPE_CHECKING:
    from cayleyklein._typing import Floats
    from cayleyklein.metrics import CurvedMetric


@with_console(
    "voronoi flowers.csv --x length --y width -o cells.svg",
    "voronoi flowers.csv --x length --y width --label species -K -0.1 -o cells.png",
    reads=True,
)
def voronoi(
    console: Console, table: _console.TableArgument,
    x: Annotated[str, Option("--x", metavar="COLUMN", help="Horizontal axis.")],
    y: Annotated[str, Option("--y", metavar="COLUMN", help="Vertical axis.")],
    output: Annotated[Path, Option("-o", "--output", metavar="OUT", help="SVG, PNG or PDF.")],
    label: Annotated[str | None, Option(metavar="COLUMN", help="Classes, for colours.")] = None,
    curvature: Annotated[float, Option("-K", "--curvature", help="Curvature K.")] = 0.0,
    order: Annotated[int, Option(min=1, help="Nearest rows that a cell shares.")] = 1,
) -> None:  # fmt: skip
    """Draw the Voronoi diagram of two columns of a table.

    The points are centred and divided by the root of their mean squared distance to the centre, and
    K is the curvature in that unit. With K < 0 they must lie in the disc of radius 1/√-K.
    """
    from cayleyklein._validation import require
    from cayleyklein.diagrams import CayleyKleinVoronoi
    from cayleyklein.plotting import VoronoiDisplay
    from cayleyklein.tables import read_table

    require("matplotlib", "plot")
    from matplotlib.figure import Figure

    _console.check_picture(output, table)
    names = [x, y, *([label] if label else [])]
    text = [label] if label and label not in (x, y) else []
    source: Any = sys.stdin.buffer if str(table) == "-" else table
    rows = read_table(source, text=text, **console.reading)
    points, labels, n_missing = points_of(rows, names)
    console.left_out(n_missing, "with missing values")
    metric = metric_for(points, curvature)
    diagram = CayleyKleinVoronoi(points, metric, order=order, labels=labels)
    if len(diagram.duplicates):
        console.note(f"{len(diagram.duplicates)} points are equal to others, and share their cells")
    figure = Figure(figsize=(6, 6), layout="constrained")
    ax = figure.add_subplot()
    VoronoiDisplay.from_diagram(diagram).plot(ax)
    title = f"{metric.geometry}, K = {metric.curvature:g}"
    ax.set(xlabel=x, ylabel=y, title=title + (f", order {order}" if order > 1 else ""))
    _console.save_figure(figure, output)
    n_cells = len(diagram.cell_generators)
    values = {"output": str(output), "points": len(points), "cells": n_cells}
    console.written(values, f"{output}: {n_cells} cells of {len(points)} points")


def points_of(rows: Any, names: list[str]) -> "tuple[Floats, Any, int]":
    import numpy as np

    from cayleyklein.columns.uses import check_name

    for name in names:
        check_name(name, rows)
    for name in names[:2]:
        if rows[name].dtype.kind != "f":
            raise InvalidInputError(f"Column {name!r} holds text; a diagram needs two of numbers.")
    complete = rows[names].notna().all(axis=1) & np.isfinite(rows[names[:2]]).all(axis=1)
    kept = rows[complete]
    if len(kept) < 2:
        raise InvalidInputError(f"{len(kept)} rows have both values; a diagram needs two or more.")
    labels = kept[names[2]].astype("str").to_numpy(dtype=object) if len(names) > 2 else None
    return kept[names[:2]].to_numpy(dtype=np.float64), labels, int((~complete).sum())


def metric_for(points: "Floats", K: float) -> "CurvedMetric":
    """Return the round metric of curvature K, in the unit of the spread of the points."""
    import numpy as np

    from cayleyklein.metrics import CurvedMetric

    center = points.mean(axis=0)
    sqdist = ((points - center) ** 2).sum(axis=1)
    unit = np.sqrt(sqdist.mean())
    if unit == 0:
        raise InvalidInputError("All points are the same; a diagram needs two different ones.")
    farthest = float(sqdist.max() / unit**2)
    if K * farthest <= -1:
        said = f"With K = {K:g} some points lie outside the hyperbolic disc"
        raise InvalidInputError(f"{said}; the farthest needs K > {-1 / farthest:.3g}.")
    return CurvedMetric(factor=np.eye(2) / unit, center=center, curvature=K)


PACKAGE, PREFIX = Path(__file__).parents[1], "plot_"


def scripts() -> dict[str, Path]:
    folders = (PACKAGE / "examples" / "paper", PACKAGE.parents[1] / "examples" / "paper")
    folder = next((folder for folder in folders if folder.is_dir()), folders[0])
    return {path.stem.removeprefix(PREFIX): path for path in sorted(folder.glob(f"{PREFIX}*.py"))}


@with_console("figures -o pictures", "figures spheres order_k -o pictures")
def figures(
    console: Console,
    output: Annotated[Path, Option("-o", "--output", metavar="DIR", help="Made if missing.")],
    names: Annotated[
        list[str] | None, Argument(metavar="NAME", help="Figures.", show_default="all")
    ] = None,
) -> None:
    """Draw the figures of the paper.

    Cross-ratio, distance and angle, projections, bisectors, spheres, Voronoi diagrams of order 1
    and k, a decision frontier, and one diagram in five charts: each as PNG and SVG. Diagrams
    that move are GIFs. All of them take a minute.
    """
    written = list(map(str, draw_figures(console, output, names or ())))
    console.written({"figures": written}, "\n".join(written))


def draw_figures(console: Console, output: Path, names: Sequence[str] = ()) -> list[Path]:
    from cayleyklein._validation import did_you_mean, require

    require("matplotlib", "plot")
    known = scripts()
    for name in names:
        if name not in known:
            near = did_you_mean(name, list(known), "figures")
            raise InvalidInputError(f"There is no figure {name!r}.{near}")
    output.mkdir(parents=True, exist_ok=True)
    chosen, environment = list(dict.fromkeys(names or known)), os.environ | {"MPLBACKEND": "agg"}
    written: list[Path] = []
    with console.progress("drawing") as show:
        for number, name in enumerate(chosen):
            show(number, len(chosen))
            with tempfile.TemporaryDirectory(prefix=".part-", dir=output) as folder:
                script = [sys.executable, str(known[name]), "-o", folder]
                done = subprocess.run(script, env=environment, capture_output=True, text=True)
                if done.returncode:
                    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
                    raise CayleyKleinError(f"{known[name].name} could not be drawn: {said[-1]}")
                drawn = sorted(Path(folder).iterdir())
                written += [path.replace(output / path.name.removeprefix(PREFIX)) for path in drawn]
    return written


def open_explorer(
    port: Annotated[int, Option(help="Port to listen on; 0 takes a free one.")] = 5006,
    host: Annotated[str, Option(help="Address; this computer by default.")] = "127.0.0.1",
    no_browser: Annotated[bool, Option("--no-browser", help="Open no browser.")] = False,
) -> None:
    """Open a page where points, conics and curvatures can be moved, and metrics learned."""
    from cayleyklein.app import explore

    said = "The explorer is at {} (Ctrl+C ends it)."
    explore(port, host, browser=not no_browser, on_start=lambda where: echo(said.format(where)))
