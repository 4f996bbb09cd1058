"""Text out of a file: packed or not, with or without a byte order mark, and checked to be UTF-8."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from cayleyklein._validation import as_text
from cayleyklein.exceptions import InvalidInputError

__all__ = ["DAMAGED", "is_parquet", "open_file", "open_text"]

MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}
PARQUET = b"PAR1"
HINTS = {
    b"\x28\xb5\x2f\xfd": "is packed by zstd; unpack it, or pack it by gzip, bz2, xz or zip",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save it as CSV",
    b"%PDF": "is a PDF document; give a CSV, TSV or Parquet file",
    b"ARROW1": "is a Feather file; save it as Parquet",
}
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)
"""What the unpackers raise for a file that was cut short or changed."""

WIDEST_BOM = 4


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that is one, and is not empty."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give a file.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    with path.open("rb") as raw:
        if not raw.peek(1):
            raise InvalidInputError(f"{path} is empty; a table starts with a line of column names.")
        yield raw


def is_parquet(raw: IO[bytes]) -> bool:
    """Say whether a file is Parquet, by its first bytes rather than by its name."""
    return peek(raw).startswith(PARQUET)


def peek(raw: Any) -> bytes:
    """Return the first bytes of what is left, and leave them there."""
    return bytes(raw.peek(16)[:16])


@contextmanager
def open_text(path: Path, encoding: str | None) -> Iterator[tuple[io.TextIOWrapper, IO[bytes]]]:
    """Open a text file, packed or not; also give the file itself, for its position.

    Parameters
    ----------
    path : Path
    encoding : str or None
        UTF-8 when None, or UTF-16 where a byte order mark says so.
    """
    if encoding is not None:
        as_text(encoding, "encoding")
    with open_file(path) as raw, unpacked(raw, path) as plain:
        buffered = io.BufferedReader(CheckedUtf8(plain, path) if encoding is None else plain)
        start = buffered.peek(WIDEST_BOM)
        if not start:
            raise InvalidInputError(
                f"{path} holds an empty file; a table starts with a line of column names."
            )
        yield text_of(buffered, encoding or encoding_by_mark(start), path), raw


def encoding_by_mark(start: bytes) -> str:
    """Return the encoding that a byte order mark tells; without one it is UTF-8."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig"


def text_of(binary: Any, encoding: str, path: Path) -> io.TextIOWrapper:
    """Decode; the CSV parsers see the ends of lines as they are."""
    try:
        return io.TextIOWrapper(binary, encoding=encoding, newline="")
    except LookupError as error:
        raise InvalidInputError(
            f"Got encoding={encoding!r} for {path}, which Python does not know; expected a name "
            f"such as 'utf-8', 'cp1252' or 'latin-1'."
        ) from error


@contextmanager
def unpacked(raw: IO[bytes], path: Path) -> Iterator[Any]:
    """Unpack by the first bytes of the file, whatever its name says."""
    start = peek(raw)
    plain: Any
    kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)
    if kind == "gzip":
        with gzip.GzipFile(fileobj=raw) as plain:
            yield plain
    elif kind == "bz2":
        with bz2.BZ2File(raw) as plain:
            yield plain
    elif kind == "xz":
        with lzma.LZMAFile(raw) as plain:
            yield plain
    elif kind == "zip":
        with zipped(raw, path) as plain:
            yield plain
    else:
        for magic, hint in HINTS.items():
            if start.startswith(magic):
                raise InvalidInputError(f"{path} {hint}.")
        yield raw


def zipped(raw: IO[bytes], path: Path) -> IO[bytes]:
    """Open the one file in a zip archive."""
    try:
        archive = zipfile.ZipFile(raw)
        return archive.open(only_member(archive, path))
    except (NotImplementedError, OSError) as error:  # an unknown method, a place beyond the end
        raise InvalidInputError(f"{path} is damaged, and cannot be unpacked: {error}.") from error


def only_member(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """Return the one file in a zip archive."""
    if "xl/workbook.xml" in archive.namelist():
        raise InvalidInputError(f"{path} is an Excel workbook; save it as CSV.")
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        raise InvalidInputError(
            f"{path} holds {len(members)} files; expected a zip archive of one table."
        )
    if members[0].flag_bits & 1:
        raise InvalidInputError(f"{path} is encrypted; unpack it first.")
    return members[0]


class CheckedUtf8(io.RawIOBase):
    """A stream that raises for the first byte that is not UTF-8, and says where it is."""

    def __init__(self, inner: Any, path: Path) -> None:
        self._inner, self._path = inner, path
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._offset, self._lines = 0, 1
        self._utf16 = False

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read, and look at what was read."""
        data = self._inner.read(len(buffer))
        if self._offset == 0:
            self._utf16 = encoding_by_mark(data) == "utf-16"
        if not self._utf16:
            self._look_at(data)
        buffer[: len(data)] = data
        return len(data)

    def _look_at(self, data: bytes) -> None:
        if b"\0" in data:
            raise InvalidInputError(f"{self._path} is no text: it holds zero bytes.")
        waiting = len(self._decoder.getstate()[0])
        try:
            self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            # The decoder's bytes begin with those that waited for the rest of their character.
            byte = error.object[error.start]
            position = self._offset - waiting + error.start
            line = self._lines + data[: max(error.start - waiting, 0)].count(b"\n")
            raise InvalidInputError(
                f"{self._path} is not UTF-8: byte 0x{byte:02x} at position {position} (line {line})"
                f' belongs to no character. Give its encoding, encoding="cp1252" or in the command '
                f"--encoding cp1252 if the file comes from Windows."
            ) from error
        self._offset += len(data)
        self._lines += data.count(b"\n")
