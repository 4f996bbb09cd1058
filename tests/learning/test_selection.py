import numpy as np
import pytest

from cayleyklein.learning._auto import mention_plain
from cayleyklein.learning._data import TrainingRows
from cayleyklein.learning._reports import warn_of_limits
from cayleyklein.learning._selection import Selection, folds, select
from cayleyklein.learning._train import Result


def rows(n=300):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n)
    return TrainingRows.from_raw(rng.normal(size=(n, 2)), labels, np.ones(n))


def choose(accuracies, likely=(), n=300):
    """Judge candidates that are right on a fixed share of held-out rows, the same rows."""
    asked = []

    def judge(train, held_out, names):
        asked.append(list(names))
        m = len(held_out.X)
        return {name: np.arange(m) < round(accuracies[name] * m) for name in names}

    found = select(list(accuracies), judge, rows(n), np.random.default_rng(0), likely)
    return found, asked


def test_folds_are_disjoint_and_stratified():
    data = rows()
    seen = []
    for train, held_out in folds(data, np.random.default_rng(0)):
        assert len(train.X) + len(held_out.X) == len(data.X)
        both = np.concatenate([train.X, held_out.X])
        assert len(np.unique(both, axis=0)) == len(data.X)
        assert abs(held_out.labels.mean() - data.labels.mean()) < 0.02
        seen.append(held_out.X)
    assert len(np.unique(np.concatenate(seen), axis=0)) == len(data.X)


@pytest.mark.parametrize(
    ("n", "expected"), [(750, [750] * 3), (751, [751]), (1500, [1500]), (4000, [1500])]
)
def test_many_rows_are_held_out_once(n, expected):
    sizes = [len(train.X) + len(held.X) for train, held in folds(rows(n), np.random.default_rng(0))]
    assert sizes == expected


def test_the_default_stays_on_weak_evidence():
    found, _ = choose({"default": 0.80, "other": 0.81})
    assert found.chosen == "default"
    assert "nothing beat it clearly" in found.reason


def test_clear_evidence_switches():
    found, _ = choose({"default": 0.6, "other": 0.8, "best": 0.9})
    assert found.chosen == "best"
    assert found.trials[2].advantage == pytest.approx(0.3)


def test_less_evidence_for_likely_candidates():
    accuracies = {"default": 0.80, "other": 0.81}
    assert choose(accuracies, likely=("other",))[0].chosen == "other"


def test_losers_are_dropped_early():
    found, asked = choose({"default": 0.8, "loser": 0.5})
    assert asked == [["default", "loser"], ["default"], ["default"]]
    assert [trial.n_rows for trial in found.trials] == [300, 100]


def test_plain_neighbours_are_said():
    selection = Selection((), "standardised k-NN", "better")
    result = Result([], [], [], [], selection)
    with pytest.warns(UserWarning, match="No learned metric beat plain standardised k-NN"):
        warn_of_limits(result, 1e9, "auto")


def test_plain_neighbours_that_do_as_well_are_mentioned():
    found, _ = choose({"learned": 0.8, "plain k-NN": 0.8})
    assert "but plain k-NN did as well" in mention_plain(found, ["plain k-NN"]).reason
    worse, _ = choose({"learned": 0.8, "plain k-NN": 0.7})
    assert mention_plain(worse, ["plain k-NN"]) == worse
