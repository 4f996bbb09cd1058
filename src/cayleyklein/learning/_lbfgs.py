"""L-BFGS for losses with kinks and with a wall.

The hinge makes the loss non-smooth, and a hyperbolic domain ends in a wall beyond which the loss is
infinite. SciPy's L-BFGS-B, whose line search interpolates, is at home with neither; the
bisection of Lewis and Overton (2013) for the weak Wolfe conditions is with both: an infinite value
is simply a step that is too long.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["LBFGS"]

Array = NDArray[np.float64]


class Value(Protocol):
    """What a function returns: its value, its gradient, and whatever else the caller likes."""

    @property
    def loss(self) -> float:
        """The value; inf beyond the wall."""

    @property
    def vector(self) -> Array:
        """The gradient."""


V = TypeVar("V", bound=Value)

SUFFICIENT_DECREASE = 1e-4
CURVATURE_CONDITION = 0.9
MAX_BISECTIONS = 30
FIRST_STEP = 0.1
"""Length of the first step, relative to the parameters."""


class LBFGS:
    """The state of one minimisation; `step` makes an iteration.

    The function may change between steps (new impostors), the memory of its curvature is kept.

    Parameters
    ----------
    x : ndarray of shape (m,)
    memory : int, default=10
    """

    def __init__(self, x: Array, memory: int = 10) -> None:
        self.x = x
        self.pairs: deque[tuple[Array, Array, float]] = deque(maxlen=memory)

    def step(self, function: Callable[[Array], V], here: V) -> V | None:
        """Move x from where the function is `here` to a lower value; None when stuck."""
        gradient = here.vector
        direction = self._direction(gradient)
        slope = float(direction @ gradient)
        if not slope < 0:
            self.pairs.clear()
            direction, slope = -gradient, -float(gradient @ gradient)
        if slope == 0:
            return None
        length = 1.0
        if not self.pairs:
            length = FIRST_STEP * max(float(np.linalg.norm(self.x)), FIRST_STEP) / np.sqrt(-slope)
        found = self._bisect(function, here.loss, slope, direction, length)
        if found is None:
            return None
        x, there = found
        s, y = x - self.x, there.vector - gradient
        sy = float(s @ y)
        if sy > 1e-12 * np.sqrt(float(s @ s) * float(y @ y)):
            self.pairs.append((s, y, 1 / sy))
        self.x = x
        return there

    def _direction(self, gradient: Array) -> Array:
        """Return -H∇ by the two-loop recursion."""
        q = gradient.copy()
        shares = []
        for s, y, r in reversed(self.pairs):
            share = r * float(s @ q)
            shares.append(share)
            q -= share * y
        if self.pairs:
            s, y, r = self.pairs[-1]
            q *= 1 / (r * float(y @ y))
        for (s, y, r), share in zip(self.pairs, reversed(shares), strict=True):
            q += s * (share - r * float(y @ q))
        return -q

    def _bisect(
        self,
        function: Callable[[Array], V],
        value: float,
        slope: float,
        direction: Array,
        length: float,
    ) -> tuple[Array, V] | None:
        low, high = 0.0, np.inf
        best = None
        for _ in range(MAX_BISECTIONS):
            x = self.x + length * direction
            there = function(x)
            if not there.loss <= value + SUFFICIENT_DECREASE * length * slope:
                high = length
            else:
                best = x, there
                if float(there.vector @ direction) >= CURVATURE_CONDITION * slope:
                    break
                low = length
            length = (low + high) / 2 if np.isfinite(high) else 2 * length
        return best
