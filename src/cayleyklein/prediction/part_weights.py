"""How much each part of a sum counts: the weights with the least loss on held-out rows.

Scores are (p, m, t) of p parts for m rows. Weights (p,) are not negative, and are drawn to a start,
which they have where nothing was held out.
"""

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import log_softmax

from cayleyklein._typing import AnyArray, Floats

# Rows as which weights of numbers are drawn to the start. R² against one row: on 7 tables of 120
# rows +0.002 (with 30 rows +0.004), on 5 of 350 rows +0.0004 (+0.0007), on 3 hard problems of 120
# rows +0.002 ± 0.001 (-0.001 ± 0.001).
PULL_OF_NUMBERS = 10.0
# Most that weights of numbers may add up to. Parts that shrink need more than 1: where 58 of 60
# columns are noise 1.6, and R² is 0.05 lower with 1.1. On another scale than the one given a sum
# that goes too far goes too far by a factor: of 56 draws of exponentials the least R² on the
# training rows is 0.33 with 1, −0.9 with 1.1 and −28 with 1.3; mean errors of the logarithm of new
# ones are 0.40, 0.44 and 0.46.
MOST_WEIGHT = 2.0
MOST_WEIGHT_ON_SCALES = 1.0


def of_least_log_loss(scores: Floats, truth: AnyArray, counts: Floats, start: Floats) -> Floats:
    """Return the weights whose softmax has the least log loss; `counts` (m,) weigh the rows.

    They are drawn to the start as by one row.
    """
    rows = np.arange(len(truth))

    def loss(weights: Floats) -> tuple[float, Floats]:
        logs = log_softmax(np.tensordot(weights, scores, 1), axis=1)
        excess = counts[:, None] * np.exp(logs)
        excess[rows, truth] -= counts
        away = weights - start
        slope = np.tensordot(scores, excess, 2) + 2 * away
        return float(-counts @ logs[rows, truth] + away @ away), slope

    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(scores),
        options={"ftol": 1e-13, "gtol": 1e-9},
    )
    return np.asarray(found.x)


def of_least_squares(
    scores: Floats, truth: AnyArray, counts: Floats, start: Floats, *, as_given: bool
) -> Floats:
    """Return the weights with the least squared error of numbers; `counts` (m,) weigh the rows.

    Their sum is bounded, more so where numbers are not modelled `as_given`.
    """
    error = truth - np.tensordot(start, scores, 1)
    noise = float(np.sqrt(counts @ (error**2).mean(axis=1) / counts.sum())) or 1.0
    roots = np.sqrt(counts / truth.shape[1])[:, None] / noise
    pull = np.sqrt(PULL_OF_NUMBERS)
    system = np.vstack([(scores * roots).reshape(len(scores), -1).T, pull * np.eye(len(start))])
    wanted = np.concatenate([(truth * roots).ravel(), pull * start])
    found = nnls(system, wanted)[0]
    most = MOST_WEIGHT if as_given else MOST_WEIGHT_ON_SCALES
    if found.sum() <= most:
        return np.asarray(found)
    surely = 1e4 * np.abs(system).max()  # one more equation that outweighs the others
    system = np.vstack([system, np.full(len(start), surely)])
    return np.asarray(nnls(system, np.append(wanted, surely * most))[0])
