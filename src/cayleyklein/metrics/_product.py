"""Products of spheres and flat spaces: one Euclidean map."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._notebook import NotebookCard
from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein._validation import as_points, float_dtype
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Frozen, Outside, read_only, sqchord_from
from cayleyklein.metrics._curved import CurvedMetric
from cayleyklein.metrics._pairwise import as_float

__all__ = ["ProductMetric", "as_parts"]


class ProductMetric(NotebookCard, Frozen):
    """The product of elliptic and flat metrics: d² = Σ (chordₚ / uₚ)². Immutable.

    chord = (2/√K) sin(√K d/2) is the straight line between two points of a sphere of curvature K,
    and the distance itself for K = 0. The product is the plain Euclidean distance after
    :meth:`embed`, so that everything made for Euclidean distances can be used on it.

    Parameters
    ----------
    metrics : sequence of CurvedMetric
        The parts, of one dimension, none hyperbolic.
    units : array-like of shape (len(metrics),), optional
        uₚ > 0, what counts as a distance of 1 in each part; 1 by default.

    Examples
    --------
    >>> sphere, plane = CurvedMetric.euclidean(2, curvature=1.0), CurvedMetric.euclidean(2)
    >>> product = ProductMetric([sphere, plane], units=[0.5, 1.0])
    >>> product
    ProductMetric(elliptic(K=1) / 0.5 × flat(K=0) / 1, d=2)
    >>> p, q = [0.0, 0.0], [0.3, 0.4]
    >>> a, b = product.embed([p, q])
    >>> bool(np.isclose(product(p, q), np.linalg.norm(a - b)))
    True
    """

    metrics: tuple[CurvedMetric, ...]
    units: Floats

    def __init__(self, metrics: Iterable[CurvedMetric], units: ArrayLike | None = None) -> None:
        metrics = as_parts(metrics)
        hyperbolic = [i for i, metric in enumerate(metrics) if metric.curvature < 0]
        if hyperbolic:
            raise InvalidInputError(
                f"metrics {hyperbolic} are hyperbolic, which have no chord in Euclidean space; "
                f"add them to the others by MixedMetric."
            )
        if units is None:
            values = np.ones(len(metrics))
        else:
            values = as_points(units, "units", len(metrics), ndim=1)
        if not (values > 0).all():
            raise InvalidInputError(f"units must be positive; got {values.tolist()}.")
        self._fill(metrics=metrics, units=read_only(values))

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return self.metrics[0].dimension

    @property
    def geometry(self) -> str:
        """Always ``"product"``."""
        return "product"

    @property
    def domain(self) -> None:
        """None: distances are real in all of space."""
        return None

    def contains(self, X: ArrayLike) -> Bools:
        """Say which points lie inside the domain: all of them.

        Examples
        --------
        >>> ProductMetric([CurvedMetric.euclidean(2)]).contains([[0.5, 0.0], [2.0, 0.0]])
        array([ True,  True])
        """
        return np.ones(as_points(X, "X", self.dimension).shape[:-1], dtype=bool)[()]

    def embed(self, X: ArrayLike) -> AnyFloats:
        """Return coordinates (n, D) in which the metric is the Euclidean distance.

        Examples
        --------
        >>> plane = CurvedMetric(factor=[[2.0, 0.0]])
        >>> ProductMetric([plane], units=[0.5]).embed([[1.0, 7.0]])
        array([[4.]])
        """
        columns = [
            metric.embed(X) / unit for metric, unit in zip(self.metrics, self.units, strict=True)
        ]
        return np.hstack(columns).astype(float_dtype(X), copy=False)

    def distance(self, p: ArrayLike, q: ArrayLike, *, outside: Outside = "raise") -> AnyFloats:
        """Return the distances between p and q (…, d), accurate also for points close together.

        Examples
        --------
        >>> ProductMetric([CurvedMetric.euclidean(2)]).distance([0.0, 0.0], [[3.0, 4.0]])
        array([5.])
        """
        dtype = float_dtype(p, q)
        square = sum(
            sqchord_from(np.asarray(metric.distance(p, q, outside=outside), dtype=float), K) / u**2
            for metric, K, u in self._terms()
        )
        found: AnyFloats = np.sqrt(np.asarray(square)).astype(dtype, copy=False)
        return found[()]

    def _terms(self) -> list[tuple[CurvedMetric, float, float]]:
        return [
            (metric, metric.curvature, unit)
            for metric, unit in zip(self.metrics, self.units.tolist(), strict=True)
        ]

    def __call__(self, p: ArrayLike, q: ArrayLike) -> float:
        """Return the distance of two points as a float."""
        return as_float(self.distance(p, q))

    def pairwise(
        self, X: ArrayLike, Y: ArrayLike | None = None, *, outside: Outside = "raise"
    ) -> AnyFloats:
        """Return all distances between the rows of X and of Y, or of X with itself.

        Examples
        --------
        >>> ProductMetric([CurvedMetric.euclidean(1)]).pairwise([[0.0], [3.0]])
        array([[0., 3.],
               [3., 0.]])
        """
        dtype = float_dtype(X) if Y is None else float_dtype(X, Y)
        X = as_points(X, "X", self.dimension, ndim=2)
        Y = X if Y is None else as_points(Y, "Y", self.dimension, ndim=2)
        flat = CurvedMetric.euclidean(self.n_coordinates)
        same = Y is X
        found = flat.pairwise(self.embed(X), None if same else self.embed(Y))
        return found.astype(dtype, copy=False)

    @property
    def n_coordinates(self) -> int:
        """Number of Euclidean coordinates D of :meth:`embed`."""
        return sum(len(metric.factor) + (metric.curvature > 0) for metric in self.metrics)

    def __reduce__(self) -> tuple[object, ...]:
        return ProductMetric, (self.metrics, self.units)

    def __repr__(self) -> str:
        terms = (f"{metric.geometry}(K={K:g}) / {unit:.3g}" for metric, K, unit in self._terms())
        return f"ProductMetric({' × '.join(terms)}, d={self.dimension})"


def as_parts(metrics: Iterable[CurvedMetric]) -> tuple[CurvedMetric, ...]:
    """Check the parts of a metric: curved ones, at least one, of one dimension."""
    if not isinstance(metrics, Iterable):
        raise InvalidInputError(
            f"metrics must be a sequence of CurvedMetric; got {type(metrics).__name__}."
        )
    metrics = tuple(metrics)
    if not metrics:
        raise InvalidInputError("metrics is empty; give at least one CurvedMetric.")
    for index, metric in enumerate(metrics):
        if not isinstance(metric, CurvedMetric):
            raise InvalidInputError(
                f"metrics[{index}] is a {type(metric).__name__}; expected a CurvedMetric."
            )
    dimensions = [metric.dimension for metric in metrics]
    if len(set(dimensions)) > 1:
        raise InvalidInputError(f"metrics must share one dimension; got {dimensions}.")
    return metrics
