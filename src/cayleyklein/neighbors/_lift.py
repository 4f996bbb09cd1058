"""The lift: one curved search is one Euclidean search, up to an offset for each fitted row.

From a fitted row x₀ in the middle, with u = L(x - x₀) and the chord c = 2 sin_K(d/2),

    K ≥ 0:  c²(x, p)     = ‖v_x - v_p‖²,      v on the hemisphere of radius 1/√K, from v of x₀
    K < 0:  σ_x c²(x, p) = σ_x c²(x, x₀) + σ₀ c²(x₀, p) - 2⟨u_x, y_p - y₀⟩,          y = z/σ.

Both are b_x + a_p - 2⟨q_x, y_p⟩, the *surrogate*, which a matrix product computes; being measured
from x₀ it does not lose the digits that a far centre would cost. The second is a constant of the
query minus 2 f_p(x), the affine function of `geometry._bisectors`, and so ranks queries outside the
domain too.
"""

import copy
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein.geometry import lift_difference
from cayleyklein.neighbors._origin import Origin, Steps
from cayleyklein.neighbors._rows import EPS, STRIP, TINY, Place, Queries, References, units

__all__ = ["Lift", "LiftedQueries"]

Array = NDArray[np.float64]

KERNEL_SLACK = 1e-11
"""Relative error allowed to the exact kernel, a thousand times its own."""


class LiftedQueries(NamedTuple):
    """Queries ready for a search.

    Parameters
    ----------
    q : ndarray of shape (m, r) or (m, r + 1)
    b : ndarray of shape (m,)
        Added to every surrogate of a query, which makes it ≥ 0.
    scale : ndarray of shape (m,)
        Surrogate / c²: 1, or σ for K < 0; 0 marks a query outside.
    blur, b_blur : ndarray of shape (m,)
        How far q and b may be off by rounding.
    """

    q: Array
    b: Array
    scale: Array
    blur: Array
    b_blur: Array


class Lift:
    """Fitted rows lifted in one metric: y and a of the module's docstring."""

    def __init__(self, references: References) -> None:
        (part,) = references.parts
        self.metric, self.weight = part
        self.origin = Origin.in_the_middle(references.X, references.s[0], self.metric)
        self.y = np.empty((0, len(self.metric.factor) + (self.metric.curvature > 0)))
        self.a = np.empty(0)
        self.blur = self.a_blur = self.longest = 0.0
        self._append(references)

    def appended(self, references: References) -> "Lift":
        """Return a lift of the rows that are new too, seen from the same x₀."""
        grown = copy.copy(self)
        grown._append(references)
        return grown

    def _append(self, references: References) -> None:
        first = len(self.y)
        X, s = references.X[first:], references.s[0][first:]
        self.y, self.a = (_with_room(array, len(X)) for array in (self.y, self.a))
        for start in range(0, len(X), STRIP):
            rows = slice(start, start + STRIP)
            self._fill(first + start, Place.of(X[rows], self.metric)._replace(s=s[rows]))

    def _fill(self, first: int, place: Place) -> None:
        steps = self.origin.steps(*place)
        if self.metric.curvature < 0:
            sigma = np.sqrt(place.s)
            y, blur = self._directions(steps, place, sigma)
            a, a_blur = steps.v_square / sigma, 2 * np.sqrt(steps.v_square) / sigma
            self.a_blur = max(self.a_blur, float((a_blur * steps.v_blur).max()))
        else:
            y, a, blur = steps.v, steps.v_square, steps.v_blur
        self.y[first : first + len(y)], self.a[first : first + len(y)] = y, a
        self.blur = max(self.blur, float(blur.max()))
        self.longest = max(self.longest, math.sqrt(float(np.einsum("ij,ij->i", y, y).max())))

    def _directions(self, steps: Steps, place: Place, sigma: Array) -> tuple[Array, Array]:
        """Return y - y₀ for K < 0 in whichever of two forms is the more exact, and its rounding."""
        metric, (_, _, z_0, s_0) = self.metric, self.origin
        sigma_0 = math.sqrt(s_0)
        exact, _ = lift_difference(steps.u, place.z, place.s, z_0, s_0, metric.curvature)
        bend = 4 / (sigma * sigma_0 * (sigma + sigma_0))  # ≥ -K‖z + z₀‖‖z‖ / …
        close = steps.u_blur * (1 / np.minimum(sigma, sigma_0) + bend)
        size = steps.u_blur + self.origin.blur
        apart = 2 * size * (1 / sigma + 1 / sigma_0)
        plain = place.z / sigma[:, None] - z_0 / sigma_0
        return np.where((close < apart)[:, None], exact, plain), np.minimum(close, apart)

    def queries(self, queries: Queries) -> LiftedQueries:
        """Lift queries; for K < 0 they stay where they are."""
        (place,) = queries.placed
        inside = queries.inside
        s = np.where(inside, place.s, 1.0)
        steps = self.origin.steps(place.x, np.where(inside[:, None], place.z, 0.0), s)
        if self.metric.curvature >= 0:
            none = np.zeros(len(s))
            return LiftedQueries(steps.v, steps.v_square, none + 1, steps.v_blur, none)
        sigma_0 = math.sqrt(self.origin.s_0)
        b, b_blur = steps.v_square / sigma_0, 2 * np.sqrt(steps.v_square) * steps.v_blur / sigma_0
        length = np.sqrt(np.einsum("ij,ij->i", steps.u, steps.u))
        return LiftedQueries(
            steps.u,
            np.where(inside, b, 2 * length * self.longest),
            np.where(inside, np.sqrt(s), 0.0),
            steps.u_blur,
            np.where(inside, b_blur, 0.0),
        )

    def floor(
        self, lifted: LiftedQueries, surrogate: Array, unit: float = EPS, tiny: float = TINY
    ) -> Array:
        """Return what no row ranks below whose computed surrogate is at least the one given.

        Parameters
        ----------
        lifted : LiftedQueries
        surrogate : ndarray of shape (m,)
        unit, tiny : float
            The rounding unit of the search, 2⁻⁵² or 2⁻²³, and the least number that is normal.

        Returns
        -------
        ndarray of shape (m,)
            A distance, or -f for queries outside.
        """
        rounding = units(self.y.shape[1], unit)
        if self.metric.curvature < 0:
            return self._floor_hyperbolic(lifted, surrogate, rounding, tiny)
        # A row with c² below the surrogate has ‖y‖ ≤ ‖q‖ + c, whatever the other rows are.
        with np.errstate(over="ignore", invalid="ignore"):  # nan, which certifies nothing
            size = (2 * np.sqrt(lifted.b) + np.sqrt(surrogate)) ** 2
            chord = np.sqrt(np.maximum(surrogate - rounding * (size + tiny), 0))
            chord -= 2 * (lifted.blur + self.blur)  # once for the lift, once for the exact kernel
            return self.distance(np.maximum(chord, 0) ** 2)

    def _floor_hyperbolic(
        self, lifted: LiftedQueries, surrogate: Array, rounding: float, tiny: float
    ) -> Array:
        inside = lifted.scale > 0
        length = np.sqrt(np.einsum("ij,ij->i", lifted.q, lifted.q))
        size = lifted.b + float(self.a.max()) + 2 * length * self.longest
        error = rounding * (size + tiny) + lifted.b_blur + self.a_blur
        error += 4 * (lifted.blur * self.longest + length * self.blur)  # as above, twice
        square = np.maximum(surrogate - error, 0) / np.where(inside, lifted.scale, 1.0)
        if inside.all():
            return self.distance(square)
        # (surrogate - b)/2 is f₀ - f, and -f is computed with the rounding of its terms at μ.
        z_0, sigma_0 = self.origin.z_0, math.sqrt(self.origin.s_0)
        direction = z_0 / sigma_0
        height = -(direction @ z_0) / (1 + sigma_0)
        z = lifted.q + z_0
        terms = (np.sqrt(np.einsum("ij,ij->i", z, z)) + 1 / math.sqrt(-self.metric.curvature)) * (
            self.longest + math.sqrt(direction @ direction)
        )
        rank = (surrogate - error - lifted.b) / 2 - (z @ direction + height)
        return np.where(inside, self.distance(square), rank - 4 * rounding * terms)

    def distance(self, square_chord: Array) -> Array:
        """Return the distance of a square chord, or a little less."""
        K = self.metric.curvature
        chord = np.sqrt(square_chord)
        if K > 0:
            chord = np.arcsin(np.minimum(math.sqrt(K) / 2 * chord, 1.0)) * 2 / math.sqrt(K)
        elif K < 0:
            chord = np.arcsinh(math.sqrt(-K) / 2 * chord) * 2 / math.sqrt(-K)
        return np.asarray(self.weight * chord * (1 - KERNEL_SLACK))

    def longest_chord(self, radius: float) -> float:
        """Return the chord of a distance for K ≥ 0, or a bit more; inf where no row is farther."""
        half = math.sqrt(self.metric.curvature) * radius / self.weight / 2
        if self.metric.curvature > 0:
            if half >= math.pi / 2:
                return math.inf
            chord = 2 * math.sin(half) / math.sqrt(self.metric.curvature)
        else:
            chord = radius / self.weight
        return chord * (1 + KERNEL_SLACK)


def _with_room(array: Array, rows: int) -> Array:
    """Return an array with room for more rows at its end."""
    longer = np.empty((len(array) + rows, *array.shape[1:]))
    longer[: len(array)] = array
    return longer
