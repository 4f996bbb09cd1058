"""Model files that are safe to open whoever wrote them.

A file is a skops archive, a zip of JSON and npy without pickle, and a note of its version. Nothing
in it may have a type that is not listed below, skops' own wider list notwithstanding, and no member
may be compressed, so that a small file cannot unpack to a large one.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cayleyklein._validation import as_path, require
from cayleyklein._version import __version__
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables._atomic import writing
from cayleyklein.tables._state import model_of, state_of

__all__ = ["FORMAT_VERSION", "load_model", "save_model"]

FORMAT_VERSION = 2
"""Raised whenever another cayleyklein could not read, or would misread, a file."""

NOTE = "cayleyklein.json"
"""The member that says that the archive is a model, and its version."""

TRUSTED = (
    "cayleyklein.tables._cells.CellFormat",
    "cayleyklein.tables._columns.Column",
    "cayleyklein.tables._encoder.TableEncoder",
    "sklearn.decomposition._truncated_svd.TruncatedSVD",
    "sklearn.feature_extraction.text.TfidfTransformer",
    "sklearn.feature_extraction.text.TfidfVectorizer",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._encoders.OneHotEncoder",
    "skrub._string_encoder.StringEncoder",
    "skrub._to_str.ToStr",
)
"""The objects that a file may hold: what an encoder of tables is made of."""

ALLOWED = {
    "JsonNode": {"builtins.str"},
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple"},
    "NdArrayNode": {"numpy.ndarray", "numpy.float64", "numpy.float32", "numpy.int64"},
    "TypeNode": {"builtins.str", "numpy.float64"},
    "DTypeNode": {"numpy.dtype"},
    "ObjectNode": set(TRUSTED),
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
    >>> from cayleyklein.tables import load_model, save_model
    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKNeighborsClassifier(1, metric=disc).fit([[0.0], [0.9]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder, "disc.ckm"))
    ...     load_model(Path(folder, "disc.ckm")).predict([[0.8]])
    array(['b'], dtype='<U1')
    """
    skops, state = require("skops.io", "cli"), state_of(model)
    note = {"version": FORMAT_VERSION, "cayleyklein": __version__}
    with writing(path) as temporary:
        with temporary.open("wb") as file:
            skops.dump(state, file)
        with zipfile.ZipFile(temporary, "a") as archive:
            archive.writestr(NOTE, json.dumps(note))


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
        If the file is no model, is damaged, was written by another version, or holds a type that
        is not on the list of trusted types.

    Examples
    --------
    >>> import tempfile
    >>> from cayleyklein.tables import FORMAT_VERSION, load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "stranger.ckm")
    ...     _ = path.write_text("no model")
    ...     load_model(path)
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: ...stranger.ckm is no model of cayleyklein.

    The version of files that can be read:

    >>> FORMAT_VERSION
    2
    """
    path = as_path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the file of a model.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    archive = path.read_bytes()
    if not archive.startswith(b"PK\x03\x04"):
        raise InvalidInputError(f"{path} is no model of cayleyklein.")
    check_contents(archive, path)
    skops = require("skops.io", "cli")
    try:
        trusted = sorted(set().union(*filter(None, ALLOWED.values())))
        state = skops.loads(archive, trusted=trusted)
        del archive  # which is as large as the model
        return model_of(state)
    except Exception as error:
        raise InvalidInputError(
            f"{path} holds no model that can be used ({str(error).strip('. ')})."
        ) from error


def check_contents(archive: bytes, path: Path) -> None:
    """Raise for damage, another version or a type that is not allowed, before loading anything."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as file:
            members = file.infolist()
            packed = [m.filename for m in members if m.compress_type != zipfile.ZIP_STORED]
            if packed:
                raise InvalidInputError(f"{path} is refused: {packed[0]} in it is compressed.")
            if file.testzip() is not None:
                raise ValueError("a checksum is wrong")
            if NOTE not in file.namelist():
                raise InvalidInputError(f"{path} is no model of cayleyklein.")
            check_version(json.loads(file.read(NOTE))["version"], path)
            nodes = list(dicts(json.loads(file.read("schema.json"))))
        files = [node["file"] for node in nodes if isinstance(node.get("file"), str)]
        found = {
            (str(node["__loader__"]), f"{node['__module__']}.{node['__class__']}")
            for node in nodes
            if "__loader__" in node or "__class__" in node
        }
    except InvalidInputError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{path} is damaged, and cannot be read ({error}).") from error
    if sum(m.file_size for m in members) > len(archive) or len(files) != len(set(files)):
        raise InvalidInputError(f"{path} is refused: the same bytes in it are used more than once.")
    for loader, name in sorted(found):
        allowed = ALLOWED.get(loader, set())
        if allowed is not None and name not in allowed:
            raise InvalidInputError(
                f"{path} is refused: it holds {name} ({loader}), which is not a type of a model. "
                f"Nothing in it was run."
            )


def check_version(version: Any, path: Path) -> None:
    """Raise for a file of another version."""
    if type(version) is not int or version < 1:
        raise ValueError(f"its version is {version!r}")
    if version != FORMAT_VERSION:
        newer = version > FORMAT_VERSION
        raise InvalidInputError(
            f"{path} has format version {version}, {'newer' if newer else 'older'} than "
            f"{FORMAT_VERSION}, which cayleyklein {__version__} reads; "
            f"{'update cayleyklein' if newer else 'fit the model again'}."
        )


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
