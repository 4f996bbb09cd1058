"""Multidimensional scaling in a space of constant curvature."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _estimators as estimators
from cayleyklein import _validation as checks
from cayleyklein._typing import Bools, Floats
from cayleyklein.exceptions import InvalidInputError, InvalidTypeError, OutsideDomainError
from cayleyklein.geometry.space import refuse_at
from cayleyklein.manifold import _limits
from cayleyklein.manifold import _stress as spaces
from cayleyklein.manifold._placing import place
from cayleyklein.manifold.scaling import Scaling, ScalingProblem, bridged
from cayleyklein.metrics import CurvedMetric, Metric


class CurvedMDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Multidimensional scaling in a space of constant curvature, which may be learned.

    Like scikit-learn's ``MDS``, it places a point for each row such that the distances d between
    points are close to the dissimilarities δ between rows, by minimising the stress Σ (d - δ)² over
    pairs. Distances are those of a sphere (K > 0), of flat space (K = 0) or of hyperbolic space
    (K < 0), and the curvature K is one of the unknowns: it may cross zero. Descents start from
    classical scaling and follow exact gradients by L-BFGS.
    :class:`cayleyklein.plotting.MapDisplay` draws the points.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the space.
    curvature : "learned" or float, default="learned"
        K, in units of one over a squared dissimilarity; 0 is scikit-learn's ``MDS``. "learned"
        goes down to K = -(16/largest δ)². Where the dissimilarities do not decide K, as those of
        three points in the plane, a warning says so and K is 0.
    n_init : int or "auto", default="auto"
        Number of starts: classical scaling, and ``n_init - 1`` random ones; the lowest stress wins.
        "auto" is 4 up to 300 rows, and 1 above, where random starts hardly ever win.
    max_iter : int, default=1000
        Maximum number of iterations of each descent.
    tol : float, default=1e-6
        Relative decrease of the stress in an iteration at which a descent ends.
    random_state : int, RandomState or None, default=None
        Seed of the random starts and, above 300 rows, of the sample on which K is first searched.
    metric : str, callable or metric, default="euclidean"
        Dissimilarity of rows: "precomputed" (X holds dissimilarities), a name or function for
        :func:`sklearn.metrics.pairwise_distances`, or a :class:`~cayleyklein.CurvedMetric`,
        :class:`~cayleyklein.MixedMetric` or :class:`~cayleyklein.ProductMetric`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        Chart coordinates: ``metric_.pairwise(embedding_)`` are the distances. They are Klein's for
        K < 0, Cartesian for K = 0 and gnomonic for K > 0, around the centre of the points and along
        their principal axes. A gnomonic chart holds a hemisphere: points that need more of the
        sphere are given by stereographic coordinates y, with ds = ‖dy‖/(1 + K‖y‖²/4), and
        `metric_` is None.
    metric_ : CurvedMetric or None
        Metric of `embedding_`, with L = I, μ = 0 and the curvature K.
    curvature_ : float
        Curvature K of the space.
    tangent_ : ndarray of shape (n, n_components)
        Tangent coordinates of the points at the centre: length and direction of the way there.
    sphere_ : ndarray of shape (n, n_components + 1) or None
        For K > 0 the points as unit vectors, on the whole sphere; the pole is last.
    distances_ : ndarray of shape (n, n)
        Distances between the points, on whatever part of the sphere; computed when asked for.
    stress_ : float
        Stress Σ ω (d - δ)² over pairs, each of which counts once.
    dissimilarity_matrix_ : ndarray of shape (n, n)
        Dissimilarities δ, NaN where they are missing.
    n_iter_ : int
        Number of iterations of the best descent.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.

    Notes
    -----
    A learned K describes the dissimilarities in `n_components` dimensions. Rows of many dimensions
    that are all about equally far from each other fit better on a sphere, or in a strongly
    hyperbolic space, than in the plane, without being curved themselves.

    Examples
    --------
    Distances along a tree, which has no place for its leaves in the plane:

    >>> import numpy as np
    >>> from cayleyklein import CurvedMDS
    >>> star = 2.0 - 2 * np.eye(7)
    >>> star[0, 1:] = star[1:, 0] = 1  # the middle, and six leaves
    >>> CurvedMDS(metric="precomputed", random_state=0).fit(star).metric_.geometry
    'hyperbolic'

    Rows, and new ones among them:

    >>> X, mds = np.random.default_rng(0).normal(size=(30, 3)), CurvedMDS(curvature=0.0)
    >>> mds.fit_transform(X[:25]).shape, mds.transform(X[25:]).shape
    ((25, 2), (5, 2))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "curvature": [Interval(Real, None, None, closed="neither"), StrOptions({"learned"})],
        "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "metric": [str, callable],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        curvature: float | str = "learned",
        n_init: int | str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
        metric: Any = "euclidean",
    ) -> None:
        self.n_components = n_components
        self.curvature = curvature
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.metric = metric

    def fit(self, X: ArrayLike, y: Any = None, weights: ArrayLike | None = None) -> Self:
        """Place a point for each row.

        Parameters
        ----------
        X : array-like of shape (n, d) or (n, n)
            Rows, or with ``metric="precomputed"`` their dissimilarities: symmetric, not negative,
            0 on the diagonal, and NaN where they are missing. One triangle of the matrix is
            enough, with NaN in the other.
        y : None
            Not used.
        weights : array-like of shape (n, n), optional
            Weight ω ≥ 0 of each pair in the stress Σ ω (d - δ)², symmetric; 0 leaves a pair out.
        """
        estimators.check_parameters(self)
        rng = check_random_state(self.random_state)
        rows = self._check_rows(X, reset=True)
        n = len(rows)
        r = int(self.n_components)
        remedy = "Fit a sample, and transform the others."
        checks.check_memory(40.0 * n * n, f"Scaling {n:,} rows", remedy)
        between = rows if self._precomputed else self._between(rows, None)
        name = "X" if self._precomputed else "The dissimilarity of X"
        given = symmetric_dissimilarities(between, name)
        known = pair_weights(weights, np.isnan(given))
        delta = given.copy() if known is None else np.where(known > 0, given, 0.0)
        pairs = n * (n - 1) if known is None else np.count_nonzero(known)
        size = float(np.sqrt(np.square(delta).sum() / pairs)) or 1.0
        delta /= size
        filled = delta if known is None else bridged(delta, known > 0)
        K = None if self.curvature == "learned" else float(self.curvature)
        longest = float(filled.max()) * size
        strongest = 24.0  # √-K times the largest δ: beyond, Klein's coordinates lose all digits
        if K is not None and K < 0 and np.sqrt(-K) * longest > strongest:
            raise InvalidInputError(
                f"Got curvature={K:g} for dissimilarities up to {longest:g}, but expected at least "
                f"{-((strongest / longest) ** 2):.4g}: beyond, coordinates in double "
                f"precision have no digits left."
            )
        problem = ScalingProblem(
            delta,
            known,
            filled,
            r,
            K=None if K is None else K * size**2,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=rng,
        )
        with estimators.few_threads(n, n):
            # the stress of few rows has more different minima
            few = 4 if n <= _limits.SAMPLE else 1
            fit = problem.solve(few if self.n_init == "auto" else int(self.n_init))
            surface = spaces.to_surface(fit.v, fit.K)
            fit = fit._replace(v=spaces.to_centered(surface, fit.K))
            self._keep(fit, problem.stress, size)
        self.dissimilarity_matrix_ = given
        self._rows = None if self._precomputed else rows
        if not fit.determined:
            checks.warn_caller(
                "The curvature is undetermined: flat and hyperbolic spaces fit these "
                "dissimilarities equally well. It is set to 0; pass curvature=0.0 if that is "
                "meant, or more rows."
            )
        self._warn_unless(fit.converged)
        return self

    def fit_transform(
        self, X: ArrayLike, y: Any = None, weights: ArrayLike | None = None
    ) -> Floats:
        """Place a point for each row and return `embedding_`, see :meth:`fit`."""
        return self.fit(X, weights=weights).embedding_

    def transform(self, X: ArrayLike) -> Floats:
        """Return coordinates (m, n_components) of new rows, each where its own stress is least.

        X has the rows (m, d), or with ``metric="precomputed"`` their dissimilarities to the fitted
        ones (m, n), NaN where missing.
        """
        check_is_fitted(self, "embedding_")
        target = self._check_rows(X, reset=False)
        if self._rows is None:
            check_dissimilarities(target, "X")
        else:
            target = self._between(target, self._rows)
        known = (~np.isnan(target)).astype(float)
        refuse_at(~known.any(axis=1), "X has rows without a dissimilarity", "; drop them.")
        target = np.where(known > 0, target, 0.0)
        found, converged = place(self.tangent_, self.curvature_, target, known, self.max_iter)
        self._warn_unless(bool(converged.all()))
        return self._chart(found)

    @property
    def distances_(self) -> Floats:
        """Distances between the points."""
        check_is_fitted(self, "embedding_")
        found = spaces.distances(self.tangent_, self.curvature_)
        return np.asarray((found + found.T) / 2)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _warn_unless(self, converged: bool) -> None:
        if not converged:
            said = f"The stress was still falling after max_iter={self.max_iter} iterations; "
            checks.warn_caller(f"{said}raise max_iter or tol.", ConvergenceWarning)

    def _keep(self, fit: Scaling, stress: spaces.Stress, size: float) -> None:
        """Set the fitted attributes, in the units of the dissimilarities."""
        self.stress_ = float(fit.stress * stress.total * size**2)
        v = fit.v * size
        learned = self.curvature == "learned"
        K = fit.K / size**2 if learned else float(self.curvature)
        self.curvature_ = float(K)
        self.tangent_ = v
        self.n_iter_ = max(1, fit.n_iter)
        X = spaces.to_surface(v, K)
        self.sphere_ = X * spaces.radii(X, K) if K > 0 else None
        whole = K > 0 and bool((X[:, -1] <= 0).any())
        self.metric_ = None if whole else CurvedMetric.euclidean(v.shape[1], curvature=K)
        self.embedding_ = self._chart(v)

    def _chart(self, v: Floats) -> Floats:
        if self.metric_ is None:
            return spaces.to_stereographic(v, self.curvature_).y
        X = spaces.to_surface(v, self.curvature_)
        said = "X has rows beyond the hemisphere that the coordinates of the fitted points cover"
        remedy = ". Fit them together with the others."
        refuse_at(X[:, -1] <= 0, said, remedy, OutsideDomainError)
        return np.asarray(X[:, :-1] / X[:, -1:])

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _check_rows(self, X: ArrayLike, *, reset: bool) -> Floats:
        if self._precomputed and hasattr(X, "toarray"):
            raise InvalidTypeError(
                "X is sparse, and the zeros of dissimilarities may be none at all. Pass "
                "X.toarray(), or cayleyklein.manifold.graph_distances(X) if X is a graph."
            )
        finite = "allow-nan" if self._precomputed else True
        least = 2 if reset else 1
        rows: Floats = estimators.check_data(
            self, X, dtype=float, reset=reset, ensure_min_samples=least, ensure_all_finite=finite
        )
        square = reset and not self._precomputed and rows.shape[0] == rows.shape[1] > 2
        if square and not np.diagonal(rows).any() and np.array_equal(rows, rows.T):
            said = "X looks like a matrix of dissimilarities, but is taken as rows; if it is one"
            checks.warn_caller(f'{said}, set metric="precomputed".')
        return rows

    def _between(self, rows: Floats, others: Floats | None) -> Floats:
        metric = self.metric
        if isinstance(metric, str) and metric == "euclidean":  # exact for close rows too
            metric = CurvedMetric.euclidean(rows.shape[1])
        if isinstance(metric, Metric):
            return np.asarray(metric.pairwise(rows, others), dtype=float)
        with estimators.naming("metric"):
            return np.asarray(pairwise_distances(rows, others, metric=metric), dtype=float)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = tags.input_tags
        given.sparse = not self._precomputed
        given.pairwise = given.positive_only = given.allow_nan = self._precomputed
        return tags


def check_dissimilarities(values: Floats, name: str) -> float:
    """Check that dissimilarities are not negative or huge; return the largest. NaN is missing."""
    said = f"Negative values in data: {name} is negative"
    refuse_at(values < 0, said, "; dissimilarities are 0 or more.")
    longest = float(np.nanmax(values, initial=0.0))
    if longest and not 1e-100 <= longest <= 1e100:  # whose squares and cubes stay finite
        said = f"{name} has a largest dissimilarity of {longest:g}, whose powers"
        raise InvalidInputError(f"{said} overflow or underflow; divide {name} by it.")
    return longest


def symmetric_dissimilarities(values: Floats, name: str) -> Floats:
    """Check that dissimilarities are symmetric; fill in those missing in one triangle only."""
    expected = 'a square matrix with metric="precomputed"'
    rows, columns = values.shape
    checks.expect(rows == columns, f"{name} of shape", values.shape, expected)
    longest = check_dissimilarities(values, name)
    values = np.where(np.isnan(values), values.T, values)
    symmetric = checks.as_symmetric(np.nan_to_num(values), name)
    said = f"{name} must be 0 on the diagonal, but is not"
    remedy = "; convert similarities to dissimilarities first."
    refuse_at(np.diagonal(symmetric) > 1e-10 * longest, said, remedy)  # more than rounding
    symmetric[np.isnan(values)] = np.nan
    np.fill_diagonal(symmetric, 0.0)
    return symmetric


def pair_weights(weights: ArrayLike | None, missing: Bools) -> Floats | None:
    """Return weights (n, n) that are 0 for missing pairs and on the diagonal; None for all 1."""
    if weights is None and not missing.any():
        return None
    found = np.ones(missing.shape) if weights is None else checks.as_symmetric(weights, "weights")
    expected = f"shape {missing.shape}, one for each pair of rows"
    checks.expect(found.shape == missing.shape, "weights of shape", found.shape, expected)
    refuse_at(found < 0, "weights is negative", "; a weight is 0 or more.")
    found[missing] = 0.0
    np.fill_diagonal(found, 0.0)
    group = connected_components(found > 0, directed=False)[1]
    said = "No dissimilarity of positive weight connects row 0 with rows"
    remedy = ": their places are undetermined. Drop them, or fit them by themselves."
    refuse_at(group != group[0], said, remedy)
    return found
