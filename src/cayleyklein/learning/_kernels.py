"""The inner loops of the loss, compiled; see `_loss` for the formulas.

They release the interpreter's lock and start no threads of their own, so that they may run in
any thread pool and survive a fork.
"""

import numpy as np
from numba import njit

__all__ = [
    "chords_to",
    "farthest_reach",
    "find_forces",
    "gather_forces",
    "transpose",
]

SERIES_BELOW = 1e-3
"""|K c²| under which d(c²) is a series in K c²: five terms are exact to rounding."""

BUFFER = 256
"""Pairs gathered at a time."""

LARGE = 1e150
"""A product whose logarithm is taken before it overflows."""

TINY = 1e-12
"""Relative to the scale of a start, 1: smooths φ(d) = d where two rows coincide."""


@njit(nogil=True, cache=True, error_model="numpy")
def length(K, c2, bends):
    """Return d, ∂d/∂c² and, where K `bends`, ∂d/∂K at a square chord c² > 0."""
    c = np.sqrt(c2)
    x = K * c2
    if abs(x) < SERIES_BELOW:
        d = c * (1 + x * (1 / 24 + x * (3 / 640 + x * (5 / 7168 + x * (35 / 294912)))))
        by_K = c * c2 * (1 / 24 + x * (3 / 320 + x * (15 / 7168 + x * (35 / 73728))))
        return d, 0.5 / (c * np.sqrt(1 - x / 4)), by_K
    if K > 0:
        k = np.sqrt(K)
        half_cosine = np.sqrt(max(1 - x / 4, TINY))  # antipodal rows: a kink like that at d = 0
        d = 2 * np.arctan(k * c / (2 * half_cosine)) / k
    else:
        k = np.sqrt(-K)
        half_cosine = np.sqrt(1 - x / 4)
        d = 2 * np.arcsinh(k * c / 2) / k
    by_K = (c / half_cosine - d) / (2 * K) if bends else 0.0
    return d, 0.5 / (c * half_cosine), by_K


@njit(nogil=True, cache=True, error_model="numpy")
def phi(K, c2, squared, bends):
    """Return φ, ∂φ/∂c² and, where K `bends`, ∂φ/∂K at fixed c²."""
    if K == 0 and squared:
        return c2, 1.0, c2 * c2 / 12
    if not squared:
        return length(K, c2 + TINY, bends)
    if c2 < TINY * TINY:
        return c2, 1.0, 0.0
    d, by_c2, by_K = length(K, c2, bends)
    return d * d, 2 * d * by_c2, 2 * d * by_K


@njit(nogil=True, cache=True, error_model="numpy")
def add_arc(sums, K, cosine, sine):
    """Add to a sum of arcs √|K| d the one of a given cosine and sine (hyperbolic for K < 0).

    By the addition theorem the arcs of a sum are those of one product, exp(i Σ) or exp(Σ): an
    arctan or a logarithm for many pairs. ``sums`` are the product and what was taken out of it.
    """
    if K > 0:
        real = sums[0] * cosine - sums[1] * sine
        imaginary = sums[0] * sine + sums[1] * cosine
        half_turn = imaginary < 0  # the arc is less than π, so this is its only trace
        sums[0], sums[1] = (-real, -imaginary) if half_turn else (real, imaginary)
        sums[2] += half_turn * np.pi
    else:
        sums[0] *= cosine + sine
        if sums[0] > LARGE:
            sums[2] += np.log(sums[0])
            sums[0] = 1.0


@njit(nogil=True, cache=True, error_model="numpy")
def take_arcs(sums, K):
    """Return the sum of lengths d, and start a new one."""
    arcs = sums[2] + (np.arctan2(sums[1], sums[0]) if K > 0 else np.log(sums[0]))
    sums[0], sums[1], sums[2] = 1.0, 0.0, 0.0
    return arcs / np.sqrt(abs(K))


@njit(nogil=True, cache=True, error_model="numpy")
def square_chord_of(K, value, squared):
    """Return the c² at which φ is `value`; inf past the antipode."""
    d = np.sqrt(value) if squared else value
    half = 0.5 * np.sqrt(abs(K)) * d
    if half < 1e-6:
        c2 = d * d
    elif K > 0:
        c2 = np.inf if half >= 0.5 * np.pi else 4 / K * np.sin(half) ** 2
    else:
        c2 = -4 / K * np.sinh(half) ** 2
    return c2 if squared else c2 - TINY


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def square_distance(z, i, j):
    """Return ‖z_i - z_j‖², the inner loop of everything."""
    total = 0.0
    for t in range(z.shape[1]):
        e = z[i, t] - z[j, t]
        total += e * e
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def square_chord(z, a, sigma, K, i, j):
    """Return c² of rows i and j, a = ‖z‖²."""
    square = square_distance(z, i, j)
    if K == 0:
        return square
    rise = (a[i] - a[j]) / (sigma[i] + sigma[j])
    return max((square - K * rise * rise) / (sigma[i] * sigma[j]), 0.0)


@njit(nogil=True, cache=True, error_model="numpy")
def chords_to(z, a, sigma, K, rows, columns):
    """Return c² of each of some rows to its own columns; -1 where there is no column."""
    chords = np.full(columns.shape, -1.0)
    for p in range(len(rows)):
        for t in range(columns.shape[1]):
            if columns[p, t] >= 0:
                chords[p, t] = square_chord(z, a, sigma, K, rows[p], columns[p, t])
    return chords


@njit(nogil=True, cache=True, error_model="numpy")
def farthest_reach(K, chords, margin, squared):
    """Return the c² within which an impostor violates some target, -1 for rows without any."""
    reach = np.full(len(chords), -1.0)
    for i in range(len(chords)):
        farthest = chords[i].max()
        if farthest >= 0:
            reach[i] = square_chord_of(K, margin + phi(K, farthest, squared, False)[0], squared)
    return reach


@njit(nogil=True, cache=True, error_model="numpy")
def square_chord_by_K(a, sigma, K, c2, i, j):
    """Return ∂c²/∂K at fixed z."""
    by_i, by_j = a[i] / (2 * sigma[i]), a[j] / (2 * sigma[j])  # ∂σ/∂K
    rise = (a[i] - a[j]) / (sigma[i] + sigma[j])
    rise_by_K = -rise * (by_i + by_j) / (sigma[i] + sigma[j])
    product = sigma[i] * sigma[j]
    change = (rise * rise + 2 * K * rise * rise_by_K) / product
    return -change - c2 * (by_i / sigma[i] + by_j / sigma[j])


@njit(nogil=True, cache=True, error_model="numpy")
def transpose(first, column, n):
    """Return, for each column, where its entries are in the compressed rows, and of which row."""
    start = np.zeros(n + 1, dtype=np.int64)
    for j in column:
        start[j + 1] += 1
    start = np.cumsum(start)
    place, row, room = np.empty_like(column), np.empty_like(column), start[:-1].copy()
    for i in range(n):
        for p in range(first[i], first[i + 1]):
            at = room[column[p]]
            place[at], row[at] = p, i
            room[column[p]] += 1
    return start, place, row


@njit(nogil=True, cache=True, error_model="numpy")
def find_forces(
    z, a, sigma, K, bends, k, first, column, weights, margin, push, squared, rows,
    force, along, sums,
):  # fmt: skip
    """Write ∂ε/∂c² of the pairs of a range of rows, k targets first in each.

    ``along`` is the same times 1 - K c²/2. ``sums`` are a row's loss, ∂/∂K (0 unless the curvature
    `bends`) and number of active triplets.
    """
    near, slope, by_K, c2 = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    reach, violated = np.empty(k), np.empty(k)
    by_product = K != 0 and not squared and not bends  # else each length is needed by itself
    root, arcs = np.sqrt(abs(K)), np.zeros((k + 1, 3))
    arcs[:, 0] = 1.0
    for i in range(rows[0], rows[1]):
        there, sum_near, farthest, closest = 0, 0.0, -1.0, np.inf
        for t in range(k):
            violated[t], reach[t] = 0.0, -1.0
            j = column[first[i] + t]
            if j != i:
                c2[t] = square_chord(z, a, sigma, K, i, j)
                near[t], slope[t], by_K[t] = phi(K, c2[t], squared, bends)
                reach[t] = square_chord_of(K, margin + near[t], squared)
                farthest, closest = max(farthest, reach[t]), min(closest, reach[t])
                there += 1
                sum_near += near[t]
        hinges, total_by_K, violate_all, n_active = 0.0, 0.0, 0, 0
        for p in range(first[i] + k, first[i + 1]):
            j = column[p]
            chord = square_chord(z, a, sigma, K, i, j)
            if chord >= farthest:
                force[p], along[p] = 0.0, 0.0
                continue
            count = there
            if chord < closest:
                violate_all += 1
            else:
                count = 0
                for t in range(k):
                    hit = reach[t] > chord
                    count += hit
                    violated[t] += hit
            n_active += count
            x = K * (chord + TINY)
            if by_product and abs(x) >= SERIES_BELOW:
                sine = np.sqrt((chord + TINY) * max(1 - x / 4, TINY))
                add_arc(arcs[count], K, 1 - x / 2, root * sine)
                far_slope, far_by_K = 0.5 / sine, 0.0
            else:
                far, far_slope, far_by_K = phi(K, chord, squared, bends)
                hinges -= count * far
            weight = -weights[i] * push * count
            force[p] = weight * far_slope
            along[p] = force[p] * (1 - 0.5 * K * chord)
            if bends:
                by_chord = square_chord_by_K(a, sigma, K, chord, i, j)
                total_by_K += force[p] * by_chord + weight * far_by_K
        for t in range(k):
            p = first[i] + t
            force[p], along[p] = 0.0, 0.0
            if reach[t] >= 0:
                violated[t] += violate_all
                hinges += violated[t] * (margin + near[t])
                weight = weights[i] * ((1 - push) + push * violated[t])
                force[p] = weight * slope[t]
                along[p] = force[p] * (1 - 0.5 * K * c2[t])
                if bends:
                    by_chord = square_chord_by_K(a, sigma, K, c2[t], i, column[p])
                    total_by_K += force[p] * by_chord + weight * by_K[t]
        if by_product:
            for count in range(1, k + 1):
                hinges -= count * take_arcs(arcs[count], K)
        sums[i, 0] = weights[i] * (push * hinges + (1 - push) * sum_near)
        sums[i, 1] = total_by_K
        sums[i, 2] = n_active


@njit(inline="always")
def subtract_rows(out, z, rows, shares, count):
    """Subtract Σ share · z[row] from out, four rows at a time, to load and store it less often."""
    whole = count - count % 4
    for p in range(0, whole, 4):
        i, j, k, m = rows[p], rows[p + 1], rows[p + 2], rows[p + 3]
        a, b, c, d = shares[p], shares[p + 1], shares[p + 2], shares[p + 3]
        for t in range(z.shape[1]):
            out[t] -= a * z[i, t] + b * z[j, t] + c * z[k, t] + d * z[m, t]
    for p in range(whole, count):
        i, a = rows[p], shares[p]
        for t in range(z.shape[1]):
            out[t] -= a * z[i, t]


# With what it calls inlined: a function of its own would be compiled here once more, otherwise, and
# which of the two is called, and how it rounds, would depend on whether this came from a cache.
@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def gather_forces(
    z, sigma, first, column, column_first, place, row, force, along, rows, gradient
):  # fmt: skip
    """Write ∂ε/∂z of a range of rows: the sum over pairs that they open, and that they close."""
    others, shares = np.empty(BUFFER, dtype=np.int64), np.empty(BUFFER)
    own = np.empty(z.shape[1])
    for i in range(rows[0], rows[1]):
        own[:] = 0.0
        own_along, count = 0.0, 0
        opened = first[i + 1] - first[i]
        for q in range(opened + column_first[i + 1] - column_first[i]):
            if q < opened:
                p = first[i] + q
                j = column[p]
            else:
                at = column_first[i] + q - opened
                p, j = place[at], row[at]
            if force[p] != 0:
                others[count], shares[count] = j, force[p] / sigma[j]
                own_along += along[p]
                count += 1
                if count == BUFFER:
                    subtract_rows(own, z, others, shares, count)
                    count = 0
        subtract_rows(own, z, others, shares, count)
        for t in range(z.shape[1]):
            gradient[i, t] = 2 / sigma[i] * (own_along / sigma[i] * z[i, t] + own[t])
