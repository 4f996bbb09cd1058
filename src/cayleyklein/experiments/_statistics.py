"""What the differences between methods are worth.

Scores on overlapping training rows are not independent, so the plain standard error of a
difference is too small. Nadeau and Bengio (2003) widen it by the ratio of test to training rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from cayleyklein._validation import as_points, as_real, refuse_containers, refuse_huge
from cayleyklein.exceptions import InvalidInputError

__all__ = [
    "PairedDifference",
    "Ranking",
    "holm",
    "none_for_nan",
    "paired_difference",
    "rank_methods",
    "standard_error",
]

CONFIDENCE = 0.95
SIGNIFICANCE = 1 - CONFIDENCE

ROUNDING = 4 * np.finfo(np.float64).eps
"""Differences of scores that differ by no more, relative to the scores, are one number rounded."""


def as_scores(
    values: ArrayLike, name: str, n: int | None = None, *, ndim: int = 1
) -> NDArray[np.float64]:
    """Check scores, whose squares must be floats."""
    scores = as_points(values, name, n, ndim=ndim)
    refuse_huge(scores, name)
    return scores


class PairedDifference(NamedTuple):
    """Mean difference over the same splits, its 95 % interval, and the p-value of no difference.

    What the splits say nothing of is NaN: everything but the difference for a single split, and the
    interval where the difference is the same on every split.

    Examples
    --------
    >>> from cayleyklein.experiments import PairedDifference, paired_difference
    >>> one_split = paired_difference([0.9], [0.8], test_ratio=0.25)
    >>> one_split.to_dict()["p_value"] is None
    True
    >>> PairedDifference(0.1, 0.05, 0.15, 0.01).low > 0
    True
    """

    difference: float
    low: float
    high: float
    p_value: float

    def to_dict(self) -> dict[str, float | None]:
        """Return it as JSON can hold it, with None for NaN."""
        return {name: none_for_nan(value) for name, value in self._asdict().items()}


def none_for_nan(value: float) -> float | None:
    """Return what JSON has for a number that is not known."""
    return None if np.isnan(value) else value


def standard_error(scores: ArrayLike) -> float:
    """Return the standard error of the mean score; NaN for a single one.

    It shows how much the scores vary from split to split, and is no test of a difference: use
    :func:`paired_difference`.

    >>> standard_error([0.5, 1.0, 0.5, 1.0]) == (1 / 12) ** 0.5 / 2
    True
    """
    values = as_scores(scores, "scores")
    if len(values) < 2:
        return float("nan")
    return float(stats.sem(values))


def paired_difference(
    scores: ArrayLike, baseline: ArrayLike, *, test_ratio: float
) -> PairedDifference:
    """Compare two methods on the same splits by the corrected resampled t-test.

    With J differences of mean m and variance s², the variance of m is taken to be
    (1/J + n_test/n_train) s² (Nadeau and Bengio 2003), and m to follow Student's t with J - 1
    degrees of freedom.

    Parameters
    ----------
    scores, baseline : array-like of shape (J,)
        Accuracies of the two methods, split by split.
    test_ratio : float
        n_test / n_train.

    Returns
    -------
    PairedDifference
        Of scores - baseline.

    Examples
    --------
    >>> paired_difference([0.9, 0.8, 0.9], [0.8, 0.8, 0.8], test_ratio=0.25).p_value > 0.05
    True

    No difference anywhere is no evidence of one:

    >>> paired_difference([0.9, 0.8], [0.9, 0.8], test_ratio=0.25)
    PairedDifference(difference=0.0, low=nan, high=nan, p_value=1.0)
    """
    ratio = as_real(test_ratio, "test_ratio")
    if ratio < 0:
        raise InvalidInputError(f"Got test_ratio={ratio:g}, but expected a number ≥ 0.")
    given = as_scores(scores, "scores")
    other = as_scores(baseline, "baseline", len(given))
    differences = given - other
    mean, n = float(differences.mean()), len(differences)
    if n < 2:
        return PairedDifference(mean, *[float("nan")] * 3)
    # 21/36 - 20/36 and 23/36 - 22/36 are not the same float: no evidence may come of that.
    if np.ptp(differences) <= ROUNDING * max(np.abs(given).max(), np.abs(other).max()):
        # The same on every split, as a few small test sets can have it, says nothing of the
        # spread; how likely so many equal signs are, without a difference, is known all the same.
        return PairedDifference(mean, np.nan, np.nan, 1.0 if mean == 0 else 2.0 ** (1 - n))
    error = float(np.sqrt((1 / n + ratio) * differences.var(ddof=1)))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) * error
    p_value = 2 * float(stats.t.sf(abs(mean) / error, n - 1))
    return PairedDifference(mean, mean - reach, mean + reach, p_value)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values for having made several tests (Holm 1979); NaN is left out of the count.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    refuse_containers(p_values, "p_values")
    try:
        known = np.asarray(p_values)
        if known.ndim != 1 or known.dtype.kind not in "fiubO":
            raise TypeError(f"got shape {known.shape} and dtype {known.dtype}")
        p = known.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"p_values must be a list of numbers: {error}.") from error
    if not ((p >= 0) & (p <= 1) | np.isnan(p)).all():
        raise InvalidInputError(f"p_values must lie between 0 and 1, or be NaN; got {p.tolist()}.")
    adjusted = np.full(p.shape, np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted


class Ranking(NamedTuple):
    """Methods over several data sets (Demšar 2006).

    Attributes
    ----------
    mean_ranks : ndarray of shape (n_methods,)
        1 is the best; equals share their ranks.
    friedman_p : float
        Of all methods being equal.
    critical_difference : float
        Of mean ranks, by Nemenyi's test at 5 %: methods nearer than that are not told apart.

    Examples
    --------
    >>> from cayleyklein.experiments import rank_methods
    >>> ranking = rank_methods([[0.9, 0.8, 0.7], [0.9, 0.7, 0.8], [0.8, 0.6, 0.7]])
    >>> ranking.mean_ranks.round(2), round(ranking.critical_difference, 2)
    (array([1.  , 2.67, 2.33]), 1.91)
    """

    mean_ranks: NDArray[np.float64]
    friedman_p: float
    critical_difference: float


def rank_methods(scores: Sequence[Sequence[float]] | NDArray[np.float64]) -> Ranking:
    """Rank methods by their scores on several data sets.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        Higher is better; at least three methods.

    Examples
    --------
    >>> rank_methods([[0.9, 0.8, 0.7], [0.9, 0.7, 0.8]]).mean_ranks
    array([1. , 2.5, 2.5])
    """
    values = as_scores(scores, "scores", ndim=2)
    n, k = values.shape
    if k < 3 or n < 2:
        raise InvalidInputError(
            f"Ranking needs scores of three methods and two data sets or more; got {k} and {n}."
        )
    ranks = stats.rankdata(-values, axis=1)
    with np.errstate(invalid="ignore"):
        friedman = float(stats.friedmanchisquare(*values.T).pvalue)
    if np.isnan(friedman):  # every method equal on every data set: 0/0, and no evidence
        friedman = 1.0
    q = float(stats.studentized_range.ppf(CONFIDENCE, k, np.inf)) / np.sqrt(2)
    critical = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    return Ranking(ranks.mean(axis=0), friedman, critical)
