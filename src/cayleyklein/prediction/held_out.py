"""What neighbours would predict for held-out rows, for each number of neighbours."""

from typing import cast

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.metrics import CurvedMetric
from cayleyklein.neighbors.euclidean import even_rows, nearest_rows
from cayleyklein.neighbors.search import Ranked, SearchIndex
from cayleyklein.prediction.points import LeftOut, Points
from cayleyklein.prediction.scales import LocalScales
from cayleyklein.prediction.votes import LabelVotes, NumberMeans
from cayleyklein.selection.scores import NEIGHBORS, grid_for

# Rows that are left out, one at a time, to choose the number of neighbours of one geometry.
LEFT_OUT_ROWS = 2000


def held_out_probabilities(
    train: TrainingRows, held_out: TrainingRows, Z: Floats, Q: Floats | None
) -> Floats:
    """Return class probabilities (n_numbers, m, C) by locally scaled votes."""
    first, point = train.points
    n_classes = int(max(train.labels.max(), held_out.labels.max())) + 1
    most = 2 * max(NEIGHBORS) + 1
    if Q is None:
        scales = LocalScales(np.ones(len(first)))
        rows = np.argsort(Z, axis=1, kind="stable")[:, :most]
        distances = np.take_along_axis(Z, rows, axis=1)
    else:
        scales = LocalScales.euclidean(Z[first])
        distances, rows = nearest_rows(Z[first], Q, min(len(first), most))
    votes = LabelVotes(
        Points(first, point), train.labels, train.weights, n_classes, "local", scales
    )
    unknown = np.bincount(held_out.labels, weights=held_out.shares, minlength=n_classes)
    prior = np.where(votes.prior > 0, votes.prior, unknown)  # classes of one row, held out
    inside = np.ones(len(rows), dtype=bool)
    return np.array(
        [
            votes.answers(
                Ranked(distances[:, : 2 * k + 1], rows[:, : 2 * k + 1], inside), k, prior=prior
            )
            for k in grid_for(distances.shape[1])
        ]
    )


def held_out_means(
    train: TrainingRows, held_out: TrainingRows, Z: Floats, Q: Floats | None
) -> Floats:
    """Return mean targets (n_numbers, m, t) with linear weights."""
    assert Q is not None
    distances, rows = nearest_rows(Z, Q, min(len(Z), max(NEIGHBORS) + 1))
    return means_by_number(train, Ranked(distances, rows, np.ones(len(rows), dtype=bool)))


def means_by_number(rows: TrainingRows, found: Ranked) -> Floats:
    assert rows.targets is not None
    means = NumberMeans(Points.separate(len(rows)), rows.targets, rows.weights, "linear")
    return np.array([means.answers(found, k) for k in grid_for(found.rows.shape[1])])


def best_left_out(rows: TrainingRows, found: Parameters) -> int:
    """Return the number of neighbours that predicts rows best, each left out in turn."""
    factor, center, K = found
    index = SearchIndex(rows.X, CurvedMetric(factor=factor, center=center, curvature=K))
    some = even_rows(len(rows), LEFT_OUT_ROWS)
    nearest = index.nearest(rows.X[some], max(NEIGHBORS) + 2, None)
    left_out = LeftOut(some, some, np.ones(len(some), dtype=bool))
    nearest = left_out.drop_from(nearest, nearest.rows.shape[1] - 1)
    errors = means_by_number(rows, nearest) - cast(Floats, rows.targets)[some]
    losses = (errors**2).sum(axis=2) @ rows.weights[some]
    return min(NEIGHBORS[int(np.argmin(losses))], len(rows) - 1)
