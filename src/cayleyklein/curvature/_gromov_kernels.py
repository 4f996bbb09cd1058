"""Compiled loops over four points of a metric space."""

from typing import Any

import numpy as np

from cayleyklein._jit import Kernel
from cayleyklein._typing import Floats, Ints


@Kernel
def gap_of_four(D: Floats, a: int, b: int, c: int, d: int) -> Any:
    """Return the largest minus the middle one of the three sums of opposite distances."""
    x, y, z = D[a, b] + D[c, d], D[a, c] + D[b, d], D[a, d] + D[b, c]
    if x < y:
        x, y = y, x
    if y < z:
        y = z if z <= x else x
        x = max(x, z)
    return x - y


@Kernel
def largest_gap(
    D: Floats, first: Ints, second: Ints, most_steps: int, worst: Ints
) -> tuple[float, int, bool]:
    """Return the largest gap of all fours, the number looked at, and whether these are enough.

    Pairs come by falling distance. A gap is at most the shorter of the two distances of its largest
    sum, so that all later pairs are done once that is not beyond the largest gap found.
    """
    found = 0.0
    steps = 0
    for i in range(len(first)):
        a, b = first[i], second[i]
        if D[a, b] <= found:
            return found, steps, True
        if steps + i > most_steps:
            return found, steps, False
        for j in range(i):
            value = gap_of_four(D, a, b, first[j], second[j])
            if value > found:
                found = value
                worst[0], worst[1], worst[2], worst[3] = a, b, first[j], second[j]
        steps += i
    return found, steps, True


@Kernel
def gaps_of(D: Floats, fours: Ints) -> Floats:
    found = np.empty(len(fours))
    for i in range(len(fours)):
        found[i] = gap_of_four(D, fours[i, 0], fours[i, 1], fours[i, 2], fours[i, 3])
    return found


@Kernel
def largest_gap_at(D: Floats, base: int) -> float:
    """Return the largest gap of all fours with one point given."""
    n = len(D)
    product = np.empty((n, n))  # Gromov's products (x|y), whose gap is half of that of sums
    for x in range(n):
        for y in range(n):
            product[x, y] = (D[x, base] + D[y, base] - D[x, y]) / 2
    found = 0.0
    for x in range(n):
        for y in range(x):
            here = product[x, y]
            for z in range(n):
                least = min(product[x, z], product[y, z])
                if least - here > found:
                    found = least - here
    return 2 * found
