"""Circles, and numbers for many categories, are kept where rows that are left out gain."""

import numpy as np
import pandas as pd
import pytest

from cayleyklein import CurvedKernelClassifier, CurvedKernelRegressor
from cayleyklein.columns import choices, evidence, means
from cayleyklein.columns.column import Column
from cayleyklein.columns.parsing import CellFormat
from cayleyklein.tables import TableEncoder

HOUR, WEEK, YEAR = 1.0, 7.0, 365.2425


def draw_minutes(n, seed=0):
    rng = np.random.default_rng(seed)
    minutes = pd.to_timedelta(rng.integers(0, 365 * 24 * 60, n), unit="min")
    return pd.Timestamp("2024-01-01") + minutes


WHEN = draw_minutes(900)
OFFICE = (WHEN.hour >= 9) & (WHEN.hour < 17) & (WHEN.day_of_week < 5)


def offered(values, kind="date"):
    column = Column("a", kind, 0, "", CellFormat(kind))
    return choices.offered_periods(column, np.asarray(values, dtype=float))


def days_of(stamps):
    return (stamps - pd.Timestamp(0)) / pd.Timedelta("1D")


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        (WHEN, [HOUR, WEEK, YEAR]),
        (pd.date_range("2020-01-01", periods=500), [WEEK, YEAR]),
        (pd.date_range("2020-01-01", periods=50), [WEEK]),
        (pd.date_range("2000-01-01", periods=200, freq="MS"), [YEAR]),
        (pd.date_range("2000-01-01", periods=200, freq="ME"), [YEAR]),
        (pd.date_range("1900-01-01", periods=90, freq="YS"), []),
        (pd.date_range("2020-01-06", periods=300, freq="7D"), [YEAR]),
        (pd.date_range("2020-01-06 08:00", periods=300, freq="h"), [HOUR, WEEK]),
    ],
)
def test_circles_are_offered_where_the_dates_have_them(stamps, expected):
    assert offered(days_of(stamps)) == expected


def test_times_without_a_date_have_an_hour():
    assert offered(np.linspace(0.3, 0.8, 50)) == [HOUR]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (np.arange(24), [24]),
        (np.arange(1, 13), [12]),
        (np.arange(7), [7]),
        (np.arange(0, 361, 10), [360, 365]),
        (np.arange(0, 200), []),
        (np.arange(24) + 0.5, []),
        (np.arange(5), []),
        (np.arange(18, 80), []),
    ],
)
def test_whole_numbers_that_fill_a_cycle_are_offered_one(numbers, expected):
    assert offered(numbers, "number") == expected


def test_hours_and_weekdays_are_found():
    table = pd.DataFrame({"when": WHEN, "x": np.random.default_rng(1).normal(size=900)})
    encoder = TableEncoder().fit(table[:600], OFFICE[:600])
    assert encoder.columns_[0].circles == (HOUR, WEEK)
    assert "also on circles: hour, weekday" in str(encoder.columns_[0])
    assert encoder.get_feature_names_out().tolist() == [
        "when", "when (hour, cos)", "when (hour, sin)", "when (weekday, cos)",
        "when (weekday, sin)", "x",
    ]  # fmt: skip
    model = CurvedKernelClassifier(random_state=0).fit(table[:600], OFFICE[:600])
    assert model.score(table[600:], OFFICE[600:]) > 0.95
    assert model.feature_weights().shape == (2,)


@pytest.mark.parametrize("seed", range(4))
def test_chance_keeps_no_circle(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"when": WHEN, "hour": rng.integers(0, 24, 900), "x": rng.normal(size=900)}
    )
    columns = TableEncoder().fit(table, rng.permutation(OFFICE)).columns_
    assert [column.circles for column in columns] == [(), (), ()]


def test_a_trend_keeps_no_circle():
    days = pd.date_range("2020-01-01", periods=600)
    y = np.linspace(0, 3, 600) + 0.3 * np.random.default_rng(0).normal(size=600)
    assert TableEncoder().fit(pd.DataFrame({"day": days}), y).columns_[0].circles == ()


def test_whole_hours_are_on_a_circle_where_midnight_joins_them():
    """A bump around midnight: 23 and 0 are learned together."""
    rng = np.random.default_rng(0)
    hour, x = rng.integers(0, 24, 500), rng.normal(size=500)
    y = 2 * np.exp(-((np.minimum(hour, 24 - hour) / 2) ** 2)) + 0.1 * rng.normal(size=500)
    column = TableEncoder().fit(pd.DataFrame({"hour": hour, "x": x}), y).columns_[0]
    assert column.circles == (24.0,)
    assert column.feature_names == ["hour", "hour (of 24, cos)", "hour (of 24, sin)"]
    assert not column.is_plain


def test_without_targets_there_is_no_evidence():
    assert TableEncoder().fit(pd.DataFrame({"when": WHEN, "x": 1})).columns_[0].circles == ()


def draw_levels(effects, n=600, seed=0):
    rng = np.random.default_rng(seed)
    codes, x = rng.integers(0, len(effects), n), rng.normal(size=n)
    return codes, x, rng


def test_many_categories_have_a_number_each_where_that_predicts_better():
    """Levels that turn the slope of x around have the same mean, which tells nothing."""
    codes, x, rng = draw_levels(np.arange(12), 900)
    y = np.where(codes % 2 == 1, x, -x) + codes % 3 + 0.1 * rng.normal(size=900)
    table = pd.DataFrame({"level": [f"l{code:02}" for code in codes], "x": x})
    by_mean = rng.normal(size=12)[codes] + 0.5 * rng.normal(size=900)
    assert TableEncoder().fit(table, by_mean).columns_[0].levels
    chosen = TableEncoder().fit(table, y).columns_[0]
    assert chosen.levels == ()
    assert len(chosen.feature_names) == 12
    assert "12 categories, one number for each" in chosen.text


@pytest.mark.parametrize("seed", [2, 14, 19])
def test_levels_of_chance_do_not_become_many_numbers(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=300)
    table = pd.DataFrame({"x": x, "chance": rng.choice(list("abcdefghij"), 300)})
    y = x + 0.3 * rng.normal(size=300)
    assert len(TableEncoder().fit(table, y).columns_[1].feature_names) == 1


def test_hundreds_of_levels_are_means_and_unseen_ones_the_mean_of_all():
    effects = np.random.default_rng(3).normal(size=300)
    codes, x, rng = draw_levels(effects, 3000)
    y = effects[codes] + 0.3 * rng.normal(size=3000)
    table = pd.DataFrame({"level": [f"l{code}" for code in codes], "x": x})
    encoder = TableEncoder().fit(table, y)
    rows = encoder.transform(table)
    assert rows.shape[1] == 2
    at = encoder.get_feature_names_out().tolist().index("level")
    assert np.corrcoef(rows[:, at], effects[codes])[0, 1] > 0.97
    unseen = encoder.transform(pd.DataFrame({"level": ["new"], "x": [0.0]}))
    assert unseen[0, at] == pytest.approx(y.mean())


def test_a_missing_category_is_a_level_whose_mean_counts():
    effects = np.linspace(-1, 1, 15)
    codes, x, rng = draw_levels(effects)
    level = np.array([f"l{code:02}" for code in codes], dtype=object)
    gone = rng.random(600) < 0.2
    level[gone] = None
    y = np.where(gone, 5.0, effects[codes]) + 0.1 * rng.normal(size=600)
    encoder = TableEncoder().fit(pd.DataFrame({"level": level, "x": x}), y)
    later = encoder.transform(pd.DataFrame({"level": [None, "l00"], "x": [0.0, 0.0]}))
    column = encoder.columns_[0]
    if column.levels:
        at = encoder.get_feature_names_out().tolist().index("level")
        np.testing.assert_allclose(later[:, at], [5, -1], atol=0.1)
    assert column.categories[-1] == "(missing)"
    assert column.filling == "a category of its own"


def test_rare_levels_are_drawn_to_the_mean_of_all():
    rng = np.random.default_rng(0)
    codes = np.concatenate([rng.integers(0, 12, 590), np.arange(12, 22)])
    y = rng.normal(size=600) + 3 * (codes < 6)
    y[590:] = 10.0
    table = pd.DataFrame({"level": [f"l{code:02}" for code in codes], "x": rng.normal(size=600)})
    levels = means.category_means(codes, y[:, None], np.ones(600), 22)
    column = TableEncoder().fit(table, y).columns_[0]
    if column.levels:
        np.testing.assert_allclose(np.array(column.levels), levels)


def test_integer_codes_that_are_declared_are_levels():
    codes, x, rng = draw_levels(np.arange(6))
    y = np.array([0.0, 3, -2, 4, 1, -3])[codes] + 0.1 * rng.normal(size=600)
    table = pd.DataFrame({"code": pd.Categorical(codes * 7 + 1), "x": x})
    encoder = TableEncoder().fit(table, y)
    assert encoder.columns_[0].categories == ("1", "15", "22", "29", "36", "8")


WORDS = ["oak", "pine", "birch", "table", "chair", "desk", "lamp", "shelf", "small", "large", "old"]
FIRST, LAST = ["Ann", "Ben", "Cleo", "Dan", "Eve"], ["Smith", "Jones", "Brown", "Miller", "Davis"]


def draw_texts(n=400, seed=0):
    rng = np.random.default_rng(seed)
    things = [f"{' '.join(rng.choice(WORDS, 3))} no {rng.integers(10_000)}" for _ in range(n)]
    names = [f"{rng.choice(FIRST)} {rng.choice(LAST)} {chr(65 + i % 26)}{i}" for i in range(n)]
    table = pd.DataFrame({"thing": things, "name": names, "x": rng.normal(size=n)})
    return table, table["thing"].str.contains("oak") | (table["x"] > 1)


def test_text_is_kept_where_it_predicts_and_names_are_left_out():
    table, y = draw_texts()
    encoder = TableEncoder().fit(table, y)
    thing, name, _ = encoder.columns_
    assert str(thing) == "thing: text as 10 numbers"
    assert str(name).startswith("name: not used: text that hardly ever repeats, and does not help")
    model = CurvedKernelClassifier(random_state=0)
    with pytest.warns(UserWarning, match="Column name: not used"):
        found = model.fit(table[:300], y[:300]).score(table[300:], y[300:])
    assert found > 0.85
    order = np.random.default_rng(1).permutation(400)
    again = TableEncoder().fit(table.iloc[order], y.iloc[order])
    np.testing.assert_allclose(again.transform(table), encoder.transform(table))


def test_text_that_says_nothing_is_left_out():
    table, y = draw_texts()
    shuffled = np.random.default_rng(1).permutation(y)
    kinds = [column.kind for column in TableEncoder().fit(table, shuffled).columns_]
    assert kinds == ["unused", "unused", "number"]
    asked = TableEncoder(kinds={"name": "text"}).fit(table, shuffled).columns_[1]
    assert asked.kind == "text"


def test_text_alone_can_be_enough():
    table, y = draw_texts()
    assert TableEncoder().fit(table[["thing"]], y).columns_[0].kind == "text"


ROWS = pd.DataFrame(
    {
        "when": WHEN[:300],
        "level": [f"l{i:02}" for i in np.random.default_rng(2).integers(0, 12, 300)],
        "x": np.random.default_rng(1).normal(size=300).round(2),
    }
)


def judged(table, y, weights):
    targets = means.as_numbers(np.asarray(y))
    judge = evidence.EncodingJudge.of(table, targets, np.asarray(weights, dtype=float))
    some = table.iloc[judge.rows]
    kernel = judge.kernel(some[["x"]].to_numpy())
    hours = days_of(some["when"]).to_numpy() % 1
    other = kernel + judge.kernel(hours[:, None])
    return judge.gain(judge.errors(kernel), judge.errors(other))


def test_evidence_knows_neither_order_nor_copies_nor_units_of_weights():
    rng = np.random.default_rng(0)
    y, weights = OFFICE[:300], rng.integers(1, 3, 300)
    found = judged(ROWS, y, weights)
    order = rng.permutation(300)
    some = ROWS.iloc[order].reset_index(drop=True)
    assert judged(some, y[order], weights[order]) == pytest.approx(found, abs=1e-9)
    assert judged(ROWS, y, 7.5 * weights) == pytest.approx(found, abs=1e-9)
    assert judged(ROWS[["x", "level", "when"]], y, weights) == pytest.approx(found, abs=1e-9)
    copies = np.repeat(np.arange(300), weights)
    repeated = ROWS.iloc[copies].reset_index(drop=True)
    assert judged(repeated, y[copies], np.ones(len(copies))) == pytest.approx(found, abs=1e-9)
    zeros = np.concatenate([weights, np.zeros(300)])
    twice = pd.concat([ROWS, ROWS.assign(x=9.0)], ignore_index=True)
    assert judged(twice, np.concatenate([y, ~y]), zeros) == pytest.approx(found, abs=1e-9)


def test_left_out_errors_are_those_of_fits_without_the_row():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=80)})
    y, weights = rng.normal(size=80), rng.integers(1, 4, 80).astype(float)
    judge = evidence.EncodingJudge.of(table, y[:, None], weights)
    kernel = judge.kernel(table.to_numpy()[judge.rows])
    errors = judge.errors(kernel)
    totals = []
    for noise in (0.1, 1.0):
        found = np.empty(80)
        for i in range(80):
            others = np.delete(np.arange(80), i)
            system = kernel[np.ix_(others, others)] + np.diag(noise / judge.weights[others])
            alpha = np.linalg.solve(system, judge.targets[others])
            found[i] = ((judge.targets[i] - kernel[i, others] @ alpha) ** 2).sum()
        totals.append(found)
    best = min(totals, key=lambda one: judge.weights @ one)
    np.testing.assert_allclose(errors, best)


def test_pairs_of_categories_are_found_where_neither_tells_anything():
    rng = np.random.default_rng(0)
    effects = rng.normal(size=(12, 12))
    effects -= effects.mean(axis=0) + effects.mean(axis=1)[:, None] - effects.mean()
    a, b = rng.integers(0, 12, size=(2, 700))
    y = effects[a, b] + 0.3 * rng.normal(size=700)
    table = pd.DataFrame({"a": [f"a{i}" for i in a], "b": [f"b{i}" for i in b]})
    table["chance"] = [f"c{i}" for i in rng.integers(0, 12, size=700)]
    rows = TableEncoder().fit(table[:600], y[:600]).get_feature_names_out()
    assert sum(name.startswith("a=") for name in rows) == 12
    assert sum(name.startswith("b=") for name in rows) == 12
    assert "chance" in rows
    model = CurvedKernelRegressor(random_state=0).fit(table[:600], y[:600])
    assert model.score(table[600:], y[600:]) > 0.6
