"""A changed cell is written as its column is, and read back as the same number."""

import numpy as np
import pandas as pd
import pytest

from cayleyklein import CurvedKNeighborsClassifier
from cayleyklein.columns.changes import RowCells
from cayleyklein.tables import TableEncoder

NUMBERS = {
    "plain": "{:.2f}",
    "dollars": "${:.2f}",
    "kilograms": "{:.1f} kg",
    "per cent": "{:.1f}%",
    "thousands": "{:,.2f}",
}
DATES = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d %B %Y", "%Y-%m-%dT%H:%M:%S", "%H:%M"]
VALUES = 3.25 + 317.5 * np.arange(12)


def column_of(cells):
    return TableEncoder().fit(pd.DataFrame({"x": cells})).columns_[0]


@pytest.mark.parametrize("style", NUMBERS)
@pytest.mark.parametrize("comma", [False, True])
def test_numbers_are_read_back(style, comma):
    cells = [NUMBERS[style].format(value) for value in VALUES]
    if comma:
        cells = [cell.translate(str.maketrans(".,", ",.")) for cell in cells]
    column = column_of(cells)
    assert column.kind == "number"
    for value in (0.125, -7.5, 1234.5678, 1e-7):
        text = column.cells.written(value)
        assert column.cells.floats(pd.Series([text]))[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("form", DATES)
def test_dates_are_read_back(form):
    days = pd.date_range("2021-01-05 07:35", periods=12, freq="37D") + pd.to_timedelta(
        np.arange(12) * 41, unit="min"
    )
    column = column_of(days.strftime(form).to_list())
    assert column.kind == "date"
    for cell in days.strftime(form):
        value = column.cells.floats(pd.Series([cell]))[0]
        assert column.cells.floats(pd.Series([column.cells.written(value)]))[0] == value


def test_a_row_and_back():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "price": [f"{each:.2f} €".replace(".", ",") for each in rng.gamma(2, 20, 80)],
            "colour": rng.choice(["red", "blue", "green"], 80),
            "zip": pd.Categorical(rng.choice([1010, 2020, 3030], 80)),
            "hot": rng.choice([True, False], 80),
        }
    )
    model = CurvedKNeighborsClassifier(3, geometry="flat").fit(table, rng.choice(["a", "b"], 80))
    row = table[4:5]
    cells = RowCells.of(model, row)
    fitted = model.fitted_rows.places
    np.testing.assert_array_equal(cells.encode(cells.values[None]), fitted[4:5])
    np.testing.assert_allclose(cells.encode(cells.decode(fitted)), fitted)
    assert cells.changes(cells.values) == {}
    for other in (0, 1, 2, 3):
        values = cells.decode(fitted[[other]])[0]
        written = cells.written(values)
        assert list(written) == list(table)
        np.testing.assert_allclose(model.encoder_.transform(written), fitted[[other]])
        for name, (before, after) in cells.changes(values).items():
            assert before == row[name].iloc[0]
            assert str(after) == str(table[name].iloc[other])
