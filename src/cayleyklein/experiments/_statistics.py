"""Results of methods, and tests of the differences between them.

Scores on overlapping training rows are not independent, so the plain standard error of a
difference is too small. Nadeau and Bengio (2003) widen it by the ratio of test to training rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from cayleyklein._typing import Floats
from cayleyklein._validation import as_points, as_real, refuse_containers, refuse_huge
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments._methods import BASELINE, METHODS, PAPERS
from cayleyklein.experiments._runs import Cell, Outcome

CONFIDENCE = 0.95
SIGNIFICANCE = 1 - CONFIDENCE

ROUNDING = 4 * np.finfo(np.float64).eps
"""Relative spread of differences that is rounding only."""


def as_scores(values: ArrayLike, name: str, n: int | None = None, *, ndim: int = 1) -> Floats:
    """Check scores, whose squares must not overflow."""
    scores = as_points(values, name, n, ndim=ndim)
    refuse_huge(scores, name)
    return scores


class PairedDifference(NamedTuple):
    """Mean difference over the same splits, its 95 % interval, and the p-value of no difference.

    NaN is unknown: all but the difference for a single split, and the interval if the difference
    is the same on every split.

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
        """Return the numbers by name for JSON, with None for NaN."""
        return {name: none_for_nan(value) for name, value in self._asdict().items()}


def none_for_nan(value: float) -> float | None:
    """Replace NaN by None, for JSON."""
    return None if np.isnan(value) else value


def standard_error(scores: ArrayLike) -> float:
    """Return the standard error of the mean score; NaN for a single one.

    It shows how much the scores vary from split to split. To test a difference, use
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

    J differences have mean m and variance s². The variance of m is (1/J + n_test/n_train) s²
    (Nadeau and Bengio 2003), and m over its root follows Student's t with J - 1 degrees of freedom.

    Parameters
    ----------
    scores, baseline : array-like of shape (J,)
        Accuracies of the two methods, split by split.
    test_ratio : float
        n_test / n_train.

    Returns
    -------
    PairedDifference
        The difference scores - baseline.

    Examples
    --------
    >>> paired_difference([0.9, 0.8, 0.9], [0.8, 0.8, 0.8], test_ratio=0.25).p_value > 0.05
    True

    Equal scores are no evidence of a difference:

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
    # 21/36 - 20/36 and 23/36 - 22/36 are not the same float, which is no evidence.
    if np.ptp(differences) <= ROUNDING * max(np.abs(given).max(), np.abs(other).max()):
        # The spread is unknown. The probability of n equal signs without a difference is not.
        return PairedDifference(mean, np.nan, np.nan, 1.0 if mean == 0 else 2.0 ** (1 - n))
    error = float(np.sqrt((1 / n + ratio) * differences.var(ddof=1)))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) * error
    p_value = 2 * float(stats.t.sf(abs(mean) / error, n - 1))
    return PairedDifference(mean, mean - reach, mean + reach, p_value)


def holm(p_values: ArrayLike) -> Floats:
    """Adjust p-values for the number of tests (Holm 1979); NaN stays NaN and is not counted.

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
    """Mean ranks of methods over several data sets (Demšar 2006).

    Attributes
    ----------
    mean_ranks : ndarray of shape (n_methods,)
        1 is the best; equal scores share their ranks.
    friedman_p : float
        p-value of Friedman's test that all methods are equal.
    critical_difference : float
        Smallest significant difference of mean ranks, by Nemenyi's test at 5 %.

    Examples
    --------
    >>> from cayleyklein.experiments import rank_methods
    >>> ranking = rank_methods([[0.9, 0.8, 0.7], [0.9, 0.7, 0.8], [0.8, 0.6, 0.7]])
    >>> ranking.mean_ranks.round(2), round(ranking.critical_difference, 2)
    (array([1.  , 2.67, 2.33]), 1.91)
    """

    mean_ranks: Floats
    friedman_p: float
    critical_difference: float


def rank_methods(scores: Sequence[Sequence[float]] | Floats) -> Ranking:
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
    if np.isnan(friedman):  # 0/0: all methods are equal on every data set
        friedman = 1.0
    q = float(stats.studentized_range.ppf(CONFIDENCE, k, np.inf)) / np.sqrt(2)
    critical = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    return Ranking(ranks.mean(axis=0), friedman, critical)


# -- results ------------------------------------------------------------------------

Result = dict[str, Any]
"""A cell, its outcomes, and the statistics that :func:`summarize` computes of them."""


def flat_cell(cell: Cell) -> Cell:
    """Return flat LMNN by the same algorithm, with the same neighbours."""
    return cell._replace(method="paper-flat" if cell.method.startswith(PAPERS) else "flat")


BASELINES: dict[str, Callable[[Cell], Cell]] = {
    "knn": lambda cell: cell._replace(method=BASELINE),
    "flat": flat_cell,
}


def summarize(outcomes: Mapping[Cell, list[Outcome]]) -> list[Result]:
    """Summarise each cell, and compare it with Euclidean k-NN and with flat LMNN."""
    results = {cell: _summary(cell, some) for cell, some in outcomes.items()}
    for name, baseline in BASELINES.items():
        for base in dict.fromkeys(map(baseline, outcomes)):
            tested = [c for c in outcomes if baseline(c) == base != c and base in outcomes]
            differences = [_difference(outcomes[c], outcomes[base]) for c in tested]
            p_values = holm([difference.p_value for difference in differences])
            for cell, difference, p in zip(tested, differences, p_values, strict=True):
                is_better = difference.difference > 0 and p < SIGNIFICANCE
                results[cell][f"over_{name}"] = difference.to_dict()
                results[cell][f"is_better_than_{name}"] = bool(is_better)
    return list(results.values())


def _summary(cell: Cell, outcomes: list[Outcome]) -> Result:
    """Return means and medians over the splits, in the order of their keys."""

    def known(name: str) -> list[float]:
        return [outcome[name] for outcome in outcomes if outcome[name] is not None]

    kinds = Counter((o["geometry"], len(o["curvatures"])) for o in outcomes if o["geometry"])
    learned = None
    if kinds:  # the most frequent geometry, and the median of each of its curvatures
        kind, count = kinds.most_common(1)[0]
        alike = [o["curvatures"] for o in outcomes if (o["geometry"], len(o["curvatures"])) == kind]
        medians = np.median(alike, axis=0).tolist()
        learned = {"geometry": kind[0], "curvatures": medians, "n_splits": count}
    return cell._asdict() | {
        "title": METHODS[cell.method].title,
        "accuracy": float(np.mean(known("accuracy"))),
        "standard_error": none_for_nan(standard_error(known("accuracy"))),
        "log_loss": float(np.mean(known("log_loss"))) if known("log_loss") else None,
        "over_knn": None,
        "is_better_than_knn": False,
        "over_flat": None,
        "is_better_than_flat": False,
        "fit_seconds": float(np.median(known("fit_seconds"))),
        "predict_seconds": float(np.median(known("predict_seconds"))),
        "learned": learned,
        "alpha": float(np.mean(known("alpha"))) if known("alpha") else None,
        "outcomes": outcomes,
    }


def _difference(outcomes: list[Outcome], base: list[Outcome]) -> PairedDifference:
    scores, others = ([o["accuracy"] for o in some] for some in (outcomes, base))
    ratio = sum(o["n_test"] for o in base) / sum(o["n_train"] for o in base)
    return paired_difference(scores, others, test_ratio=ratio)


def cell_of(result: Result) -> Cell:
    """Return the cell of a result."""
    return Cell(*(result[name] for name in Cell._fields))


def accuracy_text(result: Result) -> str:
    """Format the mean accuracy ± its standard error; a single split has no error."""
    error = result["standard_error"]
    return f"{result['accuracy']:.3f}" + ("" if error is None else f" ± {error:.3f}")


LEAST_GROUP = 5
"""Test rows below which a group says nothing of calibration."""


def reliability(result: Result) -> tuple[Floats, Floats, Floats]:
    """Return rows, mean confidence and accuracy of each group of enough test rows."""
    groups = [outcome["calibration"] for outcome in result["outcomes"] if "calibration" in outcome]
    n, confidence, right = np.sum(groups, axis=0).T if groups else np.zeros((3, 1))
    some = n >= LEAST_GROUP
    return n[some], confidence[some] / n[some], right[some] / n[some]
