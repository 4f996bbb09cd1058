"""What one column of a table becomes, and what its cells become."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein._validation import require
from cayleyklein.columns.parsing import DASHES, CellFormat, as_words, timestamps

# Days of the circles of dates, and their names.
DAY_PERIODS = {1.0: "hour", 7.0: "weekday", 365.2425: "day of the year"}
MISSING_LEVEL = "(missing)"  # the category of missing cells, if the fitted table has some


@dataclass(frozen=True)
class Column:
    """The encoding of one column of a table.

    Attributes
    ----------
    name, kind, text : str
        The kind is "number", "date", "ordered", "category", "text" or "unused"; the text says it in
        words.
    n_missing : int
        Missing cells in the table that it was fitted on.
    cells : CellFormat
        How its cells are written.
    fill : float, str or None
        Value of missing cells: the median; the category "(missing)" if cells were missing in the
        fitted table, or else the most frequent one.
    categories, rare : tuple of str
        Categories with their own number, or in their order, and rare ones that share one.
    circles : tuple of float
        Periods of the circles that a number or a date is on, too: a day, a week and a year of
        dates, 24 of whole numbers that are hours.
    levels : tuple of tuples of float
        Mean targets of many categories, and at the end those of all rows.
    encoder : sklearn.pipeline.Pipeline or None
        Encodes text.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from cayleyklein.tables import TableEncoder
    >>> encoder = TableEncoder().fit(pd.DataFrame({"length": ["1.5", None, "2.5"]}))
    >>> length = encoder.columns_[0]
    >>> print(length)
    length: number; 1 missing cell becomes an estimate, about the median, 2
    >>> length.encode(pd.Series(["3", None])).tolist(), length.to_dict()["kind"]
    ([[3.0], [nan]], 'number')
    >>> length.is_missing(pd.Series(["3", "unknown", None]))
    array([False,  True,  True])
    >>> length.with_circles(np.array([1.5, 2.5])).tolist()  # it fills no cycle
    [[1.5], [2.5]]
    >>> length.read(pd.Series(["3", "three", None]))[1]
    array([False,  True, False])
    >>> colour = TableEncoder().fit(pd.DataFrame({"colour": ["red", "blue", "red"]})).columns_[0]
    >>> colour.places(pd.Series(["red", "green"])).tolist(), colour.words(pd.Series(["-"])).tolist()
    ([1, -1], [nan])
    """

    name: str
    kind: str
    n_missing: int
    text: str
    cells: CellFormat
    fill: float | str | None = None
    categories: tuple[str, ...] = ()
    rare: tuple[str, ...] = ()
    circles: tuple[float, ...] = ()
    levels: tuple[tuple[float, ...], ...] = ()
    encoder: Any = None

    @property
    def is_plain(self) -> bool:
        """Whether it was numbers, and none was missing, guessed or on a circle."""
        return self.kind == "number" and not (self.n_missing or self.cells.guess or self.circles)

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded columns."""
        if self.levels:
            n = len(self.levels[0])
            return [f"{self.name}[{i}]" for i in range(n)] if n > 1 else [self.name]
        if self.kind == "category":
            values = [*self.categories, "(rare)"] if self.rare else self.categories
            return [f"{self.name}={value}" for value in values]
        if self.kind == "text":
            return [f"{self.name}[{i}]" for i in range(self.encoder[-1].n_components)]
        names = [] if self.kind == "unused" else [self.name]
        for said in self._names_of_circles():
            names += [f"{self.name} ({said}, cos)", f"{self.name} ({said}, sin)"]
        return names

    def _names_of_circles(self) -> list[str]:
        if self.kind == "date":
            return [DAY_PERIODS[period] for period in self.circles]
        return [f"of {period:g}" for period in self.circles]

    def encode(self, values: Any) -> Floats:
        """Return the cells of a later table as numbers, of shape (n, n_features).

        A number or date that is missing or cannot be read, and a missing ordered category, is NaN.
        """
        return self.read(values)[0]

    def read(self, values: Any) -> tuple[Floats, Bools]:
        """Return cells as numbers, and which cells cannot be read and count as missing."""
        if self.kind in ("number", "date"):
            floats, odd = self.cells.read(values)
            return self.with_circles(floats), odd
        return self._encoded_words(values), np.zeros(len(values), dtype=bool)

    def with_circles(self, floats: Floats) -> Floats:
        """Return numbers, or days of dates, with their points on the circles."""
        angles = [floats * (2 * np.pi / period) for period in self.circles]
        rounds = [turn(angle) for angle in angles for turn in (np.cos, np.sin)]
        return np.column_stack([floats, *rounds])

    def _encoded_words(self, values: Any) -> Floats:
        words = self.words(values)
        if self.kind == "text":
            return np.asarray(self.encoder.transform(words.fillna("")), dtype=np.float64)
        places = self.places(values)
        if self.kind == "ordered":
            unknown = words.isna().to_numpy() | (places < 0)
            return np.where(unknown, np.nan, places)[:, None]
        if self.levels:
            return np.array(self.levels)[places]
        n = len(self.categories) + bool(self.rare)
        return np.asarray(places[:, None] == np.arange(n), dtype=np.float64)

    def places(self, values: Any) -> Ints:
        """Return the positions of categories, the rare ones at the end; -1 for unknown ones."""
        words = self.words(values).fillna(self.fill)
        places = require("pandas", "cli").Index(self.categories).get_indexer(words)
        is_rare = words.isin(self.rare).to_numpy() if self.rare else False
        return np.where(is_rare, len(self.categories), places)

    def is_missing(self, values: Any) -> Bools:
        """Return which cells of a later table are missing."""
        if self.kind in ("number", "date"):
            return np.isnan(self.cells.floats(values))
        return np.asarray(self.words(values).isna())

    def words(self, values: Any) -> Any:
        """Return text cells; dashes are missing unless they or a plus are categories."""
        words = as_words(values)
        if self.cells.absent:
            words = words.mask(words.isin(self.cells.absent))
        if {"+", *DASHES}.isdisjoint((*self.categories, *self.rare)):
            words = words.mask(words.isin(DASHES))
        return words

    @property
    def filling(self) -> str:
        """Value of missing cells, in words; empty for text and columns that are not used."""
        if self.kind == "category":
            if self.fill == MISSING_LEVEL:
                return "a category of its own"
            return f"the most frequent, {self.fill}"
        if self.kind == "ordered":
            return f"an estimate, about the median, {self.fill}"
        if self.kind not in ("number", "date"):
            return ""
        median = float(self.fill or 0)
        shown = f", {median:.6g}"
        if self.kind == "date":
            is_time = 0 <= median < 1
            shown = "" if is_time else f", {timestamps(np.array([median])).date[0]}"
        return f"an estimate, about the median{shown}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        plain = {name: getattr(self, name) for name in ("name", "kind", "n_missing", "text")}
        cells = {name: v for name, v in vars(self.cells).items() if v or name == "bare"}
        return plain | {"cells": cells}

    def __str__(self) -> str:
        circles = ", ".join(self._names_of_circles())
        also = f"; also on circles: {circles}" if circles else ""
        return f"{self.name}: {self.text}{also}"
