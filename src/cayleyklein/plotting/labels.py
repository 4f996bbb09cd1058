"""Places of labels, which keep clear of each other, of marks and of lines.

A label has some places on the screen where it may stand, the best first, and goes to one of eight
sides of one of them. What is drawn lies on a grid of cells of a few pixels, each with a weight; the
sum under a label's box comes from four corners of the grid's running sum.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.plotting.shapes import WORD_HEIGHT, Shape

CELL = 3.0  # of the grid, in pixels


class Label(NamedTuple):
    text: str
    color: str
    anchors: Floats  # (m, 2) on the screen, the best first
    clearance: float = 7.0  # pixels from the place to the text


class LabelFrame(NamedTuple):
    """The part of a view that is shown, (2, 2), and its width in pixels."""

    window: Floats
    width: float

    @property
    def scale(self) -> float:
        return self.width / float(np.ptp(self.window[:, 0]))

    def to_pixels(self, xy: Floats) -> Floats:
        """Return places in pixels from the upper left corner, with y downwards."""
        corner = np.array([self.window[0, 0], self.window[1, 1]])
        return np.asarray((xy - corner) * [self.scale, -self.scale])


def place_labels(
    labels: Sequence[Label], shapes: Iterable[Shape], frame: LabelFrame
) -> list[Shape]:
    """Return labels as "words", each centred at its place moved by `shift` pixels."""
    labels = [label for label in labels if len(label.anchors)]
    if not labels:
        return []
    sides = np.array([(1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1)], float)
    nearer_at_corners = np.where(sides.all(axis=1), 0.7, 1)[:, None]
    total = _running_sum(shapes, frame)
    taken = np.empty((0, 2, 2))
    found = []
    for label in labels:
        width = 0.5 * max(len(label.text), 1)  # in heights: a letter is half as wide as high
        half = 0.5 * WORD_HEIGHT * np.array([width, 1.0])
        spots = frame.to_pixels(label.anchors)
        shifts = sides * [1, -1] * (half + label.clearance * nearer_at_corners)
        middles = (spots[:, None] + shifts).reshape(-1, 2)
        boxes = np.stack([middles - half, middles + half], axis=1)
        # Per cell: what is covered costs up to 2.5, what the window cuts off 10, another label 50.
        cost = _sums(total, boxes) + 50.0 * _overlaps(boxes, taken) + 10.0 * _outside(boxes, frame)
        best = int(np.argmin(cost + 0.01 * np.arange(len(cost))))  # of equal ones the first
        taken = np.concatenate([taken, boxes[best][None]])
        anchor, side = divmod(best, len(sides))
        found.append(
            Shape(
                "words",
                label.anchors[anchor][None],
                label.color,
                text=(label.text,),
                shift=shifts[side][None],
            )
        )
    return found


def _running_sum(shapes: Iterable[Shape], frame: LabelFrame) -> Floats:
    size = np.ceil(np.ptp(frame.window, axis=0) * frame.scale / CELL).astype(int) + 1
    grid = np.zeros((size[1], size[0]))
    for shape in shapes:
        if shape.kind not in ("line", "marks"):
            continue
        seen = frame.to_pixels(shape.xy)
        if shape.kind == "line":
            weight = 1.0 if shape.size * shape.alpha >= 1.4 else 0.2
            spots = _along(seen)
        else:
            weight = 2.5
            steps = np.arange(-shape.size, shape.size + CELL, CELL)
            around = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
            spots = (seen[:, None] + around).reshape(-1, 2)
        spots = spots[~np.isnan(spots[:, 0])] / CELL
        spots = spots[((spots >= 0) & (spots < size)).all(axis=1)].astype(int)
        grid[spots[:, 1], spots[:, 0]] = np.maximum(grid[spots[:, 1], spots[:, 0]], weight)
    total = np.zeros((size[1] + 1, size[0] + 1))
    total[1:, 1:] = grid.cumsum(axis=0).cumsum(axis=1)
    return total


def _along(path: Floats) -> Floats:
    """Return places along a path, a cell apart."""
    start = path[:-1]
    step = np.diff(path, axis=0)
    length = np.nan_to_num(np.abs(step).max(axis=1, initial=0.0))
    most = 400  # of a piece, which may be far longer than the window
    count = np.minimum(np.ceil(length / CELL), most).astype(int)
    row = np.repeat(np.arange(len(step)), count)
    part = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    return np.asarray(start[row] + (part / np.maximum(count[row], 1))[:, None] * step[row])


def _sums(total: Floats, boxes: Floats) -> Floats:
    most = np.array(total.shape[::-1]) - 1
    low = np.clip(np.floor(boxes[:, 0] / CELL), 0, most).astype(int)
    high = np.clip(np.ceil(boxes[:, 1] / CELL), 0, most).astype(int)
    (left, top), (right, bottom) = low.T, high.T
    return np.asarray(
        total[bottom, right] - total[top, right] - total[bottom, left] + total[top, left]
    )


def _overlaps(boxes: Floats, taken: Floats) -> Floats:
    low = np.maximum(boxes[:, None, 0], taken[None, :, 0])
    high = np.minimum(boxes[:, None, 1], taken[None, :, 1])
    both = np.maximum(high - low, 0.0) / CELL
    return np.asarray(both.prod(axis=-1).sum(axis=1))


def _outside(boxes: Floats, frame: LabelFrame) -> Floats:
    size = np.ptp(frame.window, axis=0) * frame.scale
    inside = np.minimum(boxes[:, 1], size) - np.maximum(boxes[:, 0], 0.0)
    whole = boxes[:, 1] - boxes[:, 0]
    return np.asarray((whole.prod(axis=1) - np.maximum(inside, 0.0).prod(axis=1)) / CELL**2)
