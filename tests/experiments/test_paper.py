"""The paper's numbers, and the marks beside them."""

import pytest

from cayleyklein.experiments import PAPER_CELLS, Outcome, PaperCell
from cayleyklein.experiments._outcomes import Scores, learned_alpha, learned_geometry
from cayleyklein.experiments._paper import PAPER_ALPHA, ROUNDING, TABLES, mark_against, paper_cells


def rows_in_print():
    return {(c.table, c.row) for c in PAPER_CELLS}


def test_shape_of_the_tables():
    assert {c.k for c in PAPER_CELLS if c.table == "exp"} == {1, 3, 5, 11}
    assert {c.k for c in PAPER_CELLS if c.table == "mixed"} == {3}
    counts = {table: sum(c.table == table for c in PAPER_CELLS) for table in TABLES}
    exp = 4 * 4 * 3 - 1  # one place is empty in print
    assert counts == {"exp": exp, "targets": exp, "mixed": 5 * 4}
    assert not paper_cells("wine", "hyperbolic", 5)


def test_the_other_reading_of_k():
    votes, targets = ([c for c in PAPER_CELLS if c.table == t] for t in ("exp", "targets"))
    assert {c.k for c in targets} == {3}
    assert [(c.n_targets, c.accuracy) for c in targets] == [(c.k, c.accuracy) for c in votes]
    assert [c.table for c in paper_cells("wine", "flat", 3, 11)] == ["targets"]


@pytest.mark.parametrize("place", sorted(rows_in_print()), ids=str)
def test_bold_is_the_largest_of_its_row(place):
    # It is in print, so a slip in copying would show.
    row = [c for c in PAPER_CELLS if (c.table, c.row) == place]
    best = max(c.accuracy for c in row)
    assert [c.accuracy for c in row if c.bold] == [best]


def test_flat_column_is_the_same_for_every_k():
    # As printed, which is why its k is open to doubt.
    for dataset in ("wine", "vowel", "balance", "pima"):
        printed = {
            c.accuracy
            for c in PAPER_CELLS
            if (c.table, c.dataset, c.method) == ("exp", dataset, "flat")
        }
        assert len(printed) == 1


def test_every_data_set_has_an_alpha():
    assert set(PAPER_ALPHA) == {c.dataset for c in PAPER_CELLS if c.table == "mixed"}


def outcome(accuracy, n_test=1, **more):
    return Outcome(accuracy, 100, n_test, 0.1, 0.1, **more)


def printed(accuracy):
    return PaperCell("exp", 0, 0, "wine", "flat", 1, None, accuracy, False)


@pytest.mark.parametrize(
    ("right", "kind"), [(88, "below"), (89, "level"), (90, "level"), (91, "level"), (92, "above")]
)
def test_mark_within_one_row(right, kind):
    outcomes = [outcome(float(i < right)) for i in range(100)]
    assert mark_against(printed(0.9), outcomes, is_partition=True).kind == kind


@pytest.mark.parametrize(("shift", "kind"), [(-0.9, "level"), (-1.1, "below"), (1.1, "above")])
def test_mark_within_one_standard_error(shift, kind):
    # Scores 0.7, 0.8, 0.9 have mean 0.8 and standard error 0.1/√3.
    outcomes = [outcome(a, n_test=50) for a in (0.7, 0.8, 0.9)]
    paper = 0.8 - shift * (0.1 / 3**0.5 + ROUNDING)
    assert mark_against(printed(paper), outcomes, is_partition=False).kind == kind


def test_a_single_split_tells_nothing_apart():
    single = (outcome(0.5, n_test=50),)
    assert mark_against(printed(0.9), single, is_partition=False).kind == "level"
    assert Scores(single).text == "0.500"
    assert Scores(single * 2).text == "0.500 ± 0.000"


def test_geometry_of_the_majority():
    outcomes = [
        outcome(1.0, geometry="elliptic", curvatures=(0.2,)),
        outcome(1.0, geometry="mixed", curvatures=(1.0, -1.0), alpha=0.5),
        outcome(1.0, geometry="elliptic", curvatures=(0.4,)),
    ]
    learned = learned_geometry(outcomes)
    assert learned.geometry == "elliptic"
    assert learned.curvatures == pytest.approx((0.3,))
    assert learned.n_splits == 2
    assert learned_alpha(outcomes) == 0.5
    assert learned_geometry([outcome(1.0)]) is None
    assert learned_alpha([outcome(1.0)]) is None
