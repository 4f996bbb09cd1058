"""Lines of the plane: geodesics, and the cross-ratio of four points of a line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein._validation import as_count, as_points, as_texts, broadcast_points
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import Ellipsoid, Hyperplane, constructions, cross_ratio, space
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines, style


@dataclass(kw_only=True, eq=False, repr=False)
class GeodesicDisplay(style.PlaneDisplay):
    """Geodesics of a metric of the plane, with marks at equal distances.

    Make one by :meth:`from_points`, or by :meth:`from_hyperplane` for whole lines such as
    bisectors. :meth:`plot` sets `ax_`, `figure_` and `lines_`, a LineCollection.

    Parameters
    ----------
    paths : sequence of polylines, ndarray of shape (m, 2)
    marks : ndarray of shape (k, 2)
        Points to mark; may be empty.
    domains : sequence of Ellipsoid, fundamental conics, default=()

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = GeodesicDisplay.from_points(metric, [0.0, 0.0], [0.9, 0.0], marks=3)
    >>> display.marks[:, 0].round(3)  # equal steps look ever shorter
    array([0.   , 0.627, 0.9  ])
    >>> line = metric.bisector([-0.5, 0.0], [0.5, 0.0])
    >>> figure = GeodesicDisplay.from_hyperplane(metric, line).plot(display.plot().ax_).figure_
    """

    paths: Sequence[Floats]
    marks: Floats
    domains: Sequence[Ellipsoid] = ()

    @classmethod
    def from_points(
        cls, metric: CurvedMetric, p: ArrayLike, q: ArrayLike, *, marks: int = 2
    ) -> Self:
        """Compute the geodesics from p to q.

        Parameters
        ----------
        metric : CurvedMetric of the plane
        p, q : array-like of shape (..., 2)
            The ends, broadcast against each other.
        marks : int, default=2
            Marks on each geodesic, at equal distances; 2 marks its ends.
        """
        space.as_space(metric)
        ends = broadcast_points(p=as_points(p, "p", 2), q=as_points(q, "q", 2))
        t = np.linspace(0, 1, as_count(marks, "marks"))
        pairs = np.stack(ends, axis=-2).reshape(-1, 2, 2)
        marked = np.concatenate([metric.geodesic(start, end, t) for start, end in pairs])
        return cls(paths=list(pairs), marks=marked, domains=outlines.domains_of(metric))

    @classmethod
    def from_hyperplane(cls, metric: CurvedMetric, line: Hyperplane) -> Self:
        """Compute a whole line, for example ``metric.bisector(p, q)``, clipped to the domain."""
        space.as_space(metric)
        if not isinstance(line, Hyperplane):
            raise InvalidInputError(f"line must be a Hyperplane; got {type(line).__name__}.")
        if np.ndim(line.offset):
            raise InvalidInputError(
                f"line holds {np.shape(line.offset)} hyperplanes; make a display of each of them."
            )
        path = outlines.line_path(metric, line, 2)
        return cls(paths=[path], marks=np.empty((0, 2)), domains=outlines.domains_of(metric))

    def plot(
        self, ax: style.Axes | None = None, *, color: str = "black", label: str | None = None,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the geodesics.

        Parameters
        ----------
        ax : matplotlib Axes, optional (a new figure's)
        color : str, default="black"
            Colour of the lines and marks.
        label : str, optional entry of a legend
        **options : options of the lines, a LineCollection
        """
        ax = style.new_axes(ax)
        look = {"colors": color, "linewidths": 1.2, "label": label} | options
        self.lines_ = style.draw_lines(ax, self.paths, **look)
        style.draw_points(ax, self.marks, color=color)
        return self._finish(ax, self.domains, self.marks, *outlines.edges_of(self.domains))


@dataclass(kw_only=True, eq=False, repr=False)
class CrossRatioDisplay(style.PlaneDisplay):
    """Four collinear points p, q, P, Q with their cross-ratio (paper, figures 1 and 2).

    Make one by :meth:`from_points`, or by :meth:`from_metric`, where the line pq meets the
    fundamental conic in P and Q. :meth:`plot` sets `ax_`, `figure_` and `texts_`, the names.

    Parameters
    ----------
    points : ndarray of shape (4, 2), of p, q, P and Q
    value : float, (p, q; P, Q)
    distance : float, optional
        d(p, q), when the points come from a metric.
    domains : sequence of Ellipsoid, fundamental conics, default=()

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> figure = CrossRatioDisplay.from_metric(metric, [0.0, 0.0], [0.5, 0.0]).plot().figure_
    >>> CrossRatioDisplay.from_points([0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [2.0, 0.0]).value
    0.25
    """

    points: Floats
    value: float
    distance: float | None = None
    domains: Sequence[Ellipsoid] = ()

    @classmethod
    def from_points(cls, p: ArrayLike, q: ArrayLike, P: ArrayLike, Q: ArrayLike) -> Self:
        """Compute the cross-ratio of four points of a line."""
        named = {"p": p, "q": q, "P": P, "Q": Q}
        rows = [as_points(point, name, 2, ndim=1) for name, point in named.items()]
        if (rows[2] == rows[3]).all():
            raise InvalidInputError("P and Q coincide, and the cross-ratio is 1 for any p and q.")
        return cls(points=np.stack(rows), value=float(cross_ratio(*rows)))

    @classmethod
    def from_metric(cls, metric: CurvedMetric, p: ArrayLike, q: ArrayLike) -> Self:
        """Compute P, Q and the distance of p and q in a hyperbolic metric of the plane."""
        p, q = as_points(p, "p", 2, ndim=1), as_points(q, "q", 2, ndim=1)
        if space.as_space(metric).geometry != "hyperbolic":
            raise NotRepresentableError(
                f"The conic of a {metric.geometry} metric has no real points to draw; take a "
                f"metric with K < 0."
            )
        distance = metric(p, q)
        P, Q = outlines.line_path(metric, constructions.line_through(p, q), 2)
        if (Q - P) @ (q - p) < 0:  # the order is P, p, q, Q
            P, Q = Q, P
        display = cls.from_points(p, q, P, Q)
        return replace(display, distance=distance, domains=outlines.domains_of(metric))

    def plot(
        self, ax: style.Axes | None = None, *, labels: Sequence[str] = ("p", "q", "P", "Q"),
        color: str = style.BLUE, title: bool = True, **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the line with its points and, in the title, their cross-ratio.

        Parameters
        ----------
        ax : matplotlib Axes, optional (a new figure's)
        labels : sequence of 4 str, default=("p", "q", "P", "Q")
            Names of the points, set as mathematics.
        color : str, default="#0067a5"
            Colour of p and q; P and Q are white.
        title : bool, default=True
            Whether to write the numbers above the axes, if these have no title yet.
        **options : options of the line, a LineCollection
        """
        names = as_texts(labels, "labels")
        if len(names) != len(self.points):
            raise InvalidInputError(f"Got labels={labels!r}, but expected four names.")
        ax = style.new_axes(ax)
        start, end = self.points[2:]
        along = (end - start) / math.dist(start, end)
        t = (self.points - start) @ along
        ends = np.array([t.min(), t.max()]) + np.array([-1, 1]) * 0.08 * np.ptp(t)
        line = start + ends[:, None] * along
        style.draw_lines(ax, [line], **({"colors": "0.35", "linewidths": 1.2} | options))
        style.draw_points(ax, self.points[:2], color=color, s=30)
        hollow: Any = {"color": "white", "edgecolors": "black", "linewidths": 1, "s": 30}
        style.draw_points(ax, self.points[2:], **hollow)
        across = np.array([-along[1], along[0]]) * (1 if along[0] >= 0 else -1)
        shifts = np.tile(11 * across, (4, 1))
        for domain in self.domains:  # P and Q are named outside, where the conic recedes
            for i, outwards in ((2, -along), (3, along)):
                normal = domain.matrix @ (self.points[i] - domain.center)
                shifts[i] = 9 * outwards + (11 if normal @ across >= 0 else -11) * across
        look: Any = {"ha": "center", "va": "center", "zorder": 5}
        self.texts_ = [
            ax.annotate(f"${name}$", point, shift, textcoords="offset points", **look)
            for name, point, shift in zip(names, self.points, shifts, strict=True)
        ]
        if title and not ax.get_title():
            p, q, P, Q = names
            text = f"$({p}, {q}; {P}, {Q}) = {self.value:.3f}$"
            if self.distance is not None:
                text += f",  $d({p}, {q}) = {self.distance:.3f}$"
            ax.set_title(text, fontsize="medium")
        return self._finish(ax, self.domains, line, *outlines.edges_of(self.domains))
