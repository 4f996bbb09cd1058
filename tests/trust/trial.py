"""Call an entrance with one kind of input, and hold what happens to the rule for it."""

from __future__ import annotations

import copy
import functools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator
from tests.trust.entrances import Case, Entrance
from tests.trust.global_state import snapshot
from tests.trust.kinds import EITHER, REFUSED, SAME
from tests.trust.values import QUERIES

from cayleyklein.exceptions import CayleyKleinError

HARMLESS = (UserWarning,)
"""Warnings to users: of limits, of small classes. A RuntimeWarning is never one."""

SINGLE = ("float32", "float16")
"""Kinds whose answers are rounded to single precision."""


MISFITS = (
    "one column more", "one column less", "one label more", "one label less", "one row",
    "duplicated", "one number more",
)  # fmt: skip
"""Kinds that are right by themselves, but not beside the other arguments."""


class Outcome(NamedTuple):
    """What happened: "same", "works" or "refused".

    And then by which error, in which words, and whether these quote another library.
    """

    what: str
    error: str = ""
    message: str = ""
    quotes: bool = False


class Broken(AssertionError):
    """A rule does not hold."""


def attempt(case: Case) -> Outcome:
    """Try one case; raise `Broken` where the rule does not hold."""
    entrance, name, kind = case
    owner, args = prepared(entrance)
    args[name] = kind.change(entrance.args[name].value)
    given, state, before = fingerprint(args[name]), state_of(owner), snapshot()
    try:
        result = run(entrance, owner, args)
    except Exception as error:  # noqa: BLE001 - which it is, is the question
        outcome = judge_error(case, error)
        check_untouched(owner, state)
    else:
        outcome = judge_result(case, result)
    if fingerprint(args[name]) != given:
        raise Broken(f"{case} changed its argument")
    if changed := snapshot().changes_since(before):
        raise Broken(f"{case} changed {', '.join(changed)}")
    return outcome


def prepared(entrance: Entrance) -> tuple[Any, dict[str, Any]]:
    """Return an owner and arguments that nobody else has."""
    owner = entrance.owner() if entrance.owner else None
    if isinstance(owner, BaseEstimator):
        owner = copy.deepcopy(owner)
    return owner, {name: own_copy(role.value) for name, role in entrance.args.items()}


def own_copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray | pd.DataFrame) else value


def run(entrance: Entrance, owner: Any, args: dict[str, Any]) -> Any:
    """Call it, with warnings that are none of the user's business as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for harmless in HARMLESS:
            warnings.simplefilter("ignore", harmless)
        warnings.simplefilter("error", RuntimeWarning)
        filters = list(warnings.filters)
        try:
            result = entrance.function(owner)(**args)
            return list(result) if isinstance(result, Iterator) else result
        finally:
            if warnings.filters != filters:
                raise Broken(f"{entrance.path} changed the filters of warnings")


@functools.cache
def expected(entrance_path: str) -> Any:
    """Return the digest of the valid call."""
    from tests.trust.all_entrances import ENTRANCES

    entrance = ENTRANCES[entrance_path]
    return digest(run(entrance, *prepared(entrance)))


def judge_result(case: Case, result: Any) -> Outcome:
    """Hold a result to the rule."""
    rule, found = case.kind.rule, digest(result)
    if rule == REFUSED:
        raise Broken(f"{case} was not refused, but gave {str(result)[:200]}")
    if rule == SAME:
        same(found, expected(case.entrance.path), case, single=case.kind.name in SINGLE)
        return Outcome("same")
    if any(np.isnan(leaf).any() for leaf in leaves(found) if leaf.dtype.kind in "fc"):
        raise Broken(f"{case} gave NaN: {str(result)[:200]}")
    return Outcome("works")


def judge_error(case: Case, error: Exception) -> Outcome:
    """Hold an error to the rule."""
    said = f"{type(error).__name__}: {error}"
    if case.kind.rule not in (REFUSED, EITHER):
        raise Broken(f"{case} should be {case.kind.rule}, but raised {said}") from error
    if not isinstance(error, CayleyKleinError | OSError):
        raise Broken(f"{case} raised the wrong type of error, {said}") from error
    if not names_it(case, error):
        raise Broken(f"{case} raised an error that does not name it, {said}") from error
    return Outcome("refused", type(error).__name__, str(error), error.__cause__ is not None)


def names_it(case: Case, error: Exception) -> bool:
    """Whether a message names the parameter; that of a misfit may name what it does not fit."""
    if isinstance(error, OSError):  # names the file
        given = str(case.kind.change(case.entrance.args[case.parameter].value))
        return all(part in f"{error} {error.filename}" for part in Path(given).parts[-2:])
    misfit = case.kind.rule == EITHER or case.kind.name in MISFITS
    names = [*case.entrance.args] if misfit else [case.parameter]
    names += case.entrance.also_named
    return any(re.search(rf"\b{re.escape(name)}\b", str(error)) for name in names)


# -- what must not change -------------------------------------------------------------------


def state_of(owner: Any) -> Any:
    """Return what an estimator holds, and what it answers."""
    if not isinstance(owner, BaseEstimator):
        return None
    return dict(vars(owner)), answers(owner)


def answers(owner: Any) -> Any:
    if not hasattr(owner, "n_samples_fit_"):
        return None
    queries = np.resize(QUERIES, (4, owner.n_features_in_))
    return digest(owner.kneighbors(queries, n_neighbors=1))


def check_untouched(owner: Any, before: Any) -> None:
    """Check that an error left no trace in an estimator."""
    if before is None:
        return
    after = vars(owner)
    changed = {k for k in {*before[0], *after} if before[0].get(k, "-") is not after.get(k, "-")}
    if changed - {"_neighbors"}:  # an index that is built when it is first used
        raise Broken(f"an error left {type(owner).__name__} with another {sorted(changed)}")
    same(answers(owner), before[1], f"{type(owner).__name__} after an error")


def fingerprint(value: Any) -> Any:
    """Return what tells whether an argument was written to."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return value.tobytes()
    if isinstance(value, pd.DataFrame):
        return value.to_csv()
    return repr(value) if isinstance(value, list | dict | str | float) else None


# -- results as nested lists of arrays ------------------------------------------------------


def digest(result: Any) -> Any:
    """Return a result as nested lists of plain arrays and texts."""
    if result is None or isinstance(result, str | bytes | bool):
        return result
    if isinstance(result, BaseEstimator):
        fitted = {k: v for k, v in vars(result).items() if k.endswith("_") or k == "_targets"}
        return [digest(fitted), answers(result)]
    if sparse.issparse(result):
        return result.toarray()
    if isinstance(result, pd.DataFrame):
        return digest(result.to_dict("list"))
    if isinstance(result, np.ndarray | np.generic | int | float | complex):
        array = np.asarray(result)
        return array if array.dtype.kind in "fciub" else [digest(v) for v in array.ravel().tolist()]
    if isinstance(result, dict):
        return [[key, digest(value)] for key, value in result.items()]
    if isinstance(result, tuple | list | set):
        return [digest(item) for item in result]
    if hasattr(result, "__reduce__") and type(result).__module__.startswith("cayleyklein"):
        state = getattr(result, "__dict__", None)
        names = state if state is not None else type(result).__slots__
        shown = [n for n in names if not n.endswith("_") and not n.startswith("_")]
        return [[name, digest(getattr(result, name))] for name in shown]
    return type(result).__name__ if "matplotlib" in type(result).__module__ else str(result)


def leaves(found: Any) -> Iterator[np.ndarray]:
    if isinstance(found, np.ndarray):
        yield found
    elif isinstance(found, list):
        for item in found:
            yield from leaves(item)


def same(found: Any, wanted: Any, what: Any, *, single: bool = False) -> None:
    """Check that two digests are the same, to the last bit or to single precision."""
    if isinstance(wanted, np.ndarray):
        if single:
            ok = np.allclose(found, wanted, rtol=1e-5, atol=1e-6, equal_nan=True)
        else:
            ok = np.array_equal(found, wanted, equal_nan=wanted.dtype.kind in "fc")
        if not ok:
            raise Broken(f"{what} gave {found} in place of {wanted}")
    elif isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            raise Broken(f"{what} gave {found} in place of {wanted}")
        for one, other in zip(found, wanted, strict=True):
            same(one, other, what, single=single)
    elif found != wanted:
        raise Broken(f"{what} gave {found!r} in place of {wanted!r}")
