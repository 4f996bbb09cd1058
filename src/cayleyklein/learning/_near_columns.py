"""Which columns of a row are its nearest, compiled."""

import numpy as np
from numba import njit

__all__ = ["merge_nearest", "near_columns"]

SAMPLE = 256
"""Columns from which the distance of the nearest impostors is guessed."""


@njit(nogil=True, cache=True)
def of_rank(values, rank):
    """Return the value of a rank, from 0, by Hoare's selection; the values change places.

    NumPy's partition would do, but takes longer to compile than all the rest of a fit.
    """
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return values[rank]


@njit(nogil=True, cache=True, error_model="numpy")
def gather(row, limit, values, columns):
    """Write the entries of a row up to a limit, and their columns; return how many."""
    count = 0
    for j in range(len(row)):
        if row[j] <= limit:
            values[count] = row[j]
            columns[count] = j
            count += 1
    return count


@njit(nogil=True, cache=True, error_model="numpy")
def near_columns(chords, per_row, limit):
    """Return for each row its columns with c² up to a limit, the nearest `per_row` of them.

    A limit guessed from a sample leaves few columns to choose from; where it is too tight, the
    given one is taken after all. A column whose c² is nan does not count.

    Returns
    -------
    columns : ndarray of shape (total,)
        Row after row, ascending.
    counts : ndarray of shape (len(chords),)
    crowded : bool
        Whether some row had more.
    """
    m, n = chords.shape
    values, found = np.empty(n), np.empty(n, dtype=np.int64)
    kept, counts = np.empty(m * min(per_row, n), dtype=np.int64), np.zeros(m, dtype=np.int64)
    size, crowded = 0, False
    stride = max(1, n // SAMPLE)
    for i in range(m):
        row = chords[i]
        count = 0
        for j in range(n):
            count += row[j] <= limit
        if count <= per_row:
            count = gather(row, limit, values, found)
            cut = np.inf
        else:
            crowded = True
            sample = row[::stride].copy()
            for t in range(len(sample)):
                if np.isnan(sample[t]):
                    sample[t] = np.inf
            rank = min(4 + 4 * per_row * len(sample) // n, len(sample) - 1)
            count = gather(row, of_rank(sample, rank), values, found)
            if count < per_row:
                count = gather(row, limit, values, found)
            cut = of_rank(values[:count].copy(), per_row - 1)
        room = per_row  # of equally near columns the first are kept
        for t in range(count):
            room -= values[t] < cut
        for t in range(count):
            if values[t] < cut or (values[t] == cut and room > 0):
                room -= values[t] == cut
                kept[size] = found[t]
                size += 1
                counts[i] += 1
    return kept[:size], counts, crowded


@njit(nogil=True, cache=True, error_model="numpy")
def merge_nearest(first_a, column_a, share_a, first_b, column_b, share_b, per_row):
    """Return the union of two disjoint sets of columns per row, the nearest `per_row` of them.

    Both are in compressed rows, columns ascending, and so is the result; of equally near columns
    the first are kept. The last value returned is whether some row had more.
    """
    n = len(first_a) - 1
    size = len(column_a) + len(column_b)
    column, share = np.empty(size, dtype=np.int64), np.empty(size)
    first = np.zeros(n + 1, dtype=np.int64)
    crowded = False
    for i in range(n):
        begin = at = first[i]
        p, q = first_a[i], first_b[i]
        while p < first_a[i + 1] or q < first_b[i + 1]:
            if q == first_b[i + 1] or (p < first_a[i + 1] and column_a[p] < column_b[q]):
                column[at], share[at] = column_a[p], share_a[p]
                p += 1
            else:
                column[at], share[at] = column_b[q], share_b[q]
                q += 1
            at += 1
        if at - begin > per_row:
            crowded = True
            cut = of_rank(share[begin:at].copy(), per_row - 1)
            room = per_row
            for t in range(begin, at):
                room -= share[t] < cut
            end, at = at, begin
            for t in range(begin, end):
                if share[t] < cut or (share[t] == cut and room > 0):
                    room -= share[t] == cut
                    column[at], share[at] = column[t], share[t]
                    at += 1
        first[i + 1] = at
    return first, column[: first[n]].copy(), share[: first[n]].copy(), crowded
