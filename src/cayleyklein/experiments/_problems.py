"""What a comparison works on: labelled rows with a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein import datasets
from cayleyklein._validation import as_path, as_text, nearest_name
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableEncoder, read_table, split_target

__all__ = ["BUNDLED", "GENERATED", "Problem", "load_bundled", "load_problem"]

BUNDLED = ("wine", "sonar", "vowel", "balance", "pima")
"""The paper's data sets, in the order of its table."""

GENERATED = ("elliptic_blobs", "hyperbolic_tree", "mixed")
"""Those that are generated, by ``make_…``."""

MOST_ROWS = 3000
"""Rows of a larger table that are compared on."""


@dataclass(frozen=True)
class Problem:
    """Labelled rows.

    Attributes
    ----------
    name : str
    X : ndarray or DataFrame of n rows
    y : ndarray of shape (n,)
        Codes into `classes`.
    classes : ndarray
    code : str
        The line of Python that loads X and y.
    prepare : transformer or None
        Makes numbers of X when it holds something else.
    notes : tuple of str
        What was done to the rows.

    Examples
    --------
    >>> from cayleyklein.experiments import load_problem
    >>> wine = load_problem("wine")
    >>> wine.X.shape, wine.classes
    ((178, 13), array(['1', '2', '3'], dtype='<U1'))
    >>> wine.describe()
    '178 rows, 13 columns, 3 classes'
    """

    name: str
    X: Any
    y: NDArray[np.int64]
    classes: NDArray[Any]
    code: str
    prepare: Any = None
    notes: tuple[str, ...] = ()

    def describe(self) -> str:
        """Say how large it is.

        >>> load_bundled("wine").describe()
        '178 rows, 13 columns, 3 classes'
        """
        n, d = self.X.shape
        return f"{n:,} rows, {d} columns, {len(self.classes)} classes"


def load_bundled(name: str) -> Problem:
    """Return one of the paper's data sets."""
    load: Callable[[], Any] = getattr(datasets, f"load_{name}")
    bunch = load()
    return Problem(
        name=name,
        X=bunch.data,
        y=bunch.target,
        classes=bunch.target_names,
        code=f"from cayleyklein.datasets import load_{name}\n\nX, y = load_{name}(return_X_y=True)",
    )


def load_generated(name: str) -> Problem:
    """Return what a generator makes when left to itself."""
    X, labels = getattr(datasets, f"make_{name}")(random_state=0)
    classes, y = np.unique(labels, return_inverse=True)
    return Problem(
        name=name,
        X=X,
        y=y,
        classes=classes,
        code=f"from cayleyklein.datasets import make_{name}\n\nX, y = make_{name}(random_state=0)",
    )


def load_problem(
    data: str | Path,
    target: str | None = None,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Problem:
    """Return a bundled or generated data set by name, or the rows of a file.

    Parameters
    ----------
    data : str or Path
    target : str, optional
        The column of the classes, for a file.
    delimiter, encoding : str, optional
        Of a file, see :func:`cayleyklein.tables.read_table`.

    Examples
    --------
    >>> load_problem("wine").describe()
    '178 rows, 13 columns, 3 classes'
    >>> load_problem("wien")
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: 'wien' is neither ... Did you mean 'wine'?
    """
    as_path(data, "data")
    if target is not None:
        as_text(target, "target")
    if str(data) in BUNDLED:
        return load_bundled(str(data))
    if str(data) in GENERATED:
        return load_generated(str(data))
    if not Path(data).exists():
        names = (*BUNDLED, *GENERATED)
        raise InvalidInputError(
            f"{str(data)!r} is neither a data set that comes along ({', '.join(names)}) nor a file."
            f"{nearest_name(str(data), names)}"
        )
    if target is None:
        raise InvalidInputError(
            f"Which column of {data} holds the classes? Name it: target=… in Python, --target … on "
            f"the command line."
        )
    given = {"delimiter": delimiter, "encoding": encoding}
    return load_table(Path(data), target, {k: v for k, v in given.items() if v is not None})


def load_table(path: Path, target: str, options: dict[str, str]) -> Problem:
    """Return the rows of a file, at most `MOST_ROWS` of them."""
    table = read_table(path, text=[target], **options)  # type: ignore[arg-type]
    more = "".join(f", {name}={value!r}" for name, value in options.items())
    read = f"read_table({str(path)!r}, text=[{target!r}]{more})"
    notes = []
    if len(table) > MOST_ROWS:
        notes.append(f"{MOST_ROWS:,} of {len(table):,} rows, drawn at random.")
        table = table.sample(MOST_ROWS, random_state=0)
        read += f".sample({MOST_ROWS}, random_state=0)"
    rows, labels, n_unlabelled = split_target(table, target)
    if n_unlabelled:
        notes.append(f"Left out: {n_unlabelled} rows without a class.")
    code = (
        "from cayleyklein.tables import TableEncoder, read_table, split_target\n\n"
        f"X, y, _ = split_target({read}, {target!r})"
    )
    classes, y, counts = np.unique(labels, return_inverse=True, return_counts=True)
    single = counts[y] == 1
    if single.any():
        code += "\nkept = [(y == name).sum() > 1 for name in y]\nX, y = X[kept], y[kept]"
        notes.append(f"Left out: {single.sum()} rows, each the only one of its class.")
        rows = rows[~single]
        classes, y = np.unique(labels[~single], return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"{path} has {len(classes)} classes with two rows or more in {target!r}; a comparison "
            f"needs two."
        )
    encoder = TableEncoder().fit(rows)
    return Problem(
        name=path.name,
        X=rows,
        y=y,
        classes=classes.astype(str),
        code=code,
        prepare=TableEncoder(),
        notes=(*notes, *(f"{use}." for use in encoder.columns_ if not use.is_plain)),
    )
