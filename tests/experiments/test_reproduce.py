"""Runs continue where they stopped, and the tables and files agree with the results."""

import json
import shutil

import numpy as np
import pytest
from tests.experiments.made_up import OUTCOME, reproduction
from tests.experiments.pages import external_references

from cayleyklein import CayleyKleinLMNN
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments import Protocol, _runs, load_problem, reproduce
from cayleyklein.experiments._reproduce import PAPER_CELLS, beside_paper
from cayleyklein.experiments.methods import METHODS

SHORT = Protocol("short", repetitions=2, folds=2)
OPTIONS = {"tables": ["mixed"], "protocol": SHORT, "methods": ["knn"]}
OURS = ("flat", "elliptic", "hyperbolic", "mixed", "knn", "neighbors")
PAPERS = tuple(prefix + name for prefix in ("paper-", "paper-std-") for name in OURS[:4])


def run(folder, **options):
    """Return the results of a short run, and the steps of its progress."""
    steps = []
    found = reproduce(folder, **OPTIONS | options, progress=lambda *step: steps.append(step))
    return found, steps


def accuracies(found):
    return [[outcome["accuracy"] for outcome in r["outcomes"]] for r in found.results]


# -- runs ------------------------------------------------------------------------------


class Interrupted(Exception):
    """Stands for a kill between two fits."""


def test_an_interrupted_run_continues(tmp_path):
    def interrupt(done, *_):
        if done == 5:
            raise Interrupted

    with pytest.raises(Interrupted):
        reproduce(tmp_path, **OPTIONS, progress=interrupt)
    resumed, steps = run(tmp_path)
    assert steps[0] == (4, 10, "finished before")  # two cells of two splits
    assert [step[0] for step in steps] == list(range(4, 11))
    assert accuracies(resumed) == accuracies(run(tmp_path / "straight")[0])
    assert run(tmp_path)[1] == [(10, 10, "finished before")]


@pytest.mark.parametrize(
    "damage",
    [lambda text: text[:100], lambda _: "[]", lambda _: "null", lambda _: "\x00"],
    ids=["half", "list", "null", "zero byte"],
)
def test_a_damaged_cell_is_computed_again(tmp_path, damage):
    first, _ = run(tmp_path)
    path = tmp_path / "cells-short" / "wine-knn-k3.json"
    path.write_text(damage(path.read_text()))
    again, steps = run(tmp_path)
    made = ["wine, standardised k-NN, k = 3"] * 2
    assert [step[2] for step in steps] == ["finished before", *made]
    assert accuracies(again) == accuracies(first)


def test_a_cell_under_a_wrong_name_is_computed_again(tmp_path):
    run(tmp_path)
    cells = tmp_path / "cells-short"
    shutil.copy(cells / "sonar-knn-k3.json", cells / "wine-knn-k3.json")
    assert run(tmp_path)[1][0][0] == 8


def test_other_code_is_another_run(tmp_path, monkeypatch):
    run(tmp_path)
    monkeypatch.setattr("cayleyklein.experiments._runs.fingerprint", lambda: "other")
    assert run(tmp_path)[1][0][0] == 1


def test_the_fingerprint_covers_the_code(tmp_path, monkeypatch):
    home, compute = tmp_path / "cayleyklein", _runs.fingerprint.__wrapped__
    shutil.copytree(_runs.HOME / "learning", home)
    monkeypatch.setattr(_runs, "HOME", home)
    before = compute()
    (home / "objectives/large_margin.py").write_text("")
    assert compute() != before


def test_unknown_names(tmp_path):
    with pytest.raises(InvalidInputError, match="'expe'"):
        reproduce(tmp_path, tables=["expe"])
    with pytest.raises(InvalidInputError, match="'eliptic'"):
        reproduce(tmp_path, methods=["eliptic"])


@pytest.mark.parametrize("given", [(5, None), (3, 11), (None, None)])
def test_votes_and_targets_reach_the_learner(given):
    made = METHODS["paper-elliptic"].make("class", *given)
    votes = given[0] or 3
    assert (made.n_neighbors, made.learner.n_targets) == (votes, given[1] or votes)
    assert (made.weights, type(made.learner)) == ("uniform", CayleyKleinLMNN)
    assert not made.learner.standardize
    assert METHODS["paper-std-elliptic"].make("class", *given).learner.standardize
    ours = METHODS["elliptic"].make("class", 3, 11)
    assert (ours.n_neighbors, ours.weights, ours.learner.n_targets) == (3, "uniform", 11)
    assert METHODS["elliptic"].make("class", 3, None).learner is None


def test_one_fit_serves_several_k():
    """The outcomes of cells that share a fit are those of fits of their own."""
    problem, (split, *_) = (
        load_problem("balance"),
        SHORT.splits("balance", load_problem("balance").y),
    )
    for method in ("elliptic", "paper-std-elliptic"):
        given = {"elliptic": [(1, None), (5, None)], "paper-std-elliptic": [(3, 3), (1, 3)]}
        cells = [_runs.Cell("balance", method, *pair) for pair in given[method]]
        (group,) = _runs.grouped(cells)
        together = _runs.evaluate_cells(group, problem, split)
        alone = [_runs.evaluate_cells([cell], problem, split)[0] for cell in cells]
        for some in (*together, *alone):
            some.pop("fit_seconds"), some.pop("predict_seconds")
        assert together == alone
    mixed = [_runs.Cell("balance", "paper-mixed", k) for k in (1, 3)]  # α is chosen for each k
    assert _runs.grouped(mixed) == [[mixed[0]], [mixed[1]]]


def test_some_data_sets_alone(tmp_path):
    found = reproduce(datasets=["balance", "sonar"], protocol=SHORT, methods=["knn"])
    assert found.names == ("exp", "targets", "mixed")
    rows = [[row[1] for row in table.rows] for table in found.tables()]
    assert rows == [["balance"] * 4, ["balance"] * 4, ["sonar", "balance"]]
    alone = reproduce(tmp_path, datasets=["sonar"], protocol=SHORT, methods=["knn"])
    assert alone.names == ("mixed",)
    assert "| 3 | sonar |" in str(alone)
    with pytest.raises(InvalidInputError, match="no 'iris'"):
        reproduce(datasets=["iris"])
    with pytest.raises(InvalidInputError, match="sonar is in"):
        reproduce(datasets=["sonar"], tables=["exp"])


# -- tables and files ------------------------------------------------------------------


def scores_for(table, gain=0.05):
    """Return scores of every cell of a table: those that are not flat gain 5 points over flat."""
    rng = np.random.default_rng(0)
    methods = [m for m in (*OURS, *PAPERS) if "mixed" not in m or table == "mixed"]
    scores = {}
    for dataset, k, n_targets in dict.fromkeys(
        (c.dataset, c.k, c.n_targets) for c in PAPER_CELLS if c.table == table
    ):
        base = rng.normal(0.8, 0.01, 10)
        for method in methods:
            noise = gain + rng.normal(0, 0.001, 10)
            scores[dataset, method, k, n_targets] = base + ("flat" not in method) * noise
    return scores


@pytest.fixture(scope="module")
def found():
    return {t: reproduction(scores_for(t), [t]) for t in ("exp", "targets", "mixed")}


def test_bold_needs_evidence(found):
    for result in found["exp"].results:
        assert result["is_better_than_flat"] == ("flat" not in result["method"])
    worse = reproduction(scores_for("exp", gain=-0.05), ["exp"])
    assert not any(result["is_better_than_flat"] for result in worse.results)
    same = reproduction(scores_for("exp", gain=0.0), ["exp"])
    # Six of 112 tests at 5 % may err before the adjustment, and fewer after it.
    assert sum(result["is_better_than_flat"] for result in same.results) <= 6


def test_holm_counts_the_methods_but_not_the_baseline():
    """A p-value of 0.03 is significant alone, and not beside another test."""
    rng = np.random.default_rng(0)
    base, noise = rng.normal(0.8, 0.02, 10), rng.normal(size=10)
    slight = base + 0.01 + 0.0073 * (noise - noise.mean()) / noise.std(ddof=1)
    flat, elliptic, mixed = (("wine", m, 3, None) for m in ("flat", "elliptic", "mixed"))
    sizes = {"n_train": 80, "n_test": 20}
    alone = reproduction({flat: base, elliptic: slight}, **sizes).results
    assert 0.025 < alone[1]["over_flat"]["p_value"] < 0.05
    assert [result["is_better_than_flat"] for result in alone] == [False, True]
    scores = {flat: base, elliptic: slight, mixed: base}
    both = reproduction(scores, **sizes).results
    assert not any(result["is_better_than_flat"] for result in both)


def test_the_most_frequent_geometry():
    outcomes = [
        OUTCOME | {"curvatures": [0.2], "alpha": None},
        OUTCOME | {"geometry": "mixed", "curvatures": [1.0, -1.0], "alpha": 0.25},
        OUTCOME | {"curvatures": [0.4], "alpha": None},
    ]
    (result,) = beside_paper({_runs.Cell("wine", "neighbors", 3): outcomes}, SHORT)
    assert result["learned"]["geometry"] == "elliptic"
    assert result["learned"]["curvatures"] == pytest.approx([0.3])
    assert (result["learned"]["n_splits"], result["alpha"]) == (2, 0.25)


@pytest.mark.parametrize("table", ["exp", "targets", "mixed"])
def test_every_number_of_the_paper_is_beside_ours(found, table):
    printed = [c for c in PAPER_CELLS if c.table == table]
    (shown,) = found[table].tables()
    rows = list(dict.fromkeys((c.dataset, c.k, c.n_targets) for c in printed))
    for cell in printed:
        title = "flat LMNN" if cell.method == "flat" else cell.method
        at = shown.columns.index(f"{title}: paper")
        row = shown.rows[rows.index((cell.dataset, cell.k, cell.n_targets))]
        assert row[:2] == [str(cell.n_targets or cell.k), cell.dataset]
        assert row[at] == f"{cell.accuracy:.3f}"
        ours = row[at + 1 : at + 4]
        assert all(entry.strip("*")[-1] in "▲=▼" for entry in ours)
    assert shown.columns[-2 - (table == "mixed") :][:2] == ("standardised k-NN", "neighbours")


def test_the_paper_s_algorithm_and_ours_are_counted_apart(found):
    (shown,) = found["mixed"].tables()
    at = shown.columns.index("elliptic: paper")
    whose = ("paper's algorithm", "same, standardised", "ours")
    assert shown.columns[at + 1 : at + 4] == tuple(f"elliptic: {who}" for who in whose)
    counts = shown.notes[0].partition("table, ")[2].rstrip(".").split("; ")
    assert [count.partition(": ")[0] for count in counts] == list(whose)
    assert all(count.endswith(" of 20") for count in counts)
    assert shown.rows[0][-1] == "0.74, 0.50, 0.50, 0.50"  # α in print, and the made-up ones


@pytest.mark.parametrize("table", ["exp", "targets", "mixed"])
def test_cells_below_the_paper_are_listed(found, table):
    marks = [
        mark["mark"]
        for result in found[table].results
        for mark in result["paper"]
        if mark["table"] == table
    ]
    (shown,) = found[table].tables()
    assert len(shown.notes) - 1 == marks.count("below") > 0
    assert all(", below the paper's 0." in note for note in shown.notes[1:])


def test_files_hold_the_results(found, tmp_path):
    paths = found["exp"].write(tmp_path)
    assert set(paths) == {"results.json", "report.html", "exp.md"}
    assert json.loads(paths["results.json"].read_text("utf-8")) == found["exp"].to_dict()
    text = paths["exp.md"].read_text("utf-8")
    assert all(part in text for part in (found["exp"].tables()[0].to_markdown(), "▲", "Protocol ("))
    page = paths["report.html"].read_text("utf-8")
    assert not external_references(page)
    assert "▲" in page
    assert '<td class="below" data-name="' in page


def test_one_split_has_no_standard_error(tmp_path):
    short = reproduction({cell: s[:1] for cell, s in scores_for("exp").items()}, ["exp"])
    stored = json.loads(short.write(tmp_path)["results.json"].read_text("utf-8"))
    assert {c["standard_error"] for c in stored["cells"]} == {None}
    assert "±" not in short.tables()[0].rows[0][-1]
