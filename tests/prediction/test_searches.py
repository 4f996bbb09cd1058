"""Of many rows, parts that search among all of them must earn it."""

import numpy as np
import pytest

from cayleyklein import CurvedKernelClassifier, CurvedMetric
from cayleyklein.learning import folds
from cayleyklein.parts.registry import PARTS, PartOptions
from cayleyklein.prediction.answers import Classes
from cayleyklein.prediction.held_out import HeldOut, worth_asking


def held_out(votes):
    """Return scores of a machine that is right in 8 of 10 rows, and of votes, of 400 rows."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, size=400)
    right = rng.uniform(size=400) < 0.8
    said = np.where(right, truth, 1 - truth)
    machine = np.where(said[:, None] == np.arange(2), 1.0, -1.0)
    scores = {"columns": machine, **votes(truth, machine)}
    answer = Classes(np.array([0.5, 0.5]), 400.0)
    ones = np.ones(400)
    return HeldOut(answer, scores, {}, truth, ones / 400, 400.0, ones)


def parts_named(*names):
    return [PARTS[name](PartOptions()) for name in names]


def test_votes_that_say_what_the_machine_says_are_dropped():
    judged = held_out(lambda truth, machine: {"neighbors": machine, "plain": 0.5 * machine})
    asking = worth_asking(parts_named("columns", "neighbors", "plain"), judged)
    assert [part.name for part in asking] == ["columns"]


def test_votes_that_know_more_are_kept_once():
    def votes(truth, machine):
        right = np.random.default_rng(1).uniform(size=400) < 0.75
        said = np.where(right, truth, 1 - truth)
        known = np.where(said[:, None] == np.arange(2), 0.3, -0.3)
        return {"neighbors": known, "plain": known}

    asking = worth_asking(parts_named("columns", "neighbors", "plain"), held_out(votes))
    assert len(asking) == 2
    assert asking[0].name == "columns"


def test_machines_and_a_part_alone_always_stay():
    judged = held_out(lambda truth, machine: {"metric": machine, "plain": machine})
    assert len(worth_asking(parts_named("columns", "metric"), judged)) == 2
    assert len(worth_asking(parts_named("plain"), judged)) == 1


@pytest.mark.parametrize("n_landmarks", ["auto", 40])
def test_what_is_dropped_still_finds_neighbours(monkeypatch, n_landmarks):
    monkeypatch.setattr(folds, "FOLDS_UP_TO", 200)
    monkeypatch.setattr("cayleyklein.prediction.held_out.SEARCH_GAIN", 1e9)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=400) > 0).astype(int)
    metric = CurvedMetric.euclidean(3)
    model = CurvedKernelClassifier(metric=metric, n_landmarks=n_landmarks, random_state=0)
    model.fit(X, y)
    assert not {"neighbors", "plain"} & set(model.part_weights_)
    assert model.kneighbors(X[:2], 1)[1].ravel().tolist() == [0, 1]
