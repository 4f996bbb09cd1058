"""Explanations of predictions."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedMetric,
)
from cayleyklein.exceptions import InvalidInputError

X, Y = load_wine(return_X_y=True)
TRAIN, TEST = slice(0, None, 2), slice(1, None, 2)


@pytest.mark.parametrize("geometry", ["auto", "flat", "elliptic", "hyperbolic", "mixed"])
@pytest.mark.parametrize("weights", ["local", "uniform"])
def test_agrees_with_the_prediction(geometry, weights):
    model = CurvedKNeighborsClassifier(geometry=geometry, weights=weights, random_state=0)
    model.fit(X[TRAIN], Y[TRAIN])
    some = X[TEST][::9]
    some = some[model.metric_.contains(some)]
    every = model.explain(some)
    np.testing.assert_array_equal([why.prediction for why in every], model.predict(some))
    np.testing.assert_allclose([why.probabilities for why in every], model.predict_proba(some))
    for row, why in zip(some, every, strict=True):
        assert why.votes.sum() == pytest.approx(1)
        np.testing.assert_allclose(np.abs(why.columns).sum(axis=1), 1)
        np.testing.assert_array_equal(why.labels, Y[TRAIN][why.rows])
        np.testing.assert_allclose(
            why.distances, model.metric_.distance(row, X[TRAIN][why.rows]), rtol=1e-6
        )
        tally = np.bincount(why.labels, weights=why.votes, minlength=3)
        assert tally.argmax() == why.prediction


@pytest.mark.parametrize("outputs", [(), (2,)])
def test_means_of_numbers_are_explained(outputs):
    rows = np.vstack([X[TRAIN], X[:10:2]])  # equal rows are one neighbour, with their mean
    y = np.arange(len(rows) * int(np.prod(outputs)), dtype=float).reshape(-1, *outputs)
    model = CurvedKNeighborsRegressor(5, geometry="flat", random_state=0).fit(rows, y)
    some = X[TEST][::9]
    for row, answer, why in zip(some, model.predict(some), model.explain(some), strict=True):
        np.testing.assert_array_equal(why.prediction, answer)
        np.testing.assert_allclose(why.votes @ why.labels, answer)
        np.testing.assert_allclose(why.distances, model.metric_.distance(row, rows[why.rows]))
        alone = why.rows >= 5
        np.testing.assert_array_equal(why.labels[alone], y[why.rows][alone])
        assert "  vote  value" in repr(why)
    assert model.explain(some[0]).rows.tolist() == model.explain(some)[0].rows.tolist()


def test_units_of_columns_do_not_matter():
    units = 10.0 ** np.arange(-6, 7)
    first, second = (
        CurvedKNeighborsClassifier(geometry="elliptic", random_state=0)
        .fit(X[TRAIN] * unit, Y[TRAIN])
        .explain(X[1] * unit)
        for unit in (1.0, units)
    )
    np.testing.assert_allclose(first.columns, second.columns, rtol=1e-6, atol=1e-9)


def test_curved_shares_near_the_centre_are_flat_ones():
    metric = CurvedMetric(matrix=[[2.0, 0.5], [0.5, 1.0]], curvature=-1.0)
    p, q = np.array([[1e-5, 2e-5]]), np.array([[-1e-5, 5e-5]])
    flat = CurvedMetric(matrix=metric.matrix)
    np.testing.assert_allclose(metric.column_shares(p, q), flat.column_shares(p, q), atol=1e-9)
    u = (p - q)[0]
    made = u * (metric.matrix @ u)
    expected = made / np.abs(made).sum()
    np.testing.assert_allclose(flat.column_shares(p, q)[0], expected, atol=1e-12)


def test_columns_that_cancel_have_signed_shares_within_one():
    metric = CurvedMetric(matrix=[[1.0, -0.999], [-0.999, 1.0]])
    (shares,) = metric.column_shares([[0.0, 0.0]], [[1.0, 0.98]])
    assert np.abs(shares).sum() == pytest.approx(1)
    assert shares[0] > 0 > shares[1]
    model = CurvedKNeighborsClassifier(1, metric=metric).fit([[0.0, 0.0], [9.0, 9.0]], ["a", "b"])
    assert repr(model.explain([1.0, 0.98])).endswith("brings the two rows closer)")
    assert "closer" not in repr(model.explain([1.0, 0.0]))


def test_names_and_one_row():
    table = pd.DataFrame(X, columns=[f"column {j}" for j in range(13)])
    model = CurvedKNeighborsClassifier(random_state=0).fit(table[TRAIN], Y[TRAIN])
    why = model.explain(table.iloc[1])
    assert list(why.names) == list(table.columns)
    assert why.columns.shape == (len(why.rows), 13)
    lines = repr(why).splitlines()
    assert lines[0].startswith(f"{why.prediction} (")
    assert "column " in lines[2]


def test_a_row_outside_the_domain_has_voters_but_no_shares():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    model = CurvedKNeighborsClassifier(2, metric=disc, weights="uniform")
    why = model.fit([[0.0, 0.0], [0.5, 0.0], [0.0, 0.9]], ["a", "b", "b"]).explain([3.0, 0.0])
    assert np.isinf(why.distances).all()
    assert np.isnan(why.columns).all()
    assert why.votes.sum() == pytest.approx(1)


def test_equal_rows_have_no_shares():
    model = CurvedKNeighborsClassifier(1, metric=CurvedMetric.euclidean(2), weights="uniform")
    why = model.fit([[0.0, 0.0], [0.5, 0.0]], ["a", "b"]).explain([0.5, 0.0])
    assert (why.columns == 0).all()


def test_many_explanations_are_those_of_single_rows_and_add_up():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(120, 3))
    labels = np.where(A[:, 0] * A[:, 1] > 0, "same", "other")
    model = CurvedKernelClassifier(geometry="flat", random_state=0).fit(A[:80], labels[:80])
    found = model.explain(A[80:])
    for at in (0, 17, 39):
        one = model.explain(A[80 + at])
        np.testing.assert_allclose(found[at].columns, one.columns, atol=1e-9)
        np.testing.assert_allclose(found[at].effects, one.effects, atol=1e-9)
        assert found[at].prediction == one.prediction
        whole = one.base + one.columns.sum() + one.together
        assert whole == pytest.approx(sum(one.parts.values()))
    assert max(abs(why.together) for why in found) > 0.1  # columns that count together only
    table = found.to_frame()
    assert len(table) == 40
    np.testing.assert_array_equal(table["prediction"], model.predict(A[80:]))
    np.testing.assert_allclose(table["probability"], model.predict_proba(A[80:]).max(axis=1))
    np.testing.assert_allclose(table["strangeness"], model.strangeness(A[80:]))
    np.testing.assert_allclose(table["x1"], [why.columns[1] for why in found])
    np.testing.assert_array_equal(found.data, A[80:])


def test_explanations_of_neighbours_are_a_table_too(monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["width", "height"])
    model = CurvedKNeighborsRegressor(5, metric=CurvedMetric.euclidean(2))
    model.fit(table, table["width"])
    found = model.explain(table[:7])
    frame = found.to_frame()
    assert frame.columns.tolist() == ["prediction", "strangeness", "width", "height"]
    np.testing.assert_allclose(frame["prediction"], model.predict(table[:7]))
    np.testing.assert_array_equal(found.data, table[:7])
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace())
    with pytest.raises(InvalidInputError, match="Only explanations of kernel machines"):
        found.to_shap()


def test_the_export_for_shap_adds_up(monkeypatch):
    A = np.random.default_rng(0).normal(size=(90, 2))
    model = CurvedKernelRegressor(geometry="flat", random_state=0).fit(A, A[:, 0] + A[:, 1] ** 2)
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=SimpleNamespace))
    found = model.explain(A[:12])
    shap = found.to_shap()
    assert shap.feature_names == ["x0", "x1", "columns together"]
    assert shap.data.shape == shap.values.shape == (12, 3)
    total = shap.base_values + shap.values.sum(axis=1)
    mean = (A[:, 0] + A[:, 1] ** 2).mean()
    np.testing.assert_allclose(total + mean, model.predict(A[:12]), atol=1e-9)


def test_rows_of_dates_text_and_numbers_are_explained_together(monkeypatch):
    n = 40
    table = pd.DataFrame(
        {
            "x": np.random.default_rng(0).normal(size=n),
            "at": pd.date_range("2021-01-01", periods=n, freq="13h"),
            "kind": np.arange(n) % 3 == 0,
            "word": np.where(np.arange(n) % 2, "p", "q"),
        }
    )
    model = CurvedKernelClassifier("columns", random_state=0).fit(table, table.x > 0)
    found = model.explain(table[:5])
    assert found.data[2, 1] == table["at"][2]
    assert found.data[:, [0, 3]].tolist() == table[["x", "word"]][:5].to_numpy().tolist()
    assert found.to_frame().columns[-5:-1].tolist() == ["x", "at", "kind", "word"]
    arrow = pytest.importorskip("pyarrow").Table.from_pandas(table[:5])
    assert model.explain(arrow).data.tolist() == found.data.tolist()
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=dict))
    assert found.to_shap()["data"].shape == (5, 5)
