"""Files that are whole or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["writing"]


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
    >>> folder = tempfile.TemporaryDirectory()
    >>> with writing(Path(folder.name, "answer.txt")) as temporary:
    ...     _ = temporary.write_text("42")
    >>> [path.name for path in Path(folder.name).iterdir()]
    ['answer.txt']
    >>> folder.cleanup()
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the name of a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {path.parent} to write {path.name} to.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=f".part{path.suffix}")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp keeps its files to their owner
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
