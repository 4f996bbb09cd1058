"""The smallest change of a row that changes its class.

In every curvature the bisector of two rows is a hyperplane (section 3 of the paper), so the rows
that are nearer to a row i than to others form a polyhedron. With one neighbour and one metric, the
rows of a class are the union of such cells over its rows: the nearest point of each cell is a
quadratic program with linear constraints, and the nearest of these points is exact. Elsewhere a
descent looks for it, from rows of the class.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry.bisectors import bisector
from cayleyklein.metrics import CurvedMetric

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
