"""The inner loops of the search, compiled; the formulas are those of `geometry._distances`.

They release the interpreter's lock and start no threads of their own, so that they may run in any
thread pool and survive a fork. What they compute for a pair depends on that pair alone, and not,
like a matrix product, on its place in a block: equal rows have equal distances to the last bit.
"""

import numpy as np
from numba import njit

__all__ = [
    "add_distances",
    "affine_ranks",
    "build_tree",
    "coordinates",
    "search_nearest",
    "search_within",
]

LEAF = 24
"""Rows of a leaf: at the most so many are looked at one after the other."""

FEW = 8
"""Coordinates up to which a plain loop is faster than one that the compiler made wide."""

STACK = 128
"""Depth of the search's stack; a balanced tree of 2⁶⁴ rows needs half of it."""

CLOSE = 1e-4
"""‖z_p - z_q‖² relative to ‖z_p‖² + ‖z_q‖² under which the difference of z loses digits."""


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def dot(a, b):
    """Return ⟨a, b⟩."""
    total = 0.0
    for t in range(a.shape[0]):
        total += a[t] * b[t]
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def apply(matrix, x, y, step, out):
    """Write matrix (x - y), four rows of the matrix at a time; `step` is room for x - y."""
    r, d = matrix.shape
    for t in range(d):
        step[t] = x[t] - y[t]
    whole = r - r % 4
    for i in range(0, whole, 4):
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for t in range(d):
            first += matrix[i, t] * step[t]
            second += matrix[i + 1, t] * step[t]
            third += matrix[i + 2, t] * step[t]
            fourth += matrix[i + 3, t] * step[t]
        out[i], out[i + 1], out[i + 2], out[i + 3] = first, second, third, fourth
    for i in range(whole, r):
        out[i] = dot(matrix[i], step)


@njit(nogil=True, cache=True, error_model="numpy")
def coordinates(X, factor, center):
    """Return z = L(x - μ) of rows."""
    z, step = np.empty((len(X), factor.shape[0])), np.empty(factor.shape[1])
    for i in range(len(X)):
        apply(factor, X[i], center, step, z[i])
    return z


@njit(nogil=True, cache=True, error_model="numpy")
def normalise(u):
    """Divide u by its largest entry, lest its squares under- or overflow; return the scale."""
    scale = 0.0
    for t in range(u.shape[0]):
        scale = max(scale, abs(u[t]))
    if scale == 0:
        return 1.0
    for t in range(u.shape[0]):
        u[t] /= scale
    return scale


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def wedge_elliptic(u, c, K):
    """Return W = ‖u‖² + K ‖c‖² ‖u across c‖²."""
    uu, uc, cc = dot(u, u), dot(u, c), dot(c, c)
    share = uc / cc if cc > 0 else 0.0
    across = 0.0
    for t in range(u.shape[0]):
        e = u[t] - share * c[t]
        across += e * e
    return uu + K * cc * across


@njit(nogil=True, cache=True, error_model="numpy")
def elliptic_distance(K, scale, u, z_p, s_p, z_q, s_q):
    """Return the distance for K > 0; z_p and z_q may be overwritten."""
    k = np.sqrt(K)
    s_pq = 1 + K * dot(z_p, z_q)
    if s_p < s_q:
        c = z_p
    elif s_q < s_p:
        c = z_q
    else:
        for t in range(u.shape[0]):
            z_p[t] = z_p[t] / 2 + z_q[t] / 2
        c = z_p
    return np.arctan2(k * scale * np.sqrt(wedge_elliptic(u, c, K)), s_pq) / k


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def hyperbolic_distance(K, scale, u, s_p, z_q, s_q):
    """Return the distance for K < 0, u = L(p - q)."""
    k = np.sqrt(-K)
    uu, uc = 0.0, 0.0
    for t in range(u.shape[0]):
        uu += u[t] * u[t]
        uc += u[t] * (z_q[t] + scale * u[t] / 2)  # the midpoint of z_p and z_q
    s_c = (s_p + s_q) / 2 + (k * scale) ** 2 * uu / 4
    w = uu * s_c - K * uc * uc
    return np.arcsinh(k * scale * np.sqrt(w) / np.sqrt(s_p * s_q)) / k


@njit(nogil=True, cache=True, error_model="numpy")
def add_distances(
    Q, z_q, s_q, X, z, s, factor, K, weight, rows, columns, begin, end, out
):  # fmt: skip
    """Add weight · distance of the pairs begin…end, each a row of Q and one of X.

    Parameters
    ----------
    Q, X : ndarray of shape (m, d), (n, d)
    z_q, z : ndarray of shape (m, r), (n, r)
        L(x - μ). Their difference is L(p - q), which is computed as such for close pairs.
    s_q, s : ndarray of shape (m,), (n,)
        S(x, x). A query with s_q ≤ 0 is infinitely far.
    rows, columns : ndarray of shape (p,)
        The pairs; a column -1 stands for no row, infinitely far.
    out : ndarray of shape (p,)
    """
    r = factor.shape[0]
    u, z_p, step = np.empty(r), np.empty(r), np.empty(factor.shape[1])
    for t in range(begin, end):
        i, j = rows[t], columns[t]
        if j < 0 or not s_q[i] > 0:
            out[t] = np.inf
            continue
        gap, size = 0.0, 0.0
        for a in range(r):
            u[a] = z[j, a] - z_q[i, a]
            gap += u[a] * u[a]
            size += z[j, a] * z[j, a] + z_q[i, a] * z_q[i, a]
        if not gap > CLOSE * size:
            apply(factor, X[j], Q[i], step, u)
        scale = normalise(u)
        if K == 0:
            distance = scale * np.sqrt(dot(u, u))
        elif K < 0:
            distance = hyperbolic_distance(K, scale, u, s[j], z_q[i], s_q[i])
        else:
            for a in range(r):
                z_p[a] = z[j, a]
            distance = elliptic_distance(K, scale, u, z_p, s[j], z_q[i], s_q[i])
        out[t] += weight * distance


@njit(nogil=True, cache=True, error_model="numpy")
def affine_ranks(z_q, X, s, factor, center, rows, columns):
    """Return -f_p(x) of pairs (`geometry._bisectors`), which ranks the rows p for any query x."""
    out = np.empty(len(rows))
    z_p, step = np.empty(factor.shape[0]), np.empty(factor.shape[1])
    for t in range(len(rows)):
        i, j = rows[t], columns[t]
        if j < 0:
            out[t] = np.inf
            continue
        apply(factor, X[j], center, step, z_p)
        sigma = np.sqrt(s[j])
        out[t] = dot(z_p, z_p) / (sigma * (1 + sigma)) - dot(z_p, z_q[i]) / sigma
    return out


# -- the tree of vantage points -------------------------------------------------------


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def square_gap(v, i, w, j, begin, end):
    """Return the square distance of two rows over some of their coordinates."""
    total = 0.0
    for t in range(begin, end):
        e = v[i, t] - w[j, t]
        total += e * e
    return total


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def chord_distance(v, i, w, j, cuts, curvatures, units, limit):
    """Return Σ weight · d of two rows, or the limit once that is passed.

    A row is its lifts v side by side, cut at `cuts`, and then its scales, 1 or 1/σ. A unit is
    weight/√|K|, or the weight for K = 0.
    """
    scales = cuts[len(curvatures)]
    total = 0.0
    for p in range(len(curvatures)):
        K, unit = curvatures[p], units[p]
        gap = 0.0
        if cuts[p + 1] - cuts[p] < FEW:
            for t in range(cuts[p], cuts[p + 1]):
                e = v[i, t] - w[j, t]
                gap += e * e
        else:
            gap = square_gap(v, i, w, j, cuts[p], cuts[p + 1])
        if K == 0:
            total += unit * np.sqrt(gap)
        elif K > 0:
            h = min(K * gap / 4, 1.0)
            root = np.sqrt(h)
            if total + 2 * unit * root >= limit:  # arcsin r ≥ r
                return limit
            total += 2 * unit * np.arctan2(root, np.sqrt(1 - h))
        else:
            h = -K * gap * v[i, scales + p] * w[j, scales + p] / 4
            e = 2 * (h + np.sqrt(h + h * h))
            if unit * e >= (limit - total) * (1 + e / 2):  # log(1 + e) ≥ e/(1 + e/2)
                return limit
            total += unit * np.log1p(e)
        if total >= limit:
            return limit
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def build_tree(v, cuts, curvatures, units):
    """Order rows as a tree of vantage points.

    A node is a run of rows. Its first is the vantage point; the others follow by their distance
    from it, the nearer half one child and the farther half the other. The vantage point of a
    child is the one of its rows farthest from its parent's.

    Returns
    -------
    order : ndarray of shape (n,)
        The rows in the tree's order.
    runs : ndarray of shape (nodes, 4)
        First row, last row + 1, near child and far child, which are -1 for a leaf.
    shells : ndarray of shape (nodes, 2)
        The smallest and the largest distance of a node's rows from its parent's vantage point.
    to_vantage : ndarray of shape (n,)
        Distance of each row from the vantage point of its leaf's parent.
    """
    n = len(v)
    order = np.arange(n)
    to_vantage = np.zeros(n)
    most = 2 * (2 * n // LEAF + 2) + 1
    runs, shells = np.full((most, 4), -1, dtype=np.int64), np.zeros((most, 2))
    runs[0, 0], runs[0, 1] = 0, n
    count, node = 1, 0
    while node < count:
        begin, end = runs[node, 0], runs[node, 1]
        if end - begin > LEAF:
            order[begin], order[end - 1] = order[end - 1], order[begin]
            top = order[begin]
            distances = np.empty(end - begin - 1)
            for t in range(begin + 1, end):
                distances[t - begin - 1] = chord_distance(
                    v, top, v, order[t], cuts, curvatures, units, np.inf
                )
            ranks = np.argsort(distances)
            order[begin + 1 : end] = order[begin + 1 : end][ranks]
            to_vantage[begin + 1 : end] = distances[ranks]
            half = (begin + 1 + end) // 2
            for side in range(2):
                first, last = (begin + 1, half) if side == 0 else (half, end)
                runs[count, 0], runs[count, 1] = first, last
                shells[count, 0], shells[count, 1] = to_vantage[first], to_vantage[last - 1]
                runs[node, 2 + side] = count
                count += 1
        node += 1
    return order, runs[:count].copy(), shells[:count].copy(), to_vantage


@njit(nogil=True, cache=True, error_model="numpy")
def push(heap, rows, size, value, row):
    """Put a value in the place of the largest of a heap."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[at], rows[at] = heap[child], rows[child]
        at = child
    heap[at], rows[at] = value, row


@njit(nogil=True, cache=True, error_model="numpy")
def search_nearest(
    begin, end, values, rows, evaluated, q, slack, v, cuts, curvatures, units,
    runs, shells, to_vantage,
):  # fmt: skip
    """Find the rows nearest to queries begin…end, as many as `values` has columns.

    Parameters
    ----------
    values, rows : ndarray of shape (m, k)
        Filled with distances, to rounding, and rows in the tree's order.
    evaluated : ndarray of shape (m,)
        Filled with the number of distances that were measured.
    slack : ndarray of shape (m,)
        By how much the inequality |d(q, v) - d(v, p)| ≤ d(q, p) may fail by rounding.
    """
    nodes, bounds, centers = np.empty(STACK, np.int64), np.empty(STACK), np.empty(STACK)
    k = values.shape[1]
    for i in range(begin, end):
        heap, found = values[i], rows[i]
        heap[:] = np.inf
        found[:] = -1
        depth, measured = 1, 0
        nodes[0], bounds[0], centers[0] = 0, 0.0, 0.0
        while depth > 0:
            depth -= 1
            if bounds[depth] > heap[0]:
                continue
            node, from_parent = nodes[depth], centers[depth]
            first, last = runs[node, 0], runs[node, 1]
            near, far = runs[node, 2], runs[node, 3]
            if near < 0:
                for j in range(first, last):
                    if node and abs(from_parent - to_vantage[j]) - slack[i] > heap[0]:
                        continue
                    measured += 1
                    d = chord_distance(q, i, v, j, cuts, curvatures, units, heap[0])
                    if d < heap[0]:
                        push(heap, found, k, d, j)
                continue
            measured += 1
            d = chord_distance(q, i, v, first, cuts, curvatures, units, np.inf)
            if d < heap[0]:
                push(heap, found, k, d, first)
            least = bounds[depth]
            # The child more likely to hold neighbours is pushed last, and so visited first.
            if d < (shells[near, 1] + shells[far, 0]) / 2:
                near, far = far, near
            for child in (near, far):
                bound = max(least, max(shells[child, 0] - d, d - shells[child, 1]) - slack[i])
                if bound <= heap[0]:
                    nodes[depth], bounds[depth], centers[depth] = child, bound, d
                    depth += 1
        evaluated[i] = measured


@njit(nogil=True, cache=True, error_model="numpy")
def search_within(
    begin, end, limit, q, slack, v, cuts, curvatures, units, runs, shells,
    to_vantage,
):  # fmt: skip
    """Return the pairs of queries begin…end and rows nearer than each query's limit.

    The search is that of `search_nearest`, with a limit that stays where it is.
    """
    nodes, centers = np.empty(STACK, np.int64), np.empty(STACK)
    count = 0
    queries, rows = np.empty(1024, np.int64), np.empty(1024, np.int64)
    for i in range(begin, end):
        depth = 1
        nodes[0], centers[0] = 0, 0.0
        while depth > 0:
            depth -= 1
            node, from_parent = nodes[depth], centers[depth]
            first, last, near = runs[node, 0], runs[node, 1], runs[node, 2]
            if near >= 0:
                last = first + 1
            for j in range(first, last):
                if near < 0 and node and abs(from_parent - to_vantage[j]) - slack[i] > limit[i]:
                    continue
                d = chord_distance(q, i, v, j, cuts, curvatures, units, np.inf)
                if d < limit[i]:
                    if count == len(rows):
                        queries, rows = doubled(queries), doubled(rows)
                    queries[count], rows[count] = i, j
                    count += 1
            if near < 0:
                continue
            for child in (near, runs[node, 3]):
                if max(shells[child, 0] - d, d - shells[child, 1]) - slack[i] <= limit[i]:
                    nodes[depth], centers[depth] = child, d
                    depth += 1
    return queries[:count].copy(), rows[:count].copy()


@njit(nogil=True, cache=True, error_model="numpy")
def doubled(array):
    """Return a copy with as much room again."""
    longer = np.empty(2 * len(array), array.dtype)
    longer[: len(array)] = array
    return longer
