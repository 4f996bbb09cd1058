"""What becomes of each column, in the fitted table and in later ones."""

import datetime as dt
import decimal
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from cayleyklein.exceptions import InvalidInputError, UnreadableCellsWarning
from cayleyklein.tables import TableEncoder


def encoded(values, **options):
    """Encode one column beside another that is always used."""
    table = pd.DataFrame({"a": values, "other": np.linspace(0, 1, len(values))})
    encoder = TableEncoder(**options).fit(table)
    column = encoder.columns_[0]
    names = encoder.get_feature_names_out()
    return column, encoder.transform(table)[:, names != "other"]


# -- numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["1.5", "-2", "+3e2"], [1.5, -2, 300]),
        (["51,234.10", "1,000", "999"], [51234.1, 1000, 999]),
        (["1,234,567.5", "12", "-1,000"], [1234567.5, 12, -1000]),
        (["1,23,456", "12,34,567.5", "50"], [123456, 1234567.5, 50]),
        (["1.234,5", "2,25", "7"], [1234.5, 2.25, 7]),
        (["1 234,5", "2\u00a0000,25", "7"], [1234.5, 2000.25, 7]),
        (["1'234.5", "2\u2019000", "7"], [1234.5, 2000, 7]),
        (["45%", "7.5 %", "100%"], [0.45, 0.075, 1]),
        (["45%", "0.5", "100%"], [0.45, 0.5, 1]),
        (["$1,200.50", "-$3", "$80"], [1200.5, -3, 80]),
        (["1.200,50 €", "80,00 €", "-5 €"], [1200.5, 80, -5]),
        (["EUR 5.50", "EUR 7", "6"], [5.5, 7, 6]),
        (["(1,200.5)", "3,000", "5"], [-1200.5, 3000, 5]),
        (["\u22125.5", "3.5", "4"], [-5.5, 3.5, 4]),
        (["5.5 kg", "7 kg", "12.25kg"], [5.5, 7, 12.25]),
        ([1, 2, 5], [1, 2, 5]),
        ([decimal.Decimal("1.5"), decimal.Decimal(2), None], [1.5, 2, 1.75]),
        (pd.array([1, None, 4], dtype="Int64"), [1, 2.5, 4]),
        (pd.Categorical([1.5, 3.0, 1.5], ordered=True), [1.5, 3, 1.5]),
    ],
    ids=str,
)
def test_numbers_as_people_write_them(written, expected):
    column, rows = encoded(written)
    assert column.kind == "number"
    np.testing.assert_allclose(rows[:, 0], expected, rtol=1e-15)


@pytest.mark.parametrize("odd", ["unknown", "n.a.", "-", "not recorded", "see notes", "#VALUE!"])
def test_a_few_cells_that_are_no_numbers_are_missing(odd):
    with pytest.warns(UserWarning, match=f"Column 'a': 1 cell is not a number.*{odd}"):
        column, rows = encoded([*map(str, np.linspace(0, 7, 40)), odd])
    assert (column.kind, column.n_missing) == ("number", 1)
    assert 0 <= rows[-1, 0] <= 7  # an estimate


def test_many_cells_that_are_no_numbers_make_categories():
    assert encoded([*"12341234", "low", "high", "low"])[0].kind == "category"
    assert encoded(["101", "12b", "7c", "8", "101", "12b"])[0].kind == "category"
    assert encoded(["$5", "€6", "$5", "€7", "€6", "$9"])[0].kind == "category"


def test_one_decimal_mark_for_the_whole_table():
    """999 and 1.234 are both whole where another column has decimal commas."""
    table = pd.DataFrame({"n": ["999", "1.234", "2.500"], "x": ["1,5", "2,25", "0,5"]})
    np.testing.assert_array_equal(
        TableEncoder().fit_transform(table), [[999, 1.5], [1234, 2.25], [2500, 0.5]]
    )
    table["x"] = ["1.5", "2.25", "0.5"]
    np.testing.assert_array_equal(TableEncoder().fit_transform(table)[:, 0], [999, 1.234, 2.5])


def test_numbers_that_can_be_read_in_two_ways_are_said():
    table = pd.DataFrame({"n": ["999", "1,234", "2,500"]})
    with pytest.warns(UserWarning, match="decimal point, but could have a decimal comma"):
        assert TableEncoder().fit_transform(table)[:, 0].tolist() == [999, 1234, 2500]


def test_float64_is_kept():
    """Timestamps in seconds, and 16 digits."""
    given = [1.7e9 + 1, 1.7e9 + 2, 0.1 + 0.2, 1e300, 1e-300]
    assert encoded([repr(value) for value in given])[1][:, 0].tolist() == given


@pytest.mark.parametrize("values", [[1.0, np.inf, 3.0], ["1.0", "inf", "3.0"]])
def test_infinite_numbers_are_missing(values):
    with pytest.warns(UserWarning, match=r"'a': 1 cell is not a number, .* missing \('inf'\)"):
        column, rows = encoded(values)
    assert (column.n_missing, rows[1, 0]) == (1, 2.0)
    assert not column.read(pd.Series(values))[1].any()  # known from the fit
    plain, _ = encoded([1.0, 2.0, 4.0])
    assert plain.read(pd.Series(values))[1].tolist() == [False, True, False]


@pytest.mark.parametrize(("low", "high"), [("<4", ">100"), ("< 4", "≥100"), ("<=4", "> 100")])
def test_bounds_are_numbers_with_a_note(low, high):
    with pytest.warns(UserWarning, match=r"bounds count as numbers \(3: "):
        column, rows = encoded([*map(str, range(10, 50)), low, low, high])
    assert (column.kind, column.n_missing) == ("number", 0)
    assert rows[-3:, 0].tolist() == [4, 4, 100]
    assert column.encode(pd.Series(["<3"])).tolist() == [[3.0]]


def test_bounds_alone_are_categories():
    assert encoded(["<18", ">65", "<18", ">65", "<18"])[0].kind == "category"


@pytest.mark.parametrize(
    ("written", "unit", "expected", "later"),
    [
        (["5 kg", "500 g", "2kg", "0.25 kg"], "kg", [5, 0.5, 2, 0.25], "750 g"),
        (["1.5 km", "200 m", "3 km", "50000 cm"], "km", [1.5, 0.2, 3, 0.5], "750 m"),
        (["1 h", "30 min", "2 h", "900 s"], "h", [1, 0.5, 2, 0.25], "45 min"),
    ],
)
def test_units_of_one_kind_are_converted(written, unit, expected, later):
    with pytest.warns(UserWarning, match=f"are converted to {unit}"):
        column, rows = encoded(written)
    np.testing.assert_allclose(rows[:, 0], expected)
    np.testing.assert_allclose(column.encode(pd.Series([later])), 0.75)
    assert column.read(pd.Series(["3", f"3 {unit}"]))[1].tolist() == [True, False]


def test_another_unit_of_a_later_table_is_converted():
    column, _ = encoded(["5 kg", "7 kg", "2 kg"])
    assert column.encode(pd.Series(["500 g", "3", "2 km"])).ravel()[:2].tolist() == [0.5, 3]
    assert column.read(pd.Series(["500 g", "3", "2 km"]))[1].tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["101", "102", "1E5", "205"], "codes such as '1E5' are read as a number"),
        (["1.9", "1.10", "1.2", "1.11"], "versions such as '1.10' are read as a number"),
    ],
)
def test_numbers_that_may_be_names_are_said(written, said):
    with pytest.warns(UserWarning, match=f"Column 'a': {said}"):
        column, _ = encoded(written)
    assert column.kind == "number"
    column, rows = encoded(written, kinds={"a": "category"})
    assert (column.kind, rows.shape[1]) == ("category", 4)


def test_numbers_of_the_type_category_are_categories():
    codes = pd.Categorical([3, 1, 3, 20])
    column, rows = encoded(codes)
    assert (column.kind, rows.shape[1]) == ("category", 3)
    assert encoded(codes, kinds={"a": "number"})[0].kind == "number"


# -- dates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        "%Y-%m-%d",
        "%d.%m.%Y",
        "%m/%d/%Y",
        "%d/%m/%Y",
        "%Y/%m/%d",
        "%d %B %Y",
        "%b %d, %Y",
        "%Y%m%d",
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M:%S",
        "%d/%m/%Y %H:%M",
    ],
)
def test_dates_are_days(written):
    days = pd.date_range("2023-01-05", periods=40, freq="11D")
    column, rows = encoded(days.strftime(written))
    assert (column.kind, column.cells.guess) == ("date", "")
    np.testing.assert_array_equal(np.diff(rows[:, 0]), 11)
    np.testing.assert_array_equal(rows[:, 0], (days - pd.Timestamp(0)) / pd.Timedelta("1D"))


@pytest.mark.parametrize(
    "written",
    [
        pd.date_range("2024-06-01", periods=5, tz="Europe/Paris"),
        pd.date_range("2024-06-01", periods=5, tz="America/Lima"),
        [f"2024-06-0{i}T00:00:00+09:00" for i in range(1, 6)],
        [f"0{i}/06/2024 00:00 -0500" for i in range(1, 6)],
        [f"2024-06-0{i} 00:00:00Z" for i in range(1, 6)],
    ],
)
def test_midnight_stays_on_its_day_in_every_zone(written):
    kinds = {"a": "date:%d/%m/%Y %H:%M %z"} if "/" in str(written[0]) else None
    _, rows = encoded(written, kinds=kinds)
    first = (pd.Timestamp("2024-06-01") - pd.Timestamp(0)).days
    assert rows[:, 0].tolist() == list(range(first, first + 5))


@pytest.mark.parametrize(
    "written",
    ["%I:%M %p", "%I:%M%p", "%m/%d/%Y %I:%M %p", "%Y-%m-%d %I:%M:%S %p", "%d.%m.%Y %I %p"],
)
def test_twelve_hours_a_day(written):
    stamps = pd.date_range("2024-01-13 00:30", periods=60, freq="5h")
    stamps = stamps.floor("h") if written.endswith("%I %p") else stamps
    column, rows = encoded(stamps.strftime(written).str.lower())
    days = (stamps - pd.Timestamp(0)) / pd.Timedelta("1D")
    assert column.kind == "date"
    np.testing.assert_allclose(rows[:, 0], days if "%d" in written else days % 1)


@pytest.mark.parametrize("written", ["%m/%Y", "%Y/%m", "%m-%Y", "%Y-%m", "%b %Y", "%B %Y"])
def test_months_are_dates(written):
    months = pd.date_range("2019-02-01", periods=40, freq="MS")
    column, rows = encoded(months.strftime(written))
    assert (column.kind, column.cells.guess) == ("date", "")
    np.testing.assert_array_equal(rows[:, 0], (months - pd.Timestamp(0)).days)


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        (lambda t: (t - pd.Timestamp("1899-12-30")) / pd.Timedelta("1D"), "excel"),
        (lambda t: (t - pd.Timestamp(0)) / pd.Timedelta("1s"), "unix"),
        (lambda t: (t - pd.Timestamp(0)) // pd.Timedelta("1ms"), "unix-ms"),
        (lambda t: t.strftime("%Y%m%d").astype(int), "%Y%m%d"),
    ],
)
@pytest.mark.parametrize("kind_of_cell", [float, str])
def test_numbers_that_are_said_to_be_dates(numbers, kind, kind_of_cell):
    days = pd.date_range("2024-01-05", periods=40, freq="11D")
    values = [kind_of_cell(value) for value in numbers(days)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        column, rows = encoded(values, kinds={"a": "date"})
    assert column.cells.date == kind
    np.testing.assert_allclose(rows[:, 0], (days - pd.Timestamp(0)).days)
    assert [f"read as dates, date:{kind}" in str(one.message) for one in caught] == [True] * (
        kind != "%Y%m%d"
    )
    _, same = encoded(values, kinds={"a": f"date:{kind}"})
    np.testing.assert_array_equal(same, rows)


def test_other_numbers_are_no_dates():
    with pytest.raises(InvalidInputError, match="said to be a date, but none of its cells is"):
        encoded([1.0, 2.0, 7.0], kinds={"a": "date"})
    assert encoded([1.0, 2.0, 7.0], kinds={"a": "date:days"})[1][:, 0].tolist() == [1, 2, 7]


def test_one_instant_in_three_offsets_is_one_number():
    instants = ["2024-06-01T12:00:00+02:00", "2024-06-01T10:00:00Z", "2024-06-01T06:00:00-04:00"]
    later = [text.replace("06-01", "06-02") for text in instants]
    with pytest.warns(UserWarning, match="offsets of several zones, and are UTC"):
        column, rows = encoded([*instants, *later])
    noon = (pd.Timestamp("2024-06-01T10:00") - pd.Timestamp(0)) / pd.Timedelta("1D")
    np.testing.assert_allclose(rows[:, 0], np.repeat([noon, noon + 1], 3))
    aware = [pd.Timestamp(text) for text in [*instants, *later]]
    np.testing.assert_allclose(encoded(pd.Series(aware, dtype=object))[1], rows)
    np.testing.assert_allclose(column.encode(pd.Series(aware, dtype=object)), rows)


def test_summer_time_is_no_other_zone():
    written = [
        "2024-01-01T12:00:00+01:00",
        "2024-07-01T12:00:00+02:00",
        "2024-08-01T12:00:00+02:00",
    ]
    assert (encoded(written)[1] % 1 == 0.5).all()


def test_dates_in_several_formats():
    days = pd.date_range("2023-01-05", periods=60, freq="3D")
    written = [
        day.strftime(("%Y-%m-%d", "%d.%m.%Y", "%b %d, %Y")[i % 3]) for i, day in enumerate(days)
    ]
    with pytest.warns(UserWarning, match="its dates are written in several ways, ISO8601, %"):
        column, rows = encoded(written)
    assert (column.kind, column.n_missing) == ("date", 0)
    np.testing.assert_array_equal(np.diff(rows[:, 0]), 3)
    later = column.encode(pd.Series(["Feb 01, 2024", "2024-02-02", "03.02.2024"], name="a"))
    np.testing.assert_array_equal(np.diff(later[:, 0]), 1)
    floats, odd = column.read(pd.Series(["2/3/2024"], name="a"))
    assert np.isnan(floats).all()
    assert odd.all()
    assert column.cells.expected("2/3/2024").startswith("a date like ISO8601 or %")


def test_day_and_month_are_not_exchanged_within_a_column():
    written = [f"{i % 12 + 1:02}/{i % 28 + 1:02}/2024" for i in range(60)]
    with pytest.warns(UserWarning, match=r"1 cell is not a date.*'25/13/2024'"):
        column, _ = encoded([*written, "25/13/2024"])
    assert column.cells.date == "%m/%d/%Y"


@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_timestamps_and_dates_of_python(zone):
    stamps = pd.Series(pd.date_range("2024-01-01", periods=5, freq="6h", tz=zone))
    np.testing.assert_allclose(np.diff(encoded(stamps)[1][:, 0]), 0.25)
    days = [dt.date(2024, 1, 1), dt.date(2024, 2, 1), None]
    column, rows = encoded(days)
    assert (column.kind, column.n_missing, rows[1, 0] - rows[0, 0]) == ("date", 1, 31)


def test_dates_that_can_be_read_in_two_ways_are_said():
    with pytest.warns(UserWarning, match="read as %m/%d/%Y, but could be %d/%m/%Y"):
        _, rows = encoded(["01/02/2024", "03/04/2024", "05/06/2024"])
    assert rows[0, 0] == (pd.Timestamp("2024-01-02") - pd.Timestamp(0)).days
    _, rows = encoded(["01/02/2024", "03/04/2024", "05/06/2024"], kinds={"a": "date:%d/%m/%Y"})
    assert rows[0, 0] == (pd.Timestamp("2024-02-01") - pd.Timestamp(0)).days


def test_times_are_parts_of_a_day():
    column, rows = encoded(["06:00", "12:30", "18:00", "06:15"])
    assert str(column) == "a: time as part of a day"
    np.testing.assert_allclose(rows[:, 0] * 24, [6, 12.5, 18, 6.25])


def test_codes_with_leading_zeros_are_categories():
    assert encoded(["00501", "10115", "00501", "08001", "10115"])[0].kind == "category"
    assert encoded(["08", "09", "10", "11", "08"])[0].kind == "number"
    zips = ["02114", "10001", "02114", "10001", "02114"]
    assert encoded(["007", "12", "1234", "12", "007"])[0].kind == "category"
    for other in ("unknown", "2A004"):  # neither is a number, nor makes numbers of the rest
        assert encoded([*zips * 4, other])[0].categories == ("02114", "10001", other)
    assert encoded([f"{i:05}" for i in range(40)])[0].text.endswith("an identifier")
    column, rows = encoded(zips, kinds={"a": "number"})
    assert (column.kind, rows[0, 0]) == ("number", 2114)


@pytest.mark.parametrize(
    "written",
    [
        ["0.5", "0", "1.25", "0.5", "10"],
        ["0012.5", "007.0", "100", "3.5", "8.25"],
        ["007 kg", "12 kg", "8 kg", "12 kg", "9 kg"],
        [*map(str, range(0, 200, 3)), "007", "7"],
    ],
)
def test_numbers_with_some_zeros_in_front_stay_numbers(written):
    assert encoded(written)[0].kind == "number"


def test_a_date_that_is_unknown_is_missing():
    days = pd.date_range("2023-01-05", periods=40).strftime("%d.%m.%Y")
    with pytest.warns(UserWarning, match="1 cell is not a date, and counts among the missing"):
        column, _ = encoded([*days, "unknown"])
    assert (column.kind, column.n_missing) == ("date", 1)


def test_a_date_of_the_other_order_names_the_remedy():
    with pytest.warns(UserWarning, match="could be %d/%m/%Y"):
        encoder = TableEncoder().fit(pd.DataFrame({"le jour": ["01/02/2024", "03/04/2024"]}))
    later = pd.DataFrame({"le jour": ["25/03/2024"]})
    with pytest.warns(UnreadableCellsWarning, match=r"'25/03/2024' \(row 1\)") as warned:
        encoder.transform(later)
    with pytest.raises(InvalidInputError, match="row 1 has '25/03/2024'") as error:
        encoder.set_params(errors="raise").transform(later)
    for said in (str(error.value), str(warned[0].message)):
        assert "--as 'le jour=date:%d/%m/%Y'" in said
        assert "kinds={'le jour': 'date:%d/%m/%Y'}" in said


# -- categories, text, identifiers -----------------------------------------------------------


def test_a_dash_is_a_missing_category():
    column, rows = encoded(["red", "blue", "red", "-", "–"])
    assert (column.categories, column.n_missing) == (("blue", "red", "(missing)"), 2)
    np.testing.assert_array_equal(rows[3:], [[0, 0, 1], [0, 0, 1]])
    later = column.encode(pd.Series(["—", "blue"]))
    np.testing.assert_array_equal(later, [[0, 0, 1], [1, 0, 0]])
    encoder = TableEncoder().fit(pd.DataFrame({"a": ["red", "blue", "red"]}))
    table = pd.DataFrame({"a": ["-", "green"]})
    assert (encoder.missing(table), encoder.unseen(table)) == ({"a": 1}, {"a": 1})


@pytest.mark.parametrize("written", [["+", "-", "+", "0", "-"], ["x", "-", "x", "-", "-"]])
def test_a_dash_with_a_meaning_is_a_category(written):
    column, _ = encoded(written)
    assert (column.n_missing, column.is_missing(pd.Series(["-"])).tolist()) == (0, [False])
    assert "-" in column.categories


def test_missing_cells_are_counted():
    table = pd.DataFrame(
        {
            "price": ["$1.5", "$2.5", "$9"],
            "when": ["2024-01-01", "2024-01-03", "2024-02-01"],
            "colour": ["red", "blue", "red"],
        }
    )
    encoder = TableEncoder().fit(table)
    later = pd.DataFrame(
        {"colour": [None, "-", "red"], "price": [None, "unknown", "$3"], "when": "2024-01-01"}
    )
    assert encoder.missing(later) == {"price": 2, "colour": 2}
    assert encoder.missing(table) == {}
    filling = {column.name: column.filling for column in encoder.columns_}
    assert filling == {
        "price": "an estimate, about the median, 2.5",
        "when": "an estimate, about the median, 2024-01-03",
        "colour": "the most frequent, red",
    }


def test_categories_are_one_hot():
    column, rows = encoded(["red", "blue", "red", None, "green"])
    assert column.kind == "category"
    assert column.categories == ("blue", "green", "red", "(missing)")
    np.testing.assert_array_equal(rows, np.eye(4)[[2, 0, 2, 3, 1]])
    assert "1 missing cell becomes a category of its own" in str(column)


def test_a_missing_category_is_the_most_frequent_where_none_was_missing():
    column, _ = encoded(["red", "blue", "red"])
    np.testing.assert_array_equal(column.encode(pd.Series([None, "green"])), [[0, 1], [0, 0]])
    assert column.filling == "the most frequent, red"


@pytest.mark.parametrize("known", ["x", 7, True, "2024-01-01"])
def test_gaps_of_a_constant_column_are_kept(known):
    """A mark that is set or not: whether the cell is missing tells all that it can."""
    values = [known if i % 3 else None for i in range(60)]
    column, rows = encoded(values)
    assert (column.kind, rows.shape) == ("category", (60, 2))
    np.testing.assert_array_equal(rows[:, 1], [value is None for value in values])


def test_ordered_categories_keep_their_order():
    sizes = pd.Categorical(["S", "XL", None, "M", "M"], ["S", "M", "XL"], ordered=True)
    column, rows = encoded(sizes)
    assert str(column).startswith("a: ordered categories as one number, S < M < XL; 1 missing")
    assert rows[:, 0].tolist() == [0, 2, 1, 1, 1]
    later = pd.DataFrame({"a": ["XL", "huge"], "other": 1.0})
    encoder = TableEncoder().fit(pd.DataFrame({"a": sizes, "other": np.linspace(0, 1, 5)}))
    assert encoder.transform(later)[:, 0].tolist() == [2, 1]
    assert encoder.unseen(later) == {"a": 1}
    _, same = encoded(["S", "XL", None, "M", "M"], kinds={"a": "order:S < M<XL"})
    np.testing.assert_array_equal(same, rows)
    with pytest.raises(InvalidInputError, match="'a' has 'XL', which is not one of S, M"):
        encoded(["S", "XL", "M"], kinds={"a": "order:S<M"})


def test_copies_of_a_column_are_left_out():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=40).round(2), "c": rng.choice(["u", "v"], 40)})
    table = table.assign(b=[f"{value} kg" for value in table["a"]], d=table["c"], e=-table["a"])
    columns = {column.name: column for column in TableEncoder().fit(table).columns_}
    assert str(columns["b"]) == "b: not used: a copy of 'a'"
    assert str(columns["d"]) == "d: not used: a copy of 'c'"
    assert columns["e"].kind == "number"
    assert TableEncoder(kinds={"b": "number"}).fit(table).columns_[2].kind == "number"


def test_rare_categories_share_a_number():
    column, rows = encoded([f"v{i % 12}" for i in range(60)], max_categories=5)
    assert rows.shape[1] == 5
    assert "and one for the 8 rarest" in str(column)


@pytest.mark.parametrize("values", [[True, False, True], ["yes", "no", "yes"], ["T", "F", None]])
def test_booleans_are_categories(values):
    column, rows = encoded(values)
    assert (column.kind, rows.shape[1]) == ("category", len(set(values)))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (range(1, 41), "whole numbers that never repeat"),
        (map(str, range(5000, 5040)), "whole numbers that never repeat"),
        (np.random.default_rng(0).permutation(150)[:40], "whole numbers that never repeat"),
        ([f"person {i}" for i in range(40)], "text that hardly ever repeats"),
        ([f"{i:05d}" for i in range(400, 440)], "text that hardly ever repeats"),
        ([7] * 40, "every cell is 7"),
        ([None] * 40, "every cell is missing"),
    ],
)
def test_columns_without_information_are_left_out(values, why):
    column, rows = encoded(list(values))
    assert column.kind == "unused"
    assert why in str(column)
    assert rows.shape[1] == 0


@pytest.mark.parametrize(
    "name", ["id", "customer_id", "ID of order", "orderNo", "Row", "serial number", "Unnamed: 0"]
)
def test_whole_numbers_that_are_called_identifiers(name):
    table = pd.DataFrame({name: np.arange(40) ** 2, "x": np.linspace(0, 1, 40)})
    assert TableEncoder().fit(table).columns_[0].kind == "unused"
    assert TableEncoder(kinds={name: "number"}).fit(table).columns_[0].kind == "number"


@pytest.mark.parametrize(
    "name", ["no_of_employees", "Nr. of rooms", "row_width", "key rate", "record high", "no claims"]
)
def test_words_of_identifiers_in_the_names_of_quantities(name):
    table = pd.DataFrame({name: np.arange(40) ** 2, "x": np.linspace(0, 1, 40)})
    assert TableEncoder().fit(table).columns_[0].kind == "number"


def test_whole_numbers_that_happen_to_differ_are_numbers():
    cents = np.random.default_rng(0).integers(0, 10**7, 40)
    assert encoded(cents)[0].kind == "number"
    assert encoded(np.arange(40) % 30)[0].kind == "number"


def test_long_text_is_encoded():
    words = ["the", "quick", "brown", "fox", "jumps", "over", "many", "small", "birds", "sing"]
    rng = np.random.default_rng(0)
    about_money = [" ".join(rng.choice(words, 6)) + " and costs money" for _ in range(30)]
    other = [" ".join(rng.choice(words, 8)) for _ in range(30)]
    column, rows = encoded([*about_money, *other])
    assert (column.kind, rows.shape[1]) == ("text", 10)
    between = np.linalg.norm(rows[:30].mean(axis=0) - rows[30:].mean(axis=0))
    within = np.linalg.norm(rows[:15].mean(axis=0) - rows[15:30].mean(axis=0))
    assert between > 2 * within


@pytest.mark.parametrize(("kind", "width"), [("category", 4), ("number", 1), ("text", 10)])
def test_a_kind_can_be_given(kind, width):
    values = ["1", "2", "10", "2", "3"] * 10
    column, rows = encoded(values, kinds={"a": kind})
    assert column.kind == kind
    assert rows.shape[1] == (width if kind != "text" else rows.shape[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {"b": "number"}}, "There is no column 'b'"),
        ({"kinds": {"a": "integer"}}, "expected one of 'number', 'category', 'date', 'text'"),
        ({"kinds": {"a": "number"}}, "'a' was said to be a number, but none of its cells is"),
        ({"kinds": {"a": "date"}}, "'a' was said to be a date, but none of its cells is"),
        ({"kinds": ["a"]}, "expected a mapping of column names"),
        ({"drop": ["b"]}, "There is no column 'b' to drop"),
        ({"drop": "a"}, "sequence of str"),
        ({"max_categories": 0}, "max_categories=0"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(InvalidInputError, match=message):
        encoded(["u", "v", "u"], **options)


# -- later tables --------------------------------------------------------------------------


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(50, 10, 60),
            "price": [f"{v:,.2f}" for v in rng.uniform(500, 5000, 60)],
            "day": pd.date_range("2024-01-01", periods=60).strftime("%d.%m.%Y"),
            "colour": rng.choice(["red", "green", "blue"], 60),
            "name": [f"row {i}" for i in range(60)],
        }
    )


def test_each_row_is_encoded_by_itself(table):
    encoder = TableEncoder().fit(table)
    whole = encoder.transform(table)
    np.testing.assert_array_equal(encoder.transform(table[40:50]), whole[40:50])
    np.testing.assert_array_equal(encoder.transform(table[3:4]), whole[3:4])


def test_columns_are_found_by_name(table):
    encoder = TableEncoder().fit(table)
    shuffled = table[table.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(table))
    with pytest.raises(InvalidInputError, match="lacks 2 columns: 'size', 'day'"):
        encoder.transform(table.drop(columns=["size", "day", "name"]))


def test_new_missing_cells_are_imputed(table):
    encoder = TableEncoder().fit(table)
    later = table.astype(object)
    later.loc[4] = [None, "unknown", "-", None, None]
    found = encoder.transform(later)
    assert abs(found[4, 0] - table["size"].median()) < table["size"].std()
    np.testing.assert_array_equal(np.delete(found, 4, 0), np.delete(encoder.transform(table), 4, 0))


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        ("size", "huge", "a number"),
        ("size", "1,5", "a number with a decimal point"),
        ("price", "1.234,50", "a number with a decimal point"),
        ("price", "$5.00", "a number"),
        ("size", "1,234", "a number without thousands separators"),
        ("day", "2024-05-06", "a date like %d.%m.%Y"),
        ("day", "31.02.2024", "a date like %d.%m.%Y"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(table, column, cell, expected):
    encoder = TableEncoder(errors="raise").fit(table)
    later = table.astype(object)
    later.loc[32, column] = cell
    for piece in (later, later[30:]):  # the row of the whole table
        with pytest.raises(
            InvalidInputError,
            match=re.escape(f"'{column}' should hold {expected}, but row 33 has '{cell}'"),
        ):
            encoder.transform(piece)
    encoder.set_params(errors="warn")
    said = (
        f"1 cell cannot be read, and counts as missing: 1 in '{column}', not {expected}: '{cell}'"
    )
    with pytest.warns(UnreadableCellsWarning, match=re.escape(f"{said} (row 33)")) as warned:
        rows = encoder.transform(later)
    assert len(warned) == 1
    later.loc[32, column] = None
    np.testing.assert_array_equal(encoder.transform(later), rows)


def test_one_warning_counts_the_cells_that_cannot_be_read(table):
    encoder = TableEncoder().fit(table)
    later = table.astype(object)
    later.loc[5:9, "size"] = "oops"
    later.loc[7, "day"] = "never ever"
    with pytest.warns(UnreadableCellsWarning) as warned:
        encoder.transform(later)
    assert [str(one.message) for one in warned] == [
        "6 cells cannot be read, and count as missing: 5 in 'size', not a number: 'oops' (row 6), "
        "'oops' (row 7), 'oops' (row 8), …; 1 in 'day', not a date like %d.%m.%Y: 'never ever' "
        "(row 8)."
    ]
    assert {name: len(cells) for name, cells in encoder.unreadable(later).items()} == {
        "size": 5, "day": 1,
    }  # fmt: skip
    assert encoder.missing(later) == {"size": 5, "day": 1}


@pytest.mark.parametrize(
    ("written", "later", "message"),
    [
        (["45%", "50%", "7%"], ["45", "50", "7"], "a number in %, but row 1 has '45'"),
        (["45%", "50%", "7%"], [45.0, 50.0, 7.0], "a number in %, but row 1 has '45.0'"),
        (["2024-05-06", "2024-05-07", "2024-05-09"], [19849, 19850, 19852], "a date"),
        ([1.5, 2.5, 4.0], pd.date_range("2024-01-01", periods=3), "a number, but row 1 has"),
        (["red", "blue", "red"], ["red", "red", "blue"], None),
    ],
)
def test_another_type_is_no_other_number(written, later, message):
    encoder = TableEncoder(errors="raise").fit(pd.DataFrame({"a": written}))
    if message is None:
        encoder.transform(pd.DataFrame({"a": later}))
        return
    with pytest.raises(InvalidInputError, match=message):
        encoder.transform(pd.DataFrame({"a": later}))


def test_unseen_categories_are_zeros_and_counted(table):
    encoder = TableEncoder().fit(table)
    later = table[:3].assign(colour=["pink", "red", None])
    assert encoder.unseen(later) == {"colour": 1}
    np.testing.assert_array_equal(encoder.transform(later)[0, 3:], 0)


def test_numbers_as_text_and_as_numbers_are_the_same(table):
    encoder = TableEncoder().fit(table[["size", "colour"]])
    as_text = table.assign(size=[repr(value) for value in table["size"]])
    np.testing.assert_array_equal(encoder.transform(as_text), encoder.transform(table))
    codes = pd.DataFrame({"a": [1, 2, 1, 3]})
    encoder = TableEncoder(kinds={"a": "category"}).fit(codes)
    np.testing.assert_array_equal(
        encoder.transform(codes.astype(float)), encoder.transform(codes.astype(str))
    )
    assert encoder.unseen(codes.astype(float)) == {}


def test_columns_of_several_levels_have_names():
    levels = pd.MultiIndex.from_tuples([("size", "x"), ("size", "y")])
    table = pd.DataFrame([[1.0, 2.0], [3.0, 5.0]], columns=levels)
    encoder = TableEncoder().fit(table)
    assert encoder.get_feature_names_out().tolist() == ["('size', 'x')", "('size', 'y')"]


def test_clones_and_refits(table):
    encoder = TableEncoder(max_categories=3, kinds={"size": "number"}, drop=["name"])
    assert clone(encoder).get_params() == encoder.get_params()
    encoder.fit(table)
    before = dict(vars(encoder))
    with pytest.raises(InvalidInputError):
        encoder.fit(table.assign(size="x"))
    assert vars(encoder) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0, 2.0], "Expected 2D array, got 1D array instead"),
        (pd.DataFrame({"a": [1]}), "one row"),
        (pd.DataFrame(index=range(3)), "no column to learn from"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame({"a": [1, 1], "b": [None, None]}), "No column of the table can be used"),
        (pd.DataFrame({"a": [1j, 2, 3]}), "'a' holds complex numbers"),
        (pd.DataFrame({"a": [[1], [2], [1]]}), "'a' holds a list in a cell"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "several columns of the name 'a'"),
    ],
)
def test_refuses(given, message):
    with pytest.raises(InvalidInputError, match=message):
        TableEncoder().fit(given)


def test_whole_numbers_that_look_like_codes_are_named_with_what_to_do():
    rng = np.random.default_rng(0)
    region, x, age = rng.integers(1, 9, 600), rng.normal(size=600), rng.integers(18, 80, 600)
    effects = np.array([0.0, 1.2, -0.6, 0.9, -1.5, -0.2, 1.6, -1.1, 0.4])  # in no order
    y = effects[region] + x + 0.3 * rng.normal(size=600)
    y += np.sin(age / 10)  # a wave in the order of a quantity
    table = pd.DataFrame({"region": region, "x": x, "age": age, "zip_code": 10_000 + age * 17})
    with pytest.warns(UserWarning, match="look like codes") as found:
        encoder = TableEncoder().fit(table, y)
    assert [str(warning.message).split("'")[1] for warning in found] == ["region", "zip_code"]
    assert "--as region=category (kinds={'region': 'category'}" in str(found[0].message)
    assert "look like codes" in encoder.columns_[0].text
    kinds = {"region": "category", "zip_code": "number"}
    TableEncoder(kinds=kinds).fit(table, y)  # without a warning


def test_dates_of_a_frame_are_found_in_a_later_file_of_text():
    days = pd.DataFrame({"day": pd.date_range("2024-01-30", periods=20), "x": np.arange(20) % 7})
    encoder = TableEncoder().fit(days)
    as_text = days.assign(day=days["day"].dt.strftime("%Y-%m-%d"))
    np.testing.assert_array_equal(encoder.transform(as_text), encoder.transform(days))
