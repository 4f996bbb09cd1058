"""The inner loop of cutting triangles along Voronoi cells, compiled."""

import numpy as np

from cayleyklein._jit import Kernel


@Kernel
def cut(corners, n, normal, offset, result):
    """Cut a convex polygon of n corners to ⟨normal, w⟩ + offset ≥ 0; return how many are left."""
    m = 0
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        at = corners[i, 0] * normal[0] + corners[i, 1] * normal[1] + offset
        then = corners[j, 0] * normal[0] + corners[j, 1] * normal[1] + offset
        if at >= 0:
            result[m] = corners[i]
            m += 1
        if at * then < 0:
            share = at / (at - then)
            result[m, 0] = corners[i, 0] + share * (corners[j, 0] - corners[i, 0])
            result[m, 1] = corners[i, 1] + share * (corners[j, 1] - corners[i, 1])
            m += 1
    return m


@Kernel
def cut_cells(triangles, first, sites, starts, neighbors, normals, offsets):
    """Cut triangles (t, 3, 2) along the cells of sites; return cells and triangles in them.

    Cell i is ⟨normals[e], z - sites[i]⟩ + offsets[e] ≥ 0 for e in starts[i]:starts[i + 1], the
    bisectors with neighbors[e]. `first` is a cell that each triangle meets; the others are found
    from neighbour to neighbour.
    """
    cells, pieces = [], []
    seen = np.full(len(sites), -1)
    most = 3
    for i in range(len(sites)):
        most = max(most, 3 + starts[i + 1] - starts[i])
    here, next_ = np.empty((most + 1, 2)), np.empty((most + 1, 2))
    for t in range(len(triangles)):
        stack = [first[t]]
        seen[first[t]] = t
        while stack:
            i = stack.pop()
            here[:3] = triangles[t] - sites[i]
            n = 3
            for e in range(starts[i], starts[i + 1]):
                n = cut(here, n, normals[e], offsets[e], next_)
                here, next_ = next_, here
                if n < 3:
                    break
            if n < 3:
                continue
            for k in range(1, n - 1):
                cells.append(i)
                for corner in (0, k, k + 1):
                    pieces.append(here[corner, 0] + sites[i, 0])
                    pieces.append(here[corner, 1] + sites[i, 1])
            for e in range(starts[i], starts[i + 1]):
                if seen[neighbors[e]] != t:
                    seen[neighbors[e]] = t
                    stack.append(neighbors[e])
    return np.array(cells), np.array(pieces).reshape(-1, 3, 2)
