"""Rows with classes or numbers to predict, and their splits into training and test rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import (
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from cayleyklein import _validation as checks
from cayleyklein import datasets
from cayleyklein._typing import AnyArray, Ints
from cayleyklein.datasets import loaders
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableEncoder, read_table
from cayleyklein.tables.targets import TargetColumn

PROBLEMS = (*loaders.BUNDLED, "elliptic_blobs", "hyperbolic_tree", "mixed")  # by ``make_…``

MOST_ROWS_COMPARED = 3000  # rows that are used of a larger table


@dataclass(frozen=True)
class Problem:
    """Rows with a class or a number each.

    Attributes
    ----------
    X : ndarray or DataFrame of n rows
        Each split encodes a DataFrame by a :class:`~cayleyklein.tables.TableEncoder`.
    y, classes : ndarray
        Codes (n,) into the classes, and the classes; or numbers (n,), and no classes.
    notes : tuple of str
        Rows left out, and columns that are not plain numbers.
    name, code, source : str
        Name, Python expression that loads it, and origin of the data.
    column_names : tuple of str
        Names of the columns of an array, if they are known; a DataFrame has its own.

    Examples
    --------
    >>> load_problem("wine").X.shape, load_problem("wine").describe()
    ((178, 13), '178 rows, 13 columns, 3 classes')
    """

    name: str
    X: Any
    y: AnyArray
    classes: AnyArray
    notes: tuple[str, ...] = ()
    code: str = "..."
    source: str = ""
    column_names: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """What is predicted: "class" or "number"."""
        return "class" if len(self.classes) else "number"

    def describe(self) -> str:
        """Return the numbers of rows, columns and classes as text."""
        (n, d), what = self.X.shape, f"{len(self.classes)} classes" if len(self.classes) else ""
        return f"{n:,} rows, {d} columns, {what or 'a number to predict'}"


def load_problem(
    data: str | Path,
    target: str | None = None,
    *,
    task: str = "auto",
    drop: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
    skip_rows: int = 0,
) -> Problem:
    """Load a data set by its name, or a table from a file.

    Parameters
    ----------
    data : str or Path
        "wine", "sonar", "vowel", "balance", "pima", "elliptic_blobs", "hyperbolic_tree", "mixed",
        or a file.
    target : str, optional
        Column to predict, for a file.
    task : {"auto", "class", "number"}, default="auto"
        What it holds, see :func:`cayleyklein.tables.split_target`.
    drop : sequence of str, default=()
        Columns of a file to leave out.
    delimiter, encoding : str, optional
    skip_rows : int, default=0
        Format of a file, see :func:`cayleyklein.tables.read_table`.

    Examples
    --------
    >>> load_problem("wien")
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: 'wien' is neither ... Did you mean 'wine'?
    """
    path = checks.as_path(data, "data")
    if target is not None:
        checks.as_text(target, "target")
    drop = list(checks.as_texts(drop, "drop"))
    if str(data) in PROBLEMS:
        return _load_named(str(data))
    if not path.exists():
        raise InvalidInputError(
            f"{str(data)!r} is neither the name of a data set ({', '.join(PROBLEMS)}) nor a file."
            f"{checks.did_you_mean(str(data), PROBLEMS, None)}"
        )
    if target is None:
        raise InvalidInputError(
            f"Which column of {data} is to be predicted? Name it: target=… in Python, --target … "
            f"on the command line."
        )
    how: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "skip_rows": skip_rows}
    table = read_table(path, text=[target], **how)
    given = {"task": "" if task == "auto" else task, "drop": drop} | how
    options = "".join(f", {name}={value!r}" for name, value in given.items() if value)
    code = f"load_problem({str(path)!r}, {target!r}{options})"
    return replace(
        _from_table(table, path, TargetColumn.find(table, target, task), drop), code=code
    )


def _load_named(name: str) -> Problem:
    code = f"load_problem({name!r})"
    if name in loaders.BUNDLED:
        bunch = getattr(datasets, f"load_{name}")()
        X, y, classes = bunch.data, bunch.target, bunch.target_names
        source = bunch.DESCR.partition("Source: ")[2].rstrip(".")
        return Problem(name, X, y, classes, (), code, source, tuple(bunch.feature_names))
    X, labels = getattr(datasets, f"make_{name}")(random_state=0)
    classes, y = np.unique(labels, return_inverse=True)
    return Problem(name, X, y, classes, (), code, f"generated by cayleyklein.datasets.make_{name}")


def _from_table(table: Any, path: Path, target: TargetColumn, drop: list[str]) -> Problem:
    notes = []
    if len(table) > MOST_ROWS_COMPARED:
        notes.append(f"{MOST_ROWS_COMPARED:,} of {len(table):,} rows, drawn at random.")
        table = table.sample(MOST_ROWS_COMPARED, random_state=0)
    rows, answers, n_without = target.split(table)
    if n_without:
        row = f"row{'s' * (n_without > 1)}"
        notes.append(f"Left out: {n_without} {row} without a {target.task}.")
    classes, y = np.empty(0, dtype=str), answers
    if target.task == "class":
        classes, y, counts = np.unique(answers, return_inverse=True, return_counts=True)
        single = counts[y] == 1
        if single.any():
            notes.append(f"Left out: {single.sum()} rows, each the only one of its class.")
            rows = rows[~single]
            classes, y = np.unique(answers[~single], return_inverse=True)
        if len(classes) < 2:
            raise InvalidInputError(
                f"{path} has {len(classes)} classes with two rows or more in {target.name!r}; a "
                f"comparison needs two."
            )
    columns = TableEncoder(drop=drop).fit(rows).columns_
    notes += [f"{column}." for column in columns if not column.is_plain]
    return Problem(path.name, rows.drop(columns=drop), y, classes.astype(str), tuple(notes))


Split = tuple[Ints, Ints]  # training rows and test rows
LEAVE_ONE_OUT = ("wine", "sonar")  # wine as in the paper, which does not say how sonar is split


@dataclass(frozen=True)
class Protocol:
    """The splits of the paper (section 5), or fewer of them.

    Every method and every k has the same splits, so that differences are paired.

    Attributes
    ----------
    name : str
    repetitions : int
        Random training subsets of vowel, balance and pima; the other rows are tested.
    folds : int or None
        Folds of wine and sonar; None leaves one row out at a time.
    training_rows : int
        Size of a random subset.

    Examples
    --------
    >>> QUICK.describe().partition(";")[0], FULL.is_partition("pima")
    ('wine and sonar by 10 folds', False)
    >>> [len(rows) for rows in QUICK.splits("vowel", np.repeat(np.arange(11), 48))[0]]
    [250, 278]
    """

    name: str
    repetitions: int
    folds: int | None
    training_rows: int = 250

    def splits(self, dataset: str, y: Ints) -> list[Split]:
        """Return the training and test rows of each split; every call returns the same."""
        checks.as_choice(dataset, "dataset", loaders.BUNDLED)
        checks.as_points(y, "y", ndim=1)
        if self.is_partition(dataset):
            splitter = LeaveOneOut()
            if self.folds is not None:
                splitter = StratifiedKFold(self.folds, shuffle=True, random_state=0)
            return list(splitter.split(np.zeros(len(y)), y))
        orders = [np.random.default_rng(i).permutation(len(y)) for i in range(self.repetitions)]
        return [(order[: self.training_rows], order[self.training_rows :]) for order in orders]

    def is_partition(self, dataset: str) -> bool:
        """Whether each row of the data set is tested exactly once."""
        return dataset in LEAVE_ONE_OUT

    def describe(self) -> str:
        """Return the protocol as a sentence without its full stop."""
        left_out = "one row out at a time" if self.folds is None else f"{self.folds} folds"
        return (
            f"{' and '.join(LEAVE_ONE_OUT)} by {left_out}; the others on {self.repetitions} random "
            f"subsets of {self.training_rows} training rows, tested on the rest"
        )


FULL = Protocol("full", repetitions=10, folds=None)  # of the paper
QUICK = Protocol("quick", repetitions=5, folds=10)


def repeated_splits(problem: Problem, n_splits: int, test_size: float) -> list[Split]:
    checks.as_real(test_size, "test_size", "(0, 1)")
    y, how = problem.y, {"test_size": test_size, "random_state": 0}
    n_distinct = len(np.unique(y))
    if n_distinct < 2:
        one = "of one class" if problem.task == "class" else "the same number"
        raise InvalidInputError(f"All rows are {one}; there is nothing to tell apart.")
    splitter = StratifiedShuffleSplit if problem.task == "class" else ShuffleSplit
    try:
        return list(splitter(n_splits, **how).split(np.zeros(len(y)), y))
    except ValueError as error:  # a class of a single row, or more classes than test rows
        some = f" of {n_distinct} classes" if problem.task == "class" else ""
        raise InvalidInputError(
            f"{len(y)} rows{some} are too few for test_size={test_size}: {error}"
        ) from error
