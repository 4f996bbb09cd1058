"""Comparisons: the same for any number of jobs, bold only for evidence, and one page."""

import contextlib
import io
import json
import re

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedShuffleSplit
from tests.experiments.pages import external_references

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments import Problem, compare, load_problem, scores
from cayleyklein.experiments import _report as report
from cayleyklein.experiments.page import ReportTable
from cayleyklein.experiments.problems import PROBLEMS

METHODS = [
    "knn",
    "neighbors",
    "kernel",
    "flat",
    "elliptic",
    "hyperbolic",
    "learned",
    "mixed",
    "nca",
    "forest",
]
METHODS.append("svm")


def small_problem(name="small & <sound>", n=40):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], n)
    X = rng.normal(size=(2 * n, 3)) + 2 * y[:, None] * [1.0, 0.0, 0.0]
    return Problem(name, X, y, np.array(["a", "b"]))


@pytest.fixture(scope="module")
def comparison():
    return compare([small_problem(), "wine"], n_splits=2, test_size=0.3)


def run_lines(code):
    """Run the lines of Python that do the same, and return the result of elliptic."""
    names = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "lines", "exec"), names)
    assert len(out.getvalue().splitlines()) == len(names["found"].results)
    return next(r for r in names["found"].results if r["method"] == "elliptic")


def test_every_method_on_every_data_set(comparison):
    cells = [(result["dataset"], result["method"]) for result in comparison.results]
    assert cells == [(name, m) for name in ("small & <sound>", "wine") for m in METHODS]
    for result in comparison.results:
        assert len(result["outcomes"]) == 2
        assert 0.5 < result["accuracy"] <= 1
        assert 0 <= result["log_loss"] < 6
    first = {method: comparison["wine", method]["outcomes"][0] for method in METHODS}
    assert first["elliptic"]["curvatures"] == [1.0]
    assert first["neighbors"]["geometry"] in ("product", "flat")
    assert first["mixed"]["curvatures"] == [1.0, -1.0]
    assert 0 <= first["mixed"]["alpha"] <= 1
    assert first["knn"]["curvatures"] == []


def test_result_is_json(comparison):
    stored = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert stored["results"] == comparison.results
    assert [dataset["name"] for dataset in stored["datasets"]] == ["small & <sound>", "wine"]
    assert {"numpy", "scikit-learn"} <= set(stored["provenance"]["versions"])
    assert "cores" in stored["provenance"]["machine"]


def test_page_holds_everything_itself(comparison, tmp_path):
    path = comparison.write_report(tmp_path / "deep" / "report.html")
    page = path.read_text("utf-8")
    assert not external_references(page)
    assert page.count("data:image/svg+xml;base64,") == 2 * 7
    assert "Best mean rank: " in page.partition("wine: 178 rows")[0]
    assert "small &amp; &lt;sound&gt;" in page
    assert "<sound>" not in page
    assert "How to read it" in page
    assert "load_problem" in page.partition("The same in Python")[2]
    assert "prefers-color-scheme: dark" in page
    assert comparison.provenance["date"] in page


def test_reliability_is_that_of_scikit_learn():
    """The groups of all splits add up to calibration_curve of the pooled top labels."""
    problem = small_problem()
    found = compare(problem, methods=["forest"], n_splits=3, test_size=0.3)
    confidence, is_right = [], []
    splits = StratifiedShuffleSplit(3, test_size=0.3, random_state=0).split(problem.X, problem.y)
    for train, test in splits:
        forest = RandomForestClassifier(200, random_state=0).fit(problem.X[train], problem.y[train])
        shares = forest.predict_proba(problem.X[test])
        confidence.append(shares.max(axis=1))
        is_right.append(shares.argmax(axis=1) == problem.y[test])
    accuracy, mean = calibration_curve(np.hstack(is_right), np.hstack(confidence), n_bins=10)
    outcomes = found[problem.name, "forest"]["outcomes"]
    n, confidences, right = np.sum([outcome["calibration"] for outcome in outcomes], axis=0).T
    some = n > 0
    assert n.sum() == sum(outcome["n_test"] for outcome in outcomes)
    np.testing.assert_allclose(confidences[some] / n[some], mean)
    np.testing.assert_allclose(right[some] / n[some], accuracy)


def test_page_says_which_column_weighs_most(tmp_path):
    """A column of a table is one bar, whatever numbers it becomes; other columns have a number."""
    path = write_flowers(tmp_path / "flowers.csv")
    page = compare([path, small_problem()], target="species", methods=["knn"], n_splits=2).to_html()
    largest = re.findall(r"<figcaption>Share of each column .* the largest is that of (.*), ", page)
    assert largest[0] in ("length", "colour")
    assert largest[1] == "column 1"
    for words in ("too confident", "Accuracy on flowers.csv", "Log loss on flowers.csv"):
        assert words in page


def test_the_python_lines_do_the_same():
    found = compare("balance", methods=["elliptic"], n_neighbors=3, n_splits=2)
    again = run_lines(found.to_python())
    result = found["balance", "elliptic"]
    for name in ("accuracy", "standard_error", "log_loss"):
        assert again[name] == result[name]


def test_accuracies_do_not_depend_on_jobs():
    steps = []
    options = {"methods": ["elliptic"], "n_splits": 2}
    one = compare(small_problem(), **options, progress=lambda *step: steps.append(step))
    two = compare(small_problem(), **options, n_jobs=2)
    scores = [[result["accuracy"] for result in found.results] for found in (one, two)]
    assert scores[0] == scores[1]
    assert [step[:2] for step in steps] == [(i, 6) for i in range(1, 7)]
    assert steps[-1][2].startswith("small & <sound>, ")


def test_votes_are_those_asked_for():
    """With all rows of one blob voting, every row is of the larger class."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [20, 10])
    problem = Problem("b", rng.normal(size=(30, 2)) + 9 * y[:, None], y, np.array([0, 1]))
    found = compare(problem, methods=["flat"], n_neighbors=20, n_splits=2, test_size=0.3)
    assert found["b", "flat"]["accuracy"] == found["b", "knn"]["accuracy"] == pytest.approx(2 / 3)


def test_overview_names_the_best_and_the_curvature(comparison):
    for problem, row in zip(comparison.problems, comparison.overview().rows, strict=True):
        results = [r for r in comparison.results if r["dataset"] == problem.name]
        most = max(result["accuracy"] for result in results)
        equal = [result for result in results if result["accuracy"] == most]
        best = min(equal, key=lambda result: result["log_loss"])
        more = f" ({len(equal) - 1} more {'are' if len(equal) > 2 else 'is'} equal)"
        more = more if len(equal) > 1 else ""
        assert row[:2] == [problem.name, best["title"] + more]
        assert row[4] == ("yes" if best["is_better_than_knn"] else "no")
        assert comparison.curvatures[problem.name].verdict in row[5]
    constant = Problem("c", np.zeros((20, 2)), np.repeat([0, 1], 10), np.array(["a", "b"]))
    assert report.curvature_of(constant) is None


def test_tables_agree_with_results(comparison):
    for problem, table in zip(comparison.problems, comparison.tables(), strict=True):
        assert problem.describe() in table.title
        for row, method in zip(table.rows, METHODS, strict=True):
            result = comparison[problem.name, method]
            assert row[0].strip("*") == result["title"]
            assert row[1].strip("*").startswith(f"{result['accuracy']:.3f} ± ")
            assert row[0].startswith("**") == result["is_better_than_knn"]
            assert (result["title"] in table.notes[0]) >= result["is_better_than_knn"]


def test_a_class_with_a_single_training_row():
    problem = small_problem()
    y = np.where(np.arange(80) < 2, 2, problem.y)
    rare = Problem("rare", problem.X, y, np.array(["a", "b", "c"]))
    found = compare(rare, methods=["svm"], n_splits=2, test_size=0.5)
    assert found["rare", "svm"]["accuracy"] > 0.5
    assert found["rare", "svm"]["log_loss"] < 2


def test_data_sets_of_one_name_are_told_apart():
    found = compare([small_problem("x"), small_problem("x", 30)], methods=["knn"], n_splits=2)
    assert [problem.name for problem in found.problems] == ["x", "x (2)"]
    assert found["x (2)", "knn"]["outcomes"][0]["n_train"] == 48


# -- errors ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": "wien"}, "Did you mean 'wine'"),
        ({"data": "no-such-thing.csv"}, r"neither the name of a data set .* nor a file\.$"),
        ({"methods": ["spherical"]}, "'spherical'"),
        ({"n_splits": 1}, "at least 2 splits"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"data": []}, "No data"),
        ({"test_size": 1.5}, "test_size=1.5"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InvalidInputError, match=message):
        compare(**({"data": "wine"} | options))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 0, 0, 0], "one class"),
        ([0, 0, 0, 1], "too few for test_size=0.2: The least populated class"),
        ([0, 0, 1, 1, 2, 2, 3, 3], "too few"),
    ],
)
def test_impossible_splits(y, message):
    problem = Problem("p", np.arange(len(y))[:, None] * 1.0, np.array(y), np.arange(4))
    with pytest.raises(InvalidInputError, match=message):
        compare(problem, methods=["knn"], n_splits=2)


# -- tables from files -----------------------------------------------------------------


def write_flowers(path, n=60):
    rng = np.random.default_rng(0)
    lines = ["length,colour,species"]
    for i in range(n):
        kind = i % 2
        length = "" if i == 5 else f"{rng.normal(2 * kind, 0.5):.3f}"
        lines.append(f"{length},{['red', 'blue'][int(rng.random() < 0.3 + 0.4 * kind)]},s{kind}")
    lines += ["1.0,red,", "1.0,red,rare"]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_from_a_file(tmp_path):
    path = write_flowers(tmp_path / "flowers.csv")  # it has a class of a single row
    found = compare(path, target="species", methods=["elliptic"], n_splits=2)
    (problem,) = found.problems
    assert problem.name == "flowers.csv"
    assert problem.X.shape == (60, 2)
    assert list(problem.classes) == ["s0", "s1"]
    said = " ".join(problem.notes)
    for words in ("1 row without a class", "only one of its class", "median", "red"):
        assert words in said
    elliptic = found["flowers.csv", "elliptic"]["accuracy"]
    assert elliptic > 0.8
    assert run_lines(found.to_python())["accuracy"] == pytest.approx(elliptic)


def test_columns_can_be_left_out(tmp_path):
    path = write_flowers(tmp_path / "flowers.csv")
    problem = load_problem(path, "species", drop=["colour"])
    assert list(problem.X.columns) == ["length"]
    assert "colour: not used: dropped." in problem.notes
    assert problem.code.endswith("'species', drop=['colour'])")
    with pytest.raises(InvalidInputError, match="no column 'color' to drop"):
        compare(path, target="species", drop=["color"])


def test_a_delimiter_and_an_encoding(tmp_path):
    path = tmp_path / "trees.csv"
    lines = [f"{i % 7};{i % 5};{'größer' if i % 2 else 'kleiner'}" for i in range(40)]
    path.write_text("\n".join(["a;b;Maß", *lines]), encoding="latin-1")
    problem = load_problem(path, "Maß", delimiter=";", encoding="latin-1")
    assert list(problem.classes) == ["größer", "kleiner"]
    assert problem.code.endswith("delimiter=';', encoding='latin-1')")


@pytest.mark.parametrize("name", PROBLEMS)
def test_data_sets_by_name(name):
    problem = load_problem(name)
    assert len(problem.X) == len(problem.y)
    assert set(problem.y) == set(range(len(problem.classes)))
    assert problem.source
    assert problem.code == f"load_problem({name!r})"


def test_a_large_table_is_sampled(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("a,y\n" + "".join(f"{i % 97}.5,{'uv'[i % 2]}\n" for i in range(3001)))
    problem = load_problem(path, "y")
    assert len(problem.X) == 3000
    assert problem.notes[0] == "3,000 of 3,001 rows, drawn at random."


def test_a_file_needs_its_target(tmp_path):
    path = write_flowers(tmp_path / "flowers.csv")
    with pytest.raises(InvalidInputError, match="Which column"):
        compare(path)
    with pytest.raises(InvalidInputError, match="Did you mean 'species'"):
        compare(path, target="specis")


def test_scores_of_probabilities():
    classes, truth = np.array([0, 1]), np.array([1, 1])
    assert scores.log_loss(np.array([[0.5, 0.5]]), classes, truth[:1]) == pytest.approx(np.log(2))
    groups = scores.calibration(np.array([[0.1, 0.9], [0.8, 0.2]]), classes, truth)
    assert groups[7:9] == [[1.0, 0.8, 0.0], [1.0, 0.9, 1.0]]


def test_tables_in_markdown():
    table = ReportTable("Two", ("method", "accuracy"), [["flat", "**0.9**"]])
    assert table.to_markdown() == "| method | accuracy |\n|---|---:|\n| flat | **0.9** |"
