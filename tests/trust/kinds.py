"""Kinds of bad input: what is done to one argument of a valid call, and what must come of it.

A rule is one of

- ``same``: the result of the valid call, to the last bit (of its precision);
- ``works``: a result without NaN;
- ``refused``: an error of the right type that names the parameter, and no trace left;
- ``either``: one of the last two, and nothing third.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

SAME, WORKS, REFUSED, EITHER = "same", "works", "refused", "either"

NEAR_2_63 = 2**63 - 1


@dataclass(frozen=True)
class Kind:
    """One kind of input: how to make it of a valid value, and the rule."""

    name: str
    change: Callable[[Any], Any]
    rule: str


@dataclass(frozen=True)
class Role:
    """What a parameter is: a valid value, the kinds to try in its place, and exceptions."""

    value: Any
    kinds: tuple[Kind, ...]
    exceptions: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Kind]:
        unknown = set(self.exceptions) - {kind.name for kind in self.kinds}
        assert not unknown, f"no such kind: {unknown}"
        for kind in self.kinds:
            rule = self.exceptions.get(kind.name, kind.rule)
            if rule != "skip":
                yield Kind(kind.name, kind.change, rule)


# -- arrays ---------------------------------------------------------------------------------


def read_only(a: np.ndarray) -> np.ndarray:
    copy = a.copy()
    copy.setflags(write=False)
    return copy


def strided(a: np.ndarray) -> np.ndarray:
    wide = np.full((*a.shape[:-1], 2 * a.shape[-1]), 7, dtype=a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def put(a: np.ndarray, value: Any, dtype: Any = None) -> np.ndarray:
    """Put a value in the place of the last entry."""
    copy = np.array(a, dtype=dtype or a.dtype)
    copy[(-1,) * copy.ndim] = value
    return copy


def masked(a: np.ndarray) -> np.ma.MaskedArray:
    mask = np.zeros(a.shape, dtype=bool)
    mask[(-1,) * a.ndim] = True
    return np.ma.array(a, mask=mask)


def ragged(a: np.ndarray) -> list[Any]:
    listed = a.tolist()
    return [*listed[:-1], [listed[-1], 1.0]] if a.ndim == 1 else [*listed[:-1], listed[-1][:-1]]


def constant(a: np.ndarray) -> np.ndarray:
    return np.broadcast_to(a[:1], a.shape).copy()


LAYOUTS = (
    Kind("read-only", read_only, SAME),
    Kind("Fortran order", np.asfortranarray, SAME),
    Kind("non-contiguous", strided, SAME),
    Kind("negative strides", lambda a: a[..., ::-1].copy()[..., ::-1], SAME),
    Kind("list", lambda a: a.tolist(), SAME),
    Kind("swapped bytes", lambda a: a.astype(">f8"), SAME),
    Kind("longdouble", lambda a: a.astype(np.longdouble), SAME),
    Kind("float32", lambda a: a.astype(np.float32), SAME),
    Kind("float16", lambda a: a.astype(np.float16), SAME),
    Kind("object of numbers", lambda a: a.astype(object), SAME),
    Kind("masked, no entry", np.ma.array, SAME),
)

WRONG = (
    Kind("wrong type", lambda a: object(), REFUSED),
    Kind("None", lambda a: None, REFUSED),
    Kind("a text", lambda a: "rows", REFUSED),
    Kind("a dict", lambda a: {"a": 1.0}, REFUSED),
    Kind("strings", lambda a: a.astype(str), REFUSED),
    Kind("object of strings", lambda a: put(a, "x", object), REFUSED),
    Kind("complex", lambda a: a + 1j, REFUSED),
    Kind("dates", lambda a: np.zeros(a.shape, "M8[s]"), REFUSED),
    Kind("NaN", lambda a: put(a, np.nan), REFUSED),
    Kind("inf", lambda a: put(a, -np.inf), REFUSED),
    Kind("masked entry", masked, REFUSED),
    Kind("empty", lambda a: a[:0], REFUSED),
    Kind("ragged", ragged, REFUSED),
    Kind("one number", lambda a: 0.5, REFUSED),
    Kind("one column more", lambda a: np.concatenate([a, a[..., :1]], axis=-1), REFUSED),
    Kind("one column less", lambda a: a[..., :-1], REFUSED),
)

SPARSE = (
    Kind("sparse", lambda a: sparse.csr_array(np.atleast_2d(a).reshape(len(a), -1)), REFUSED),
)

EXTREME = (
    Kind("huge", lambda a: np.sign(a) * 1.5e308, EITHER),
    Kind("large", lambda a: a * 1e160, EITHER),
    Kind("tiny", lambda a: a * 2.0**-1040, EITHER),
    Kind("zeros", np.zeros_like, EITHER),
    Kind("int64 near 2^63", lambda a: np.full(a.shape, NEAR_2_63) - (a > 0), EITHER),
    Kind("int64 least", lambda a: np.full(a.shape, -NEAR_2_63 - 1), EITHER),
    Kind("constant", constant, EITHER),
)

BY_ROWS = (
    Kind("one row", lambda a: a[:1], EITHER),
    Kind("duplicated", lambda a: np.repeat(a, 2, axis=0), EITHER),
    Kind("one axis", lambda a: a[0], REFUSED),
    Kind("three axes", lambda a: a[None], REFUSED),
    Kind("DataFrame", pd.DataFrame, SAME),
)


def where(**rules: str) -> dict[str, str]:
    """Write exceptions by kind; an underscore stands for a space, and NONE for None."""
    return {"None" if k == "NONE" else k.replace("_", " "): rule for k, rule in rules.items()}


def points(value: Any, outside: str | None = None, **rules: str) -> Role:
    """Points with any leading axes; `outside` is the rule for those beyond the disc."""
    kinds = (*LAYOUTS, *WRONG, *SPARSE, *EXTREME, *domain(outside))
    return Role(np.asarray(value, dtype=float), kinds, where(**rules))


def rows(value: Any, outside: str | None = None, **rules: str) -> Role:
    """Rows of a matrix."""
    kinds = (*LAYOUTS, *WRONG, *SPARSE, *EXTREME, *BY_ROWS, *domain(outside))
    return Role(np.asarray(value, dtype=float), kinds, where(**rules))


def domain(rule: str | None) -> tuple[Kind, ...]:
    """Points on and outside the boundary of the tests' disc, the unit disc in the plane."""
    if rule is None:
        return ()
    return (
        Kind("on the boundary", lambda a: put_first(a, [0.6, 0.8]), rule),
        Kind("outside the domain", lambda a: put_first(a, [3.0, -4.0]), rule),
        Kind("all outside", lambda a: np.full(a.shape, 5.0), rule),
    )


def put_first(a: np.ndarray, point: Any) -> np.ndarray:
    copy = a.copy()
    copy.reshape(-1, copy.shape[-1])[0] = point
    return copy


ARRAY_KINDS = (
    *(kind.name for kind in (*LAYOUTS, *WRONG, *SPARSE, *EXTREME, *BY_ROWS, *domain(EITHER))),
    "negative",
    "all zero",
    "one number more",
)
"""The kinds of arrays, in the order in which the documentation shows them."""


def vector(value: Any, **rules: str) -> Role:
    """Numbers in a row, as many as there must be."""
    rules = {"Fortran_order": "skip"} | rules
    return Role(np.asarray(value, float), (*LAYOUTS, *WRONG, *SPARSE, *EXTREME), where(**rules))


def weights(value: Any) -> Role:
    """One weight for each row."""
    more = (
        Kind("negative", lambda a: put(a, -1.0), REFUSED),
        Kind("all zero", np.zeros_like, REFUSED),
    )
    kinds = tuple(kind for kind in (*LAYOUTS, *WRONG, *SPARSE) if kind.name != "None")
    return Role(np.asarray(value, dtype=float), (*kinds, *more), where(one_number=EITHER))


def labels(value: Any, *, one_class: str = REFUSED, **rules: str) -> Role:
    """One class for each row."""
    kinds = (
        Kind("read-only", read_only, SAME),
        Kind("non-contiguous", strided, SAME),
        Kind("negative strides", lambda a: a[::-1].copy()[::-1], SAME),
        Kind("list", lambda a: a.tolist(), SAME),
        Kind("object of strings", lambda a: a.astype(object), SAME),
        Kind("masked, no entry", np.ma.array, SAME),
        Kind("wrong type", lambda a: object(), REFUSED),
        Kind("a text", lambda a: "classes", REFUSED),
        Kind("None", lambda a: None, REFUSED),
        Kind("empty", lambda a: a[:0], REFUSED),
        Kind("one label more", lambda a: np.append(a, a[:1]), REFUSED),
        Kind("one label less", lambda a: a[:-1], REFUSED),
        Kind("one number", lambda a: 1, REFUSED),
        Kind("three axes", lambda a: np.stack([a, a], axis=1)[None], REFUSED),
        Kind("two columns", lambda a: np.stack([a, a], axis=1), REFUSED),
        Kind("masked entry", masked, REFUSED),
        Kind("sparse", lambda a: sparse.csr_array(np.ones((len(a), 1))), REFUSED),
        Kind("NaN", lambda a: put(np.arange(len(a)) % 2.0, np.nan), REFUSED),
        Kind("inf", lambda a: put(np.arange(len(a)) % 2.0, np.inf), REFUSED),
        Kind("missing", lambda a: put(a, None, object), REFUSED),
        Kind("mixed types", lambda a: put(a, 1, object), REFUSED),
        Kind("complex", lambda a: (np.arange(len(a)) % 2) + 1j, REFUSED),
        Kind("one class", lambda a: np.full(len(a), a[0]), one_class),
        Kind("int64 near 2^63", lambda a: NEAR_2_63 - (np.arange(len(a)) % 2), WORKS),
    )
    return Role(np.asarray(value), kinds, where(**rules))


def targets(value: Any) -> Role:
    """One number for each row."""
    kinds = [k for k in (*LAYOUTS, *WRONG, *SPARSE) if "column" not in k.name]
    more = (
        Kind("one number more", lambda a: np.append(a, 1.0), REFUSED),
        Kind("int64 near 2^63", lambda a: np.full(a.shape, NEAR_2_63), WORKS),
    )
    return Role(np.asarray(value, dtype=float), (*kinds, *more))


# -- single values --------------------------------------------------------------------------


def given(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


NO_NUMBERS = (
    Kind("wrong type", given(object()), REFUSED),
    Kind("a text", given("many"), REFUSED),
    Kind("None", given(None), REFUSED),
    Kind("a list", given([1.0, 2.0]), REFUSED),
    Kind("NaN", given(np.nan), REFUSED),
    Kind("inf", given(np.inf), REFUSED),
    Kind("-inf", given(-np.inf), REFUSED),
    Kind("complex", given(1 + 1j), REFUSED),
)


def one_of(value: Any, wrong: dict[str, Any], base: tuple[Kind, ...], **rules: str) -> Role:
    """A value of base kinds, and wrong values by their names."""
    more = tuple(Kind(name, given(bad), REFUSED) for name, bad in wrong.items())
    return Role(value, (*base, *more), where(**rules))


def real(value: float, *wrong: float, **rules: str) -> Role:
    """A finite number, and some that are out of its range."""
    named = {f"out of range: {bad:g}": bad for bad in wrong}
    return one_of(value, named, NO_NUMBERS, **rules)


def count(value: Any, *wrong: Any, **rules: str) -> Role:
    """A whole number of at least 1."""
    named = {"zero": 0, "negative": -1, "a fraction": 1.5, "a bool": True}
    named |= {f"out of range: {bad}": bad for bad in wrong}
    return one_of(value, named, NO_NUMBERS, **rules)


def choice(value: Any, **rules: str) -> Role:
    """A word of a few."""
    wrong = {"another word": "no such", "wrong type": 3, "a list": ["flat"], "an array": np.ones(2)}
    return one_of(value, wrong | {"NaN": np.nan}, (Kind("None", given(None), REFUSED),), **rules)


def thing(value: Any, **rules: str) -> Role:
    """An object of one class: a metric, a frame, an estimator, a function."""
    wrong = {"wrong type": object(), "a text": "metric", "a number": 3.0, "an array": np.eye(2)}
    return one_of(value, wrong, (Kind("None", given(None), REFUSED),), **rules)


def flag(value: bool = False) -> Role:
    """Yes or no, which like everywhere in Python any value answers."""
    return Role(value, ())


def seed(value: Any = 0) -> Role:
    """A random state."""
    wrong = {"a text": "seed", "a fraction": 0.5, "negative": -1, "wrong type": object()}
    return one_of(value, wrong | {"NaN": np.nan}, ())


def jobs(value: Any = None) -> Role:
    """A number of threads or processes."""
    wrong = {"zero": 0, "a text": "two", "a fraction": 1.5, "NaN": np.nan, "wrong type": object()}
    return one_of(value, wrong | {"a list": [1]}, ())


def ignored(value: Any = None) -> Role:
    """A parameter that is there for the sake of a protocol and not looked at."""
    return Role(value, ())


def path(value: Any, *, to_read: bool, **rules: str) -> Role:
    """The path of a file."""
    wrong: dict[str, Any] = {"None": None, "a number": 3, "wrong type": object(), "a list": ["x"]}
    wrong |= {"a folder": Path(__file__).parent, "in no folder": Path("no/such/folder/file.csv")}
    if to_read:
        wrong["no such file"] = Path(__file__).with_name("no_such_file.csv")
    return one_of(value, wrong, (), **rules)


def table(value: pd.DataFrame, **rules: str) -> Role:
    """A table with named columns."""
    wrong = {"wrong type": object(), "None": None, "an array": np.eye(2), "a text": "table.csv"}
    more = (
        Kind("no rows", lambda t: t.iloc[:0], REFUSED),
        Kind("no columns", lambda t: t[[]], REFUSED),
        Kind("a column less", lambda t: t.iloc[:, 1:], REFUSED),
        Kind("columns in another order", lambda t: t.iloc[:, ::-1], SAME),
        Kind("a column twice", lambda t: t.iloc[:, [0, *range(t.shape[1])]], REFUSED),
        Kind("sparse", lambda t: sparse.csr_array(np.eye(2)), REFUSED),
        Kind("missing values", lambda t: t.mask(np.eye(*t.shape, dtype=bool)), WORKS),
        Kind("a column of objects", lambda t: t.assign(length=t["length"].astype(object)), SAME),
        Kind("read-only", lambda t: pd.DataFrame({c: read_only(t[c].to_numpy()) for c in t}), SAME),
    )
    return one_of(value, wrong, more, **rules)
