"""A picture of a metric: equal balls over the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import as_count, as_real, require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import Metric, terms_of
from cayleyklein.plotting._balls import BallDisplay
from cayleyklein.plotting._cards import number
from cayleyklein.plotting._estimators import as_labels, as_rows, find_metric
from cayleyklein.plotting._outlines import ball_lattice, bounds_of, domains_of
from cayleyklein.plotting._sections import choose_section
from cayleyklein.plotting._style import (
    GEOMETRY_COLORS,
    as_metric,
    draw_domains,
    draw_points,
    finish_axes,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MetricDisplay"]


DISTANT = 3.0
"""Size of the domain relative to the data from which on it is drawn apart, in a corner."""


@dataclass(kw_only=True, eq=False, repr=False)
class MetricDisplay:
    """A metric of the plane, or a plane section of one: its domain, equal balls, and K.

    Make one by :meth:`from_estimator` or :meth:`from_metric`. Balls of one radius are
    on a lattice over the data; their size and shape show the metric.

    Parameters
    ----------
    metric : CurvedMetric, MixedMetric or ProductMetric
        Of the plane.
    balls : BallDisplay
    X : ndarray of shape (n, 2), optional
        Rows of data.
    y : ndarray of shape (n,), optional
        Their labels.
    names : pair of str, default=("$x_1$", "$x_2$")
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from cayleyklein import CurvedLMNN
    >>> from cayleyklein.plotting import MetricDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y)
    >>> display = MetricDisplay.from_estimator(learner, X, y, features=(2, 3))
    >>> display.metric  # on a plane it has the same curvature
    CurvedMetric(elliptic, d=2, K=1)
    >>> figure = display.plot().figure_
    """

    metric: Metric
    balls: BallDisplay
    X: Floats | None = None
    y: AnyArray | None = None
    names: Sequence[str] = ("$x_1$", "$x_2$")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, **options: Any
    ) -> MetricDisplay:
        """Show the metric of a fitted learner over its data.

        Parameters
        ----------
        estimator : CurvedLMNN, MMC, or a Pipeline that holds one
            Fitted. The steps of a pipeline before the learner are applied to X.
        X : array-like of shape (n, d)
        y : array-like of shape (n,), optional
        **options
            For :meth:`from_metric`.
        """
        metric, rows = find_metric(estimator, X)
        if metric is None:
            raise InvalidInputError(
                f"The estimator, a {type(estimator).__name__}, has no metric: pass a fitted "
                f"learner such as CurvedLMNN, or a fitted pipeline that holds one."
            )
        names = getattr(estimator, "feature_names_in_", ())
        if len(names) == metric.dimension:  # no step of a pipeline has made other columns
            options = {"feature_names": names} | options
        return cls.from_metric(metric, rows, y, **options)

    @classmethod
    def from_metric(
        cls,
        metric: Metric,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        features: Sequence[Any] | str | None = None,
        feature_names: Sequence[str] | None = None,
        radius: float | None = None,
        lattice: int = 7,
    ) -> MetricDisplay:
        """Compute the balls, on a plane section when the metric has more than two dimensions.

        Parameters
        ----------
        metric : CurvedMetric, MixedMetric or ProductMetric
        X : array-like of shape (n, d), optional
        y : array-like of shape (n,), optional
        features : pair of int or str, "pca" or None
            The plane to show: two columns, with the others at the mean of X (at the centre without
            X), or the principal plane of X in the coordinates z of the metric. Balls are cut by
            the plane exactly; rows are projected to it. None is "pca" when d > 2.
        feature_names : sequence of d str, optional
        radius : float, optional
            Of the balls; by default such that they nearly touch.
        lattice : int, default=7
            Balls along the longer side of the data.

        Examples
        --------
        >>> from cayleyklein import CurvedMetric
        >>> display = MetricDisplay.from_metric(
        ...     CurvedMetric.euclidean(2, curvature=-1.0), lattice=3
        ... )
        >>> len(display.balls.centers)
        9
        """
        as_metric(metric)
        rows = None if X is None else as_rows(X, metric.dimension)
        section = choose_section(metric, rows, features, feature_names)
        plane = section.restrict(metric)
        shown = None if rows is None else section.project(rows)
        centers, size = ball_lattice(plane, shown, as_count(lattice, "lattice"))
        size = size if radius is None else as_real(radius, "radius")
        return cls(
            metric=plane,
            balls=BallDisplay.from_metric(plane, centers, size),
            X=shown,
            y=None if rows is None else as_labels(y, len(rows)),
            names=section.names,
        )

    def plot(self, ax: Axes | None = None, *, legend: bool = True, **style: Any) -> MetricDisplay:
        """Draw the data, the balls and the domain.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure's by default.
        legend : bool, default=True
            Whether to name the classes.
        **style
            For the rows, a scatter.
        """
        ax = new_axes(ax)
        color = GEOMETRY_COLORS[self.metric.geometry]
        self.balls._draw(ax, color, 0.1, {"linewidths": 0.8})
        if self.X is not None:
            draw_points(ax, self.X, self.y, **({"s": 14} | style))
        domains = domains_of(self.metric)
        draw_domains(ax, domains)
        near = bounds_of(self.balls.centers, *([] if self.X is None else [self.X]))
        far = bounds_of(near, *(domain.boundary() for domain in domains))
        distant = np.ptp(far, axis=0).max() > DISTANT * np.ptp(near, axis=0).max()
        finish_axes(ax, near if distant else far, self.names)
        if distant:
            self._draw_overview(ax, near, far)
        if not ax.get_title():
            ax.set_title(self._summary(), fontsize="medium")
        if legend and self.y is not None:
            ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_overview(self, ax: Axes, near: Floats, far: Floats) -> None:
        """Draw the whole domain in a corner, with the place of the picture in it."""
        corner = ax.inset_axes((1.03, 0.72, 0.28, 0.28))
        draw_domains(corner, domains_of(self.metric))
        (left, bottom), (width, height) = near[0], np.ptp(near, axis=0)
        patches = require("matplotlib.patches", "plot")
        corner.add_patch(patches.Rectangle((left, bottom), width, height, fill=False, lw=0.8))
        corner.set(xticks=[], yticks=[], frame_on=False)
        finish_axes(corner, far, ("", ""))

    def _summary(self) -> str:
        K = ", ".join(number(part.curvature, 3) for part, _ in terms_of(self.metric))
        return f"{self.metric.geometry}, $K$ = {K}; balls of radius {self.balls.radii[0]:.2g}"
