"""From votes to probabilities: ties are broken, and shares shrunk to the shares of the classes."""

from __future__ import annotations

import numpy as np

from cayleyklein._typing import Floats

PRIOR_VOTES = 0.1
"""Votes of the class shares beside those of the neighbours, so that no probability is 0 or 1.

In units of the mean weight of a point: a common factor of all weights changes nothing.
"""

SAME_VOTES = 1e-9
"""Relative difference up to which votes count as equal: they are sums, in any order."""


def class_probabilities(
    votes: Floats, nearest: Floats, prior: Floats, unit: Floats | float = 1.0
) -> Floats:
    """Return class probabilities (m, C): shares of the votes, shrunk to the class shares.

    (votes for c + s p_c) / (all votes + s), with p the `prior` (C,) or (m, C), and s a tenth of the
    `unit`, the mean weight of a point. Of several classes with the most votes, the one with the
    nearest vote gets s more, and so has the largest probability; of equally near ones the most
    frequent, and then the first. `nearest` (m, C) is the distance of the nearest vote for a class.

    >>> class_probabilities(np.array([[1.0, 2.0]]), np.zeros((1, 2)), np.array([0.5, 0.5])).round(2)
    array([[0.34, 0.66]])
    """
    strength = PRIOR_VOTES * np.broadcast_to(unit, len(votes))[:, None]
    total = votes + strength * prior
    tied = votes >= votes.max(axis=1, keepdims=True) * (1 - SAME_VOTES)
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    if len(several):
        shares = np.broadcast_to(prior, votes.shape)[several]
        near = np.where(tied[several], nearest[several], np.inf)
        first = tied[several] & (near <= near.min(axis=1, keepdims=True) * (1 + SAME_VOTES))
        winner = np.where(first, shares, -1.0).argmax(axis=1)
        total[several, winner] += strength[several, 0]
    return np.asarray(total / total.sum(axis=1, keepdims=True))
