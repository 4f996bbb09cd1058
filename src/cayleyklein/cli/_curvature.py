"""``cayleyklein curvature``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cayleyklein.cli import _console
from cayleyklein.cli._console import Console, counted, with_console
from cayleyklein.cli._fit import TASK_HELP, TaskChoice

ShapeChoice = StrEnum("ShapeChoice", ["isotropic", "diagonal"])


@with_console(
    "curvature flowers.csv --target species",
    "curvature houses.csv -t price --picture curvature.svg",
    reads=True,
)
def curvature(
    console: Console,
    table: _console.TableArgument,
    target: Annotated[
        str, typer.Option("-t", "--target", metavar="COLUMN", help="A column of labels or numbers.")
    ],
    task: Annotated[TaskChoice, typer.Option(help=TASK_HELP)] = TaskChoice.auto,
    shape: Annotated[
        ShapeChoice, typer.Option(help="Column scales: equal, or learned.")
    ] = ShapeChoice.isotropic,
    rows: Annotated[int, typer.Option(min=2, help="Most rows, drawn at random.")] = 500,
    drop: _console.DropOption = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Draw the profile: svg, png or pdf.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of random choices.")] = 0,
) -> None:
    """Estimate how curved the rows of a table are, with a 95 % interval.

    Columns are encoded as by `fit`, and standardised. K has their unit; the bend, K times the mean
    square distance from the mean, has none.
    """
    from sklearn.preprocessing import StandardScaler

    from cayleyklein import tables
    from cayleyklein.curvature import estimate_curvature

    frame = tables.read_table(table, **console.reading)
    others, y, n_missing = tables.split_target(frame, target, task=task)
    if n_missing:
        console.note(f"left out {counted(n_missing, 'row')} without {target!r}")
    X = StandardScaler().fit_transform(tables.TableEncoder(drop=drop or []).fit_transform(others))
    X = X[:, X.any(axis=0)]
    found = estimate_curvature(X, y, shape=shape.value, max_samples=rows, random_state=seed)
    if picture is not None:
        from cayleyklein.plotting import CurvatureDisplay

        figure: Any = CurvatureDisplay.from_estimate(found).plot().figure_
        figure.savefig(picture)
    values: dict[str, Any] = {"verdict": found.verdict, "p_value": found.p_value}
    lines = [found.verdict]
    for name, value, ends in (
        ("curvature", found.curvature, found.interval),
        ("bend", found.bend, found.bend_interval),
    ):
        known = [None if no else end for end, no in zip(ends, found.open_ends, strict=True)]
        values |= {name: value, f"{name}_interval": known}
        said = ["no end" if end is None else f"{end:.3g}" for end in known]
        lines.append(f"{name:10} {value:.3g}, 95 % interval from {said[0]} to {said[1]}")
    about = f"{counted(found.n_rows, 'row')}, {counted(X.shape[1], 'standardised column')}"
    lines.append(f"{'from':10} {about}, {found.kind} in {target!r}")
    console.result(values | {"rows": found.n_rows, "target": found.kind}, "\n".join(lines))
