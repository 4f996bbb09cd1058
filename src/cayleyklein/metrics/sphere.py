"""The distance on the whole sphere, of unit vectors."""

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein.exceptions import NotRepresentableError
from cayleyklein.geometry import distances, frozen, sphere
from cayleyklein.geometry.space import refuse_at
from cayleyklein.metrics import _scalar
from cayleyklein.metrics._base import MetricBase
from cayleyklein.metrics._pairwise import BlockKernel, WeightedKernels, lift_sides
from cayleyklein.metrics.curved import CurvedMetric


class SphereMetric(frozen.Frozen, MetricBase):
    """The distance on the whole sphere of curvature K > 0, between unit vectors. Immutable.

    An elliptic :class:`CurvedMetric` sees a hemisphere, since its chart is a plane. Here points are
    unit vectors of d + 1 coordinates, all around, and the distance is the angle between them over
    √K, 2 arctan(‖p - q‖/‖p + q‖)/√K, up to π/√K at antipodes. On a globe of radius R it is the
    length of the great circle, with K = 1/R². :class:`cayleyklein.FromChart` makes unit vectors
    from longitude and latitude.

    Parameters
    ----------
    width : int, default=3
        Number of coordinates d + 1 of a point; 3 is the globe.
    curvature : float, default=1.0
        K > 0.

    Attributes
    ----------
    geometry : str
        "elliptic".

    Examples
    --------
    >>> earth = SphereMetric(curvature=1 / 6371.0**2)  # km
    >>> from cayleyklein.geometry.sphere import from_lonlat, to_lonlat
    >>> berlin, auckland, lima = from_lonlat([[13.4, 52.5], [174.8, -36.8], [-77.0, -12.0]])
    >>> round(earth.distance(berlin, auckland)), earth.pairwise([berlin], [auckland, lima]).round()
    (17746, array([[17746., 11090.]]))
    >>> to_lonlat(earth.frechet_mean([berlin, lima])).round(1)
    array([-45.,  27.])
    >>> to_lonlat(earth.geodesic(berlin, auckland, [0.0, 0.5, 1.0])).round(1)
    array([[ 13.4,  52.5],
           [133.9,  33.3],
           [174.8, -36.8]])
    >>> step, length = earth.log(berlin, lima), earth.distance(berlin, lima)
    >>> np.allclose(earth.exp(berlin, step), lima), np.isclose(np.linalg.norm(step), length)
    (True, np.True_)
    >>> earth.embed([[1.0, 0.0, 0.0]]), earth.contains([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    (array([[6371.,    0.,    0.]]), array([ True, False]))
    """

    _arguments = ("width", "curvature")
    geometry = "elliptic"
    domain = None
    width: int
    curvature: float

    def __init__(self, width: int = 3, curvature: float = 1.0) -> None:
        count = checks.as_count(width, "width")
        checks.expect(count > 1, "width", count, "2 or more coordinates of unit vectors")
        K = checks.as_real(curvature, "curvature")
        checks.expect(K > 0, "curvature", K, "a number > 0: the whole sphere is elliptic")
        self._fill(width=count, curvature=K)

    def __repr__(self) -> str:
        return f"SphereMetric(elliptic, width={self.width}, K={self.curvature:g})"

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point, one more than the sphere has dimensions."""
        return self.width

    @cached_property
    def chord_metric(self) -> CurvedMetric:
        """The flat metric in which the distance of unit vectors is their chord."""
        return CurvedMetric(factor=np.full(self.width, 1 / math.sqrt(self.curvature)))

    def images(self, X: ArrayLike) -> Floats:
        """Return points as vectors of length 1 to the last digit, if they are nearly so.

        Parameters
        ----------
        X : array-like of shape (..., d + 1)
            Unit vectors, to single precision.

        Examples
        --------
        >>> SphereMetric(2).images([[0.6, 0.8]])
        array([[0.6, 0.8]])
        """
        return sphere.unit_vectors(X, "X", self.width)

    def contains(self, X: ArrayLike) -> Bools:
        """Return whether points are unit vectors, to single precision."""
        X = checks.as_points(X, "X", self.width)
        return np.asarray(np.abs(distances.norms(X) - 1) <= 1e-6)[()]

    def embed(self, X: ArrayLike) -> AnyFloats:
        """Return coordinates of rows in which the Euclidean distance is the chord."""
        found = self.images(X) / math.sqrt(self.curvature)
        return found.astype(checks.float_dtype(X), copy=False)

    def _between(self, p: Floats, q: Floats, outside: distances.Outside = "raise") -> Floats:
        ends = (sphere.unit_vectors(x, name) for x, name in ((p, "p"), (q, "q")))
        return np.asarray(sphere.angle_between(*ends) / math.sqrt(self.curvature))

    def _terms(self) -> list[tuple["SphereMetric", float]]:  # type: ignore[override]
        return [(self, 1.0)]

    def _pair(self, p: AnyFloats, q: AnyFloats) -> float:
        found: float = _scalar.sphere_distance(p, q, self.curvature)
        return found

    def _compiled(self) -> _scalar.RowDistance:
        return _scalar.compiled_on_sphere(self.curvature)

    def _kernels(self, X: Floats, Y: Floats | None, outside: distances.Outside) -> WeightedKernels:
        given = (X,) if Y is None else (X, Y)
        units = [sphere.unit_vectors(x, name) for x, name in zip(given, "XY", strict=False)]
        sides, _ = lift_sides(units[0], None if Y is None else units[1], self.chord_metric, outside)
        return [(BlockKernel(sides, self.curvature, self._between, outside), 1.0)]

    @property
    def column_lengths(self) -> Floats:
        """Not available: a step in one coordinate leaves the sphere."""
        raise NotRepresentableError("Coordinates of unit vectors have no weights of their own.")

    def _mean_diagonal(self, rows: Floats) -> Floats:
        return self.column_lengths

    def _lowered(self, steps: Floats, x: Floats, name: str) -> Floats:
        return self.column_lengths

    def log(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Return the tangent vectors (..., d + 1) at x, at right angles to it, that point to y.

        Their length is the distance; at antipodes, where all directions lead to y, this raises.
        """
        start, end = checks.broadcast_points(x=self.images(x), y=self.images(y))
        angle = sphere.angle_between(start, end)
        refuse_at(angle > math.pi - 1e-9, "y is opposite to x", ": all directions lead there.")
        step = end - start
        across = step - np.einsum("...i,...i", step, start)[..., None] * start
        sine = distances.norms(across)
        scale = np.divide(angle, sine, np.ones_like(sine), where=sine > 0)
        return np.asarray(across * scale[..., None] / math.sqrt(self.curvature))

    def exp(self, x: ArrayLike, v: ArrayLike) -> Floats:
        """Return the ends of the great circles that leave x with tangent vectors v."""
        start = self.images(x)
        step = checks.as_points(v, "v", self.width) * math.sqrt(self.curvature)
        start, step = checks.broadcast_points(x=start, v=step)
        angle = distances.norms(step)[..., None]
        sinc = np.divide(np.sin(angle), angle, np.ones_like(angle), where=angle > 0)
        found = np.cos(angle) * start + sinc * step
        return np.asarray(found / distances.norms(found)[..., None])

    def geodesic(self, p: ArrayLike, q: ArrayLike, t: ArrayLike | None = None) -> Floats:
        """Return points (m, d + 1) of the great circle from p to q.

        Parameters
        ----------
        p, q : array-like of shape (d + 1,)
            Ends, not antipodes.
        t : array-like of shape (m,), optional
            Fractions of the length: 0 is p and 1 is q. 50 equal steps when None.
        """
        parts = np.linspace(0, 1, 50) if t is None else checks.as_finite_array(t, "t")
        return self.exp(p, parts[..., None] * self.log(p, q))

    def frechet_mean(self, X: ArrayLike, weights: ArrayLike | None = None) -> Floats:
        """Return the point (d + 1,) with the least sum of squared distances to rows X (n, d + 1).

        Found from the direction of the mean vector by steps along the mean of the logarithms; it is
        unique for rows in a ball of radius π/(2√K) (Afsari 2011). Rows without any direction, as
        two antipodes, have none, and raise NotRepresentableError.

        Parameters
        ----------
        X : array-like of shape (n, d + 1)
            Unit vectors.
        weights : array-like of shape (n,), optional
            Weights, equal by default.
        """
        rows = self.images(checks.as_points(X, "X", self.width, ndim=2))
        given = (
            np.ones(len(rows)) if weights is None else checks.as_finite_array(weights, "weights")
        )
        right = given.shape == (len(rows),) and bool((given >= 0).all() and given.any())
        checks.expect(right, "weights", weights, f"{len(rows)} numbers, none negative, not all 0")
        rows, shares = rows[given > 0], given[given > 0] / given.sum()
        middle = shares @ rows
        length = float(np.linalg.norm(middle))
        said = "X points in all directions alike: its Fréchet mean is not unique"
        refuse_at(length < 1e-9, said, ".", NotRepresentableError)
        x = middle / length
        unit = math.sqrt(self.curvature)
        last = math.inf
        for _ in range(1000):
            # rows opposite to x pull nowhere
            angle = sphere.angle_between(np.broadcast_to(x, rows.shape), rows)
            known = angle < math.pi - 1e-9
            step = shares[known] @ self.log(x, rows[known]) * unit
            size = float(np.linalg.norm(step))
            if size <= 1e-15 or (size < 1e-9 and size > last / 2):
                return np.asarray(x)
            x, last = self.exp(x, step / unit), size
        checks.warn_caller("The Fréchet mean did not converge.", ConvergenceWarning)
        return np.asarray(x)
