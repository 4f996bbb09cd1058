"""Weighted sums of curved metrics."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._notebook import NotebookCard
from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein._validation import as_points
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Ellipsoid, Frozen, Outside, read_only
from cayleyklein.metrics._curved import CurvedMetric
from cayleyklein.metrics._pairwise import as_float, checked_pairwise
from cayleyklein.metrics._product import ProductMetric, as_parts

__all__ = ["Metric", "MixedMetric", "first_term", "terms_of"]


class MixedMetric(NotebookCard, Frozen):
    """The weighted sum Σ wᵢ dᵢ of curved metrics (paper §5.2). Immutable.

    It is a metric, but not one of constant curvature, nor (as the paper has it) a
    Riemannian one. The paper's α d_E + (1-α) d_H is the case of two.

    Parameters
    ----------
    metrics : sequence of CurvedMetric
        Of one dimension.
    weights : array-like of shape (len(metrics),), optional
        ≥ 0, not all 0; equal weights that sum to 1 by default.

    Examples
    --------
    >>> elliptic = CurvedMetric.euclidean(2, curvature=1.0)
    >>> hyperbolic = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> mixed = MixedMetric([elliptic, hyperbolic], [0.25, 0.75])
    >>> mixed
    MixedMetric(0.25 * elliptic(K=1) + 0.75 * hyperbolic(K=-1), d=2)
    >>> bool(np.isclose(mixed([0, 0], [0.5, 0]), 0.25 * np.arctan(0.5) + 0.75 * np.arctanh(0.5)))
    True

    A single metric with weight 1 is that metric:

    >>> MixedMetric([elliptic], [1.0])([0, 0], [0.5, 0]) == elliptic([0, 0], [0.5, 0])
    True
    """

    metrics: tuple[CurvedMetric, ...]
    weights: Floats

    def __init__(self, metrics: Iterable[CurvedMetric], weights: ArrayLike | None = None) -> None:
        metrics = as_parts(metrics)
        if weights is None:
            values = np.full(len(metrics), 1 / len(metrics))
        else:
            values = as_points(weights, "weights", len(metrics), ndim=1)
        if (values < 0).any() or not values.any():
            raise InvalidInputError(f"weights must be ≥ 0 and not all 0; got {values.tolist()}.")
        self._fill(metrics=metrics, weights=read_only(values))

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return self.metrics[0].dimension

    @property
    def geometry(self) -> str:
        """Always ``"mixed"``."""
        return "mixed"

    @property
    def domain(self) -> tuple[Ellipsoid, ...]:
        """The ellipsoids that intersect in the domain; empty when it is all of space."""
        domains = (metric.domain for metric, _ in self._terms())
        return tuple(domain for domain in domains if domain is not None)

    def _terms(self) -> list[tuple[CurvedMetric, float]]:
        """Return the metrics of positive weight, and their weights."""
        return [(metric, weight) for metric, weight in terms_of(self) if weight]

    def distance(self, p: ArrayLike, q: ArrayLike, *, outside: Outside = "raise") -> AnyFloats:
        """Return the distances between p and q (…, d), see :meth:`CurvedMetric.distance`.

        Examples
        --------
        >>> mixed = MixedMetric([CurvedMetric.euclidean(2, K) for K in (1.0, -1.0)])
        >>> mixed.distance([0.0, 0.0], [[0.5, 0.0], [0.0, 0.9]]).round(3)
        array([0.506, 1.103])
        """
        first, *others = (
            metric.distance(p, q, outside=outside) * weight for metric, weight in self._terms()
        )
        return np.asarray(sum(others, start=first))[()]

    def __call__(self, p: ArrayLike, q: ArrayLike) -> float:
        """Return the distance of two points as a float."""
        return as_float(self.distance(p, q))

    def pairwise(
        self, X: ArrayLike, Y: ArrayLike | None = None, *, outside: Outside = "raise"
    ) -> AnyFloats:
        """Return all distances between rows, see :meth:`CurvedMetric.pairwise`.

        Examples
        --------
        >>> mixed = MixedMetric([CurvedMetric.euclidean(2, K) for K in (1.0, -1.0)])
        >>> mixed.pairwise([[0.0, 0.0], [0.5, 0.0]], [[0.0, 0.9]]).round(3)
        array([[1.103],
               [1.237]])
        """
        parts = [(metric, weight) for metric, weight in self._terms()]
        return checked_pairwise(X, Y, parts, outside)

    def embed(self, X: ArrayLike) -> AnyFloats:
        """Return the coordinates of :meth:`CurvedMetric.embed` of all parts side by side.

        Scaled by the weights; their Euclidean distance only approximates the metric, which no
        finite Euclidean map keeps.

        Examples
        --------
        >>> mixed = MixedMetric([CurvedMetric.euclidean(1, K) for K in (0.0, -1.0)], [1.0, 2.0])
        >>> mixed.embed([[0.5]]).round(3)
        array([[0.5  , 1.099]])
        """
        return np.hstack([metric.embed(X) * weight for metric, weight in self._terms()])

    def contains(self, X: ArrayLike) -> Bools:
        """Return whether points are inside the domains of all the metrics.

        Examples
        --------
        >>> mixed = MixedMetric([CurvedMetric.euclidean(2, K) for K in (1.0, -1.0)])
        >>> mixed.contains([[0.5, 0.0], [2.0, 0.0]])
        array([ True, False])
        """
        inside = [metric.contains(X) for metric, _ in self._terms()]
        return np.asarray(np.all(inside, axis=0))[()]

    def __reduce__(self) -> tuple[object, ...]:
        return MixedMetric, (self.metrics, self.weights)

    def __repr__(self) -> str:
        terms = (
            f"{weight:g} * {metric.geometry}(K={metric.curvature:g})"
            for metric, weight in terms_of(self)
        )
        return f"MixedMetric({' + '.join(terms)}, d={self.dimension})"


Metric = CurvedMetric | MixedMetric | ProductMetric


def terms_of(metric: Metric) -> list[tuple[CurvedMetric, float]]:
    """Return the parts of a metric and their weights; a single metric is its own part.

    >>> terms_of(CurvedMetric.euclidean(2))
    [(CurvedMetric(flat, d=2, K=0), 1.0)]
    """
    if isinstance(metric, CurvedMetric):
        return [(metric, 1.0)]
    if isinstance(metric, ProductMetric):
        return list(zip(metric.metrics, (1 / metric.units).tolist(), strict=True))
    return list(zip(metric.metrics, metric.weights.tolist(), strict=True))


def first_term(metric: Metric) -> CurvedMetric:
    """Return the first metric of a sum, or the single metric itself."""
    return terms_of(metric)[0][0]
