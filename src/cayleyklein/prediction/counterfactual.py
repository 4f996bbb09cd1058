"""The smallest change of a row that changes its class.

Where k neighbours in one metric have equal votes, or one votes, it is exact: see `vote_cells`.
Categories are tried one after the other, with the numbers that suit each best. Elsewhere a descent
looks for it, from rows of the class.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import Any, Self, cast

import numpy as np

from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.columns.changes import RowCells, different
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, StrangeRowsWarning
from cayleyklein.geometry.bisectors import proximity_planes
from cayleyklein.metrics import CurvedMetric
from cayleyklein.neighbors.search import SearchIndex
from cayleyklein.parts.votes import FittedVotes, LabelVotes
from cayleyklein.prediction.predicting import Predicting
from cayleyklein.prediction.vote_cells import MOST_PROGRAMS, CellSearch, RowChanges, Voters


@dataclass(frozen=True)
class Counterfactual:
    """A changed row that has another class.

    Attributes
    ----------
    row : ndarray of shape (d,), or table of one row
        The changed row, as `x` was given.
    changes : dict of str to (object, object)
        The cells that changed, by their column: what they were and what they are now.
    size : float
        Length of the change: numbers and dates in standard deviations of their columns, a category
        that changed counts 1, an ordered one by its position.
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
    >>> int(found.prediction), sorted(found.changes), found.is_exact
    (2, ['x2', 'x3'], False)
    """

    row: Any
    changes: dict[str, tuple[Any, Any]]
    size: float
    prediction: object
    is_exact: bool


class ChangesOfClass(Predicting):
    """Mixin of the classifiers: the smallest change of a row that changes its class."""

    classes_: AnyArray

    def counterfactual(
        self,
        x: Any,
        to: Any = None,
        *,
        fixed: Sequence[Any] = (),
        bounds: Mapping[Any, Any] | None = None,
        integers: Sequence[Any] = (),
    ) -> Counterfactual:
        """Return the smallest change of a row that changes its class, in standard deviations.

        With neighbours in a single CurvedMetric, whose votes are equal ("uniform") or of which one
        votes (not "local"), it is exact: the rows with the same k nearest places are a cell that
        hyperplanes bound in every curvature, and its nearest point is a quadratic program.
        Otherwise it is the best of several descents, and ``is_exact`` is False: also if there are
        too many cells, if the row is unlike any fitted one, or if the columns that may change are
        on circles or fill gaps.

        A category that changes counts as one standard deviation. Text, and missing cells, stay as
        they are.

        Parameters
        ----------
        x : array-like of shape (d,), or table of one row
            Row to change.
        to : object, optional
            The class to reach; any other one by default.
        fixed : sequence of int or str, default=()
            Columns that may not change.
        bounds : mapping of column to (low, high) or to categories, optional
            Ranges of columns, of which None is an open end; the ends may be written as cells are,
            such as "2024-01-31". Of a column of categories, those that it may
            change to.
        integers : sequence of int or str, default=()
            Columns of numbers that must be whole.

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
        if not isinstance(self._given.X, np.ndarray):
            raise InvalidInputError("counterfactual needs fitted rows in memory.")
        model = cast(Any, self)
        of_rows = self._of_encoded_rows()
        cells = RowCells.of(self, x)
        rows = self._given.places[self._given.weights > 0]
        labels = self._given.target[self._given.weights > 0]
        allowed = Allowed.of(cells, rows, fixed, bounds or {}, integers)

        def codes(values: Floats) -> Ints:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StrangeRowsWarning)
                predicted = of_rows.predict(cells.encode(values))
            return np.asarray(np.searchsorted(self.classes_, predicted))

        wanted = self._classes_to_reach(to, codes(cells.values[None])[0])
        is_wanted = partial(reaches, codes, wanted)
        mine = cells.decode(rows[wanted[labels]])
        mine = mine[np.argsort(allowed.sizes(mine), kind="stable")[:500]]  # the nearest
        found = by_descent(allowed, mine, is_wanted, np.random.default_rng(0))
        votes = self._equal_votes()
        is_exact = False
        if votes is not None and not cells.has_gaps and not (cells.is_bent & allowed.free).any():
            found, is_exact = exact_change(allowed, votes, wanted, found, is_wanted)
        if is_exact and found is not None:
            trust = self._known_rows.trust(cells.encode(np.vstack([cells.values, found])))
            is_exact = bool((trust == 1).all())
        if found is None:
            raise NotRepresentableError("No allowed change was found that reaches the class.")
        row = cells.written(found)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StrangeRowsWarning)
            table = row if hasattr(row, "columns") else row[None]
            prediction = model.predict(table)[0]
        size = float(allowed.sizes(found[None])[0])
        return Counterfactual(row, cells.changes(found), size, prediction, is_exact)

    def _classes_to_reach(self, to: Any, own: int) -> Bools:
        """Return the classes that are wanted (C,), for a row of the class with the number `own`."""
        numbers: Ints = np.arange(len(self.classes_))
        if to is None:
            return np.asarray(numbers != own)
        wanted: Bools = np.isin(self.classes_, [to])
        if not np.any(wanted) or wanted[own]:
            raise InvalidInputError(f"to={to!r} is no other class of {self.classes_.tolist()}.")
        return wanted

    def _of_encoded_rows(self) -> Any:
        """Return this estimator for rows that are numbers already."""
        found = copy(self)
        found.encoder_ = None
        found.n_features_in_ = self._given.places.shape[1]
        found.__dict__.pop("feature_names_in_", None)
        return found

    def _equal_votes(self) -> FittedVotes | None:
        """Return the votes of this estimator, if places among the k nearest have equal ones."""
        votes = getattr(self, "_votes", None)
        if not isinstance(votes, FittedVotes) or not isinstance(votes.metric, CurvedMetric):
            return None
        kind = cast(Any, self).weights
        k = cast(Any, self).n_neighbors_
        one = k == 1 and kind in ("linear", "distance")
        equal = isinstance(kind, str) and (one or kind == "uniform")
        return replace(votes, n_neighbors=k) if equal else None


@dataclass(frozen=True)
class Allowed:
    """The changes of a row that are allowed, and how large they are.

    `unit`, `free` and `whole` (p,) are of the columns, `limits` (2, p) their ranges, and `choices`
    the categories that columns of categories may have, the row's own first.
    """

    cells: RowCells
    unit: Floats
    free: Bools
    limits: Floats
    whole: Bools
    choices: dict[int, Ints]

    @classmethod
    def of(
        cls,
        cells: RowCells,
        rows: Floats,
        fixed: Sequence[Any],
        bounds: Mapping[Any, Any],
        integers: Sequence[Any],
    ) -> Self:
        """Read what is asked for; `rows` (n, d) are the fitted ones."""
        kept = cells.numbers_of(fixed, "fixed")
        free = ~cells.stays
        free[kept] = False
        whole = cells.whole(rows)
        whole[cells.numbers_of(integers, "integers")] = True
        return cls(
            cells,
            cells.units(rows),
            free,
            cells.limits(bounds),
            whole & ~cells.is_category,
            cells.choices(bounds, kept),
        )

    def sizes(self, values: Floats) -> Floats:
        """Return the sizes of the changes to other cells (m, p)."""
        change = np.where(self.cells.stays, 0.0, values - self.cells.values) / self.unit
        is_category = self.cells.is_category
        change[:, is_category] = change[:, is_category] != 0
        return np.asarray(np.linalg.norm(change, axis=1))

    def project(self, values: Floats) -> Floats:
        """Return cells (m, p) that are allowed."""
        found = np.clip(values, self.limits[0], self.limits[1])
        found[:, self.whole] = np.rint(found[:, self.whole])
        for at, codes in self.choices.items():
            found[:, at] = np.where(np.isin(values[:, at], codes), values[:, at], codes[0])
        return np.where(self.free, found, self.cells.values)

    def of_encoded(self, numbers: Ints, at: Ints, width: int) -> RowChanges:
        """Return how an encoded row may change, with some columns of numbers in these places."""
        unit = np.ones(width)
        unit[at] = self.unit[numbers]
        free = np.zeros(width, dtype=bool)
        free[at] = True
        limits = np.tile(np.array([[-np.inf], [np.inf]]), width)
        limits[:, at] = self.limits[:, numbers]
        whole = np.zeros(width, dtype=bool)
        whole[at] = self.whole[numbers]
        return RowChanges(unit, free, limits, whole)

    def between(self, values: Floats, shares: Floats) -> Floats:
        """Return allowed cells at shares (m,) of the way to others, with their categories."""
        x = self.cells.values
        found = x + shares[:, None] * (values - x)
        found[:, self.cells.is_category] = values[:, self.cells.is_category]
        return self.project(found)


def exact_change(
    allowed: Allowed,
    votes: FittedVotes,
    wanted: Bools,
    best: Floats | None,
    is_wanted: Callable[[Floats], Bools],
) -> tuple[Floats | None, bool]:
    """Return the cells (p,) with the smallest change, and whether none is smaller.

    `best` are cells that are wanted, to be improved on.
    """
    cells = allowed.cells
    most = np.inf if best is None else float(allowed.sizes(best[None])[0])
    voters = voters_of(votes)
    numbers = np.flatnonzero(allowed.free & ~cells.is_category)
    at = cells.starts[numbers]
    n_left = MOST_PROGRAMS
    for n_tried, values in enumerate(categories_tried(allowed)):
        price = float(allowed.sizes(values[None])[0])
        if price >= most:
            break
        if n_tried >= 2000:  # combinations of categories: a search of all would take too long
            return best, False
        tried = values[None]
        if len(numbers):
            x = cells.encode(tried)[0]
            reach = np.sqrt(most**2 - price**2) * (1 + 1e-9)
            of_row = allowed.of_encoded(numbers, at, len(x))
            search = CellSearch(voters, x, of_row, wanted, reach, n_left)
            found = search.nearest()
            n_left = search.n_left
            if n_left < 0:
                return best, False
            tried = np.tile(values, (len(found), 1))
            tried[:, numbers] += found[:, at]
            tried = allowed.project(tried)
        fine = is_wanted(tried) if len(tried) else np.zeros(0, dtype=bool)
        if not fine.any():
            if len(numbers) and len(tried):
                return best, False  # on a boundary, whose side cannot be told
            continue
        changed = tried[[fine.argmax()]]
        size = float(allowed.sizes(changed)[0])
        if size < most:
            best, most = changed[0], size
    return best, True


def categories_tried(allowed: Allowed) -> Iterator[Floats]:
    """Yield the row (p,) with other categories, those with few changes first."""
    columns = [at for at, codes in allowed.choices.items() if len(codes) > 1 and allowed.free[at]]
    for n_changed in range(len(columns) + 1):
        for some in combinations(columns, n_changed):
            for codes in product(*(allowed.choices[at][1:] for at in some)):
                values = allowed.cells.values.copy()
                values[list(some)] = codes
                yield values


def voters_of(votes: FittedVotes) -> Voters:
    """Return the places of fitted votes, and how they vote."""
    table = cast(LabelVotes, votes.table)
    index = cast(SearchIndex, votes.index)
    kept = table.places.of_rows >= 0
    shares = np.zeros((len(index), table.width))
    np.add.at(shares, (table.places.of_rows[kept], table.labels[kept]), table.row_weights[kept])
    planes = proximity_planes(index.X, cast(CurvedMetric, votes.metric))
    k = min(votes.n_neighbors, len(index))
    return Voters(np.asarray(planes.normal), np.asarray(planes.offset), shares, k, table.prior)


def by_descent(
    allowed: Allowed,
    starts: Floats,
    is_wanted: Callable[[Floats], Bools],
    rng: np.random.Generator,
) -> Floats | None:
    """Return cells (p,) with a small change after which a row is wanted, found from such rows.

    All starts (s, p) go on together. Each is drawn to the row on a line as far as its class allows,
    columns are put back one by one, and steps at random along the boundary are drawn to the row
    again.
    """
    found = allowed.project(starts)
    n_descents, n_rounds = 8, 30
    found = found[is_wanted(found)][:n_descents] if len(found) else found
    if not len(found):
        return None
    found = shortened(allowed, found, is_wanted)
    for round_ in range(n_rounds):
        reach = 0.7 ** (round_ / 3)
        tried = [allowed.project(varied(allowed, each, reach, rng)) for each in found]
        sizes = allowed.sizes(found) * (1 - 1e-9)
        shorter = [
            each[allowed.sizes(each) < size] for each, size in zip(tried, sizes, strict=True)
        ]
        of_start = np.repeat(np.arange(len(found)), [len(each) for each in shorter])
        every = np.vstack(shorter)
        if not len(every):
            continue
        kept = is_wanted(every)
        every, of_start = every[kept], of_start[kept]
        order = np.lexsort((allowed.sizes(every), of_start))
        improved, first = np.unique(of_start[order], return_index=True)
        if len(improved):
            found[improved] = shortened(allowed, every[order[first]], is_wanted)
    best: Floats = found[allowed.sizes(found).argmin()]
    for at in np.flatnonzero(different(best, allowed.cells.values)):
        without = np.where(np.arange(len(best)) == at, allowed.cells.values, best)[None]
        possible = not different(allowed.project(without), without).any()
        best = without[0] if possible and is_wanted(without)[0] else best
    return best


def varied(allowed: Allowed, found: Floats, reach: float, rng: np.random.Generator) -> Floats:
    """Return changes (m, p) like one that was found, but for a column or for steps at random."""
    x = allowed.cells.values
    changed = np.flatnonzero(different(found, x))
    back = np.tile(found, (len(changed), 1))
    back[np.arange(len(changed)), changed] = x[changed]
    nearer = np.where(allowed.cells.is_category, found, x + 0.9 * (found - x))
    numbers = allowed.free & ~allowed.cells.is_category
    size = float(allowed.sizes(found[None])[0]) * reach
    n_steps = 40
    steps = rng.normal(size=(n_steps, len(x))) * allowed.unit * numbers * size / np.sqrt(len(x))
    others = [
        np.where(np.arange(len(x)) == at, code, nearer)
        for at, codes in allowed.choices.items()
        for code in rng.choice(codes, min(len(codes), 4), replace=False)
    ]
    return np.vstack([back, nearer + steps, *others])


def shortened(allowed: Allowed, values: Floats, is_wanted: Callable[[Floats], Bools]) -> Floats:
    """Return the nearest cells (s, p) on the lines from the row to cells that are wanted."""
    s, p = values.shape
    low, high = np.zeros(s), np.ones(s)
    every = np.arange(s)
    for _ in range(5):
        shares = np.linspace(low, high, 33)[1:]
        points = np.stack([allowed.between(values, share) for share in shares])
        fine = is_wanted(points.reshape(-1, p)).reshape(-1, s)
        fine[-1] = True
        at = fine.argmax(axis=0)
        low = np.where(at == 0, low, shares[at - 1, every])
        high = shares[at, every]
    return allowed.between(values, high)


def reaches(codes: Callable[[Floats], Ints], wanted: Bools, values: Floats) -> Bools:
    """Return which rows have a class that is wanted."""
    return np.asarray(wanted[codes(values)])
