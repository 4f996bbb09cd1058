"""Scores: log loss and calibration of probabilities, errors of numbers."""

from typing import Any

import numpy as np

N_GROUPS = 10  # groups of confidence, of equal width


def log_loss(probabilities: Any, classes: Any, truth: Any) -> float:
    """Return the mean of -log p; scikit-learn's does not allow classes that were not trained on."""
    is_true = np.asarray(truth)[:, None] == classes
    p = np.where(is_true, probabilities, 0.0).sum(axis=1)
    return float(-np.log(np.clip(p, np.finfo(float).eps, 1.0)).mean())


def calibration(probabilities: Any, classes: Any, truth: Any) -> list[list[float]]:
    """Return rows, sum of confidences and right predictions, for each group of confidence."""
    best, confidence = np.argmax(probabilities, axis=1), np.max(probabilities, axis=1)
    group = np.searchsorted(np.linspace(0, 1, N_GROUPS + 1)[1:-1], confidence)
    sums = (np.ones(len(best)), confidence, classes[best] == np.asarray(truth))
    columns = [np.bincount(group, weights=values, minlength=N_GROUPS) for values in sums]
    return np.array(columns).T.tolist()  # type: ignore[no-any-return]


def of_numbers(truth: Any, predicted: Any, mean: float) -> dict[str, Any]:
    """Return R², RMSE and MAE, and under "mean" those of always predicting a mean."""

    def errors(found: Any) -> dict[str, float]:
        spread, off = truth - truth.mean(), truth - found
        r2 = 1 - (off @ off) / (spread @ spread) if spread.any() else float("nan")
        return {"r2": float(r2), "rmse": float(np.sqrt((off**2).mean())),
                "mae": float(np.abs(off).mean())}  # fmt: skip

    return {"rows": len(truth)} | errors(predicted) | {"mean": errors(np.full(len(truth), mean))}
