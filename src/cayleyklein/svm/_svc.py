"""Support vectors in the Laplacian kernel of a learned or given metric."""

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from operator import itemgetter
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _estimators
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import check_memory, refuse_huge, warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import CurvedLMNN
from cayleyklein.learning.lmnn import LABEL_GEOMETRIES
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics.combined import Metric
from cayleyklein.metrics.curved import standard_factor
from cayleyklein.metrics.laplacian import LaplacianKernel, laplacian_kernel
from cayleyklein.prediction.held_out import held_out_probabilities
from cayleyklein.prediction.metric_choice import SOURCE_CONSTRAINTS, check_source, obtain_metric
from cayleyklein.selection.label_scores import LabelScores
from cayleyklein.svm._linear import read_classes

# What cross-validation tries: C, and γ times the median distance; the smallest wins ties.
CS: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
SHARES: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)

MANY_ROWS = 10_000  # rows from which a fit warns, which takes minutes then
MEDIAN_ROWS = 1000  # evenly spaced rows whose median distance is the unit of γ
GRAM_ENTRIES = 2**23  # of the Gram matrix of one block of a prediction


class CurvedSVC(EstimatorCard, ClassifierMixin, BaseEstimator):
    """Learn a curved metric, and classify by support vectors in its Laplacian kernel.

    The kernel is exp(-γ(d + Σⱼ cⱼ|xⱼ - yⱼ|)): the distance of the metric plus the Manhattan
    distance of standardised columns, of equal median. It is positive definite, see
    :func:`cayleyklein.metrics.laplacian_kernel`. Columns need no scaling.

    Parameters
    ----------
    metric : CurvedMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, \
default="auto"
        Of the metric to learn, see :class:`CurvedLMNN`. "auto" learns the product, and keeps it
        unless plain neighbours do as well on held-out rows.
    learner : estimator, optional
        Learns the metric, such as ``CurvedLMNN(geometry="elliptic", margin=0.1)``. It is cloned and
        fitted, unless it is in scikit-learn's ``FrozenEstimator``, fitted already.
    manhattan : bool, default=True
        Whether to add the Manhattan distance to that of the metric.
    C, gamma : float, optional
        Penalty of rows within the margin, C > 0, and γ > 0 of the kernel, in units of 1/d; chosen
        by cross-validation when None.
    cv : int, default=5
        Number of stratified folds of the cross-validation.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class; "balanced" takes n / (n_classes × rows of the class).
    random_state : int, RandomState or None, default=None
        Seed of the folds and of ``CurvedLMNN``.

    Attributes
    ----------
    classes_ : ndarray
    metric_ : CurvedMetric, MixedMetric or ProductMetric
    learner_ : estimator or None
        The fitted learner; None with a ready-made metric.
    selection_ : Selection or None
        What was tried on held-out rows to choose the metric.
    kernel_ : LaplacianKernel
        A callable of rows, for other kernel methods.
    C_, gamma_ : float
        The values given or chosen.
    cv_results_ : list of dict
        "C", "gamma" and "accuracy" of each pair that cross-validation tried; empty when both were
        given, or when a class has too few rows.
    support_, support_vectors_ : ndarray of shape (n_support,) and (n_support, d)
        Indices of the rows of X that are support vectors, and these rows.
    svc_ : sklearn.svm.SVC
        The fitted machine, on the Gram matrix.
    n_features_in_ : int
    feature_names_in_ : ndarray

    Notes
    -----
    The metric is learned from all rows, including those held out to choose C and γ: accuracies in
    ``cv_results_`` compare C and γ, and do not estimate the accuracy on new rows. A fit holds three
    n × n tables in memory, and its time grows faster than n². It warns beyond 10,000 rows;
    ``CurvedKNeighborsClassifier`` has no such limit. Several classes are compared pair by pair, as
    by :class:`sklearn.svm.SVC`. Probabilities come from
    :class:`sklearn.calibration.CalibratedClassifierCV`.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CurvedSVC(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> model.decision_function(X[:4]).shape
    (4, 3)
    >>> from cayleyklein import CurvedMetric  # with a ready-made metric
    >>> model = CurvedSVC(CurvedMetric.euclidean(1, curvature=-1.0), C=10.0, gamma=1.0)
    >>> model.fit([[0.0], [0.1], [0.9]], ["a", "a", "b"]).predict([[0.2], [0.8]])
    array(['a', 'b'], dtype='<U1')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": SOURCE_CONSTRAINTS["metric"],
        "geometry": [StrOptions({"auto", *LABEL_GEOMETRIES})],
        "learner": SOURCE_CONSTRAINTS["learner"],
        "manhattan": _estimators.FLAG,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, metric: Metric | None = None, *, geometry: str = "auto",
        learner: BaseEstimator | None = None, manhattan: bool = True, C: float | None = None,
        gamma: float | None = None, cv: int = 5,
        class_weight: dict[Any, float] | str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:  # fmt: skip
        self.metric = metric
        self.geometry = geometry
        self.learner = learner
        self.manhattan = manhattan
        self.C = C
        self.gamma = gamma
        self.cv = cv
        self.class_weight = class_weight
        self.random_state = random_state

    @_estimators.restore_on_error
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the metric, choose C and γ, and find the support vectors.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, in the domain of a ready-made metric.
        y : array-like of shape (n,)
            Labels of two classes or more.
        """
        rows, classes, labels = read_classes(self, X, y)
        check_source(self)
        announce_cost(len(rows))
        refuse_huge(rows, "X")
        rng = check_random_state(self.random_state)
        geometry = "product" if self.geometry == "auto" else self.geometry
        learner = CurvedLMNN(geometry=geometry, random_state=rng)
        given = GivenRows(rows, labels, np.ones(len(rows)), rows.shape[1], classes, X)
        scorer = LabelScores(held_out_probabilities)
        with _estimators.few_threads(*rows.shape):
            metric, self.learner_, self.selection_ = obtain_metric(self, learner, given, scorer)
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

    def _unit_kernel(self, rows: Floats, metric: Metric) -> tuple[LaplacianKernel, float]:
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
        sizes = np.sort(np.bincount(labels))
        Cs, shares = CS, SHARES
        if sizes[-2] < 2:  # a fold could leave one class
            Cs, shares = (10.0,), (0.3,)
        Cs = Cs if self.C is None else (float(self.C),)
        gammas = [s / unit for s in shares] if self.gamma is None else [float(self.gamma)]
        if len(Cs) == len(gammas) == 1:
            return Cs[0], gammas[0], []
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
        weights = self.class_weight
        if isinstance(weights, dict):
            if unknown := set(weights) - set(classes.tolist()):
                raise InvalidInputError(f"class_weight has classes that are not in y: {unknown}.")
            weights = {k: weights.get(name, 1.0) for k, name in enumerate(classes.tolist())}
        return SVC(C=C, kernel="precomputed", class_weight=weights, break_ties=True)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the values of :meth:`sklearn.svm.SVC.decision_function`, (m,) or (m, n_classes).

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows in the domain of the metric.
        """
        check_is_fitted(self, "classes_")
        return np.concatenate([self.svc_.decision_function(some) for some in self._grams(X)])

    def predict(self, X: ArrayLike) -> AnyArray:
        """Return the class (m,) of each row.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows in the domain of the metric.
        """
        check_is_fitted(self, "classes_")
        found = np.concatenate([self.svc_.predict(some) for some in self._grams(X)])
        return np.asarray(self.classes_[found])

    @property
    def predict_proba(self) -> NoReturn:
        """Not available: scores are not probabilities; see the notes."""
        raise AttributeError(
            "CurvedSVC has no predict_proba: its scores are not probabilities. Use "
            "sklearn.calibration.CalibratedClassifierCV(CurvedSVC()) to calibrate them."
        )

    def _grams(self, X: ArrayLike) -> Iterator[Floats]:
        """Yield Gram matrices of blocks of rows; SVC reads only columns of support vectors."""
        rows = _estimators.check_data(self, X, order="C", reset=False)
        n = self.svc_.shape_fit_[0]
        step = max(1, GRAM_ENTRIES // n)
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            table = np.zeros((len(some), n))
            table[:, self.support_] = self.kernel_(some, self.support_vectors_)
            yield table


def announce_cost(n: int) -> None:
    needed = 3 * 8.0 * n * n  # distances, a Gram matrix, and its folds
    remedy = "Fit a sample, or use CurvedKNeighborsClassifier."
    check_memory(needed, f"The Gram matrices of {n:,} rows", remedy)
    if n > MANY_ROWS:
        warn_caller(
            f"Support vectors of {n:,} rows take {needed / 1e9:,.0f} GB of memory, and perhaps "
            f"hours. {remedy}"
        )


def median_of(table: Floats) -> float:
    pairs = table[np.triu_indices(len(table), 1)]  # the mean, or 1, where the median is 0
    return float(np.median(pairs)) or float(pairs.mean()) or 1.0
