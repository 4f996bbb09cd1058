"""Read CSV, TSV and Parquet files, packed or not, a piece at a time.

PyArrow splits text into cells, and every cell stays text: what a column holds is decided for the
whole column, in `_columns`, never for the piece at hand.
"""

import bz2
import codecs
import csv
import gzip
import io
import itertools
import lzma
import re
import shutil
import tempfile
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from cayleyklein._validation import as_path, as_text, as_texts, expect, require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables._formats import typed
from cayleyklein.tables.atomic import check_readable

TableFile = str | Path | IO[bytes]
ReadProgress = Callable[[int, int], Any]
BLOCK_BYTES = 1 << 22  # bytes of text parsed at a time; also the longest line
PARQUET_ROWS = 1 << 16
DELIMITERS = (",", ";", "\t", "|")
# Cells that are missing in any column.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
WRONG_WIDTH = re.compile(r"Row #(\d+): Expected \d+ columns, got (\d+)")
# How to open a file that starts with these bytes.
PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
NO_TABLES = {  # why a file that starts with these bytes is not read
    b"%PDF": "is a PDF document; give a CSV, TSV or Parquet file",
    b"\x28\xb5\x2f\xfd": "is packed by zstd; pack it by gzip, bz2, xz or zip",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save it as CSV",
}
# A NotImplementedError is that of an unknown way of packing.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


def read_table(
    source: TableFile,
    *,
    text: Collection[str] = (),
    header: bool = True,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Any:
    r"""Read a table: numbers as floats, dates as timestamps, anything else as text.

    Parameters
    ----------
    source : str, Path or binary file
        Parquet, or CSV or TSV, perhaps packed by gzip, bz2, xz or zip, whatever its name says.
    text : collection of str, default=()
        Columns that stay text, such as class labels written as numbers.
    header : bool, default=True
        Whether the first line holds the names of the columns; they are x1, x2, … otherwise.
    delimiter : str, optional
        By default the most frequent of comma, semicolon, tab and bar in the first line.
    encoding : str, optional
        By default UTF-8, UTF-16 with a byte order mark, or else cp1252, with a warning.

    Returns
    -------
    pandas.DataFrame

    Warns
    -----
    UserWarning
        Where an encoding was guessed, or a cell or a format that can be read in two ways.

    Raises
    ------
    InvalidInputError
        For a file without a table, two columns of one name, or rows of unequal length.

    Examples
    --------
    >>> import io
    >>> read_table(io.BytesIO(b"price;colour\n1.250,50;blue\n;red\n"))
        price colour
    0  1250.5   blue
    1     NaN    red
    """
    keep = as_texts(text, "text")
    pieces = list(iter_table(source, header=header, delimiter=delimiter, encoding=encoding))
    return typed(require("pandas", "cli").concat(pieces), keep)


def iter_table(
    source: TableFile,
    *,
    header: bool = True,
    delimiter: str | None = None,
    encoding: str | None = None,
    progress: ReadProgress | None = None,
) -> Iterator[Any]:
    r"""Yield a table in pieces of a few MB, so that it can be larger than memory.

    Parameters
    ----------
    source : str, Path or binary file
        Parquet, or CSV or TSV, perhaps packed by gzip, bz2, xz or zip.
    header : bool, default=True
        Whether the first line holds the names of the columns; they are x1, x2, … otherwise.
    delimiter : str, optional
        By default the most frequent of comma, semicolon, tab and bar in the first line.
    encoding : str, optional
        By default UTF-8, UTF-16 with a byte order mark, or else cp1252, with a warning.
    progress : callable, optional
        Called with the bytes read and their total after each piece.

    Yields
    ------
    pandas.DataFrame
        Cells of text files as text, columns of Parquet files with their types; the index counts
        the rows of the whole table from 0.

    Examples
    --------
    >>> import io
    >>> [len(piece) for piece in iter_table(io.BytesIO(b"price,colour\n5,red\n8,blue\n"))]
    [2]
    """
    if not hasattr(source, "read"):
        source = as_path(source, "source")
    expect(progress is None or callable(progress), "progress", progress, "a function, or None")
    if delimiter is not None:
        mark = "\t" if as_text(delimiter, "delimiter") in ("\\t", "tab") else delimiter
        single = len(mark) == 1 and mark.isascii() and mark not in '"\r\n'
        expect(single, "delimiter", delimiter, "one character, such as ',', ';', '|' or a tab")
        delimiter = mark
    try:
        codecs.lookup(as_text("utf-8" if encoding is None else encoding, "encoding"))
    except LookupError as error:
        raise InvalidInputError(
            f"Got encoding={encoding!r}, which Python does not know; expected a name such as "
            f"'utf-8', 'cp1252' or 'latin-1'."
        ) from error
    return _pieces(source, progress, header=header, delimiter=delimiter, encoding=encoding)


def _pieces(source: Any, progress: ReadProgress | None, **options: Any) -> Iterator[Any]:
    pandas = require("pandas", "cli")
    start = 0
    with _opened(source) as (raw, name, size):
        parquet = raw.read(4) == b"PAR1"
        for batch in _parquet(raw, name) if parquet else _csv(raw, name, **options):
            piece = batch.replace_schema_metadata().to_pandas()
            piece.index = pandas.RangeIndex(start, start + len(piece))
            start += len(piece)
            if progress is not None:
                progress(min(raw.tell(), size), size)
            if len(piece):
                yield piece
    if not start:
        raise InvalidInputError(f"{name} has a line of column names, but no rows.")


@contextmanager
def _opened(source: Any) -> Iterator[tuple[IO[bytes], str, int]]:
    """Open a file that is not empty; yield it at its start, with its name and size."""
    with ExitStack() as stack:
        raw, name = source, str(getattr(source, "name", "the table"))
        if isinstance(source, Path):
            check_readable(source)
            raw, name = stack.enter_context(source.open("rb")), str(source)
        if not raw.seekable():  # a pipe; text is read twice
            pipe, raw = raw, stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(pipe, raw)
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        if not size:
            raise InvalidInputError(f"{name} is empty; a table starts with a line of column names.")
        yield raw, name, size


def _unpacked(raw: IO[bytes], name: str) -> Any:
    raw.seek(0)
    start = raw.read(8)
    raw.seek(0)
    if start[:4] in NO_TABLES:
        raise InvalidInputError(f"{name} {NO_TABLES[start[:4]]}.")
    if start.startswith(b"PK\x03\x04"):
        archive = zipfile.ZipFile(raw)
        members = [m for m in archive.namelist() if not m.endswith("/") and "__MACOSX" not in m]
        if "xl/workbook.xml" in members:
            raise InvalidInputError(f"{name} is an Excel workbook; save it as CSV.")
        if len(members) != 1:
            said = f"{name} holds {len(members)} files"
            raise InvalidInputError(f"{said}; expected a zip archive of one table.")
        if archive.getinfo(members[0]).flag_bits & 1:
            raise InvalidInputError(f"{name} is encrypted; unpack it first.")
        return archive.open(members[0])
    return next((way(raw) for magic, way in PACKED.items() if start.startswith(magic)), raw)


def _encoding_of(plain: Any, name: str, given: str | None) -> tuple[str, bool]:
    """Decode all the bytes; return the encoding that they have, and whether quotes are odd."""
    wide = plain.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    guesses = ["utf-16"] if wide else ["utf-8-sig", "cp1252", "latin-1"]
    candidates = guesses if given is None else [given]
    for encoding in candidates:
        plain.seek(0)
        n_quotes = 0
        try:
            for text in codecs.iterdecode(iter(lambda: plain.read(1 << 20), b""), encoding):
                n_quotes += text.count('"')
                if "\0" in text:
                    raise InvalidInputError(f"{name} is not text: it holds zero bytes.")
        except UnicodeError as error:
            reason = getattr(error, "reason", error)
            continue
        if encoding != candidates[0]:
            said = f"{name} is not UTF-8, and is read as {encoding}"
            warnings.warn(f"{said}; give its encoding if letters are wrong.", stacklevel=2)
        return encoding, n_quotes % 2 == 1
    raise InvalidInputError(f"{name} is not {given or 'utf-16'}: {reason}; give its encoding.")


def _header(
    plain: Any, name: str, header: bool, given: str | None, encoding: str
) -> tuple[list[str], str, int]:
    plain.seek(0)
    text = io.TextIOWrapper(plain, encoding=encoding, newline="")
    lines = iter(lambda: text.readline(BLOCK_BYTES), "")
    try:
        skip, first = next(((n, line) for n, line in enumerate(lines) if line.strip()), (0, ""))
        if excel := re.fullmatch(r"(?i)sep=(.)\s*", first):
            given, skip, first = given or excel[1], skip + 1, next(lines, "")
        if not first.strip():
            raise InvalidInputError(f"{name} is blank; a table starts with a line of column names.")
        delimiter = given or max(DELIMITERS, key=first.count)
        reader = csv.reader(itertools.chain([first], lines), delimiter=delimiter)
        cells = [cell.strip() for cell in next(reader)]
    except csv.Error as error:
        raise InvalidInputError(f"{name} cannot be read as a table: {error}.") from error
    finally:
        text.detach()
    if not header:
        return [f"x{i + 1}" for i in range(len(cells))], delimiter, skip
    _check_names(cells, name)
    names = [cell or f"column_{number}" for number, cell in enumerate(cells, start=1)]
    return names, delimiter, skip + reader.line_num


def _check_names(cells: list[str], name: str) -> None:
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell)]
    written = any(set(cell) & set(".-+eE") for cell in numbers)  # years may name columns
    if len(numbers) == len(cells) or (written and len(numbers) >= max(len(cells) - 1, 1)):
        raise InvalidInputError(
            f"{name} starts with numbers, {', '.join(cells[:3])}, … : a first line with the names "
            f"of the columns is required."
        )
    twice = [repr(cell) for cell, count in Counter(filter(None, cells)).items() if count > 1]
    if twice:
        said = f"{name} has more than one column named {', '.join(twice[:12])}"
        raise InvalidInputError(f"{said}; rename them.")


def _csv(
    raw: IO[bytes], name: str, header: bool, delimiter: str | None, encoding: str | None
) -> Iterator[Any]:
    arrow, reading = require("pyarrow", "cli"), require("pyarrow.csv", "cli")
    try:
        plain = _unpacked(raw, name)
        found, odd_quotes = _encoding_of(plain, name, encoding)
        names, mark, n_lines = _header(plain, name, header, delimiter, found)
        plain.seek(0)
    except (*DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an error of the disk
        raise InvalidInputError(f"{name} is damaged, and cannot be unpacked: {error}.") from error
    found = "utf8" if found == "utf-8-sig" else found
    lines = reading.ReadOptions(
        use_threads=False, block_size=BLOCK_BYTES, column_names=names, skip_rows=n_lines,
        encoding=found,
    )  # fmt: skip
    split = reading.ParseOptions(delimiter=mark, newlines_in_values=True)
    texts = reading.ConvertOptions(column_types=dict.fromkeys(names, arrow.string()))
    try:
        with reading.open_csv(plain, lines, split, texts) as batches:
            last = ""
            for batch in filter(len, batches):
                last = str(batch.columns[-1][-1])
                yield _with_missing(batch)
        if odd_quotes and "\n" in last:
            said = "a quotation mark opens a cell and is never closed."
            raise InvalidInputError(f"{name} cannot be read as a table: {said}")
    except arrow.ArrowInvalid as error:
        raise _parse_error(error, name, len(names), mark) from error


def _with_missing(batch: Any) -> Any:
    arrow, compute = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    trimmed, absent = map(compute.utf8_trim_whitespace, batch.columns), arrow.array(MISSING)
    columns = [compute.if_else(compute.is_in(cells, absent), None, cells) for cells in trimmed]
    return arrow.record_batch(columns, names=batch.schema.names)


def _parse_error(error: Exception, name: str, width: int, delimiter: str) -> InvalidInputError:
    message = str(error)
    if found := WRONG_WIDTH.search(message):
        line, given = map(int, found.groups())
        how = "more" if given > width else "fewer"
        message = (
            f"line {line} has {given} cells, {how} than the {width} names in the first line; quote "
            f"cells that hold {delimiter!r}, and give every row as many cells."
        )
    elif "straddl" in message or "out of sync" in message:
        message = f"it has a line of more than {BLOCK_BYTES:,} bytes, or a quote that stays open."
    return InvalidInputError(f"{name} cannot be read as a table: {message}")


def _parquet(raw: IO[bytes], name: str) -> Iterator[Any]:
    arrow, parquet = require("pyarrow", "cli"), require("pyarrow.parquet", "cli")
    raw.seek(0)
    try:
        file = parquet.ParquetFile(raw)
        _check_names(file.schema_arrow.names, name)
        yield from file.iter_batches(batch_size=PARQUET_ROWS)
    except (arrow.ArrowException, OSError, UnicodeError) as error:
        raise InvalidInputError(f"{name} cannot be read as a Parquet file: {error}.") from error
