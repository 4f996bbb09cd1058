"""The scene of a state: its layers as shapes on the screen."""

import math
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.app import _drawing, _figures, _measures, _state, _trails, _views
from cayleyklein.app._limits import LIMITS
from cayleyklein.diagrams import CayleyKleinVoronoi, domains, equivalent_balls
from cayleyklein.geometry import constructions, measure, proximity_planes
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import labels, outlines
from cayleyklein.plotting.shapes import NOTHING, Shape, chain, class_look, unit_circle
from cayleyklein.plotting.views import FAR_OUT, RIM_POINTS, Canvas, sample_boundaries, see_loops

RIM_WIDTH = 2.61  # of the conic, in pixels; no other line has it
PICTURE_SIZE = 720  # width and height of a saved picture in pixels

page_view = lru_cache(maxsize=64)(_views.View)


class Scene(NamedTuple):
    view: _views.View
    shapes: tuple[Shape, ...]
    points: Floats
    away: Bools
    handles: Floats
    description: str


def handle_places(state: _state.PlaneState) -> Floats:
    c = math.cos(math.radians(state.angle))
    s = math.sin(math.radians(state.angle))
    return state.metric.points(np.array([[0.0, 0.0], [c, s], [-s, c]]))


def describe(state: _state.PlaneState, view: _views.View) -> str:
    parts = [f"{view.title} view of {_state.plural(len(state.points), 'point')}"]
    parts += [f"{state.metric.geometry} geometry, K = {state.curvature:g}"]
    missing = set() if view.chart == "klein" else {"conic", "power"}
    shown = [_state.LAYERS[layer] for layer in _state.LAYERS if layer in state.shown - missing]
    if state.order > 1 and state.shown & {"cells", "regions"}:
        shown.append(f"order {state.order}")
    if state.objects:
        shown.append(_state.plural(len(state.objects), "constructed object"))
    return "; ".join([*parts, ", ".join(shown) or "points only"])


def headline(state: _state.PlaneState, made: _figures.Construction) -> str:
    """Say in a sentence what is seen."""
    K = state.curvature
    for figure, corners in made.placed("polygon").items():
        found = _measures.polygon_measures(corners, made.metric)
        if len(corners) == 3 and "angle_sum" in found:
            total = math.degrees(found["angle_sum"])
            relation = "less than" if K < 0 else "more than" if K else "exactly"
            end = f", {relation} 180°" if K else ", as Euclid says"
            return f"The angles of triangle {figure.name} add up to {total:.1f}°{end}."
    if state.tiling is not None:
        p, q = state.tiling[:2]
        plane = f"the {made.metric.geometry} plane"
        return f"{q} polygons of {p} equal sides around each corner fill {plane}."
    if not state.points:
        return f"The {made.metric.geometry} plane, empty."
    points = _state.plural(len(state.points), "point")
    if state.shown & {"cells", "regions"} and state.order == 1:
        return f"{points}, and around each the places nearest to it, measured with {_curved(K)}."
    return f"{points} of the {made.metric.geometry} plane, with {_curved(K)}."


def _curved(K: float) -> str:
    return f"curvature {K:.2f}".replace("-", "\N{MINUS SIGN}") if K else "no curvature"


class Drafter:
    """Draw a state. While a point is dragged, order k is drawn around this point only."""

    def __init__(
        self,
        state: _state.PlaneState,
        moving: int | None = None,
        lit: frozenset[str] = frozenset(),
        trails: _trails.Trails | None = None,
    ) -> None:
        self.state = state
        self._trails = trails
        self.lit = lit  # names of figures that are shown brighter
        self.metric = state.metric
        self._moving = moving
        self.inside = state.inside
        self.labelled = "regions" in state.shown
        self.tone: str = self.metric.geometry

    @cached_property
    def live(self) -> Ints:
        """The points inside the geometry, without copies."""
        rows = np.flatnonzero(self.inside)
        x = self.state.coordinates
        _, first = np.unique(x[rows], axis=0, return_index=True)
        rows = rows[np.sort(first)]
        moving = self._moving
        if moving is None or self.state.order == 1 or not self.inside[moving]:
            return rows  # order 1 is quick
        near = 10 * self.state.order  # points around a dragged one that order k is drawn from
        if len(rows) <= near:
            return rows
        far = np.asarray(self.metric.distance(x[rows], x[moving]))
        return np.sort(rows[np.argpartition(far, near)[:near]])

    @cached_property
    def _planes(self) -> list[Any]:
        """The affine functions that rank the live points and the others, if any are left out."""
        others = np.setdiff1d(np.flatnonzero(self.inside), self.live)
        if self._moving is None or not len(others):
            return []
        x = self.state.coordinates
        return [proximity_planes(x[rows], self.metric) for rows in (self.live, others)]

    def _certain(self, spots: Floats) -> Bools:
        """Say for which spots the nearest points are among the live ones."""
        if not self._planes or not spots.size:
            return np.ones(spots.shape[:-1], dtype=bool)
        here, there = (spots.reshape(-1, 2) @ p.normal.T + p.offset for p in self._planes)
        certain = there.max(axis=1) < np.partition(here, -self.order, axis=1)[:, -self.order]
        return np.asarray(certain).reshape(spots.shape[:-1])

    @cached_property
    def construction(self) -> _figures.Construction:
        return _figures.Construction(self.state.objects, self.state.coordinates, self.metric)

    @cached_property
    def pair(self) -> tuple[Floats, Floats] | None:
        pair = list(self.state.chosen)
        if pair[0] == pair[1] or not self.inside[pair].all():
            return None
        p, q = self.state.coordinates[pair]
        return None if (p == q).all() else (p, q)

    @property
    def order(self) -> int:
        return min(self.state.order, max(1, len(self.live) - 1))

    @cached_property
    def diagram(self) -> CayleyKleinVoronoi:
        return self._diagram(self.order)

    def _diagram(self, order: int) -> CayleyKleinVoronoi:
        window = None
        if self.metric.domain is None:
            reach = FAR_OUT * np.linalg.norm(self.metric.inverse_factor, axis=1)
            window = np.stack([self.metric.center - reach, self.metric.center + reach])
        x = self.state.coordinates[self.live]
        classes = self.state.labels[self.live]
        return CayleyKleinVoronoi(x, self.metric, order=order, labels=classes, window=window)

    @cached_property
    def lit_cell(self) -> int | None:
        first = self.state.chosen[0]
        if "lit" not in self.state.shown or first >= len(self.inside) or not self.inside[first]:
            return None
        return int(self.diagram.locate(self.state.coordinates[first][None])[0])

    @property
    def notes(self) -> list[str]:
        state = self.state
        outside = int((~self.inside).sum())
        found = []
        if outside:
            what = "1 point lies" if outside == 1 else f"{outside} points lie"
            found.append(f"{what} outside the conic and take no part in the geometry.")
        if self.order < state.order and state.shown & {"cells", "regions", "lit"}:
            points = _state.plural(len(self.live), "point")
            found.append(f"{points}: diagrams go up to order {self.order}.")
        if "half-plane" in state.charts and state.curvature >= 0:
            found.append(
                "The half-plane is for K < 0; here it continues as the stereographic view."
            )
        if "klein" not in state.charts:
            if "power" in state.shown:
                found.append("The circles of the power diagram are in Klein's view only.")
            if "conic" in state.shown:
                found.append(
                    "The conic has handles in Klein's view only; in others it stands still."
                )
        return found

    def cross_ratio(self) -> str:
        if self.pair is None:
            return "Choose two points inside the conic for a cross-ratio."
        K, d = self.state.curvature, float(self.metric.distance(*self.pair))
        if K == 0:
            return f"K = 0: the conic is at infinity, and d is the limit ‖L(p − q)‖ = {d:.3f}"
        log = complex(measure(self.metric.absolute.matrix, *self.pair, unit=1))
        size = abs(log.real if K < 0 else log.imag)
        said = f"(p, q; P, Q) = {math.exp(size):.3f}, its logarithm {size:.3f}"
        if K > 0:
            said = "P and Q are complex: "
            said += f"(p, q; P, Q) = exp({size:.3f} i), its logarithm {size:.3f} i"
        return f"{said}, d = {size:.3f} / (2√{abs(K):g}) = {d:.3f}"

    def view(self, chart: str) -> _views.View:
        return page_view(self.metric, chart, self.state.turn, self.state.tilt)

    def scene(self, chart: str, frame: labels.LabelFrame | None = None) -> Scene:
        """Return the scene in a chart; labels are placed for a frame, the whole if None."""
        view = self.view(chart)
        x = self.state.coordinates
        # in charts that end at the conic, the points outside it are drawn on it
        placed = x if chart == "klein" or not len(x) else outlines.inset(view.domain, x)
        canvas = Canvas(view)
        self._draw_cells(canvas)
        self._draw_tiling(canvas)
        self._draw_lines(canvas)
        if self._trails is not None:
            self._trails.draw(self.construction, canvas)
        _drawing.draw_construction(self.construction, canvas, self.lit)
        points = view.to_screen(placed)
        away = view.faces_away(placed)
        handles = NOTHING
        if "conic" in self.state.shown and chart == "klein":
            look: Any = {"edge": "soft", "edge_width": 2.0}
            handles = handle_places(self.state)
            canvas.line(self.metric.points(unit_circle(RIM_POINTS)), "soft", 1.2, (6, 4), 0.9)
            axes = np.stack([2 * handles[0] - handles[1:], handles[1:]], axis=1)
            canvas.line(chain(list(axes)), "soft", 1.0, (2, 3), 0.8)
            canvas.put(Shape("marks", handles[:1], "paper", 7.5, marker="cross", **look))
            canvas.put(Shape("marks", handles[1:], "paper", 7.0, marker="square", **look))
        self._draw_points(canvas, points, away)
        if self.state.names:
            self._draw_names(canvas, points, away)
        shapes = canvas.shapes()
        frame = frame or labels.LabelFrame(view.window, PICTURE_SIZE)
        words = labels.place_labels(canvas.labels, shapes, frame)
        told = describe(self.state, view)
        return Scene(view, (*shapes, *words), points, away, handles, told)

    @cached_property
    def _cells(self) -> tuple[list[Any], list[Any]]:
        """Cells with their colour and opacity, and edges with their width and opacity."""
        cell, boundary = self.diagram.boundary_pieces
        n = len(self.diagram.cell_generators)
        shown = self.state.shown
        looks = []
        known = np.bincount(cell[~self._certain(boundary.starts)], minlength=n) == 0
        if shown & {"cells", "regions"}:
            n_shades = 6  # of unlabelled cells
            # from the numbers of its points, so that a cell keeps its shade while others move
            color = self.live[self.diagram.cell_generators].sum(axis=1) % n_shades
            if self.labelled:
                color = np.asarray(self.diagram.cell_labels)
            for c in np.unique(color).tolist():
                name = self.tone
                alpha = 0.06 + 0.26 * c / (n_shades - 1)
                if self.labelled:
                    name, _, alpha = class_look(c)
                looks.append(((color == c) & known, name, alpha))
        if self.lit_cell is not None:
            looks.append((np.arange(n) == self.lit_cell, "gold", 0.55))
        lines = []
        if "cells" in shown:
            lines.append((self._certain_edges(self.diagram.ridge_segments()[1]), 1.0, 0.6))
        if self.labelled:
            lines.append((self._certain_edges(self.diagram.frontier()), 1.5, 0.8))
        return looks, lines

    def _certain_edges(self, edges: Floats) -> Floats:
        return edges[self._certain(edges).all(axis=1)]

    @cached_property
    def _delaunay(self) -> Floats:
        diagram = self.diagram if self.order == 1 else self._diagram(1)
        edges = diagram.points[diagram.dual().edges]
        if (
            self._moving is not None and self.order > 1
        ):  # only the shorter half is certain to be right
            far = self.metric.distance(edges, self.state.coordinates[self._moving]).max(axis=1)
            edges = edges[far <= np.median(far)]
        return edges

    def _draw_cells(self, canvas: Canvas) -> None:
        if not self.live.size or not self.state.shown & {"cells", "regions", "lit"}:
            return
        looks, lines = self._cells
        cells = see_loops(
            canvas.view, sample_boundaries(canvas.view, *self.diagram.boundary_pieces)
        )
        for look in looks:
            canvas.areas(cells, *look)
        for edges, width, alpha in lines:
            canvas.segments(edges[:, 0], edges[:, 1], "ink", width, alpha=alpha)

    def _draw_tiling(self, canvas: Canvas) -> None:
        if self.state.tiling is None:
            return
        corners, depths = self.state.tiling.placed(self.metric)
        lowest = 1e-3  # height of a lift that is drawn
        whole = (corners[..., 2] > lowest).all(axis=1)
        x = corners[whole][..., :2] / corners[whole][..., 2:]
        t = np.arange(12)[:, None] / 12  # along each side
        sides = x[:, :, None] + t * (np.roll(x, -1, axis=1) - x)[:, :, None]
        rings = sides.reshape(len(x), -1, 2)
        for shade in range(3):
            mine = depths[whole] % 3 == shade
            canvas.rings(rings[mine], self.tone, 0.05 + 0.09 * shade)
        # edges, cut at the elliptic equator; without those beyond
        ends = np.stack([corners, np.roll(corners, -1, axis=1)]).reshape(2, -1, 3)
        ends = ends[:, (ends[..., 2] > lowest).any(axis=0)]
        a, b = ends[..., 2] - lowest
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = ends[0] + (a / (a - b))[:, None] * (ends[1] - ends[0])
        ends = np.where(ends[..., 2:] > lowest, ends, cut)
        ends = ends[..., :2] / ends[..., 2:]
        _, once = np.unique(ends.sum(axis=0).round(5), axis=0, return_index=True)
        canvas.segments(*ends[:, once], self.tone, 1.2)

    def _draw_lines(self, canvas: Canvas) -> None:
        shown = self.state.shown
        x = self.state.coordinates
        if "delaunay" in shown and len(self.live) > 1:
            edges = self._delaunay
            canvas.segments(edges[:, 0], edges[:, 1], self.tone, 1.4, (5, 3))
        if "power" in shown and canvas.view.chart == "klein" and 0 < len(self.live) <= 120:
            # the equivalent balls, and the power diagram that they alone give (paper §3.1)
            centers, sq_radii = equivalent_balls(x[self.live], self.metric)
            balls = zip(centers, np.sqrt(np.maximum(sq_radii, 0.0)), strict=True)
            circles = chain(c + r * unit_circle(73) for c, r in balls if r)
            canvas.line(circles, "learned", 1.0, alpha=0.7)
            canvas.marks(centers[sq_radii < 0], "learned", 3.0, "cross")
            canvas.line(chain(power_edges(centers, sq_radii)), "learned", 3.0, (7, 5))
        if "balls" in shown and self.live.size:
            n = min(max(7300 // len(self.live), 25), 73)  # points of a ball: fewer if many
            rings = outlines.spheres(self.metric, x[self.live], self.state.radius, n)
            whole = ~np.isnan(rings[..., 0]).any(axis=1)
            canvas.rings(rings[whole, :-1], self.tone, 0.16)
            canvas.line(chain(rings), self.tone, 1.1, alpha=0.9)
        if self.state.edges:
            pairs = np.array(self.state.edges)
            starts, ends = pairs[self.inside[pairs].all(axis=1)].T
            canvas.segments(x[starts], x[ends], "soft", 1.0, alpha=0.9)
        first = self.state.chosen[0]
        if "geodesics" in shown and first < len(x) and self.inside[first]:
            ends = x[self.live[self.live != first]]
            canvas.segments(np.broadcast_to(x[first], ends.shape), ends, "soft", 0.9, alpha=0.6)
        if self.pair is not None:
            self._draw_pair(canvas, *self.pair)
        canvas.rim(RIM_WIDTH)

    def _draw_pair(self, canvas: Canvas, p: Floats, q: Floats) -> None:
        shown = self.state.shown
        if "geodesics" in shown:
            canvas.segments(p[None], q[None], "gold", 2.6)
            steps = np.linspace(0, 1, 11)[1:-1]
            canvas.marks(np.asarray(self.metric.geodesic(p, q, steps)), "gold", 3.0)
        if "bisector" in shown:
            path = outlines.line_path(self.metric, self.metric.bisector(p, q), 65)
            canvas.line(path, "learned", 2.6, (9, 3))
        if "cross" in shown:
            path = outlines.line_path(self.metric, constructions.line_through(p, q), 65)
            canvas.line(path, "ink", 1.6, (2, 3))
            ends = path[[-1, 0] if (path[-1] - path[0]) @ (q - p) > 0 else [0, -1]]
            ends = ends if self.state.curvature < 0 else NOTHING  # P, which is beyond q, and Q
            canvas.marks(ends, "ink", 5.0, marker="diamond")
            seen = canvas.view.to_screen(np.stack([p, q, *ends]))
            for name, place in zip("pqPQ", seen, strict=False):
                canvas.label(name, "ink", place[None])
        if canvas.view.chart == "hyperboloid" and canvas.view.surface:
            # how the surface is projected from its centre to the plane (paper, figure 3)
            view = canvas.view
            x = np.stack([p, q])
            flat = view.on_tangent_plane(x)
            rays = np.stack([np.broadcast_to(view.apex, (2, 2)), flat, view.to_screen(x)], axis=1)
            canvas.put(Shape("line", chain(rays), "soft", 1.0, (2, 3)))
            canvas.put(Shape("marks", np.vstack([view.apex[None], flat]), "soft", 3.0))
            if view.domain is not None:
                rim = view.on_tangent_plane(view.domain.from_euclidean(unit_circle(RIM_POINTS)))
                canvas.put(Shape("line", rim, "soft", 1.2))

    def _draw_names(self, canvas: Canvas, points: Floats, away: Bools) -> None:
        """Name the points of a map next to the middle; isometries bring others there."""
        names = np.array(self.state.names[: len(points)])
        seen = np.flatnonzero((names != "") & ~away[: len(names)] & self.inside[: len(names)])
        at = self.state.coordinates[seen]
        far = np.asarray(self.metric.distance(at, self.metric.center))
        for i in seen[np.argsort(far, kind="stable")[: LIMITS.map_names]]:
            canvas.label(str(names[i]), "ink", points[i][None])

    def _draw_points(self, canvas: Canvas, points: Floats, away: Bools) -> None:
        classes = self.state.labels if self.labelled else np.zeros(len(points), dtype=int)
        size = 2.0
        if len(points) <= 600:
            size = 6.0 if len(points) <= 60 else 4.0
        faint = away | ~self.inside
        for label in np.unique(classes).tolist():
            color, marker, _ = class_look(label) if self.labelled else ("ink", "circle", 1.0)
            for hidden, alpha in ((True, 0.35), (False, 1.0)):
                mine = points[(classes == label) & (faint == hidden)]
                canvas.put(Shape("marks", mine, color, size, marker=marker, alpha=alpha))
        if self.lit_cell is not None:
            lit = self.live[self.diagram.cell_generators[self.lit_cell]]
            canvas.put(Shape("marks", points[lit], "", 10.0, edge="ink", edge_width=2))
        chosen_points = list(dict.fromkeys(self.state.chosen))
        if not self.state.shown & {"geodesics", "bisector", "cross"}:
            del chosen_points[1:]  # nothing is drawn for the second one
        for index, radius in zip(chosen_points, (12.0, 9.0), strict=False):
            chosen = points[index : index + 1]  # none without points
            canvas.put(Shape("marks", chosen, "", radius, edge="gold", edge_width=2.4))


def power_edges(centers: Floats, sq_radii: Floats) -> Floats:
    """Return the edges (m, 2, 2) of the power diagram of circles: -‖x - c‖² + r² is largest."""
    flat = domains.LocalChart(CurvedMetric.euclidean(2), np.zeros(2), 1.0)
    heights = sq_radii - np.sum(centers**2, axis=1)
    # drawing dashes far outside would take most of the time
    window = np.array([[-20.0, -20.0], [20.0, 20.0]])
    chart, power = domains.cut_out(flat, 2 * centers, heights, window)
    return chart.to_points(power.corners[power.ridges[1].members.reshape(-1, 2)])
