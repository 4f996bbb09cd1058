"""The learning page without a browser: choices, previews, and results as they come."""

import base64
import threading
import time

import numpy as np
import pytest

pytest.importorskip("pandas")

from cayleyklein.app._fitting import train_and_test
from cayleyklein.app._learn import LearnSession

CSV = "day,length,width,name,kind\n" + "".join(
    f"2024-01-{i % 28 + 1:02d},{i % 7 + 3 * (i % 2)},{i % 5 + 0.1 * i},n{i},{'ab'[i % 2]}\n"
    for i in range(60)
)


def packed(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def made_for(query):
    return LearnSession(query, threading.Semaphore(2))


@pytest.fixture
def session():
    made = made_for("data=wine&geometry=elliptic&model=neighbors")
    yield made
    made.close()


def do(session, *commands):
    answer = session.hear(list(commands))
    assert answer["notes"] == []
    return answer


def choose(name, value):
    return {"do": "choose", "name": name, "value": value}


def test_the_rows_are_shown_before_any_fit(session):
    answer = session.hear([])
    assert len(answer["preview"]["rows"]) == 5
    assert answer["preview"]["names"][-1] == "class"
    assert [row[:2] for row in answer["preview"]["classes"]] == [["1", 59], ["2", 71], ["3", 48]]
    for picture in answer["pictures"].values():
        assert picture["points"].shape == (178, 2)
        drawn = sum(len(shape["xy"]) for shape in picture["shapes"])
        assert drawn == 178
    assert answer["preview"]["test"].sum() == 54
    assert session.hear([])["preview"] is None


def test_choosing_a_table_its_target_and_columns(session):
    answer = do(session, {"do": "upload", "name": "mine.csv", "content": packed(CSV)})
    assert answer["choices"]["data"] == "upload"
    assert answer["choices"]["target"] == "kind"
    notes = " ".join(answer["preview"]["notes"])
    assert "name: not used" in notes
    assert "day: " in notes
    answer = do(session, choose("drop", "0,3"))
    assert [column[2] for column in answer["columns"]] == [False, True, True, False]
    assert "day: not used: dropped." in answer["preview"]["notes"]
    assert answer["pictures"]["before"]["axes"] == ["length", "width"]
    assert "drop=['day', 'name']" in answer["texts"]["code"]
    answer = do(session, choose("target", "length"))
    assert (
        answer["texts"]["table"] == "60 rows, 7 classes" or answer["preview"]["target"] == "length"
    )
    answer = do(session, choose("target", "kind"), choose("drop", "0,3"))
    query = answer["query"]
    do(session, choose("data", "wine"))
    answer = do(session, {"do": "load", "query": query})
    assert answer["texts"]["table"] == "60 rows, 2 classes"


def test_odd_names_and_gaps_are_shown(session):
    text = "a{b},c,kind\n" + "".join(
        f"{i % 5}.5,{'' if i == 1 else i % 3},k{i % 2}\n" for i in range(30)
    )
    answer = do(session, {"do": "upload", "name": "my {odd} 'file'.csv", "content": packed(text)})
    assert answer["preview"]["rows"][1] == ["1.5", "", "k1"]
    compile(answer["texts"]["code"], "learn.py", "exec")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (choose("data", "upload"), "choose it again"),
        (choose("data", "moon"), "data"),
        (choose("target", "alcohol"), "no column"),
        (choose("target", "moon"), "no column"),
        (choose("drop", "99"), "no column number 99"),
        (choose("drop", "x"), "numbers of columns"),
        ({"do": "upload", "name": "a.csv", "content": packed("a,b\n1")}, "a.csv"),
        ({"do": "upload", "name": 5, "content": ""}, "name must be a text"),
        ({"do": "dance"}, "no command"),
        ({"do": "load", "query": "data=points&points=1"}, "points"),
    ],
)
def test_an_error_is_told_and_changes_nothing(session, command, said):
    before = session.state, session.table
    answer = session.hear([command])
    assert said in answer["notes"][0]
    assert (session.state, session.table) == before


@pytest.mark.parametrize(
    ("query", "said"),
    [("data=moon", "not understood"), ("data=upload", "choose it again")],
)
def test_an_address_that_cannot_be_shown(query, said):
    assert said in str(made_for(query).hear([])["notes"])


def test_points_of_the_plane(session):
    points = ";".join(f"{i / 20},{(i * 7 % 20) / 20},{i % 2}" for i in range(20))
    answer = do(session, {"do": "load", "query": f"data=points&points={points}"})
    assert answer["texts"]["table"] == "20 rows, 2 classes"
    assert [row[0] for row in answer["preview"]["classes"]] == ["A", "B"]
    again = made_for(answer["query"])
    assert np.array_equal(again.table.X, session.table.X)


def test_a_prediction_needs_a_fit(session):
    answer = session.hear([{"do": "predict", "content": packed("1,2\n")}])
    assert "Press Fit first" in answer["notes"][0]


def test_a_file_of_another_encoding_is_right_and_noted(session):
    text = CSV.replace("width", "größe").encode("cp1252")
    answer = do(session, {"do": "upload", "name": "mine.csv", "content": packed(text)})
    assert "größe" in answer["preview"]["names"]
    assert any("cp1252" in note for note in answer["preview"]["notes"])


def test_too_few_rows_are_said_before_a_fit(session):
    text = "".join(f"{i}.5,{i * i},{i % 8}\n" for i in range(16))
    do(session, {"do": "upload", "name": "a.csv", "content": packed(text)})
    assert "too few for 8 classes" in session.hear([{"do": "fit"}])["notes"][0]


def test_what_was_read_is_said(session):
    rows = (f"X{i}y{i * i},{i % 5},{i % 3}.5,{i % 7},{i * 1000}" for i in range(60))
    text = "code,rooms,size,age,price\n" + "\n".join(rows)
    said = do(session, {"do": "upload", "name": "flats.csv", "content": packed(text)})["texts"]
    assert said["read"].startswith("60 rows of flats.csv: predict price from 3 columns")
    assert "left out: code (" in said["read"]
    legend = do(session, choose("drop", "1"))["preview"]["classes"]
    assert "rooms (by you)" in session.hear([])["texts"]["read"]
    assert legend[0][0] == "up to 11,800"  # and not 1.18e+04


@pytest.mark.filterwarnings("ignore")
def test_a_fit_is_told_as_it_goes(session):
    answers = [session.hear([{"do": "fit"}])]
    assert answers[0]["running"]
    assert "running" in session.hear([choose("data", "vowel")])["notes"][0]
    deadline = time.monotonic() + 60
    while answers[-1]["running"] and time.monotonic() < deadline:
        news = session.poll()
        if news is not None:
            answers.append(news)
        time.sleep(0.02)
    last = answers[-1]
    assert last["texts"]["state"] == "Done."
    assert {step[0] for a in answers for step in a["steps"]} == {"flat", "elliptic"}
    losses = [step[1] for a in answers for step in a["steps"] if step[0] == "flat"]
    assert None not in losses  # one line through all passes
    pictures = [a["pictures"].get("curved") for a in answers if a["pictures"].get("curved")]
    assert [shape["kind"] for shape in pictures[-1]["shapes"]].count("raster") == 1
    assert len(pictures[-1]["neighbors"]) == 178
    assert last["results"]["confusion"]["caption"].startswith("Curved metric, learned")
    assert last["results"]["planes"]
    assert "100%" not in answers[1]["texts"]["state"]
    assert any("done." in a["texts"]["state"] for a in answers)
    typed = "14.2,1.7,2.4,15.6,127,2.8,3.06,0.28,2.29,5.64,1.04,3.92,1065\n"
    answer = do(session, {"do": "predict", "content": packed(typed)})
    (cells,) = answer["predictions"]["rows"]
    assert answer["predictions"]["names"][-4:] == [
        "class",
        "sure",
        "95% of the time",
        "strangeness",
    ]
    assert cells[-4] == "1"
    assert cells[-3].endswith("%")
    assert cells[-2] == "1"
    assert float(cells[-1].rstrip("%")) < 99
    assert answer["predictions"]["notes"] == []
    far = ",".join(str(10 * float(cell)) for cell in typed.split(","))
    answer = do(session, {"do": "predict", "content": packed(far)})
    assert float(answer["predictions"]["rows"][0][-1].rstrip("%")) > 99
    (note,) = answer["predictions"]["notes"]
    assert note.startswith("1 of 1 rows is unlike any fitted row")
    answer = do(session, {"do": "predict", "content": packed(typed.replace("127", "oops"))})
    assert len(answer["predictions"]["rows"]) == 1
    (note,) = answer["predictions"]["notes"]
    assert "1 cell cannot be read, and counts as missing" in note
    assert "'oops' (row 1)" in note
    assert "13 cells" in session.hear([{"do": "predict", "content": packed("1,2\n")}])["notes"][0]
    assert "of test rows right" in last["texts"]["about-curved"]


def test_a_fit_ends_with_its_page(session):
    do(session, choose("data", "vowel"), {"do": "fit"})
    fit = session.fit
    assert fit.process.is_alive()
    session.close()
    assert not fit.process.is_alive()


def test_a_cancelled_fit_ends_at_once(session):
    fit = (do(session, choose("data", "vowel"), {"do": "fit"}), session.fit)[1]
    answer = do(session, {"do": "cancel"})
    assert answer["texts"]["state"] == "Cancelled."
    assert not answer["running"]
    assert not fit.process.is_alive()


# -- why a row is predicted so, kinds of columns, and the example


class Now:
    """A fit that is done when it is asked for news, in place of a process."""

    def __init__(self, work, task, slots):
        self.news = []
        work(task, self.news.append)

    def poll(self):
        return self.news

    def end(self):
        pass


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ["kernel", "neighbors"])
def test_a_row_is_explained_as_the_model_does(monkeypatch, model):
    monkeypatch.setattr("cayleyklein.app._learn.FitProcess", Now)
    session = made_for(f"data=wine&geometry=flat&model={model}")
    assert "Press Fit" in session.hear([{"do": "explain", "row": 3}])["notes"][0]
    answer = do(session, {"do": "fit"})
    assert answer["fitted"]
    assert "with plain neighbours" in answer["texts"]["headline"]
    assert answer["texts"]["verdict"].endswith(".")
    shares = sum(share for _, share in answer["results"]["parts"])
    assert shares == pytest.approx(1.0 if model == "kernel" else 0.0)
    why = do(session, {"do": "explain", "row": 3})["explanation"]
    fitted = session._predictor[1]
    known = fitted.explain(session.table.X[3])
    assert why["prediction"] == str(known.prediction)
    values = np.atleast_2d(known.columns).mean(axis=0)
    train, test = train_and_test(session.table)
    assert why["cells"][0] == str(session.table.problem.X.iloc[3, 0])
    (said,) = do(session, {"do": "explain", "row": int(train[0])})["explanation"]["trust"]
    assert "is a training row" in said
    said = do(session, {"do": "explain", "row": int(test[0])})["explanation"]["trust"]
    new = session.table.X[test[:1]]
    held = fitted.classes_[fitted.predict_set(new, 0.95)[0]]
    assert said[0] == f"With a probability of 95% it is {' or '.join(map(str, held))}."
    assert f"the training rows: {fitted.strangeness(new)[0]:.1%} of them" in said[1]
    found = fitted.suspicious()
    listed = answer["results"]["suspicious"]
    assert listed["said"].startswith(f"{len(found)} of 124 training rows")
    assert [row for row, *_ in listed["rows"]] == train[found.rows].tolist()
    top = int(np.argmax(np.abs(values)))
    assert why["columns"][0] == [session.table.columns[top], pytest.approx(values[top])]
    row, effect, label = why["for"][0]
    assert session.table.labels[row] == label
    effects = known.effects if model == "kernel" else known.votes
    found = dict(zip(train[known.rows].tolist(), effects, strict=True))
    assert effect == pytest.approx(found[row])
    assert "no row 999" in session.hear([{"do": "explain", "row": 998}])["notes"][0]


@pytest.mark.filterwarnings("ignore")
def test_what_would_have_to_change_for_a_row(monkeypatch):
    monkeypatch.setattr("cayleyklein.app._learn.FitProcess", Now)
    session = made_for("data=wine&geometry=flat&model=neighbors")
    assert "Say which row" in session.hear([{"do": "change"}])["notes"][0]
    do(session, {"do": "fit"})
    assert do(session, {"do": "explain", "row": 3})["explanation"]["change"] == ""
    said = do(session, {"do": "change"})["explanation"]["change"]
    fitted = session._predictor[1]
    found = fitted.counterfactual(session.table.X[3])
    assert said.startswith(f"It would be {found.prediction} with ")
    assert said.count(" from ") == len(found.changes)
    assert "The smallest change that was found" in said


@pytest.mark.filterwarnings("ignore")
def test_a_row_of_the_form_is_predicted_and_explained(monkeypatch):
    monkeypatch.setattr("cayleyklein.app._learn.FitProcess", Now)
    session = made_for("data=wine&geometry=flat&model=neighbors")
    preview = session.hear([])["preview"]
    names = [field["name"] for field in preview["fields"]]
    cells = preview["first"]
    assert names == list(cells)
    assert "Press Fit" in session.hear([{"do": "try", "cells": cells}])["notes"][0]
    do(session, {"do": "fit"})
    cells["proline"] = "350"
    answer = do(session, {"do": "try", "cells": cells})
    why = answer["explanation"]
    x = session.table.X[0].copy()
    x[names.index("proline")] = 350
    known = session._predictor[1].predict(x[None])[0]
    assert why["row"] is None
    assert why["true"] is None
    assert why["prediction"] == str(known) == answer["predictions"]["rows"][0][-4]
    assert float(why["whole"]["proline"]) == 350
    assert "With a probability of 95%" in why["trust"][0]
    without = do(session, {"do": "try", "cells": {"proline": "350"}})  # other cells are empty
    assert without["explanation"]["whole"]["alcohol"] == ""
    said = session.hear([{"do": "try", "cells": {"moon": "1"}}])["notes"][0]
    assert "no column 'moon'" in said


def test_categories_are_offered_in_the_form(session):
    answer = do(session, {"do": "upload", "name": "mine.csv", "content": packed(CSV)})
    assert all(field["choices"] == [] for field in answer["preview"]["fields"])
    names = [field["name"] for field in answer["preview"]["fields"]]
    assert names == ["day", "length", "width"]  # and not name, which is not used
    answer = do(session, choose("kinds", "1.category"))
    fields = {field["name"]: field["choices"] for field in answer["preview"]["fields"]}
    assert "9" in {choice.removesuffix(".0") for choice in fields["length"]}


@pytest.mark.filterwarnings("ignore")
def test_what_one_visitor_has_fitted_comes_at_once_for_the_next(monkeypatch):
    monkeypatch.setattr("cayleyklein.app._learn.FitProcess", Now)
    examples = {}
    query = "data=balance&geometry=flat&model=neighbors"
    first = LearnSession(query, threading.Semaphore(2), examples).hear([{"do": "fit"}])
    assert len(examples) == 1
    monkeypatch.setattr("cayleyklein.app._learn.FitProcess", None)  # not asked again
    second = LearnSession(query, threading.Semaphore(2), examples).hear([{"do": "fit"}])
    assert second["fitted"]
    assert not second["running"]
    assert second["texts"] == first["texts"]
    assert second["pictures"].keys() == first["pictures"].keys()


def test_the_kind_of_a_column_is_changed(session):
    answer = do(session, {"do": "upload", "name": "mine.csv", "content": packed(CSV)})
    columns = {name: (kind, said) for _, name, _, kind, said, _ in answer["columns"]}
    assert columns["length"][0] == "number"
    assert columns["day"][0] == "date"
    assert columns["name"][0] == "unused"
    assert columns["name"][1]
    answer = do(session, choose("kinds", "1.category"))
    column = answer["columns"][1]
    assert column[3] == "category"
    assert column[5]
    assert len(session.table.columns) > 5  # a column for each category
    assert "kinds={'length': 'category'}" in answer["texts"]["code"]
    again = do(session, {"do": "load", "query": answer["query"]})
    assert again["columns"] == answer["columns"]
    for value in ("x.number", "1.moon", "77.number"):
        assert session.hear([choose("kinds", value)])["notes"]
