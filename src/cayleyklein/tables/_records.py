"""Rows of JSON files and Excel workbooks, and the names of columns."""

import io
import itertools
import json
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from cayleyklein._validation import require
from cayleyklein.exceptions import InvalidInputError

PIECE_ROWS = 1 << 16  # rows at a time
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def names_of_columns(cells: list[str], name: str, header: bool) -> list[str]:
    if not header:
        return [f"x{i + 1}" for i in range(len(cells))]
    check_names(cells, name)
    return [cell or f"column_{number}" for number, cell in enumerate(cells, start=1)]


def check_names(cells: list[str], name: str) -> None:
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


def json_frames(plain: Any, name: str) -> Iterator[Any]:
    """Yield the records of JSON lines, or of one list, with the columns of all of them."""
    pandas, names = require("pandas", "cli"), dict[str, None]()
    for record in _records(plain, name):
        names |= dict.fromkeys(record)
    check_names([key.strip() for key in names], name)
    records = _records(plain, name)
    while some := list(itertools.islice(records, PIECE_ROWS)):
        yield pandas.DataFrame(some, columns=list(names))


def _records(plain: Any, name: str) -> Iterator[dict[str, Any]]:
    plain.seek(0)
    text = io.TextIOWrapper(plain, encoding="utf-8-sig")
    number = 1
    try:
        if text.read(1 << 12).lstrip().startswith("["):
            text.seek(0)
            records: Any = json.load(text)
        else:
            text.seek(0)
            records = (json.loads(line) for line in text if line.strip())
        for number, record in enumerate(records, start=1):
            if not isinstance(record, dict):
                raise InvalidInputError(f"{name}: JSON of row {number} is not an object of cells.")
            yield record
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        said = "expected an object of cells in each line, or one list of them"
        raise InvalidInputError(f"{name} is JSON that cannot be read: {error}; {said}.") from error
    finally:
        text.detach()


def workbook_frames(raw: IO[bytes], name: str, header: bool, skip_rows: int) -> Iterator[Any]:
    """Yield the rows of the first sheet of an Excel workbook that is not empty."""
    pandas, _ = require("pandas", "cli"), require("openpyxl", "excel")
    given = {"sheet_name": None, "header": None, "dtype": object, "skiprows": skip_rows}
    try:
        sheets = pandas.read_excel(raw, engine="openpyxl", **given)
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
