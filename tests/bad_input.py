"""Kinds of bad input, and the check that a public function raises a clear error for each of them.

A folder's ``test_bad_input.py`` names its public functions, each with one valid call. Every
argument has a role (rows, a count, a choice, …). A role has a few kinds of bad value that are
always tried, and more for the samples: 200 lines in all of ``function parameter: kind``, drawn
from a table of all functions and kinds that once was tried in full.
"""

import copy
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from cayleyklein.exceptions import CayleyKleinError


@dataclass(frozen=True)
class Role:
    """A valid value, the bad values by kind, and which of them are always tried."""

    value: Any
    kinds: dict[str, Callable[[Any], Any]]
    always: tuple[str, ...]

    def without(self, *accepted: str) -> "Role":
        """Leave out kinds that are valid here."""
        always = tuple(kind for kind in self.always if kind not in accepted)
        return Role(self.value, self.kinds, always)


@dataclass
class Call:
    """A public function and a valid call of it; `owner` makes the object whose method it is."""

    function: Callable[..., Any] | str
    args: dict[str, Role]
    owner: Callable[[], Any] | None = None
    also_named: tuple[str, ...] = ()
    sample: list[tuple[str, str]] = field(default_factory=list)

    def cases(self) -> Iterator[tuple[str, str]]:
        """Return each parameter with each kind that is tried."""
        yield from self.sample
        for name, role in self.args.items():
            yield from ((name, kind) for kind in role.always if (name, kind) not in self.sample)


def calls(table: dict[str, Call], sample: str) -> list[Any]:
    """Return the calls as parameters of a test, each with its lines of the sample."""
    for line in sample.strip().splitlines():
        where, _, kind = line.partition(": ")
        name, _, parameter = where.partition(" ")
        table[name].sample.append((parameter, kind))
    return [pytest.param(name, call, id=name) for name, call in table.items()]


def check(name: str, call: Call) -> None:
    """Check that each bad value raises an error that names its parameter and changes nothing."""
    faults = [fault for case in call.cases() if (fault := fault_of(call, *case))]
    assert not faults, "\n".join(f"{name}({fault}" for fault in faults)


def fault_of(call: Call, parameter: str, kind: str) -> str:
    """Return what is wrong about the answer to one bad value, or nothing."""
    owner = call.owner() if call.owner else None
    if isinstance(owner, BaseEstimator):
        owner = copy.deepcopy(owner)
    function = getattr(owner, call.function) if isinstance(call.function, str) else call.function
    role = call.args[parameter]
    bad = role.kinds[kind](role.value)
    fitted = vars(owner).items() if isinstance(owner, BaseEstimator) else ()
    state = {key: old for key, old in fitted if key.endswith("_")}
    where = f"{parameter}={kind})"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of few rows, and of few iterations
            result = function(**{name: r.value for name, r in call.args.items()} | {parameter: bad})
            if isinstance(result, Iterator):
                list(result)
    except (CayleyKleinError, OSError) as error:
        names = [parameter, *call.also_named, *(call.args if kind in MISFITS else ())]
        if isinstance(error, OSError):
            names.append(Path(bad).name)
        said = f"{error} {getattr(error, 'filename', '')}"
        if not any(re.search(rf"\b{re.escape(name)}", said) for name in names):
            return f"{where} raised an error that does not name it: {said}"
    except Exception as error:  # noqa: BLE001 - any other type is what is looked for
        return f"{where} raised {type(error).__name__}: {error}"
    else:
        if kind not in EXTREME:
            return f"{where} gave {str(result)[:80]}"
        if any(np.isnan(array).any() for array in arrays_in(result)):
            return f"{where} gave NaN"
        return ""
    if owner is not None and any(vars(owner).get(key) is not old for key, old in state.items()):
        return f"{where} left another state behind"
    return ""


def arrays_in(result: Any) -> Iterator[np.ndarray]:
    """Return the floating-point arrays of a result."""
    if isinstance(result, tuple | list):
        for item in result:
            yield from arrays_in(item)
    elif isinstance(result, np.ndarray | float | complex) and np.asarray(result).dtype.kind in "fc":
        yield np.asarray(result)


# -- arrays ----------------------------------------------------------------------------------


def put(a: np.ndarray, value: Any, dtype: Any = None) -> np.ndarray:
    """Put a value in the place of the last entry."""
    changed = np.array(a, dtype=dtype or a.dtype)
    changed[(-1,) * changed.ndim] = value
    return changed


def put_first(a: np.ndarray, point: Any) -> np.ndarray:
    """Put a point in the place of the first one."""
    changed = a.copy()
    changed.reshape(-1, changed.shape[-1])[0] = point
    return changed


def masked(a: np.ndarray) -> np.ma.MaskedArray:
    """Mask the last entry."""
    return np.ma.array(a, mask=put(np.zeros(a.shape, dtype=bool), True))


def ragged(a: np.ndarray) -> list[Any]:
    """Make the last row shorter than the others."""
    listed = a.tolist()
    return [*listed[:-1], [listed[-1], 1.0] if a.ndim == 1 else listed[-1][:-1]]


def constantly(**values: Any) -> dict[str, Callable[[Any], Any]]:
    """Return kinds that put a fixed value in the place of any other."""
    return {name.replace("_", " "): lambda _, value=value: value for name, value in values.items()}


NOTHING = {"None": lambda _: None, "wrong type": lambda _: object()}

ARRAYS = NOTHING | {
    "a text": lambda a: "rows",
    "a dict": lambda a: {"a": 1.0},
    "strings": lambda a: a.astype(str),
    "object of strings": lambda a: put(a, "x", object),
    "complex": lambda a: a + 1j,
    "dates": lambda a: np.zeros(a.shape, "M8[s]"),
    "NaN": lambda a: put(a, np.nan),
    "inf": lambda a: put(a, -np.inf),
    "masked entry": masked,
    "empty": lambda a: a[:0],
    "ragged": ragged,
    "one number": lambda a: 0.5,
    "one column more": lambda a: np.concatenate([a, a[..., :1]], axis=-1),
    "one column less": lambda a: a[..., :-1],
    "sparse": lambda a: sparse.csr_array(np.atleast_2d(a).reshape(len(a), -1)),
    "one row": lambda a: a[:1],
    "duplicated": lambda a: np.repeat(a, 2, axis=0),
    "one axis": lambda a: a[0],
    "three axes": lambda a: a[None],
    "zeros": np.zeros_like,
    "negative": lambda a: put(a, -1.0),
    "all zero": np.zeros_like,
    "one number more": lambda a: np.append(a, 1.0),
    # of the unit disc in the plane
    "on the boundary": lambda a: put_first(a, [0.6, 0.8]),
    "outside the domain": lambda a: put_first(a, [3.0, -4.0]),
    "all outside": lambda a: np.full(a.shape, 5.0),
    # an answer is right too
    "huge": lambda a: np.sign(a) * 1.5e308,
    "tiny": lambda a: a * 2.0**-1040,
}

EXTREME = ("huge", "tiny")
MISFITS = (
    *EXTREME, "one column more", "one column less", "one label more", "one label less", "one row",
    "duplicated", "one number more",
)  # fmt: skip
"""Kinds that are valid alone, but not beside the other arguments, which the error may name."""


def points(value: Any, *accepted: str, inside: bool = False) -> Role:
    """Points with any leading axes, perhaps inside the unit disc."""
    always = ("NaN", "inf", "strings", "empty", "one column more", "huge", "tiny")
    always += ("outside the domain",) * inside
    return Role(np.asarray(value, dtype=float), ARRAYS, always).without(*accepted)


def rows(value: Any, *accepted: str, inside: bool = False) -> Role:
    """Rows of a matrix."""
    role = points(value, inside=inside)
    return Role(role.value, role.kinds, (*role.always, "three axes")).without(*accepted)


def weights(value: Any) -> Role:
    """One weight for each row."""
    always = ("NaN", "strings", "negative", "all zero", "one number more", "huge")
    return Role(np.asarray(value, dtype=float), ARRAYS, always)


def targets(value: Any) -> Role:
    """One number for each row."""
    return Role(np.asarray(value, float), ARRAYS, ("NaN", "inf", "strings", "one number more"))


def labels(value: Any, *accepted: str) -> Role:
    """One class for each row."""
    kinds = NOTHING | {
        "one label more": lambda a: np.append(a, a[:1]),
        "one label less": lambda a: a[:-1],
        "two columns": lambda a: np.stack([a, a], axis=1),
        "NaN": lambda a: put(np.arange(len(a)) % 2.0, np.nan),
        "missing": lambda a: put(a, None, object),
        "mixed types": lambda a: put(a, 1, object),
        "one class": lambda a: np.full(len(a), a[0]),
        "int64 near 2^63": lambda a: 2**63 - 1 - (np.arange(len(a)) % 2),
    }
    always = ("None", "one label less", "two columns", "NaN", "missing")
    return Role(np.asarray(value), kinds, always).without(*accepted)


# -- single values ---------------------------------------------------------------------------

NUMBERS = NOTHING | constantly(
    a_text="many", a_list=[1.0, 2.0], NaN=np.nan, inf=np.inf, complex=1 + 1j,
)  # fmt: skip
NUMBERS["-inf"] = lambda _: -np.inf


def real(value: float, *wrong: float, accepted: tuple[str, ...] = ()) -> Role:
    """A finite number, and some out of its range."""
    more = {f"out of range: {bad:g}": lambda _, bad=bad: bad for bad in wrong}
    always = ("None", "a text", "NaN", "inf", *more)
    return Role(value, NUMBERS | more, always).without(*accepted)


def count(value: Any, *wrong: Any, accepted: tuple[str, ...] = ()) -> Role:
    """A whole number of at least 1."""
    more = {f"out of range: {bad}": lambda _, bad=bad: bad for bad in wrong}
    kinds = NUMBERS | more | constantly(zero=0, negative=-1, a_fraction=1.5, a_bool=True)
    always = ("None", "a text", "zero", "a fraction", "a bool", *more)
    return Role(value, kinds, always).without(*accepted)


def choice(value: Any, *accepted: str) -> Role:
    """A word of a few."""
    kinds = NOTHING | constantly(another_word="no such", a_list=["flat"], an_array=np.ones(2))
    return Role(value, kinds, ("another word", "None")).without(*accepted)


def thing(value: Any, *accepted: str) -> Role:
    """An object of one class: a metric, a frame, an estimator, a function."""
    kinds = NOTHING | constantly(a_text="metric", a_number=3.0, an_array=np.eye(2))
    return Role(value, kinds, ("None", "a text", "an array")).without(*accepted)


def one_of(value: Any, **wrong: Any) -> Role:
    """A value, and wrong ones by name."""
    kinds = constantly(**wrong)
    return Role(value, kinds, tuple(kinds))


def seed(value: Any = 0) -> Role:
    """A random state."""
    return one_of(value, a_text="seed", a_fraction=0.5, negative=-1)


def jobs(value: Any = None) -> Role:
    """A number of threads or processes."""
    return one_of(value, zero=0, a_text="two", a_fraction=1.5)


def fixed(value: Any = None) -> Role:
    """An argument that takes anything: a flag, a label, a parameter of a protocol."""
    return Role(value, {}, ())


def path(value: Any, *, to_read: bool = False) -> Role:
    """The path of a file."""
    wrong = {"None": None, "a number": 3, "a folder": Path(__file__).parent}
    wrong["in no folder"] = Path("no/such/folder/file.csv")
    if to_read:
        wrong["no such file"] = Path(__file__).with_name("no_such_file.csv")
    return one_of(value, **wrong)


def table(value: pd.DataFrame, *accepted: str) -> Role:
    """A table with named columns."""
    kinds = NOTHING | constantly(an_array=np.eye(2), a_text="table.csv") | {
        "no rows": lambda t: t.iloc[:0],
        "no columns": lambda t: t[[]],
        "a column less": lambda t: t.iloc[:, 1:],
        "a column twice": lambda t: t.iloc[:, [0, *range(t.shape[1])]],
    }  # fmt: skip
    always = ("None", "no rows", "no columns", "a column twice", "a column less")
    return Role(value, kinds, always).without(*accepted)
