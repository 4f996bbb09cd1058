"""The inner loops of point location, compiled."""

import numpy as np

from cayleyklein._jit import Kernel


@Kernel
def median_order(sites):
    """Return an order of the sites that is a balanced k-d tree.

    Node [lo, hi) at depth t has its median along axis t mod d at (lo + hi) // 2, with
    smaller values before it.
    """
    n, d = sites.shape
    order = np.arange(n)
    stack = [(0, n, 0)]
    while stack:
        lo, hi, depth = stack.pop()
        if hi - lo < 2:
            continue
        axis = depth % d
        part = order[lo:hi].copy()
        values = np.empty(hi - lo)
        for i in range(hi - lo):
            values[i] = sites[part[i], axis]
        order[lo:hi] = part[np.argsort(values)]
        middle = (lo + hi) // 2
        stack.append((lo, middle, depth + 1))
        stack.append((middle, hi, depth + 1))
    return order


@Kernel
def walk_all(W, A, b, starts, neighbors, sites, found):
    """Find the highest plane over each query: descend to a site near it, then climb.

    Sites, planes and neighbours are in the order that `median_order` gives.
    The envelope is convex, so a cell contains w when none of its neighbours is higher at w.
    """
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
        here = lo
        height = b[here]
        for k in range(d):
            height += A[here, k] * W[q, k]
        climbing = True
        while climbing:
            climbing = False
            best = here
            for e in range(starts[here], starts[here + 1]):
                other = neighbors[e]
                value = b[other]
                for k in range(d):
                    value += A[other, k] * W[q, k]
                if value > height:
                    height, best, climbing = value, other, True
            here = best
        found[q] = here
