"""Comparisons: the same whatever the jobs, honest in bold, and whole in one page."""

import contextlib
import io
import json

import numpy as np
import pytest
from tests.experiments.pages import external_references

from cayleyklein import CurvedKNeighborsClassifier
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments import Problem, _problems, compare, load_problem
from cayleyklein.experiments._compare import judge
from cayleyklein.experiments._comparison_report import dataset_table, verdict
from cayleyklein.experiments._methods import COMPARED, METHODS, choose_peers
from cayleyklein.experiments._outcomes import Outcome, log_loss
from cayleyklein.experiments._page import Dot, Entry, Scale, Table, accuracy_chart


def small_problem():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 3)) + 2 * y[:, None] * [1.0, 0.0, 0.0]
    return Problem("small & <sound>", X, y, np.array(["a", "b"]), "X, y = ...")


@pytest.fixture(scope="module")
def comparison():
    return compare([small_problem(), "wine"], n_splits=2, test_size=0.3)


def test_everything_is_in_it(comparison):
    assert [d.problem.name for d in comparison.datasets] == ["small & <sound>", "wine"]
    for dataset in comparison.datasets:
        assert [r.method for r in dataset.results] == list(COMPARED)
        for result in dataset.results:
            assert len(result.outcomes) == 2
            assert 0.5 < result.accuracy <= 1
            assert 0 <= result.log_loss < 6
    wine = comparison.datasets[1]
    assert wine["elliptic"].outcomes[0].curvatures == (1.0,)
    assert wine["auto"].outcomes[0].geometry in ("product", "flat")
    assert wine["mixed"].outcomes[0].curvatures == (1.0, -1.0)
    assert 0 <= wine["mixed"].outcomes[0].alpha <= 1
    assert wine["knn"].outcomes[0].curvatures == ()


def test_result_is_json(comparison):
    stored = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert stored["format"] == "cayleyklein-comparison"
    assert {"numpy", "scikit-learn"} <= set(stored["provenance"]["versions"])
    assert "cores" in stored["provenance"]["machine"]


def test_page_holds_everything_itself(comparison, tmp_path):
    path = comparison.write_report(tmp_path / "deep" / "report.html")
    page = path.read_text("utf-8")
    assert not external_references(page)
    assert page.count("data:image/png;base64,") == 4
    assert "small &amp; &lt;sound&gt;" in page
    assert "<sound>" not in page
    assert "How to read it" in page
    assert "prefers-color-scheme: dark" in page
    assert comparison.provenance["date"] in page


def test_the_python_lines_do_the_same(comparison):
    code = comparison.to_python().replace("X, y = ...", "")
    assert len(code.splitlines()) <= 12
    problem = comparison.datasets[0].problem
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "lines", "exec"), {"X": problem.X, "y": problem.y})
    for line in out.getvalue().splitlines():
        geometry, mean, error = line.split()
        result = comparison.datasets[0][geometry]
        assert float(mean) == pytest.approx(result.accuracy)
        assert float(error) == pytest.approx(result.standard_error)


def test_accuracies_do_not_depend_on_jobs():
    steps = []
    options = {"methods": ["elliptic"], "n_splits": 2}
    one = compare(small_problem(), **options, progress=steps.append)
    two = compare(small_problem(), **options, n_jobs=2)
    for method in ("knn", "flat", "elliptic"):
        assert one.datasets[0][method].accuracy == two.datasets[0][method].accuracy
    assert [step.done for step in steps] == list(range(1, 7))
    assert {step.total for step in steps} == {6}


def test_votes_are_those_asked_for_and_uniform():
    found = METHODS["elliptic"].make(7, None)
    assert (found.n_neighbors, found.weights) == (7, "uniform")
    assert METHODS["auto"].make(None, None).get_params() == (
        CurvedKNeighborsClassifier(random_state=0).get_params()
    )
    code = compare(small_problem(), methods=["flat"], n_neighbors=7, n_splits=2).to_python()
    assert 'n_neighbors=7, weights="uniform"' in code


def test_log_loss_of_a_class_that_was_not_trained_on():
    shares = np.array([[0.25, 0.75], [0.5, 0.5]])
    known = log_loss(shares, np.array([0, 2]), np.array([0, 2]))
    assert known == pytest.approx(-np.log([0.25, 0.5]).mean())
    assert log_loss(shares, np.array([0, 2]), np.array([1, 2])) > 18


def test_a_support_vector_machine_on_a_class_of_one_row():
    problem = small_problem()
    model = METHODS["svm"].make(None, None)
    y = np.where(np.arange(80) == 0, 2, problem.y)
    assert model.fit(problem.X, y).predict_proba(problem.X).shape == (80, 3)


def outcomes(scores):
    return tuple(Outcome(a, 80, 20, 0.1, 0.1) for a in scores)


def test_bold_needs_evidence():
    rng = np.random.default_rng(0)
    base = rng.normal(0.8, 0.02, 10)
    results = judge(
        {
            "knn": outcomes(base),
            "flat": outcomes(base + 0.05 + rng.normal(0, 0.002, 10)),
            "elliptic": outcomes(base + rng.normal(0.001, 0.02, 10)),
            "mixed": outcomes(base - 0.05 + rng.normal(0, 0.002, 10)),
        }
    )
    assert {r.method: r.is_better for r in results} == {
        "knn": False,
        "flat": True,
        "elliptic": False,
        "mixed": False,
    }
    mixed = results[-1]
    assert mixed.over_baseline.high < 0
    assert mixed.over_flat.difference == pytest.approx(-0.1, abs=0.01)


def test_table_and_verdict_agree(comparison):
    for dataset in comparison.datasets:
        table = dataset_table(dataset)
        bold = [row[0].text for row in table.rows if row[0].bold]
        assert bold == [r.title for r in dataset.results if r.is_better]
        assert all(title in verdict(dataset) for title in bold)


# -- what is refused -------------------------------------------------------------------


def test_unknown_data_set_suggests_the_nearest():
    with pytest.raises(InvalidInputError, match="Did you mean 'wine'"):
        compare("wien")
    with pytest.raises(InvalidInputError, match=r"neither a data set that .* nor a file\.$"):
        compare("no-such-thing.csv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"against": ["ncaa"]}, "Did you mean 'nca'"),
        ({"methods": ["spherical"]}, "'spherical'"),
        ({"methods": ["pylmnn"]}, "needs pylmnn, which is not installed"),
        ({"n_splits": 1}, "at least 2 splits"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"data": []}, "No data"),
    ],
)
def test_wrong_options(options, message, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pylmnn", None)
    with pytest.raises(InvalidInputError, match=message):
        compare(**({"data": "wine"} | options))


def test_missing_peers_are_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "metric_learn", None)
    monkeypatch.setitem(__import__("sys").modules, "pylmnn", None)
    methods, notes = choose_peers(["lmnn", "nca", "knn"])
    assert methods == ("nca", "knn")
    assert len(notes) == 1
    assert "no metric-learn or pylmnn is installed" in notes[0]


# -- pieces of the page ----------------------------------------------------------------


def test_chart_holds_equal_scores():
    dots = [Dot("a", 1.0, 0.0, [1.0, 1.0]), Dot("b <c>", 1.0, 0.0, [1.0, 1.0], True)]
    chart = accuracy_chart(dots, "label")
    assert "nan" not in chart
    assert "b &lt;c&gt;" in chart
    assert chart.count("<circle") == 2 * 3


@pytest.mark.parametrize("reach", [(0.9, 0.91), (0.5, 1.0), (0.0, 1.0), (0.7, 0.83)])
def test_ticks_are_inside_and_not_too_many(reach):
    ticks = Scale(*reach).ticks()
    assert 1 <= len(ticks) <= 9
    assert all(reach[0] - 1e-9 <= tick <= reach[1] + 1e-9 for tick in ticks)


def test_table_escapes():
    table = Table("c", ("a", "b"), [[Entry("<x>"), Entry("1", bold=True, kind="above")]])
    html = table.to_html()
    assert "&lt;x&gt;" in html
    assert '<td class="above"><strong>1</strong></td>' in html


# -- tables from files -----------------------------------------------------------------


def write_flowers(path, n=60):
    rng = np.random.default_rng(0)
    lines = ["length,colour,species"]
    for i in range(n):
        kind = i % 2
        length = "" if i == 5 else f"{rng.normal(2 * kind, 0.5):.3f}"
        lines.append(f"{length},{['red', 'blue'][int(rng.random() < 0.3 + 0.4 * kind)]},s{kind}")
    lines.append("1.0,red,")
    lines.append("1.0,red,rare")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_from_a_file(tmp_path):
    path = write_flowers(tmp_path / "flowers.csv")
    found = compare(path, target="species", methods=["elliptic"], n_splits=2)
    problem = found.datasets[0].problem
    assert problem.name == "flowers.csv"
    assert problem.X.shape == (60, 2)
    assert list(problem.classes) == ["s0", "s1"]
    said = " ".join(problem.notes)
    assert "1 rows without a class" in said
    assert "only one of its class" in said
    assert "median" in said
    assert "red" in said
    assert found.datasets[0]["elliptic"].accuracy > 0.8
    page = found.to_html()
    assert not external_references(page)
    assert "flowers.csv" in page


def test_the_python_lines_do_the_same_on_a_file(tmp_path):
    path = write_flowers(tmp_path / "flowers.csv")  # which has a class of a single row
    found = compare(path, target="species", methods=["elliptic"], n_splits=2)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(found.to_python(), "lines", "exec"), {})
    means = {line.split()[0]: float(line.split()[1]) for line in out.getvalue().splitlines()}
    assert means["elliptic"] == pytest.approx(found.datasets[0]["elliptic"].accuracy)


def test_a_delimiter_and_an_encoding_are_passed_on(tmp_path):
    path = tmp_path / "trees.csv"
    lines = [f"{i % 7};{i % 5};{'größer' if i % 2 else 'kleiner'}" for i in range(40)]
    path.write_text("\n".join(["a;b;Maß", *lines]), encoding="latin-1")
    problem = load_problem(path, "Maß", delimiter=";", encoding="latin-1")
    assert list(problem.classes) == ["größer", "kleiner"]
    assert "encoding='latin-1'" in problem.code


@pytest.mark.parametrize("name", _problems.GENERATED)
def test_generated_data_sets_have_names_too(name):
    problem = load_problem(name)
    space = {}
    exec(problem.code, space)
    assert np.array_equal(space["X"], problem.X)
    assert np.array_equal(space["y"], problem.classes[problem.y])


def test_a_large_table_is_sampled(tmp_path, monkeypatch):
    monkeypatch.setattr(_problems, "MOST_ROWS", 40)
    problem = load_problem(write_flowers(tmp_path / "flowers.csv"), "species")
    assert len(problem.X) <= 40
    assert problem.notes[0] == "40 of 62 rows, drawn at random."


def test_a_file_needs_its_target(tmp_path):
    path = write_flowers(tmp_path / "flowers.csv")
    with pytest.raises(InvalidInputError, match="Which column"):
        compare(path)
    with pytest.raises(InvalidInputError, match="Did you mean 'species'"):
        compare(path, target="specis")
