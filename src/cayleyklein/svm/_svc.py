"""Support vectors in the Laplacian kernel of a learned or given metric."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from operator import itemgetter
from typing import Any, ClassVar, NoReturn, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import (
    as_random_state,
    check_data,
    check_parameters,
    encode_classes,
    few_threads,
    restore_on_error,
)
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import check_memory, refuse_huge, warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import CurvedLMNN
from cayleyklein.metrics import LaplacianKernel, Metric, laplacian_kernel, standard_factor
from cayleyklein.neighbors.search import as_metric
from cayleyklein.svm._linear import refuse_one_class

CS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""C that cross-validation tries; the smallest wins ties."""

SHARES = (0.1, 0.3, 1.0, 3.0)
"""γ that it tries, times the median distance of rows; the smallest wins ties."""

DEFAULT_C, DEFAULT_SHARE = 10.0, 0.3
"""Where there are too few rows to hold some out."""

TABLES = 3
"""Tables of n² numbers that a fit has in memory: distances, a Gram matrix, and its folds."""

MANY_ROWS = 10_000
"""Rows from which a fit warns: its time grows faster than n², and one for 10,000 takes minutes."""

MEDIAN_ROWS = 1000
"""Rows, evenly spaced, whose distances have the median that γ is measured by."""

BLOCK_ENTRIES = 2**23
"""Entries of the Gram matrices of a prediction."""


class CurvedSVC(EstimatorCard, ClassifierMixin, BaseEstimator):
    """Learn a curved metric, and classify by support vectors in its Laplacian kernel.

    The kernel is exp(-γ(d + Σⱼ cⱼ|xⱼ - yⱼ|)): the distance of the metric plus the Manhattan
    distance of standardised columns, of equal median. It is positive definite for every metric, see
    :func:`cayleyklein.metrics.laplacian_kernel`. Columns need no scaling.

    Parameters
    ----------
    metric : "auto", CurvedMetric, MixedMetric, ProductMetric or learner, default="auto"
        "auto" learns the metric by ``CurvedLMNN()``. A learner such as ``CurvedLMNN(geometry=...)``
        is cloned and fitted, unless it is fitted already.
    manhattan : bool, default=True
        Add the Manhattan distance. False leaves the kernel of the metric alone.
    C : float, optional
        Penalty of rows within the margin; by cross-validation when None.
    gamma : float, optional
        γ > 0, in units of 1/d; by cross-validation when None.
    cv : int, default=5
        Folds of the cross-validation, drawn by class.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class.
    random_state : int, RandomState or None, default=None
        Draws the folds, and what learning draws.

    Attributes
    ----------
    classes_ : ndarray
    metric_ : CurvedMetric, MixedMetric or ProductMetric
    kernel_ : LaplacianKernel
        A callable of rows, for other kernel methods.
    C_, gamma_ : float
        Those given or chosen.
    cv_results_ : list of dict
        "C", "gamma" and "accuracy" of what cross-validation tried; empty when both were given or
        rows too few.
    support_ : ndarray of shape (n_support,)
        Rows of X that are support vectors.
    support_vectors_ : ndarray of shape (n_support, d)
    svc_ : sklearn.svm.SVC
        The fitted machine, on the Gram matrix.
    n_features_in_ : int
    feature_names_in_ : ndarray

    Notes
    -----
    The distances are computed once, and all C and γ are tried on them. The metric is learned from
    all rows before, those held out included: accuracies in ``cv_results_`` compare C and γ, and
    are no estimate of the accuracy on new rows.

    Memory is that of three n × n tables, and time grows faster than n². Beyond 10,000 rows a
    warning says so; ``CurvedKNeighborsClassifier`` has no such limit.

    Several classes are compared pair by pair, as by :class:`sklearn.svm.SVC`. Probabilities come
    from :class:`sklearn.calibration.CalibratedClassifierCV`.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CurvedSVC(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> model.decision_function(X[:4]).shape
    (4, 3)

    With a metric that is known:

    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedSVC(disc, manhattan=False, C=10.0, gamma=1.0)
    >>> model.fit([[0.0], [0.1], [0.9]], ["a", "a", "b"]).predict([[0.2], [0.8]])
    array(['a', 'b'], dtype='<U1')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [StrOptions({"auto"}), *get_args(Metric), HasMethods(["fit"])],
        "manhattan": ["boolean"],
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        metric: Any = "auto",
        *,
        manhattan: bool = True,
        C: float | None = None,
        gamma: float | None = None,
        cv: int = 5,
        class_weight: dict[Any, float] | str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.metric = metric
        self.manhattan = manhattan
        self.C = C
        self.gamma = gamma
        self.cv = cv
        self.class_weight = class_weight
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> CurvedSVC:
        """Learn the metric, choose C and γ, and find the support vectors.

        Parameters
        ----------
        X : array-like of shape (n, d)
            In the domain of a metric that is given.
        y : array-like of shape (n,)
            Two classes or more.

        Returns
        -------
        self
        """
        check_parameters(self)
        rows, target = check_data(self, X, y, dtype=np.float64, order="C")
        classes, labels = encode_classes(target)
        refuse_one_class(classes)
        check_size(len(rows))
        refuse_huge(rows, "X")
        rng = as_random_state(self.random_state)
        with few_threads(*rows.shape):
            metric = self._metric(rows, target, rng)
            kernel, unit = self._unit_kernel(rows, metric)
            distances = kernel.distances(rows)
            C, gamma, tried = self._choose(distances, labels, classes, unit, rng)
            machine = self._machine(C, classes).fit(np.exp(-gamma * distances), labels)
        self.metric_, self.classes_ = metric, classes
        self.kernel_ = laplacian_kernel(metric, gamma, kernel.column_weights)
        self.C_, self.gamma_, self.cv_results_ = C, gamma, tried
        self.svc_, self.support_ = machine, machine.support_
        self.support_vectors_ = rows[machine.support_]
        return self

    def _metric(self, rows: Floats, target: AnyArray, rng: np.random.RandomState) -> Metric:
        """Return the metric that is given, or learned."""
        if isinstance(self.metric, Metric):
            return as_metric(self.metric, rows.shape[1])
        learner = self.metric
        if isinstance(learner, str):
            learner = CurvedLMNN(random_state=rng)
        if not hasattr(learner, "metric_"):
            learner = clone(learner).fit(rows, target)
        if not isinstance(getattr(learner, "metric_", None), Metric):
            raise InvalidInputError(
                f"metric must be a metric, or a learner with a metric_ once it is fitted, as "
                f"CurvedLMNN() has; {type(learner).__name__} has none."
            )
        return as_metric(learner.metric_, rows.shape[1])

    def _unit_kernel(self, rows: Floats, metric: Metric) -> tuple[LaplacianKernel, float]:
        """Return the kernel with γ = 1, and the median of its distances."""
        some = rows[np.unique(np.linspace(0, len(rows) - 1, MEDIAN_ROWS).astype(int))]
        unit = median_of(laplacian_kernel(metric, 1.0).distances(some))
        if not self.manhattan:
            return laplacian_kernel(metric, 1.0), unit
        weights = standard_factor(rows)
        weights = weights * (unit / median_of(cdist(some * weights, some * weights, "cityblock")))
        return laplacian_kernel(metric, 1.0, weights), 2 * unit

    def _choose(
        self, distances: Floats, labels: Ints, classes: AnyArray, unit: float,
        rng: np.random.RandomState,
    ) -> tuple[float, float, list[dict[str, float]]]:  # fmt: skip
        """Return C and γ, given or the best of held-out folds, and all that was tried."""
        Cs = CS if self.C is None else (float(self.C),)
        gammas = tuple(share / unit for share in SHARES)
        if self.gamma is not None:
            gammas = (float(self.gamma),)
        sizes = np.sort(np.bincount(labels))
        if len(Cs) == len(gammas) == 1:
            return Cs[0], gammas[0], []
        if sizes[-2] < 2:  # a fold could leave one class
            C = DEFAULT_C if self.C is None else Cs[0]
            return C, DEFAULT_SHARE / unit if self.gamma is None else gammas[0], []
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            split = StratifiedKFold(min(self.cv, sizes[-1]), shuffle=True, random_state=rng)
            folds = list(split.split(labels, labels))
        tried = []
        for gamma in gammas:
            table = np.exp(-gamma * distances)
            for C in Cs:
                machine = self._machine(C, classes)
                predicted = cross_val_predict(machine, table, labels, cv=folds)
                accuracy = float(np.mean(predicted == labels))
                tried.append({"C": C, "gamma": gamma, "accuracy": accuracy})
        best = max(tried, key=itemgetter("accuracy"))  # the first of equal ones
        return best["C"], best["gamma"], tried

    def _machine(self, C: float, classes: AnyArray) -> SVC:
        """Return an SVC of Gram matrices and class numbers."""
        weights = self.class_weight
        if isinstance(weights, dict):
            unknown = set(weights) - set(classes.tolist())
            if unknown:
                raise InvalidInputError(f"class_weight has classes that y has not: {unknown}.")
            weights = {k: weights.get(name, 1.0) for k, name in enumerate(classes.tolist())}
        return SVC(C=C, kernel="precomputed", class_weight=weights, break_ties=True)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the values of :meth:`sklearn.svm.SVC.decision_function`.

        Parameters
        ----------
        X : array-like of shape (m, d)
            In the domain of the metric.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            One column for each class of more than two.
        """
        check_is_fitted(self, "classes_")
        return np.concatenate([self.svc_.decision_function(some) for some in self._grams(X)])

    def predict(self, X: ArrayLike) -> AnyArray:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like of shape (m, d)
            In the domain of the metric.

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self, "classes_")
        found = np.concatenate([self.svc_.predict(some) for some in self._grams(X)])
        return np.asarray(self.classes_[found])

    @property
    def predict_proba(self) -> NoReturn:
        """Not there, for scores are no probabilities; see the notes."""
        raise AttributeError(
            "CurvedSVC has no predict_proba: its scores are no probabilities. "
            "sklearn.calibration.CalibratedClassifierCV(CurvedSVC()) makes some of them."
        )

    def _grams(self, X: ArrayLike) -> Iterator[Floats]:
        """Return Gram matrices of blocks of rows; columns of no support vector stay 0, unread."""
        rows = check_data(self, X, dtype=np.float64, order="C", reset=False)
        n = self.svc_.shape_fit_[0]
        step = max(1, BLOCK_ENTRIES // n)
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            table = np.zeros((len(some), n))
            table[:, self.support_] = self.kernel_(some, self.support_vectors_)
            yield table


def check_size(n: int) -> None:
    """Raise where the tables of a fit are larger than memory, and warn where it takes long."""
    remedy = "Fit on a sample of the rows, or use CurvedKNeighborsClassifier."
    check_memory(8.0 * TABLES * n * n, f"The Gram matrices of {n:,} rows", remedy)
    if n > MANY_ROWS:
        warn_caller(
            f"Support vectors of {n:,} rows take {8e-9 * TABLES * n * n:,.0f} GB of memory, and "
            f"perhaps hours. {remedy}"
        )


def median_of(table: Floats) -> float:
    """Return the median of the distances above the diagonal; the mean, or 1, where that is 0."""
    pairs = table[np.triu_indices(len(table), 1)]
    return float(np.median(pairs)) or float(pairs.mean()) or 1.0
