"""On which scale numbers are modelled: as given, by their logarithms, or by normal scores.

Wages, prices and counts are skewed: a few are far larger than the others, and a model of squared
errors serves these only. On another scale all count alike. Held-out rows decide, by errors in the
unit of the numbers; what is predicted is carried back.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from cayleyklein._typing import Floats
from cayleyklein._validation import list_indices
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.rows import GivenRows
from cayleyklein.learning.samples import gain_of
from cayleyklein.parts import kernel
from cayleyklein.parts.distances import weigh_columns
from cayleyklein.parts.places import pool_rows

AS_GIVEN, LOGARITHM, NORMAL_SCORES = "as given", "logarithm", "normal scores"
TARGET_SCALES = (AS_GIVEN, LOGARITHM, NORMAL_SCORES)
# Other scales are tried of numbers that are more skewed than this (500 normal numbers: 0 ± 0.1), or
# have heavier tails: the kurtosis of normal numbers is 3, that of differences of waiting times 6.
# Half or double of the first change nothing on three tables (docs/evidence/constants.txt).
SKEWED = 1.0
HEAVY = 6.0


@dataclass(frozen=True)
class NumberScale:
    """A monotone map of numbers to those that are modelled, and the limits of predictions.

    Attributes
    ----------
    kind : {"as given", "logarithm", "normal scores"}
    shift : float
        Added before the logarithm is taken, so that 0 has one.
    values, scores : ndarray of shape (k,)
        Distinct numbers and their normal scores, both increasing.
    low, high : float
        Limits of what is predicted: 0 and 1 where no number is beyond.
    """

    kind: str = AS_GIVEN
    shift: float = 0.0
    values: Floats = field(default_factory=lambda: np.empty(0))
    scores: Floats = field(default_factory=lambda: np.empty(0))
    low: float = -np.inf
    high: float = np.inf

    @classmethod
    def of(cls, kind: str, y: Floats, weights: Floats) -> Self:
        """Make the scale of numbers (n,) with weights."""
        low = 0.0 if y.min() >= 0 else -np.inf
        high = 1.0 if y.min() >= 0 and y.max() <= 1 else np.inf
        if kind == LOGARITHM:
            shift = 0.0 if y.min() > 0 else float(y[y > 0].min()) / 2
            return cls(kind, shift=shift, low=low, high=high)
        if kind == NORMAL_SCORES:
            values, place = np.unique(y, return_inverse=True)
            mass: Floats = np.bincount(place, weights=weights).astype(float)
            below = (np.cumsum(mass) - mass / 2) / mass.sum()
            return cls(kind, values=values, scores=ndtri(below), low=low, high=high)
        return cls(low=low, high=high)

    def modelled(self, y: Floats) -> Floats:
        """Return numbers on this scale."""
        if self.kind == LOGARITHM:
            return np.log(y + self.shift)
        if self.kind == NORMAL_SCORES:
            return np.interp(y, self.values, self.scores)
        return y

    def carried_back(self, z: Any) -> Any:
        """Return the numbers for values on this scale, within the limits."""
        if self.kind == LOGARITHM:
            # beyond e^700 a float would be infinite
            found = np.exp(np.clip(z, -700.0, 700.0)) - self.shift
        elif self.kind == NORMAL_SCORES:
            found = np.interp(z, self.scores, self.values)
        else:
            found = z
        return np.clip(found, self.low, self.high)


def mean_and_unit(Y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the mean of each target (t,), and its standard deviation, 1 for a constant one.

    Rows of weight 0 do not count.
    """
    Y = Y[weights > 0]
    share = weights[weights > 0] / weights.sum()
    size = power_of_two(Y)
    Z = Y / size
    middle = share @ Z
    deviation = np.sqrt(share @ (Z - middle) ** 2)
    varies = (np.ptp(Z, axis=0) > 0) & (deviation > 0)
    return middle * size, np.where(varies, deviation * size, 1.0)


def power_of_two(Y: Floats) -> Floats:
    """Return the power of two (t,) below the largest entry of each column; 1 if all are 0.

    Numbers in this unit keep their digits, and their squares do not overflow.
    """
    largest = np.abs(Y).max(axis=0)
    return np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))))


def scales_of(kind: str, given: GivenRows, rng: np.random.Generator) -> tuple[NumberScale, ...]:
    """Return the scale of each target, of the kind asked for, or chosen if that is "auto"."""
    kept = given.weights > 0
    Y = given.target.reshape(len(given.target), -1)[kept]
    weights = given.weights[kept]
    chosen = []
    sample = None
    for target, y in enumerate(Y.T):
        name = kind
        if kind == LOGARITHM and not (y.min() >= 0 and y.max() > 0):
            below = given.target.reshape(len(given.target), -1)[:, target] < 0
            found = f"{y.min():g}" if below.any() else "only 0"
            where = f" (rows {list_indices(np.flatnonzero(below))})" if below.any() else ""
            raise InvalidInputError(
                'target_scale="logarithm" needs targets of at least 0, and one above; '
                f"got {found}{where}."
            )
        if kind == "auto":
            name = AS_GIVEN
            kinds = kinds_to_try(y, weights)
            if kinds:
                sample = sample or given.draw(500, 1, rng)
                name = best_kind(sample, target, kinds)
        chosen.append(NumberScale.of(name, y, weights))
    return tuple(chosen)


def kinds_to_try(y: Floats, weights: Floats) -> list[str]:
    """Return the scales that may be better than the numbers as given.

    None, unless the numbers are skewed, or a few are far from the others, such as wrong ones.
    """
    share = weights / weights.sum()
    if np.ptp(y) == 0:
        return []
    middle, unit = mean_and_unit(y[:, None], weights)
    away = (y - middle) / unit
    if abs(share @ away**3) <= SKEWED and share @ away**4 <= HEAVY:
        return []
    return [LOGARITHM, NORMAL_SCORES] if y.min() >= 0 else [NORMAL_SCORES]


def best_kind(sample: GivenRows, target: int, kinds: list[str]) -> str:
    """Return the scale with the least absolute errors of rows left out, in the unit of the target.

    Another scale than the one given must be surely better, by more than two standard errors, in two
    ways: in absolute errors, of which one row counts at most as five typical ones, and in relative
    gains, for which all rows count alike. Squared errors of skewed numbers are those of a few rows:
    they say nothing surely.
    """
    y = sample.target.reshape(len(sample.target), -1)[:, target]
    y = y / power_of_two(y)
    usual, share = errors_on_scale(sample, y, AS_GIVEN)
    usual = np.abs(usual)
    most = 5 * np.median(usual)
    best = AS_GIVEN
    largest = 2.0
    for kind in kinds:
        errors = np.abs(errors_on_scale(sample, y, kind)[0])
        gains = usual - errors
        both = usual + errors
        relative = np.divide(gains, both, out=np.zeros_like(gains), where=both > 0)
        surety = mean_in_standard_errors(np.clip(gains, -most, most), share)
        if surety > largest and mean_in_standard_errors(relative, share) > 2.0:
            largest = surety
            best = kind
    return best


def mean_in_standard_errors(gains: Floats, share: Floats) -> float:
    """Return the weighted mean of gains in units of its standard error."""
    mean, error = gain_of(gains, np.zeros_like(gains), share)
    return mean / error if error > 0 else 0.0


def errors_on_scale(sample: GivenRows, y: Floats, kind: str) -> tuple[Floats, Floats]:
    """Return the errors (p,) of places, each left out of a kernel machine in columns, and shares.

    The errors are in the unit of y.
    """
    scale = NumberScale.of(kind, y, sample.weights)
    z = scale.modelled(y)
    middle, unit = mean_and_unit(z[:, None], sample.weights)
    rows = pool_rows(sample, ((z - middle) / unit)[:, None], False)
    truth = pool_rows(sample, y[:, None], False).targets[:, 0]
    missed = kernel.place_errors(weigh_columns(rows), rows)[:, 0]
    predicted = scale.carried_back((rows.targets[:, 0] - missed) * unit + middle)
    return truth - predicted, rows.weights / rows.weights.sum()
