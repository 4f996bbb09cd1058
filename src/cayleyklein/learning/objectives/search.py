"""The nearest rows of anchors under the metric being evaluated, in blocks of bounded memory."""

from collections.abc import Callable, Iterator

import numpy as np

from cayleyklein._jit import vectorised
from cayleyklein._typing import Floats, Ints

CHORD_ENTRIES = 2_000_000  # of a block of squared chords: 16 MB
SCAN_ROUNDING = 1e-9  # room for the rounding of a matrix product, a million times what it can be

Sqchords = Callable[[Ints, Ints], Floats]


def blocks_of(n_anchors: int, n_rows: int) -> Iterator[slice]:
    size = max(1, CHORD_ENTRIES // n_rows)
    for start in range(0, n_anchors, size):
        yield slice(start, min(start + size, n_anchors))


class NearestRows:
    """Search the nearest rows of anchors (a,), without rows `first` to `last` (its own class)."""

    def __init__(self, n_rows: int, anchors: Ints, first: Ints, last: Ints) -> None:
        self.n_rows, self.anchors, self.first, self.last = n_rows, anchors, first, last
        self._last_found: dict[int, Ints] = {}
        # memory for a block of products: asking the system for it again costs as much as them
        size = min(len(anchors), max(1, CHORD_ENTRIES // n_rows))
        self._room = np.empty((size, n_rows))

    def products(self, lift: Floats, signature: Floats, block: slice) -> tuple[Floats, Floats]:
        """Return the forms of a block of anchors with all rows, and of each row with itself."""
        sqnorm = np.einsum("ij,ij,j->i", lift, lift, signature)
        room = self._room[: len(self.anchors[block])]
        return np.matmul(lift[self.anchors[block]] * signature, lift.T, out=room), sqnorm

    def find(
        self, lift: Floats, signature: Floats, block: slice, m: int,
        reach: Floats | None = None, sqchords: Sqchords | None = None,
    ) -> Ints:  # fmt: skip
        """Return the m nearest rows (b, m) within reach (c²) of each anchor; -1 for none.

        With `sqchords`, the m rows of the last call bound how far those of this one are.
        """
        anchors = self.anchors[block]
        reach = np.full(len(anchors), np.inf) if reach is None else reach
        last = self._last_found.get(block.start)
        if sqchords is not None and last is not None:
            far = sqchords(anchors, np.where(last >= 0, last, anchors[:, None])).max(axis=1)
            rounding = SCAN_ROUNDING * (far + float(np.square(lift).max()))
            near = np.minimum(reach, far + rounding + np.finfo(float).tiny)
            reach = np.where((last >= 0).all(axis=1), near, reach)
        product, sqnorm = self.products(lift, signature, block)
        found = np.full((len(anchors), m), -1)
        _scan(product, sqnorm, sqnorm[anchors], self.first[block], self.last[block], reach, found)
        self._last_found[block.start] = found
        return found


@vectorised
def _scan(product, sqnorm, own, first, last, reach, found):  # type: ignore[no-untyped-def]
    """Write the columns of least own_i + sqnorm_j - 2 product_ij, nearest first."""
    chunk, n, m = 16, product.shape[1], found.shape[1]  # of a chunk the minimum is looked at first
    value = np.empty(m)
    for i in range(product.shape[0]):
        count, bound = 0, reach[i] - own[i]
        for side in range(2):
            start, end = (0, first[i]) if side == 0 else (last[i], n)
            for s in range(start, end, chunk):
                e = min(s + chunk, end)
                least = np.inf
                for j in range(s, e):
                    least = min(least, sqnorm[j] - 2 * product[i, j])
                if not least < bound:
                    continue
                for j in range(s, e):
                    v = sqnorm[j] - 2 * product[i, j]
                    if v < bound:
                        p = min(count, m - 1)
                        while p > 0 and value[p - 1] > v:
                            value[p], found[i, p] = value[p - 1], found[i, p - 1]
                            p -= 1
                        value[p], found[i, p] = v, j
                        count = min(count + 1, m)
                        if count == m:
                            bound = value[m - 1]
