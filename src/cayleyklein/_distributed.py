"""Dask collections as lists of row blocks, and the errors of a cluster in one sentence.

Nothing here imports dask before a Dask collection is met. Tasks are ``dask.delayed`` and run on
the active ``distributed.Client``, or else in the threads of this process.
"""

import operator
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from cayleyklein._estimators import is_dask, naming, refuse_no_numbers
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import as_finite_array, refuse_containers, require
from cayleyklein.exceptions import ClusterError, InvalidInputError


def active_client() -> Any | None:
    """Return the active ``distributed.Client``, or None where Dask would run in this process."""
    if distributed := sys.modules.get("distributed"):
        with suppress(ValueError):
            client = distributed.default_client()
            return None if client.status == "closed" else client
    return None


@contextmanager
def clear_cluster_errors(doing: str) -> Iterator[None]:
    """Turn a lost scheduler or worker into one :class:`ClusterError` that says what stopped."""
    try:
        yield
    except _lost_errors() as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ClusterError(
            f"Dask could not finish {doing}: the scheduler is gone, or what the rows are read "
            f"from, or a task killed its workers, as one does that passes memory_limit "
            f"({type(error).__name__}: {reason}). Connect again by distributed.Client(address); "
            f"give smaller chunks or more memory."
        ) from error


def _lost_errors() -> tuple[type[BaseException], ...]:
    if (distributed := sys.modules.get("distributed")) is None:
        return ()
    closed = getattr(distributed.client, "ClosedClientError", CancelledError)
    lost = (distributed.comm.core.CommClosedError, distributed.scheduler.KilledWorker)
    # not OSError, which a missing file is too
    return (CancelledError, closed, *lost, ConnectionError, TimeoutError)


def futures_in(tasks: Sequence[Any]) -> list[Any]:
    distributed = sys.modules.get("distributed")
    return [] if distributed is None else list(distributed.client.futures_of(tasks))


def large_graphs() -> Any:
    """Keep Dask from warning of data inside tasks, which is meant to be there."""
    if "distributed" not in sys.modules:  # without it nothing warns, and settings would be lost
        return nullcontext()
    limit = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
    return require("dask", "scale").config.set(limit)


def task(function: Callable[..., Any], *args: Any) -> Any:
    """Return a call as a task of its own: two calls are two tasks, and nothing is hashed."""
    return held(function)(*args)


def held(value: Any) -> Any:
    """Return a value as a task's result, which workers hand on to each other."""
    return require("dask", "scale").delayed(value, pure=False, traverse=False)


def compute(*tasks: Any, doing: str, how: str = "compute") -> tuple[Any, ...]:
    with clear_cluster_errors(doing), large_graphs():
        return tuple(getattr(require("dask", "scale"), how)(*tasks))


persist = partial(compute, how="persist")  # leaves the results where they are


def in_memory(values: Any, name: str) -> Any:
    return compute(values, doing=f"reading {name}")[0] if is_dask(values) else values


def in_place(*values: Any) -> tuple[Any, ...]:
    """Compute Dask collections where they are, so that later uses do not read them again."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Computing mixed collections")
        found = iter(persist(*filter(is_dask, values), doing="reading the rows"))
    return tuple(next(found) if is_dask(value) else value for value in values)


class RowBlocks(NamedTuple):
    """Rows as tasks that yield checked float64 arrays, none empty."""

    blocks: list[Any]
    lengths: list[int]
    n_columns: int

    @property
    def starts(self) -> list[int]:
        return block_starts(self.lengths)

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)


def row_blocks(X: Any, lengths: list[int] | None = None, *, least_rows: int = 1) -> RowBlocks:
    """Cut a Dask collection into blocks of `least_rows`; compute it if lengths are not known."""
    n_columns = meta_of(X, "X").shape[1]
    if lengths is None:
        if known_lengths(X) is None:
            (X,) = in_place(X)
        lengths, _ = read_columns(X)
    if not sum(lengths):
        raise InvalidInputError("X is empty: it has no rows.")
    groups = joined_blocks(lengths, least_rows)
    wanted, raw = [sum(lengths[i] for i in group) for group in groups], raw_blocks(X)
    blocks = [
        task(checked_rows, [raw[i] for i in group if lengths[i]], "X", n_columns, start)
        for group, start in zip(groups, block_starts(wanted), strict=True)
    ]
    return RowBlocks(blocks, wanted, n_columns)


def rows_at(blocks: RowBlocks, numbers: Ints) -> Floats:
    tasks = [
        task(operator.getitem, rows, numbers[(numbers >= start) & (numbers < start + n)] - start)
        for rows, start, n in zip(blocks.blocks, blocks.starts, blocks.lengths, strict=True)
    ]
    return np.concatenate(compute(*tasks, doing="reading rows"))


def read_columns(X: Any, **columns: Any) -> tuple[list[int], list[AnyArray | None]]:
    """Return the rows of each chunk of X, and the columns beside them; one computation for all."""
    lazy = {name: column for name, column in columns.items() if is_dask(column)}
    for name, column in lazy.items():
        refuse_other_collections(column, name)
    lengths, *read = compute(
        known_lengths(X) or [task(len, block) for block in raw_blocks(X)],
        *map(raw_blocks, lazy.values()),
        doing=f"reading {' and '.join(lazy)}" if lazy else "counting the rows of X",
    )
    pieces = dict(zip(lazy, read, strict=True))
    found: dict[str, AnyArray | None] = dict.fromkeys(columns)
    for name, column in columns.items():
        if column is not None:
            found[name] = array = np.atleast_1d(concatenated(pieces.get(name, [column]), name))
            if sum(lengths) not in (0, len(array)):  # no rows at all are refused as such
                raise InvalidInputError(
                    f"X has {sum(lengths)} rows, but {name} has {len(array)}; each row needs one."
                )
    return lengths, list(found.values())


def block_starts(lengths: Sequence[int]) -> list[int]:
    return [0, *accumulate(lengths)][:-1]


def meta_of(X: Any, name: str) -> Any:
    """Return an array or a dataframe without rows that has the columns of a Dask collection."""
    refuse_other_collections(X, name)
    if X.ndim != 2:
        raise InvalidInputError(f"{name} must have 2 axes, rows and columns; it has {X.ndim}.")
    if not is_array(X):
        from dask.dataframe.dispatch import make_meta

        return make_meta(X)  # type: ignore[no-untyped-call]
    if np.isnan(X.shape[1]):
        raise InvalidInputError(
            f"{name} has columns whose number is not known; call {name}.compute_chunk_sizes()."
        )
    return np.empty((0, int(X.shape[1])), dtype=X.dtype)


def check_columns(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool) -> None:
    """Check the number, names and dtypes of a Dask collection's columns, before it is computed."""
    like = meta_of(X, "X")
    if like.shape[1] == 0:
        raise InvalidInputError("X has no columns.")
    refuse_no_numbers(like, "X")
    wrong = []
    for name, dtype in dict(getattr(like, "dtypes", {})).items():
        values: Any = getattr(getattr(dtype, "categories", None), "dtype", dtype)
        if values.kind not in "fiubO" or str(values).startswith("str"):  # objects may be numbers
            wrong.append(f"{name} ({dtype})")
    if wrong:
        raise InvalidInputError(
            f"X has columns that hold no numbers: {', '.join(wrong)}. Drop them, or convert them, "
            f"as X.astype(float) or dask.dataframe.get_dummies(X) does."
        )
    with naming("X", "y"):
        validate_data(estimator, like, y, reset=reset, skip_check_array=True)


def refuse_other_collections(values: Any, name: str) -> None:
    if not all(hasattr(type(values), attribute) for attribute in ("ndim", "to_delayed")):
        raise InvalidInputError(
            f"{name} is a Dask {type(values).__name__}; pass a Dask array or a Dask dataframe."
        )


def is_array(X: Any) -> bool:
    return hasattr(type(X), "rechunk")  # by its type: columns are attributes of a dataframe


def raw_blocks(X: Any) -> list[Any]:
    """Return the chunks of a Dask array, all columns in one, or the partitions of a dataframe."""
    if not is_array(X):
        return list(X.to_delayed())
    whole = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    # not optimised: two arrays would each read their common source
    return list(np.ravel(whole.to_delayed(optimize_graph=False)))


def known_lengths(X: Any) -> list[int] | None:
    known = is_array(X) and not np.isnan(X.shape[0])
    return [int(length) for length in X.chunks[0]] if known else None


def joined_blocks(lengths: Sequence[int], least: int) -> list[list[int]]:
    """Join neighbouring blocks until each has `least` rows.

    >>> joined_blocks([3, 0, 4, 9, 2], 5)
    [[0, 1, 2], [3, 4]]
    """
    groups: list[list[int]] = [[]]
    total = 0
    for i, length in enumerate(lengths):
        if total >= max(least, 1):
            groups.append([])
            total = 0
        groups[-1].append(i)
        total += length
    if len(groups) > 1 and total < max(least, 1):
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups


def concatenated(pieces: list[Any], name: str) -> AnyArray:
    """Return chunks, partitions or arrays as one array, what is missing as NaN."""
    arrays = []
    for piece in pieces:
        refuse_containers(piece, name)
        array = np.asarray(piece)
        if array.dtype.kind == "O" and hasattr(piece, "iloc"):  # pandas has its own missing value
            array = np.asarray(piece.to_numpy(dtype=object, na_value=np.nan))
        arrays.append(array)
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def checked_rows(pieces: list[Any], name: str, n_columns: int, start: int | None) -> Floats:
    """Return pieces as finite float64 rows; errors count rows from start, or in their block."""
    array = concatenated(pieces, name)
    if array.ndim != 2 or array.shape[1] != n_columns:
        raise InvalidInputError(
            f"{name} has a block of shape {array.shape}, but {n_columns} columns are expected."
        )
    named = name if start is not None else f"A block of {name}"
    return np.ascontiguousarray(as_finite_array(array, named, start or 0))
