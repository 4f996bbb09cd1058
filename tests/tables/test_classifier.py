import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cayleyklein.datasets import load_wine
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableClassifier


@pytest.fixture(scope="module")
def wine():
    table, y = load_wine(as_frame=True, return_X_y=True)
    rng = np.random.default_rng(0)
    table = table.assign(colour=np.where(y + rng.integers(0, 2, len(y)) > 1, "red", "white"))
    return table, np.array(["a", "b", "c"])[y]


def test_classifies_a_table(wine):
    table, y = wine
    model = TableClassifier(geometry="elliptic").fit(table[::2], y[::2])
    assert model.score(table[1::2], y[1::2]) > 0.9
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.learned_["geometry"], model.learned_["curvatures"]) == ("elliptic", [1.0])
    assert model.learned_["n_rows"] == 89


def test_units_and_order_of_columns_do_not_matter(wine):
    table, y = wine
    numbers = table.select_dtypes("number")
    model = TableClassifier(geometry="flat").fit(numbers, y)
    other = TableClassifier(geometry="flat").fit(numbers * 1024.0, y)
    np.testing.assert_array_equal(model.predict(numbers), other.predict(numbers * 1024.0))
    np.testing.assert_array_equal(
        model.predict(numbers), model.predict(numbers[numbers.columns[::-1]])
    )


def test_neighbours_are_rows_of_the_table(wine):
    table, y = wine
    model = TableClassifier(geometry="elliptic").fit(table[5:], y[5:])
    distances, rows = model.kneighbors(table[5:9], 2)
    assert model.row_numbers_[rows[:, 0]].tolist() == [5, 6, 7, 8]
    np.testing.assert_allclose(distances[:, 0], 0, atol=1e-7)


def test_learns_from_a_sample_and_keeps_all_rows(wine):
    table, y = wine
    model = TableClassifier(geometry="flat", subsample=60).fit(table, y)
    assert model.learned_["n_rows"] == 60
    assert len(model.row_numbers_) == len(table)


def test_rows_outside_the_domain_of_a_sample_are_neighbours_too():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"])
    y = np.where(table["a"] * table["b"] > 0, "u", "v")
    table.loc[:2] *= 1e6  # which leaves their classes
    model = TableClassifier(geometry="hyperbolic", subsample=100).fit(table, y)
    assert model.row_numbers_.tolist() == list(range(600))
    assert len(model.predict(table)) == 600


def test_columns_can_be_dropped_and_said_to_be_something_else(wine):
    table, y = wine
    table = table.assign(id=np.arange(len(y)), shop=np.arange(len(y)) % 3)
    model = TableClassifier(geometry="flat", kinds={"shop": "category"}, drop=["hue"]).fit(table, y)
    kinds = {column.name: column.kind for column in model.encoder_.columns_}
    assert (kinds["id"], kinds["hue"], kinds["shop"]) == ("unused", "unused", "category")
    model.predict(table.drop(columns=["id", "hue"]))


def test_an_interrupted_fit_changes_nothing(wine):
    table, y = wine
    model = TableClassifier(geometry="flat").fit(table[::2], y[::2])
    before = dict(vars(model))

    def stop(progress):
        raise KeyboardInterrupt

    model.callback = before["callback"] = stop
    with pytest.raises(KeyboardInterrupt):
        model.fit(table, y)
    assert vars(model) == before


def test_an_unfitted_model_says_so(wine):
    with pytest.raises(NotFittedError, match="not fitted"):
        TableClassifier().predict(wine[0])


def test_clones():
    model = TableClassifier(5, geometry="flat", subsample=99)
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (["u"] * 6, {}, "y has 1 class"),
        (list("uvuvu"), {}, "has 6 rows, but y has 5"),
        (list("uvuvuv"), {"n_neighbors": 6}, "only 5 others"),
        (list("abcdef"), {}, "one row only"),
    ],
)
def test_refuses(y, options, message):
    with pytest.raises(InvalidInputError, match=message):
        TableClassifier(**options).fit(pd.DataFrame({"x": range(6)}), y)


def test_explanations_mark_missing_cells(wine):
    table, y = wine
    model = TableClassifier(geometry="flat").fit(table, y)
    some = table[:2].copy()
    some.loc[some.index[1], "proline"] = np.nan
    whole, gap = model.explain(some)
    assert not whole.missing.any()
    assert gap.names[gap.missing].tolist() == ["proline"]
    assert "(missing)" not in repr(whole)
    assert "proline (missing) " in repr(gap)
