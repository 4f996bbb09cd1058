"""The same data with one column written in another way is learned as well as before."""

import numpy as np
import pandas as pd
import pytest

N, N_TRAIN = 300, 200
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
INCOME = np.where(Y == 1, 60_000, 40_000) + RNG.normal(0, 4000, N)
PLAIN = pd.DataFrame(
    {
        "income": INCOME.round(2),
        "score": RNG.normal(size=N).round(3) + Y / 2,
        "y": np.where(Y == 1, "yes", "no"),
    }
)
DAYS = pd.Timestamp("2020-01-01") + pd.to_timedelta((INCOME / 50).round(), unit="D")


def with_income(values):
    return PLAIN.assign(income=values)


def some_unknown(word):
    income = PLAIN["income"].astype(object)
    income[[7, 250]] = word
    return with_income(income)


MESSY = {
    "thousands": with_income([f"{v:,.2f}" for v in INCOME]),
    "dollars": with_income([f"${v:,.2f}" for v in INCOME]),
    "percent": with_income([f"{v / 1000:.3f} %" for v in INCOME]),
    "unknown": some_unknown("unknown"),
    "dash": some_unknown("-"),
    "gaps": some_unknown(None),
    "dates": with_income(DAYS.strftime("%Y-%m-%d")),
    "day first": with_income(DAYS.strftime("%d/%m/%Y")),
    "month names": with_income(DAYS.strftime("%d %b %Y")),
    "integer id": PLAIN.assign(id=np.arange(1, N + 1)),
    "other id": PLAIN.assign(customer=RNG.permutation(9000)[:N]),
    "names": PLAIN.assign(name=[f"person {i}" for i in range(N)]),
    "constant": PLAIN.assign(country="DE"),
}


def accuracy(command, table, *options, **writing):
    table[:N_TRAIN].to_csv("train.csv", index=False, **writing)
    table[N_TRAIN:].to_csv("test.csv", index=False, **writing)
    fitted = command("fit", "train.csv", "-t", "y", "-g", "flat", "-o", "m.ckm", *options)
    assert fitted.code == 0, fitted.err
    found = command("evaluate", "m.ckm", "test.csv", "--json")
    assert found.code == 0, found.err
    return found.json["accuracy"], fitted.err


def test_accuracy_does_not_fall(command):
    plain, _ = accuracy(command, PLAIN)
    found = {name: accuracy(command, table)[0] for name, table in MESSY.items()}
    assert {name: score for name, score in found.items() if score < plain - 0.02} == {}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_a_file_of_european_excel(command, encoding):
    table = PLAIN.assign(
        income=[f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in INCOME],
        score=[f"{v:.3f}".replace(".", ",") for v in PLAIN["score"]],
        city=np.where(RNG.random(N) > 0.5, "Köln", "Zürich"),
    )
    plain, _ = accuracy(command, PLAIN)
    found, said = accuracy(command, table, sep=";", encoding=encoding)
    assert found >= plain - 0.02
    assert "city: 2 categories, one number for each of Köln, Zürich" in said
    assert ("read as cp1252" in said) == (encoding == "cp1252")


def test_fit_says_what_each_column_became(command):
    table = MESSY["unknown"].assign(
        id=np.arange(N), when=DAYS.strftime("%d.%m.%Y"), flag=RNG.random(N) > 0.5, same=1
    )
    _, said = accuracy(command, table)
    assert "note: income: number; 1 missing cell becomes an estimate, about the median" in said
    assert "1 cell is not a number, and counts among the missing ('unknown')" in said
    assert "  score: number\n" in said
    assert "note: id: not used: whole numbers that never repeat, an identifier" in said
    assert "  when: date as days, 2021-" in said
    assert "  flag: 2 categories, one number for each of False, True" in said
    assert "note: same: not used: every cell is 1" in said
    assert "--drop and --as" in said
    assert "id: not used" in command("info", "m.ckm").out


def test_a_note_is_printed_once(command):
    days = [f"{1 + i % 12:02}/{1 + i % 5:02}/2024" for i in range(N)]
    _, said = accuracy(command, PLAIN.rename(columns={"score": "d'achat"}).assign(**{"l'an": days}))
    assert said.count("its dates are read as %m/%d/%Y, but could be %d/%m/%Y") == 1
    later = PLAIN.rename(columns={"score": "d'achat"}).assign(**{"l'an": "25/03/2024"})
    later.to_csv("later.csv", index=False)
    answer = command("predict", "m.ckm", "later.csv")
    assert answer.code == 0
    assert answer.err.count("=date:%d/%m/%Y") == 1
    assert f"note: {N} cells cannot be read, and count as missing: {N} in" in answer.err


def test_drop_and_as_override(command):
    table = PLAIN.assign(id=np.arange(N), zip=RNG.choice([50667, 8001, 10115], N))
    table["city"] = RNG.choice(["Köln", "Zürich"], N)
    _, said = accuracy(
        command, table, "--as", "id=number", "--as", "zip=category", "--drop", "score"
    )
    assert "  id: number\n" in said
    assert "  zip: 3 categories, one number for each of 10115, 50667, 8001" in said
    assert "note: score: not used: dropped" in said
    for wrong, message in [
        ("zip", "Got --as zip; expected COLUMN=KIND"),
        ("zap=number", "There is no column 'zap'. Did you mean 'zip'?"),
        ("zip=integer", "Column 'zip' was said to be 'integer' (by --as, or kinds in Python)"),
        ("zip=integer", "expected one of 'number', 'category', 'date', 'text'"),
        ("city=date", "Column 'city' was said to be a date, but none of its cells is"),
    ]:
        answer = command("fit", "train.csv", "-t", "y", "-o", "n.ckm", "--as", wrong)
        assert (answer.code, answer.out) == (1, "")
        assert message in answer.err


def test_later_rows_are_read_in_the_same_way(command):
    """Gaps are imputed, and cells that cannot be read are missing, or an error."""
    accuracy(command, MESSY["dollars"])
    test = MESSY["dollars"][N_TRAIN:].astype(object).reset_index(drop=True)
    test.loc[3, "income"] = None
    test.loc[4, "income"] = "unknown"
    test.to_csv("test.csv", index=False)
    assert command("predict", "m.ckm", "test.csv").code == 0
    test.loc[5, "income"] = "51.234,10"
    test.to_csv("test.csv", index=False)
    answer = command("predict", "m.ckm", "test.csv")
    assert answer.code == 0
    said = "1 cell cannot be read, and counts as missing: 1 in 'income', not a number"
    assert answer.err.count(said) == 1
    assert "'51.234,10' (row 6)" in answer.err
    answer = command("predict", "m.ckm", "test.csv", "-o", "out.csv", "--errors", "raise")
    assert (answer.code, answer.out) == (1, "")
    assert "Column 'income' should hold a number" in answer.err
    assert "row 6 has '51.234,10'" in answer.err
