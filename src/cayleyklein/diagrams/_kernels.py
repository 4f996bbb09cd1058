"""The inner loops of point location, compiled."""

import numpy as np

from cayleyklein._jit import Kernel


@Kernel
def median_order(sites):
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
def walk_all(W, A, b, starts, neighbors, sites, found):
    """Find the highest plane over each query: descend to a site near it, then climb."""
    # Sites and planes are in `median_order`. By convexity a cell without higher neighbours holds w.
    d = W.shape[1]
    for q in range(len(W)):
        lo, hi, axis = 0, len(sites), 0
        while hi - lo > 1:
            middle = (lo + hi) // 2
            if W[q, axis] < sites[middle, axis]:
                hi = middle
            else:
                lo = middle
            axis = axis + 1 if axis + 1 < d else 0
        here, best, height = -1, lo, b[lo]
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
