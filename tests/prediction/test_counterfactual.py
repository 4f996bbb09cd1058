"""The smallest change of class: predicted, allowed, and no smaller one on a fine grid."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from cayleyklein import CurvedKernelClassifier, CurvedKNeighborsClassifier, CurvedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.prediction.vote_cells import least_distance
from cayleyklein.tables import TableClassifier

CURVATURES = [-0.02, 0.0, 0.05]


def table(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 2.0]
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, "a", "b")


def nearest(curvature, X, y, k=1, sample_weight=None):
    metric = CurvedMetric(factor=[[1.0, 0.3], [0.0, 0.7]], center=[0.1, -0.2], curvature=curvature)
    model = CurvedKNeighborsClassifier(k, metric=metric, weights="uniform")
    return model.fit(X, y, sample_weight)


def disc(n):
    """Points of a disc of radius 1, its boundary included."""
    radius, angle = np.meshgrid(np.linspace(0.01, 1, n), np.linspace(0, 2 * np.pi, 4 * n))
    return np.column_stack([(radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel()])


def check_that_none_is_smaller(model, x, found, unit):
    assert found.is_exact
    assert model.predict([found.row])[0] == found.prediction != model.predict([x])[0]
    assert found.size == pytest.approx(np.linalg.norm((found.row - x) / unit))
    inside = x + 0.999 * found.size * disc(60) * unit
    inside = inside[model.metric_.contains(inside)]
    assert (model.predict(inside) == model.predict([x])[0]).all()


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_no_smaller_change_is_missed(curvature, k):
    X, y = table(0)
    model = nearest(curvature, X, y, k)
    for seed in range(3):
        x = table(100 + seed)[0][0]
        found = model.counterfactual(x)
        assert found.changes == {f"x{j}": (x[j], found.row[j]) for j in range(2)}
        check_that_none_is_smaller(model, x, found, X.std(axis=0))


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_rows_that_weigh_and_three_classes():
    X, y = table(3)
    y = np.where(X[:, 1] > 1, "c", y)
    X, y = np.vstack([X, X[:5]]), np.append(y, ["a", "b", "c", "c", "a"])  # places of two classes
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    model = nearest(0.05, X, y, 3, weights)
    for seed in range(4):
        x = table(100 + seed)[0][0]
        unit = X.std(axis=0)
        check_that_none_is_smaller(model, x, model.counterfactual(x), unit)
        for to in set("abc") - set(model.predict([x])):
            found = model.counterfactual(x, to)
            assert found.prediction == to
            inside = x + 0.999 * found.size * disc(60) * unit
            assert found.is_exact
            assert (model.predict(inside) != to).all()


def test_the_shortest_step_that_fulfils_inequalities():
    rng = np.random.default_rng(0)
    for _ in range(30):
        A, b = rng.normal(size=(6, 3)), rng.normal(size=6)
        z = least_distance(A, b)
        tried = rng.normal(size=(20000, 3)) * 3
        tried = tried[(tried @ A.T >= b).all(axis=1)]
        if z is None:
            assert not len(tried)
            continue
        assert (A @ z >= b - 1e-6).all()
        assert np.linalg.norm(z) <= np.linalg.norm(tried, axis=1).min(initial=np.inf)
    assert least_distance(np.array([[1.0], [-1.0]]), np.array([1.0, 0.5])) is None


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_columns_ranges_and_whole_numbers():
    X, y = table(1)
    model = nearest(0.0, X, y)
    x = np.array([-1.0, 0.0])
    free = model.counterfactual(x)
    fixed = model.counterfactual(x, fixed=[1])
    assert list(fixed.changes) == ["x0"]
    assert fixed.size >= free.size
    assert fixed.is_exact
    low = float(free.row[1]) + 0.5
    bounded = model.counterfactual(x, bounds={"x1": (low, 5.0)})
    assert low - 1e-9 <= bounded.row[1] <= 5.0
    assert bounded.size > free.size
    line = x + np.column_stack([np.linspace(-3, 3, 20001), np.zeros(20001)])
    other = line[model.predict(line) != model.predict([x])[0]]
    expected = np.abs(other - x)[:, 0].min() / X[:, 0].std()
    assert fixed.size == pytest.approx(expected, abs=1e-3)
    whole = model.counterfactual(x + 0.3, integers=[0])
    assert whole.row[0] == round(whole.row[0])
    assert whole.is_exact
    assert model.predict([whole.row])[0] == whole.prediction
    steps = np.arange(-4.0, 5.0)
    grid = np.array(list(product(steps, np.linspace(-6, 6, 4001))))
    grid = grid[model.predict(grid) != model.predict([x + 0.3])[0]]
    sizes = np.linalg.norm((grid - x - 0.3) / X.std(axis=0), axis=1)
    assert whole.size == pytest.approx(sizes.min(), abs=2e-3)
    with pytest.raises(NotRepresentableError, match="No allowed change"):
        model.counterfactual(x, fixed=[0, 1])
    with pytest.raises(InvalidInputError, match=r"expected a pair"):
        model.counterfactual(x, bounds={"x1": (3.0, 1.0)})
    with pytest.raises(InvalidInputError, match=r"bounds of 'x1' have 'low'; expected a number"):
        model.counterfactual(x, bounds={"x1": ("low", 1.0)})
    with pytest.raises(InvalidInputError, match="fixed has"):
        model.counterfactual(x, fixed=["nothing"])
    with pytest.raises(InvalidInputError, match="no other class"):
        model.counterfactual(x, to="c")


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_a_descent_is_near_the_exact_answer_and_works_for_sums():
    X, y = table(2)
    exact = nearest(0.05, X, y)
    other = CurvedKNeighborsClassifier(1, metric=exact.metric_).fit(X, y)  # local votes
    for seed in range(3):
        x = table(200 + seed)[0][0]
        found = other.counterfactual(x)
        assert not found.is_exact
        assert other.predict([found.row])[0] != other.predict([x])[0]
    model = CurvedKernelClassifier("columns", random_state=0).fit(X, y)
    found = model.counterfactual(X[0])
    assert model.predict([found.row])[0] == found.prediction
    unit = X.std(axis=0)
    inside = X[0] + 0.9 * found.size * disc(40) * unit
    assert (model.predict(inside) == model.predict(X[:1])[0]).all()


def people(n=150):
    """Return a table with a category, a price as people write it, a day and an order."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue", "green"], n)})
    price = rng.gamma(2, 20, n).round(2)
    day = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    frame["price"] = [f"{each:.2f} €".replace(".", ",") for each in price]
    frame["day"] = day.strftime("%d.%m.%Y")
    frame["size"] = rng.choice(["S", "M", "L"], n)
    score = 1.2 * (frame["colour"] == "red") + price / 40 - day.month / 6
    return frame, np.where(score > score.median(), "yes", "no"), price, day


def fitted_people(**options):
    frame, y, _, _ = people()
    kinds = {"size": "order:S<M<L"}
    return TableClassifier(random_state=0, kinds=kinds, **options).fit(frame, y)


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
@pytest.mark.parametrize("k", [1, 3])
def test_categories_dates_and_prices_change(k):
    frame, _, price, day = people()
    model = fitted_people(n_neighbors=k, geometry="learned", weights="uniform")
    days = (day - day[0]).days.to_numpy()
    for at in (0, 1, 5):
        row = frame[at : at + 1]
        found = model.counterfactual(row)
        assert found.is_exact
        assert model.predict(found.row)[0] == found.prediction != model.predict(row)[0]
        changed = {name: found.row[name].iloc[0] for name in found.changes}
        assert changed == {name: after for name, (_, after) in found.changes.items()}
        # no smaller change on a grid of all categories, days and some prices
        most = 0.999 * found.size
        unit = most * price.std()
        prices = [
            f"{each:.4f} €".replace(".", ",") for each in price[at] + unit * np.linspace(-1, 1, 25)
        ]
        moved = np.linspace(-1, 1, 13) * most * days.std()
        others = [
            (day[at] + pd.Timedelta(days=each)).strftime("%d.%m.%Y") for each in moved.astype(int)
        ]
        grid = pd.DataFrame(
            list(product(["red", "blue", "green"], prices, others, "SML")), columns=list(frame)
        )
        steps = np.array(
            list(
                product(
                    ["red", "blue", "green"],
                    np.linspace(-1, 1, 25) * most,
                    moved.astype(int),
                    range(3),
                )
            ),
            dtype=object,
        )
        place = np.array([{"S": 0, "M": 1, "L": 2}[each] for each in frame["size"]])
        size = (
            (steps[:, 0] != frame["colour"][at]) ** 2.0
            + steps[:, 1].astype(float) ** 2
            + (steps[:, 2].astype(float) / days.std()) ** 2
            + ((steps[:, 3].astype(float) - place[at]) / place.std()) ** 2
        )
        near = grid[np.sqrt(size) < most]
        assert len(near) > 20
        assert (model.predict(near) == model.predict(row)[0]).all()


def test_what_a_table_allows():
    frame, _, _, _ = people()
    model = fitted_people(n_neighbors=1, geometry="flat", weights="uniform")
    red = model.predict(frame.assign(colour="red"))
    at = int(np.flatnonzero((frame["colour"] != "red") & (model.predict(frame) != red))[0])
    found = model.counterfactual(frame[at : at + 1], fixed=["price", "day", "size"])
    assert list(found.changes) == ["colour"]
    assert (found.size, found.is_exact) == (1, True)
    row = frame[:1]
    limited = model.counterfactual(
        row, bounds={"day": ("01.05.2024", None), "price": (None, "15,5 €")}
    )
    assert pd.to_datetime(limited.row["day"].iloc[0], dayfirst=True) >= pd.Timestamp("2024-05-01")
    assert float(limited.row["price"].iloc[0].split()[0].replace(",", ".")) <= 15.5
    with pytest.raises(NotRepresentableError):
        model.counterfactual(row, fixed=["price", "day", "size"], bounds={"colour": ["green"]})
    for bounds, said in (
        ({"colour": ["pink"]}, "expected some of its categories, 'blue'"),
        ({"size": ("S", "XL")}, "expected one of 'S', 'M', 'L'"),
        ({"day": ("soon", None)}, "expected a date like"),
        ({"price": 3}, "expected a pair"),
        ({"weight": (1, 2)}, "bounds has 'weight'"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            model.counterfactual(row, bounds=bounds)
    with pytest.raises(InvalidInputError, match="2 rows; expected one"):
        model.counterfactual(frame[:2])


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_gaps_stay_gaps():
    X, y = table(4)
    X[::7, 1] = np.nan
    model = CurvedKNeighborsClassifier(1, geometry="flat", weights="uniform").fit(X, y)
    found = model.counterfactual(X[0])
    assert np.isnan(found.row[1])
    assert list(found.changes) == ["x0"]
    assert not found.is_exact
    assert model.predict([found.row])[0] == found.prediction != model.predict(X[:1])[0]
