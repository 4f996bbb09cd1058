"""Maps by multidimensional scaling: in Poincaré's disc, in the plane or on a globe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import as_finite_array, as_texts, at_index, expect
from cayleyklein.diagrams import labels
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Ellipsoid
from cayleyklein.manifold import CurvedMDS
from cayleyklein.plotting import outlines, style
from cayleyklein.plotting.shapes import Shape, chain, unit_circle
from cayleyklein.plotting.svg import number

EDGE_POINTS = 64
EDGE_COLOR = "0.6"
BEHIND = 0.2  # opacity of the far side of a globe


@dataclass(kw_only=True, eq=False, repr=False)
class MapDisplay(style.PlaneDisplay):
    """The points of a CurvedMDS: in Poincaré's disc, in the plane or on a globe, by the sign of K.

    Make one by :meth:`from_estimator`. :meth:`plot` sets `ax_` and `figure_`.

    Parameters
    ----------
    points : ndarray of shape (n, 2) or (n, 3)
        In Poincaré's unit disc (K < 0), in the plane (K = 0), or unit vectors, whose third
        coordinate is towards the viewer (K > 0).
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
        kind = type(estimator).__name__
        expect(isinstance(estimator, CurvedMDS), "estimator", kind, "a fitted CurvedMDS")
        check_is_fitted(estimator, "embedding_")
        n, width = estimator.embedding_.shape
        if width != 2:
            said = f"estimator has {width} components, but a map needs 2"
            raise InvalidInputError(f"{said}; fit n_components=2.")
        if names is not None and len(as_texts(names, "names")) != n:
            raise InvalidInputError(f"Got {len(names)} names for {n} points.")
        if y is not None:
            labels.encode_labels(y, n, "y")
        pairs = np.empty((0, 2)) if edges is None else as_finite_array(edges, "edges")
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidInputError(f"edges must have shape (m, 2); got {pairs.shape}.")
        if (bad := ~np.isin(pairs, np.arange(n))).any():
            numbers = f"row numbers from 0 to {n - 1}"
            raise InvalidInputError(f"edges must hold {numbers}{at_index(bad)}.")
        K, metric = estimator.curvature_, estimator.metric_
        on_globe, t = K > 0, np.linspace(0, 1, EDGE_POINTS)[:, None]
        place = estimator.sphere_ if on_globe else estimator.embedding_
        assert place is not None

        def image(x: Floats) -> Floats:
            if on_globe:
                return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
            return x if metric is None or K == 0 else np.asarray(metric.to_chart(x, "conformal"))

        # geodesics are straight in Klein's coordinates, and seen from the middle of a sphere
        paths = [image((1 - t) * place[p] + t * place[q]) for p, q in pairs.astype(int)]
        classes = None if y is None else np.asarray(y)
        return cls(points=image(place), curvature=K, edges=paths, y=classes, names=names)

    def plot(self, ax: style.Axes | None = None, *, legend: bool = True, **options: Any) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional (a new figure's)
        legend : bool, default=True
            Whether to name the classes.
        **options : options of the points, a scatter
        """
        ax, look = style.new_axes(ax), {"s": 18} | options
        on_globe, flat = self.curvature > 0, self.points[:, :2]
        front = self.points[:, 2] >= 0 if on_globe else np.ones(len(flat), dtype=bool)
        for far, alpha in ((True, BEHIND), (False, 1.0)):
            shown = (np.where((e[:, -1:] < 0) == far, e, np.nan) for e in self.edges)
            paths = [e[:, :2] for e in (shown if on_globe else () if far else self.edges)]
            style.draw_shape(ax, Shape("line", chain(paths), EDGE_COLOR, alpha=alpha))
        classes = None if self.y is None else np.unique(self.y)
        for some, sight in ((~front, {"alpha": BEHIND, "label": None}), (front, {})):
            if some.any():
                mine = None if self.y is None else self.y[some]
                style.draw_points(ax, flat[some], mine, classes, **(look | sight))
        look = {"textcoords": "offset points", "fontsize": "x-small", "zorder": 5}
        for point, name, seen in zip(flat, self.names or (), front, strict=False):
            if seen:
                side = -1 if on_globe and point[0] <= 0 else 1  # away from the middle
                ax.annotate(name, point, (2 * side, 2), ha="left" if side > 0 else "right", **look)
        domains = [Ellipsoid(np.zeros(2), np.eye(2), 1.0)] if self.curvature else []
        if on_globe:  # thin: a globe goes on behind its rim
            style.draw_shape(ax, Shape("line", unit_circle(257), "soft"))
            style.draw_shape(ax, Shape("area", unit_circle(257), "soft", alpha=0.08), zorder=0)
        bounds = outlines.edges_of(domains) or [flat]
        self._finish(ax, () if on_globe else domains, *bounds, names=("$y_1$", "$y_2$"))
        if on_globe:
            ax.set_axis_off()
        if not ax.get_title():
            kind = "globe" if on_globe else "Poincaré disc" if self.curvature else "plane"
            ax.set_title(f"{kind}, $K$ = {number(self.curvature, 3)}", fontsize="medium")
        if legend and self.y is not None:
            style.draw_legend(ax, fontsize="small")
        return self
