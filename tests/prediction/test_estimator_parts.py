"""Estimators as parts of a sum, through the public entrances."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cayleyklein import CurvedKernelClassifier, CurvedKernelRegressor
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableClassifier, TableRegressor, load_model, save_model

X, Y = load_wine(return_X_y=True)


def mixed_table(n=240, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"size": rng.normal(size=n), "town": rng.choice(list("abc"), n), "age": rng.uniform(size=n)}
    )
    return table, np.where((table["size"] > 0) ^ (table["town"] == "b"), "yes", "no")


def test_an_estimator_alone_is_calibrated_by_its_weight():
    model = CurvedKernelClassifier(parts=GaussianNB(), random_state=0).fit(X[::2], Y[::2])
    assert list(model.part_weights_) == ["GaussianNB"]
    assert model.metric_ is None
    alone = GaussianNB().fit(X[::2], Y[::2])
    order = model.predict_proba(X[1::2]).argmax(axis=1)
    assert (order == alone.predict(X[1::2])).mean() > 0.95


def test_parts_join_the_sum_and_are_told_of():
    line = make_pipeline(StandardScaler(), LogisticRegression())
    model = CurvedKernelClassifier(parts=["metric", ("line", line)], random_state=0)
    model.fit(X[::2], Y[::2])
    names = [trial.name for trial in model.selection_.trials]
    assert names == ["metric", "line", "metric + line"]
    assert "line" in model.part_weights_
    why = model.explain(X[1])
    assert set(why.parts) == set(model.part_weights_)
    assert model.score(X[1::2], Y[1::2]) > 0.9


def test_a_part_that_does_not_help_is_dropped():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    y = (np.hypot(rows[:, 0], rows[:, 1]) > 1.2).astype(int)
    model = CurvedKernelClassifier(parts=("columns", ("line", LogisticRegression())))
    model.fit(rows, y)
    assert model.part_weights_.get("line", 0.0) < 0.2 * model.part_weights_["columns"]


def test_regressors_are_parts_of_regressors():
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(200, 4))
    y = np.where(rows[:, 0] > 0.5, 3.0, 0.0) + rows[:, 1]
    model = CurvedKernelRegressor(
        parts=("columns", ("trees", HistGradientBoostingRegressor()), ("line", Ridge())),
        random_state=0,
    ).fit(rows[:150], y[:150])
    assert model.part_weights_["trees"] > 0.2
    assert model.score(rows[150:], y[150:]) > 0.9


@pytest.mark.parametrize("weighted", [True, False])
def test_weights_go_where_they_are_taken(weighted):
    """With no weight for half of the rows, these rows are as if they were not there."""
    estimator = GaussianNB() if weighted else make_pipeline(StandardScaler(), GaussianNB())
    keep = np.arange(len(X)) % 2 == 0
    parts = ("plain", ("bayes", estimator))
    some = CurvedKernelClassifier(parts, random_state=0).fit(X[keep], Y[keep])
    zero = CurvedKernelClassifier(parts, random_state=0).fit(X, Y, keep.astype(float))
    np.testing.assert_allclose(some.predict_proba(X), zero.predict_proba(X), atol=1e-10)


def test_order_of_rows_changes_nothing_for_seeded_estimators():
    parts = ("plain", ("trees", ExtraTreesClassifier(20)))
    rows = np.random.default_rng(1).permutation(len(X))
    one = CurvedKernelClassifier(parts, random_state=0).fit(X, Y)
    two = CurvedKernelClassifier(parts, random_state=0).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_a_part_may_take_the_table_as_it_is():
    table, y = mixed_table()
    as_codes = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough"
    )
    boosting = make_pipeline(as_codes, HistGradientBoostingClassifier(max_iter=60))
    model = CurvedKernelClassifier(parts=("columns", ("boosting", boosting, "table")))
    model.fit(table[:160], y[:160])
    assert model.part_weights_["boosting"] > 0
    assert model.score(table[160:], y[160:]) > 0.9
    why = model.explain(table[160:161])[0]
    assert "boosting" in why.parts
    assert len(model.feature_weights()) == 3
    with pytest.raises(InvalidInputError, match="town"):
        model.predict(table[160:].drop(columns="town"))


def test_tables_take_parts_and_save_those_that_are_arrays(tmp_path):
    table, y = mixed_table()
    model = TableClassifier(parts=("columns", "rules")).fit(table[:160], y[:160])
    assert model.is_kernel
    assert model.learned_["geometry"] == "none"
    save_model(model, tmp_path / "m.ckm")
    read = load_model(tmp_path / "m.ckm")
    np.testing.assert_array_equal(read.predict_proba(table), model.predict_proba(table))
    number = TableRegressor(parts="rules").fit(table[:160], np.where(y[:160] == "yes", 1.0, 5.0))
    save_model(number, tmp_path / "n.ckm")
    read = load_model(tmp_path / "n.ckm")
    np.testing.assert_array_equal(read.predict(table), number.predict(table))


def test_files_refuse_estimators_by_name(tmp_path):
    table, y = mixed_table()
    model = TableClassifier(parts=("plain", ("trees", ExtraTreesClassifier(20)))).fit(table, y)
    with pytest.raises(InvalidInputError, match=r"'trees' \(ExtraTreesClassifier\)"):
        save_model(model, tmp_path / "m.ckm")
    assert not list(tmp_path.iterdir())


def test_neighbours_alone_have_no_parts():
    table, y = mixed_table(40)
    with pytest.raises(InvalidInputError, match="parts="):
        TableClassifier(model="neighbors", parts="rules").fit(table, y)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (GaussianNB, "not the class"),
        ([("metric", GaussianNB())], "A part must be"),
        (Ridge(), "a classifier is expected"),
        (SGDClassifier(), "no predict_proba"),
        ([GaussianNB(), GaussianNB()], "each once"),
        ([("bayes", GaussianNB(), "cells")], "A part must be"),
        (["metric", "metric"], "each once"),
        ([], "one or more"),
    ],
)
def test_what_cannot_be_a_part_is_refused(parts, said):
    with pytest.raises(InvalidInputError, match=said):
        CurvedKernelClassifier(parts=parts).fit(X, Y)


def test_a_part_that_fails_is_named():
    class Failing(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise ValueError("no thanks")

    with pytest.raises(InvalidInputError, match="'Failing' cannot be fitted"):
        CurvedKernelClassifier(parts=Failing()).fit(X, Y)


def test_a_part_that_says_odd_numbers_is_named():
    class Odd(GaussianNB):
        def predict_proba(self, X):
            return np.full((len(X), 3), np.nan)

    with pytest.raises(InvalidInputError, match="'Odd' predicts an array"):
        CurvedKernelClassifier(parts=("plain", Odd())).fit(X, Y)
