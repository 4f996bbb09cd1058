"""``cayleyklein voronoi``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from cayleyklein._validation import did_you_mean, require
from cayleyklein.cli._console import Console, with_console
from cayleyklein.cli._options import Delimiter, Encoding, Table
from cayleyklein.cli._tables import refuse_overwriting
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import VoronoiDisplay
from cayleyklein.tables import check_writable, read_table, writing

__all__ = ["HELP", "command"]

HELP = """Draw the Voronoi diagram of two columns of a table.

The curvature K counts in units of the spread of the points: they are centred and divided by the
root of their mean square distance from the middle. With K < 0 they must lie in the disc of radius
1/√-K.

Examples:

\b
    cayleyklein voronoi flowers.csv --x length --y width -o cells.svg
    cayleyklein voronoi flowers.csv --x length --y width --label species -K -0.1 -o cells.png
"""

ENDINGS = (".svg", ".png", ".pdf")


@with_console
def command(
    console: Console,
    table: Table,
    x: Annotated[str, typer.Option("--x", metavar="COLUMN", help="To the right.")],
    y: Annotated[str, typer.Option("--y", metavar="COLUMN", help="Upwards.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="SVG, PNG or PDF.")],
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="Classes, for colours.")
    ] = None,
    curvature: Annotated[float, typer.Option("-K", "--curvature", help="K.")] = 0.0,
    order: Annotated[
        int, typer.Option(min=1, help="k: cells of the points whose k nearest are the same.")
    ] = 1,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Draw a diagram."""
    refuse_overwriting(output, table)
    if output.suffix.lower() not in ENDINGS:
        raise InvalidInputError(f"{output} should end in {', '.join(ENDINGS[:-1])} or .pdf.")
    check_writable(output)
    names = [x, y, *([label] if label else [])]
    text = [label] if label and label not in (x, y) else []
    rows = read_table(table, text=text, encoding=encoding, delimiter=delimiter)
    points, labels, n_missing = points_of(rows, names)
    if n_missing:
        console.note(f"{n_missing} rows with missing values are left out")
    diagram = CayleyKleinVoronoi(points, metric_for(points, curvature), order=order, labels=labels)
    if len(diagram.duplicates):
        console.note(f"{len(diagram.duplicates)} points lie on others, and share their cells")
    draw(diagram, names, output)
    values = {"output": str(output), "points": len(points), "cells": len(diagram.cell_generators)}
    what = f"{output}: {values['cells']} cells of {len(points)} points"
    console.result(values, "" if console.quiet else what)


def points_of(rows: Any, names: list[str]) -> tuple[NDArray[np.float64], Any, int]:
    """Return the two columns and the labels, where none is missing."""
    for name in names:
        if name not in rows.columns:
            known = did_you_mean(name, list(rows.columns))
            raise InvalidInputError(f"There is no column {name!r}.{known}")
    for name in names[:2]:
        if rows[name].dtype.kind != "f":
            raise InvalidInputError(f"Column {name!r} holds text; a picture needs two of numbers.")
    complete = rows[names].notna().all(axis=1) & np.isfinite(rows[names[:2]]).all(axis=1)
    kept = rows[complete]
    if len(kept) < 2:
        raise InvalidInputError(f"{len(kept)} rows have both values; a diagram needs two or more.")
    labels = kept[names[2]].astype("str").to_numpy(dtype=object) if len(names) > 2 else None
    return kept[names[:2]].to_numpy(dtype=np.float64), labels, int((~complete).sum())


def metric_for(points: NDArray[np.float64], K: float) -> CurvedMetric:
    """Return the round metric of curvature K in the unit of the points' own spread."""
    center = points.mean(axis=0)
    sqdist = ((points - center) ** 2).sum(axis=1)
    unit = np.sqrt(sqdist.mean())
    if unit == 0:
        raise InvalidInputError("All points are the same; a diagram needs two different ones.")
    farthest = float(sqdist.max() / unit**2)
    if K * farthest <= -1:
        raise InvalidInputError(
            f"With K = {K:g} some points lie outside the hyperbolic disc; the farthest needs "
            f"K > {-1 / farthest:.3g}."
        )
    return CurvedMetric(factor=np.eye(2) / unit, center=center, curvature=K)


def draw(diagram: CayleyKleinVoronoi, names: list[str], output: Path) -> None:
    """Draw it to a file."""
    require("matplotlib", "plot")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 6), layout="constrained")
    ax = figure.add_subplot()
    VoronoiDisplay.from_diagram(diagram).plot(ax)
    metric = diagram.metric
    order = f", order {diagram.order}" if diagram.order > 1 else ""
    ax.set(
        xlabel=names[0],
        ylabel=names[1],
        title=f"{metric.geometry}, K = {metric.curvature:g}{order}",
    )
    with writing(output) as temporary:
        figure.savefig(temporary, dpi=150)
