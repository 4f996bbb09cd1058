"""Maximum-margin hyperplanes of a space of constant curvature."""

import math
from itertools import combinations
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import (
    check_data,
    check_parameters,
    encode_classes,
    naming,
    restore_on_error,
)
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import refuse_huge, warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import lifts
from cayleyklein.metrics.curved import CurvedMetric, standard_factor
from cayleyklein.svm._newton import largest_margin


class CurvedLinearSVC(EstimatorCard, ClassifierMixin, BaseEstimator):
    """Separate classes by hyperplanes of an elliptic, flat or hyperbolic space.

    In the coordinates z = L(x - μ), hyperplanes ⟨w, z⟩ + b = 0 are straight in every curvature. The
    margin is measured in the space: with σ = √(1 + K‖z‖²) and [n, n] = ‖w‖² + K b², a row is at
    sin_K(distance) = f(x)/√[n, n] from the hyperplane, f(x) = (⟨w, z⟩ + b)/σ. Minimised is
    ½[n, n] + C Σ max(0, 1 - y f(x))²: :class:`sklearn.svm.LinearSVC` at K = 0, without a penalty on
    b.

    Parameters
    ----------
    metric : CurvedMetric, optional
        The space, with the columns of X as its coordinates; by default flat, with standardised
        columns.
    C : float, default=1.0
        Penalty of rows within the margin. In a hyperbolic space it must exceed -K/2, also after
        multiplication by class weights.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class; "balanced" takes n / (n_classes × rows of the class).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    metric_ : CurvedMetric
    coef_ : ndarray of shape (n_planes, d)
        Normals of the hyperplanes ⟨coef, x⟩ + intercept = 0 in the columns of X, one for each pair
        of classes, in the order (0, 1), (0, 2), …, (1, 2), …; positive on the side of the second.
        ``Hyperplane(coef_[0], intercept_[0])`` goes into ``metric_.angle`` and into the pictures of
        :mod:`cayleyklein.plotting`.
    intercept_ : ndarray of shape (n_planes,)
    margin_ : ndarray of shape (n_planes,)
        Distance from each hyperplane to the rows with f = ±1: inf where no point of the space is
        that far away, and NaN where predicting one class for all rows is better than every
        hyperplane of a hyperbolic space.
    n_iter_ : int
        Largest number of Newton steps over the hyperplanes.
    n_features_in_ : int
    feature_names_in_ : ndarray

    Notes
    -----
    The problem is convex for K ≥ 0. For K < 0 it is not, but for C > -K/2 it has exactly one
    stationary point (``docs/svm.md`` says why), so there are no local minima to fall into. A step
    of Newton's method costs n d min(n, d) operations.

    Probabilities come from :class:`sklearn.calibration.CalibratedClassifierCV`.

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
        self, metric: CurvedMetric | None = None, *, C: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:  # fmt: skip
        self.metric = metric
        self.C = C
        self.class_weight = class_weight

    @restore_on_error
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the hyperplanes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows in the domain of the metric.
        y : array-like of shape (n,)
            Labels of two classes or more.

        Returns
        -------
        self
        """
        check_parameters(self)
        rows, target = check_data(self, X, y, dtype=np.float64)
        classes, labels = encode_classes(target)
        refuse_one_class(classes)
        metric = self.metric
        if metric is None:
            refuse_huge(rows, "X")
            metric = CurvedMetric(factor=standard_factor(rows), center=rows.mean(axis=0))
        penalties = self._penalties(classes, classes[labels], metric.curvature)[labels]
        lifted = lift_rows(rows, metric)
        found = []
        for first, second in combinations(range(len(classes)), 2):
            some = (labels == first) | (labels == second)
            signs = np.where(labels[some] == second, 1.0, -1.0)
            found.append(largest_margin(lifted[some], signs, metric.curvature, penalties[some]))
        if not all(one.converged for one in found):
            warn_caller("Newton's method did not converge; lower C.", ConvergenceWarning)
        self._normals = np.array([one.normal for one in found])
        self.metric_, self.classes_ = metric, classes
        self.n_iter_ = max(one.n_iter for one in found)
        self.coef_ = self._normals[:, :-1] @ metric.factor
        self.intercept_ = self._normals[:, -1] - self.coef_ @ metric.center
        self.margin_ = margins(self._normals, metric.curvature)
        return self

    def _penalties(self, classes: AnyArray, target: AnyArray, K: float) -> Floats:
        """Return C of each class; raise where a hyperbolic problem has no unique solution."""
        with naming("class_weight"):
            weights = compute_class_weight(self.class_weight, classes=classes, y=target)
        penalties = np.asarray(self.C * weights, dtype=np.float64)
        if not (np.isfinite(penalties) & (penalties > 0)).all():
            raise InvalidInputError(f"class_weight must be positive; got {weights.tolist()}.")
        if 2 * penalties.min() <= -K:
            given = "" if self.class_weight is None else " times the least class_weight"
            raise InvalidInputError(
                f"Got C={self.C:g}, but expected C{given} > -K/2 = {-K / 2:g}: below it, the "
                f"problem of a hyperbolic metric has no unique solution."
            )
        return penalties

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return f(x) = (⟨w, z⟩ + b)/σ, which is √[n, n] sin_K of the signed distance.

        For more than two classes it is the number of pairs that each class wins, plus less than a
        half that ranks equal numbers by f, as in :class:`sklearn.svm.SVC`.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows in the domain of the metric.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            A column for each class if there are more than two.
        """
        check_is_fitted(self, "classes_")
        rows = check_data(self, X, dtype=np.float64, reset=False)
        values: Floats = lift_rows(rows, self.metric_) @ self._normals.T
        if len(self.classes_) == 2:
            return values[:, 0]
        return np.asarray(_ovr_decision_function(values > 0, values, len(self.classes_)))

    def predict(self, X: ArrayLike) -> AnyArray:
        """Return the class of each row: its side, or the class that wins most pairs.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows in the domain of the metric.

        Returns
        -------
        ndarray of shape (m,)
        """
        values = self.decision_function(X)
        found = values > 0 if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[found.astype(np.intp)])


def refuse_one_class(classes: AnyArray) -> None:
    if len(classes) < 2:
        raise InvalidInputError(
            f"y has one class, {classes.tolist()[0]!r}; a support vector machine needs two or more."
        )


def lift_rows(rows: Floats, metric: CurvedMetric) -> Floats:
    """Return (z, 1)/σ of rows in the domain of a metric for them."""
    if metric.dimension != rows.shape[1]:
        raise InvalidInputError(
            f"X has {rows.shape[1]} columns, but the metric is for {metric.dimension}."
        )
    z, s = metric.inside(rows, "X")
    return lifts.lift(z, s)


def margins(normals: Floats, K: float) -> Floats:
    """Return the distances whose sin_K is 1/√[n, n]; inf for none, NaN for [n, n] ≤ 0."""
    square = (normals[:, :-1] ** 2).sum(axis=1) + K * normals[:, -1] ** 2
    sines = np.full(len(square), np.nan)
    np.divide(1.0, np.sqrt(np.maximum(square, 0)), out=sines, where=square > 0)
    k = math.sqrt(abs(K))
    if K < 0:
        return np.asarray(np.arcsinh(k * sines) / k)
    if K == 0:
        return sines
    return np.where(k * sines > 1, np.inf, np.arcsin(np.minimum(k * sines, 1)) / k)
