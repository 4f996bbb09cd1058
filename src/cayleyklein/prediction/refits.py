"""What a sum of parts says of its own rows, each left out of what answers for it."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import folds
from cayleyklein.learning.rows import GivenRows, distinct_rows
from cayleyklein.parts.places import count_rows, means_of_pairs, places_and_pairs

Answers = Callable[[GivenRows, GivenRows], Floats]  # (to fit, to answer for) → answers (m, t)


def refit_answers(answers: Answers, given: GivenRows, n_targets: int) -> Floats:
    """Return answers (n, t) for rows by three refits, each without a third of the places.

    Rows of weight 0 are in no fit. NaN where there are none.
    """
    if not isinstance(given.X, np.ndarray) or not len(given.X):
        raise InvalidInputError("Left-out answers are for rows in memory; these are on a cluster.")
    counts, counted = count_rows(given)
    kept = np.flatnonzero(counts.weights > 0)
    rows = replace(counts, numbers=np.arange(len(counts.target)), table=None).take(kept)
    place, pair = places_and_pairs(rows)
    numbers = [np.empty(0, dtype=np.intp)]
    weights = [np.empty(0)]
    found = [np.empty((0, n_targets))]
    for train, out in folds.split_given(rows, place, pair, counted, 0, folds.N_FOLDS):
        if teaches(train) and len(out.target):
            numbers.append(cast(Ints, out.numbers))
            weights.append(out.weights)
            found.append(answers(train, out))
    joined = (np.concatenate(numbers), np.concatenate(weights), np.concatenate(found))
    return means_of_pairs(given, pair, *joined)


def teaches(train: GivenRows) -> bool:
    """Say whether rows are enough to learn from: two distinct ones, and of classes two classes."""
    if train.classes is not None and len(np.unique(train.target)) < 2:
        return False
    return len(train.target) > 0 and len(distinct_rows(cast(Floats, train.X))[0]) > 1
