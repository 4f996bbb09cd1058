"""L-BFGS for losses with kinks and with a wall.

The hinge makes a loss non-smooth, and a hyperbolic domain ends in a wall beyond which the loss is
infinite. SciPy's L-BFGS-B, whose line search interpolates, is at home with neither; the bisection
of Lewis and Overton (2013) for the weak Wolfe conditions is with both: an infinite value is simply
a step that is too long. The value never rises from one iteration to the next.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Floats

Function = Callable[[Floats], tuple[float, Floats]]
Pairs = deque[tuple[Floats, Floats, float]]


class Minimum(NamedTuple):
    x: Floats
    value: float
    n_iter: int
    converged: bool  # False where max_iter ran out
    stopped: bool  # by the callback


def minimise(
    function: Function,
    x: Floats,
    *,
    max_iter: int,
    tol: float,
    floor: float = 0.0,
    callback: Callable[[Floats, float], bool] | None = None,
) -> Minimum:
    """Minimise a function x → (value, gradient), whose value is finite at the start x.

    The descent ends where the value falls by `tol` relative to it, or to `floor` if that is larger.
    The callback is told x and the value after each iteration; a true answer stops.

    >>> found = minimise(lambda x: (float(x @ x), 2 * x), np.array([3.0]), max_iter=9, tol=1e-9)
    >>> bool(abs(found.x[0]) < 1e-6), found.converged
    (True, True)
    """
    pairs: Pairs = deque(maxlen=10)
    value, gradient = function(x)
    for n_iter in range(max_iter):
        direction = -_apply_inverse_hessian(pairs, gradient)
        slope = float(direction @ gradient)
        if not slope < 0:
            pairs.clear()
            direction, slope = -gradient, -float(gradient @ gradient)
        if slope == 0:
            return Minimum(x, value, n_iter, True, False)
        length = 1.0
        if not pairs:
            # a tenth of the length of the parameters
            length = 0.1 * max(float(np.linalg.norm(x)), 0.1) / np.sqrt(-slope)
        found = _search_line(function, x, value, slope, direction, length)
        if found is None:  # no lower value along the direction: a kink, or rounding
            return Minimum(x, value, n_iter, True, False)
        there, lower, gradient_there = found
        s, y = there - x, gradient_there - gradient
        sy = float(s @ y)
        if sy > 1e-12 * np.sqrt(float(s @ s) * float(y @ y)):
            pairs.append((s, y, 1 / sy))
        fall, x, value, gradient = value - lower, there, lower, gradient_there
        if callback is not None and callback(x, value):
            return Minimum(x, value, n_iter + 1, False, True)
        if fall <= tol * max(abs(value), floor):
            return Minimum(x, value, n_iter + 1, True, False)
    return Minimum(x, value, max_iter, False, False)


def _apply_inverse_hessian(pairs: Pairs, gradient: Floats) -> Floats:
    """Return H∇ by the two-loop recursion."""
    q = gradient.copy()
    shares = []
    for s, y, r in reversed(pairs):
        share = r * float(s @ q)
        shares.append(share)
        q -= share * y
    if pairs:
        s, y, r = pairs[-1]
        q *= 1 / (r * float(y @ y))
    for (s, y, r), share in zip(pairs, reversed(shares), strict=True):
        q += s * (share - r * float(y @ q))
    return q


def _search_line(
    function: Function, x: Floats, value: float, slope: float, direction: Floats, length: float
) -> tuple[Floats, float, Floats] | None:
    """Return a lower point along a direction with its value and gradient; None if there is none.

    It fulfils the weak Wolfe conditions: the value falls by 1e-4 of what the slope promises, and
    the slope rises to 0.9 of what it was.
    """
    low, high = 0.0, np.inf
    best = None
    for _ in range(30):
        there = x + length * direction
        lower, gradient = function(there)
        if not lower <= value + 1e-4 * length * slope:
            high = length
        else:
            best = there, lower, gradient
            if float(gradient @ direction) >= 0.9 * slope:
                break
            low = length
        length = (low + high) / 2 if np.isfinite(high) else 2 * length
    return best
