"""The cells of one row as numbers that may change, and back.

A number is itself, a date is days since 1970, an ordered category its position, and a category its
number among the known ones. Text, and cells that are missing, stay as they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import require
from cayleyklein.columns import entrance
from cayleyklein.columns.column import MISSING_LEVEL, Column
from cayleyklein.columns.encoder import TableEncoder
from cayleyklein.columns.gaps import Gaps
from cayleyklein.exceptions import InvalidInputError

A_PAIR = "a pair (low, high)"


@dataclass(frozen=True)
class RowCells:
    """One row of an estimator's table, or of its array of numbers.

    Attributes
    ----------
    names : list of str
        The columns that are used.
    row : ndarray of shape (d,), or table of one row
        The row as given.
    values : ndarray of shape (p,)
        Its cells as numbers; NaN where they stay as they are.
    columns : list of Column
        How cells become numbers; empty for arrays of numbers.
    gaps : Gaps or None
        How missing numbers are filled.
    lookups : dict of int to ndarray of shape (c, f)
        What the categories of a column become, its own cell at the end if it is none of them.
    steady : dict of int to ndarray of shape (f,)
        What cells that stay as they are become.
    """

    names: list[str]
    row: Any
    values: Floats
    columns: list[Column] = field(default_factory=list)
    gaps: Gaps | None = None
    lookups: dict[int, Floats] = field(default_factory=dict)
    steady: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, estimator: entrance.TableInput, x: Any) -> Self:
        """Read one row for a fitted estimator."""
        encoder = estimator.encoder_
        table = x
        if np.ndim(x) == 1:
            table = x.to_frame().T if hasattr(x, "to_frame") else np.reshape(x, (1, -1))
        if len(table) != 1:
            raise InvalidInputError(f"x has {len(table)} rows; expected one.")
        if not isinstance(encoder, TableEncoder):
            row = np.array(entrance.numbers_with_gaps(estimator, table, reset=False)[0])
            said, _ = entrance.by_column(estimator, np.zeros(width_of(estimator, len(row))))
            return cls(list(map(str, said)), table, row, gaps=encoder)
        table = entrance.query_table(estimator, table)
        columns = encoder.used_columns
        missing = encoder.is_missing(table)[0]
        values = np.full(len(columns), np.nan)
        lookups = {}
        steady = {}
        for at, column in enumerate(columns):
            cell = table[column.name]
            known = column.encode(cell)
            if missing[at] or column.kind == "text":
                steady[at] = known[0]
            elif column.kind == "category":
                place = int(column.places(cell)[0])
                lookups[at] = levels_of(column)
                if place < 0 or place >= len(column.categories):
                    place = len(lookups[at])
                    lookups[at] = np.vstack([lookups[at], known])
                values[at] = place
            else:
                values[at] = known[0, 0]
                if np.isnan(values[at]):  # a category that is not in the order
                    steady[at] = known[0]
        names = [column.name for column in columns]
        return cls(names, table, values, columns, encoder.gaps_, lookups, steady)

    @property
    def has_gaps(self) -> bool:
        """Whether missing numbers are filled, by what the other columns are."""
        filled = [at for at, known in self.steady.items() if np.isnan(known).any()]
        return bool(filled) or (not self.columns and bool(np.isnan(self.values).any()))

    @property
    def is_category(self) -> Bools:
        found = np.zeros(len(self.values), dtype=bool)
        found[list(self.lookups)] = True
        return found

    @property
    def stays(self) -> Bools:
        """The columns whose cells stay as they are."""
        return np.asarray(np.isnan(self.values))

    @property
    def is_bent(self) -> Bools:
        """The columns that are on circles, which numbers enter in curves."""
        found = [bool(column.circles) for column in self.columns]
        return np.array(found or np.zeros(len(self.values)), dtype=bool)

    @property
    def starts(self) -> Ints:
        """The first encoded number of each column."""
        widths = [len(column.feature_names) for column in self.columns] or [1] * len(self.values)
        return np.cumsum([0, *widths])[:-1]

    def encode(self, values: Floats) -> Floats:
        """Return rows (m, d) of numbers for the model, for cells (m, p) as numbers."""
        if not self.columns:
            return values if self.gaps is None else self.gaps.fill(values)
        parts = []
        for at, column in enumerate(self.columns):
            if at in self.steady:
                parts.append(np.tile(self.steady[at], (len(values), 1)))
            elif at in self.lookups:
                parts.append(self.lookups[at][values[:, at].astype(int)])
            else:
                parts.append(column.with_circles(values[:, at]))
        found = np.hstack(parts)
        return found if self.gaps is None else self.gaps.fill(found)

    def decode(self, rows: Floats) -> Floats:
        """Return the cells (n, p) of fitted rows (n, d); those that stay are the row's own."""
        found = np.tile(self.values, (len(rows), 1))
        for at, start in enumerate(self.starts):
            if at in self.lookups:
                levels = self.lookups[at]
                coded = rows[:, None, start : start + levels.shape[1]]
                away = np.abs(coded - levels).sum(axis=2)
                # a rare category, which could not be written, becomes the row's own
                found[:, at] = np.where(away.min(axis=1) < 1e-9, away.argmin(axis=1), found[0, at])
            elif not np.isnan(self.values[at]):
                found[:, at] = rows[:, start]
        return found

    def units(self, rows: Floats) -> Floats:
        """Return the standard deviations (p,) of numbers in fitted rows (n, d); 1 for others."""
        deviation = rows[:, self.starts].std(axis=0)
        return np.where((deviation > 0) & ~self.is_category, deviation, 1.0)

    def whole(self, rows: Floats) -> Bools:
        """Return the columns of positions, and of dates that were whole days in fitted rows."""
        found = np.zeros(len(self.values), dtype=bool)
        for at, column in enumerate(self.columns):
            start = self.starts[at]
            days = rows[:, start] if column.kind == "date" else rows[:0, start]
            found[at] = column.kind == "ordered" or (len(days) and (days == np.rint(days)).all())
        return found

    def numbers_of(self, columns: Iterable[Any], what: str) -> list[int]:
        """Return the numbers of columns that are given by number or by name."""
        found = []
        for column in columns:
            at = column
            if not isinstance(column, int | np.integer):
                at = self.names.index(str(column)) if str(column) in self.names else -1
            if not 0 <= at < len(self.names):
                raise InvalidInputError(f"{what} has {column!r}; expected one of {self.names}.")
            found.append(int(at))
        return found

    def limits(self, bounds: Mapping[Any, Any]) -> Floats:
        """Return the least and the greatest value (2, p) of each column of numbers."""
        found = np.tile([[-np.inf], [np.inf]], len(self.values))
        for at, column in enumerate(self.columns):
            if column.kind == "ordered":
                found[:, at] = 0, len(column.categories) - 1
        for name, ends in bounds.items():
            at = self.numbers_of([name], "bounds")[0]
            if at in self.lookups:
                continue
            pair = ends if isinstance(ends, Sequence) and not isinstance(ends, str) else ()
            if len(pair) != 2:
                raise InvalidInputError(f"bounds of {name!r} are {ends!r}; expected {A_PAIR}.")
            low, high = self._end(at, pair[0], -np.inf), self._end(at, pair[1], np.inf)
            if not low <= high:
                raise InvalidInputError(f"bounds of {name!r} are {ends!r}; expected {A_PAIR}.")
            found[:, at] = max(low, found[0, at]), min(high, found[1, at])
        return found

    def _end(self, at: int, end: Any, none: float) -> float:
        """Return an end of a range, which may be written as cells are; `none` for None."""
        column = self.columns[at] if self.columns else None
        if end is None:
            return none
        is_number = isinstance(end, float | int | np.number)
        if is_number and (column is None or column.kind != "ordered"):
            return float(end)
        if column is None:
            name = self.names[at]
            raise InvalidInputError(f"bounds of {name!r} have {end!r}; expected a number or None.")
        cell = require("pandas", "cli").Series([end], name=column.name)
        value = float(column.encode(cell)[0, 0])
        if np.isnan(value):
            known = ", ".join(map(repr, column.categories))
            expected = f"one of {known}" if known else column.cells.expected(str(end))
            raise InvalidInputError(f"bounds of {column.name!r} have {end!r}; expected {expected}.")
        return value

    def choices(self, bounds: Mapping[Any, Any], fixed: Iterable[int]) -> dict[int, Ints]:
        """Return the numbers of the categories that each column of categories may have."""
        found = {}
        given = {self.numbers_of([name], "bounds")[0]: known for name, known in bounds.items()}
        for at in self.lookups:
            column = self.columns[at]
            own = int(self.values[at])
            codes = [i for i, name in enumerate(column.categories) if name != MISSING_LEVEL]
            if at in given:
                listed = {str(name) for name in given[at]}
                unknown = sorted(listed.difference(column.categories))
                if unknown or isinstance(given[at], str):
                    raise InvalidInputError(
                        f"bounds of {column.name!r} are {given[at]!r}; expected some of its "
                        f"categories, {', '.join(map(repr, column.categories))}."
                    )
                codes = [i for i in codes if column.categories[i] in listed]
            others = [] if at in set(fixed) else [i for i in codes if i != own]
            found[at] = np.array([own, *others])
        return found

    def cell(self, at: int, value: float) -> Any:
        """Return a changed cell as the column writes them."""
        if not self.columns:
            return value
        column = self.columns[at]
        own = self.row[column.name].iloc[0]
        if column.kind in ("category", "ordered"):
            word = column.categories[int(value)]
            if isinstance(own, bool | np.bool_):
                return word == "True"
            return type(own)(word) if isinstance(own, int | float | np.number) else word
        pandas = require("pandas", "cli")
        if isinstance(own, str):
            text = column.cells.written(value)
            known = column.cells.floats(pandas.Series([text]))[0]
            if abs(known - value) <= 1e-9 * max(1.0, abs(value)):
                return text
        if column.kind == "date":
            return pandas.Timestamp(0) + pandas.Timedelta(days=value)
        return value

    def written(self, values: Floats) -> Any:
        """Return the changed row: as an array (d,), or a table of one row."""
        if not hasattr(self.row, "columns"):
            return values
        changed = np.flatnonzero(different(values, self.values))
        names = [self.names[at] for at in changed]
        row = self.row.astype(dict.fromkeys(names, object)) if names else self.row.copy()
        for name, at in zip(names, changed.tolist(), strict=True):
            row[name] = np.array([None, self.cell(at, float(values[at]))], dtype=object)[1:]
        return row.infer_objects()

    def changes(self, values: Floats) -> dict[str, tuple[Any, Any]]:
        """Return the cells that changed, before and after."""
        found = {}
        for at in np.flatnonzero(different(values, self.values)).tolist():
            before: Any = float(self.values[at])
            if self.columns:
                before = self.row[self.names[at]].iloc[0]
                before = before.item() if isinstance(before, np.generic) else before
            found[self.names[at]] = before, self.cell(at, float(values[at]))
        return found


def different(values: Floats, others: Floats) -> Bools:
    """Return where numbers differ; those that are missing in both do not."""
    return np.asarray((values != others) & ~(np.isnan(values) & np.isnan(others)))


def width_of(estimator: Any, n_columns: int) -> int:
    """Return how many numbers a row has for the model: more than columns, if gaps are flagged."""
    gaps = estimator.encoder_
    return n_columns if gaps is None else n_columns + len(gaps.telling)


def levels_of(column: Column) -> Floats:
    """Return what the categories of a column become (c, f)."""
    names: AnyArray = np.array(column.categories, dtype=object)
    cells = require("pandas", "cli").Series(names, name=column.name)
    return column.encode(cells)
