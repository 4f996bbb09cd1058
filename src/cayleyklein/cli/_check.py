"""``cayleyklein check``: which cells of the column to predict look wrong."""

import warnings
from typing import Annotated, Any, Literal

from typer import Option

from cayleyklein.cli import _console, _predict
from cayleyklein.cli._console import Console, counted, not_zero, with_console


@with_console(
    "check flowers.csv --target species",
    "check houses.csv -t price --task number -o suspicious.csv",
    reads=True,
)
def check(
    console: Console,
    table: _console.TableArgument,
    target: Annotated[
        str, Option("-t", "--target", metavar="COLUMN", help="Classes or numbers to check.")
    ],
    task: _console.TaskOption = "auto",
    model: Annotated[
        Literal["auto", "neighbors", "kernel"],
        Option(help="What answers for the rows; auto is kernel up to a million rows."),
    ] = "auto",
    drop: _console.DropOption = None,
    most: Annotated[int, Option("-n", "--most", min=1, help="Rows to print at most.")] = 20,
    output: _console.RowsOption = None,
    seed: _console.SeedOption = 0,
    jobs: Annotated[
        int | None, Option("-j", "--jobs", help="Threads; -1 for all cores.", callback=not_zero)
    ] = None,
) -> None:
    """List the rows whose class or number looks wrong, by what the other rows say.

    A model is fitted to the table, and each row is answered for without itself. Printed are the
    number of the row, counted from 1, what was given, what is likely, how sure it is that the given
    one is wrong, and the targets of the five nearest rows. With -o all suspicious rows are written,
    with the numbers of these neighbours.
    """
    import pandas as pd

    from cayleyklein import tables
    from cayleyklein.prediction.suspicious import target_words
    from cayleyklein.tables import atomic, targets

    _console.refuse_overwriting(output, table)
    if output is not None:
        atomic.check_writable(output)
    rows = pd.concat(list(console.pieces(table)))
    column = targets.TargetColumn.find(rows, target, task)
    rows, answers, n_without = column.split(rows)
    console.left_out(n_without, f"without a {column.task} in {target!r}")
    kind: Any = tables.TableClassifier if column.task == "class" else tables.TableRegressor
    with console.progress("learning") as show:
        fitted = kind(
            model=model,
            drop=drop or [],
            random_state=seed,
            n_jobs=jobs,
            callback=lambda progress: show(progress.iteration, None),
        )
        with warnings.catch_warnings():  # of columns that are not used, and of classes of few rows
            warnings.filterwarnings("ignore", message="Column ['\"]|Classes \\[")
            fitted.fit(rows, answers)
            found = fitted.suspicious()
    frame = found.to_frame()
    frame["row"] += 1
    frame["neighbors"] = [[number + 1 for number in each] for each in frame["neighbors"]]
    listed = frame.to_dict("records")
    values: dict[str, Any] = {"target": target, "task": column.task, "rows": len(rows)}
    if output is not None:
        for name in ("neighbors", "neighbor_targets"):
            frame[name] = [" ".join(map(str, each)) for each in frame[name]]
        _predict.write_rows([frame], output)
    said = f"{counted(len(frame), 'row')} of {len(rows):,} may have a wrong {column.task}"
    shown = frame.head(most).copy()
    near = found.neighbor_targets[:most]
    shown["nearest"] = [", ".join(map(target_words, each)) for each in near]
    text = said
    if len(frame):
        listed_columns = ["row", "given", "likely", "sure", "nearest"]
        text += f"\n{_console.columns_of_text(shown[listed_columns])}"
    if len(frame) > most:
        text += f"\nand {len(frame) - most:,} more (-n, -o)"
    console.result(values | {"suspicious": listed}, text)
