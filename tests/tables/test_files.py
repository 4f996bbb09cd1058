"""Saved models come back the same, and nothing else comes back."""

import dataclasses
import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io

from cayleyklein import CurvedLMNN
from cayleyklein.datasets import load_wine
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableClassifier, TableRegressor, load_model, save_model
from cayleyklein.tables._model_files import FORMAT_VERSION

X, Y = load_wine(return_X_y=True)
NOTE = "cayleyklein.json"
TYPES = [
    "cayleyklein.columns.parsing.CellFormat",
    "cayleyklein.columns.column.Column",
    "cayleyklein.columns.encoder.TableEncoder",
    "cayleyklein.columns.gaps.Gaps",
    "numpy.dtype",
]


def table_model(geometry):
    table = pd.DataFrame(X[:, :4].copy(), columns=list("abcd"))  # old pandas writes through
    table["kind"] = np.where(X[:, 4] > 100, "high", "low")
    table.loc[3, "a"] = np.nan
    table.loc[4, "kind"] = None
    return TableClassifier(geometry=geometry).fit(table, np.array(["u", "v", "w"])[Y]), table


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model file, its table, and its header and archive."""
    model, table = table_model("elliptic")
    path = tmp_path_factory.mktemp("models") / "small.ckm"
    save_model(model, path)
    return path, table


def rewrite(path, tmp_path, note=None, archive=None):
    """Write a file with another archive, or another note of its version."""
    source = zipfile.ZipFile(io.BytesIO(path.read_bytes() if archive is None else archive))
    forged = tmp_path / "forged.ckm"
    with zipfile.ZipFile(forged, "w") as target:
        for member in source.infolist():
            if member.filename != NOTE:
                target.writestr(member, source.read(member))
        target.writestr(NOTE, json.dumps({"version": FORMAT_VERSION} | (note or {})))
    return forged


def dicts(schema):
    """Yield every dict in a schema."""
    if isinstance(schema, dict):
        yield schema
    if isinstance(schema, dict | list):
        for item in schema.values() if isinstance(schema, dict) else schema:
            yield from dicts(item)


def reschemed(path, change):
    """Return the archive of a model with another schema."""
    source = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for member in source.infolist():
            data = source.read(member)
            if member.filename == "schema.json":
                data = json.dumps(change(json.loads(data)))
            target.writestr(member.filename, data)
    return buffer.getvalue()


# -- there and back ------------------------------------------------------------------------


@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic", "mixed"])
def test_table_classifier_comes_back(tmp_path, geometry):
    model, table = table_model(geometry)
    model.target_ = "y"
    save_model(model, tmp_path / "model.ckm")
    loaded = load_model(tmp_path / "model.ckm")
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    for found, expected in zip(loaded.kneighbors(table), model.kneighbors(table), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert loaded.metric_ == model.metric_
    assert loaded.learned_ == model.learned_
    assert loaded.encoder_.columns_ == model.encoder_.columns_
    assert loaded.target_ == "y"


def test_a_kernel_machine_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 2)), columns=["u", "v"])
    model = TableRegressor(model="kernel", geometry="flat", random_state=0)
    model.fit(table, table.u * table.v)
    save_model(model, tmp_path / "numbers.ckm")
    again = load_model(tmp_path / "numbers.ckm")
    assert np.array_equal(again.predict(table), model.predict(table))


def test_unfitted_and_unknown_models_are_not_saved(tmp_path):
    path = tmp_path / "model.ckm"
    for model, message in [
        (TableClassifier(), "not fitted"),
        (CurvedLMNN(), "not fitted"),
        ([1.0], "A list cannot be saved"),
    ]:
        with pytest.raises(ValueError, match=message):
            save_model(model, path)
    assert list(tmp_path.iterdir()) == []


def test_parameters_come_back_as_numbers_or_are_refused(small, tmp_path):
    """A grid search sets numbers of NumPy's; a file with a generator could not be loaded again."""
    path = tmp_path / "model.ckm"
    model = load_model(small[0]).set_params(n_neighbors=np.int64(5), random_state=np.uint32(7))
    save_model(model, path)
    assert load_model(path).get_params() == model.get_params()
    path.unlink()
    model.set_params(random_state=np.random.RandomState(0))
    with pytest.raises(InvalidInputError, match="random_state holds a RandomState, which no file"):
        save_model(model, path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "model.ckm"
    path.write_text("before")

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(skops.io, "dump", fail)
    with pytest.raises(KeyboardInterrupt):
        save_model(table_model("flat")[0], path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


# -- damage --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: b"", "is not a model of cayleyklein"),
        (lambda b: b[1:], "is not a model of cayleyklein"),
        (lambda b: b"PK" + b, "is not a model of cayleyklein"),
        (lambda b: b[:-1], "is damaged, and cannot be read"),
        (lambda b: b[:3000], "is damaged, and cannot be read"),
        (lambda b: b[:5000] + bytes([b[5000] ^ 1]) + b[5001:], "is damaged, and cannot be read"),
        (lambda b: b.replace(b'"version"', b'"vErsion"'), "is damaged, and cannot be read"),
    ],
)
def test_damage_is_found(small, tmp_path, damage, message):
    path = tmp_path / "damaged.ckm"
    path.write_bytes(damage(small[0].read_bytes()))
    with pytest.raises(InvalidInputError, match=message):
        load_model(path)


def test_every_changed_byte_is_found(small, tmp_path):
    """Or it changes nothing that is read: no answer is another."""
    content, table = small[0].read_bytes(), small[1]
    expected = load_model(small[0]).predict_proba(table)
    rng, refused, path = np.random.default_rng(0), 0, tmp_path / "damaged.ckm"
    for place in rng.integers(0, len(content), 60):
        changed = bytearray(content)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            found = load_model(path).predict_proba(table)
        except InvalidInputError:
            refused += 1
        else:
            np.testing.assert_array_equal(found, expected)
    assert refused > 50


def test_newer_versions_are_refused(small, tmp_path):
    newer = rewrite(small[0], tmp_path, {"version": FORMAT_VERSION + 1})
    with pytest.raises(InvalidInputError, match=f"newer than {FORMAT_VERSION}.*update cayleyklein"):
        load_model(newer)


def test_older_versions_are_refused(small, tmp_path):
    older = rewrite(small[0], tmp_path, {"version": FORMAT_VERSION - 1})
    with pytest.raises(
        InvalidInputError, match=f"older than {FORMAT_VERSION}.*fit the model again"
    ):
        load_model(older)


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None, float("nan")])
def test_a_version_is_a_whole_number(small, tmp_path, version):
    with pytest.raises(InvalidInputError, match="is damaged, and cannot be read"):
        load_model(rewrite(small[0], tmp_path, {"version": version}))


def test_no_file_and_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        load_model(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        load_model(tmp_path)


# -- malice --------------------------------------------------------------------------------


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


def node(loader, name, content=None, **more):
    module, _, cls = name.rpartition(".")
    return {
        "__loader__": loader,
        "__module__": module,
        "__class__": cls,
        "content": content,
        **more,
    }


def test_a_pickle_is_no_model(tmp_path):
    mark, plain = tmp_path / "mark", tmp_path / "plain.ckm"
    plain.write_bytes(pickle.dumps(Trap(mark)))
    with pytest.raises(InvalidInputError, match="is not a model"):
        load_model(plain)
    assert not mark.exists()


def test_another_archive_is_no_model(tmp_path):
    path = tmp_path / "other.ckm"
    skops.io.dump({"kind": "x"}, path)
    with pytest.raises(InvalidInputError, match="is not a model of cayleyklein"):
        load_model(path)


@pytest.mark.parametrize(
    "evil",
    [
        node("FunctionNode", "os.system"),
        node("TypeNode", "subprocess.Popen"),
        node("ObjectNode", "os._wrap_close"),
        node("ObjectNode", "sklearn.ensemble._forest.RandomForestClassifier"),
        node("ObjectNode", "cayleyklein.experiments._runs.CellStore"),
        node("ObjectNode", "sklearn.preprocessing._function_transformer.FunctionTransformer"),
        node("PartialNode", "functools.partial", {}),
        node("OperatorFuncNode", "operator.methodcaller", {}),
        node("MethodNode", "builtins.function", {}),
        node("ReduceNode", "builtins.eval", {}),
        node("DictNode", "os.environ", {}),
        node("JsonNode", "posix.system", "1"),
        node("NoSuchNode", "builtins.str", "1"),
        node("NdArrayNode", "numpy.memmap", {}),
    ],
    ids=lambda value: value["__loader__"] + " " + value["__class__"],
)
@pytest.mark.parametrize("depth", ["top", "within"])
def test_types_that_no_model_is_made_of_are_refused(small, tmp_path, evil, depth, monkeypatch):
    def change(schema):
        if depth == "top":
            return evil | {"protocol": schema["protocol"]}
        schema["content"]["target"] = evil  # beside the rows
        return schema

    def run(*_, **__):
        raise AssertionError("skops was let at it")

    monkeypatch.setattr(skops.io, "loads", run)
    forged = rewrite(small[0], tmp_path, archive=reschemed(small[0], change))
    with pytest.raises(InvalidInputError, match=r"is refused: it holds .* Nothing in it was run"):
        load_model(forged)


def test_a_skops_file_of_something_else(small, tmp_path):
    forged = rewrite(small[0], tmp_path, archive=skops.io.dumps([1, 2]))
    with pytest.raises(InvalidInputError, match="holds no model that can be used"):
        load_model(forged)


def test_compressed_members_are_refused(small, tmp_path):
    """So that a few bytes cannot unpack to gigabytes."""
    archive = skops.io.dumps(
        {"kind": "x", "rows": np.zeros(10**6)}, compression=zipfile.ZIP_DEFLATED
    )
    assert len(archive) < 20_000
    with pytest.raises(InvalidInputError, match="is compressed"):
        load_model(rewrite(small[0], tmp_path, archive=archive))


def test_bytes_that_are_used_twice_are_refused(small, tmp_path):
    """So that a small file cannot be loaded as many copies of its largest array."""

    def change(schema):
        arrays = [item for item in dicts(schema) if item.get("file")]
        for array in arrays:
            array["file"] = arrays[0]["file"]
        return schema

    with pytest.raises(InvalidInputError, match="used more than once"):
        load_model(rewrite(small[0], tmp_path, archive=reschemed(small[0], change)))


def saved(state, small, tmp_path):
    return rewrite(small[0], tmp_path, archive=skops.io.dumps(state))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("encoder", None),
        ("encoder", {"columns_": []}),
        ("learned", None),
        ("row_numbers", np.zeros(3, dtype=int)),
        ("row_numbers", np.zeros(len(X))),
        ("targets", np.full(len(X), 99)),
        ("targets", np.zeros(len(X))),
        ("targets", np.zeros(3, dtype=int)),
        ("rows", np.full((len(X), 6), np.nan)),
        ("rows", np.zeros((len(X), 2))),
        ("rows", np.array(["a", "b"])),
        ("metric", {}),
        ("metric", {"factor": np.eye(2), "center": np.zeros(2), "curvature": 1.0}),
        ("classes", 3),
        ("parameters", {"n_neighbors": -1}),
    ],
)
def test_wrong_values_are_refused(small, tmp_path, name, value):
    state = skops.io.loads(small[0].read_bytes(), trusted=TYPES)
    state[name] = value
    with pytest.raises(InvalidInputError, match="holds no model that can be used"):
        load_model(saved(state, small, tmp_path))


def test_an_encoder_with_wrong_parts_gives_no_answer(small, tmp_path):
    """Trusted types, put together by a stranger: an error of Python, and no number."""
    state = skops.io.loads(small[0].read_bytes(), trusted=TYPES)
    encoder = state["encoder"]
    encoder.columns_[-1] = dataclasses.replace(encoder.columns_[-1], categories=("one",))
    with pytest.raises(InvalidInputError, match="holds no model that can be used"):
        load_model(saved(state, small, tmp_path))


def rearrayed(path, change):
    """Return the archive of a model with other bytes in the largest of its arrays."""
    source = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    buffer = io.BytesIO()
    arrays = [item for item in source.infolist() if item.filename.endswith(".npy")]
    largest = max(arrays, key=lambda item: item.file_size).filename
    with zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, change(data) if name == largest else data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: data.replace(b"}", b"(", 1),
        lambda data: data.replace(b"'shape': (", b"'shape': (9999999999999,", 1),
        lambda data: data.replace(b"<f8", b"|O8", 1),
        lambda data: pickle.dumps(Trap("mark")),
    ],
    ids=["empty", "cut", "header", "more than memory", "objects", "pickle"],
)
def test_arrays_that_are_none_are_refused(small, tmp_path, change, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forged = rewrite(small[0], tmp_path, archive=rearrayed(small[0], change))
    with pytest.raises(InvalidInputError, match="holds no model that can be used"):
        load_model(forged)
    assert not (tmp_path / "mark").exists()
