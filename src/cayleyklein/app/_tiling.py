"""Regular tilings {p, q}: q polygons of p sides around each corner, of an edge that fixes K.

In a triangle of a tile's centre, the middle of an edge and a corner the angles are π/p, π/2 and
π/q. So with c = cos or cosh of a length times √|K|, by the sign of 1/p + 1/q - 1/2,

    c(edge/2) = cos(π/p)/sin(π/q),    c(apothem) = cos(π/q)/sin(π/p).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from cayleyklein._typing import Floats
from cayleyklein.app._figures import read_numbers
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import apply_collineation, constructions
from cayleyklein.geometry.lifts import cosine, sine
from cayleyklein.metrics import CurvedMetric

MOST_TILES = 1500


class Tiling(NamedTuple):
    p: int
    q: int
    depth: int = 4
    edge: float = 1.0
    x: float = 0.0
    y: float = 0.0
    turn: float = 0.0

    @property
    def text(self) -> str:
        return ",".join(f"{value:.6f}".rstrip("0").rstrip(".") for value in self)

    @property
    def sign(self) -> int:
        return int(np.sign(2 * (self.p + self.q) - self.p * self.q))

    def at_curvature(self, K: float) -> "Tiling | None":
        """Return the tiling with the edge that it has at K, or None where there is none."""
        if np.sign(K) != self.sign:
            return None
        edge = self.unit_edge / math.sqrt(abs(K)) if K else self.edge
        return read_tiling(self._replace(edge=edge).text)

    @property
    def unit_edge(self) -> float:
        """The edge where |K| = 1; the least on the page, as |K| ≤ 1."""
        return 2 * self._length(self.p, self.q)

    def _length(self, p: int, q: int) -> float:
        ratio = math.cos(math.pi / p) / math.sin(math.pi / q)
        return math.acos(ratio) if self.sign > 0 else math.acosh(max(ratio, 1.0))

    @property
    def curvature(self) -> float:
        return self.sign * (self.unit_edge / self.edge) ** 2 if self.sign else 0.0

    def corners(self) -> tuple[Floats, Floats]:
        """Return lifts (n, p, 3) of the corners of the tiles around μ, and their depths (n,)."""
        K, depth = self.curvature, self.depth
        flat = self.edge / 2 / math.tan(math.pi / self.p)
        apothem = self._length(self.q, self.p) / math.sqrt(abs(K)) if K else flat
        k, c, s = math.sqrt(abs(K)), float(cosine(apothem, K)), float(sine(apothem, K))
        turn = 2 * math.pi * np.arange(self.p) / self.p
        u = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        # reflections I - 2 N lᵀ in the edges, l = (c u, -s), N = (c u, -K s)
        line, normal = (np.column_stack([c * u, np.full(self.p, -h)]) for h in (s, K * s))
        mirrors = np.eye(3) - 2 * normal[:, :, None] * line[:, None, :]
        # a corner is at the edge's middle and half an edge along it, turned by π/p
        across = math.tan(math.pi / self.p) * s
        half = np.stack([s * u[:, 0] - across * u[:, 1], s * u[:, 1] + across * u[:, 0]], axis=1)
        first = np.column_stack([half, np.full(self.p, c)])
        scale = np.array([1.0, 1.0, 1 / k if k else 0.0])  # so that chords tell tiles apart
        tiles = layer = np.eye(3)[None]
        depths = np.zeros(1)
        for number in range(1, depth):
            fresh = (layer[:, None] @ mirrors[None]).reshape(-1, 3, 3)
            centers = fresh[:, :, 2] * scale
            tree = cKDTree(np.concatenate([tiles[:, :, 2] * scale, centers]))
            near = tree.query_ball_point(centers, apothem / 2)
            new = [i for i, found in enumerate(near) if min(found) == len(tiles) + i]
            layer = fresh[new]
            if not len(layer) or len(tiles) + len(layer) > MOST_TILES:
                break
            tiles = np.concatenate([tiles, layer])
            depths = np.append(depths, np.full(len(layer), float(number)))
        return first @ np.swapaxes(tiles, 1, 2), depths

    def placed(self, metric: CurvedMetric) -> tuple[Floats, Floats]:
        """Return homogeneous points (n, p, 3) of x, and the depths of the tiles."""
        corners, depths = self.corners()
        to_x = np.eye(3)
        to_x[:2, :2], to_x[:2, 2] = metric.inverse_factor, metric.center
        return np.asarray(corners @ (self._place(metric) @ to_x).T), depths

    def _place(self, metric: CurvedMetric) -> Floats:
        at = np.array([self.x, self.y])
        turned = constructions.rotation_about(metric.center, math.radians(self.turn), metric)
        return np.asarray(metric.transvection(metric.center, at) @ turned)

    def moved(self, metric: CurvedMetric, move: Floats) -> "Tiling":
        """Return the tiling after an isometry: its centre, and how far it is turned there."""
        whole, step = move @ self._place(metric), metric.points(np.array([0.1, 0.0]))
        at, ahead = apply_collineation(whole, np.stack([metric.center, step]))
        back = apply_collineation(metric.transvection(at, metric.center), ahead)
        angle = constructions.turn_between(metric.center, step, np.asarray(back), metric)
        return self._replace(x=float(at[0]), y=float(at[1]), turn=math.degrees(angle))


def read_tiling(text: str) -> Tiling | None:
    if not text:
        return None
    numbers = read_numbers(text, "tiling, p,q,depth,edge,", min(max(text.count(",") + 1, 4), 7))
    p, q, depth = (int(number) for number in numbers[:3])
    found = Tiling(p, q, depth, *(round(number, 6) for number in numbers[3:]))
    if not (min(p, q) >= 3 and max(p, q) <= 12 and 1 <= depth <= 8 and max(map(abs, found)) <= 180):
        said = "p and q from 3 to 12 and a depth from 1 to 8"
        raise InvalidInputError(f"tiling must have {said}; got {text[:30]!r}.")
    return found._replace(edge=max(found.edge, math.ceil(1e6 * found.unit_edge) / 1e6, 0.1))


def clipped(starts: Floats, ends: Floats, least: float = 1e-3) -> tuple[Floats, Floats]:
    """Return edges as points of the plane, cut at the elliptic equator; without those beyond."""
    a, b = starts[:, 2] - least, ends[:, 2] - least
    seen = (a > 0) | (b > 0)
    a, b, p, q = a[seen], b[seen], starts[seen], ends[seen]
    with np.errstate(divide="ignore", invalid="ignore"):
        cut = (p + (a / (a - b))[:, None] * (q - p))[:, :, None]
    p, q = np.where((a > 0)[:, None], p, cut[:, :, 0]), np.where((b > 0)[:, None], q, cut[:, :, 0])
    return p[:, :2] / p[:, 2:], q[:, :2] / q[:, 2:]
