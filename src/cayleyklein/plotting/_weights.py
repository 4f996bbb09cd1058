"""Bars of the share of each column in the distances of a metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein._validation import as_count
from cayleyklein.metrics.combined import Metric
from cayleyklein.plotting import sections, style


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureWeightsDisplay:
    """Bars of the feature weights of a metric, largest first.

    Make one by :meth:`from_metric` or :meth:`from_estimator`. :meth:`plot` sets `ax_`, `figure_`
    and `bars_`, a BarContainer.

    Parameters
    ----------
    weights : ndarray of shape (d,)
        Shares as by :meth:`cayleyklein.CurvedMetric.feature_weights`.
    names : sequence of d str, the names of the columns

    Examples
    --------
    >>> from cayleyklein import CurvedLMNN
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> learner = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y)
    >>> display = FeatureWeightsDisplay.from_estimator(learner, X)
    >>> str(display.names[display.weights.argmax()])
    'petal length (cm)'
    >>> figure = FeatureWeightsDisplay.from_metric(learner.metric_, X).plot(top=3).figure_
    """

    weights: Floats
    names: Sequence[str]

    @classmethod
    def from_metric(
        cls, metric: Metric, X: ArrayLike | None = None, *,
        feature_names: Sequence[str] | None = None,
    ) -> Self:  # fmt: skip
        """Compute the weights of a metric.

        Parameters
        ----------
        metric : CurvedMetric, MixedMetric or ProductMetric for d columns
        X : array-like of shape (n, d), optional
            Rows; without them columns are taken as standardised.
        feature_names : sequence of d str, optional
            The columns of a DataFrame by default.
        """
        sections.any_metric(metric)
        given = getattr(X, "columns", None) if feature_names is None else feature_names
        names = sections.column_names(given, metric.dimension)
        return cls(weights=metric.feature_weights(X), names=names)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, *, feature_names: Sequence[str] | None = None
    ) -> Self:
        """Compute the weights of the metric of a fitted estimator.

        Parameters
        ----------
        estimator : CurvedLMNN, MMC, CurvedKNeighborsClassifier, or a Pipeline that holds one
            Fitted. The steps of a pipeline before it are applied to X.
        X : array-like of shape (n, d)
            Rows, such as those of the fit.
        feature_names : sequence of d str, optional
            The names that the estimator was fitted on by default.
        """
        metric, rows, names = sections.shown_metric(estimator, X)
        names = names if feature_names is None else feature_names
        return cls.from_metric(metric, rows, feature_names=names)

    def plot(
        self, ax: style.Axes | None = None, *, top: int = 20, color: str = style.BLUE,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the largest weights as bars from zero.

        Parameters
        ----------
        ax : matplotlib Axes, optional (a new figure's)
        top : int, default=20
            Largest number of bars.
        color : str, default="#0067a5"
            Colour of the bars.
        **options : options of ``Axes.barh``
        """
        order = np.argsort(-self.weights, kind="stable")[: as_count(top, "top")]
        ax = style.new_axes(ax)
        places, names = np.arange(len(order)), [str(self.names[i]) for i in order]
        self.bars_ = ax.barh(places, self.weights[order], color=color, **options)
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.set_xlim(left=0)
        d = len(self.weights)
        part = f", {len(order)} of {d} columns" if len(order) < d else ""
        ax.set_xlabel(ax.get_xlabel() or f"share of squared distances{part}")
        self.ax_, self.figure_ = ax, ax.figure
        return self
