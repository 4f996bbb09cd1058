"""Which columns of a table are used, and as what."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from cayleyklein._estimators import naming
from cayleyklein._typing import Floats
from cayleyklein._validation import as_text, as_texts, did_you_mean, expect, require, warn_caller
from cayleyklein.columns import means, parsing
from cayleyklein.columns.column import MISSING_LEVEL, Column
from cayleyklein.columns.guessing import find_formats
from cayleyklein.columns.parsing import DASHES, CellFormat, as_series, as_words, timestamps
from cayleyklein.columns.text import fit_text, is_long
from cayleyklein.exceptions import InvalidInputError

HEADER_ADVICE = (
    "If these are not the names of the columns, --skip-rows (skip_rows in Python) leaves out the "
    "lines above them; --delimiter (delimiter) names another character between cells."
)
COLUMN_KINDS = ("number", "category", "date", "text")
IDENTIFIER_FROM = 10  # rows from which a column that hardly repeats a value can be an identifier


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
    columns = {name: parsing.without_blanks(table[name]) for name in table.columns}
    return pandas.DataFrame(columns, table.index, copy=False) if columns else table


def fit_columns(
    table: Any,
    kinds: Mapping[str, str] | None,
    implied: Mapping[str, str],
    drop: Collection[str],
    most: tuple[int, int],
    targets: Floats | None,
    weights: Floats,
) -> list[Column]:
    """Decide what each column of a table becomes, by kinds that are given or implied by its type.

    Rows have targets (n, t) or none, and weights. A column of categories becomes at most `most[0]`
    numbers without targets, and `most[1]` with targets: beyond, each becomes its mean target.
    """
    kinds = {} if kinds is None else kinds
    expect(isinstance(kinds, Mapping), "kinds", kinds, "a mapping of column names to kinds")
    for name, kind in kinds.items():
        check_name(as_text(name, "kinds"), table)
        kind = as_text(kind, f"kinds[{name!r}]")
        with_format = re.fullmatch("date:.+|order:.+<.+", kind, re.DOTALL)
        if kind not in COLUMN_KINDS and not with_format:
            said = f"Column {name!r} was said to be {kind!r} (by --as, or kinds in Python)"
            known, near = ", ".join(map(repr, COLUMN_KINDS)), did_you_mean(kind, list(COLUMN_KINDS))
            such = "or a format such as 'date:%d/%m/%Y' or 'order:low<middle<high'"
            raise InvalidInputError(f"{said}, but expected one of {known}, {such}.{near}")
    for name in as_texts(drop, "drop"):
        check_name(name, table, " to drop")
    orders = {name: order for name in table.columns if (order := _order(table[name]))}
    ordered = {name: f"order:{'<'.join(order)}" for name, order in orders.items()}
    asked, kinds = kinds, dict(implied) | ordered | dict(kinds)
    formats = find_formats(table.drop(columns=list(drop)), kinds)
    columns, firsts, most_levels = [], dict[str, str](), np.inf
    if targets is not None and len(targets) >= means.FEWEST_ROWS:
        most_levels = max(most[1], targets.shape[1])  # beyond, means are fewer numbers
    for name in table.columns:
        if name not in formats:
            columns.append(Column(name, "unused", 0, "not used: dropped", CellFormat()))
            continue
        kind, _, said = kinds.get(name, "").partition(":")
        order = orders.get(name) or tuple(map(str.strip, said.split("<")))
        tries = targets is not None
        column = _fit(table[name], formats[name], kind, order, most[0], weights, tries)
        n_levels = len(column.feature_names) if column.kind == "category" else 0
        if n_levels > most_levels:
            column = with_means(column, table[name], targets, weights)
        if column.kind == "number" and name not in asked:
            column = noting_codes(column, table[name], targets, weights)
        if not kind and column.kind != "unused" and len(table) >= IDENTIFIER_FROM:
            first = firsts.setdefault(_content(column, table[name]), name)
            if first != name:
                column = replace(column, kind="unused", text=f"not used: a copy of {first!r}")
        columns.append(column)
    return columns


def _order(values: Any) -> tuple[str, ...]:
    """Return the order of ordered categories that are words."""
    ordered = isinstance(values.dtype, require("pandas", "cli").CategoricalDtype)
    if not ordered or not values.cat.ordered or values.cat.categories.dtype.kind in "iufM":
        return ()
    return tuple(map(str, values.cat.categories))


def noting_codes(column: Column, values: Any, targets: Any, weights: Floats) -> Column:
    """Note, and warn, that the numbers of a column look like codes of categories."""
    if not means.look_like_codes(column.name, column.cells.floats(values), targets, weights):
        return column
    said = "its whole numbers look like codes, and are read as a quantity"
    remedy = f"--as {column.name}=category (kinds={{{column.name!r}: 'category'}} in Python)"
    note = f"{said}; if they name categories: {remedy}"
    warn_caller(f"Column {column.name!r}: {note}.")
    guess = "; ".join(filter(None, [column.cells.guess, note]))
    return replace(column, cells=replace(column.cells, guess=guess), text=f"{column.text}; {note}")


def with_means(column: Column, values: Any, targets: Any, weights: Floats) -> Column:
    """Encode categories by their mean targets."""
    names = (*column.categories, *column.rare)
    said = f"{len(names)} categories, as the mean target of each"
    text = "; ".join([said, *column.text.split("; ")[1:]])
    column = replace(column, categories=names, rare=(), text=text)
    levels = means.category_means(column.places(values), targets, weights, len(names))
    return replace(column, levels=tuple(map(tuple, levels.tolist())))


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
    values: Any,
    cells: CellFormat,
    wanted: str,
    order: tuple[str, ...],
    max_categories: int,
    weights: Floats,
    tries: bool,
) -> Column:
    pandas = require("pandas", "cli")
    if cells.kind == "words":
        words = as_words(values)
        read = words.mask(words.isin(DASHES))  # missing, but for a plus or only one other word
        read = read if read.nunique() > 1 and not (read == "+").any() else words
    else:
        read = pandas.Series(cells.floats(values))
    known, every_weight, weights = read.dropna(), weights, weights[read.notna().to_numpy()]
    kind, text = _use(values, known, cells, wanted, tries)
    n_missing = len(values) - len(known)
    parts: dict[str, Any] = {}
    if kind == "text":
        column = Column(str(values.name), kind, n_missing, "", cells)
        return column if tries and not wanted else with_text(column, values)
    elif kind == "category":
        words = as_words(values)[read.notna().to_numpy()]
        counts = pandas.Series(weights).groupby(words.to_numpy()).sum()
        if n_missing:
            counts[MISSING_LEVEL] = every_weight.sum() - weights.sum()
        text, parts = _categories(counts, max_categories)
    elif kind == "order":
        kind, text = "ordered", f"ordered categories as one number, {' < '.join(order)}"
        places = pandas.Index(order).get_indexer(known)
        if (places < 0).any():
            odd = f"{known[places < 0].iloc[0]!r}, which is not one of {', '.join(order)}"
            raise InvalidInputError(f"Column {values.name!r} has {odd}.")
        parts = {"fill": order[int(means.weighted_median(places, weights))], "categories": order}
    elif kind != "unused":
        parts = {"fill": float(means.weighted_median(known.to_numpy(), weights))}
        text = f"number in {cells.unit}" if cells.unit else "number"
        if kind == "date":
            low, high = known.min(), known.max()
            first, last = timestamps(np.array([low, high])).date
            is_time = low >= 0 and high < 1
            text = "time as part of a day" if is_time else f"date as days, {first} to {last}"
    if kind == "unused":
        text = f"not used: {text}"
    column = Column(str(values.name), kind, n_missing, text, cells, **parts)
    if n_missing and column.filling:
        become = "s become" if n_missing > 1 else " becomes"
        text += f"; {n_missing} missing cell{become} {column.filling}"
    if cells.guess and kind != "unused":
        text += f"; {cells.guess}"
    return replace(column, text=text)


def with_text(column: Column, values: Any) -> Column:
    """Encode text by its n-grams."""
    encoder = fit_text(column.words(values).fillna(""))
    if encoder is None:
        return replace(column, kind="unused", text="not used: text without words")
    column = replace(column, encoder=encoder)
    return replace(column, text=f"text as {len(column.feature_names)} numbers")


def _use(values: Any, known: Any, cells: CellFormat, wanted: str, tries: bool) -> tuple[str, str]:
    """Return the kind of a column, or why it is not used; with `tries`, any text may be of use."""
    n_distinct = known.nunique()
    if n_distinct == 0:
        return "unused", "every cell is missing"
    if n_distinct == 1 and len(known) < len(values):
        return "category", ""
    if n_distinct == 1:
        return "unused", f"every cell is {as_series(values).dropna().iloc[0]}"
    if wanted:
        return wanted, ""
    if cells.kind == "number" and is_identifier(str(values.name), known.to_numpy()):
        return "unused", "whole numbers that never repeat, an identifier"
    if cells.kind != "words":
        return cells.kind, ""
    if len(known) < IDENTIFIER_FROM or n_distinct <= 0.75 * len(known):  # its texts repeat
        return "category", ""
    if tries or is_long(known):
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
    fill = MISSING_LEVEL if MISSING_LEVEL in counts.index else counts.idxmax()
    return text, {"fill": fill, "categories": shown, "rare": rare}


def is_identifier(name: str, numbers: Floats) -> bool:
    n = len(numbers)
    if n < IDENTIFIER_FROM or (numbers != np.rint(numbers)).any() or len(np.unique(numbers)) < n:
        return False
    anywhere = "ids?|[ug]uid|uuid|rowid|idx|pk"
    at_the_end = "key|index|nr|no|row|record|serial"  # "no_of_employees" is a quantity
    pattern = (
        rf"(.*[\W_])?({anywhere})([\W_].*)?"
        rf"|(.*[\W_])?({at_the_end})([\W_]*(number|num|\d+))?|unnamed.*"
    )
    snake_case = re.sub("([a-z])([A-Z])", r"\1_\2", name)
    named = re.fullmatch(pattern, snake_case, re.IGNORECASE)
    # n whole numbers in a range of R are expected to repeat n²/2R times. Where that is five times
    # or more and none repeats, the rows were numbered.
    return bool(named or n * n >= 2 * 5.0 * (np.ptp(numbers) + 1))
