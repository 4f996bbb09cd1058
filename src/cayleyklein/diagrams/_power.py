"""Power diagrams as convex hulls, cut by half-spaces.

The upper envelope of f_i(w) = ⟨A_i, w⟩ + b_i is dual to the upper hull of the points (A_i, b_i)
(no paraboloid is needed). A half-space ⟨N, w⟩ ≤ r enters the same hull as a *wall*, the limit of
the planes G(⟨N, w⟩ - r) for G → ∞. To have that limit at a finite place the hull is taken in the
projective image

    (A, b) ↦ (A, b)/(1 - b),    wall ↦ (N/r, -1),

which is regular on b ≤ 0 and puts far generators and walls in a box of order 1. Every cell is
then bounded, and the hull of full dimension whatever the generators: one, collinear, cospherical.

In a cell of order k a set T of k generators are the k nearest: the mean of their planes is the
highest of all such means. Let t be the farthest of T at a point of the cell. There T without
t is a cell of order k - 1. Going straight to t, one meets another generator of T as far, and beyond
it another cell of order k - 1, which has t. So the sets of order k - 1 with one more generator,
which a neighbour has, are all the candidates; sets without a cell drop out of the hull. The way
stays within any convex set that holds the generators, and so walls around them lose no cell.
Of generators that coincide, sets take the *copies* in the order of their rows, and a set of copies
of one alone has no neighbour to meet on the way: its next copy is a candidate too.
"""

from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError

from cayleyklein._jit import Kernel
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import check_memory
from cayleyklein.exceptions import InvalidInputError


class Groups(NamedTuple):
    members: Ints
    starts: Ints  # group g is members[starts[g]:starts[g + 1]]

    @classmethod
    def of(cls, keys: Ints, members: Ints, n_groups: int) -> "Groups":
        """Group members by keys 0, 1, …, which must be sorted."""
        return cls(members, np.searchsorted(keys, np.arange(n_groups + 1)))

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)

    @property
    def keys(self) -> Ints:
        return np.repeat(np.arange(len(self.starts) - 1), self.sizes)

    def take(self, groups: Ints | Bools) -> "Groups":
        sizes = self.sizes[groups]
        starts = np.append(0, np.cumsum(sizes))
        shift = np.repeat(self.starts[:-1][groups] - starts[:-1], sizes)
        return Groups(self.members[np.arange(starts[-1]) + shift], starts)

    def following(self) -> Ints:
        """Return for each member the one after it in its group, cyclically."""
        following = np.roll(self.members, -1)
        filled = self.sizes > 0
        following[self.starts[1:][filled] - 1] = self.members[self.starts[:-1][filled]]
        return following

    def fans(self) -> tuple[Ints, Ints]:
        """Cut polygons into triangles from their first corner; return these, and their polygons."""
        key = self.keys
        place = np.arange(len(self.members))
        place = place - self.starts[key]
        second = np.flatnonzero((place > 0) & (place < self.sizes[key] - 1))
        corners = np.stack([self.starts[key[second]], second, second + 1], axis=1)
        return self.members[corners], key[second]

    def of_group(self, group: int | np.intp) -> Ints:
        return self.members[self.starts[group] : self.starts[group + 1]]

    def renumber(self, number: Ints, *, cyclic: bool) -> list[list[int]]:
        """Return the numbers of the members of each group; several -1 in a row become one."""
        flat = number[self.members].tolist()
        lists: list[list[int]] = [flat[a:b] for a, b in pairwise(self.starts.tolist())]
        for k in np.unique(self.keys[number[self.members] < 0]):
            if not cyclic:
                lists[k] = sorted(set(lists[k]))
                continue
            kept: list[int] = []
            before = lists[k][-1]
            for i in lists[k]:
                if max(i, before) >= 0:
                    kept.append(i)
                before = i
            lists[k] = kept or [-1]
        return lists


class PowerDiagram:
    """Cells {w : f_i(w) ≥ f_j(w) for all j} within walls ⟨N, w⟩ ≤ r, r > 0, around w = 0.

    `simplices` (f, d + 1) are the generators that meet in a corner, n and above being walls;
    `corners` (c, d) are where they meet, and `corner_of` (f,) is the corner of each simplex, which
    the simplices of a degenerate corner share. `slopes` are those of the planes, then of the walls.
    """

    def __init__(self, A: Floats, b: Floats, N: Floats, r: Floats) -> None:
        self.n, self.dimension = A.shape
        b = b - b.max()  # a common constant does not move cells
        self.slopes = np.vstack([A, N])
        flat = np.vstack([A / (1 - b)[:, None], N / r[:, None]])
        height = np.append(b / (1 - b), np.full(len(N), -1.0))
        fatten = _fattening(flat)
        points = np.column_stack([flat @ fatten.T, height])
        # Q12: wide facets, as Delaunay of SciPy allows them; Qx: exact merging from 5-d on
        try:
            hull = ConvexHull(points, qhull_options="Qt Q12" + " Qx" * (self.dimension >= 4))
        except QhullError:  # merging facets of clusters in many dimensions can fail
            hull = ConvexHull(points, qhull_options="QJ")  # moves points by 1e-11 instead
        simplices = hull.simplices.astype(np.intp)
        equations = hull.equations
        floor = (simplices >= self.n).all(axis=1)  # walls alone: the facet below everything
        number = np.where(floor, -1, np.cumsum(~floor) - 1)
        self.simplices = simplices[~floor]
        self.neighbors = number[hull.neighbors[~floor]]
        equations = equations[~floor]
        self.corner_of, first = _merge_equal(equations, self.neighbors)
        normal, slope, constant = np.split(equations[first], [-2, -1], axis=1)
        if (slope == constant).any():  # a corner that should be within the walls, at infinity
            raise InvalidInputError(
                "points are partly so close together and partly so far away that the diagram is "
                "lost in rounding; drop the outliers, or make diagrams of the parts."
            )
        self.corners = normal @ fatten / (slope - constant)
        self.used = np.bincount(self.simplices.ravel(), minlength=self.n)[: self.n] > 0
        walled = self.corner_of[(self.simplices >= self.n).any(axis=1)]
        self.on_wall = np.bincount(walled, minlength=len(self.corners)) > 0

    @cached_property
    def cells(self) -> Groups:
        """The corners of each generator's cell, in the plane in order around it."""
        rows, columns = np.nonzero(self.simplices < self.n)
        cell = self.simplices[rows, columns]
        corner = self.corner_of[rows]
        if len(self.corners) < len(self.simplices):
            cell, corner = np.unique(np.stack([cell, corner]), axis=1)
        within: AnyArray = corner
        if self.dimension == 2:  # by the angle around the middle of the corners
            x, y = _from_middle(cell, self.corners[corner]).T
            within = np.arctan2(y, x)
        order = np.lexsort((within, cell))
        return Groups.of(cell[order], corner[order], self.n)

    @cached_property
    def facets(self) -> tuple[Ints, Groups]:
        """Pairs of cells with a common facet (walls are cells here), and its corners."""
        if self.dimension == 2:  # each is dual to two neighbouring simplices
            other, corners = self.neighbors.T, self.simplices.T
            ends = np.stack(np.broadcast_arrays(self.corner_of, self.corner_of[other]), axis=2)
            once = (other > np.arange(other.shape[1])) & (ends[..., 0] != ends[..., 1])
            pairs = np.stack([np.roll(corners, -1, 0)[once], np.roll(corners, -2, 0)[once]], axis=1)
            return pairs, Groups(ends[once].ravel(), np.arange(0, 2 * len(pairs) + 1, 2))
        # each is dual to an edge that simplices share
        sides = np.array(list(combinations(range(self.dimension + 1), 2)))
        edge = np.sort(self.simplices[:, sides].reshape(-1, 2), axis=1)
        corner = np.repeat(self.corner_of, len(sides))
        real = edge[:, 0] < self.n
        code = edge[real, 0] * (self.simplices.max() + 1) + edge[real, 1]
        code, corner = np.unique(np.stack([code, corner[real]]), axis=1)
        codes, key = np.unique(code, return_inverse=True)
        groups = Groups.of(key, corner, len(codes))
        # where simplices share a corner, some edges only cross it, or a lower face of it
        full = groups.sizes >= self.dimension
        pairs = np.stack(np.divmod(codes[full], self.simplices.max() + 1), axis=1)
        groups = groups.take(full)
        return pairs, self._polygons(groups) if self.dimension == 3 else groups

    @cached_property
    def ridges(self) -> tuple[Ints, Groups]:
        """The facets between two cells, neither of them a wall."""
        pairs, corners = self.facets
        inner = (pairs < self.n).all(axis=1)
        return pairs[inner], corners.take(inner)

    def _polygons(self, groups: Groups) -> Groups:
        key = groups.keys
        at = _from_middle(key, self.corners[groups.members])
        first = at[groups.starts[:-1]]
        normal = np.cross(first[key], at)
        longest = np.lexsort((-np.linalg.norm(normal, axis=1), key))[groups.starts[:-1]]
        second = np.cross(normal[longest], first)
        # each along its axis times the other axis's length: no division, for slivers too
        x = np.einsum("ij,ij->i", at, first[key]) * np.linalg.norm(second, axis=1)[key]
        y = np.einsum("ij,ij->i", at, second[key]) * np.linalg.norm(first, axis=1)[key]
        return Groups(groups.members[np.lexsort((np.arctan2(y, x), key))], groups.starts)


def _fattening(flat: Floats) -> Floats:
    """Return a linear map under which a thin hull of points (n, d) becomes thick."""
    # Qhull rounds equally in all directions, and would merge facets of collinear generators between
    # walls far away; a hull keeps its facets under such a map
    longest = np.abs(flat).max()
    _, extent, axes = np.linalg.svd((flat - flat.mean(axis=0)) / longest, full_matrices=False)
    if extent[-1] > 1e-3 * extent[0]:
        return np.asarray(np.eye(len(axes)) / max(1.0, longest))
    return np.asarray(axes * (extent[0] / extent / longest)[:, None])


def _merge_equal(equations: Floats, neighbors: Ints) -> tuple[Ints, Ints]:
    """Return the facet of each simplex, and the first simplex of each facet."""
    rows, columns = np.nonzero(neighbors > np.arange(len(neighbors))[:, None])
    others = neighbors[rows, columns]
    same = (equations[rows] == equations[others]).all(axis=1)
    graph = coo_array((same[same], (rows[same], others[same])), shape=(len(equations),) * 2)
    _, label = connected_components(graph, directed=False)
    return label.astype(np.intp), np.unique(label, return_index=True)[1]


def _from_middle(key: Ints, values: Floats) -> Floats:
    sums = np.stack([np.bincount(key, column)[key] for column in values.T], axis=1)
    return np.asarray(values - sums / np.bincount(key)[key][:, None])


def order_k(
    A: Floats,
    b: Floats,
    walls: tuple[Floats, Floats],
    order: int,
    original: Ints,
    weighted: bool = False,
) -> tuple[Ints, Floats, Floats, PowerDiagram]:
    """Return the candidate sets (m, k), their mean planes, and the diagram of these.

    In a weighted diagram some generators have no cell of order 1, and no way leads to their sites:
    each of them is a candidate with every set.
    """
    # original (n,) is the first row that each row is a copy of, itself in general
    n, d = A.shape
    sets = np.flatnonzero(original == np.arange(n))[:, None]
    # In the plane there are at most (2k - 1) n - k² + 1 cells of order k (Lee 1982).
    hidden: Ints | None = None
    most = (2 * order - 1) * n - order * order + 1 if order > 1 else 0
    while True:
        cells = max(most, len(sets))
        what = f"A diagram of order {order:,} with about {cells:,} cells"
        remedy = "Take a lower order or fewer points, or classify with CurvedNeighbors."
        check_memory(8.0 * cells * order * (d + 2), what, remedy)
        means, heights = A[sets].mean(axis=1), b[sets].mean(axis=1)
        diagram = PowerDiagram(means, heights, *walls)
        if sets.shape[1] == order:
            return sets, means, heights, diagram
        if hidden is None:
            hidden = sets[~diagram.used, 0] if weighted else np.empty(0, dtype=np.intp)
        sets = with_one_more(diagram, sets, original, hidden)


def with_one_more(diagram: Any, sets: Ints, original: Ints, hidden: Ints) -> Ints:
    """Return the candidates of the next order, from `used` and `ridges[0]` of a diagram of sets."""
    sides = sets[diagram.ridges[0].T]
    lone, proper = exchanges(sides, original)
    alone = sets[(original[sets] == original[sets[:, :1]]).all(axis=1)]
    grown = [np.column_stack([sides[0], lone[:, 1]])[proper]]
    if (original != np.arange(len(original))).any():
        rows = np.argsort(original, kind="stable")
        more = np.append(rows, -1)[np.argsort(rows)[alone[:, -1]] + 1]
        same = np.append(original, -1)[more] == original[alone[:, -1]]
        grown.append(np.column_stack([sides[1], lone[:, 0]])[proper])
        grown.append(np.column_stack([alone, more])[same])
    if len(hidden):
        what = f"{len(hidden):,} generators without a cell, beside {len(sets):,} sets"
        check_memory(16.0 * len(hidden) * sets.size, what, "Take a lower order or fewer points.")
        used = sets[diagram.used]
        beside = np.repeat(used, len(hidden), axis=0)
        added = np.tile(hidden, len(used))
        new = (beside != added[:, None]).all(axis=1)
        grown.append(np.column_stack([beside, added])[new])
    found = np.sort(np.vstack(grown), axis=1)
    n = len(original)
    k = found.shape[1]
    if k * np.log2(n) >= 63:
        return np.unique(found, axis=0)
    powers = n ** np.arange(k)[::-1]  # a set as one number, which sorts faster than a row
    return np.unique(found @ powers)[:, None] // powers % n


def exchanges(sides: Ints, original: Ints) -> tuple[Ints, Bools]:
    """Return the generators (m, 2) that ridges exchange, from the sets on both sides (2, m, k)."""
    # the earliest members not in the other set; and (m,) whether copies of one replace those of one
    same = sides[0][:, :, None] == sides[1][:, None, :]
    common = np.stack([same.any(axis=2), same.any(axis=1)])
    earliest = np.argmin(common, axis=2)[..., None]
    lone = np.take_along_axis(sides, earliest, axis=2)
    copies = original[sides] == original[lone]
    proper = ~common.all(axis=2) & (common | copies).all(axis=2)
    return lone[..., 0].T, proper.all(axis=0)


@Kernel
def median_order(sites: Floats) -> Ints:
    """Return an order of the sites that is a balanced k-d tree."""
    # node [lo, hi) at depth t has its median along axis t mod d at (lo + hi) // 2
    n, d = sites.shape
    order = np.arange(n)
    stack = [(0, n, 0)]
    while stack:
        lo, hi, depth = stack.pop()
        if hi - lo < 2:
            continue
        part = order[lo:hi].copy()
        order[lo:hi] = part[np.argsort(sites[part, depth % d])]
        middle = (lo + hi) // 2
        stack.append((lo, middle, depth + 1))
        stack.append((middle, hi, depth + 1))
    return order


@Kernel
def walk_all(
    W: Floats, A: Floats, b: Floats, starts: Ints, neighbors: Ints, sites: Floats, found: Ints
) -> None:
    """Find the highest plane over each query: descend to a site near it, then climb."""
    # Sites and planes are in `median_order`. By convexity a cell without higher neighbours holds w.
    d = W.shape[1]
    for q in range(len(W)):
        lo = 0
        hi = len(sites)
        axis = 0
        while hi - lo > 1:
            middle = (lo + hi) // 2
            if W[q, axis] < sites[middle, axis]:
                hi = middle
            else:
                lo = middle
            axis = axis + 1 if axis + 1 < d else 0
        here = -1
        best = lo
        height = b[lo]
        for k in range(d):
            height += A[lo, k] * W[q, k]
        while here != best:
            here = best
            for e in range(starts[here], starts[here + 1]):
                other = neighbors[e]
                value = b[other]
                for k in range(d):
                    value += A[other, k] * W[q, k]
                if value > height:
                    height, best = value, other
        found[q] = here
