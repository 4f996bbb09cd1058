"""Metrics of several curved parts: weighted sums, and products of spheres and flat spaces."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Ellipsoid, frozen, lifts
from cayleyklein.geometry.distances import Outside, distance_between
from cayleyklein.metrics import _base, _pairwise, _scalar
from cayleyklein.metrics.curved import CurvedMetric
from cayleyklein.metrics.form import FormMetric
from cayleyklein.metrics.sphere import SphereMetric

SingleMetric = CurvedMetric | FormMetric


class MixedMetric(frozen.Frozen, _base.MetricBase):
    """The weighted sum Σ wᵢ dᵢ of curved metrics (paper §5.2). Immutable.

    The sum is a metric, but it is not Riemannian (the paper says that it is) and has no constant
    curvature. The paper's α d_E + (1-α) d_H is a sum of two.

    Parameters
    ----------
    metrics : sequence of CurvedMetric or FormMetric
        Metrics of the same dimension.
    weights : array-like of shape (len(metrics),), optional
        Weights wᵢ ≥ 0, not all 0; equal weights that sum to 1 by default.

    Examples
    --------
    >>> elliptic = CurvedMetric.euclidean(2, curvature=1.0)
    >>> hyperbolic = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> mixed = MixedMetric([elliptic, hyperbolic], [0.25, 0.75])
    >>> mixed
    MixedMetric(0.25 * elliptic(K=1) + 0.75 * hyperbolic(K=-1), d=2)
    >>> round(float(mixed.distance([0.0, 0.0], [0.5, 0.0])), 6)  # (arctan ½ + 3 artanh ½) / 4
    0.527892
    >>> mixed.pairwise([[0.0, 0.0]], [[0.5, 0.0], [0.0, 0.9]]).round(3)
    array([[0.528, 1.287]])
    >>> mixed.contains([[0.5, 0.0], [2.0, 0.0]]), isinstance(mixed, Metric)
    (array([ True, False]), True)
    """

    _arguments = ("metrics", "weights")
    geometry = "mixed"
    metrics: tuple[SingleMetric, ...]
    weights: Floats

    def __init__(self, metrics: Iterable[SingleMetric], weights: ArrayLike | None = None) -> None:
        metrics = as_parts(metrics)
        given = np.full(len(metrics), 1 / len(metrics)) if weights is None else weights
        values = checks.as_points(given, "weights", len(metrics), ndim=1)
        if (values < 0).any() or not values.any():
            raise InvalidInputError(f"weights must be ≥ 0 and not all 0; got {values.tolist()}.")
        self._fill(metrics=metrics, weights=frozen.read_only(values))

    @property
    def domain(self) -> tuple[Ellipsoid, ...]:
        """The ellipsoids that intersect in the domain; empty when it is all of space.

        The domain of a FormMetric among the parts is no ellipsoid: then this raises.
        """
        domains = (metric.domain for metric, _ in self._active())
        return tuple(domain for domain in domains if domain is not None)

    def _terms(self) -> list[tuple[SingleMetric, float]]:
        return list(zip(self.metrics, self.weights.tolist(), strict=True))

    def _kernels(self, X: Floats, Y: Floats | None, outside: Outside) -> _pairwise.WeightedKernels:
        found = []
        for metric, weight in self._active():
            ((kernel, _),) = metric._kernels(X, Y, outside)
            found.append((kernel, weight))
        return found

    def _combine(self, weights: list[float], shares: list[Floats]) -> Floats:
        sizes = [math.sqrt(max(part.sum(), 0.0)) for part in shares]
        lengths = [w * size for w, size in zip(weights, sizes, strict=True)]
        parts = zip(weights, lengths, shares, strict=True)
        return np.asarray(sum(w**2 * sum(lengths) / x * part for w, x, part in parts if x))

    def embed(self, X: ArrayLike) -> AnyFloats:
        """Return the coordinates :meth:`CurvedMetric.embed` of all parts, times their weights.

        Their Euclidean distance only approximates the metric, which no finite Euclidean map keeps.

        >>> mixed = MixedMetric([CurvedMetric.euclidean(1, K) for K in (0.0, -1.0)], [1.0, 2.0])
        >>> mixed.embed([[0.5]]).round(3)
        array([[0.5  , 1.099]])
        """
        return np.hstack([metric.embed(X) * weight for metric, weight in self._active()])

    def __repr__(self) -> str:
        terms = (f"{w:g} * {m.geometry}(K={m.curvature:g})" for m, w in self._terms())
        return f"MixedMetric({' + '.join(terms)}, d={self.dimension})"


class ProductMetric(frozen.Frozen, _base.MetricBase):
    """The product of elliptic and flat metrics: d² = Σ (chordₚ / uₚ)². Immutable.

    chord = (2/√K) sin(√K d/2) is the straight line between two points of a sphere of curvature K,
    and the distance itself for K = 0. The product is the plain Euclidean distance after
    :meth:`embed`, so that everything made for Euclidean distances can be used on it.

    Parameters
    ----------
    metrics : sequence of CurvedMetric
        The parts, of the same dimension, none hyperbolic.
    units : array-like of shape (len(metrics),), optional
        Distance uₚ > 0 that counts as 1 in each part; 1 by default.

    Examples
    --------
    >>> sphere, plane = CurvedMetric.euclidean(2, curvature=1.0), CurvedMetric.euclidean(2)
    >>> product = ProductMetric([sphere, plane], units=[0.5, 1.0])
    >>> product
    ProductMetric(elliptic(K=1) / 0.5 × flat(K=0) / 1, d=2)
    >>> p, q = [0.0, 0.0], [0.3, 0.4]
    >>> a, b = product.embed([p, q])
    >>> round(float(product.distance(p, q)), 6), round(float(np.linalg.norm(a - b)), 6)
    (1.046223, 1.046223)
    >>> product.pairwise([p], [q, [0.6, 0.8]]).round(3), bool(product.contains(q))
    (array([[1.046, 1.828]]), True)
    """

    _arguments = ("metrics", "units")
    _power = 2
    geometry = "product"
    domain = None  # distances are real in all of space
    metrics: tuple[CurvedMetric, ...]
    units: Floats

    def __init__(self, metrics: Iterable[CurvedMetric], units: ArrayLike | None = None) -> None:
        parts = as_parts(metrics)
        hyperbolic = [i for i, part in enumerate(parts) if part.curvature < 0]
        if hyperbolic:
            raise InvalidInputError(
                f"metrics {hyperbolic} are hyperbolic, which have no chord in Euclidean space; "
                f"add them to the others by MixedMetric."
            )
        metrics = tuple(part for part in parts if isinstance(part, CurvedMetric))
        given = np.ones(len(metrics)) if units is None else units
        values = checks.as_points(given, "units", len(metrics), ndim=1)
        if not (values > 0).all():
            raise InvalidInputError(f"units must be positive; got {values.tolist()}.")
        self._fill(metrics=metrics, units=frozen.read_only(values))

    def _terms(self) -> list[tuple[SingleMetric, float]]:
        return list(zip(self.metrics, (1 / self.units).tolist(), strict=True))

    def embed(self, X: ArrayLike) -> AnyFloats:
        """Return coordinates (n, D) in which the metric is the Euclidean distance."""
        columns = [m.embed(X) / unit for m, unit in zip(self.metrics, self.units, strict=True)]
        return np.hstack(columns).astype(checks.float_dtype(X), copy=False)

    def _between(self, p: Floats, q: Floats, outside: Outside = "raise") -> Floats:
        return np.asarray(np.hypot.reduce(self._lengths(p, q, outside)))

    def _pair(self, p: AnyFloats, q: AnyFloats) -> float:
        parts = self._active_once
        return math.hypot(*[w * _chord(m._pair(p, q), m.curvature) for m, w in parts])

    def _compiled(self) -> _scalar.RowDistance:
        parts = zip(self.metrics, self.units.tolist(), strict=True)
        return _scalar.compiled_root([(m._compiled(), m.curvature, unit) for m, unit in parts])

    def _lengths(self, p: Floats, q: Floats, outside: Outside = "raise") -> list[Floats]:
        parts = zip(self.metrics, self.units, strict=True)
        return [
            lifts.sine(distance_between(p, q, part, outside) / 2, part.curvature) * 2 / unit
            for part, unit in parts
        ]

    def _kernels(self, X: Floats, Y: Floats | None, outside: Outside) -> _pairwise.WeightedKernels:
        parts = [(m, 1 / unit) for m, unit in zip(self.metrics, self.units.tolist(), strict=True)]
        sides = _pairwise.product_sides(X, Y, parts)
        return [(_pairwise.BlockKernel(sides, 0.0, self._between, outside), 1.0)]

    def __repr__(self) -> str:
        parts = zip(self.metrics, self.units, strict=True)
        terms = (f"{m.geometry}(K={m.curvature:g}) / {unit:.3g}" for m, unit in parts)
        return f"ProductMetric({' × '.join(terms)}, d={self.dimension})"


def _chord(distance: float, K: float) -> float:
    """Return the chord of one distance for K ≥ 0; :func:`lifts.sine` takes a third of a call."""
    k = math.sqrt(K)
    return 2 * math.sin(k * distance / 2) / k if K else distance


Metric = CurvedMetric | FormMetric | MixedMetric | ProductMetric | SphereMetric


def terms_of(metric: Metric) -> list[tuple[SingleMetric, float]]:
    """Return the parts of a metric and their weights; a single metric is its own part."""
    return list(metric._terms())


def has_boundary(metric: Metric) -> bool:
    """Return whether a hyperbolic part ends the domain somewhere."""
    return any(part.curvature < 0 for part, weight in terms_of(metric) if weight)


def first_term(metric: Metric) -> SingleMetric:
    return terms_of(metric)[0][0]


def as_parts(metrics: Any) -> tuple[SingleMetric, ...]:
    several = isinstance(metrics, Iterable)
    given = tuple(metrics) if several else ()
    if not given or not all(isinstance(part, SingleMetric) for part in given):
        kinds = [type(part).__name__ for part in given] if several else type(metrics).__name__
        raise InvalidInputError(
            f"metrics must be a sequence of at least one CurvedMetric or FormMetric; got {kinds}."
        )
    dimensions = [metric.dimension for metric in given]
    if len(set(dimensions)) > 1:
        raise InvalidInputError(f"metrics must share one dimension; got {dimensions}.")
    return given
