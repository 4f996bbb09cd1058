"""Every public entrance against every kind of bad input: see `kinds` for the rules."""

import copy
import csv
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from tests.trust.all_entrances import ENTRANCES
from tests.trust.entrances import parameters, public_entrances, resolve
from tests.trust.global_state import snapshot
from tests.trust.kinds import EITHER
from tests.trust.other_entrances import CSV
from tests.trust.table import PAGE, marks_in, page, rows_in, rows_of, try_all
from tests.trust.trial import expected, prepared, run
from tests.trust.values import fitted

from cayleyklein.tables import read_table

CASES = [case for entrance in ENTRANCES.values() for case in entrance.cases()]

REWRITE = "docs/trust.md is out of date: python -m tests.trust.table writes it anew"

ESTIMATORS = ("lmnn", "mmc", "neighbors", "regressor", "classifier", "table", "encoder")


def test_every_public_entrance_has_a_row_and_every_parameter_a_role():
    rows = {path: list(entrance.args) for path, entrance in ENTRANCES.items()}
    assert rows == public_entrances()


@pytest.mark.parametrize("path", ENTRANCES)
def test_every_kind_of_input(path):
    shown = [row for row in rows_in(PAGE.read_text("utf-8")) if row.startswith(f"| `{path}` |")]
    found = list(rows_of(path, try_all(path)))
    assert len(found) == len(shown), REWRITE
    for now, then, free in zip(found, shown, free_kinds(path), strict=True):
        assert settled(marks_in(now), free) == settled(marks_in(then), free), REWRITE


def free_kinds(path):
    """Return, by parameter, the kinds that may work or be refused: versions of SciPy differ."""
    roles = ENTRANCES[path].args.values()
    return [{kind.name for kind in role if kind.rule == EITHER} for role in roles if list(role)]


def settled(marks, free):
    """Return the marks that do not depend on a version."""
    return {kind: mark for kind, mark in marks.items() if kind not in free or mark == "="}


def test_there_are_thousands():
    assert len(CASES) > 9000


@pytest.mark.parametrize("path", [p for p, e in ENTRANCES.items() if e.quick])
def test_a_valid_call_changes_nothing_of_the_process(path):
    expected(path)  # whatever is imported or compiled on the way is so now
    before = snapshot(thorough=True)
    run(ENTRANCES[path], *prepared(ENTRANCES[path]))
    assert snapshot(thorough=True).changes_since(before) == []


@pytest.mark.parametrize("path", [p for p, e in ENTRANCES.items() if "." in p])
def test_unknown_parameter_names_are_refused(path):
    function = resolve(path)
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values()):
        pytest.skip("hands them on to matplotlib")
    entrance = ENTRANCES[path]
    owner, args = prepared(entrance)
    with pytest.raises(TypeError, match="no_such_parameter"):
        entrance.function(owner)(**args, no_such_parameter=1)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_unknown_parameters_of_estimators_are_refused(name):
    with pytest.raises(ValueError, match="no_such_parameter"):
        clone(fitted(name)).set_params(no_such_parameter=1)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_methods_of_an_unfitted_estimator_say_so(name):
    estimator = clone(fitted(name))
    asked = [
        path
        for path, entrance in ENTRANCES.items()
        if type(estimator) is type(entrance.owner() if entrance.owner else None)
        and not path.endswith(("fit", "fit_transform"))
    ]
    assert asked or name == "none"
    before = dict(vars(estimator))
    for path in asked:
        _, args = prepared(ENTRANCES[path])
        with pytest.raises(NotFittedError, match="fit"):
            getattr(estimator, path.rpartition(".")[2])(**args)
    assert vars(estimator) == before


@pytest.mark.parametrize("name", ["lmnn", "mmc"])
@pytest.mark.parametrize("method", ["get_metric", "get_mahalanobis_matrix"])
def test_unfitted_learners_have_no_metric(name, method):
    with pytest.raises(NotFittedError, match="fit"):
        getattr(clone(fitted(name)), method)()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_first_fit_that_fails_leaves_an_unfitted_estimator(name):
    estimator = clone(fitted(name))
    before = dict(vars(estimator))
    bad = {"X": [[np.nan, 1.0]] * 8} if "table" not in parameters(f"{home(estimator)}.fit") else {}
    with pytest.raises(ValueError, match=r"X|table"):
        estimator.fit(**(bad or {"table": None}), y=list("abababab"))
    assert vars(estimator) == before


def home(estimator: BaseEstimator) -> str:
    package = type(estimator).__module__.split(".")[1]
    return f"{package}.{type(estimator).__name__}"


@pytest.mark.parametrize("how", ["brute", "faiss", "vptree", "faiss-approximate"])
def test_a_failed_partial_fit_leaves_the_index_alone(how):
    search = copy.deepcopy(fitted("neighbors")).set_params(algorithm=how)
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))
    search.fit(rows)
    before = pickle.dumps(search.kneighbors(rows[:5]))
    with pytest.raises(ValueError, match="X has 1 row"):
        search.partial_fit([[0.1, 0.2], [3.0, 4.0]])
    assert pickle.dumps(search.kneighbors(rows[:5])) == before


def test_the_page_adds_up():
    """The rows of each entrance are held to what happens above."""
    text = PAGE.read_text("utf-8")
    rows = rows_in(text)
    assert {row.split("`")[1] for row in rows} <= set(ENTRANCES), REWRITE
    assert text == page(rows), REWRITE


def test_reading_a_table_leaves_the_limit_of_csv_fields():
    before = csv.field_size_limit(4096)
    try:
        read_table(CSV)
        assert csv.field_size_limit() == 4096
    finally:
        csv.field_size_limit(before)
