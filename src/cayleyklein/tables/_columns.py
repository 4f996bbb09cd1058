"""What each column of a table becomes."""

import hashlib
import re
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import TargetEncoder
from sklearn.utils import check_array

from cayleyklein._estimators import naming
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import as_text, as_texts, did_you_mean, expect, require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import _cells
from cayleyklein.tables._cells import DASHES, CellFormat, as_series, as_words, timestamps
from cayleyklein.tables._formats import find_formats

HEADER_ADVICE = (
    "If these are not the names of the columns, --skip-rows (skip_rows in Python) leaves out the "
    "lines above them; --delimiter (delimiter) names another character between cells."
)
COLUMN_KINDS = ("number", "category", "date", "text")
FORMATS = re.compile("date:.+|order:.+<.+", re.DOTALL)  # kinds with a format

IDENTIFIER_FROM = 10  # rows from which a column that hardly repeats a value can be an identifier
# n whole numbers in a range of R are expected to repeat n²/2R times. Where that is more than this
# and none repeats, the rows were numbered.
SURPRISE = 5.0
HARDLY_REPEATS = 0.75  # share of distinct texts from which they identify rows
LONG_TEXT = 4  # mean number of words in a cell from which text is encoded, not taken for a name
# Up to this many categories have a number each; of more, each becomes its mean target, where there
# is a target: on the 13 messy tables that chose this, 0.798 instead of 0.794 correct, and R² 0.583
# instead of 0.570.
FEW_LEVELS = 4
FEWEST_ROWS = 20  # rows from which means of targets are taken
TEXT_COMPONENTS = 10  # numbers that a column of long text becomes
ID_NAME = re.compile(  # "no" is the last word only: "no_of_employees" is a quantity
    r"(.*[\W_])?(ids?|[ug]uid|uuid|rowid|idx|pk)([\W_].*)?"
    r"|(.*[\W_])?(key|index|nr|no|row|record|serial)([\W_]*(number|num|\d+))?|unnamed.*",
    re.IGNORECASE,
)


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
        What a missing cell becomes: the median, or the most frequent category.
    categories, rare : tuple of str
        Categories with their own number, or in their order, and rare ones that share one.
    levels : tuple of tuples of float
        Mean targets of many categories, and at the end those of all rows.
    encoder : skrub.StringEncoder or None
        Encodes long text.

    Examples
    --------
    >>> import pandas as pd
    >>> from cayleyklein.tables import TableEncoder
    >>> encoder = TableEncoder().fit(pd.DataFrame({"length": ["1.5", None, "2.5"]}))
    >>> length = encoder.columns_[0]
    >>> print(length)
    length: number; 1 missing cell becomes the median, 2
    >>> length.encode(pd.Series(["3", None])).tolist(), length.to_dict()["kind"]
    ([[3.0], [2.0]], 'number')
    >>> length.is_missing(pd.Series(["3", "unknown", None]))
    array([False,  True,  True])
    """

    name: str
    kind: str
    n_missing: int
    text: str
    cells: CellFormat
    fill: float | str | None = None
    categories: tuple[str, ...] = ()
    rare: tuple[str, ...] = ()
    levels: tuple[tuple[float, ...], ...] = ()
    encoder: Any = None

    @property
    def is_plain(self) -> bool:
        """Whether it was numbers, and none was missing or guessed."""
        return self.kind == "number" and not (self.n_missing or self.cells.guess)

    @property
    def feature_names(self) -> list[str]:
        """The names of the numbers that it becomes."""
        if self.levels:
            n = len(self.levels[0])
            return [f"{self.name}[{i}]" for i in range(n)] if n > 1 else [self.name]
        if self.kind == "category":
            values = [*self.categories, "(rare)"] if self.rare else self.categories
            return [f"{self.name}={value}" for value in values]
        if self.kind == "text":
            return [f"{self.name}[{i}]" for i in range(self.encoder.n_components_)]
        return [] if self.kind == "unused" else [self.name]

    def encode(self, values: Any) -> Floats:
        """Return the cells of a later table as numbers, of shape (n, n_features)."""
        if self.kind in ("number", "date"):
            floats = self.cells.floats(values)[:, None]
            return np.where(np.isnan(floats), float(self.fill or 0), floats)
        words = self._words(values)
        if self.kind == "text":
            return np.asarray(self.encoder.transform(words.fillna("")), dtype=np.float64)
        places = self._places(words.fillna(self.fill))
        if self.kind == "ordered":
            return (
                np.where(places < 0, self.categories.index(str(self.fill)), places)[:, None] * 1.0
            )
        if self.levels:
            return np.array(self.levels)[places]
        n = len(self.categories) + bool(self.rare)
        return np.asarray(places[:, None] == np.arange(n), dtype=np.float64)

    def _places(self, words: Any) -> Ints:
        """Return the positions of categories, the rare ones at the end; -1 for others."""
        places = require("pandas", "cli").Index(self.categories).get_indexer(words)
        is_rare = words.isin(self.rare).to_numpy() if self.rare else False
        return np.where(is_rare, len(self.categories), places)

    def _n_unseen(self, values: Any) -> int:
        if self.kind not in ("category", "ordered"):
            return 0
        return int((self._places(self._words(values).dropna()) < 0).sum())

    def is_missing(self, values: Any) -> Bools:
        """Say which cells of a later table are missing."""
        if self.kind in ("number", "date"):
            return np.isnan(self.cells.floats(values))
        return np.asarray(self._words(values).isna())

    def _words(self, values: Any) -> Any:
        """Return text cells; dashes are missing unless they or a plus are categories."""
        words = as_words(values)
        if {"+", *DASHES}.isdisjoint((*self.categories, *self.rare)):
            words = words.mask(words.isin(DASHES))
        return words

    @property
    def filling(self) -> str:
        """What a missing cell becomes, in words; empty for text and columns that are not used."""
        if self.kind == "category":
            return f"the most frequent, {self.fill}"
        if self.kind == "ordered":
            return f"the median, {self.fill}"
        if self.kind not in ("number", "date"):
            return ""
        median = float(self.fill or 0)
        if self.kind == "number":
            return f"the median, {median:.6g}"
        is_time = 0 <= median < 1
        return "the median" + ("" if is_time else f", {timestamps(np.array([median])).date[0]}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        plain = {name: getattr(self, name) for name in ("name", "kind", "n_missing", "text")}
        cells = {name: v for name, v in vars(self.cells).items() if v or name == "bare"}
        return plain | {"cells": cells}

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


def as_table(table: Any) -> Any:
    """Return a pandas DataFrame of a table or an array, with trimmed text and names of text."""
    pandas = require("pandas", "cli")
    if hasattr(table, "to_pandas"):  # of polars or PyArrow
        table = table.to_pandas()
    if not isinstance(table, pandas.DataFrame):
        with naming("X"):
            array = check_array(table, dtype=None, ensure_all_finite=False)
        names = [f"x{j}" for j in range(array.shape[1])]
        table = pandas.DataFrame(array, columns=names).infer_objects()
    if not len(table):
        raise InvalidInputError("The table has no rows: 0 sample(s), a minimum of 1 is required.")
    table = table.set_axis([str(name) for name in table.columns], axis=1)  # also of several levels
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        named = f"several columns of the name {twice[0]!r}"
        raise InvalidInputError(f"The table has {named}; rename or drop them.")
    columns = {name: _cells.without_blanks(table[name]) for name in table.columns}
    return pandas.DataFrame(columns, table.index, copy=False) if columns else table


def fit_columns(
    table: Any, kinds: Mapping[str, str] | None, drop: Collection[str], max_categories: int,
    y: AnyArray | None = None,
) -> list[Column]:  # fmt: skip
    kinds = {} if kinds is None else kinds
    expect(isinstance(kinds, Mapping), "kinds", kinds, "a mapping of column names to kinds")
    for name, kind in kinds.items():
        check_name(as_text(name, "kinds"), table)
        kind = as_text(kind, f"kinds[{name!r}]")
        if kind not in COLUMN_KINDS and not FORMATS.fullmatch(kind):
            raise InvalidInputError(
                f"Column {name!r} was said to be {kind!r} (by --as, or kinds in Python), but "
                f"expected one of {', '.join(map(repr, COLUMN_KINDS))}, or a format such as "
                f"'date:%d/%m/%Y' or 'order:low<middle<high'."
                f"{did_you_mean(kind, list(COLUMN_KINDS))}"
            )
    for name in as_texts(drop, "drop"):
        check_name(name, table, " to drop")
    orders = {name: order for name in table.columns if (order := _order(table[name]))}
    kinds = {name: f"order:{'<'.join(order)}" for name, order in orders.items()} | dict(kinds)
    formats = find_formats(table.drop(columns=list(drop)), kinds)
    columns, firsts = [], dict[str, str]()
    for name in table.columns:
        if name not in formats:
            columns.append(Column(name, "unused", 0, "not used: dropped", CellFormat()))
            continue
        kind, _, said = kinds.get(name, "").partition(":")
        given = (kind, orders.get(name) or tuple(map(str.strip, said.split("<"))))
        column = _fit(table[name], formats[name], *given, max_categories)
        if y is not None and pays_to_average(column, y):
            column = with_means(column, table[name], y)[0]
        if not kind and column.kind != "unused" and len(table) >= IDENTIFIER_FROM:
            first = firsts.setdefault(_content(column, table[name]), name)
            if first != name:
                text = f"not used: a copy of {first!r}"
                column = replace(column, kind="unused", text=text)
        columns.append(column)
    return columns


def _order(values: Any) -> tuple[str, ...]:
    """Return the order of ordered categories that are words."""
    ordered = isinstance(values.dtype, require("pandas", "cli").CategoricalDtype)
    if not ordered or not values.cat.ordered or values.cat.categories.dtype.kind in "iufM":
        return ()
    return tuple(map(str, values.cat.categories))


def pays_to_average(column: Column, y: AnyArray | None) -> bool:
    """Say whether mean targets are fewer numbers than one for each category."""
    if y is None or len(y) < FEWEST_ROWS or column.kind != "category":
        return False
    n_means = 1 if y.dtype.kind == "f" else len(np.unique(y))
    n_levels = len(column.feature_names)
    return n_levels > FEW_LEVELS and n_levels > (1 if n_means == 2 else n_means)


def with_means(column: Column, values: Any, y: AnyArray) -> tuple[Column, Floats]:
    """Encode categories by their mean targets; return also the encoded rows.

    Means are drawn to that of all rows, the more the fewer rows a category has. Those of the fitted
    rows come from other rows (5 folds), so that a row does not tell its own target.
    """
    words = column._words(values).fillna(column.fill).to_numpy(dtype=object)[:, None]
    kind = "continuous" if y.dtype.kind == "f" else "auto"
    encoder = TargetEncoder(target_type=kind, random_state=0)
    with warnings.catch_warnings():  # of classes with fewer rows than folds
        warnings.simplefilter("ignore")
        rows = encoder.fit_transform(words, y)
    means = np.column_stack(encoder.encodings_)
    levels = np.vstack([means, np.atleast_1d(encoder.target_mean_)]).tolist()
    names = tuple(map(str, encoder.categories_[0]))
    said = f"{len(names)} categories, as the mean target of each"
    return replace(
        column,
        text="; ".join([said, *column.text.split("; ")[1:]]),
        categories=names,
        rare=(),
        levels=tuple(map(tuple, levels)),
    ), np.asarray(rows)


def _content(column: Column, values: Any) -> str:
    """Return a digest of the cells of a column, as they are read."""
    pandas = require("pandas", "cli")
    read = column.cells.floats(values) if column.kind in ("number", "date") else as_words(values)
    hashes = pandas.util.hash_pandas_object(pandas.Series(read), index=False).to_numpy()
    return f"{column.kind} {hashlib.blake2b(hashes.tobytes()).hexdigest()}"


def check_name(name: str, table: Any, to: str = "") -> None:
    if name not in table.columns:
        near, advice = did_you_mean(name, list(table.columns)), ""
        if len(table.columns) == 1 or any(re.fullmatch(r"column_\d+", c) for c in table.columns):
            advice = f" {HEADER_ADVICE}"
        raise InvalidInputError(f"There is no column {name!r}{to}.{near}{advice}")


def _fit(
    values: Any, cells: CellFormat, wanted: str, order: tuple[str, ...], max_categories: int
) -> Column:
    if cells.kind == "words":
        known = without_dashes(as_words(values).dropna())
    else:
        known = require("pandas", "cli").Series(cells.floats(values)).dropna()
    kind, text = _use(values, known, cells, wanted)
    n_missing, parts = len(values) - len(known), {}
    if kind == "text":
        words = as_words(values)
        encoder = _fitted_text(words.mask(words.isin(DASHES)))
        if encoder is None:
            kind, text = "unused", "text without words"
        else:
            text, parts = f"text as {encoder.n_components_} numbers", {"encoder": encoder}
    elif kind == "category":
        text, parts = _categories(known.value_counts().sort_index(), max_categories)
    elif kind == "order":
        kind, text = "ordered", f"ordered categories as one number, {' < '.join(order)}"
        places = require("pandas", "cli").Index(order).get_indexer(known)
        if (places < 0).any():
            odd = f"{known[places < 0].iloc[0]!r}, which is not one of {', '.join(order)}"
            raise InvalidInputError(f"Column {values.name!r} has {odd}.")
        parts = {"fill": order[int(np.median(places))], "categories": order}
    elif kind != "unused":
        low, high, median = (float(known.agg(name)) for name in ("min", "max", "median"))
        parts = {"fill": median}
        if kind == "number":
            text = f"number in {cells.unit}" if cells.unit else "number"
        elif low >= 0 and high < 1:
            text = "time as part of a day"
        else:
            first, last = timestamps(np.array([low, high])).date
            text = f"date as days, {first} to {last}"
    if kind == "unused":
        text = f"not used: {text}"
    column = Column(str(values.name), kind, n_missing, text, cells, **parts)
    if n_missing and column.filling:
        become = "s become" if n_missing > 1 else " becomes"
        text += f"; {n_missing} missing cell{become} {column.filling}"
    if cells.guess and kind != "unused":
        text += f"; {cells.guess}"
    return replace(column, text=text)


def without_dashes(known: Any) -> Any:
    """Leave out dashes, unless the column has a plus or only one other word."""
    others = known[~known.isin(DASHES)]
    return others if others.nunique() > 1 and not (others == "+").any() else known


def _use(values: Any, known: Any, cells: CellFormat, wanted: str) -> tuple[str, str]:
    n_distinct = known.nunique()
    if n_distinct == 0:
        return "unused", "every cell is missing"
    if n_distinct == 1:
        return "unused", f"every cell is {as_series(values).dropna().iloc[0]}"
    if wanted:
        return wanted, ""
    if cells.kind == "number" and is_identifier(str(values.name), known.to_numpy()):
        return "unused", "whole numbers that never repeat, an identifier"
    if cells.kind != "words":
        return cells.kind, ""
    if len(known) < IDENTIFIER_FROM or n_distinct <= HARDLY_REPEATS * len(known):
        return "category", ""
    if known.str.count(r"\S+").mean() >= LONG_TEXT:
        return "text", ""
    return "unused", "text that hardly ever repeats, an identifier"


def _categories(counts: Any, most: int) -> tuple[str, dict[str, Any]]:
    n_rare = len(counts) - most + 1 if len(counts) > most else 0
    is_rare = np.zeros(len(counts), dtype=bool)
    is_rare[np.argsort(counts.to_numpy(), kind="stable")[:n_rare]] = True
    shown, rare = tuple(counts.index[~is_rare]), tuple(counts.index[is_rare])
    listed = ", ".join([*shown[:20], "…"] if len(shown) > 20 else shown)
    text = f"{len(counts)} categories, one number for each of {listed}"
    if rare:
        text += f", and one for the {n_rare} rarest"
    return text, {"fill": counts.idxmax(), "categories": shown, "rare": rare}


def _fitted_text(words: Any) -> Any:
    encoder = require("skrub", "cli").StringEncoder(TEXT_COMPONENTS, random_state=0)
    with warnings.catch_warnings():  # few rows have fewer components
        warnings.filterwarnings("ignore", message="The matrix shape is")
        try:
            encoder.fit_transform(words.fillna(""))
        except ValueError:  # an empty vocabulary
            return None
    return encoder


def is_identifier(name: str, numbers: Floats) -> bool:
    n = len(numbers)
    if n < IDENTIFIER_FROM or (numbers != np.rint(numbers)).any() or len(np.unique(numbers)) < n:
        return False
    named = ID_NAME.fullmatch(re.sub("([a-z])([A-Z])", r"\1_\2", name))
    return bool(named or n * n >= 2 * SURPRISE * (np.ptp(numbers) + 1))
