"""Predictions of numbers beside the truth, by scikit-learn's display."""

from typing import Any

import numpy as np
from sklearn.metrics import PredictionErrorDisplay

from cayleyklein._typing import Floats
from cayleyklein._validation import require
from cayleyklein.plotting import style

MOST_POINTS = 2000  # rows that are drawn of more


def residuals_figure(truth: Floats, predicted: Floats) -> Any:
    """Return a figure of true numbers and of residuals, each over the predicted numbers."""
    figure = require("matplotlib.figure", "plot").Figure(figsize=(9.4, 4.4), layout="constrained")
    some = np.random.default_rng(0).permutation(len(truth))[:MOST_POINTS]
    look = {"color": style.BLUE, "alpha": 0.6, "s": 14, "linewidths": 0}
    kinds = {"actual_vs_predicted": "true", "residual_vs_predicted": "true − predicted"}
    for ax, (kind, name) in zip(figure.subplots(1, 2), kinds.items(), strict=True):
        PredictionErrorDisplay(y_true=truth[some], y_pred=predicted[some]).plot(
            ax, kind=kind, scatter_kwargs=look, line_kwargs={"color": "0.4"}
        )
        ax.set(xlabel="predicted", ylabel=name)
        for axis in (ax.xaxis, ax.yaxis):  # scikit-learn's ticks are odd numbers
            axis.set_major_locator(require("matplotlib.ticker", "plot").MaxNLocator(5))
    return figure
