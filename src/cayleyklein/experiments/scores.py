"""Scores of predictions, and tests of the differences between methods.

Scores on overlapping training rows are not independent, so the plain standard error of a
difference is too small. Nadeau and Bengio (2003) widen it by the ratio of test to training rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from cayleyklein._typing import Floats
from cayleyklein._validation import as_points, as_real, expect, refuse_huge
from cayleyklein.experiments.methods import BASELINE, METHODS, Cell, whose

CONFIDENCE = 0.95


def log_loss(probabilities: Any, classes: Any, truth: Any) -> float:
    """Return the mean of -log p; scikit-learn's refuses classes that no training row has."""
    p = np.where(np.asarray(truth)[:, None] == classes, probabilities, 0.0).sum(axis=1)
    return float(-np.log(np.clip(p, np.finfo(float).eps, 1.0)).mean())


def calibration(probabilities: Any, classes: Any, truth: Any) -> list[list[float]]:
    """Return rows, sum of confidences and right predictions, for each tenth of confidence."""
    best = np.argmax(probabilities, axis=1)
    confidence = np.max(probabilities, axis=1)
    group = np.searchsorted(np.linspace(0, 1, 11)[1:-1], confidence)
    sums = (np.ones(len(best)), confidence, classes[best] == np.asarray(truth))
    columns = [np.bincount(group, weights=values, minlength=10) for values in sums]
    return np.array(columns).T.tolist()  # type: ignore[no-any-return]


def number_errors(truth: Any, predicted: Any) -> dict[str, Any]:
    """Return R², RMSE and MAE of predictions, or of one number for all rows."""
    spread = truth - truth.mean()
    off = truth - predicted
    r2 = 1 - (off @ off) / (spread @ spread) if spread.any() else float("nan")
    rmse = np.sqrt((off**2).mean())
    mae = np.abs(off).mean()
    return {"r2": float(r2), "rmse": float(rmse), "mae": float(mae)}


class PairedDifference(NamedTuple):
    """Mean difference over the same splits, its 95 % interval, and the p-value of no difference.

    Unknown numbers are NaN: for a single split all but the difference, and the interval if the
    difference is the same on every split.

    Examples
    --------
    >>> PairedDifference(0.1, 0.05, 0.15, float("nan")).to_dict()["p_value"] is None
    True
    """

    difference: float  #: Mean difference.
    low: float  #: Lower end of the interval.
    high: float  #: Upper end of the interval.
    p_value: float  #: p-value of no difference.

    def to_dict(self) -> dict[str, float | None]:
        """Return the numbers by name for JSON, with None for NaN."""
        return {name: None if np.isnan(v) else v for name, v in self._asdict().items()}


def paired_difference(
    scores: ArrayLike, baseline: ArrayLike, *, test_ratio: float
) -> PairedDifference:
    """Return scores - baseline on the same splits, with the corrected resampled t-test.

    J differences have mean m and variance s². The variance of m is (1/J + n_test/n_train) s²
    (Nadeau and Bengio 2003), and m over its root follows Student's t with J - 1 degrees of freedom.

    Parameters
    ----------
    scores, baseline : array-like of shape (J,)
        Accuracies of the two methods, split by split.
    test_ratio : float
        Ratio n_test / n_train of a split.

    Examples
    --------
    >>> paired_difference([0.9, 0.8], [0.9, 0.8], test_ratio=0.25)
    PairedDifference(difference=0.0, low=nan, high=nan, p_value=1.0)
    """
    ratio = as_real(test_ratio, "test_ratio")
    expect(ratio >= 0, "test_ratio", ratio, "a number ≥ 0")
    given = as_points(scores, "scores", ndim=1)
    other = as_points(baseline, "baseline", len(given), ndim=1)
    refuse_huge(given, "scores")
    refuse_huge(other, "baseline")
    differences = given - other
    mean = float(differences.mean())
    n = len(differences)
    if n < 2:
        return PairedDifference(mean, *[float("nan")] * 3)
    # 21/36 - 20/36 and 23/36 - 22/36 differ as floats, by rounding only.
    rounding = 4 * np.finfo(np.float64).eps * max(np.abs(given).max(), np.abs(other).max())
    if np.ptp(differences) <= rounding:
        # The spread is unknown. The probability of n equal signs without a difference is not.
        return PairedDifference(mean, np.nan, np.nan, 1.0 if mean == 0 else 2.0 ** (1 - n))
    error = float(np.sqrt((1 / n + ratio) * differences.var(ddof=1)))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) * error
    p_value = 2 * float(stats.t.sf(abs(mean) / error, n - 1))
    return PairedDifference(mean, mean - reach, mean + reach, p_value)


def holm(p_values: Sequence[float]) -> Floats:
    """Adjust p-values for the number of tests (Holm 1979)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    sums = np.maximum.accumulate(np.arange(len(p), 0, -1) * p[order])
    return np.minimum(sums, 1.0)[np.argsort(order)]


Result = dict[str, Any]  # a cell, its outcomes, and their statistics by `summarize`
COMPARISONS = ("knn", "flat")  # with standardised k-NN, and with flat LMNN by the same algorithm


def score_name(outcome: Mapping[str, Any]) -> str:
    """Return what methods are compared by: "accuracy" of classes, "r2" of numbers."""
    return "accuracy" if "accuracy" in outcome else "r2"


def baseline_of(method: str, comparison: str) -> str:
    """Return the method that a method is compared with."""
    return BASELINE if comparison == "knn" else f"{whose(method)}flat"


def summarize(outcomes: Mapping[Cell, list[dict[str, Any]]]) -> list[Result]:
    results = {cell: _summary(cell, some) for cell, some in outcomes.items()}
    scores = {cell: [o[score_name(o)] for o in some] for cell, some in outcomes.items()}
    for name in COMPARISONS:
        compared = {c: c._replace(method=baseline_of(c.method, name)) for c in outcomes}
        for base in outcomes.keys() & set(compared.values()):
            n_test = sum(outcome["n_test"] for outcome in outcomes[base])
            n_train = sum(outcome["n_train"] for outcome in outcomes[base])
            tested = [c for c in outcomes if compared[c] == base != c]
            found = [
                paired_difference(scores[c], scores[base], test_ratio=n_test / n_train)
                for c in tested
            ]
            p_values = holm([difference.p_value for difference in found])
            for cell, difference, p in zip(tested, found, p_values, strict=True):
                is_better = difference.difference > 0 and p < 1 - CONFIDENCE
                results[cell][f"over_{name}"] = difference.to_dict()
                results[cell][f"is_better_than_{name}"] = bool(is_better)
    return list(results.values())


def _summary(cell: Cell, outcomes: list[dict[str, Any]]) -> Result:
    def known(name: str) -> list[float]:
        return [outcome[name] for outcome in outcomes if outcome[name] is not None]

    is_class = score_name(outcomes[0]) == "accuracy"
    found = cell._asdict()
    found["title"] = METHODS[cell.method].title_for("class" if is_class else "number")
    for name in ("accuracy", "log_loss") if is_class else ("r2", "rmse", "mae"):
        found[name] = float(np.mean(known(name)))
    found["standard_error"] = None
    if len(outcomes) > 1:
        found["standard_error"] = float(stats.sem(known("accuracy" if is_class else "r2")))
    for name in COMPARISONS:
        found[f"over_{name}"] = None
    for name in COMPARISONS:
        found[f"is_better_than_{name}"] = False
    found["fit_seconds"] = float(np.median(known("fit_seconds")))
    found["predict_seconds"] = float(np.median(known("predict_seconds")))
    found["learned"] = _usual_metric(outcomes)
    found["alpha"] = float(np.mean(known("alpha"))) if known("alpha") else None
    found["outcomes"] = outcomes
    return found


def _usual_metric(outcomes: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the most frequent geometry, and the median of each of its curvatures."""
    by_kind: dict[tuple[str, int], list[list[float]]] = {}
    for outcome in outcomes:
        if outcome["geometry"]:
            kind = outcome["geometry"], len(outcome["curvatures"])
            by_kind.setdefault(kind, []).append(outcome["curvatures"])
    if not by_kind:
        return None
    (geometry, _), curvatures = max(by_kind.items(), key=lambda item: len(item[1]))
    medians = np.median(curvatures, axis=0).tolist()
    return {"geometry": geometry, "curvatures": medians, "n_splits": len(curvatures)}


def cell_of(result: Result) -> Cell:
    return Cell(*(result[name] for name in Cell._fields))


def accuracy_text(result: Result) -> str:
    mean = f"{result[score_name(result)]:.3f}"
    error = result["standard_error"]
    return mean if error is None else f"{mean} ± {error:.3f}"
