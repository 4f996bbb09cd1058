"""What every estimator checks.

scikit-learn's own checks do most of the work. They leave a few gaps, which are closed here: a mask
is not dropped, text and dates are no numbers, and every refusal is an
:class:`~cayleyklein.exceptions.InvalidInputError` that names the argument.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ParamSpec, TypeVar

import numpy as np
from joblib import effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, InvalidParameterError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data
from threadpoolctl import threadpool_limits

from cayleyklein._distributed import in_memory, is_dask, meta_of, refuse_dask
from cayleyklein._typing import AnyArray
from cayleyklein._validation import as_finite_array, expect, list_indices, refuse_containers
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError, InvalidTypeError

P = ParamSpec("P")
R = TypeVar("R")

NO_TARGET = object()
"""Stands for a y that is not looked at; None is one that is missing."""

LARGEST_TOTAL = 1e308
"""Largest sum of the weights of rows."""


def restore_on_error(fit: Callable[P, R]) -> Callable[P, R]:
    """Leave an estimator as it was where its fit raises, Ctrl-C included."""

    @functools.wraps(fit)
    def call(*args: P.args, **given: P.kwargs) -> R:
        state = vars(args[0])
        before = dict(state)
        try:
            return fit(*args, **given)
        except BaseException:
            state.clear()
            state.update(before)
            raise

    return call


@contextmanager
def naming(*names: str) -> Iterator[None]:
    """Let errors of scikit-learn's checks name the arguments that they are about."""
    try:
        yield
    except CayleyKleinError:
        raise
    except (TypeError, ValueError) as error:
        said = re.sub(r"array=.*?(?=Reshape|$)", "", str(error), flags=re.DOTALL)
        if not any(re.search(rf"\b{name}\b", said) for name in names):
            said = f"{' and '.join(names)}: {said}"
        kind = InvalidTypeError if isinstance(error, TypeError) else InvalidInputError
        raise kind(said) from error


@contextmanager
def naming_columns(X: Any) -> Iterator[None]:
    """Let an error name the columns of a data frame that hold no numbers, if there are any."""
    try:
        yield
    except CayleyKleinError as error:
        wrong = columns_without_numbers(X)
        if not wrong:
            raise
        names = ", ".join(map(repr, wrong[:5])) + (", …" if len(wrong) > 5 else "")
        raise type(error)(
            f"X has columns that hold no numbers: {names} ({str(error).removeprefix('X: ')}). Drop "
            f"them, or encode them, as sklearn.preprocessing.OneHotEncoder does; "
            f"cayleyklein.tables.TableClassifier takes tables with text and dates as they are."
        ) from error


def columns_without_numbers(X: Any) -> list[Any]:
    """Return the names of the columns of a data frame that cannot become floats."""
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):
        return []
    wrong = []
    for name in X.columns:
        try:
            np.asarray(X[name]).astype(np.float64)
        except (TypeError, ValueError):
            wrong.append(name)
    return wrong


def check_data(estimator: Any, X: Any, y: Any = NO_TARGET, **options: Any) -> Any:
    """Return X, or X and y, as arrays by `validate_data`; X must be in memory, y is computed."""
    refuse_dask(X, "X", "pass X.compute() if it fits")
    if sparse.issparse(X):
        n, d = X.shape
        raise InvalidTypeError(
            f"X is sparse, and distances need dense rows. Pass X.toarray(), which takes "
            f"{8e-6 * n * d:,.1f} MB, or reduce its {d:,} columns first, as "
            f"sklearn.decomposition.TruncatedSVD does."
        )
    refuse_containers(X, "X")
    refuse_no_numbers(X, "X")
    of_y = {name: options.pop(name) for name in ("multi_output", "y_numeric") if name in options}
    finite = options.pop("ensure_all_finite", True)
    theirs = False if finite is True else finite  # we name the entries
    columns = naming_columns(X)
    with columns, naming("X"), np.errstate(over="ignore", invalid="ignore"):  # sums may overflow
        rows = validate_data(estimator, X, **options, ensure_all_finite=theirs)
        if finite is True:
            refuse_not_finite(rows)
    if y is NO_TARGET:
        return rows
    y = in_memory(y, "y")
    refuse_containers(y, "y")
    if y is not None:
        (refuse_no_numbers if of_y else refuse_missing)(y, "y")
    with naming("y"), np.errstate(over="ignore", invalid="ignore"):
        return validate_data(estimator, X, y, **options, **of_y, ensure_all_finite=theirs)


def refuse_not_finite(rows: AnyArray) -> None:
    """Raise for NaN and infinite entries of X, and name them."""
    if rows.dtype.kind != "f" or np.isfinite(rows.sum()):
        return
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        raise InvalidInputError(
            f"X has NaN or infinite entries at (row, column) {list_indices(bad)}. Drop these rows, "
            f"or fill the gaps, as sklearn.impute.SimpleImputer does."
        )


def check_columns(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool) -> None:
    """Check the number, names and dtypes of a Dask collection's columns, before it is computed."""
    like = meta_of(X, "X")
    if like.shape[1] == 0:
        raise InvalidInputError("X has no columns.")
    refuse_no_numbers(like, "X")
    kinds = {} if isinstance(like, np.ndarray) else dict(like.dtypes)
    wrong = [f"{name} ({kind})" for name, kind in kinds.items() if is_no_number(kind)]
    if wrong:
        raise InvalidInputError(
            f"X has columns that hold no numbers: {', '.join(wrong)}. Drop them, or convert them, "
            f"as X.astype(float) or dask.dataframe.get_dummies(X) does."
        )
    with naming("X", "y"):
        validate_data(estimator, like, y, reset=reset, skip_check_array=True)


def is_no_number(kind: Any) -> bool:
    """Say whether a column of a dataframe holds text, dates or the like; objects may be numbers."""
    categories = getattr(kind, "categories", None)
    if categories is not None:
        kind = categories.dtype
    return kind.kind not in "fiubO" or str(kind).startswith("str")


def refuse_no_numbers(values: Any, name: str) -> None:
    """Refuse what scikit-learn would take for numbers: text, dates, and complex numbers."""
    if hasattr(values, "dtypes"):  # a table, of which scikit-learn looks at each column
        return
    try:
        kind = np.asarray(values).dtype
    except ValueError as error:
        raise InvalidInputError(f"{name} is not a rectangular array of numbers: {error}") from error
    if kind.kind == "c":
        raise InvalidInputError(
            f"Complex data not supported: {name} must hold real numbers; pass {name}.real, or its "
            f"parts as columns."
        )
    if kind.kind not in "fiubO":
        raise InvalidInputError(
            f"{name} must hold real numbers; got dtype {kind}. Convert it, as by "
            f"{name}.astype(float)."
        )


def refuse_missing(labels: Any, name: str) -> None:
    """Refuse rows without a class; NumPy would make the text "nan" of one in a list of texts."""
    if is_dask(labels):
        return  # it is looked at in memory
    if not isinstance(labels, list | tuple):
        labels = np.asarray(labels)
        if labels.dtype.kind != "O" or labels.ndim != 1:
            return
    missing = np.array([_is_missing(label) for label in labels], dtype=bool)
    if missing.any():
        rows = list_indices(np.flatnonzero(missing))
        raise InvalidInputError(f"{name} has no class at rows {rows}; drop them.")


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA, of which nothing is known, not even that
        return True
    except ValueError:  # an array, which is something else than a class
        return False


def as_labels(target: NDArray[Any], name: str = "y") -> NDArray[Any]:
    """Check that a column holds classes: no missing ones, of one type, and no quantities."""
    refuse_missing(target, name)
    if target.dtype.kind == "O":
        kinds = sorted({type(label).__name__ for label in target})
        try:
            np.unique(target)
        except TypeError as error:
            raise InvalidInputError(
                f"{name} mixes classes of the types {', '.join(kinds)}, which have no common "
                f"order; convert them to one, as by {name}.astype(str)."
            ) from error
    if target.dtype.kind == "f" and not np.isfinite(target).all():
        rows = np.flatnonzero(~np.isfinite(target))
        raise InvalidInputError(
            f"{name} has NaN or infinite entries at index {list_indices(rows)}; drop these rows."
        )
    with naming(name):
        check_classification_targets(target)
    return target


def check_parameters(estimator: Any) -> None:
    """Check the parameters of an estimator against its `_parameter_constraints`.

    To scikit-learn a bool is a number; here it is none, as in `as_count`.
    """
    for name, rules in estimator._parameter_constraints.items():
        value = getattr(estimator, name)
        is_number = any(isinstance(rule, Interval) for rule in rules)
        is_bool = isinstance(value, bool | np.bool_)
        expect(not (is_number and is_bool), name, value, "a number, not a bool")
    try:
        estimator._validate_params()
    except InvalidParameterError as error:
        raise InvalidInputError(str(error)) from None


def encode_classes(target: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes of a checked column, and the position of each entry among them."""
    classes, labels = np.unique(as_labels(target), return_inverse=True)
    return classes, labels.astype(np.int64)


def as_classes(classes: ArrayLike) -> NDArray[Any]:
    """Check the classes to come."""
    refuse_containers(classes, "classes")
    given = np.asarray(classes)
    if given.ndim != 1 or given.size == 0:
        raise InvalidInputError(
            f"classes must be a sequence of labels, at least one; got {classes!r}."
        )
    return as_labels(given, "classes")


def labels_of(target: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each target among the classes, which it must be one of."""
    known = np.isin(target, classes)
    if not known.all():
        raise InvalidInputError(
            f"y has classes that were not seen or announced before, "
            f"{np.unique(target[~known]).tolist()}, at rows "
            f"{list_indices(np.flatnonzero(~known))}; fit again to learn them."
        )
    return np.searchsorted(classes, target)


def as_target(y: Any) -> NDArray[Any]:
    """Return a column of classes."""
    refuse_containers(y, "y")
    refuse_missing(y, "y")
    with naming("y"):
        return as_labels(column_or_1d(y, warn=True))


def as_weights(sample_weight: ArrayLike | None, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return a weight for each row, none negative and not all 0."""
    sample_weight = in_memory(sample_weight, "sample_weight")
    if sample_weight is not None:
        refuse_containers(sample_weight, "sample_weight")
        refuse_no_numbers(sample_weight, "sample_weight")
    with naming("sample_weight"):
        weights = np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64))
    if (weights < 0).any():
        bad = list_indices(np.flatnonzero(weights < 0))
        raise InvalidInputError(f"sample_weight is negative at rows {bad}.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > LARGEST_TOTAL:
        raise InvalidInputError(
            f"sample_weight has entries of {weights.max():g}, whose sum overflows; divide it by "
            f"the largest."
        )
    if len(weights) and not weights.any():
        raise InvalidInputError("sample_weight is 0 for every row; one at least must count.")
    return weights


def check_truth(
    y: Any, predicted: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Check what predictions are held against: classes or numbers, and weights."""
    y, sample_weight = in_memory(y, "y"), in_memory(sample_weight, "sample_weight")
    refuse_containers(y, "y")
    truth: NDArray[Any] = as_finite_array(y, "y") if predicted.dtype.kind == "f" else as_target(y)
    if truth.shape != predicted.shape:
        raise InvalidInputError(
            f"y has shape {truth.shape}, but X makes predictions of shape {predicted.shape}."
        )
    weights = None if sample_weight is None else as_weights(sample_weight, predicted)
    return truth, weights


def as_jobs(n_jobs: Any) -> int:
    """Return the number of threads or processes that `n_jobs` stands for."""
    try:
        given = None if n_jobs is None else operator.index(n_jobs)
    except TypeError:
        given = 0
    known = "a whole number other than 0 (-1 takes every core), or None"
    expect(given != 0 and not isinstance(n_jobs, bool), "n_jobs", n_jobs, known)
    # joblib's Dask backend, active in its tasks too, counts the cores of the whole cluster
    on_dask = type(get_active_backend()[0]).__module__ == "joblib._dask"
    with parallel_config("threading") if on_dask else nullcontext():
        return int(effective_n_jobs(given))


def as_random_state(random_state: Any) -> np.random.RandomState:
    """Return the generator that `random_state` stands for."""
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"Got random_state={random_state!r}, but expected a whole number from 0 to 2³²-1, a "
            f"numpy.random.RandomState, or None."
        ) from error
    return generator


SMALL_WORK = 2e8
"""Multiplications up to which a second thread waits longer than it works."""


def few_threads(n_rows: int, n_columns: int) -> AbstractContextManager[Any]:
    """Keep matrix products of few rows in one thread: others would spin for work, and burn CPU."""
    small = float(n_rows) * min(n_rows, 1000) * n_columns < SMALL_WORK
    return threadpool_limits(1) if small else nullcontext()
