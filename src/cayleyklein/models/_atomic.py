"""Files that are whole or not there."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cayleyklein._validation import as_path

__all__ = ["check_writable", "writing"]


@contextmanager
def writing(path: str | Path) -> Iterator[Path]:
    """Give a temporary name beside a file, and rename it to the file at the end.

    When something goes wrong meanwhile, or is interrupted, what was there before stays.

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
    temporary = _temporary(path)
    try:
        yield temporary
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = str(path)  # such as a full disk, which names no file
        raise


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
    _temporary(as_path(path)).unlink()


def _temporary(path: Path) -> Path:
    """Make an empty file beside a path, or say why that path cannot be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the name of a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {path.parent} to write {path.name} to.")
    # Not by mkstemp, which keeps its files to their owner: to know the umask is to set it, for
    # every thread.
    temporary = path.with_name(f".{secrets.token_hex(8)}.part{path.suffix}")
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:  # which names the temporary file, and not the one asked for
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error
    return temporary
