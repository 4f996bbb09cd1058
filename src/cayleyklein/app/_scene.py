"""What is to be drawn of a state: polygons, lines and dots on the screen, without a renderer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cayleyklein.app._paths import chain, trace_boundaries, trace_segments
from cayleyklein.app._state import PlaneState
from cayleyklein.app._views import View
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.geometry import metric_tensor
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import inset, line_path

__all__ = ["HANDLES", "N_SHADES", "Scene", "handle_places", "make_scene"]

Array = NDArray[np.float64]

N_SHADES = 6
"""Strengths of the colour in which unlabelled cells are told apart."""

HANDLES = ("center", "major", "minor")

FAR = 1e3
"""Where elliptic diagrams end, in units of z: on the sphere, a thousandth before the equator."""

ROOM = 4.0
"""How much more than its window a flat or elliptic Klein view holds, for zooming out."""

EDGE_POINTS, RIM_POINTS, BALL_POINTS, MARKS = 65, 513, 72, 9


@dataclass(frozen=True)
class Scene:
    """Everything on the screen; polylines and polygons have a row of NaN between two.

    ``fills`` maps a colour's number to polygons: a class when `labelled`, a shade otherwise. Their
    edges are drawn when `edged`.
    ``lines`` maps a name to polylines.
    """

    view: View
    fills: Mapping[int, Array] = field(default_factory=dict)
    labelled: bool = False
    edged: bool = False
    lines: Mapping[str, Array] = field(default_factory=dict)
    balls: Array = field(default_factory=lambda: np.empty((0, 2)))
    marks: Array = field(default_factory=lambda: np.empty((0, 2)))
    points: Array = field(default_factory=lambda: np.empty((0, 2)))
    inside: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))
    away: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))
    handles: Array = field(default_factory=lambda: np.empty((0, 2)))
    notes: tuple[str, ...] = ()


def make_scene(state: PlaneState) -> Scene:
    """Compute what a state shows.

    Examples
    --------
    >>> from cayleyklein.app._state import scatter
    >>> state = PlaneState(points=scatter(10, seed=0), shown=frozenset({"cells", "delaunay"}))
    >>> scene = make_scene(state)
    >>> sorted(scene.lines), len(scene.points)
    (['delaunay', 'rim'], 10)
    """
    return _Drafter(state).scene()


def handle_places(state: PlaneState) -> Array:
    """Return where the handles of the conic are: its centre and an end of each axis."""
    turn, center = math.radians(state.angle), np.array([state.center_x, state.center_y])
    along = np.array([math.cos(turn), math.sin(turn)])
    across = np.array([-math.sin(turn), math.cos(turn)])
    return np.stack([center, center + state.major * along, center + state.minor * across])


class _Drafter:
    """Computes the layers of a scene that are shown."""

    def __init__(self, state: PlaneState) -> None:
        self.state, self.metric = state, state.metric
        self.view = View(state.metric, state.chart)
        x = state.coordinates
        self.inside = np.asarray(self.metric.contains(x)) if len(x) else np.zeros(0, dtype=bool)
        self.notes: list[str] = []

    def scene(self) -> Scene:
        state, shown = self.state, self.state.shown
        lines = {"rim": self._rim()}
        labelled = "regions" in shown
        fills: dict[int, Array] = {}
        if self._live_rows.size and shown & {"cells", "regions"}:
            fills = self._fills(labelled)
            if labelled:
                lines["frontier"] = self._segments(self.diagram.frontier())
        if "delaunay" in shown:
            lines["delaunay"] = self._delaunay()
        pair = state.chosen_pair
        both = pair is not None and bool(self.inside[list(pair)].all())
        marks = np.empty((0, 2))
        if "geodesics" in shown:
            lines["geodesics"] = self._fan()
            if both and pair:
                p, q = state.coordinates[list(pair)]
                lines["geodesic"] = trace_segments(self.view, p[None], q[None])
                along = self.metric.geodesic(p, q, np.linspace(0, 1, MARKS))
                marks = self.view.to_screen(along)
        if "bisector" in shown and both and pair:
            lines["bisector"] = self._bisector(*state.coordinates[list(pair)])
        balls = np.empty((0, 2))
        if "balls" in shown and self._live_rows.size:
            balls, lines["spheres"] = self._balls()
        handles = np.empty((0, 2))
        if "conic" in shown and state.chart == "klein":
            handles = handle_places(state)
            ellipse = _unit_ellipse(self.metric)
            lines["conic"] = np.vstack([ellipse, ellipse[:1]])
            lines["axes"] = chain([handles[[0, 1]], handles[[0, 2]]])
        self._note_what_is_missing()
        placed = self._placed()
        return Scene(
            view=self.view,
            fills=fills,
            labelled=labelled,
            edged="cells" in shown,
            lines=lines,
            balls=balls,
            marks=marks,
            points=self.view.to_screen(placed),
            inside=self.inside,
            away=self.view.faces_away(placed),
            handles=handles,
            notes=tuple(self.notes),
        )

    # -- generators -----------------------------------------------------------------

    @cached_property
    def _live_rows(self) -> NDArray[np.intp]:
        """The generators that have a place in the geometry, each place once."""
        rows = np.flatnonzero(self.inside)
        if not len(rows):
            return rows
        _, first = np.unique(self.state.coordinates[rows], axis=0, return_index=True)
        return rows[np.sort(first)]

    def _placed(self) -> Array:
        """Return the generators; in charts that end at the conic, those outside it on it."""
        x = self.state.coordinates
        return x if self.state.chart == "klein" or not len(x) else inset(self.view.domain, x)

    def _note_what_is_missing(self) -> None:
        count = int((~self.inside).sum())
        if count:
            what = "1 point lies" if count == 1 else f"{count} points lie"
            self.notes.append(f"{what} outside the conic, without a part in the geometry.")
        if self.state.chart == "half-plane" and self.view.sign >= 0:
            self.notes.append(
                f"The half-plane is for K < 0; this is its continuation, the view "
                f"“{self.view.title}”."
            )
        if "conic" in self.state.shown and self.state.chart != "klein":
            self.notes.append(
                "Conic handles: in Klein's view only; in the others the conic stands still."
            )

    # -- diagrams -------------------------------------------------------------------

    @cached_property
    def diagram(self) -> CayleyKleinVoronoi:
        """The diagram of the order that is asked for, or of the highest there is."""
        most = max(1, len(self._live_rows) - 1)
        if self.state.order > most:
            self.notes.append(f"So few points have diagrams up to order {most}.")
        return self._diagram(min(self.state.order, most))

    def _diagram(self, order: int) -> CayleyKleinVoronoi:
        rows = self._live_rows
        return CayleyKleinVoronoi(
            self.state.coordinates[rows],
            self.metric,
            order=order,
            labels=self.state.labels[rows],
            window=self._window(),
        )

    def _window(self) -> Array | None:
        """Return the box in which a diagram without a domain is drawn."""
        if self.view.domain is not None:
            return None
        if self.state.chart == "klein":
            return np.asarray(self.view.middle + ROOM * (self.view.window - self.view.middle))
        reach = FAR * np.linalg.norm(self.metric.inverse_factor, axis=1)
        return np.stack([self.metric.center - reach, self.metric.center + reach])

    def _fills(self, labelled: bool) -> dict[int, Array]:
        outlines = trace_boundaries(self.view, self.diagram.boundaries())
        if labelled:
            color = np.asarray(self.diagram.cell_labels)
        else:  # by the points themselves, so that a cell keeps its shade while others move
            color = self._live_rows[self.diagram.cell_generators].sum(axis=1) % N_SHADES
        return {int(c): outlines.of(color == c) for c in np.unique(color)}

    def _segments(self, segments: Array) -> Array:
        return trace_segments(self.view, segments[:, 0], segments[:, 1])

    def _delaunay(self) -> Array:
        if len(self._live_rows) < 2:
            return np.empty((0, 2))
        first = self.diagram if self.diagram.order == 1 else self._diagram(1)
        return self._segments(first.points[first.dual().edges])

    # -- lines and balls ------------------------------------------------------------

    def _rim(self) -> Array:
        """Return where the geometry ends on the screen: the absolute, or the equator."""
        angle = np.linspace(0, 2 * math.pi, RIM_POINTS)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        if self.view.domain is not None:
            if self.state.chart == "half-plane":  # the point ∞ is on it
                low = self.view.to_screen(self.view.domain.from_euclidean([0.0, -1.0]))
                return low + np.array([[-1.0, 0.0], [1.0, 0.0]]) * FAR
            return self.view.to_screen(self.view.domain.from_euclidean(circle))
        if self.view.sign > 0 and self.state.chart != "klein":
            far = circle * FAR * FAR / math.sqrt(self.metric.curvature)
            return self.view.to_screen(self.metric.points(far))
        return np.empty((0, 2))

    def _fan(self) -> Array:
        """Return the geodesics from the first chosen point to all others."""
        first = self.state.chosen[0]
        if first >= len(self.inside) or not self.inside[first]:
            return np.empty((0, 2))
        others = self._live_rows[self._live_rows != first]
        ends = self.state.coordinates[others]
        start = np.broadcast_to(self.state.coordinates[first], ends.shape)
        return trace_segments(self.view, start, ends)

    def _bisector(self, p: Array, q: Array) -> Array:
        if (p == q).all():
            return np.empty((0, 2))
        points = 2 if self.view.straight else EDGE_POINTS
        return self.view.to_screen(line_path(self.metric, self.metric.bisector(p, q), points))

    def _balls(self) -> tuple[Array, Array]:
        """Return the balls that are whole on the screen, and the outlines of all."""
        metric, radius = self.metric, self.state.radius
        x = self.state.coordinates[self._live_rows]
        # a ball reaches the equator when the centre is that near to it
        room = math.pi / 2 / math.sqrt(metric.curvature) if self.view.sign > 0 else math.inf
        whole = np.asarray(metric.distance(x, metric.center)) + radius < room
        closed = _rings(_spheres(metric, x[whole], radius), self.view)
        cut = [_cut_sphere(metric, center, radius) for center in x[~whole]]
        seen = [
            np.where(np.isnan(path), np.nan, self.view.to_screen(_no_nan(path, metric)))
            for path in cut
        ]
        return closed, chain([closed, *seen])


def _spheres(metric: CurvedMetric, centers: Array, radius: float) -> Array:
    """Return the spheres (n, m, 2) around centers: the ends of all geodesics of one length."""
    if not len(centers):
        return np.empty((0, BALL_POINTS, 2))
    angle = np.linspace(0, 2 * math.pi, BALL_POINTS)
    directions = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # with g = CCᵀ, C⁻ᵀ takes unit vectors of the plane to those of the metric
    C = np.linalg.cholesky(metric_tensor(centers, metric))
    velocities = directions @ np.linalg.inv(C)
    return np.asarray(metric.exp(centers[:, None], velocities))


def _cut_sphere(metric: CurvedMetric, center: Array, radius: float) -> Array:
    """Return an elliptic sphere that crosses the equator, NaN where it is beyond it.

    It is the image of one around μ, under the isometry that carries μ there; beyond the equator the
    last homogeneous coordinate is not positive.
    """
    around = _spheres(metric, metric.center[None], radius)[0]
    ring = np.column_stack([around, np.ones(BALL_POINTS)])
    image = ring @ metric.transvection(metric.center, center).T
    weight = np.where(image[:, 2] > 0, image[:, 2], np.nan)
    return np.asarray(image[:, :2] / weight[:, None])


def _no_nan(path: Array, metric: CurvedMetric) -> Array:
    return np.where(np.isnan(path), metric.center, path)


def _rings(paths: Array, view: View) -> Array:
    """Return closed polylines (n, m, 2) on the screen, with NaN between two."""
    seen = view.to_screen(paths)
    gaps = np.full((len(seen), 1, 2), np.nan)
    return np.concatenate([seen, gaps], axis=1).reshape(-1, 2)[:-1]


def _unit_ellipse(metric: CurvedMetric) -> Array:
    """Return the ellipse ‖z‖ = 1, which is the absolute of K = -1."""
    return (
        CurvedMetric(factor=metric.factor, center=metric.center)
        .ball(metric.center, 1.0)
        .ellipsoid()
        .boundary(RIM_POINTS - 1)
    )
