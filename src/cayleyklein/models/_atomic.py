"""Files that are whole or not there."""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cayleyklein._validation import as_path

__all__ = ["check_writable", "writing"]

STALE = 2.0
"""Seconds after which a temporary file that nobody has locked was left by a killed process: one
that has just been made may be about to be."""

NAME_BYTES = 100
"""Bytes of a file's name that its temporary file carries: names must not get too long."""


@contextmanager
def writing(path: str | Path) -> Iterator[Path]:
    """Give a temporary name beside a file, and rename it to the file at the end.

    When something goes wrong meanwhile, or is interrupted, what was there before stays. A process
    that is killed cannot remove its temporary file; the next one to write the same file does.

    Parameters
    ----------
    path : str or Path

    Yields
    ------
    Path
        Write to it; it has the ending of `path`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with writing(Path(folder.name, "answer.txt")) as temporary:
    ...     _ = temporary.write_text("42")
    >>> [path.name for path in Path(folder.name).iterdir()]
    ['answer.txt']
    >>> folder.cleanup()
    """
    path = as_path(path)
    handle, temporary = _temporary(path)
    try:
        yield temporary
        os.fsync(handle)  # or a power cut could leave the new name without the new content
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = str(path)  # such as a full disk, which names no file
        raise
    finally:
        os.close(handle)


def check_writable(path: str | Path) -> None:
    """Raise at once for a file that could not be written later, when there is work to lose.

    Parameters
    ----------
    path : str or Path

    Examples
    --------
    >>> check_writable("no/such/directory/answer.txt")
    Traceback (most recent call last):
    FileNotFoundError: There is no directory no/such/directory to write answer.txt to.
    """
    handle, temporary = _temporary(as_path(path))
    temporary.unlink()
    os.close(handle)


def _temporary(path: Path) -> tuple[int, Path]:
    """Make an empty file beside a path, and lock it, or say why that path cannot be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the name of a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {path.parent} to write {path.name} to.")
    name = path.name.encode()[:NAME_BYTES].decode(errors="ignore")
    prefix, suffix = f".{name}.", f".part{path.suffix}"
    _remove_stale(path.parent, prefix, suffix)
    temporary = path.with_name(f"{prefix}{secrets.token_hex(8)}{suffix}")
    try:
        # Not by mkstemp, which keeps its files to their owner: to know the umask is to set it, for
        # every thread.
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:  # which names the temporary file, and not the one asked for
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error
    _lock(handle)
    return handle, temporary


def _lock(handle: int) -> bool:
    """Lock a file until it is closed, also by a kill; False where another has, or none can."""
    try:
        import fcntl  # not on Windows, where what a killed process leaves stays

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _remove_stale(folder: Path, prefix: str, suffix: str) -> None:
    """Remove what killed processes left; what another is writing is locked, or new."""
    for entry in os.scandir(folder):
        if not (entry.name.startswith(prefix) and entry.name.endswith(suffix)):
            continue
        with suppress(OSError):  # removed by another, or not ours to remove
            if time.time() - entry.stat().st_mtime < STALE:
                continue
            handle = os.open(entry.path, os.O_RDWR)
            try:
                if _lock(handle):
                    Path(entry.path).unlink()
            finally:
                os.close(handle)
