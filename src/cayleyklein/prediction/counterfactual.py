"""The smallest change of a row that changes its class.

In every curvature the bisector of two rows is a hyperplane (section 3 of the paper), so the rows
that are nearer to a row i than to others form a polyhedron. With one neighbour and one metric, the
rows of a class are the union of such cells over its rows: the nearest point of each cell is a
quadratic program with linear constraints, and the nearest of these points is exact. Elsewhere a
descent looks for it, from rows of the class.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.columns import entrance
from cayleyklein.columns.encoder import TableEncoder
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, StrangeRowsWarning
from cayleyklein.geometry.bisectors import bisector
from cayleyklein.metrics import CurvedMetric
from cayleyklein.prediction.predicting import Predicting

DESCENTS = 8  # rows of the class from which a descent begins


@dataclass(frozen=True)
class Counterfactual:
    """A changed row that has another class.

    Attributes
    ----------
    row : ndarray of shape (d,)
        The changed row.
    change : ndarray of shape (d,)
        What was added to each column.
    size : float
        Length of the change in standard deviations of the columns.
    prediction : object
        The class of the changed row, as predicted.
    is_exact : bool
        Whether no smaller change exists; otherwise a descent found none.

    Examples
    --------
    >>> from cayleyklein import CurvedKernelClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CurvedKernelClassifier("columns", random_state=0).fit(X, y)
    >>> found = model.counterfactual(X[60], to=2, fixed=[0, 1])
    >>> int(found.prediction), found.change[:2], found.is_exact
    (2, array([0., 0.]), False)
    """

    row: Floats
    change: Floats
    size: float
    prediction: object
    is_exact: bool


class ChangesOfClass(Predicting):
    """Mixin of the classifiers: the smallest change of a row that changes its class."""

    classes_: AnyArray

    def counterfactual(
        self,
        x: ArrayLike,
        to: Any = None,
        *,
        fixed: Sequence[Any] = (),
        bounds: Mapping[Any, tuple[float, float]] | None = None,
        integers: Sequence[Any] = (),
    ) -> Counterfactual:
        """Return the smallest change of a row that changes its class, in standard deviations.

        With one neighbour, a single CurvedMetric and votes that are not "local" it is exact: the
        rows of a class are the cells of its rows, which hyperplanes bound in every curvature, and
        the nearest point of each is a quadratic program. Otherwise, and with `integers`, it is the
        best of several descents, and ``is_exact`` is False.

        Parameters
        ----------
        x : array-like of shape (d,), or table of one row
            Row of numbers.
        to : object, optional
            The class to reach; any other one by default.
        fixed : sequence of int or str, default=()
            Columns that may not change.
        bounds : mapping of column to (low, high), optional
            Ranges of columns.
        integers : sequence of int or str, default=()
            Columns that must be whole numbers.

        Examples
        --------
        >>> from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric
        >>> metric = CurvedMetric.euclidean(2)
        >>> model = CurvedKNeighborsClassifier(1, metric=metric, weights="uniform")
        >>> model = model.fit([[0.0, 0.0], [2.0, 0.0], [0.0, 6.0]], ["a", "b", "b"])
        >>> found = model.counterfactual([0.5, 0.0])
        >>> found.row.round(3), str(found.prediction), found.is_exact
        (array([1., 0.]), 'b', True)
        """
        model = cast(Any, self)
        if isinstance(self.encoder_, TableEncoder):
            numbers, row = self._of_numbers(x)
            names = np.array([column.name for column in self.encoder_.used_columns])
            limited = {
                column_numbers([column], names, "bounds")[0]: ends
                for column, ends in (bounds or {}).items()
            }
            return numbers.counterfactual(
                row,
                to,
                fixed=column_numbers(fixed, names, "fixed"),
                bounds=limited,
                integers=column_numbers(integers, names, "integers"),
            )
        if self.encoder_ is not None or not isinstance(self._given.X, np.ndarray):
            raise InvalidInputError("counterfactual needs fitted numbers in memory, without gaps.")
        row = self._numbers_of(np.reshape(np.asarray(x, dtype=float), (1, -1)))[0]
        names, _ = entrance.by_column(self, row)
        kept = self._given.weights > 0
        rows = self._given.X[kept]
        labels = self._given.target[kept]
        free = np.ones(len(row), dtype=bool)
        free[column_numbers(fixed, names, "fixed")] = False
        whole = column_numbers(integers, names, "integers")
        limits = np.tile(np.array([[-np.inf], [np.inf]]), len(row))
        for column, ends in (bounds or {}).items():
            limits[:, column_numbers([column], names, "bounds")[0]] = ends
        deviation = rows.std(axis=0)
        unit = np.where(deviation > 0, deviation, 1.0)

        def codes(changed: Floats) -> Ints:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StrangeRowsWarning)
                return np.asarray(np.searchsorted(self.classes_, model.predict(changed)))

        own = codes(row[None])[0]
        wanted = np.arange(len(self.classes_)) != own
        if to is not None:
            wanted = self.classes_ == to
            if not wanted.any() or wanted[own]:
                raise InvalidInputError(f"to={to!r} is no other class of {self.classes_.tolist()}.")

        def project(changed: Floats) -> Floats:
            found = np.clip(changed, limits[0], limits[1])
            found[:, whole] = np.rint(found[:, whole])
            return np.where(free, found, row)

        is_wanted = partial(reaches, codes, wanted)
        mine = wanted[labels]
        starts = rows[mine][nearest_starts(row, rows[mine], unit)]
        exact = (
            not whole
            and isinstance(model.metric_, CurvedMetric)
            and isinstance(getattr(model, "n_neighbors_", None), int)
            and model.n_neighbors_ == 1
            and getattr(model, "weights", "local") in ("uniform", "linear", "distance")
        )
        change: Floats | None = None
        if exact:
            change = exact_change(row, rows[mine], rows[~mine], model.metric_, unit, free, limits)
            for beyond in (1e-9, 1e-6, 1e-4):
                if change is None:
                    break
                changed = project((row + (1 + beyond) * change)[None])
                if is_wanted(changed)[0]:
                    return self._told_change(row, changed[0], unit, True)
        rng = np.random.default_rng(0)
        change = descended_change(row, starts, is_wanted, unit, free, project, rng)
        if change is None:
            raise NotRepresentableError("No allowed change was found that reaches the class.")
        return self._told_change(row, row + change, unit, False)

    def _of_numbers(self, x: Any) -> tuple[Self, Floats]:
        """Return this estimator for encoded rows, and a row encoded, if that changes no number."""
        encoder = cast(TableEncoder, self.encoder_)
        coded = [column.name for column in encoder.used_columns if not column.is_plain]
        if coded:
            listed = ", ".join(map(repr, coded[:10]))
            raise InvalidInputError(
                f"counterfactual needs columns of numbers without gaps; not so: {listed}. Fit "
                f"again without these columns, or with their cells as plain numbers."
            )
        table = x
        if np.ndim(x) == 1:
            table = x.to_frame().T if hasattr(x, "to_frame") else np.reshape(x, (1, -1))
        if len(table) != 1:
            raise InvalidInputError(f"x has {len(table)} rows; expected one.")
        table = entrance.query_table(self, table)
        if encoder.is_missing(table).any():
            raise InvalidInputError("counterfactual needs a row without missing cells.")
        row = entrance.query_rows(self, table)[0]
        numbers = copy(self)
        numbers.encoder_ = None
        numbers.n_features_in_ = len(row)
        numbers.__dict__.pop("feature_names_in_", None)
        return numbers, row

    def _told_change(
        self, row: Floats, changed: Floats, unit: Floats, is_exact: bool
    ) -> Counterfactual:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StrangeRowsWarning)
            prediction = cast(Any, self).predict(changed[None])[0]
        change = changed - row
        size = float(np.linalg.norm(change / unit))
        return Counterfactual(changed, change, size, prediction, is_exact)


def least_distance(A: Floats, b: Floats) -> Floats | None:
    """Return the shortest z (d,) with A z ≥ b; None if there is none.

    The dual is a problem of least squares without negative numbers (Lawson and Hanson 1974,
    chapter 23).
    """
    if not len(A) or (b <= 0).all():
        return np.zeros(A.shape[1])
    unit = np.linalg.norm(A, axis=1)
    unit = np.where(unit > 0, unit, 1.0)
    A, b = A / unit[:, None], b / unit
    scale = float(np.abs(b).max())
    system = np.vstack([A.T, b[None] / scale])
    target = np.zeros(len(system))
    target[-1] = 1.0
    weights, residual = nnls(system, target, maxiter=50 * len(A))
    if residual < 1e-9:
        return None
    rest = target - system @ weights
    z = -rest[:-1] / rest[-1] * scale
    return z if (A @ z >= b - 1e-7 * max(1.0, scale)).all() else None


def nearest_in_cell(A: Floats, b: Floats, most: float) -> Floats | None:
    """Return the shortest z with A z ≥ b, if it is shorter than `most`; few rows of A may count."""
    chosen: list[int] = []
    z = np.zeros(A.shape[1])
    for _ in range(len(A) + 1):
        short = b - A @ z
        worst = int(np.argmax(short))
        if short[worst] <= 1e-9 * max(1.0, float(np.abs(b).max())) or worst in chosen:
            return z
        chosen.append(worst)
        found = least_distance(A[chosen], b[chosen])
        # with more constraints it only becomes longer
        if found is None or np.linalg.norm(found) >= most:
            return None
        z = found
    return z


def exact_change(
    x: Floats,
    own: Floats,
    others: Floats,
    metric: CurvedMetric,
    unit: Floats,
    free: Bools,
    limits: Floats,
) -> Floats | None:
    """Return the smallest change (d,) of x that brings it into a cell of one of the `own` rows.

    `others` are the rows of other classes; `unit` (d,) measures changes, and only `free` columns
    may change, between `limits` (2, d). The cell of an own row among the others is cut by the
    bisectors to them.
    """
    best: Floats | None = None
    most = np.inf
    walls = np.vstack([np.diag(unit), -np.diag(unit)])[:, free]
    room = np.concatenate([limits[0] - x, x - limits[1]])
    bounded = np.isfinite(room) & np.tile(free, 2)
    order = np.argsort(metric.distance(x, own), kind="stable")
    for at in order:
        planes = bisector(np.broadcast_to(own[at], others.shape), others, metric)
        nearer = np.sign(planes.evaluate(own[at]))
        normal = np.asarray(planes.normal) * nearer[:, None]
        height = np.asarray(planes.evaluate(x)) * nearer
        A = (normal * unit)[:, free]
        A = np.vstack([A, walls[bounded]])
        z = nearest_in_cell(A, np.concatenate([-height, room[bounded]]), most)
        if z is not None and np.linalg.norm(z) < most:
            most = float(np.linalg.norm(z))
            best = np.zeros(len(x))
            best[free] = z * unit[free]
    return best


def descended_change(
    x: Floats,
    starts: Floats,
    is_wanted: Callable[[Floats], Bools],
    unit: Floats,
    free: Bools,
    project: Callable[[Floats], Floats],
    rng: np.random.Generator,
) -> Floats | None:
    """Return a small change of x after which a row is wanted, found from rows that are wanted.

    Each start is drawn to x on a line as far as its class allows, columns are put back one by one,
    and steps at random along the boundary are drawn to x again. `project` brings changed rows to
    those that are allowed.
    """

    def allowed(changes: Floats) -> Floats:
        return project(x + changes) - x

    best: Floats | None = None
    most = np.inf
    for start in starts:
        change = allowed(np.where(free, start - x, 0.0)[None])[0]
        if not is_wanted((x + change)[None])[0]:
            continue
        change = shortened(x, change, is_wanted, allowed)
        for round_ in range(30):
            size = np.linalg.norm(change / unit)
            tried = [np.where(np.arange(len(x)) == j, 0.0, change) for j in np.flatnonzero(change)]
            steps = rng.normal(size=(40, len(x))) * unit * free * size * 0.7 ** (round_ / 3)
            tried.extend(0.9 * change + step / np.sqrt(len(x)) for step in steps)
            candidates = allowed(np.array(tried).reshape(-1, len(x)))
            lengths = np.linalg.norm(candidates / unit, axis=1)
            shorter = np.flatnonzero(lengths < size * (1 - 1e-9))
            if len(shorter):
                wanted = shorter[is_wanted(x + candidates[shorter])]
                if len(wanted):
                    change = candidates[wanted[np.argmin(lengths[wanted])]]
                    change = shortened(x, change, is_wanted, allowed)
        length = float(np.linalg.norm(change / unit))
        if length < most:
            best, most = change, length
    return best


def shortened(
    x: Floats,
    change: Floats,
    is_wanted: Callable[[Floats], Bools],
    allowed: Callable[[Floats], Floats],
) -> Floats:
    """Return the shortest multiple of a change after which the row is still wanted."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        if is_wanted(x + allowed(middle * change[None]))[0]:
            high = middle
        else:
            low = middle
    return np.asarray(allowed(high * change[None])[0])


def column_numbers(columns: Iterable[Any], names: AnyArray, what: str) -> list[int]:
    """Return the numbers of columns that are given by number or by name."""
    known = {str(name): at for at, name in enumerate(names)}
    found = []
    for column in columns:
        at = column if isinstance(column, int | np.integer) else known.get(str(column), -1)
        if not 0 <= at < len(names):
            raise InvalidInputError(f"{what} has {column!r}; expected one of {list(known)}.")
        found.append(int(at))
    return found


def nearest_starts(x: Floats, rows: Floats, unit: Floats) -> Ints:
    """Return the rows to begin with, the nearest first."""
    return np.argsort(np.linalg.norm((rows - x) / unit, axis=1), kind="stable")[:DESCENTS]


def reaches(codes: Callable[[Floats], Ints], wanted: Bools, rows: Floats) -> Bools:
    """Return which rows have a class that is wanted."""
    return np.asarray(wanted[codes(rows)])
