"""The nearest rows of anchors under the metric being evaluated, in blocks of bounded memory."""

from collections.abc import Iterator

import numpy as np

from cayleyklein._jit import vectorised
from cayleyklein._typing import Floats, Ints
from cayleyklein.learning.objectives.lifted import LiftedRows

CHORD_ENTRIES = 2_000_000  # of a block of squared chords: 16 MB
# Columns from which products take most of the time, in single precision half of it; rows that are
# then found beyond those asked for.
SINGLE_FROM, MORE_FOUND = 64, 6
SCAN_ROUNDING = 1e-9  # room for the rounding of a matrix product, a million times what it can be


def blocks_of(stop: int, n_rows: int, start: int = 0) -> Iterator[slice]:
    """Yield blocks of the anchors from `start` to `stop`."""
    size = max(1, CHORD_ENTRIES // n_rows)
    for at in range(start, stop, size):
        yield slice(at, min(at + size, stop))


class NearestRows:
    """Search the nearest rows of anchors (a,), without rows `first` to `last` (its own class)."""

    def __init__(self, n_rows: int, anchors: Ints, first: Ints, last: Ints) -> None:
        self.anchors, self.first, self.last = anchors, first, last
        self._last_found: dict[int, Ints] = {}
        # memory for a block of products: asking the system for it again costs as much as them
        self._room = np.empty(min(len(anchors), max(1, CHORD_ENTRIES // n_rows)) * n_rows)

    def find(
        self, placed: LiftedRows, block: slice, m: int, reach: Floats | None = None,
        among: slice = slice(None),
    ) -> Ints:  # fmt: skip
        """Return the m nearest rows (b, m) within reach (c²) of each anchor; -1 for none.

        The m rows of the last call bound how far those of this one are. Rows of many columns are
        searched in single precision. Only rows of the slice `among` are looked at.
        """
        anchors = self.anchors[block]
        reach = np.full(len(anchors), np.inf) if reach is None else reach
        last = self._last_found.get(block.start)
        if last is not None:
            far = placed.sqchords(anchors, np.where(last >= 0, last, anchors[:, None])).max(axis=1)
            rounding = SCAN_ROUNDING * (far + float(placed.length.max()) ** 2)
            near = np.minimum(reach, far + rounding + np.finfo(float).tiny)
            reach = np.where((last >= 0).all(axis=1), near, reach)
        if len(placed.signature) < SINGLE_FROM:
            found = self._scanned(placed, block, m, reach, among)
        else:
            found = self._found_in_single(placed, block, m, reach, among)
        self._last_found[block.start] = found
        return found

    def _scanned(
        self, placed: LiftedRows, places: slice | Ints, m: int, reach: Floats, among: slice, *,
        single: bool = False,
    ) -> Ints:  # fmt: skip
        anchors, start = self.anchors[places], among.start or 0
        lift = placed.single if single else placed.lift
        own, others = lift[anchors] * placed.signature.astype(lift.dtype), lift[among]
        room = self._room.view(lift.dtype)[: len(own) * len(others)].reshape(len(own), -1)
        product = np.matmul(own, others.T, out=room)  # the forms of anchors with other rows
        found = np.full((len(own), m), -1)
        bound = reach - placed.sqnorm[anchors]
        first, last = self.first[places] - start, self.last[places] - start
        _scan(product, placed.sqnorm[among], first, last, bound, found, np.empty(m))
        return np.where(found >= 0, found + start, -1) if start else found

    def _found_in_single(
        self, placed: LiftedRows, block: slice, m: int, reach: Floats, among: slice
    ) -> Ints:
        """Search in single precision for some rows more, and measure them in double.

        A product of r terms is off by (r + 4) 2⁻²⁴ times both lengths at most. Rows that were not
        found are no nearer than the last one found, less twice the error: where that is not beyond
        the m-th, the anchor is searched again in double precision.
        """
        anchors, signature = self.anchors[block], placed.signature
        size = max(1.0, abs(signature[-1])) * placed.length.max() * placed.length[anchors]
        error = 2 * (len(signature) + 4) * 2.0**-24 * size
        near = self._scanned(placed, block, m + MORE_FOUND, reach + error, among, single=True)
        sqchord = placed.sqchords(anchors, np.where(near >= 0, near, anchors[:, None]))
        end = np.where(near[:, -1] >= 0, sqchord[:, -1] - 2 * error, np.inf)
        sqchord[(near < 0) | (sqchord >= reach[:, None])] = np.inf
        order = np.argsort(sqchord, axis=1, kind="stable")[:, :m]
        sqchord = np.take_along_axis(sqchord, order, axis=1)
        found = np.where(sqchord < np.inf, np.take_along_axis(near, order, axis=1), -1)
        unsure = np.flatnonzero(end < np.minimum(sqchord[:, -1], reach))
        if len(unsure):
            found[unsure] = self._scanned(placed, unsure + block.start, m, reach[unsure], among)
        return found


@vectorised
def _scan(product, sqnorm, first, last, bounds, found, value):  # type: ignore[no-untyped-def]
    """Write the columns of least sqnorm_j - 2 product_ij below a bound, nearest first."""
    chunk, n, m = 8, product.shape[1], found.shape[1]
    for i in range(product.shape[0]):
        count, bound = 0, bounds[i]
        for side in range(2):
            start, end = (0, first[i]) if side == 0 else (last[i], n)
            for s in range(start, end, chunk):
                e = min(s + chunk, end)
                if e == s + chunk:  # of a whole chunk the minimum is looked at first
                    least = np.inf
                    for j in range(chunk):
                        least = min(least, sqnorm[s + j] - 2 * product[i, s + j])
                    if not least < bound:
                        continue
                for j in range(s, e):
                    v = sqnorm[j] - 2 * product[i, j]
                    if v < bound:
                        p = count if count < m else m - 1
                        count = p + 1
                        while p > 0 and value[p - 1] > v:
                            value[p], found[i, p] = value[p - 1], found[i, p - 1]
                            p -= 1
                        value[p], found[i, p] = v, j
                        if count == m:
                            bound = value[m - 1]
