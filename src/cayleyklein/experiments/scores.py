"""Scores of probabilities: log loss and calibration."""

from typing import Any

import numpy as np

N_GROUPS = 10  # groups of confidence, of equal width


def log_loss(probabilities: Any, classes: Any, truth: Any) -> float:
    """Return the mean of -log p(true class), with p at least the machine epsilon.

    A class that was not trained on has p = 0; scikit-learn's log_loss does not allow one.

    >>> round(log_loss(np.array([[0.5, 0.5]]), np.array([0, 1]), np.array([1])), 3)
    0.693
    """
    is_true = np.asarray(truth)[:, None] == classes
    p = np.where(is_true, probabilities, 0.0).sum(axis=1)
    return float(-np.log(np.clip(p, np.finfo(float).eps, 1.0)).mean())


def calibration(probabilities: Any, classes: Any, truth: Any) -> list[list[float]]:
    """Return rows, sum of confidences and right predictions, for each group of confidence.

    They are those of scikit-learn's calibration_curve, as sums, which add up over splits.

    >>> calibration(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([0, 1]), np.array([1, 1]))[7:9]
    [[1.0, 0.8, 0.0], [1.0, 0.9, 1.0]]
    """
    best, confidence = np.argmax(probabilities, axis=1), np.max(probabilities, axis=1)
    group = np.searchsorted(np.linspace(0, 1, N_GROUPS + 1)[1:-1], confidence)
    sums = (np.ones(len(best)), confidence, classes[best] == np.asarray(truth))
    columns = [np.bincount(group, weights=values, minlength=N_GROUPS) for values in sums]
    return np.array(columns).T.tolist()  # type: ignore[no-any-return]
