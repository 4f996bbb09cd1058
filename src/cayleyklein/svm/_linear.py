"""Maximum-margin hyperplanes of a space of constant curvature."""

from itertools import combinations
from numbers import Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _estimators
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import refuse_huge, warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import lifts
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics.curved import CurvedMetric, standard_factor
from cayleyklein.neighbors.search import as_metric
from cayleyklein.prediction.predicting import with_class_weights
from cayleyklein.svm._newton import largest_margin


class CurvedLinearSVC(_estimators.TakesSparse, EstimatorCard, ClassifierMixin, BaseEstimator):
    """Separate classes by hyperplanes of an elliptic, flat or hyperbolic space.

    In z = L(x - μ), hyperplanes ⟨w, z⟩ + b = 0 are straight in every curvature. The margin is
    measured in the space: with σ = √(1 + K‖z‖²) and [n, n] = ‖w‖² + K b², f(x) = (⟨w, z⟩ + b)/σ is
    √[n, n] sin_K(distance of x). Minimised is ½[n, n] + C Σ max(0, 1 - y f(x))²:
    :class:`sklearn.svm.LinearSVC` at K = 0, without a penalty on b.

    Parameters
    ----------
    metric : CurvedMetric, optional
        The space of the rows; by default flat, with standardised columns.
    C : float, default=1.0
        Penalty of rows within the margin. In a hyperbolic space it must exceed -K/2, also after
        multiplication by the weights of rows and classes.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class, 1 for classes that a dict lacks; "balanced" takes n / (n_classes ×
        rows of the class), rows counted by their weights.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    metric_ : CurvedMetric
        Metric of the rows.
    coef_ : ndarray of shape (n_planes, d)
        Normals of the hyperplanes ⟨coef, x⟩ + intercept = 0, one for each pair of classes, in the
        order (0, 1), (0, 2), …, (1, 2), …; positive on the side of the second. ``metric_.angle``
        and :mod:`cayleyklein.plotting` take ``Hyperplane(coef_[0], intercept_[0])``.
    intercept_ : ndarray of shape (n_planes,)
        Intercepts of the hyperplanes.
    margin_ : ndarray of shape (n_planes,)
        Distance from each hyperplane to the rows with f = ±1: inf where no point is that far away,
        NaN where one class for all rows is better than every hyperplane of a hyperbolic space.
    n_iter_ : int
        Largest number of Newton steps over the hyperplanes.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.

    Notes
    -----
    The problem is convex for K ≥ 0. For K < 0 it is not, but for C > -K/2 the minimum is its only
    stationary point (``docs/svm.md`` says why). A step of Newton's method costs n d min(n, d)
    operations. Probabilities come from :class:`sklearn.calibration.CalibratedClassifierCV`.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> X, y = [[-0.5, 0.0], [0.5, 0.0], [0.5, 0.5]], [0, 1, 1]
    >>> model = CurvedLinearSVC(disc, C=1e6).fit(X, y)
    >>> model.predict([[-0.1, 0.9], [0.1, 0.9]])
    array([0, 1])
    >>> model.decision_function([[0.0, 0.0], [-0.5, 0.0]]).round(3) + 0.0  # 0 and -1: the margin
    array([ 0., -1.])
    >>> model.margin_.round(3)  # half of the distance 1.0986 from row 0 to row 1
    array([0.549])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [CurvedMetric, None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        metric: CurvedMetric | None = None,
        *,
        C: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:
        self.metric = metric
        self.C = C
        self.class_weight = class_weight

    @_estimators.restore_on_error
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the hyperplanes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows in the domain of the metric.
        y : array-like of shape (n,)
            Labels of two classes or more.
        sample_weight : array-like of shape (n,), optional
            Factors of C by row, as in :class:`sklearn.svm.SVC`: a weight of 2 is two rows, 0 leaves
            a row out, and a common factor of all weights is a factor of C.
        """
        given = self._read(X, y, sample_weight)
        rows = cast(Floats, given.X)
        labels = given.target
        classes = cast(AnyArray, given.classes)
        if self.metric is None:
            refuse_huge(rows, "X")
            center = np.average(rows, axis=0, weights=given.weights)
            metric = CurvedMetric(factor=standard_factor(rows, given.weights), center=center)
        else:
            metric = cast(CurvedMetric, as_metric(self.metric, rows.shape[1]))
        K = metric.curvature
        penalties = self._penalties(given, K)
        lifted = lifts.lift(*metric.inside(rows, "X"))
        found = []
        for first, second in combinations(range(len(classes)), 2):
            some = (labels == first) | (labels == second)
            signs = np.where(labels[some] == second, 1.0, -1.0)
            found.append(largest_margin(lifted[some], signs, K, penalties[some]))
        normals, steps, converged = zip(*found, strict=True)
        if not all(converged):
            warn_caller("Newton's method did not converge; lower C.", ConvergenceWarning)
        self.metric_ = metric
        self.classes_ = classes
        self.n_iter_ = max(steps)
        self._normals = np.array(normals)
        w, b = self._normals[:, :-1], self._normals[:, -1]
        self.coef_ = w @ metric.factor
        self.intercept_ = b - self.coef_ @ metric.center
        square = (w * w).sum(axis=1) + K * b * b  # [n, n], 1/sin_K² of the margin
        sqsine = 1 / np.where(square > 0, square, np.nan)
        margin = lifts.distance_from_sqchord(4 * sqsine, K) / 2
        self.margin_ = np.where(K * sqsine > 1, np.inf, margin)
        return self

    def _read(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None) -> GivenRows:
        """Check parameters and data; return the rows of positive weight."""
        _estimators.check_parameters(self)
        rows, target = _estimators.check_data(self, X, y, order="C")
        classes, labels = _estimators.encode_classes(target)
        weights = _estimators.as_weights(sample_weight, rows)
        kept = weights > 0
        present, labels = np.unique(labels[kept], return_inverse=True)
        if len(present) < 2:
            where = "" if kept.all() else " where sample_weight is positive"
            raise InvalidInputError(
                f"y has one class{where}, {classes[present].tolist()[0]!r}; a support vector "
                f"machine needs two or more."
            )
        return GivenRows(rows[kept], labels, weights[kept], rows.shape[1], classes[present])

    def _penalties(self, given: GivenRows, K: float) -> Floats:
        """Return C times the weights of rows and classes."""
        penalties = self.C * with_class_weights(given, self.class_weight).weights
        if not (np.isfinite(penalties) & (penalties > 0)).all():
            raise InvalidInputError(
                f"C times class_weight and sample_weight must be positive numbers; got C={self.C:g}"
                f" and class_weight={self.class_weight!r}."
            )
        if 2 * penalties.min() <= -K:
            least = penalties.min() / self.C
            raise InvalidInputError(
                f"Got C={self.C:g} and the least weight {least:g} (class_weight times "
                f"sample_weight), but expected C × weight > -K/2 = {-K / 2:g}: below it, the "
                f"problem of a hyperbolic metric has no unique solution. Take a larger C."
            )
        return penalties

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return f(x) = (⟨w, z⟩ + b)/σ of rows X (m, d): √[n, n] sin_K of their signed distance.

        For more than two classes, (m, n_classes): the number of pairs that each class wins, plus
        less than a half that ranks equal numbers by f, as in :class:`sklearn.svm.SVC`.
        """
        check_is_fitted(self, "classes_")
        rows = _estimators.check_data(self, X, reset=False)
        values: Floats = lifts.lift(*self.metric_.inside(rows, "X")) @ self._normals.T
        if len(self.classes_) == 2:
            return values[:, 0]
        return np.asarray(_ovr_decision_function(values > 0, values, len(self.classes_)))

    def predict(self, X: ArrayLike) -> AnyArray:
        """Return the class (m,) of rows X (m, d): their side, or the class that wins most pairs."""
        values = self.decision_function(X)
        found = values > 0 if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[found.astype(np.intp)])
