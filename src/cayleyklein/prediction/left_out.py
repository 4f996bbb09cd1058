"""What a sum of parts says of its own rows, each left out of what answers for it."""

from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import folds
from cayleyklein.learning.rows import GivenRows
from cayleyklein.parts.places import count_rows, places_and_pairs
from cayleyklein.prediction.sums import Sum


def refit_totals(fit: Any, given: GivenRows, takes_tables: bool, n_targets: int) -> Floats:
    """Return the sums (n, t) of scores of rows by refits without them; NaN where there are none.

    `fit` makes a :class:`Sum` of given rows; there are three refits, each without a third of the
    places.
    """
    if takes_tables:
        raise InvalidInputError(
            "A part takes tables, of which the model keeps no cells: left-out answers need rows "
            "that are not fitted; hold some out."
        )
    if not isinstance(given.X, np.ndarray) or not len(given.X):
        raise InvalidInputError("Left-out answers are for rows in memory; these are on a cluster.")
    totals = np.full((len(given.target), n_targets), np.nan)
    counts, counted = count_rows(given)
    kept = np.flatnonzero(counts.weights > 0)
    rows = GivenRows(
        given.X[kept],
        given.target[kept],
        counts.weights[kept],
        given.n_columns,
        given.classes,
        numbers=kept,
    )
    place, pair = places_and_pairs(rows)
    sums = np.zeros((int(pair.max()) + 1, n_targets))
    mass = np.zeros(len(sums))
    pair_of = np.full(len(totals), -1)
    pair_of[kept] = pair
    for train, out in folds.split_given(rows, place, pair, counted, 0, folds.N_FOLDS):
        found: Sum = fit(train)
        assert out.numbers is not None
        at = pair_of[out.numbers]
        np.add.at(sums, at, out.weights[:, None] * found.total(np.asarray(out.X)))
        np.add.at(mass, at, out.weights)
    known = mass > 0
    sums[known] /= mass[known, None]
    sums[~known] = np.nan
    totals[kept] = sums[pair]
    return totals
