"""Model files that are safe to open whoever wrote them.

A file is one line with its version, length and checksum, and then a skops archive (a zip of JSON
and npy, without pickle). The checksum finds damage, not malice. Against malice there is the list of
types below: nothing in the archive may have any other type, skops' own wider list notwithstanding,
and no member may be compressed, so that a small file cannot unpack to a large one.

Metrics and neighbours are saved as plain arrays and rebuilt by their public constructors, which
check them; a search index is built anew.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import as_path, require
from cayleyklein._version import __version__
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import CurvedKNeighborsClassifier
from cayleyklein.metrics import CurvedMetric, MixedMetric
from cayleyklein.tables._atomic import writing
from cayleyklein.tables._classifier import LearnedMetric, TableClassifier
from cayleyklein.tables._encoder import TableEncoder

__all__ = ["FORMAT_VERSION", "load_model", "save_model"]

FORMAT_VERSION = 2
"""Raised whenever another cayleyklein could not read, or would misread, a file."""

MAGIC = b"cayleyklein-model "
HEADER = 512
"""Bytes of the first line."""

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
"""The objects that a file may hold. What an encoder of tables is made of goes here."""

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

# Parameters to save; not threads nor the way to search, which belong to the machine.
NEIGHBOR_PARAMETERS = ("n_neighbors", "weights", "outside")
TABLE_PARAMETERS = (
    "n_neighbors", "geometry", "weights", "max_categories", "kinds", "drop", "learn_rows",
    "random_state",
)  # fmt: skip

BLOCK = 50_000
"""Rows saved as one array: skops holds each array twice."""

State = dict[str, Any]


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
    with writing(path) as temporary, temporary.open("wb") as file:
        file.write(first_line(0, ""))
        skops.dump(state, file)
        file.flush()
        with temporary.open("rb") as written:
            written.seek(HEADER)
            checksum = hashlib.file_digest(written, "sha256").hexdigest()
            length = written.tell() - HEADER
        file.seek(0)
        file.write(first_line(length, checksum))


def first_line(length: int, checksum: str) -> bytes:
    """Return the first line of a file, always of one length."""
    header = {
        "version": FORMAT_VERSION,
        "bytes": length,
        "sha256": checksum,
        "cayleyklein": __version__,
        "python": platform.python_version(),
    }
    return (MAGIC + json.dumps(header).encode()).ljust(HEADER - 1) + b"\n"


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
    archive = read_checked(path)
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
        if version != FORMAT_VERSION:
            newer = version > FORMAT_VERSION
            raise InvalidInputError(
                f"{path} has format version {version}, {'newer' if newer else 'older'} than "
                f"{FORMAT_VERSION}, which cayleyklein {__version__} reads; "
                f"{'update cayleyklein' if newer else 'fit the model again'}."
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
    """Raise for a type that is not allowed, before anything in the archive is loaded."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as members:
            packed = [
                m.filename for m in members.infolist() if m.compress_type != zipfile.ZIP_STORED
            ]
            unpacked = sum(m.file_size for m in members.infolist())
            schema = json.loads(members.read("schema.json"))
        nodes = list(dicts(schema))
        found = {
            (str(node["__loader__"]), f"{node['__module__']}.{node['__class__']}")
            for node in nodes
            if "__loader__" in node or "__class__" in node
        }
        files = [node["file"] for node in nodes if isinstance(node.get("file"), str)]
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
                f"{path} is refused: it holds {name} ({loader}), which is not a type of a model. "
                f"Nothing in it was run."
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


# -- models as plain values, and back ------------------------------------------------------


def state_of(model: Any) -> State:
    """Return a fitted model as plain values, and the encoder of a table as it is."""
    if not isinstance(model, TableClassifier | CurvedKNeighborsClassifier):
        raise InvalidInputError(
            f"A {type(model).__name__} cannot be saved as a model; expected a fitted "
            f"TableClassifier or CurvedKNeighborsClassifier."
        )
    if not hasattr(model, "classes_"):
        raise InvalidInputError("The model is not fitted: there is nothing to save.")
    if isinstance(model, TableClassifier):
        return {"kind": "TableClassifier", **table_state(model)}
    return {"kind": "CurvedKNeighborsClassifier", **neighbors_state(model)}


def model_of(state: State) -> Any:
    """Return the model whose state this is."""
    models = {"TableClassifier": table_of, "CurvedKNeighborsClassifier": neighbors_of}
    if state["kind"] not in models:
        raise InvalidInputError(f"holds a model of the unknown kind {state['kind']!r}")
    return models[state["kind"]](state)


def parameters_of(model: Any, names: tuple[str, ...]) -> State:
    """Return parameters as plain values: a number of NumPy's, as a grid has it, is Python's."""
    plain = {}
    for name in names:
        value = getattr(model, name)
        value = value.item() if isinstance(value, np.generic) else value
        try:
            json.dumps(value)
        except TypeError as error:
            raise InvalidInputError(
                f"{name} is a {type(value).__name__}, which no file can hold safely; set it to a "
                f"number, a text or None before saving."
            ) from error
        plain[name] = value
    return plain


def metric_state(metric: Any) -> State:
    """Return a metric as plain values."""
    if isinstance(metric, MixedMetric):
        return {
            "mixed": [metric_state(part) for part in metric.metrics],
            "weights": np.array(metric.weights),
        }
    if isinstance(metric, CurvedMetric):
        return {
            "factor": np.array(metric.factor),
            "center": np.array(metric.center),
            "curvature": float(metric.curvature),
        }
    raise InvalidInputError(f"A {type(metric).__name__} cannot be saved in a model.")


def metric_of(state: State) -> Any:
    """Return the metric whose state this is."""
    if "mixed" in state:
        return MixedMetric([metric_of(part) for part in state["mixed"]], state["weights"])
    return CurvedMetric(
        factor=state["factor"], center=state["center"], curvature=state["curvature"]
    )


def labelled_state(metric: Any, rows: Any, labels: Any, classes: Any) -> State:
    """Return labelled rows and their metric as plain values."""
    return {
        "metric": metric_state(metric),
        "rows": [rows[i : i + BLOCK] for i in range(0, len(rows), BLOCK)],
        "labels": np.asarray(labels, dtype=np.int64),
        "classes": classes.tolist(),
    }


def labelled_of(state: State) -> tuple[Any, NDArray[np.float64], NDArray[np.int64], NDArray[Any]]:
    """Return a metric, rows, labels and classes that fit each other."""
    rows, labels = np.concatenate(state.pop("rows")), state["labels"]
    classes = np.asarray(state["classes"])
    if labels.ndim != 1 or labels.dtype.kind != "i" or len(labels) != len(rows):
        raise InvalidInputError("the labels are not one for each row")
    if not ((labels >= 0) & (labels < len(classes))).all():
        raise InvalidInputError("labels are not positions among the classes")
    return metric_of(state["metric"]), rows, labels, classes


def neighbors_state(model: CurvedKNeighborsClassifier) -> State:
    """Return a fitted classifier of arrays as plain values."""
    names = getattr(model, "feature_names_in_", None)
    rows, labels = fitted_rows(model)
    return {
        "parameters": parameters_of(model, NEIGHBOR_PARAMETERS),
        "feature_names": None if names is None else names.tolist(),
        **labelled_state(model.metric_, rows, labels, model.classes_),
    }


def fitted_rows(model: CurvedKNeighborsClassifier) -> tuple[Any, Any]:
    """Return the rows that a classifier was fitted on, and the positions of their classes."""
    return model._in_memory().references.X, model._labels()


def neighbors_of(state: State) -> CurvedKNeighborsClassifier:
    """Return the classifier of arrays whose state this is."""
    parameters = {name: state["parameters"][name] for name in NEIGHBOR_PARAMETERS}
    metric, rows, labels, classes = labelled_of(state)
    model = CurvedKNeighborsClassifier(metric=metric, **parameters)
    model.partial_fit(rows, classes[labels], classes=classes)
    if state["feature_names"] is not None:
        model.feature_names_in_ = np.asarray(state["feature_names"], dtype=object)
    return model


def table_state(model: TableClassifier) -> State:
    """Return a fitted classifier of tables as plain values."""
    return {
        "parameters": parameters_of(model, TABLE_PARAMETERS),
        "encoder": model.encoder_,
        "learned": asdict(model.learned_),
        "row_numbers": np.asarray(model.row_numbers_),
        "target": getattr(model, "target_", None),
        **labelled_state(model.metric_, model._rows, model.labels_, model.classes_),
    }


def table_of(state: State) -> TableClassifier:
    """Return the classifier of tables whose state this is."""
    model = TableClassifier(**{name: state["parameters"][name] for name in TABLE_PARAMETERS})
    metric, rows, labels, classes = labelled_of(state)
    encoder, numbers = state["encoder"], state["row_numbers"]
    learned = LearnedMetric(**state["learned"])
    learned.describe()  # raises for anything but numbers
    if not isinstance(encoder, TableEncoder):
        raise InvalidInputError("it has no encoder of columns")
    blank = require("pandas", "cli").DataFrame({c.name: [None] for c in encoder.columns_})
    if not encoder.transform(blank).shape[1] == encoder.n_features_out_ == rows.shape[1]:
        raise InvalidInputError("the columns do not make the rows of the neighbours")
    if numbers.dtype.kind != "i" or numbers.shape != labels.shape:
        raise InvalidInputError("the row numbers are not one for each row")
    model._take(encoder, metric, rows, labels, classes, learned, numbers)
    if state["target"] is not None:
        model.target_ = str(state["target"])
    return model
