"""What tasks do with shards, in this process: together they must find what one search finds."""

from itertools import pairwise

import numpy as np
import pytest

from cayleyklein import CurvedLMNN
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Frame
from cayleyklein.learning._data import Distinct, TrainingRows
from cayleyklein.learning._intake import Sampling, draw, pick, sample_sizes
from cayleyklein.learning._loss import Links, Problem, loss_and_gradient
from cayleyklein.learning._near_columns import merge_nearest
from cayleyklein.learning._posed import wide_radii
from cayleyklein.learning._search import find_impostors, find_targets
from cayleyklein.learning._shards import (
    evaluate,
    link,
    meet_impostors,
    meet_targets,
    merge,
    part_between,
    pivots,
)

RNG = np.random.default_rng(0)
LABELS = np.concatenate([np.zeros(40, int), RNG.integers(0, 3, 80)])  # the first shard has one
DATA = TrainingRows(
    0.2 * RNG.normal(size=(120, 3)), LABELS, RNG.uniform(0.5, 2, 120), np.zeros(3), np.ones(3)
)
EDGES = [0, 40, 41, 95, 120]
SHARDS = [
    TrainingRows(DATA.X[i:j], DATA.labels[i:j], DATA.weights[i:j], DATA.mean, DATA.scale, i)
    for i, j in pairwise(EDGES)
]


def go_round(number, meet):
    state = None
    for turn in range(len(SHARDS)):
        state = meet(state, SHARDS[number], SHARDS[(number + turn) % len(SHARDS)])
    return state


@pytest.mark.parametrize("curvature", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("per_row", [4, 1000])
def test_shards_together_have_the_loss_of_the_whole(curvature, per_row):
    frame = Frame(np.eye(3), curvature=curvature)
    targets = find_targets(DATA.X, DATA.labels, 3, frame)
    problem = Problem(DATA.X, targets, DATA.weights, 0.1, 0.5, squared=False)
    reach = wide_radii(targets, DATA.X, frame, 0.1, squared=False)
    pairs, crowded = find_impostors(DATA.X, DATA.labels, reach, frame, per_row)
    where = 1.1 * np.eye(3), np.full(3, 0.01), curvature
    expected = loss_and_gradient(problem, Links.of(targets, pairs), *where)

    found, crowds = [], []
    for i, shard in enumerate(SHARDS):
        own = go_round(i, lambda *met: meet_targets(*met, 3, frame))
        np.testing.assert_array_equal(own.numbers, targets[EDGES[i] : EDGES[i + 1]])
        impostors = go_round(
            i,
            lambda *met, own=own: meet_impostors(*met, own, frame, per_row, 0.1, False),
        )
        some = slice(pairs.first[EDGES[i]], pairs.first[EDGES[i + 1]])
        np.testing.assert_array_equal(impostors.numbers, pairs.column[some])
        assert len(impostors.guests.X) == len(
            np.setdiff1d(impostors.numbers, np.arange(EDGES[i], EDGES[i + 1]))
        )
        linked = link(shard, own, impostors, 0.1, 0.5, False)
        crowds.append(linked.crowded)
        found.append(evaluate(linked, *where, True))
    assert any(crowds) == crowded
    assert sum(part.n_active for part in found) == expected.n_active
    for name in ("loss", "factor", "center", "curvature"):
        total = sum(getattr(part, name) for part in found)
        np.testing.assert_allclose(total, getattr(expected, name), rtol=1e-9, atol=1e-10)


def test_of_merged_columns_the_nearest_stay_and_of_equals_the_first():
    first = np.array([0, 3, 3])
    found = merge_nearest(
        first, np.array([1, 4, 9]), np.array([0.5, 0.1, 0.5]),
        np.array([0, 2, 3]), np.array([2, 7, 0]), np.array([0.5, 0.2, 0.3]), 3,
    )  # fmt: skip
    assert found[0].tolist() == [0, 3, 4]
    assert found[1].tolist() == [1, 4, 7, 0]
    assert found[2].tolist() == [0.5, 0.1, 0.2, 0.3]
    assert found[3]


def test_sorted_parts_are_the_rows_of_the_whole():
    X = RNG.integers(0, 3, size=(300, 2)).astype(float)  # many equal rows, and ties in a column
    labels, weights = RNG.integers(0, 2, 300), RNG.integers(0, 3, 300).astype(float)
    blocks = [Distinct.of(X[i:j], labels[i:j], weights[i:j]) for i, j in [(0, 7), (7, 7), (7, 300)]]
    cuts = pivots(Distinct.of(X, labels, weights), 2, 5)
    parts = [merge([part_between(b, cuts, p) for b in blocks]) for p in range(len(cuts) + 1)]
    whole = Distinct.of(X, labels, weights)
    for found, expected in zip(zip(*parts, strict=True), whole, strict=True):
        np.testing.assert_array_equal(np.concatenate(found), expected)


# -- subsamples ---------------------------------------------------------------------


def test_a_sample_does_not_depend_on_blocks():
    y = RNG.integers(0, 3, 200)
    X, weights = np.arange(200.0)[:, None], RNG.integers(0, 2, 200).astype(float)
    chosen = []
    for edges in ([0, 200], [0, 3, 3, 120, 200]):
        spans = list(pairwise(edges))
        counts = np.stack([np.bincount(y[i:j][weights[i:j] > 0], minlength=3) for i, j in spans])
        drawn = draw(counts, Sampling(40, 4, np.random.default_rng(5)))
        parts = [
            pick(X[i:j], y[i:j], weights[i:j], np.arange(3), some)[0]
            for (i, j), some in zip(spans, drawn, strict=True)
        ]
        chosen.append(np.concatenate(parts).ravel().astype(int))
    np.testing.assert_array_equal(*chosen)
    assert weights[chosen[0]].all()
    assert len(np.unique(chosen[0])) == len(chosen[0])
    counts = np.bincount(y[weights > 0])
    np.testing.assert_array_equal(
        np.bincount(y[chosen[0]]), sample_sizes(counts, Sampling(40, 4, None))
    )


def test_small_classes_keep_enough_rows_for_their_targets():
    counts = np.array([10_000, 30, 2, 0])
    assert sample_sizes(counts, Sampling(0.01, 4, None)).tolist() == [100, 4, 2, 0]
    assert sample_sizes(counts, Sampling(1.0, 4, None)).tolist() == counts.tolist()
    assert sample_sizes(counts, Sampling(20_000, 4, None)).tolist() == counts.tolist()


def test_a_whole_subsample_changes_nothing():
    X = RNG.normal(size=(60, 3))
    y = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
    learners = [
        CurvedLMNN(geometry="flat", n_init=1, random_state=0, subsample=size).fit(X, y)
        for size in (None, 1.0, 60)
    ]
    for learner in learners[1:]:
        np.testing.assert_array_equal(learner.components_, learners[0].components_)
        assert learner.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("wrong", [0, 1, -5, 0.0, 1.5, True, "half", np.nan])
def test_a_wrong_subsample_is_named(wrong):
    with pytest.raises(InvalidInputError, match="subsample="):
        CurvedLMNN(subsample=wrong).fit([[0.0], [1.0]], [0, 1])
