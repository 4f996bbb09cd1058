"""Model files that are safe to open, whoever wrote them.

A file is a skops archive, a zip of JSON and npy without pickle, and a note of its version. Nothing
in it may have a type that is not listed below (skops' own list is wider), and no member may be
compressed, so that a small file cannot unpack to a large one. It holds arrays, texts and the
encoder of a table; models are made of them by the public constructors, which check them.
"""

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cayleyklein._validation import as_path, require
from cayleyklein._version import __version__
from cayleyklein.columns import entrance
from cayleyklein.columns.encoder import TableEncoder
from cayleyklein.columns.parsing import CellFormat
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric, FormMetric, MixedMetric, ProductMetric
from cayleyklein.prediction.state import kernel_state, restore_kernel
from cayleyklein.tables._models import TableClassifier, TableRegressor
from cayleyklein.tables.atomic import check_readable, writing

FORMAT_VERSION = 10  # raise it when other versions could not read a file, or would misread it
NOTE = "cayleyklein.json"  # the member that marks an archive as a model, with its version
ALLOWED: dict[str, set[str]] = {  # the types that each kind of node in a skops archive may make
    "JsonNode": {"builtins.str"},
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple"},
    "NdArrayNode": {"numpy.ndarray", "numpy.float64", "numpy.float32", "numpy.int64"},
    "TypeNode": {"builtins.str", "numpy.float64"},
    "DTypeNode": {"numpy.dtype"},
    "ObjectNode": {  # what an encoder of tables is made of
        "cayleyklein.columns.parsing.CellFormat",
        "cayleyklein.columns.column.Column",
        "cayleyklein.columns.encoder.TableEncoder",
        "cayleyklein.columns.gaps.Gaps",
        "sklearn.decomposition._truncated_svd.TruncatedSVD",
        "sklearn.feature_extraction.text.TfidfTransformer",
        "sklearn.feature_extraction.text.TfidfVectorizer",
        "sklearn.pipeline.Pipeline",
        "skrub._string_encoder.StringEncoder",
        "skrub._to_str.ToStr",
    },
}
# what other estimators and metrics are made of; their files hold the objects themselves
OBJECTS_IN_FILES: dict[str, set[str]] = {
    "ConstructorFromReduceNode": {
        "cayleyklein.metrics.combined.MixedMetric",
        "cayleyklein.metrics.combined.ProductMetric",
        "cayleyklein.metrics.form.FormMetric",
        "cayleyklein.metrics.sphere.SphereMetric",
    },
    "ObjectNode": {
        "cayleyklein.clustering.kmeans.CurvedKMeans",
        "cayleyklein.diagrams._power.PowerDiagram",
        "cayleyklein.diagrams._voronoi.CayleyKleinVoronoi",
        "cayleyklein.learning.choice.Selection",
        "cayleyklein.learning.choice.Trial",
        "cayleyklein.learning.ck_lmnn.CayleyKleinLMNN",
        "cayleyklein.learning.comparisons.CurvedPairs",
        "cayleyklein.learning.comparisons.CurvedQuadruplets",
        "cayleyklein.learning.comparisons.CurvedTriplets",
        "cayleyklein.learning.lmnn.CurvedLMNN",
        "cayleyklein.learning.mlkr.CurvedMLKR",
        "cayleyklein.learning.mmc.MMC",
        "cayleyklein.learning.rows.GivenRows",
        "cayleyklein.manifold._from_chart.FromChart",
        "cayleyklein.manifold._mds.CurvedMDS",
        "cayleyklein.metrics.curved.CurvedMetric",
        "cayleyklein.neighbors.curved_neighbors.CurvedNeighbors",
        "cayleyklein.neighbors.euclidean.TreeSearch",
        "cayleyklein.neighbors.search.MeasuredRows",
        "cayleyklein.neighbors.search.SearchIndex",
        "cayleyklein.neighbors.space.ChordSpace",
        "cayleyklein.neighbors.vantage.VantageSearch",
        "cayleyklein.parts.distances.ColumnDistance",
        "cayleyklein.parts.distances.NormalScores",
        "cayleyklein.parts.distances.RankDistance",
        "cayleyklein.parts.kernel.KernelMachine",
        "cayleyklein.parts.kernel.Landmarks",
        "cayleyklein.parts.kernel.Leaves",
        "cayleyklein.parts.kernel.MetricDistance",
        "cayleyklein.parts.leaves.LeafTree",
        "cayleyklein.parts.places.LocalScales",
        "cayleyklein.parts.boosting.FittedRules",
        "cayleyklein.parts.votes.FittedVotes",
        "cayleyklein.parts.votes.LabelVotes",
        "cayleyklein.parts.votes.NumberMeans",
        "cayleyklein.prediction.answers.Classes",
        "cayleyklein.prediction.answers.Numbers",
        "cayleyklein.prediction.classifier.CurvedKNeighborsClassifier",
        "cayleyklein.prediction.classifier.CurvedKernelClassifier",
        "cayleyklein.prediction.regressor.CurvedKNeighborsRegressor",
        "cayleyklein.prediction.regressor.CurvedKernelRegressor",
        "cayleyklein.prediction.scales.NumberScale",
        "cayleyklein.prediction.strangers.FamiliarRows",
        "cayleyklein.prediction.sums.Sum",
        "cayleyklein.svm._linear.CurvedLinearSVC",
    },
    "SliceNode": {"builtins.slice"},
    "TupleNode": {
        "cayleyklein.diagrams.domains.LocalChart",
        "cayleyklein.learning.samples.Stage",
        "cayleyklein.neighbors._kernels.LoopRows",
        "cayleyklein.neighbors._kernels.LoopTerms",
        "cayleyklein.neighbors.space.ChordRows",
        "cayleyklein.neighbors.space.Term",
        "cayleyklein.neighbors.vantage.Tree",
        "cayleyklein.parts.kernel.Tuning",
        "cayleyklein.parts.places.Places",
        "cayleyklein.parts.tree_arrays.Trees",
    },
}
for _node, _types in OBJECTS_IN_FILES.items():
    ALLOWED[_node] = ALLOWED.get(_node, set()) | _types
TableModel = TableClassifier | TableRegressor
METRICS: dict[str, tuple[Any, str]] = {  # and the attribute that has a number for each part
    "CurvedMetric": (CurvedMetric, ""),
    "FormMetric": (FormMetric, ""),
    "MixedMetric": (MixedMetric, "weights"),
    "ProductMetric": (ProductMetric, "units"),
}
State = dict[str, Any]


def save_model(model: Any, path: str | Path) -> None:
    """Write a fitted model, another estimator or a metric to a file, whole or not at all.

    Parameters
    ----------
    model : TableClassifier, TableRegressor, another fitted estimator, or a metric
        What is saved. Parameters that are functions, other libraries' estimators or random
        generators cannot be saved.
    path : str or Path
        By convention it ends in ``.ckm``. A file of that name is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from cayleyklein.datasets import load_wine
    >>> from cayleyklein.tables import TableClassifier, load_model, save_model
    >>> table, y = load_wine(as_frame=True, return_X_y=True)
    >>> model = TableClassifier(geometry="flat").fit(table, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder, "wine.ckm"))
    ...     load_model(Path(folder, "wine.ckm")).predict(table[:1])
    array([0])
    """
    skops = require("skops.io", "cli")
    if isinstance(model, TableModel):
        if not hasattr(model, "estimator_"):
            raise InvalidInputError("The model is not fitted: there is nothing to save.")
        state = state_of(model)
    else:
        state = {"object": whole_object(model)}
    note = {"version": FORMAT_VERSION, "cayleyklein": __version__}
    with writing(path) as temporary:
        with temporary.open("wb") as file:
            skops.dump(state, file)
        with zipfile.ZipFile(temporary, "a") as archive:
            archive.writestr(NOTE, json.dumps(note))
        if "object" in state:
            check_contents(temporary.read_bytes(), Path(path))


def whole_object(model: Any) -> Any:
    """Return a fitted estimator or a metric, if a file may hold it."""
    kind = type(model)
    name = f"{kind.__module__}.{kind.__name__}"
    if name not in ALLOWED["ObjectNode"] | ALLOWED["ConstructorFromReduceNode"]:
        raise InvalidInputError(
            f"A {kind.__name__} cannot be saved as a model; expected a fitted estimator or a "
            f"metric of this package."
        )
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    return model


def load_model(path: str | Path) -> Any:
    """Read what `save_model` wrote; the file may come from anybody: no code in it is ever run.

    Parameters
    ----------
    path : str or Path
        File to read. A file that is no model, is damaged, is of another version or holds a type
        that is not trusted raises an error.

    Examples
    --------
    >>> load_model("flowers.ckm").predict(table)  # doctest: +SKIP
    array(['setosa', 'virginica'], dtype=object)
    """
    path = as_path(path)
    check_readable(path, "the file of a model")
    archive = path.read_bytes()
    if not archive.startswith(b"PK\x03\x04"):
        raise InvalidInputError(f"{path} is not a model of cayleyklein.")
    check_contents(archive, path)
    skops = require("skops.io", "cli")
    try:
        state = skops.loads(archive, trusted=sorted(set().union(*ALLOWED.values())))
        del archive  # which is as large as the model
        return state["object"] if "object" in state else model_of(state)
    except Exception as error:
        said = f"{path} holds no model that can be used ({str(error).strip('. ')})."
        raise InvalidInputError(said) from error


def check_contents(archive: bytes, path: Path) -> None:
    """Refuse a damaged file, another version and types not allowed, before loading anything."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as file:
            members = file.infolist()
            packed = [m.filename for m in members if m.compress_type != zipfile.ZIP_STORED]
            if packed:
                raise InvalidInputError(f"{path} is refused: {packed[0]} in it is compressed.")
            if file.testzip() is not None:
                raise ValueError("a checksum is wrong")
            if NOTE not in file.namelist():
                raise InvalidInputError(f"{path} is not a model of cayleyklein.")
            version = json.loads(file.read(NOTE))["version"]
            if type(version) is not int or version < 1:
                raise ValueError(f"its version is {version!r}")
            if version != FORMAT_VERSION:
                age = "older"
                remedy = "fit the model again"
                if version > FORMAT_VERSION:
                    age = "newer"
                    remedy = "update cayleyklein"
                reads = f"{FORMAT_VERSION}, which cayleyklein {__version__} reads"
                said = f"{path} has format version {version}, {age} than {reads}"
                raise InvalidInputError(f"{said}; {remedy}.")
            nodes: list[dict[str, Any]] = []  # every object of the schema
            json.loads(file.read("schema.json"), object_hook=nodes.append)
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
    # whole objects share some arrays, which are read as often as they are named
    sizes = {member.filename: member.file_size for member in members}
    named = sum(sizes.get(file, 0) for file in files)
    is_whole = any(name in OBJECTS_IN_FILES.get(loader, ()) for loader, name in found)
    # Arrays of whole objects may take ten times the size of the file when they are read.
    again = named > 10 * len(archive) if is_whole else len(files) != len(set(files))
    if sum(sizes.values()) > len(archive) or again:
        raise InvalidInputError(f"{path} is refused: the same bytes in it are used more than once.")
    for loader, name in sorted(found):
        # a CachedNode refers to a node that is checked where it stands
        if loader != "CachedNode" and name not in ALLOWED.get(loader, ()):
            said = f"it holds {name} ({loader}), which is not a type of a model"
            raise InvalidInputError(f"{path} is refused: {said}. Nothing in it was run.")


def is_plain(value: Any) -> bool:
    """Say whether JSON can hold a value."""
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def parameters_of(model: Any) -> State:
    values: State = model.get_params(deep=False)
    del values["callback"], values["n_jobs"]  # threads belong to the machine
    for name, value in values.items():
        values[name] = value.item() if isinstance(value, np.generic) else value
        if not is_plain(values[name]):
            held = value if isinstance(value, list | tuple) else [value]
            odd = next(each for each in held if not is_plain(each))
            said = f"{name} holds a {type(odd).__name__}, which no file can hold safely"
            remedy = "set it to a number, a text or None before saving."
            raise InvalidInputError(f"{said}; {remedy}")
    return values


def metric_state(metric: Any) -> State:
    kind = type(metric).__name__
    if type(metric) is not METRICS.get(kind, (None, ""))[0]:
        raise InvalidInputError(f"A {kind} cannot be saved in a model.")
    several = METRICS[kind][1]
    parts = metric.metrics if several else [metric]
    return {
        "kind": kind,
        "factors": [np.array(part.factor) for part in parts],
        "centers": [np.array(part.center) for part in parts],
        "curvatures": [float(part.curvature) for part in parts],
        "numbers": np.array(getattr(metric, several)) if several else None,
    }


def metric_part(factor: Any, center: Any, curvature: float) -> CurvedMetric | FormMetric:
    """Return a metric from its arrays: the factor of a FormMetric has one column more."""
    kind = FormMetric if np.shape(factor)[-1] == len(center) + 1 else CurvedMetric
    return kind(factor=factor, center=center, curvature=curvature)


def metric_of(state: State) -> Any:
    """Return a metric from what `metric_state` says of it."""
    columns = zip(state["factors"], state["centers"], state["curvatures"], strict=True)
    parts = [metric_part(L, center, K) for L, center, K in columns]
    kind, several = METRICS[state["kind"]]
    return kind(parts, state["numbers"]) if several else parts[0]


def state_of(model: TableModel) -> State:
    given = model.estimator_.fitted_rows
    is_class = model.task == "class"
    is_kernel = model.is_kernel
    kernel = kernel_state(model.estimator_) if is_kernel else None  # refuses parts by their names
    return {
        "task": model.task,
        "parameters": parameters_of(model),
        "encoder": model.encoder_,
        "metric": None if model.metric_ is None else metric_state(model.metric_),
        "n_neighbors": None if is_kernel else int(model.estimator_.n_neighbors_),
        "kernel": kernel,
        "rows": given.X if is_kernel else given.places,
        "searched": given.searched if is_kernel else None,
        "weights": given.weights if np.ptp(given.weights) else None,
        "targets": np.asarray(given.target, dtype=np.int64 if is_class else np.float64),
        "classes": model.classes_.tolist() if is_class else None,
        "learned": model.learned_,
        "row_numbers": np.asarray(model.row_numbers_),
        "target": getattr(model, "target_", None),
        "target_cells": getattr(model, "target_cells_", CellFormat()),
    }


def model_of(state: State) -> TableModel:
    given = state["parameters"]
    learned = state["metric"]
    kinds: dict[str, type[TableModel]] = {"class": TableClassifier, "number": TableRegressor}
    model = kinds[state["task"]]()
    model.set_params(**{name: given[name] for name in parameters_of(model)})
    encoder = state["encoder"]
    numbers = state["row_numbers"]
    targets = state["targets"]
    metric = None if learned is None else metric_of(learned)
    if not np.isfinite(state["rows"]).all():
        raise InvalidInputError("its rows have gaps")
    if state["task"] == "class":
        targets = np.asarray(state["classes"])[targets]
    if state["kernel"] is None:
        k = state["n_neighbors"]
        voters = model._estimator(model="neighbors", n_neighbors=k, geometry="auto", metric=metric)
        estimator = voters.fit(state["rows"], targets, state["weights"])
    else:
        estimator = model._estimator(model="kernel")
        numeric = state["task"] == "number"
        rows = GivenRows.read(estimator, state["rows"], targets, state["weights"], numeric=numeric)
        rows = replace(rows, searched=state["searched"])
        restore_kernel(estimator, state["kernel"], rows, metric)
    if not isinstance(encoder, TableEncoder):
        raise InvalidInputError("it has no encoder of columns")
    blank = require("pandas", "cli").DataFrame({c.name: [None] for c in encoder.columns_})
    if not hasattr(encoder, "feature_names_in_"):  # fitted on an array
        blank = blank.to_numpy()
    width = encoder.transform(blank).shape[1]
    if not width == encoder.n_features_out_ == estimator.n_features_in_:
        raise InvalidInputError("the width of its rows is not that of its columns")
    if numbers.dtype.kind != "i" or numbers.shape != (estimator.n_samples_fit_,):
        raise InvalidInputError("it does not have one row number for each row")
    estimator.encoder_ = encoder
    estimator.n_features_in_ = encoder.n_features_in_
    if hasattr(encoder, "feature_names_in_"):
        estimator.feature_names_in_ = encoder.feature_names_in_
    entrance.wrap(estimator, type(model).__name__)
    model._take(estimator, dict(state["learned"]), numbers)
    if state["target"] is not None:
        model.target_ = str(state["target"])
    if isinstance(state["target_cells"], CellFormat):
        model.target_cells_ = state["target_cells"]
    return model
