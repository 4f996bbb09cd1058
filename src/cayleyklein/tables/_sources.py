"""The bytes of a table in a file: packed or not, in whatever encoding."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import shutil
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from cayleyklein.exceptions import InvalidInputError

__all__ = ["DAMAGED", "encoding_of", "opened", "unpacked"]

OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
HINTS = {
    b"\x28\xb5\x2f\xfd": "is packed by zstd; pack it by gzip, bz2, xz or zip",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save it as CSV",
    b"%PDF": "is a PDF document; give a CSV, TSV or Parquet file",
}
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


@contextmanager
def opened(source: Any) -> Iterator[tuple[IO[bytes], str, int]]:
    """Open a file that is not empty; yield it at its start, with its name and size."""
    with ExitStack() as stack:
        if isinstance(source, Path):
            if source.is_dir():
                raise IsADirectoryError(f"{source} is a directory; give a file.")
            if not source.exists():
                raise FileNotFoundError(f"There is no file {source}.")
            raw: Any = stack.enter_context(source.open("rb"))
        else:
            raw = source
        if not raw.seekable():  # a pipe; text is read twice
            spooled = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(raw, spooled)
            raw = spooled
        name = str(source if isinstance(source, Path) else getattr(source, "name", "the table"))
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        if not size:
            raise InvalidInputError(f"{name} is empty; a table starts with a line of column names.")
        yield raw, name, size


def unpacked(raw: IO[bytes], name: str) -> Any:
    """Return the plain bytes of a file, by its first bytes, whatever its name says."""
    raw.seek(0)
    start = raw.read(8)
    raw.seek(0)
    for magic, hint in HINTS.items():
        if start.startswith(magic):
            raise InvalidInputError(f"{name} {hint}.")
    for magic, opener in OPENERS.items():
        if start.startswith(magic):
            return opener(raw)
    return _zipped(raw, name) if start.startswith(b"PK\x03\x04") else raw


def _zipped(raw: IO[bytes], name: str) -> Any:
    archive = zipfile.ZipFile(raw)
    if "xl/workbook.xml" in archive.namelist():
        raise InvalidInputError(f"{name} is an Excel workbook; save it as CSV.")
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        raise InvalidInputError(
            f"{name} holds {len(members)} files; expected a zip archive of one table."
        )
    if members[0].flag_bits & 1:
        raise InvalidInputError(f"{name} is encrypted; unpack it first.")
    return archive.open(members[0])


def encoding_of(plain: Any, name: str, given: str | None) -> tuple[str, bool]:
    """Read all the bytes; return the encoding that they have, and whether a quote is left open."""
    start = plain.read(4)
    if given is not None:
        candidates = [given]
    elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        candidates = ["utf-16"]
    else:
        candidates = ["utf-8-sig", "cp1252", "latin-1"]
    for encoding in candidates:
        plain.seek(0)
        decoder, n_quotes, zeros = codecs.getincrementaldecoder(encoding)(), 0, False
        try:
            while block := plain.read(1 << 20):
                n_quotes += block.count(b'"')
                zeros |= b"\0" in block
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeError as error:
            reason = getattr(error, "reason", error)
            continue
        if zeros and "16" not in encoding and "32" not in encoding:
            raise InvalidInputError(f"{name} is no text: it holds zero bytes.")
        if encoding != candidates[0]:
            warnings.warn(
                f"{name} is not UTF-8, and is read as {encoding}; give its encoding if letters are "
                f"wrong.",
                stacklevel=2,
            )
        return encoding, bool(n_quotes % 2)
    raise InvalidInputError(f"{name} is not {given or 'utf-16'}: {reason}; give its encoding.")
