"""Tables from files: CSV, TSV and Parquet, packed or not, a piece at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cayleyklein._validation import as_callback, as_path, as_texts, require
from cayleyklein.datasets._header import check_names, listed, read_header
from cayleyklein.datasets._streams import DAMAGED, is_parquet, open_file, open_text
from cayleyklein.exceptions import InvalidInputError

__all__ = ["iter_table", "read_table"]

Progress = Callable[[int, int], Any]

CELLS_PER_PIECE = 1_000_000
"""Cells read at a time: 8 MB of numbers, and a small multiple of that while they are parsed."""

MISSING = ["?"]
"""What stands for a missing value beside pandas' own list: empty, NA, NaN, null, None, …"""

RAGGED = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
UNCLOSED = "EOF inside string"
DECIMAL_COMMA = re.compile(r"[-+]?\d*,?\d+([eE][-+]?\d+)?")
"""A number as it is written where semicolons stand between cells, as the comma is taken."""


class TextGiven(Exception):
    """Columns that were taken for numbers hold text further down."""

    def __init__(self, columns: Collection[str]) -> None:
        super().__init__(*columns)
        self.columns = columns


def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    text: Collection[str] = (),
    dtype: DTypeLike = np.float64,
    delimiter: str | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> Any:
    r"""Return a table with named columns: numbers as floats, anything else as categories.

    The file is read in pieces, so that besides the result only a few MB are needed.

    Parameters
    ----------
    path : str or Path
        CSV, TSV or Parquet, the former also packed by gzip, bz2, xz or zip; the content decides,
        not the name. The first line must hold the names of the columns.
    columns : sequence of str, optional
        Those to read; all when None.
    text : collection of str, default=()
        Columns to read as text even where they hold numbers, such as class labels.
    dtype : {float64, float32}, default=float64
        Of the numbers.
    delimiter : str, optional
        By default the one of comma, semicolon, tab and bar that the first line has most of. Where
        it is the semicolon, numbers may have a decimal comma.
    encoding : str, optional
        UTF-8 by default, or UTF-16 with a byte order mark.
    progress : callable, optional
        Told the bytes done and their total after each piece.

    Returns
    -------
    pandas.DataFrame
        Floats, with NaN where a value is missing (an empty cell, NA, NaN, null, None, ?), and
        categoricals of str. A column is numeric only if it is from the first row to the last.

    Raises
    ------
    InvalidInputError
        If the file is empty, is no table, has no or two equal names, a row too long, or bytes
        that are not UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "flowers.csv")
    >>> _ = path.write_text("length,colour\n1.5,blue\n,red\n")
    >>> read_table(path)
       length colour
    0     1.5   blue
    1     NaN    red
    >>> read_table(path, columns=["size"])
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: .../flowers.csv has no column 'size'; its columns ...
    >>> folder.cleanup()
    """
    pandas = require("pandas", "cli")
    number = _as_dtype(dtype)
    texts = set(as_texts(text, "text"))
    while True:
        pieces = iter_table(
            path,
            columns=columns,
            text=texts,
            delimiter=delimiter,
            encoding=encoding,
            progress=progress,
        )
        try:
            return _gather(pandas, pieces, number)
        except TextGiven as found:  # a column that turned to text after rows of numbers
            if not as_path(path).is_file():
                raise InvalidInputError(
                    f"{path} must be read twice, as {listed(list(found.columns))} turned out to be "
                    f"text, but is a pipe; save it to a file first."
                ) from found
            texts |= set(found.columns)


def iter_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    text: Collection[str] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Any]:
    """Yield a table in pieces, each a DataFrame, so that a file of any size can be worked through.

    Parameters
    ----------
    path, columns, text, delimiter, encoding, progress : see :func:`read_table`

    Yields
    ------
    pandas.DataFrame
        Each with the types that the piece itself suggests: numbers, booleans, or categories. Its
        index counts the rows of the whole table, from 0.

    Examples
    --------
    >>> from importlib.resources import files
    >>> wine = files("cayleyklein.datasets") / "data" / "wine.csv"
    >>> sum(len(piece) for piece in iter_table(wine))
    178
    """
    require("pandas", "cli")
    where = as_path(path)
    texts = as_texts(text, "text")
    wanted = None if columns is None else as_texts(columns, "columns")
    as_callback(progress, "progress")
    return _pieces(where, wanted, texts, delimiter, encoding, progress)


def _as_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        number = np.dtype(dtype)
    except TypeError:
        number = np.dtype(object)
    if number.name not in ("float64", "float32"):
        raise InvalidInputError(f"Got dtype={dtype!r}, but expected float64 or float32.")
    return number


def _pieces(
    where: Path,
    columns: Sequence[str] | None,
    text: Collection[str],
    delimiter: str | None,
    encoding: str | None,
    progress: Progress | None,
) -> Iterator[Any]:
    if where.is_file():
        with open_file(where) as raw:
            parquet = is_parquet(raw)
    else:
        parquet = False  # what it is instead, opening it will say
    if parquet:
        pieces = _parquet_pieces(where, columns, text, progress)
    else:
        pieces = _csv_pieces(where, columns, text, delimiter, encoding, progress)
    empty = True
    for piece in pieces:
        if len(piece):
            empty = False
            yield piece
    if empty:
        raise InvalidInputError(f"{where} has a line of column names, but no rows.")


# -- from pieces to a table --------------------------------------------------------------


class _Column:
    """The values of one column, piece after piece: numbers, or codes of distinct strings."""

    def __init__(self) -> None:
        self.pieces: list[NDArray[Any]] = []
        self.codes: dict[str, int] = {}
        self.is_text = False

    def add(self, values: Any, dtype: np.dtype[Any]) -> bool:
        """Add a piece; False if it must be read as text."""
        numeric = values.dtype.kind in "fiu"
        if values.dtype.kind == "b":  # "TRUE" and "true" are text like any other
            return False
        if self.pieces and numeric == self.is_text and not values.isna().all():
            return False
        if not self.pieces:
            self.is_text = not numeric
        if self.is_text and numeric:  # a piece in which all are missing
            self.pieces.append(np.full(len(values), -1, dtype=np.int32))
        elif self.is_text:
            distinct = values.cat.categories
            known = [self.codes.setdefault(name, len(self.codes)) for name in distinct]
            codes = np.append(np.asarray(known, dtype=np.int32), np.int32(-1))
            self.pieces.append(codes[values.cat.codes])
        else:
            self.pieces.append(np.asarray(values, dtype=dtype))
        return True

    def whole(self, pandas: Any) -> Any:
        """Return the column."""
        values = np.concatenate(self.pieces)
        self.pieces.clear()
        if not self.is_text:
            return values
        return pandas.Categorical.from_codes(values, categories=list(self.codes))


def _gather(pandas: Any, pieces: Iterable[Any], dtype: np.dtype[Any]) -> Any:
    gathered: dict[str, _Column] = {}
    for piece in pieces:
        turned = [
            name
            for name in piece.columns
            if not gathered.setdefault(name, _Column()).add(piece[name], dtype)
        ]
        if turned:
            raise TextGiven(turned)
    # One column at a time: what is done is never held twice.
    whole = {name: column.whole(pandas) for name, column in gathered.items()}
    return pandas.DataFrame(whole, copy=False)


def _settle(pandas: Any, piece: Any, decimal_comma: Collection[str] = ()) -> Any:
    """Leave numbers and booleans, and make strings in categories of anything else.

    In the columns of `decimal_comma` 1,5 is a number too, if all values are.
    """
    for name in piece.columns:
        values = piece[name]
        if values.dtype.kind in "fiub" and isinstance(values.dtype, np.dtype):
            continue
        if pandas.api.types.is_numeric_dtype(values) and values.dtype.kind in "fiu":
            piece[name] = values.to_numpy(dtype=np.float64, na_value=np.nan)  # nullable, decimal
            continue
        strings = values.astype("str").where(values.notna())
        piece[name] = strings.astype("category")
        if name in decimal_comma:
            piece[name] = _with_decimal_commas(piece[name])
    return piece


def _with_decimal_commas(values: Any) -> Any:
    distinct = list(values.cat.categories)
    if not distinct or not all(map(DECIMAL_COMMA.fullmatch, distinct)):
        return values
    numbers = [float(text.replace(",", ".")) for text in distinct]
    return np.array([*numbers, np.nan])[values.cat.codes]  # a missing value has the code -1


# -- CSV ---------------------------------------------------------------------------------


def _csv_pieces(
    path: Path,
    columns: Sequence[str] | None,
    text: Collection[str],
    delimiter: str | None,
    encoding: str | None,
    progress: Progress | None,
) -> Iterator[Any]:
    pandas = require("pandas", "cli")
    try:
        with open_text(path, encoding) as (stream, raw):
            header, rest = read_header(stream, path, delimiter)
            wanted = _wanted(header.names, columns, path)
            options = {
                "sep": header.delimiter,
                "header": None,
                "names": header.names,
                "dtype": {name: "str" for name in wanted if name in text},
                "na_values": MISSING,
                "low_memory": False,
                "chunksize": max(CELLS_PER_PIECE // len(header.names), 1),
            }
            may_have_commas = set(wanted) - set(text) if header.delimiter == ";" else set()
            total = path.stat().st_size
            for piece in _parsed(pandas, rest, options, path):
                chosen = piece if wanted == header.names else piece[wanted].copy()
                settled = _settle(pandas, chosen, may_have_commas)
                if progress is not None:
                    progress(raw.tell() if raw.seekable() else 0, total)
                yield settled
    except UnicodeError as error:
        raise InvalidInputError(
            f"{path} is not {encoding}: {getattr(error, 'reason', error)}; give its encoding, such "
            f"as cp1252."
        ) from error
    except DAMAGED as error:
        raise InvalidInputError(f"{path} is damaged, and cannot be unpacked: {error}.") from error
    except OSError as error:
        if type(error) is not OSError or error.errno is not None:
            raise
        # What bz2 raises: an error of the disk has a number.
        raise InvalidInputError(f"{path} is damaged, and cannot be unpacked: {error}.") from error


def _parsed(pandas: Any, stream: Any, options: dict[str, Any], path: Path) -> Iterator[Any]:
    """Parse; word errors for the owner of the file, and refuse rows that are too long."""
    names = f"the {len(options['names'])} names in the first line"
    advice = f"quote cells that hold {options['sep']!r}, or name every column."
    try:
        yield from pandas.read_csv(stream, **options)
    except pandas.errors.EmptyDataError:
        return
    except pandas.errors.ParserError as error:
        message = str(error).removeprefix("Error tokenizing data. C error: ").strip(". ")
        if ragged := RAGGED.search(message):
            message = f"row {ragged[2]} has {ragged[3]} cells, more than {names}; {advice}"
        elif UNCLOSED in message:
            message = "a quotation mark opens a cell and is never closed."
        raise InvalidInputError(f"{path} is no table that can be read: {message}") from error


def _wanted(names: list[str], columns: Sequence[str] | None, path: Path) -> list[str]:
    missing = [name for name in columns or () if name not in names]
    if missing:
        raise InvalidInputError(
            f"{path} has no column {listed(missing)}; its columns are {listed(names)}."
        )
    twice = [name for name, count in Counter(columns or ()).items() if count > 1]
    if twice:
        raise InvalidInputError(f"columns names {listed(twice)} more than once.")
    return names if columns is None else list(columns)


# -- Parquet -----------------------------------------------------------------------------


def _parquet_pieces(
    path: Path,
    columns: Sequence[str] | None,
    text: Collection[str],
    progress: Progress | None,
) -> Iterator[Any]:
    pandas = require("pandas", "cli")
    parquet, arrow = require("pyarrow.parquet", "cli"), require("pyarrow", "cli")
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            check_names(names, names, path)
            wanted = _wanted(names, columns, path)
            rows = max(CELLS_PER_PIECE // max(len(wanted), 1), 1)
            total, done, size = file.metadata.num_rows, 0, path.stat().st_size
            for batch in file.iter_batches(batch_size=rows, columns=wanted):
                # Without what a writer said of the columns, which PyArrow reads even to ignore it.
                piece = batch.replace_schema_metadata().to_pandas()[wanted]
                for name in piece.columns.intersection(list(text)):
                    piece[name] = piece[name].astype("str").where(piece[name].notna())
                piece.index = pandas.RangeIndex(done, done + len(piece))  # as pandas counts in CSV
                done += len(piece)
                if progress is not None:
                    progress(size * done // max(total, 1), size)
                yield _settle(pandas, piece)
    except (arrow.ArrowException, OSError, UnicodeError) as error:
        raise InvalidInputError(f"{path} is no Parquet file that can be read: {error}.") from error
