"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cayleyklein._validation import as_path


@contextmanager
def writing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary file with the same ending; rename it at the end, delete it on errors."""
    path = as_path(path)
    temporary = _temporary(path)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # or a power cut could leave an empty file of the new name
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = str(path)  # such as a full disk, which names no file
        raise


def check_writable(path: str | Path) -> None:
    _temporary(as_path(path)).unlink()


def check_readable(path: Path, what: str = "a file") -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give {what}.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")


def _temporary(path: Path) -> Path:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the name of a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {path.parent} to write {path.name} to.")
    temporary = path.with_name(f".{secrets.token_hex(8)}.part{path.suffix}")
    try:
        temporary.touch(exist_ok=False)  # not mkstemp, whose files only their owner can read
    except OSError as error:  # which names the temporary file
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error
    return temporary
