"""Conformal intervals and sets: how wrong left-out answers were says how wrong new ones may be.

If rows are drawn alike, the score of a new row is as likely to be of any rank among the scores of n
left-out rows as any other: it is at most the ⌈(n + 1) level⌉-th smallest one with the probability
`level` (Vovk, Gammerman and Shafer 2005).
"""

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein._validation import as_real, expect

AROUND = 15  # neighbours whose errors say how hard a row is


def as_level(level: float) -> float:
    """Return a probability between 0 and 1."""
    value = as_real(level, "level")
    expect(0 < value < 1, "level", level, "a number between 0 and 1")
    return value


def quantile(values: Floats, shares: Floats, level: float) -> float:
    """Return the least value that a share `level` of new ones is not above, by weighted values.

    One more value, infinitely large but counted as the largest, makes it right for new rows.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(shares[order]) * len(values) / (len(values) + 1)
    place = min(int(np.searchsorted(reached, level)), len(values) - 1)
    return float(values[order][place])


def errors_around(errors: Floats, near: Ints) -> Floats:
    """Return how large errors are around rows (m, t): of their neighbours (m, k), and of all rows.

    The mean of both, so that a few neighbours without errors do not promise any.
    """
    sizes = np.abs(errors)
    usual = sizes.mean(axis=0)
    return np.asarray((sizes[near].mean(axis=1) + np.where(usual > 0, usual, 1.0)) / 2)


def half_widths(spreads: Floats, left_out: Floats, shares: Floats, level: float) -> Floats:
    """Return half the widths (m, t) of intervals that hold new numbers with probability `level`.

    They are the spreads (m, t) or (m, 1) of rows times a quantile of |left_out| (n, t): what errors
    of left-out rows were in units of their spreads; `shares` (n,) are the weights of these rows.
    """
    factors = [quantile(each, shares, level) for each in np.abs(left_out).T]
    return np.asarray(spreads * factors)


def likely_classes(
    shares: Floats, left_out: Floats, classes: Ints, weights: Floats, level: float
) -> Bools:
    """Return the set of classes (m, C) of each row that holds its class with probability `level`.

    A class is in it if it is at least as probable as the class of nearly every left-out row was;
    the most probable class always is.
    """
    own = left_out[np.arange(len(classes)), classes]
    kept = weights > 0
    most = quantile(1 - own[kept], weights[kept] / weights[kept].sum(), level)
    found = 1 - shares <= most
    found[np.arange(len(shares)), shares.argmax(axis=1)] = True
    return np.asarray(found)
