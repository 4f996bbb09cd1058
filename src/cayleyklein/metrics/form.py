"""The hyperbolic metric of any conic with an inside, also where it is no ellipsoid in the chart."""

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Floats
from cayleyklein.exceptions import NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import (
    Absolute,
    Ellipsoid,
    distances,
    frozen,
    geodesics,
    lifts,
    signature,
    space,
)
from cayleyklein.metrics import _scalar
from cayleyklein.metrics._base import MetricBase
from cayleyklein.metrics._pairwise import BlockKernel, WeightedKernels, lift_sides
from cayleyklein.metrics.curved import LEAST_FORM, CurvedMetric


class FormMetric(frozen.Frozen, MetricBase):
    """The hyperbolic metric of any form S of signature (1, 0, d). Immutable.

    :class:`CurvedMetric` needs the domain S(x, x) < 0 to be an ellipsoid, so that Σ in
    S = [[Σ, a], [aᵀ, b]] is positive definite. A form of the same signature whose Σ is indefinite
    has a domain that is bounded by a hyperboloid or a paraboloid, and is the same geometry seen in
    another chart. The paper's hyperbolic learner, which only asks that its rows stay inside, often
    ends there (paper §4.3).

    With M (r + 1, d + 1) such that S = Mᵀ diag(1, …, 1, -1) M and (y, w) = M(x - c, 1), the point
    u = y/w is in the unit ball exactly where x is in the domain, and the distance is that of u
    there. The sign of w does not matter: a domain of two sheets is connected at infinity, and
    distances are those of the projective plane, arccosh |S_pq|/√(S_pp S_qq).

    Parameters
    ----------
    factor : array-like of shape (r + 1, d + 1)
        M; :meth:`from_form` finds it for a given S. Fewer rows than columns, or columns of zeros,
        give a pseudo-metric.
    center : array-like of shape (d,), optional
        Centre c; the origin by default. One close to the rows keeps their digits.
    curvature : float, default=-1.0
        K < 0. The distance is divided by √-K.

    Attributes
    ----------
    geometry : str
        "hyperbolic".

    Examples
    --------
    >>> metric = FormMetric.from_form(np.diag([1.0, -1.0, 1.0]))  # y² > 1 + x²: two sheets
    >>> metric, metric.contains([[0.0, 2.0], [0.0, -2.0], [0.0, 0.5]])
    (FormMetric(hyperbolic, d=2, K=-1), array([ True,  True, False]))
    >>> round(metric([0.0, 2.0], [1.0, 3.0]), 6), round(float(np.arccosh(5 / np.sqrt(21))), 6)
    (0.423649, 0.423649)
    >>> metric.pairwise([[0.0, 2.0]], [[0.0, 4.0], [0.0, -2.0]]).round(6)
    array([[0.293893, 1.098612]])
    >>> metric.distance([[0.0, 2.0]], [[1.0, 3.0]]).round(6), metric.embed([[0.0, 2.0]]).shape
    (array([0.423649]), (1, 2))
    """

    _arguments = ("factor", "center", "curvature")
    geometry = "hyperbolic"
    factor: Floats
    center: Floats
    curvature: float

    def __init__(
        self, factor: ArrayLike, center: ArrayLike | None = None, curvature: float = -1.0
    ) -> None:
        M = checks.as_finite_array(factor, "factor")
        checks.expect(
            M.ndim == 2 and min(M.shape) > 1, "factor of shape", M.shape, "(r + 1, d + 1), r, d ≥ 1"
        )
        d = M.shape[1] - 1
        c = np.zeros(d) if center is None else checks.as_points(center, "center", d, ndim=1)
        K = checks.as_real(curvature, "curvature")
        checks.expect(K < 0, "curvature", K, "a number < 0: a FormMetric is hyperbolic")
        self._fill(factor=frozen.read_only(M), center=frozen.read_only(c), curvature=K)

    @classmethod
    def from_form(cls, S: ArrayLike, curvature: float = -1.0) -> "FormMetric":
        """Return the metric of a form S of signature (1, 0, d), or of -S of signature (d, 0, 1).

        Only S up to a factor counts; K is given apart. :meth:`CurvedMetric.from_form` takes the
        forms whose domain is an ellipsoid, and those of elliptic metrics.
        """
        S = checks.as_symmetric(S, "S")
        checks.expect(len(S) > 1, "S of shape", S.shape, "(d+1)×(d+1) with d ≥ 1")
        counts = signature(S)
        d = len(S) - 1
        if counts == (d, 0, 1) and d > 1:
            S = -S
        elif counts != (1, 0, d):
            raise NotRepresentableError(
                f"S has the signature (n, z, p) = {counts}, but a hyperbolic metric needs "
                f"(1, 0, {d}). CurvedMetric.from_form takes elliptic forms, (0, 0, {d + 1})."
            )
        # columns of one size first, so that the small eigenvalues keep their digits
        unit = np.sqrt(np.abs(S).max(axis=0))
        eigenvalues, vectors = np.linalg.eigh(S / unit / unit[:, None])
        M = (np.sqrt(np.abs(eigenvalues)) * vectors).T * unit
        return cls(np.roll(M, -1, axis=0), curvature=curvature)  # the negative one last

    @property
    def dimension(self) -> int:
        """Number of coordinates d of a point."""
        return len(self.center)

    @property
    def form(self) -> Floats:
        """The paper's S for points (x, 1), with a leading block Σ that may be indefinite.

        It is scaled such that S = Mᵀ diag(1, …, 1, -1) M; any positive multiple of it is the
        same geometry.
        """
        M = self.factor.copy()
        M[:, -1] -= M[:, :-1] @ self.center
        signs = np.append(np.ones(len(M) - 1), -1.0)
        return np.asarray((M.T * signs) @ M)

    @property
    def domain(self) -> Ellipsoid:
        """Not available: the domain is bounded by a quadric that is no ellipsoid."""
        raise NotRepresentableError(
            "The domain of a FormMetric, S(x, x) < 0, is no ellipsoid in general. "
            "metric.contains(X) says which rows are inside, and metric.absolute is its boundary."
        )

    @cached_property
    def absolute(self) -> Absolute:
        """The fundamental conic and its dual."""
        return Absolute(-self.form)

    @cached_property
    def unit_ball(self) -> CurvedMetric:
        """The metric of the ball of radius 1/√-K that measures the images of points."""
        return CurvedMetric.euclidean(len(self.factor) - 1, self.curvature)

    def images(self, X: ArrayLike) -> Floats:
        """Return y/(√-K w) (..., r) of points (..., d): where :attr:`unit_ball` sees them.

        Examples
        --------
        >>> metric = FormMetric.from_form(np.diag([1.0, -1.0, 1.0]))
        >>> p, q = metric.images([[0.0, 2.0], [1.0, 3.0]])
        >>> round(metric.unit_ball(p, q), 6)
        0.423649
        """
        return self._images(checks.as_points(X, "X", self.dimension))

    def _images(self, X: Floats) -> Floats:
        return self._seen(*self._homogeneous(X))

    def _homogeneous(self, X: Floats) -> tuple[Floats, Floats]:
        """Return y and w, scaled to order 1 against overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            image = lifts.map_rows(self.factor[:, :-1], X - self.center) + self.factor[:, -1]
        checks.refuse_overflow(np.isfinite(image).all(axis=-1), "M(x - c, 1)", "x")
        return image[..., :-1], image[..., -1]

    def _seen(self, y: Floats, w: Floats) -> Floats:
        """Return y/(√-K w); points at the horizon, which are outside, are put far away."""
        size = np.abs(y).max(axis=-1) / 1e100
        w = np.where(np.abs(w) > size, w, np.copysign(size, w))
        return np.asarray(y / (math.sqrt(-self.curvature) * w[..., None]))

    def _place(self, X: Floats, name: str) -> tuple[Floats, Floats]:
        """Return the images of points, and 1 + K‖image‖² = -S(x, x)/w², positive inside."""
        y, w = self._homogeneous(X)
        u = self._seen(y, w)
        length = np.sqrt(np.einsum("...i,...i", u, u)) * math.sqrt(-self.curvature)
        return u, np.asarray((1 - length) * (1 + length))

    def _inside(self, X: Floats, name: str) -> tuple[Floats, Floats]:
        u, s = self._place(X, name)
        refuse = "lies on or outside the domain S(x, x) < 0 of the metric; move or drop such points"
        space.refuse_at(
            s <= 0,
            name,
            f' {refuse}, or ask distances for outside="inf" or "modulus".',
            OutsideDomainError,
        )
        return u, s

    def _steps(self, p: Floats, q: Floats, u_p: Floats, u_q: Floats) -> Floats:
        """Return u_p - u_q from p - q, exact for close points.

        y_p - y_q = A(p - q) and w_p - w_q = ⟨m, p - q⟩, so with means over both points
        (u_p - u_q) w̄ = A(p - q)/√-K - ū ⟨m, p - q⟩.
        """
        w_p, w_q = self._homogeneous(p)[1], self._homogeneous(q)[1]
        moved = lifts.map_rows(self.factor[:, :-1], p - q)
        middle, w = (u_p + u_q) / 2, (w_p + w_q) / 2
        above = moved[..., :-1] / math.sqrt(-self.curvature) - middle * moved[..., -1:]
        same_sheet = w_p * w_q > 0
        found = u_p - u_q
        return np.where(
            same_sheet[..., None], above / np.where(same_sheet, w, 1.0)[..., None], found
        )

    def _between(self, p: Floats, q: Floats, outside: distances.Outside = "raise") -> Floats:
        place = self._inside if outside == "raise" else self._place
        (u_p, s_p), (u_q, s_q) = place(p, "p"), place(q, "q")
        steps = self._steps(p, q, u_p, u_q)
        return distances.from_places(steps, u_p, s_p, u_q, s_q, self.curvature, outside)

    def _pair(self, p: AnyFloats, q: AnyFloats) -> float:
        found: float = _scalar.form_distance(p, q, *self._scalars)
        return found

    @cached_property
    def _scalars(self) -> tuple[Floats, Floats, float, float, float]:
        # closer images are compared in another way, by `_steps`
        apart = 1e-2
        return np.array(self.factor), np.array(self.center), self.curvature, LEAST_FORM, apart

    def _compiled(self) -> _scalar.RowDistance:
        return _scalar.compiled_images(self)

    def _terms(self) -> list[tuple["FormMetric", float]]:  # type: ignore[override]
        return [(self, 1.0)]

    def _kernels(self, X: Floats, Y: Floats | None, outside: distances.Outside) -> WeightedKernels:
        if outside == "raise":
            self._inside(X, "X")
            if Y is not None:
                self._inside(Y, "Y")
        images = None if Y is None else self._images(Y)
        sides, K = lift_sides(self._images(X), images, self.unit_ball, outside)
        rows = (X,) if Y is None else (X, Y)  # from which close pairs are measured again
        sides = [side._replace(x=x) for side, x in zip(sides, rows, strict=True)]
        return [(BlockKernel(sides, K, self._between, outside), 1.0)]

    @property
    def column_lengths(self) -> Floats:
        """Not available: the metric has no centre at which all columns could be compared."""
        raise NotRepresentableError(
            "A FormMetric may have no centre in the chart at which columns could be weighed; "
            "give the rows, feature_weights(X)."
        )

    def _mean_diagonal(self, rows: Floats) -> Floats:
        """Return the diagonal (d,) of the mean metric tensor JᵀG(u)J over rows, J = ∂u/∂x."""
        u, _ = self._inside(rows, "X")
        w = self._homogeneous(rows)[1]
        found = np.zeros(self.dimension)
        for j in range(self.dimension):
            v = self._turned(u, w, self.factor[:-1, j], self.factor[-1, j])
            carried = geodesics.lower_steps(v, u, self.unit_ball, "X")
            found[j] = np.einsum("ij,ij->i", v, carried).mean()
        return found

    def _turned(self, u: Floats, w: Floats, moved: Floats, rise: AnyFloats) -> Floats:
        """Return the velocity of an image whose (y, w) moves by (moved, rise)."""
        steps = moved / math.sqrt(-self.curvature) - u * np.asarray(rise)[..., None]
        return np.asarray(steps / w[:, None])

    def tensor(self, x: ArrayLike) -> Floats:
        """Return the Riemannian metric tensor (d, d) at a point x, JᵀG(u)J with J = ∂u/∂x.

        Examples
        --------
        >>> FormMetric.from_form(np.diag([1.0, -1.0, 1.0])).tensor([0.0, 2.0]).round(6)
        array([[0.333333, 0.      ],
               [0.      , 0.111111]])
        """
        rows = checks.as_points(x, "x", self.dimension, ndim=1)[None, :]
        steps = np.eye(self.dimension)
        tensor = self._lowered(steps, np.repeat(rows, len(steps), axis=0), "x")
        return (tensor + tensor.T) / 2

    def _lowered(self, steps: Floats, x: Floats, name: str) -> Floats:
        """Return g(x)u of steps u (n, d) at points x (n, d)."""
        u, _ = self._inside(x, name)
        w = self._homogeneous(x)[1]
        moved = lifts.map_rows(self.factor[:, :-1], steps)
        v = self._turned(u, w, moved[:, :-1], moved[:, -1])
        carried = geodesics.lower_steps(v, u, self.unit_ball, name) / w[:, None]
        back = carried @ self.factor[:-1, :-1] / math.sqrt(-self.curvature)
        along = np.einsum("ij,ij->i", carried, u)
        return np.asarray(back - along[:, None] * self.factor[-1, :-1])

    def embed(self, X: ArrayLike) -> AnyFloats:
        """Return tangent coordinates of rows (n, d) at the centre of the ball; approximate.

        As for every hyperbolic metric no Euclidean map keeps the order of distances; rows outside
        the domain are put just inside its boundary.
        """
        rows = checks.as_points(X, "X", self.dimension, ndim=2)
        return self.unit_ball.embed(self._images(rows)).astype(checks.float_dtype(X), copy=False)

    def __repr__(self) -> str:
        return f"FormMetric(hyperbolic, d={self.dimension}, K={self.curvature:g})"
