"""Models in files that are safe to open whoever wrote them.

A file is one line that says what it is, its version, its length and its checksum, and then a skops
archive (a zip of JSON and npy, without pickle). The checksum finds damage, not malice. Against
malice there is the list below: nothing in the archive may be of any other type, skops' own wider
list notwithstanding, and no member may be compressed, so that a small file cannot unpack to a
large one.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from cayleyklein._validation import as_path, require
from cayleyklein._version import __version__
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.models._atomic import writing
from cayleyklein.models._state import model_of, state_of

__all__ = ["FORMAT_VERSION", "load_model", "save_model"]

FORMAT_VERSION = 1
"""Raised whenever an older cayleyklein could not read, or would misread, a file."""

MAGIC = b"cayleyklein-model "
HEADER = 512
"""Bytes of the first line."""

ALLOWED = {
    "JsonNode": {"builtins.str"},
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple"},
    "TypeNode": {"builtins.str"},
    "NdArrayNode": {"numpy.ndarray"},
    "CachedNode": None,  # refers to a node that is checked where it stands
}
"""The nodes of a skops archive that may occur, and the types that each may make."""


def save_model(model: Any, path: str | Path) -> None:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : TableClassifier or CurvedKNeighborsClassifier
    path : str or Path
        By convention it ends in ``.ckm``. A file of that name is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric
    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKNeighborsClassifier(1, metric=disc).fit([[0.0], [0.9]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder, "disc.ckm"))
    ...     load_model(Path(folder, "disc.ckm")).predict([[0.8]])
    array(['b'], dtype='<U1')
    """
    skops, state = require("skops.io", "cli"), state_of(model)
    with writing(path) as temporary, temporary.open("wb") as file:
        file.write(first_line(0, ""))
        archive = Checked(file)
        skops.dump(state, archive)
        file.seek(0)
        file.write(first_line(archive.length, archive.checksum.hexdigest()))


def first_line(length: int, checksum: str) -> bytes:
    """Say what the file is, in a line that is always of one length."""
    header = {
        "version": FORMAT_VERSION,
        "bytes": length,
        "sha256": checksum,
        "cayleyklein": __version__,
        "python": platform.python_version(),
    }
    return (MAGIC + json.dumps(header).encode()).ljust(HEADER - 1) + b"\n"


class Checked:
    """A file that counts and checks what is written to it, so that nothing is held twice."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.length, self.checksum = file, 0, hashlib.sha256()

    def write(self, data: Any) -> None:
        """Write some bytes."""
        self.checksum.update(data)
        self.length += len(data)
        self._file.write(data)


def load_model(path: str | Path) -> Any:
    """Read a model from a file, which may come from anybody: no code in it is ever run.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    TableClassifier or CurvedKNeighborsClassifier

    Raises
    ------
    InvalidInputError
        If the file is no model, is damaged, was written by a newer version, or holds anything
        but what a model is made of.

    Examples
    --------
    >>> import tempfile
    >>> from cayleyklein.models import FORMAT_VERSION
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "stranger.ckm")
    ...     _ = path.write_text("no model")
    ...     load_model(path)
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: ...stranger.ckm is no model of cayleyklein.

    Files of versions up to this one can be read:

    >>> FORMAT_VERSION
    1
    """
    path = as_path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the file of a model.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    archive = read_checked(path)
    check_contents(archive, path)
    skops = require("skops.io", "cli")
    try:
        state = skops.loads(archive)
        del archive  # which is as large as the model
        return model_of(state)
    except Exception as error:
        raise InvalidInputError(
            f"{path} holds no model that can be used ({str(error).strip('. ')})."
        ) from error


def read_checked(path: Path) -> bytes:
    """Return the archive behind the first line, if they agree."""
    with path.open("rb") as file:
        first = file.readline(HEADER)
        if not first.startswith(MAGIC):
            raise InvalidInputError(f"{path} is no model of cayleyklein.")
        try:
            header = json.loads(first.removeprefix(MAGIC))
            version, length, checksum = header["version"], header["bytes"], header["sha256"]
            if type(version) is not int or version < 1:
                raise ValueError(version)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InvalidInputError(f"{path} is damaged: its first line cannot be read.") from error
        if version > FORMAT_VERSION:
            raise InvalidInputError(
                f"{path} has format version {version}, newer than {FORMAT_VERSION}, the newest "
                f"that cayleyklein {__version__} reads; update cayleyklein."
            )
        archive = file.read()
    if len(archive) != length:
        raise InvalidInputError(
            f"{path} is damaged: {len(archive)} bytes follow its first line, and not {length}."
        )
    if hashlib.sha256(archive).hexdigest() != checksum:
        raise InvalidInputError(f"{path} is damaged: its checksum is not that of its content.")
    return archive


def check_contents(archive: bytes, path: Path) -> None:
    """Raise for anything in an archive that no model is made of, before any of it is loaded."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as members:
            packed = [
                m.filename for m in members.infolist() if m.compress_type != zipfile.ZIP_STORED
            ]
            unpacked = sum(m.file_size for m in members.infolist())
            schema = json.loads(members.read("schema.json"))
        found = set(nodes(schema))
        files = [item["file"] for item in dicts(schema) if isinstance(item.get("file"), str)]
    except Exception as error:
        raise InvalidInputError(f"{path} is damaged: its archive cannot be read.") from error
    if packed:
        raise InvalidInputError(f"{path} is refused: {packed[0]} in it is compressed.")
    if unpacked > len(archive) or len(files) != len(set(files)):
        raise InvalidInputError(f"{path} is refused: the same bytes in it are used more than once.")
    for loader, name in sorted(found):
        allowed = ALLOWED.get(loader, set())
        if allowed is not None and name not in allowed:
            raise InvalidInputError(
                f"{path} is refused: it holds {name} ({loader}), which no model is made of. "
                f"Nothing in it was run."
            )


def nodes(schema: Any) -> Iterator[tuple[str, str]]:
    """Yield the loader and the type of every node; a dict of any other form has none."""
    for item in dicts(schema):
        if "__loader__" in item or "__class__" in item:
            yield str(item["__loader__"]), f"{item['__module__']}.{item['__class__']}"


def dicts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every dict in a schema, however deep."""
    todo = [schema]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            yield item
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
