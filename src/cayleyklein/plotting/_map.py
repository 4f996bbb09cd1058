"""Maps by multidimensional scaling: in Poincaré's disc, in the plane or on a globe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import as_finite_array, as_texts, at_index
from cayleyklein.diagrams import labels
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Ellipsoid
from cayleyklein.manifold import CurvedMDS
from cayleyklein.plotting import _charts, outlines, style
from cayleyklein.plotting.svg import number

# turns the pole of a sphere, the centre of a map, to the viewer
TO_VIEWER = np.stack([_charts.RIGHT, np.cross(_charts.EYE, _charts.RIGHT), _charts.EYE])
EDGE_COLOR = "0.6"


@dataclass(kw_only=True, eq=False, repr=False)
class MapDisplay(style.PlaneDisplay):
    """The points of a CurvedMDS: in Poincaré's disc, in the plane or on a globe, by the sign of K.

    Make one by :meth:`from_estimator`. :meth:`plot` sets `ax_` and `figure_`.

    Parameters
    ----------
    points : ndarray of shape (n, 2) or (n, 3)
        In Poincaré's unit disc (K < 0), in the plane (K = 0), or unit vectors, the centre of the
        map towards the viewer (K > 0).
    curvature : float
        K, whose sign chooses the picture.
    edges : list of ndarray, paths in the same coordinates, default=()
    y, names : ndarray of shape (n,) and sequence of n str, optional
        Classes and names of the points; an empty name is not written.

    Examples
    --------
    >>> from cayleyklein import CurvedMDS
    >>> path = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> mds = CurvedMDS(metric="precomputed", curvature=-1.0).fit(path)
    >>> edges = [[0, 1], [1, 2], [2, 3]]
    >>> display = MapDisplay.from_estimator(mds, names=list("abcd"), edges=edges)
    >>> figure = display.plot().figure_
    """

    points: Floats
    curvature: float
    edges: Sequence[Floats] = ()
    y: AnyArray | None = None
    names: Sequence[str] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: CurvedMDS, y: ArrayLike | None = None, *,
        names: Sequence[str] | None = None, edges: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Take the points of a fitted CurvedMDS of two components.

        Parameters
        ----------
        estimator : fitted CurvedMDS
        y : array-like of shape (n,), optional
            A class for each point, for colours and markers.
        names : sequence of n str, optional
            Written next to the points; on a globe only on the near side.
        edges : array-like of shape (m, 2), optional
            Pairs of rows to join by geodesics, such as the branches of a tree.
        """
        if not isinstance(estimator, CurvedMDS):
            raise InvalidInputError(
                f"estimator must be a fitted CurvedMDS; got {type(estimator).__name__}."
            )
        check_is_fitted(estimator, "embedding_")
        n, width = estimator.embedding_.shape
        if width != 2:
            raise InvalidInputError(
                f"estimator has {width} components, but a map needs 2; fit n_components=2."
            )
        if names is not None and len(as_texts(names, "names")) != n:
            raise InvalidInputError(f"Got {len(names)} names for {n} points.")
        if y is not None:
            labels.encode_labels(y, n, "y")
        pairs = np.empty((0, 2)) if edges is None else as_finite_array(edges, "edges")
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidInputError(f"edges must have shape (m, 2); got {pairs.shape}.")
        if (bad := ~np.isin(pairs, np.arange(n))).any():
            raise InvalidInputError(
                f"edges must hold row numbers from 0 to {n - 1}{at_index(bad)}."
            )
        K, metric = estimator.curvature_, estimator.metric_
        on_globe, t = K > 0, np.linspace(0, 1, _charts.EDGE_POINTS)[:, None]
        place = estimator.sphere_ if on_globe else estimator.embedding_
        assert place is not None

        def image(x: Floats) -> Floats:
            if on_globe:
                return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True) @ TO_VIEWER)
            return x if metric is None or K == 0 else np.asarray(metric.to_chart(x, "conformal"))

        # geodesics are straight in Klein's coordinates, and seen from the middle of a sphere
        paths = [image((1 - t) * place[p] + t * place[q]) for p, q in pairs.astype(int)]
        classes = None if y is None else np.asarray(y)
        return cls(points=image(place), curvature=K, edges=paths, y=classes, names=names)

    def plot(self, ax: style.Axes | None = None, *, legend: bool = True, **options: Any) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            With ``projection="3d"`` for a globe. A new figure's by default.
        legend : bool, default=True
            Whether to name the classes.
        **options : options of the points, a scatter
        """
        on_globe = self.curvature > 0
        ax = style.new_axes(ax, "3d" if on_globe else None)
        (self._draw_globe if on_globe else self._draw_plane)(ax, {"s": 18} | options)
        if not ax.get_title():
            kind = "globe" if on_globe else "Poincaré disc" if self.curvature else "plane"
            ax.set_title(f"{kind}, $K$ = {number(self.curvature, 3)}", fontsize="medium")
        if legend and self.y is not None:
            style.draw_legend(ax, fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_plane(self, ax: Any, look: dict[str, Any]) -> None:
        style.draw_lines(ax, self.edges, colors=EDGE_COLOR)
        style.draw_points(ax, self.points, self.y, **look)
        beside = {"textcoords": "offset points", "fontsize": "x-small", "zorder": 5}
        for point, name in zip(self.points, self.names or (), strict=False):
            ax.annotate(name, point, (2, 2), **beside)
        domains = [Ellipsoid(np.zeros(2), np.eye(2), 1.0)] if self.curvature else []
        shown = outlines.edges_of(domains) or [self.points]
        self._finish(ax, domains, *shown, names=("$y_1$", "$y_2$"))

    def _draw_globe(self, ax: Any, look: dict[str, Any]) -> None:
        nothing, box = np.empty((0, 3)), np.array([3 * [-1.0], 3 * [1.0]])
        panel = _charts.ChartPanel("sphere", "", list(self.edges), nothing, nothing, 0.0, box)
        _charts.draw_surface(ax, panel, {"colors": EDGE_COLOR, "linewidths": 1.0})
        near = _charts.in_front(self.points, "sphere")
        classes = None if self.y is None else np.unique(self.y)
        look = {"linewidths": 0, "depthshade": False} | look
        for some, sight in ((~near, {"alpha": _charts.BEHIND, "label": None}), (near, {})):
            mine = None if self.y is None else self.y[some]
            style.draw_points(ax, self.points[some], mine, classes, **(look | sight))
        for point, name, front in zip(self.points, self.names or (), near, strict=False):
            if front:
                side = "left" if point @ _charts.RIGHT > 0 else "right"  # away from the middle
                ax.text(*(1.04 * point), f" {name} ", ha=side, va="center", fontsize="x-small")
