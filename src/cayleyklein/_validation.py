"""Checks of the arguments of public functions. Computations are in float64."""

import difflib
import importlib
import inspect
import operator
import os
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cayleyklein import exceptions
from cayleyklein.exceptions import InvalidInputError

LARGEST_SQUARED = 1e150  # entry for which sums of many squares stay finite


def expect(holds: bool, name: str, value: Any, expected: str) -> None:
    if not holds:
        raise InvalidInputError(f"Got {name}={value!r}, but expected {expected}.")


def list_indices(indices: NDArray[np.intp], most: int = 5) -> str:
    """Format indices (n,) or (n, ndim) for an error message, at most `most` of them."""
    rows = [tuple(row) if len(row) > 1 else row[0] for row in np.c_[indices[:most]].tolist()]
    more = f" and {len(indices) - most} more" if len(indices) > most else ""
    return ", ".join(map(str, rows)) + more


def at_index(bad: NDArray[np.bool_] | np.bool_) -> str:
    return f" at index {list_indices(np.argwhere(bad))}" if np.ndim(bad) else ""


def did_you_mean(name: str, names: Collection[str], what: str | None = "columns") -> str:
    """Write " Did you mean …?" when a name is close; otherwise list them, unless `what` is None."""
    by_case = {known.casefold(): known for known in names}
    near = difflib.get_close_matches(name.casefold().strip(), list(by_case), n=1)
    if near or what is None:
        return f" Did you mean {by_case[near[0]]!r}?" if near else ""
    shown = ", ".join(repr(known) for known in list(names)[:12])
    return f" The {what} are {shown}{' …' if len(names) > 12 else ''}."


@contextmanager
def about(name: str) -> Iterator[None]:
    """Prefix the errors of a block with the name of an argument."""
    try:
        yield
    except exceptions.CayleyKleinError as error:
        raise type(error)(f"{name}: {error}") from error


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this package, whatever lies in between."""
    here, level = Path(__file__).parent, 1
    frame = inspect.currentframe()
    assert frame is not None
    frame = frame.f_back
    assert frame is not None
    while frame.f_back is not None:
        file = Path(frame.f_code.co_filename)
        if not file.is_relative_to(here) and "sklearn" not in file.parts:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)


def float_dtype(*arrays: ArrayLike) -> np.dtype[Any]:
    """Return float32 if every array is float32 (or float16), and float64 otherwise."""
    try:
        given = [np.asarray(a) for a in arrays]
    except ValueError:  # ragged: as_finite_array raises a clearer error
        return np.dtype(np.float64)
    dtypes = [a.dtype for a in given if a.ndim > 0]
    single = dtypes and all(t.kind == "f" and t.itemsize <= 4 for t in dtypes)
    return np.dtype(np.float32 if single else np.float64)


def broadcast_points(**points: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    try:
        return np.broadcast_arrays(*points.values())
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in points.items())
        raise InvalidInputError(f"Shapes that do not broadcast together: {shapes}.") from error


def refuse_containers(values: Any, name: str) -> None:
    """Raise for sparse matrices and masked entries, which NumPy would silently convert."""
    if hasattr(values, "toarray"):
        raise InvalidInputError(
            f"{name} is a sparse matrix; pass a dense array ({name}.toarray())."
        )
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InvalidInputError(
            f"{name} is a masked array with masked entries; fill or drop them first."
        )


def refuse_overflow(fits: NDArray[np.bool_] | np.bool_, what: str, name: str) -> None:
    if not np.all(fits):
        raise InvalidInputError(
            f"{what} overflows for {name}{at_index(~fits)}; rescale the coordinates."
        )


def refuse_huge(values: NDArray[Any], name: str) -> None:
    largest = float(np.abs(values).max())
    if largest > LARGEST_SQUARED:
        raise InvalidInputError(
            f"{name} has entries of {largest:g}, whose squares overflow; rescale them."
        )


def not_finite(array: NDArray[Any], *, allow_nan: bool = False) -> NDArray[np.intp]:
    """Return the indices (m, ndim) of entries that are infinite, or NaN unless that is allowed."""
    entries = array.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(entries @ entries):  # twice as fast; squares of huge entries are not
            return np.empty((0, array.ndim), dtype=np.intp)
    return np.argwhere(np.isinf(array) if allow_nan else ~np.isfinite(array))


def as_finite_array(values: ArrayLike, name: str, first_row: int = 0) -> NDArray[np.float64]:
    """Convert to a float64 array; errors give the indices that are not finite, from `first_row`."""
    if values is None:
        raise InvalidInputError(f"{name} is None, but expected an array of numbers.")
    refuse_containers(values, name)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(
            f"{name} is not a rectangular array of numbers: {error}."
        ) from error
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInputError(
                f"{name} holds values that do not convert to float: {error}."
            ) from error
    if array.dtype.kind not in "fiub":
        raise InvalidInputError(f"{name} must hold real numbers; got dtype {array.dtype}.")
    array = array.astype(np.float64, copy=False)
    bad = not_finite(array)
    if len(bad):
        bad[:, :1] += first_row
        where = f" at index {list_indices(bad)}" if array.ndim else ""
        raise InvalidInputError(f"{name} has NaN or infinite entries{where}.")
    return array


def as_points(
    values: ArrayLike, name: str, n_features: int | None = None, *, ndim: int | None = None
) -> NDArray[np.float64]:
    """Convert to a float64 array of points (..., d), of d and ndim as given if they are."""
    points = as_finite_array(values, name)
    if points.ndim == 0 or (ndim is not None and points.ndim != ndim):
        expected = "at least one axis" if ndim is None else f"{ndim} axes"
        raise InvalidInputError(
            f"{name} must have {expected}, coordinates along the last; got shape {points.shape}."
        )
    if points.size == 0:
        raise InvalidInputError(f"{name} is empty: its shape is {points.shape}.")
    if n_features is not None and points.shape[-1] != n_features:
        raise InvalidInputError(
            f"{name} has {points.shape[-1]} coordinates per point, but {n_features} are expected."
        )
    return points


def as_symmetric(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Convert to a float64 square matrix, symmetric to rounding, and symmetrise it."""
    matrix = as_finite_array(values, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InvalidInputError(f"{name} must be a square matrix; got shape {matrix.shape}.")
    largest = float(np.abs(matrix).max())
    if largest and not 1e-300 <= largest <= 1e300:
        raise InvalidInputError(
            f"{name} has a largest entry of {largest:g}, and products of its entries would "
            f"overflow or underflow; divide it by that."
        )
    asymmetry = np.abs(matrix - matrix.T)
    i, j = (int(k) for k in np.unravel_index(np.argmax(asymmetry), matrix.shape))
    if asymmetry[i, j] > 1e-10 * largest:  # more than rounding
        raise InvalidInputError(
            f"{name} must be symmetric, but entries ({i}, {j}) and ({j}, {i}) are "
            f"{matrix[i, j]:g} and {matrix[j, i]:g}; pass ({name} + {name}.T) / 2 if that is meant."
        )
    return matrix / 2 + matrix.T / 2


def as_real(value: Any, name: str, interval: str | None = None) -> float:
    """Check one finite number, perhaps in an interval such as ``"[0, 1)"``."""
    array = as_finite_array(value, name)
    if array.ndim:
        raise InvalidInputError(
            f"{name} must be a single number; got an array of shape {array.shape}."
        )
    number = float(array)
    if interval is not None:
        low, high = map(float, interval[1:-1].split(","))
        ends = (interval[0] == "[" and number == low) or (interval[-1] == "]" and number == high)
        if not (low < number < high or ends):
            raise InvalidInputError(f"Got {name}={value}, but expected a number in {interval}.")
    return number


def as_count(value: Any, name: str) -> int:
    try:
        count = 0 if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        count = 0
    expect(count >= 1, name, value, "a whole number, at least 1")
    return count


def as_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        allowed = ", ".join(map(repr, choices))
        raise InvalidInputError(f"Got {name}={value!r}, but expected one of {allowed}.")
    return str(value)


def as_text(value: Any, name: str) -> str:
    expect(isinstance(value, str), name, value, "a str")
    return str(value)


def as_texts(values: Any, name: str) -> tuple[str, ...]:
    several = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    expect(several, name, values, "a sequence of str")
    return tuple(as_text(value, name) for value in values)


def as_path(value: Any, name: str = "path") -> Path:
    expect(isinstance(value, str | os.PathLike), name, value, "a path, a str or a pathlib.Path")
    return Path(value)


def memory_limit() -> float:
    """Return the memory limit of the machine, the container or ``ulimit -v`` in bytes, or inf."""
    # not the free memory: the same request must always have the same answer
    limits = [np.inf]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # no such file, or no limit ("max")
        limits.append(float(Path("/sys/fs/cgroup/memory.max").read_text()))
    with suppress(ImportError):  # on Windows
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits.append(np.inf if soft == resource.RLIM_INFINITY else float(soft))
    return min(limits)


def check_memory(needed: float, what: str, remedy: str) -> None:
    limit = memory_limit()
    if needed > limit:
        raise exceptions.TooLargeError(
            f"{what} would take {needed / 1e9:,.0f} GB, but there are only {limit / 1e9:,.0f} GB "
            f"of memory. {remedy}"
        )


def require(module: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package, wanted = module.partition(".")[0], f'"cayleyklein[{extra}]"'
        said = f"{package} is not installed; pip install {wanted} adds it."
        if not isinstance(error, ModuleNotFoundError):  # it is there, and broken
            said = f"{package} cannot be imported: {error}. Try pip install --upgrade {wanted}."
        raise exceptions.MissingExtraError(said) from error
