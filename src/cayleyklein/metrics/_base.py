"""What all metrics share: the call on two points, the notebook card, and feature weights."""

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._notebook import NotebookCard
from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import distances
from cayleyklein.geometry.distances import Outside
from cayleyklein.metrics import _scalar
from cayleyklein.metrics._pairwise import WeightedKernels, fill_distances

if TYPE_CHECKING:
    from cayleyklein.metrics.curved import CurvedMetric
    from cayleyklein.metrics.form import FormMetric


class MetricBase(NotebookCard):
    """Base of the metrics, each a combination of weighted curved metrics."""

    _power: ClassVar[int] = 1

    @property
    def dimension(self) -> int:
        """Number of coordinates d of a point."""
        return self._terms()[0][0].dimension

    def distance(self, p: ArrayLike, q: ArrayLike, *, outside: Outside = "raise") -> AnyFloats:
        """Return the distances between p and q, accurate also for points close together.

        Parameters
        ----------
        p, q : array-like of shape (..., d)
            Broadcast over leading axes.
        outside : {"raise", "inf", "modulus"}, default="raise"
            Value for a pair with a point on or outside a hyperbolic domain: an error, inf, or the
            modulus of the complex measure (:func:`cayleyklein.geometry.measure`), which is inf
            where one of two different points is on the boundary.
        """
        checks.as_choice(outside, "outside", distances.OUTSIDE)
        dtype, d = checks.float_dtype(p, q), self.dimension
        p, q = checks.as_points(p, "p", d), checks.as_points(q, "q", d)
        p, q = checks.broadcast_points(p=p, q=q)
        found = distances.in_blocks(lambda p, q: self._between(p, q, outside), p, q)
        return found.astype(dtype, copy=False)[()]

    def _between(self, p: Floats, q: Floats, outside: Outside = "raise") -> Floats:
        """Return the distances of checked points of one shape."""
        return np.asarray(np.sum(self._lengths(p, q, outside), axis=0))

    def _lengths(self, p: Floats, q: Floats, outside: Outside = "raise") -> list[Floats]:
        """Return what each part adds to the `_power` of distances, before that power."""
        parts = self._active()
        return [weight * m._between(p, q, outside) for m, weight in parts]

    def pairwise(
        self, X: ArrayLike, Y: ArrayLike | None = None, *, outside: Outside = "raise"
    ) -> AnyFloats:
        """Return all distances between the rows of X and of Y, or of X with itself.

        Close pairs are as exact as by :meth:`distance`; besides the result and copies of X and
        Y only a few MB are used. ``pairwise(X)`` is exactly symmetric with a zero diagonal.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        Y : array-like of shape (m, d), optional
            Other rows; by default those of X.
        outside : {"raise", "inf", "modulus"}, default="raise"
            As in :meth:`distance`.

        Returns
        -------
        ndarray of shape (n, m)
            Distances, in float32 if X and Y are, and in float64 otherwise.
        """
        checks.as_choice(outside, "outside", distances.OUTSIDE)
        dtype = checks.float_dtype(X) if Y is None else checks.float_dtype(X, Y)
        X = checks.as_points(X, "X", self.dimension, ndim=2)
        Y = None if Y is None else checks.as_points(Y, "Y", self.dimension, ndim=2)
        n, m = len(X), len(X if Y is None else Y)
        checks.check_memory(
            n * m * dtype.itemsize,
            f"The distances between {n:,} and {m:,} rows",
            "Take fewer rows at a time, or use CurvedNeighbors to find the nearest rows only.",
        )
        result = np.empty((n, m), dtype=dtype)
        fill_distances(result, self._kernels(X, Y, outside), symmetric=Y is None)
        return result

    def pairwise_of_checked(
        self, X: Floats, Y: Floats | None = None, outside: Outside = "raise"
    ) -> Floats:
        """Return what :meth:`pairwise` does, for finite rows of floats that were checked before.

        Examples
        --------
        >>> import numpy as np
        >>> from cayleyklein import CurvedMetric
        >>> CurvedMetric.euclidean(1).pairwise_of_checked(np.array([[0.0], [3.0]]))
        array([[0., 3.],
               [3., 0.]])
        """
        result = np.empty((len(X), len(X if Y is None else Y)))
        fill_distances(result, self._kernels(X, Y, outside), symmetric=Y is None)
        return result

    def _kernels(self, X: Floats, Y: Floats | None, outside: Outside) -> WeightedKernels:
        """Return the kernels whose weighted sum are the distances of blocks of rows."""
        raise NotImplementedError

    def contains(self, X: ArrayLike) -> Bools:
        """Return whether points are inside the domain, where all distances are real."""
        X = checks.as_points(X, "X", self.dimension)
        inside = [metric._place(X, "X")[1] > 0 for metric, _ in self._active()]
        return np.asarray(np.all(inside, axis=0))[()]

    def _terms(self) -> list[tuple["CurvedMetric | FormMetric", float]]:
        raise NotImplementedError

    def _active(self) -> list[tuple["CurvedMetric | FormMetric", float]]:
        return [(metric, weight) for metric, weight in self._terms() if weight]

    def __call__(self, p: ArrayLike, q: ArrayLike) -> float:
        """Return the distance of two points as a float."""
        if type(p) is np.ndarray and type(q) is np.ndarray:
            shape = self._row_shape
            if p.shape == shape == q.shape and p.dtype.kind == "f" and q.dtype.kind == "f":
                found = self._pair(p, q)
                if found == found:  # not NaN
                    return found
        value = self.distance(p, q)
        if np.ndim(value):
            raise InvalidInputError(
                f"A metric called as a function takes two points, but the shapes given make "
                f"{np.shape(value)} pairs; use distance() or pairwise()."
            )
        return float(value)

    def _pair(self, p: AnyFloats, q: AnyFloats) -> float:
        """Return the distance of two rows; NaN where :meth:`distance` is to be asked."""
        return sum([weight * metric._pair(p, q) for metric, weight in self._active_once])

    @cached_property
    def _row_shape(self) -> tuple[int]:
        return (self.dimension,)

    @cached_property
    def _active_once(self) -> list[tuple["CurvedMetric | FormMetric", float]]:
        return [(metric, float(weight)) for metric, weight in self._active()]

    def compiled(self) -> _scalar.RowDistance:
        """Return the distance of two rows as a function that is compiled by Numba.

        For UMAP, PyNNDescent and all that compile such functions into their own loops, and for
        scikit-learn's ``metric=`` (which is slow with any function: give it a graph of neighbours
        by :class:`cayleyklein.CurvedNeighbors` instead).

        Returns
        -------
        function of two arrays of shape (d,)
            Returns a float: inf for rows outside a hyperbolic domain. Nothing is checked, and rows
            very close to the boundary of a domain have fewer digits than by :meth:`distance`.

        Examples
        --------
        >>> from cayleyklein import CurvedMetric
        >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
        >>> between, x, y = metric.compiled(), np.array([0.0, 0.0]), np.array([0.8, 0.0])
        >>> round(between(x, y), 12) == round(metric(x, y), 12)
        True
        """
        return self._compiled()

    def _compiled(self) -> _scalar.RowDistance:
        return _scalar.compiled_sum([(m._compiled(), weight) for m, weight in self._active()])

    def feature_weights(self, X: ArrayLike | None = None) -> Floats:
        """Return the share of each column in the squared distances between rows.

        A small step u at x has the squared length uᵀG(x)u, G being
        :func:`cayleyklein.geometry.metric_tensor`. A step in column j alone, of that column's
        standard deviation sⱼ, has Gⱼⱼsⱼ². The weights are these with the mean Ḡ of G over the rows,
        divided by their sum. They do not depend on the units of the columns, and compare between
        geometries.

        Parameters
        ----------
        X : array-like of shape (n, d), optional
            At least two rows in the domain; rows outside are left out. Without X, G is taken at
            the centre and all sⱼ are 1.

        Returns
        -------
        ndarray of shape (d,)
            Not negative, with sum 1; 0 only for a column that no distance depends on.

        Notes
        -----
        In a product, G = Σₚ Gₚ/uₚ² for units uₚ. The length l = Σₚ wₚ √(uᵀGₚu) of a mixed metric is
        not a quadratic form, but l² is homogeneous of degree 2, so Euler's theorem splits it into
        Σⱼ uⱼ ∂(l²/2)/∂uⱼ. This is G = Σₚ wₚ (l/lₚ) Gₚ, at the typical lengths lₚ = √(Σⱼ Ḡₚⱼⱼsⱼ²) of
        the parts and l = Σₚ wₚ lₚ.

        Columns that depend on each other may cancel between two given rows: :meth:`column_shares`
        says for two rows which columns bring them apart, and which closer.

        Examples
        --------
        >>> from cayleyklein import CurvedMetric
        >>> metric = CurvedMetric(matrix=[[4.0, 0.0], [0.0, 1.0]])
        >>> metric.feature_weights([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        array([0.8, 0.2])
        """
        parts = self._active()
        if X is None:
            carried = [metric.column_lengths**2 for metric, _ in parts]
        else:
            rows = checks.as_points(X, "X", self.dimension, ndim=2)
            checks.refuse_huge(rows, "X")
            rows = rows[self.contains(rows)]
            if len(rows) < 2:
                raise InvalidInputError(
                    f"X must have at least two rows in the domain of the metric; got {len(rows)}."
                )
            variance = rows.var(axis=0)
            carried = [variance * metric._mean_diagonal(rows) for metric, _ in parts]
        shares = self._combine([weight for _, weight in parts], carried)
        if not shares.any():
            raise InvalidInputError("The metric is 0 between all rows of X: no column has a share.")
        return np.asarray(shares / shares.sum())

    def column_shares(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """Return the signed share of each column in the distances between p and q (n, d).

        A geodesic is a straight line, so its squared length is a multiple of uᵀG(p)u, u = p - q,
        and column j contributes uⱼ(G(p)u)ⱼ to it; the mean of both ends is taken. A contribution is
        negative where a column brings two rows closer than the others alone would have them, as
        correlated columns may. Shares are contributions over the sum of their absolute values, so
        that columns which cancel have no shares beyond 1.

        Parameters
        ----------
        p, q : array-like of shape (n, d)
            In the domain.

        Returns
        -------
        ndarray of shape (n, d)
            The absolute values of a row add up to 1; zeros for two points at distance 0.

        Examples
        --------
        >>> from cayleyklein import CurvedMetric
        >>> metric = CurvedMetric(matrix=[[1.0, -0.9], [-0.9, 1.0]])
        >>> metric.column_shares([[0.0, 0.0]], [[2.0, 1.0]]).round(2)
        array([[ 0.73, -0.27]])
        """
        p = checks.as_points(p, "p", self.dimension, ndim=2)
        q = checks.as_points(q, "q", self.dimension, ndim=2)
        if len(p) != len(q):
            raise InvalidInputError(f"p and q must be as many points; got {len(p)} and {len(q)}.")
        found = np.zeros(p.shape)
        for (metric, _), length in zip(self._active(), self._lengths(p, q), strict=True):
            ends = []
            for at, name in ((p, "p"), (q, "q")):
                carried = (p - q) * metric._lowered(p - q, at, name)
                whole = carried.sum(axis=1)[:, None]
                ends.append(np.divide(carried, whole, np.zeros_like(carried), where=whole > 0))
            found += length[:, None] ** self._power * (ends[0] + ends[1]) / 2
        whole = np.abs(found).sum(axis=1, keepdims=True)
        return np.asarray(np.divide(found, whole, np.zeros_like(found), where=whole > 0))

    def _combine(self, weights: list[float], shares: list[Floats]) -> Floats:
        """Add up the column shares of the parts; d² = Σ (w d)²."""
        return np.asarray(sum(w**2 * part for w, part in zip(weights, shares, strict=True)))
