"""Maps of curved embeddings: a disc, a plane or a globe, as a picture or a page to drag."""

import json
from dataclasses import dataclass, replace
from html import escape
from importlib import resources
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.diagrams import domains as boxes
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Ellipsoid, charts, space
from cayleyklein.manifold import CurvedMDS, EmbeddingMap, TreeEmbedding, projection
from cayleyklein.plotting import outlines, shapes

Shown = TypeVar("Shown", bound="MapDisplay")


@dataclass(kw_only=True, eq=False, repr=False)
class MapDisplay(shapes.PlaneDisplay):
    """Points of a curved space: in Poincaré's disc, in the plane or on a globe, by the sign of K.

    Examples
    --------
    >>> from cayleyklein import CurvedMDS
    >>> path = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> mds = CurvedMDS(metric="precomputed", curvature=-1.0).fit(path)
    >>> edges = [[0, 1], [1, 2], [2, 3]]
    >>> display = MapDisplay.from_estimator(mds, names=list("abcd"), edges=edges)
    >>> figure = display.plot().figure_

    An embedding made elsewhere, with a row in the centre; and a page to drag by hand:

    >>> X = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.7], [-0.3, -0.3]]
    >>> display = MapDisplay.from_points(X, "poincare", y=list("abba"), center=1)
    >>> np.abs(display.points[1]).round(12), np.abs(display.centered(2).points[2]).round(12)
    (array([0., 0.]), array([0., 0.]))
    >>> figure = display.plot(cells=True).figure_
    >>> page = display.to_html(title="Four points")
    """

    #: Vectors (n, 3) of the unit hyperboloid or sphere, the last axis towards you; (x, 1) if flat.
    surface: Floats
    curvature: float  #: K; its sign decides between disc, plane and globe.
    edges: Ints  #: Pairs of rows that are joined by geodesics, shape (m, 2).
    y: AnyArray | None = None  #: Classes, shape (n,).
    names: tuple[str, ...] | None = None  #: Names of the n points.
    sizes: Floats | None = None  #: Areas of the markers in square points, shape (n,).
    north: Floats | None = None  #: Vector (3,) of a globe's north pole, which is drawn upwards.

    @classmethod
    def from_estimator(
        cls,
        estimator: CurvedMDS | EmbeddingMap | TreeEmbedding,
        y: ArrayLike | None = None,
        *,
        names: Any = None,
        edges: ArrayLike | None = None,
        sizes: ArrayLike | None = None,
        center: int | None = None,
    ) -> Self:
        """Take the points of a map of two components.

        Parameters
        ----------
        estimator : CurvedMDS, EmbeddingMap or TreeEmbedding
            A fitted CurvedMDS, or what :func:`cayleyklein.map_embedding` or
            :func:`cayleyklein.embed_tree` return.
        y : array-like of shape (n,), optional
            Class of each point, for its colour and marker.
        names : sequence of str of length n, optional
            Texts next to the points, "" for none; on a globe, only on the near side.
        edges : array-like of shape (m, 2), optional
            Pairs of rows to join by geodesics; by default those of a tree.
        sizes : array-like of shape (n,), optional
            Areas of the markers, in square points.
        center : int, optional
            Row to move to the centre, by an isometry.
        """
        if isinstance(estimator, TreeEmbedding):
            # exact around any node, however far from the root
            tree: Any = estimator
            if center is not None:
                tree = tree.centered(tree.names[cls._row(center, len(tree.names))])
            unit = np.sqrt(-tree.curvature)
            reach = np.minimum(unit * tree.radius, 300.0)  # whose cosh is finite
            found = charts.from_polar(reach, tree.direction, "hyperboloid")
            edges = tree.edges if edges is None else edges
            return cls._checked(found, tree.curvature, y, names, edges, sizes, None)
        if isinstance(estimator, EmbeddingMap):
            found, K = estimator.surface, float(estimator.curvature)
        else:
            kind = type(estimator).__name__
            expected = "a fitted CurvedMDS, an EmbeddingMap or a TreeEmbedding"
            checks.expect(isinstance(estimator, CurvedMDS), "estimator", kind, expected)
            check_is_fitted(estimator, "embedding_")
            K, found = float(estimator.curvature_), estimator.embedding_
            if estimator.sphere_ is not None:
                found = estimator.sphere_
            else:
                sign = int(np.sign(K))
                found = charts.surface_points(np.sqrt(abs(K) or 1.0) * found, "klein", sign)
        return cls._checked(found, K, y, names, edges, sizes, center)

    @classmethod
    def from_points(
        cls,
        X: ArrayLike,
        chart: str = "poincare",
        *,
        curvature: float = -1.0,
        y: ArrayLike | None = None,
        names: Any = None,
        edges: ArrayLike | None = None,
        sizes: ArrayLike | None = None,
        center: int | None = None,
    ) -> Self:
        """Take points of two dimensions; :func:`cayleyklein.map_embedding` takes those of more.

        Parameters
        ----------
        X : array-like of shape (n, 2) or (n, 3)
            Rows in the chart.
        chart : str, default="poincare"
            As for :class:`cayleyklein.FromChart`; the whole sphere is "unit" or "lonlat".
        curvature : float, default=-1.0
            Curvature K.
        y : array-like of shape (n,), optional
            Class of each point.
        names : sequence of str of length n, optional
            Texts next to the points.
        edges : array-like of shape (m, 2), optional
            Pairs of rows to join by geodesics.
        sizes : array-like of shape (n,), optional
            Areas of the markers, in square points.
        center : int, optional
            Row to move to the centre, by an isometry. A globe by "lonlat" has north upwards, and
            the middle of its points in the centre by default.
        """
        K = checks.as_real(curvature, "curvature")
        found = projection.as_surface(X, chart, K)
        made = cls._checked(found, K, y, names, edges, sizes, None)
        if chart == "lonlat":
            made = replace(made, north=np.array([0.0, 0.0, 1.0]))
            middle = found.mean(axis=0)
            length = float(np.linalg.norm(middle))
            if center is None and length > 1e-9:
                return seen_above(made, middle / length)
        return made if center is None else made.centered(center)

    @classmethod
    def _checked(
        cls,
        surface: Floats,
        curvature: float,
        y: ArrayLike | None,
        names: Any,
        edges: ArrayLike | None,
        sizes: ArrayLike | None,
        center: int | None,
    ) -> Self:
        n, width = surface.shape
        checks.expect(width == 3, "points of dimension", width - 1, "2, as map_embedding makes")
        texts = None if names is None else checks.as_texts(names, "names")
        if texts is not None and len(texts) != n:
            raise InvalidInputError(f"Got {len(texts)} names for {n} points.")
        if y is not None:
            boxes.encode_labels(y, n, "y")
        pairs = np.empty((0, 2)) if edges is None else checks.as_finite_array(edges, "edges")
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidInputError(f"edges must have shape (m, 2); got {pairs.shape}.")
        said = f"edges must hold row numbers from 0 to {n - 1}, but does not"
        space.refuse_at(~np.isin(pairs, np.arange(n)), said, ".")
        areas = None
        if sizes is not None:
            areas = checks.as_finite_array(sizes, "sizes")
            right = areas.shape == (n,) and bool((areas >= 0).all())
            checks.expect(right, "sizes of shape", areas.shape, f"{n} numbers, none negative")
        made = cls(
            surface=surface,
            curvature=curvature,
            edges=pairs.astype(np.intp),
            y=None if y is None else np.asarray(y),
            names=texts,
            sizes=areas,
        )
        return made if center is None else made.centered(center)

    @staticmethod
    def _row(center: Any, n: int) -> int:
        known = isinstance(center, int | np.integer) and bool(0 <= center < n)
        checks.expect(known, "center", center, f"a row number from 0 to {n - 1}")
        return int(center)

    @property
    def points(self) -> Floats:
        """Points in Poincaré's disc or the plane (n, 2); unit vectors (n, 3) on a globe."""
        return projection.to_picture(self.surface, self.curvature)

    def centered(self, row: int) -> Self:
        """Return the map moved by the isometry that takes a point to the centre.

        Parameters
        ----------
        row : int
            Row of the point.
        """
        return seen_above(self, self.surface[self._row(row, len(self.surface))])

    def plot(
        self,
        ax: shapes.Axes | None = None,
        *,
        legend: bool = True,
        cells: bool = False,
        **options: Any,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure.
        legend : bool, default=True
            Whether to draw a legend of the classes.
        cells : bool, default=False
            Whether to colour each place by the class of the nearest point: its Voronoi cells.
        **options : keyword arguments
            Options of the scatter.
        """
        ax = shapes.new_axes(ax)
        on_globe = self.curvature > 0
        points = self.points
        flat = points[:, :2]
        front = points[:, 2] >= 0 if on_globe else np.ones(len(flat), dtype=bool)
        if cells:
            self._draw_cells(ax, outlines.bounds_of(flat))
        self._draw_edges(ax, on_globe)
        if not front.all():
            self._draw_points(ax, flat, ~front, options | {"alpha": 0.2, "label": None})
        if front.any():
            self._draw_points(ax, flat, front, options)
        look: Any = {"textcoords": "offset points", "fontsize": "x-small", "zorder": 5}
        for point, name, seen in zip(flat, self.names or (), front, strict=False):
            if seen and name:
                side = -1 if on_globe and point[0] <= 0 else 1  # away from the middle
                ax.annotate(name, point, (2 * side, 2), ha="left" if side > 0 else "right", **look)
        domains = [Ellipsoid(np.zeros(2), np.eye(2), 1.0)] if self.curvature else []
        if on_globe:  # a thin rim: the globe continues behind it
            ball = shapes.Shape("area", shapes.unit_circle(257), "soft", alpha=0.08)
            shapes.draw_shape(ax, ball, zorder=0)
            shapes.draw_shape(ax, ball._replace(kind="line", alpha=1.0))
        if self.curvature:
            ax.set_axis_off()
        bounds = outlines.edges_of(domains) or [flat]
        return self._finish(
            ax,
            () if on_globe else domains,
            *bounds,
            names=("$y_1$", "$y_2$"),
            title=f"{self._kind}, $K$ = {shapes.number(self.curvature, 3)}",
            legend=legend and self.y is not None,
        )

    @property
    def _kind(self) -> str:
        if self.curvature:
            return "globe" if self.curvature > 0 else "Poincaré disc"
        return "plane"

    def _draw_points(
        self, ax: shapes.Axes, flat: Floats, shown: Bools, options: dict[str, Any]
    ) -> None:
        dots: dict[str, Any] = {"s": 18} | options
        classes = None if self.y is None else np.unique(self.y)
        if self.sizes is not None:
            dots["s"] = self.sizes[shown]
        labels = None if self.y is None else self.y[shown]
        shapes.draw_points(ax, flat[shown], labels, classes, **dots)

    def _draw_edges(self, ax: shapes.Axes, on_globe: bool) -> None:
        t = np.linspace(0, 1, 64)[:, None]  # points of the path of an edge
        near, far = [], []
        for p, q in self.edges:
            # geodesics are straight in Klein's coordinates, and seen from the middle of a sphere
            path = self._between(self.surface[p], self.surface[q], t)
            seen = path[:, 2:] >= 0 if on_globe else np.ones((len(path), 1), dtype=bool)
            near.append(np.where(seen, path, np.nan)[:, :2])
            far.append(np.where(seen, np.nan, path)[:, :2])
        if on_globe:
            shapes.draw_lines(ax, far, colors="0.6", linewidths=1.0, alpha=0.2)
        shapes.draw_lines(ax, near, colors="0.6", linewidths=1.0, alpha=1.0)

    def _between(self, p: Floats, q: Floats, t: Floats) -> Floats:
        if self.curvature >= 0:
            path = (1 - t) * p + t * q
            length = np.linalg.norm(path, axis=1, keepdims=True) if self.curvature else 1.0
            return projection.to_picture(np.asarray(path / length), self.curvature)
        # straight, in equal steps of length: p and q may be of very different size
        klein = np.stack([p[:2] / p[2], q[:2] / q[2]])
        part = (1 - np.cos(np.pi * t)) / 2
        w = (1 - part) * klein[0] + part * klein[1]
        # 1 - ‖w‖², from those of the ends, which are 1/t²
        step = klein[1] - klein[0]
        form = (1 - part) / p[2] ** 2 + part / q[2] ** 2 + part * (1 - part) * (step @ step)
        return charts.place_in_chart(w, form[:, 0], "poincare")

    def _draw_cells(self, ax: shapes.Axes, bounds: Floats) -> None:
        """Colour the pixels of the picture by the class of the nearest point."""
        if self.y is None:
            raise InvalidInputError("cells=True colours cells by classes; give y.")
        if self.curvature:
            bounds = np.array([[-1.0, -1.0], [1.0, 1.0]])
        pixels = 500  # of a side
        half = (bounds[1] - bounds[0]) / pixels / 2
        axes = np.linspace(bounds[0] + half, bounds[1] - half, pixels).T
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        square = np.square(grid).sum(axis=1)
        inside = square < 1 if self.curvature else np.ones(len(grid), dtype=bool)
        grid, square = grid[inside], square[inside]
        if self.curvature > 0:
            seen = np.column_stack([grid, np.sqrt(1 - square)])
        elif self.curvature < 0:
            seen = charts.surface_points(grid, "poincare", -1)
        else:
            seen = np.column_stack([grid, np.ones(len(grid))])
        classes, codes = np.unique(self.y, return_inverse=True)
        tints = np.array([*shapes.class_tints(len(classes)), (1.0, 1.0, 1.0)])
        found = np.full(pixels * pixels, len(classes))
        found[inside] = codes[self._nearest(seen)]
        extent: Any = bounds.T.ravel()
        image = tints[found.reshape(pixels, pixels)]
        ax.imshow(image, origin="lower", extent=extent, interpolation="nearest", zorder=0)

    def _nearest(self, seen: Floats) -> Ints:
        """Return the nearest point of vectors (m, 3) of the surface, by their products."""
        sites = self.surface.copy()
        if self.curvature < 0:
            sites[:, 2] *= -1
        elif self.curvature == 0:  # ‖x - p‖² = ‖x‖² - 2(⟨x, p⟩ - ‖p‖²/2)
            sites[:, 2] = -np.square(sites[:, :2]).sum(axis=1) / 2
        step = max(1, 2**22 // len(sites))
        parts = range(0, len(seen), step)
        return np.concatenate([np.argmax(seen[i : i + step] @ sites.T, axis=1) for i in parts])

    def to_html(self, path: Any = None, *, title: str = "", cells: bool = False) -> str:
        """Return the map as one page, which is dragged by hand and needs no server.

        Dragging moves the points by isometries: the disc shows another part at full size, and the
        globe turns. A double click takes a point to the centre, the wheel moves towards the
        pointer, arrow keys move, and "0" goes back.

        Parameters
        ----------
        path : str or pathlib.Path, optional
            File to write the page to.
        title : str, default=""
            Title of the page.
        cells : bool, default=False
            Whether to colour each place by the class of the nearest point.
        """
        if cells and self.y is None:
            raise InvalidInputError("cells=True colours cells by classes; give y.")
        classes, codes = [], None
        if self.y is not None:
            found, numbers = np.unique(self.y, return_inverse=True)
            classes, codes = [str(name) for name in found], numbers.tolist()
        reach = np.minimum(self.surface[:, 2:], 1e120)  # products in the page stay finite
        points = self.surface * (reach / self.surface[:, 2:] if self.curvature < 0 else 1.0)
        data = {
            "sign": int(np.sign(self.curvature)),
            "points": points.tolist(),
            "edges": self.edges.tolist(),
            "names": list(self.names or []),
            "classes": classes,
            "codes": codes,
            "colors": [shapes.LIGHT[shapes.class_look(i)[0]] for i in range(max(1, len(classes)))],
            "sizes": None if self.sizes is None else np.sqrt(self.sizes / np.pi).tolist(),
            "cells": cells,
            "note": f"{self._kind}, K = {shapes.number(self.curvature, 3)}",
        }
        page = resources.files("cayleyklein.plotting").joinpath("map.html").read_text("utf-8")
        text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
        page = page.replace("{title}", escape(title or data["note"])).replace("{data}", text)
        if path is not None:
            checks.as_path(path).write_text(page, encoding="utf-8")
        return page


def seen_above(display: Shown, middle: Floats) -> Shown:
    """Return a map moved such that a vector of its surface is in the centre, a globe north up."""
    moved = projection.centered_at(display.surface, middle, display.curvature)
    if display.north is None:
        return replace(display, surface=moved)
    (north,) = projection.centered_at(display.north[None], middle, display.curvature)
    x, y = north[:2] / max(float(np.hypot(*north[:2])), 1e-300)
    turn = np.array([[y, x, 0.0], [-x, y, 0.0], [0.0, 0.0, 1.0]])
    return replace(display, surface=moved @ turn, north=north @ turn)
