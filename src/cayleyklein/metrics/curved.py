"""The curved Mahalanobis metric."""

import math
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein import geometry
from cayleyklein._typing import AnyFloats, Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import bisectors, charts, distances, geodesics, lifts, means, space
from cayleyklein.geometry.projective import angles, signed
from cayleyklein.metrics import _pairwise, _scalar
from cayleyklein.metrics._base import MetricBase

LEAST_FORM = 1e-2  # S(x, x) under which single pairs are computed with twice the precision
Planes = ArrayLike | geometry.Hyperplane


class CurvedMetric(space.CurvedSpace, MetricBase):
    """A distance of constant curvature K: elliptic, Mahalanobis or hyperbolic. Immutable.

    With z = L(x - μ) and S(p, q) = 1 + K⟨z_p, z_q⟩ the distance is, by the sign of K,

    - K > 0: arccos(S_pq/√(S_pp S_qq))/√K, in [0, π/√K) since S_pq keeps its sign;
    - K = 0: ‖z_p - z_q‖;
    - K < 0: arccosh(S_pq/√(S_pp S_qq))/√-K, the same as arctanh(√(1 - S_pp S_qq/S_pq²))/√-K,

    and in general c_dist · Log (p, q; P, Q), with c_dist = 1/(2i√K) or 1/(2√-K) (paper §2.3, with
    the signs and the factor κ corrected). It is computed by a formula that is exact for close
    points and through K = 0. Near μ it is the Mahalanobis distance of Σ = LᵀL.

    Parameters
    ----------
    matrix : array-like of shape (d, d), optional
        Σ, symmetric positive definite.
    factor : array-like of shape (r, d) or (d,), optional
        L, or the diagonal of a diagonal L; give either `matrix` or `factor`. A factor of lower rank
        gives a pseudo-metric. A diagonal L takes memory and time in proportion to d, not to d².
    center : array-like of shape (d,), optional
        Centre μ; the origin by default. It has no effect on a flat metric's distances.
    curvature : float, default=0.0
        K, the sectional curvature (the paper's κ with K = sign(κ)κ²).

    Examples
    --------
    >>> metric = CurvedMetric(matrix=[[1.0, 0.0], [0.0, 1.0]], curvature=-1.0)
    >>> metric
    CurvedMetric(hyperbolic, d=2, K=-1)
    >>> metric.distance([0.0, 0.0], [[0.5, 0.0], [0.0, 0.9]]).round(3)
    array([0.549, 1.472])
    >>> metric.pairwise([[0.0, 0.0], [0.5, 0.0]]).round(3)
    array([[0.   , 0.549],
           [0.549, 0.   ]])
    >>> round(metric([0.0, 0.0], [0.5, 0.0]), 12)  # as ``metric=`` of scikit-learn, or of cdist
    0.549306144334
    >>> CurvedMetric.from_form(np.diag([1.0, 1.0, -4.0])), CurvedMetric.mahalanobis([[0.0], [2.0]])
    (CurvedMetric(hyperbolic, d=2, K=-0.25), CurvedMetric(flat, d=1, K=0))
    >>> CurvedMetric.from_kappa([[1.0]], [0.0], kappa=-0.5)
    CurvedMetric(hyperbolic, d=1, K=-0.25)
    >>> disc, sphere = (CurvedMetric.euclidean(2, curvature=K) for K in (-1.0, 1.0))

    The geometry of a metric:

    >>> disc.contains([[0.5, 0.5], [1.0, 0.0]])
    array([ True, False])
    >>> disc.geodesic([0.0, 0.0], [0.8, 0.0], 0.5), disc.midpoint([0.0, 0.0], [0.8, 0.0])
    (array([0.5, 0. ]), array([0.5, 0. ]))
    >>> disc.exp([0.1, 0.2], disc.log([0.1, 0.2], [0.5, -0.3])).round(12)
    array([ 0.5, -0.3])
    >>> line = disc.bisector([-0.5, 0.0], [0.5, 0.0])  # x = 0
    >>> round(float(disc.angle(line, [1.0, 1.0, 0.0])) / np.pi, 12)
    0.25
    >>> round(float(disc.signed_angle([1.0, 1.0, 0.0], line)) / np.pi, 12)  # clockwise
    -0.25
    >>> [float(disc.signed_distance([0.0, 0.0], [x, 0.0]).round(3)) for x in (0.5, -0.5)]
    [0.549, -0.549]
    >>> round(float(disc.vertex_angle([0.0, 0.0], [0.5, 0.0], [0.0, 0.5])) / np.pi, 12)
    0.5
    >>> disc.ball([0.5, 0.0], 0.5).ellipsoid().semi_axes.round(3)  # flattened at the boundary
    array([0.411, 0.366])
    >>> geometry.apply_collineation(disc.transvection([0.0, 0.0], [0.5, 0.0]), [0.0, 0.0])
    array([0.5, 0. ])
    >>> disc.to_chart([0.8, 0.0], "poincare"), disc.from_chart([0.5, 0.0], "poincare")
    (array([0.5, 0. ]), array([0.8, 0. ]))
    >>> corners = [[0.0, 0.0], [0.8, 0.0], [0.0, 0.8]]
    >>> disc.frechet_mean(corners).round(3), disc.geometric_median(corners).round(3)
    (array([0.301, 0.301]), array([0.176, 0.176]))
    >>> sphere.embed([[1.0, 0.0]]).round(3)
    array([[0.707, 0.   , 0.293]])
    """

    @classmethod
    def from_form(cls, S: ArrayLike) -> Self:
        """Return the metric of the paper's matrix S = [[Σ, a], [aᵀ, b]], up to its sign.

        With μ = -Σ⁻¹a and 1/K = b - μᵀΣμ (paper §2.4). Raises NotRepresentableError where Σ is not
        definite, so that no metric has this S, or 1/K = 0: S is singular, a cone.
        """
        matrix, center, curvature = space.parameters_from_form(S)
        return cls(matrix=matrix, center=center, curvature=curvature)

    @classmethod
    def from_kappa(cls, matrix: ArrayLike, center: ArrayLike, kappa: float) -> Self:
        """Return the metric of the paper's parameters Σ, μ and κ, K = sign(κ)κ² (paper §2.4).

        Its :attr:`form` is S_{Σ,μ,κ} with b = μᵀΣμ + sign(κ)/κ²; κ = 0 is the limit, a flat metric.
        :func:`cayleyklein.geometry.kappa_from_curvature` goes back.
        """
        curvature = space.curvature_from_kappa(kappa)
        return cls(matrix=matrix, center=center, curvature=curvature)

    @classmethod
    def mahalanobis(cls, X: ArrayLike, curvature: float = 0.0) -> Self:
        """Return the metric of rows X: their mean and precision (of a covariance divided by n)."""
        mean, precision = mean_and_precision(checks.as_points(X, "X", ndim=2))
        return cls(matrix=precision, center=mean, curvature=curvature)

    @classmethod
    def euclidean(cls, d: int, curvature: float = 0.0) -> Self:
        """Return the metric with Σ = I and μ = 0 in d dimensions."""
        return cls(factor=np.ones(checks.as_count(d, "d")), curvature=curvature)

    @property
    def form(self) -> Floats:
        """The paper's S = [[Σ, -Σμ], [-μᵀΣ, μᵀΣμ + 1/K]]; a flat metric has none."""
        K = self.curvature
        if K == 0 or not math.isfinite(1 / K):
            raise NotRepresentableError(
                f"The matrix S holds b = μᵀΣμ + 1/K, which is not finite for K = {K}; "
                f"a flat metric is described by its matrix alone."
            )
        a = -self.matrix @ self.center
        return space.form_from_blocks(self.matrix, a, float(1 / K - a @ self.center))

    @cached_property
    def absolute(self) -> geometry.Absolute:
        """The fundamental conic and its dual, for every K, the flat case included."""
        K, mu, inverse = self.curvature, self.center, self.inverse_factor
        a = -K * self.matrix @ mu
        primal = np.block([[K * self.matrix, a[:, None]], [a[None, :], np.array([[1 - a @ mu]])]])
        dual_block = inverse @ inverse.T + K * np.outer(mu, mu)
        dual = np.block([[dual_block, K * mu[:, None]], [K * mu[None, :], np.array([[K]])]])
        return geometry.Absolute(primal, dual)

    @property
    def domain(self) -> geometry.Ellipsoid | None:
        """The ellipsoid that bounds a hyperbolic metric; None when the domain is all of space."""
        if self.curvature >= 0:
            return None
        return geometry.Ellipsoid(self.center, self.matrix, 1 / math.sqrt(-self.curvature))

    def _between(self, p: Floats, q: Floats, outside: distances.Outside = "raise") -> Floats:
        return distances.distance_between(p, q, self, outside)

    def _terms(self) -> list[tuple[Any, float]]:
        return [(self, 1.0)]

    def _pair(self, p: AnyFloats, q: AnyFloats) -> float:
        found: float = _scalar.curved_distance(p, q, *self._scalars)
        return found

    @cached_property
    def _scalars(self) -> tuple[Floats, Floats, float, float]:
        # Numba takes several µs to recognise arrays that cannot be written to
        return np.array(self.compact_factor), np.array(self.center), self.curvature, LEAST_FORM

    def _compiled(self) -> _scalar.RowDistance:
        return _scalar.compiled_distance(self)

    # What the sums and products of metrics ask of each of their parts.

    def _place(self, X: Floats, name: str) -> tuple[Floats, Floats]:
        return space.place_points(self, X, name)

    def _kernels(
        self, X: Floats, Y: Floats | None, outside: distances.Outside
    ) -> _pairwise.WeightedKernels:
        sides, K = _pairwise.lift_sides(X, Y, self, outside)
        return [(_pairwise.BlockKernel(sides, K, self._between, outside), 1.0)]

    def _mean_diagonal(self, rows: Floats) -> Floats:
        """Return the diagonal (d,) of the mean metric tensor over rows."""
        return geodesics.mean_diagonal(rows, self)

    def _lowered(self, steps: Floats, x: Floats, name: str) -> Floats:
        """Return g(x)u of steps u (n, d) at points x (n, d)."""
        return geodesics.lower_steps(steps, x, self, name)

    def signed_distance(
        self, p: ArrayLike, q: ArrayLike, *, direction: ArrayLike | None = None
    ) -> AnyFloats:
        """Return the distance, positive where q comes after p on their oriented line (paper §2.1).

        It changes its sign when p and q are exchanged, and on each line, whatever K, it is
        additive: d(p, q) = d(p, r) + d(r, q), also for r beyond p or q. The elliptic one is in
        (-π/√K, π/√K), as the hemisphere's: no multiple of a period is missing.
        :func:`cayleyklein.geometry.signed_measure` is the same of the projective plane, where
        sums hold modulo π/√K, and of points outside a conic.

        Parameters
        ----------
        p, q : array-like of shape (..., d)
            In the domain.
        direction : array-like of shape (..., d), optional
            Orients the lines, see :func:`cayleyklein.geometry.signed_measure`. By default the
            first coordinate that changes along a line increases.
        """
        dtype, d = checks.float_dtype(p, q), self.dimension
        p, q = checks.as_points(p, "p", d), checks.as_points(q, "q", d)
        p, q = checks.broadcast_points(p=p, q=q)
        length = self.distance(p, q)  # refuses points whose difference overflows
        found = length * signed.sense_of_line(p, q, direction)
        return np.asarray(found).astype(dtype, copy=False)[()]

    def embed(self, X: ArrayLike) -> AnyFloats:
        """Return coordinates of rows (n, d) for methods that use Euclidean distances.

        Flat: Lx up to a shift, where the Euclidean distance is the metric. Elliptic: points of a
        sphere in r + 1 dimensions, where it is the chord, which has the metric's order.
        Hyperbolic: tangent coordinates at the centre (the log map), where it only approximates the
        metric; rows outside the domain are put just inside its boundary.
        """
        rows = checks.as_points(X, "X", self.dimension, ndim=2)
        z, _ = space.place_points(self, rows, "X")  # raises where squares overflow
        found = lifts.euclidean_coordinates(z, self.curvature)
        return found.astype(checks.float_dtype(X), copy=found is rows)

    def bisector(self, p: ArrayLike, q: ArrayLike) -> geometry.Hyperplane:
        """Return the hyperplane of points equally far from p and q, positive on p's side.

        It may leave a hyperbolic domain; clip it to :attr:`domain`.
        """
        return bisectors.bisector(p, q, self)

    def ball(self, center: ArrayLike, radius: float) -> geometry.Ball:
        """Return the closed ball around center; ``.ellipsoid()`` gives its shape in the chart."""
        return geometry.Ball(center, radius, self)

    def geodesic(self, p: ArrayLike, q: ArrayLike, t: ArrayLike | None = None) -> AnyFloats:
        """Return points (..., m, d), or (..., d) for a single t, of the geodesic from p to q.

        Parameters
        ----------
        p, q : array-like of shape (..., d)
            Ends, in the domain.
        t : array-like of shape (m,) or a number, optional
            Fractions of its length: 0 is p and 1 is q; values outside [0, 1] extrapolate. 50 equal
            steps when None.
        """
        return geodesics.geodesic(p, q, self, np.linspace(0, 1, 50) if t is None else t)

    def midpoint(self, p: ArrayLike, q: ArrayLike) -> AnyFloats:
        """Return the point half way between p and q."""
        return geodesics.geodesic(p, q, self, 0.5)

    def exp(self, x: ArrayLike, v: ArrayLike) -> AnyFloats:
        """Return the end, after unit time, of the geodesic that leaves x with velocity v.

        The end of a hyperbolic geodesic is inside the domain, as exact as its coordinates can be.
        An elliptic one that crosses the equator, where the chart ends, raises OutsideDomainError.
        """
        return geodesics.exp_map(x, v, self)

    def log(self, x: ArrayLike, y: ArrayLike) -> AnyFloats:
        """Return the velocity at x of the geodesic that reaches y at time 1."""
        return geodesics.log_map(x, y, self)

    def frechet_mean(self, X: ArrayLike, weights: ArrayLike | None = None) -> Floats:
        """Return the point (d,) with the least sum of squared distances to rows X (n, d).

        It is unique for every K. Weights (n,) are equal by default.
        """
        return means.frechet_mean(X, weights, self)

    def geometric_median(self, X: ArrayLike, weights: ArrayLike | None = None) -> Floats:
        """Return the point (d,) with the least sum of (weighted) distances to rows X (n, d).

        Raises NotRepresentableError where it may not be unique: for points on one line with half of
        the weight on each side, and for elliptic points in no ball of radius π/(4√K).
        """
        return means.geometric_median(X, weights, self)

    def angle(self, first: Planes, second: Planes) -> AnyFloats:
        """Return the acute angle between hyperplanes (normal, offset) by the dual absolute.

        Parameters
        ----------
        first, second : Hyperplane or array-like of shape (..., d + 1)
            Hyperplanes, or homogeneous vectors (normal, offset).
        """
        a, b = _vectors_of(first), _vectors_of(second)
        return angles.metric_angle(a, b, self, ("first", "second"))

    def signed_angle(
        self, first: Planes, second: Planes, *, turn: ArrayLike | None = None
    ) -> AnyFloats:
        """Return the angle from one hyperplane to another, in (-π/2, π/2] (paper §2.1).

        In the plane it is positive anticlockwise. It changes its sign when the two are exchanged
        (π/2 does not), and is additive over hyperplanes of a pencil modulo π, since they have no
        sides. Its modulus is :meth:`angle`.

        Parameters
        ----------
        first, second : Hyperplane or array-like of shape (..., d + 1)
            Hyperplanes, or homogeneous vectors (normal, offset).
        turn : array-like of shape (..., 2, d + 1), optional
            Orients the pencils, see :func:`cayleyklein.geometry.signed_hyperplane_measure`.
        """
        a, b = _vectors_of(first), _vectors_of(second)
        size = self.dimension + 1
        pair = checks.broadcast_points(
            first=angles.as_hyperplanes(a, "first", size),
            second=angles.as_hyperplanes(b, "second", size),
        )
        sense = signed.sense_of_pencil(pair[0], pair[1], turn)
        return angles.metric_angle(a, b, self, ("first", "second"), sense)

    def vertex_angle(self, x: ArrayLike, p: ArrayLike, q: ArrayLike) -> AnyFloats:
        """Return the angle at x between the geodesics to p and to q, in [0, π]."""
        return geodesics.vertex_angle(x, p, q, self)

    def transvection(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """Return the isometry that carries p to q along their geodesic, as a collineation.

        A matrix of shape (d + 1, d + 1), for :func:`cayleyklein.geometry.apply_collineation`. Its
        entries grow like exp(√-K d(p, q)), and so does the rounding of what it maps.
        """
        return geodesics.transvection(p, q, self)

    def to_chart(self, X: ArrayLike, chart: str) -> AnyFloats:
        """Return the coordinates of X in a chart.

        Parameters
        ----------
        X : array-like of shape (..., d)
            In the domain.
        chart : {"klein", "conformal", "sphere", "poincare", "hyperboloid", "half_space", \
                "hemisphere"}
            "klein" and "conformal" (Poincaré, stereographic) exist for every K, "sphere" for
            K > 0, the others for K < 0. Coordinates are in units of 1/√abs(K).
        """
        charts.refuse_chart(chart, int(np.sign(self.curvature)))
        z, s = self.inside(X, "X")
        y = charts.place_in_chart(self.length_unit * z, s, chart)
        return y.astype(checks.float_dtype(X), copy=False)

    def from_chart(self, Y: ArrayLike, chart: str) -> Floats:
        """Return points from their coordinates Y in a chart: the inverse of :meth:`to_chart`.

        Always in double precision; points more than 16.8/√-K from the centre, which it cannot
        hold, raise OutsideDomainError.
        """
        with checks.about("Y"):
            w = charts.from_chart(checks.as_points(Y, "Y"), chart, int(np.sign(self.curvature)))
            return self.points(w / self.length_unit)

    @property
    def length_unit(self) -> float:
        """√abs(K), or 1 where K = 0: charts are in units of its inverse."""
        return math.sqrt(abs(self.curvature)) or 1.0


def _vectors_of(planes: Planes) -> ArrayLike:
    return planes.homogeneous if isinstance(planes, geometry.Hyperplane) else planes


def mean_and_precision(X: Floats) -> tuple[Floats, Floats]:
    """Return the mean of rows and the inverse of their covariance (normalised by n)."""
    checks.refuse_huge(X, "X")
    mean = X.mean(axis=0)
    rows = X - mean
    extent = np.abs(rows).max(axis=0)
    if ((extent > 0) & (extent < 1 / checks.LARGEST_SQUARED)).any():
        raise InvalidInputError(
            f"X has columns that vary by {extent[extent > 0].min():g}, whose squares "
            f"underflow; rescale them."
        )
    spread = np.sqrt((rows * rows).mean(axis=0))
    constant = spread <= 8 * np.finfo(float).eps * np.abs(X).max(axis=0)
    rows = np.where(constant, 0.0, rows / np.where(constant, 1.0, spread))
    correlation = rows.T @ rows / len(X)  # the rank must not depend on the units of columns
    rank = np.linalg.matrix_rank(correlation, hermitian=True)
    if rank < X.shape[1]:
        raise NotRepresentableError(
            f"The covariance of X ({X.shape[0]} rows, {X.shape[1]} columns) has rank {rank}, "
            f"and so no inverse; drop constant or dependent columns, or take more rows."
        )
    return mean, np.linalg.inv(correlation) / spread / spread[:, None]


def standard_factor(X: Floats, weights: Floats | None = None) -> Floats:
    """Return the diagonal (d,) of the factor that standardises columns; constant columns get 1."""
    mean = np.average(X, axis=0, weights=weights)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    return 1 / np.where((np.ptp(X, axis=0) > 0) & (deviation > 0), deviation, 1.0)
