"""What is thrown at every door that strangers can reach, and what may come back.

Each target is a strategy of cases and a function that runs one. A case is answered, or refused by
an error of the library's own; anything else that is raised is a find, and so is a case that takes
longer than `PATIENCE`. ``test_fuzz.py`` runs some of each; ``make fuzz`` runs them
for as long as it is told.
"""

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import signal
import sys
import tempfile
import warnings
import zipfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from cayleyklein.app._learn import LearnState
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._session import PlaneSession, run_command
from cayleyklein.app._state import PlaneState
from cayleyklein.app._tables import prepare, read_source
from cayleyklein.app._tools import TOOLS
from cayleyklein.cli import main
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.tables import (
    TableClassifier,
    TableRegressor,
    iter_table,
    load_model,
    read_table,
    save_model,
)
from cayleyklein.tables import _model_files as files

PATIENCE = 60
"""Seconds after which a case counts as hanging."""

FOLDER = Path(tempfile.mkdtemp(prefix="cayleyklein-fuzz-"))


@contextlib.contextmanager
def patience():
    """Raise in a case that hangs."""

    def give_up(*_):
        raise TimeoutError(f"This case takes longer than {PATIENCE} s.")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def answered(function, *arguments, **named):
    """Return what a function says, or None where it refuses in the library's own words."""
    with patience(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments, **named)
        except CayleyKleinError as refusal:
            said = str(refusal)
    assert said.strip(), "a refusal says why"
    return None


# -- bytes, changed ------------------------------------------------------------------------

edits = st.lists(
    st.tuples(
        st.sampled_from(["flip", "set", "cut", "insert", "repeat", "truncate"]),
        st.floats(0, 1),
        st.binary(min_size=1, max_size=8),
    ),
    max_size=6,
)


def edited(content, changes):
    """Apply changes to bytes, each at a part of the way."""
    content = bytearray(content)
    for kind, where, value in changes:
        at = int(where * max(len(content) - 1, 0))
        if kind == "flip" and content:
            content[at] ^= 1 << value[0] % 8
        elif kind == "set":
            content[at : at + len(value)] = value
        elif kind == "cut":
            del content[at : at + value[0]]
        elif kind == "insert":
            content[at:at] = value
        elif kind == "repeat":
            content[at:at] = content[at : at + 16] * value[0]
        else:
            del content[at:]
    return bytes(content)


# -- tables --------------------------------------------------------------------------------

PLAIN = 'length,colour,"a ""b""",n\n1.5,blue,x,1\n,red,"y,\nz",2\n-3e8,blue,?,3\n1,NA,x,4\n'
GERMAN = "länge;farbe;n\n1,5;blau;1\n2,5;rot;2\n;rot;3\n"


def packed(text):
    """The same table in every dress."""
    data = text.encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("table.csv", data)
    frame, parquet, workbook = pd.read_csv(io.StringIO(PLAIN)), io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet)
    frame.to_excel(workbook, index=False)
    return [
        data,
        gzip.compress(data),
        bz2.compress(data),
        lzma.compress(data),
        archive.getvalue(),
        parquet.getvalue(),
        workbook.getvalue(),
        frame.to_json(orient="records", lines=True).encode(),
        frame.to_json(orient="records").encode(),
        text.encode("utf-16"),
        b"\xef\xbb\xbf" + data,
    ]


cells = st.one_of(
    st.text('ab,;|\t"\r\n 019.-+eé?', max_size=6),
    st.sampled_from(["", "NaN", "inf", "1e999", "-0", "0x1p3", "TRUE", "'", "\ufeff", "1_0"]),
    st.text(max_size=4),
)
wild_tables = st.lists(st.lists(cells, min_size=1, max_size=5), min_size=1, max_size=8).flatmap(
    lambda rows: st.sampled_from(",;\t|").map(
        lambda mark: "\n".join(mark.join(row) for row in rows)
    )
)
table_bytes = st.one_of(
    st.tuples(st.sampled_from([*packed(PLAIN), *packed(GERMAN)]), edits).map(lambda c: edited(*c)),
    wild_tables.map(lambda text: text.encode("utf-8", "surrogatepass")),
    wild_tables.flatmap(lambda text: st.sampled_from(packed_wild(text))),
    st.binary(max_size=200),
)


def packed_wild(text):
    data = text.encode("utf-8", "replace")
    return [gzip.compress(data), lzma.compress(data), text.encode("utf-16", "replace")]


tables = st.tuples(
    table_bytes,
    st.sampled_from([None, None, None, ",", ";", "\t", "tab", "", "::", '"', "é"]),
    st.sampled_from([None, None, None, "latin-1", "utf-16", "utf-8", "no-such", "utf-7", "idna"]),
)


def try_table(case):
    content, delimiter, encoding = case
    path = FOLDER / "table.any"
    path.write_bytes(content)
    given = {"delimiter": delimiter, "encoding": encoding}
    whole = answered(read_table, path, **given)
    pieces = answered(lambda: [len(piece) for piece in iter_table(path, **given)])
    if whole is not None:
        assert sum(pieces) == len(whole) > 0
        assert all(t.kind in "fMOU" for t in whole.dtypes)


# -- models --------------------------------------------------------------------------------


def small_models():
    """Return rows, and model files of neighbours and kernel machines, of classes and numbers."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(12, 2)), columns=["a", "b"])
    table["kind"] = pd.Categorical(["u", "v", None] * 4)
    given = [
        (TableClassifier(geometry="elliptic"), np.array(["x", "y"] * 6)),
        (TableClassifier(geometry="flat", model="kernel"), np.array(["x", "y"] * 6)),
        (TableRegressor(geometry="flat"), rng.normal(size=12)),
        (TableRegressor(geometry="flat", model="kernel"), rng.normal(size=12)),
    ]
    contents = []
    for model, target in given:
        path = FOLDER / "seed.ckm"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            save_model(model.fit(table, target), path)
        contents.append(path.read_bytes())
    return table, contents


def dicts(value):
    """Return the objects within a JSON value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [each for part in inner for each in dicts(part)]
    return [value, *found] if isinstance(value, dict) else found


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


ROWS, MODELS = small_models()
MEMBERS = [members_of(content) for content in MODELS]
NODES = max(len(dicts(json.loads(each["schema.json"]))) for each in MEMBERS)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["1", '"a"', "NaN", "null", "[1]", "numpy", "builtins", "os", "system"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
NAMES = [
    *("FunctionNode", "TypeNode", "ObjectNode", "PartialNode", "ReduceNode", "MethodNode"),
    *("OperatorFuncNode", "CachedNode", "JsonNode", "DictNode", "ListNode", "TupleNode"),
    *("NdArrayNode", "SliceNode", "BytesNode", "RandomStateNode", "SetNode", "DefaultDictNode"),
]
types = st.sampled_from(
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("subprocess", "Popen"),
        ("numpy", "ndarray"),
        ("builtins", "str"),
        ("builtins", "dict"),
        ("functools", "partial"),
        ("sklearn.svm", "SVC"),
    ]
)
schema_edits = st.lists(
    st.tuples(
        st.integers(0, NODES - 1),
        st.one_of(
            st.tuples(st.just("type"), st.sampled_from(NAMES), types),
            st.tuples(st.just("drop"), st.integers(0, 9), st.none()),
            st.tuples(st.just("set"), st.integers(0, 9), values),
            st.tuples(st.just("share"), st.integers(0, NODES - 1), st.none()),
        ),
    ),
    max_size=4,
)
models = st.tuples(
    st.integers(0, len(MODELS) - 1),
    st.sampled_from(["file", "schema", "schema", "arrays", "note"]),
    edits,
    schema_edits,
    st.dictionaries(st.sampled_from(["version", "cayleyklein", "x"]), values, max_size=2),
    st.sampled_from([zipfile.ZIP_STORED] * 4 + [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]),
)


def with_schema_edits(content, changes):
    schema = json.loads(content)
    nodes = dicts(schema)
    for number, (kind, what, value) in changes:
        node = nodes[number % len(nodes)]
        keys = sorted(node)
        if kind == "type":
            node |= {"__loader__": what, "__module__": value[0], "__class__": value[1]}
        elif kind == "share" and node is not (other := nodes[what % len(nodes)]):
            node.clear()
            node.update({k: v for k, v in other.items() if not isinstance(v, dict | list)})
        elif keys and kind == "drop":
            node.pop(keys[what % len(keys)])
        elif keys:
            node[keys[what % len(keys)]] = value
    return schema


def forged(case):
    """A model file with something wrong in it, and most often checksums that are right."""
    which, where, changes, schema_changes, note, compression = case
    if where == "file":
        return edited(MODELS[which], changes)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as target:
        for name, data in MEMBERS[which].items():
            if name == "schema.json" and where == "schema":
                data = json.dumps(with_schema_edits(data, schema_changes)).encode()
            elif name == files.NOTE and where == "note":
                data = json.dumps(json.loads(data) | note).encode()
            elif where == "arrays":
                data = edited(data, changes)
            target.writestr(name, data)
    return buffer.getvalue()


FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class"),
    *("socket.connect", "os.remove", "os.rename", "shutil.rmtree", "ctypes.dlopen"),
)
watched: list[str] = []
watching = False


def watch(event, _):
    if watching and event in FORBIDDEN:
        watched.append(event)


sys.addaudithook(watch)


@cache
def load_compiled_code():
    """Load the models as they are: Numba reads its cache, by pickle, when it first needs it."""
    path = FOLDER / "whole.ckm"
    for content in MODELS:
        path.write_bytes(content)
        load_model(path).predict(ROWS)


def try_model(case):
    global watching
    load_compiled_code()
    path = FOLDER / "forged.ckm"
    path.write_bytes(forged(case))
    watching = True
    try:
        model = answered(load_model, path)
    finally:
        watching = False
    assert not watched, f"a file had {watched} done"
    if model is not None:
        answered(model.predict, ROWS)


# -- the command ---------------------------------------------------------------------------

WORDS = [
    *("fit", "predict", "evaluate", "info", "neighbors", "curvature", "datasets", "no-such"),
    *("-o", "--output", "-t", "--target", "-k", "--neighbors", "-g", "--geometry", "--drop"),
    *("--subsample", "--seed", "--jobs", "--encoding", "--delimiter", "--proba", "--json", "-q"),
    *("-v", "--picture", "--shape", "--rows", "--help", "--version", "--"),
    *("table.csv", "text.csv", "empty.csv", "model.ckm", "broken.ckm", ".", "nothing", "out.ckm"),
    *("out.csv", "out.svg", "out.parquet", "no/such/out.csv", "a", "b", "kind", "c", "y"),
    *("0", "1", "3", "-1", "1e9", "nan", "inf", "999999999999", "", "é", "flat", "elliptic", "\0"),
    *(
        "table.xlsx",
        "table.jsonl",
        "number.ckm",
        "out.xlsx",
        "--task",
        "class",
        "number",
        "--model",
    ),
    *("kernel", "neighbors", "--skip-rows", "--as", "a=category", "--level", "0.9", "--explain"),
    *("hyperbolic", "mixed", "latin-1", ";", "-0.01", "\udcff", "--seed=-1", "-k2"),
]
lines = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=9),
    st.lists(st.sampled_from(WORDS), max_size=4).map(
        lambda more: ["fit", "table.csv", "-t", "y", "-o", "out.ckm", *more]
    ),
    st.lists(st.sampled_from(WORDS), max_size=4).map(lambda m: ["predict", "model.ckm", *m]),
    st.lists(st.sampled_from(WORDS), max_size=4).map(lambda m: ["evaluate", "number.ckm", *m]),
    st.lists(st.sampled_from(WORDS), max_size=3).map(
        lambda m: ["curvature", "table.csv", "-t", "y", *m]
    ),
    st.lists(st.sampled_from(WORDS), max_size=4).map(
        lambda m: ["neighbors", "model.ckm", "table.csv", *m]
    ),
    st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=6),
)


def kitchen():
    """A folder of files that commands can be given."""
    folder = FOLDER / "kitchen"
    if not folder.exists():
        folder.mkdir()
        table = ROWS.assign(y=["u", "v"] * 6)
        table.to_csv(folder / "table.csv", index=False)
        (folder / "text.csv").write_text("a,b,kind\nx,y,z\n")
        (folder / "empty.csv").write_text("")
        (folder / "model.ckm").write_bytes(MODELS[0])
        (folder / "number.ckm").write_bytes(MODELS[3])
        (folder / "broken.ckm").write_bytes(MODELS[0][:1000])
        table.to_excel(folder / "table.xlsx", index=False)
        table.to_json(folder / "table.jsonl", orient="records", lines=True)
    return folder


GIVEN = ("table.csv", "text.csv", "empty.csv", "table.xlsx", "table.jsonl")
GIVEN += ("model.ckm", "number.ckm", "broken.ckm")


def try_line(arguments):
    # These serve, compute for minutes or fill folders; how they read a line is the same.
    if {"explore", "reproduce", "figures", "compare"} & set(arguments):
        return
    before, folder = Path.cwd(), kitchen()
    named = {after for word, after in pairwise(arguments) if word in ("-o", "--output")}
    contents = {name: (folder / name).read_bytes() for name in GIVEN}
    out, err = io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), patience():
            code = main(list(arguments))
    finally:
        os.chdir(before)
    assert code in (0, 1, 2), code
    assert (code == 0) or err.getvalue().strip(), "a failure says why"
    for sign in ("an unexpected", "Traceback"):
        assert sign not in err.getvalue(), err.getvalue()
    left = {path.name for path in folder.iterdir()} - set(GIVEN)
    assert not {name for name in left if ".part" in name}, left
    for name, content in contents.items():
        if name in named:  # to be overwritten, as was asked
            (folder / name).write_bytes(content)
        assert (folder / name).read_bytes() == content, f"{name} was touched"
    for name in left:
        (folder / name).unlink()


# -- the explorer --------------------------------------------------------------------------

uploads = st.tuples(
    st.one_of(
        wild_tables,
        st.text(max_size=80),
        st.tuples(st.just(b"a,b,class\n1,2,x\n3,4,y\n5,6,x\n0,1,y\n" * 2), edits).map(
            lambda c: bytes(edited(*c))
        ),
        # now and then more than is read
        st.integers(0, 20).map(lambda n: "1,2,x\n" * (LIMITS.table_bytes // 5 if n == 20 else n)),
    ),
    st.text(max_size=40),
)


def try_upload(case):
    def read(text, name):
        content = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        source = read_source(content, name)
        return prepare(source, source.target)

    table = answered(read, *case)
    if table is not None:
        assert np.isfinite(table.X).all()
        assert len(table.X) == len(table.y)
        if table.is_regression:  # of equal numbers some range is empty
            assert set(table.y.tolist()) <= set(range(len(table.classes)))
        else:
            assert set(table.y.tolist()) == set(range(len(table.classes)))


numbers = st.one_of(
    st.floats().map(repr),
    st.integers(-3, 400).map(str),
    st.sampled_from(["", "nan", "1e400", "-0", "٣", "1_0", " 1", "0x1", "²", "1,2", "1,2,3;4"]),
    st.floats(-2, 2).map(lambda v: f"{v:.3f}"),
)
points = st.lists(
    st.tuples(st.floats(-25, 25), st.floats(-25, 25), st.integers(-1, 4)), max_size=12
).map(lambda rows: ";".join(f"{x:.4g},{y:.4g},{c}" for x, y, c in rows))
objects = st.lists(
    st.tuples(
        st.sampled_from([*TOOLS, "x"]),
        st.sampled_from("ABCabc"),
        st.sampled_from(["", "A", "A.B", "A.B.C", "a.A", "A.a", "a.b"]),
        st.sampled_from(["ink", "gold", "x"]),
        st.sampled_from("01"),
        st.integers(-1, 4).map(str),
    ).map(",".join),
    max_size=6,
).map(lambda made: ";".join(["point,A,,ink,0,0;point,B,,ink,0,1;line,a,A.B,ink,0,0", *made]))
PARTS = ["curvature", "radius", "center_x", "center_y", "major", "minor", "angle", "order", "pen"]
queries = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(PARTS, numbers),
            "chart": st.sampled_from(["klein", "poincare", "half-plane", "hemisphere", "x"]),
            "shown": st.lists(
                st.sampled_from(
                    ["cells", "regions", "delaunay", "geodesics", "bisector", "balls", "conic", "x"]
                )
            ).map(",".join),
            "chosen": st.tuples(numbers, numbers).map(",".join),
            "points": points | st.text("0123456789.,;-eE ", max_size=30),
            "objects": objects,
            "tiling": st.lists(numbers, max_size=8).map(",".join)
            | st.sampled_from(["7,3,2,0.6", "4,4,2,0.5", "3,5,3,1.3,0.1,0.2,30"]),
            **dict.fromkeys(("data", "plane", "x", "y", "geometry", "neighbors"), numbers),
        },
    ),
    st.dictionaries(st.text(max_size=8), st.text(max_size=12), max_size=4),
)
ACTIONS = [name.removeprefix("do_") for name in dir(PlaneSession) if name.startswith("do_")]
PLACES = ("x", "y", "by", "dx", "dy", "view", "index", "turn", "tilt", "n", "seed")
PLACES += ("reach", "p", "q", "depth", "edge", "sheet")
commands = st.lists(
    st.fixed_dictionaries(
        {"do": st.sampled_from(ACTIONS) | values},
        optional={
            "name": st.sampled_from([*PARTS, *TOOLS, "move", "chart", "A", "a", "x"]) | values,
            "part": st.sampled_from(["name", "color", "hidden", "value"]),
            "begin": st.booleans(),
            "value": st.floats(-2, 2) | st.booleans() | values,
            "values": st.dictionaries(st.sampled_from([*PARTS, "chart", "shown"]), values) | values,
            **{name: st.floats(-2, 2) | values for name in PLACES},
        },
    ),
    max_size=6,
)


def try_address(case):
    parts, orders = case
    query = urlencode(parts, errors="replace")
    answered(LearnState.from_query, query)
    state = answered(PlaneState.from_query, query)
    if state is None:
        return
    assert PlaneState.from_query(state.query) == state
    session = PlaneSession(state.query)
    for order in orders:
        answered(run_command, session, order)
    assert session.answer()


TARGETS = {
    "tables": (tables, try_table),
    "models": (models, try_model),
    "command lines": (lines, try_line),
    "uploads": (uploads, try_upload),
    "addresses": (st.tuples(queries, commands), try_address),
}
