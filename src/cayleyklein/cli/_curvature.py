"""``cayleyklein curvature``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cayleyklein.cli import _console
from cayleyklein.cli._console import Console, counted, with_console
from cayleyklein.exceptions import InvalidInputError

MOST_NUMERIC_LABELS = 10  # different numbers in a target that count as labels
TargetKind = StrEnum("TargetKind", ["auto", "labels", "numbers"])
ShapeChoice = StrEnum("ShapeChoice", ["isotropic", "diagonal"])
MethodChoice = StrEnum("MethodChoice", ["likelihood", "bootstrap"])


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
    kind: Annotated[
        TargetKind, typer.Option(help="What the target holds; more than 10 numbers are numbers.")
    ] = TargetKind.auto,
    shape: Annotated[ShapeChoice, typer.Option(help="Shape of L.")] = ShapeChoice.isotropic,
    method: Annotated[
        MethodChoice, typer.Option(help="bootstrap: for few rows; slow.")
    ] = MethodChoice.likelihood,
    level: Annotated[float, typer.Option(min=0.0, max=1.0, help="Confidence level.")] = 0.95,
    rows: Annotated[int, typer.Option(min=2, help="Most rows, drawn at random.")] = 500,
    drop: _console.DropOption = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Draw the profile: svg, png or pdf.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of random choices.")] = 0,
) -> None:
    """Estimate how curved the rows of a table are, with an interval.

    Columns are encoded as by `fit`, and standardised. K has their unit; the bend, K times the mean
    square distance from the mean, has none.
    """
    from sklearn.preprocessing import StandardScaler

    from cayleyklein import tables
    from cayleyklein.curvature import estimate_curvature

    frame = tables.read_table(table, **console.reading)
    others, words, n_missing = tables.split_target(frame, target, to_learn=False)
    if n_missing:
        console.note(f"left out {counted(n_missing, 'row')} without {target!r}")
    X = StandardScaler().fit_transform(tables.TableEncoder(drop=drop or []).fit_transform(others))
    y = words if kind == TargetKind.labels else numbers_of(frame[[target]].dropna(), words, kind)
    found = estimate_curvature(
        X[:, X.any(axis=0)], y, level=level, shape=shape.value, method=method.value,
        max_samples=rows, random_state=seed,
    )  # fmt: skip
    if picture is not None:
        from cayleyklein.plotting import CurvatureDisplay

        CurvatureDisplay.from_estimate(found).plot().figure_.savefig(picture)
    (low, high), (least, most), (below, above) = (
        found.interval,
        found.bend_interval,
        found.open_ends,
    )
    said = f"{100 * level:g} %"
    ends = f"{low:.3g}{' (end of the domain)' if below else ''} to {high:.3g}"
    values = {
        "verdict": found.verdict, "curvature": found.curvature, "p_value": found.p_value,
        "interval": [None if below else low, None if above else high],
        "bend": found.bend, "bend_interval": [None if below else least, None if above else most],
        "rows": found.n_rows, "target": found.kind,
    }  # fmt: skip
    console.result(
        values,
        f"{found.verdict}\n"
        f"K      {found.curvature:.3g}, {said} interval {ends}\n"
        f"bend   {found.bend:.2g}, {said} interval {least:.2g} to {most:.2g}\n"
        f"from   {counted(found.n_rows, 'row')}, {X.any(axis=0).sum()} standardised columns, "
        f"{found.kind} of {target!r}",
    )


def numbers_of(column: Any, words: Any, kind: TargetKind) -> Any:
    """Return a target as numbers if it is to be, or looks so; its words otherwise."""
    from cayleyklein import tables

    name = column.columns[0]
    try:
        found = tables.TableEncoder(kinds={name: "number"}).fit_transform(column)[:, 0]
    except InvalidInputError:
        if kind == TargetKind.numbers:
            raise
        return words
    if kind == TargetKind.numbers or len(set(found.tolist())) > MOST_NUMERIC_LABELS:
        return found
    return words
