"""A quantity as the target: every command, from files as people have them."""

import io
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from cayleyklein import experiments
from cayleyklein.cli import main
from cayleyklein.tables import TableRegressor, load_model

RNG = np.random.default_rng(0)
SIZE = RNG.normal(60, 15, 240).round(1)
TOWN = RNG.choice(["Köln", "Bonn"], 240)
PRICE = (2000 * SIZE + 40_000 * (TOWN == "Bonn") + RNG.normal(0, 3000, 240)).round(2)


def european(value, unit=""):
    return f"{unit}{value:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    """Two tables of houses with decimal commas and currencies, and a model of the first."""
    folder = tmp_path_factory.mktemp("houses")
    prices = [european(value, "€ ") for value in PRICE]
    table = pd.DataFrame({"size": list(map(european, SIZE)), "town": TOWN, "price": prices})
    table.loc[[3, 7], "price"] = ["", "unknown"]
    table[:160].to_csv(folder / "train.csv", sep=";", index=False)
    table[160:].to_csv(folder / "test.csv", sep=";", index=False)
    train, model = str(folder / "train.csv"), str(folder / "m.ckm")
    fit = ["fit", train, "-t", "price", "--model", "neighbors", "-g", "flat", "-q"]
    assert main([*fit, "-o", model]) == 0
    return folder


def test_fit_says_that_it_predicts_a_number(houses, command):
    answer = command("fit", houses / "train.csv", "-t", "price", "-g", "flat", "-o", "m.ckm")
    assert "note: left out 2 rows without a number in 'price'" in answer.err
    assert "note: price: 1 cell is not a number, and counts among the missing" in answer.err
    assert "price holds 158 different numbers, and is predicted as one (--task class" in answer.err
    assert (
        answer.out == "m.ckm: 158 rows, numbers of 'price' by kernel machines, metric flat, K = 0\n"
    )
    assert "predicts      price: " in command("info", "m.ckm").out
    facts = command("info", "m.ckm", "--json").json
    known = np.delete(PRICE[:160], [3, 7])
    assert facts["numbers"]["max"] == known.max()
    assert (facts["task"], facts["rows"]) == ("number", 158)


def test_evaluate_and_predict_agree_with_python(houses, command, tmp_path):
    model, test = houses / "m.ckm", houses / "test.csv"
    fitted = load_model(model)
    assert isinstance(fitted, TableRegressor)
    found = fitted.predict(pd.read_csv(test, sep=";"))
    values = command("evaluate", model, test, "--json").json
    truth = PRICE[160:]
    assert values["r2"] == pytest.approx(r2_score(truth, found))
    assert values["rmse"] == pytest.approx(root_mean_squared_error(truth, found))
    assert values["mae"] == pytest.approx(mean_absolute_error(truth, found))
    assert values["r2"] > 0.9 > 0.1 > values["mean"]["r2"]
    text = command("evaluate", model, test, "--picture", "errors.png")
    assert "R²" in text.out
    assert (tmp_path / "errors.png").stat().st_size > 10_000
    for name, read in {
        "o.csv": pd.read_csv,
        "o.xlsx": pd.read_excel,
        "o.parquet": pd.read_parquet,
        "o.jsonl": lambda path: pd.read_json(path, lines=True),
    }.items():
        assert command("predict", model, test, "-o", name).out == f"{name}: 80 rows\n"
        np.testing.assert_allclose(read(name)["prediction"], found)


def test_neighbors_and_reasons_have_numbers(houses, command):
    model = houses / "m.ckm"
    near = command("neighbors", model, houses / "train.csv", "-k", "1", "--json").json["neighbors"]
    assert near[0]["value"] == PRICE[0]
    votes = command("predict", model, houses / "test.csv", "--explain", "--json").json["reasons"]
    first = [vote for vote in votes if vote["row"] == 1 and vote["because"] == "row"]
    mean = sum(vote["effect"] * float(vote["value"]) for vote in first)
    assert mean == pytest.approx(first[0]["prediction"])
    head = command("predict", model, houses / "test.csv", "--explain").out.splitlines()[0]
    assert head == "row,prediction,because,name,value,effect,strangeness"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "m.ckm", "test.csv", "--proba"], "--proba is for classes"),
        (["predict", "m.ckm", "test.csv", "-o", "o.docx"], "o.docx should end in"),
        (["evaluate", "m.ckm", "test.csv", "--picture", "o.gif"], "o.gif should end in .svg"),
        (["evaluate", "m.ckm", "test.csv", "--picture", "test.csv"], "test.csv is an input"),
        (["curvature", "test.csv", "-t", "y", "--picture", "test.csv"], "test.csv is an input"),
        (["evaluate", "m.ckm", "test.csv", "-t", "town"], "it predicts 'price'"),
        (
            ["fit", "train.csv", "-t", "town", "--task", "number", "-o", "o.ckm"],
            "said to be a number",
        ),
        (["fit", "train.csv", "-t", "price", "-g", "mixed", "-o", "o.ckm"], "'geometry' parameter"),
        (["fit", "train.csv", "-t", "price", "--task", "class", "-o", "o.ckm"], "one row only"),
    ],
)
def test_mistakes(houses, command, monkeypatch, arguments, message):
    monkeypatch.chdir(houses)
    before = {path: path.read_bytes() for path in houses.iterdir()}
    answer = command(*arguments)
    assert (answer.code, answer.out) == (1, "")
    assert message in answer.err.splitlines()[-1]
    assert {path: path.read_bytes() for path in houses.iterdir()} == before


def test_the_task_can_be_given(command):
    table = pd.DataFrame({"x": RNG.normal(size=60), "stars": np.arange(60) % 5 + 1})
    table.to_csv("t.csv", index=False)
    first = command("fit", "t.csv", "-t", "stars", "-g", "flat", "-o", "m.ckm")
    assert "5 classes" in first.out, first.err
    as_number = command(
        "fit", "t.csv", "-t", "stars", "-g", "flat", "-o", "m.ckm", "--task", "number"
    )
    assert "numbers of 'stars'" in as_number.out
    assert "different numbers" not in as_number.err
    assert command("fit", "t.csv", "-t", "stars", "-o", "m.ckm", "--task", "words").code == 2


def test_compare_numbers(houses, tmp_path):
    found = experiments.compare(
        houses / "test.csv",
        target="price",
        methods=["knn", "neighbors", "forest", "nca"],
        n_splits=2,
    )
    assert [r["title"] for r in found.results] == [
        "standardised k-NN",
        "neighbours",
        "flat MLKR",
        "random forest",
    ]
    best = found["test.csv", "forest"]
    assert best["r2"] > 0.5
    assert best["over_flat"]["difference"] == pytest.approx(
        best["r2"] - found["test.csv", "flat"]["r2"]
    )
    assert best["rmse"] >= best["mae"] > 0
    assert found.tables()[0].columns[1:4] == ("R² ± s.e.", "RMSE", "MAE")
    assert "each row left out" in found.to_html()
    names = {}
    with redirect_stdout(io.StringIO()) as out:
        exec(found.to_python(), names)
    score = names["found"]["test.csv", "flat"]["r2"]
    assert f"flat MLKR {score}" in out.getvalue()
    assert score == pytest.approx(found["test.csv", "flat"]["r2"])


@pytest.mark.parametrize("task", ["class", "number"])
def test_kernel_machines_in_every_command(houses, command, tmp_path, task):
    if task == "class":
        table = pd.read_csv(houses / "test.csv", sep=";")
        table["dear"] = np.where(PRICE[160:] > np.median(PRICE), "yes", "no")
        table.to_csv(tmp_path / "dear.csv", index=False)
        given, target = tmp_path / "dear.csv", ["-t", "dear", "--drop", "price"]
    else:
        given, target = houses / "train.csv", ["-t", "price"]
    command("fit", given, *target, "-o", "k.ckm")
    assert "a sum of parts, each from" in command("info", "k.ckm").out
    loaded, frame = load_model(tmp_path / "k.ckm"), pd.read_csv(given, sep=None, engine="python")
    assert "R²" in (out := command("evaluate", "k.ckm", given).out) or "accuracy" in out
    assert len(loaded.explain(frame[:1])[0].rows) > 3
    assert abs(sum(loaded.feature_weights().values()) - 1) < 1e-9
    if task == "number":
        command("predict", "k.ckm", given, "--interval", "-o", "o.csv")
        wide = pd.read_csv(tmp_path / "o.csv")
        assert ((wide["low"] < wide["prediction"]) & (wide["prediction"] < wide["high"])).all()
    assert command("neighbors", "k.ckm", given, "-k", "2").out
    said = command("predict", "k.ckm", given, "--explain", "-o", "why.parquet")
    assert said.code == 0, said.err
    lines = pd.read_parquet(tmp_path / "why.parquet")
    assert list(lines) == ["row", "prediction", "because", "name", "value", "effect", "strangeness"]
    first = lines[lines["row"] == 1]
    assert set(first["because"]) == {"column", "row"}
    cells = first[first["because"] == "column"].set_index("name")["value"]
    assert cells["town"] == frame["town"][0]
    near = first[first["because"] == "row"]
    targets = dict(zip(loaded.row_numbers_ + 1, map(str, loaded.targets_), strict=True))
    assert near["value"].tolist() == [targets[int(number)] for number in near["name"]]
