"""Checks of X, y, sample weights, parameters and threads, for every estimator.

scikit-learn's own checks do most of the work. Added here: masks, text and dates are refused, rows
and columns are named, and every error is a :class:`~cayleyklein.exceptions.CayleyKleinError`.
"""

import functools
import operator
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from numbers import Number
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
from joblib import effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import validation
from sklearn.utils._param_validation import Interval, InvalidParameterError
from sklearn.utils.multiclass import check_classification_targets
from threadpoolctl import OpenBLASController, ThreadpoolController

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError, InvalidTypeError

try:  # from scikit-learn 1.9 on
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    CallbackSupportMixin = object


class SharedConstraints:
    """Base of estimators: a class's constraints of its parameters are added to those of its bases.

    A class overrides the constraint that a base has of a parameter of the same name.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        names: list[str] = getattr(cls, "_get_param_names", list)()
        rules = [vars(base).get("_parameter_constraints", {}) for base in reversed(cls.__mro__)]
        merged = {name: rule for each in rules for name, rule in each.items()}
        if merged:
            cls._parameter_constraints = {n: merged[n] for n in names or merged if n in merged}


class CallbackSupport(SharedConstraints, CallbackSupportMixin):
    """Base of estimators whose fit tells scikit-learn's callbacks, where it has them."""


class TakesTables:
    """Base of estimators that take NaN, text and categories, before BaseEstimator."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


class TakesSparse:
    """Base of estimators that make small sparse matrices dense, before BaseEstimator."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


P = ParamSpec("P")
R = TypeVar("R")

NO_TARGET = object()  # a y that is not looked at; None is one that is missing
# The estimator that is being fitted with scikit-learn's callbacks, and the context of its fit.
FIT_TASK: ContextVar[tuple[Any, Any] | None] = ContextVar("FIT_TASK", default=None)


def restore_on_error(fit: Callable[P, R]) -> Callable[P, R]:
    """Leave an estimator as it was when its fit raises, Ctrl-C included; tell its callbacks."""

    @functools.wraps(fit)
    def call(*args: P.args, **given: P.kwargs) -> R:
        state = vars(args[0])
        before = dict(state)
        told = with_callbacks(_with_root_task(fit)) if state.get("_skl_callbacks") else fit
        try:
            return told(*args, **given)
        except BaseException:
            state.clear()
            state.update(before)
            raise

    return call


def _with_root_task(fit: Callable[..., R]) -> Callable[..., R]:
    def call(estimator: Any, *args: Any, **given: Any) -> R:
        context = estimator._init_callback_context(max_subtasks=None)
        outer = FIT_TASK.set((estimator, context))
        try:
            context.call_on_fit_task_begin(estimator=estimator)
            result = fit(estimator, *args, **given)
            context.call_on_fit_task_end(estimator=estimator)
            return result
        finally:
            FIT_TASK.reset(outer)

    return call


def tell_iteration() -> bool:
    """Tell scikit-learn's callbacks of the running fit one iteration; return whether to stop."""
    estimator, context = FIT_TASK.get() or (None, None)
    if context is None:
        return False
    iteration = context.subcontext(task_name="iteration")
    iteration.call_on_fit_task_begin(estimator=estimator)
    return bool(iteration.call_on_fit_task_end(estimator=estimator))


@contextmanager
def naming(*names: str) -> Iterator[None]:
    """Re-raise scikit-learn's errors as ours, prefixed with the arguments' names."""
    try:
        yield
    except CayleyKleinError:
        raise
    except (TypeError, ValueError) as error:
        said = str(error)
        if not set(names) & set(said.split()):
            said = f"{' and '.join(names)}: {said}"
        kind = InvalidTypeError if isinstance(error, TypeError) else InvalidInputError
        raise kind(said) from error


def check_parameters(estimator: Any) -> None:
    """Check the parameters of an estimator against its `_parameter_constraints`.

    scikit-learn counts a bool as a number; here it is refused where a number is expected.
    """
    for name, rules in estimator._parameter_constraints.items():
        value = getattr(estimator, name)
        if isinstance(value, bool | np.bool_) and "boolean" not in rules:
            number = [rule for rule in rules if isinstance(rule, Interval)]
            checks.expect(not number, name, value, "a number, not a bool")
    if getattr(estimator, "n_jobs", None) is not None:
        as_jobs(estimator.n_jobs)
    try:
        estimator._validate_params()
    except InvalidParameterError as error:
        raise InvalidInputError(str(error)) from None


def is_dask(values: Any) -> bool:
    """Say whether something is a Dask collection, without importing dask."""
    # what can hold one, such as an array of xarray, has a graph only if it does
    if not hasattr(type(values), "__dask_graph__"):
        return False
    return type(values).__module__.startswith("dask") or values.__dask_graph__() is not None


def check_data(estimator: Any, X: Any, y: Any = NO_TARGET, **options: Any) -> Any:
    """Return X, or X and y, in memory and checked, by `validate_data` and its options.

    Of y only the length is checked; `encode_classes` or `check_numbers` do the rest.
    """
    if is_dask(X):
        raise InvalidInputError(
            "X is a Dask collection, which must be in memory here; pass X.compute() if it fits."
        )
    if hasattr(X, "toarray"):
        X = dense_rows(X, note=options.get("reset", True))
    refuse_no_numbers(X, "X")
    finite = options.get("ensure_all_finite", True)
    # NaN are looked for below, where their places are named
    options = {"dtype": np.float64} | options | {"ensure_all_finite": False}
    try:
        with naming("X"), np.errstate(over="ignore", invalid="ignore"):  # sums may overflow
            rows: AnyArray = validation.validate_data(estimator, X, **options)
    except CayleyKleinError as error:
        wrong = []
        for name in getattr(X, "columns", ()):
            try:
                np.asarray(X[name]).astype(np.float64)
            except (TypeError, ValueError):
                wrong.append(repr(name))
        if not wrong:
            raise
        raise type(error)(
            f"X has columns that hold no numbers: {', '.join(wrong[:5])}"
            f"{', …' if len(wrong) > 5 else ''} ({str(error).removeprefix('X: ')}). Drop them, or "
            f"encode them, as sklearn.preprocessing.OneHotEncoder does; "
            f"cayleyklein.tables.TableClassifier takes tables with text and dates as they are."
        ) from error
    if not finite:
        return rows if y is NO_TARGET else (rows, check_lengths(estimator, rows, y))
    bad = checks.not_finite(rows, allow_nan=finite == "allow-nan")
    if len(bad):
        what = "infinite" if finite == "allow-nan" else "NaN or infinite"
        raise InvalidInputError(
            f"X has {what} entries at (row, column) {checks.list_indices(bad)}. Drop these "
            f"rows, or fill the gaps, as sklearn.impute.SimpleImputer does."
        )
    return rows if y is NO_TARGET else (rows, check_lengths(estimator, rows, y))


def dense_rows(X: Any, note: bool) -> AnyArray:
    """Return a sparse matrix as an array if it is small, and refuse it otherwise.

    One-hot columns are few. Counts of words are many, and distances between them mean little.
    """
    n, d = X.shape if X.ndim == 2 else (1, X.shape[0])
    size = 8e-6 * n * d
    most_columns, most_megabytes = 1000, 256
    if d > most_columns or size > most_megabytes:
        raise InvalidTypeError(
            f"X is sparse, and distances need dense rows, which are made here of at most "
            f"{most_columns:,} columns and {most_megabytes} MB; these are {d:,} columns and "
            f"{size:,.1f} MB. Reduce the columns first, as sklearn.decomposition.TruncatedSVD(50) "
            f"does, or pass X.toarray()."
        )
    if note and size > 1:
        checks.warn_caller(
            f"X is sparse and was made dense: {n:,} rows of {d:,} columns, {size:,.1f} MB."
        )
    rows: AnyArray = X.toarray()
    return rows


def check_lengths(estimator: Any, rows: Any, y: Any) -> Any:
    if y is None:
        raise InvalidInputError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            f"is None."
        )
    n_rows, n_targets = len_of(rows, "X"), len_of(y, "y")
    if n_rows != n_targets:
        raise InvalidInputError(f"X has {n_rows} rows, but y has {n_targets}.")
    return y


def len_of(values: Any, name: str) -> int:
    shape = getattr(values, "shape", None)
    if shape is None and hasattr(values, "__len__"):
        return len(values)
    if shape is None:
        shape = np.asarray(values).shape
    if len(shape) == 0:
        raise InvalidTypeError(f"{name} must be a sequence or an array; got {type(values)}.")
    return int(shape[0])


def check_numbers(y: Any) -> Floats:
    """Return targets (n,) or (n, t), finite numbers."""
    refuse_no_numbers(y, "y")
    checks.as_finite_array(y, "y")
    with naming("y"), np.errstate(over="ignore", invalid="ignore"):
        numbers = validation.check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        return np.asarray(numbers)


def refuse_no_numbers(values: Any, name: str) -> None:
    """Refuse masks, text, dates and complex numbers, which NumPy or scikit-learn would convert."""
    checks.refuse_containers(values, name)
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


def _is_missing(label: Any) -> bool:
    try:
        if isinstance(label, str):
            return not label.strip()
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA, which cannot be compared
        return True
    except ValueError:  # an array, which is something else than a class
        return False


def encode_classes(
    y: Any, classes: NDArray[Any] | None = None, name: str = "y"
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted classes, or those given, and the position of each entry among them."""
    checks.refuse_containers(y, name)
    # NumPy would turn NaN in a list of texts into the text "nan"
    if isinstance(y, list | tuple) or getattr(getattr(y, "dtype", None), "kind", "") in tuple(
        "OUT"
    ):
        missing = [i for i, label in enumerate(y) if _is_missing(label)]
        if missing:
            rows = checks.list_indices(np.array(missing))
            raise InvalidInputError(f"{name} has no class at rows {rows}; drop them.")
    with naming(name):
        target = validation.column_or_1d(y, warn=True)
    if target.dtype.kind == "f" and len(bad := checks.not_finite(target)):
        said = f"{name} has NaN or infinite entries at index {checks.list_indices(bad)}"
        raise InvalidInputError(f"{said}; drop these rows.")
    try:
        found, codes = np.unique(target, return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in target}))
        raise InvalidInputError(
            f"{name} mixes classes of the types {kinds}, which have no common order; convert them "
            f"to one, as by {name}.astype(str)."
        ) from error
    if target.dtype.kind == "O" and len(target) and not isinstance(target[0], str):
        kinds = ", ".join(sorted({type(label).__name__ for label in target}))
        raise InvalidInputError(
            f"Unknown label type: {name} has dtype object, with classes of the type {kinds}; "
            f"convert it, as by {name}.astype(int) or {name}.astype(str)."
        )
    with naming(name):
        check_classification_targets(target)
    if classes is None:
        return found, codes.astype(np.int64)
    known = np.isin(target, classes)
    if not known.all():
        raise InvalidInputError(
            f"y has classes that were not seen or announced before, "
            f"{np.unique(target[~known]).tolist()}, at rows "
            f"{checks.list_indices(np.flatnonzero(~known))}; fit again to learn them."
        )
    return classes, np.searchsorted(classes, target).astype(np.int64)


LEAST_WEIGHT = 1e-150  # of the largest; less is 0


def as_weights(sample_weight: ArrayLike | None, rows: AnyArray) -> Floats:
    """Return a weight for each row, none negative and not all 0, in an array of its own."""
    n_rows = len_of(rows, "X")
    if sample_weight is None:
        return np.ones(n_rows)
    refuse_no_numbers(sample_weight, "sample_weight")
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n_rows, sample_weight)
    with naming("sample_weight"):
        weights: Floats = validation.check_array(
            sample_weight,
            ensure_2d=False,
            dtype=np.float64,
            order="C",
            copy=True,
            input_name="sample_weight",
        )
    if weights.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight has shape {weights.shape}, but must have one number for each of the "
            f"{n_rows} rows."
        )
    if (weights < 0).any():
        bad = checks.list_indices(np.flatnonzero(weights < 0))
        raise InvalidInputError(f"sample_weight is negative at rows {bad}.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > 1e308:
        raise InvalidInputError(
            f"sample_weight has entries of {weights.max():g}, whose sum overflows; divide it by "
            f"the largest."
        )
    if len(weights) and not weights.any():
        raise InvalidInputError("sample_weight is zero for every row; one at least must count.")
    # beside the largest they count for nothing, and squares of their shares would underflow
    weights[weights < LEAST_WEIGHT * weights.max(initial=0.0)] = 0.0
    return weights


def check_truth(
    y: Any, predicted: AnyArray, sample_weight: ArrayLike | None
) -> tuple[AnyArray, Floats | None]:
    """Check the true classes or numbers that predictions are compared with, and their weights."""
    if predicted.dtype.kind == "f":
        truth: AnyArray = checks.as_finite_array(y, "y")
    else:
        classes, codes = encode_classes(y)
        truth = classes[codes]
    if truth.shape != predicted.shape:
        raise InvalidInputError(
            f"y has shape {truth.shape}, but X makes predictions of shape {predicted.shape}."
        )
    return truth, None if sample_weight is None else as_weights(sample_weight, predicted)


def as_jobs(n_jobs: Any) -> int:
    """Return the number of threads or processes that `n_jobs` stands for."""
    try:
        given = None if n_jobs is None else operator.index(n_jobs)
    except TypeError:
        given = 0
    known = "a whole number other than 0 (-1 takes every core), or None"
    checks.expect(given != 0 and not isinstance(n_jobs, bool), "n_jobs", n_jobs, known)
    # joblib's Dask backend, active in its tasks too, counts the cores of the whole cluster
    on_dask = type(get_active_backend()[0]).__module__ == "joblib._dask"
    with parallel_config("threading") if on_dask else nullcontext():
        return int(effective_n_jobs(given))


@functools.lru_cache(maxsize=1)
def thread_pools(n_modules: int) -> ThreadpoolController:
    """Find the loaded libraries that have threads: it takes 5 ms, hence once for all imports."""
    return ThreadpoolController()


class ThreadLimit:
    """Fits that run in this process, and the limit of BLAS threads while only small ones do."""

    lock = threading.Lock()
    running: ClassVar = {"small": 0, "large": 0}
    limit: Any = None

    @classmethod
    def count(cls, size: str, change: int) -> bool:
        """Count a fit that begins or ends; set the limit or lift it; return whether it is set."""
        with cls.lock:
            cls.running[size] += change
            wanted = cls.running["small"] > 0 and cls.running["large"] == 0
            if wanted != (cls.limit is not None):
                # threadpoolctl 3.8 lets only the thread that set a limit of OpenBLAS lift it
                if hasattr(OpenBLASController, "clear_controlling_thread"):
                    OpenBLASController.clear_controlling_thread(force=True)
                if cls.limit is not None:
                    cls.limit.restore_original_limits()
                pools = thread_pools(len(sys.modules))
                cls.limit = pools.limit(limits=1, user_api="blas") if wanted else None
            return wanted


@contextmanager
def few_threads(n_rows: int, n_columns: int) -> Iterator[None]:
    """Keep matrix products of few rows in one thread: others would spin for work, and burn CPU.

    The number of BLAS threads belongs to the process. It is one while at least one small fit and no
    large one runs, and is restored when that ends, whichever fit ends first. The number of OpenMP
    threads belongs to the thread of the fit.
    """
    # of fewer multiplications a second thread waits longer than it works
    size = "small" if float(n_rows) * min(n_rows, 1000) * n_columns < 2e8 else "large"
    limited = ThreadLimit.count(size, 1)
    try:
        with thread_pools(len(sys.modules)).limit(limits=1 if limited else None, user_api="openmp"):
            yield
    finally:
        ThreadLimit.count(size, -1)
