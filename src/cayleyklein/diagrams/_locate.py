"""Point location: a walk on the dual from a site that a k-d tree finds nearby.

The descent takes log₂ n steps, and the walk a few, since the descent ends close by.
"""

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.diagrams._kernels import median_order, walk_all
from cayleyklein.diagrams._power import Groups, PowerDiagram

BLOCK = 2**22
"""Entries of a block of values of all planes, for the few queries beyond the walls."""


class Locator:
    """Finds the highest of the planes of a power diagram over queries.

    Parameters
    ----------
    power : PowerDiagram
    A, b : ndarray of shape (n, d) and (n,)
        Its planes.
    walls : tuple of ndarray
        Its walls N, r.
    sites : ndarray of shape (n, d)
        A point in each cell, or not far from it.
    """

    def __init__(
        self, power: PowerDiagram, A: Floats, b: Floats, walls: tuple[Floats, Floats], sites: Floats
    ) -> None:
        self.walls = walls
        used = np.flatnonzero(power.used)
        # in the tree's order cells that are close lie close in memory
        self.rows = used[median_order(np.ascontiguousarray(sites[used]))]
        self.A, self.b, self.sites = (np.ascontiguousarray(v[self.rows]) for v in (A, b, sites))
        place = np.empty(power.n, dtype=np.intp)
        place[self.rows] = np.arange(len(self.rows))
        pairs, _ = power.ridges
        pairs = place[pairs[(pairs < power.n).all(axis=1)]]
        pairs = np.vstack([pairs, pairs[:, ::-1]])
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        self.graph = Groups.of(pairs[:, 0], np.ascontiguousarray(pairs[:, 1]), len(self.rows))

    def __call__(self, w: Floats) -> Ints:
        """Return the rows of the highest planes over queries w."""
        w = np.ascontiguousarray(w)
        found = np.empty(len(w), dtype=np.intp)
        starts, neighbors = self.graph.starts, self.graph.members
        walk_all(w, self.A, self.b, starts, neighbors, self.sites, found)
        N, r = self.walls
        beyond = np.flatnonzero(~(w @ N.T <= r).all(axis=1))  # ridges out there are not known
        for rows in np.array_split(beyond, 1 + len(beyond) * len(self.b) // BLOCK):
            found[rows] = np.argmax(w[rows] @ self.A.T + self.b, axis=1)
        return np.asarray(self.rows[found])
