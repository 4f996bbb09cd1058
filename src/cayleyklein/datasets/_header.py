"""The first line of a table in text: what stands between cells, and the names of the columns."""

from __future__ import annotations

import csv
import io
import itertools
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cayleyklein._validation import as_text
from cayleyklein.exceptions import InvalidInputError

__all__ = ["Header", "check_names", "listed", "read_header"]

DELIMITERS = (",", ";", "\t", "|")
CSV_FIELD_LIMIT = 1 << 24
"""Largest cell of a header; Python's own limit is 128 KB."""

FIELD_LIMIT = threading.Lock()
"""Held while that limit is another."""

LONGEST_LINE = 1 << 24
"""Characters of a line: a small file can be packed from one that is longer than memory."""


class Header(NamedTuple):
    names: list[str]
    delimiter: str


def _as_delimiter(given: str) -> str:
    """Check that it is one character that parsers take; a tab may be spelled."""
    delimiter = "\t" if as_text(given, "delimiter") in ("\\t", "tab") else given
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise InvalidInputError(
            f"Got delimiter={given!r}; expected one character, such as ',', ';', '|' or a tab."
        )
    return delimiter


class _Rejoined(io.TextIOBase):
    """Lines that were read already, and then the rest of their stream."""

    def __init__(self, lines: list[str], rest: Any, path: Path) -> None:
        self._head, self._rest = "".join(lines), rest
        self._path, self._since_end = path, 0

    def read(self, size: int | None = -1) -> str:
        """Read up to so many characters; refuse a line that does not end."""
        if not self._head:
            taken = str(self._rest.read(size))
            end = max(taken.rfind("\n"), taken.rfind("\r"))
            self._since_end = len(taken) - 1 - end + (self._since_end if end < 0 else 0)
            if self._since_end > LONGEST_LINE:
                raise too_long(self._path)
            return taken
        cut = len(self._head) if size is None or size < 0 else size
        taken, self._head = self._head[:cut], self._head[cut:]
        return taken


def too_long(path: Path) -> InvalidInputError:
    """Say that a line is too long."""
    return InvalidInputError(
        f"{path} is no table that can be read: it has a line of more than {LONGEST_LINE:,} "
        f"characters."
    )


def _lines(stream: Any, path: Path) -> Iterator[str]:
    """Yield line after line, none of them longer than any table has."""
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise too_long(path)
        yield line


def read_header(stream: Any, path: Path, delimiter: str | None) -> tuple[Header, Any]:
    """Read the names from the first line that is not blank; return what comes behind it too."""
    if delimiter is not None:
        delimiter = _as_delimiter(delimiter)
    lines = _lines(stream, path)
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise InvalidInputError(f"{path} is blank; a table starts with a line of column names.")
    if first.lower().startswith("sep=") and len(first.strip()) == 5:  # Excel's own
        delimiter = first.strip()[-1] if delimiter is None else delimiter
        first = next(lines, "")
    if delimiter is None:
        delimiter = max(DELIMITERS, key=first.count)
    given: list[str] = []
    reader = csv.reader(_noted(itertools.chain([first], lines), given), delimiter=delimiter)
    try:
        with _long_fields():
            cells = [cell.strip() for cell in next(reader)]
            given.clear()
            first_row = next(filter(None, reader), [])
    except csv.Error as error:
        raise InvalidInputError(f"{path} is no table that can be read: {error}.") from error
    names = [cell or f"column_{number}" for number, cell in enumerate(cells, start=1)]
    check_names(names, cells, path)
    if len(first_row) > len(names):  # pandas would take the first for an index
        raise InvalidInputError(
            f"{path} has {len(first_row)} cells in its first row, but {len(names)} names in its "
            f"first line; name every column."
        )
    return Header(names, delimiter), _Rejoined(given, stream, path)


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let cells be as long as they are; the limit is one for the whole process, and is put back."""
    with FIELD_LIMIT:
        before = csv.field_size_limit(CSV_FIELD_LIMIT)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _noted(lines: Iterable[str], given: list[str]) -> Iterator[str]:
    for line in lines:
        given.append(line)
        yield line


def check_names(names: list[str], cells: list[str], path: Path) -> None:
    if all(_is_number(cell) for cell in cells):
        raise InvalidInputError(
            f"{path} starts with numbers, {', '.join(cells[:3])}, … : a first line with the names "
            f"of the columns is required."
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidInputError(
            f"{path} has more than one column named {listed(twice)}; rename them."
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more
