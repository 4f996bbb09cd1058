"""Maps of embeddings, and trees, as states of the plane page."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._state import LETTERS, MAP_DECIMALS, Generator, PlaneState
from cayleyklein.app._worksheets import Step, Worksheet
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.manifold import CurvedMDS, EmbeddingMap, TreeEmbedding, embed_tree, map_embedding
from cayleyklein.plotting import MapDisplay
from cayleyklein.tables import read_table

MAPS = (MapDisplay, EmbeddingMap, TreeEmbedding, CurvedMDS, PlaneState)


def map_state(shown: Any, labels: ArrayLike | None = None) -> PlaneState:
    """Return the plane with the points of a map, its edges and names, in units of 1/√|K|."""
    if isinstance(shown, PlaneState):
        return shown
    display = shown
    if not isinstance(shown, MapDisplay):
        names = [str(name) for name in shown.names] if isinstance(shown, TreeEmbedding) else None
        display = MapDisplay.from_estimator(shown, labels, names=names)
    elif labels is not None:
        raise InvalidInputError("A MapDisplay has its classes: give them to it as y.")
    n = len(display.surface)
    if max(n, len(display.edges)) > LIMITS.most_points:
        said = f"{n:,} points and {len(display.edges):,} edges"
        raise InvalidInputError(f"The map has {said}; the page draws {LIMITS.most_points:,}.")
    classes, codes = np.unique(np.zeros(n) if display.y is None else display.y, return_inverse=True)
    if len(classes) > len(LETTERS):
        said = f"The map has {len(classes)} classes; {len(LETTERS)} are the most."
        raise InvalidInputError(said)
    x = _places(display.surface, display.curvature).round(MAP_DECIMALS) + 0.0
    points = zip(*x.T.tolist(), codes.tolist(), strict=True)
    return PlaneState(
        points=tuple(Generator(*point) for point in points),
        curvature=float(np.sign(display.curvature)),
        major=1.0,
        minor=1.0,
        angle=0.0,
        chart="poincare" if display.curvature else "klein",
        shown=frozenset() if display.y is None else frozenset({"regions"}),
        edges=tuple((int(a), int(b)) for a, b in display.edges),
        names=tuple(name[: LIMITS.name_letters] for name in display.names or ("",) * n),
    )


def _places(surface: Floats, K: float) -> Floats:
    """Return Klein's coordinates of points of a surface, within a window for K = 0."""
    if K > 0:
        behind = np.flatnonzero(surface[:, 2] < 0.1)
        if len(behind):
            raise InvalidInputError(
                f"The page shows a hemisphere, but {len(behind)} of {len(surface)} points are on "
                f"the other side or next to the rim; MapDisplay.to_html draws the whole globe."
            )
        return np.asarray(surface[:, :2] / surface[:, 2:])
    if K == 0:
        middle = (surface[:, :2].min(axis=0) + surface[:, :2].max(axis=0)) / 2
        x = surface[:, :2] - middle
        return np.asarray(x / (np.abs(x).max() or 1.0))
    radius = np.arccosh(np.maximum(surface[:, 2], 1.0))
    length = np.linalg.norm(surface[:, :2], axis=1)
    share = np.tanh(np.minimum(radius, 10.0))  # farther points are drawn at the rim of the disc
    return np.asarray(surface[:, :2] * (share / np.where(length > 0, length, 1.0))[:, None])


def read_map(file: str | Path, chart: str = "poincare") -> PlaneState:
    """Return the plane with the tree of a Newick file, or with the embedding of a table.

    All columns of numbers are coordinates in the chart; "class" or "label" has classes, and "name"
    or "word" the names of rows.
    """
    path = Path(file)
    if path.suffix.lower() in (".nwk", ".newick", ".tree", ".tre"):
        return read_tree(path.read_text("utf-8"))
    frame = read_table(path)
    named = {str(column).lower(): column for column in reversed(frame.columns)}
    classes = next((frame[named[n]] for n in ("class", "label") if n in named), None)
    names = next((frame[named[n]] for n in ("name", "word") if n in named), None)
    told = {named[n] for n in ("class", "label", "name", "word") if n in named}
    coordinates = frame.drop(columns=list(told)).select_dtypes("number")
    left = [str(c) for c in frame.columns if c not in told and c not in coordinates.columns]
    if left or not len(coordinates.columns):
        said = f"the columns {', '.join(left)[:80]}" if left else "no column of numbers"
        raise InvalidInputError(
            f"{path.name} has {said}; expected coordinates as numbers, and besides class or label, "
            f"and name or word."
        )
    X = coordinates.to_numpy(dtype=float)
    curvature = 1.0 if chart in ("lonlat", "unit", "sphere") else -1.0
    found = map_embedding(X, chart, curvature=curvature, random_state=0)
    texts = None if names is None else names.astype(str).tolist()
    groups = None if classes is None else classes.astype(str).to_numpy()
    return map_state(MapDisplay.from_estimator(found, groups, names=texts))


def read_tree(text: str) -> PlaneState:
    """Return the plane with a tree in Newick format, whose edges are scaled to fit the disc."""
    tree = embed_tree(text)
    lengths = tree.lengths[tree.lengths > 0]
    if len(lengths):
        mean, deepest = float(lengths.mean()), float(_depths(tree).max())
        tree = embed_tree(text, scale=min(1.5 / mean, 7.0 / deepest))
    return map_state(tree)


def _depths(tree: TreeEmbedding) -> Floats:
    depth = np.zeros(len(tree.names))
    waiting = [tree.center]
    children: dict[int, list[int]] = {}
    for parent, child in tree.edges:
        children.setdefault(int(parent), []).append(int(child))
    while waiting:
        node = waiting.pop()
        for child in children.get(node, []):
            depth[child] = depth[node] + tree.lengths[child]
            waiting.append(child)
    return depth


def map_sheet(state: PlaneState) -> Worksheet:
    """Return a map as a worksheet, which the page opens and can begin again."""
    said = (
        "Move space takes another part of the map to the middle, by isometries; no distance "
        "changes. Names are those of the points next to the middle."
    )
    return Worksheet("Your map", state.query, (Step("", said, "", ()),))
