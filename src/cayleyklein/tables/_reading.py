"""Read CSV, TSV, Parquet, JSON and Excel files, compressed or not, a piece at a time.

PyArrow splits text into cells, and every cell stays text: `columns.guessing`
decides for a whole column what it holds, never for a piece. (PyArrow's JSON reader decides by the
first piece and fails at a number among texts; that of pandas loses the last digits of floats.)
"""

import bz2
import codecs
import csv
import gzip
import io
import itertools
import json
import lzma
import re
import shutil
import tempfile
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from cayleyklein._validation import as_path, as_real, as_text, as_texts, expect, require
from cayleyklein.columns import guessing, uses
from cayleyklein.columns.parsing import without_blanks
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables.atomic import check_readable

TableFile = str | Path | IO[bytes]
PIECE_ROWS = 1 << 16  # rows at a time
BLOCK_BYTES = 1 << 22  # bytes of text parsed at a time; also the longest line


def read_table(
    source: TableFile,
    *,
    text: Collection[str] = (),
    header: bool = True,
    delimiter: str | None = None,
    encoding: str | None = None,
    skip_rows: int = 0,
) -> Any:
    r"""Read a table: numbers as floats, dates as timestamps, anything else as text.

    Parameters
    ----------
    source : str, Path or binary file
        CSV, TSV, JSON lines or a JSON list, perhaps packed by gzip, bz2, xz or zip; Parquet; or an
        Excel workbook (.xlsx, the extra ``excel``), of which the first sheet is read. Its content
        decides, not its name.
    text : collection of str, default=()
        Columns that stay text, such as class labels written as numbers.
    header : bool, default=True
        Whether the first line holds the names of the columns; they are x1, x2, … otherwise.
    delimiter : str, optional
        By default the most frequent of comma, semicolon, tab and bar in the first line.
    encoding : str, optional
        By default UTF-8, UTF-16 with a byte order mark, or else cp1252, with a warning.
    skip_rows : int, default=0
        Number of lines above the names of the columns, such as a title.

    Returns
    -------
    pandas.DataFrame
        With a warning where an encoding, a cell or a format can be read in two ways. No table, two
        columns of one name, or rows of unequal length are errors.

    Examples
    --------
    >>> import io
    >>> read_table(io.BytesIO(b"price;colour\n1.250,50;blue\n;red\n"))
        price colour
    0  1250.5   blue
    1     NaN    red
    """
    keep = as_texts(text, "text")
    pieces = iter_table(
        source, header=header, delimiter=delimiter, encoding=encoding, skip_rows=skip_rows
    )
    return guessing.typed(require("pandas", "cli").concat(list(pieces)), keep)


def iter_table(
    source: TableFile,
    *,
    header: bool = True,
    delimiter: str | None = None,
    encoding: str | None = None,
    skip_rows: int = 0,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[Any]:
    r"""Yield a table in pieces of a few MB, so that it can be larger than memory.

    Parameters
    ----------
    source : str, Path or binary file
        As for :func:`read_table`.
    header : bool, default=True
        Whether the first line holds the names of the columns; they are x1, x2, … otherwise.
    delimiter : str, optional
        By default the most frequent of comma, semicolon, tab and bar in the first line.
    encoding : str, optional
        By default UTF-8, UTF-16 with a byte order mark, or else cp1252, with a warning.
    skip_rows : int, default=0
        Number of lines above the names of the columns, such as a title.
    progress : callable, optional
        Called with the bytes read and their total after each piece.

    Yields
    ------
    pandas.DataFrame
        Cells of text files as text, those of other files with their types; the index counts the
        rows of the whole table from 0.

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
    expect(as_real(skip_rows, "skip_rows") >= 0, "skip_rows", skip_rows, "a number of lines")
    return _pieces(source, progress, header, delimiter, encoding, int(skip_rows))


def _pieces(source: Any, progress: Any, *options: Any) -> Iterator[Any]:
    pandas = require("pandas", "cli")
    start = 0
    with ExitStack() as stack:
        raw = source
        name = str(getattr(source, "name", "the table"))
        if isinstance(source, Path):
            check_readable(source)
            raw = stack.enter_context(source.open("rb"))
            name = str(source)
        if not raw.seekable():  # a pipe; text is read twice
            pipe = raw
            raw = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(pipe, raw)
        size = raw.seek(0, io.SEEK_END)
        if not size:
            raise InvalidInputError(f"{name} is empty; a table starts with a line of column names.")
        try:
            for piece in _frames(raw, name, *options):
                piece.index = pandas.RangeIndex(start, start + len(piece))
                start += len(piece)
                if progress is not None:
                    progress(min(raw.tell(), size), size)
                if len(piece):
                    yield piece.apply(without_blanks)
        except (
            EOFError,
            zlib.error,
            lzma.LZMAError,
            zipfile.BadZipFile,
            NotImplementedError,  # an unknown way of packing
            OSError,
        ) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an error of the disk
            said = f"{name} is damaged, and cannot be unpacked: {error}."
            raise InvalidInputError(said) from error
    if not start:
        raise InvalidInputError(f"{name} has a line of column names, but no rows.")


def _frames(
    raw: IO[bytes], name: str, header: bool, delimiter: str | None, encoding: str | None, skip: int
) -> Iterator[Any]:
    raw.seek(0)
    start = raw.read(8)
    raw.seek(0)
    refusals = {
        b"%PDF": "is a PDF document; give a CSV, Excel, JSON or Parquet file",
        b"\x28\xb5\x2f\xfd": "is packed by zstd; pack it by gzip, bz2, xz or zip",
        b"\xd0\xcf\x11\xe0": "is an old Excel workbook; save it as .xlsx or CSV",
    }
    if start[:4] in refusals:
        raise InvalidInputError(f"{name} {refusals[start[:4]]}.")
    plain: Any = raw
    unpackers: dict[bytes, Any] = {
        b"\x1f\x8b": gzip.open,
        b"BZh": bz2.open,
        b"\xfd7zXZ\0": lzma.open,
    }
    for magic, unpack in unpackers.items():
        if start.startswith(magic):
            plain = unpack(raw)
    if start.startswith(b"PK\x03\x04"):
        archive = zipfile.ZipFile(raw)
        members = [m for m in archive.namelist() if not m.endswith("/") and "__MACOSX" not in m]
        if "xl/workbook.xml" in members:
            yield from _workbook(raw, name, header, skip)
            return
        if len(members) != 1:
            said = f"{name} holds {len(members)} files"
            raise InvalidInputError(f"{said}; expected a zip archive of one table.")
        if archive.getinfo(members[0]).flag_bits & 1:
            raise InvalidInputError(f"{name} is encrypted; unpack it first.")
        plain = archive.open(members[0])
    if start[:4] == b"PAR1":
        batches = _parquet(raw, name)
    elif _starts_as_json(plain.read(1 << 12)):
        yield from _json(plain, name)
        return
    else:
        batches = _csv(plain, name, header, delimiter, encoding, skip)
    for batch in batches:
        yield batch.replace_schema_metadata().to_pandas()


def _starts_as_json(content: bytes) -> bool:
    """Say whether an object with a key begins, or a list of objects; CSV may begin with "[" too."""
    text = content.removeprefix(codecs.BOM_UTF8)
    return re.match(rb"\s*(\{\s*\"|\[\s*\{)", text) is not None


def _encoding_of(plain: Any, name: str, given: str | None) -> tuple[str, bool]:
    """Decode all the bytes; return their encoding, and whether the number of quotes is odd."""
    plain.seek(0)
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
    plain: Any, name: str, header: bool, given: str | None, encoding: str, skip_rows: int
) -> tuple[list[str], str, int]:
    plain.seek(0)
    text = io.TextIOWrapper(plain, encoding=encoding, newline="")
    lines = iter(lambda: text.readline(BLOCK_BYTES), "")
    try:
        for _ in range(skip_rows):
            next(lines, "")
        numbered = enumerate(lines, start=skip_rows)
        skip, first = next(((n, line) for n, line in numbered if line.strip()), (0, ""))
        if excel := re.fullmatch(r"(?i)sep=(.)\s*", first):
            given = given or excel[1]
            skip += 1
            first = next(lines, "")
        if not first.strip():
            raise InvalidInputError(f"{name} is blank; a table starts with a line of column names.")
        delimiter = given or max((",", ";", "\t", "|"), key=first.count)
        reader = csv.reader(itertools.chain([first], lines), delimiter=delimiter)
        cells = [cell.strip() for cell in next(reader)]
    except csv.Error as error:
        raise InvalidInputError(f"{name} cannot be read as a table: {error}.") from error
    finally:
        text.detach()
    n_lines = skip + reader.line_num if header else skip
    return names_of_columns(cells, name, header), delimiter, n_lines


def _csv(
    plain: Any, name: str, header: bool, delimiter: str | None, encoding: str | None, skip_rows: int
) -> Iterator[Any]:
    arrow = require("pyarrow", "cli")
    reading = require("pyarrow.csv", "cli")
    found, odd_quotes = _encoding_of(plain, name, encoding)
    names, mark, n_lines = _header(plain, name, header, delimiter, found, skip_rows)
    plain.seek(0)
    lines = reading.ReadOptions(
        use_threads=False,
        block_size=BLOCK_BYTES,
        column_names=names,
        skip_rows=n_lines,
        encoding="utf8" if found == "utf-8-sig" else found,
    )
    split = reading.ParseOptions(delimiter=mark, newlines_in_values=True)
    texts = reading.ConvertOptions(column_types=dict.fromkeys(names, arrow.string()))
    try:
        with reading.open_csv(plain, lines, split, texts) as batches:
            last = ""
            for batch in filter(len, batches):
                last = str(batch.columns[-1][-1])
                yield batch
        if odd_quotes and "\n" in last:
            said = "a quotation mark opens a cell and is never closed."
            raise InvalidInputError(f"{name} cannot be read as a table: {said}")
    except arrow.ArrowInvalid as error:
        raise _parse_error(error, name, len(names), mark) from error


def _parse_error(error: Exception, name: str, width: int, delimiter: str) -> InvalidInputError:
    message = str(error)
    if found := re.search(r"Row #(\d+): Expected \d+ columns, got (\d+)", message):
        line, given = map(int, found.groups())
        how = "more" if given > width else "fewer"
        message = (
            f"line {line} has {given} cells, {how} than the {width} names in the first line; quote "
            f"cells that hold {delimiter!r}, and give every row as many cells. {uses.HEADER_ADVICE}"
        )
    elif "straddl" in message or "out of sync" in message:
        message = f"it has a line of more than {BLOCK_BYTES:,} bytes, or a quote that stays open."
    return InvalidInputError(f"{name} cannot be read as a table: {message}")


def _parquet(raw: IO[bytes], name: str) -> Iterator[Any]:
    arrow = require("pyarrow", "cli")
    parquet = require("pyarrow.parquet", "cli")
    raw.seek(0)
    try:
        file = parquet.ParquetFile(raw)
        check_names(file.schema_arrow.names, name)
        yield from file.iter_batches(batch_size=PIECE_ROWS)
    except (arrow.ArrowException, OSError, UnicodeError) as error:
        raise InvalidInputError(f"{name} cannot be read as a Parquet file: {error}.") from error


def names_of_columns(cells: list[str], name: str, header: bool) -> list[str]:
    if not header:
        return [f"x{number}" for number in range(1, len(cells) + 1)]
    check_names(cells, name)
    return [cell or f"column_{number}" for number, cell in enumerate(cells, start=1)]


def check_names(cells: list[str], name: str) -> None:
    number = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
    numbers = [cell for cell in cells if re.fullmatch(number, cell)]
    written = any(set(cell) & set(".-+eE") for cell in numbers)  # years may be names of columns
    if len(numbers) == len(cells) or (written and len(numbers) >= max(len(cells) - 1, 1)):
        raise InvalidInputError(
            f"{name} starts with numbers, {', '.join(cells[:3])}, … : a first line with the names "
            f"of the columns is required."
        )
    twice = [repr(cell) for cell, count in Counter(filter(None, cells)).items() if count > 1]
    if twice:
        named = ", ".join(twice[:12])
        raise InvalidInputError(f"{name} has more than one column named {named}; rename them.")


def _json(plain: Any, name: str) -> Iterator[Any]:
    """Yield records of JSON lines, or of one list, as tables that have every record's columns."""
    pandas = require("pandas", "cli")
    names = dict[str, None]()
    for number, record in enumerate(_records(plain, name), start=1):
        if not isinstance(record, dict):
            raise InvalidInputError(f"{name}: JSON of row {number} is not an object of cells.")
        names |= dict.fromkeys(record)
    check_names([key.strip() for key in names], name)
    records = _records(plain, name)
    while some := list(itertools.islice(records, PIECE_ROWS)):
        yield pandas.DataFrame(some, columns=list(names))


def _records(plain: Any, name: str) -> Iterator[Any]:
    plain.seek(0)
    text = io.TextIOWrapper(plain, encoding="utf-8-sig")
    try:
        is_list = text.read(1 << 12).lstrip().startswith("[")
        text.seek(0)
        lines = (json.loads(line) for line in text if line.strip())
        yield from json.load(text) if is_list else lines
    except (ValueError, RecursionError) as error:
        said = "expected an object of cells in each line, or one list of them"
        raise InvalidInputError(f"{name} is JSON that cannot be read: {error}; {said}.") from error
    finally:
        text.detach()


def _workbook(raw: IO[bytes], name: str, header: bool, skip_rows: int) -> Iterator[Any]:
    """Yield the rows of the first sheet of an Excel workbook that is not empty."""
    pandas = require("pandas", "cli")
    require("openpyxl", "excel")
    try:
        sheets = pandas.read_excel(
            raw, sheet_name=None, header=None, dtype=object, skiprows=skip_rows, engine="openpyxl"
        )
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"{name} is a workbook that cannot be read: {error}.") from error
    filled = {title: sheet.dropna(how="all") for title, sheet in sheets.items() if sheet.size}
    if not filled:
        raise InvalidInputError(f"{name} is a workbook without cells.")
    title, rows = next(iter(filled.items()))
    if len(filled) > 1:
        said = f"{name} has {len(filled)} sheets, and {title!r} is read"
        warnings.warn(f"{said}; save another as a file of its own.", stacklevel=2)
    cells = rows.iloc[0].fillna("").astype("str").str.strip().tolist()
    yield rows.iloc[int(header) :].set_axis(names_of_columns(cells, name, header), axis=1)
