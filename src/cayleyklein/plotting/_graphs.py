"""Graphs of numbers: the likelihood over the curvature, and the share of each column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein._validation import as_count, expect
from cayleyklein.curvature import CurvatureEstimate
from cayleyklein.metrics import Metric
from cayleyklein.plotting import sections, shapes


@dataclass(kw_only=True, eq=False, repr=False)
class CurvatureDisplay:
    """The log likelihood over K, its maximum and interval, flat space, and a score over K.

    The title is the verdict. The likelihood is that of one process, and the verdict does not rest
    on it: a peak far from 0 is no evidence if flat models predict as well.

    :meth:`plot` sets `ax_`, `figure_`, `line_`, and `score_ax_`, the axes of the score of each row
    predicted from the others, on the right, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from cayleyklein import estimate_curvature
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = estimate_curvature(X, np.hypot(*X.T))
    >>> figure = CurvatureDisplay.from_estimate(found).plot().figure_
    """

    estimate: CurvatureEstimate  #: Result of :func:`~cayleyklein.estimate_curvature`.

    @classmethod
    def from_estimate(cls, estimate: CurvatureEstimate) -> Self:
        """Show what :func:`~cayleyklein.estimate_curvature` found."""
        expect(isinstance(estimate, CurvatureEstimate), "estimate", estimate, "a CurvatureEstimate")
        return cls(estimate=estimate)

    def plot(self, ax: shapes.Axes | None = None, **options: Any) -> Self:
        """Draw the profile, in new axes by default, with options of ``Axes.plot``."""
        found = self.estimate
        ax = shapes.new_axes(ax)
        K = found.profile.curvature
        value = found.profile.log_likelihood
        value = value - value.max()
        low, high = np.clip(found.interval, K.min(), K.max())
        color = shapes.GEOMETRY_COLORS[found.geometry]
        ax.axvspan(low, high, color=color, alpha=0.15, linewidth=0, label=f"{found.level:.0%} of K")
        ax.axvline(0.0, color="black", linewidth=shapes.EDGE_WIDTH, label="flat")
        look = {"color": color, "marker": ".", "label": "log likelihood"} | options
        self.line_ = ax.plot(K, value, **look)[0]
        ax.plot([found.curvature], [0.0], "o", color=color)
        # down to twice the fall at the ends of the interval
        deep = 2.0 * min(value[np.clip(K, low, high) == K].min(), -2.0)
        ax.set_ylim(deep, -0.1 * deep)
        if found.kind != "dissimilarities":  # linear up to R⁻², the scale of the domain
            ax.set_xscale("symlog", linthresh=-K.min(), linscale=1.5)
            ticks = -K.min() * np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 5.0, 30.0])
            ax.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
            ax.minorticks_off()
        height = ax.get_ylabel() or "log likelihood, below its maximum"
        ax.set(xlabel=ax.get_xlabel() or "curvature K", ylabel=height)
        ax.set_title(ax.get_title() or found.headline)
        self.score_ax_ = None
        score_names = {
            "numbers": "R² of each row by the others",
            "labels": "accuracy, each row by the others",
        }
        if found.kind in score_names:
            self.score_ax_ = other = ax.twinx()
            other.plot(K, found.profile.score, "--", color="0.45")
            low, high = other.get_ylim()
            other.set_ylim(low - 0.02, high + 0.02)  # smaller differences are not worth a look
            other.set_ylabel(f"{score_names[found.kind]} (dashed)", color="0.35")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureWeightsDisplay:
    """Bars of the feature weights of a metric, largest first.

    :meth:`plot` sets `ax_`, `figure_` and `bars_`, a BarContainer.

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

    weights: Floats  #: As by :meth:`cayleyklein.CurvedMetric.feature_weights`, shape (d,).
    names: Sequence[str]  #: The names of the d columns.

    @classmethod
    def from_metric(
        cls, metric: Metric, X: Any = None, *, feature_names: Sequence[str] | None = None
    ) -> Self:
        """Compute the weights of a metric.

        Parameters
        ----------
        metric : CurvedMetric, MixedMetric or ProductMetric
            Metric of d columns.
        X : array-like of shape (n, d), optional
            Rows. Without them, columns are taken as standardised.
        feature_names : sequence of str of length d, optional
            Names of the columns; by default those of a DataFrame.
        """
        sections.expect_metric(metric)
        names = sections.column_names(feature_names, metric.dimension, X)
        return cls(weights=metric.feature_weights(X), names=names)

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, **options: Any) -> Self:
        """Compute the weights of the metric of a fitted estimator, as by :meth:`from_metric`.

        X has rows such as those of the fit; the steps of a pipeline before the metric are applied.
        """
        metric, rows, names = sections.shown_metric(estimator, X)
        return cls.from_metric(metric, rows, **({"feature_names": names} | options))

    def plot(self, ax: shapes.Axes | None = None, *, top: int = 20, **options: Any) -> Self:
        """Draw the largest weights, `top` of them, with options of ``Axes.barh``."""
        order = np.argsort(-self.weights, kind="stable")[: as_count(top, "top")]
        ax = shapes.new_axes(ax)
        d = len(self.weights)
        names = [str(self.names[i]) for i in order]
        look = {"color": shapes.BLUE, "tick_label": names} | options
        self.bars_ = ax.barh(np.arange(len(order)), self.weights[order], **look)
        ax.invert_yaxis()
        ax.set_xlim(left=0)
        part = f", {len(order)} of {d} columns" if len(order) < d else ""
        ax.set_xlabel(ax.get_xlabel() or f"share of squared distances{part}")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
