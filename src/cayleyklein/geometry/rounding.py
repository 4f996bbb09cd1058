"""Exact scaling, and sums and products in twice the working precision.

Close to the boundary of a hyperbolic domain, S(x, x) = 1 - |K| ‖z‖² cancels: a rounding error of
one part in 10¹⁶ in ‖z‖² is one part in 10⁴ of S when x is at 1 - 10⁻¹² of the boundary. There the
quadratic form is evaluated again here, as an unevaluated sum hi + lo (Dekker 1971; Ogita, Rump and
Oishi 2005), so that the answer is as good as the coordinates that were given.
"""

import math

import numpy as np

from cayleyklein._typing import AnyArray, Floats
from cayleyklein.geometry import limits

Pair = tuple[Floats, Floats]

EPSILON = float(np.finfo(np.float64).eps)
SQUARE_EXACT_ABOVE = 1e-7  # |1 + K‖z‖²| above which `one_plus_scaled_square` has all digits


def binary_scale(values: AnyArray) -> Floats:
    """Return a power of two above the largest entry of each row: dividing by it is exact."""
    _, exponent = np.frexp(np.abs(values).max(axis=-1, keepdims=True))
    return np.asarray(np.ldexp(1.0, np.minimum(exponent, 1023)))


def two_sum(a: Floats, b: Floats) -> Pair:
    """Return s, e with s = fl(a + b) and s + e = a + b exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def split(a: Floats) -> Pair:
    """Split 53 bits into 26 and 27, whose products are exact (Dekker 1971)."""
    c = (2.0**27 + 1.0) * a
    high = c - (c - a)
    return high, a - high


def two_product(a: Floats, b: Floats) -> Pair:
    """Return p, e with p = fl(a b) and p + e = a b exactly."""
    p = a * b
    a_high, a_low = split(a)
    b_high, b_low = split(b)
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def multiply(a: Pair, b: Pair) -> Pair:
    p, e = two_product(a[0], b[0])
    return p, e + (a[0] * b[1] + a[1] * b[0])


def total(terms: Pair) -> Pair:
    """Sum double-length numbers along the last axis, pairwise."""
    high, low = terms
    while high.shape[-1] > 1:
        half = high.shape[-1] // 2
        sums, error = two_sum(high[..., :half], high[..., half : 2 * half])
        error += low[..., :half] + low[..., half : 2 * half]
        high = np.concatenate([sums, high[..., 2 * half :]], axis=-1)
        low = np.concatenate([error, low[..., 2 * half :]], axis=-1)
    return two_sum(high[..., 0], low[..., 0])


def one_plus_scaled_square(z: Floats, scale: float) -> Floats:
    """Return 1 + scale · ‖z‖² next to 0, with an error of 1e-23, at the price of two products.

    z = h + l, with h so coarse that squares of h and their sums are exact, and l of 27 bits less.
    """
    exponent = math.ceil(-math.log2(abs(scale)) / 2)  # ‖z‖ is about 2^exponent
    coarse = 1.5 * 2.0 ** (exponent + 26)
    high = z + coarse
    high -= coarse
    square, error = two_product(np.einsum("ij,ij->i", high, high), np.float64(scale))  # type: ignore[arg-type]
    low = z - high
    high += z
    rest = scale * np.einsum("ij,ij->i", high, low)
    return np.asarray((1 + square) + (error + rest))


def one_plus_quadratic_form(
    points: Floats, center: Floats, scale: float, factor: Floats, matrix: Floats | None
) -> Floats:
    """Return 1 + scale · (x - μ)ᵀ Σ (x - μ), correct to the last bits even where it cancels.

    Σ is the matrix, unless None; LᵀL otherwise for the factor L, (r, d) or its diagonal (d,).
    """
    form = factor if matrix is None else matrix
    rows = max(1, limits.DOUBLED_ENTRIES // form.size)
    values = np.empty(len(points))
    for start in range(0, len(points), rows):
        block = slice(start, start + rows)
        difference = two_sum(points[block], np.broadcast_to(-center, points[block].shape))
        if form.ndim == 1:
            image = multiply((form, np.zeros_like(form)), difference)
        else:
            columns = difference[0][:, None, :], difference[1][:, None, :]
            image = total(multiply((form, np.zeros_like(form)), columns))
        square = total(multiply(image, image if matrix is None else difference))
        scaled = multiply(square, (np.float64(scale), np.float64(0.0)))  # type: ignore[arg-type]
        one, error = two_sum(np.ones_like(scaled[0]), scaled[0])
        values[block] = one + (error + scaled[1])
    return values
