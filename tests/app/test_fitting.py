"""Fits: the results are those of the code that is shown, and a fit can be stopped."""

import threading
import time
import types

import numpy as np
import pytest

pytest.importorskip("pandas")

from cayleyklein.app._fitting import (
    FitTask,
    explain_choice,
    fit_and_compare,
    make_estimator,
    make_model,
    train_and_test,
)
from cayleyklein.app._learn import OPTIONS, FitProcess, LearnState, learn_code
from cayleyklein.app._state import PlaneState
from cayleyklein.app._tables import bundled_source, prepare, read_source
from cayleyklein.datasets.loaders import SOURCES
from cayleyklein.learning import CurvedLMNN

WINE = prepare(bundled_source("wine"), "class")
TWO = prepare(
    bundled_source("wine"), "class", [c for c in WINE.columns if c not in ("flavanoids", "hue")]
)


def task(table=WINE, geometry="elliptic", k="auto"):
    return FitTask(table, geometry, k)


def told(given, work=fit_and_compare):
    messages = []
    work(given, messages.append)
    return messages


def panels(messages):
    """Return the picture, the results and what is said of each classifier."""
    shown = [message for message in messages if message.pictures]
    names = [next(iter(message.pictures)) for message in shown]
    return {
        name: (message.pictures[name], message.results, message.texts[f"about-{name}"])
        for name, message in zip(names, shown, strict=True)
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("geometry", OPTIONS["geometry"])
def test_the_code_gives_the_accuracy_that_is_shown(geometry, capsys):
    table = TWO if geometry in ("elliptic", "mixed") else WINE
    messages = told(task(table, geometry))
    found = panels(messages)
    assert list(found) == ["before", "flat", "curved"]
    assert messages[-1].ended
    code = learn_code(LearnState(model="neighbors", geometry=geometry), table)
    exec(compile(code, "learn.py", "exec"), {})
    printed = float(capsys.readouterr().out.split()[-1])
    for picture, results, about in found.values():
        confusion = np.array(results["confusion"]["counts"])
        assert confusion.sum() == 54
        assert about.startswith(f"{np.trace(confusion) / 54:.1%} of test rows right")
        assert sum(weight for _, weight in results["weights"]) == pytest.approx(1)
        assert picture["wrong"].sum() == 54 - np.trace(confusion)
        assert picture["shapes"][0]["size"] == [401, 401]
    assert printed == pytest.approx(np.trace(confusion) / 54, abs=1e-12)
    if geometry in ("auto", "mixed"):
        said = " ".join(m.texts.get("state", "") for m in messages)
        assert {"auto": "product", "mixed": "shares"}[geometry] in said
        assert results["trials"]
        choice = [m.texts["choice"] for m in messages if "choice" in m.texts][-1]
        assert "was chosen on training rows held out for it" in choice


@pytest.mark.filterwarnings("ignore")
def test_regions_neighbours_and_the_metric_are_those_of_the_model():
    picture, results, _ = panels(told(task(TWO, "hyperbolic", 3)))["curved"]
    learner = CurvedLMNN(geometry="hyperbolic", random_state=0)
    train, _ = train_and_test(TWO)
    metric = learner.fit(TWO.X[train], TWO.y[train]).metric_
    near, far = np.array(picture["neighbors"]), picture["distances"]
    i = int(np.flatnonzero(near[:, 0] >= 0)[7])
    assert i not in near[i]
    assert set(near[i]) <= set(train.tolist())
    assert far[i] == pytest.approx(metric.distance(TWO.X[i], TWO.X[near[i]]), rel=1e-9)
    raster, _, rim, *_ = picture["shapes"]
    domain, codes = rim["xy"], raster["codes"].reshape(raster["size"])
    assert metric.domain.to_euclidean(domain) ** 2 @ [1, 1] == pytest.approx(1)
    x0, y0, x1, y1 = raster["box"]
    n = len(codes)
    for row, column in ((0, 0), (n // 2, n // 2), (n - 1, n // 3)):
        x = np.array([x0 + (x1 - x0) * column / (n - 1), y0 + (y1 - y0) * row / (n - 1)])
        assert (codes[row, column] < 0) == (not metric.contains(x))
    ((_, query),) = results["planes"]
    state = PlaneState.from_query(query)
    assert state.metric.geometry == "hyperbolic"
    assert len(state.points) == 178


def test_steps_are_told():
    steps = [step for m in told(task(geometry="learned")) for step in m.steps]
    assert {step[0] for step in steps} == {"flat", "learned"}
    assert all(step[3] is None or 0 <= step[3] <= 1 for step in steps)


@pytest.mark.filterwarnings("ignore")
def test_the_code_of_an_upload_runs(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    # numbers as classes, gaps, and a long name
    rows = [(*rng.normal(loc=3 * (i % 2), size=2), ("01", "b")[i % 2]) for i in range(40)]
    text = ";; \n".join(f"{x};{y};{c}\n" for x, y, c in rows)
    name = "flowers of a garden in spring, plural.csv"
    (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    source = read_source(text.encode(), name)
    table = prepare(source, source.target)
    *_, about = panels(told(task(table)))["curved"]
    code = learn_code(LearnState(data="upload", model="neighbors", geometry="elliptic"), table)
    exec(compile(code, "learn.py", "exec"), {})
    assert about.startswith(f"{float(capsys.readouterr().out.split()[-1]):.1%} of test rows right")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOURCES)
def test_the_code_of_every_bundled_set_gives_the_accuracy_shown(name, capsys):
    table = prepare(bundled_source(name), "class")
    messages = []
    given = task(table, "flat", 5)
    fit_and_compare(given, messages.append)
    about = panels(messages)["curved"][2]
    code = learn_code(
        LearnState(data=name, model="neighbors", geometry="flat", neighbors="5"), table
    )
    exec(compile(code, "learn.py", "exec"), {})
    assert about.startswith(f"{float(capsys.readouterr().out.split()[-1]):.1%} of test rows right")


def numbers_table(n=120, encoding="utf-8"):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=n)
    rows = (f"{a:.4f},{b:.4f},{c:.4f},{v:.5f}\n" for (a, b, c), v in zip(X, y, strict=True))
    return ("größe,b,c,target\n" + "".join(rows)).encode(encoding)


@pytest.mark.filterwarnings("ignore")
def test_numbers_are_predicted_as_the_code_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    content = numbers_table(encoding="cp1252")
    (tmp_path / "numbers.csv").write_bytes(content)
    source = read_source(content, "numbers.csv")
    assert source.columns[0] == "größe"
    assert "is not UTF-8, and is read as cp1252" in source.notes[0]
    table = prepare(source, "target")
    assert table.is_regression
    assert len(table.classes) == 5
    messages = told(task(table, "flat"))
    _, results, about = panels(messages)["curved"]
    truth = results["curves"]["truth"]
    line, bars, marks = (shape["xy"] for shape in truth["shapes"])
    train, test = train_and_test(table)
    model = make_estimator(task(table, "flat"), geometry="flat", random_state=0)
    model.fit(table.X[train], table.labels[train])
    assert marks[:, 0] == pytest.approx(table.labels[test])
    assert marks[:, 1] == pytest.approx(model.predict(table.X[test]))
    ends = bars[~np.isnan(bars[:, 0])].reshape(-1, 2, 2)[..., 1]
    assert pytest.approx(np.stack(model.predict_interval(table.X[test], 0.9))) == ends.T
    assert line[0] == pytest.approx(table.labels[test].min())
    left = results["curves"]["residuals"]["shapes"][-1]["xy"]
    assert left[:, 1] == pytest.approx(marks[:, 0] - marks[:, 1])
    assert np.sum(results["confusion"]["counts"]) == 36
    code = learn_code(LearnState("upload", model="neighbors", geometry="flat"), table)
    exec(compile(code, "learn.py", "exec"), {})
    assert about.startswith(f"R² {float(capsys.readouterr().out.split()[-1]):.3f} on test rows")


@pytest.mark.filterwarnings("ignore")
def test_regions_of_one_class_only():
    rows = (f"{i % 13},{i * i % 17},{'ab'[i % 20 == 0]}\n" for i in range(120))
    table = prepare(read_source(("u,v,kind\n" + "".join(rows)).encode(), "few.csv"), "kind")
    picture, _, about = panels(told(task(table, "flat", 15)))["flat"]
    assert set(picture["shapes"][0]["codes"].ravel().tolist()) == {0}
    assert "test rows right" in about


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("numbers", [False, True])
def test_the_kernel_machine_is_that_of_the_code(numbers, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    content = numbers_table()
    (tmp_path / "numbers.csv").write_bytes(content)
    table = prepare(read_source(content, "numbers.csv"), "target") if numbers else TWO
    state = LearnState("upload" if numbers else "wine", model="kernel", geometry="hyperbolic")
    messages = told(state.task(table))
    assert "Weighing" in " ".join(m.texts.get("state", "") for m in messages)
    picture, results, about = panels(messages)["curved"]
    exec(compile(learn_code(state, table), "learn.py", "exec"), {})
    score = float(capsys.readouterr().out.split()[-1])
    assert about.startswith(f"R² {score:.3f}" if numbers else f"{score:.1%} of test rows right")
    assert "kernel machines and votes" in about
    assert sum(share for _, share in results["parts"]) == pytest.approx(1)
    titles = [m.texts["title-curved"] for m in messages if "title-curved" in m.texts]
    assert titles[-1] == "Kernel machine: curved metric, learned"
    assert sum(weight for _, weight in results["weights"]) == pytest.approx(1)
    assert len(picture["neighbors"]) == len(table.y)


def test_a_large_table_is_sampled_and_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = numbers_table(4000)
    (tmp_path / "large.csv").write_bytes(content)
    table = prepare(read_source(content, "large.csv"), "target")
    assert len(table.y) == 3000
    assert "3,000 of 4,000 rows, drawn at random." in table.problem.notes
    names = {}
    code = learn_code(LearnState("upload", model="neighbors", geometry="flat"), table)
    exec(compile(code.partition("X_train")[0], "learn.py", "exec"), names)
    assert np.array_equal(names["X"], table.X)
    assert np.array_equal(names["y"], table.labels)


@pytest.mark.filterwarnings("ignore")
def test_calibration_and_roc_are_those_of_the_model():
    results = panels(told(task(TWO, "flat", 5)))["curved"][1]
    calibration, roc = (results["curves"][name] for name in ("calibration", "roc"))
    marks = calibration["shapes"][-1]["xy"]
    assert ((marks >= 0) & (marks <= 1)).all()
    line = roc["shapes"][-1]["xy"]
    area = float(roc["text"].split()[4].rstrip(",."))
    assert np.trapezoid(line[:, 1], line[:, 0]) == pytest.approx(area, abs=0.01)


class Trialled:
    def __init__(self, name, loss):
        self.name, self.scores, self.n_neighbors = name, {"log loss": loss, "accuracy": 0.9}, 5


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ("product", "it predicted them best, before k-NN (log loss 0.305)"),
        ("k-NN", "The figure of product (log loss 0.295) is better, but by a difference as small"),
    ],
)
def test_the_choice_is_explained(chosen, said):
    choice = types.SimpleNamespace(
        chosen=chosen, trials=(Trialled("product", 0.295), Trialled("k-NN", 0.305))
    )
    assert said in explain_choice(choice)


def test_a_card_says_what_it_shows():
    messages = told(task(TWO, "auto"))
    titles = [m.texts["title-curved"] for m in messages if "title-curved" in m.texts]
    (trials,) = [m.results["trials"] for m in messages if m.results and m.results["trials"]][:1]
    choice = [m.texts["choice"] for m in messages if "choice" in m.texts][-1]
    plain = "k-NN (log loss" in choice.split(" was chosen")[0]
    assert titles == ["Plain k-NN, nothing learned" if plain else "Curved metric, learned"]
    assert len(trials) > 1


def drain(fit, seconds=60):
    found = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found += fit.poll()
        if found and found[-1].ended:
            fit.end()
            return found[-1].texts["state"]
        time.sleep(0.02)
    raise AssertionError("the fit did not end")


def test_waiting_for_a_place_and_ending():
    slots = threading.Semaphore(1)
    vowel = task(prepare(bundled_source("vowel"), "class"), "learned")
    first, second = (FitProcess(fit_and_compare, vowel, slots) for _ in range(2))
    assert first.poll()
    assert second.poll() == []
    first.end()
    assert not first.process.is_alive()
    assert second.poll()
    second.end()
    FitProcess(fit_and_compare, vowel, slots).end()  # before its turn
    assert slots.acquire(blocking=False)
    assert not slots.acquire(blocking=False)


def test_a_failure_is_told():
    slots = threading.Semaphore(1)
    assert "round" in drain(FitProcess(fit_and_compare, task(geometry="round"), slots))


def test_a_model_is_that_of_the_command(tmp_path):
    pytest.importorskip("skops")
    from cayleyklein.tables import TableClassifier, load_model

    (news,) = told(task(WINE, "elliptic", 5), make_model)
    (tmp_path / "wine.ckm").write_bytes(news.model)
    loaded = load_model(tmp_path / "wine.ckm")
    fitted = TableClassifier(5, geometry="elliptic", random_state=0).fit(
        WINE.problem.X, WINE.labels
    )
    assert (loaded.predict(WINE.problem.X) == fitted.predict(WINE.problem.X)).all()
    assert loaded.target_ == "class"


@pytest.mark.parametrize("model", ["neighbors", "kernel"])
def test_a_model_of_numbers_is_saved(model, tmp_path):
    pytest.importorskip("skops")
    from cayleyklein.tables import TableRegressor, load_model

    table = prepare(read_source(numbers_table(60), "numbers.csv"), "target")
    (news,) = told(FitTask(table, "flat", "auto", model), make_model)
    (tmp_path / "numbers.ckm").write_bytes(news.model)
    loaded = load_model(tmp_path / "numbers.ckm")
    fitted = TableRegressor(geometry="flat", model=model, random_state=0)
    fitted.fit(table.problem.X, table.labels)
    assert loaded.predict(table.problem.X) == pytest.approx(fitted.predict(table.problem.X))
    assert loaded.target_ == "target"
