"""The paper's numbers, its splits, and the marks beside its numbers."""

import numpy as np
import pytest
from tests.experiments.made_up import reproduction

from cayleyklein.experiments import FULL, QUICK, Protocol, load_problem
from cayleyklein.experiments._reproduce import PAPER_CELLS, cells_of

SOURCES = ("wine", "sonar", "vowel", "balance", "pima")


def rows_in_print():
    return {(c.table, c.dataset, c.k, c.n_targets) for c in PAPER_CELLS}


def test_shape_of_the_tables():
    assert {c.k for c in PAPER_CELLS if c.table == "exp"} == {1, 3, 5, 11}
    assert {c.k for c in PAPER_CELLS if c.table == "mixed"} == {3}
    tables = [c.table for c in PAPER_CELLS]
    exp = 4 * 4 * 3 - 1  # one place is empty in print
    counts = {table: tables.count(table) for table in tables}
    assert counts == {"exp": exp, "targets": exp, "mixed": 5 * 4}
    assert ("wine", "hyperbolic", 5, None) not in {c[1:5] for c in PAPER_CELLS}


def test_the_other_reading_of_k():
    votes, targets = ([c for c in PAPER_CELLS if c.table == t] for t in ("exp", "targets"))
    assert {c.k for c in targets} == {3}
    assert [(c.n_targets, c.accuracy) for c in targets] == [(c.k, c.accuracy) for c in votes]


def test_bold_is_the_largest_of_its_row():
    # It is so in print: a wrong copy would show.
    for place in rows_in_print():
        row = [c for c in PAPER_CELLS if (c.table, c.dataset, c.k, c.n_targets) == place]
        assert [c.accuracy for c in row if c.bold] == [max(c.accuracy for c in row)]


def test_flat_column_is_the_same_for_every_k():
    # As printed, which is why the meaning of k is open.
    for dataset in ("wine", "vowel", "balance", "pima"):
        cells = [c for c in PAPER_CELLS if c[:3] == ("exp", dataset, "flat")]
        assert len({c.accuracy for c in cells}) == 1


# -- splits ----------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [FULL, QUICK], ids=lambda p: p.name)
@pytest.mark.parametrize("name", SOURCES)
def test_paper_splits(protocol, name):
    y = load_problem(name).y
    splits, again = protocol.splits(name, y), protocol.splits(name, y)
    for (train, test), other in zip(splits, again, strict=True):
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
        assert np.array_equal(train, other[0])
    if name in ("wine", "sonar"):
        tested = np.concatenate([test for _, test in splits])
        assert np.array_equal(np.sort(tested), np.arange(len(y)))
        assert len(splits) == (len(y) if protocol is FULL else 10)
    else:
        assert [len(train) for train, _ in splits] == [250] * (10 if protocol is FULL else 5)
        assert len({tuple(train) for train, _ in splits}) == len(splits)


def test_a_protocol_describes_itself():
    assert "one row out at a time" in FULL.describe()
    assert "7 folds" in Protocol("mine", repetitions=2, folds=7).describe()


# -- marks -----------------------------------------------------------------------------


def mark_of(dataset, scores, n_test=1):
    cell = (dataset, "flat", 1, None)
    (result,) = reproduction({cell: scores}, n_test=n_test).results
    return [mark["mark"] for mark in result["paper"]]


@pytest.mark.parametrize(
    ("right", "kind"), [(982, "below"), (983, "level"), (985, "level"), (986, "above")]
)
def test_mark_within_one_row(right, kind):
    scores = [float(i < right) for i in range(1000)]  # the paper has 0.984
    assert mark_of("wine", scores) == [kind]


@pytest.mark.parametrize(("shift", "kind"), [(-0.9, "level"), (-1.1, "below"), (1.1, "above")])
def test_mark_within_one_standard_error(shift, kind):
    # Scores with a spread of 0.1 have the standard error 0.1/√3; half a digit is for rounding.
    mean = 0.827 + shift * (0.1 / 3**0.5 + 0.0005)
    scores = [mean - 0.1, mean, mean + 0.1]
    assert mark_of("vowel", scores, n_test=50) == [kind]


def test_a_single_split_is_level():
    assert mark_of("vowel", [0.5], n_test=50) == ["level"]


def test_tables_share_cells():
    counts = [len(cells_of(tables)) for tables in (["exp"], ["mixed"], ["exp", "mixed"])]
    assert counts == [176, 70, 202]
