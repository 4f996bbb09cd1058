"""The search of nearest rows in single precision finds what double precision finds."""

import numpy as np
import pytest

from cayleyklein.learning.objectives.lifted import SINGLE_FROM, LiftedRows, NearestRows, Parameters


@pytest.mark.parametrize("curvature", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("kind", ["normal", "close", "ties"])
def test_single_precision_finds_the_rows_of_double(kind, curvature):
    rng = np.random.default_rng(0)
    n, d, m = 150, SINGLE_FROM + 6, 7
    X = rng.normal(size=(n, d))
    if kind == "close":  # distances that single precision cannot tell apart
        X = 1.0 + 1e-3 * X
    elif kind == "ties":
        X = np.round(X[rng.integers(20, size=n)])
    X *= 0.9 / np.linalg.norm(X, axis=1).max()
    placed = LiftedRows(X, Parameters(np.eye(d), np.zeros(d), curvature))
    every = np.broadcast_to(np.arange(n), (n, n))
    chords = placed.sqchords(np.arange(n), every)
    labels = np.sort(rng.integers(3, size=n))
    chords[labels[:, None] == labels] = np.inf
    anchors = np.sort(rng.permutation(n)[:60])
    first, last = (np.searchsorted(labels, labels[anchors], side) for side in ("left", "right"))
    search = NearestRows(n, anchors, first, last)
    nearest = np.sort(chords[anchors], axis=1)[:, :m]
    for reach in (np.full(60, np.inf), nearest[:, 3] * (1 + 1e-7)):  # the second has bounds
        found = search.find(placed, slice(0, 60), m, reach)
        got = np.where(found >= 0, np.take_along_axis(chords[anchors], found, axis=1), np.inf)
        wanted = np.where(nearest < reach[:, None], nearest, np.inf)
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-15)
